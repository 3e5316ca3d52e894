"""Certificates as Hetzner says them: uploaded ones, managed ones, and how far those are."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from actuators.wire.certificate import CERTIFICATES
from desired.model.load_balancer import Certificate, Issuance, IssuanceError
from tests.support.payloads import GONE, every_path, replaced
from tests.support.rows import rows

REAL: dict[str, Any] = {
    "id": 5,
    "name": "ccm-managed-certificate-1",
    "labels": {"hcloud-ccm/service-uid": "1"},
    "type": "managed",
    "certificate": None,
    "created": "2026-01-01T00:00:00Z",
    "not_valid_before": None,
    "not_valid_after": None,
    "domain_names": ["www.example.com", "example.com"],
    "fingerprint": None,
    "status": {
        "issuance": "failed",
        "renewal": "unavailable",
        "error": {"code": "dns_zone_not_found", "message": "no such zone"},
    },
    "used_by": [{"id": 1, "type": "load_balancer"}],
}
WHOLE = Certificate(
    id=5,
    name="ccm-managed-certificate-1",
    is_managed=True,
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
    domains=("example.com", "www.example.com"),
    labels={"hcloud-ccm/service-uid": "1"},
    issuance=Issuance.FAILED,
    error=IssuanceError("dns_zone_not_found", "no such zone"),
)
UPLOADED = replace(WHOLE, is_managed=False, issuance=None, error=None)
DROPPED: dict[tuple[Any, ...], Certificate] = {
    ("type",): WHOLE,
    ("status",): replace(WHOLE, issuance=Issuance.OTHER, error=None),
    ("status", "issuance"): replace(WHOLE, issuance=Issuance.OTHER),
    ("status", "error"): replace(WHOLE, error=None),
    ("status", "error", "code"): replace(WHOLE, error=IssuanceError("", "no such zone")),
    ("status", "error", "message"): replace(WHOLE, error=IssuanceError("dns_zone_not_found", "")),
}
"""What the API's document does not require, and what it means that it is missing."""
NEEDED: set[tuple[Any, ...]] = {("id",), ("name",), ("labels",), ("created",), ("domain_names",)}
FIELDS = [path for path in every_path(REAL) if isinstance(path[-1], str) and path[0] not in ("labels", "used_by")]


def page(*certificates: Any) -> bytes:
    return json.dumps({"certificates": list(certificates), "meta": {}}).encode()


def changed(path: tuple[Any, ...], value: Any = GONE) -> dict[str, Any]:
    """The real certificate with one field dropped, or replaced."""
    return replaced(REAL, path, value)


def read(path: tuple[Any, ...], value: Any = GONE) -> Certificate | None:
    """What becomes of the real certificate with one field changed; None when it is unreadable."""
    return CERTIFICATES.decode(page(changed(path, value))).items.get(5)


def test_a_real_certificate() -> None:
    decoded = CERTIFICATES.decode(page(REAL))
    assert decoded.items == {5: WHOLE}
    assert (decoded.unreadable, decoded.nameless) == ({}, 0)


@pytest.mark.parametrize("path", [*FIELDS, ("labels",)], ids=".".join)
def test_nothing_is_lost_with_a_field(path: tuple[Any, ...]) -> None:
    assert read(path) == (None if path in NEEDED else DROPPED.get(path, WHOLE))


@rows(
    "kind status found",
    {
        "uploaded": ("uploaded", None, UPLOADED),
        "of no kind, without a status": (GONE, None, UPLOADED),
        "a kind of a later version": ("external", REAL["status"], UPLOADED),
        "managed, no status": ("managed", None, replace(WHOLE, issuance=Issuance.OTHER, error=None)),
    },
)
def test_kinds(kind: Any, status: Any, found: Certificate) -> None:
    decoded = CERTIFICATES.decode(page(replaced(changed(("type",), kind), ("status",), status)))
    assert decoded.items[5] == found


@pytest.mark.parametrize(
    ("word", "issuance"), [*((known.value, known) for known in Issuance), ("revoked", Issuance.OTHER)]
)
def test_issuances(word: str, issuance: Issuance) -> None:
    assert read(("status", "issuance"), word) == replace(WHOLE, issuance=issuance)
