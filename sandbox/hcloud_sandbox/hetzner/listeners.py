"""Services of a load balancer: from a request body to the object that the API answers.

It has fields, defaults and ranges; rules between several services of one load balancer are in ``balancer_services``.
Source: Hetzner Cloud API, load balancers.

Known differences: for ``http`` and ``https`` the port listened on is 80 or 443 and the destination 80 when left out;
http options of a ``tcp`` service are ignored where they ask for nothing; a change of the destination leaves the port of
the health check as it is.
"""

import re

from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import invalid_text
from hcloud_sandbox.hetzner.objects import health_check_template, http_check_template, listener_template
from hcloud_sandbox.hetzner.store import Object

PROTOCOLS = ("tcp", "http", "https")
PORTS = range(1, 65536)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_DEFAULT_DESTINATION = 80
_COOKIE_NAME = range(1, 101)
_COOKIE_LIFETIME_S = range(30, 86401)
_TIMEOUT_IDLE_S = range(30, 301)
_INTERVAL_S = range(3, 61)
_TIMEOUT_S = range(1, 61)
_RETRIES = range(1, 6)
_DOMAIN = range(129)
_PATH = range(1, 257)
_RESPONSE = range(257)
_MAX_STATUS_CODES = 20
_HTTP_MEMBERS = ("cookie_name", "cookie_lifetime", "timeout_idle", "sticky_sessions")
_REQUIRED_AT_CREATION = {"http": _HTTP_MEMBERS, "https": (*_HTTP_MEMBERS, "certificates", "redirect_http")}
_STATUS_CODE = re.compile(r"[0-9?*]{1,3}")


def new_service(body: Body) -> Object:
    """The service that the body describes, with everything that it leaves out. Raises ``invalid_input``."""
    protocol = body.choice("protocol", PROTOCOLS, None)
    is_tcp = protocol == "tcp"
    listen_port = body.number("listen_port", PORTS, _DEFAULT_PORTS.get(protocol))
    destination_port = body.number("destination_port", PORTS, None if is_tcp else _DEFAULT_DESTINATION)
    blank: Object = {
        "protocol": protocol,
        "listen_port": listen_port,
        "destination_port": destination_port,
        "proxyprotocol": False,
        "health_check": health_check_template(destination_port),
    }
    return changed_service(blank, body)


def require_complete(body: Body) -> None:
    """Raises ``invalid_input`` for a service in a creation without a member of ``http`` that the document requires
    there."""
    protocol = body.choice("protocol", PROTOCOLS, None)
    http = body.object("http")
    for name in _REQUIRED_AT_CREATION.get(protocol, ()):
        if not http.has(name):
            raise http.wrong(name, "is missing")


def changed_service(present: Object, body: Body, *, drops_https: bool = True) -> Object:
    """The service with what the body says; what it leaves out stays, but for what only https has, where that is dropped
    with https. Raises ``invalid_input``."""
    protocol = body.choice("protocol", PROTOCOLS, present["protocol"])
    service: Object = {
        "protocol": protocol,
        "listen_port": present["listen_port"],
        "destination_port": body.number("destination_port", PORTS, present["destination_port"]),
        "proxyprotocol": body.boolean("proxyprotocol", default=present["proxyprotocol"]),
        "health_check": _health_check(present["health_check"], body.object("health_check")),
    }
    http = present.get("http", listener_template())
    if protocol == "tcp" or (protocol == "http" and drops_https):
        http = {**http, "certificates": [], "redirect_http": False}
    http = _http(http, body.object("http"), protocol)
    return service if protocol == "tcp" else {**service, "http": http}


def ports_of(service: Object) -> set[int]:
    """The ports that a service takes: a redirect from http to https takes port 80 as well."""
    return {service["listen_port"], *([80] if redirects(service) else [])}


def redirects(service: Object) -> bool:
    """Whether the service redirects http to https."""
    return bool(service.get("http", {}).get("redirect_http"))


def _http(present: Object, body: Body, protocol: str) -> Object:
    http = {
        "cookie_name": body.limited_text("cookie_name", _COOKIE_NAME, present["cookie_name"]),
        "cookie_lifetime": body.number("cookie_lifetime", _COOKIE_LIFETIME_S, present["cookie_lifetime"]),
        "timeout_idle": body.number("timeout_idle", _TIMEOUT_IDLE_S, present["timeout_idle"]),
        "certificates": body.integers("certificates") if body.has("certificates") else present["certificates"],
        "redirect_http": body.boolean("redirect_http", default=present["redirect_http"]),
        "sticky_sessions": body.boolean("sticky_sessions", default=present["sticky_sessions"]),
    }
    if protocol == "https" and not http["certificates"]:
        raise invalid_text("at least one certificate is required for protocol https")
    if protocol != "https" and http["certificates"]:
        raise body.wrong("certificates", "is only available for protocol https")
    if protocol != "https" and http["redirect_http"]:
        raise body.wrong("redirect_http", "is only available for protocol https")
    if protocol == "tcp" and body.boolean("sticky_sessions", default=False):
        raise body.wrong("sticky_sessions", "is only available for protocols http and https")
    return http


def _health_check(present: Object, body: Body) -> Object:
    body.only("protocol", "port", "interval", "timeout", "retries", "http")
    protocol = body.choice("protocol", ("tcp", "http"), present["protocol"])
    check = {
        "protocol": protocol,
        "port": body.number("port", PORTS, present["port"]),
        "interval": body.number("interval", _INTERVAL_S, present["interval"]),
        "timeout": body.number("timeout", _TIMEOUT_S, present["timeout"]),
        "retries": body.number("retries", _RETRIES, present["retries"]),
    }
    http = _http_check(present.get("http", http_check_template()), body.object("http"))
    return check if protocol == "tcp" else {**check, "http": http}


def _http_check(present: Object, body: Body) -> Object:
    body.only("domain", "path", "response", "status_codes", "tls")
    domain = body.limited_text("domain", _DOMAIN, "") if body.has("domain") else None
    check: Object = {
        # Null is a value here: no host header.
        "domain": domain if body.sent("domain") else present["domain"],
        "path": body.limited_text("path", _PATH, present["path"]),
        "response": body.limited_text("response", _RESPONSE, present["response"]),
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
