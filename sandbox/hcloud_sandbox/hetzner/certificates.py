"""Certificates: uploaded ones, and managed ones with their issuance.

Source: Hetzner Cloud API, certificates; the hourly limit was seen on the live API. Known differences: nothing is
renewed by itself, and a renewal fails only in a world file; domain names need not be in a zone that anybody hosts, but
for ``issuance_errors``; a managed certificate that a world calls pending stays so, for a world has no running actions.
"""

import re
from collections.abc import Mapping
from typing import Any

from hcloud_sandbox.exchange import Response
from hcloud_sandbox.hetzner.actions import Action, format_time
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.certificate_authority import CertificateAuthority
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field, limit_exceeded
from hcloud_sandbox.hetzner.load_balancer_services import assigned_certificates
from hcloud_sandbox.hetzner.pem import is_private_key, made_up_certificate, read_certificate
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.resource import Resource, route
from hcloud_sandbox.hetzner.store import Object, View, fresh_copy
from hcloud_sandbox.shapes import Rule, one_of, shape

MANAGED_AN_HOUR = 20
_HOUR_S = 3600.0
_VALID_S = 90 * 24 * _HOUR_S
_TYPES = ("uploaded", "managed")
_STAGING_LABEL = "HC-Use-Staging-CA"
_DOMAIN = re.compile(r"(?=.{1,253}$)(\*\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}", re.IGNORECASE)
_NOT_ISSUED: Object = dict.fromkeys(("certificate", "not_valid_before", "not_valid_after", "fingerprint"))
_PENDING: Object = {"issuance": "pending", "renewal": "unavailable", "error": None}


