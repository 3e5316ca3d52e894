"""Published status: what the holder of the Lease writes down of its last pass, for people who look at holds.

It decides only which settings ``apply FILE`` may take from FILE, and those of a laptop without its own. Any client that
may write into the ConfigMap may write anything, so it is checked when it is read, and shown as foreign text.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from desired.health.state import States
from desired.model.published_settings import NO_SETTINGS, PublishedSettings
from desired.model.record import Format, cut
from desired.plan.change import Change, Hold
from desired.section import Present
from reconciler import __version__
from reconciler.report.documents import to_json
from reconciler.report.fields import field_changes
from reconciler.report.view import head_of
from reconciler.result import Line, Report, Result, needing_a_person, summary

RENEWED = timedelta(minutes=30)
"""After this a status that still holds is written again."""
_BUDGET = 200_000
"""Bytes of the keys and changes of all holds. What there is no room for is counted."""
_MOST_HOLDS = 50
_MOST_KEYS = 100
_MOST_ERRORS = 5
_MOST_STATES = 50
_MOST_REPLACED = 20
_LONGEST_TEXT = 500
_LONGEST_VALUE = 2_000

TOLD_FOR = timedelta(days=1)
"""For so long a Service that got other addresses is told of."""
_END_TO = timedelta(minutes=5)
"""How far the end of a hold may move before that is news."""
_DEEPEST = 8
"""Lists and objects within each other in a value that is looked at; none of ours has as many."""

V = TypeVar("V")
Text = Annotated[str, Meta(max_length=_LONGEST_TEXT + len("..."))]
Moment = Annotated[datetime, Meta(tz=True)]


class PublishedField(Struct, frozen=True):
    """One field that differs, as a report has it."""

    path: str
    before: Any = None
    after: Any = None


class PublishedChange(Struct, frozen=True, rename={"class_": "class"}):
    """One change of a hold."""

    key: str
    kind: str
    class_: str
    reason: str
    consequences: tuple[str, ...] = ()
    fields: tuple[PublishedField, ...] = ()


class PublishedEnd(Struct, frozen=True):
    """How a hold ends by itself."""

    how: str
    at: Moment | None = None
    """None when no time is known."""


class PublishedHold(Struct, frozen=True):
    """One hold of the last pass."""

    hash: Annotated[str, Meta(pattern="^sha256:[0-9a-f]{16}$")]
    rule: Text
    value: Text
    limit: Text
    why: Text
    advice: Text
    since: Moment
    """When its publisher saw it first."""
    end: PublishedEnd | None
    count: int
    """How many changes it holds."""
    keys: tuple[str, ...]
    """Those of them that there is room for, a hundred at most."""
    changes: tuple[PublishedChange, ...]
    """As many of them as there is room for, with their fields."""


class PublishedState(Struct, frozen=True):
    """The state of one Service or Node that is not well."""

    key: Text
    state: Text
    why: Text
    since: Moment | None = None
    also: tuple[Text, ...] = ()
    """What else a person has to mend, five clauses at most."""


class PublishedStates(Struct, frozen=True):
    """The states of Services and Nodes."""

    services: Mapping[str, int] = {}
    """State → how many are in it, worst first."""
    nodes: Mapping[str, int] = {}
    unwell: tuple[PublishedState, ...] = ()
    """Those that a person should look at, worst first; fifty at most."""


class PublishedPass(Struct, frozen=True):
    """The last pass."""

    at: Moment
    result: str
    counts: Mapping[str, int]
    """As in the summary of a report."""
    errors: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    """What could not be read whole, a sentence each."""
    in_need: int = 0
    """How many objects need a person."""
    seconds: float | None = None
    requests_left: int | None = None
    """Of the project's allowance; None when Hetzner did not say."""
    requests_limit: int | None = None
    states: PublishedStates = PublishedStates()

    @property
    def is_whole(self) -> bool:
        """Whether everything was decided on: what it does not hold was not held."""
        return is_whole(self.result)


