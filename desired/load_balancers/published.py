"""The addresses that a Service publishes: what its load balancer really has and speaks (ST-1 to ST-5, W-3)."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from desired.annotations.options import Options
from desired.bounds import ADDRESS
from desired.load_balancer import CloudBalancer
from desired.section import UNMANAGED, Unmanaged
from desired.service import Ingress

_VIP = "VIP"
_PROXY = "Proxy"


def desired_ingress(options: Options, balancer: CloudBalancer) -> tuple[Ingress, ...] | Unmanaged:
    """The entries of ``status.loadBalancer.ingress`` for a load balancer that is there, in the order of ST-2.

    UNMANAGED when it has nothing to publish: a status is never emptied while its load balancer lives.
    """
    if not isinstance(options.hostname, Unmanaged):
        return (Ingress(hostname=options.hostname),)
    mode = _PROXY if _speaks_proxy(options, balancer) else _VIP
    return tuple(Ingress(str(address), ip_mode=mode) for address in _addresses(options, balancer)) or UNMANAGED


def same_ingress(present: tuple[Ingress, ...], wanted: tuple[Ingress, ...]) -> bool:
    """Whether both publish the same, in the same order.

    An address is the same however it is written. No mode is VIP: that is what the API server makes of it, and one
    before 1.30 drops the field, so that the status would be written again in every pass.
    """
    return [_meaning(entry) for entry in present] == [_meaning(entry) for entry in wanted]


def _addresses(options: Options, balancer: CloudBalancer) -> list[IPv4Address | IPv6Address]:
    addresses: list[IPv4Address | IPv6Address | None] = []
    if balancer.spec.public_interface is True:
        addresses += [balancer.ipv4, None if options.ipv6_disabled else balancer.ipv6]
    if not options.disable_private_ingress:
        addresses += [None if isinstance(place.ip, Unmanaged) else place.ip for place in balancer.attachments]
    return [address for address in addresses if address is not None]


def _speaks_proxy(options: Options, balancer: CloudBalancer) -> bool:
    """What the listeners do, not what was asked of them (W-3); without a listener, what the first one will do."""
    listeners = balancer.spec.listeners.values()
    if not listeners:
        return options.uses_proxyprotocol is True
    return any(listener.proxyprotocol is True for listener in listeners)


def _meaning(entry: Ingress) -> tuple[object, ...]:
    return (_parsed(entry.ip), entry.hostname or "", entry.ip_mode or _VIP, entry.has_ports)


def _parsed(text: str | None) -> object:
    """The address that ``text`` is, or else the text: what somebody else published need not be one."""
    if text is not None and ADDRESS.is_exceeded(text):
        return text
    try:
        return ip_address(text or "")
    except ValueError:
        return text or ""
