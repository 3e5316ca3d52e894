"""Permissions in the cluster that each mode needs, and the check of them at the start, so that a missing one is noticed
at once.

The permissions to write follow from the table of kinds.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from actuators.http.decoding import decoder
from actuators.http.kubernetes import KubernetesWriter
from desired.model.settings import Controller, Settings
from desired.names import APPROVALS_CONFIG_MAP, CONFIG_MAP, IDENTITY_NAMESPACE
from desired.plan.kinds import KINDS, Api, ChangeKind
from desired.syntax.bounds import listed


@dataclass(frozen=True, slots=True, order=True)
class RbacRule:
    """One permission, in the words of RBAC."""

    verb: str
    resource: str
    """With a subresource, ``nodes/status``."""
    group: str = ""
    name: str = ""
    """The one object that it is needed for; "" for all."""
    is_beside_lease: bool = False
    """Whether it is granted in the Lease's namespace alone."""

    def __str__(self) -> str:
        """``patch nodes/status``, as people say it."""
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {resource}" + (f" {self.name}" if self.name else "")


_RIVALS = ("deployments", "daemonsets")


def needed(settings: Settings, *, acts: bool, watches: bool, lease: str | None) -> Mapping[RbacRule, tuple[str, ...]]:
    """Permission → what needs it, in a few words each. ``acts``: for more than a dry run; ``watches``: for a loop;
    ``lease``: the name of the Lease, None without one."""
    found: dict[RbacRule, list[str]] = {}
    for permission, use in (*_reads(settings), *_stands_by(settings, watches=watches, lease=lease)):
        found.setdefault(permission, []).append(use)
    if acts:
        for permission, use in _writes(settings):
            found.setdefault(permission, []).append(use)
    return {permission: tuple(dict.fromkeys(uses)) for permission, uses in found.items()}


def _reads(settings: Settings) -> Iterator[tuple[RbacRule, str]]:
    yield RbacRule("list", "nodes"), "everything"
    yield RbacRule("get", "namespaces", name=IDENTITY_NAMESPACE), "every write to the cloud"
    yield RbacRule("get", "configmaps", name=CONFIG_MAP, is_beside_lease=True), "the record"
    yield RbacRule("get", "configmaps", name=APPROVALS_CONFIG_MAP, is_beside_lease=True), "approvals"
    for resource in _RIVALS:
        yield RbacRule("list", resource, "apps", is_beside_lease=True), "noticing HCCM"
    if settings.out_of_service:
        yield RbacRule("list", "volumeattachments", "storage.k8s.io"), ChangeKind.NODE_OUT_OF_SERVICE_TAINT
    if Controller.SERVICE in settings.controllers:
        yield RbacRule("list", "services"), "load balancers"


def _stands_by(settings: Settings, *, watches: bool, lease: str | None) -> Iterator[tuple[RbacRule, str]]:
    if lease is not None:
        for verb in ("get", "create", "update"):
            name = "" if verb == "create" else lease  # a creation cannot be granted for one name
            yield RbacRule(verb, "leases", "coordination.k8s.io", name, is_beside_lease=True), "leading"
    if watches:
        yield RbacRule("watch", "nodes"), "noticing Nodes before the next interval"
        if Controller.SERVICE in settings.controllers:
            yield RbacRule("watch", "services"), "noticing Services before the next interval"


def _writes(settings: Settings) -> Iterator[tuple[RbacRule, str]]:
    for verb in ("create", "patch"):
        yield RbacRule(verb, "events"), "events"
    yield RbacRule("patch", "configmaps", name=CONFIG_MAP, is_beside_lease=True), "the record and the status"
    for kind in KINDS.values():
        if kind.controller in settings.controllers:
            for call in kind.calls:
                if call.api is Api.KUBERNETES:
                    yield RbacRule(call.verb, call.resource), kind.name
    if Controller.LIFECYCLE in settings.controllers:
        yield RbacRule("get", "nodes"), ChangeKind.NODE_DELETE


_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class _Status(msgspec.Struct):
    allowed: bool


class _Review(msgspec.Struct):
    status: _Status


def missing_permissions(
    writer: KubernetesWriter, needed: Mapping[RbacRule, Sequence[str]], namespace: str, stop: threading.Event
) -> Iterator[str]:
    """A line for each missing permission, with what needs it and the remedy, in the order of ``needed``, as soon as it
    is known: one is asked for after the other, beside a first pass that needs the API server more, and none once
    ``stop`` is set.

    ``namespace`` is the Lease's. A SelfSubjectAccessReview changes nothing. Raises an ApiError when a permission cannot
    be asked for: then each shows when it is used.
    """
    for permission, uses in needed.items():
        if stop.is_set():
            return
        if not _is_allowed(writer, permission, namespace):
            yield _line(permission, uses, namespace)


def _is_allowed(writer: KubernetesWriter, permission: RbacRule, namespace: str) -> bool:
    """Whether the API server grants the permission. Raises an ApiError; an answer that is no review counts as a grant,
    since only a refusal is reported."""
    resource, _, part = permission.resource.partition("/")
    attributes = {
        "verb": permission.verb,
        "group": permission.group,
        "resource": resource,
        "subresource": part,
        "name": permission.name,
        "namespace": namespace if permission.is_beside_lease else "",
    }
    spec = {"resourceAttributes": {key: value for key, value in attributes.items() if value}}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    answer = writer.create(_PATH, body).body
    try:
        return decoder(_Review).decode(answer).status.allowed
    except ValueError:
        return True


def _line(permission: RbacRule, uses: Sequence[str], namespace: str) -> str:
    where = f" in namespace {namespace}" if permission.is_beside_lease else ""
    needs = "needs" if len(uses) == 1 else "need"
    return f"not allowed to {permission}{where}, which {listed(uses)} {needs}: see deploy/rbac"