class PublishedReplacement(Struct, frozen=True):
    """A Service whose load balancer was replaced: no address that it had is left."""

    key: Text
    before: tuple[Text, ...]
    """The addresses that it published."""
    after: tuple[Text, ...]
    at: Moment


class PublishedStatus(Struct, frozen=True):
    """All of it, with who wrote it, when, and of which cluster, as in every record."""

    cluster: str
    by: str
    tool_version: str
    written_at: Moment
    last_pass: PublishedPass
    holds: tuple[PublishedHold, ...]
    more_holds: int = 0
    """How many there was no room for."""
    replaced: tuple[PublishedReplacement, ...] = ()
    """Those of the last day, the newest first; twenty at most."""
    settings: PublishedSettings = NO_SETTINGS


def is_whole(result: str) -> bool:
    """Whether a pass with this result has decided on everything."""
    return result not in (Result.ERROR, Result.INCOMPLETE, Result.NOT_LEADER)


def urgent_of(status: PublishedStatus) -> object:
    """Parts of a status that are written at once: holds, objects that are not well, replacements, settings."""
    ill = {(each.key, each.state) for each in status.last_pass.states.unwell}
    replaced = {(each.key, each.at) for each in status.replaced}
    return {hold.hash for hold in status.holds}, ill, replaced, status.settings


def news_of(status: PublishedStatus) -> object:
    """What of a status a person would see change. That time passes, and that requests are sent, is no change; ends of
    holds count to five minutes, as that of a Node whose kubelet reports moves on all the while."""
    last, measures = status.last_pass, {(hold.value, hold.limit, _end_of(hold)) for hold in status.holds}
    return last.result, last.counts, last.errors, last.gaps, last.in_need, urgent_of(status), measures


def _end_of(hold: PublishedHold) -> int | None:
    at = None if hold.end is None else hold.end.at
    return None if at is None else (at - at.min.replace(tzinfo=at.tzinfo)) // _END_TO


def replaced_in(report: Report, now: datetime) -> Iterator[PublishedReplacement]:
    """The Services that came to publish other addresses in the pass with this report, which read at ``now``."""
    return (PublishedReplacement(_cut(each.service), each.before, each.after, now) for each in report.replacements())


def recent(replaced: Iterable[PublishedReplacement], now: datetime) -> tuple[PublishedReplacement, ...]:
    """Those of the last day, the newest first; the oldest of more than twenty are dropped."""
    of_day = {(each.key, each.at): each for each in replaced if timedelta(0) <= now - each.at < TOLD_FOR}
    return tuple(sorted(of_day.values(), key=lambda each: each.at, reverse=True)[:_MOST_REPLACED])


def status_of(
    report: Report,
    by: str,
    since: Mapping[str, datetime],
    replaced: tuple[PublishedReplacement, ...] = (),
    settings: PublishedSettings = NO_SETTINGS,
    *,
    seconds: float | None = None,
) -> PublishedStatus | None:
    """The status after the pass with this report; None when nothing was read. ``since`` is hash → when a hold was seen
    first, where that is known; ``replaced`` is what is told of Services that got other addresses."""
    snapshot = report.snapshot
    if snapshot is None or not isinstance(snapshot.cluster_uid, Present):
        return None
    now, sent = snapshot.taken_at, report.requests
    last = PublishedPass(
        at=now,
        result=report.result,
        counts=summary(report),
        errors=tuple(map(_cut, report.errors[:_MOST_ERRORS])),
        gaps=tuple(map(_cut, head_of(report).told_gaps)),
        in_need=len(needing_a_person(report)),
        seconds=None if seconds is None else round(seconds, 2),
        requests_left=sent.remaining,
        requests_limit=sent.limit,
        states=_states(report.states),
    )
    return PublishedStatus(
        cluster=snapshot.cluster_uid.value,
        by=_cut(by),
        tool_version=__version__,
        written_at=now,
        last_pass=last,
        holds=published_holds(report, now, since),
        more_holds=max(0, len(report.holds) - _MOST_HOLDS),
        replaced=replaced,
        settings=settings,
    )


