"""Services of a load balancer: fields, defaults and ranges, ports that collide, certificates, limits by type.

Source: Hetzner Cloud API, load balancers and load balancer actions. Known differences: for ``http`` and ``https`` the
port listened on is 80 or 443 and the destination 80 when left out; http options of a ``tcp`` service are ignored where
they ask for nothing; a change of the destination leaves the port of the health check as it is; an unknown certificate
is ``not_found``; a certificate counts once towards the limit, however many services have it.
"""

import re
from collections.abc import Sequence

from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field, invalid_text, limit_exceeded
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.store import Object
from hcloud_sandbox.shapes import Rule, a, shape

_PROTOCOLS = ("tcp", "http", "https")
_PORTS = range(1, 65536)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_DEFAULT_DESTINATION = 80
_HTTP: Object = {
    "cookie_name": "HCLBSTICKY",
    "cookie_lifetime": 300,
    "timeout_idle": 50,
    "certificates": [],
    "redirect_http": False,
    "sticky_sessions": False,
}
"""What a service over http or https has beside its protocol and ports, and what it is when left out."""
_HTTP_CHECK: Object = {"domain": "", "path": "/", "response": "", "status_codes": ["2??", "3??"], "tls": False}
_HTTPS_ONLY = ("certificates", "redirect_http")
_REQUIRED_AT_CREATION = {"http": tuple(name for name in _HTTP if name not in _HTTPS_ONLY), "https": tuple(_HTTP)}
_MAX_STATUS_CODES = 20
_STATUS_CODE = re.compile(r"[0-9?*]{1,3}")
_ADDED, _UPDATED = 412, 422
"""The status of a refusal for a port that is taken, by what was asked for."""


def _check_template(port: int) -> Object:
    """The health check that the API gives a service without one."""
    return {"protocol": "tcp", "port": port, "interval": 15, "timeout": 10, "retries": 3}


def with_service(project: Project, balancer: Object, body: Body) -> Object:
    """The load balancer with one service more. Raises ApiError."""
    service = _new(body)
    _check(project, balancer, service, _ADDED)
    if len(balancer["services"]) >= balancer["load_balancer_type"]["max_services"]:
        raise limit_exceeded("load_balancer_service_limit")
    return {**balancer, "services": [*balancer["services"], service]}


def with_changed_service(project: Project, balancer: Object, body: Body) -> Object:
    """The load balancer with another service at the listen port that the body names. Raises ApiError."""
    present = _find(balancer, body)
    service = _changed(present, body, drops_https=project.options.https_left_behind == "dropped")
    _check(project, _without(balancer, present), service, _UPDATED)
    return {**balancer, "services": [service if other is present else other for other in balancer["services"]]}


def without_service(balancer: Object, body: Body) -> Object:
    """The load balancer without the service at the listen port that the body names. Raises ``not_found``."""
    return _without(balancer, _find(balancer, body))


def created_with_services(project: Project, balancer: Object, services: Sequence[Body]) -> Object:
    """The load balancer with the services of its creation. Raises ApiError."""
    choice = project.options.services_at_creation
    if services and choice == "refused":
        raise invalid_field("services", "is not allowed")
    for service in services:
        if choice == "complete":
            required = _REQUIRED_AT_CREATION.get(service.choice("protocol", _PROTOCOLS), ())
            service.object("http").require(*required)
        balancer = with_service(project, balancer, service)
    return balancer


def assigned_certificates(balancer: Object) -> set[int]:
    """The ids of the certificates that the load balancer's services have."""
    listed = (service["http"]["certificates"] for service in balancer["services"] if "http" in service)
    return {certificate_id for certificates in listed for certificate_id in certificates}


def complete_service(given: object, where: str) -> Object:
    """A service of a world file, which gives its listen port. Raises ValueError."""
    blank = {"protocol": "tcp", "listen_port": None, "destination_port": None, "proxyprotocol": False}
    rules: dict[str, Rule] = {"listen_port": a(int, "a port")}
    service = shape(given, {**blank, "health_check": {}, "http": {}}, where, rules)
    service["destination_port"] = service["destination_port"] or service["listen_port"]
    http, check = service.pop("http"), service["health_check"]
    if service["protocol"] != "tcp":
        service["http"] = shape(http, _HTTP, f"{where} http")
    check = shape(check, {**_check_template(service["destination_port"]), "http": {}}, f"{where} health_check")
    http = check.pop("http")
    if check["protocol"] == "http":
        check["http"] = shape(http, _HTTP_CHECK, f"{where} health_check http")
    return {**service, "health_check": check}


def _new(body: Body) -> Object:
    protocol = body.choice("protocol", _PROTOCOLS)
    listen_port = body.integer("listen_port", _PORTS, _DEFAULT_PORTS.get(protocol))
    destination_port = body.integer("destination_port", _PORTS, None if protocol == "tcp" else _DEFAULT_DESTINATION)
    ports: Object = {"listen_port": listen_port, "destination_port": destination_port}
    blank = {"protocol": protocol, **ports, "proxyprotocol": False, "health_check": _check_template(destination_port)}
    return _changed(blank, body, drops_https=True)


