"""Writes to the product's ConfigMap: the approval of a hold, its use, what the cluster remembers of its project, what
a controller has suspended, and which log-ins Robot refused."""

from datetime import datetime

from actuators.http import robot_refusals
from actuators.http.errors import Conflict, Denied, NotFound
from actuators.http.kubernetes import KubernetesWriter, segment
from desired.model.remembered import KEY, Remembered, format_remembered
from desired.names import CONFIG_MAP
from desired.plan import suspended
from desired.plan.approval import Approval, format_approval


def approve(writer: KubernetesWriter, namespace: str, approval: Approval) -> None:
    """Record ``approval``; the ConfigMap is created when it is not there. Raises an ApiError; Denied has the remedy for
    who may not create one, as it comes with the chart and approvers need no such right."""
    key, value = format_approval(approval)
    try:
        _set(writer, namespace, key, value)
    except NotFound:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": CONFIG_MAP, "namespace": namespace},
            "data": {key: value},
        }
        try:
            writer.create(_collection(namespace), body)
        except Conflict:  # somebody else approved something in between
            _set(writer, namespace, key, value)
        except Denied as error:
            raise Denied(
                f"ConfigMap {namespace}/{CONFIG_MAP} is not there, and you may not create it: have it made once by"
                f" somebody who may, kubectl -n {namespace} create configmap {CONFIG_MAP}, and approve again",
                status=error.status,
                code=error.code,
            ) from error


def use_up(writer: KubernetesWriter, namespace: str, approval: Approval, now: datetime) -> None:
    """Mark ``approval`` as used before what it lets through is applied: it counts once, whatever happens next."""
    key, value = format_approval(approval.used(now))
    _set(writer, namespace, key, value)


def remember(writer: KubernetesWriter, namespace: str, remembered: Remembered, cluster_uid: str) -> None:
    """Write what a cluster remembers of its project; what else is in the ConfigMap stays. Raises NotFound when there is
    no ConfigMap, as creating one takes a right that nothing else needs, and other ApiErrors."""
    _set(writer, namespace, KEY, format_remembered(remembered, cluster_uid))


def trace_suspended(writer: KubernetesWriter, namespace: str, trace: str | None) -> None:
    """Write which changes this controller has suspended, or take that away with None. Raises NotFound when there is no
    ConfigMap, and other ApiErrors."""
    _set(writer, namespace, suspended.KEY, trace)


def note_refused_logins(writer: KubernetesWriter, namespace: str, refused: str) -> None:
    """Write which log-ins Robot refused, for the next process. Raises NotFound when there is no ConfigMap, and other
    ApiErrors."""
    _set(writer, namespace, robot_refusals.KEY, refused)


def _set(writer: KubernetesWriter, namespace: str, key: str, value: str | None) -> None:
    """Write one key of the ConfigMap, or take it away with None; its other keys stay. Raises an ApiError."""
    writer.patch(f"{_collection(namespace)}/{CONFIG_MAP}", {"data": {key: value}})


def _collection(namespace: str) -> str:
    return f"/api/v1/namespaces/{segment(namespace)}/configmaps"
