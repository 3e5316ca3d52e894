"""The rule ``settings-blast-radius``: through whole plans, and kind by kind."""

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest

from desired.annotations.choices import Protocol
from desired.guards.guard import GuardInput
from desired.guards.judge import judge
from desired.guards.settings_blast_radius import settings_change, takes
from desired.model.former_settings import FormerSettings, PendingChange, values_of
from desired.model.load_balancer import Attachment, Health, Listener, ServerTarget
from desired.model.route import UNROUTED, NetworkCondition
from desired.model.service import Ingress
from desired.model.settings import Settings
from desired.model.snapshot import AddressType, NodeAddress, Snapshot
from desired.plan.change import GuardName, Plan, Verdict
from desired.plan.kinds import KINDS, ChangeKind, Verb
from desired.plan.notes import NoteKind
from desired.plan.setbacks import NO_SETBACKS
from desired.planner import compute_desired, diff
from desired.rules.guards import FORMER_SETTINGS_UNREAD, SETTINGS_DIFFER
from desired.section import UNMANAGED, Present, Unknown
from tests.balancers import IN_NETWORK, NETWORK, a_balancer, a_claim, a_listener, a_served_service, a_world, annotated
from tests.builders import NOW, a_change, a_server, a_settled_node
from tests.support.rows import rows

INTERNAL = replace(
    IN_NETWORK,
    balancer_defaults=replace(IN_NETWORK.balancer_defaults, use_private_ip=True, disable_public_network=True),
)
"""Internal Services by variables alone."""
WITHOUT = replace(INTERNAL, network=None, balancer_defaults=replace(IN_NETWORK.balancer_defaults))
"""The same, and the variables are gone."""
PLACE = Attachment(7, IPv4Address("10.0.0.50"))


def former(settings: Settings = INTERNAL, **overrides: Any) -> FormerSettings:
    return replace(FormerSettings(values_of(settings), 7, "1.0.0"), **overrides)


def with_default(settings: Settings = INTERNAL, **defaults: Any) -> Settings:
    return replace(settings, balancer_defaults=replace(settings.balancer_defaults, **defaults))


OPENED, FLIPPED = with_default(disable_public_network=False), with_default(uses_proxyprotocol=True)
UNPUBLISHED = with_default(disable_private_ingress=True)


def a_cluster(count: int, settings: Settings = INTERNAL, *, is_public: bool = False, **annotations: str) -> Snapshot:
    """As many Services with a load balancer each, all as they should be."""
    server = a_server(private_ips=((7, IPv4Address("10.0.0.2")),))
    addresses = (
        NodeAddress(AddressType.HOSTNAME, "web-1"),
        NodeAddress(AddressType.EXTERNAL_IP, str(server.ipv4)),
        NodeAddress(AddressType.INTERNAL_IP, "10.0.0.2"),
    )
    published = (Ingress("10.0.0.50", ip_mode="VIP"),)
    services, balancers = [], []
    for number in range(1, count + 1):
        claim = a_claim(annotations=annotated(**annotations))
        services.append(a_served_service(f"s-{number}", uid=f"uid-{number}", claim=claim, ingress=published))
        balancers.append(
            a_balancer(
                number,
                service_uid=f"uid-{number}",
                targets=(ServerTarget(1, use_private_ip=True),),
                attachments=(PLACE,),
                spec={"public_interface": is_public, "name": f"lb-{number}"},
            )
        )
    return a_world(
        services,
        balancers,
        nodes=[a_settled_node("web-1", 1, addresses=addresses)],
        servers=[server],
        network=Present(NETWORK if settings.network else None),
    )


def judged(world: Snapshot, settings: Settings, known: FormerSettings | Unknown | None) -> Plan:
    desired = compute_desired(world, settings)
    plan = diff(world, desired, settings)
    changed = settings_change(plan, world, settings, NO_SETBACKS, known)
    return judge(GuardInput(plan, world, settings, desired, NO_SETBACKS, changed))


def held(plan: Plan) -> set[str]:
    """The objects that the rule holds something of."""
    keys = {key for hold in plan.holds if hold.rule is GuardName.SETTINGS_BLAST_RADIUS for key in hold.keys}
    return {plan.by_key[key].owner.name for key in keys}


def says(plan: Plan) -> list[str]:
    prefix = SETTINGS_DIFFER.says.format(settings="")
    return [note.text.removeprefix(prefix) for note in plan.notes if note.kind is NoteKind.SETTINGS]


