"""What runs beside us in the cluster, as far as it may be another cloud controller."""

from dataclasses import dataclass

IMAGE = "hcloud-cloud-controller-manager"
"""What the images of HCCM are called, in whatever registry and under whatever prefix."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment or a DaemonSet."""

    kind: str
    """``Deployment`` or ``DaemonSet``."""
    namespace: str
    name: str
    ready: int
    """How many of its pods are ready (``readyReplicas``, ``numberReady``)."""
    images: tuple[str, ...]
    """Of its containers, as they are written; those that only run before these are left out."""

    @property
    def key(self) -> str:
        """In the snapshot and in notes: ``deployment/NAMESPACE/NAME``."""
        return f"{self.kind.lower()}/{self.namespace}/{self.name}"


def is_another_controller(workload: Workload) -> bool:
    """Whether pods of it are ready that run HCCM. The name counts anywhere in an image: mirrors put it behind a host,
    a path or a prefix, and some into the tag."""
    return workload.ready > 0 and any(IMAGE in image for image in workload.images)
