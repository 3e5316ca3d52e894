"""Single objects of the API server, its clock, and the workloads that may be another cloud controller, read into values
of the snapshot."""

from datetime import datetime

import msgspec

from actuators.config_maps import read_data
from actuators.http.decoding import decoder
from actuators.http.errors import ApiError, Throttled, Transient
from actuators.http.kubernetes import KubernetesReader
from actuators.wire.objects import server_time
from actuators.wire.volume_attachment import VOLUME_ATTACHMENTS
from actuators.wire.workload import workloads
from desired.model.remembered import Remembered
from desired.model.snapshot import VolumeAttachment
from desired.model.workload import Workload
from desired.names import IDENTITY_NAMESPACE
from desired.plan.controller_record import record_in
from desired.section import Present, Section, Unknown


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


def observe_volume_attachments(reader: KubernetesReader) -> Section[str, VolumeAttachment]:
    """All VolumeAttachments; a section that says why where they cannot be read, as without the permission."""
    try:
        return VOLUME_ATTACHMENTS.observe(reader)[0]
    except ApiError as error:
        return Section.missing(str(error))


def look_up_memory(
    reader: KubernetesReader, namespace: str, cluster_uid: Present[str] | Unknown
) -> Remembered | Unknown:
    """Read what the cluster remembers of its project, where nothing else identifies the project; Unknown when that
    cannot be read, whatever why."""
    if isinstance(cluster_uid, Unknown):
        return cluster_uid
    try:
        found = record_in(read_data(reader, namespace) or {}, cluster_uid)
    except ApiError as error:
        return Unknown(str(error))
    return found if isinstance(found, Unknown) else found.value.project


def observe_controllers(reader: KubernetesReader, namespace: str) -> Section[str, Workload]:
    """The Deployments and DaemonSets of a namespace, in two lists. Never raises an ApiError.

    A list that may not be read, or that is none, is unreadable under its own name, and so is an object that cannot be
    decoded. The section is incomplete only where looking again may help.
    """
    found: dict[str, Workload] = {}
    unreadable: dict[str, str] = {}
    gap: str | None = None
    for kind in workloads(namespace):
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
