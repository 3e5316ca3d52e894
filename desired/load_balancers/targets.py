"""Targets of a load balancer: which of the Nodes that may get its traffic fit, and which existing targets go.

| Step | Function | Decides |
|---|---|---|
| 1 | ``membership.node_memberships`` | the membership of each Node: excluded, without a server, a target, ... |
| 2 | ``TargetCache.candidates`` | the Service's selector, and addresses that two servers claim |
| 3 | ``desired_targets`` | the targets that fit the type's limit; foreign targets stay |
| 4 | ``removal_reason`` | why a target is removed |
| 5 | ``note_on_no_targets`` | why none is left, and what mends it |
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice

from desired.annotations.options import Options
from desired.load_balancers.membership import (
    Membership,
    NodeTarget,
    Way,
    find_server,
    node_memberships,
    unselected,
    way_of,
    without_shared_addresses,
)
from desired.model.load_balancer import CloudBalancer, IpTarget, ServerTarget, Target
from desired.model.service import Service
from desired.model.settings import Settings
from desired.model.snapshot import RobotAccount, Snapshot
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS
from desired.nodes.node import DesiredNode
from desired.plan.notes import Note
from desired.rules import load_balancers as rows
from desired.rules.load_balancer_changes import TARGET_EXCLUDED, TARGET_GONE, TARGET_TWICE, TARGET_WITHOUT_NODE
from desired.rules.rule import Reason
from desired.section import Absent, Unmanaged, grouped
from desired.syntax.bounds import counted
from desired.syntax.provider_id import Provider, ServerKey
from desired.syntax.selector import Selector

_LONGEST = 1000
"""Characters of a note on no targets: an Event has 1024, and a condition has a beginning."""
_NAMED = 3
"""Nodes that a command names."""


@dataclass(frozen=True)
class ExistingTargets:
    """Targets that load balancers have, beside the Nodes of a cluster."""

    targets: tuple[Target, ...]
    servers: Mapping[Target, ServerKey]
    """Target → the server that it leads to; without label selectors, and addresses of no server that is known."""
    staying: frozenset[Target]
    """Targets, by whichever address, of servers that may get traffic or are left alone."""
    kept: frozenset[Target]
    """Targets of servers that are no candidates and are left alone."""
    kept_nodes: frozenset[str]
    """Nodes that keep their target though they could be none now."""
    _named: dict[frozenset[Target], frozenset[str]] = field(default_factory=dict, compare=False)

    @cached_property
    def foreign(self) -> tuple[Target, ...]:
        """Those without a known server, sorted."""
        return tuple(sorted((target for target in self.targets if target not in self.servers), key=str))

    def names_of(self, some: frozenset[Target]) -> frozenset[str]:
        """The names of the servers that some of the targets lead to."""
        if (found := self._named.get(some)) is None:
            found = frozenset(key.name for target in some if (key := self.servers.get(target)) is not None)
            self._named[some] = found
        return found

    def names_at(self, provider: Provider) -> frozenset[str]:
        """The names of the servers of this provider."""
        return self._by_provider.get(provider, frozenset())

    @cached_property
    def _by_provider(self) -> Mapping[Provider, frozenset[str]]:
        found = grouped((server.provider, server.name) for server in self.servers.values())
        return {provider: frozenset(names) for provider, names in found.items()}


@dataclass(frozen=True)
class TargetCandidates:
    """The membership of every Node in the load balancer of a Service, before the limit of its type."""

    members: tuple[NodeTarget, ...]
    """In the order of names."""
    places: Mapping[ServerKey, Sequence[int]]
    """Server → places among the members of the Nodes that claim it; the same whatever Services select."""
    account: Mapping[str, ServerKey]
    """Main public address → the server of the Robot account that has it, whether or not it is a Node. Empty where the
    account is not known whole."""
    _existing: dict[int, ExistingTargets] = field(init=False, default_factory=dict, compare=False)
    """By the id of the targets: load balancers with equal ones share a tuple. Candidates of another selector have a
    memory of their own."""

    def existing(self, targets: tuple[Target, ...]) -> ExistingTargets:
        """These targets of a load balancer. Made once, as hundreds of load balancers may have the same thousands."""
        found = self._existing.get(id(targets))
        if found is None or found.targets is not targets:
            found = self._existing[id(targets)] = self._found(targets)
        return found

    def _found(self, targets: tuple[Target, ...]) -> ExistingTargets:
        servers = {target: server for target in targets if (server := self.server_of(target)) is not None}
        staying = (target for target, key in servers.items() if self._stays(key))
        kept = (target for target, key in servers.items() if key not in self.usable and self.leaves_alone(key))
        nodes = (each.node for key in servers.values() for each in self.of_server(key) if each.keeps_its_target)
        return ExistingTargets(targets, servers, frozenset(staying), frozenset(kept), frozenset(nodes))

    @cached_property
    def usable(self) -> Mapping[ServerKey, ServerTarget | IpTarget]:
        """Server → what can be a target, in the order of names; Nodes that claim one server are one."""
        return {
            member.server: member.target
            for member in self.members
            if member.target is not None and member.server is not None
        }

    @cached_property
    def is_any_by_ipv6(self) -> bool:
        """Whether a server is to be reached by its public IPv6 address."""
        return any(isinstance(target, ServerTarget) and target.ipv6 for target in self.usable.values())

    def server_of(self, target: Target) -> ServerKey | None:
        """The server that an existing target leads to; None for a label selector, and for an address of no server that
        is known."""
        match target:
            case ServerTarget(server_id=server_id):
                return ServerKey(Provider.CLOUD, server_id)
            case IpTarget(ip=ip):
                return self._by_address.get(ip)
        return None

    @cached_property
    def _by_address(self) -> Mapping[str, ServerKey]:
        """Address → the Robot server that it leads to: the one that should be a target by it, else the one that has it
        by Robot's word, else the one whose Node alone reports it."""
        wanted = {target.ip: key for key, target in self.usable.items() if isinstance(target, IpTarget)}
        claims: dict[str, set[ServerKey]] = {}
        for member in self.members:
            for address in member.addresses:
                if member.server is not None:
                    claims.setdefault(address, set()).add(member.server)
        reported = {address: next(iter(keys)) for address, keys in claims.items() if len(keys) == 1}
        return {**reported, **self.account, **wanted}

    def of_server(self, server: ServerKey) -> list[NodeTarget]:
        """The Nodes that claim this server."""
        return [self.members[place] for place in self.places.get(server, ())]

    def _stays(self, server: ServerKey) -> bool:
        """Whether the server may get traffic, or is left alone."""
        may = (Membership.TARGET, Membership.UNUSABLE)
        return any(each.membership in may for each in self.of_server(server)) or self.leaves_alone(server)

    def leaves_alone(self, server: ServerKey) -> bool:
        """Whether the existing targets of this server stay: its Node is uncertain or ignored, or keeps its target
        though it could be none now; or no Node claims it and the server of some Node is not known."""
        claims, unknown = self.of_server(server), (Membership.UNCERTAIN, Membership.IGNORED)
        stays = any(member.membership in unknown or member.keeps_its_target for member in claims)
        return stays if claims else self._is_any_unknown

    @cached_property
    def _is_any_unknown(self) -> bool:
        return any(member.server is None and member.membership is Membership.UNCERTAIN for member in self.members)

    def name_of(self, target: Target) -> str:
        """The name of the server that an existing target leads to, by whichever address; else the target's own."""
        return (self.server_of(target) or target).name

    def names_by_port(
        self, found: Mapping[int, Iterable[Target]], balancer: CloudBalancer
    ) -> Mapping[int, frozenset[str]]:
        """Port → names of the targets found there. Whom targets of others lead to is not known: they count where the
        load balancer reports them healthy."""
        return {
            port: frozenset(
                self.name_of(target)
                for target in targets
                if self.server_of(target) is not None or port in balancer.answering(target)
            )
            for port, targets in found.items()
        }

    @cached_property
    def by_why(self) -> Mapping[Membership, Mapping[str, Sequence[NodeTarget]]]:
        """Membership → why → the Nodes that have both, in order, of those that cannot be targets though they may get
        traffic. Made once, as many Services share the answer."""
        found: dict[Membership, dict[str, list[NodeTarget]]] = {Membership.UNUSABLE: {}, Membership.UNCERTAIN: {}}
        for member in self.members:
            if (by_why := found.get(member.membership)) is not None:
                by_why.setdefault(member.why, []).append(member)
        return {membership: dict(sorted(by_why.items())) for membership, by_why in found.items()}


