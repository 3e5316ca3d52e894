"""In which network and zone a load balancer should be, what is wrong with the address it asks for, and which servers
are no targets for it there."""

from collections.abc import Iterable
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from desired.annotations.options import OPTIONS, Options
from desired.load_balancers.membership import way_of
from desired.load_balancers.network import (
    attachment_problems,
    network_id,
    wanted_attachment,
    why_out_of_reach,
    zone_of,
    zones_of_locations,
)
from desired.model.load_balancer import Attachment, CloudBalancer, LoadBalancer, ServerTarget
from desired.model.service import Service
from desired.model.snapshot import Network, Server, Snapshot
from desired.plan.change import Plan
from desired.plan.notes import NoteKind
from desired.planner import compute_plan
from desired.rules import load_balancers as rules
from desired.rules.rule import Rule
from desired.section import UNMANAGED, Absent, Present, Section, Unknown, Unmanaged
from desired.syntax.bounds import several
from tests.balancers import LOCATED, NETWORK, a_balancer, a_claim, a_served_service, a_service, a_world, annotated
from tests.builders import a_server, a_settled_node, a_snapshot
from tests.support.balancer_plans import public
from tests.support.rows import rows

ADDRESS, RANGE = IPv4Address("10.0.0.9"), NETWORK.subnets[0]
WIDE = Network(7, "private", (IPv4Network("10.0.1.0/24"), IPv4Network("10.0.16.0/24")), IPv4Network("10.0.0.0/16"))
"""Two subnets; the gateway 10.0.0.1 is in neither."""
BARE = Network(7, "private")
SUBNETS = "10.0.1.0/24, 10.0.16.0/24"
IP_KEY, RANGE_KEY = OPTIONS["private_ipv4"].full_key, OPTIONS["private_subnet_ip_range"].full_key


def world(
    network: Network | None = NETWORK, balancers: Iterable[CloudBalancer] = (), servers: Iterable[Server] = ()
) -> Snapshot:
    return a_world([], balancers, servers=servers, network=Present(network))


def problems(options: Options, present: CloudBalancer | None, snapshot: Snapshot, *args: Any) -> list[tuple[str, str]]:
    found = attachment_problems(options, present, snapshot, *args)
    return [(problem.key, problem.text.partition(": ")[2]) for problem in found]


def expected(row: Rule | None, **facts: Any) -> list[tuple[str, str]]:
    """The one problem of this row with the address or range that is asked for; none for None."""
    key = RANGE_KEY if row is rules.RANGE_OUTSIDE else IP_KEY
    return [] if row is None else [(key, row.text(network="private", **facts).partition(": ")[2])]


def asks_for(ip: str) -> Options:
    return Options(private_ipv4=IPv4Address(ip))


def attached(ip: str | None, network: int = 7, balancer_id: int = 42, name: str = "web") -> CloudBalancer:
    places = () if ip is None else (Attachment(network, IPv4Address(ip)),)
    return a_balancer(balancer_id, attachments=places, spec={"name": name})


BOTH = Options(private_ipv4=ADDRESS, private_subnet_ip_range=RANGE)


@rows("network options wanted", {
    "none configured, an address asked for": (Present(None), BOTH, None),
    "configured": (Present(NETWORK), Options(), Attachment(7)),
    "with address and range": (Present(NETWORK), BOTH, Attachment(7, ADDRESS, RANGE)),
    "not there": (Absent(), BOTH, UNMANAGED),
    "not read": (Unknown("429"), BOTH, UNMANAGED),
})  # fmt: skip
def test_wanted_attachment(network: Any, options: Options, wanted: Attachment | Unmanaged | None) -> None:
    """The configured network and no other; nothing is detached for one that could not be found, and what cannot be
    compared with a network is not called wrong."""
    snapshot = a_world(network=network)
    assert wanted_attachment(options, snapshot) == wanted
    assert network_id(snapshot) == (wanted.network_id if isinstance(wanted, Attachment) else None)
    assert problems(options, None, snapshot) == []


OUTSIDE, RESERVED = rules.PRIVATE_IP_OUTSIDE, rules.PRIVATE_IP_RESERVED
WITH_GATEWAY = replace(NETWORK, ip_range=IPv4Network("10.0.0.0/16"))
OF_PUBLIC_NETS = Network(7, "private", (IPv4Network("172.31.1.0/24"),))


