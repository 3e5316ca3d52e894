"""The controller's ConfigMap, as tests fill it, and as they tell its writes from others."""

import json
from collections.abc import Mapping
from typing import Any

from actuators.approvals import ApprovalUses
from actuators.config_maps import ConfigMap, compare_and_set
from actuators.http.kubernetes import KubernetesReader, KubernetesWriter
from desired.names import CONFIG_MAP
from desired.plan.controller_record import RECORD, ControllerRecord
from desired.plan.grants import Here
from desired.section import Present
from hcloud_sandbox.exchange import Exchange
from reconciler.observe.kubernetes import observe_identity
from reconciler.report.published import STATUS

NAMESPACE = "kube-system"


def uses_of(reader: KubernetesReader, writer: KubernetesWriter, by: str = "", *, creates: bool = False) -> ApprovalUses:
    """The uses of a new process."""
    config_map = ConfigMap.of(reader, NAMESPACE, writer, by)
    return ApprovalUses(config_map, reader, NAMESPACE, creates=creates)


def begin_record(reader: KubernetesReader, writer: KubernetesWriter) -> None:
    """As the first pass does that holds something."""
    uid, now = observe_identity(reader)
    uses = uses_of(reader, writer, creates=True)
    assert isinstance(uses.known(Present(ControllerRecord()), Here(now, uid)), Present)


def put(
    reader: KubernetesReader, writer: KubernetesWriter, values: Mapping[str, str | None], name: str = CONFIG_MAP
) -> None:
    """Let these keys have these values."""
    compare_and_set(reader, writer, NAMESPACE, lambda _: values, name)


def begins_record(entry: Exchange) -> bool:
    """Whether the request writes a record without any use, and nothing else."""
    data = _data_of(entry)
    return data.keys() == {RECORD.key} and not json.loads(data[RECORD.key] or "{}").get("uses")


def publishes(entry: Exchange) -> bool:
    """Whether the request writes the status, and nothing else."""
    return _data_of(entry).keys() == {STATUS.key}


def _data_of(entry: Exchange) -> Mapping[str, Any]:
    data = entry.body.get("data") if isinstance(entry.body, dict) and "/configmaps" in entry.path else None
    return data if isinstance(data, dict) else {}
