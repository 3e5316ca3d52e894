"""Whole passes beside another cloud controller, and passes of a loop that remembers: what fails, and what flaps."""

from collections.abc import Callable
from typing import Any

import pytest

from actuators.outcome import Applied, Failed
from desired.plan.notes import NoteKind
from reconciler.passes.history import History
from reconciler.result import Report, Result
from tests.balancers import LOCATED, annotated
from tests.routes import pods_of
from tests.support.objects import joining_node, server, settled_node
from tests.support.passes import (
    BALANCER,
    NAMESPACE,
    Run,
    a_balanced_run,
    a_run_of_joining_nodes,
    initialized,
    load_balancer_service,
    routed_nodes,
)
from tests.support.simulated_loop import SimulatedLoop
from tests.support.simulators import Simulation
from tests.support.workloads import raw_workload
from tests.support.world import SERVICES

Simulate = Callable[..., Simulation]
HCCM = raw_workload(
    "hcloud-cloud-controller-manager", "hetznercloud/hcloud-cloud-controller-manager:v1.30.1", readyReplicas=1
)
REFUSED = {"kind": "Status", "reason": "Forbidden", "message": "may not"}
INVALID = {"error": {"code": "invalid_input", "message": "invalid input in field 'x'"}}
FORBIDDEN = {"error": {"code": "forbidden", "message": "insufficient permissions"}}
TARGET = f"{BALANCER}/target/server:2"


def beside_hccm(run: Run, **status: Any) -> None:
    world = run.sim.kubernetes.world()["kubernetes"]
    run.sim.kubernetes.replace_world({**world, "deployments": [{**HCCM, "status": status}]})


def rules(report: Report) -> dict[str, str | None]:
    """Key of each change that was not tried → the rule that kept it."""
    return {line.change.key: line.change.decision.rule for line in report.lines if line.outcome is None}


def outcome_of(report: Report, key: str) -> type | None:
    """How the change ended; None when it was not tried."""
    return next(type(line.outcome) for line in report.lines if line.change.key == key and line.outcome is not None)


def test_nothing_is_written_beside_hccm(joining: Run) -> None:
    """Every write is held, with a note that says what to do; scaled to 0 it is in nobody's way."""
    beside_hccm(joining, readyReplicas=1)

    report = joining.converge()

    assert report.result is Result.BLOCKED
    assert joining.sim.written() == []
    assert rules(report) == {"node/web-1": "other-controller", "node/web-2": "other-controller"}
    assert [note.kind for note in report.notes] == [NoteKind.OTHER_CONTROLLER]
    assert {event.reason for event in joining.ears.events} == {"ChangeHeld"}

    beside_hccm(joining)
    assert joining.converge().result is Result.NO_CHANGES
    assert initialized(joining) == ["web-1", "web-2"]


def test_an_empty_plan_beside_hccm(joining: Run) -> None:
    """Nothing to hold is no refusal: what people look at before they switch over."""
    joining.converge()
    beside_hccm(joining, readyReplicas=1)

    report = joining.plan()

    assert (report.result, report.lines) == (Result.NO_CHANGES, ())
    assert [note.kind for note in report.notes] == [NoteKind.OTHER_CONTROLLER]


@pytest.mark.parametrize("code", [403, 404])
def test_no_permission_to_look(joining: Run, code: int) -> None:
    joining.sim.spoil_kubernetes("status", path="/apis/apps/.*", code=code, body=REFUSED, count=None)

    report = joining.converge()

    assert (report.result, initialized(joining)) == (Result.NO_CHANGES, ["web-1", "web-2"])
    (note,) = report.notes
    assert note.kind is NoteKind.OTHER_CONTROLLER
    assert f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments answers {code} may not" in note.text


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def remembering(run: Run) -> Clock:
    clock = Clock()
    run.history = History(clock, lambda: 0.0)
    return clock


def test_a_failing_node_slows_no_other(simulate: Simulate) -> None:
    """What is refused is tried again after 1, 2 and 4 s, whatever else calls for passes; others are served at once."""
    servers = [server(number, f"web-{number}") for number in range(1, 9)]
    run = Run(simulate(nodes=[joining_node("web-1")], project={"servers": servers}))
    clock = remembering(run)
    run.sim.spoil_kubernetes("status", method="PATCH", path=".*/web-1.*", code=403, body=REFUSED, count=None)

    tried = []
    for second in range(8):
        clock.now = float(second)
        if second:
            run.sim.kubernetes_writer().create("/api/v1/nodes", joining_node(f"web-{second + 1}"))
        report = run.converge()
        if any(line.change.key == "node/web-1" and isinstance(line.outcome, Failed) for line in report.lines):
            tried.append(second)
        if second:
            assert outcome_of(report, f"node/web-{second + 1}") is Applied

    assert tried == [0, 1, 3, 7]
    assert initialized(run) == [f"web-{number}" for number in range(2, 9)]


