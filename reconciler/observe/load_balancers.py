"""Load balancers as Hetzner says them, as values of the core.

A field that the API's document requires is required here: what is missing must not look as if it were not there, for
somebody would put it back, or take away what hangs on it. Such a load balancer is unreadable, the others are not.
"""

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

import msgspec

from actuators.clients.hetzner import HetznerReader
from actuators.errors import ApiError
from desired.annotations.choices import Algorithm
from desired.load_balancer import (
    Attachment,
    CloudBalancer,
    Health,
    IpTarget,
    Listener,
    LoadBalancer,
    SelectorTarget,
    ServerTarget,
    Target,
)
from desired.section import Section
from reconciler.observe.balancer_services import ServiceShape, listener_of
from reconciler.observe.catalogue import Moment, TypeShape, type_of
from reconciler.observe.hetzner_pages import PagesOf


class _Address(msgspec.Struct, gc=False):
    ip: str | None
    dns_ptr: str | None
    """Null and an empty text both say that there is no pointer, which is what a wish of "" asks for (LB-1)."""


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


class _Ip(msgspec.Struct, gc=False):
    ip: str


class _Selector(msgspec.Struct, gc=False):
    selector: str


class _HealthStatus(msgspec.Struct, gc=False):
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
    """All load balancers of the project, and the error that kept it from being all."""
    return BALANCERS.observe(reader)


def _balancer(found: _Balancer) -> CloudBalancer:
    public = found.public_net
    listeners = {service.listen_port: listener_of(service) for service in found.services}
    if len(listeners) < len(found.services):
        raise ValueError("it has two services on one port")
    targets = tuple(_target(target) for target in found.targets)
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
            attachment=attachments[0] if attachments else None,
            ipv4_rdns=public.ipv4.dns_ptr or "",
            ipv6_rdns=public.ipv6.dns_ptr or "",
            listeners=listeners,
            targets=frozenset(targets),
        ),
        type=type_of(found.load_balancer_type),
        created_at=found.created,
        ipv4=IPv4Address(public.ipv4.ip) if public.ipv4.ip else None,
        ipv6=IPv6Address(public.ipv6.ip) if public.ipv6.ip else None,
        attachments=attachments,
        targets=targets,
        is_protected=found.protection.delete,
        checks={value: _checks(target, listeners) for value, target in zip(targets, found.targets, strict=True)},
    )


def _target(found: _Target) -> Target:
    """One target. Raises ValueError for one of a later version of the API, and for one that lacks what it is."""
    match found:
        case _Target(type="server", server=_Server() as server, use_private_ip=bool() as is_private):
            return ServerTarget(server.id, is_private)
        case _Target(type="ip", ip=_Ip() as address):
            return IpTarget(str(ip_address(address.ip)))
        case _Target(
            type="label_selector", label_selector=_Selector() as found_by, use_private_ip=bool() as is_private
        ):
            return SelectorTarget(found_by.selector, is_private)
    raise ValueError(f"a target of type {found.type!r} is not known, or lacks what it needs")


def _checks(target: _Target, listeners: Mapping[int, Listener]) -> Mapping[int, Health]:
    """Port → health. Of a selector that of everything it has found: unhealthy by one, healthy by all."""
    places = [target] if target.targets is None else target.targets
    by_place = [{status.listen_port: status.status for status in place.health_status or ()} for place in places]
    return {port: _health([by_port.get(port) for by_port in by_place]) for port in listeners}


def _health(words: Sequence[str | None]) -> Health:
    if Health.UNHEALTHY.value in words:
        return Health.UNHEALTHY
    return Health.HEALTHY if words and all(word == Health.HEALTHY.value for word in words) else Health.UNKNOWN


BALANCERS = PagesOf("/load_balancers", "load balancer", _Balancer, _balancer)
"""How load balancers are read."""
