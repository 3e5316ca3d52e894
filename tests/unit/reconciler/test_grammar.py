"""How values are written: Go's grammar, and what a person gets told who writes something else."""

from collections.abc import Callable
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest

from desired.model.settings import Controller
from reconciler.config import options
from reconciler.config.options import CONTROLLERS

ALL = frozenset(Controller)
HASH = "sha256:0123456789abcdef"
NODE, LIFECYCLE, SERVICE, ROUTE = Controller.NODE, Controller.LIFECYCLE, Controller.SERVICE, Controller.ROUTE


def _networks(*texts: str) -> tuple[Any, ...]:
    return tuple(map(ip_network, texts))


READ: dict[Callable[[str], Any], dict[str, Any]] = {
    options.parse_positive_duration: {"20s": 20.0, "1m30s": 90.0, "500ms": 0.5},
    options.parse_wait: {
        "20s": timedelta(seconds=20),
        "1m30s": timedelta(seconds=90),
        "500ms": timedelta(milliseconds=500),
        "0": timedelta(0),
        "0s": timedelta(0),
        "-0": timedelta(0),
    },
    options.parse_positive_wait: {"20s": timedelta(seconds=20), "500ms": timedelta(milliseconds=500)},
    options.parse_lifetime: {"1h": timedelta(hours=1), "24h": timedelta(hours=24)},
    options.parse_patience: {"true": timedelta.max, "false": None, "5s": timedelta(seconds=5)},
    options.parse_label_prefix: {
        "servers.example.com": "servers.example.com",
        "servers.example.com/": "servers.example.com",
        "a.b": "a.b",
        "notkubernetes.io": "notkubernetes.io",
        "kubernetes.io.example.com": "kubernetes.io.example.com",
    },
    options.parse_int: {"0": 0, "007": 7, "3600": 3600},
    options.parse_cidrs: {
        "": (),  # HCCM takes it for none, and so do charts that always give the flag
        "10.244.0.0/16": _networks("10.244.0.0/16"),
        "fd00::/48": _networks("fd00::/48"),
        "10.244.0.0/16,fd00::/48": _networks("10.244.0.0/16", "fd00::/48"),
        "fd00::/48, 10.244.0.0/16": _networks("fd00::/48", "10.244.0.0/16"),
        "0.0.0.0/0": _networks("0.0.0.0/0"),
    },
    options.parse_controllers: {
        "*": ALL,
        "*,*": ALL,
        "cloud-node": {NODE},
        "cloud-node-controller": {NODE},
        "cloud-node-lifecycle-controller": {LIFECYCLE},
        "cloud-node, service": {NODE, SERVICE},
        "service-lb-controller,node-route-controller": {SERVICE, ROUTE},
        "*,-route": ALL - {ROUTE},
        "-route,*": ALL - {ROUTE},
        "-route": set(),  # without a star only the listed ones run
        "route,-route": {ROUTE},  # the first mention wins
        "-route,route,*": ALL - {ROUTE},
        "-node-route-controller,route": set(),  # name and alias are one controller
    },
    options.parse_keys: {
        "node/web-1": ("node/web-1",),
        "node/web-1,load_balancer/ns/name": ("node/web-1", "load_balancer/ns/name"),
        " node/web-1 , node/web-2/ ": ("node/web-1", "node/web-2"),
        "load_balancer/ns/name/target/ip:10.0.0.1": ("load_balancer/ns/name/target/ip:10.0.0.1",),
    },
    options.parse_hashes: {HASH: (HASH,), f"{HASH}, sha256:fedcba9876543210": (HASH, "sha256:fedcba9876543210")},
    options.parse_address: {
        ":8233": ("", 8233),
        "127.0.0.1:10258": ("127.0.0.1", 10258),
        "[::1]:80": ("::1", 80),
        "localhost:0": ("localhost", 0),
        ":65535": ("", 65535),
        ":00080": ("", 80),
    },
}
"""Grammar → text → what it means."""

