"""Membership of Nodes in a load balancer: which may get its traffic, and by which address of theirs.

Everything is decided anew in each pass, the Service's selector included. Whether a Node is Ready, cordoned or of the
control plane does not matter: health checks see to the first two, and kubeadm labels the third.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, ip_address
from types import MappingProxyType

from desired.annotations.claims import BOTH_FAMILIES
from desired.annotations.options import Options
from desired.load_balancers.network import Place, configured_network, why_out_of_zone
from desired.model.load_balancer import IpTarget, ServerTarget, Target, is_private
from desired.model.settings import Settings
from desired.model.snapshot import (
    AddressType,
    Node,
    NodeAddress,
    Readiness,
    Server,
    Snapshot,
)
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS, TAINT_CLUSTER_AUTOSCALER
from desired.nodes.addresses import BY_SETTING, DesiredAddresses, first_host, public_ipv6
from desired.nodes.matching import is_ignored
from desired.nodes.node import DesiredNode, InitializedNode, UninitializedNode, UnmanagedNode, is_uninitialized
from desired.plan.notes import NoteKind
from desired.rules import load_balancers as rows
from desired.rules.nodes import Stage
from desired.rules.rule import Decided, Reason
from desired.section import Absent, Present, Unknown, Unmanaged
from desired.syntax.address import parse_ip
from desired.syntax.go import parse_bool
from desired.syntax.provider_id import MalformedID, Provider, RobotID, ServerKey, parse_provider_id, server_key
from desired.syntax.selector import Operator, Selector


def exclusion(node: Node) -> Reason | None:
    """The rule that excludes the Node whatever a Service selects; None when none does."""
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


@dataclass(frozen=True, slots=True)
class NodeTarget:
    """One Node as a target."""

    node: str
    """Its name."""
    membership: Membership
    reason: Reason
    """Names no Node and, where something is wrong, no server: Nodes with one trouble have one sentence."""
    target: ServerTarget | IpTarget | None = None
    """What it is as a target, or would be if there were room: a Robot server is an address. None when it can be none.
    """
    server: ServerKey | None = None
    """The server that it is, or is to be; None when it has none, or none that is known."""
    joins: bool = False
    """Whether its ``node.initialise`` is part of the same plan: its server is then the one that it will have."""
    addresses: tuple[str, ...] = ()
    """Of a Robot server's Node, all by which an existing target may lead to it."""
    told: Decided[Stage] | None = None
    """What the Node's own note says where it has no server; None where it has none."""

    @property
    def why(self) -> str:
        """The reason in words; with the remedy, where it should be a target."""
        return self.reason.says if self.is_left_out else self.reason.text

    @property
    def is_left_out(self) -> bool:
        """Whether a rule keeps it from being a target, or it has no server: nothing has to be mended."""
        return self.membership in _LEFT_OUT

    @property
    def keeps_its_target(self) -> bool:
        """Whether it can be no new target, and an existing one stays: that Hetzner would refuse it now, or that no
        address is known by which it answers, does not prove that it does not."""
        return self.membership is Membership.UNUSABLE and self.reason.rule in _UNPROVEN


_LEFT_OUT = frozenset({Membership.EXCLUDED, Membership.SERVERLESS, Membership.IGNORED})
_UNPROVEN = (rows.IN_NO_VSWITCH, rows.IPV6_IN_NETWORK, rows.OF_ONE_FAMILY, rows.OF_ONE_FAMILY_IN_NETWORK)


