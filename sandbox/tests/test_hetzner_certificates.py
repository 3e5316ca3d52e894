"""Certificates of the Hetzner simulator: what is accepted, shown, changed and deleted."""

import contextlib
import ssl
from typing import Any

import pytest

from hcloud_sandbox.hetzner.pem import read_certificate
from sandbox_support.certificates import CERTIFICATE, OLD_CERTIFICATE, PRIVATE_KEY
from sandbox_support.hetzner_spec import HetznerApi

UPLOADED = {"name": "new", "certificate": CERTIFICATE, "private_key": PRIVATE_KEY}
MANAGED = {"name": "new", "type": "managed", "domain_names": ["example.com", "*.example.com"]}
DAY_S = 86_400


def certificate_of(api: HetznerApi, certificate_id: int = 1) -> dict[str, Any]:
    """The certificate."""
    found: dict[str, Any] = api.get(f"/certificates/{certificate_id}")["certificate"]
    return found


@pytest.mark.parametrize("kind", [{}, {"type": "uploaded"}])
def test_uploaded_certificate_is_there_at_once(kind: dict[str, Any]) -> None:
    """What the API shows of an uploaded certificate is read from it."""
    api = HetznerApi()
    body = api.accepted("POST", "/certificates", {**UPLOADED, **kind, "labels": {"a": "b"}})

    assert body["action"] is None
    assert body["certificate"] == certificate_of(api)
    assert body["certificate"] == {
        "id": 1,
        "name": "new",
        "labels": {"a": "b"},
        "type": "uploaded",
        "certificate": CERTIFICATE,
        "created": "2023-11-14T22:13:20Z",
        "not_valid_before": "2026-01-01T00:00:00Z",
        "not_valid_after": "2036-01-01T00:00:00Z",
        "domain_names": ["example.com", "www.example.com"],
        "fingerprint": (
            "FA:FC:F4:20:D5:66:B9:D3:46:6E:48:90:B8:FA:43:65:A8:90:BD:BB:8C:23:C4:3D:D4:25:BC:0A:EA:14:54:B0"
        ),
        "status": None,
        "used_by": [],
    }
    assert api.get("/certificates/1/actions")["actions"] == []


def test_certificate_without_alternative_names() -> None:
    """Its common name is its only domain; validity beyond 2049 is spelled differently."""
    created = HetznerApi().accepted("POST", "/certificates", {**UPLOADED, "certificate": OLD_CERTIFICATE})[
        "certificate"
    ]

    assert (created["domain_names"], created["not_valid_after"]) == (["old.example.com"], "2060-01-01T00:00:00Z")


def test_only_the_first_of_a_chain_counts() -> None:
    """The chain is kept as it was sent."""
    chain = CERTIFICATE + OLD_CERTIFICATE
    created = HetznerApi().accepted("POST", "/certificates", {**UPLOADED, "certificate": chain})["certificate"]

    assert (created["domain_names"], created["certificate"]) == (["example.com", "www.example.com"], chain)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({**UPLOADED, "name": None}, (422, "invalid_input"), id="no-name"),
        pytest.param({**UPLOADED, "name": ""}, (422, "invalid_input"), id="empty-name"),
        pytest.param({**UPLOADED, "name": "taken"}, (409, "uniqueness_error"), id="name-taken"),
        pytest.param({**MANAGED, "name": "taken"}, (409, "uniqueness_error"), id="name-of-a-managed-one-taken"),
        pytest.param({**UPLOADED, "type": "found"}, (422, "invalid_input"), id="unknown-type"),
        pytest.param({**UPLOADED, "labels": {"a b": ""}}, (422, "invalid_input"), id="bad-label"),
        pytest.param({**UPLOADED, "certificate": None}, (422, "invalid_input"), id="no-certificate"),
        pytest.param({**UPLOADED, "private_key": None}, (422, "invalid_input"), id="no-key"),
        pytest.param({**UPLOADED, "certificate": "text"}, (422, "invalid_input"), id="no-pem"),
        pytest.param({**UPLOADED, "certificate": PRIVATE_KEY}, (422, "invalid_input"), id="key-as-certificate"),
        pytest.param({**UPLOADED, "private_key": CERTIFICATE}, (422, "invalid_input"), id="certificate-as-key"),
        pytest.param(
            {**UPLOADED, "certificate": CERTIFICATE.replace("MIIB", "MIIA", 1)}, (422, "invalid_input"), id="broken"
        ),
        pytest.param({**MANAGED, "domain_names": None}, (422, "invalid_input"), id="no-domains"),
        pytest.param({**MANAGED, "domain_names": []}, (422, "invalid_input"), id="empty-domains"),
        pytest.param({**MANAGED, "domain_names": ["a b.com"]}, (422, "invalid_input"), id="space-in-a-domain"),
        pytest.param({**MANAGED, "domain_names": ["localhost"]}, (422, "invalid_input"), id="no-domain"),
        pytest.param({**MANAGED, "domain_names": ["a.*.com"]}, (422, "invalid_input"), id="star-inside"),
    ],
)
def test_refused_creations(body: dict[str, Any], expected: tuple[int, str]) -> None:
    """A refused creation leaves nothing behind."""
    api = HetznerApi({"certificates": [{"id": 1, "name": "taken"}]})

    assert api.refused("POST", "/certificates", body) == expected
    assert len(api.get("/certificates")["certificates"]) == 1


