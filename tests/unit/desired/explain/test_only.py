"""A run with ``--only``: what its plan leaves out is not told as if it came."""

from typing import Any

from desired.explain.rows import Explanation, Part, Row
from desired.guards.filters import restrict
from desired.model.load_balancer import CloudBalancer
from desired.model.service import Service
from desired.model.settings import Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, Snapshot
from desired.names import CONDITION_IN_SYNC, FINALIZER_BALANCER
from desired.planner import compute_plan
from desired.rules import explanations as rows
from desired.rules.load_balancers import PORT_AS_ASKED, PORT_NOT_PLANNED
from desired.rules.rule import Rule
from tests.balancers import LOCATED, a_balancer, a_listener, a_served_service, a_service, a_world
from tests.builders import NOW, a_joining_node, a_lost_node, a_server, a_settled_node, a_snapshot
from tests.support.judging import explain_object, judge
from tests.support.rows import rows as cases

CONTROL, CONTROL_SERVER = a_settled_node("control-1", 9), a_server(9, "control-1")
UNPLANNED = rows.NOTHING_PLANNED.text()


def explained(key: str, world: Snapshot, settings: Settings) -> Any:
    """The explanation where the run is for something else."""
    only = Settings(only=("node/control-1",), balancer_defaults=settings.balancer_defaults)
    plan = restrict(judge(compute_plan(world, only), world, only), only.only)
    found = explain_object(key, world, only, plan)
    assert not isinstance(found, str)
    assert found.changes == ()
    return found


def changing(found: Explanation) -> list[Row]:
    """The fields that are told to change."""
    return [row for row in found.rows if row.part is not Part.GUARDS and row.value != row.wanted]


DIFFERS = a_settled_node(labels={}, addresses=(NodeAddress(AddressType.INTERNAL_IP, "10.9.9.9"),))


@cases("node left_out", {
    "settled": (DIFFERS, {Part.LABELS, Part.ADDRESSES}),
    "joining": (a_joining_node(), {Part.LABELS, Part.ADDRESSES}),
    "departing": (a_lost_node("web-1", 7), set()),
})  # fmt: skip
def test_a_node_stays_that_only_leaves_out(node: Node, left_out: set[Part]) -> None:
    """Labels and addresses stay with the reason."""
    found = explained("node/web-1", a_snapshot([CONTROL, node], [CONTROL_SERVER, a_server()]), Settings())
    assert changing(found) == []
    assert {row.part for row in found.rows if row.why == rows.EXCLUDED.text()} == left_out


def test_a_label_that_only_leaves_out_is_said_to_be_in_no_plan_where_nothing_was_asked_for() -> None:
    """Without ``--only`` a plan lacks what a pass has done just before it could read no more."""
    world = a_snapshot([a_settled_node(labels={})], [a_server()])
    plan = judge(compute_plan(world, Settings()), world, Settings())
    found = explain_object("node/web-1", world, Settings(), type(plan)())
    assert isinstance(found, Explanation)
    assert plan.changes
    assert {row.why for row in found.rows if row.part is Part.LABELS} == {UNPLANNED}


LEAVING = a_service(deleted_at=NOW, finalizers=(FINALIZER_BALANCER,))
WRONG_PORT = a_balancer(listeners=(a_listener(destination_port=31000),))


@cases("service balancers", {
    "joining": (a_service(), []),
    "leaving alone": (LEAVING, []),
    "adopting": (a_service(), [a_balancer(service_uid=None, cluster_uid=None)]),
    "served otherwise": (a_served_service(), [WRONG_PORT]),
})  # fmt: skip
def test_a_service_stays_that_only_leaves_out(service: Service, balancers: list[CloudBalancer]) -> None:
    """Nothing of it changes."""
    found = explained("service/default/web", a_world([service], balancers), LOCATED)
    assert changing(found) == []
    assert not [row for row in found.rows if row.subject == CONDITION_IN_SYNC]


@cases("balancer row", {"differs": (WRONG_PORT, PORT_NOT_PLANNED), "same": (a_balancer(), PORT_AS_ASKED)})
def test_a_port_that_only_leaves_out(balancer: CloudBalancer, row: Rule) -> None:
    """A port matches the Service only where no change of it is left out."""
    found = explained("service/default/web", a_world([a_served_service()], [balancer]), LOCATED)
    assert {each.subject: each.why for each in found.rows if each.part is Part.PORTS}["80"] == row.text()
