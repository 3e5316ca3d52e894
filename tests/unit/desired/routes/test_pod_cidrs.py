"""What a Node's ``spec.podCIDRs`` mean."""

from ipaddress import IPv4Network, IPv6Network

import pytest

from desired.routes.endpoints import covering, destinations_of, ipv6_of, malformed_of, node_masks, parse_pod_cidr
from tests.builders import a_node
from tests.routes import a_pod_node

V4, V6 = "10.244.1.0/24", "fd00:1::/64"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(V4, IPv4Network(V4), id="ipv4"),
        pytest.param(V6, IPv6Network(V6), id="ipv6"),
        pytest.param("10.244.1.5/24", IPv4Network(V4), id="bits-of-hosts"),
        pytest.param("10.244.1.5/32", IPv4Network("10.244.1.5/32"), id="one-address"),
        pytest.param("0.0.0.0/0", IPv4Network("0.0.0.0/0"), id="everything"),
        pytest.param("10.244.1.0", None, id="an-address-alone"),
        pytest.param("10.244.1.0/33", None, id="too-long"),
        pytest.param("10.244.1.0/-1", None, id="negative"),
        pytest.param("10.244.1.0/", None, id="no-length"),
        pytest.param("10.244.256.0/24", None, id="no-octet"),
        pytest.param("10.244.01.0/24", None, id="an-octet-that-may-be-octal"),
        pytest.param(f"{V4},{V6}", None, id="two-at-once"),
        pytest.param(f" {V4}", None, id="blanks"),
        pytest.param("pods", None, id="a-word"),
        pytest.param("", None, id="empty"),
    ],
)
def test_parsing(text: str, expected: IPv4Network | IPv6Network | None) -> None:
    """A range of either family is read, and what is none is said to be none."""
    assert parse_pod_cidr(text) == expected


@pytest.mark.parametrize(
    ("pod_cidrs", "ipv4", "ipv6", "malformed"),
    [
        pytest.param((), (), (), (), id="none"),
        pytest.param((V4,), (V4,), (), (), id="ipv4"),
        pytest.param((V6,), (), (V6,), (), id="ipv6-alone"),
        pytest.param((V4, V6), (V4,), (V6,), (), id="dual-stack"),
        pytest.param((V6, V4), (V4,), (V6,), (), id="dual-stack-ipv6-first"),
        pytest.param(("10.244.9.0/24", V4), ("10.244.9.0/24", V4), (), (), id="two-as-assigned"),
        pytest.param((V4, V4), (V4,), (), (), id="one-twice"),
        pytest.param((V4, "10.244.1.7/24"), (V4,), (), (), id="one-twice-by-other-words"),
        pytest.param(("x", V4), (V4,), (), ("x",), id="beside-what-is-none"),
    ],
)
def test_ranges_of_a_node(
    pod_cidrs: tuple[str, ...], ipv4: tuple[str, ...], ipv6: tuple[str, ...], malformed: tuple[str, ...]
) -> None:
    """Only IPv4 ranges need routes; the others are told apart from what is no range at all."""
    node = a_node(pod_cidrs=pod_cidrs)
    assert destinations_of(node) == tuple(map(IPv4Network, ipv4))
    assert ipv6_of(node) == tuple(map(IPv6Network, ipv6))
    assert malformed_of(node) == malformed


@pytest.mark.parametrize(
    ("ranges", "masks", "span"),
    [
        pytest.param([], set(), None, id="no-nodes"),
        pytest.param([V6, "x"], set(), None, id="no-ipv4-at-all"),
        pytest.param([V4], {24}, V4, id="one"),
        pytest.param(["10.244.0.0/24", V4], {24}, "10.244.0.0/23", id="neighbours"),
        pytest.param(["10.244.1.0/24", "10.244.2.0/24"], {24}, "10.244.0.0/22", id="neighbours-across-a-boundary"),
        pytest.param(["10.244.0.0/24", "10.244.255.0/24"], {24}, "10.244.0.0/16", id="both-ends"),
        pytest.param(["10.244.0.0/25", "10.244.1.0/24", V6], {24, 25}, "10.244.0.0/23", id="of-two-sizes"),
        pytest.param(["10.0.0.0/8", V4], {8, 24}, "10.0.0.0/8", id="one-inside-another"),
        pytest.param(["10.0.0.0/24", "192.168.0.0/24"], {24}, "0.0.0.0/0", id="nothing-in-common"),
    ],
)
def test_ranges_of_all_nodes(ranges: list[str], masks: set[int], span: str | None) -> None:
    """The lengths that the cluster gives its Nodes, and the smallest range around them all."""
    nodes = [a_pod_node(number, text) for number, text in enumerate(ranges, 1)]
    assert node_masks(nodes) == masks
    assert covering(nodes) == (None if span is None else IPv4Network(span))
