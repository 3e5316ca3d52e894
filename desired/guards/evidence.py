"""Guards on what a plan was made from: ``incomplete-snapshot``, ``other-controller`` and ``clock-skew``."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any

from desired.guards.guard import GuardInput, GuardResult
from desired.model.clocks import LOOK_AGAIN_S, Clocks, is_far
from desired.model.key import PLAN
from desired.model.settings import Controller
from desired.model.snapshot import Snapshot
from desired.model.workload import Workload, sign_of_another
from desired.plan.change import Change, Plan
from desired.plan.evidence import Age, Evidence, Identified, NetworkRead, WholeList
from desired.plan.notes import Note
from desired.rules import guards as rows
from desired.rules.rule import Plain, Reason
from desired.section import Section, Unknown
from desired.syntax.bounds import counted


def doubts_of(
    plan: Plan, doubt_about: Callable[[Evidence], GuardResult | None]
) -> Iterator[tuple[Change, Sequence[GuardResult]]]:
    """Each change of which something that it rests on is in doubt, with these doubts in its order. Each piece of
    evidence is judged once, whatever rests on it."""
    judged = cache(doubt_about)
    for change in plan.changes:
        doubts = [doubt for evidence in change.rests_on if (doubt := judged(evidence)) is not None]
        if doubts:
            yield change, doubts


def incomplete_snapshot(view: GuardInput) -> Iterator[GuardResult]:
    """Removals, creations in the cloud and finalizer releases wait for complete sections; cloud writes wait for the
    cluster's UID."""
    sections, uid, network = view.snapshot.sections(), view.snapshot.cluster_uid, view.snapshot.network

    def doubt_about(evidence: Evidence) -> GuardResult | None:
        match evidence:
            case Identified() if isinstance(uid, Unknown):
                return GuardResult.of(rows.CLUSTER_UNREAD, (), {"error": uid.why})
            case NetworkRead() if isinstance(network, Unknown):
                return GuardResult.of(rows.LIST_INCOMPLETE, (), {"list": "networks", "error": network.why})
            case WholeList(name) if gap := _gap(sections.get(name), evidence):
                facts: dict[str, Plain] = {"list": name.replace("_", " "), "error": gap}
                return GuardResult.of(rows.LIST_INCOMPLETE, (), facts)
        return None

    for change, doubts in doubts_of(view.plan, doubt_about):
        yield from (replace(doubt, keys=(change.key,)) for doubt in doubts)


def _gap(section: Section[Any, Any] | None, wanted: WholeList) -> str | None:
    """Why it is not whole; None when it is."""
    if section is None:
        return None if wanted.if_read else "not read"
    unreadable = section.unreadable.values() if wanted.each else ()
    return section.why_incomplete or next(iter(unreadable), None)


def other_controller(view: GuardInput) -> Iterator[GuardResult]:
    """Writes are held while another cloud controller runs, and wait while that will be known in a moment; if permission
    to look is missing, only a note says so. Another controller writes nothing of a load balancer class, so that
    Services with one may be served beside it."""
    found, others = view.snapshot.controllers, other_controllers(view.snapshot)
    is_shared = view.snapshot.serving.balancer_class is not None
    keys = [
        change.key for change in view.plan.changes if not (is_shared and change.row.controller is Controller.SERVICE)
    ]
    if others:
        yield GuardResult.of(rows.CONTROLLER_RUNS, keys, _running(others), value=len(others), limit=0)
    elif found is not None and found.why_incomplete is not None:
        yield GuardResult.of(rows.CONTROLLER_UNKNOWN, keys, {"error": found.why_incomplete})


def other_controllers(snapshot: Snapshot) -> tuple[Workload, ...]:
    """The other cloud controllers that have ready pods, in the order of their keys; empty if nothing looked."""
    return tuple(filter(sign_of_another, snapshot.controllers or ()))


def _running(others: Collection[Workload]) -> dict[str, Plain]:
    signs = ", ".join(dict.fromkeys(map(sign_of_another, others)))
    return {"sign": signs, "workloads": ", ".join(f"{each.kind} {each.namespace}/{each.name}" for each in others)}


def controller_notes(snapshot: Snapshot) -> tuple[Note, ...]:
    """A note on each other controller, as an empty plan holds nothing; and why it could not be told whether there is
    one."""
    found = snapshot.controllers
    if found is None:
        return ()
    seen = tuple(rows.CONTROLLER_RUNS.note(other.key, **_running([other])) for other in other_controllers(snapshot))
    gap = found.why_incomplete or next(iter(found.unreadable.values()), None)
    return seen if gap is None else (*seen, rows.CONTROLLER_UNKNOWN.note(PLAN, error=gap))


def clock_skew(view: GuardInput) -> Iterator[GuardResult]:
    """Changes that depend on an age wait while Kubernetes' clock disagrees with the others. They cannot be approved."""
    if view.snapshot.clocks.differ:
        why = _skew(view.snapshot.clocks)
        keys = [c.key for c in view.plan.changes if any(isinstance(each, Age) for each in c.rests_on)]
        yield GuardResult.of(why.rule, keys, why.facts, due_in_s=LOOK_AGAIN_S)


def clock_notes(snapshot: Snapshot) -> tuple[Note, ...]:
    """Notes on the clocks that are off, also if nothing waits for them; empty when all agree."""
    clocks = snapshot.clocks
    if clocks.differ:
        return (_skew(clocks).note(PLAN),)
    if clocks.process is None or not is_far(clocks.process):
        return ()
    others = "Kubernetes" if clocks.hetzner is None else "Kubernetes and Hetzner"
    return (rows.MACHINE_CLOCK_OFF.note(PLAN, apart=_direction(clocks.process), others=others),)


def _skew(clocks: Clocks) -> Reason:
    """The clock that is off, by how much, and the others."""
    hetzner, process = clocks.hetzner, clocks.process
    if hetzner is None or not is_far(hetzner):
        if is_far(clocks.jump):
            return rows.API_SERVERS_DIFFER.because(apart=roughly(clocks.jump))
        apart = _direction(-(process or timedelta(0)))
        return rows.CLOCKS_DIFFER.because(clock="Kubernetes", apart=apart, others="this machine")
    if process is not None and not is_far(process):
        others = "Kubernetes and this machine"
        return rows.CLOCKS_DIFFER.because(clock="Hetzner", apart=_direction(hetzner), others=others)
    others = "Hetzner and this machine" if process is not None and not is_far(process - hetzner) else "Hetzner"
    return rows.CLOCKS_DIFFER.because(clock="Kubernetes", apart=_direction(-hetzner), others=others)


def _direction(apart: timedelta) -> str:
    """``about 60 minutes ahead of``, or behind."""
    return f"{roughly(abs(apart))} {'ahead of' if apart > timedelta(0) else 'behind'}"


def roughly(apart: timedelta) -> str:
    """So coarse that the same trouble reads the same in the next pass: ``about 60 minutes``."""
    minutes = round(apart.total_seconds() / 60)
    if minutes < 120:
        return f"about {counted(max(1, minutes), 'minute')}"
    hours = round(minutes / 60)
    return f"about {hours} hours" if hours < 72 else f"about {round(hours / 24)} days"
