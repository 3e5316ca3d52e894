"""Each part of a load balancer that is there: nothing is planned for what is equal, one change for what is not."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from desired.annotations.choices import Algorithm, Protocol
from desired.annotations.claims import ClaimedPort
from desired.model.load_balancer import (
    Attachment,
    CloudBalancer,
    HealthCheck,
    HttpOptions,
    Identity,
    IpTarget,
    Listener,
    SelectorTarget,
    ServerTarget,
)
from desired.model.service import Service
from desired.model.settings import Settings
from desired.model.snapshot import Network
from desired.plan.change import Change
from desired.plan.kinds import Verb
from desired.section import Absent, Present, Unknown
from tests.balancers import (
    DEFAULT_NAME,
    IN_NETWORK,
    LB21,
    LOCATED,
    NETWORK,
    a_balancer,
    a_certificate,
    a_listener,
    an_http_check,
    an_http_listener,
)
from tests.builders import a_joining_node, a_lost_node, a_server, a_settled_node
from tests.support.balancer_changes import BALANCER, a_part, a_wish
from tests.support.balancer_plans import HERE, INSIDE, asking, fleet, plan_of, private, public

OURS = dict(a_balancer().spec.labels)

ATTACHED = a_balancer(attachments=(HERE,))
INTERNAL = a_balancer(attachments=(HERE,), targets=private(1), spec={"public_interface": False})
ELSEWHERE = Attachment(8, IPv4Address("10.8.0.9"))
OTHER = Network(8, "other", (IPv4Network("10.8.0.0/24"),))
SELECTOR, ADDRESS = SelectorTarget("pool=web", use_private_ip=False), IpTarget("198.51.100.7")
(ONE,), (TWO,) = public(1), public(2)
(ONE_INSIDE,), (TWO_INSIDE,) = private(1), private(2)
SILENT = a_balancer(listeners=())
ENCRYPTED = HttpOptions("HCLBSTICKY", 300, 50, (5,), redirect_http=False, sticky_sessions=False)
OVER_TLS = an_http_listener(443, 30443, protocol=Protocol.HTTPS, http=ENCRYPTED)
OTHER_PORT = a_listener(health_check=HealthCheck(Protocol.TCP, 30081, 15, 10, 3))


def parts(service: Service, balancer: CloudBalancer, **world: Any) -> tuple[Change, ...]:
    """The changes of parts of the load balancer, in the order of the plan."""
    plan = plan_of(service, balancer, **world)
    return tuple(change for change in plan.changes if change.key.startswith(f"{BALANCER}/"))


def sides_of(service: Service, balancer: CloudBalancer, **world: Any) -> tuple[Change, ...]:
    """The same without their consequences, which ``test_listener_losses`` is about."""
    return tuple(replace(change, consequences=()) for change in parts(service, balancer, **world))


@pytest.mark.parametrize(
    ("service", "balancer", "world"),
    [
        pytest.param(asking(), a_balancer(), {}, id="as-created"),
        pytest.param(asking(), ATTACHED, INSIDE, id="in-a-network"),
        pytest.param(asking(use_private_ip="true"), INTERNAL, INSIDE | fleet(1), id="internal"),
        pytest.param(asking(name=DEFAULT_NAME, type="lb11", location="fsn1"), a_balancer(), {}, id="in-other-words"),
        pytest.param(asking(algorithm_type="Round_Robin"), a_balancer(), {}, id="algorithm"),
        pytest.param(asking(ipv4_rdns="static.200.example.com"), a_balancer(), {}, id="reverse-name"),
        pytest.param(asking(ipv6_rdns=""), a_balancer(), {}, id="no-reverse-name"),
        pytest.param(asking(ipv6_rdns=""), a_balancer(spec={"ipv6_rdns": None}), {}, id="no-reverse-name-as-null"),
        pytest.param(asking(ipv6_rdns="a.example.com"), a_balancer(ipv6=None), {}, id="no-address-to-name"),
        pytest.param(asking(disable_public_network="false"), a_balancer(), {}, id="public"),
        pytest.param(asking(private_ipv4="10.0.0.200"), ATTACHED, INSIDE, id="private-address"),
        pytest.param(asking(private_subnet_ip_range="10.0.0.0/25"), ATTACHED, INSIDE, id="range-once-attached"),
        pytest.param(asking(uses_proxyprotocol="false", health_check_interval="15s"), a_balancer(), {}, id="port"),
        pytest.param(asking(), a_balancer(targets=[ONE, SELECTOR, ADDRESS]), {}, id="targets-of-others"),
        pytest.param(asking(location="nbg1", network_zone="us-east"), a_balancer(), {}, id="another-place"),
        pytest.param(asking(ClaimedPort(53, "UDP", 30053)), SILENT, {}, id="no-tcp-port"),
        pytest.param(asking(ClaimedPort(80)), a_balancer(), {}, id="a-node-port-still-to-come"),
    ],
)
def test_nothing_for_what_is_equal(service: Service, balancer: CloudBalancer, world: dict[str, Any]) -> None:
    """A load balancer that is as asked for costs no call."""
    assert parts(service, balancer, **world) == ()


@pytest.mark.parametrize(
    ("options", "balancer", "change"),
    [
        pytest.param(
            {"name": "shop"},
            {"spec": {"labels": OURS | {"team": "blue"}}},
            a_part(
                "identity",
                Identity(DEFAULT_NAME, OURS | {"team": "blue"}),
                Identity("shop", OURS | {"team": "blue"}),
                "the Service names it otherwise",
            ),
            id="name-with-the-labels-of-others",
        ),
        pytest.param(
            {"name": "shop"},
            {"cluster_uid": None},
            a_part(
                "identity",
                Identity(DEFAULT_NAME, a_balancer(cluster_uid=None).spec.labels),
                Identity("shop", OURS),
                "the Service names it otherwise",
            ),
            id="name-and-our-label-with-it",
        ),
        pytest.param(
            {"algorithm_type": "least_connections"},
            {},
            a_part(
                "algorithm",
                Algorithm.ROUND_ROBIN,
                Algorithm.LEAST_CONNECTIONS,
                "the Service asks for another algorithm",
            ),
            id="algorithm",
        ),
        pytest.param(
            {"type": "lb21"}, {}, a_part("type", "lb11", "lb21", "the Service asks for another type"), id="type-up"
        ),
        pytest.param(
            {"type": "lb11"},
            {"type": LB21, "spec": {"type": "lb21"}},
            a_part("type", "lb21", "lb11", "the Service asks for another type"),
            id="type-down",
        ),
        pytest.param(
            {"ipv4_rdns": "lb.example.com"},
            {},
            a_part(
                "rdns/ipv4",
                "static.200.example.com",
                "lb.example.com",
                "the Service asks for another reverse name",
            ),
            id="reverse-name",
        ),
        pytest.param(
            {"ipv4_rdns": ""},
            {},
            a_part("rdns/ipv4", "static.200.example.com", "", "the Service asks for another reverse name"),
            id="no-reverse-name",
        ),
        pytest.param(
            {"ipv6_rdns": "lb.example.com"},
            {},
            a_part(
                "rdns/ipv6",
                None,
                "lb.example.com",
                "the Service asks for another reverse name",
                verb=Verb.MODIFY,
            ),
            id="first-reverse-name-of-ipv6",
        ),
    ],
)
def test_the_whole(options: dict[str, str], balancer: dict[str, Any], change: Change) -> None:
    """Name with labels, algorithm, type and reverse names, each by itself."""
    assert parts(asking(**options), a_balancer(**balancer)) == (change,)


def http(**fields: Any) -> Listener:
    """The listener of port 80 with these options of HTTP."""
    listener = an_http_listener()
    assert listener.http is not None
    return replace(listener, http=replace(listener.http, **fields))


def checked(listener: Listener, **fields: Any) -> Listener:
    """The listener with another health check."""
    return replace(listener, health_check=replace(listener.health_check, **fields))


@pytest.mark.parametrize(
    ("service", "before", "after"),
    [
        pytest.param(
            asking(ClaimedPort(80, "TCP", 30081)),
            a_listener(),
            replace(OTHER_PORT, destination_port=30081),
            id="node-port",
        ),
        pytest.param(asking(uses_proxyprotocol="true"), a_listener(), a_listener(proxyprotocol=True), id="proxy"),
        pytest.param(
            asking(health_check_interval="5s"), a_listener(), checked(a_listener(), interval_s=5), id="interval"
        ),
        pytest.param(
            asking(health_check_port="8080"), a_listener(), checked(a_listener(), port=8080), id="port-of-the-check"
        ),
        pytest.param(
            asking(protocol="http", http_cookie_name="mine"), http(), http(cookie_name="mine"), id="option-of-http"
        ),
        pytest.param(
            asking(protocol="http", health_check_protocol="http", health_check_http_path="/up"),
            an_http_listener(health_check=an_http_check()),
            an_http_listener(health_check=an_http_check(path="/up")),
            id="path-of-the-check",
        ),
        pytest.param(
            asking(protocol="http"),
            a_listener(),
            a_listener(protocol=Protocol.HTTP, http=HttpOptions()),
            id="tcp-becomes-http",
        ),
        pytest.param(asking(), an_http_listener(), a_listener(), id="http-becomes-tcp"),
    ],
)
def test_a_listener_that_differs(service: Service, before: Listener, after: Listener) -> None:
    """One change for each port that differs, with all that it keeps; none for one that does not."""
    why = "differs from what the Service asks of port 80"
    assert sides_of(service, a_balancer(listeners=[before])) == (a_part("listener/80", before, after, why),)


def test_listeners_come_and_go() -> None:
    """A port that is asked for, one that is not, and one that is as it should be."""
    service = asking(ClaimedPort(80, "TCP", 30080), ClaimedPort(443, "TCP", 30443))
    assert parts(service, a_balancer(listeners=[a_listener(), a_listener(22, 30022)])) == (
        a_part("listener/443", None, a_wish(443, 30443), "the Service has port 443", follows=()),
        a_part(
            "listener/22",
            a_listener(22, 30022),
            None,
            "the Service has no TCP port 22",
            "clients cannot connect to port 22 any more",
            follows=(f"{BALANCER}/listener/443",),
        ),
    )


def test_a_number_of_two_protocols() -> None:
    """Another protocol on the number of a TCP port changes nothing, and alone it takes the listener away."""
    both = asking(ClaimedPort(80, "TCP", 30080), ClaimedPort(80, "UDP", 30081))
    assert parts(both, a_balancer()) == ()
    (gone,) = parts(asking(ClaimedPort(80, "UDP", 30080)), a_balancer())
    assert (gone.key, gone.after) == (f"{BALANCER}/listener/80", None)


THERE: dict[str, Any] = {
    "name": "shop",
    "type": "lb21",
    "algorithm": Algorithm.LEAST_CONNECTIONS,
    "public_interface": False,
    "ipv4_rdns": "lb.example.com",
    "ipv6_rdns": "lb.example.com",
}
"""What annotations asked for that are gone by now."""
TUNED = HttpOptions("mine", 600, 60, (5,), redirect_http=True, sticky_sessions=True)
CHECKED = replace(an_http_check(path="/up", tls=True), interval_s=5, timeout_s=4, retries=5)


@pytest.mark.parametrize(
    ("options", "listener"),
    [
        pytest.param({}, a_listener(proxyprotocol=True), id="proxy-protocol"),
        pytest.param({}, checked(a_listener(), interval_s=5, timeout_s=4, retries=5), id="health-check"),
        pytest.param(
            {"protocol": "http"},
            http(cookie_name="mine", cookie_lifetime_s=600, timeout_idle_s=60, sticky_sessions=True),
            id="http",
        ),
        pytest.param(
            {"protocol": "http", "health_check_protocol": "http"},
            an_http_listener(health_check=CHECKED),
            id="check-over-http",
        ),
        pytest.param(
            {"protocol": "https"},
            replace(OVER_TLS, http=TUNED),
            id="https-keeps-its-certificate",
        ),
    ],
)
def test_a_listener_of_which_less_is_asked(options: dict[str, str], listener: Listener) -> None:
    """What annotations no longer say stays."""
    service = asking(ClaimedPort(listener.port, "TCP", listener.destination_port), **options)
    assert parts(service, a_balancer(listeners=[listener])) == ()


def test_a_redirect_of_which_less_is_asked() -> None:
    """It does not stay where the Service has port 80 itself, for it takes that port."""
    redirects = replace(OVER_TLS, http=TUNED)
    ports = (ClaimedPort(443, "TCP", 30443), ClaimedPort(80, "TCP", 30080))
    there = a_balancer(listeners=[redirects])
    assert parts(asking(*ports, protocol="https"), there) == ()  # port 80 waits for a certificate
    found = parts(asking(*ports, protocol="https", http_certificates="5"), there, certificates=[a_certificate(5)])
    assert [(change.key.rpartition("/")[2], change.before) for change in found] == [("80", None), ("443", redirects)]
    assert found[1].after == replace(OVER_TLS, http=replace(TUNED, redirect_http=False))


def test_a_load_balancer_of_which_less_is_asked() -> None:
    """So does what belongs to no port."""
    tuned = a_balancer(attachments=(HERE,), targets=private(1), type=LB21, spec=THERE)
    assert parts(asking(use_private_ip="true"), tuned, **INSIDE | fleet(1)) == ()


def moved(before: Attachment | None, after: Attachment | None, why: str, *consequences: str, **more: Any) -> Change:
    """The change of the place in a network."""
    network = (after or before or HERE).network_id
    return a_part(f"network/{network}", before, after, why, *consequences, **more)


NO_NETWORK = "HCLOUD_NETWORK names no network"
ANOTHER = "HCLOUD_NETWORK names another network"
THIS = "HCLOUD_NETWORK names this network"
LOSS = "its private address {} is lost"
OUTAGE = "its private address {} is lost, and traffic to private targets stops meanwhile"


@pytest.mark.parametrize(
    ("options", "present", "world", "changes"),
    [
        pytest.param({}, (), INSIDE, [moved(None, Attachment(7), THIS)], id="switched-on"),
        pytest.param(
            {"private_ipv4": "10.0.0.9", "private_subnet_ip_range": "10.0.0.0/24"},
            (),
            INSIDE,
            [moved(None, Attachment(7, IPv4Address("10.0.0.9"), IPv4Network("10.0.0.0/24")), THIS)],
            id="switched-on-with-an-address",
        ),
        pytest.param(
            {"private_ipv4": "10.0.0.9"},
            (HERE,),
            INSIDE,
            [
                moved(
                    HERE,
                    Attachment(7, IPv4Address("10.0.0.9")),
                    "the Service asks for the private address 10.0.0.9",
                    LOSS.format("10.0.0.200"),
                )
            ],
            id="another-address",
        ),
        pytest.param(
            {},
            (ELSEWHERE,),
            INSIDE,
            [
                moved(
                    None,
                    Attachment(7),
                    THIS,
                    depends_on=(f"{BALANCER}/network/8",),
                    follows=(f"{BALANCER}/network/8",),
                ),
                moved(ELSEWHERE, None, ANOTHER, LOSS.format("10.8.0.9")),
            ],
            id="another-network",
        ),
        pytest.param({}, (HERE,), {}, [moved(HERE, None, NO_NETWORK, LOSS.format("10.0.0.200"))], id="switched-off"),
        pytest.param(
            {},
            (HERE, ELSEWHERE),
            {},
            [
                moved(HERE, None, NO_NETWORK, LOSS.format("10.0.0.200")),
                moved(ELSEWHERE, None, NO_NETWORK, LOSS.format("10.8.0.9"), follows=(f"{BALANCER}/network/7",)),
            ],
            id="all-of-them-switched-off",
        ),
        pytest.param({}, (ELSEWHERE,), {"network": Unknown("500")}, [], id="not-known-which"),
        pytest.param({"private_ipv4": "10.9.9.9"}, (), {"network": Unknown("500")}, [], id="nor-where"),
        pytest.param({}, (ELSEWHERE,), {"network": Absent()}, [], id="no-such-network"),
    ],
)
def test_the_place_in_a_network(
    options: dict[str, str], present: tuple[Attachment, ...], world: dict[str, Any], changes: list[Change]
) -> None:
    """In the configured network and no other; what is not known changes nothing."""
    settings = world.get("settings", LOCATED)
    if "network" in world and not isinstance(world["network"], Present):
        settings = IN_NETWORK
    found = parts(asking(**options), a_balancer(attachments=present), **world | {"settings": settings})
    assert found == tuple(changes)


OFF, ON = "the Service asks for no public interface", "the Service asks for a public interface"
UNREACHABLE = "it cannot be reached by its public addresses any more"


@pytest.mark.parametrize(
    ("options", "balancer", "world", "changes"),
    [
        pytest.param(
            {"disable_public_network": "true", "use_private_ip": "true"},
            a_balancer(attachments=(HERE,), targets=private(1)),
            INSIDE,
            [a_part("public", True, False, OFF, UNREACHABLE)],
            id="off",
        ),
        pytest.param(
            {"disable_public_network": "false", "use_private_ip": "true"},
            INTERNAL,
            INSIDE,
            [a_part("public", False, True, ON)],
            id="on",
        ),
        pytest.param(
            {"disable_public_network": "false"},
            a_balancer(targets=(), spec={"public_interface": False}),
            fleet(),
            [a_part("public", False, True, ON)],
            id="on-without-a-network",
        ),
        pytest.param({"use_private_ip": "true"}, INTERNAL, INSIDE, [], id="unset"),
        pytest.param(
            {"disable_public_network": "true", "use_private_ip": "true"},
            a_balancer(targets=()),
            {"network": Unknown("500"), "settings": IN_NETWORK},
            [],
            id="off-without-a-network-that-is-known",
        ),
        pytest.param(
            {"disable_public_network": "true", "use_private_ip": "true"},
            a_balancer(attachments=(HERE,), targets=private(1)),
            {"network": Unknown("500"), "settings": IN_NETWORK},
            [a_part("public", True, False, OFF, UNREACHABLE)],
            id="off-in-a-network-that-is-not-known",
        ),
    ],
)
def test_the_public_interface(
    options: dict[str, str], balancer: CloudBalancer, world: dict[str, Any], changes: list[Change]
) -> None:
    """Only who says something of it gets it changed, and never without a network to be reached by instead."""
    assert parts(asking(**options), balancer, **fleet(1) | world) == tuple(changes)


JOINING = {"nodes": [a_settled_node(), a_joining_node("web-2")], "servers": [a_server(), a_server(2, "web-2")]}
NO_MORE = "server {} gets no traffic any more"
LABEL = "node.kubernetes.io/exclude-from-external-load-balancers"


@pytest.mark.parametrize(
    ("options", "present", "world", "change"),
    [
        pytest.param(
            {},
            [ONE],
            fleet(1, 2),
            a_part("target/server:2", None, TWO, "Node web-2 gets traffic by its public address"),
            id="a-new-node",
        ),
        pytest.param(
            {},
            [ONE],
            JOINING,
            a_part(
                "target/server:2",
                None,
                TWO,
                "Node web-2 gets traffic by its public address",
                depends_on=("node/web-2",),
            ),
            id="a-node-that-joins",
        ),
        pytest.param(
            {"use_private_ip": "true"},
            [ONE_INSIDE],
            INSIDE | fleet(1, 2),
            a_part("target/server:2", None, TWO_INSIDE, "Node web-2 gets traffic by its private address"),
            id="a-new-node-inside",
        ),
        pytest.param(
            {"use_private_ip": "true"},
            [ONE],
            INSIDE | fleet(1),
            a_part("target/server:1", ONE, ONE_INSIDE, "Node web-1 gets traffic by its private address"),
            id="by-the-private-address",
        ),
        pytest.param(
            {},
            [ONE_INSIDE],
            INSIDE | fleet(1),
            a_part("target/server:1", ONE_INSIDE, ONE, "Node web-1 gets traffic by its public address"),
            id="by-the-public-address",
        ),
        pytest.param(
            {"use_private_ip": "true"},
            [ONE, ONE_INSIDE],
            INSIDE | fleet(1),
            a_part("target/server:1", ONE, ONE_INSIDE, "Node web-1 gets traffic by its private address"),
            id="by-one-of-both",
        ),
        pytest.param(
            {"use_private_ip": "true"},
            [ONE_INSIDE, ONE],
            INSIDE | fleet(1),
            a_part("target/server:1", ONE, ONE_INSIDE, "Node web-1 gets traffic by its private address"),
            id="by-one-of-both-in-another-order",
        ),
        pytest.param(
            {},
            [ONE, TWO],
            fleet(1),
            a_part("target/server:2", TWO, None, "server 2 is gone"),
            id="a-server-that-is-gone",
        ),
        pytest.param(
            {},
            [ONE, TWO],
            fleet(1) | {"servers": [a_server(), a_server(2, "db-1")]},
            a_part("target/server:2", TWO, None, "no Node is server 2", NO_MORE.format(2)),
            id="a-server-that-is-no-node",
        ),
        pytest.param(
            {},
            [ONE, TWO],
            fleet(1, 2) | {"nodes": [a_settled_node(), a_settled_node("web-2", 2, labels={LABEL: ""})]},
            a_part(
                "target/server:2",
                TWO,
                None,
                f"Node web-2 is no target: it has the label {LABEL}",
                NO_MORE.format(2),
            ),
            id="a-node-that-is-left-out",
        ),
        pytest.param(
            {},
            [ONE, TWO],
            fleet(1) | {"nodes": [a_settled_node(), a_lost_node("web-2", 2)]},
            a_part("target/server:2", TWO, None, "server 2 is gone"),
            id="a-node-that-is-lost",
        ),
    ],
)
def test_targets(options: dict[str, str], present: list[ServerTarget], world: dict[str, Any], change: Change) -> None:
    """A Node more, a Node less, a Node by its other address; a warning only where a server lives."""
    balancer = a_balancer(attachments=(HERE,) if "network" in world else (), targets=present)
    (found,) = parts(asking(**options), balancer, **world)
    assert found == change


def test_a_server_that_is_two_targets_and_left_alone() -> None:
    """What is uncertain stays as it is, in whatever order the API lists it."""
    late = {"nodes": [a_settled_node()], "servers": []}
    for targets in ([ONE, ONE_INSIDE], [ONE_INSIDE, ONE]):
        assert parts(asking(), a_balancer(attachments=(HERE,), targets=targets), **INSIDE | late) == ()


def test_targets_of_a_network_that_cannot_be_read() -> None:
    """By private address nobody comes and nobody goes then."""
    world: dict[str, Any] = {"settings": IN_NETWORK, "network": Unknown("500")}
    balancer = a_balancer(attachments=(HERE,), targets=private(9))
    assert parts(asking(use_private_ip="true"), balancer, **world, **fleet(1)) == ()


def needs(service: Service, balancer: CloudBalancer, **world: Any) -> dict[str, list[str]]:
    """Part → the parts that have to be done first."""
    found = parts(service, balancer, **world)
    return {
        change.key.removeprefix(f"{BALANCER}/"): [key.removeprefix(f"{BALANCER}/") for key in change.depends_on]
        for change in found
    }


def test_what_goes_private_needs_the_network() -> None:
    """Private targets wait for the network, and the public interface for all of them."""
    service = asking(use_private_ip="true", disable_public_network="true")
    assert needs(service, a_balancer(targets=public(1, 3)), **INSIDE | fleet(1, 2)) == {
        "network/7": [],
        "target/server:1": ["network/7", "target/server:2"],
        "target/server:2": ["network/7"],
        "target/server:3": [],
        "public": ["target/server:1", "target/server:2", "target/server:3", "network/7"],
    }


def test_what_goes_public_needs_the_interface() -> None:
    """Public targets wait for the interface, and who leaves the network leaves before the load balancer."""
    service = asking(disable_public_network="false")
    internal = a_balancer(attachments=(HERE,), targets=private(1, 3), spec={"public_interface": False})
    assert needs(service, internal, **fleet(1, 2)) == {
        "public": [],
        "target/server:1": ["public", "target/server:2"],
        "target/server:2": ["public"],
        "target/server:3": [],
        "network/7": ["target/server:1", "target/server:3"],
    }


@pytest.mark.parametrize(
    ("present", "network", "settings"),
    [
        pytest.param(ELSEWHERE, {"network": Present(NETWORK)}, IN_NETWORK, id="to-another-network"),
        pytest.param(HERE, {"network": Present(OTHER)}, replace(LOCATED, network="8"), id="and-back"),
    ],
)
def test_who_is_lost_with_the_network_goes_first(
    present: Attachment, network: dict[str, Any], settings: Settings
) -> None:
    """What holds the removal of a target, holds the load balancer in the network by which it is reached."""
    balancer = a_balancer(attachments=(present,), targets=private(9))
    found = needs(
        asking(use_private_ip="true"), balancer, settings=settings, **network, nodes=[], servers=[a_server(9)]
    )
    there, wanted = present.network_id, network["network"].value.id
    assert found == {
        "target/server:9": [],
        f"network/{there}": ["target/server:9"],
        f"network/{wanted}": [f"network/{there}"],
    }


@pytest.mark.parametrize(
    ("options", "present", "world", "outage"),
    [
        pytest.param({"private_ipv4": "10.0.0.9"}, HERE, INSIDE, True, id="another-address"),
        pytest.param({}, ELSEWHERE, INSIDE, True, id="another-network"),
        pytest.param({}, HERE, {}, False, id="no-network"),
    ],
)
def test_an_outage_is_announced(
    options: dict[str, str], present: Attachment, world: dict[str, Any], outage: bool
) -> None:
    """Private targets are gone while the load balancer moves; where it only leaves they are reached otherwise."""
    inside = {"use_private_ip": "true"} if world else {}
    found = parts(
        asking(**options | inside), a_balancer(attachments=(present,), targets=private(1)), **world, **fleet(1)
    )
    (consequence,) = next(change.consequences for change in found if change.kind == "lb.network" and change.before)
    assert consequence == (OUTAGE if outage else LOSS).format(present.ip)


def test_who_stays_comes_back_with_the_network() -> None:
    """A target that goes with the place in the network is added again right after it; nobody holds the network up, nor
    does it hold up who is new and can be reached already."""
    balancer = a_balancer(attachments=(HERE,), targets=private(1, 2))
    service = asking(use_private_ip="true", private_ipv4="10.0.0.9")
    assert needs(service, balancer, **INSIDE | fleet(1, 2, 3)) == {
        "network/7": [],
        **{f"target/server:{number}": ["network/7"] for number in (1, 2)},
        "target/server:3": [],
    }


@pytest.mark.parametrize(
    ("targets", "ports", "expected"),
    [
        pytest.param(30, 1, {f"target/server:{number}" for number in range(6, 31)}, id="targets"),
        pytest.param(5, 6, {f"listener/{port}" for port in range(81, 86)}, id="ports"),
        pytest.param(25, 5, set(), id="it-fits-already"),
    ],
)
def test_a_smaller_type_needs_what_makes_room(targets: int, ports: int, expected: set[str]) -> None:
    """A type that does not hold what is there would be refused until the removals are done."""
    listeners = [a_listener(80 + number, 30080 + number) for number in range(ports)]
    balancer = a_balancer(targets=public(*range(1, targets + 1)), listeners=listeners, type=LB21, spec={"type": "lb21"})
    assert set(needs(asking(type="lb11"), balancer, **fleet(*range(1, 6)))["type"]) == expected


def test_a_smaller_type_needs_no_addition() -> None:
    """What is added makes it fuller still, so that the removals are needed though it would have fitted before."""
    balancer = a_balancer(targets=public(*range(1, 21)), type=LB21, spec={"type": "lb21"})
    found = needs(asking(type="lb11"), balancer, **fleet(*range(11, 31)))
    assert set(found["type"]) == {f"target/server:{number}" for number in range(1, 11)}


def test_a_smaller_type_needs_no_room_for_what_comes_back() -> None:
    """What leaves with the network, and is added again, is there once: it was counted twice."""
    balancer = a_balancer(attachments=(HERE,), targets=private(*range(1, 21)), type=LB21, spec={"type": "lb21"})
    service = asking(use_private_ip="true", private_ipv4="10.0.0.99", type="lb11")
    assert needs(service, balancer, **INSIDE | fleet(*range(2, 21)))["type"] == []


def test_a_larger_type_needs_nothing() -> None:
    """It makes room itself, so that nothing has to go before it."""
    balancer = a_balancer(targets=public(*range(1, 26)))
    found = needs(asking(type="lb21"), balancer, **fleet(*range(1, 16), *range(30, 90)))
    assert found["type"] == []
