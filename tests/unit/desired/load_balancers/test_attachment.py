"""In which network a load balancer should be, and what is wrong with the address it asks for."""

from collections.abc import Iterable
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

import pytest

from desired.annotations.options import OPTIONS, Options
from desired.load_balancers.network import attachment_problems, network_id, wanted_attachment, why_out_of_reach
from desired.model.load_balancer import Attachment, CloudBalancer
from desired.model.snapshot import Network, Server, Snapshot
from desired.section import UNMANAGED, Absent, Present, Section, Unknown, Unmanaged
from desired.syntax.bounds import several
from tests.balancers import NETWORK, a_balancer, a_world
from tests.builders import a_server
from tests.support.rules import saying

ADDRESS = IPv4Address("10.0.0.9")
WIDE = Network(7, "private", (IPv4Network("10.0.1.0/24"), IPv4Network("10.0.16.0/24")), IPv4Network("10.0.0.0/16"))
"""Two subnets; the gateway 10.0.0.1 is in neither."""
IP_KEY = OPTIONS["private_ipv4"].full_key
RANGE_KEY = f"{OPTIONS['private_subnet_ip_range'].full_key} (or HCLOUD_LOAD_BALANCERS_PRIVATE_SUBNET_IP_RANGE)"


def world(
    network: Network | None = NETWORK,
    balancers: Iterable[CloudBalancer] = (),
    servers: Iterable[Server] = (),
) -> Snapshot:
    """A reading with this network configured."""
    return a_world([], balancers, servers=servers, network=Present(network))


def problems(options: Options, present: CloudBalancer | None, snapshot: Snapshot) -> list[str]:
    """What is wrong, in words."""
    return [problem.text for problem in attachment_problems(options, present, snapshot)]


def asks_for(ip: str) -> Options:
    """What the annotation asks for."""
    return Options(private_ipv4=IPv4Address(ip))


def attached(ip: str | None, network: int = 7, balancer_id: int = 42, name: str = "web") -> CloudBalancer:
    """A load balancer with this address in this network; with none, in no network."""
    places = () if ip is None else (Attachment(network, IPv4Address(ip)),)
    return a_balancer(balancer_id, attachments=places, spec={"name": name})


@pytest.mark.parametrize(
    ("network", "options", "expected"),
    [
        pytest.param(Present(None), Options(), None, id="none configured"),
        pytest.param(Present(None), Options(private_ipv4=ADDRESS), None, id="none configured, an address asked for"),
        pytest.param(Present(NETWORK), Options(), Attachment(7), id="configured"),
        pytest.param(
            Present(NETWORK),
            Options(private_ipv4=ADDRESS, private_subnet_ip_range=NETWORK.subnets[0]),
            Attachment(7, ADDRESS, NETWORK.subnets[0]),
            id="with address and range",
        ),
        pytest.param(Absent(), Options(), UNMANAGED, id="not there"),
        pytest.param(Unknown("429"), Options(), UNMANAGED, id="not read"),
    ],
)
def test_wanted_attachment(
    network: Present[Network | None] | Absent | Unknown, options: Options, expected: Attachment | Unmanaged | None
) -> None:
    """The configured network and no other; nothing is detached for one that could not be found."""
    snapshot = a_world(network=network)

    assert wanted_attachment(options, snapshot) == expected
    assert network_id(snapshot) == (expected.network_id if isinstance(expected, Attachment) else None)


@pytest.mark.parametrize("network", [Present(None), Absent(), Unknown("429")])
def test_without_a_network_nothing_is_wrong(network: Present[Network | None] | Absent | Unknown) -> None:
    """What cannot be compared with a network is not called wrong."""
    options = Options(private_ipv4=ADDRESS, private_subnet_ip_range=IPv4Network("192.168.0.0/24"))

    assert problems(options, None, a_world(network=network)) == []


RESERVED = "Hetzner reserves it in network private"
OUTSIDE = "network private has the subnets 10.0.1.0/24, 10.0.16.0/24"


