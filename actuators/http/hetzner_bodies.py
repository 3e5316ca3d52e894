"""Request bodies for Hetzner, made from the planner's values. What is UNMANAGED is not sent."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from desired.annotations.choices import Protocol
from desired.load_balancers.listeners import api_defaults
from desired.model.load_balancer import (
    Attachment,
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
)
from desired.section import UNMANAGED, Unmanaged

Body = dict[str, Any]

_HTTPS_ONLY = ("certificates", "redirect_http")


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
    body = {"network": place.network_id, "ip": place.ip, "ip_range": place.ip_range}
    return {name: value if isinstance(value, int) else str(value) for name, value in _managed(body).items()}


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


def _managed(body: Mapping[str, Any]) -> Body:
    """Without what was not asked for, and without parts that nothing is left of."""
    return {name: value for name, value in body.items() if value is not UNMANAGED and value != {}}


def _differing(before: Body, after: Body) -> Body:
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
