"""Laws of explanations: whatever the world, what is told of a Service is what is planned for it, and can be printed."""

from collections.abc import Collection

from hypothesis import given

from desired.annotations.options import Options
from desired.explain.document import ServiceExplanation
from desired.model.load_balancer import LoadBalancer
from desired.model.settings import Settings
from desired.plan.change import Change
from desired.planner import compute_plan
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
        assert isinstance(found, ServiceExplanation)
        said.append(Explained(service.key, Report(snapshot=snapshot), found))
    return said


def whole(changes: Collection[Change]) -> list[LoadBalancer]:
    """The load balancers that come or go as a whole."""
    sides = [side for change in changes for side in (change.before, change.after)]
    return [side for side in sides if isinstance(side, LoadBalancer)]


def returning(said: Explained, found: ServiceExplanation) -> set[str]:
    """What targets are called that are there, and are to be added as well."""
    balancers = said.report.snapshot.load_balancers if said.report.snapshot else None
    balancer = balancers.items.get(found.load_balancer.found.id) if balancers and found.load_balancer.found else None
    there = balancer.targets if balancer else ()
    added = {change.after for change in found.changes if change.kind == "lb.target" and change.before is None}
    return {target.name for target in there if target in added}


@law_of_passes({"a change is told": 0.25})
@given(worlds())
def test_a_service_is_told_as_it_is_planned(world: World) -> None:
    """Targets and ports are said to come, change or go exactly where the plan says so; all of it has a form.

    A target that is planned anew because it goes with the place in a network is one before and after.
    """
    explanations = explained(world)
    premise(
        "a change is told",
        is_met=any(
            said.explanation.changes for said in explanations if isinstance(said.explanation, ServiceExplanation)
        ),
    )
    for said in explanations:
        found = said.explanation
        assert isinstance(found, ServiceExplanation)
        parts = [change.key.split("/", 3)[3] for change in found.changes if change.key.count("/") == 4]
        ports = {int(part.rpartition("/")[2]) for part in parts if part.startswith("listener/")}
        targets = {part.removeprefix("target/") for part in parts if part.startswith("target/")}
        for balancer in whole(found.changes):
            ports |= balancer.listeners.keys()
            assert isinstance(balancer.targets, frozenset)
            targets |= {target.name for target in balancer.targets}
        targets -= returning(said, found)

        assert {fact.port for fact in found.listeners if fact.planned} == ports
        told = [fact for fact in found.targets if fact.value != fact.wanted]
        assert {f"server:{fact.server_id}" if fact.server_id else fact.subject for fact in told} == targets
        assert invalid(explanation_as_json(said), published("explanation.schema.json")) == []
        assert all("\n" not in line.text for line in render_explanation(said))
