"""Addresses in the status of a Service: the desired ones, and the owners of those that stand there.

Another controller may write the status beside us, and k3s' servicelb even sets the same finalizer: an address there is
no evidence of a load balancer of ours by itself.
"""

from collections.abc import Collection, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_network

from desired.annotations.options import OPTIONS
from desired.annotations.reading import Requested
from desired.model.load_balancer import CloudBalancer, IpTarget, PrimaryIp, ServerTarget, is_private_address
from desired.model.service import Ingress, Service
from desired.model.snapshot import Snapshot
from desired.names import CONDITION_READY
from desired.plan.change import Change
from desired.plan.kinds import ChangeKind
from desired.rules import explanations
from desired.rules.load_balancer_changes import ADDRESSES_CHANGE, ADDRESSES_LIKELY_CHANGE
from desired.rules.load_balancers import OTHERS_PUBLISHED
from desired.rules.rule import Reason
from desired.section import UNMANAGED, Present, Unmanaged
from desired.syntax.address import parse_ip
from desired.syntax.bounds import shown_name
from desired.syntax.provider_id import Provider, ServerKey, server_key

Address = IPv4Address | IPv6Address


def desired_ingress(requested: Requested, balancer: CloudBalancer) -> tuple[Ingress, ...] | Unmanaged:
    """The entries of ``status.loadBalancer.ingress`` for an existing load balancer: a hostname alone if there is one,
    else public IPv4, public IPv6 and private addresses, in HCCM's order.

    Empty if its public interface is off and its private addresses are not to be published, as with HCCM. UNMANAGED if
    it has no address to publish yet. The mode is one for all ports: an address has no other.
    """
    options = requested.options
    if not isinstance(options.hostname, Unmanaged):
        return (Ingress(hostname=options.hostname),)
    if options.disable_private_ingress and balancer.spec.public_interface is False:
        return ()
    addresses: list[Address | Unmanaged | None] = []
    if balancer.spec.public_interface is True:
        addresses += [balancer.ipv4, None if options.ipv6_disabled else balancer.ipv6]
    if not options.disable_private_ingress:
        addresses += [place.ip for place in balancer.attachments]
    # The PROXY protocol as it is spoken, not as it should be; without a listener, as it will be.
    spoken = [listener.proxyprotocol for listener in balancer.spec.listeners.values()]
    spoken = spoken or [way.options.uses_proxyprotocol for way in requested.ways]
    mode = "Proxy" if True in spoken else "VIP"
    return tuple(Ingress(str(each), ip_mode=mode) for each in addresses if isinstance(each, Address)) or UNMANAGED


PRIVATE = "private"
"""Kind of the addresses in a network; the others are ``ipv4`` and ``ipv6``."""


def kind_of(entry: Ingress) -> str:
    """The kind of the address that an entry publishes; "" for none."""
    address = parse_ip(entry.ip)
    return "" if address is None else PRIVATE if is_private_address(address) else f"ipv{address.version}"


def kinds_of(balancer: CloudBalancer) -> frozenset[str]:
    """The kinds of addresses by which a load balancer is reached."""
    has = {
        "ipv4": balancer.spec.public_interface is True and balancer.ipv4 is not None,
        "ipv6": balancer.spec.public_interface is True and balancer.ipv6 is not None,
        PRIVATE: any(not isinstance(place.ip, Unmanaged) for place in balancer.attachments),
    }
    return frozenset(kind for kind, is_there in has.items() if is_there)


def same_ingress(present: tuple[Ingress, ...], wanted: tuple[Ingress, ...]) -> bool:
    """Whether both publish the same, in the same order.

    An address is the same however it is written. A missing mode is VIP: the API server's default. Servers before 1.30
    drop the field, so that the status would be written again in every pass.
    """

    def meaning(entry: Ingress) -> tuple[object, ...]:
        return _parsed(entry.ip), entry.hostname or "", entry.ip_mode or "VIP", entry.has_ports

    return [*map(meaning, present)] == [*map(meaning, wanted)]


