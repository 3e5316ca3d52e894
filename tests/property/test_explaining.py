"""Laws of explanations: whatever the world, what is told of a Service is what is planned for it, and can be printed."""

from collections.abc import Collection

from hypothesis import given

from desired.annotations.options import Options
from desired.explain.rows import Explanation, Part
from desired.model.load_balancer import LoadBalancer
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.planner import compute_plan
from desired.syntax.provider_id import server_key
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerSimulator
from kubernetes_double import KubernetesSimulator
from reconciler.observe.world import observe_world
from reconciler.report.explanation import explanation_as_json, render_explanation
from reconciler.result import Explained, Report
from tests.property.balancer_worlds import World, worlds
from tests.property.strategies import law_of_passes
from tests.support.direct import DirectSimulation
from tests.support.judging import explain_object, judge
from tests.support.passes import Run
from tests.support.premises import premise
from tests.support.rendering import invalid
from tests.support.schemas import published
from tests.support.simulators import START


def explained(world: World) -> list[Explained]:
    clock = SimulatedClock(source=START.timestamp)
    sim = DirectSimulation(
        HetznerSimulator(clock, world=world.project), KubernetesSimulator(clock, world=world.cluster), clock
    )
    settings = Settings(network="7" if world.has_network else None, balancer_defaults=Options(location="fsn1"))
    snapshot = observe_world(Run(sim, settings).readers, settings).snapshot
    plan = judge(compute_plan(snapshot, settings), snapshot, settings)
    said = []
    for service in snapshot.services or ():
        found = explain_object(service.key, snapshot, settings, plan)
        assert isinstance(found, Explanation)
        said.append(Explained(service.key, Report(snapshot=snapshot), found))
    return said


def whole(changes: Collection[Change]) -> list[LoadBalancer]:
    """The load balancers that come or go as a whole."""
    sides = [side for change in changes for side in (change.before, change.after)]
    return [side for side in sides if isinstance(side, LoadBalancer)]


def returning(said: Explained, found: Explanation) -> set[str]:
    """Targets that are there, and are to be added as well."""
    ids = [row.value for row in found.rows if (row.part, row.subject) == (Part.LOAD_BALANCER, "match")]
    balancers = said.report.snapshot.load_balancers if said.report.snapshot else None
    balancer = balancers.items.get(int(ids[0])) if balancers and ids and ids[0] else None
    there = balancer.targets if balancer else ()
    added = {change.after for change in found.changes if change.kind == "lb.target" and change.before is None}
    return {target.name for target in there if target in added}


def target_of(node: str, world: Snapshot) -> str:
    """The name of the target that a Node is; itself for a target that is no Node's."""
    found = world.nodes.items.get(node)
    server = server_key(found.provider_id) if found else None
    return f"server:{server.id}" if server else node


@law_of_passes({"a change is told": 0.25})
@given(worlds())
def test_a_service_is_told_as_it_is_planned(world: World) -> None:
    """Targets and ports are said to come, change or go exactly if the plan says so; all of it has a form.

    A target that is planned anew because it goes with the place in a network is one before and after.
    """
    explanations = explained(world)
    premise("a change is told", is_met=any(said.explanation and said.explanation.changes for said in explanations))
    for said in explanations:
        found, snapshot = said.explanation, said.report.snapshot
        assert found is not None
        assert snapshot is not None
        parts = [change.key.split("/", 3)[3] for change in found.changes if change.key.count("/") == 4]
        ports = {part.rpartition("/")[2] for part in parts if part.startswith("listener/")}
        targets = {part.removeprefix("target/") for part in parts if part.startswith("target/")}
        for balancer in whole(found.changes):
            ports |= set(map(str, balancer.listeners))
            assert isinstance(balancer.targets, frozenset)
            targets |= {target.name for target in balancer.targets}
        targets -= returning(said, found)
        differ = [row for row in found.rows if row.value != row.wanted]

        assert {row.subject for row in differ if row.part is Part.PORTS} == ports
        assert {target_of(row.subject, snapshot) for row in differ if row.part is Part.TARGETS} == targets
        assert invalid(explanation_as_json(said), published("explanation.schema.json")) == []
        assert all("\n" not in line.text for line in render_explanation(said))