class Certificates(Resource):
    """Certificates of both types."""

    kind = "certificates"
    filters = ("type",)
    waits = True

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self._authority = CertificateAuthority(project.clock.timestamp, project.options.issuance_errors)
        self._managed_at: list[float] = []
        """When managed certificates were asked for."""

    def template(self, object_id: int, created: str) -> Object:
        """An uploaded certificate."""
        return {
            "id": object_id,
            "name": f"certificate-{object_id}",
            "labels": {},
            "type": "uploaded",
            "certificate": None,
            "created": created,
            "not_valid_before": created,
            "not_valid_after": "2036-01-01T00:00:00Z",
            "domain_names": ["example.com"],
            "fingerprint": None,
            "status": None,
            "used_by": [],
        }

    def rules(self) -> Mapping[str, Rule]:
        """Who uses it follows from the load balancers."""
        return {"type": one_of(*_TYPES), "used_by": lambda *_: []}

    def complete(self, given: Object, where: str) -> Object:
        """A managed one is issued already, unless its status says otherwise."""
        certificate = super().complete(given, where)
        if certificate["type"] == "uploaded":
            return certificate
        issuance: Mapping[str, Rule] = {"issuance": one_of("pending", "completed", "failed")}
        status = shape(given.get("status", {}), {**_PENDING, "issuance": "completed"}, f"{where} status", issuance)
        missing = {} if status["issuance"] == "completed" else {**_NOT_ISSUED, **_only(given, _NOT_ISSUED)}
        return {**certificate, "status": status, **missing}

    def render(self, view: View, stored: Object, *, live: bool = True) -> Object:  # noqa: ARG002
        """With the load balancers that use it."""
        return fresh_copy(stored) | {"used_by": _users_of(view, stored["id"])}

    @route("POST /certificates")
    def create(self, body: Body) -> Response:
        """An uploaded one at once, a managed one with the action that issues it."""
        name, labels = self.checked_name(body), body.labels()
        is_managed = body.choice("type", _TYPES, _TYPES[0]) == "managed"
        fields = self._managed(body) if is_managed else _uploaded(body)
        certificate = self.new(name=name, labels=labels, **fields)
        action = self._issue("create_certificate", certificate) if is_managed else None
        return self.answer(certificate, 201, action=action)

    def check_unused(self, present: Object) -> None:
        """One that a service uses stays."""
        if _users_of(self.store.truth(), present["id"]):
            raise ApiError(self.project.options.certificate_in_use_code, "certificate still in use")

    @route("POST /certificates/{id}/actions/retry")
    def retry(self, _body: Body, certificate_id: int) -> Response:
        """Of a managed one whose issuance or renewal failed."""
        certificate = self.free(certificate_id)
        status = certificate["status"] or {}
        failed = [step for step in ("issuance", "renewal") if status.get(step) == "failed"]
        if not failed:
            raise ApiError("unsupported_error", "certificate not retryable")
        pending = {**status, **dict.fromkeys(failed, "pending"), "error": None}
        self.store.change("certificates", certificate_id, status=pending)
        return self.project.answer(201, action=self._issue("issue_certificate", {**certificate, "status": pending}))

    def _managed(self, body: Body) -> Object:
        domain_names = body.texts("domain_names")
        if not domain_names:
            raise invalid_field("domain_names", "is missing")
        for domain in domain_names:
            if not _DOMAIN.fullmatch(domain):
                raise invalid_field("domain_names", f"'{domain}' is no domain name")
        now = self.project.clock.timestamp()
        self._managed_at = [at for at in self._managed_at if at > now - _HOUR_S]
        if len(self._managed_at) >= MANAGED_AN_HOUR:
            message = f"cannot create more than {MANAGED_AN_HOUR} managed certificates per hour"
            raise limit_exceeded("managed_certificate_limit", message)
        self._managed_at.append(now)
        return {**_NOT_ISSUED, "type": "managed", "domain_names": domain_names, "status": _PENDING}

    def _issue(self, command: str, certificate: Object) -> Action:
        """Start the action that issues a pending certificate, or renews one."""
        staging = certificate["labels"].get(_STAGING_LABEL) == "true"
        object_id, status = certificate["id"], certificate["status"]

        def effect() -> None:
            self._authority.issue(certificate["domain_names"], staging=staging)
            now = self.project.clock.timestamp()
            text, fingerprint = made_up_certificate(f"{object_id} at {now}")
            self.store.change(
                "certificates",
                object_id,
                status=_ended(status, "completed", "scheduled", None),
                certificate=text,
                fingerprint=fingerprint,
                not_valid_before=format_time(now),
                not_valid_after=format_time(now + _VALID_S),
            )

        def failed(error: Object) -> None:
            self.store.change("certificates", object_id, status=_ended(status, "failed", "failed", error))

        return self.start(command, object_id, effect=effect, on_failure=failed)


def _uploaded(body: Body) -> Object:
    text = body.text("certificate")
    try:
        read = read_certificate(text)
    except ValueError as error:
        raise invalid_field("certificate", str(error)) from error
    if not is_private_key(body.text("private_key")):
        raise invalid_field("private_key", "no private key in PEM format")
    return {
        "type": "uploaded",
        "certificate": text,
        "not_valid_before": format_time(read.not_valid_before.timestamp()),
        "not_valid_after": format_time(read.not_valid_after.timestamp()),
        "domain_names": list(read.domain_names),
        "fingerprint": read.fingerprint,
    }


def _ended(status: Object, issuance: str, renewal: str, error: Object | None) -> Object:
    """The status after what was pending has ended so."""
    ends = {"issuance": issuance, "renewal": renewal}
    return {**{step: ends[step] if status[step] == "pending" else status[step] for step in ends}, "error": error}


def _users_of(view: View, certificate_id: int) -> list[Object]:
    """The load balancers with a service that has the certificate, as in its ``used_by``."""
    return [
        {"id": balancer["id"], "type": "load_balancer"}
        for balancer in view.all("load_balancers")
        if certificate_id in assigned_certificates(balancer)
    ]


def _only(given: Object, names: Any) -> Object:
    return {name: value for name, value in given.items() if name in names}
