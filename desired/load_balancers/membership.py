"""Membership of Nodes in a load balancer: which may get its traffic, and by which address of theirs.

Everything is decided anew in each pass, the Service's selector included. Whether a Node is Ready, cordoned or of the
control plane does not matter: health checks see to the first two, and kubeadm labels the third.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, ip_address
from types import MappingProxyType

from desired.annotations.claims import BOTH_FAMILIES
from desired.annotations.options import OPTIONS, Options
from desired.load_balancers.zones import Place, why_out_of_zone
from desired.model.load_balancer import IpTarget, ServerTarget, Target, is_private
from desired.model.settings import Settings
from desired.model.snapshot import (
    ROBOT_NOT_READ,
    AddressType,
    Node,
    NodeAddress,
    Readiness,
    Server,
    Snapshot,
)
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS, TAINT_CLUSTER_AUTOSCALER
from desired.nodes.addresses import DesiredAddresses, first_host, public_ipv6
from desired.nodes.desired import DesiredNode, InitializedNode, UninitializedNode, is_uninitialized
from desired.nodes.matching import is_ignored
from desired.section import Absent, Present, Unknown, Unmanaged
from desired.syntax.address import parse_ip
from desired.syntax.go import parse_bool
from desired.syntax.provider_id import MalformedID, Provider, RobotID, ServerKey, parse_provider_id, server_key
from desired.syntax.selector import Operator, Selector


class Cause(StrEnum):
    """Why Nodes get no traffic, where many may have one cause. The values are how these are counted."""

    LABEL = "excluded by label"
    TAINT = "about to be removed by the cluster autoscaler"
    UNSELECTED = "not matched by the node selector"
    DELETING = "being deleted"
    IGNORED = "ignored by --ignore-nodes"
    FOREIGN = "with a providerID that is not Hetzner's"
    MALFORMED = "with a malformed providerID"
    UNCLAIMED = "without providerID"
    JOINING = "not initialized"
    GONE = "without server"
    ROBOT = "of Robot, which is not read"
    ZONE = "in another network zone"
    FAMILY = "without an address of the Service's family"
    VSWITCH = "in no vSwitch of the network"
    UNREACHABLE = "out of reach"
    """``NodeTarget.why`` says of which address, and what mends it."""
    UNCERTAIN = "not known"
    """``NodeTarget.why`` says what could not be read."""


def exclusion(node: Node) -> tuple[Cause, str] | None:
    """The rule that excludes the Node whatever a Service selects, and the same in words; None when none does."""
    if node.deleted_at is not None:
        return Cause.DELETING, "it is being deleted"
    if _is_labelled_out(node):
        return Cause.LABEL, f"it has the label {LABEL_EXCLUDE_FROM_BALANCERS}"
    if any(taint.key == TAINT_CLUSTER_AUTOSCALER for taint in node.taints):
        return Cause.TAINT, f"it has the taint {TAINT_CLUSTER_AUTOSCALER}"
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
    why: str
    """One sentence for people. It names no Node and, where something is wrong, no server: Nodes with one trouble have
    one sentence."""
    target: ServerTarget | IpTarget | None = None
    """What it is as a target, or would be if there were room: a Robot server is an address. None when it can be none.
    """
    server: ServerKey | None = None
    """The server that it is, or is to be; None when it has none, or none that is known."""
    joins: bool = False
    """Whether its ``node.initialise`` is part of the same plan: its server is then the one that it will have."""
    addresses: tuple[str, ...] = ()
    """Of a Robot server's Node, all by which an existing target may lead to it."""
    cause: Cause = field(default=Cause.UNREACHABLE, compare=False)
    """Of a Node that is no target: what ``why`` says, without what differs between Nodes."""
    note: str = field(default="", compare=False)
    """What the Node's own note says where it has no server; "" where it has none."""

    @property
    def keeps_its_target(self) -> bool:
        """Whether it can be no new target, and an existing one stays: that Hetzner would refuse it now, or that no
        address is known by which it answers, does not prove that it does not."""
        return self.membership is Membership.UNUSABLE and self.cause in (Cause.FAMILY, Cause.VSWITCH)


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
        has_addresses = self._has_addresses
        return tuple(_without_clashes(chosen, self.snapshot, self.network_id)) if has_addresses else chosen

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
        why = f"{OPTIONS['node_selector'].full_key} does not match its labels"
        fields = (member.server, member.joins, member.addresses, Cause.UNSELECTED)
        return NodeTarget(member.node, Membership.EXCLUDED, why, None, *fields)

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
    said: Mapping[str, str] = MappingProxyType({}),
    place: Place | None = None,
    families: frozenset[int] = BOTH_FAMILIES,
) -> NodeMemberships:
    """The membership of each Node in load balancers with these options, whatever they select.

    ``network_id`` is the configured network, None when there is none or it could not be read; ``nodes`` are names with
    what the Nodes should be, ``said`` names with the notes on Nodes that are left alone. ``place`` is where the load
    balancer is, and what it has there, None where that changes nothing; ``families`` are the versions of IP by which
    Nodes take the traffic (``Claim.families``).
    """
    read = [
        _noted(_node_target(node, nodes.get(node.name), options, network_id, snapshot, settings, place, families), said)
        for node in snapshot.nodes
    ]
    unreadable = [
        NodeTarget(name, Membership.UNCERTAIN, why, cause=Cause.UNCERTAIN)
        for name, why in snapshot.nodes.unreadable.items()
    ]
    members = tuple(sorted((*read, *unreadable), key=lambda member: member.node))
    return NodeMemberships(members, snapshot, network_id)


