"""Writes to Nodes: one function for each kind of change that concerns them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from actuators.clients.kubernetes import Answer, KubernetesWriter, segment
from actuators.errors import Broken
from desired.change import Change, NodeIdentity
from desired.snapshot import Node, NodeAddress, Snapshot, Taint


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str


class _Written(msgspec.Struct):
    metadata: _Meta


def initialise(writer: KubernetesWriter, change: Change, snapshot: Snapshot) -> None:
    """Make the Node of ``change`` what its ``after`` says. Raises an ApiError: Conflict when it has moved on.

    Addresses go first and the taint goes last, so that no pod is ever scheduled to a Node without addresses
    (nodes-and-routes W-12). The second write carries the version that the first one answered: a kubelet that writes
    in between makes it a conflict, and the whole change is planned again.
    """
    match change.before, change.after:
        case NodeIdentity() as before, NodeIdentity() as after:
            node = snapshot.nodes.items[change.owner.removeprefix("node/")]
        case _:
            raise TypeError(f"{change.key}: both sides of {change.kind} are NodeIdentity")
    path = f"/api/v1/nodes/{segment(node.name)}"
    version = node.resource_version
    if after.addresses != before.addresses:
        body = {"metadata": _precondition(node, version), "status": {"addresses": _addresses(after.addresses)}}
        version = _version(writer.patch(f"{path}/status", body))
    metadata = {**_precondition(node, version), "labels": dict(after.labels)}
    spec = {"providerID": after.provider_id, "taints": [_taint(taint) for taint in after.taints]}
    writer.patch(path, {"metadata": metadata, "spec": spec})


def _precondition(node: Node, version: str) -> dict[str, Any]:
    """The Node is the one that was observed, and as it was observed."""
    return {"uid": node.uid, "resourceVersion": version}


def _version(answer: Answer) -> str:
    try:
        return msgspec.json.decode(answer.body, type=_Written).metadata.resource_version
    except ValueError as error:
        raise Broken(f"the API server's answer to a write of a Node could not be read: {error}") from error


def _addresses(addresses: tuple[NodeAddress, ...]) -> list[Mapping[str, str]]:
    return [{"type": str(address.type), "address": address.address} for address in addresses]


def _taint(taint: Taint) -> Mapping[str, str]:
    optional = {"value": taint.value, "timeAdded": taint.time_added}
    return {"key": taint.key, "effect": taint.effect} | {
        name: text for name, text in optional.items() if text is not None
    }