@dataclass(frozen=True)
class DesiredTargets:
    """The targets that a load balancer should have."""

    targets: frozenset[Target]
    """Everything that should be there, what is not ours included."""
    candidates: TargetCandidates
    """A Node for which there is no room has the membership ``target`` here, and ``over-limit`` in ``members``."""
    foreign: tuple[Target, ...] = ()
    """Targets that are left alone: label selectors, and addresses of no server that is known."""
    full: Reason | None = None
    """Why there is no room for all; None when there is."""
    chosen: frozenset[ServerKey] = frozenset()
    """The servers for which there is room, if there is not for all."""

    @cached_property
    def members(self) -> Sequence[NodeTarget]:
        """All Nodes in the order of names."""
        return self._within_limit(self.candidates.members)

    def of_server(self, server: ServerKey | None) -> Sequence[NodeTarget]:
        """The Nodes that claim this server; none for None."""
        return self._within_limit(self.candidates.of_server(server)) if server else ()

    def _within_limit(self, members: Sequence[NodeTarget]) -> Sequence[NodeTarget]:
        if (full := self.full) is None:
            return members
        return tuple(replace(member, reason=full) if self._is_over_limit(member) else member for member in members)

    def _is_over_limit(self, member: NodeTarget) -> bool:
        return member.target is not None and member.server not in self.chosen

    def by_why(self, membership: Membership) -> Mapping[str, Sequence[NodeTarget]]:
        """Why → the Nodes with this membership, both in order, and the Nodes as they are in the candidates. Raises
        KeyError for a membership that is no trouble."""
        return self._over_limit if membership is Membership.OVER_LIMIT else self.candidates.by_why[membership]

    @cached_property
    def _over_limit(self) -> Mapping[str, Sequence[NodeTarget]]:
        """Made once, as a type without room may leave out thousands of Nodes, and many Services share the answer."""
        return {self.full.text: [*filter(self._is_over_limit, self.candidates.members)]} if self.full else {}


