"""Laws over all examples: an explanation says what the plan does and nothing else, and all that can be said is said."""

from collections.abc import Collection, Mapping

import pytest

from desired.annotations.reading import Origin
from desired.explain.rows import Explanation, Part, Row
from desired.guards.table import GUARDS
from desired.load_balancers.membership import Membership
from desired.model.load_balancer import KNOWN_AFTER_APPLY
from desired.model.route import CONDITION_NETWORK, Route
from desired.model.service import Ingress
from desired.model.snapshot import NodeAddress
from desired.plan.change import GuardName, NodeIdentity, Verdict
from desired.routes.actions import RouteAction
from desired.routes.claims import RouteStatus
from desired.rules.explanations import LEFT_ALONE
from desired.rules.nodes import Stage
from reconciler.result import Explained
from tests.support.explanations import EXPLANATIONS
from tests.support.service_explanations import SERVICE_EXPLANATIONS


def found_in(examples: Mapping[str, Explained]) -> dict[str, Explanation]:
    return {name: each.explanation for name, each in examples.items() if each.explanation is not None}


NODES, SERVICES = found_in(EXPLANATIONS), found_in(SERVICE_EXPLANATIONS)


def part(found: Explanation, of: Part) -> list[Row]:
    return [row for row in found.rows if row.part is of]


def ours(rows: Collection[Row], side: str) -> dict[str, str]:
    return {row.subject: getattr(row, side) for row in rows if row.rule != LEFT_ALONE.name and getattr(row, side)}


@pytest.mark.parametrize("name", NODES)
def test_a_node_is_told_as_it_is_planned(name: str) -> None:
    """Labels, addresses and taints are said to change as the changes change them, and to stay if nothing does."""
    found = NODES[name]
    labels, told = part(found, Part.LABELS), part(found, Part.ADDRESSES)
    before = after = ours(labels, "value")
    addresses = {NodeAddress(row.subject, row.value) for row in told if row.value is not None}
    for change in found.changes:
        match change.before, change.after:
            case NodeIdentity() as old, NodeIdentity() as new:
                before, after, addresses = dict(old.labels), dict(new.labels), set(new.addresses)
            case Mapping() as old, Mapping() as new:
                before, after = dict(old), dict(new)
            case _, tuple() as new:
                addresses = set(new)

    assert (ours(labels, "value"), ours(labels, "wanted")) == (before, after)
    assert {NodeAddress(row.subject, row.wanted) for row in told if row.wanted is not None} == addresses
    kinds = {change.kind for change in found.changes}
    assert any(row.value != row.wanted for row in part(found, Part.TAINTS)) is not kinds.isdisjoint(
        {"node.initialise", "node.shutdown_taint"}
    )


@pytest.mark.parametrize("name", NODES)
def test_routes_are_told_as_they_are_planned(name: str) -> None:
    """Routes and the condition are said to change exactly if the plan changes them."""
    found = NODES[name]
    told = {row.subject: row for row in part(found, Part.ROUTES) if row.value != row.wanted}
    planned = {change.key.parts[0]: change for change in found.changes if change.kind.startswith("route.")}
    network = [row for row in found.rows if row.subject == CONDITION_NETWORK and row.value != row.wanted]

    assert len(network) == sum(change.kind == "node.network_condition" for change in found.changes)
    assert all(told[destination].state == RouteAction.CLAIMED for destination in told.keys() - planned)
    for destination, change in planned.items():
        sides = [str(side.gateway) if isinstance(side, Route) else None for side in (change.before, change.after)]
        assert [told[destination].value, told[destination].wanted] == sides


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_told_as_it_is_planned(name: str) -> None:
    """Addresses are said to be published as the planned change does, and what is left alone has no changes."""
    found = SERVICES[name]
    changes, told = {change.kind: change for change in found.changes}, part(found, Part.ADDRESSES)
    status = changes.get("service.status")  # type: ignore[call-overload]
    if status and status.after is not KNOWN_AFTER_APPLY:
        assert isinstance(status.after, tuple)
        published = {entry.ip or entry.hostname for entry in status.after if isinstance(entry, Ingress)}
        assert {row.wanted.partition(" ")[0] for row in told if row.wanted} == published
    elif status is None and "service.release" not in changes:
        assert all(row.value == row.wanted for row in told)
    match = found.rows[0].state
    if match in ("undecided", "ambiguous", "unclaimed") or (match == "foreign" and len(found.rows) == 1):
        assert found.changes == ()
    if match in ("foreign", "contested"):
        assert {change.decision.verdict for change in found.changes} <= {Verdict.REFUSED}


UNTOLD = {GuardName.CLOCK_SKEW, GuardName.FLAPPING, GuardName.BACK_OFF, GuardName.QUOTA}
"""Said of clocks, of what only a loop remembers, or of no Service that is there."""
MATCHES = {"owned", "adoptable", "missing", "foreign", "contested", "ambiguous", "undecided", "unclaimed"}


def states(examples: Mapping[str, Explanation], of: Part) -> set[str | None]:
    return {row.state for found in examples.values() for row in part(found, of)}


def test_everything_that_can_be_said_has_an_example() -> None:
    """Each stage, match, guard and verdict is among the examples."""
    never_a_nodes_own = {RouteAction.STRANGER, RouteAction.UNCERTAIN}
    both = {**NODES, **SERVICES}

    assert {found.rows[0].state for found in NODES.values()} == set(Stage)
    assert states(NODES, Part.ROUTES) == {*RouteStatus, *RouteAction, None} - never_a_nodes_own - {RouteAction.DEAD}
    assert {found.rows[0].state for found in SERVICES.values()} == MATCHES
    assert states(SERVICES, Part.TARGETS) >= set(Membership)
    assert states(SERVICES, Part.ANNOTATIONS) == {*Origin, "wrong"}
    assert {row.subject for found in both.values() for row in part(found, Part.GUARDS)} == GUARDS.keys() - UNTOLD
    assert states(both, Part.GUARDS) == {*Verdict, "approved"}
