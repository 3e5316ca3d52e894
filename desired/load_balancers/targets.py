"""Targets of a load balancer: which of the Nodes that may get its traffic fit, and which existing targets go.

| Step | Function | Decides |
|---|---|---|
| 1 | ``membership.node_memberships`` | the membership of each Node: excluded, without a server, a candidate, ... |
| 2 | ``target_candidates`` | the candidates, looked up by server and by membership |
| 3 | ``desired_targets`` | the targets that fit the type's limit; foreign targets stay |
| 4 | ``removal_reason`` | why a target is removed |
| 5 | ``note_on_no_targets`` | why none is left, and what mends it |
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from types import MappingProxyType

from desired.annotations.options import Options
from desired.load_balancers.membership import Membership, NodeTarget, find_server
from desired.model.load_balancer import CloudBalancer, IpTarget, ServerTarget, Target
from desired.model.service import Service
from desired.model.snapshot import RobotAccount, Snapshot
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS
from desired.plan.notes import Note
from desired.rules import load_balancers as rows
from desired.rules.load_balancer_changes import TARGET_EXCLUDED, TARGET_GONE, TARGET_TWICE, TARGET_WITHOUT_NODE
from desired.rules.rule import Reason
from desired.section import Absent, Unmanaged
from desired.syntax.bounds import counted
from desired.syntax.provider_id import Provider, ServerKey

_LONGEST = 1000
"""Characters of a note on no targets: an Event has 1024, and a condition has a beginning."""
_NAMED = 3
"""Nodes that a command names."""


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

    def stays(self, target: Target) -> bool:
        """Whether an existing target leads, by whichever address, to a server that may get traffic or is left alone."""
        server, may = self.led_to(target), (Membership.TARGET, Membership.UNUSABLE)
        if server is None:
            return False
        return self.leaves_alone(server) or any(each.membership in may for each in self.by_server.get(server, ()))

    def name_of(self, target: Target) -> str:
        """The name of the server that an existing target leads to, by whichever address; else the target's own."""
        return (self.led_to(target) or target).name

    def names_by_port(
        self, found: Mapping[int, Iterable[Target]], balancer: CloudBalancer
    ) -> Mapping[int, frozenset[str]]:
        """Port → names of the targets found there. Whom targets of others lead to is not known: they count where the
        load balancer reports them healthy."""
        return {
            port: frozenset(
                self.name_of(target)
                for target in targets
                if self.led_to(target) is not None or port in balancer.answering(target)
            )
            for port, targets in found.items()
        }

    @cached_property
    def by_ipv6(self) -> frozenset[int]:
        """Ids of the servers that get traffic from outside by IPv6."""
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

    @cached_property
    def by_why(self) -> Mapping[Membership, Mapping[str, Sequence[NodeTarget]]]:
        """Membership → why → the Nodes that have both, in order, of those that cannot be targets though they may get
        traffic. Made once, as many Services share the answer."""
        found: dict[Membership, dict[str, list[NodeTarget]]] = {Membership.UNUSABLE: {}, Membership.UNCERTAIN: {}}
        for membership, by_why in found.items():
            for member in self.by_membership.get(membership, ()):
                by_why.setdefault(member.why, []).append(member)
        return {membership: dict(sorted(by_why.items())) for membership, by_why in found.items()}

    def leaves_alone(self, server: ServerKey) -> bool:
        """Whether the existing targets of this server stay: its Node is uncertain or ignored, or keeps its target
        though it could be none now; or no Node claims it and the server of some Node is not known."""
        claims, unknown = self.by_server.get(server, ()), (Membership.UNCERTAIN, Membership.IGNORED)
        stays = any(member.membership in unknown or member.keeps_its_target for member in claims)
        return stays if claims else self._any_may_be

    @cached_property
    def _any_may_be(self) -> bool:
        return any(member.server is None for member in self.by_membership.get(Membership.UNCERTAIN, ()))