@dataclass(frozen=True)
class TargetCache:
    """Answers for the Services of one pass. Those that ask for the same share one: there may be thousands of Nodes, and
    hundreds of Services. No answer leads back here, or a pass would stay in memory until Python looks for circles."""

    snapshot: Snapshot
    nodes: Mapping[str, DesiredNode]
    settings: Settings
    _all: dict[Way, tuple[TargetCandidates, Sequence[NodeTarget]]] = field(default_factory=dict)
    """All Nodes, and all of them as if no selector matched them."""
    _selected: dict[tuple[Way, Selector | Unmanaged], TargetCandidates] = field(default_factory=dict)
    _desired: dict[object, DesiredTargets] = field(default_factory=dict)

    @cached_property
    def zones(self) -> frozenset[str]:
        """Network zones of all servers."""
        return frozenset(server.network_zone for server in self.snapshot.servers)

    def candidates(
        self, service: Service, options: Options, present: CloudBalancer | None, zone: str
    ) -> TargetCandidates:
        """The membership of each Node in the load balancer of a Service with these options, which is or will be in this
        network zone, "" for an unknown one."""
        way = way_of(service, options, present, self.snapshot, zone, self.zones)
        return self.selected(way, options.node_selector)

    def selected(self, way: Way, selector: Selector | Unmanaged) -> TargetCandidates:
        """The membership of each Node if Nodes are reached this way and a Service has this ``selector``."""
        if way not in self._all:
            members = node_memberships(way, self.snapshot, self.nodes, self.settings)
            self._all[way] = target_candidates(members, self.snapshot.robot), tuple(map(unselected, members))
        if (way, selector) not in self._selected:
            (found, others), nodes = self._all[way], self.snapshot.nodes.items
            members = found.members
            if not isinstance(selector, Unmanaged):
                members = tuple(
                    member if member is other or selector.matches(nodes[member.node].labels) else other
                    for member, other in zip(members, others, strict=True)
                )
            members = without_shared_addresses(members, self.snapshot, way.network)
            self._selected[way, selector] = replace(found, members=members)
        return self._selected[way, selector]

    def desired(
        self, candidates: TargetCandidates, present: CloudBalancer | None, max_targets: int | None, remedy: str
    ) -> DesiredTargets:
        """``desired_targets`` of candidates that are in here."""
        there = () if present is None else present.targets
        asked = (id(candidates), id(there), max_targets, remedy)
        if asked not in self._desired:
            self._desired[asked] = desired_targets(candidates, present, max_targets, remedy)
        return self._desired[asked]


def target_candidates(members: Sequence[NodeTarget], robot: RobotAccount | None = None) -> TargetCandidates:
    """These Nodes, which are in the order of their names; ``robot`` is None where Robot servers are not read."""
    places = grouped((member.server, place) for place, member in enumerate(members) if member.server is not None)
    # In a list with a gap a Node that joins may be any of them.
    servers = robot.servers if robot is not None and robot.servers.is_whole else ()
    account = {str(server.ipv4): server.key for server in servers if server.ipv4 is not None}
    return TargetCandidates(tuple(members), places, account)


