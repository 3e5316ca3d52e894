"""Reads and writes of the Lease for leader election (coordination.k8s.io/v1).

Who may take it, and when, is decided in ``reconciler.leader_election``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from actuators.http.decoding import decoder
from actuators.http.errors import Broken, NotFound, broken_unless_readable
from actuators.http.kubernetes import ApiAnswer, KubernetesReader, KubernetesWriter, segment

NOBODY = ""
"""The holder of a Lease that was given back."""
_MOST = 2**31 - 1
"""The largest number that the API server accepts (int32)."""


@dataclass(frozen=True, slots=True)
class LeaseClaim:
    """The claim of a Lease's holder. Two equal claims mean that it was not renewed in between.

    Times are texts: they are compared and shown, and never used in calculations, as no two machines have the same
    clock.
    """

    holder: str | None
    """The holder's identity; NOBODY when it is free, None when it cannot be read, so that it is taken."""
    duration_s: int | None
    """How long it is held without being renewed; None when it does not say so in a way that can be read."""
    acquired: str
    renewed: str
    transitions: int
    """How often it went from one holder to another; 0 when that cannot be read."""

    @property
    def shown(self) -> str:
        """The holder for people, in one line."""
        return "somebody" if self.holder is None else " ".join(self.holder.split()) or "nobody"


@dataclass(frozen=True, slots=True)
class Lease:
    """A Lease as the API server has it."""

    claim: LeaseClaim
    body: Mapping[str, Any] = field(compare=False, repr=False)
    """The whole object: what is not ours in it is written back as it was."""


class Leases:
    """One Lease of a cluster, there or not. Every call is one request."""

    def __init__(self, reader: KubernetesReader, writer: KubernetesWriter, namespace: str, name: str) -> None:
        self._reader = reader
        self._writer = writer
        self._metadata = {"name": name, "namespace": namespace}
        self._collection = _path(namespace)
        self._path = _path(namespace, name)
        self.name = f"{namespace}/{name}"

    def read(self) -> Lease | None:
        """The Lease; None when there is none. Raises an ApiError: Broken when what is there is no Lease."""
        return read_lease(self._reader, self._metadata["namespace"], self._metadata["name"])

    def create(self, claim: LeaseClaim) -> Lease:
        """The Lease as it was made with this claim. Raises an ApiError: Conflict when there is one by now."""
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": self._metadata,
            "spec": _spec(claim),
        }
        return self._written(self._writer.create(self._collection, body), claim)

    def update(self, lease: Lease, claim: LeaseClaim) -> Lease:
        """The Lease with this claim in place of ``lease``. Raises an ApiError: Conflict when it is no longer that one.

        Its uid goes along, without which the API server would make a deleted Lease anew.
        """
        metadata = {name: value for name, value in lease.body["metadata"].items() if name != "managedFields"}
        spec = lease.body.get("spec")
        body = {
            **lease.body,
            "metadata": metadata,
            "spec": {**(spec if isinstance(spec, dict) else {}), **_spec(claim)},
        }
        return self._written(self._writer.update(self._path, body), claim)

    def _written(self, answer: ApiAnswer, claim: LeaseClaim) -> Lease:
        lease = _decoded(answer, self.name)
        if lease.claim.holder != claim.holder:
            raise Broken(f"Lease {self.name}: the API server answers a write with another holder than was written")
        return lease


def read_lease(reader: KubernetesReader, namespace: str, name: str) -> Lease | None:
    """One Lease; None when there is none. Raises an ApiError: Broken when what is there is no Lease."""
    try:
        answer = reader.get(_path(namespace, name))
    except NotFound:
        return None
    return _decoded(answer, f"{namespace}/{name}")


def _path(namespace: str, name: str = "") -> str:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{segment(namespace)}/leases"
    return f"{leases}/{segment(name)}" if name else leases


def _decoded(answer: ApiAnswer, name: str) -> Lease:
    with broken_unless_readable(f"Lease {name} cannot be read: the answer is no JSON"):
        body: Any = decoder(object).decode(answer.body)
    metadata = body.get("metadata") if isinstance(body, dict) and body.get("kind") == "Lease" else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("resourceVersion"), str):
        raise Broken(f"Lease {name} cannot be read: the answer is no Lease with a resourceVersion")
    return Lease(_claim(body.get("spec")), body)


def micro_time(moment: datetime) -> str:
    """A MicroTime: UTC with exactly six digits after the point, without which the API server refuses it."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _claim(spec: Any) -> LeaseClaim:
    """The claim of any ``spec``. What makes no sense in it stands for a holder who is not known, and never for none."""
    fields = {} if spec is None else spec
    if not isinstance(fields, dict):
        return LeaseClaim(None, None, repr(spec), "", 0)
    holder = fields.get("holderIdentity", NOBODY)
    return LeaseClaim(
        holder=NOBODY if holder is None else holder if isinstance(holder, str) else None,
        duration_s=_number(fields.get("leaseDurationSeconds")) or None,
        acquired=_text(fields.get("acquireTime")),
        renewed=_text(fields.get("renewTime")),
        transitions=_number(fields.get("leaseTransitions")),
    )


def _number(value: Any) -> int:
    return value if type(value) is int and 0 <= value <= _MOST else 0


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _spec(claim: LeaseClaim) -> dict[str, Any]:
    return {
        "holderIdentity": claim.holder,
        "leaseDurationSeconds": claim.duration_s,
        "acquireTime": claim.acquired,
        "renewTime": claim.renewed,
        "leaseTransitions": min(claim.transitions, _MOST),
    }
