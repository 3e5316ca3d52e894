"""Network and zone of a load balancer: where it is or goes, its private network and address, and why one is impossible.

A load balancer and its targets are in one network zone (Hetzner Cloud API: ``add_target`` of a server of another one is
``unsupported_error``). A zone that is not known is not another one: Hetzner itself then refuses what it must.
"""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address

from desired.annotations.choices import ZONE_OF_LOCATION
from desired.annotations.options import OPTIONS, BadAnnotation, Options
from desired.model.load_balancer import Attachment, CloudBalancer
from desired.model.service import Service
from desired.model.snapshot import Network, Snapshot
from desired.plan.notes import Note
from desired.rules import load_balancers as rows
from desired.rules.rule import Reason
from desired.section import UNMANAGED, Present, Unmanaged
from desired.syntax.bounds import NO_NAMES, Several

_RESERVED = IPv4Address("172.31.1.1")
"""The gateway of public interfaces; no network gives it away (Hetzner Cloud API, networks)."""


def configured_network(snapshot: Snapshot) -> Network | None:
    """The network of ``HCLOUD_NETWORK``; None when there is none, or it could not be read."""
    return snapshot.network.value if isinstance(snapshot.network, Present) else None


def network_id(snapshot: Snapshot) -> int | None:
    """Its id."""
    network = configured_network(snapshot)
    return None if network is None else network.id


def way_network(present: CloudBalancer | None, snapshot: Snapshot) -> int | None:
    """Id of the network through which targets are reached: that of a load balancer that is there, whatever is
    configured by now, else the configured one; None if neither is known."""
    configured, there = network_id(snapshot), [place.network_id for place in present.attachments] if present else []
    return configured if configured in there or not there else there[0]


def wanted_attachment(options: Options, snapshot: Snapshot) -> Attachment | Unmanaged | None:
    """The attachment that follows from ``HCLOUD_NETWORK``: None when none is configured, for then a new load balancer
    is in no network; UNMANAGED while the configured one cannot be read, or is not there."""
    if not isinstance(snapshot.network, Present):
        return UNMANAGED
    network = snapshot.network.value
    return Attachment(network.id, options.private_ipv4, options.private_subnet_ip_range) if network else None


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


def _attachments(present: CloudBalancer | None, network: Network) -> list[Attachment]:
    return [place for place in present.attachments if place.network_id == network.id] if present else []


def why_out_of_reach(present: CloudBalancer | None, snapshot: Snapshot, zone: str) -> Reason | None:
    """The reason why no load balancer in this network zone can be attached to the configured network (Hetzner Cloud
    API: ``no_subnet_available``); None when it can, is attached, or when that is not known."""
    network = configured_network(snapshot)
    if network is None or network.zones is None or _attachments(present, network):
        return None
    if not network.zones:
        return rows.NETWORK_WITHOUT_SUBNET.because(network=network.name)
    if not zone or zone in network.zones:
        return None
    return rows.NETWORK_ELSEWHERE.because(network=network.name, zones=", ".join(sorted(network.zones)), zone=zone)


def notes_out_of_reach(
    service: Service, options: Options, present: CloudBalancer | None, why: Reason | None
) -> Iterator[Note]:
    """What follows for a load balancer that cannot be attached for this reason, None when it can. Nothing where that is
    a problem of its annotations (``attachment_problems``)."""
    if why is None or options.disable_public_network is True:
        return
    row = rows.STAYS_OUTSIDE
    if options.use_private_ip:
        row = rows.TARGETS_STAY if present is not None and present.targets else rows.NO_TARGET_IN_NETWORK
    yield row.note(service.key, cause=why.text)


