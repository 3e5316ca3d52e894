"""Single objects of the API server, read into values of the snapshot; and its clock."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

from actuators.http.decoding import decoder
from actuators.http.errors import ApiError, Broken, NotFound
from actuators.http.kubernetes import Answer, KubernetesReader, segment
from desired.model.remembered import KEY, NOTHING, Remembered, parse_remembered
from desired.names import CONFIG_MAP, IDENTITY_NAMESPACE
from desired.plan.approval import Approval, parse_approvals
from desired.section import Present, Unknown


class _Identified(msgspec.Struct):
    class _Uid(msgspec.Struct):
        uid: str

    metadata: _Uid


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


def observe_cluster_uid(reader: KubernetesReader) -> Present[str] | Unknown:
    """The cluster's identity: the UID of namespace ``kube-system``. Unknown when it cannot be read, whatever why."""
    try:
        body = reader.get(f"/api/v1/namespaces/{IDENTITY_NAMESPACE}").body
        return Present(decoder(_Identified).decode(body).metadata.uid)
    except (ApiError, ValueError) as error:
        return Unknown(str(error))


def observe_approvals(reader: KubernetesReader, namespace: str) -> tuple[Approval, ...]:
    """The approvals in the product's ConfigMap; none when there is no ConfigMap. Raises an ApiError."""
    return parse_approvals(_config_map(reader, namespace) or {})


def observe_remembered(reader: KubernetesReader, namespace: str, cluster_uid: str) -> Remembered | None:
    """Read what the cluster with this identity remembers of its project; None when there is no ConfigMap. Raises an
    ApiError."""
    data = _config_map(reader, namespace)
    return None if data is None else parse_remembered(data.get(KEY), cluster_uid)


def look_up_memory(
    reader: KubernetesReader, namespace: str, cluster_uid: Present[str] | Unknown
) -> Remembered | Unknown:
    """Read what the cluster remembers of its project, where nothing else identifies the project; Unknown when that
    cannot be read, whatever why."""
    if isinstance(cluster_uid, Unknown):
        return cluster_uid
    try:
        return observe_remembered(reader, namespace, cluster_uid.value) or NOTHING
    except ApiError as error:
        return Unknown(str(error))


def _config_map(reader: KubernetesReader, namespace: str) -> dict[str, str] | None:
    """The data of the product's ConfigMap; None when it is not there. Raises an ApiError."""
    try:
        body = reader.get(f"/api/v1/namespaces/{segment(namespace)}/configmaps/{CONFIG_MAP}").body
        return decoder(_ConfigMap).decode(body).data or {}
    except NotFound:
        return None
    except ValueError as error:
        raise Broken(f"ConfigMap {namespace}/{CONFIG_MAP} could not be read: {error}") from error


def server_time(answer: Answer) -> datetime:
    """The API server's clock, to the second, in UTC. Raises Broken when the answer carries no ``Date``."""
    try:
        return parsedate_to_datetime(answer.headers["date"]).astimezone(UTC)
    except (KeyError, ValueError, OverflowError) as error:
        raise Broken("the Kubernetes API server's answer has no usable Date header; is that a proxy?") from error
