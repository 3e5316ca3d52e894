"""Whole passes while one clock is off: nothing goes because it is old, and the note says whose clock it is."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from desired.plan.notes import NoteKind
from reconciler.capture.offline import readers_of
from reconciler.capture.reading import capture_world
from reconciler.result import Report
from tests.support.objects import server, settled_node
from tests.support.passes import Run
from tests.support.rows import rows
from tests.support.simulators import START, Simulation, ago

HOUR_S = 3600.0
ALWAYS = {"seconds": HOUR_S, "count": None}
LISTS_OF_NODES = {"path": "/api/v1/nodes$"}


@pytest.fixture
def run(simulate: Callable[..., Simulation]) -> Run:
    """Eight Nodes; two are silent for ten minutes, and their servers are gone."""
    silent = [settled_node(f"web-{i}", i, "Unknown", since=ago(600)) for i in (1, 2)]
    ready = [settled_node(f"web-{i}", i) for i in range(3, 9)]
    project = {"servers": [server(i, f"web-{i}") for i in range(3, 9)]}
    made = Run(simulate(nodes=[*silent, *ready], project=project))
    made.readers = replace(made.readers, wall=START.timestamp)
    return made


def on_clocks(report: Report) -> list[str]:
    found = [note.text for note in report.notes if note.kind is NoteKind.CLOCK_SKEW]
    return [text.replace(";", ",").split(",")[0] for text in found]


def test_clocks_that_agree(run: Run) -> None:
    assert on_clocks(run.converge()) == []
    assert len(run.sim.nodes()) == 6


@rows(
    "spoilt seconds narrowed said",
    {
        "K+": ("kubernetes", 3600, {}, "clock of Kubernetes is about 60 minutes ahead of Hetzner and this machine"),
        "H+": ("hetzner", 3600, {}, "clock of Hetzner is about 60 minutes ahead of Kubernetes and this machine"),
        "H-": ("hetzner", -3600, {}, "clock of Hetzner is about 60 minutes behind Kubernetes and this machine"),
        "one replica of several answers for the Nodes": (
            "kubernetes",
            3600,
            LISTS_OF_NODES,
            "clock of Kubernetes is about 60 minutes ahead of Hetzner and this machine",
        ),
        "one replica of several answers for the identity": (
            "kubernetes",
            3600,
            {"path": "/api/v1/namespaces/"},
            "clock of Kubernetes is about 60 minutes ahead of Hetzner and this machine",
        ),
    },
)
def test_one_clock_of_three(run: Run, spoilt: str, seconds: float, narrowed: dict[str, str], said: str) -> None:
    """Both deletions wait until the clocks agree, and then go by themselves."""
    spoil = run.sim.spoil_kubernetes if spoilt == "kubernetes" else run.sim.spoil_hetzner
    spoil("clock", seconds=seconds, count=None, **narrowed)

    report = run.converge()

    assert on_clocks(report) == [said]
    assert {line.change.decision.rule for line in report.lines} == {"clock-skew"}
    assert len(run.sim.nodes()) == 8

    run.sim.kubernetes_proxy.clear_faults()
    run.sim.hetzner_proxy.clear_faults()
    assert on_clocks(run.converge()) == []
    assert len(run.sim.nodes()) == 6


def test_this_machine_alone(run: Run) -> None:
    run.readers = replace(run.readers, wall=lambda: START.timestamp() - HOUR_S)

    report = run.converge()

    assert on_clocks(report) == ["clock of this machine is about 60 minutes behind Kubernetes and Hetzner"]
    assert len(run.sim.nodes()) == 6


def test_hetzner_answers_with_refusals(run: Run) -> None:
    """Where clock of Hetzner is not known this machine's has a say; a proxy's refusal tells no time."""
    run.sim.spoil_kubernetes("clock", **ALWAYS)
    run.sim.spoil_hetzner("status", code=503, body={"error": {"code": "unavailable", "message": "no"}}, count=None)

    assert on_clocks(run.plan()) == ["clock of Kubernetes is about 60 minutes ahead of this machine"]


def test_a_plan_from_a_file_has_one_clock(run: Run) -> None:
    """Whoever reads a captured world reads it at any time."""
    run.sim.spoil_kubernetes("clock", **ALWAYS)
    file = capture_world(run.readers.kubernetes, run.readers.hetzner, None, "kube-system")
    run.readers = readers_of(file)

    assert on_clocks(run.plan()) == []


def test_an_approval_counts_no_longer_than_it_should(run: Run) -> None:
    """An API server whose clock is behind would give an approval another hour: while clocks differ none counts."""
    sim = run.sim
    world = sim.hetzner.world()["hetzner"]
    sim.hetzner.replace_world({**world, "servers": world["servers"][1:]})  # a third Node's server: too many at once
    (hold,) = run.plan().holds
    run.approve(hold.hash)
    sim.clock.advance(2 * HOUR_S)
    sim.spoil_kubernetes("clock", seconds=-HOUR_S - 60, count=None)

    report = run.plan()

    assert [held.hash for held in report.holds] == [hold.hash]
    assert any("does not count while the clocks differ" in note.text for note in report.notes)
