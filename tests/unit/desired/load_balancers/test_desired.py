"""What a Service is given of what it asks for, and what a person is told of the rest."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv6Network
from typing import Any

from desired.annotations.claims import ClaimedPort
from desired.annotations.options import OPTIONS, Options
from desired.model.load_balancer import IpTarget, LoadBalancer, SelectorTarget, ServerTarget, Target
from desired.model.settings import Settings
from desired.model.snapshot import Readiness
from desired.plan.notes import NoteKind
from desired.planner import compute_desired
from desired.rules import load_balancers as rules
from desired.section import Section, Unknown
from desired.syntax.selector import parse_selector
from tests.balancers import IN_NETWORK, LB21, a_balancer, a_claim, a_listener, a_service, a_world, annotated
from tests.builders import a_lost_node, a_server, a_settled_node, incomplete
from tests.support.balancer_changes import BALANCER, SERVICE
from tests.support.balancer_plans import HERE, INSIDE, asking, fleet, in_turn, new, plan_of, public, said
from tests.support.rows import rows

MALFORMED, LIMIT, KEPT = NoteKind.MALFORMED, NoteKind.LIMIT, NoteKind.KEPT
P = "load-balancer.hetzner.cloud/"
DRIFTED = a_balancer(
    targets=public(9), listeners=[a_listener(22, 30022)], spec={"name": "shop", "ipv4_rdns": "x.example.com"}
)
"""Everything about it differs from what a Service asks for that names algorithm, type and reverse name."""
WISHES = {"algorithm_type": "least_connections", "type": "lb21", "ipv4_rdns": "a.example.com", "name": "web"}


@rows("wrong", {
    "malformed": {"health_check_interval": "10"},
    "out-of-range": {"health_check_retries": "6"},
    "contradiction": {"http_redirect_http": "true", "protocol": "http"},
    "of-the-status": {"hostname": "not a name"},
})  # fmt: skip
def test_a_bad_annotation_stops_what_it_decides(wrong: dict[str, str]) -> None:
    """Everything else goes on. A new port waits if it is not known what clients are to speak."""
    world = fleet(1, 2) | {"servers": [a_server(), a_server(2, "web-2"), a_server(9, "x")]}
    plan, whole = plan_of(asking(**WISHES | wrong), DRIFTED, **world), plan_of(asking(**WISHES), DRIFTED, **world)
    waits = {"listener/80"} if "http_redirect_http" in wrong else set()
    assert in_turn(plan) == [part for part in in_turn(whole) if part not in waits]
    assert len(said(plan, MALFORMED)) == 1


def test_what_nothing_reads_freezes_nothing() -> None:
    """A migrated load balancer is kept in sync, and a new one is created: with the network, only an attachment reads
    the range of the subnet."""
    unread = {"http_cookie_name": "", "http_status_codes": "", "http_managed_certificate_domains": ""}
    ranged = {"private_subnet_ip_range": "x"}
    outside = asking(**WISHES | unread | ranged | {"private_ipv4": "x"})
    inside = asking(**unread | ranged, algorithm_type="least_connections")
    attached = a_balancer(attachments=(HERE,), targets=())
    for plan, order in (
        (plan_of(outside, DRIFTED), in_turn(plan_of(asking(**WISHES), DRIFTED))),
        (plan_of(inside, attached, **INSIDE), ["algorithm", "target/server:1"]),
        (plan_of(inside, a_balancer(targets=()), **INSIDE), ["algorithm", "target/server:1"]),
    ):
        assert in_turn(plan) == order
    assert BALANCER in plan_of(new(**unread | ranged | {"private_ipv4": "x"})).by_key
    assert BALANCER not in plan_of(new(**unread | ranged), **INSIDE).by_key


def test_a_bad_default_of_the_environment_stops_what_it_decides() -> None:
    """It is a problem of every Service that would get it, and of none that overrules it."""
    settings = Settings(balancer_defaults=Options(location="fsn1", health_check_interval=1))
    plan = plan_of(asking(), DRIFTED, settings=settings)
    assert in_turn(plan) == in_turn(plan_of(asking(), DRIFTED))
    (text,) = said(plan, MALFORMED)
    assert text.startswith("HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_INTERVAL is 1: ")


BAD = {"health_check_port": "0"}
UNREAD: dict[str, Any] = {"settings": IN_NETWORK, "network": Unknown("500")}
LARGER = "a larger type, such as lb21"


def left_out(*nodes: str) -> str:
    """The note on Nodes for which the smallest type has no room."""
    full = rules.ROOM_LACKING.text(room="25 targets", remedy=f"choose {LARGER}, or Nodes by {P}node-selector")
    return rules.NODE_OVER_LIMIT.text(nodes=f"Nodes {', '.join(nodes)}", cause=full)


MANY = {"health_check_interval": "10", "algorithm_type": "fastest", "use_private_ip": "true", "http_cookie_name": "x"}


def test_everything_that_is_wrong_at_once() -> None:
    """Nothing is created, nothing is claimed, and each problem is said once, before anything is done."""
    plan = plan_of(new(**MANY), settings=Settings())
    assert plan.changes == ()
    assert [text.split(" ")[0].removeprefix(P) for text in said(plan, MALFORMED)] == [
        "algorithm-type",
        "health-check-interval",
        "location",
        "use-private-ip",
    ]
    assert [text.split(" ")[0].removeprefix(P) for text in said(plan, NoteKind.UNSUPPORTED)] == ["http-cookie-name"]


def test_nothing_wrong_is_adopted() -> None:
    """What somebody else set up is not touched for a Service that nobody can understand."""
    stranger = a_balancer(service_uid=None, cluster_uid=None, targets=())
    assert plan_of(new(**BAD), stranger).changes == ()
    assert in_turn(plan_of(new(), stranger)) == ["lb.adopt", "target/server:1"]


@rows("defaults options place", {
    "neither": (Options(), {}, None),
    "location": (Options(), {"location": "nbg1"}, ("nbg1", None)),
    "zone": (Options(), {"network_zone": "us-east"}, (None, "us-east")),
    "both": (Options(), {"location": "nbg1", "network_zone": "us-east"}, ("nbg1", None)),
    "location-of-the-environment": (Options(location="fsn1"), {}, ("fsn1", None)),
    "of-both": (Options(location="fsn1"), {"network_zone": "us-east"}, ("fsn1", None)),
    "cleared": (Options(location="fsn1"), {"location": "", "network_zone": "us-east"}, (None, "us-east")),
    "zone-cleared": (Options(network_zone="us-east"), {"network_zone": ""}, None),
})  # fmt: skip
def test_where_it_is_created(defaults: Options, options: dict[str, str], place: Any) -> None:
    """A location wins over a zone, an empty annotation clears the environment, and one of both there must be."""
    plan = plan_of(new(**options), settings=Settings(balancer_defaults=defaults))
    assert len(said(plan, MALFORMED)) == (1 if place is None else 0)
    created = [change.after for change in plan.changes if change.key == BALANCER]
    places = [(after.location, after.zone) for after in created if isinstance(after, LoadBalancer)]
    assert places == ([] if place is None else [place])


def test_what_is_there_needs_no_place() -> None:
    """Nor a certificate: it keeps what it has."""
    for service, balancer in ((asking(), a_balancer()), (new(), a_balancer(service_uid=None))):
        plan = plan_of(service, balancer, settings=Settings())
        assert said(plan) == []
    https = plan_of(asking(protocol="https"), a_balancer(), settings=Settings())
    assert rules.PORT_LACKS_CERTIFICATE.text(port=80) in said(https)
    assert https.changes == ()


@rows("balancers", {
    "part-of-it": {"load_balancers": incomplete(Section({1: a_balancer(1, service_uid="x")}))},
    "nothing": {"load_balancers": None},
})  # fmt: skip
def test_what_may_be_there_is_not_said_to_lack_a_place(balancers: dict[str, Any]) -> None:
    """While the load balancers cannot be read nobody knows whether one has to be created."""
    plan = plan_of(asking(), settings=Settings(), **balancers)
    assert plan.changes == ()
    assert [note.kind for note in plan.notes if note.key == SERVICE] == [NoteKind.UNKNOWN]
    assert said(plan_of(asking(**BAD), settings=Settings(), **balancers), MALFORMED) != []


def test_another_place() -> None:
    """It stays where it is, and a person is told what moving would cost."""
    for options, field, wanted, present in (
        ({"location": "nbg1"}, "location", "nbg1", "fsn1"),
        ({"location": "", "network_zone": "us-east"}, "network_zone", "us-east", "eu-central"),
    ):
        plan = plan_of(asking(**options), a_balancer())
        option = f"{OPTIONS[field].full_key} (or {OPTIONS[field].variable})"
        stays = rules.STAYS_IN_PLACE.text(option=option, wanted=wanted, balancer=42, present=present)
        assert (plan.changes, said(plan, KEPT)) == ((), [stays])
    assert said(plan_of(asking(), a_balancer(spec={"location": None}))) == []


SELECTOR, STRANGER = SelectorTarget("pool=web", use_private_ip=False), IpTarget("1.1.1.1")
SELECTOR_INSIDE = SelectorTarget("pool=web", use_private_ip=True)


@rows("options targets nodes type_after", {
    "it-fits-then": ({"type": "lb11"}, public(*range(1, 31)), range(1, 26), "lb11"),
    "too-many-nodes": ({"type": "lb11"}, public(*range(1, 27)), range(1, 27), None),
    "with-a-stranger": ({"type": "lb11"}, [*public(*range(1, 25)), SELECTOR], range(1, 25), "lb11"),
    "with-two-strangers": ({"type": "lb11"}, [*public(*range(1, 25)), SELECTOR, STRANGER], range(1, 25), None),
})  # fmt: skip
def test_a_smaller_type(options: dict[str, str], targets: list[Target], nodes: range, type_after: str | None) -> None:
    """No Node that has traffic loses it to a smaller type; what is not ours needs its place as well."""
    balancer = a_balancer(targets=targets, type=LB21, spec={"type": "lb21"})
    plan = plan_of(asking(**options), balancer, **fleet(*nodes))
    change = plan.by_key.get(f"{BALANCER}/type")
    assert (change.after if change else None) == type_after
    assert len(said(plan, LIMIT)) == (0 if type_after else 1)
    assert type_after or plan.changes == ()


def test_a_type_with_too_few_ports() -> None:
    """A new one is not begun with a part of its ports; one that is there keeps those it has."""
    six = [ClaimedPort(port, "TCP", 30000 + port) for port in range(81, 87)]
    plan = plan_of(new(*six))
    assert (plan.changes, len(said(plan, LIMIT))) == ((), 1)
    there = a_balancer(listeners=[a_listener(port, 30000 + port) for port in range(82, 87)])
    plan = plan_of(asking(*six), there)
    assert plan.changes == ()
    assert said(plan, LIMIT) == [rules.PORT_OVER_LIMIT.text(port=81, holds="5 ports", larger=LARGER)]
    assert in_turn(plan_of(asking(*six, type="lb21"), there)) == ["type", "listener/81"]


def test_a_type_that_cannot_be_had() -> None:
    """A wrong type stops a creation, and nothing else of what is there."""
    plan = plan_of(new(type="lb99"), nodes=[])
    assert (plan.changes, len(said(plan, MALFORMED)), len(said(plan))) == ((), 1, 1)
    there = plan_of(asking(type="lb99", algorithm_type="least_connections"), a_balancer())
    assert in_turn(there) == ["algorithm"]
    late = plan_of(new(), balancer_types=Unknown("500"))
    assert (late.changes, len(said(late, NoteKind.UNKNOWN))) == ((), 1)


UDP = "spec.ports[{}].protocol is {}: Hetzner balances TCP only, so port {} is left out"
DNS, DNS_TCP, SCTP = ClaimedPort(53, "UDP", 30053), ClaimedPort(53, "TCP", 30054), ClaimedPort(99, "SCTP", 30099)
NO_PORT = "spec.ports has no TCP port: the load balancer will listen on nothing"


@rows("ports listeners notes", {
    "udp-alone": ([DNS], set(), [NO_PORT, UDP.format(0, "UDP", 53)]),
    "among-others": ([DNS, DNS_TCP, SCTP], {53}, [UDP.format(0, "UDP", 53), UDP.format(2, "SCTP", 99)]),
    "a-node-port-to-come": ([ClaimedPort(80), ClaimedPort(81, "TCP", 30081)], {81}, []),
})  # fmt: skip
def test_ports_that_cannot_be(ports: list[ClaimedPort], listeners: set[int], notes: list[str]) -> None:
    """What Hetzner cannot balance is said and left out; what the API server has yet to say, waits, and one that it
    never says is an error, as the API would refuse a port that leads nowhere."""
    plan = plan_of(new(*ports))
    after = plan.by_key[BALANCER].after
    assert isinstance(after, LoadBalancer)
    assert after.listeners.keys() == listeners
    assert said(plan) == notes
    never = plan_of(a_service(claim=a_claim(ClaimedPort(80), allocates_node_ports=False)))
    assert (never.changes, len(said(never, MALFORMED))) == ((), 1)


def test_no_nodes() -> None:
    """A load balancer is created, or stays, though nobody gets its traffic; that is worth a word."""
    for service, balancers, order in ((new(), [], ["lb.create"]), (asking(), [a_balancer()], ["target/server:1"])):
        plan = plan_of(service, *balancers, nodes=[], servers=[a_server()])
        assert (said(plan), in_turn(plan)) == ([rules.NODES_LACKING.text()], order)


LABEL = "node.kubernetes.io/exclude-from-external-load-balancers"


@rows("lately", {"one-unlisted": {"late": 8}, "several-unlisted": {"a": 8, "b": 9}})
def test_nodes_that_cannot_be_targets(lately: Mapping[str, int]) -> None:
    """One sentence for each kind of trouble, whoever has it, and no word of those that are left out, nor of
    what the Nodes' own notes say: that one has no server."""
    nodes = [
        *(a_settled_node(f"web-{n}", n) for n in (1, 3)),
        *(a_settled_node(f"far-{n}", 10 + n) for n in range(1, 8)),
        a_settled_node("robot", provider_id="hrobot://1"),
        a_settled_node("odd", provider_id="hcloud://x"),
        a_settled_node("out", 3, labels={LABEL: ""}),
        a_lost_node("lost", 7),
        *(a_settled_node(name, number) for name, number in lately.items()),
    ]
    far = [a_server(10 + n, f"far-{n}", ipv4=None) for n in range(1, 8)]
    servers = [*far, a_server(1, "web-1"), a_server(3, "web-3", missing={"public_net.ipv4"})]
    plan = plan_of(asking(), a_balancer(), nodes=nodes, servers=servers)
    unreached = rules.WITHOUT_PUBLIC_ADDRESS.text()
    many = "Nodes far-1, far-2, far-3, far-4, far-5 and 2 more"
    assert said(plan, NoteKind.UNUSABLE_TARGET) == [rules.NODE_NO_TARGET.text(nodes=many, cause=unreached)]
    unlisted = rules.TARGET_SERVER_UNKNOWN.text(cause="not in the list, but the kubelet reports Ready")
    late = f"Node{'s' if len(lately) > 1 else ''} {', '.join(lately)}"
    unsaid = rules.ADDRESS_UNSAID.text(kind="public IPv4 address")
    causes = ((late, unlisted), ("Node web-3", unsaid))
    assert said(plan, KEPT) == sorted(rules.NODE_UNCERTAIN.text(nodes=who, cause=cause) for who, cause in causes)
    assert (said(plan, NoteKind.NO_TARGETS, LIMIT), in_turn(plan)) == ([], [])


