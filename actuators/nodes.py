"""Writes to Nodes: one function for each kind of change that concerns them. All raise ApiErrors, Conflict when the Node
has changed since it was observed: then the change is planned again and never sent again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from actuators.http.decoding import member
from actuators.http.errors import Broken, Conflict, NotFound
from actuators.http.hetzner import HetznerReader
from actuators.http.kubernetes import STRATEGIC_MERGE_PATCH, ApiAnswer, KubernetesReader, KubernetesWriter, segment
from actuators.http.robot import RobotReader
from actuators.sides import by_sides, expect
from actuators.wire.node import (
    NODES,
    address_bodies,
    condition_patch,
    labels_patch,
    taint_bodies,
)
from actuators.wire.server import SERVERS
from desired.model.route import CONDITION_NETWORK, NetworkCondition
from desired.model.snapshot import Node, NodeAddress, ServerStatus, Snapshot, SyncCondition
from desired.model.taint import with_out_of_service_taint, with_shutdown_taint, without_out_of_service_taint
from desired.names import CONDITION_NODE_IN_SYNC
from desired.plan.change import Change, LostNode, NodeIdentity, OutOfService
from desired.plan.evidence import AbsenceProof
from desired.plan.kinds import ChangeKind
from desired.section import Unknown
from desired.syntax.provider_id import Provider, server_key

_version_in = member("metadata.resourceVersion", str)


@dataclass(frozen=True, slots=True)
class NodeTask:
    """A change of a Node that is being carried out, and the clients for it."""

    writer: KubernetesWriter
    cluster: KubernetesReader
    cloud: HetznerReader
    robot: RobotReader | None
    """None if Robot servers are not read."""
    change: Change
    snapshot: Snapshot

    @property
    def node(self) -> Node:
        """The Node as observed. Raises KeyError for a change that was planned from another snapshot."""
        return self.snapshot.nodes.items[self.change.owner.name]

    def patch_spec(self, spec: Mapping[str, Any]) -> None:
        """Write a part of the spec, if the Node is still in the version that was observed."""
        self.writer.patch(_path(self.node), {"metadata": _as_observed(self.node), "spec": spec})

    def patch_addresses(self, addresses: tuple[NodeAddress, ...]) -> ApiAnswer:
        """Give the Node these addresses: the whole list, as several may have one type."""
        body = {"metadata": _as_observed(self.node), "status": {"addresses": address_bodies(addresses)}}
        return self.writer.patch(f"{_path(self.node)}/status", body)


def initialise(task: NodeTask, before: NodeIdentity, after: NodeIdentity) -> None:
    """Initialize the joining Node as ``after`` says.

    Addresses go first and the taint goes last, so that no pod is ever scheduled to a Node without addresses. The second
    write carries the version that the first one answered: a kubelet that writes in between makes it a conflict.
    """
    metadata = _as_observed(task.node)
    if after.addresses != before.addresses:
        metadata["resourceVersion"] = _version(task.patch_addresses(after.addresses))
    metadata["labels"] = labels_patch(before.labels, after.labels)
    spec = {"providerID": after.provider_id, "taints": taint_bodies(after.taints)}
    task.writer.patch(_path(task.node), {"metadata": metadata, "spec": spec})


def write_labels(task: NodeTask, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Give the Node the owned labels of ``after``, and take away those that only ``before`` has.

    Labels have a key each, so that a write of another client in between does no harm: the uid is enough.
    """
    node = task.node
    task.writer.patch(_path(node), {"metadata": {"uid": node.uid, "labels": labels_patch(before, after)}})


def write_addresses(task: NodeTask, _before: object, after: tuple[NodeAddress, ...]) -> None:
    """Give the Node the addresses of ``after``."""
    task.patch_addresses(after)


def write_shutdown_taint(task: NodeTask, _before: object, after: bool) -> None:
    """Add or remove the shutdown taint: the whole list, as taints have no key to merge by."""
    task.patch_spec({"taints": taint_bodies(with_shutdown_taint(task.node.taints, wanted=after))})


def add_out_of_service_taint(task: NodeTask, _before: None, after: OutOfService) -> None:
    """Add the out-of-service taint, if the server is still absent and the kubelet still does not report.

    Raises Broken when the server exists, Conflict when the kubelet reports. The time of the taint is that of the
    snapshot, by the API server's clock, which writes none by itself.
    """
    _require_absence(task.cloud, None, after.proof)
    try:
        _require_silence(task)
    except NotFound as error:
        raise _overtaken(error) from error
    task.patch_spec({"taints": taint_bodies(with_out_of_service_taint(task.node.taints, task.snapshot.taken_at))})


