"""What runs beside us in the cluster, as far as it may be another cloud controller."""

from dataclasses import dataclass


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
