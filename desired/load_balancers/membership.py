"""Membership of Nodes in a load balancer: which may get its traffic, and by which address of theirs. Pure.

Everything is decided anew in each pass. Whether a Node is Ready, cordoned or of the control plane does not matter:
health checks see to the first two, and kubeadm labels the third.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, ip_address

from desired.annotations.claims import BOTH_FAMILIES
from desired.annotations.options import Options
from desired.load_balancers.network import configured_network, way_network
from desired.model.load_balancer import CloudBalancer, IpTarget, ServerTarget, Target, is_private
from desired.model.service import Service
from desired.model.settings import Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, Readiness, Server, Snapshot
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS, TAINT_CLUSTER_AUTOSCALER
from desired.nodes.addresses import BY_SETTING, DesiredAddresses, first_host, public_ipv6
from desired.nodes.matching import is_ignored
from desired.nodes.node import DesiredNode, InitializedNode, UninitializedNode, UnmanagedNode, is_uninitialized
from desired.plan.notes import NoteKind
from desired.rules import load_balancers as rows
from desired.rules.nodes import Stage
from desired.rules.rule import Decided, Reason
from desired.section import Absent, Present, Unknown
from desired.syntax.address import parse_ip
from desired.syntax.go import parse_bool
from desired.syntax.provider_id import MalformedID, Provider, RobotID, ServerKey, parse_provider_id, server_key


class Membership(StrEnum):
    """Membership of a Node in a load balancer."""

    TARGET = "target"
    EXCLUDED = "excluded"
    """A rule excludes it: it is being deleted, has the exclusion label or the autoscaler's taint, or is unselected."""
    SERVERLESS = "serverless"
    """It is no server of the cloud, or none that is there any more: the Node's own notes say what that means."""
    UNUSABLE = "unusable"
    """It may get traffic, and cannot be a target."""
    UNCERTAIN = "uncertain"
    """Too little is known: an existing target stays, and no new one is added."""
    IGNORED = "ignored"
    """The operator excludes it: existing targets stay, as with UNCERTAIN, and that is no trouble."""
    OVER_LIMIT = "over-limit"
    """It may be a target, and the type of the load balancer has no room for it."""


_UNPROVEN = (rows.IN_NO_VSWITCH, rows.IPV6_IN_NETWORK, rows.OF_ONE_FAMILY, rows.OF_ONE_FAMILY_IN_NETWORK)
_MEMBERSHIP: Mapping[str, Membership] = {
    row.name: membership
    for membership, those in (
        (Membership.TARGET, (rows.TAKES_INTERNAL, rows.TAKES_PRIVATE, rows.TAKES_PUBLIC, rows.TAKES_PUBLIC_INSTEAD)),
        (Membership.EXCLUDED, (rows.EXCLUDED_BY_LABEL, rows.LEAVING, rows.LEAVING_BY_AUTOSCALER, rows.UNSELECTED)),
        (Membership.IGNORED, (rows.TARGET_IGNORED,)),
        (Membership.SERVERLESS, (rows.NOT_INITIALIZED, rows.OF_ANOTHER_CLOUD, rows.ON_UNREAD_ROBOT_SERVER)),
        (Membership.SERVERLESS, (rows.WITH_A_MALFORMED_ID, rows.WITHOUT_ID, rows.WITHOUT_SERVER)),
        (Membership.UNUSABLE, (rows.IN_ANOTHER_ZONE, rows.NOT_ATTACHED, rows.PRIVATE_ALONE, rows.WITHOUT_INTERNAL_IP)),
        (Membership.UNUSABLE, (rows.WITHOUT_NETWORK, rows.NETWORK_NOT_FOUND, rows.WITHOUT_PUBLIC_ADDRESS, *_UNPROVEN)),
        (Membership.OVER_LIMIT, (rows.ROOM_LACKING,)),
    )
    for row in those
}
"""Name of a row → the membership of the Node of which it is the reason; of every other row it is UNCERTAIN, with which
a target stays."""
_LEFT_OUT = frozenset({Membership.EXCLUDED, Membership.SERVERLESS, Membership.IGNORED})


