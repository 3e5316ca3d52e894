"""Deployments and DaemonSets, of which one may be another cloud controller."""

from functools import cache
from typing import Any, ClassVar

import msgspec

from actuators.http.kubernetes import segment
from actuators.wire.objects import ListOf, NamespacedName
from desired.model.key import Key, ObjectKind
from desired.model.workload import OURS, Container, Workload


class _Variable(msgspec.Struct, gc=False):
    name: str = ""


class RawContainer(msgspec.Struct, gc=False):
    """A container as the API server has it."""

    name: str = ""
    image: str = ""
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[_Variable] | None = None

    @property
    def value(self) -> Container:
        words, variables = (*(self.command or ()), *(self.args or ())), (each.name for each in self.env or ())
        name = self.name if self.name == OURS else ""
        return Container(self.image, tuple(filter(None, words)), tuple(filter(None, variables)), name)


class _PodSpec(msgspec.Struct, gc=False):
    containers: list[RawContainer] | None = None


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


def _workload(found: _Deployment | _DaemonSet) -> Workload:
    meta, containers = found.metadata, found.spec.template.spec.containers or ()
    return Workload(
        meta.kind, meta.namespace, meta.name, found.status.ready, tuple(container.value for container in containers)
    )


@cache
def workloads(namespace: str) -> tuple[ListOf[Any, Workload], ...]:
    """How both kinds of a namespace are read; a run looks into one namespace, time and again."""
    path = f"/apis/apps/v1/namespaces/{segment(namespace)}"
    return (
        ListOf(
            f"{path}/deployments",
            "Deployment",
            _Deployment,
            _workload,
            identity=_DeploymentName,
            key=lambda workload: workload.key,
        ),
        ListOf(
            f"{path}/daemonsets",
            "DaemonSet",
            _DaemonSet,
            _workload,
            identity=_DaemonSetName,
            key=lambda workload: workload.key,
        ),
    )
