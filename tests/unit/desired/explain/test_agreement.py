"""Laws over all examples: an explanation says what the plan does and nothing else, and all that can be said is said."""

from collections.abc import Mapping

import pytest

from desired.annotations.reading import Origin
from desired.explain.document import Fact, NodeExplanation, ServiceExplanation, ServiceStage
from desired.guards.table import GUARDS
from desired.load_balancers.membership import Membership
from desired.model.load_balancer import KNOWN_AFTER_APPLY
from desired.model.route import CONDITION_NETWORK, Route
from desired.model.service import Ingress
from desired.model.snapshot import NodeAddress
from desired.plan.change import GuardName, NodeIdentity, Verdict
from desired.routes.actions import RouteAction
from desired.routes.claims import RouteStatus
from desired.rules.nodes import Stage
from desired.rules.rule import Basis
from tests.support.explanations import EXPLANATIONS
from tests.support.service_explanations import SERVICE_EXPLANATIONS

NODES = {name: each.explanation for name, each in EXPLANATIONS.items() if isinstance(each.explanation, NodeExplanation)}
SERVICES = {
    name: each.explanation
    for name, each in SERVICE_EXPLANATIONS.items()
    if isinstance(each.explanation, ServiceExplanation)
}


def ours(facts: tuple[Fact, ...], side: str) -> dict[str, str]:
    return {
        fact.subject: getattr(fact, side) for fact in facts if fact.rule is not Basis.FOREIGN and getattr(fact, side)
    }


@pytest.mark.parametrize("name", NODES)
def test_a_node_is_told_as_it_is_planned(name: str) -> None:
    """Labels, addresses and taints are said to change as the changes change them, and to stay where nothing does."""
    found = NODES[name]
    before = after = ours(found.labels, "value")
    addresses = {NodeAddress(fact.subject, fact.value) for fact in found.addresses if fact.value is not None}
    for change in found.changes:
        match change.before, change.after:
            case NodeIdentity() as old, NodeIdentity() as new:
                before, after, addresses = dict(old.labels), dict(new.labels), set(new.addresses)
            case Mapping() as old, Mapping() as new:
                before, after = dict(old), dict(new)
            case _, tuple() as new:
                addresses = set(new)

    assert (ours(found.labels, "value"), ours(found.labels, "wanted")) == (before, after)
    assert {NodeAddress(fact.subject, fact.wanted) for fact in found.addresses if fact.wanted is not None} == addresses
    kinds = {change.kind for change in found.changes}
    assert any(fact.value != fact.wanted for fact in found.taints) is not kinds.isdisjoint(
        {"node.initialise", "node.shutdown_taint"}
    )


@pytest.mark.parametrize("name", [name for name, found in NODES.items() if found.routes])
def test_routes_are_told_as_they_are_planned(name: str) -> None:
    """Routes and the condition are said to change exactly where the plan changes them."""
    found = NODES[name]
    assert found.routes is not None
    told = {fact.destination: fact for fact in found.routes.destinations if fact.value != fact.wanted}
    planned = {change.key.parts[0]: change for change in found.changes if change.kind.startswith("route.")}
    network = [fact for fact in found.conditions if fact.subject == CONDITION_NETWORK and fact.value != fact.wanted]

    assert len(network) == sum(change.kind == "node.network_condition" for change in found.changes)
    assert all(told[destination].fate is RouteAction.CLAIMED for destination in told.keys() - planned)
    for destination, change in planned.items():
        sides = [side.gateway if isinstance(side, Route) else None for side in (change.before, change.after)]
        assert [told[destination].value, told[destination].wanted] == sides


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_told_as_it_is_planned(name: str) -> None:
    """What is said to be published is what the planned change publishes, and what is left alone has no changes."""
    found = SERVICES[name]
    changes = {change.kind: change for change in found.changes}
    status = changes.get("service.status")  # type: ignore[call-overload]
    if status and status.after is not KNOWN_AFTER_APPLY:
        assert isinstance(status.after, tuple)
        published = {entry.ip or entry.hostname for entry in status.after if isinstance(entry, Ingress)}
        assert {fact.wanted.partition(" ")[0] for fact in found.status if fact.wanted} == published
    elif status is None and "service.release" not in changes:
        assert all(fact.value == fact.wanted for fact in found.status)
    if found.stage in (ServiceStage.WAITING, ServiceStage.AMBIGUOUS, ServiceStage.FOREIGN, ServiceStage.UNCLAIMED):
        assert found.changes == ()
    if found.stage in (ServiceStage.REFUSED, ServiceStage.CONTESTED):
        assert {change.decision.verdict for change in found.changes} <= {Verdict.REFUSED}


UNTOLD = {GuardName.CLOCK_SKEW, GuardName.FLAPPING, GuardName.BACK_OFF, GuardName.QUOTA}
"""Said of clocks, of what only a loop remembers, or of no Service that is there."""


def test_everything_that_can_be_said_has_an_example() -> None:
    """Each stage, rule, guard and verdict is among the examples."""
    facts = [fact for n in NODES.values() for fact in (*n.labels, *n.addresses, *n.taints, *n.conditions)]
    facts += [fact for s in SERVICES.values() for fact in (*s.status, *s.conditions, *s.load_balancer.owner)]
    guards = [fact for found in NODES.values() for fact in found.guards]
    guards += [fact for found in SERVICES.values() for fact in found.guards]
    routes = [fact for found in NODES.values() if found.routes for fact in found.routes.destinations]
    never_a_nodes_own = {RouteAction.STRANGER, RouteAction.UNCERTAIN}

    assert {found.stage for found in NODES.values()} == set(Stage)
    assert {fact.standing for fact in routes} == {*RouteStatus, None}
    assert {fact.fate for fact in routes} == {*RouteAction, None} - never_a_nodes_own
    assert {found.stage for found in SERVICES.values()} == set(ServiceStage)
    assert {fact.membership for found in SERVICES.values() for fact in found.targets} >= set(Membership)
    assert {option.origin for found in SERVICES.values() for option in found.options} == set(Origin)
    assert {fact.rule for fact in facts} == set(Basis)
    assert {fact.rule for fact in guards} == GUARDS.keys() - UNTOLD
    assert {fact.verdict for fact in guards} == set(Verdict)
