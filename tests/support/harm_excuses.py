"""What may be left undone when a world has settled, by name: who says so, of which object, and until when.

A guard or a note excuses what it is about and nothing beside it. What it withholds is done once a person approves, or
edits what the note names; ``Stage.let_go`` is a person who approves: what only waited for that has to be done then.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from desired.annotations.options import OPTIONS
from desired.plan.change import Hold
from reconciler.result import Report
from tests.support.harm_settling import Undone, What


class Of(Enum):
    """Which key a guard or a note has, for what it excuses."""

    ITSELF = "the same"
    WHOLE = "that of the object to which it belongs"
    PART = "that of a part of it"


class Until(Enum):
    """What ends it."""

    APPROVAL = "a person approves, and a pass has run"
    EDIT = "a person edits what the note names"


@dataclass(frozen=True)
class Excuse:
    """Something that may be left undone."""

    what: What
    by: str
    """The guard that withholds it, or the kind of a note."""
    of: Of
    until: Until
    why: str
    options: frozenset[str] = frozenset()
    """The annotations and variables of which the note has to be; empty: it is of none."""


def _deciding(part: str) -> frozenset[str]:
    """The annotations and variables that decide on a part of a load balancer."""
    rows = (row for row in OPTIONS.values() if row.sets.split(".")[0] == part)
    return frozenset(name for row in rows for name in (row.full_key, row.variable) if name)


EXCUSES: tuple[Excuse, ...] = (
    Excuse(What.TARGET, "target-floor", Of.ITSELF, Until.APPROVAL, "nothing that serves goes for what does not"),
    Excuse(What.TARGET, "silent-cluster", Of.ITSELF, Until.APPROVAL, "half of the Nodes went while their servers live"),
    Excuse(What.TARGET, "no-targets", Of.WHOLE, Until.EDIT, "who answers stays while nobody may serve"),
    Excuse(
        What.TARGET,
        "malformed",
        Of.WHOLE,
        Until.EDIT,
        "who gets traffic cannot be read, or the place in the network from which it is reached",
        options=_deciding("targets") | _deciding("attachment"),
    ),
    Excuse(What.TARGET, "unusable-target", Of.WHOLE, Until.EDIT, "the server has no address by which it is asked for"),
    Excuse(What.TARGET, "foreign", Of.WHOLE, Until.EDIT, "the load balancer that is asked for is another owner's"),
    Excuse(What.ROUTE, "route-blast-radius", Of.ITSELF, Until.APPROVAL, "it leads to a server that lives"),
    Excuse(What.BALANCER, "adoption", Of.ITSELF, Until.APPROVAL, "it is somebody's, and in use"),
    Excuse(What.BALANCER, "foreign-owner", Of.ITSELF, Until.EDIT, "it is another owner's"),
    Excuse(
        What.BALANCER, "project-anchor", Of.ITSELF, Until.APPROVAL, "no Node is left that shows whose project it is"
    ),
    Excuse(
        What.BALANCER,
        "malformed",
        Of.ITSELF,
        Until.EDIT,
        "none is made while it cannot be said who gets traffic",
        options=_deciding("targets"),
    ),
    Excuse(What.JOINING, "project-anchor", Of.ITSELF, Until.APPROVAL, "no Node is left that shows whose account it is"),
    Excuse(What.RELEASE, "silent-cluster", Of.ITSELF, Until.APPROVAL, "a copy of the cluster deletes nothing unasked"),
    Excuse(What.MACHINE, "project-anchor", Of.ITSELF, Until.APPROVAL, "no Node is left that shows whose project it is"),
)


def excuses(undone: Undone, report: Report) -> list[Excuse]:
    """Those that a report gives for it; empty where it is simply not done."""
    said = {(by, _relation(undone.key, key), option) for by, key, option in _said(report)}
    return [
        each
        for each in EXCUSES
        if each.what is undone.what and any((each.by, each.of, option) in said for option in each.options or {None})
    ]


def waits_for(undone: Undone, hold: Hold) -> bool:
    """Whether an approval of this hold ends an excuse for it."""
    said = {(str(hold.rule), _relation(undone.key, str(key))) for key in hold.keys}
    rows = [each for each in EXCUSES if each.what is undone.what and each.until is Until.APPROVAL]
    return any((each.by, each.of) in said for each in rows)


def _said(report: Report) -> Iterator[tuple[str, str, str | None]]:
    """Name of a guard that holds or refuses, or kind of a note, the key that it is about, and the annotation."""
    for hold in report.holds:
        yield from ((str(hold.rule), str(key), None) for key in hold.keys)
    for line in report.lines:
        if line.change.decision.verdict in ("held", "refused"):
            yield str(line.change.decision.rule), str(line.change.key), None
    for note in report.notes:
        yield str(note.kind), str(note.key), note.option
        yield str(note.kind), str(note.key).replace("service/", "load_balancer/"), note.option


def _relation(key: str, other: str) -> Of | None:
    if key == other:
        return Of.ITSELF
    if key.startswith(f"{other}/"):
        return Of.WHOLE
    return Of.PART if other.startswith(f"{key}/") else None
