"""Certificates: uploaded ones, and managed ones with their issuance.

Source: Hetzner Cloud API, certificates; the hourly limit was seen on the live API. Known differences: nothing is
renewed by itself, and a renewal fails only in a world file; domain names need not be in a zone that anybody hosts, but
for ``issuance_errors``.
"""

import re

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.actions import Action, format_time
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.certificate_authority import CertificateAuthority
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field, limit_exceeded
from hcloud_sandbox.hetzner.naming import wanted_name, with_name_and_labels
from hcloud_sandbox.hetzner.objects import certificate_template
from hcloud_sandbox.hetzner.pem import is_private_key, made_up_certificate, read_certificate
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.rendering import users_of
from hcloud_sandbox.hetzner.store import Object

MANAGED_AN_HOUR = 20
_HOUR_S = 3600.0
_VALID_S = 90 * 24 * _HOUR_S
_TYPES = ("uploaded", "managed")
_STAGING_LABEL = "HC-Use-Staging-CA"
_DOMAIN = re.compile(r"(?=.{1,253}$)(\*\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}", re.IGNORECASE)


class Certificates:
    """The writing half of ``/certificates``."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._authority = CertificateAuthority(project.clock.timestamp, project.options.issuance_errors)
        self._managed_at: list[float] = []
        """When managed certificates were asked for."""

    def create(self, request: Request) -> Response:
        """``POST /certificates``: an uploaded one at once, a managed one with the action that issues it."""
        body = Body.of(request)
        blank = {
            **certificate_template(self._project.store.next_id("certificates"), self._project.now()),
            "name": wanted_name(self._project, "certificates", body),
            "labels": body.labels() or {},
        }
        make = self._uploaded if body.choice("type", _TYPES, _TYPES[0]) == "uploaded" else self._managed
        certificate = make(blank, body)
        self._project.store.put("certificates", certificate)
        action = None
        if certificate["type"] == "managed":
            action = self._issue("create_certificate", certificate)
        present = self._project.require("certificates", certificate["id"])
        shown = None if action is None else self._project.actions.render(action)
        return Response(201, {"certificate": self._project.shown("certificates", present), "action": shown})

    def update(self, request: Request, certificate_id: int) -> Response:
        """``PUT /certificates/{id}``: name and labels; not while it is being issued."""
        present = self._project.require_free("certificates", certificate_id)
        changed = with_name_and_labels(self._project, "certificates", present, Body.of(request))
        self._project.store.put("certificates", changed)
        return Response(200, {"certificate": self._project.shown("certificates", changed)})

    def delete(self, _request: Request, certificate_id: int) -> Response:
        """``DELETE /certificates/{id}``: of one that no service uses."""
        self._project.require_free("certificates", certificate_id)
        if users_of(self._project.store.truth(), certificate_id):
            raise ApiError(self._project.options.certificate_in_use_code, "certificate still in use")
        self._project.store.remove("certificates", certificate_id)
        return Response(204)

    def retry(self, _request: Request, certificate_id: int) -> Response:
        """``retry``: of a managed one whose issuance or renewal failed."""
        certificate = self._project.require_free("certificates", certificate_id)
        status = certificate["status"] or {}
        failed = [step for step in ("issuance", "renewal") if status.get(step) == "failed"]
        if not failed:
            raise ApiError("unsupported_error", "certificate not retryable")
        pending = {**status, **dict.fromkeys(failed, "pending"), "error": None}
        self._project.change("certificates", certificate_id, status=pending)
        action = self._issue("issue_certificate", {**certificate, "status": pending})
        return Response(201, {"action": self._project.actions.render(action)})

    def _uploaded(self, blank: Object, body: Body) -> Object:
        text = body.text("certificate")
        try:
            read = read_certificate(text)
        except ValueError as error:
            raise invalid_field("certificate", str(error)) from error
        if not is_private_key(body.text("private_key")):
            raise invalid_field("private_key", "no private key in PEM format")
        return {
            **blank,
            "type": "uploaded",
            "certificate": text,
            "not_valid_before": format_time(read.not_valid_before.timestamp()),
            "not_valid_after": format_time(read.not_valid_after.timestamp()),
            "domain_names": list(read.domain_names),
            "fingerprint": read.fingerprint,
        }

    def _managed(self, blank: Object, body: Body) -> Object:
        domain_names = body.texts("domain_names")
        if not domain_names:
            raise invalid_field("domain_names", "is missing")
        for domain in domain_names:
            if not _DOMAIN.fullmatch(domain):
                raise invalid_field("domain_names", f"'{domain}' is no domain name")
        now = self._project.clock.timestamp()
        self._managed_at = [at for at in self._managed_at if at > now - _HOUR_S]
        if len(self._managed_at) >= MANAGED_AN_HOUR:
            message = f"cannot create more than {MANAGED_AN_HOUR} managed certificates per hour"
            raise limit_exceeded(message, "managed_certificate_limit")
        self._managed_at.append(now)
        return {
            **blank,
            "type": "managed",
            "not_valid_before": None,
            "not_valid_after": None,
            "domain_names": domain_names,
            "status": {"issuance": "pending", "renewal": "unavailable", "error": None},
        }

    def _issue(self, command: str, certificate: Object) -> Action:
        """Start the action that issues a pending certificate, or renews one."""
        staging = certificate["labels"].get(_STAGING_LABEL) == "true"
        now = self._project.clock.timestamp

        def effect() -> None:
            self._authority.issue(certificate["domain_names"], staging=staging)
            text, fingerprint = made_up_certificate(f"{certificate['id']} at {now()}")
            self._project.change(
                "certificates",
                certificate["id"],
                status=_finished(certificate["status"], "completed", "scheduled", None),
                certificate=text,
                fingerprint=fingerprint,
                not_valid_before=format_time(now()),
                not_valid_after=format_time(now() + _VALID_S),
            )

        def failed(error: Object) -> None:
            status = _finished(certificate["status"], "failed", "failed", error)
            self._project.change("certificates", certificate["id"], status=status)

        resource = ("certificate", certificate["id"])
        return self._project.actions.start(command, resource, effect=effect, on_error=failed)


def _finished(status: Object, issuance: str, renewal: str, error: Object | None) -> Object:
    """The status after what was pending has ended so."""
    ends = {"issuance": issuance, "renewal": renewal}
    return {**{step: ends[step] if status[step] == "pending" else status[step] for step in ends}, "error": error}