def _node_target(
    node: Node,
    desired: DesiredNode | None,
    options: Options,
    network_id: int | None,
    snapshot: Snapshot,
    settings: Settings,
    place: Place | None,
    families: frozenset[int],
) -> NodeTarget:
    key = server_key(node.provider_id)
    if key is not None and key.provider is Provider.ROBOT and not settings.robot:
        key = None
    found = None
    if isinstance(desired, UninitializedNode):
        key, found = desired.server.key, Present(desired.server)
    target: ServerTarget | IpTarget | None = None
    wanted = _wanted_addresses(node, desired)
    addresses = _addresses_of(node, (*node.addresses, *wanted), key, snapshot)
    cause = None
    if is_ignored(node, settings):
        membership, why, cause = Membership.IGNORED, "ignored by --ignore-nodes: it stays what it is", Cause.IGNORED
    elif excluded := exclusion(node):
        membership, (cause, why) = Membership.EXCLUDED, excluded
    elif key is None:
        membership, cause, why = _without_server(node, snapshot)
    elif key.provider is Provider.ROBOT:
        internal = next(_private_ips(wanted), None)
        membership, cause, why, target = _on_robot(node, internal, key, found, options, snapshot, place, families)
    else:
        server = found or find_server(key, snapshot, [node])
        ipv6 = _instead_of_ipv4(server, node, families)
        if elsewhere := why_out_of_zone(server.value, place) if isinstance(server, Present) else None:
            membership, why, cause = Membership.UNUSABLE, elsewhere, Cause.ZONE
        elif other := _of_another_family(server, node, families, private=options.use_private_ip):
            membership, why, cause = Membership.UNUSABLE, other, Cause.FAMILY
        else:
            membership, why = _on_server(server, ipv6, options, network_id, snapshot)
        target = ServerTarget(key.id, options.use_private_ip, ipv6) if membership is Membership.TARGET else None
    return NodeTarget(
        node.name,
        membership,
        why,
        target,
        key,
        isinstance(desired, UninitializedNode),
        addresses,
        cause or _CAUSES.get(membership, Cause.UNREACHABLE),
    )


def _noted(member: NodeTarget, said: Mapping[str, str]) -> NodeTarget:
    """With the Node's own note where it has no server."""
    is_noted = member.membership is Membership.SERVERLESS and member.node in said
    return replace(member, note=said[member.node]) if is_noted else member


_CAUSES: Mapping[Membership, Cause] = MappingProxyType(
    {Membership.SERVERLESS: Cause.GONE, Membership.UNCERTAIN: Cause.UNCERTAIN}
)
"""Of a Node whose providerID names a server."""


def _wanted_addresses(node: Node, desired: DesiredNode | None) -> tuple[NodeAddress, ...]:
    """The addresses that the Node should have; those that it has where nothing is said of them."""
    match desired:
        case UninitializedNode(identity=identity):
            return identity.addresses
        case InitializedNode(addresses=DesiredAddresses() as addresses):
            return addresses.values
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
    """The members, in which nobody is a target by an address that another server has or asks for, nor by one of
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
        why = f"{member.target.ip} is the address of another server or Node as well"
        uncertain = replace(member, membership=Membership.UNCERTAIN, why=why, target=None, cause=Cause.UNCERTAIN)
        yield member if is_alone else uncertain


def _on_robot(
    node: Node,
    internal: str | None,
    key: ServerKey,
    joining: Present[Server] | None,
    options: Options,
    snapshot: Snapshot,
    place: Place | None,
    families: frozenset[int],
) -> tuple[Membership, Cause | None, str, IpTarget | None]:
    """A Robot server's Node, and what speaks against the address that it would be a target by."""
    membership, why, target = _on_robot_server(node, internal, key, joining, options, snapshot, families)
    is_private = options.use_private_ip and internal is not None
    if membership is Membership.TARGET and is_private and (out := _why_in_no_vswitch(internal, snapshot, place)):
        return Membership.UNUSABLE, Cause.VSWITCH, out, None
    if other := _of_another_family(joining or snapshot.find(key), node, families, private=is_private):
        return Membership.UNUSABLE, Cause.FAMILY, other, None
    return membership, None, why, target