def addresses_of_others(service: Service, balancer: CloudBalancer, hostname: str | None) -> str:
    """The published addresses that are not the load balancer's, their writer, and its own ones. Empty if all are its
    own, or if it has none. ``hostname`` is the one that the Service asks for, "" without one; if it is None, unknown,
    no hostname is judged."""
    own = own_addresses(balancer)
    others = [entry.ip for entry in service.ingress if entry.ip and parse_ip(entry.ip) not in own]
    others += [entry.hostname for entry in service.ingress if entry.hostname and hostname not in (None, entry.hostname)]
    if not own or not others:
        return ""
    asked = f", published as {hostname}" if hostname else ""
    by = f" (written by {shown_name(service.status_writers[0])})" if service.status_writers else ""
    return OTHERS_PUBLISHED.text(
        others=", ".join(others),
        writer=by,
        balancer=balancer.id,
        own=", ".join(map(str, own)),
        hostname=asked,
    )


def gives_up(before: object, after: object) -> bool:
    """Whether an address that is published goes, and another comes or nothing is left."""
    had = {entry.ip for entry in before if entry.ip} if isinstance(before, tuple) else set()
    has = {entry.ip for entry in after if entry.ip} if isinstance(after, tuple) else set()
    return bool(had - has and (has - had or not after))


def rests_on_absence(change: Change, snapshot: Snapshot) -> bool:
    """Whether the change is wrong if its Service has a load balancer that the list lacks.

    A creation, if the Service has a finalizer or publishes an address. A release, unless its load balancer goes before.
    An adoption, and another address in the status, if no listed load balancer has the published address.
    """
    service = snapshot.service(change.owner)
    if service is None:
        return False
    if change.kind == ChangeKind.LB_CREATE:
        return service.is_claimed or bool(service.ingress)
    if change.kind == ChangeKind.SERVICE_RELEASE:
        return not change.comes_after_its_balancer
    is_given_up = change.kind == ChangeKind.SERVICE_STATUS and gives_up(change.before, change.after)
    replaces = is_given_up or change.kind == ChangeKind.LB_ADOPT
    return replaces and any(entry.ip for entry in service.ingress) and not publishers(service, by_address(snapshot))


def publishes_only(service: Service, balancer: CloudBalancer) -> bool:
    """Whether all that the Service publishes are addresses of this load balancer."""
    own = own_addresses(balancer)
    return all(parse_ip(entry.ip) in own for entry in service.ingress)


ByAddress = Mapping[Address, tuple[CloudBalancer, ...]]


def by_address(snapshot: Snapshot) -> ByAddress:
    """Address → the load balancers that have it. Private ones count in the configured network, and anywhere while that
    is not known: other networks may have the same."""
    found: dict[Address, tuple[CloudBalancer, ...]] = {}
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    for balancer in snapshot.load_balancers or ():
        elsewhere = {place.ip for place in balancer.attachments if network and place.network_id != network.id}
        for address in own_addresses(balancer):
            if address not in elsewhere:
                found[address] = (*found.get(address, ()), balancer)
    return found


def published_addresses(service: Service) -> frozenset[Address]:
    """The addresses in the status of the Service, however they are written."""
    return frozenset(address for entry in service.ingress if (address := parse_ip(entry.ip)))


def publishers(service: Service, known: ByAddress) -> tuple[CloudBalancer, ...]:
    """The load balancers that have an address which the Service publishes, by id."""
    found = {balancer.id: balancer for ip in published_addresses(service) for balancer in known.get(ip, ())}
    return tuple(found[number] for number in sorted(found))


def source_of(entry: Ingress, balancer: CloudBalancer | None) -> Reason:
    """The source of a published entry of a Service with this load balancer."""
    if entry.ip is None:
        return explanations.ADDRESS_ASKED.because(annotation=OPTIONS["hostname"].full_key)
    if balancer is None:
        return explanations.ADDRESS_OF_NONE.because()
    for family, address in (("IPv4", balancer.ipv4), ("IPv6", balancer.ipv6)):
        if entry.ip == str(address):
            return explanations.PUBLIC_ADDRESS.because(family=family, balancer=balancer.id)
    for place in balancer.attachments:
        if entry.ip == str(place.ip):
            return explanations.PRIVATE_ADDRESS.because(balancer=balancer.id, network=place.network_id)
    return explanations.STRANGE_ADDRESS.because(balancer=balancer.id)


