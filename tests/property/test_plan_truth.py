"""Law of the truth of a plan: what a dry run shows is what the apply of the same world does.

A world is planned, told in all forms, and applied, while nothing else moves. What a chain of passes does is
what its actuators say, not its report, which has to agree. ``TRUTH_WORLDS`` says how many worlds are tried.

| The plan shows | The apply does |
|---|---|
| a change that is allowed | the same: kind, key and both sides, where ``(known after apply)`` is any value |
| a change that waits, or is held or refused; no change | nothing |

Three things differ, and the plan or the report of the apply tells of each:

| What differs | Told by |
|---|---|
| a status that is wrong is published at once, and again once the load balancer has changed | the changes of its parts |
| what waits until its replacement answers goes, as far as passes reach | what waits |
| what a guard withholds in a later pass, such as a port without certificate yet, stays undone | the report |

An apply to whose plan a person has agreed has none of the first two.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from actuators.approvals import approve as note_approval
from actuators.outcome import Applied, Outcome
from desired.model.load_balancer import KNOWN_AFTER_APPLY, Listener
from desired.plan.change import Change, GuardName, Verdict
from desired.plan.grants import Grant, Source
from desired.plan.kinds import KINDS, ChangeKind, Verb
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from hcloud_sandbox.robot import RobotSimulator
from kubernetes_double import KubernetesSimulator
from reconciler.config.options import Detail
from reconciler.passes.agreement import Agreement
from reconciler.report.documents import report_as_json
from reconciler.report.text import render_lines
from reconciler.result import Line, Report, Result
from tests.property.plan_worlds import PlanWorld, plan_worlds
from tests.support.direct import DirectSimulation
from tests.support.passes import NAMESPACE, Run
from tests.support.records import begin_record
from tests.support.sampling import SEED
from tests.support.simulators import START

WORLDS = int(os.environ.get("TRUTH_WORLDS") or 15)
_PUBLISHED = frozenset({ChangeKind.LB_NETWORK, ChangeKind.LB_PUBLIC_INTERFACE, ChangeKind.LB_LISTENER})
"""Changes after which a load balancer has other addresses, or another mode."""
_JUDGED_ANEW = frozenset({GuardName.PROJECT_ANCHOR, GuardName.CERTIFICATE_ISSUANCE})
"""Guards that find in a later pass what was not there before: a witness that the pass itself has deleted, and a
certificate that is not issued yet."""


def a_run(world: PlanWorld) -> Run[DirectSimulation]:
    clock = SimulatedClock(source=START.timestamp)
    hetzner = HetznerSimulator(clock, HetznerOptions(rate_limit=1_000_000), world=world.project)
    kubernetes = KubernetesSimulator(clock, world=world.cluster)
    robot = None if world.account is None else RobotSimulator(clock, world={"servers": list(world.account)})
    return Run(DirectSimulation(hetzner, kubernetes, clock, robot=robot), world.settings)


@dataclass(frozen=True)
class Apply:
    """What an apply did, and what it says that it did."""

    report: Report
    done: tuple[Change, ...]
    """Each change that was carried out, in the order of time; one that was twice, twice."""


def applied(run: Run[DirectSimulation]) -> Apply:
    done: list[Change] = []

    def note(change: Change, outcome: Outcome) -> None:
        if isinstance(outcome, Applied):
            done.append(change)

    run.ears.done = note  # type: ignore[method-assign]
    return Apply(run.converge(), tuple(done))


def approve(run: Run[DirectSimulation], hold_hash: str) -> None:
    """What a person does about a hold."""
    now = run.sim.clock.now()
    begin_record(run.sim.kubernetes_reader(), run.sim.kubernetes_writer())
    approval = Grant(Source.CLUSTER, hold_hash, "somebody", now)
    note_approval(run.sim.kubernetes_reader(), run.sim.kubernetes_writer(), NAMESPACE, approval, now)


def allowed(report: Report) -> Mapping[str, Change]:
    """Key → change that an apply would make now."""
    return {line.change.key: line.change for line in report.lines if line.change.decision.verdict is Verdict.ALLOWED}


def as_shown(shown: Change, done: Change) -> bool:
    """Whether a change that was carried out is the one that the plan shows."""
    if shown.kind is not done.kind or shown.verb is not done.verb:
        return False
    sides = zip((shown.before, shown.after), (done.before, done.after), strict=True)
    if shown.kind is ChangeKind.SERVICE_STATUS and not shown.is_known:
        return True  # public addresses may be known before private ones
    return all(side is KNOWN_AFTER_APPLY or side == _as_far_as_known(side, made) for side, made in sides)


def _as_far_as_known(shown: object, made: object) -> object:
    """What was made, without the certificate that the plan could not name."""
    if not isinstance(shown, Listener) or not isinstance(made, Listener) or shown.http is None or made.http is None:
        return made
    if shown.http.certificates is not KNOWN_AFTER_APPLY:
        return made
    return replace(made, http=replace(made.http, certificates=KNOWN_AFTER_APPLY))


def untold(plan: Report, done: Iterable[Change], *, is_agreed: bool) -> Iterator[str]:
    """What was done and is not what the plan shows, but for what the module names."""
    shown = allowed(plan)
    after_it = {line.change.key: line.change for line in plan.lines if _waits_for_health(line.change)}
    parts = {change.owner for change in (*shown.values(), *after_it.values()) if change.kind in _PUBLISHED}
    for change in done:
        planned = shown.get(change.key)
        if planned is not None and as_shown(planned, change):
            continue
        is_republished = change.kind is ChangeKind.SERVICE_STATUS and planned is not None and change.owner in parts
        goes_on = change.key in after_it and as_shown(after_it[change.key], change)
        if is_agreed or not (is_republished or goes_on):
            yield f"{change.key}: {change.kind} {change.before} -> {change.after}, the plan shows {planned}"


def _waits_for_health(change: Change) -> bool:
    """Whether the plan shows a change as one that waits until what replaces it answers."""
    return change.decision.verdict is Verdict.WAITING and change.decision.rule is GuardName.TARGET_HEALTH


def undone(plan: Report, apply: Apply) -> Iterator[str]:
    """What the plan shows, and was not done, and of which the report does not say that a guard has judged anew."""
    left: dict[str, Line] = {line.change.key: line for line in apply.report.lines if line.outcome is None}
    anew = {key for key, line in left.items() if line.change.decision.rule in _JUDGED_ANEW}
    for key in allowed(plan).keys() - {change.key for change in apply.done} - anew:
        yield f"{key}: the report says {left.get(key)}"


_HEAD = re.compile(r"  ([-+~!?]) (\S+)  (\S+)(?:  (.*))?")
_PRICE = re.compile(r" a month|price not known")


def heads(report: Report) -> list[tuple[str, str, str]]:
    """Key, kind and fate of each change that stands below no hold, as the text tells them when nothing is folded."""
    text = (line.text for line in render_lines(replace(report, detail=Detail.FULL)))
    found = [match for match in map(_HEAD.fullmatch, text) if match and match[3] in KINDS]
    columns = [(match[4] or "").split("  ") for match in found]
    fates = ["  ".join(told for told in each if not _PRICE.search(told)) for each in columns]
    return [(match[2], match[3], fate) for match, fate in zip(found, fates, strict=True)]


def removed(report: Report, fate: str = "") -> list[str]:
    """The keys of the changes with the sign of a removal, and this fate."""
    text = [line.text for line in render_lines(replace(report, detail=Detail.FULL))]
    signs = {match[2]: match[1] for match in map(_HEAD.fullmatch, text) if match}
    return sorted({key for key, _, told in heads(report) if told == fate and signs[key] == "-"})


def removals(changes: Iterable[Change]) -> list[str]:
    """The keys of those that remove something, each once."""
    return sorted({change.key for change in changes if change.verb is Verb.REMOVE})


def tells_the_truth(plan: Report, apply: Apply, *, is_agreed: bool) -> None:
    """Raises AssertionError where a plan, an apply and what is printed of both do not agree."""
    shown, keys = allowed(plan), {change.key for change in apply.done}
    assert [*untold(plan, apply.done, is_agreed=is_agreed)] == []
    assert [*undone(plan, apply)] == []

    document = report_as_json(plan)
    printed = [(each["key"], each["kind"]) for each in document["changes"] if each["verdict"] == "allowed"]
    assert sorted(printed) == sorted((change.key, change.kind) for change in shown.values())
    assert sorted((key, kind) for key, kind, fate in heads(plan) if not fate) == sorted(printed)
    assert removed(plan) == removals(shown.values())

    report = report_as_json(apply.report)
    ended = [each["key"] for each in report["changes"] if (each["outcome"] or {}).get("state") == "applied"]
    assert sorted(ended) == sorted(keys)
    assert sorted(key for key, _, fate in heads(apply.report) if fate == "applied") == sorted(keys)
    assert report["summary"]["applied"] == len(keys)
    assert removed(apply.report, "applied") == removals(apply.done)
    assert (plan.result, bool(keys)) != (Result.NO_CHANGES, True)
    assert apply.report.outcomes(Applied) or not keys


@pytest.mark.timeout(3600)
def test_an_apply_does_what_its_plan_shows() -> None:
    """See the module. What is tried in all has changes of many kinds: nothing is proven by empty plans."""
    seen: Counter[str] = Counter()

    @seed(SEED)
    @settings(max_examples=WORLDS, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))
    @given(plan_worlds(), st.booleans())
    def law(world: PlanWorld, is_agreed: bool) -> None:
        run = a_run(world)
        plan = run.plan()
        if world.approves:
            for hold in plan.holds:
                approve(run, hold.hash)
            plan = run.plan()
        if is_agreed:
            run.agreement = Agreement.to(allowed(plan).values())
        apply = applied(run)
        tells_the_truth(plan, apply, is_agreed=is_agreed)
        seen.update({change.kind for change in apply.done})

    law()
    assert len(seen) >= (len(KINDS) if WORLDS >= 1000 else 7), seen
