"""Targets of a load balancer: which Nodes may get its traffic, by which address, and which of them fit.

| Step | Function | Decides |
|---|---|---|
| 1 | ``node_targets`` | the membership of each Node: excluded by a rule, without a server, a candidate, ... |
| 2 | ``target_candidates`` | the candidates, looked up by server and by membership |
| 3 | ``desired_targets`` | the targets that fit the type's limit; foreign targets stay |
| 4 | ``removal_reason`` | why a target is removed |

Everything is decided anew in each pass, the Service's selector included. Whether a Node is Ready, cordoned or of the
control plane does not matter: health checks see to the first two, and kubeadm labels the third.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import chain, islice
from types import MappingProxyType

from desired.annotations.options import Options
from desired.annotations.table import BY_FIELD
from desired.model.load_balancer import CloudBalancer, IpTarget, ServerTarget, Target, ipv6_of, is_private
from desired.model.settings import Settings
from desired.model.snapshot import (
    ROBOT_NOT_READ,
    AddressType,
    Node,
    NodeAddress,
    Readiness,
    RobotAccount,
    Server,
    Snapshot,
)
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS, TAINT_CLUSTER_AUTOSCALER
from desired.nodes.addresses import first_host, public_ipv6
from desired.nodes.desired import DesiredNode, InitializedNode, UninitializedNode, is_uninitialized
from desired.nodes.matching import is_ignored
from desired.section import Absent, Present, Unknown, Unmanaged
from desired.syntax.bounds import counted
from desired.syntax.go import parse_bool
from desired.syntax.provider_id import MalformedID, Provider, RobotID, ServerKey, parse_provider_id, server_key


def why_excluded(node: Node, options: Options) -> str | None:
    """The rule that excludes the Node, in words; None when it may get traffic."""
    if node.deleted_at is not None:
        return "it is being deleted"
    if _is_labelled_out(node):
        return f"it has the label {LABEL_EXCLUDE_FROM_BALANCERS}"
    if any(taint.key == TAINT_CLUSTER_AUTOSCALER for taint in node.taints):
        return f"it has the taint {TAINT_CLUSTER_AUTOSCALER}"
    selector = options.node_selector
    if not isinstance(selector, Unmanaged) and not selector.matches(node.labels):
        return f"{BY_FIELD['node_selector'].full_key} is {selector.text!r}, and its labels do not match"
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


def node_targets(
    options: Options, network_id: int | None, snapshot: Snapshot, nodes: Mapping[str, DesiredNode], settings: Settings
) -> tuple[NodeTarget, ...]:
    """The membership of each Node in a load balancer with these options, in the order of names, unreadable Nodes
    included.

    ``network_id`` is the configured network, None when there is none or it could not be read; ``nodes`` are names with
    what the Nodes should be. Never OVER_LIMIT.
    """
    read = [
        _node_target(node, nodes.get(node.name), options, network_id, snapshot, settings) for node in snapshot.nodes
    ]
    unreadable = [NodeTarget(name, Membership.UNCERTAIN, why) for name, why in snapshot.nodes.unreadable.items()]
    return tuple(sorted((*_without_clashes(read, snapshot, network_id), *unreadable), key=lambda member: member.node))


def _node_target(
    node: Node,
    desired: DesiredNode | None,
    options: Options,
    network_id: int | None,
    snapshot: Snapshot,
    settings: Settings,
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
    if is_ignored(node, settings):
        membership, why = Membership.IGNORED, "ignored by --ignore-nodes: it stays what it is"
    elif excluded := why_excluded(node, options):
        membership, why = Membership.EXCLUDED, excluded
    elif key is None:
        membership, why = _without_server(node, snapshot)
    elif key.provider is Provider.ROBOT:
        internal = next(_private_ips(wanted), None)
        membership, why, target = _on_robot_server(node, internal, key, found, options, snapshot)
    else:
        server = found or _find(key, snapshot, [node])
        ipv6 = _ipv6_alone(server, node)
        membership, why = _on_server(server, ipv6, options, network_id, snapshot)
        target = ServerTarget(key.id, options.use_private_ip, ipv6) if membership is Membership.TARGET else None
    return NodeTarget(node.name, membership, why, target, key, isinstance(desired, UninitializedNode), addresses)


def _wanted_addresses(node: Node, desired: DesiredNode | None) -> tuple[NodeAddress, ...]:
    """The addresses that the Node should have; those that it has where nothing is said of them."""
    match desired:
        case UninitializedNode(identity=identity):
            return identity.addresses
        case InitializedNode(addresses=tuple() as addresses):
            return addresses
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
        given = [_ip(address.address) for address in node.addresses if address.type == AddressType.EXTERNAL_IP]
        own = {type(ip): ip for ip in reversed(given)}.values()
    return tuple(dict.fromkeys((*(str(ip) for ip in own if ip is not None), *_private_ips(reported))))


def _private_ips(addresses: Iterable[NodeAddress]) -> Iterator[str]:
    """The InternalIPs by which Hetzner's private networks reach a Node: IPv4 of the private ranges."""
    for address in addresses:
        ip = _ip(address.address) if address.type == AddressType.INTERNAL_IP else None
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
        yield member if is_alone else replace(member, membership=Membership.UNCERTAIN, why=why, target=None)


