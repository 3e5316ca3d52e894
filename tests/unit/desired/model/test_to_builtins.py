"""Canonical forms and digests."""

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from types import MappingProxyType

import pytest

from desired.model.absence import AbsenceProof
from desired.model.snapshot import Taint
from desired.model.to_builtins import digest, to_builtins
from desired.plan.kinds import Verb

MIDNIGHT = datetime(2026, 7, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(None, None, id="none"),
        pytest.param(True, True, id="boolean"),
        pytest.param(7, 7, id="number"),
        pytest.param(1.5, 1.5, id="fraction"),
        pytest.param("x", "x", id="text"),
        pytest.param(Verb.ADD, "add", id="enum"),
        pytest.param(MIDNIGHT, "2026-07-01T00:00:00+00:00", id="time"),
        pytest.param(IPv4Address("10.0.0.1"), "10.0.0.1", id="ipv4"),
        pytest.param(IPv6Address("2001:db8::"), "2001:db8::", id="ipv6"),
        pytest.param(IPv4Network("10.0.0.0/8"), "10.0.0.0/8", id="ipv4-network"),
        pytest.param(IPv6Network("2001:db8::/64"), "2001:db8::/64", id="ipv6-network"),
        pytest.param(MappingProxyType({"b": (Verb.ADD,), 1: None}), {"1": None, "b": ["add"]}, id="mapping"),
        pytest.param([1, (2, [3])], [1, [2, [3]]], id="lists"),
        pytest.param(frozenset({"b", "a", 1}), ["a", "b", 1], id="frozen-set"),
        pytest.param({Verb.REMOVE, Verb.ADD}, ["add", "remove"], id="set"),
        pytest.param(
            Taint("k", "NoSchedule"),
            {"key": "k", "effect": "NoSchedule", "value": None, "time_added": None},
            id="dataclass",
        ),
        pytest.param(
            AbsenceProof(7, "uid", MIDNIGHT, MIDNIGHT + timedelta(hours=1)),
            {
                "server_id": 7,
                "provider": "Cloud",
                "node_uid": "uid",
                "created_at": "2026-07-01T00:00:00+00:00",
                "not_ready_since": "2026-07-01T01:00:00+00:00",
            },
            id="proof",
        ),
    ],
)
def test_plain(value: object, expected: object) -> None:
    """Every type that the core's values are made of has one JSON form."""
    assert to_builtins(value) == expected


def test_plain_orders_mappings_by_key() -> None:
    """Mappings come in the order of their keys, so that equal values read alike."""
    assert list(to_builtins({"b": 1, "a": 2})) == ["a", "b"]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(timedelta(1), id="duration"),
        pytest.param(b"x", id="bytes"),
        pytest.param(Taint, id="a-class-is-no-value"),
        pytest.param({"nested": object()}, id="nested"),
    ],
)
def test_types_without_a_form(value: object) -> None:
    """A type that nobody decided on is an error, not a guess."""
    with pytest.raises(TypeError, match="has no plain form"):
        to_builtins(value)


def test_digest_has_the_format_of_holds() -> None:
    """A digest is ``sha256:`` and 16 hex digits, pinned: people keep approvals across versions."""
    assert digest("uid", "rule", []) == "sha256:44b9f96d203a9ad5"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        pytest.param(({"a": 1, "b": 2},), ({"b": 2, "a": 1},), True, id="order-of-a-mapping"),
        pytest.param((frozenset({"a", "b"}),), (frozenset({"b", "a"}),), True, id="order-of-a-set"),
        pytest.param(((1, 2),), ([1, 2],), True, id="tuple-or-list"),
        pytest.param(((1, 2),), ((2, 1),), False, id="order-of-a-list"),
        pytest.param(("a", "b"), ("ab",), False, id="values-do-not-run-together"),
        pytest.param((None,), ("None",), False, id="none-is-no-text"),
        pytest.param((1,), ("1",), False, id="number-is-no-text"),
    ],
)
def test_digest_tells_values_apart(one: tuple[object, ...], other: tuple[object, ...], equal: bool) -> None:
    """Equal values have equal digests whatever their order, different ones differ."""
    assert (digest(*one) == digest(*other)) is equal
