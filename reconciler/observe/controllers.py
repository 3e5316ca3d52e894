"""Other workloads in the Lease's namespace: Deployments and DaemonSets, among which another cloud controller may be.

Nothing else depends on them, so that no failure to read them is an error.
"""

from functools import cache
from typing import Any, ClassVar

import msgspec

from actuators.http.errors import ApiError, Throttled, Transient
from actuators.http.kubernetes import KubernetesReader, segment
from desired.model.snapshot import Workload
from desired.section import Section
from reconciler.observe.kubernetes_lists import ListOf, Named, NamespacedName, ObjectList


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
        return f"deployment/{self.namespace}/{self.name}"


class _DaemonSetName(NamespacedName, gc=False):
    kind: ClassVar[str] = "DaemonSet"

    @property
    def key(self) -> str:
        return f"daemonset/{self.namespace}/{self.name}"


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
