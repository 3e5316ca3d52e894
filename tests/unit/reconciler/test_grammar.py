"""How values are written: Go's grammar, and what a person gets told who writes something else."""

from collections.abc import Callable
from datetime import timedelta
from ipaddress import ip_network

import pytest

from desired.model.settings import Controller
from reconciler.config.options import (
    CONTROLLERS,
    parse_address,
    parse_cidrs,
    parse_controllers,
    parse_hashes,
    parse_int,
    parse_keys,
    parse_label_prefix,
    parse_port,
    parse_positive_duration,
    parse_positive_wait,
    parse_wait,
)

ALL = frozenset(Controller)
HASH = "sha256:0123456789abcdef"


@pytest.mark.parametrize("text", ["0", "0s", "-5s"])
def test_a_pause_is_more_than_nothing(text: str) -> None:
    """Where a pause is meant, zero and less are refused."""
    with pytest.raises(ValueError, match="more than 0"):
        parse_positive_duration(text)


@pytest.mark.parametrize("parse", [parse_wait, parse_positive_wait])
@pytest.mark.parametrize(
    ("text", "wait"),
    [("20s", timedelta(seconds=20)), ("1m30s", timedelta(seconds=90)), ("500ms", timedelta(milliseconds=500))],
)
def test_waits(parse: Callable[[str], timedelta], text: str, wait: timedelta) -> None:
    """A wait of a rule is a duration."""
    assert parse(text) == wait


@pytest.mark.parametrize("text", ["0", "0s", "-0"])
def test_a_wait_may_be_nothing(text: str) -> None:
    """Nothing is a wait where a rule may be switched off, and none where that would make no sense."""
    assert parse_wait(text) == timedelta(0)
    with pytest.raises(ValueError, match="more than 0"):
        parse_positive_wait(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("-1s", "of 0 or more", id="negative"),
        pytest.param("20", "such as 30s", id="no unit"),
        pytest.param("", "such as 30s", id="empty"),
        pytest.param("99999999999h", "expect a shorter duration, of at most 277778h", id="longer than a calendar"),
        pytest.param(
            "9" * 400 + "s", "a duration has at most 64 characters, and this has 401", id="longer than a number"
        ),
    ],
)
def test_no_wait(text: str, said: str) -> None:
    """What is no duration, or less than nothing, or more than can be reckoned with is refused."""
    with pytest.raises(ValueError, match=said):
        parse_wait(text)


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("servers.example.com", "servers.example.com"),
        ("servers.example.com/", "servers.example.com"),
        ("a.b", "a.b"),
        ("notkubernetes.io", "notkubernetes.io"),
        ("kubernetes.io.example.com", "kubernetes.io.example.com"),
    ],
)
def test_label_prefixes(text: str, prefix: str) -> None:
    """A domain, with a trailing slash forgiven."""
    assert parse_label_prefix(text) == prefix


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "/",
            "servers",
            "Servers.example.com",
            "a b.c",
            ".example.com",
            "example.com.",
            "a.b/c",
            "a.b//",
            "a.b\n",
        ),
        pytest.param("a." + "b" * 252, id="too long"),
    ],
)
def test_no_label_prefix(text: str) -> None:
    """What cannot stand before the slash of a label's key is refused with an example."""
    with pytest.raises(ValueError, match=r"a domain such as servers\.example\.com"):
        parse_label_prefix(text)


@pytest.mark.parametrize(
    "text", ["kubernetes.io", "node.kubernetes.io", "k8s.io", "x.k8s.io/", "instance.hetzner.cloud"]
)
def test_taken_label_prefixes(text: str) -> None:
    """Labels of Kubernetes and of HCCM are not ours to mirror into."""
    with pytest.raises(ValueError, match="a domain of your own"):
        parse_label_prefix(text)


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("3600", 3600)])
def test_numbers(text: str, number: int) -> None:
    """Decimal digits are a number."""
    assert parse_int(text) == number


@pytest.mark.parametrize("text", ["", "-1", "1.0", "0x10", "٣", "1_000", " 1"])
def test_no_number(text: str) -> None:
    """Anything but decimal digits is refused."""
    with pytest.raises(ValueError, match="expect a number of 0 or more"):
        parse_int(text)


@pytest.mark.parametrize(
    "text", ["10.244.0.0/16", "fd00::/48", "10.244.0.0/16,fd00::/48", "fd00::/48, 10.244.0.0/16", "0.0.0.0/0"]
)
def test_cidrs(text: str) -> None:
    """One CIDR, or one of each family in any order."""
    assert parse_cidrs(text) == tuple(ip_network(part.strip()) for part in text.split(","))


def test_an_empty_text_is_no_cidr() -> None:
    """HCCM takes it for none, and so do charts that always give the flag."""
    assert parse_cidrs("") == ()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(" ", id="a blank"),
        pytest.param("10.244.0.0", id="no prefix length"),
        pytest.param("10.244.0.0/255.255.0.0", id="a netmask"),
        pytest.param("10.244.0.1/16", id="host bits"),
        pytest.param("10.244.0.0/33", id="prefix too long"),
        pytest.param("10.244.0.0/-1", id="negative prefix"),
        pytest.param("10.244.0.0/16,", id="trailing comma"),
        pytest.param("10.244.0.0/16,10.245.0.0/16", id="two of one family"),
        pytest.param("10.244.0.0/16,fd00::/48,fd01::/48", id="three"),
        pytest.param("pods", id="a word"),
    ],
)
def test_no_cidrs(text: str) -> None:
    """What is no CIDR, or too many, is refused."""
    with pytest.raises(ValueError, match="CIDR"):
        parse_cidrs(text)