@rows("ip network row", {
    "in the range and in no subnet": ("10.0.2.2", WIDE, OUTSIDE),
    "the broadcast address": ("10.0.1.255", WIDE, RESERVED),
    "the gateway": ("10.0.0.1", WITH_GATEWAY, RESERVED),
    "a gateway that is not known": ("10.0.0.1", NETWORK, None),
    "that of public nets": ("172.31.1.1", OF_PUBLIC_NETS, RESERVED),
    "without subnets nothing is known": ("10.0.0.9", BARE, None),
})  # fmt: skip
def test_address_that_nobody_can_have(ip: str, network: Network, row: Rule | None) -> None:
    """Found out before anything is detached for it, with the address that is asked for."""
    for present in (None, attached(None), attached("10.0.1.77"), attached("10.0.2.2", network=6)):
        assert problems(asks_for(ip), present, world(network)) == expected(row, address=ip, subnets=SUBNETS)


DB = a_server(3, "db", private_ips=((6, IPv4Address("10.0.0.8")), (7, ADDRESS)))
DB_ELSEWHERE = a_server(3, "db", private_ips=((6, ADDRESS),))
SHOP = attached("10.0.0.9", balancer_id=43, name="shop")
MINE, ABROAD, OTHER = attached("10.0.0.9"), attached("10.0.0.9", 6), attached("10.0.0.8")
OF_SERVER, OF_BALANCER = rules.PRIVATE_IP_OF_SERVER, rules.PRIVATE_IP_OF_BALANCER


@rows("present balancers servers row", {
    "a server, in another network": (None, [], [DB_ELSEWHERE], None),
    "a load balancer, in another network": (None, [ABROAD], [], None),
    "another load balancer": (OTHER, [OTHER, SHOP], [], OF_BALANCER),
    "itself, whatever others say": (MINE, [MINE], [DB], None),
    "a server, and not itself": (OTHER, [OTHER], [DB], OF_SERVER),
})  # fmt: skip
def test_address_that_somebody_has(
    present: CloudBalancer | None, balancers: list[CloudBalancer], servers: list[Server], row: Rule | None
) -> None:
    """Who has it is named, before rivals; the load balancer's own address is no obstacle."""
    for rivals in (set(), {"default/rival"}) if row else (set(),):
        found = problems(asks_for("10.0.0.9"), present, world(NETWORK, balancers, servers), several(rivals))
        assert found == expected(row, address="10.0.0.9", server="db", balancer="shop")


@rows("rivals present services", {
    "nobody else": ((), None, None),
    "two others": ({"b/y", "a/x"}, attached(None), "Services a/x, b/y"),
    "another Service, and it is its own already": ({"default/shop"}, MINE, None),
})  # fmt: skip
def test_address_that_others_ask_for(rivals: set[str], present: CloudBalancer | None, services: str | None) -> None:
    row = rules.PRIVATE_IP_CONTESTED if services else None
    found = problems(asks_for("10.0.0.9"), present, world(), several(rivals))
    assert found == expected(row, address="10.0.0.9", services=services)


@rows("asked network present is_wrong", {
    "all of them": ("10.0.0.0/16", WIDE, None, False),
    "none of them": ("10.0.2.0/24", WIDE, None, True),
    "none, attached elsewhere": ("10.0.2.0/24", WIDE, attached("10.0.1.9", 6), True),
    "none, attached already": ("10.0.2.0/24", WIDE, attached("10.0.1.9"), True),
    "without subnets nothing is known": ("10.0.2.0/24", BARE, None, False),
})  # fmt: skip
def test_range_without_a_subnet(asked: str, network: Network, present: CloudBalancer | None, is_wrong: bool) -> None:
    """It is told beside an address that is wrong, also if the load balancer is attached already."""
    options = Options(private_subnet_ip_range=IPv4Network(asked))
    wrong = expected(rules.RANGE_OUTSIDE if is_wrong else None, wanted=asked, subnets=SUBNETS)
    assert problems(options, present, world(network)) == wrong
    if is_wrong:
        both = problems(replace(options, private_ipv4=IPv4Address("10.0.2.9")), present, world(network))
        assert [key for key, _ in both] == [IP_KEY, RANGE_KEY]


EUROPE, AMERICA = "eu-central", "us-east"
IN_EUROPE, EMPTY = replace(NETWORK, zones=frozenset({EUROPE})), replace(NETWORK, subnets=(), zones=frozenset())
FAR_AWAY = rules.NETWORK_ELSEWHERE.because(network="private", zones=EUROPE, zone=AMERICA)


@rows("network zone present why", {
    "the zones of the subnets are not known": (NETWORK, AMERICA, None, None),
    "no network": (None, AMERICA, None, None),
    "it is attached all the same": (IN_EUROPE, AMERICA, MINE, None),
    "another zone": (IN_EUROPE, AMERICA, None, FAR_AWAY),
    "it is in another network": (IN_EUROPE, AMERICA, ABROAD, FAR_AWAY),
    "no subnet": (EMPTY, "", None, rules.NETWORK_WITHOUT_SUBNET.because(network="private")),
})  # fmt: skip
def test_networks_out_of_reach(network: Network | None, zone: str, present: CloudBalancer | None, why: Any) -> None:
    """Hetzner attaches only where a subnet is in the zone; what is not known is no reason."""
    assert why_out_of_reach(present, world(network), zone) == why


