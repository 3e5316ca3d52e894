"""Asks the API server, at the start, whether all that a run needs is allowed (Kubernetes, SelfSubjectAccessReview)."""

import threading
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from actuators.clients.kubernetes import KubernetesWriter
from actuators.decoding import decoder
from desired.permissions import Permission

_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_SHOWN = 3


class _Status(msgspec.Struct):
    allowed: bool


class _Review(msgspec.Struct):
    status: _Status


def missing_permissions(
    writer: KubernetesWriter, needed: Mapping[Permission, Sequence[str]], namespace: str, stop: threading.Event
) -> Iterator[str]:
    """A line for each right that is missing, with what needs it and the remedy, in the order of ``needed``, as soon as
    it is known: one is asked for after the other, beside a first pass that has more need of the API server, and none
    once ``stop`` is set.

    ``namespace`` is the Lease's. A review changes nothing, whoever leads. Raises an ApiError when a right cannot be
    asked for: then each of them shows when it is made use of.
    """
    for permission, uses in needed.items():
        if stop.is_set():
            return
        if not _is_allowed(writer, permission, namespace):
            yield _line(permission, uses, namespace)


def _is_allowed(writer: KubernetesWriter, permission: Permission, namespace: str) -> bool:
    """Raises an ApiError; an answer that is no review counts as one that allows, since only a no is worth a word."""
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


def _line(permission: Permission, uses: Sequence[str], namespace: str) -> str:
    where = f" in namespace {namespace}" if permission.is_beside_lease else ""
    more = f" and {len(uses) - _SHOWN} more" if len(uses) > _SHOWN else ""
    needs = "needs" if len(uses) == 1 else "need"
    return f"not allowed to {permission}{where}, which {', '.join(uses[:_SHOWN])}{more} {needs}: see deploy/rbac"
