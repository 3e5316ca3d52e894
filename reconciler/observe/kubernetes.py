"""Single objects of the API server, its clock, and the workloads that may be another cloud controller, read into values
of the snapshot."""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, ClassVar

import msgspec

from actuators import config_maps
from actuators.http.decoding import decoder
from actuators.http.errors import ApiError, Throttled, Transient
from actuators.http.kubernetes import KubernetesReader, segment
from desired.model.key import Key, ObjectKind
from desired.model.remembered import ANCHOR, NOTHING, Remembered
from desired.model.snapshot import Workload
from desired.names import CONFIG_MAP, IDENTITY_NAMESPACE
from desired.section import Present, Section, Unknown
from reconciler.observe.kubernetes_lists import ListOf, Named, NamespacedName, ObjectList, server_time


class _Identified(msgspec.Struct):
    class _Uid(msgspec.Struct):
        uid: str

    metadata: _Uid


def observe_cluster_uid(reader: KubernetesReader) -> Present[str] | Unknown:
    """The cluster's identity: the UID of namespace ``kube-system``. Unknown when it cannot be read, whatever why."""
    try:
        return observe_identity(reader)[0]
    except ApiError as error:
        return Unknown(str(error))


def observe_identity(reader: KubernetesReader) -> tuple[Present[str] | Unknown, datetime]:
    """The same with the API server's time, in one request. Raises an ApiError when there is no answer."""
    answer = reader.get(f"/api/v1/namespaces/{IDENTITY_NAMESPACE}")
    try:
        return Present(decoder(_Identified).decode(answer.body).metadata.uid), server_time(answer)
    except ValueError as error:
        return Unknown(str(error)), server_time(answer)


def look_up_memory(
    reader: KubernetesReader, namespace: str, cluster_uid: Present[str] | Unknown
) -> Remembered | Unknown:
    """Read what the cluster remembers of its project, where nothing else identifies the project; Unknown when that
    cannot be read, whatever why."""
    if isinstance(cluster_uid, Unknown):
        return cluster_uid
    try:
        data = observe_config_map(reader, namespace) or {}
    except ApiError as error:
        return Unknown(str(error))
    return ANCHOR.read(data.get(ANCHOR.key), cluster_uid.value) or NOTHING


def observe_config_map(reader: KubernetesReader, namespace: str, name: str = CONFIG_MAP) -> Mapping[str, str] | None:
    """The data of one of the product's ConfigMaps; None when it is not there. Raises an ApiError."""
    found = config_maps.read(reader, namespace, name)
    return None if found is None else found.data


class _Container(msgspec.Struct, gc=False):
    image: str = ""


class _PodSpec(msgspec.Struct, gc=False):
    containers: list[_Container] | None = None


class _Template(msgspec.Struct, gc=False):
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)


class _Spec(msgspec.Struct, gc=False):
    template: _Template


class _Deployed(msgspec.Struct, gc=False):
    ready: int = msgspec.field(default=0, name="readyReplicas")


class _Scheduled(msgspec.Struct, gc=False):
    ready: int = msgspec.field(default=0, name="numberReady")


class _DeploymentName(NamespacedName, gc=False):
    kind: ClassVar[str] = "Deployment"

    @property
    def key(self) -> str:
        return Key(ObjectKind.DEPLOYMENT, f"{self.namespace}/{self.name}")


class _DaemonSetName(NamespacedName, gc=False):
    kind: ClassVar[str] = "DaemonSet"

    @property
    def key(self) -> str:
        return Key(ObjectKind.DAEMON_SET, f"{self.namespace}/{self.name}")


class _Deployment(msgspec.Struct, gc=False):
    metadata: _DeploymentName
    spec: _Spec
    status: _Deployed = msgspec.field(default_factory=_Deployed)


class _DaemonSet(msgspec.Struct, gc=False):
    metadata: _DaemonSetName
    spec: _Spec
    status: _Scheduled = msgspec.field(default_factory=_Scheduled)


def observe_controllers(reader: KubernetesReader, namespace: str) -> Section[str, Workload]:
    """The Deployments and DaemonSets of a namespace, in two lists. Never raises an ApiError.

    A list that may not be read, or that is none, is unreadable under its own name, and so is an object that cannot be
    decoded. The section is incomplete only where looking again may help.
    """
    found: dict[str, Workload] = {}
    unreadable: dict[str, str] = {}
    gap: str | None = None
    for kind in _lists(namespace):
        try:
            section, _ = kind.observe(reader)
        except (Transient, Throttled) as error:
            gap = str(error)
            break  # an API that has just failed is not asked for more
        except ApiError as error:
            unreadable[kind.path] = str(error)
            continue
        found |= section.items
        unreadable |= section.unreadable
        gap = gap or section.why_incomplete
    return Section(found, complete=gap is None, why_incomplete=gap, unreadable=unreadable)


def _workload(found: _Deployment | _DaemonSet) -> Workload:
    meta, containers = found.metadata, found.spec.template.spec.containers or ()
    images = tuple(container.image for container in containers)
    return Workload(meta.kind, meta.namespace, meta.name, found.status.ready, images)


@cache
def _lists(namespace: str) -> tuple[ListOf[Any, Workload], ...]:
    """How both kinds are read; a run looks into one namespace, time and again."""
    path = f"/apis/apps/v1/namespaces/{segment(namespace)}"
    return (
        ListOf(
            f"{path}/deployments",
            "Deployment",
            _Deployment,
            _workload,
            whole=ObjectList[_Deployment],
            name=Named[_DeploymentName],
            key=lambda workload: workload.key,
        ),
        ListOf(
            f"{path}/daemonsets",
            "DaemonSet",
            _DaemonSet,
            _workload,
            whole=ObjectList[_DaemonSet],
            name=Named[_DaemonSetName],
            key=lambda workload: workload.key,
        ),
    )
