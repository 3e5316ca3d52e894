"""Conditions of a Service about its load balancer: whether it can be used, and whether it is as asked for.

They are written together with other changes, or when a verdict has changed, so they do not mention what comes and goes.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

from desired.annotations.warnings import Lack
from desired.load_balancers.matching import Adoptable, BalancerMatch, Owned, Undecided
from desired.load_balancers.published import addresses_of_others
from desired.model.service import Service, ServiceCondition
from desired.model.snapshot import Snapshot
from desired.names import CONDITION_IN_SYNC, CONDITION_READY
from desired.plan.change import Change, Verdict
from desired.plan.foresight import balancer_after, service_after
from desired.plan.kinds import ChangeKind
from desired.plan.notes import NOTES, Note, NoteKind
from desired.plan.ordering import in_order
from desired.rules import load_balancers as rows

_LONGEST = 1024
"""Characters of a message."""
OTHER_ADDRESS = "OtherAddressPublished"
"""Reason of ``LoadBalancerReady`` if the Service publishes an address that is not its load balancer's."""
_NO_TARGETS = NOTES[NoteKind.NO_TARGETS].condition
_FIRST = (NoteKind.MALFORMED, NoteKind.AMBIGUOUS, NoteKind.SEVERAL_BALANCERS)
"""Notes that come before withheld changes."""
_LEFT_OUT = frozenset({Lack.PORT, Lack.NODE_PORT, Lack.SOURCE_RANGES})
"""Notes on missing support; a Service without any TCP port lacks each of its ports."""


def service_conditions(
    service: Service,
    match: BalancerMatch,
    snapshot: Snapshot,
    changes: tuple[Change, ...],
    notes: tuple[Note, ...],
    hostname: str | None = None,
) -> tuple[ServiceCondition, ...]:
    """``LoadBalancerReady`` and ``LoadBalancerInSync``, with the time since when each has its status.

    ``match`` says which load balancer is the Service's, and ``hostname`` which one it asks for: "" is none, and with
    None, as it cannot be read, no published hostname is judged. ``changes`` are its own, judged: those that are applied
    now count as done, as their write takes the conditions along. ``notes`` may be those of the whole plan. A condition
    about which too little is known stays as it is; its status is ``Unknown`` if there was none.
    """
    own = tuple(sorted(note for note in notes if note.key.whole in service.keys))
    wanted = (_ready(service, match, changes, own, hostname), _in_sync(changes, own))
    there = {condition.type: condition for condition in service.conditions}
    return tuple(_after(there.get(condition.type), condition, snapshot) for condition in wanted)


def is_worth_a_write(service: Service, wanted: tuple[ServiceCondition, ...]) -> bool:
    """Whether the conditions alone justify a write: one of ours changes, or there is none and something is wrong. A
    message alone is worth one if it says why no Node is a target, as its remedy is another one then."""
    there = {condition.type: condition for condition in service.conditions}
    for condition in wanted:
        present = there.get(condition.type)
        if present is None:
            if condition.type == CONDITION_IN_SYNC and condition.status == "False":
                return True
        elif _worth(present) != _worth(condition):
            return True
    return False


def _worth(condition: ServiceCondition) -> tuple[str, str, str]:
    """The part of a condition of which a change is worth a write."""
    return condition.status, condition.reason, condition.message if condition.reason == _NO_TARGETS else ""