def test_damaged_certificates_are_never_a_surprise() -> None:
    """Whatever byte is wrong or missing, a certificate is read or refused."""
    der = ssl.PEM_cert_to_DER_cert(CERTIFICATE)
    cut = [der[:length] for length in range(len(der))]
    changed = [der[:at] + bytes([byte]) + der[at + 1 :] for at in range(len(der)) for byte in (0x00, 0x30, 0xFF)]
    readable = 0
    for damaged in (*cut, *changed):
        with contextlib.suppress(ValueError):
            readable += bool(read_certificate(ssl.DER_cert_to_PEM_cert(damaged)).fingerprint)

    assert 0 < readable < len(changed)


def test_update() -> None:
    """Name and labels change at once, the rest never."""
    api = HetznerApi({"certificates": [{"id": 1, "name": "a", "labels": {"a": "b"}}, {"id": 2, "name": "taken"}]})
    renamed = api.accepted("PUT", "/certificates/1", {"name": "b", "domain_names": ["x.com"]})["certificate"]
    labelled = api.accepted("PUT", "/certificates/1", {"labels": {}})["certificate"]

    assert (renamed["name"], renamed["labels"], renamed["domain_names"]) == ("b", {"a": "b"}, ["example.com"])
    assert (labelled["name"], labelled["labels"]) == ("b", {})
    assert api.refused("PUT", "/certificates/1", {"name": "taken"}) == (409, "uniqueness_error")
    assert api.refused("PUT", "/certificates/1", {"labels": {"a": "b c"}}) == (422, "invalid_input")
    assert api.refused("PUT", "/certificates/9", {"name": "x"}) == (404, "not_found")


def test_certificate_is_locked_while_it_is_issued() -> None:
    """Until its action ends it is neither changed, nor retried, nor deleted."""
    api = HetznerApi()
    api.accepted("POST", "/certificates", MANAGED)

    assert api.refused("PUT", "/certificates/1", {"name": "other"}) == (409, "conflict")
    assert api.refused("POST", "/certificates/1/actions/retry") == (409, "conflict")
    assert api.refused("DELETE", "/certificates/1") == (409, "conflict")
    api.clock.advance(1)
    api.accepted("PUT", "/certificates/1", {"name": "other"})


@pytest.mark.parametrize("code", ["service_error", "resource_in_use"])
def test_certificate_in_use_is_not_deleted(code: str) -> None:
    """It says who uses it, and goes when nobody does; the code of the refusal is an option."""
    services = [
        {"protocol": "https", "listen_port": port, "http": {"certificates": [1]}, "destination_port": 80}
        for port in (443, 444)
    ]
    world = {"certificates": [{"id": 1}], "load_balancers": [{"id": 3, "services": services}, {"id": 4}]}
    api = HetznerApi(world, certificate_in_use_code=code)
    assert certificate_of(api)["used_by"] == [{"id": 3, "type": "load_balancer"}]
    refused = api.send("DELETE", "/certificates/1")
    assert (refused.status, refused.body["error"]["code"]) == (422, code)
    assert refused.body["error"]["message"] == "certificate still in use"

    api.done("DELETE", "/load_balancers/3")

    assert certificate_of(api)["used_by"] == []
    assert api.send("DELETE", "/certificates/1").status == 204
    assert api.refused("GET", "/certificates/1") == (404, "not_found")


def test_lists() -> None:
    """Certificates are found by name, label and type."""
    world = {"certificates": [{"id": 1, "name": "a", "labels": {"k": "v"}}, {"id": 2, "name": "b", "type": "managed"}]}
    api = HetznerApi(world)

    def ids(query: str) -> list[int]:
        return [found["id"] for found in api.get(f"/certificates?{query}")["certificates"]]

    assert [ids("name=a"), ids("name=c"), ids("label_selector=k%3Dv")] == [[1], [], [1]]
    assert [ids("type=managed"), ids("type=managed&type=uploaded"), ids("sort=name:desc")] == [[2], [1, 2], [2, 1]]


@pytest.mark.parametrize("issuance", ["pending", "failed"])
def test_world_with_a_certificate_that_is_not_issued(issuance: str) -> None:
    """It has no body, and a pending one stays so, for a world has no actions."""
    api = HetznerApi({"certificates": [{"id": 1, "type": "managed", "status": {"issuance": issuance}}]})
    api.clock.advance(DAY_S)
    found = certificate_of(api)

    assert (found["status"]["issuance"], found["certificate"], found["not_valid_after"]) == (issuance, None, None)


@pytest.mark.parametrize(
    ("certificate", "word"),
    [
        ({"type": "found"}, "'found'"),
        ({"type": "managed", "status": {"issuance": "lost"}}, "'lost'"),
        ({"type": "managed", "status": {"colour": "red"}}, "'colour'"),
    ],
)
def test_refused_worlds(certificate: dict[str, Any], word: str) -> None:
    """What is wrong with a certificate is said."""
    with pytest.raises(ValueError, match="certificate 1") as refused:
        HetznerApi({"certificates": [{"id": 1, **certificate}]})

    assert word in str(refused.value)
