"""Attachment of a load balancer to a private network: the desired network and address, and why one is impossible."""

from collections.abc import Iterator
from ipaddress import IPv4Address

from desired.annotations.options import OPTIONS, BadAnnotation, Options
from desired.model.load_balancer import Attachment, CloudBalancer
from desired.model.service import Service
from desired.model.snapshot import Network, Snapshot
from desired.plan.notes import Note
from desired.rules.load_balancers import (
    NETWORK_ELSEWHERE,
    NETWORK_WITHOUT_SUBNET,
    NO_TARGET_IN_NETWORK,
    PRIVATE_IP_CONTESTED,
    PRIVATE_IP_OF_BALANCER,
    PRIVATE_IP_OF_SERVER,
    PRIVATE_IP_OUTSIDE,
    PRIVATE_IP_RESERVED,
    PRIVATE_NETWORK_NEEDED,
    RANGE_OUTSIDE,
    STAYS_OUTSIDE,
    TARGETS_STAY,
)
from desired.rules.rule import Reason
from desired.section import UNMANAGED, Present, Unmanaged
from desired.syntax.bounds import NOBODY, Several

_RESERVED = IPv4Address("172.31.1.1")
"""The gateway of public interfaces; no network gives it away (Hetzner Cloud API, networks)."""


def wanted_attachment(options: Options, snapshot: Snapshot) -> Attachment | Unmanaged | None:
    """The attachment that follows from ``HCLOUD_NETWORK``: None when none is configured, for then a load balancer shall
    be in no network; UNMANAGED while the configured one cannot be read, or is not there."""
    network = snapshot.network
    if not isinstance(network, Present):
        return UNMANAGED
    if network.value is None:
        return None
    return Attachment(network.value.id, options.private_ipv4, options.private_subnet_ip_range)


def network_id(snapshot: Snapshot) -> int | None:
    """Id of the configured network; None when there is none, or it could not be read."""
    network = snapshot.network
    return network.value.id if isinstance(network, Present) and network.value else None


def is_settled(options: Options, present: CloudBalancer | None, snapshot: Snapshot) -> bool:
    """Whether there is a load balancer and it is not going to be attached to a network: it is where it should be, or
    nothing is known of where that is. Only an attachment reads the range of the subnet."""
    if present is None:
        return False
    place = wanted_attachment(options, snapshot)
    return not isinstance(place, Attachment) or any(
        there.network_id == place.network_id and (isinstance(place.ip, Unmanaged) or place.ip == there.ip)
        for there in present.attachments
    )


def why_out_of_reach(present: CloudBalancer | None, snapshot: Snapshot, zone: str) -> Reason | None:
    """The reason why no load balancer in this network zone can be attached to the configured network (Hetzner Cloud
    API: ``no_subnet_available``); None when it can, is attached, or when that is not known."""
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    if network is None or network.zones is None:
        return None
    if present is not None and any(place.network_id == network.id for place in present.attachments):
        return None
    if not network.zones:
        return NETWORK_WITHOUT_SUBNET.because(network=network.name)
    if not zone or zone in network.zones:
        return None
    return NETWORK_ELSEWHERE.because(network=network.name, zones=", ".join(sorted(network.zones)), zone=zone)


def notes_out_of_reach(
    service: Service, options: Options, present: CloudBalancer | None, why: Reason | None
) -> Iterator[Note]:
    """What follows for a load balancer that cannot be attached for this reason, None when it can. Nothing where that is
    a problem of its annotations (``attachment_problems``)."""
    if why is None or options.disable_public_network is True:
        return
    row = STAYS_OUTSIDE
    if options.use_private_ip:
        row = TARGETS_STAY if present is not None and present.targets else NO_TARGET_IN_NETWORK
    yield row.note(service.key, cause=why.text)


def attachment_problems(
    options: Options,
    present: CloudBalancer | None,
    snapshot: Snapshot,
    rivals: Several = NOBODY,
    out_of_reach: Reason | None = None,
) -> Iterator[BadAnnotation]:
    """The reason why the requested attachment is impossible: checked before anything is detached for it.

    ``rivals`` are other Services that ask for the same address, ``out_of_reach`` says why it cannot be attached at all.
    """
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    if network is None:
        return
    if out_of_reach is not None:
        if options.disable_public_network is True:
            text = PRIVATE_NETWORK_NEEDED.text(cause=out_of_reach.text)
            yield BadAnnotation(OPTIONS["disable_public_network"].full_key, text)
        return
    here = [place for place in present.attachments if place.network_id == network.id] if present else []
    ip, wanted_range, subnets = options.private_ipv4, options.private_subnet_ip_range, network.subnets
    if not isinstance(ip, Unmanaged) and all(place.ip != ip for place in here):
        why = _why_not(ip, network) or _holder(ip, network, present, snapshot)
        if why is None and rivals:
            why = PRIVATE_IP_CONTESTED.because(address=str(ip), services=f"Service{'s' * (rivals.count > 1)} {rivals}")
        if why is not None:
            yield BadAnnotation(OPTIONS["private_ipv4"].full_key, why.text)
    misses = not isinstance(wanted_range, Unmanaged) and not any(subnet.overlaps(wanted_range) for subnet in subnets)
    if misses and subnets and not here:
        text = RANGE_OUTSIDE.text(wanted=str(wanted_range), network=network.name, subnets=_subnets(network))
        yield BadAnnotation(OPTIONS["private_subnet_ip_range"].full_key, text)


def _why_not(ip: IPv4Address, network: Network) -> Reason | None:
    """The reason why this address of the network cannot be assigned; None when it can."""
    subnet = next((subnet for subnet in network.subnets if ip in subnet), None)
    if subnet is None:
        outside = PRIVATE_IP_OUTSIDE.because(address=str(ip), network=network.name, subnets=_subnets(network))
        return outside if network.subnets else None
    gateway = network.ip_range.network_address + 1 if network.ip_range else None
    if ip in (gateway, _RESERVED, subnet.network_address, subnet.broadcast_address):
        return PRIVATE_IP_RESERVED.because(address=str(ip), network=network.name)
    return None


def _holder(ip: IPv4Address, network: Network, present: CloudBalancer | None, snapshot: Snapshot) -> Reason | None:
    """The other owner of this address; None when none is known."""
    for server in snapshot.servers:
        if (network.id, ip) in server.private_ips:
            return PRIVATE_IP_OF_SERVER.because(address=str(ip), server=server.name)
    for balancer in snapshot.load_balancers or ():
        is_other = present is None or balancer.id != present.id
        if is_other and any((place.network_id, place.ip) == (network.id, ip) for place in balancer.attachments):
            return PRIVATE_IP_OF_BALANCER.because(address=str(ip), balancer=balancer.spec.name)
    return None


def _subnets(network: Network) -> str:
    return ", ".join(map(str, network.subnets))
