"""Issuing managed certificates of the Hetzner simulator: success, failure, retries, limits."""

from typing import Any

import pytest

from hcloud_sandbox.hetzner.certificate_authority import MESSAGES
from sandbox_support.hetzner_spec import HetznerApi

MANAGED = {"name": "new", "type": "managed", "domain_names": ["example.com", "*.example.com"]}
PENDING = {"issuance": "pending", "renewal": "unavailable", "error": None}
ISSUED = {"issuance": "completed", "renewal": "unavailable", "error": None}
DAY_S = 86_400


def certificate_of(api: HetznerApi, certificate_id: int = 1) -> dict[str, Any]:
    """The certificate."""
    found: dict[str, Any] = api.get(f"/certificates/{certificate_id}")["certificate"]
    return found


def order(api: HetznerApi, name: str, *domains: str, **fields: Any) -> dict[str, Any]:
    """Ask for a managed certificate and wait: its status."""
    body = {"name": name, "type": "managed", "domain_names": list(domains), **fields}
    created = api.accepted("POST", "/certificates", body)["certificate"]
    api.clock.advance(1)
    status: dict[str, Any] = certificate_of(api, created["id"])["status"]
    return status


def test_managed_certificate_is_issued_by_its_action() -> None:
    """It is pending without a body until the action ends, and valid for 90 days then."""
    api = HetznerApi(action_s_by_command={"create_certificate": 120.0})
    body = api.accepted("POST", "/certificates", MANAGED)
    assert (body["action"]["command"], body["action"]["status"]) == ("create_certificate", "running")
    assert body["action"]["resources"] == [{"id": 1, "type": "certificate"}]
    pending = body["certificate"]
    assert (pending["type"], pending["status"], pending["domain_names"]) == (
        "managed",
        PENDING,
        ["example.com", "*.example.com"],
    )
    blank = ("certificate", "fingerprint", "not_valid_before", "not_valid_after")
    assert [pending[name] for name in blank] == [None] * 4

    api.clock.advance(60)
    assert certificate_of(api) == pending
    api.clock.advance(60)

    issued = certificate_of(api)
    assert issued["status"] == ISSUED
    assert issued["certificate"].startswith("-----BEGIN CERTIFICATE-----\n")
    assert len(issued["fingerprint"].split(":")) == 32
    assert (issued["not_valid_before"], issued["not_valid_after"]) == ("2023-11-14T22:15:20Z", "2024-02-12T22:15:20Z")
    assert api.get("/certificates/1/actions")["actions"][0]["status"] == "success"


def test_certificate_without_time_is_issued_at_once() -> None:
    """With no time to take, the first answer already has the certificate."""
    body = HetznerApi(action_s=0.0).accepted("POST", "/certificates", MANAGED)

    assert (body["action"]["status"], body["certificate"]["status"]) == ("success", ISSUED)


@pytest.mark.parametrize("code", sorted(MESSAGES))
def test_failed_issuance(code: str) -> None:
    """An issuance fails with the authority's reason, in the action and in the certificate, and can be retried."""
    api = HetznerApi(issuance_errors={"bad.example.com": code})
    api.accepted("POST", "/certificates", {**MANAGED, "domain_names": ["example.com", "bad.example.com"]})
    api.clock.advance(1)
    error = {"code": code, "message": MESSAGES[code]}

    assert api.get("/actions/1")["action"]["error"] == error
    failed = certificate_of(api)
    assert failed["status"] == {"issuance": "failed", "renewal": "unavailable", "error": error}
    assert failed["certificate"] is None

    retry = api.accepted("POST", "/certificates/1/actions/retry")["action"]
    assert (retry["command"], certificate_of(api)["status"]) == ("issue_certificate", PENDING)
    api.clock.advance(1)
    assert certificate_of(api)["status"]["issuance"] == "failed"


def test_issuance_that_a_fault_fails() -> None:
    """A fault has code and message of its own; a retry without it succeeds."""
    api = HetznerApi()
    fault = {
        "kind": "action_fails",
        "command": "create_certificate",
        "code": "ca_dns_validation_failed",
        "message": "x",
    }
    api.simulator.set_faults([fault])

    status = order(api, "new", "example.com")

    error = {"code": "ca_dns_validation_failed", "message": "x"}
    assert status == {"issuance": "failed", "renewal": "unavailable", "error": error}
    assert api.done("POST", "/certificates/1/actions/retry")["status"] == "success"
    assert certificate_of(api)["status"] == ISSUED


