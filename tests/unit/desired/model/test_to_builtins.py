"""Canonical forms and digests."""

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from types import MappingProxyType

import pytest

from desired.model.taint import Taint
from desired.model.to_builtins import digest, to_builtins
from desired.plan.evidence import AbsenceProof
from desired.plan.kinds import Verb
from tests.support.rows import rows

MIDNIGHT = datetime(2026, 7, 1, tzinfo=UTC)


@rows("value expected", {
    "none": (None, None),
    "boolean": (True, True),
    "number": (7, 7),
    "fraction": (1.5, 1.5),
    "text": ("x", "x"),
    "enum": (Verb.ADD, "add"),
    "time": (MIDNIGHT, "2026-07-01T00:00:00+00:00"),
    "ipv4": (IPv4Address("10.0.0.1"), "10.0.0.1"),
    "ipv6": (IPv6Address("2001:db8::"), "2001:db8::"),
    "ipv4-network": (IPv4Network("10.0.0.0/8"), "10.0.0.0/8"),
    "ipv6-network": (IPv6Network("2001:db8::/64"), "2001:db8::/64"),
    "mapping": (MappingProxyType({"b": (Verb.ADD,), 1: None}), {"1": None, "b": ["add"]}),
    "lists": ([1, (2, [3])], [1, [2, [3]]]),
    "frozen-set": (frozenset({"b", "a", 1}), ["a", "b", 1]),
    "set": ({Verb.REMOVE, Verb.ADD}, ["add", "remove"]),
    "dataclass": (Taint("k", "NoSchedule"), {"key": "k", "effect": "NoSchedule", "value": None, "time_added": None}),
    "proof": (AbsenceProof(7, "uid", MIDNIGHT, MIDNIGHT + timedelta(hours=1)),
        {"server_id": 7, "provider": "Cloud", "node_uid": "uid", "created_at": "2026-07-01T00:00:00+00:00",
        "not_ready_since": "2026-07-01T01:00:00+00:00"}),
})  # fmt: skip
def test_plain(value: object, expected: object) -> None:
    """Every type that the core's values are made of has one JSON form."""
    assert to_builtins(value) == expected


def test_plain_orders_mappings_by_key() -> None:
    """Mappings come in the order of their keys, so that equal values read alike."""
    assert list(to_builtins({"b": 1, "a": 2})) == ["a", "b"]


@rows("value", {"duration": timedelta(1), "bytes": b"x", "a-class-is-no-value": Taint, "nested": {"nested": object()}})
def test_types_without_a_form(value: object) -> None:
    """A type that nobody decided on is an error, not a guess."""
    with pytest.raises(TypeError, match="has no plain form"):
        to_builtins(value)


def test_digest_has_the_format_of_holds() -> None:
    """A digest is ``sha256:`` and 16 hex digits, pinned: people keep approvals across versions."""
    assert digest("uid", "rule", []) == "sha256:44b9f96d203a9ad5"


@rows("one other equal", {
    "order-of-a-mapping": (({"a": 1, "b": 2},), ({"b": 2, "a": 1},), True),
    "order-of-a-set": ((frozenset({"a", "b"}),), (frozenset({"b", "a"}),), True),
    "tuple-or-list": (((1, 2),), ([1, 2],), True),
    "order-of-a-list": (((1, 2),), ((2, 1),), False),
    "values-do-not-run-together": (("a", "b"), ("ab",), False),
    "none-is-no-text": ((None,), ("None",), False),
    "number-is-no-text": ((1,), ("1",), False),
})  # fmt: skip
def test_digest_tells_values_apart(one: tuple[object, ...], other: tuple[object, ...], equal: bool) -> None:
    """Equal values have equal digests whatever their order, different ones differ."""
    assert (digest(*one) == digest(*other)) is equal