ITS_OWN_OR_ALL = pytest.mark.parametrize(
    ("status", "refusal", "rule", "wait_s"),
    [
        pytest.param(422, INVALID, "back-off", 1.0, id="its own fault"),
        pytest.param(403, FORBIDDEN, "quota", 60.0, id="refused whatever the object is"),
    ],
)


@ITS_OWN_OR_ALL
def test_a_service_that_fails_is_told_the_same_while_it_waits(
    simulate: Simulate, status: int, refusal: Any, rule: str, wait_s: float
) -> None:
    run = a_balanced_run(simulate)
    clock = remembering(run)
    run.sim.spoil_hetzner("status", method="POST", path=".*/load_balancers", code=status, count=None, body=refusal)
    run.converge()
    first = [event for event in run.ears.events if event.subject.kind == "Service"]
    conditions = run.sim.objects("services")["web"]["status"].get("conditions")
    run.ears.events.clear()
    run.sim.kubernetes_proxy.journal.clear()
    clock.now += wait_s / 2

    report = run.converge()

    assert rules(report)[BALANCER] == rule
    assert [event for event in run.ears.events if event.subject.kind == "Service"] == first
    assert run.sim.objects("services")["web"]["status"].get("conditions") == conditions
    assert run.sim.written() == []


@ITS_OWN_OR_ALL
def test_a_refused_route_stays_refused_while_it_waits(
    simulate: Simulate, status: int, refusal: Any, rule: str, wait_s: float
) -> None:
    """The Node is told once that it has no network, and nothing is planned to say otherwise before the next try."""
    run = a_run_of_joining_nodes(simulate, 1)
    clock = remembering(run)
    run.sim.spoil_hetzner("status", method="POST", path=".*/add_route", code=status, count=None, body=refusal)
    run.converge()
    clock.now += wait_s / 2

    assert rules(run.converge()) == {f"route/7/{pods_of(1)}": rule}
    run.sim.hetzner_proxy.clear_faults()
    clock.now += wait_s / 2
    run.converge()
    assert routed_nodes(run) == {"web-1"}


def test_a_target_that_somebody_removes_again_and_again(simulate: Simulate) -> None:
    """It is put back until that was undone three times; then it is left alone for an hour, with a warning."""
    run = a_balanced_run(simulate)
    clock = remembering(run)
    run.converge()
    run.converge()
    heard, reports = [], []
    for _ in range(4):
        clock.now += 60.0
        take_away_target_2(run)
        run.ears.events.clear()
        reports.append(run.converge())
        heard.append({event.reason for event in run.ears.events})
        run.converge()

    assert [rules(report) for report in reports] == [{}, {}, {}, {TARGET: "flapping"}]
    assert [line.change.decision.due_in_s for line in reports[-1].lines] == [3600.0]
    assert ["ChangeHeld" in reasons for reasons in heard] == [False, False, False, True]
    assert [hold.rule for hold in reports[-1].holds] == ["flapping"]
    assert targets(run) == {1}

    clock.now += 3600.0
    run.converge()
    assert targets(run) == {1, 2}


def test_the_only_target_stays_while_its_replacement_cannot_be_added(simulate: Simulate) -> None:
    """Whether that is tried in a pass, or waits for its next try; then the other one goes once it answers."""
    nodes = [settled_node("web-1", 1), settled_node("web-2", 2)]
    for node, pool in zip(nodes, "ab", strict=True):
        node["metadata"]["labels"]["pool"] = pool
    sim = simulate(nodes=nodes, project={"servers": [server(1, "web-1"), server(2, "web-2")]})
    sim.kubernetes_writer().create(SERVICES, load_balancer_service(**annotated(node_selector="pool=a")))
    run = Run(sim, LOCATED)
    clock = remembering(run)
    report = run.converge()
    selector = {"metadata": {"annotations": annotated(node_selector="pool=b")}}
    run.sim.kubernetes_writer().patch(f"{SERVICES}/web", selector)
    run.sim.spoil_hetzner("status", method="POST", path=".*/add_target$", code=422, body=INVALID, count=2)

    for wait_s in (60.0, 0.5, 60.0, 0.5):
        clock.now += wait_s
        report = run.converge()
        assert (targets(run), report.holds) == ({1}, ())
    assert rules(report) == {f"{BALANCER}/target/server:1": "target-floor", TARGET: "back-off"}

    for _ in range(3):
        clock.now += 60.0
        run.converge()
    assert targets(run) == {2}