_WAIT = {
    "-1s": "of 0 or more",
    "20": "such as 30s",
    "": "such as 30s",
    "99999999999h": "expect a shorter duration, of at most 277778h",
    "9" * 400 + "s": "a duration has at most 64 characters, and this has 401",
}
_PREFIX = r"a domain such as servers\.example\.com"
_PREFIXES = (
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
)
_TAKEN = ("kubernetes.io", "node.kubernetes.io", "k8s.io", "x.k8s.io/", "instance.hetzner.cloud")
_CIDRS = ("10.244.0.0", "10.244.0.0/255.255.0.0", "10.244.0.1/16", "10.244.0.0/33", "10.244.0.0/-1", "10.244.0.0/16,")
_MORE_CIDRS = (" ", "10.244.0.0/16,10.245.0.0/16", "10.244.0.0/16,fd00::/48,fd01::/48", "pods")
_KEYS = ("", "node", "node/", "web-1", "/web-1", "Node/web-1", "node/web-1,", "node/web 1", "node" + "/a" * 60 + " b")
_PORTS = ("", "-1", "+1", "65536", "99999", "1" * 60, "http", " 80", "8.0", "\u0663")
REFUSED: dict[Callable[[str], Any], dict[str, str]] = {
    options.parse_positive_duration: dict.fromkeys(("0", "0s", "-5s"), "more than 0"),
    options.parse_positive_wait: dict.fromkeys(("0", "0s", "-0"), "more than 0"),
    options.parse_wait: _WAIT,
    options.parse_lifetime: {"25h": "24h at most", "0s": "more than 0"},
    options.parse_label_prefix: {
        **dict.fromkeys((*_PREFIXES, "a." + "b" * 252), _PREFIX),
        **dict.fromkeys(_TAKEN, "a domain of your own"),
    },
    options.parse_int: dict.fromkeys(("", "-1", "1.0", "0x10", "٣", "1_000", " 1"), "expect a number of 0 or more"),
    options.parse_cidrs: {
        **dict.fromkeys((*_CIDRS, *_MORE_CIDRS), "CIDR"),
        "10.244.0.0/16,10.245.0.0/16": "^expect one CIDR, or one of each family$",
        "10.244.0.1/16": r"^expect a CIDR such as .* \(10.244.0.1/16 has host bits set\)$",
        "pods": r"one of each family \('pods' is no address with the length of a prefix\)$",
    },
    options.parse_controllers: dict.fromkeys(
        ("", "*,", "nodes", "-", "-*", "*,-nodes", "Cloud-Node", "--route"),
        "is no controller; there are cloud-node-controller, cloud-node,",
    ),
    options.parse_keys: dict.fromkeys(_KEYS, "such as node/web-1"),
    options.parse_hashes: dict.fromkeys(
        ("", "0123456789abcdef", HASH[:-1], f"{HASH}0", HASH.upper(), f"{HASH},", "all"), "sha256: and 16 hex digits"
    ),
    options.parse_address: dict.fromkeys(
        ("", "8233", "localhost", "localhost:", *(f":{port}" for port in _PORTS)), "such as :10258 or"
    ),
}
"""Grammar → text → what is said of it."""


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        pytest.param(parse, text, value, id=f"{parse.__name__} {text}")
        for parse, texts in READ.items()
        for text, value in texts.items()
    ],
)
def test_what_is_read(parse: Callable[[str], Any], text: str, value: Any) -> None:
    """As HCCM reads it: blanks and a trailing slash are forgiven, nothing is where a rule may be switched off."""
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        pytest.param(parse, text, said, id=f"{parse.__name__} {text[:20]!r}")
        for parse, texts in REFUSED.items()
        for text, said in texts.items()
    ],
)
def test_what_is_refused(parse: Callable[[str], Any], text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse(text)


def test_every_controller_has_a_name_and_an_alias() -> None:
    assert {*CONTROLLERS.values()} == {*Controller}
    assert [list(CONTROLLERS.values()).count(each) for each in Controller] == [2] * len(Controller)
