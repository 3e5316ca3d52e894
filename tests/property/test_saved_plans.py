"""The law of saved plans: however the world moves between a plan and its apply, never more is applied than the file
permits; and a file that somebody has forged permits nothing that is not planned anyway.

What was carried out is compared with the sides of the plan as its report shows them, and not by digests.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desired.model.settings import Settings
from desired.plan.change import Change, Verdict
from reconciler.passes.saved_plan import SavedPlanProblem, read_plan, save_plan
from reconciler.report.documents import report_as_json, to_json
from reconciler.result import Report
from tests.builders import a_change
from tests.property.strategies import WORLDS, law_of_passes, some
from tests.support.direct import DirectSimulation
from tests.support.harm_stage import Stage, a_stage
from tests.support.harm_start import GUEST_IP, HOME, Start, pods
from tests.support.harm_truth import balancer_of, is_wanted, machine_of
from tests.support.passes import Run
from tests.support.premises import premise

Step = tuple[str, int]
"""What happens, and to which of several."""

STARTS = (
    Start(nodes=3),
    Start(nodes=4, services=(("web", {}), ("db", {"use-private-ip": "true"}))),
    Start(nodes=2, routes=False, services=(("web", {"use-private-ip": "true"}),)),
)
OTHER_CIDR = IPv4Network("10.128.0.0/9")


def _server(stage: Stage, number: int) -> int:
    """The number of some Node's server; 0 when there is none."""
    found = sorted(filter(None, map(machine_of, stage.nodes().values())))
    return found[number % len(found)] if found else 0


def _service(number: int) -> str:
    return ("web", "db")[number % 2]


def _with_balancer(stage: Stage, number: int, happens: Callable[[int], object]) -> None:
    """Let it happen to the load balancer of some Service, if there is one."""
    seen = stage.truth.seen()
    service = seen.services["a"].get(f"default/{_service(number)}")
    found = balancer_of(seen, HOME, service, seen.uid("a")) if service and is_wanted(service) else None
    if found is not None:
        happens(found["id"])


def _is_there(stage: Stage, number: int) -> bool:
    return f"default/{_service(number)}" in stage.truth.seen().services["a"]


def _gone(stage: Stage, number: int) -> None:
    stage.kill(_server(stage, number))
    stage.advance(90)


def _annotated(stage: Stage, number: int) -> None:
    options = ({"algorithm-type": "least_connections"}, {"type": "lb21"}, {"use-private-ip": "true"}, {"name": "shop"})
    if _is_there(stage, number):
        stage.annotate(_service(number), options[number % len(options)])


def _deleted(stage: Stage, number: int) -> None:
    if _is_there(stage, number):
        stage.delete_service(_service(number))


