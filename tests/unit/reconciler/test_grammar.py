"""How values are written: Go's grammar, and what a person gets told who writes something else."""

from ipaddress import ip_network

import pytest

from desired.settings import Controller
from reconciler.grammar import (
    CONTROLLERS,
    parse_address,
    parse_bool,
    parse_cidr,
    parse_cidrs,
    parse_controllers,
    parse_duration,
    parse_hashes,
    parse_int,
    parse_keys,
    parse_port,
    parse_positive_duration,
)

ALL = frozenset(Controller)
HASH = "sha256:0123456789abcdef"


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_true(text: str) -> None:
    """Go's six ways to say true."""
    assert parse_bool(text) is True


@pytest.mark.parametrize("text", ["0", "f", "F", "FALSE", "false", "False"])
def test_false(text: str) -> None:
    """Go's six ways to say false."""
    assert parse_bool(text) is False


@pytest.mark.parametrize("text", ["", "yes", "no", "on", "tRUE", "true ", "2", "-1"])
def test_no_boolean(text: str) -> None:
    """Nothing else is a boolean, and the error lists what is."""
    with pytest.raises(ValueError, match=r"^expect one of 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False$"):
        parse_bool(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("-0", 0.0),
        ("+0", 0.0),
        ("0s", 0.0),
        ("30s", 30.0),
        ("+30s", 30.0),
        ("2m", 120.0),
        ("1h30m", 5400.0),
        ("1h5m3s", 3903.0),
        ("1.5h", 5400.0),
        (".5s", 0.5),
        ("1.s", 1.0),
        ("500ms", 0.5),
        ("300us", 3e-4),
        ("300\u00b5s", 3e-4),
        ("300\u03bcs", 3e-4),
        ("7ns", 7e-9),
        ("-1m30s", -90.0),
        ("1s1h", 3601.0),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    """Go's durations, in seconds."""
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    ["", "5", "-", "+", ".", "s", "5 s", " 5s", "5s ", "1d", "5S", "1h-5m", "--5s", "00", "٣s", "1e3s", "5seconds"],
)
def test_no_duration(text: str) -> None:
    """A number without a unit, and whatever Go would refuse, is refused with an example."""
    with pytest.raises(ValueError, match="such as 30s, 1m30s or 500ms"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["0", "0s", "-5s"])
def test_a_pause_is_more_than_nothing(text: str) -> None:
    """Where a pause is meant, zero and less are refused."""
    with pytest.raises(ValueError, match="more than 0"):
        parse_positive_duration(text)


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


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
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


def test_host_bits_can_be_ignored() -> None:
    """Where Go's ``net.ParseCIDR`` is the measure, host bits are cut off."""
    assert parse_cidr("10.0.1.7/24", strict=False) == ip_network("10.0.1.0/24")


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