NEAR = a_server(1, "near", network_zone=EUROPE)
FAR = a_server(2, "far", location="ash", network_zone=AMERICA)
UNTOLD = a_server(3, "untold", location="")
NODES = [a_settled_node("near", 1), a_settled_node("far", 2), a_settled_node("untold", 3)]


def in_zone(zone: str | None = EUROPE, location: str | None = "fsn1", **changes: Any) -> CloudBalancer:
    return a_balancer(spec={"zone": zone, "location": location}, **changes)


def planned(service: Service, *balancers: CloudBalancer) -> Plan:
    return compute_plan(a_world([service], balancers, nodes=NODES, servers=[NEAR, FAR, UNTOLD]), LOCATED)


def ids_of(made: object) -> set[int]:
    assert isinstance(made, LoadBalancer)
    assert not isinstance(made.targets, Unmanaged)
    return {target.server_id for target in made.targets if isinstance(target, ServerTarget)}


def unusable(plan: Plan) -> list[str]:
    notes = [note.text.split(":")[0] for note in plan.notes if note.kind is NoteKind.UNUSABLE_TARGET]
    return [text.removeprefix("no target for Node ") for text in notes]


@rows("options location present zone", {
    "a location that a server is in": (Options(location="new1"), None, None, "ap-new"),
    "a location that nothing tells of": (Options(location="moon"), None, None, ""),
    "a zone": (Options(network_zone=AMERICA), None, None, AMERICA),
    "where its Primary IP is": (Options(network_zone=EUROPE), "ash", None, AMERICA),
    "its location alone is known": (Options(location="ash"), None, in_zone(zone=None), EUROPE),
})  # fmt: skip
def test_the_zone(options: Options, location: str | None, present: CloudBalancer | None, zone: str) -> None:
    zones = zones_of_locations(a_snapshot((), [a_server(9, "n", location="new1", network_zone="ap-new"), UNTOLD]))
    assert zone_of(options, location, present, zones) == zone


def test_a_zone_that_was_read_wins_over_the_documentation() -> None:
    snapshot = a_snapshot((), [a_server(network_zone="eu-new")])
    assert zones_of_locations(snapshot)["fsn1"] == "eu-new"
    assert zones_of_locations(replace(snapshot, load_balancers=Section({1: in_zone("eu-lb")})))["fsn1"] == "eu-lb"


@rows("zone targets zones told", {
    "the zone is not known": ("", (), {EUROPE, AMERICA}, ("", frozenset())),
    "of some it is not known": (EUROPE, (), {EUROPE, ""}, ("", frozenset())),
    "some are elsewhere": (EUROPE, (), {EUROPE, AMERICA}, (EUROPE, frozenset())),
    "a target of another": (EUROPE, (1, 2, 9), {EUROPE, AMERICA}, (EUROPE, frozenset({2}))),
})  # fmt: skip
def test_the_zone_of_the_way(
    zone: str, targets: tuple[int, ...], zones: set[str], told: tuple[str, frozenset[int]]
) -> None:
    """Without a zone the answer is shared with all other load balancers."""
    present, snapshot = a_balancer(targets=public(*targets)), a_snapshot((), [NEAR, FAR, UNTOLD])
    way = way_of(a_service(), Options(), present, snapshot, zone, zones)
    assert (way.zone, way.accepted) == told


def test_an_existing_target_of_another_zone_stays() -> None:
    """Hetzner has taken it, so that what is known of zones is wrong: nothing is removed for that, nor said."""
    plan = planned(a_served_service(), in_zone(targets=public(1, 2)))
    assert [change.key.parts[-1] for change in plan.changes] == ["server:3"]
    assert unusable(plan) == []


def test_a_service_of_each_zone_has_its_targets() -> None:
    services = [
        a_service(name, uid=f"uid-{name}", claim=a_claim(annotations=annotated(location=name)))
        for name in ("fsn1", "ash", "nbg1")
    ]
    plan = compute_plan(a_world(services, nodes=NODES, servers=[NEAR, FAR, UNTOLD]), LOCATED)
    made = [change.after for change in plan.changes if isinstance(change.after, LoadBalancer)]
    assert {each.location: ids_of(each) for each in made} == {"fsn1": {1, 3}, "nbg1": {1, 3}, "ash": {2, 3}}
