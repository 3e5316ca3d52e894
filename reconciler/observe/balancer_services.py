"""What a load balancer listens on, as Hetzner says it: its services, in the vendor's word.

The three fields with a default are those that the API's document does not require of an answer.
"""

import msgspec

from desired.annotations.choices import Protocol
from desired.load_balancer import HealthCheck, HttpCheck, HttpOptions, Listener

_STATUS_CODES = ("2??", "3??")
"""What the API's document names as the default."""


class _HttpCheck(msgspec.Struct, gc=False):
    domain: str | None
    path: str
    response: str | None = None
    status_codes: list[str] | None = None
    tls: bool = False


class _HealthCheck(msgspec.Struct, gc=False):
    protocol: Protocol
    port: int
    interval: int
    timeout: int
    retries: int
    http: _HttpCheck | None = None


class _Http(msgspec.Struct, gc=False):
    cookie_name: str
    cookie_lifetime: int
    timeout_idle: int
    sticky_sessions: bool
    certificates: list[int] | None = None
    redirect_http: bool | None = None


class ServiceShape(msgspec.Struct, gc=False):
    """A service of a load balancer."""

    listen_port: int
    destination_port: int
    protocol: Protocol
    proxyprotocol: bool
    health_check: _HealthCheck
    http: _Http | None = None


def listener_of(service: ServiceShape) -> Listener:
    """The service as a listener of the core. Raises ValueError for one that lacks what its protocol needs."""
    return Listener(
        port=service.listen_port,
        destination_port=service.destination_port,
        protocol=service.protocol,
        health_check=_health_check(service),
        proxyprotocol=service.proxyprotocol,
        http=_http(service),
    )


def _http(service: ServiceShape) -> HttpOptions | None:
    http, protocol = service.http, service.protocol
    if protocol is Protocol.TCP:
        return None
    if http is None:
        raise ValueError(f"port {service.listen_port} speaks {protocol}, and there is nothing about that")
    if protocol is Protocol.HTTPS and (http.certificates is None or http.redirect_http is None):
        raise ValueError(f"port {service.listen_port} speaks https, and its certificates or its redirect are missing")
    return HttpOptions(
        cookie_name=http.cookie_name,
        cookie_lifetime_s=http.cookie_lifetime,
        timeout_idle_s=http.timeout_idle,
        certificates=tuple(sorted(http.certificates or ())),
        redirect_http=http.redirect_http is True,
        sticky_sessions=http.sticky_sessions,
    )


def _health_check(service: ServiceShape) -> HealthCheck:
    check = service.health_check
    if check.protocol is Protocol.HTTPS:  # to the API that is http with tls (W-13)
        raise ValueError(f"the health check of port {service.listen_port} speaks https, which the API does not know")
    return HealthCheck(
        protocol=check.protocol,
        port=check.port,
        interval_s=check.interval,
        timeout_s=check.timeout,
        retries=check.retries,
        http=_http_check(service) if check.protocol is Protocol.HTTP else None,
    )


def _http_check(service: ServiceShape) -> HttpCheck:
    http = service.health_check.http
    if http is None:
        raise ValueError(f"the health check of port {service.listen_port} speaks http, and there is nothing about that")
    return HttpCheck(
        domain=http.domain or "",
        path=http.path,
        response=http.response or "",
        status_codes=_STATUS_CODES if http.status_codes is None else tuple(http.status_codes),
        tls=http.tls,
    )
