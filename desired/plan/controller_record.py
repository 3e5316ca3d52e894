"""Record of the controller, for the process after this one: key ``record`` of ConfigMap ``hcloud-reconciler``.

| Member | Read for |
|---|---|
| ``begun_at``, ``uses`` | approvals: each counts if it was given after the record began, and is not among the uses |
| ``project`` | the project's identity, and load balancers that a list lacks |
| ``refused`` | log-ins that Robot refused: another process does not repeat them |

Each write compares and sets. An approval is marked with its names before anything is written, so that a record that was
lost or restored replays nothing. A record that cannot be read is not taken for an empty one: approvals do not count
then, and what the project's identity has to prove waits.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from desired.model.clocks import TOLERANCE, parse_moment, shown_moment
from desired.model.record import Format, parse_text
from desired.model.remembered import MOST_REMEMBERED, NOTHING, RefusedLogin, Remembered
from desired.plan.grants import LIFETIME, LONGEST, Grant, Here, Source
from desired.section import Present, Unknown

_MOST_OF_FLAGS = 100
"""Uses of approvals in the arguments of runs: these do not age, and the latest are kept."""


@dataclass(frozen=True, slots=True)
class Use:
    """One approval that was used."""

    of: str
    """Hash of the hold."""
    approved_at: datetime | None
    """When the approval was given; None for one in the arguments of a run."""
    used_at: datetime
    used_by: str
    """A word of the process that used it, by which it knows its own use again."""
    until: datetime
    """When the approval ended at that time: its names pass until then if it was in the arguments."""
    left: tuple[str, ...] = ()
    """Names of the differences that passes have not seen done."""

    @property
    def identity(self) -> tuple[str, datetime | None]:
        """The approval that was used."""
        return self.of, self.approved_at


_MOST_REFUSED = 4
_LARGEST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ControllerRecord:
    """All that the record says."""

    begun_at: datetime | None = None
    """Since when uses are recorded; None: they are not yet."""
    uses: tuple[Use, ...] = ()
    project: Remembered = NOTHING
    refused: tuple[RefusedLogin, ...] = ()
    """The last four."""

    def beside(self, others: Iterable[Use]) -> "ControllerRecord":
        """With uses that the process itself remembers: a record may be older than they are. Names are left that neither
        knows to be struck."""
        uses = {use.identity: use for use in self.uses}
        for use in others:
            known = uses.get(use.identity, use)
            uses[use.identity] = replace(use, left=tuple(name for name in use.left if name in known.left))
        return replace(self, uses=tuple(uses.values()))

    def judged(self, grant: Grant) -> Grant:
        """The approval with its use, or void if it was given before the record began. While there is none, only an
        approval in the arguments of this run counts."""
        if not grant.is_stored or grant.damage:
            return grant
        left = sorted({name for use in self.uses if use.of == grant.of for name in use.left})
        grant = replace(grant, left=tuple(left))
        if (use := next((each for each in self.uses if each.identity == grant.identity), None)) is not None:
            until = use.until if grant.source is Source.FLAG else grant.expires_at
            return replace(grant, used_at=use.used_at, expires_at=until)
        if grant.approved_at is not None and self.begun_at is None:
            return replace(grant, damage=f"does not count: {_NOT_BEGUN}")
        if grant.approved_at is not None and self.begun_at is not None and grant.approved_at < self.begun_at:
            why = f"was given before the record of uses began at {shown_moment(self.begun_at)}; approve again"
            return replace(grant, damage=why)
        return grant

    def using(self, grants: Iterable[Grant], here: Here, by: str, names: Collection[str]) -> "ControllerRecord":
        """With the uses of these approvals, which let the differences of these names pass until they are struck. What
        cannot count again anyway is left out, unless the clocks differ."""
        left, now = tuple(sorted(names)), here.now
        new = [Use(*each.identity, now, by, each.until or now + LIFETIME, left) for each in grants]
        return replace(self, uses=(*(self.uses if here.clocks_differ else _kept(self.uses, now)), *new))

    def without(self, done: Collection[str]) -> "ControllerRecord":
        """Without these names: the differences are done."""
        struck = (replace(use, left=tuple(name for name in use.left if name not in done)) for use in self.uses)
        return replace(self, uses=tuple(struck))

    def refusing(self, login: RefusedLogin) -> "ControllerRecord":
        """With this log-in among the refused ones."""
        return replace(self, refused=(*self.refused, login)[-_MOST_REFUSED:])

    @property
    def names(self) -> frozenset[str]:
        """The names of all differences that approvals go on to let pass."""
        return frozenset(name for use in self.uses for name in use.left)


def _kept(uses: Collection[Use], now: datetime) -> Iterable[Use]:
    uses = [use if now <= use.until + LONGEST else replace(use, left=()) for use in uses]
    of_flags = sorted((use for use in uses if use.approved_at is None), key=lambda use: use.used_at)
    yield from of_flags[-_MOST_OF_FLAGS:]
    since = now - LONGEST - timedelta(days=1) - TOLERANCE
    yield from (use for use in uses if use.approved_at is not None and use.approved_at > since)


def _fields(record: ControllerRecord) -> Mapping[str, object]:
    project = {"network": record.project.network, "load_balancers": list(record.project.load_balancers)}
    refused = [{"login": login.tag, "at": login.at.isoformat()} for login in record.refused]
    begun_at = None if record.begun_at is None else record.begun_at.isoformat()
    return {"begun_at": begun_at, "uses": [_row(use) for use in record.uses], "project": project, "refused": refused}


def _row(use: Use) -> Mapping[str, object]:
    at = None if use.approved_at is None else use.approved_at.isoformat()
    ends = {"used_at": use.used_at.isoformat(), "used_by": use.used_by, "until": use.until.isoformat()}
    return {"of": use.of, "approved_at": at, **ends, "left": list(use.left)}


def _value(fields: Mapping[str, Any]) -> ControllerRecord:
    begun_at = None if fields["begun_at"] is None else parse_moment(fields["begun_at"])
    refused = tuple(RefusedLogin(parse_text(each["login"]), parse_moment(each["at"])) for each in fields["refused"])
    uses, project = tuple(map(_use, fields["uses"])), _project(fields["project"])
    return ControllerRecord(begun_at, uses, project, refused[-_MOST_REFUSED:])


def _use(row: Mapping[str, Any]) -> Use:
    approved_at = None if row["approved_at"] is None else parse_moment(row["approved_at"])
    left = tuple(map(parse_text, row["left"]))
    moments = parse_moment(row["used_at"]), parse_text(row["used_by"]), parse_moment(row["until"])
    return Use(parse_text(row["of"]), approved_at, *moments, left)


def _project(row: Mapping[str, Any]) -> Remembered:
    network = None if row["network"] is None else _id(row["network"])
    found = tuple(sorted({_id(value) for value in row["load_balancers"]}))
    return Remembered(network, found[:MOST_REMEMBERED])


def _id(value: object) -> int:
    """An id of Hetzner's. Raises ValueError for anything else."""
    if type(value) is not int or not 0 < value <= _LARGEST_ID:
        raise ValueError(f"{value!r} is no id")
    return value


FoundRecord = Present[ControllerRecord] | Unknown


def record_in(data: Mapping[str, str], cluster: Present[str] | Unknown | None) -> FoundRecord:
    """The record in the data of the ConfigMap, of the cluster with this UID; None: of whichever. One that is not there
    says nothing; Unknown if it cannot be read, or is of another cluster."""
    text = data.get(RECORD.key)
    if text is None:
        return Present(ControllerRecord())
    if isinstance(cluster, Unknown):
        return cluster
    found = RECORD.read(text, None if cluster is None else cluster.value)
    return Unknown(_GARBLED) if found is None else Present(found)


def cluster_in(data: Mapping[str, str]) -> str:
    """UID of the cluster that the record is of; "" if it does not say, or there is none."""
    found = RECORD.record(data.get(RECORD.key))
    return "" if found is None else found.cluster


_NOT_BEGUN = "there is no record of uses yet; it begins with the first pass that holds something"
_GARBLED = (
    "the record cannot be read, or is another cluster's; remove the key record of ConfigMap hcloud-reconciler, and"
    " approve again"
)
RECORD: Format[ControllerRecord] = Format("record", 524_288, _fields, _value)
"""Half of what an object of the API server may take; the status takes less than the other half."""