@dataclass(frozen=True, slots=True)
class NodeTarget:
    """One Node as a target."""

    node: str
    """Its name."""
    reason: Reason
    """Decides on its membership. It names no Node and, if something is wrong, no server: Nodes with one trouble have
    one sentence."""
    target: ServerTarget | IpTarget | None = None
    """What it is as a target, or would be if there were room: a Robot server is an address. None for any other
    membership than TARGET and OVER_LIMIT."""
    server: ServerKey | None = None
    """The server that it is, or is to be; None when it has none, or none that is known."""
    joins: bool = False
    """Whether its ``node.initialise`` is part of the same plan: its server is then the one that it will have."""
    addresses: tuple[str, ...] = ()
    """Of a Robot server's Node, all by which an existing target may lead to it."""
    told: Decided[Stage] | None = None
    """What the Node's own note says where it has no server; None where it has none."""

    @property
    def membership(self) -> Membership:
        """What follows from the reason."""
        return _MEMBERSHIP.get(self.reason.rule.name, Membership.UNCERTAIN)

    @property
    def why(self) -> str:
        """The reason in words; with the remedy, where it should be a target."""
        return self.reason.says if self.membership in _LEFT_OUT else self.reason.text

    @property
    def remedy(self) -> str:
        """The remedy, if it should be a target; "" otherwise."""
        return "" if self.membership in _LEFT_OUT else self.reason.advice

    @property
    def keeps_its_target(self) -> bool:
        """Whether it can be no new target, and an existing one stays: that Hetzner would refuse it now, or that no
        address is known by which it answers, does not prove that it does not."""
        return self.membership is Membership.UNUSABLE and self.reason.rule in _UNPROVEN


@dataclass(frozen=True, slots=True)
class Way:
    """How a load balancer reaches Nodes. Those with equal ways share one answer."""

    private: bool
    """By private addresses."""
    network: int | None = None
    """Id of the network through which these are reached; None when none is known."""
    families: frozenset[int] = BOTH_FAMILIES
    """The versions of IP by which Nodes take the traffic (``Claim.families``)."""
    zone: str = ""
    """The load balancer's network zone, if some servers are in another one; "" if that excludes none."""
    accepted: frozenset[int] = frozenset()
    """Ids of servers of other zones that are targets by the API's own word: they stay what they are."""
    addresses: frozenset[str] = frozenset()
    """Private addresses of dedicated servers that Hetzner has taken as targets: they stay what they are."""


def way_of(
    service: Service,
    options: Options,
    present: CloudBalancer | None,
    snapshot: Snapshot,
    zone: str = "",
    zones: Collection[str] = (),
) -> Way:
    """The way to Nodes of a Service's load balancer, which is or will be in this network ``zone``, "" for an unknown
    one; ``present`` is None when it is to be created. ``zones`` are those of all servers."""
    private, targets = options.use_private_ip is True, present.targets if present else ()
    addresses = {each.ip for each in targets if private and isinstance(each, IpTarget) and is_private(each)}
    if not frozenset(zones) - {zone, ""}:
        zone = ""
    servers = [each.server_id for each in targets if zone and isinstance(each, ServerTarget)]
    found = [each.value for each in map(snapshot.servers.find, servers) if isinstance(each, Present)]
    accepted = frozenset(server.id for server in found if server.network_zone not in ("", zone))
    network, families = way_network(present, snapshot), service.claim.families
    return Way(private, network, families, zone, accepted, frozenset(addresses))


def node_memberships(
    way: Way, snapshot: Snapshot, nodes: Mapping[str, DesiredNode], settings: Settings
) -> tuple[NodeTarget, ...]:
    """The membership of each Node in load balancers that reach Nodes this way, in the order of names, whatever their
    Services select; ``nodes`` are names with what the Nodes should be. Never OVER_LIMIT."""
    members = [_member(node, nodes.get(node.name), way, snapshot, settings) for node in snapshot.nodes]
    members += [
        NodeTarget(name, rows.NODE_UNREADABLE.because(cause=why)) for name, why in snapshot.nodes.unreadable.items()
    ]
    return tuple(sorted(members, key=lambda member: member.node))


