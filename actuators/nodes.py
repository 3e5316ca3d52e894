"""Writes to Nodes: one function for each kind of change that concerns them. All raise ApiErrors, Conflict when the Node
has changed since it was observed: then the change is planned again and never sent again."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from actuators.http.decoding import decoder
from actuators.http.errors import Broken, Conflict, NotFound
from actuators.http.hetzner import HetznerReader
from actuators.http.kubernetes import STRATEGIC_MERGE_PATCH, ApiAnswer, KubernetesReader, KubernetesWriter, segment
from actuators.http.robot import RobotReader
from actuators.outcome import unexpected_change
from actuators.wire.node import (
    NODES,
    address_bodies,
    labels_patch,
    network_condition_patch,
    sync_condition_patch,
    taint_bodies,
)
from actuators.wire.server import SERVERS
from desired.model.route import NetworkCondition
from desired.model.snapshot import Node, NodeAddress, ServerStatus, Snapshot, SyncCondition
from desired.model.taint import with_out_of_service_taint, with_shutdown_taint, without_out_of_service_taint
from desired.plan.change import Change, LostNode, NodeIdentity, OutOfService
from desired.plan.evidence import AbsenceProof
from desired.plan.kinds import ChangeKind
from desired.section import Unknown
from desired.syntax.provider_id import Provider, server_key


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str


class _Written(msgspec.Struct):
    metadata: _Meta


def initialise(writer: KubernetesWriter, change: Change, snapshot: Snapshot) -> None:
    """Initialize the joining Node of ``change`` as its ``after`` says.

    Addresses go first and the taint goes last, so that no pod is ever scheduled to a Node without addresses. The second
    write carries the version that the first one answered: a kubelet that writes in between makes it a conflict.
    """
    match change.before, change.after:
        case NodeIdentity() as before, NodeIdentity() as after:
            node = _node(change, snapshot)
        case _:
            raise unexpected_change(change)
    version = node.resource_version
    if after.addresses != before.addresses:
        version = _version(_write_addresses(writer, node, after.addresses))
    metadata = {**_precondition(node, version), "labels": labels_patch(before.labels, after.labels)}
    spec = {"providerID": after.provider_id, "taints": taint_bodies(after.taints)}
    writer.patch(_path(node), {"metadata": metadata, "spec": spec})


def write_labels(writer: KubernetesWriter, change: Change, snapshot: Snapshot) -> None:
    """Give the Node the owned labels of ``after``, and take away those that only ``before`` has.

    Labels have a key each, so that a write of another client in between does no harm: the uid is enough.
    """
    match change.before, change.after:
        case Mapping() as before, Mapping() as after:
            node = _node(change, snapshot)
        case _:
            raise unexpected_change(change)
    writer.patch(_path(node), {"metadata": {"uid": node.uid, "labels": labels_patch(before, after)}})


def write_addresses(writer: KubernetesWriter, change: Change, snapshot: Snapshot) -> None:
    """Give the Node the addresses of ``after``: the whole list, as several may have one type."""
    match change.after:
        case tuple() as addresses:
            _write_addresses(writer, _node(change, snapshot), addresses)
        case _:
            raise unexpected_change(change)


def write_shutdown_taint(writer: KubernetesWriter, change: Change, snapshot: Snapshot) -> None:
    """Add or remove the shutdown taint: the whole list, as taints have no key to merge by."""
    match change.after:
        case bool() as wanted:
            node = _node(change, snapshot)
        case _:
            raise unexpected_change(change)
    taints = taint_bodies(with_shutdown_taint(node.taints, wanted=wanted))
    writer.patch(_path(node), {"metadata": _precondition(node, node.resource_version), "spec": {"taints": taints}})


def write_out_of_service_taint(
    writer: KubernetesWriter, cluster: KubernetesReader, cloud: HetznerReader, change: Change, snapshot: Snapshot
) -> None:
    """Add the out-of-service taint, if the server is still absent and the kubelet still does not report; or remove it,
    if the server runs and is not locked.

    Raises Broken when the server of a Node that is to get it exists, Conflict when the kubelet reports, or when the
    server is not running. The time of the taint is that of the snapshot, by the API server's clock, which writes none
    by itself.
    """
    node = _node(change, snapshot)
    match change.before, change.after:
        case None, OutOfService(proof=proof):
            _require_absence(cloud, None, proof)
            try:
                _require_silence(cluster.get(_path(node)), node)
            except NotFound as error:
                raise Conflict(str(error), status=error.status, code=error.code) from error
            taints = with_out_of_service_taint(node.taints, snapshot.taken_at)
        case True, False:
            _require_running(cloud, node)
            taints = without_out_of_service_taint(node.taints)
        case _:
            raise unexpected_change(change)
    body = {"metadata": _precondition(node, node.resource_version), "spec": {"taints": taint_bodies(taints)}}
    writer.patch(_path(node), body)


def write_network_condition(writer: KubernetesWriter, change: Change, snapshot: Snapshot) -> None:
    """Give the Node the condition ``NetworkUnavailable`` of ``after``; None removes it, as when routes are switched
    off.

    The patch is a strategic one: conditions are merged by type, so that the kubelet's stay byte for byte, and the uid
    is enough. A time that the patch does not name stays, too, as long as the status does. A Node that has gone while
    its routes were made has been overtaken, which is a Conflict and no failure.
    """
    match change.before, change.after:
        case (NetworkCondition() | None) as before, NetworkCondition() as after:
            condition = network_condition_patch(before, after, snapshot.taken_at)
        case NetworkCondition() as before, None:
            condition = network_condition_patch(before, None, snapshot.taken_at)
        case _:
            raise unexpected_change(change)
    node = _node(change, snapshot)
    body = {"metadata": {"uid": node.uid}, "status": {"conditions": [condition]}}
    try:
        writer.patch(f"{_path(node)}/status", body, content_type=STRATEGIC_MERGE_PATCH)
    except NotFound as error:
        raise Conflict(str(error), status=error.status, code=error.code) from error


def write_sync_condition(writer: KubernetesWriter, node: Node, condition: SyncCondition | None, now: datetime) -> None:
    """Give the Node this condition ``NodeInSync`` at the time ``now``; None removes it. Conditions of others stay
    byte for byte, as with ``NetworkUnavailable``."""
    body = {"metadata": {"uid": node.uid}, "status": {"conditions": [sync_condition_patch(node, condition, now)]}}
    writer.patch(f"{_path(node)}/status", body, content_type=STRATEGIC_MERGE_PATCH)


def delete(
    writer: KubernetesWriter,
    cluster: KubernetesReader,
    cloud: HetznerReader,
    robot: RobotReader | None,
    change: Change,
    snapshot: Snapshot,
) -> None:
    """Delete the Node, if its server is still absent and its kubelet still does not report.

    Raises Broken when the server exists, Conflict when the kubelet reports. The deletion itself carries uid and
    version, so that it never hits a Node that has registered under the same name since. Done when the Node is gone
    already.
    """
    match change.before:
        case LostNode(proof=proof):
            node = _node(change, snapshot)
        case _:
            raise unexpected_change(change)
    _require_absence(cloud, robot, proof)
    try:
        _require_silence(cluster.get(_path(node)), node)
        writer.delete(_path(node), uid=proof.node_uid, version=node.resource_version)
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


def _require_running(cloud: HetznerReader, node: Node) -> None:
    """Raise a Conflict unless a GET says that the Node's server is running and not locked."""
    key = server_key(node.provider_id)
    try:
        found = None if key is None or key.provider is not Provider.CLOUD else SERVERS.one(cloud, key.id)
    except NotFound:
        found = None
    if found is None or found.status is not ServerStatus.RUNNING or found.is_locked:
        raise Conflict(f"the server of Node {node.name} is gone, not running, or locked")


