"""Protobuf bodies: what is read, and that nothing of the rest is dropped in silence. kubectl's own are in
``tests/contract/test_independent_clients.py``."""

import pytest

from kubernetes_double.protobuf import read_object


def field(number: int, value: int | bytes | str) -> bytes:
    """One field as it is sent: a number, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value % 2**64)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def varint(value: int) -> bytes:
    """A number in groups of seven bits, the lowest first."""
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def sent(kind: str, raw: bytes) -> bytes:
    """An object in its envelope."""
    return b"k8s\x00" + field(1, field(1, "v1") + field(2, kind)) + field(2, raw)


def test_every_type_of_field() -> None:
    """Texts, numbers below zero, maps, lists, times, and either form of a target port; what is empty is left out."""
    metadata = (
        field(1, "web") + field(3, "") + field(8, field(1, 1_767_225_600)) + field(11, field(1, "a") + field(2, "b"))
    )
    by_name = field(1, "http") + field(3, 80) + field(4, field(1, 1) + field(3, "web"))
    by_number = field(3, 443) + field(4, field(2, 8443)) + field(5, -1)
    spec = field(1, by_name) + field(1, by_number) + field(5, "198.51.100.1") + field(13, 0) + field(20, 0)
    assert read_object(sent("Service", field(1, metadata) + field(2, spec) + field(3, field(1, b"")))) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"a": "b"}},
        "spec": {
            "ports": [
                {"name": "http", "port": 80, "targetPort": "web"},
                {"port": 443, "targetPort": 8443, "nodePort": -1},
            ],
            "externalIPs": ["198.51.100.1"],
            "allocateLoadBalancerNodePorts": False,
        },
    }


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"{}", "does not begin as protobuf"),
        (sent("Secret", b""), "kind 'Secret' is not read"),
        (sent("Service", field(2, field(14, b""))), "field 14 of ServiceSpec is not read"),
        (sent("Service", field(2, field(4, 7))), "a number where a str belongs"),
        (sent("Service", field(2, b"\x03")), "no wire type"),
        (sent("Service", field(1, "web"))[:-1], "ends in the middle"),
        (sent("ConfigMap", field(2, field(1, 1))), "a number where a text belongs"),
        (sent("ConfigMap", field(4, b"x")), "bytes where a bool belongs"),
        (sent("ConfigMap", field(2, 2**62)), "a number where a map belongs"),
        (sent("ConfigMap", field(1, field(8, field(1, 2**62)))), "a time that no calendar has"),
        (sent("Service", field(1, field(1, b"\xff"))), "is not text"),
        (sent("Service", b"\xff" * 11), "too long"),
        (b"k8s\x00", "kind '' is not read"),
        (b"k8s\x00" + field(1, 1), "a number where a TypeMeta belongs"),
    ],
)
def test_what_cannot_be_read(body: bytes, problem: str) -> None:
    """One clear sentence each."""
    with pytest.raises(ValueError, match=problem):
        read_object(body)
