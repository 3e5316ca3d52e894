"""Whole passes over Nodes whose servers are gone: what goes, what waits for how long, what it costs, what is said."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from actuators.outcome import Applied, Failed
from desired.model.settings import Settings, Waits
from desired.plan.change import Verdict
from reconciler.passes.loop import is_news, said
from reconciler.passes.pacing import Pace
from reconciler.result import Report, Result
from tests.support.objects import server, settled_node
from tests.support.passes import Run, just_before_the_writes
from tests.support.simulators import Simulation, ago

DELETING = ("DeletingNode", "Deleting node web-1 because it does not exist in the cloud provider")

Lose = Callable[..., Run]


@pytest.fixture
def lose(simulate: Callable[..., Simulation]) -> Lose:
    """Makes a run in which the servers of ``lost`` Nodes are gone, beside ``kept`` ones in order."""

    def start(lost: Sequence[dict[str, Any]] = (), kept: int = 3, **run: Any) -> Run:
        keep = {200 + number: f"keep-{number}" for number in range(kept)}
        nodes = [*lost, *(settled_node(name, number) for number, name in keep.items())]
        project = {"servers": [server(number, name) for number, name in keep.items()]}
        return Run(simulate(nodes=nodes, project=project), **run)

    return start


def silent(number: int = 1, seconds: float = 300.0, **spec: Any) -> dict[str, Any]:
    node = settled_node(f"web-{number}", number, "Unknown", since=ago(seconds))
    node["spec"] |= spec
    return node


def left(run: Run) -> list[str]:
    """Names of the Nodes that are there, but for those in order."""
    return [name for name in run.sim.nodes() if not name.startswith("keep-")]


def asked(run: Run) -> list[str]:
    paths = sorted(entry.path.removeprefix("/v1/") for entry in run.sim.sent_to_hetzner())
    run.sim.hetzner_proxy.journal.clear()
    return paths


def announced(run: Run) -> list[tuple[str, str]]:
    return [(event.reason, event.message) for event in run.ears.events]


def verdicts(report: Report) -> list[tuple[str, Verdict, str | None]]:
    return [
        (line.change.key, line.change.decision.verdict, line.change.decision.rule)
        for line in report.lines
        if line.outcome is None
    ]


def test_a_lost_node(lose: Lose) -> None:
    run = lose([silent()])

    report = run.converge()

    assert report.result is Result.NO_CHANGES
    assert [(line.change.key, line.outcome) for line in report.lines] == [("node/web-1", Applied())]
    assert sorted(run.sim.nodes()) == ["keep-0", "keep-1", "keep-2"]
    assert asked(run) == ["servers", "servers/1", "servers/1"]
    assert announced(run) == [DELETING]
    assert run.converge().lines == ()
    assert asked(run) == ["servers"]


@pytest.mark.parametrize(
    ("node", "waits", "due_in_s"),
    [
        pytest.param(silent(seconds=8), Waits(), 12.0, id="silent for eight seconds"),
        pytest.param(silent(seconds=8), Waits(not_ready_for=timedelta(seconds=9)), 1.0, id="as was asked for"),
        pytest.param(silent(), Waits(age=timedelta(seconds=3645)), 45.0, id="too young"),
        pytest.param(silent(seconds=-3600), Waits(), 3620.0, id="silent from in an hour on"),
        pytest.param(silent(seconds=15), Waits(age=timedelta(seconds=3645)), 45.0, id="the longer wait of two"),
    ],
)
def test_a_deletion_that_waits(lose: Lose, node: dict[str, Any], waits: Waits, due_in_s: float) -> None:
    """The report says when it is due, the loop wakes up then, and then it is done; until then nobody is asked."""
    run = lose([node], settings=Settings(waits=waits))

    early = run.converge()
    run.sim.clock.advance(due_in_s - 1)
    later = run.converge()

    assert [line.change.decision.due_in_s for line in early.lines] == [due_in_s]
    assert verdicts(later) == [("node/web-1", Verdict.WAITING, "absence-proof")]
    assert Pace(60.0).due_in_s(early, 0) == due_in_s
    assert not is_news(later, said(early))
    assert (left(run), asked(run), announced(run)) == (["web-1"], ["servers", "servers"], [])

    run.sim.clock.advance(1)
    assert run.converge().result is Result.NO_CHANGES
    assert left(run) == []


def test_a_hold_that_resolves_itself(lose: Lose) -> None:
    run = lose([silent(1), silent(2, seconds=600)])

    held = run.converge()
    assert Pace(3600.0).due_in_s(held, 0) == 1200.0

    run.sim.clock.advance(1200)
    assert run.converge().result is Result.NO_CHANGES
    assert left(run) == []


def test_thirty_two_announced_nodes(lose: Lose) -> None:
    """Ten are asked for in a pass, and go; what three passes have left is due in a moment, for the next chain."""
    run = lose([silent(number, unschedulable=True) for number in range(1, 33)])

    first = run.converge()

    assert verdicts(first) == [
        ("node/web-31", Verdict.WAITING, "absence-proof"),
        ("node/web-32", Verdict.WAITING, "absence-proof"),
    ]
    assert left(run) == ["web-31", "web-32"]
    assert asked(run) == sorted(["servers", *(f"servers/{number}" for number in range(1, 31) for _ in "ab")])
    assert Pace(60.0).due_in_s(first, 0) == 5.0

    assert run.converge().result is Result.NO_CHANGES
    assert left(run) == []
    assert asked(run) == ["servers", "servers/31", "servers/31", "servers/32", "servers/32"]


def test_a_server_that_comes_to_light(lose: Lose) -> None:
    run = lose([silent()])
    project = run.sim.hetzner.world()["hetzner"]
    back = {**project, "servers": [*project["servers"], server(1, "web-1")]}
    just_before_the_writes(run, lambda sim: sim.hetzner.replace_world(back))

    first = run.converge()

    why = "Hetzner contradicts itself: its list lacks server 1, but a GET by its id finds it"
    assert [line.outcome for line in first.lines] == [Failed(why)]
    assert asked(run) == ["servers", "servers/1", "servers/1"]
    assert run.converge().result is Result.NO_CHANGES
    assert left(run) == ["web-1"]
    assert announced(run) == [("DeletingNodeFailed", f"Failed deleting node web-1: {why}")]
