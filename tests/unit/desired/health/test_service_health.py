"""State of a Service: what its clients have comes first, then what a person has to do, then what passes by itself."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from desired.annotations.claims import ClaimedPort
from desired.health import states_of
from desired.health.service import SETTLING
from desired.health.state import Level, ObjectState, PortHealth, PortState, ServiceState
from desired.model.load_balancer import Attachment, CloudBalancer, ServerTarget
from desired.model.load_balancer import Health as Checked
from desired.model.service import Service, ServiceCondition
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Snapshot
from desired.names import CONDITION_HEALTHY, CONDITION_IN_SYNC, CONDITION_READY, FINALIZER_BALANCER
from desired.plan.change import ALLOWED, GuardDecision, GuardName, Verdict
from desired.planner import compute_plan
from desired.rules.load_balancers import OTHERS_LABELLED
from desired.section import Section
from tests.balancers import (
    LOCATED,
    a_balancer,
    a_claim,
    a_listener,
    a_served_service,
    a_service,
    a_world,
    annotated,
)
from tests.builders import NOW, a_server, a_settled_node, incomplete
from tests.support.judging import facts_of, judge
from tests.support.rows import rows

ONE, TWO = ServerTarget(1, use_private_ip=False), ServerTarget(2, use_private_ip=False)
PRIVATE = ServerTarget(1, use_private_ip=True)
BOTH_PORTS = (a_listener(80, 30080), a_listener(443, 30443))
WELL, ILL, NEW = Checked.HEALTHY, Checked.UNHEALTHY, Checked.UNKNOWN
NODES = (a_settled_node("web-1", 1), a_settled_node("web-2", 2))
SERVERS = (a_server(1, "web-1"), a_server(2, "web-2"))
AGED = {"created_at": NOW - timedelta(days=1)}
OBSERVE = replace(LOCATED, policy=Policy.OBSERVE)
TWO_PORTS = a_claim(ClaimedPort(80, node_port=30080), ClaimedPort(443, node_port=30443))
LOCAL = replace(TWO_PORTS, external_traffic_policy="Local")
BAD = a_claim(annotations=annotated(protocol="udp"))
WHY_BAD = "load-balancer.hetzner.cloud/protocol is 'udp': expect one of tcp, http, https; correct it, or remove it"
YESTERDAY = NOW - timedelta(days=1)
UNSYNCED, UNHEALTHY, UNCHECKED = (
    ServiceCondition(type_, status, "Pending", since=YESTERDAY)
    for type_, status in ((CONDITION_IN_SYNC, "False"), (CONDITION_HEALTHY, "False"), (CONDITION_HEALTHY, "Unknown"))
)


def waits(rule: GuardName) -> GuardDecision:
    """For time or for data."""
    return GuardDecision(Verdict.WAITING, rule, "not now")


UNREADY = (ServiceCondition(CONDITION_READY, "False", "NoTargets", since=YESTERDAY),)


def balancer(health: Mapping[Any, Any] = {}, **overrides: Any) -> CloudBalancer:
    """One a day old with two ports and two targets."""
    return a_balancer(**{"targets": (ONE, TWO), "listeners": BOTH_PORTS, "health": health} | AGED | overrides)


def world(service: Service, *balancers: CloudBalancer, **overrides: Any) -> Snapshot:
    """Two Nodes on two servers, and this Service with what it has."""
    return a_world([service], balancers, **{"nodes": NODES, "servers": SERVERS} | overrides)


def health_in(snapshot: Snapshot, settings: Settings = LOCATED, failed: Mapping[str, str] = {}) -> ObjectState:
    """The state of its only Service."""
    plan = compute_plan(snapshot, settings)
    (found,) = states_of(facts_of(plan, snapshot, settings), judge(plan, snapshot, settings), failed).services
    return found


SERVED = a_served_service(claim=TWO_PORTS)
HEALTHY = {ONE: WELL, TWO: WELL}
HTTPS_DEAD = {ONE: {80: WELL, 443: ILL}, TWO: {80: WELL, 443: ILL}}
HALF = {ONE: WELL, TWO: ILL}


@rows("snapshot state why", {
    "all targets answer": (world(SERVED, balancer(HEALTHY)), ServiceState.SERVING, "ports 80, 443: 2 of 2 healthy"),
    "one of two targets fails": (world(SERVED, balancer(HALF)), ServiceState.DEGRADED, "ports 80, 443: 1 of 2 healthy"),
    "with Local some may fail": (world(replace(SERVED, claim=LOCAL), balancer(HALF)), ServiceState.SERVING,
        "ports 80, 443: 1 of 2 healthy"),
    "with Local not all of them": (world(replace(SERVED, claim=LOCAL), balancer(dict.fromkeys((ONE, TWO), ILL))),
        ServiceState.DOWN, "ports 80, 443: 0 of 2 healthy"),
    "one of two ports is dead": (world(SERVED, balancer(HTTPS_DEAD)), ServiceState.DOWN, "port 443: 0 of 2 healthy"),
    "no target": (world(SERVED, balancer(targets=()), nodes=(), servers=()), ServiceState.DOWN,
        "load balancer 42 has no target"),
    "no target, new": (world(SERVED, balancer(targets=(), created_at=NOW), nodes=(), servers=()), ServiceState.WAITING,
        "load balancer 42 has no target"),
    "no way to its targets": (world(SERVED, balancer({PRIVATE: WELL}, targets=(PRIVATE,))), ServiceState.DOWN,
        "load balancer 42 reaches 0 of 1 targets"),
    "no result after an edit of its check": (world(SERVED, balancer({ONE: NEW, TWO: NEW})), ServiceState.WAITING,
        "ports 80, 443: 2 targets not checked yet"),
    "no result since yesterday": (world(replace(SERVED, conditions=(UNCHECKED,)), balancer({ONE: NEW, TWO: NEW})),
        ServiceState.UNKNOWN, "ports 80, 443: 2 targets not checked yet"),
    "no result since yesterday, when it had no target": (world(replace(SERVED, conditions=(replace(UNCHECKED,
        reason="NoTargets"),)), balancer({ONE: NEW, TWO: NEW})), ServiceState.WAITING,
        "ports 80, 443: 2 targets not checked yet"),
    "one port is to come, and another one fails in part": (world(SERVED, balancer({ONE: {80: WELL}, TWO: {80: ILL}},
        listeners=BOTH_PORTS[:1])), ServiceState.DEGRADED, "port 80: 1 of 2 healthy"),
    "first results of a new one are no failure": (world(SERVED, balancer({ONE: ILL, TWO: NEW}, created_at=NOW)),
        ServiceState.WAITING, "ports 80, 443: 1 target not checked yet"),
    "a port is to come": (world(SERVED, balancer(HEALTHY, listeners=BOTH_PORTS[:1])), ServiceState.WAITING,
        "port 443: not on load balancer 42 yet"),
    "an annotation is wrong, and it serves": (world(replace(SERVED, claim=replace(TWO_PORTS,
        annotations=annotated(protocol="udp"))), balancer(HEALTHY)), ServiceState.BLOCKED,
        f"{WHY_BAD}; ports 80, 443: 2 of 2 healthy"),
    "another load balancer has its label, and it serves": (world(SERVED, balancer(HEALTHY), balancer(balancer_id=43,
        ipv4=None, ipv6=None, targets=())), ServiceState.BLOCKED,
        f"{OTHERS_LABELLED.text(balancer=42, others=43)}; ports 80, 443: 2 of 2 healthy"),
    "down is worse than blocked": (world(replace(SERVED, claim=replace(TWO_PORTS,
        annotations=annotated(protocol="udp"))), balancer(HTTPS_DEAD)), ServiceState.DOWN, "port 443: 0 of 2 healthy"),
    "to be created": (world(a_service()), ServiceState.WAITING, "its load balancer does not exist yet"),
    "to be adopted": (world(a_service(claim=a_claim(annotations=annotated(name="shop"))), balancer(service_uid=None,
        cluster_uid=None, spec={"name": "shop"}, targets=(), listeners=())), ServiceState.WAITING,
        "load balancer 42 is not adopted yet"),
    "its adoption is held": (world(a_service(claim=a_claim(annotations=annotated(name="shop"))), balancer(HEALTHY,
        service_uid=None, cluster_uid=None, spec={"name": "shop"})), ServiceState.BLOCKED, "held (adopt"),
    "wrong, and without one": (world(a_service(claim=BAD)), ServiceState.BLOCKED, WHY_BAD),
    "the list is cut off": (world(a_service(), load_balancers=incomplete(Section({}), "429")), ServiceState.UNKNOWN,
        ""),
    "it goes": (world(replace(SERVED, deleted_at=YESTERDAY, finalizers=(FINALIZER_BALANCER,)), balancer(HEALTHY)),
        ServiceState.WAITING, "its load balancer is about to be deleted or released"),
})  # fmt: skip
def test_states(snapshot: Snapshot, state: ServiceState, why: str) -> None:
    found = health_in(snapshot)
    assert found.state is state
    assert why in found.why


def test_a_refusal_blocks_and_the_policy_waits() -> None:
    unserved = world(a_service())
    assert health_in(unserved, OBSERVE).state is ServiceState.WAITING
    failed = health_in(unserved, failed={"load_balancer/default/web": "422 no such location"})
    assert (failed.state, failed.why) == (ServiceState.BLOCKED, "422 no such location")


def test_an_address_that_is_not_published_is_an_outage_once_the_load_balancer_is_not_new() -> None:
    unpublished = replace(SERVED, ingress=())
    found = health_in(world(unpublished, balancer(HEALTHY)), OBSERVE)
    assert (found.state, found.why) == (ServiceState.DOWN, "the address of load balancer 42 is not published")
    fresh = balancer(HEALTHY, created_at=NOW - SETTLING + timedelta(seconds=1))
    assert health_in(world(unpublished, fresh), LOCATED).state is ServiceState.WAITING
    assert health_in(world(unpublished, balancer(HEALTHY))).state is ServiceState.WAITING


def test_a_port_that_is_not_made_is_an_outage_once_the_load_balancer_is_not_new() -> None:
    lacking, told = {"listeners": BOTH_PORTS[:1]}, "port 443: not on load balancer 42: excluded by --policy observe"
    found = health_in(world(SERVED, balancer(HEALTHY, **lacking)), OBSERVE)
    assert (found.state, found.why) == (ServiceState.DOWN, told)
    assert health_in(world(SERVED, balancer(HEALTHY, created_at=NOW, **lacking)), OBSERVE).state is ServiceState.WAITING
    wrong = replace(SERVED, claim=replace(TWO_PORTS, annotations=BAD.annotations))
    assert health_in(world(wrong, balancer(HEALTHY, **lacking)), OBSERVE).state is ServiceState.BLOCKED


ELSEWHERE = replace(UNREADY[0], reason="OtherAddressPublished")
WRONG = replace(TWO_PORTS, annotations=BAD.annotations)


@rows("decision state", {
    "to be made": (ALLOWED, ServiceState.WAITING),
    "tried again": (waits(GuardName.BACK_OFF), ServiceState.WAITING),
    "undone by another client": (waits(GuardName.FLAPPING), ServiceState.DOWN),
    "left out": (waits(GuardName.POLICY), ServiceState.DOWN),
})  # fmt: skip
def test_a_write_that_is_tried_again_is_to_come(decision: GuardDecision, state: ServiceState) -> None:
    """A port and an address were down and waited for by turns while Hetzner answered 5xx: no alert could fire, and the
    exit code of status changed from try to try."""
    for service, parts in ((SERVED, {"listeners": BOTH_PORTS[:1]}), (replace(SERVED, ingress=()), {})):
        snapshot = world(service, balancer(HEALTHY, **parts))
        plan = compute_plan(snapshot, LOCATED)
        decided = replace(plan, changes=tuple(change.ruled(decision) for change in plan.changes))
        (found,) = states_of(facts_of(plan, snapshot, LOCATED), decided, {}).services
        assert found.state is state


def test_each_of_several_errors_is_named() -> None:
    """The gravest is the reason; a person who mends it finds the others beside it."""
    claim = replace(BAD, annotations=annotated(protocol="udp", algorithm_type="fast"))
    found = health_in(world(replace(SERVED, claim=claim), balancer(HEALTHY)))
    told = [found.why.partition(";")[0], *(each.partition(";")[0] for each in found.also)]
    assert sorted(told) == [
        "load-balancer.hetzner.cloud/algorithm-type is 'fast': expect one of round_robin, least_connections",
        "load-balancer.hetzner.cloud/protocol is 'udp': expect one of tcp, http, https",
    ]


@rows("port state", {
    "all": (PortHealth(80, 2, 0, 2), PortState.ALL),
    "one joins": (PortHealth(80, 1, 0, 2), PortState.SOME),
    "one fails, one joins": (PortHealth(80, 0, 1, 2), PortState.NONE),
    "the same of a new one": (PortHealth(80, 0, 1, 2, is_new=True), PortState.UNKNOWN),
    "all fail of a new one": (PortHealth(80, 0, 2, 2, is_new=True), PortState.NONE),
    "none that is reached": (PortHealth(80, 0, 0, 0), PortState.NONE),
})  # fmt: skip
def test_a_port_is_dead_in_all_places_alike(port: PortHealth, state: PortState) -> None:
    """State, condition, metric and page go by this word: one failed and one joined was down here, and unknown there."""
    assert port.state is state


def test_a_service_of_another_kind_has_no_state_and_the_worst_stands_first() -> None:
    idle = replace(a_service("idle"), uid="4", type="ClusterIP")
    other = replace(a_service("other"), uid="3", claim=BAD)
    dead = balancer(dict.fromkeys((ONE, TWO), ILL))
    snapshot = a_world([idle, other, SERVED], [dead], nodes=NODES, servers=SERVERS)
    plan = compute_plan(snapshot, LOCATED)
    states = states_of(facts_of(plan, snapshot, LOCATED), judge(plan, snapshot, LOCATED), {})
    assert [(each.key.name, each.state) for each in states.services] == [
        ("default/web", ServiceState.DOWN),
        ("default/other", ServiceState.BLOCKED),
    ]
    assert states.level is Level.BAD


def test_a_target_in_a_network_that_the_load_balancer_is_in_counts() -> None:
    inside = balancer({PRIVATE: WELL}, targets=(PRIVATE,), attachments=(Attachment(7),))
    assert health_in(world(SERVED, inside)).ports[0] == PortHealth(80, 1, 0, 1)
