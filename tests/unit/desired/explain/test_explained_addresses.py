"""Addresses of a Node as an explanation shows them: as they are, as they will be, and the rule that decides."""

from typing import Any

import pytest

from desired.explain.fact import Fact
from desired.explain.node import explain_addresses
from desired.model.settings import Controller, Settings
from desired.model.snapshot import AddressType, Node, NodeAddress
from desired.rules.rule import Basis
from desired.section import Present, Unknown
from tests.builders import a_dual_stack_server, a_joining_node, a_network, a_server, a_settled_node
from tests.support.nodes import decide

HOSTNAME, INTERNAL, EXTERNAL = AddressType.HOSTNAME, AddressType.INTERNAL_IP, AddressType.EXTERNAL_IP
NETWORKED = Settings(network="private")
NAME = Fact(HOSTNAME, "web-1", "web-1", Basis.SERVER, "the server's name")
PUBLIC = Fact(EXTERNAL, "203.0.113.1", "203.0.113.1", Basis.SERVER, "the server's public IPv4")
PRIVATE = Fact(INTERNAL, None, "10.0.0.2", Basis.SERVER, "the server's address in the private network")


def with_addresses(*texts: str, **overrides: Any) -> Node:
    """A settled Node with these addresses, each ``Type text``."""
    addresses = tuple(NodeAddress(*text.split()) for text in texts)
    return a_settled_node(addresses=addresses, **overrides)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(
            a_joining_node(),
            [
                Fact(HOSTNAME, None, "web-1", Basis.SERVER, "the server's name"),
                Fact(EXTERNAL, None, "203.0.113.1", Basis.SERVER, "the server's public IPv4"),
                PRIVATE,
            ],
            id="as-the-node-joins",
        ),
        pytest.param(
            with_addresses("ExternalIP 203.0.113.1", "InternalIP 10.9.9.9", "Hostname web-1", "ExternalIP 203.0.113.1"),
            [
                PUBLIC,
                Fact(
                    INTERNAL,
                    "10.9.9.9",
                    None,
                    Basis.SERVER,
                    "InternalIP 10.9.9.9 goes away: server 1 does not have it",
                ),
                NAME,
                Fact(
                    EXTERNAL, "203.0.113.1", None, Basis.SERVER, "ExternalIP 203.0.113.1 goes away: it is listed twice"
                ),
                PRIVATE,
            ],
            id="in-the-order-of-the-node",
        ),
    ],
)
def test_addresses(node: Node, expected: list[Fact]) -> None:
    """Each address is told with its rule; those that come stand last."""
    wanted, _ = decide(node, a_dual_stack_server(), NETWORKED, network=Present(a_network()))
    assert list(explain_addresses(node, wanted.addresses)) == expected


@pytest.mark.parametrize(
    ("node", "settings", "network", "why"),
    [
        pytest.param(a_settled_node(), NETWORKED, Unknown("429"), "addresses are not written: 429", id="undecided"),
        pytest.param(
            a_settled_node(provider_id="aws://1"),
            Settings(),
            Present(None),
            "not managed: the Node is foreign",
            id="no-node-of-ours",
        ),
        pytest.param(
            a_settled_node(),
            Settings(controllers=frozenset({Controller.LIFECYCLE})),
            Present(None),
            "not managed: --controllers leaves cloud-node out",
            id="addresses-are-left-to-others",
        ),
    ],
)
def test_addresses_that_stay(node: Node, settings: Settings, network: Present[None] | Unknown, why: str) -> None:
    """Where nothing is decided on addresses each one stays, with the reason why."""
    wanted, _ = decide(node, a_server(), settings, network=network)
    assert list(explain_addresses(node, wanted.addresses)) == [
        Fact(HOSTNAME, "web-1", "web-1", Basis.UNTOUCHED, why),
        Fact(EXTERNAL, "203.0.113.1", "203.0.113.1", Basis.UNTOUCHED, why),
    ]