def _on_robot_server(
    node: Node,
    internal: str | None,
    key: ServerKey,
    joining: Present[Server] | None,
    options: Options,
    snapshot: Snapshot,
    families: frozenset[int],
) -> tuple[Membership, str, IpTarget | None]:
    """A Robot server is a target by exactly one of its addresses: the main public one, or ``internal``, the first
    InternalIP of its Node, which is IPv4. Where the Node has none, the public one takes its place, as with HCCM.
    Without credentials for Robot nothing but InternalIPs is known (HCCM, LB-only mode).
    """
    found = joining or find_server(key, snapshot, [node]) if snapshot.robot is not None else None
    if isinstance(found, Absent):
        return Membership.SERVERLESS, "the server is gone", None
    if options.use_private_ip and internal is not None:
        return Membership.TARGET, f"{key.name} by the InternalIP {internal} of its Node", IpTarget(internal)
    if found is None:
        # What it leads to now may be right: nothing is known of the server, and that is no reason to remove it.
        if options.use_private_ip:
            return Membership.UNCERTAIN, "the Node has no InternalIP", None
        private = OPTIONS["use_private_ip"].full_key
        why = f"without ROBOT_USER and ROBOT_PASSWORD it is reached by its InternalIP alone; set {private} to true"
        return Membership.UNCERTAIN, why, None
    if isinstance(found, Unknown):
        return Membership.UNCERTAIN, found.why, None
    ipv6 = public_ipv6(found.value, node.provided_node_ip)
    address = (found.value.ipv4 if 4 in families else None) or (ipv6 if 6 in families else None)
    if address is None:
        why = f"the server has no public address: give its Node an InternalIP, and set {_PRIVATE} to true"
        return Membership.UNUSABLE, why, None
    instead = ", as its Node has no InternalIP" if options.use_private_ip else ""
    return Membership.TARGET, f"{key.name} by its public address {address}{instead}", IpTarget(str(address))


def _why_in_no_vswitch(address: str | None, snapshot: Snapshot, place: Place | None) -> str | None:
    """The reason why Hetzner takes no dedicated server by this private address (``network_has_no_vswitch_subnet``,
    ``ip_not_in_vswitch_subnet``); None when it may, has done so already, or when that is not known."""
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    if address is None or network is None or network.vswitches is None or (place and address in place.addresses):
        return None
    if any(ip_address(address) in vswitch for vswitch in network.vswitches):
        return None
    there = (
        f"has the vSwitch {', '.join(map(str, network.vswitches))}" if network.vswitches else "has no vSwitch subnet"
    )
    return f"its InternalIP {address} is in no vSwitch of network {network.name}, which {there}; couple one that has it"


def _without_server(node: Node, snapshot: Snapshot) -> tuple[Membership, Cause, str]:
    """A Node whose providerID names no server of the cloud. A joining one may be a server that is known only by name,
    and an incomplete list does not tell."""
    if node.provider_id is not None:
        match parse_provider_id(node.provider_id):
            case RobotID():
                return Membership.SERVERLESS, Cause.ROBOT, ROBOT_NOT_READ
            case MalformedID(why=why):
                return Membership.SERVERLESS, Cause.MALFORMED, why
        return Membership.SERVERLESS, Cause.FOREIGN, "the Node belongs to another cloud"
    if not is_uninitialized(node):
        return Membership.SERVERLESS, Cause.UNCLAIMED, "the Node has no providerID"
    gaps = (snapshot.servers.why_incomplete, *snapshot.servers.unreadable.values())
    network = snapshot.network.why if isinstance(snapshot.network, Unknown) else None
    gap = next((gap for gap in (*gaps, network) if gap), None)
    if gap is not None:
        return Membership.UNCERTAIN, Cause.UNCERTAIN, f"the Node cannot be initialized yet: {gap}"
    return Membership.SERVERLESS, Cause.JOINING, "the Node is not initialized"


def _instead_of_ipv4(found: Present[Server] | Absent | Unknown, node: Node, families: frozenset[int]) -> str | None:
    """The public IPv6 address of a server that has no public IPv4, or takes no traffic by it; None for any other."""
    if not isinstance(found, Present):
        return None
    if 4 in families and (found.value.ipv4 is not None or "public_net.ipv4" in found.value.missing):
        return None
    address = public_ipv6(found.value, node.provided_node_ip)
    return None if address is None else str(address)