@pytest.mark.parametrize(
    ("text", "on"),
    [
        pytest.param("*", ALL, id="all"),
        pytest.param("cloud-node", {Controller.NODE}, id="alias"),
        pytest.param("cloud-node-controller", {Controller.NODE}, id="canonical name"),
        pytest.param("cloud-node-lifecycle-controller", {Controller.LIFECYCLE}, id="lifecycle"),
        pytest.param("service-lb-controller,node-route-controller", {Controller.SERVICE, Controller.ROUTE}, id="two"),
        pytest.param("*,-route", ALL - {Controller.ROUTE}, id="all but one"),
        pytest.param("-route,*", ALL - {Controller.ROUTE}, id="all but one, the other way round"),
        pytest.param("-route", set(), id="without a star only the listed ones run"),
        pytest.param("route,-route", {Controller.ROUTE}, id="the first mention wins"),
        pytest.param("-route,route,*", ALL - {Controller.ROUTE}, id="the first mention wins when it switches off"),
        pytest.param("-node-route-controller,route", set(), id="name and alias are one controller"),
        pytest.param("cloud-node, service", {Controller.NODE, Controller.SERVICE}, id="blanks"),
        pytest.param("*,*", ALL, id="twice"),
    ],
)
def test_controllers(text: str, on: set[Controller]) -> None:
    """HCCM's list of controllers: the first mention of a name wins, a star is all the others."""
    assert parse_controllers(text) == on


@pytest.mark.parametrize("text", ["", "*,", "nodes", "-", "-*", "*,-nodes", "Cloud-Node", "--route"])
def test_no_controllers(text: str) -> None:
    """A name that no controller has is refused, and the error lists the names."""
    with pytest.raises(ValueError, match="is no controller; there are cloud-node-controller, cloud-node,"):
        parse_controllers(text)


def test_every_controller_has_a_name_and_an_alias() -> None:
    """Each controller is known by HCCM's two names."""
    assert {name: list(CONTROLLERS.values()).count(controller) for name, controller in CONTROLLERS.items()} == (
        dict.fromkeys(CONTROLLERS, 2)
    )


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("node/web-1", ("node/web-1",)),
        ("node/web-1,load_balancer/ns/name", ("node/web-1", "load_balancer/ns/name")),
        (" node/web-1 , node/web-2/ ", ("node/web-1", "node/web-2")),
        ("load_balancer/ns/name/target/ip:10.0.0.1", ("load_balancer/ns/name/target/ip:10.0.0.1",)),
    ],
)
def test_keys(text: str, keys: tuple[str, ...]) -> None:
    """Keys of a plan, with a trailing slash forgiven."""
    assert parse_keys(text) == keys


@pytest.mark.parametrize(
    "text",
    [
        "",
        "node",
        "node/",
        "web-1",
        "/web-1",
        "Node/web-1",
        "node/web-1,",
        "node/web 1",
        pytest.param("node" + "/a" * 60 + " b", id="long, and quickly refused"),
    ],
)
def test_no_keys(text: str) -> None:
    """What no plan could show is refused with an example."""
    with pytest.raises(ValueError, match="such as node/web-1"):
        parse_keys(text)


def test_hashes() -> None:
    """Hashes of holds, separated by commas."""
    assert parse_hashes(f"{HASH}, sha256:fedcba9876543210") == (HASH, "sha256:fedcba9876543210")


@pytest.mark.parametrize("text", ["", "0123456789abcdef", HASH[:-1], f"{HASH}0", HASH.upper(), f"{HASH},", "all"])
def test_no_hashes(text: str) -> None:
    """Nothing but a whole hash approves anything."""
    with pytest.raises(ValueError, match="sha256: and 16 hex digits"):
        parse_hashes(text)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8233", ("", 8233)),
        ("127.0.0.1:10258", ("127.0.0.1", 10258)),
        ("[::1]:80", ("::1", 80)),
        ("localhost:0", ("localhost", 0)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    """Host and port; no host is all of them."""
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "8233", ":", "localhost", "localhost:", ":65536", ":-1", ":http"])
def test_no_addresses(text: str) -> None:
    """What has no port is refused with an example."""
    with pytest.raises(ValueError, match="such as :10258 or"):
        parse_address(text)


@pytest.mark.parametrize(("text", "port"), [("0", 0), ("8233", 8233), ("65535", 65535), ("00080", 80)])
def test_ports(text: str, port: int) -> None:
    """A number that a socket takes."""
    assert parse_port(text) == port


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", "65536", "99999", pytest.param("1" * 5000, id="long"), "http", " 80", "8.0", "\u0663"]
)
def test_no_ports(text: str) -> None:
    """What no socket takes is refused with the range."""
    with pytest.raises(ValueError, match=r"^expect a port, 0 to 65535; 0 is any free one$"):
        parse_port(text)