@dataclass(frozen=True)
class NodeMemberships:
    """The membership of each Node in load balancers that reach Nodes in the same way, whatever their Services select.

    It is decided once for all of them: there may be thousands of Nodes, and hundreds of selectors.
    """

    members: tuple[NodeTarget, ...]
    """In the order of names, unreadable Nodes included. Never OVER_LIMIT."""
    snapshot: Snapshot
    network_id: int | None

    def selected_by(self, selector: Selector | Unmanaged) -> tuple[NodeTarget, ...]:
        """The members, of which only those that the selector selects get traffic."""
        if isinstance(selector, Unmanaged):
            chosen = self.members
        else:
            found = list(self._unselected)
            for place in self._candidates(selector):
                if selector.matches(self._labels[place]):
                    found[place] = self.members[place]
            chosen = tuple(found)
        return tuple(_without_clashes(chosen, self.snapshot, self.network_id)) if self._has_addresses else chosen

    @cached_property
    def _has_addresses(self) -> bool:
        return any(isinstance(member.target, IpTarget) for member in self.members)

    @cached_property
    def _labels(self) -> tuple[Mapping[str, str], ...]:
        nodes = self.snapshot.nodes.items
        return tuple(nodes[member.node].labels if member.node in nodes else _NO_LABELS for member in self.members)

    @cached_property
    def _unselected(self) -> tuple[NodeTarget, ...]:
        """The members as they are where the selector does not match: what excludes them otherwise is told first."""
        return tuple(map(self._without_traffic, self.members))

    def _without_traffic(self, member: NodeTarget) -> NodeTarget:
        stays = (Membership.IGNORED, Membership.EXCLUDED)
        if member.membership in stays or member.node not in self.snapshot.nodes.items:
            return member
        fields = (member.server, member.joins, member.addresses)
        return NodeTarget(member.node, Membership.EXCLUDED, rows.UNSELECTED.because(), None, *fields)

    def _candidates(self, selector: Selector) -> Iterable[int]:
        """Places of the members that the selector may select: of those with a label that it names, where it does."""
        for requirement in selector.requirements:
            if requirement.operator is Operator.IN:
                by_value = self._places(requirement.key)
                return (place for value in requirement.values for place in by_value.get(value, ()))
        return range(len(self.members))

    def _places(self, key: str) -> Mapping[str, Sequence[int]]:
        """Value of a label → places of the members that have it."""
        if key not in self._by_label:
            places: dict[str, list[int]] = {}
            for place, labels in enumerate(self._labels):
                if key in labels:
                    places.setdefault(labels[key], []).append(place)
            self._by_label[key] = places
        return self._by_label[key]

    @cached_property
    def _by_label(self) -> dict[str, Mapping[str, Sequence[int]]]:
        return {}


_NO_LABELS: Mapping[str, str] = MappingProxyType({})


def node_memberships(
    options: Options,
    network_id: int | None,
    snapshot: Snapshot,
    nodes: Mapping[str, DesiredNode],
    settings: Settings,
    place: Place | None = None,
    families: frozenset[int] = BOTH_FAMILIES,
) -> NodeMemberships:
    """The membership of each Node in load balancers with these options, whatever they select.

    ``network_id`` is the network by which they are reached, None when none is known; ``nodes`` are names with what the
    Nodes should be. ``place`` is where the load balancer is, and what it has there, None where that changes
    nothing; ``families`` are the versions of IP by which Nodes take the traffic (``Claim.families``).
    """
    way = _Way(options.use_private_ip is True, network_id, snapshot, settings, place, families)
    members = [way.member(node, nodes.get(node.name)) for node in snapshot.nodes]
    members += [
        NodeTarget(name, Membership.UNCERTAIN, rows.NODE_UNREADABLE.because(cause=why))
        for name, why in snapshot.nodes.unreadable.items()
    ]
    return NodeMemberships(tuple(sorted(members, key=lambda member: member.node)), snapshot, network_id)


_MEMBERSHIP: Mapping[str, Membership] = {
    row.name: membership
    for membership, those in (
        (Membership.TARGET, (rows.TAKES_INTERNAL, rows.TAKES_PRIVATE, rows.TAKES_PUBLIC, rows.TAKES_PUBLIC_INSTEAD)),
        (Membership.EXCLUDED, (rows.EXCLUDED_BY_LABEL, rows.LEAVING, rows.LEAVING_BY_AUTOSCALER)),
        (Membership.IGNORED, (rows.TARGET_IGNORED,)),
        (Membership.SERVERLESS, (rows.NOT_INITIALIZED, rows.OF_ANOTHER_CLOUD, rows.ON_UNREAD_ROBOT_SERVER)),
        (Membership.SERVERLESS, (rows.WITH_A_MALFORMED_ID, rows.WITHOUT_ID, rows.WITHOUT_SERVER)),
        (Membership.UNUSABLE, (rows.IN_ANOTHER_ZONE, rows.NOT_ATTACHED, rows.PRIVATE_ALONE, rows.WITHOUT_INTERNAL_IP)),
        (Membership.UNUSABLE, (rows.WITHOUT_NETWORK, rows.NETWORK_NOT_FOUND, rows.WITHOUT_PUBLIC_ADDRESS, *_UNPROVEN)),
    )
    for row in those
}
"""Name of a row → the membership of the Node of which it is the reason; of every other row it is UNCERTAIN, with which
a target stays."""


