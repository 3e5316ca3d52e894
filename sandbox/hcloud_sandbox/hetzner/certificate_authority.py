"""The certificate authority behind managed certificates: what it issues, and its refusals.

It has the errors of an issuance and the authority's own limits, which outlive the certificates. Source: Hetzner Cloud
API, error codes and certificates; the limits are those that Let's Encrypt publishes.

Known differences: a registered domain is taken to be the last two labels of a name; each certificate that fails with an
error of the authority counts as one failed authorization of each of its domains; the staging authority has no limits.
"""

from collections.abc import Callable, Iterable, Mapping

from hcloud_sandbox.hetzner.errors import ApiError

MESSAGES = {
    "caa_record_does_not_allow_ca": "CAA record does not allow certificate authority",
    "ca_dns_validation_failed": "Certificate Authority: DNS validation failed",
    "ca_too_many_authorizations_failed_recently": "Certificate Authority: Too many authorizations failed recently",
    "ca_too_many_certificates_issued_for_registered_domain": (
        "Certificate Authority: Too many certificates issued for registered domain"
    ),
    "ca_too_many_duplicate_certificates": "Certificate Authority: Too many duplicate certificates",
    "could_not_verify_domain_delegated_to_zone": "Could not verify domain delegated to zone",
    "dns_zone_not_found": "DNS zone not found",
    "dns_zone_is_secondary_zone": "DNS zone is a secondary zone",
}
"""Code → message of an issuance that failed."""

FAILURES_AN_HOUR = 5
DUPLICATES_A_WEEK = 5
CERTIFICATES_A_WEEK = 50
_HOUR_S = 3600.0
_WEEK_S = 7 * 24 * _HOUR_S


class CertificateAuthority:
    """Issues certificates of one project. ``errors`` has domains that it refuses: domain → code."""

    def __init__(self, now: Callable[[], float], errors: Mapping[str, str]) -> None:
        self._now = now
        self._errors = errors
        self._failed: list[tuple[float, str]] = []
        """When which domain failed."""
        self._issued: list[tuple[float, frozenset[str]]] = []
        """When which domains were issued together."""

    def issue(self, domain_names: Iterable[str], *, staging: bool) -> None:
        """Issue a certificate. Raises ApiError with one of the codes in ``MESSAGES``, or one of ``errors``."""
        domains = frozenset(domain_names)
        if not staging:
            self._check_limits(domains)
        for domain in sorted(domains & self._errors.keys()):
            code = self._errors[domain]
            if not staging and code.startswith("ca"):
                self._failed += [(self._now(), failed) for failed in domains]
            raise _failure(code)
        if not staging:
            self._issued.append((self._now(), domains))

    def _check_limits(self, domains: frozenset[str]) -> None:
        now = self._now()
        failed = [domain for at, domain in self._failed if at > now - _HOUR_S]
        if any(failed.count(domain) >= FAILURES_AN_HOUR for domain in domains):
            raise _failure("ca_too_many_authorizations_failed_recently")
        issued = [names for at, names in self._issued if at > now - _WEEK_S]
        if issued.count(domains) >= DUPLICATES_A_WEEK:
            raise _failure("ca_too_many_duplicate_certificates")
        registered = [{_registered(name) for name in names} for names in issued]
        for domain in {_registered(name) for name in domains}:
            if sum(domain in names for names in registered) >= CERTIFICATES_A_WEEK:
                raise _failure("ca_too_many_certificates_issued_for_registered_domain")


def _failure(code: str) -> ApiError:
    # It is the error of an action, so its status is nobody's business.
    return ApiError(code, MESSAGES.get(code, code), status=422)


def _registered(domain: str) -> str:
    return ".".join(domain.split(".")[-2:])