@pytest.mark.parametrize(
    ("ip", "network", "why"),
    [
        pytest.param("10.0.1.2", WIDE, None, id="in the first subnet"),
        pytest.param("10.0.16.254", WIDE, None, id="in the last subnet"),
        pytest.param("10.0.1.1", WIDE, None, id="only the first address of the whole range is the gateway"),
        pytest.param("10.0.2.2", WIDE, OUTSIDE, id="in the range and in no subnet"),
        pytest.param("192.168.0.2", WIDE, OUTSIDE, id="elsewhere"),
        pytest.param("10.0.0.1", WIDE, OUTSIDE, id="the gateway, in no subnet"),
        pytest.param("10.0.1.0", WIDE, RESERVED, id="the subnet itself"),
        pytest.param("10.0.1.255", WIDE, RESERVED, id="the broadcast address"),
        pytest.param("10.0.0.1", replace(NETWORK, ip_range=IPv4Network("10.0.0.0/16")), RESERVED, id="the gateway"),
        pytest.param("10.0.0.1", NETWORK, None, id="a gateway that is not known"),
        pytest.param(
            "172.31.1.1", Network(7, "private", (IPv4Network("172.31.1.0/24"),)), RESERVED, id="that of public nets"
        ),
        pytest.param("10.0.0.9", Network(7, "private"), None, id="without subnets nothing is known"),
    ],
)
@pytest.mark.parametrize("present", [None, attached(None), attached("10.0.1.77"), attached("10.0.2.2", network=6)])
def test_address_that_nobody_can_have(
    ip: str, network: Network, why: str | None, present: CloudBalancer | None
) -> None:
    """Found out before anything is detached for it, with the address that is asked for."""
    expected = [f"{IP_KEY} is {ip}: {why}; choose another address, or remove it"] if why else []

    assert problems(asks_for(ip), present, world(network)) == expected


WITH_ADDRESS = a_server(3, "db", private_ips=((6, IPv4Address("10.0.0.8")), (7, ADDRESS)))


@pytest.mark.parametrize(
    ("present", "balancers", "servers", "holder"),
    [
        pytest.param(None, [], [], None, id="free"),
        pytest.param(None, [], [WITH_ADDRESS], "server db", id="a server"),
        pytest.param(
            None, [], [a_server(3, "db", private_ips=((6, ADDRESS),))], None, id="a server, in another network"
        ),
        pytest.param(
            None, [], [a_server(3, "db", private_ips=((7, IPv4Address("10.0.0.8")),))], None, id="a server has another"
        ),
        pytest.param(None, [attached("10.0.0.9", name="shop")], [], "load balancer shop", id="a load balancer"),
        pytest.param(None, [attached("10.0.0.9", 6)], [], None, id="a load balancer, in another network"),
        pytest.param(None, [attached("10.0.0.8")], [], None, id="a load balancer has another"),
        pytest.param(None, [attached(None)], [], None, id="a load balancer has none"),
        pytest.param(
            attached("10.0.0.8"),
            [attached("10.0.0.8"), attached("10.0.0.9", balancer_id=43, name="shop")],
            [],
            "load balancer shop",
            id="another load balancer",
        ),
        pytest.param(attached("10.0.0.9"), [attached("10.0.0.9")], [], None, id="itself"),
        pytest.param(
            attached("10.0.0.9"), [attached("10.0.0.9")], [WITH_ADDRESS], None, id="itself, whatever others say"
        ),
        pytest.param(
            attached("10.0.0.9", 6), [attached("10.0.0.9", 6)], [WITH_ADDRESS], "server db", id="itself, elsewhere"
        ),
        pytest.param(
            attached("10.0.0.8"), [attached("10.0.0.8")], [WITH_ADDRESS], "server db", id="a server, and not itself"
        ),
    ],
)
def test_address_that_somebody_has(
    present: CloudBalancer | None, balancers: list[CloudBalancer], servers: list[Server], holder: str | None
) -> None:
    """Who has it is named; the load balancer's own address is no obstacle."""
    text = f"{IP_KEY} is 10.0.0.9: {holder} has it; choose another address, or remove it"

    found = problems(asks_for("10.0.0.9"), present, world(NETWORK, balancers, servers))
    assert found == ([text] if holder else [])


@pytest.mark.parametrize(
    ("rivals", "present", "why"),
    [
        pytest.param((), None, None, id="nobody else"),
        pytest.param({"default/shop"}, None, "it is asked for by Service default/shop as well", id="another Service"),
        pytest.param({"b/y", "a/x"}, attached(None), "it is asked for by Services a/x, b/y as well", id="two others"),
        pytest.param(set("abcdef"), None, "it is asked for by Services a, b, c and 3 more as well", id="many others"),
        pytest.param({"default/shop"}, attached("10.0.0.9"), None, id="another Service, and it is its own already"),
    ],
)
def test_address_that_others_ask_for(rivals: set[str], present: CloudBalancer | None, why: str | None) -> None:
    """Of several Services that ask for one address none gets it by chance, save who has it."""
    text = f"{IP_KEY} is 10.0.0.9: {why}; choose another address, or remove it"

    found = [problem.text for problem in attachment_problems(asks_for("10.0.0.9"), present, world(), several(rivals))]
    assert found == ([text] if why else [])


