"""Laws of load balancers, on the simulators: passes converge, keep to what is ours, and never stop all traffic."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actuators.outcome import Applied, Failed
from desired.annotations.options import Options
from desired.model.settings import Settings
from desired.names import LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from desired.plan.change import Change, Verdict
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from kubernetes_double import KubernetesSimulator
from reconciler.passes.chain import NO_PASS_LEFT, PASSES
from reconciler.result import Report
from tests.property.balancer_worlds import (
    CLUSTER_UID,
    OTHER_CLUSTER,
    World,
    foreign_worlds,
    leaving_worlds,
    served_worlds,
    worlds,
)
from tests.property.strategies import law_of_passes, some
from tests.support.direct import DirectSimulation
from tests.support.passes import Run
from tests.support.premises import premise
from tests.support.simulators import START

choices = st.builds(
    HetznerOptions,
    rate_limit=st.just(1_000_000),
    load_balancer_busy_code=some("conflict", "locked"),
    server_as_two_targets=some("refused", "accepted"),
    private_targets_at_creation=some("accepted", "refused"),
    services_at_creation=some("accepted", "complete", "refused"),
    https_left_behind=some("dropped", "refused"),
    private_targets_at_detachment=some("refused", "dropped"),
)


def a_run(world: World, options: HetznerOptions) -> Run[DirectSimulation]:
    clock = SimulatedClock(source=START.timestamp)
    hetzner = HetznerSimulator(clock, options, world=world.project)
    kubernetes = KubernetesSimulator(clock, world=world.cluster)
    settings = Settings(network="7" if world.has_network else None, balancer_defaults=Options(location="fsn1"))
    return Run(DirectSimulation(hetzner, kubernetes, clock), settings)


def balancers(run: Run[DirectSimulation]) -> Mapping[int, Any]:
    return {found["id"]: found for found in run.sim.hetzner.world()["hetzner"]["load_balancers"]}


def alive(run: Run[DirectSimulation], balancer: Mapping[str, Any]) -> set[int]:
    """Servers that get traffic and are there."""
    there = {found["id"] for found in run.sim.hetzner.world()["hetzner"]["servers"]}
    return {t["server"]["id"] for t in balancer["targets"] if t["type"] == "server"} & there


def approved(run: Run[DirectSimulation]) -> Report:
    """A pass after everything that was held was approved."""
    report = run.plan()
    run.approved = tuple(hold.hash for hold in report.holds)
    return run.converge()


@law_of_passes({"a change is made": 0.3})
@given(worlds(), choices)
def test_a_pass_of_three_rounds_leaves_nothing_to_do(world: World, options: HetznerOptions) -> None:
    """After one pass no change is left that may be made; nothing failed on the way. What the pass held for want of a
    witness may go in the next one, where a load balancer of this pass is one: there are no Nodes to ask. So may a
    target that nobody had checked when the pass began, and that fails its checks by now; and what was refused, as
    another Service had the name until this pass. Targets
    that wait for what replaces them take a pass for each step, one to leave the way back, and one to publish what is
    left: where these are more than three, the pass says so, and the next one does the rest."""
    run = a_run(world, options)
    report = run.converge()
    assert report.errors == ()
    premise("a change is made", is_met=bool(report.outcomes(Applied)))
    assert [(line.change.key, line.outcome) for line in report.outcomes(Failed)] == []
    may_go_next = ("project-anchor", "target-floor", "foreign-owner")
    held = {line.change.key for line in report.lines if line.change.decision.rule in may_go_next}
    switched = {line.change.owner for line in report.lines if line.change.kind == "lb.target"}
    too_late = {line.change.key for line in report.lines if line.outcome == NO_PASS_LEFT}
    left = [change for change in may_be_made(run) if change.key not in held]
    assert [(c.key, c.reason) for c in left if c.owner not in switched or c.key not in too_late] == []
    if left:
        assert run.ears.begun == PASSES - 1
        run.converge()
        assert [(change.key, change.reason) for change in may_be_made(run)] == []


def may_be_made(run: Run[DirectSimulation]) -> list[Change]:
    """The changes that a pass would make now."""
    planned = (line.change for line in run.plan().lines)
    return [change for change in planned if change.decision.verdict is Verdict.ALLOWED]


@law_of_passes({"a foreign one, and a change": 0.4})
@given(foreign_worlds(), choices)
def test_what_is_foreign_stays_as_it_was(world: World, options: HetznerOptions) -> None:
    """Load balancers of another cluster, and those that nothing makes ours, stay byte for byte the same, whatever is
    approved."""
    run = a_run(world, options)
    before = balancers(run)
    report = approved(run)
    after = balancers(run)
    foreign = {key: found for key, found in before.items() if found["labels"].get(LABEL_CLUSTER_UID) == OTHER_CLUSTER}
    premise("a foreign one, and a change", is_met=bool(foreign and report.outcomes(Applied)))
    assert {key: after.get(key) for key in foreign} == foreign


@law_of_passes({"one is deleted": 0.2})
@given(worlds() | leaving_worlds(), choices)
def test_nothing_of_ours_is_deleted_while_somebody_wants_it(world: World, options: HetznerOptions) -> None:
    """No load balancer goes but that of a Service that has stopped to want one, and none that is protected."""
    run = a_run(world, options)
    before = balancers(run)
    run.converge()
    gone = before.keys() - balancers(run).keys()
    premise("one is deleted", is_met=bool(gone))
    leaving = {
        service["metadata"]["uid"]
        for service in world.services
        if service["spec"]["type"] != "LoadBalancer" or service["spec"].get("loadBalancerClass")
    }
    for balancer_id in gone:
        labels = before[balancer_id]["labels"]
        assert labels.get(LABEL_SERVICE_UID) in leaving
        assert labels.get(LABEL_CLUSTER_UID, CLUSTER_UID) == CLUSTER_UID
        assert not before[balancer_id]["protection"]["delete"]


@law_of_passes({"two living targets, and other ones after it": 0.4})
@given(served_worlds(), choices)
def test_traffic_never_stops(world: World, options: HetznerOptions) -> None:
    """A load balancer that has a target on a living server ends a pass with one."""
    run = a_run(world, options)
    before = balancers(run)
    run.converge()
    after = balancers(run)
    serving = {key: found for key, balancer in before.items() if (found := alive(run, balancer)) and key in after}
    premise(
        "two living targets, and other ones after it",
        is_met=any(
            len(found) > 1 and before[key]["targets"] != after[key]["targets"] for key, found in serving.items()
        ),
    )
    assert [key for key in serving if not alive(run, after[key])] == []


refusals = some("add_target", "add_target", "add_service", "enable_public_interface", "change_algorithm")


@law_of_passes({"two living targets, and a step that fails": 0.15})
@given(served_worlds(), choices, refusals)
def test_traffic_never_stops_for_what_hetzner_refuses(world: World, options: HetznerOptions, command: str) -> None:
    """When every action of one kind fails, a load balancer that led to living servers still leads to one after two
    passes. A single server that may not be two targets is out while its address changes, and that may fail; a place
    in a network takes all with it that was reached through it, whoever may be added again."""
    run = a_run(world, options)
    before = balancers(run)
    run.sim.hetzner.set_faults([{"kind": "action_fails", "command": command, "code": "server_error", "count": None}])
    report = run.converge()
    run.converge()
    serving = [
        balancer
        for key, balancer in balancers(run).items()
        if key in before and before[key]["private_net"] == balancer["private_net"] and len(alive(run, before[key])) > 1
    ]
    premise("two living targets, and a step that fails", is_met=bool(serving and report.outcomes(Failed)))
    assert [balancer["id"] for balancer in serving if not alive(run, balancer)] == []