def _ready(
    service: Service,
    match: BalancerMatch,
    changes: tuple[Change, ...],
    notes: tuple[Note, ...],
    hostname: str | None,
) -> ServiceCondition:
    done = tuple(change for change in changes if _is_done(change))
    ends = {change.kind for change in done} & {ChangeKind.LB_DELETE, ChangeKind.LB_RETAIN}
    if ends:
        row = rows.BALANCER_DELETED if ChangeKind.LB_DELETE in ends else rows.BALANCER_RELEASED
        return _condition(CONDITION_READY, "NotCreated", row.text())
    is_adopted = any(change.kind == ChangeKind.LB_ADOPT for change in done)
    if not isinstance(match, Owned | Adoptable) or (isinstance(match, Adoptable) and not is_adopted):
        if isinstance(match, Undecided):
            why = match.why if match.is_ambiguous else rows.BALANCER_UNCERTAIN.text()
            return _condition(CONDITION_READY, "Unknown", why, status="Unknown")
        return _condition(CONDITION_READY, "NotCreated", rows.BALANCER_LACKING.text())
    balancer = reduce(balancer_after, in_order(done), match.balancer)
    ingress = reduce(service_after, in_order(done), service).ingress
    published = [address for entry in ingress if (address := entry.ip or entry.hostname)]
    if not published:
        return _condition(CONDITION_READY, "NoAddress", rows.ADDRESS_UNPUBLISHED.text(balancer=balancer.id))
    is_current = any(change.kind == ChangeKind.SERVICE_STATUS for change in done)  # what was there is published anew
    if not is_current and (others := addresses_of_others(service, balancer, hostname)):
        return _condition(CONDITION_READY, OTHER_ADDRESS, others)
    if not balancer.spec.listeners:
        return _condition(CONDITION_READY, "NoPorts", rows.PORTS_LACKING.text(balancer=balancer.id))
    if not balancer.targets:
        reasons = _texts(notes, NoteKind.UNREACHABLE) or _texts(notes, NoteKind.NO_TARGETS)
        told = f"; {_sentence(reasons)}" if reasons else ""
        return _condition(CONDITION_READY, _NO_TARGETS, rows.LEADS_NOWHERE.text(balancer=balancer.id, cause=told))
    return _condition(
        CONDITION_READY, "AddressPublished", rows.ADDRESS_PUBLISHED.text(addresses=", ".join(published)), status="True"
    )


def _in_sync(changes: tuple[Change, ...], notes: tuple[Note, ...]) -> ServiceCondition:
    found = next(_troubles(changes, notes), None)
    if found is not None:
        return _condition(CONDITION_IN_SYNC, *found)
    gaps = [change.decision.why for change in _ordered(changes) if change.decision.waits_for_data]
    if unknown := [*gaps, *_texts(notes, NoteKind.UNKNOWN)]:
        return _condition(CONDITION_IN_SYNC, "Unknown", _sentence(unknown), status="Unknown")
    return _condition(CONDITION_IN_SYNC, "InSync", rows.IN_SYNC.text(), status="True")


def _troubles(changes: tuple[Change, ...], notes: tuple[Note, ...]) -> Iterator[tuple[str, str]]:
    """Reason and message of each problem: first those that only a person fixes, last those that pass with time."""
    for kind in _FIRST:
        if texts := _texts(notes, kind):
            yield NOTES[kind].condition, _sentence(texts)
    for verdict, reason in ((Verdict.REFUSED, "Refused"), (Verdict.HELD, "Held")):
        if texts := [change.decision.why for change in _ordered(changes) if change.decision.verdict is verdict]:
            yield reason, _sentence(texts)
    for kind, row in NOTES.items():
        if row.condition and kind not in _FIRST and (texts := _texts(notes, kind)):
            yield row.condition, _sentence(texts)
    if lacking := [note.text for note in notes if note.lack in _LEFT_OUT]:
        yield "Unsupported", _sentence(lacking)
    waiting = [change for change in _ordered(changes) if not _is_done(change) and not change.decision.waits_for_data]
    if waiting:
        yield "Waiting", _sentence([change.decision.why or change.reason for change in waiting])


def _is_done(change: Change) -> bool:
    """Whether the change is applied in this very pass."""
    return change.decision.verdict is Verdict.ALLOWED and change.is_known


def _ordered(changes: tuple[Change, ...]) -> list[Change]:
    return sorted(changes, key=lambda change: change.order)


def _texts(notes: tuple[Note, ...], kind: NoteKind) -> list[str]:
    return [note.text for note in notes if note.kind is kind]


def _sentence(texts: list[str]) -> str:
    """The first text, and how many others there are."""
    first, *others = dict.fromkeys(texts)
    return f"{first} (and {len(others)} more)" if others else first


def _condition(kind: str, reason: str, message: str, *, status: str = "False") -> ServiceCondition:
    text = message if len(message) <= _LONGEST else f"{message[: _LONGEST - 3]}..."
    return ServiceCondition(kind, status, reason, text)


def _after(present: ServiceCondition | None, wanted: ServiceCondition, snapshot: Snapshot) -> ServiceCondition:
    """The condition with the time since when it has its status. One that is not known any more stays as it is."""
    if present is not None and wanted.status == "Unknown":
        wanted = present
    since = present.since if present is not None and present.status == wanted.status else None
    return replace(wanted, since=since or snapshot.taken_at)