def _on_server(
    found: Present[Server] | Absent | Unknown,
    ipv6: str | None,
    options: Options,
    network_id: int | None,
    snapshot: Snapshot,
) -> tuple[Membership, str]:
    if isinstance(found, Present):
        return _reach(found.value, ipv6, options, network_id, snapshot)
    if isinstance(found, Unknown):
        return Membership.UNCERTAIN, found.why
    return Membership.SERVERLESS, "the server is gone"


def _reach(
    server: Server, ipv6: str | None, options: Options, network_id: int | None, snapshot: Snapshot
) -> tuple[Membership, str]:
    """Whether traffic can reach the server by the address that the options ask for."""
    if not options.use_private_ip:
        return _reach_from_outside(server, ipv6, network_id)
    if isinstance(snapshot.network, Unknown):
        return Membership.UNCERTAIN, snapshot.network.why
    if network_id is None:
        why = "traffic should go to private addresses, and there is no network (HCLOUD_NETWORK)"
        return Membership.UNUSABLE, f"{why}: set that, or {_PRIVATE} to false"
    if "private_net" in server.missing:
        return Membership.UNCERTAIN, "the API did not say which private addresses the server has"
    for attached, ip in server.private_ips:
        if attached == network_id:
            return Membership.TARGET, f"server {server.id} by its private address {ip}"
    why = f"the server is not attached to network {network_id}: attach it, or set {_PRIVATE} to false"
    return Membership.UNUSABLE, why


def _reach_from_outside(server: Server, ipv6: str | None, network_id: int | None) -> tuple[Membership, str]:
    """By ``ipv6`` where that takes the place of IPv4: Hetzner's API takes a host in the server's network as the address
    of a target."""
    for family in ("IPv4",) if server.ipv4 else ("IPv4", "IPv6"):
        if f"public_net.{family.lower()}" in server.missing:
            return Membership.UNCERTAIN, f"the API did not say which public {family} address the server has"
    address = ipv6 or server.ipv4
    if address is None and network_id in {attached for attached, _ in server.private_ips}:
        return Membership.UNUSABLE, f"the server has no public address: set {_PRIVATE} to true"
    if address is None:
        return Membership.UNUSABLE, f"the server has no public address: give it one, or a network and {_PRIVATE}"
    return Membership.TARGET, f"server {server.id} by its public address {address}"


def _of_another_family(
    found: Present[Server] | Absent | Unknown, node: Node, families: frozenset[int], *, private: bool
) -> str | None:
    """Why no address takes the Service's traffic, though the server has one: kube-proxy opens node ports for the
    families of the Service alone. None where one does, none is known, or the API did not say it."""
    if not isinstance(found, Present) or families == BOTH_FAMILIES:
        return None
    server = found.value
    if private:
        why = f"private networks have no IPv6, and the Service takes IPv6 alone (spec.ipFamilies): {_DUAL_STACK}"
        return None if 4 in families else why
    known = {4: server.ipv4, 6: public_ipv6(server, node.provided_node_ip)}
    unsaid = any(f"public_net.ipv{family}" in server.missing for family in families)
    if unsaid or any(known[family] for family in families) or not any(known.values()):
        return None
    had, wanted = ("IPv4", "IPv6") if known[4] else ("IPv6", "IPv4")
    instead = f", or {_PRIVATE} to true" if wanted == "IPv4" and server.private_ips else ""
    why = f"the server has a public {had} address alone, and the Service takes {wanted} alone (spec.ipFamilies)"
    return f"{why}: {_DUAL_STACK}{instead}"


_DUAL_STACK = "set ipFamilyPolicy: PreferDualStack"
_PRIVATE = OPTIONS["use_private_ip"].full_key
_UNLISTED = "its server is not listed, but its kubelet reports Ready"
OF_SEVERAL: Mapping[str, str] = MappingProxyType(
    {_UNLISTED: "their servers are not listed, but their kubelets report Ready"}
)
"""What is said of one Node → the same of several."""


def find_server(key: ServerKey, snapshot: Snapshot, nodes: Collection[Node]) -> Present[Server] | Absent | Unknown:
    """The server of these Nodes. It is not gone although the list lacks it while something speaks against that: a GET
    by its id that failed, or a kubelet that reports Ready before anybody asked."""
    found = snapshot.find(key)
    if not isinstance(found, Absent):
        return found
    asked = snapshot.confirmation(key)
    if isinstance(asked, Unknown):
        return Unknown(f"its server is not listed, and asking for it alone failed: {asked.why}")
    if asked is None and any(node.ready is Readiness.TRUE for node in nodes):
        return Unknown(_UNLISTED)
    return found