def remove_out_of_service_taint(task: NodeTask, before: bool, after: bool) -> None:
    """Remove the out-of-service taint, if the server runs and is not locked; else raises Conflict."""
    expect(task.change, fits=before and not after)
    key = server_key(task.node.provider_id)
    try:
        found = None if key is None or key.provider is not Provider.CLOUD else SERVERS.one(task.cloud, key.id)
    except NotFound:
        found = None
    if found is None or found.status is not ServerStatus.RUNNING or found.is_locked:
        raise Conflict(f"the server of Node {task.node.name} is gone, not running, or locked")
    task.patch_spec({"taints": taint_bodies(without_out_of_service_taint(task.node.taints))})


def write_network_condition(task: NodeTask, before: NetworkCondition | None, after: NetworkCondition | None) -> None:
    """Give the Node the condition ``NetworkUnavailable`` of ``after``; None removes it, as when routes are switched
    off.

    The patch is a strategic one: conditions are merged by type, so that the kubelet's stay byte for byte, and the uid
    is enough. A Node that has gone while its routes were made has been overtaken, which is a Conflict and no failure.
    """
    status, now = None if before is None else before.status, task.snapshot.taken_at
    try:
        _patch_condition(task.writer, task.node, condition_patch(CONDITION_NETWORK, status, after, now))
    except NotFound as error:
        raise _overtaken(error) from error


def write_sync_condition(writer: KubernetesWriter, node: Node, condition: SyncCondition | None, now: datetime) -> None:
    """Give the Node the condition ``NodeInSync``; None removes it. Those of others stay byte for byte."""
    there = node.condition(CONDITION_NODE_IN_SYNC)
    status = None if there is None else there.status
    _patch_condition(writer, node, condition_patch(CONDITION_NODE_IN_SYNC, status, condition, now))


def _patch_condition(writer: KubernetesWriter, node: Node, condition: Mapping[str, str]) -> None:
    body = {"metadata": {"uid": node.uid}, "status": {"conditions": [condition]}}
    writer.patch(f"{_path(node)}/status", body, content_type=STRATEGIC_MERGE_PATCH)


def _overtaken(error: NotFound) -> Conflict:
    """The error for a Node that has gone meanwhile."""
    return Conflict(str(error), status=error.status, code=error.code)


def delete(task: NodeTask, before: LostNode, _after: None) -> None:
    """Delete the Node, if its server is still absent and its kubelet still does not report.

    Raises Broken when the server exists, Conflict when the kubelet reports. The deletion itself carries uid and
    version, so that it never hits a Node that has registered under the same name since. Done when the Node is gone
    already.
    """
    node = task.node
    _require_absence(task.cloud, task.robot, before.proof)
    try:
        _require_silence(task)
        task.writer.delete(_path(node), uid=before.proof.node_uid, version=node.resource_version)
    except NotFound:
        return


def _require_absence(cloud: HetznerReader, robot: RobotReader | None, proof: AbsenceProof) -> None:
    """Raise Broken when the server exists, and whatever keeps that from being told."""
    try:
        if proof.provider is Provider.CLOUD:
            cloud.get(f"/servers/{proof.server_id}")
        elif robot is None:
            raise Broken(f"{proof.server.name} cannot be looked up: Robot servers are not read")
        else:
            robot.get(f"/server/{proof.server_id}")
    except NotFound:
        return
    raise Broken(f"Hetzner contradicts itself: its list lacks {proof.server.name}, but a GET by its id finds it")


def _require_silence(task: NodeTask) -> None:
    """Raise a Conflict when the Node is Ready by now, NotFound when it is gone."""
    name = task.node.name
    _, now = NODES.decode_one(task.cluster.get(_path(task.node)).body)
    if isinstance(now, Unknown):
        raise Broken(f"Node {name}: {now.why}")
    if any(condition.type == "Ready" and condition.status == "True" for condition in now.conditions):
        raise Conflict(f"Node {name} is Ready again")


def _path(node: Node) -> str:
    return f"/api/v1/nodes/{segment(node.name)}"


def _as_observed(node: Node) -> dict[str, Any]:
    """Metadata that makes a write fail unless the Node is the one that was observed, in the same version."""
    return {"uid": node.uid, "resourceVersion": node.resource_version}


def _version(answer: ApiAnswer) -> str:
    try:
        return _version_in(answer.body)
    except ValueError as error:
        raise Broken(f"the API server's answer to a write of a Node could not be read: {error}") from error


NODE_ACTUATORS: Mapping[str, Callable[[NodeTask], None]] = {
    ChangeKind.NODE_INITIALISE: by_sides(initialise),
    ChangeKind.NODE_LABELS: by_sides(write_labels),
    ChangeKind.NODE_ADDRESSES: by_sides(write_addresses),
    ChangeKind.NODE_SHUTDOWN_TAINT: by_sides(write_shutdown_taint),
    ChangeKind.NODE_OUT_OF_SERVICE_TAINT: by_sides(add_out_of_service_taint, remove_out_of_service_taint),
    ChangeKind.NODE_NETWORK_CONDITION: by_sides(write_network_condition),
    ChangeKind.NODE_DELETE: by_sides(delete),
}
"""Kind → its actuator. Each raises an ApiError when it could not, and TypeError for sides that are not of its kind."""
