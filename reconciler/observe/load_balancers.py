"""Load balancers and certificates of the project, read into values of the snapshot.

``LeftBehind`` decides whether load balancers have to be listed though no Service has or wants one. Fields with a
default are those that the API's document does not require of an answer."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

import msgspec
from msgspec.structs import asdict

from actuators.http.errors import ApiError
from actuators.http.hetzner import HetznerReader
from desired.annotations.choices import Algorithm, Protocol
from desired.load_balancers.ownership import may_stay_behind
from desired.model.load_balancer import (
    Attachment,
    Certificate,
    CloudBalancer,
    Health,
    HealthCheck,
    HttpCheck,
    HttpOptions,
    IpTarget,
    Issuance,
    IssuanceError,
    Listener,
    LoadBalancer,
    SelectorTarget,
    ServerTarget,
    Target,
    ipv6_of,
)
from desired.model.snapshot import Snapshot
from desired.section import Section
from reconciler.observe.catalogue import Moment, TypeShape, type_of
from reconciler.observe.hetzner import PagesOf

_SHARED = 256
"""Lists of targets that are remembered from one reading to the next."""
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
    interval_s: int = msgspec.field(name="interval")
    timeout_s: int = msgspec.field(name="timeout")
    retries: int
    http: _HttpCheck | None = None


class _Http(msgspec.Struct, gc=False):
    cookie_name: str
    cookie_lifetime_s: int = msgspec.field(name="cookie_lifetime")
    timeout_idle_s: int = msgspec.field(name="timeout_idle")
    sticky_sessions: bool
    certificates: list[int] | None = None
    redirect_http: bool | None = None


class ServiceShape(msgspec.Struct, gc=False):
    """A service of a load balancer."""

    port: int = msgspec.field(name="listen_port")
    destination_port: int
    protocol: Protocol
    proxyprotocol: bool
    health_check: _HealthCheck
    http: _Http | None = None


def listener_of(service: ServiceShape) -> Listener:
    """The service as a Listener. Raises ValueError for one that lacks what its protocol needs."""
    return Listener(**{**asdict(service), "health_check": _health_check(service), "http": _http(service)})


def _http(service: ServiceShape) -> HttpOptions | None:
    http, protocol = service.http, service.protocol
    if protocol is Protocol.TCP:
        return None
    if http is None:
        raise ValueError(f"port {service.port} speaks {protocol}, and there is nothing about that")
    if protocol is Protocol.HTTPS and (http.certificates is None or http.redirect_http is None):
        raise ValueError(f"port {service.port} speaks https, and its certificates or its redirect are missing")
    read = {"certificates": tuple(sorted(http.certificates or ())), "redirect_http": http.redirect_http is True}
    return HttpOptions(**{**asdict(http), **read})


def _health_check(service: ServiceShape) -> HealthCheck:
    check = service.health_check
    if check.protocol is Protocol.HTTPS:  # to the API that is http with tls
        raise ValueError(f"the health check of port {service.port} speaks https, which the API does not know")
    http = _http_check(service) if check.protocol is Protocol.HTTP else None
    return HealthCheck(**{**asdict(check), "http": http})


def _http_check(service: ServiceShape) -> HttpCheck:
    http = service.health_check.http
    if http is None:
        raise ValueError(f"the health check of port {service.port} speaks http, and there is nothing about that")
    codes = _STATUS_CODES if http.status_codes is None else tuple(http.status_codes)
    read = {"domain": http.domain or "", "response": http.response or "", "status_codes": codes}
    return HttpCheck(**{**asdict(http), **read})


class LeftBehind:
    """Whether load balancers have to be listed though no Service has or wants one: some may wait for their Service, or
    for their deletion, and the Service of one may have vanished since it was listed. A list once at the start of a
    process, and after each time that another one led, finds them."""

    def __init__(self, *, looks_first: bool = False) -> None:
        """``looks_first``: whether nothing is known at first, so that one list is worth its call."""
        self._looks_first = self._may_be = looks_first

    @property
    def may_be(self) -> bool:
        """Whether there may be any."""
        return self._may_be

    def saw(self, snapshot: Snapshot) -> None:
        """Take note of a reading. What was not read, or is incomplete, says nothing."""
        balancers = snapshot.load_balancers
        if balancers is None:
            return
        if may_stay_behind(snapshot):
            self._may_be = True
        elif balancers.is_whole:
            self._may_be = False

    def forget(self) -> None:
        """Another process was leading meanwhile, and may have released some."""
        self._may_be = self._looks_first


class _Address(msgspec.Struct, gc=False):
    ip: str | None
    dns_ptr: str | None
    """Null and an empty text both say that there is no pointer, which is what a desired value of "" means."""
    id: int | None = None
    """Of the Primary IP; null where Hetzner manages the address, and not there before October 2026."""


class _PublicNet(msgspec.Struct, gc=False):
    enabled: bool
    ipv4: _Address
    ipv6: _Address


class _PrivateNet(msgspec.Struct, gc=False):
    network: int
    ip: str


class _Location(msgspec.Struct, gc=False):
    name: str
    network_zone: str


class _Protection(msgspec.Struct, gc=False):
    delete: bool


class _Algorithm(msgspec.Struct, gc=False):
    type: Algorithm


class _Server(msgspec.Struct, gc=False):
    id: int
    ip: str | None = None


class _Ip(msgspec.Struct, gc=False):
    ip: str


class _Selector(msgspec.Struct, gc=False):
    selector: str


class _HealthStatus(msgspec.Struct, gc=False, frozen=True):
    listen_port: int = 0
    status: str = ""


class _Resolved(msgspec.Struct, gc=False):
    health_status: list[_HealthStatus] | None = None


class _Target(msgspec.Struct, gc=False):
    type: str
    server: _Server | None = None
    ip: _Ip | None = None
    label_selector: _Selector | None = None
    use_private_ip: bool | None = None
    health_status: list[_HealthStatus] | None = None
    """Health decides on nothing: without it, it is not known."""
    targets: list[_Resolved] | None = None
    """What a selector has found."""


class _Balancer(msgspec.Struct, gc=False):
    id: int
    name: str
    public_net: _PublicNet
    private_net: list[_PrivateNet]
    location: _Location
    load_balancer_type: TypeShape
    protection: _Protection
    labels: dict[str, str]
    created: Moment
    services: list[ServiceShape]
    targets: list[_Target]
    algorithm: _Algorithm


def observe_load_balancers(reader: HetznerReader) -> tuple[Section[int, CloudBalancer], ApiError | None]:
    """All load balancers of the project, and the error that made the list incomplete."""
    return BALANCERS.observe(reader)


def _balancer(found: _Balancer) -> CloudBalancer:
    public = found.public_net
    listeners = {service.port: listener_of(service) for service in found.services}
    if len(listeners) < len(found.services):
        raise ValueError("it has two services on one port")
    targets, members = _shared(tuple(map(_target, found.targets)))
    attachments = tuple(Attachment(place.network, IPv4Address(place.ip)) for place in found.private_net)
    return CloudBalancer(
        id=found.id,
        spec=LoadBalancer(
            name=found.name,
            labels=found.labels,
            type=found.load_balancer_type.name,
            location=found.location.name,
            zone=found.location.network_zone,
            algorithm=found.algorithm.type,
            public_interface=public.enabled,
            primary_ipv4=public.ipv4.id,
            primary_ipv6=public.ipv6.id,
            attachment=attachments[0] if attachments else None,
            ipv4_rdns=public.ipv4.dns_ptr or "",
            ipv6_rdns=public.ipv6.dns_ptr or "",
            listeners=listeners,
            targets=members,
        ),
        type=type_of(found.load_balancer_type),
        created_at=found.created,
        ipv4=IPv4Address(public.ipv4.ip) if public.ipv4.ip else None,
        ipv6=IPv6Address(public.ipv6.ip) if public.ipv6.ip else None,
        attachments=attachments,
        targets=targets,
        is_protected=found.protection.delete,
        checks=_checks(targets, found.targets, listeners),
        unanswered=_unanswered(found.targets, listeners),
    )


def _shared(targets: tuple[Target, ...]) -> tuple[tuple[Target, ...], frozenset[Target]]:
    """The targets in their order and as a set: load balancers with the same ones, of which there may be hundreds with
    hundreds of targets each, have the same two."""
    return _both(targets, ipv6_of(targets))


@lru_cache(maxsize=_SHARED)
def _both(
    targets: tuple[Target, ...],
    _ipv6: tuple[str | None, ...],  # equal targets may differ in it
) -> tuple[tuple[Target, ...], frozenset[Target]]:
    return targets, frozenset(targets)


_server_target = lru_cache(maxsize=64 * _SHARED)(ServerTarget)
"""One value for a server, however many load balancers lead to it."""


def _target(found: _Target) -> Target:
    """One target. Raises ValueError for one of a later version of the API, and for one that lacks what it is."""
    match found:
        case _Target(type="server", server=_Server() as server, use_private_ip=bool() as is_private):
            return _server_target(server.id, is_private, server.ip if server.ip and ":" in server.ip else None)
        case _Target(type="ip", ip=_Ip() as address):
            return IpTarget(str(ip_address(address.ip)))
        case _Target(
            type="label_selector", label_selector=_Selector() as found_by, use_private_ip=bool() as is_private
        ):
            return SelectorTarget(found_by.selector, is_private)
    raise ValueError(f"a target of type {found.type!r} is not known, or lacks what it needs")


def _checks(
    targets: Sequence[Target], found: Sequence[_Target], listeners: Mapping[int, Listener]
) -> Mapping[Target, Mapping[int, Health]]:
    """Target → port → health. Targets with equal results have the same mapping."""
    known: dict[object, Mapping[int, Health]] = {}
    checks: dict[Target, Mapping[int, Health]] = {}
    for target, said in zip(targets, found, strict=True):
        results = _said_of(said)
        if results not in known:
            known[results] = _results(results, listeners)
        checks[target] = known[results]
    return checks


def _said_of(target: _Target) -> tuple[tuple[_HealthStatus, ...], ...]:
    """What the health checks say of the target, of a selector for each server that it has found."""
    places = [target] if target.targets is None else target.targets
    return tuple(tuple(place.health_status or ()) for place in places)


def _unanswered(found: Sequence[_Target], ports: Iterable[int]) -> frozenset[int]:
    """The ports that are known to be unhealthy everywhere."""
    results = {said for target in found for said in _said_of(target)}
    by_place = [{status.listen_port: status.status for status in said} for said in results]
    return frozenset(port for port in ports if all(words.get(port) == Health.UNHEALTHY.value for words in by_place))


def _results(places: Sequence[Sequence[_HealthStatus]], ports: Iterable[int]) -> Mapping[int, Health]:
    """Port → health. Of a selector that of everything it has found: unhealthy by one, healthy by all."""
    by_place = [{status.listen_port: status.status for status in place} for place in places]
    return {port: _health([by_port.get(port) for by_port in by_place]) for port in ports}


def _health(words: Sequence[str | None]) -> Health:
    if Health.UNHEALTHY.value in words:
        return Health.UNHEALTHY
    return Health.HEALTHY if words and all(word == Health.HEALTHY.value for word in words) else Health.UNKNOWN


BALANCERS = PagesOf("/load_balancers", "load balancer", _Balancer, _balancer)
"""How load balancers are read."""


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


def observe_certificates(reader: HetznerReader) -> tuple[Section[int, Certificate], ApiError | None]:
    """All certificates of the project, and the error that made the list incomplete."""
    return CERTIFICATES.observe(reader)


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
        error=_reason(status.error) if status and status.error else None,
    )


def _reason(error: _Error) -> IssuanceError:
    return IssuanceError(error.code, error.message)


_ISSUANCE = {issuance.value: issuance for issuance in Issuance if issuance is not Issuance.OTHER}

CERTIFICATES = PagesOf("/certificates", "certificate", _Certificate, _certificate)
"""How certificates are read."""