@rows("settings said", {
    "three-variables-vanish-together": (
        WITHOUT,
        (
            "HCLOUD_NETWORK 7 -> (unset), HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK true -> (unset),"
            " HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP true -> (unset)"
        ),
    ),
    "another-network-and-use-private-ip-lost": (replace(with_default(use_private_ip=UNMANAGED), network="8"),
        "HCLOUD_NETWORK 7 -> 8, HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP true -> (unset)"),
    "they become public": (OPENED, "HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK true -> false"),
    "proxyprotocol-for-all": (FLIPPED, "HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL (unset) -> true"),
})  # fmt: skip
def test_what_a_changed_setting_takes_from_several_is_one_hold(settings: Settings, said: str) -> None:
    """Detached, flipped or opened, four at once. Said with the names that people set."""
    world = a_cluster(4, settings)
    if settings.network == "8":
        world = replace(world, network=Present(replace(NETWORK, id=8, name="8")))
    plan = judged(world, settings, former())
    losing = {"web-1"} if settings.network != "7" else set()  # the Node's internal address
    assert held(plan) == {f"default/s-{number}" for number in range(1, 5)} | losing
    assert sum(hold.rule is GuardName.SETTINGS_BLAST_RADIUS for hold in plan.holds) == 1
    assert sorted(says(plan)[0].split(", ")) == sorted(said.split(", "))
    assert not any(takes(change) for change in plan.allowed)


def test_public_interfaces_of_all_are_not_closed_by_a_setting() -> None:
    """DISABLE_PUBLIC_NETWORK=true for all; each Service may still ask for it alone."""
    public = with_default(use_private_ip=True, disable_public_network=UNMANAGED)
    closed = with_default(disable_public_network=True)
    world = a_cluster(3, is_public=True)
    assert held(judged(world, closed, former(public))) == {"default/s-1", "default/s-2", "default/s-3"}
    own = a_cluster(3, is_public=True, disable_public_network="true")
    assert held(judged(own, with_default(public, type="lb21"), former(public))) == set()


@pytest.mark.parametrize("known", [None, former(WITHOUT), former(change=None, values={})])
def test_without_a_memory_or_a_difference_nothing_is_held(known: FormerSettings | None) -> None:
    """The first run, a migration from HCCM, and settings that are as they were."""
    plan = judged(a_cluster(4, WITHOUT), WITHOUT, known)
    assert held(plan) == set()
    assert says(plan) == []


def test_one_object_alone_is_not_held_by_the_rule() -> None:
    """What happens to one is seen, and said; that one becomes public is held as for any other reason."""
    plan = judged(a_cluster(1, FLIPPED), FLIPPED, former())
    assert held(plan) == set()
    assert says(plan) == ["HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL (unset) -> true"]
    assert [hold.rule for hold in judged(a_cluster(1, OPENED), OPENED, former()).holds] == [GuardName.EXPOSURE]


@rows("healths own expected", {
    "the only target": ("H", None, {"default/web"}),
    "the only one of two that answers": ("HX", None, {"default/web"}),
    "one of two goes first": ("HH", None, set()),
    "it does not answer": ("X", None, set()),
    "the Service asks for it itself": ("H", "true", set()),
})  # fmt: skip
def test_an_interruption_that_no_order_avoids_is_held(healths: str, own: str | None, expected: set[str]) -> None:
    """USE_PRIVATE_IP=true of the whole cluster, and a single Service: what alone answers has another address then."""
    states = {"H": Health.HEALTHY, "X": Health.UNHEALTHY}
    checks = {ServerTarget(number, use_private_ip=False): states[one] for number, one in enumerate(healths, start=1)}
    servers = [
        a_server(number, f"n-{number}", private_ips=((7, IPv4Address(f"10.0.0.{number}")),))
        for number in range(1, len(healths) + 1)
    ]
    asked = annotated(**({} if own is None else {"use_private_ip": own}))
    balancer = a_balancer(targets=list(checks), health=checks, attachments=(PLACE,))
    world = a_world(
        [a_served_service(claim=a_claim(annotations=asked))],
        [balancer],
        nodes=[a_settled_node(server.name, server.id) for server in servers],
        servers=servers,
        network=Present(NETWORK),
    )
    private = with_default(IN_NETWORK, use_private_ip=True)
    plan = judged(world, private, former(IN_NETWORK))

    assert held(plan) == expected
    assert [hold.value for hold in plan.holds if hold.rule is GuardName.SETTINGS_BLAST_RADIUS] == ["1"] * len(expected)


@rows("count own expected", {
    "no address is left": (1, None, {"default/s-1"}),
    "none is left to two": (2, None, {"default/s-1", "default/s-2"}),
    "the Service asks for it itself": (1, "true", set()),
})  # fmt: skip
def test_a_setting_takes_no_service_all_of_its_addresses(count: int, own: str | None, expected: set[str]) -> None:
    """DISABLE_PRIVATE_INGRESS=true beside Services whose load balancers have no public interface."""
    world = a_cluster(count) if own is None else a_cluster(count, disable_private_ingress=own)
    plan = judged(world, UNPUBLISHED, former())
    assert held(plan) == expected


def test_all_that_become_public_are_one_hold() -> None:
    """And once a person has approved it, what is left of it is asked no more."""
    plan = judged(a_cluster(2, OPENED), OPENED, former())
    assert [hold.rule for hold in plan.holds] == [GuardName.SETTINGS_BLAST_RADIUS]
    values = {"HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK": False}
    known = former(change=PendingChange(values, NOW, accepted=True))
    assert judged(a_cluster(1, OPENED), OPENED, known).holds == ()