def carries_traffic(balancer: CloudBalancer) -> bool:
    """Whether it may serve: it has ports and targets."""
    return bool(balancer.spec.listeners and balancer.targets)


def leads_to(balancer: CloudBalancer, service: Service, snapshot: Snapshot) -> bool:
    """Whether the load balancer serves this Service and nothing else: all its ports lead to node ports of the Service,
    which no other Service has (Kubernetes, NodePort), and all its targets are Nodes of this cluster."""
    ports = {port.node_port for port in service.claim.ports if port.protocol == "TCP"} - {0}
    keys = {server_key(node.provider_id) for node in snapshot.nodes}
    addresses = snapshot.node_addresses
    return (
        carries_traffic(balancer)
        and all(listener.destination_port in ports for listener in balancer.spec.listeners.values())
        and all(
            (isinstance(target, ServerTarget) and ServerKey(Provider.CLOUD, target.server_id) in keys)
            or (isinstance(target, IpTarget) and target.ip in addresses)
            for target in balancer.targets
        )
    )


def own_addresses(balancer: CloudBalancer) -> Mapping[Address, None]:
    """The load balancer's addresses in order: public IPv4, public IPv6, private ones."""
    addresses = (balancer.ipv4, balancer.ipv6, *(place.ip for place in balancer.attachments))
    return dict.fromkeys(address for address in addresses if isinstance(address, Address))


_OURS_PUBLISHED = frozenset({"AddressPublished", "NoPorts", "NoTargets"})
"""Reasons of ``LoadBalancerReady`` with which the addresses of our load balancer alone were published."""


def lost_addresses(
    service: Service, hostname: str | Unmanaged, kept: Collection[PrimaryIp], snapshot: Snapshot
) -> tuple[str, ...]:
    """The consequence of a creation for a Service that has had a load balancer, with the addresses that are not
    ``kept``; empty if nothing shows that it had one. ``hostname`` is the one that it asks for.

    The finalizer alone does not show it, as k3s' servicelb sets the same one. Left out are addresses that no load
    balancer of ours can have had: those of a Node, which servicelb publishes, and private ones outside of the network.
    Our condition proves addresses that it called published. HCCM writes none, so that others were likely its own.
    """
    if not service.is_claimed:
        return ()
    of_nodes = {*map(_parsed, snapshot.node_addresses)}
    ready = next((found for found in service.conditions if found.type == CONDITION_READY), None)
    is_certain = ready is not None and ready.reason in _OURS_PUBLISHED
    lost = [
        entry.ip or entry.hostname or ""
        for entry in service.ingress
        if _parsed(entry.ip or entry.hostname) not in of_nodes
        and (_is_lost(entry.ip, kept, snapshot) if entry.ip else is_certain or entry.hostname == hostname)
    ]
    if not lost:
        return ()
    row = ADDRESSES_CHANGE if is_certain else ADDRESSES_LIKELY_CHANGE
    return (row.text(addresses=", ".join(lost)),)


_NEVER_HETZNERS = tuple(
    map(ip_network, ("100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "::1", "fe80::/10", "fc00::/7"))
)
"""Ranges that are neither public nor of Hetzner's networks."""


def _is_lost(text: str, kept: Collection[PrimaryIp], snapshot: Snapshot) -> bool:
    """Whether a load balancer can have had this address, and it is not ``kept``: a public one, or one in the network;
    while that cannot be read, any private one."""
    address = parse_ip(text)
    if address is None or any(address in found for found in (*_NEVER_HETZNERS, *(each.network for each in kept))):
        return False
    if not is_private_address(address) or not isinstance(snapshot.network, Present):
        return True
    network = snapshot.network.value
    if network is None:
        return False
    return any(address in found for found in ([network.ip_range] if network.ip_range else network.subnets))


def _parsed(text: str | None) -> object:
    """The address that ``text`` is, else the text: another writer may have published one that is none."""
    return parse_ip(text) or text or ""
