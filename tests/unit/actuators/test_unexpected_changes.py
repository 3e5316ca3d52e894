"""Changes that no rule plans: of another shape than their kind has, or of what was not observed. Nothing is sent."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Any

import pytest

from actuators.balancer_task import BalancerTask
from actuators.load_balancers import BALANCER_ACTUATORS
from desired.annotations.choices import Algorithm, Protocol
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    Attachment,
    HttpOptions,
    Identity,
    IpTarget,
    LoadBalancer,
    ManagedCertificate,
    Owner,
    SelectorTarget,
    ServerTarget,
)
from desired.model.route import ROUTED, Route
from desired.plan.change import Change, Claimed, OutOfService
from desired.plan.kinds import KINDS, ChangeKind
from reconciler.runtime import actuators_with
from tests.balancers import SERVICE_UID, a_balancer, a_listener, a_service, a_world, an_http_listener
from tests.builders import CLUSTER_UID, a_change, a_loss, an_identity
from tests.support.balancer_changes import BALANCER, OURS, SERVICE, a_difference
from tests.support.balancer_stage import hands_in
from tests.support.rows import rows
from tests.support.simulators import Simulate

if TYPE_CHECKING:
    from actuators.apply import Actuator

ADOPT = ChangeKind.LB_ADOPT
NOBODY, DATE = Owner(None, None), "20260701T120000Z"
SPEC, LISTENER = LoadBalancer("x", {}, "lb11"), a_listener()
CERTIFICATE = ManagedCertificate("x", (), {})
HTTPS = an_http_listener(443, 30443, protocol=Protocol.HTTPS, http=HttpOptions(certificates=(4,)))
TO_COME = replace(HTTPS, http=HttpOptions(certificates=KNOWN_AFTER_APPLY))
TARGET, GATEWAY = ServerTarget(1, use_private_ip=False), IPv4Address("10.7.0.11")
HERE, ELSEWHERE = Attachment(7, IPv4Address("10.7.0.2")), Attachment(8, IPv4Address("10.8.0.2"))
ROUTE = Route(IPv4Network("10.244.1.0/24"), GATEWAY)
KEYS = {
    "node": "node/web-1",
    "service": SERVICE,
    "lb": BALANCER,
    "certificate": "certificate/default/web",
    "route": "route/7/10.244.1.0/24",
    "lb.rdns": f"{BALANCER}/rdns/ipv4",
    "lb.listener": f"{BALANCER}/listener/80",
    "lb.target": f"{BALANCER}/target/server:1",
    "lb.network": f"{BALANCER}/network/7",
}
"""Kind of a change, or what comes before the dot → its key."""
SIDES: Mapping[str, tuple[tuple[Any, Any], ...]] = {
    "node.initialise": ((None, an_identity()), (an_identity(), None)),
    "node.labels": ((an_identity(), {}), ({}, None)),
    "node.addresses": (((), True),),
    "node.shutdown_taint": ((True, None), (False, ())),
    "node.out_of_service_taint": ((False, True), (None, True), (OutOfService(a_loss().proof), None)),
    "node.network_condition": ((None, True), ("True", None), ((), ROUTED)),
    "node.delete": ((an_identity(), None), ({}, None), ((), None)),
    "service.claim": ((None, False), (None, ())),
    "service.status": (((), KNOWN_AFTER_APPLY), ((), True)),
    "service.release": (((), None),),
    "certificate.create": ((None, True), (CERTIFICATE, None), (None, {"name": "x"})),
    "lb.create": (
        *((SPEC, None), (None, True), (SPEC, replace(SPEC, type="lb21"))),
        (None, replace(SPEC, listeners={443: TO_COME})),
    ),
    "lb.adopt": ((NOBODY, Owner(CLUSTER_UID, None)), ("a", "b")),
    "lb.identity": ((NOBODY, OURS), (Identity("a", {}), None)),
    "lb.type": (("lb11", Algorithm.ROUND_ROBIN), ("lb11", None)),
    "lb.algorithm": ((Algorithm.ROUND_ROBIN, "random"),),
    "lb.rdns": ((None, True),),
    "lb.network": ((HERE, ELSEWHERE), (None, True), ("7", None)),
    "lb.public_interface": ((False, "on"),),
    "lb.listener": ((LISTENER, True), (LISTENER, a_listener(81)), (None, TO_COME), (HTTPS, TO_COME)),
    "lb.target": (
        (TARGET, SelectorTarget("role=worker", use_private_ip=True)),
        *((TARGET, after) for after in (ServerTarget(2, use_private_ip=False), IpTarget("198.51.100.7"))),
        (None, True),
    ),
    "lb.retain": ((OURS, NOBODY), (OURS, Owner(None, SERVICE_UID, DATE))),
    "lb.delete": ((OURS, None), (None, SPEC)),
    "route.create": ((GATEWAY, ROUTE), (None, str(GATEWAY))),
    "route.replace": ((None, ROUTE),),
    "route.delete": ((str(GATEWAY), None), (ROUTE, GATEWAY)),
}
"""Kind of a change → sides that it never has. Of a listener that moves, and of a certificate that is not there yet,
too: what is sent would be wrong."""


def test_every_kind_is_tried() -> None:
    """A kind without a row would carry out anything."""
    assert SIDES.keys() == KINDS.keys()


def _refused(simulate: Simulate, change: Change, error: type[Exception], said: str) -> None:
    sim = simulate()
    hands = hands_in(sim)
    by_kind: Mapping[str, Actuator] = {
        **actuators_with(sim.kubernetes_writer(), hands, sim.robot_reader()),
        # without the question whether its Service lives
        ADOPT: lambda change, snapshot: BALANCER_ACTUATORS[ADOPT](BalancerTask(hands, change, snapshot)),
    }
    with pytest.raises(error, match=said):
        by_kind[change.kind](change, a_world([a_service()], [a_balancer()]))
    assert (sim.sent_to_hetzner(), sim.sent_to_kubernetes()) == ([], [])


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        pytest.param(kind, *sides, id=f"{kind} {number}")
        for kind, table in SIDES.items()
        for number, sides in enumerate(table)
    ],
)
def test_sides_of_another_kind(simulate: Simulate, kind: str, before: Any, after: Any) -> None:
    """A change of another shape is a mistake of ours."""
    key = KEYS.get(kind) or KEYS[kind.partition(".")[0]]
    owner = KEYS["node"] if kind.startswith(("node", "route")) else SERVICE
    change = a_change(key, kind, before=before, after=after, owner=owner, cloud_id=42)
    _refused(simulate, change, TypeError, rf"^{key}: {kind} from \w+ to \w+$|not known yet$")


@rows(
    "kind before after",
    {
        "a Service without a load balancer": ("lb.create", None, SPEC),
        "a load balancer": ("lb.delete", SPEC, None),
        "a certificate": ("certificate.create", None, CERTIFICATE),
        "a Service": ("service.release", Claimed("service.kubernetes.io/load-balancer-cleanup", ()), None),
    },
)
def test_objects_that_were_not_observed(simulate: Simulate, kind: str, before: Any, after: Any) -> None:
    change = a_difference(f"{BALANCER}-2", kind, before, after, "a test wants it", cloud_id=43)
    _refused(simulate, replace(change, owner=change.key), KeyError, "web-2|43")