def _changed(present: Object, body: Body, *, drops_https: bool) -> Object:
    """The service with what the body says; what it leaves out stays, but for what only https has, where that is dropped
    with https. Raises ``invalid_input``."""
    protocol = body.choice("protocol", _PROTOCOLS, present["protocol"])
    service: Object = {
        "protocol": protocol,
        "listen_port": present["listen_port"],
        "destination_port": body.integer("destination_port", _PORTS, present["destination_port"]),
        "proxyprotocol": body.boolean("proxyprotocol", default=present["proxyprotocol"]),
        "health_check": _health_check(present["health_check"], body.object("health_check")),
    }
    http = present.get("http", _HTTP)
    if protocol == "tcp" or (protocol == "http" and drops_https):
        http = {**http, "certificates": [], "redirect_http": False}
    http = _http(http, body.object("http"), protocol)
    return service if protocol == "tcp" else {**service, "http": http}


def _http(present: Object, body: Body, protocol: str) -> Object:
    http = {
        "cookie_name": body.text("cookie_name", range(1, 101), present["cookie_name"]),
        "cookie_lifetime": body.integer("cookie_lifetime", range(30, 86_401), present["cookie_lifetime"]),
        "timeout_idle": body.integer("timeout_idle", range(30, 301), present["timeout_idle"]),
        "certificates": body.integers("certificates") if body.has("certificates") else present["certificates"],
        "redirect_http": body.boolean("redirect_http", default=present["redirect_http"]),
        "sticky_sessions": body.boolean("sticky_sessions", default=present["sticky_sessions"]),
    }
    if protocol == "https" and not http["certificates"]:
        raise invalid_text("at least one certificate is required for protocol https")
    for name in _HTTPS_ONLY:
        if protocol != "https" and http[name]:
            raise body.wrong(name, "is only available for protocol https")
    if protocol == "tcp" and body.boolean("sticky_sessions"):
        raise body.wrong("sticky_sessions", "is only available for protocols http and https")
    return http


def _health_check(present: Object, body: Body) -> Object:
    body.only("protocol", "port", "interval", "timeout", "retries", "http")
    protocol = body.choice("protocol", ("tcp", "http"), present["protocol"])
    check = {
        "protocol": protocol,
        "port": body.integer("port", _PORTS, present["port"]),
        "interval": body.integer("interval", range(3, 61), present["interval"]),
        "timeout": body.integer("timeout", range(1, 61), present["timeout"]),
        "retries": body.integer("retries", range(1, 6), present["retries"]),
    }
    http = _http_check(present.get("http", _HTTP_CHECK), body.object("http").only(*_HTTP_CHECK))
    return check if protocol == "tcp" else {**check, "http": http}


def _http_check(present: Object, body: Body) -> Object:
    domain = body.optional_text("domain", range(129))
    check: Object = {
        # Null is a value here: no host header.
        "domain": domain if body.sent("domain") else present["domain"],
        "path": body.text("path", range(1, 257), present["path"]),
        "response": body.text("response", range(257), present["response"]),
        "status_codes": body.texts("status_codes") if body.has("status_codes") else present["status_codes"],
        "tls": body.boolean("tls", default=present["tls"]),
    }
    if set(check["domain"] or "") & set(" %\\"):
        raise body.wrong("domain", "may not contain spaces, percent or backslash symbols")
    if " " in check["path"]:
        raise body.wrong("path", "may not contain spaces")
    if len(check["status_codes"]) > _MAX_STATUS_CODES:
        raise body.wrong("status_codes", f"must have at most {_MAX_STATUS_CODES} entries")
    if not all(_STATUS_CODE.fullmatch(code) for code in check["status_codes"]):
        raise body.wrong("status_codes", "must be status codes with ? and * as wildcards")
    return check


def _check(project: Project, others: Object, service: Object, status: int) -> None:
    """Raises what forbids the service beside those of ``others``; ``status`` is for ports that are taken."""
    _check_ports(others, service, status)
    if "http" not in service:
        return
    for certificate_id in service["http"]["certificates"]:
        certificate = project.require("certificates", certificate_id)
        issued = certificate["status"] is None or certificate["status"]["issuance"] == "completed"
        if not issued and project.options.pending_certificates == "refused":
            raise ApiError("service_error", "certificate is not issued")
    assigned = assigned_certificates(others) | set(service["http"]["certificates"])
    if len(assigned) > others["load_balancer_type"]["max_assigned_certificates"]:
        raise limit_exceeded("load_balancer_certificate_limit")


def _check_ports(others: Object, service: Object, status: int) -> None:
    """A redirect from http to https takes port 80 as well."""
    if _redirects(service) and service["listen_port"] == 80:
        raise ApiError("source_port_already_used", "port 80 is busy, redirect_http needs it", status=status)
    ports = {service["listen_port"], *([80] if _redirects(service) else [])}
    for other in others["services"]:
        if other["listen_port"] in ports:
            raise ApiError("source_port_already_used", f"port {other['listen_port']} is already used", status=status)
        if _redirects(other) and 80 in ports:
            message = "port 80 is busy, redirect_http is enabled on another service"
            raise ApiError("source_port_already_used", message, status=status)


def _redirects(service: Object) -> bool:
    return bool(service.get("http", {}).get("redirect_http"))


def _find(balancer: Object, body: Body) -> Object:
    listen_port = body.integer("listen_port", _PORTS)
    for service in balancer["services"]:
        if service["listen_port"] == listen_port:
            found: Object = service
            return found
    raise ApiError("not_found", f"service with listen port '{listen_port}' not found")


def _without(balancer: Object, service: Object) -> Object:
    return {**balancer, "services": [other for other in balancer["services"] if other is not service]}