def test_both_targets_stay_while_hetzner_refuses_more(simulate: Simulate) -> None:
    run = Run(simulate(nodes=[], project={"servers": [server(n, f"web-{n}") for n in range(1, 5)]}), LOCATED)
    for number in range(1, 5):
        node = settled_node(f"web-{number}", number)
        node["metadata"]["labels"]["pool"] = "a" if number < 3 else "b"
        run.sim.kubernetes_writer().create("/api/v1/nodes", node)
    run.sim.kubernetes_writer().create(SERVICES, load_balancer_service(**annotated(node_selector="pool=a")))
    clock = remembering(run)
    run.converge()
    selector = {"metadata": {"annotations": annotated(node_selector="pool=b")}}
    run.sim.kubernetes_writer().patch(f"{SERVICES}/web", selector)
    full = {"error": {"code": "resource_limit_exceeded", "message": "no more targets"}}
    run.sim.spoil_hetzner("status", method="POST", path=".*/add_target$", code=412, body=full, count=None)

    for wait_s in (60.0, 0.5, 60.0, 0.5):
        clock.now += wait_s
        report = run.converge()
        assert (targets(run), report.holds) == ({1, 2}, ())

    run.sim.hetzner_proxy.clear_faults()
    for _ in range(3):
        clock.now += 60.0
        run.converge()
    assert targets(run) == {3, 4}


class Remover:
    """Another tool, which takes the second server off each load balancer so long after it was put there."""

    def __init__(self, after_s: float) -> None:
        self.loop = SimulatedLoop(
            [settled_node("web-1", 1), settled_node("web-2", 2)],
            [load_balancer_service("web")],
            {"servers": [server(1, "web-1"), server(2, "web-2")]},
            LOCATED,
            calls_every_s=4.0,
        )
        self.loop.pass_hours(0.01)
        self.loop.line.trouble = self
        self.begins_at = self.loop.clock.timestamp()
        self._after_s = after_s
        self._due_at: float | None = self.begins_at

    def __call__(self, method: str, path: str) -> None:
        self.loop.scheduler.sleep(0.12)
        now = self.loop.clock.timestamp()
        if method == "POST" and path.endswith("/add_target"):
            self._due_at = now + self._after_s
        elif self._due_at is not None and now >= self._due_at:
            self._due_at = None
            take_away_target_2(self.loop.run)

    def puts(self) -> list[float]:
        return [moment - self.begins_at for moment in self.loop.sent("POST", "/add_target") if moment > self.begins_at]


@pytest.mark.parametrize("after_s", [0.1, 20.0])
def test_a_target_that_is_taken_off_at_once(after_s: float) -> None:
    """However soon a change is undone, it counts: it is made three times, and then suspended."""
    tool = Remover(after_s)

    tool.loop.pass_hours(10 / 60)

    assert len(tool.puts()) <= 3
    held = [line.change for _, report in tool.loop.reports[-1:] for line in report.lines]
    assert [(change.key, change.decision.rule) for change in held] == [(TARGET, "flapping")]


def targets(run: Run) -> set[int]:
    (balancer,) = run.sim.balancers()
    return {target["server"]["id"] for target in balancer["targets"]}


def take_away_target_2(run: Run[Any]) -> None:
    project = run.sim.hetzner.world()["hetzner"]
    (balancer,) = project["load_balancers"]
    kept = [target for target in balancer["targets"] if target["server"]["id"] != 2]
    run.sim.hetzner.replace_world({**project, "load_balancers": [{**balancer, "targets": kept}]})


def test_a_run_that_remembers_nothing(joining: Run) -> None:
    """``--once`` has no history: each of its passes tries everything."""
    joining.sim.spoil_kubernetes("status", method="PATCH", path=".*/web-1.*", code=403, body=REFUSED, count=None)

    for _ in range(2):
        assert outcome_of(joining.converge(), "node/web-1") is Failed
