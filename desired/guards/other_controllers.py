"""Guard ``other-controller``: whether another cloud controller runs. Two would undo each other's work.

HCCM with one replica takes no Lease, so that the Lease alone does not tell.
"""

from collections.abc import Collection, Iterator

from desired.guards.facts import Facts, GuardResult
from desired.model.key import PLAN
from desired.model.snapshot import IMAGE, Snapshot, Workload, is_another_controller
from desired.plan.change import GuardName, Note, NoteKind, Verdict

RULE = GuardName.OTHER_CONTROLLER
_UNTOLD = "whether another cloud controller is at work could not be told"


def other_controller(facts: Facts) -> Iterator[GuardResult]:
    """Writes are held while another cloud controller runs, and wait while that will be known in a moment; where
    permission to look is missing, only a note says so."""
    found, others = facts.snapshot.controllers, other_controllers(facts.snapshot)
    keys = tuple(change.key for change in facts.plan.changes)
    if others:
        yield GuardResult(RULE, Verdict.HELD, keys, explain_others(others), str(len(others)), "0")
    elif found is not None and found.why_incomplete is not None:
        yield GuardResult(RULE, Verdict.WAITING, keys, f"{_UNTOLD}: {found.why_incomplete}")


def other_controllers(snapshot: Snapshot) -> tuple[Workload, ...]:
    """The other cloud controllers that have ready pods, in the order of their keys; empty where nobody looked."""
    return tuple(filter(is_another_controller, snapshot.controllers or ()))


def explain_others(others: Collection[Workload]) -> str:
    """Text: what it means that other controllers run, and what to do about it."""
    named = ", ".join(f"{other.kind} {other.namespace}/{other.name}" for other in others)
    has, it, goes = ("has", "it", "its") if len(others) == 1 else ("have", "them", "their")
    return (
        f"{named} {has} ready pods, and {goes} image is {IMAGE}: two cloud controllers would undo each other's work."
        f" Scale {it} to 0 or delete {it} first"
    )


def controller_notes(snapshot: Snapshot) -> tuple[Note, ...]:
    """A note on each other controller, as an empty plan holds nothing; and why it could not be told whether there is
    one."""
    found = snapshot.controllers
    if found is None:
        return ()
    others = other_controllers(snapshot)
    seen = tuple(Note(other.key, NoteKind.OTHER_CONTROLLER, explain_others([other])) for other in others)
    gap = found.why_incomplete or next(iter(found.unreadable.values()), None)
    return seen if gap is None else (*seen, Note(PLAN, NoteKind.OTHER_CONTROLLER, f"{_UNTOLD}: {gap}"))