def count_targets(candidates: TargetCandidates, present: CloudBalancer | None) -> int:
    """Number of targets that a load balancer would have if there were room for all of them."""
    existing = candidates.existing(() if present is None else present.targets)
    return len(existing.foreign) + len(existing.kept) + len(candidates.usable)


def desired_targets(
    candidates: TargetCandidates, present: CloudBalancer | None, max_targets: int | None, remedy: str
) -> DesiredTargets:
    """The targets of a load balancer whose type takes ``max_targets``, None for all that there are; ``present`` is None
    when it is to be created. ``remedy`` says what to do where these are too few.

    What is not ours or uncertain keeps its place, then what is a target already, then Nodes in the order of their
    names. Nodes that claim one server are one target, by exactly one of its addresses.
    """
    existing = candidates.existing(() if present is None else present.targets)
    usable, foreign, kept = candidates.usable, existing.foreign, existing.kept
    room = len(usable) if max_targets is None else max(0, max_targets - len(foreign) - len(kept))
    if max_targets is None or len(usable) <= room:
        return DesiredTargets(frozenset((*foreign, *kept, *usable.values())), candidates, foreign)
    serving = set(existing.servers.values())
    first = (key for key in usable if key in serving)
    chosen = frozenset(islice(chain(first, (key for key in usable if key not in serving)), room))
    full = rows.ROOM_LACKING.because(room=counted(max_targets, "target"), remedy=remedy)
    targets = frozenset((*foreign, *kept, *(usable[key] for key in chosen)))
    return DesiredTargets(targets, candidates, foreign, full, chosen)


def removal_reason(
    target: Target, server: ServerKey, members: Sequence[NodeTarget], snapshot: Snapshot
) -> tuple[str, bool]:
    """The reason in words why ``target`` is removed, which leads to ``server`` and is none of ``desired_targets``; and
    whether the server is known to be gone, so that no traffic is lost. ``members`` are the Nodes that claim the server.
    """
    nodes = [snapshot.nodes.items[member.node] for member in members]
    if isinstance(find_server(server, snapshot, nodes), Absent):
        return TARGET_GONE.text(server=server.name), True
    if not members:
        return TARGET_WITHOUT_NODE.text(server=server.name), False
    others = [member for member in members if member.membership is not Membership.TARGET or member.target == target]
    if not others:
        return TARGET_TWICE.text(server=server.name), False
    whys = sorted(TARGET_EXCLUDED.text(node=member.node, cause=member.reason.says) for member in others)
    return ", and ".join(whys), False


def note_on_no_targets(members: Sequence[NodeTarget], service: Service, options: Options) -> Note:
    """The note that none of these Nodes, all of the cluster, gets traffic of ``service``."""
    if not members:
        return rows.NODES_LACKING.note(service.key)
    groups = grouped((member.reason.rule.name, member) for member in members)
    counted = Counter(member.reason.rule.counted for member in members)
    counts, remedies = {what: f"{number} {what}" for what, number in counted.most_common()}, dict[str, None]()
    note = rows.NODES_INELIGIBLE.note(service.key, total=len(members), counts=", ".join(counts.values()), remedies="")
    for found in sorted(groups.values(), key=len, reverse=True):
        first = next((member for member in found if member.told), found[0])
        what, why = first.reason.rule.counted, first.told or first.reason
        cause = f" ({first.node}: {why.says})" if why.facts else ""
        remedy = f"{first.node}: {why.advice}" if first.told and why.advice else _remedy(found, service, options)
        more = {**counts, what: counts[what] + cause}, remedies | ({remedy: None} if remedy else {})
        facts = {"counts": ", ".join(more[0].values()), "remedies": ", or ".join(more[1])}
        longer = rows.NODES_INELIGIBLE.note(service.key, total=len(members), **facts)
        if len(longer.text) <= _LONGEST or not remedies:
            note, (counts, remedies) = longer, more
    return note if len(note.text) <= _LONGEST else replace(note, text=f"{note.text[: _LONGEST - 3]}...")


def _remedy(found: Sequence[NodeTarget], service: Service, options: Options) -> str:
    """What mends what these Nodes share; "" where there is nothing to do."""
    first = found[0].reason
    names = [member.node for member in found]
    every = f"-l {LABEL_EXCLUDE_FROM_BALANCERS}" if first.rule is rows.EXCLUDED_BY_LABEL else "--all"
    nodes = " ".join(names) if len(names) <= _NAMED else every
    selector = "" if isinstance(options.node_selector, Unmanaged) else options.node_selector.text
    facts = {"nodes": nodes, "selector": selector, "service": service.name, "namespace": service.namespace}
    return first.rule.advice({**first.facts, **facts})