def _require_silence(answer: ApiAnswer, node: Node) -> None:
    """Raise a Conflict when the Node is Ready by now."""
    _, now = NODES.decode_one(answer.body)
    if isinstance(now, Unknown):
        raise Broken(f"Node {node.name}: {now.why}")
    if any(condition.type == "Ready" and condition.status == "True" for condition in now.conditions):
        raise Conflict(f"Node {node.name} is Ready again")


def node_actuators(
    writer: KubernetesWriter, cluster: KubernetesReader, cloud: HetznerReader, robot: RobotReader | None
) -> Mapping[str, Callable[[Change, Snapshot], None]]:
    """Kind of change of a Node → its actuator. ``robot`` is None where Robot servers are not read."""
    return {
        ChangeKind.NODE_INITIALISE: partial(initialise, writer),
        ChangeKind.NODE_LABELS: partial(write_labels, writer),
        ChangeKind.NODE_ADDRESSES: partial(write_addresses, writer),
        ChangeKind.NODE_SHUTDOWN_TAINT: partial(write_shutdown_taint, writer),
        ChangeKind.NODE_OUT_OF_SERVICE_TAINT: partial(write_out_of_service_taint, writer, cluster, cloud),
        ChangeKind.NODE_NETWORK_CONDITION: partial(write_network_condition, writer),
        ChangeKind.NODE_DELETE: partial(delete, writer, cluster, cloud, robot),
    }


def _node(change: Change, snapshot: Snapshot) -> Node:
    """The Node of ``change`` as observed. Raises KeyError for a change that was planned from another snapshot."""
    return snapshot.nodes.items[change.owner.name]


def _path(node: Node) -> str:
    return f"/api/v1/nodes/{segment(node.name)}"


def _write_addresses(writer: KubernetesWriter, node: Node, addresses: tuple[NodeAddress, ...]) -> ApiAnswer:
    metadata = _precondition(node, node.resource_version)
    return writer.patch(
        f"{_path(node)}/status", {"metadata": metadata, "status": {"addresses": address_bodies(addresses)}}
    )


def _precondition(node: Node, version: str) -> dict[str, Any]:
    """Metadata that makes a write fail unless the Node is the one that was observed, in the same version."""
    return {"uid": node.uid, "resourceVersion": version}


def _version(answer: ApiAnswer) -> str:
    try:
        return decoder(_Written).decode(answer.body).metadata.resource_version
    except ValueError as error:
        raise Broken(f"the API server's answer to a write of a Node could not be read: {error}") from error
