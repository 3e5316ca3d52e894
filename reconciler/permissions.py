"""Asks the API server, at the start, whether all that a run needs is allowed (Kubernetes, SelfSubjectAccessReview)."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from actuators.clients.kubernetes import KubernetesWriter
from actuators.errors import ApiError
from desired.permissions import Permission

_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_SHOWN = 3


class _Status(msgspec.Struct):
    allowed: bool


class _Review(msgspec.Struct):
    status: _Status


def missing_permissions(
    writer: KubernetesWriter, needed: Mapping[Permission, Sequence[str]], namespace: str
) -> Iterator[str]:
    """A line for each right that is missing, with what needs it and the remedy, in the order of ``needed``, as soon as
    it is known: one is asked for after the other, beside a first pass that has more need of the API server.

    ``namespace`` is the Lease's. A review changes nothing, whoever leads. The last line may say that the rest could not
    be asked for: then each of them shows when it is made use of.
    """
    for permission, uses in needed.items():
        try:
            is_allowed = _is_allowed(writer, permission, namespace)
        except ApiError as error:
            yield not_asked(error)
            return
        if not is_allowed:
            yield _line(permission, uses, namespace)


def not_asked(why: Exception) -> str:
    """The line that says that rights could not be asked for."""
    return f"whether all that is needed is allowed in the cluster could not be asked: {why}"


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
        return msgspec.json.decode(answer, type=_Review).status.allowed
    except ValueError:
        return True


def _line(permission: Permission, uses: Sequence[str], namespace: str) -> str:
    where = f" in namespace {namespace}" if permission.is_beside_lease else ""
    more = f" and {len(uses) - _SHOWN} more" if len(uses) > _SHOWN else ""
    needs = "needs" if len(uses) == 1 else "need"
    return f"not allowed to {permission}{where}, which {', '.join(uses[:_SHOWN])}{more} {needs}: see deploy/rbac"