def _states(states: States) -> PublishedStates:
    return PublishedStates(
        services=dict(Counter(each.state.value for each in states.services)),
        nodes=dict(Counter(each.state.value for each in states.nodes)),
        unwell=tuple(
            PublishedState(
                _cut(each.key), each.state, _cut(each.why), each.since, tuple(map(_cut, each.also[:_MOST_ERRORS]))
            )
            for each in states.unwell[:_MOST_STATES]
        ),
    )


def published_holds(report: Report, now: datetime, since: Mapping[str, datetime]) -> tuple[PublishedHold, ...]:
    """The holds of a report, of each as many changes as there is room for."""
    held = report.holds[:_MOST_HOLDS]
    by_key = {str(line.change.key): line for line in report.lines}
    room = _BUDGET // max(1, len(held))
    return tuple(_hold(hold, by_key, now, since.get(hold.hash, now), room) for hold in held)


def _hold(hold: Hold, by_key: Mapping[str, Line], now: datetime, since: datetime, room: int) -> PublishedHold:
    end = hold.end
    at = None if end is None or end.in_s is None else now + timedelta(seconds=end.in_s)
    changes = [by_key[key].change for key in hold.keys if key in by_key]
    return PublishedHold(
        hash=hold.hash,
        rule=hold.rule,
        value=_cut(hold.value),
        limit=_cut(hold.limit),
        why=_cut(hold.why),
        advice=_cut(hold.advice),
        since=since,
        end=None if end is None else PublishedEnd(end.how, at),
        count=len(hold.keys),
        keys=tuple(_fitting(map(str, hold.keys[:_MOST_KEYS]), room // 4)),
        changes=tuple(_fitting(map(_change, changes), room - room // 4)),
    )


def _fitting(values: Iterable[V], room: int) -> Iterator[V]:
    """The first of them that there is room for, in bytes of JSON."""
    for value in values:
        room -= len(msgspec.json.encode(value))
        if room < 0:
            return
        yield value


def _change(change: Change) -> PublishedChange:
    fields = tuple(
        PublishedField(field.path, _bounded(to_json(field.before)), _bounded(to_json(field.after)))
        for field in field_changes(change)
    )
    consequences = tuple(map(_cut, change.consequences))
    return PublishedChange(str(change.key), change.kind, change.verb, _cut(change.reason), consequences, fields)


def _bounded(value: Any) -> Any:
    """A value that takes little room; a text of what it begins with where it takes more."""
    text = msgspec.json.encode(value).decode(errors="replace")
    return value if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def _cut(text: str) -> str:
    return cut(text.encode(errors="replace").decode(), _LONGEST_TEXT)  # JSON has no half characters


def _status(fields: Mapping[str, Any]) -> PublishedStatus:
    """Raises ValueError also for values as deep as a stack, and for times in another zone than UTC."""
    found = msgspec.convert(fields, PublishedStatus)
    if not _is_plain(found):
        raise ValueError("it cannot be shown as it is")
    return found if found.settings.is_plain else msgspec.structs.replace(found, settings=NO_SETTINGS)


def _is_plain(status: PublishedStatus) -> bool:
    """Whether it can be shown as it is."""
    ends = [hold.end.at for hold in status.holds if hold.end is not None and hold.end.at is not None]
    since = [each.since for each in status.last_pass.states.unwell if each.since is not None]
    moments = [status.written_at, status.last_pass.at, *(hold.since for hold in status.holds), *ends, *since]
    moments += [each.at for each in status.replaced]
    moments += [status.settings.since] if status.settings.since is not None else []
    fields = (field for hold in status.holds for change in hold.changes for field in change.fields)
    is_in_utc = all(moment.utcoffset() == timedelta(0) for moment in moments)
    is_shallow = all(_is_shallow(side) for field in fields for side in (field.before, field.after))
    return is_in_utc and is_shallow


def _is_shallow(value: Any, levels: int = _DEEPEST) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_shallow(each, levels - 1) for each in inner)


STATUS: Format[PublishedStatus] = Format("status", 458_752, msgspec.to_builtins, _status)
"""More than is ever written, and with the record less than a ConfigMap takes."""
