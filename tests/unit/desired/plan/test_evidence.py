"""What each change rests on: no removal may be let through because its evidence was forgotten."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from desired.guards.absence import absence_proof
from desired.model.load_balancer import Owner, ServerTarget
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.evidence import AddressFree, Age, Evidence, Identified, NetworkRead, ServerGone, WholeList
from desired.plan.kinds import KINDS, Verb
from desired.planner import compute_plan
from tests.balancers import LOCATED, a_balancer, a_served_service, a_world
from tests.builders import a_change, a_loss, a_settled_node, in_cloud, in_robot
from tests.routes import ROUTING, a_pod_network, a_pod_node, a_pod_server, a_route, a_routed_world, pods_of
from tests.support.judging import facts_of
from tests.support.rows import rows

UID = Identified()
OF_NODES, OF_SERVICES = ("nodes", "servers"), ("services", "load_balancers")
OF_TARGETS, OF_ROUTES = (*OF_SERVICES, *OF_NODES), (*OF_NODES, "routes")
LOSS = a_loss()
METAL = replace(LOSS, proof=replace(LOSS.proof, provider=in_robot(1).provider))


def lists(*names: str) -> tuple[Evidence, ...]:
    return tuple(map(WholeList, names))


ALWAYS: dict[tuple[str, str], tuple[Evidence, ...]] = {
    ("node.initialise", "add"): (),
    ("node.addresses", "modify"): (),
    ("node.labels", "modify"): (),
    ("node.shutdown_taint", "modify"): (),
    ("node.out_of_service_taint", "modify"): (),
    ("node.out_of_service_taint", "remove"): (*lists(*OF_NODES), Age(LOSS.proof), ServerGone(in_cloud(1))),
    ("node.network_condition", "modify"): (),
    ("node.delete", "remove"): (*lists(*OF_NODES), Age(LOSS.proof), ServerGone(in_cloud(1))),
    ("service.claim", "add"): (),
    ("service.status", "modify"): (),
    ("service.release", "remove"): lists(*OF_SERVICES),
    ("lb.create", "add"): (UID, *lists(*OF_SERVICES), NetworkRead()),
    ("lb.adopt", "modify"): (UID,),
    ("lb.identity", "modify"): (UID,),
    ("lb.type", "modify"): (UID,),
    ("lb.algorithm", "modify"): (UID,),
    ("lb.rdns", "modify"): (UID,),
    ("lb.network", "add"): (UID,),
    ("lb.network", "modify"): (UID,),
    ("lb.network", "remove"): (UID, *lists(*OF_SERVICES)),
    ("lb.public_interface", "modify"): (UID,),
    ("lb.listener", "add"): (UID,),
    ("lb.listener", "modify"): (UID,),
    ("lb.listener", "remove"): (UID, *lists(*OF_SERVICES)),
    ("lb.target", "add"): (UID,),
    ("lb.target", "modify"): (UID,),
    ("lb.target", "remove"): (UID, *lists(*OF_TARGETS)),
    ("lb.retain", "modify"): (UID,),
    ("lb.delete", "remove"): (UID, *lists(*OF_SERVICES)),
    ("certificate.create", "add"): (UID, *lists("services", "certificates")),
    ("route.create", "add"): (UID, *lists(*OF_ROUTES)),
    ("route.replace", "modify"): (UID,),
    ("route.delete", "remove"): (UID, *lists(*OF_ROUTES)),
}
"""Kind and verb → what every such change rests on, whoever makes it."""


def test_all_kinds_and_verbs() -> None:
    """A new kind of change, or a new verb of one, has a line above."""
    assert set(ALWAYS) == {(name, verb) for name, kind in KINDS.items() for verb in kind.verbs}
    assert all(evidence for (_, verb), evidence in ALWAYS.items() if verb == "remove")


@pytest.mark.parametrize(("kind", "verb"), ALWAYS, ids=map(" ".join, ALWAYS))
def test_evidence_of_each_kind(kind: str, verb: str) -> None:
    """It states that whether or not a planner does, so that no planner can forget it."""
    change = a_change("service/ns/a", kind, verb=Verb(verb))
    assert change.rests_on == ALWAYS[kind, verb]
    assert replace(change, reason="another").rests_on == change.rests_on


@rows("change more", {
    "its targets are addresses": (a_change("node/a", "node.delete", before=METAL),
        (*(WholeList(name, if_read=True, each=True) for name in OF_SERVICES), NetworkRead(), Age(METAL.proof),
        ServerGone(in_robot(1)))),
    "a release": (a_change("service/ns/a", "lb.retain", before=Owner("x", None), after=Owner(None, None)), ()),
})  # fmt: skip
def test_evidence_by_values(change: Change, more: tuple[Evidence, ...]) -> None:
    usual = tuple(each for each in ALWAYS[change.kind, change.verb] if not isinstance(each, Age | ServerGone))
    assert change.rests_on == (*usual, *more)


def dead_target() -> Snapshot:
    targets = [ServerTarget(number, use_private_ip=False) for number in (1, 9)]
    return a_world([a_served_service()], [a_balancer(targets=targets)], nodes=[a_settled_node()])


def dead_route(*nodes: Any, servers: Iterable[int] = (1,)) -> Snapshot:
    """The pods of web-2 are routed by the address of server 2, which the network alone knows."""
    there = [a_pod_server(number) for number in servers]
    network = replace(a_pod_network(), server_ids=frozenset({1, 2}))
    return a_routed_world([a_pod_node(1), *nodes], there, [a_route(1), a_route(2)], members=[], network=network)


MOVED = a_pod_node(2, provider_id="hcloud://3", addresses=a_pod_node(3).addresses)
TARGET, ROUTE = "load_balancer/default/web/target/server:9", f"route/4/{pods_of(2)}"
FREE = AddressFree(a_route(2).gateway)


@rows("snapshot settings key absences", {
    "lb.target": (dead_target(), LOCATED, TARGET, (ServerGone(in_cloud(9)),)),
    "route.delete": (dead_route(), ROUTING, ROUTE, (FREE, ServerGone(in_cloud(2)))),
    "route.replace": (dead_route(MOVED, servers=(1, 3)), ROUTING, ROUTE, (FREE, ServerGone(in_cloud(2)))),
})  # fmt: skip
def test_absences_that_removals_presume(
    snapshot: Snapshot, settings: Settings, key: str, absences: tuple[Evidence, ...]
) -> None:
    """What only the snapshot tells is stated by the planner, and waits for an answer by id."""
    plan = compute_plan(snapshot, settings)
    change = plan.by_key[key]
    assert tuple(each for each in change.rests_on if isinstance(each, AddressFree | ServerGone)) == absences
    assert [each.keys for each in absence_proof(facts_of(plan, snapshot, settings))] == [(key,)]


def test_a_change_with_other_values_does_not_rest_on_those_that_it_had() -> None:
    """The deletion of another lost Node rests on the absence of its own server; what the planner has added stays."""
    change = replace(a_change("node/a", "node.delete", before=LOSS), presumed=(FREE,))
    assert replace(change, before=METAL).rests_on == (*a_change("node/a", "node.delete", before=METAL).rests_on, FREE)
    assert ServerGone(in_cloud(1)) not in replace(change, before=METAL).rests_on
