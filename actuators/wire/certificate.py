"""Certificates of the Hetzner Cloud API: how they are read, and the body that requests one."""

from typing import Any

import msgspec

from actuators.wire.catalogue import Moment
from actuators.wire.pages import Codec
from desired.model.load_balancer import Certificate, Issuance, IssuanceError, ManagedCertificate

_MANAGED = "managed"


class _Error(msgspec.Struct, gc=False):
    code: str = ""
    message: str = ""


class _Status(msgspec.Struct, gc=False):
    issuance: str = ""
    error: _Error | None = None


class _Certificate(msgspec.Struct, gc=False):
    id: int
    name: str
    created: Moment
    domain_names: list[str]
    labels: dict[str, str]
    type: str | None = None
    """The API's document does not require it; only a managed certificate has a status."""
    status: _Status | None = None


def _certificate(found: _Certificate) -> Certificate:
    is_managed = found.type == _MANAGED if found.type else found.status is not None
    status = (found.status or _Status()) if is_managed else None
    return Certificate(
        id=found.id,
        name=found.name,
        is_managed=is_managed,
        created_at=found.created,
        domains=tuple(sorted(found.domain_names)),
        labels=found.labels,
        issuance=_ISSUANCE.get(status.issuance, Issuance.OTHER) if status else None,
        error=IssuanceError(status.error.code, status.error.message) if status and status.error else None,
    )


_ISSUANCE = {issuance.value: issuance for issuance in Issuance if issuance is not Issuance.OTHER}

CERTIFICATES = Codec("/certificates", "certificate", _Certificate, _certificate)


def creation_body(wanted: ManagedCertificate) -> dict[str, Any]:
    """A request for a managed certificate."""
    return {
        "name": wanted.name,
        "type": _MANAGED,
        "domain_names": list(wanted.domains),
        "labels": dict(wanted.labels),
    }