def _ip(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _on_robot_server(
    node: Node,
    internal: str | None,
    key: ServerKey,
    joining: Present[Server] | None,
    options: Options,
    snapshot: Snapshot,
) -> tuple[Membership, str, IpTarget | None]:
    """A Robot server is a target by exactly one of its addresses: the main public one, or ``internal``, the first
    InternalIP of its Node. Where the Node has none, the public one takes its place, as with HCCM. Without credentials
    for Robot nothing but InternalIPs is known (HCCM, LB-only mode).
    """
    found = joining or _find(key, snapshot, [node]) if snapshot.robot is not None else None
    if isinstance(found, Absent):
        return Membership.SERVERLESS, "the server is gone", None
    if options.use_private_ip and internal is not None:
        return Membership.TARGET, f"{key.name} by the InternalIP {internal} of its Node", IpTarget(internal)
    if found is None:
        # What it leads to now may be right: nothing is known of the server, and that is no reason to remove it.
        if options.use_private_ip:
            return Membership.UNCERTAIN, "the Node has no InternalIP", None
        private = BY_FIELD["use_private_ip"].full_key
        why = f"without ROBOT_USER and ROBOT_PASSWORD it is reached by its InternalIP alone; set {private} to true"
        return Membership.UNCERTAIN, why, None
    if isinstance(found, Unknown):
        return Membership.UNCERTAIN, found.why, None
    address = found.value.ipv4 or public_ipv6(found.value, node.provided_node_ip)
    if address is None:
        return Membership.UNUSABLE, "the server has no public address", None
    instead = ", as its Node has no InternalIP" if options.use_private_ip else ""
    return Membership.TARGET, f"{key.name} by its public address {address}{instead}", IpTarget(str(address))


def _without_server(node: Node, snapshot: Snapshot) -> tuple[Membership, str]:
    """A Node whose providerID names no server of the cloud. A joining one may be a server that is known only by name,
    and an incomplete list does not tell."""
    if node.provider_id is not None:
        match parse_provider_id(node.provider_id):
            case RobotID():
                return Membership.SERVERLESS, ROBOT_NOT_READ
            case MalformedID(why=why):
                return Membership.SERVERLESS, why
        return Membership.SERVERLESS, "the Node belongs to another cloud"
    if not is_uninitialized(node):
        return Membership.SERVERLESS, "the Node has no providerID"
    gaps = (snapshot.servers.why_incomplete, *snapshot.servers.unreadable.values())
    network = snapshot.network.why if isinstance(snapshot.network, Unknown) else None
    gap = next((gap for gap in (*gaps, network) if gap), None)
    if gap is not None:
        return Membership.UNCERTAIN, f"the Node cannot be initialized yet: {gap}"
    return Membership.SERVERLESS, "the Node is not initialized"


def _ipv6_alone(found: Present[Server] | Absent | Unknown, node: Node) -> str | None:
    """The public IPv6 address of a server that has no public IPv4; None for any other."""
    if not isinstance(found, Present) or found.value.ipv4 is not None or "public_net.ipv4" in found.value.missing:
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
        return _reach_from_outside(server, ipv6)
    if isinstance(snapshot.network, Unknown):
        return Membership.UNCERTAIN, snapshot.network.why
    if network_id is None:
        return Membership.UNUSABLE, "traffic should go to private addresses, and there is no network (HCLOUD_NETWORK)"
    if "private_net" in server.missing:
        return Membership.UNCERTAIN, "the API did not say which private addresses the server has"
    for attached, ip in server.private_ips:
        if attached == network_id:
            return Membership.TARGET, f"server {server.id} by its private address {ip}"
    return Membership.UNUSABLE, f"the server is not attached to network {network_id}"


def _reach_from_outside(server: Server, ipv6: str | None) -> tuple[Membership, str]:
    """By ``ipv6`` where there is no IPv4: Hetzner's API takes a host in the server's network as the address of a
    target."""
    for family in ("IPv4",) if server.ipv4 else ("IPv4", "IPv6"):
        if f"public_net.{family.lower()}" in server.missing:
            return Membership.UNCERTAIN, f"the API did not say which public {family} address the server has"
    address = server.ipv4 or ipv6
    if address is None:
        return Membership.UNUSABLE, "the server has no public address"
    return Membership.TARGET, f"server {server.id} by its public address {address}"


_UNLISTED = "its server is not listed, but its kubelet reports Ready"
OF_SEVERAL: Mapping[str, str] = MappingProxyType(
    {_UNLISTED: "their servers are not listed, but their kubelets report Ready"}
)
"""What is said of one Node → the same of several."""


def _find(key: ServerKey, snapshot: Snapshot, nodes: Collection[Node]) -> Present[Server] | Absent | Unknown:
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


@dataclass(frozen=True)
class TargetCandidates:
    """The membership of every Node, with indexes by server and by membership. Services that ask for the same share one:
    there may be thousands of Nodes."""

    members: tuple[NodeTarget, ...]
    """In the order of names."""
    account: Mapping[str, ServerKey] = field(default_factory=lambda: MappingProxyType({}))
    """Main public address → the server of the Robot account that has it, whether or not it is a Node. Empty where the
    account is not known whole."""

    @cached_property
    def candidates(self) -> Mapping[ServerKey, ServerTarget | IpTarget]:
        """Server → what can be a target, in the order of names; Nodes that claim one server are one."""
        return {
            member.server: member.target
            for member in self.members
            if member.membership is Membership.TARGET and member.target is not None and member.server is not None
        }

    @cached_property
    def by_address(self) -> Mapping[str, ServerKey]:
        """Address → the Robot server that it leads to: the one that should be a target by it, else the one that has it
        by Robot's word, else the one whose Node alone reports it."""
        wanted = {target.ip: key for key, target in self.candidates.items() if isinstance(target, IpTarget)}
        claims: dict[str, set[ServerKey]] = {}
        for member in self.members:
            for address in member.addresses:
                if member.server is not None:
                    claims.setdefault(address, set()).add(member.server)
        reported = {address: next(iter(keys)) for address, keys in claims.items() if len(keys) == 1}
        return {**reported, **self.account, **wanted}

    def led_to(self, target: Target) -> ServerKey | None:
        """The server that an existing target leads to; None for a label selector, and for an address of no server that
        is known."""
        match target:
            case ServerTarget(server_id=server_id):
                return ServerKey(Provider.CLOUD, server_id)
            case IpTarget(ip=ip):
                return self.by_address.get(ip)
        return None

    @cached_property
    def known(self) -> "dict[object, DesiredTargets]":
        """What was decided for load balancers with these candidates (``desired_targets``)."""
        return {}

    @cached_property
    def by_ipv6(self) -> frozenset[int]:
        """Ids of the servers without public IPv4 that get traffic from outside."""
        found = (target for target in self.candidates.values() if isinstance(target, ServerTarget))
        return frozenset(target.server_id for target in found if target.ipv6 and not target.use_private_ip)

    @cached_property
    def by_server(self) -> Mapping[ServerKey, tuple[NodeTarget, ...]]:
        """Server → the Nodes that claim it."""
        claims: dict[ServerKey, tuple[NodeTarget, ...]] = {}
        for member in self.members:
            if member.server is not None:
                claims[member.server] = (*claims.get(member.server, ()), member)
        return claims

    @cached_property
    def by_membership(self) -> Mapping[Membership, tuple[NodeTarget, ...]]:
        """Membership → the Nodes that have it, in the order of names."""
        found: dict[Membership, list[NodeTarget]] = {}
        for member in self.members:
            found.setdefault(member.membership, []).append(member)
        return {membership: tuple(members) for membership, members in found.items()}

    def leaves_alone(self, server: ServerKey) -> bool:
        """Whether the existing targets of this server stay: its Node is uncertain or ignored, or no Node claims it and
        the server of some Node is not known."""
        claims = self.by_server.get(server, ())
        if not claims:
            return self._any_may_be
        return any(member.membership in (Membership.UNCERTAIN, Membership.IGNORED) for member in claims)

    @cached_property
    def _any_may_be(self) -> bool:
        return any(member.server is None for member in self.by_membership.get(Membership.UNCERTAIN, ()))


def target_candidates(members: Iterable[NodeTarget], robot: RobotAccount | None = None) -> TargetCandidates:
    """These Nodes in the order of their names; ``robot`` is None where Robot servers are not read."""
    # In a list with a gap a Node that joins may be any of them.
    is_whole = robot is not None and robot.servers.complete and not robot.servers.unreadable
    servers = robot.servers if robot is not None and is_whole else ()
    account = {str(server.ipv4): server.key for server in servers if server.ipv4 is not None}
    return TargetCandidates(tuple(sorted(members, key=lambda member: member.node)), account)


@dataclass(frozen=True)
class DesiredTargets:
    """The targets that a load balancer should have."""

    targets: frozenset[Target]
    """Everything that should be there, what is not ours included."""
    node_targets: TargetCandidates
    """The input. A Node for which there is no room has the membership ``target`` here, and ``over-limit`` in
    ``members``."""
    foreign: tuple[Target, ...] = ()
    """Targets that are left alone: label selectors, and addresses of no server that is known."""
    chosen: frozenset[ServerKey] | None = None
    """The candidates for which there is room; None when there is room for all."""
    full: str = ""
    """Why there is none for the others, in words."""

    @cached_property
    def members(self) -> tuple[NodeTarget, ...]:
        """All Nodes in the order of names. Made for every Node: what asks for some asks below."""
        everybody = self.node_targets.members
        return everybody if self.chosen is None else tuple(map(self._judged, everybody))

    def claiming(self, server: ServerKey | None) -> tuple[NodeTarget, ...]:
        """The Nodes that claim this server; nobody claims None."""
        return tuple(map(self._judged, self.node_targets.by_server.get(server, ()))) if server else ()

    def being(self, membership: Membership) -> Sequence[NodeTarget]:
        """The Nodes with this membership, in the order of names, as they are in the candidates: those without room are
        candidates there."""
        if membership not in (Membership.TARGET, Membership.OVER_LIMIT):
            return self.node_targets.by_membership.get(membership, ())
        candidates, over = (
            self.node_targets.by_membership.get(Membership.TARGET, ()),
            membership is Membership.OVER_LIMIT,
        )
        if self.chosen is None:
            return () if over else candidates
        return [member for member in candidates if (member.server not in self.chosen) is over]

    def by_why(self, membership: Membership) -> Mapping[str, Sequence[NodeTarget]]:
        """Why → the Nodes with this membership, both in order, and the Nodes as they are in the candidates."""
        if membership is Membership.OVER_LIMIT:
            return self._over_limit
        found: dict[str, list[NodeTarget]] = {}
        for member in self.being(membership):
            found.setdefault(member.why, []).append(member)
        return dict(sorted(found.items()))

    @cached_property
    def _over_limit(self) -> Mapping[str, Sequence[NodeTarget]]:
        """Made once, as a type without room may leave out thousands of Nodes, and many Services share the answer."""
        members = self.being(Membership.OVER_LIMIT)
        return {self.full: members} if members else {}

    def _judged(self, member: NodeTarget) -> NodeTarget:
        if self.chosen is not None and member.membership is Membership.TARGET and member.server not in self.chosen:
            return replace(member, membership=Membership.OVER_LIMIT, why=self.full)
        return member


def count_targets(node_targets: TargetCandidates, present: CloudBalancer | None) -> int:
    """Number of targets that a load balancer would have if there were room for all of them."""
    foreign, kept = _stay(node_targets, () if present is None else present.targets)
    return len(foreign) + len(kept) + len(node_targets.candidates)


def desired_targets(
    node_targets: TargetCandidates, present: CloudBalancer | None, max_targets: int | None, remedy: str
) -> DesiredTargets:
    """The targets of a load balancer whose type takes ``max_targets``, None for all that there are; ``present`` is None
    when it is to be created. ``remedy`` says what to do where these are too few.

    What is not ours or uncertain keeps its place, then what is a target already, then Nodes in the order of their
    names. Nodes that claim one server are one target, by exactly one of its addresses. Load balancers that have the
    same targets and the same room share the answer.
    """
    there = () if present is None else present.targets
    asked = (there, ipv6_of(there), max_targets, remedy)
    if asked not in node_targets.known:
        node_targets.known[asked] = _fitting(node_targets, there, max_targets, remedy)
    return node_targets.known[asked]


def _fitting(
    node_targets: TargetCandidates, there: tuple[Target, ...], max_targets: int | None, remedy: str
) -> DesiredTargets:
    candidates = node_targets.candidates
    foreign, kept = _stay(node_targets, there)
    room = len(candidates) if max_targets is None else max(0, max_targets - len(foreign) - len(kept))
    if max_targets is None or len(candidates) <= room:
        return DesiredTargets(frozenset((*foreign, *kept, *candidates.values())), node_targets, foreign)
    serving = set(map(node_targets.led_to, there))
    first = (key for key in candidates if key in serving)
    chosen = frozenset(islice(chain(first, (key for key in candidates if key not in serving)), room))
    return DesiredTargets(
        frozenset((*foreign, *kept, *(candidates[key] for key in chosen))),
        node_targets,
        foreign,
        chosen,
        f"the type takes {counted(max_targets, 'target')}, all taken; {remedy}",
    )


def _stay(node_targets: TargetCandidates, there: tuple[Target, ...]) -> tuple[tuple[Target, ...], frozenset[Target]]:
    """Existing targets that stay whatever the Nodes are: foreign ones, and servers that are left alone."""
    servers = {target: node_targets.led_to(target) for target in there}
    foreign = (target for target, server in servers.items() if server is None)
    kept = frozenset(
        target
        for target, server in servers.items()
        if server is not None and server not in node_targets.candidates and node_targets.leaves_alone(server)
    )
    return tuple(sorted(foreign, key=str)), kept


@dataclass(frozen=True, slots=True)
class Removal:
    """The reason why an existing target is removed."""

    why: str
    """One sentence for people."""
    server_lives: bool
    """Whether traffic may be lost: False only where the server is known to be gone."""
    explained: bool
    """Whether a person's choice or the server's end is the cause (``target-floor``)."""


def removal_reason(target: Target, server: ServerKey, members: Collection[NodeTarget], snapshot: Snapshot) -> Removal:
    """The reason for the removal of ``target``, which leads to ``server`` and is none of ``desired_targets``. The
    ``members`` are all of the load balancer's, or those of them that claim the server.

    Of several Nodes with the server each has to explain it.
    """
    claims = [member for member in members if member.server == server]
    nodes = [snapshot.nodes.items[member.node] for member in claims]
    if isinstance(_find(server, snapshot, nodes), Absent):
        return Removal(f"{server.name} is gone", server_lives=False, explained=True)
    if not claims:
        return Removal(f"no Node is {server.name}", server_lives=True, explained=False)
    others = [member for member in claims if member.membership is not Membership.TARGET or member.target == target]
    if not others:
        return Removal(f"{server.name} is a target by its other address", server_lives=True, explained=True)
    why = "; ".join(sorted(f"Node {member.node} is no target: {member.why}" for member in others))
    explained = all(member.membership is Membership.EXCLUDED for member in others)
    return Removal(why, server_lives=True, explained=explained)