def _member(node: Node, desired: DesiredNode | None, way: Way, snapshot: Snapshot, settings: Settings) -> NodeTarget:
    """The membership of a Node that is to be ``desired``."""
    joining = desired.server if isinstance(desired, UninitializedNode) else None
    key = joining.key if joining else server_key(node.provider_id)
    if key is not None and key.provider is Provider.ROBOT and not (joining or settings.robot):
        key = None
    wanted = _wanted_addresses(node, desired)
    target: ServerTarget | IpTarget | None = None
    if excluded := _exclusion(node, settings):
        reason = excluded
    elif key is None:
        reason = _why_without_server(node, snapshot)
    else:
        found = Present(joining) if joining else find_server(key, snapshot, [node])
        if isinstance(found, Absent):
            reason = rows.WITHOUT_SERVER.because()
        elif key.provider is Provider.ROBOT:
            reason, target = _robot_target(node, key, found, wanted, way, snapshot)
        elif isinstance(found, Unknown):
            reason = rows.TARGET_SERVER_UNKNOWN.because(cause=found.why)
        else:
            reason, target = _cloud_target(node, found.value, way, snapshot)
    membership, told = _MEMBERSHIP.get(reason.rule.name), None
    if membership is Membership.SERVERLESS and isinstance(desired, UnmanagedNode):
        told = desired.stage if isinstance(desired.stage.rule.of, NoteKind) else None
    addresses = _robot_addresses(node, (*node.addresses, *wanted), key, snapshot)
    target = target if membership is Membership.TARGET else None
    return NodeTarget(node.name, reason, target, key, joining is not None, addresses, told)


def _exclusion(node: Node, settings: Settings) -> Reason | None:
    """The rule that excludes the Node whatever a Service selects; None when none does."""
    if is_ignored(node, settings):
        return rows.TARGET_IGNORED.because()
    if node.deleted_at is not None:
        return rows.LEAVING.because()
    if _is_labelled_out(node):
        return rows.EXCLUDED_BY_LABEL.because()
    if any(taint.key == TAINT_CLUSTER_AUTOSCALER for taint in node.taints):
        return rows.LEAVING_BY_AUTOSCALER.because()
    return None


def _is_labelled_out(node: Node) -> bool:
    """Whether the label excludes the Node. Any value does, except a boolean false."""
    value = node.labels.get(LABEL_EXCLUDE_FROM_BALANCERS)
    if value is None:
        return False
    try:
        return parse_bool(value)
    except ValueError:
        return True


def _why_without_server(node: Node, snapshot: Snapshot) -> Reason:
    """A Node whose providerID names no server of the cloud. A joining one may be a server that is known only by name,
    and an incomplete list does not tell."""
    if node.provider_id is not None:
        match parse_provider_id(node.provider_id):
            case RobotID():
                return rows.ON_UNREAD_ROBOT_SERVER.because()
            case MalformedID(why=why):
                return rows.WITH_A_MALFORMED_ID.because(cause=why)
        return rows.OF_ANOTHER_CLOUD.because()
    if not is_uninitialized(node):
        return rows.WITHOUT_ID.because()
    gaps = (snapshot.servers.why_incomplete, *snapshot.servers.unreadable.values())
    network = snapshot.network.why if isinstance(snapshot.network, Unknown) else None
    gap = next((gap for gap in (*gaps, network) if gap), None)
    return rows.NOT_INITIALIZED_YET.because(cause=gap) if gap else rows.NOT_INITIALIZED.because()


def _cloud_target(node: Node, server: Server, way: Way, snapshot: Snapshot) -> tuple[Reason, ServerTarget]:
    """What decides on a cloud server, and the target that it may be: by IPv6 where that takes the place of IPv4, as
    Hetzner's API takes a host in the server's network as the address of a target."""
    ipv6 = None
    if 4 not in way.families or (server.ipv4 is None and "public_net.ipv4" not in server.missing):
        ipv6 = public_ipv6(server, node.provided_node_ip)
    reason = (
        _why_out_of_zone(server, way)
        or _why_of_another_family(server, node, way.families, private=way.private)
        or (_by_private_address(server, way, snapshot) if way.private else _by_public_address(server, ipv6, way))
    )
    return reason, ServerTarget(server.id, way.private, None if ipv6 is None else str(ipv6))


def _why_out_of_zone(server: Server, way: Way) -> Reason | None:
    """The reason why the server cannot be a target there; None when it can, or that is not known."""
    if not way.zone or server.network_zone in ("", way.zone) or server.id in way.accepted:
        return None
    return rows.IN_ANOTHER_ZONE.because(location=server.location, zone=server.network_zone, place=way.zone)


