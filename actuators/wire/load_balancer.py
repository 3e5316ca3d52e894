"""Load balancers of the Hetzner Cloud API: how they are read, and the bodies that make and change them.

Fields with a default are those that the API's document does not require of an answer. What is UNMANAGED is not sent."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import msgspec
from msgspec.structs import asdict

from actuators.wire.catalogue import Moment, TypeShape, type_of
from actuators.wire.pages import Codec
from desired.annotations.choices import Algorithm, Protocol
from desired.load_balancers.listeners import api_defaults
from desired.model.load_balancer import (
    Attachment,
    CloudBalancer,
    Health,
    HealthCheck,
    HttpCheck,
    HttpOptions,
    IpTarget,
    KnownAfterApply,
    Listener,
    LoadBalancer,
    SelectorTarget,
    ServerTarget,
    Target,
    ipv6_of,
)
from desired.section import UNMANAGED, Unmanaged

Body = dict[str, Any]

_HTTPS_ONLY = ("certificates", "redirect_http")
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


def _balancer(found: _Balancer) -> CloudBalancer:
    public = found.public_net
    listeners = {service.port: listener_of(service) for service in found.services}
    if len(listeners) < len(found.services):
        raise ValueError("it has two services on one port")
    listed = tuple(map(_target, found.targets))
    targets, members = _shared(listed, ipv6_of(listed))
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


@lru_cache(maxsize=_SHARED)
def _shared(
    targets: tuple[Target, ...],
    _ipv6: tuple[str | None, ...],  # equal targets may differ in it
) -> tuple[tuple[Target, ...], frozenset[Target]]:
    """The targets in order and as a set, the same two for all load balancers with equal ones: hundreds, perhaps."""
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


BALANCERS = Codec("/load_balancers", "load balancer", _Balancer, _balancer)


def creation_body(wanted: LoadBalancer) -> Body:
    """A new load balancer with everything that one request can say of it: not a private address or a subnet, nor
    reverse names (Hetzner Cloud API, load balancers)."""
    body: Body = {"name": wanted.name, "load_balancer_type": wanted.type, "labels": dict(wanted.labels)}
    body |= {"location": wanted.location} if wanted.location is not None else {"network_zone": wanted.zone}
    if not isinstance(wanted.algorithm, Unmanaged):
        body["algorithm"] = {"type": wanted.algorithm.value}
    if wanted.public_interface is False:
        body["public_interface"] = False
    chosen = {"ipv4": wanted.primary_ipv4, "ipv6": wanted.primary_ipv6}
    if given := {family: held for family, held in chosen.items() if isinstance(held, int)}:
        body["public_net"] = given
    match wanted.attachment:
        case Attachment(network_id=network_id, ip=Unmanaged(), ip_range=Unmanaged()):
            body["network"] = network_id
    if wanted.listeners:
        body["services"] = [_new_service(wanted.listeners[port]) for port in sorted(wanted.listeners)]
    if wanted.targets and not isinstance(wanted.targets, Unmanaged):
        body["targets"] = [target_body(target) for target in sorted(wanted.targets, key=_in_order)]
    return body


def listener_body(listener: Listener) -> Body:
    """A whole listener. Raises TypeError when its certificates are not known yet."""
    return {"listen_port": listener.port, **_fields(listener, but="port")}


def listener_changes(before: Listener, after: Listener) -> Body:
    """The body of ``update_service`` that changes one into the other: only what differs, with certificates as a whole
    list; what only https has is always taken away with it. Raises TypeError as above."""
    changes = {"listen_port": after.port, **_differing(listener_body(before), listener_body(after))}
    if (before.protocol, after.protocol) == (Protocol.HTTPS, Protocol.HTTP):
        changes["http"] = {**changes.get("http", {}), "certificates": (), "redirect_http": False}
    return changes


def holds(listener: Listener, changes: Mapping[str, Any]) -> bool:
    """Whether all that ``changes`` sends is so by now, as ``listener_changes`` made them."""
    return not _differing(listener_body(listener), changes)


def _new_service(listener: Listener) -> Body:
    """A listener in the creation of its load balancer. The API's document demands there what it fills in elsewhere:
    every option of HTTP, and with a health check over HTTP that has options, its domain and path. How often and how
    long is checked is left to the API, as no default of it is documented."""
    body, defaults = listener_body(listener), api_defaults(listener)
    body.setdefault("proxyprotocol", defaults.proxyprotocol)
    if defaults.http is not None:
        known = _fields(defaults.http)
        if listener.protocol is Protocol.HTTP:
            known = {name: value for name, value in known.items() if name not in _HTTPS_ONLY}
        body["http"] = {**known, **body.get("http", {})}
    check = body["health_check"]
    if "http" in check:
        body["health_check"] = {**check, "http": {"domain": None, "path": "/", **check["http"]}}
    return body


def target_body(target: Target) -> Body:
    """A target to add. ``use_private_ip`` is always sent for servers."""
    private = {} if isinstance(target, IpTarget) else {"use_private_ip": target.use_private_ip}
    return {**named_target(target), **private}


def named_target(target: Target, address: str | None = None) -> Body:
    """A target to remove. A server is named with an ``address`` that is given, and with the public IPv6 address by
    which it is reached: the API takes one without for its IPv4."""
    match target:
        case ServerTarget(server_id=server_id, use_private_ip=is_private, ipv6=ipv6):
            named = address or (None if is_private else ipv6)
            return {"type": "server", "server": {"id": server_id} | ({"ip": named} if named else {})}
        case IpTarget(ip=ip):
            return {"type": "ip", "ip": {"ip": ip}}
        case SelectorTarget(selector=selector):
            return {"type": "label_selector", "label_selector": {"selector": selector}}


def attachment_body(place: Attachment) -> Body:
    """The network, and the address in it, to attach to."""
    chosen = {"ip": place.ip, "ip_range": place.ip_range}
    return {"network": place.network_id, **{name: str(each) for name, each in chosen.items() if each is not UNMANAGED}}


def _fields(part: Listener | HealthCheck | HttpCheck | HttpOptions, but: str = "") -> Body:
    """The fields of a part, by the API's names: ours without a unit. None, UNMANAGED and a part that nothing is left of
    are not sent. Raises TypeError when certificates are not known yet."""
    body: Body = {}
    for field in fields(part):
        name = field.name.removesuffix("_s")
        match getattr(part, field.name):
            case None | Unmanaged():
                continue
            case KnownAfterApply():
                raise TypeError("the certificates of a listener are not known yet")
            case HealthCheck() | HttpCheck() | HttpOptions() as inner:
                body |= {name: found} if (found := _fields(inner)) else {}
            case value if name != but:
                body[name] = value
    return body


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> Body:
    """The members of ``after`` that ``before`` lacks or has otherwise; of parts again their differing members."""
    changed: Body = {}
    for name, value in after.items():
        old = before.get(name)
        if isinstance(value, dict) and isinstance(old, dict):
            changed |= {name: part} if (part := _differing(old, value)) else {}
        elif name not in before or value != old:
            changed[name] = value
    return changed


def _in_order(target: Target) -> tuple[str, int]:
    """Servers by id, then addresses."""
    return (target.name, 0) if not isinstance(target, ServerTarget) else ("", target.server_id)
