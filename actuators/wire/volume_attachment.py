"""VolumeAttachments of the cluster: only the Node that each names is looked at."""

import msgspec

from actuators.wire.objects import ListOf, Name
from desired.model.snapshot import VolumeAttachment


class _Spec(msgspec.Struct, gc=False):
    node: str = msgspec.field(name="nodeName")


class _Attachment(msgspec.Struct, gc=False):
    metadata: Name
    spec: _Spec


VOLUME_ATTACHMENTS = ListOf(
    "/apis/storage.k8s.io/v1/volumeattachments",
    "VolumeAttachment",
    _Attachment,
    lambda found: VolumeAttachment(found.metadata.name, found.spec.node),
    identity=Name,
    key=lambda attachment: attachment.name,
)