@pytest.mark.parametrize(
    "world",
    [
        pytest.param({"type": "uploaded"}, id="uploaded"),
        pytest.param({"type": "managed"}, id="issued"),
        pytest.param({"type": "managed", "status": {"issuance": "pending"}}, id="pending"),
    ],
)
def test_only_failures_are_retried(world: dict[str, Any]) -> None:
    """The message is the one that the service sends."""
    refused = HetznerApi({"certificates": [{"id": 1, **world}]}).send("POST", "/certificates/1/actions/retry")

    assert (refused.status, refused.body["error"]["code"]) == (422, "unsupported_error")
    assert refused.body["error"]["message"] == "certificate not retryable"


def test_failed_renewal_is_retried() -> None:
    """A renewal that failed leaves the certificate as it is; a retry replaces it."""
    error = {"code": "ca_dns_validation_failed", "message": "no"}
    status = {"issuance": "completed", "renewal": "failed", "error": error}
    world = {"certificates": [{"id": 1, "type": "managed", "status": status}]}
    api = HetznerApi(world)
    before = certificate_of(api)
    api.simulator.set_faults([{"kind": "action_fails", "code": error["code"], "message": "no"}])
    api.done("POST", "/certificates/1/actions/retry")
    assert certificate_of(api) == before

    api.done("POST", "/certificates/1/actions/retry")

    assert certificate_of(api)["status"] == {"issuance": "completed", "renewal": "scheduled", "error": None}
    assert certificate_of(api)["certificate"] is not None


def test_duplicates_are_limited() -> None:
    """The authority issues the same names five times a week, however often the certificates were deleted."""
    api = HetznerApi()
    for number in range(5):
        assert order(api, f"n{number}", "a.example.com", "b.example.com") == ISSUED
        api.send("DELETE", f"/certificates/{number + 1}")

    refused = order(api, "n5", "b.example.com", "a.example.com")

    assert refused["error"]["code"] == "ca_too_many_duplicate_certificates"
    assert order(api, "other", "a.example.com") == ISSUED
    assert order(api, "staged", "a.example.com", "b.example.com", labels={"HC-Use-Staging-CA": "true"}) == ISSUED
    api.clock.advance(7 * DAY_S)
    assert order(api, "later", "a.example.com", "b.example.com") == ISSUED


def test_failures_are_limited() -> None:
    """After five failed validations of a domain within an hour the authority does not even try."""
    api = HetznerApi(issuance_errors={"bad.example.com": "ca_dns_validation_failed"})
    order(api, "bad", "bad.example.com")
    for _ in range(4):
        api.done("POST", "/certificates/1/actions/retry")
    assert certificate_of(api)["status"]["error"]["code"] == "ca_dns_validation_failed"

    api.done("POST", "/certificates/1/actions/retry")

    assert certificate_of(api)["status"]["error"]["code"] == "ca_too_many_authorizations_failed_recently"
    assert order(api, "good", "good.example.com") == ISSUED
    api.clock.advance(3600)
    api.done("POST", "/certificates/1/actions/retry")
    assert certificate_of(api)["status"]["error"]["code"] == "ca_dns_validation_failed"


def test_zone_errors_do_not_count_as_failed_validations() -> None:
    """A missing zone is found out before the authority is asked."""
    api = HetznerApi(issuance_errors={"bad.example.com": "dns_zone_not_found"})
    order(api, "bad", "bad.example.com")
    for _ in range(6):
        api.done("POST", "/certificates/1/actions/retry")

    assert certificate_of(api)["status"]["error"]["code"] == "dns_zone_not_found"


def test_registered_domains_are_limited() -> None:
    """The authority issues so many certificates a week below one registered domain."""
    api = HetznerApi()
    for number in range(50):
        assert order(api, f"n{number}", f"n{number}.example.com") == ISSUED
        api.clock.advance(200)

    refused = order(api, "n50", "n50.example.com")

    assert refused["error"]["code"] == "ca_too_many_certificates_issued_for_registered_domain"
    assert order(api, "other", "n50.example.org") == ISSUED


def test_managed_certificates_an_hour() -> None:
    """The API itself takes 20 orders an hour."""
    api = HetznerApi()
    for number in range(20):
        order(api, f"n{number}", f"n{number}.example.com")
    refused = api.send("POST", "/certificates", MANAGED)

    assert (refused.status, refused.body["error"]["code"]) == (403, "resource_limit_exceeded")
    assert refused.body["error"]["message"] == "cannot create more than 20 managed certificates per hour"
    api.clock.advance(3600)
    api.accepted("POST", "/certificates", MANAGED)