def test_a_target_by_an_address_that_its_server_has_lost() -> None:
    """Nothing reaches it, and the target is no other one by IPv6: a person is told what to remove."""
    servers = [a_server(number, f"web-{number}", ipv4=None) for number in (1, 2, 3)]
    six = [IPv6Network(f"2001:db8:{number}::/64") for number in (1, 2, 3)]
    world: dict[str, Any] = {
        "nodes": [a_settled_node(server.name, server.id) for server in servers],
        "servers": [replace(server, ipv6=network) for server, network in zip(servers, six, strict=True)],
    }
    by_ipv6 = ServerTarget(2, use_private_ip=False, ipv6="2001:db8:2::1")

    plan = plan_of(asking(), a_balancer(targets=[*public(1), by_ipv6]), **world)

    assert in_turn(plan) == ["target/server:3"]
    assert said(plan, NoteKind.UNUSABLE_TARGET) == [rules.LOST_IPV4.text(nodes="Node web-1")]


def test_nodes_for_whom_there_is_no_room() -> None:
    """Those who are there stay, then names decide; who is left out is said."""
    names = {f"web-{number:02}": number for number in range(1, 29)}
    world: dict[str, Any] = {
        "nodes": [a_settled_node(name, number) for name, number in names.items()],
        "servers": [a_server(number, name) for name, number in names.items()],
    }
    plan = plan_of(asking(), a_balancer(targets=public(28, *range(2, 24))), **world)
    assert in_turn(plan) == ["target/server:1", "target/server:24"]
    assert said(plan) == [left_out("web-25", "web-26", "web-27")]
    plan = plan_of(new(), **world)
    after = plan.by_key[BALANCER].after
    assert isinstance(after, LoadBalancer)
    assert after.targets == frozenset(public(*range(1, 26)))
    assert said(plan) == [left_out("web-26", "web-27", "web-28")]


