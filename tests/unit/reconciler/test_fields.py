"""Differences field by field: every path reads like the object's own, and nothing shifts in lists."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from desired.model.route import ROUTED, UNROUTED, NetworkCondition
from desired.model.snapshot import NodeAddress
from desired.model.taint import Taint
from desired.plan.change import NodeIdentity, OutOfService
from reconciler.report.fields import field_changes
from tests.builders import a_change, a_loss, an_identity
from tests.routes import a_route
from tests.support.rows import rows

HOSTNAME = NodeAddress("Hostname", "web-1")
EXTERNAL = NodeAddress("ExternalIP", "203.0.113.1")
INTERNAL = NodeAddress("InternalIP", "10.0.0.2")
VIA = a_route()


def fields(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    kind = "node.initialise"
    change = a_change(kind=kind, before=before, after=after)
    return [(found.path, found.before, found.after) for found in field_changes(change)]


@rows(
    "before after expected",
    {
        "an empty one is none": (an_identity(""), an_identity(), [("provider_id", None, "hcloud://1")]),
        "labels go, change and come": (
            an_identity(labels={"a": "1", "b": "2", "c": "3"}),
            an_identity(labels={"b": "2", "c": "4", "d": ""}),
            [("labels[a]", "1", None), ("labels[c]", "3", "4"), ("labels[d]", None, "")],
        ),
        "an address comes first, and no other shifts": (
            an_identity(addresses=(HOSTNAME, EXTERNAL)),
            an_identity(addresses=(INTERNAL, HOSTNAME, EXTERNAL)),
            [("addresses[InternalIP]", None, "10.0.0.2")],
        ),
        "several of a type": (
            an_identity(addresses=(HOSTNAME, EXTERNAL)),
            an_identity(addresses=(HOSTNAME, EXTERNAL, NodeAddress("ExternalIP", "2001:db8::1"))),
            [("addresses[ExternalIP]", "203.0.113.1", "203.0.113.1, 2001:db8::1")],
        ),
        "another order among other differences": (
            an_identity(None, addresses=(HOSTNAME, EXTERNAL)),
            an_identity(addresses=(EXTERNAL, HOSTNAME)),
            [
                ("addresses", "Hostname web-1, ExternalIP 203.0.113.1", "ExternalIP 203.0.113.1, Hostname web-1"),
                ("provider_id", None, "hcloud://1"),
            ],
        ),
        "two underscores hide nothing": (
            an_identity(labels={"__a": "1"}, addresses=(NodeAddress("__odd", "x"),)),
            an_identity(labels={"__a": "2"}, addresses=(NodeAddress("__odd", "y"),)),
            [("addresses[__odd]", "x", "y"), ("labels[__a]", "1", "2")],
        ),
    },
)
def test_differences(before: Any, after: Any, expected: list[tuple[str, Any, Any]]) -> None:
    assert fields(before, after) == expected


@rows(
    "kind before after expected",
    {
        "labels": (
            "node.labels",
            {"a": "1", "b": "2", "example.com/c": "3"},
            {"a": "1", "b": "4", "d": "5"},
            [("labels[b]", "2", "4"), ("labels[d]", None, "5"), ("labels[example.com/c]", "3", None)],
        ),
        "addresses": (
            "node.addresses",
            (HOSTNAME, EXTERNAL, INTERNAL),
            (HOSTNAME, NodeAddress("ExternalIP", "203.0.113.2")),
            [("addresses[ExternalIP]", "203.0.113.1", "203.0.113.2"), ("addresses[InternalIP]", "10.0.0.2", None)],
        ),
        "addresses in another order alone": (
            "node.addresses",
            (HOSTNAME, EXTERNAL),
            (EXTERNAL, HOSTNAME),
            [("addresses", "Hostname web-1, ExternalIP 203.0.113.1", "ExternalIP 203.0.113.1, Hostname web-1")],
        ),
        "the shutdown taint comes": ("node.shutdown_taint", False, True, [("shutdown", False, True)]),
        "a Node is out of service": (
            "node.out_of_service_taint",
            None,
            OutOfService(a_loss().proof),
            [("out-of-service", None, True)],
        ),
        "and back": ("node.out_of_service_taint", True, False, [("out-of-service", True, False)]),
        "a route comes": ("route.create", None, VIA, [("gateway", None, "10.0.0.2")]),
        "a route gets another gateway": (
            "route.replace",
            a_route(1, "10.0.0.9"),
            VIA,
            [("gateway", "10.0.0.9", "10.0.0.2")],
        ),
        "a route goes": ("route.delete", VIA, None, [("gateway", "10.0.0.2", None)]),
        "a first condition": (
            "node.network_condition",
            None,
            ROUTED,
            [("NetworkUnavailable", None, "False (RouteCreated)")],
        ),
        "a condition changes": (
            "node.network_condition",
            UNROUTED,
            ROUTED,
            [("NetworkUnavailable", "True (NoRouteCreated)", "False (RouteCreated)")],
        ),
        "a condition that gave no reason": (
            "node.network_condition",
            NetworkCondition("Unknown", ""),
            ROUTED,
            [("NetworkUnavailable", "Unknown", "False (RouteCreated)")],
        ),
        "a condition goes": (
            "node.network_condition",
            ROUTED,
            None,
            [("NetworkUnavailable", "False (RouteCreated)", None)],
        ),
        "a deletion, by what a person knows the machine by": (
            "node.delete",
            a_loss(),
            None,
            [
                ("addresses[ExternalIP]", "203.0.113.1", None),
                ("addresses[Hostname]", "web-1", None),
                ("not_ready_since", "2026-07-01T11:55:00+00:00", None),
                ("provider_id", "hcloud://1", None),
            ],
        ),
    },
)
def test_differences_of_each_kind(kind: str, before: Any, after: Any, expected: list[tuple[str, Any, Any]]) -> None:
    change = a_change("node/web-1/part", kind, before=before, after=after)

    assert [(found.path, found.before, found.after) for found in field_changes(change)] == expected


_TEXTS = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=1, max_size=60)
_TAINTS = st.lists(st.builds(Taint, _TEXTS, _TEXTS, _TEXTS), max_size=3).map(tuple)
_TYPES = st.sampled_from(["Hostname", "ExternalIP", "InternalIP"]) | _TEXTS
_ADDRESSES = st.lists(st.builds(NodeAddress, _TYPES, _TEXTS), max_size=4).map(tuple)
_IDENTITIES = st.builds(
    an_identity,
    st.none() | _TEXTS,
    labels=st.dictionaries(_TEXTS, _TEXTS, max_size=5),
    taints=_TAINTS,
    addresses=_ADDRESSES,
)


def leaves(identity: NodeIdentity) -> dict[str, str]:
    """Path → value of all that an identity has."""
    addresses: dict[str, list[str]] = {}
    for each in identity.addresses:
        addresses.setdefault(f"addresses[{each.type}]", []).append(each.address)
    return {
        **({"provider_id": identity.provider_id} if identity.provider_id else {}),
        **{f"labels[{name}]": value for name, value in identity.labels.items()},
        **{f"taints[{taint.key}:{taint.effect}]": taint.value or "" for taint in identity.taints},
        **{path: ", ".join(each) for path, each in addresses.items()},
    }


def orders(identity: NodeIdentity) -> dict[str, str]:
    """Path → the entries of each list, as they stand."""
    return {
        "addresses": ", ".join(f"{each.type} {each.address}" for each in identity.addresses),
        "taints": ", ".join(f"{taint.key}:{taint.effect}" for taint in identity.taints),
    }


@given(_IDENTITIES, _IDENTITIES, st.data())
def test_every_difference_is_told(before: NodeIdentity, after: NodeIdentity, data: st.DataObject) -> None:
    if data.draw(st.booleans()):
        after = replace(after, addresses=tuple(data.draw(st.permutations(before.addresses))))
    if before == after:
        return
    old, new = leaves(before), leaves(after)
    told = {path: (old.get(path), new.get(path)) for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
    differing = {path.partition("[")[0] for path in told}
    stood, stands = orders(before), orders(after)
    told |= {name: (stood[name], stands[name]) for name in stood.keys() - differing if stood[name] != stands[name]}

    assert {path: (one, other) for path, one, other in fields(before, after)} == told
