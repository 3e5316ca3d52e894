"""The record of uses of approvals, as tests begin it and tell it from other writes."""

import json

from actuators.approvals import ApprovalUses
from actuators.http.kubernetes import KubernetesReader, KubernetesWriter
from desired.plan.grants import Here
from desired.plan.uses import RECORD
from desired.section import Absent, Present
from hcloud_sandbox.exchange import Exchange
from reconciler.observe.kubernetes import observe_identity


def begin_record(reader: KubernetesReader, writer: KubernetesWriter, namespace: str = "kube-system") -> None:
    """As the first pass does that holds something."""
    uid, now = observe_identity(reader)
    assert isinstance(ApprovalUses(reader, writer, namespace, creates=True).known(Absent(), Here(now, uid)), Present)


def begins_record(entry: Exchange) -> bool:
    """Whether the request writes a record without any use, and nothing else."""
    data = entry.body.get("data") if isinstance(entry.body, dict) and "/configmaps" in entry.path else None
    return (
        isinstance(data, dict) and data.keys() == {RECORD.key} and not json.loads(data[RECORD.key] or "{}").get("uses")
    )