def test_targets_that_are_not_ours() -> None:
    """They are left alone, and said to be."""
    plan = plan_of(asking(), a_balancer(targets=[*public(1), SELECTOR, STRANGER]))
    assert plan.changes == ()
    assert said(plan) == [rules.TARGET_OF_OTHERS.text(target=name) for name in ("ip:1.1.1.1", "selector:pool=web")]


GOES_PRIVATE = {"use_private_ip": "true", "disable_public_network": "true"}
SPARE = {"example.com/spare": ""}


@rows("targets by_others order", {
    "selector": ([SELECTOR], "selector:pool=web", ["target/server:1"]),
    "address": ([STRANGER], "ip:1.1.1.1", ["target/server:1"]),
    "of-a-node-that-is-ignored": (public(2), "server:2", ["target/server:1"]),
    "private-address": ([IpTarget("10.0.0.77")], None, ["target/server:1", "public"]),
    "private-selector": ([SELECTOR_INSIDE], None, ["target/server:1", "public"]),
    "one-that-changes": (public(1), None, ["target/server:1", "public"]),
    "one-that-goes": (public(9), None, ["target/server:1", "target/server:9", "public"]),
})  # fmt: skip
def test_who_keeps_the_public_interface_on(targets: list[Target], by_others: str | None, order: list[str]) -> None:
    """It is not switched off, only to be refused, while a target that stays needs it."""
    settings = replace(IN_NETWORK, ignore_nodes=parse_selector("example.com/spare"))
    world = INSIDE | fleet(1, 2) | {"settings": settings}
    world["nodes"] = [a_settled_node(), a_settled_node("web-2", 2, labels=SPARE)]
    plan = plan_of(asking(**GOES_PRIVATE), a_balancer(attachments=(HERE,), targets=targets), **world)
    assert in_turn(plan) == order
    row = rules.PUBLIC_INTERFACE_NEEDED_BY_OTHERS
    if by_others == "server:2":
        row = rules.PUBLIC_INTERFACE_NEEDED_STILL
    assert said(plan, KEPT) == ([row.text(target=by_others)] if by_others else [])