def _why_of_another_family(server: Server, node: Node, families: frozenset[int], *, private: bool) -> Reason | None:
    """Why no address takes the Service's traffic, though the server has one: kube-proxy opens node ports for the
    families of the Service alone. None where one does, none is known, or the API did not say it."""
    if families == BOTH_FAMILIES:
        return None
    if private:
        return None if 4 in families else rows.IPV6_IN_NETWORK.because()
    known = {4: server.ipv4, 6: public_ipv6(server, node.provided_node_ip)}
    (family,) = families
    if f"public_net.ipv{family}" in server.missing or known[family] or not any(known.values()):
        return None
    had, wanted = ("IPv4", "IPv6") if known[4] else ("IPv6", "IPv4")
    row = rows.OF_ONE_FAMILY_IN_NETWORK if wanted == "IPv4" and server.private_ips else rows.OF_ONE_FAMILY
    return row.because(had=had, wanted=wanted)


def _by_private_address(server: Server, way: Way, snapshot: Snapshot) -> Reason:
    if way.network is None:
        if isinstance(snapshot.network, Unknown):
            return rows.PRIVATE_NETWORK_UNKNOWN.because(cause=snapshot.network.why)
        is_missing = isinstance(snapshot.network, Absent)
        return (rows.NETWORK_NOT_FOUND if is_missing else rows.WITHOUT_NETWORK).because()
    if "private_net" in server.missing:
        return rows.ADDRESS_UNSAID.because(kind="private addresses")
    for attached, ip in server.private_ips:
        if attached == way.network:
            return rows.TAKES_PRIVATE.because(server=server.id, address=str(ip))
    return rows.NOT_ATTACHED.because(network=way.network)


def _by_public_address(server: Server, ipv6: IPv6Address | None, way: Way) -> Reason:
    for family in ("IPv4",) if server.ipv4 else ("IPv4", "IPv6"):
        if f"public_net.{family.lower()}" in server.missing:
            return rows.ADDRESS_UNSAID.because(kind=f"public {family} address")
    if address := ipv6 or server.ipv4:
        return rows.TAKES_PUBLIC.because(server=server.key.name, address=str(address))
    is_inside = way.network in {attached for attached, _ in server.private_ips}
    return (rows.PRIVATE_ALONE if is_inside else rows.WITHOUT_PUBLIC_ADDRESS).because()


def _robot_target(
    node: Node,
    key: ServerKey,
    found: Present[Server] | Unknown,
    wanted: Iterable[NodeAddress],
    way: Way,
    snapshot: Snapshot,
) -> tuple[Reason, IpTarget | None]:
    """A Robot server is a target by exactly one of its addresses: the main public one, or where private ones are asked
    for the first InternalIP of its Node, which is IPv4. Where the Node has none, the public one takes its place, as
    with HCCM. Without credentials for Robot nothing but InternalIPs is known (HCCM, LB-only mode).
    """
    internal = next(_private_ips(wanted), None) if way.private else None
    if internal and (out := _why_in_no_vswitch(internal, way, snapshot)):
        return out, None
    server = found.value if isinstance(found, Present) else None
    if server and (other := _why_of_another_family(server, node, way.families, private=internal is not None)):
        return other, None
    if internal:
        return rows.TAKES_INTERNAL.because(server=key.name, address=internal), IpTarget(internal)
    if snapshot.robot is None:
        # What it leads to now may be right: nothing is known of the server, and that is no reason to remove it.
        return (rows.INTERNAL_IP_LACKING if way.private else rows.ROBOT_CREDENTIALS_LACKING).because(), None
    if isinstance(found, Unknown):
        return rows.TARGET_SERVER_UNKNOWN.because(cause=found.why), None
    ipv6 = public_ipv6(found.value, node.provided_node_ip)
    address = (found.value.ipv4 if 4 in way.families else None) or (ipv6 if 6 in way.families else None)
    if address is None:
        return rows.WITHOUT_INTERNAL_IP.because(), None
    row = rows.TAKES_PUBLIC_INSTEAD if way.private else rows.TAKES_PUBLIC
    return row.because(server=key.name, address=str(address)), IpTarget(str(address))


def _why_in_no_vswitch(address: str, way: Way, snapshot: Snapshot) -> Reason | None:
    """The reason why Hetzner takes no dedicated server by this private address (``network_has_no_vswitch_subnet``,
    ``ip_not_in_vswitch_subnet``); None when it may, has done so already, or when that is not known."""
    network = configured_network(snapshot)
    if network is None or network.id != way.network or network.vswitches is None or address in way.addresses:
        return None
    if any(ip_address(address) in vswitch for vswitch in network.vswitches):
        return None
    said = f"the vSwitch {', '.join(map(str, network.vswitches))}" if network.vswitches else "no vSwitch subnet"
    return rows.IN_NO_VSWITCH.because(address=address, network=network.name, vswitches=said)