@dataclass(frozen=True, slots=True)
class _Way:
    """How load balancers reach Nodes, and what is known of both."""

    by_private: bool
    network_id: int | None
    snapshot: Snapshot
    settings: Settings
    place: Place | None
    families: frozenset[int]

    def member(self, node: Node, desired: DesiredNode | None) -> NodeTarget:
        """The membership of a Node that is to be ``desired``."""
        key = server_key(node.provider_id)
        if key is not None and key.provider is Provider.ROBOT and not self.settings.robot:
            key = None
        joining = Present(desired.server) if isinstance(desired, UninitializedNode) else None
        if joining is not None:
            key = joining.value.key
        wanted = _wanted_addresses(node, desired)
        target: ServerTarget | IpTarget | None = None
        if is_ignored(node, self.settings):
            reason = rows.TARGET_IGNORED.because()
        elif excluded := exclusion(node):
            reason = excluded
        elif key is None:
            reason = _without_server(node, self.snapshot)
        elif key.provider is Provider.ROBOT:
            internal = next(_private_ips(wanted), None) if self.by_private else None
            reason, target = self._on_robot(node, internal, key, joining)
        else:
            reason, target = self._in_cloud(node, joining or find_server(key, self.snapshot, [node]))
        addresses = _addresses_of(node, (*node.addresses, *wanted), key, self.snapshot)
        membership = _MEMBERSHIP.get(reason.rule.name, Membership.UNCERTAIN)
        told = desired.stage if isinstance(desired, UnmanagedNode) and membership is Membership.SERVERLESS else None
        told = told if told and isinstance(told.rule.of, NoteKind) else None
        return NodeTarget(node.name, membership, reason, target, key, joining is not None, addresses, told)

    def _in_cloud(self, node: Node, found: Present[Server] | Absent | Unknown) -> tuple[Reason, ServerTarget | None]:
        if isinstance(found, Unknown):
            return rows.TARGET_SERVER_UNKNOWN.because(cause=found.why), None
        if isinstance(found, Absent):
            return rows.WITHOUT_SERVER.because(), None
        server, ipv6 = found.value, None
        if 4 not in self.families or (server.ipv4 is None and "public_net.ipv4" not in server.missing):
            ipv6 = public_ipv6(server, node.provided_node_ip)
        reason = (
            why_out_of_zone(server, self.place)
            or self._of_another_family(server, node, private=self.by_private)
            or (self._inside(server) if self.by_private else self._outside(server, ipv6))
        )
        if _MEMBERSHIP.get(reason.rule.name) is not Membership.TARGET:
            return reason, None
        return reason, ServerTarget(server.id, self.by_private, None if ipv6 is None else str(ipv6))

    def _inside(self, server: Server) -> Reason:
        """Whether traffic reaches the server through the network."""
        if self.network_id is None:
            if isinstance(self.snapshot.network, Unknown):
                return rows.PRIVATE_NETWORK_UNKNOWN.because(cause=self.snapshot.network.why)
            is_missing = isinstance(self.snapshot.network, Absent)
            return (rows.NETWORK_NOT_FOUND if is_missing else rows.WITHOUT_NETWORK).because()
        if "private_net" in server.missing:
            return rows.ADDRESS_UNSAID.because(kind="private addresses")
        for attached, ip in server.private_ips:
            if attached == self.network_id:
                return rows.TAKES_PRIVATE.because(server=server.id, address=str(ip))
        return rows.NOT_ATTACHED.because(network=self.network_id)

    def _outside(self, server: Server, ipv6: IPv6Address | None) -> Reason:
        """Whether traffic reaches the server by a public address: ``ipv6`` where that takes the place of IPv4, as
        Hetzner's API takes a host in the server's network as the address of a target."""
        for family in ("IPv4",) if server.ipv4 else ("IPv4", "IPv6"):
            if f"public_net.{family.lower()}" in server.missing:
                return rows.ADDRESS_UNSAID.because(kind=f"public {family} address")
        address = ipv6 or server.ipv4
        if address is None:
            is_inside = self.network_id in {attached for attached, _ in server.private_ips}
            return (rows.PRIVATE_ALONE if is_inside else rows.WITHOUT_PUBLIC_ADDRESS).because()
        return rows.TAKES_PUBLIC.because(server=server.key.name, address=str(address))

    def _of_another_family(self, server: Server, node: Node, *, private: bool) -> Reason | None:
        """Why no address takes the Service's traffic, though the server has one: kube-proxy opens node ports for the
        families of the Service alone. None where one does, none is known, or the API did not say it."""
        if self.families == BOTH_FAMILIES:
            return None
        if private:
            return None if 4 in self.families else rows.IPV6_IN_NETWORK.because()
        known = {4: server.ipv4, 6: public_ipv6(server, node.provided_node_ip)}
        (family,) = self.families
        if f"public_net.ipv{family}" in server.missing or known[family] or not any(known.values()):
            return None
        had, wanted = ("IPv4", "IPv6") if known[4] else ("IPv6", "IPv4")
        row = rows.OF_ONE_FAMILY_IN_NETWORK if wanted == "IPv4" and server.private_ips else rows.OF_ONE_FAMILY
        return row.because(had=had, wanted=wanted)

    def _on_robot(
        self, node: Node, internal: str | None, key: ServerKey, joining: Present[Server] | None
    ) -> tuple[Reason, IpTarget | None]:
        """A Robot server is a target by exactly one of its addresses: the main public one, or ``internal``, the first
        InternalIP of its Node, which is IPv4, where private ones are asked for. Where the Node has none, the public one
        takes its place, as with HCCM. Without credentials for Robot nothing but InternalIPs is known (HCCM, LB-only
        mode).
        """
        found = joining or find_server(key, self.snapshot, [node]) if self.snapshot.robot is not None else None
        if isinstance(found, Absent):
            return rows.WITHOUT_SERVER.because(), None
        if internal is not None and (out := self._why_in_no_vswitch(internal)):
            return out, None
        if isinstance(found, Present):
            other = self._of_another_family(found.value, node, private=internal is not None)
            if other is not None:
                return other, None
        if internal is not None:
            return rows.TAKES_INTERNAL.because(server=key.name, address=internal), IpTarget(internal)
        if found is None:
            # What it leads to now may be right: nothing is known of the server, and that is no reason to remove it.
            return (rows.INTERNAL_IP_LACKING if self.by_private else rows.ROBOT_CREDENTIALS_LACKING).because(), None
        if isinstance(found, Unknown):
            return rows.TARGET_SERVER_UNKNOWN.because(cause=found.why), None
        ipv6 = public_ipv6(found.value, node.provided_node_ip)
        address = (found.value.ipv4 if 4 in self.families else None) or (ipv6 if 6 in self.families else None)
        if address is None:
            return rows.WITHOUT_INTERNAL_IP.because(), None
        row = rows.TAKES_PUBLIC_INSTEAD if self.by_private else rows.TAKES_PUBLIC
        return row.because(server=key.name, address=str(address)), IpTarget(str(address))

    def _why_in_no_vswitch(self, address: str) -> Reason | None:
        """The reason why Hetzner takes no dedicated server by this private address (``network_has_no_vswitch_subnet``,
        ``ip_not_in_vswitch_subnet``); None when it may, has done so already, or when that is not known."""
        network = configured_network(self.snapshot)
        is_another = network is not None and network.id != self.network_id
        if (
            network is None
            or is_another
            or network.vswitches is None
            or (self.place and address in self.place.addresses)
        ):
            return None
        if any(ip_address(address) in vswitch for vswitch in network.vswitches):
            return None
        said = f"the vSwitch {', '.join(map(str, network.vswitches))}" if network.vswitches else "no vSwitch subnet"
        return rows.IN_NO_VSWITCH.because(address=address, network=network.name, vswitches=said)