def test_the_public_interface_stays_for_public_targets() -> None:
    """What contradicts itself is not carried out half way."""
    for targets in (public(1), ()):
        there = a_balancer(attachments=(HERE,), targets=targets)
        plan = plan_of(asking(disable_public_network="true"), there, **INSIDE)
        assert "public" not in in_turn(plan)
        assert said(plan) == [rules.PUBLIC_INTERFACE_NEEDED.text(target="server:1")]


def test_the_public_interface_stays_until_its_targets_are_gone() -> None:
    """No Node is eligible any more, and what is there is taken out first: Hetzner refuses the other order for ever."""
    there = a_balancer(attachments=(HERE,), targets=public(1))
    plan = plan_of(asking(disable_public_network="true", node_selector="none=such"), there, **INSIDE)
    assert in_turn(plan) == ["target/server:1"]
    empty = a_balancer(attachments=(HERE,), targets=())
    assert in_turn(plan_of(asking(disable_public_network="true", node_selector="none=such"), empty, **INSIDE)) == [
        "public"
    ]


OUTSIDE = {"use_private_ip": "false"}


def test_a_load_balancer_without_public_interface_has_no_public_targets() -> None:
    """The API would refuse each in every pass: it is created without them, or keeps what it has, and a note says
    what is missing."""
    created = plan_of(new(disable_public_network="true"), **INSIDE).by_key[BALANCER].after
    assert isinstance(created, LoadBalancer)
    assert (created.public_interface, created.targets) == (False, frozenset())
    for options in ({"disable_public_network": "true", **OUTSIDE}, OUTSIDE):
        kept = a_balancer(attachments=(HERE,), targets=(), spec={"public_interface": False})
        plan = plan_of(asking(**options), kept, **INSIDE)
        assert [change.key for change in plan.changes if "/target/" in change.key] == []
        assert said(plan, NoteKind.UNREACHABLE) == [rules.NO_TARGET_REACHED.text()]