def test_what_was_accepted_is_held_no_more() -> None:
    """Approved once for all of it; another value is another difference."""
    pending = PendingChange({"HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL": True}, NOW, accepted=True)
    world = a_cluster(2, FLIPPED)
    plan = judged(world, FLIPPED, former(change=pending))
    assert held(plan) == set()
    assert says(plan) == [f"HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL (unset) -> true, since {NOW:%Y-%m-%d %H:%M} UTC"]
    other = with_default(FLIPPED, disable_public_network=False)
    assert held(judged(world, other, former(change=pending))) == {"default/s-1", "default/s-2"}


def test_what_cannot_be_read_is_not_absent() -> None:
    """While the former settings cannot be read, what would take from several waits."""
    plan = judged(a_cluster(2, FLIPPED), FLIPPED, Unknown("503"))
    waiting = [change for change in plan.changes if change.decision.rule is GuardName.SETTINGS_BLAST_RADIUS]
    assert {change.owner.name for change in waiting} == {"default/s-1", "default/s-2"}
    assert {change.decision.verdict for change in waiting} == {Verdict.WAITING}
    assert says(plan) == [FORMER_SETTINGS_UNREAD.text(error="503")]


LISTENER = a_listener()
CHECK = LISTENER.health_check


def checked(**fields: Any) -> Listener:
    return replace(LISTENER, health_check=replace(CHECK, **fields))


ADDRESS = NodeAddress(AddressType.INTERNAL_IP, "10.0.0.2")
TARGET = ServerTarget(1, use_private_ip=True)
ENTRIES = (Ingress("203.0.113.1"), Ingress("10.0.0.9"))
OPEN = NetworkCondition("False", "RouteCreated")


@rows("kind before after expected", {
    "address-lost": ("node.addresses", (ADDRESS,), (), True),
    "address-got": ("node.addresses", (), (ADDRESS,), False),
    "closed-to-pods": ("node.network_condition", OPEN, UNROUTED, True),
    "closed-to-pods-unsaid": ("node.network_condition", None, UNROUTED, True),
    "opened-to-pods": ("node.network_condition", UNROUTED, OPEN, False),
    "labels": ("node.labels", {"a": "b"}, {}, False),
    "address-withdrawn": ("service.status", ENTRIES, ENTRIES[:1], True),
    "address-published": ("service.status", ENTRIES[:1], ENTRIES, False),
    "type": ("lb.type", "lb11", "lb21", False),
    "attached": ("lb.network", None, PLACE, False),
    "detached": ("lb.network", PLACE, None, True),
    "closed": ("lb.public_interface", True, False, True),
    "exposed": ("lb.public_interface", False, True, True),
    "target-added": ("lb.target", None, TARGET, False),
    "target-removed": ("lb.target", TARGET, None, True),
    "target-FLIPPED": ("lb.target", replace(TARGET, use_private_ip=False), TARGET, True),
    "port-added": ("lb.listener", None, LISTENER, False),
    "port-removed": ("lb.listener", LISTENER, None, True),
    "proxyprotocol": ("lb.listener", LISTENER, replace(LISTENER, proxyprotocol=True), True),
    "node-port": ("lb.listener", LISTENER, replace(LISTENER, destination_port=1), True),
    "patient": ("lb.listener", LISTENER, checked(interval_s=60, timeout_s=30, retries=5), False),
    "short-check": ("lb.listener", LISTENER, checked(timeout_s=1), True),
    "strict-check": ("lb.listener", LISTENER, checked(retries=1), True),
    "other-check": ("lb.listener", LISTENER, checked(protocol=Protocol.HTTP), True),
})  # fmt: skip
def test_which_changes_take_something(kind: str, before: Any, after: Any, expected: bool) -> None:
    """What interrupts, exposes or takes away; additions do not."""
    verb = Verb.ADD if before is None else Verb.REMOVE if after is None else Verb.MODIFY
    verb = verb if verb in KINDS[kind].verbs else Verb.MODIFY
    assert takes(a_change("load_balancer/default/web", kind, verb=verb, before=before, after=after)) is expected


ALWAYS = {"node.delete", "service.release", "lb.delete", "lb.retain", "route.replace", "route.delete"}
NEVER = {"node.initialise", "service.claim", "lb.create", "certificate.create", "route.create"}


def test_each_kind_is_decided() -> None:
    keys = {kind: "route/7/10.244.0.0@24" if kind.startswith("route") else "load_balancer/x/y" for kind in ChangeKind}
    taking = {kind for kind, key in keys.items() if takes(a_change(key, kind))}
    assert taking & (ALWAYS | NEVER) == ALWAYS
    removing = {kind for kind in KINDS if Verb.REMOVE in KINDS[kind].verbs}
    assert all(takes(a_change(keys[ChangeKind(kind)], kind, verb=Verb.REMOVE)) for kind in removing)