WAYS: Mapping[str, Callable[[Stage, int], object]] = {
    "server gone": _gone,
    "server renamed": lambda stage, number: stage.rename(_server(stage, number), "elsewhere"),
    "Node gone": lambda stage, number: stage.delete_node(_server(stage, number)),
    "Node appears": lambda stage, _: stage.join(),
    "Service deleted": _deleted,
    "Service appears": lambda stage, number: None if _is_there(stage, number) else stage.make_service(_service(number)),
    "annotation changed": _annotated,
    "target removed by hand": lambda stage, number: _with_balancer(
        stage, number, lambda found: stage.drop(found, _server(stage, number))
    ),
    "load balancer deleted": lambda stage, number: _with_balancer(stage, number, stage.delete_balancer),
    "route added": lambda stage, number: stage.route(pods(100 + number), (GUEST_IP, "10.0.0.99")[number % 2]),
    "route removed": lambda stage, number: stage.route(pods(1 + number % 3), None),
    "time passes": lambda stage, number: stage.advance((15, 90, 600, 1900)[number % 4]),
}
NUMBERS = st.integers(0, 11)
FEW = max(1, WORLDS // 4)
"""Examples, where these tell enough."""
steps = st.lists(st.tuples(some(*WAYS), NUMBERS), min_size=1, max_size=3)


def _a_world(start: Start, before: Sequence[Step]) -> tuple[Stage, Run[DirectSimulation]]:
    """A converged world in which this has happened since, and its controller."""
    stage = a_stage(start)
    _happen(stage, before)
    return stage, stage.controller()


def _happen(stage: Stage, script: Sequence[Step]) -> None:
    for way, number in script:
        WAYS[way](stage, number)
    stage.truth.changed()


def _carried_out(run: Run[DirectSimulation]) -> tuple[Report, list[list[Change]]]:
    """The report of a chain, and the changes that each of its passes has sent."""
    passes: list[list[Change]] = []
    begin = run.ears.begin

    def begun(changes: Sequence[Change]) -> None:
        passes.append(list(changes))
        begin(changes)

    run.ears.begin = begun  # type: ignore[method-assign]
    return run.converge(), passes


def _is_in(document: Mapping[str, Any], change: Change) -> bool:
    """Whether the report has this very change, or says that its value is known after the apply."""
    before, after = _timeless(to_json(change.before)), _timeless(to_json(change.after))
    for found in document["changes"]:
        if (found["kind"], found["key"]) == (change.kind, change.key):
            is_later = "(known after apply)" in json.dumps(found["after"])
            return _timeless(found["before"]) == before and (is_later or _timeless(found["after"]) == after)
    return False


def _timeless(side: Any) -> str:
    """Without the moment at which a switch of targets began."""
    return re.sub(r"\d{8}T\d{6}Z", "", json.dumps(side, sort_keys=True))


@law_of_passes({"something is applied": 0.2, "something is planned that is not permitted": 0.3})
@pytest.mark.timeout(3600)
@given(some(*STARTS), steps, steps, st.booleans())
def test_no_more_is_applied_than_is_permitted(
    start: Start, before: Sequence[Step], since: Sequence[Step], exact: bool
) -> None:
    """Whatever has happened since; and with ``--exact`` all of the first pass, or nothing."""
    stage, run = _a_world(start, before)
    saved = run.plan()
    _happen(stage, since)
    now = {(line.change.kind, line.change.key) for line in run.plan().lines}
    run.agreement = read_plan(save_plan(saved, run.settings), "plan.json", is_exact=exact).agreement

    report, passes = _carried_out(run)

    document = report_as_json(saved)
    planned = {(found["kind"], found["key"]) for found in document["changes"]}
    premise("something is applied", is_met=any(passes))
    premise("something is planned that is not permitted", is_met=not now <= planned)
    assert [change for sent in passes for change in sent if not _is_in(document, change)] == []
    if exact and planned != now:
        assert passes == []
        assert report.errors


@law_of_passes({"something is applied": 0.4}, examples=FEW)
@given(some(*STARTS), steps, some(Settings(), replace(STARTS[0].settings, cluster_cidr=OTHER_CIDR)))
def test_other_settings(start: Start, before: Sequence[Step], other: Settings) -> None:
    """A plan that was made with them is refused; and one whose texts were forged permits no more than it has."""
    _, run = _a_world(start, before)
    report = run.plan()
    saved = read_plan(save_plan(report, run.settings), "plan.json")
    with pytest.raises(SavedPlanProblem):
        saved.check(other)
    run.agreement, run.settings = saved.agreement, other
    _, passes = _carried_out(run)
    premise("something is applied", is_met=any(passes))
    assert [change for sent in passes for change in sent if not _is_in(report_as_json(report), change)] == []


def _nothing(_report: Report, _stage: Stage) -> list[Change]:
    """A file without a change."""
    return []


def _everything(report: Report, stage: Stage) -> list[Change]:
    """A file by which all is permitted, and each object goes."""
    nodes = [a_change(f"node/{name}", "node.delete") for name in stage.nodes()]
    return [*(line.change for line in report.lines), *nodes, a_change("load_balancer/default/web", "lb.delete")]


def _forged(content: bytes, changes: Sequence[Change]) -> bytes:
    """The file with permissions for these changes."""
    permissions = {change.digest: change.key for change in changes}
    return json.dumps({**json.loads(content), "permissions": permissions}).encode()


@law_of_passes({"something is forged": 0.3}, examples=FEW)
@pytest.mark.timeout(3600)
@given(some(*STARTS), steps, steps, some(_nothing, _everything))
def test_a_forged_plan_permits_what_is_planned_anyway(
    start: Start, before: Sequence[Step], since: Sequence[Step], forge: Callable[[Report, Stage], list[Change]]
) -> None:
    """And approves nothing; one without a change permits nothing at all."""
    stage, run = _a_world(start, before)
    content = save_plan(run.plan(), run.settings)
    _happen(stage, since)
    report = run.plan()
    changes = forge(report, stage)
    allowed = [line.change for line in report.lines if line.change.decision.verdict is Verdict.ALLOWED]
    planned = {change.key: replace(change, follows=()) for change in allowed}
    run.agreement = read_plan(_forged(content, changes), "plan.json").agreement

    _, passes = _carried_out(run)

    premise("something is forged", is_met=bool(changes))
    # What is left out is followed by nothing.
    assert all(planned.get(change.key) == replace(change, follows=()) for change in (passes[0] if passes else ()))
    assert changes or not any(passes)