def _wanted_addresses(node: Node, desired: DesiredNode | None) -> tuple[NodeAddress, ...]:
    """The addresses that the Node should have, or has if nothing is said of them; and those that a setting alone takes,
    as long as it has them."""
    match desired:
        case UninitializedNode(identity=identity):
            return identity.addresses
        case InitializedNode(addresses=DesiredAddresses() as addresses):
            return (*addresses.values, *(each.value for each in addresses.gone if each.rule in BY_SETTING))
    return node.addresses


def _robot_addresses(
    node: Node, reported: Iterable[NodeAddress], key: ServerKey | None, snapshot: Snapshot
) -> tuple[str, ...]:
    """The addresses by which a target may lead to a Robot server's Node; empty for any other Node.

    Public ones are those of the server, by Robot's word, and only where Robot does not know it any more those that the
    Node was given: one of each family. Private ones are what the Node reports, as nothing else knows them. It is no
    more than that, since a kubelet may report what it likes.
    """
    if key is None or key.provider is not Provider.ROBOT:
        return ()
    server = snapshot.find(key)
    if isinstance(server, Present):
        found = server.value
        own: Iterable[IPv4Address | IPv6Address | None] = (
            found.ipv4,
            first_host(found.ipv6),
            public_ipv6(found, node.provided_node_ip),
        )
    else:
        given = [parse_ip(each.address) for each in node.addresses if each.type == AddressType.EXTERNAL_IP]
        own = {type(ip): ip for ip in reversed(given)}.values()
    return tuple(dict.fromkeys((*(str(ip) for ip in own if ip is not None), *_private_ips(reported))))


def _private_ips(addresses: Iterable[NodeAddress]) -> Iterator[str]:
    """The InternalIPs by which Hetzner's private networks reach a Node: IPv4 of the private ranges."""
    for address in addresses:
        ip = parse_ip(address.address) if address.type == AddressType.INTERNAL_IP else None
        if isinstance(ip, IPv4Address) and is_private(IpTarget(str(ip))):
            yield str(ip)


def find_server(key: ServerKey, snapshot: Snapshot, nodes: Collection[Node]) -> Present[Server] | Absent | Unknown:
    """The server of these Nodes. It is not gone although the list lacks it while something speaks against that: a GET
    by its id that failed, or a kubelet that reports Ready before any question."""
    found = snapshot.find(key)
    if not isinstance(found, Absent):
        return found
    asked = snapshot.confirmation(key)
    if isinstance(asked, Unknown):
        return Unknown(f"not in the list, and its lookup failed: {asked.why}")
    if asked is None and any(node.ready is Readiness.TRUE for node in nodes):
        return Unknown("not in the list, but the kubelet reports Ready")
    return found


def unselected(member: NodeTarget) -> NodeTarget:
    """The Node if the Service's selector does not match it: another rule that excludes it is told first. Labels of an
    unreadable Node are not known."""
    is_excluded = member.membership in (Membership.IGNORED, Membership.EXCLUDED)
    if is_excluded or member.reason.rule is rows.NODE_UNREADABLE:
        return member
    return replace(member, reason=rows.UNSELECTED.because(), target=None, told=None)


def without_shared_addresses(
    members: tuple[NodeTarget, ...], snapshot: Snapshot, network: int | None
) -> tuple[NodeTarget, ...]:
    """The members, in which none is a target by an address that another server has or asks for, nor by one of
    several that its server has according to its Nodes: what is there stays, until a person has decided."""
    asked: dict[IpTarget, set[ServerKey]] = {}
    claimed: dict[ServerKey, set[Target]] = {}
    for member in members:
        if member.server is not None and isinstance(member.target, IpTarget):
            asked.setdefault(member.target, set()).add(member.server)
            claimed.setdefault(member.server, set()).add(member.target)
    if not asked:
        return members
    attachments = (attachment for server in snapshot.servers for attachment in server.private_ips)
    taken = {str(ip) for attached, ip in attachments if network in (None, attached)}

    def alone(member: NodeTarget) -> NodeTarget:
        if member.server is None or not isinstance(member.target, IpTarget):
            return member
        if len(asked[member.target]) == len(claimed[member.server]) == 1 and member.target.ip not in taken:
            return member
        return replace(member, reason=rows.ADDRESS_SHARED.because(address=member.target.ip), target=None)

    return tuple(map(alone, members))