def test_nobody_is_blamed_for_a_network_that_cannot_be_read() -> None:
    """Targets that will change their address keep the interface on until they have, and that is no trouble."""
    plan = plan_of(asking(**GOES_PRIVATE), a_balancer(), **UNREAD)
    unknown = rules.PRIVATE_NETWORK_UNKNOWN.text(cause="500")
    assert (in_turn(plan), said(plan, KEPT)) == ([], [rules.NODE_UNCERTAIN.text(nodes="Node web-1", cause=unknown)])


def test_a_name_that_is_taken() -> None:
    """It keeps the one it has, and everything else is done."""
    other = a_balancer(43, service_uid=None, spec={"name": "shop"})
    plan = plan_of(asking(name="shop", algorithm_type="least_connections"), a_balancer(), other)
    assert in_turn(plan) == ["algorithm"]
    assert len(said(plan, MALFORMED)) == 1


def test_a_private_address_that_cannot_be_had() -> None:
    """Found out before anything is detached for it."""
    taken = {**INSIDE, **fleet(1, 2)}
    plan = plan_of(asking(private_ipv4="10.0.0.2"), a_balancer(attachments=(HERE,)), **taken)
    assert in_turn(plan) == ["target/server:2"]
    assert said(plan) == [rules.PRIVATE_IP_OF_SERVER.text(address="10.0.0.2", server="web-2")]