def target_candidates(members: Iterable[NodeTarget], robot: RobotAccount | None = None) -> TargetCandidates:
    """These Nodes in the order of their names; ``robot`` is None where Robot servers are not read."""
    # In a list with a gap a Node that joins may be any of them.
    servers = robot.servers if robot is not None and robot.servers.is_whole else ()
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
    full: Reason | None = None
    """Why there is none for the others; None when there is room for all."""

    @cached_property
    def members(self) -> tuple[NodeTarget, ...]:
        """All Nodes in the order of names. Made for every Node: what asks for some asks below."""
        found = self.node_targets.members
        return found if self.chosen is None else tuple(map(self._judged, found))

    def claiming(self, server: ServerKey | None) -> tuple[NodeTarget, ...]:
        """The Nodes that claim this server; none for None."""
        return tuple(map(self._judged, self.node_targets.by_server.get(server, ()))) if server else ()

    def being(self, membership: Membership) -> Sequence[NodeTarget]:
        """The Nodes with this membership, in the order of names, as they are in the candidates: those without room are
        candidates there."""
        is_over = membership is Membership.OVER_LIMIT
        found = self.node_targets.by_membership.get(Membership.TARGET if is_over else membership, ())
        if self.chosen is None:
            return () if is_over else found
        if membership not in (Membership.TARGET, Membership.OVER_LIMIT):
            return found
        return [member for member in found if (member.server not in self.chosen) is is_over]

    def by_why(self, membership: Membership) -> Mapping[str, Sequence[NodeTarget]]:
        """Why → the Nodes with this membership, both in order, and the Nodes as they are in the candidates. Raises
        KeyError for a membership that is no trouble."""
        return self._over_limit if membership is Membership.OVER_LIMIT else self.node_targets.by_why[membership]

    @cached_property
    def _over_limit(self) -> Mapping[str, Sequence[NodeTarget]]:
        """Made once, as a type without room may leave out thousands of Nodes, and many Services share the answer."""
        return {self.full.text: self.being(Membership.OVER_LIMIT)} if self.full else {}

    def _judged(self, member: NodeTarget) -> NodeTarget:
        if self.chosen is None or self.full is None or member.membership is not Membership.TARGET:
            return member
        if member.server not in self.chosen:
            return replace(member, membership=Membership.OVER_LIMIT, reason=self.full)
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
    names. Nodes that claim one server are one target, by exactly one of its addresses.
    """
    there = () if present is None else present.targets
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
        rows.ROOM_LACKING.because(room=counted(max_targets, "target"), remedy=remedy),
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


def removal_reason(target: Target, server: ServerKey, members: Collection[NodeTarget], snapshot: Snapshot) -> Removal:
    """The reason for the removal of ``target``, which leads to ``server`` and is none of ``desired_targets``. The
    ``members`` are all of the load balancer's, or those of them that claim the server.
    """
    claims = [member for member in members if member.server == server]
    nodes = [snapshot.nodes.items[member.node] for member in claims]
    if isinstance(find_server(server, snapshot, nodes), Absent):
        return Removal(TARGET_GONE.text(server=server.name), server_lives=False)
    if not claims:
        return Removal(TARGET_WITHOUT_NODE.text(server=server.name), server_lives=True)
    others = [member for member in claims if member.membership is not Membership.TARGET or member.target == target]
    if not others:
        return Removal(TARGET_TWICE.text(server=server.name), server_lives=True)
    whys = sorted(TARGET_EXCLUDED.text(node=member.node, cause=member.reason.says) for member in others)
    return Removal(", and ".join(whys), server_lives=True)


def note_on_no_targets(members: Sequence[NodeTarget], service: Service, options: Options) -> Note:
    """The note that none of these Nodes, all of the cluster, gets traffic of ``service``."""
    if not members:
        return rows.NODES_LACKING.note(service.key)
    groups: dict[str, list[NodeTarget]] = {}
    for member in members:
        groups.setdefault(member.reason.rule.name, []).append(member)
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
