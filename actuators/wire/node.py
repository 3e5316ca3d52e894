"""Nodes of the cluster: how they are read, and the parts of the patches that change them. Only fields that some rule
looks at are decoded."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from sys import intern

import msgspec

from actuators.wire.objects import ListMeta, ListOf, Name
from desired.model.route import NetworkCondition
from desired.model.snapshot import Condition, Node, NodeAddress, SyncCondition
from desired.model.taint import Taint
from desired.names import ANNOTATION_PROVIDED_NODE_IP


class _Taint(msgspec.Struct, rename="camel", gc=False):
    key: str
    effect: str
    value: str | None = None
    time_added: str | None = None


class _Spec(msgspec.Struct, gc=False):
    provider_id: str = msgspec.field(default="", name="providerID")
    unschedulable: bool = False
    taints: list[_Taint] | None = None
    pod_cidr: str = msgspec.field(default="", name="podCIDR")
    pod_cidrs: list[str] | None = msgspec.field(default=None, name="podCIDRs")
    """The API server keeps ``podCIDR`` equal to the first of these: without them, it holds."""


class _Condition(msgspec.Struct, rename="camel", gc=False):
    type: str
    status: str
    reason: str = ""
    last_transition_time: datetime | None = None
    last_heartbeat_time: datetime | None = None


class _Address(msgspec.Struct, gc=False):
    type: str
    address: str


class _Status(msgspec.Struct, gc=False):
    conditions: list[_Condition] | None = None
    addresses: list[_Address] | None = None


class _Node(msgspec.Struct, gc=False):
    metadata: ListMeta
    spec: _Spec
    """The API server always sends this and the next one, empty or not: a Node without them was not read whole."""
    status: _Status


def _node(node: _Node) -> Node:
    meta = node.metadata
    return Node(
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        created_at=meta.creation_timestamp,
        provider_id=node.spec.provider_id or None,
        labels=meta.labels or {},
        taints=tuple(Taint(t.key, t.effect, t.value, t.time_added) for t in node.spec.taints or ()),
        addresses=tuple(NodeAddress(a.type, a.address) for a in node.status.addresses or ()),
        provided_node_ip=(meta.annotations or {}).get(ANNOTATION_PROVIDED_NODE_IP),
        conditions=tuple(_condition(condition) for condition in node.status.conditions or ()),
        unschedulable=node.spec.unschedulable,
        deleted_at=meta.deletion_timestamp,
        finalizers=tuple(meta.finalizers or ()),
        pod_cidrs=tuple(node.spec.pod_cidrs or filter(None, [node.spec.pod_cidr])),
    )


def _condition(found: _Condition) -> Condition:
    """The words are the same on thousands of Nodes: one copy of each is kept."""
    words = (intern(found.type), intern(found.status), intern(found.reason))
    return Condition(*words, found.last_transition_time, found.last_heartbeat_time)


NODES = ListOf("/api/v1/nodes", "Node", _Node, _node, identity=Name, key=lambda node: node.name)


def labels_patch(before: Mapping[str, str], after: Mapping[str, str]) -> Mapping[str, str | None]:
    """The merge patch of the labels: a key with null is removed."""
    return {**dict.fromkeys(before.keys() - after.keys()), **after}


def address_bodies(addresses: Iterable[NodeAddress]) -> list[Mapping[str, str]]:
    """The list of addresses, which has no key to merge by: it is written whole."""
    return [{"type": str(address.type), "address": address.address} for address in addresses]


def taint_bodies(taints: Iterable[Taint]) -> list[Mapping[str, str]]:
    """The list of taints, which is written whole as well."""
    members = (
        {"key": taint.key, "effect": taint.effect, "value": taint.value, "timeAdded": taint.time_added}
        for taint in taints
    )
    return [{name: text for name, text in each.items() if text is not None} for each in members]


def condition_patch(
    kind: str, before: str | None, after: NetworkCondition | SyncCondition | None, now: datetime
) -> Mapping[str, str]:
    """The member of a strategic patch that gives the condition of this type, at the time ``now``; ``after`` None takes
    it away. ``before`` is the status that it has, None for none: the time of the last transition stays with that."""
    if after is None:
        return {"type": kind, "$patch": "delete"}
    written = f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    said = {"type": kind, "status": after.status, "reason": after.reason, "message": after.message}
    times = {"lastHeartbeatTime": written} | ({"lastTransitionTime": written} if before != after.status else {})
    return {**said, **times}