def test_each_thing_is_said_once() -> None:
    """A person reads each sentence once, whatever it follows from."""
    service = asking(ClaimedPort(80, "UDP", 30080), **MANY)
    texts = said(plan_of(service, a_balancer(targets=[SELECTOR])))
    assert len(texts) == len(set(texts)) > 4


def test_what_cannot_be_read_is_known_by_its_field() -> None:
    """An explanation asks for it: fields of annotations, of the environment, and of what cannot be had."""
    settings = Settings(balancer_defaults=Options(location="fsn1", health_check_retries=9), network="7")
    claim = a_claim(annotations=annotated(private_ipv4="10.9.9.9", algorithm_type="x"))
    world = a_world([a_service(claim=claim)], network=INSIDE["network"])
    (wish,) = compute_desired(world, settings).services.values()
    assert getattr(wish, "unclear", None) == {"private_ipv4", "algorithm_type", "health_check_retries"}


def test_a_node_that_is_not_ready_stays() -> None:
    """Health checks look after that; an exclusion is looked at in each pass."""
    silent = a_settled_node(ready=Readiness.FALSE)
    assert plan_of(asking(), a_balancer(), nodes=[silent]).changes == ()
    out = a_settled_node(labels={LABEL: ""})
    assert in_turn(plan_of(asking(), a_balancer(), nodes=[out])) == ["target/server:1"]
    moved = a_settled_node(labels={"pool": "db"})
    picky = asking(node_selector="pool=web")
    assert in_turn(plan_of(picky, a_balancer(), nodes=[moved])) == ["target/server:1"]