def _without_server(node: Node, snapshot: Snapshot) -> Reason:
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
    if gap is not None:
        return rows.NOT_INITIALIZED_YET.because(cause=gap)
    return rows.NOT_INITIALIZED.because()


def _wanted_addresses(node: Node, desired: DesiredNode | None) -> tuple[NodeAddress, ...]:
    """The addresses that the Node should have, or has if nothing is said of them; and those that a setting alone takes,
    as long as it has them."""
    match desired:
        case UninitializedNode(identity=identity):
            return identity.addresses
        case InitializedNode(addresses=DesiredAddresses() as addresses):
            return (*addresses.values, *(each.value for each in addresses.gone if each.rule in BY_SETTING))
    return node.addresses


def _addresses_of(
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


def _without_clashes(members: Sequence[NodeTarget], snapshot: Snapshot, network_id: int | None) -> Iterator[NodeTarget]:
    """The members, in which none is a target by an address that another server has or asks for, nor by one of
    several that its server has according to its Nodes: what is there stays, until a person has decided."""
    asked: dict[IpTarget, set[ServerKey]] = {}
    claimed: dict[ServerKey, set[Target]] = {}
    for member in members:
        if member.server is not None and isinstance(member.target, IpTarget):
            asked.setdefault(member.target, set()).add(member.server)
            claimed.setdefault(member.server, set()).add(member.target)
    places = (place for server in snapshot.servers for place in server.private_ips) if asked else ()
    taken = {str(ip) for network, ip in places if network_id in (None, network)}
    for member in members:
        if member.server is None or not isinstance(member.target, IpTarget):
            yield member
            continue
        is_alone = len(asked[member.target]) == len(claimed[member.server]) == 1 and member.target.ip not in taken
        shared = rows.ADDRESS_SHARED.because(address=member.target.ip)
        yield member if is_alone else replace(member, membership=Membership.UNCERTAIN, reason=shared, target=None)


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