def attachment_problems(
    options: Options,
    present: CloudBalancer | None,
    snapshot: Snapshot,
    rivals: Several = NO_NAMES,
    out_of_reach: Reason | None = None,
) -> Iterator[BadAnnotation]:
    """The reason why the requested attachment is impossible: checked before anything is detached for it.

    ``rivals`` are other Services that ask for the same address, ``out_of_reach`` says why it cannot be attached at all.
    """
    network = configured_network(snapshot)
    if network is None:
        return
    if out_of_reach is not None:
        if options.disable_public_network is True:
            text = rows.PRIVATE_NETWORK_NEEDED.text(cause=out_of_reach.text)
            yield BadAnnotation(OPTIONS["disable_public_network"].full_key, text)
        return
    here, ip, wanted_range = _attachments(present, network), options.private_ipv4, options.private_subnet_ip_range
    if not isinstance(ip, Unmanaged) and all(place.ip != ip for place in here):
        why = _why_not(ip, network) or _holder(ip, network, present, snapshot)
        if why is None and rivals:
            why = rows.PRIVATE_IP_CONTESTED.because(
                address=str(ip), services=f"Service{'s' * (rivals.count > 1)} {rivals}"
            )
        if why is not None:
            yield BadAnnotation(OPTIONS["private_ipv4"].full_key, why.text)
    if isinstance(wanted_range, Unmanaged) or not network.subnets:
        return
    if not any(subnet.overlaps(wanted_range) for subnet in network.subnets):
        text = rows.RANGE_OUTSIDE.text(wanted=str(wanted_range), network=network.name, subnets=_subnets(network))
        yield BadAnnotation(OPTIONS["private_subnet_ip_range"].full_key, text)


def notes_on_subnet(service: Service, options: Options, present: CloudBalancer, snapshot: Snapshot) -> Iterator[Note]:
    """A load balancer stays in the subnet to which it was attached, unless an address is requested."""
    network, wanted = configured_network(snapshot), options.private_subnet_ip_range
    if network is None or isinstance(wanted, Unmanaged) or not isinstance(options.private_ipv4, Unmanaged):
        return
    for place in _attachments(present, network):
        if not isinstance(place.ip, Unmanaged) and place.ip not in wanted:
            yield rows.STAYS_IN_SUBNET.note(
                service.key, wanted=str(wanted), balancer=present.id, address=str(place.ip), network=network.name
            )


def _why_not(ip: IPv4Address, network: Network) -> Reason | None:
    """The reason why this address of the network cannot be assigned; None when it can."""
    subnet = next((subnet for subnet in network.subnets if ip in subnet), None)
    if subnet is None:
        outside = rows.PRIVATE_IP_OUTSIDE.because(address=str(ip), network=network.name, subnets=_subnets(network))
        return outside if network.subnets else None
    gateway = network.ip_range.network_address + 1 if network.ip_range else None
    if ip in (gateway, _RESERVED, subnet.network_address, subnet.broadcast_address):
        return rows.PRIVATE_IP_RESERVED.because(address=str(ip), network=network.name)
    return None


def _holder(ip: IPv4Address, network: Network, present: CloudBalancer | None, snapshot: Snapshot) -> Reason | None:
    """The other owner of this address; None when none is known."""
    for server in snapshot.servers:
        if (network.id, ip) in server.private_ips:
            return rows.PRIVATE_IP_OF_SERVER.because(address=str(ip), server=server.name)
    for balancer in snapshot.load_balancers or ():
        is_other = present is None or balancer.id != present.id
        if is_other and any(place.ip == ip for place in _attachments(balancer, network)):
            return rows.PRIVATE_IP_OF_BALANCER.because(address=str(ip), balancer=balancer.spec.name)
    return None


def _subnets(network: Network) -> str:
    return ", ".join(map(str, network.subnets))


def zones_of_locations(snapshot: Snapshot) -> Mapping[str, str]:
    """Location → network zone: what was read of servers and load balancers, and for other locations what Hetzner's
    documentation says."""
    read = {server.location: server.network_zone for server in snapshot.servers if server.network_zone}
    there = (balancer.spec for balancer in snapshot.load_balancers or ())
    return {**ZONE_OF_LOCATION, **read, **{spec.location: spec.zone for spec in there if spec.location and spec.zone}}


def zone_of(options: Options, location: str | None, present: CloudBalancer | None, zones: Mapping[str, str]) -> str:
    """The network zone of the load balancer ``present``, or of the one to create, which goes to ``location`` if that is
    not None; "" when it is not known."""
    if present is not None:
        return present.spec.zone or zones.get(present.spec.location or "", "")
    asked = options.location if location is None else location
    if not isinstance(asked, Unmanaged):
        return zones.get(asked, "")
    return "" if isinstance(options.network_zone, Unmanaged) else options.network_zone