def test_a_holder_is_named_before_rivals() -> None:
    """One reason is enough, and the one that is a fact comes first."""
    (found,) = attachment_problems(asks_for("10.0.0.9"), None, world(servers=[WITH_ADDRESS]), several({"default/shop"}))

    assert "server db has it" in found.text
    assert "shop" not in found.text


def test_holders_that_were_not_read() -> None:
    """What was not read is nobody's obstacle: the API has the last word."""
    snapshot = replace(world(), load_balancers=None, servers=Section.missing("401"))

    assert problems(asks_for("10.0.0.9"), None, snapshot) == []


@pytest.mark.parametrize(
    ("asked", "network", "present", "is_wrong"),
    [
        pytest.param("10.0.16.0/24", WIDE, None, False, id="a subnet"),
        pytest.param("10.0.16.128/25", WIDE, None, False, id="part of one"),
        pytest.param("10.0.0.0/16", WIDE, None, False, id="all of them"),
        pytest.param("10.0.2.0/24", WIDE, None, True, id="none of them"),
        pytest.param("10.0.2.0/24", WIDE, attached(None), True, id="none, to be attached"),
        pytest.param("10.0.2.0/24", WIDE, attached("10.0.1.9", 6), True, id="none, attached elsewhere"),
        pytest.param("10.0.2.0/24", WIDE, attached("10.0.1.9"), False, id="none, attached already"),
        pytest.param("10.0.2.0/24", Network(7, "private"), None, False, id="without subnets nothing is known"),
    ],
)
def test_range_without_a_subnet(asked: str, network: Network, present: CloudBalancer | None, is_wrong: bool) -> None:
    """A range chooses among the subnets when the load balancer is attached, and never later."""
    text = f"{RANGE_KEY} is {asked}: {OUTSIDE}; name one of them"

    found = problems(Options(private_subnet_ip_range=IPv4Network(asked)), present, world(network))
    assert found == ([text] if is_wrong else [])


def test_everything_at_once() -> None:
    """Both annotations are told of in one pass."""
    options = Options(private_ipv4=IPv4Address("10.0.2.9"), private_subnet_ip_range=IPv4Network("10.0.2.0/24"))

    found = [problem.key for problem in attachment_problems(options, None, world(WIDE))]
    assert found == [IP_KEY, OPTIONS["private_subnet_ip_range"].full_key]


EUROPE, BARE = replace(NETWORK, zones=frozenset({"eu-central"})), replace(NETWORK, subnets=(), zones=frozenset())


@pytest.mark.parametrize(
    ("network", "zone", "present", "why"),
    [
        pytest.param(EUROPE, "eu-central", None, None, id="the same zone"),
        pytest.param(EUROPE, "", None, None, id="the zone is not known"),
        pytest.param(NETWORK, "us-east", None, None, id="the zones of the subnets are not known"),
        pytest.param(None, "us-east", None, None, id="no network"),
        pytest.param(EUROPE, "us-east", attached("10.0.0.9"), None, id="it is attached all the same"),
        pytest.param(BARE, "", attached("10.0.0.9"), None, id="attached, and no subnet is told"),
        pytest.param(EUROPE, "us-east", None, "is in eu-central, and the load balancer in us-east", id="another zone"),
        pytest.param(
            EUROPE,
            "us-east",
            attached("10.0.0.9", 6),
            "is in eu-central, and the load balancer in us-east",
            id="it is in another network",
        ),
        pytest.param(BARE, "", None, "has no subnet, and no load balancer can be attached", id="no subnet"),
    ],
)
def test_networks_out_of_reach(
    network: Network | None, zone: str, present: CloudBalancer | None, why: str | None
) -> None:
    """Hetzner attaches only where a subnet is in the zone; what is not known is no reason."""
    found = why_out_of_reach(present, world(network), zone)

    assert (found.text if found else "").startswith(f"network private {why}" if why else "")
    assert (found is None) is (why is None)


def test_a_private_load_balancer_out_of_reach() -> None:
    """Without public interface and network it would reach nothing: it is not created."""
    options = Options(disable_public_network=True)

    (found,) = attachment_problems(options, None, world(EUROPE), out_of_reach=saying("because"))

    assert found.text.endswith("is true: because")
    assert list(attachment_problems(Options(), None, world(EUROPE), out_of_reach=saying("because"))) == []
