"""Losses: the guards ``target-floor`` and ``exposure``, judged on what is left and never on the reason of a change.

The changes of a load balancer are applied one after another to the observed world, as in ``foresight``. Each row of
``POPULATIONS`` counts members in each of these worlds. What takes members is held where too few would be left, at the
end, or on the way there as well, whatever kinds of change bring it about and however many.

| Population | Members | Left at least |
|---|---|---|
| answering | by port the targets that answer, as reachable as they are then | half, and one, also on the way |
| existing | the servers that are not known to be gone, as reachable as they are then | one |
| existing, by provider | the same of each provider: neither outvotes the other | half |
| foreign | the targets of others that the load balancer keeps | all, also on the way |

A server that is known to be gone answers nothing, whatever its health checks said last: ``absence-proof`` asks for the
proof. An announced loss lowers the half, and never the one: a drained Node, and by provider a Node that a person keeps
from load balancers. Half is that of the most members within the last hour, as far as a loop remembers. Where nothing
answers at a port, who answered there within that hour may again, and counts as taken: checks that fail for all at once
may be wrong for a moment.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from desired.annotations.table import BY_FIELD
from desired.guards.facts import Facts, GuardResult
from desired.guards.load_balancers import services_with
from desired.guards.settings_blast_radius import is_for_the_settings
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.membership import Membership
from desired.load_balancers.targets import removal_reason
from desired.model.load_balancer import CloudBalancer, LoadBalancer, ServerTarget, Target, is_private_address
from desired.model.service import Service
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.nodes.disruption import is_planned_disruption
from desired.plan.change import Change, GuardName, Verdict
from desired.plan.foresight import balancer_after, has_way, healthy, is_down, serving
from desired.plan.kinds import OF_TRAFFIC, ChangeKind, Verb
from desired.plan.ordering import in_order
from desired.plan.setbacks import Peak
from desired.section import Absent
from desired.syntax.address import parse_address
from desired.syntax.bounds import counted
from desired.syntax.provider_id import Provider, ServerKey, server_key

Members = Mapping[str, frozenset[str]]
"""Scope, such as a port, → names of its members."""
_ADVICE = "check the Nodes and settings that are named, or approve it if an outage does no harm"


@dataclass(frozen=True, slots=True)
class _Of:
    """One load balancer, and the world that it is in."""

    lb: DesiredLoadBalancer
    facts: Facts

    def server(self, target: Target) -> ServerKey | None:
        """The server that a target leads to; None when it is none of a Node, or gone."""
        server = self.lb.targets.node_targets.led_to(target)
        if server is None or not isinstance(self.facts.snapshot.find(server), Absent):
            return server
        reason = removal_reason(target, server, self.lb.targets.claiming(server), self.facts.snapshot)
        return server if reason.server_lives else None

    def is_gone(self, target: Target) -> bool:
        """Whether the server that a target leads to is known to be gone."""
        return self.lb.targets.node_targets.led_to(target) is not None and self.server(target) is None


@dataclass(frozen=True, slots=True)
class Population:
    """One row of the table: what is counted, and how much of it stays."""

    name: str
    members: Callable[[CloudBalancer, _Of], Members]
    says: str
    """What is wrong, with ``left``, ``had`` and ``scope``."""
    announced: Callable[[Target, _Of], bool]
    """Whether the loss of a target lowers the number that has to stay."""
    share: Callable[[int], int] = lambda had: (had + 1) // 2
    """Number of members that do not count as announced → how many of them stay."""
    fewest: int = 0
    """How many stay in any case."""
    on_the_way: bool = False
    """Whether every state counts, or the last one alone."""
    lately: Callable[[CloudBalancer, _Of], Members] = lambda _balancer, _of: {}
    """Those besides the members whose going counts as a loss as well."""


def _answering(balancer: CloudBalancer, of: _Of) -> Members:
    """By port: ports that the Service gives up are its end and no loss."""
    wanted = of.lb.wanted.listeners if of.lb.wanted is not None else balancer.spec.listeners
    found = serving(balancer, of.facts.snapshot, of.facts.readiness)
    there = {
        port: [target for target in targets if not of.is_gone(target)]
        for port, targets in sorted(found.items())
        if port in wanted
    }
    named = of.lb.targets.node_targets.names_by_port(there, balancer)
    return {f"port {port}": names for port, names in named.items()}


def _lately(balancer: CloudBalancer, of: _Of) -> Members:
    found = answered_lately(balancer, of.lb.present or balancer, of.facts)
    return {f"port {port}": frozenset(map(of.lb.targets.node_targets.name_of, there)) for port, there in found.items()}


def answered_lately(
    balancer: CloudBalancer, at_first: CloudBalancer, facts: Facts
) -> Mapping[int, frozenset[ServerTarget]]:
    """Port at which nothing answered ``at_first`` → the targets that answered there within the last hour, as far as a
    loop remembers, and whose servers and Nodes are up: they may answer again the next moment."""
    quiet = (port for port, there in healthy(at_first).items() if not there)
    peaks = {port: facts.setbacks.peaks.get(_scope(at_first, ANSWERING, f"port {port}")) for port in quiet}
    up = [
        target
        for target in (balancer.targets if any(peaks.values()) else ())
        if isinstance(target, ServerTarget) and has_way(target, balancer)
        if not is_down(ServerKey(Provider.CLOUD, target.server_id), facts.snapshot, facts.readiness)
    ]
    return {port: frozenset(each for each in up if each.name in peak) for port, peak in peaks.items() if peak}


def _existing(balancer: CloudBalancer, of: _Of) -> Members:
    return {"": frozenset(server.name for server in _servers(balancer, of))}


def _by_provider(balancer: CloudBalancer, of: _Of) -> Members:
    servers = frozenset(_servers(balancer, of))
    providers = {server.provider for server in servers}
    return {str(each): frozenset(s.name for s in servers if s.provider is each) for each in sorted(providers)}


def _servers(balancer: CloudBalancer, of: _Of) -> Iterator[ServerKey]:
    for target in balancer.targets:
        server = of.server(target)
        if server is not None and has_way(target, balancer):
            yield server


def _foreign(balancer: CloudBalancer, of: _Of) -> Members:
    return {"": frozenset(target.name for target in balancer.targets if target in of.lb.targets.foreign)}


def _is_drained(target: Target, of: _Of) -> bool:
    """Whether each Node on the server was announced to go."""
    members = of.lb.targets.claiming(of.lb.targets.node_targets.led_to(target))
    nodes = [of.facts.snapshot.nodes.items[member.node] for member in members]
    given_up_after = of.facts.settings.waits.given_up_after
    return bool(nodes) and all(is_planned_disruption(node, of.facts.snapshot, given_up_after) for node in nodes)


def _is_kept_out(target: Target, of: _Of) -> bool:
    """Whether a person, an autoscaler or the end of each Node keeps the server from the load balancer."""
    members = of.lb.targets.claiming(of.lb.targets.node_targets.led_to(target))
    return bool(members) and all(member.membership is Membership.EXCLUDED for member in members)


ANSWERING = Population(
    "answering",
    _answering,
    "{left} of {had} targets would answer at {scope}",
    _is_drained,
    fewest=1,
    on_the_way=True,
    lately=_lately,
)
BY_PROVIDER = Population(
    "provider", _by_provider, "{left} of {had} targets at Hetzner {scope} would be left", _is_kept_out
)
POPULATIONS = (
    ANSWERING,
    Population(
        "existing",
        _existing,
        "no target would be left, and {had} lead to servers that exist",
        _is_drained,
        lambda _: 0,
        1,
    ),
    BY_PROVIDER,
    Population(
        "foreign", _foreign, "{lost} of other owners would be lost", lambda *_: False, lambda had: had, on_the_way=True
    ),
)
"""In the order in which a loss is told."""


def target_floor(facts: Facts) -> Iterator[GuardResult]:
    """Changes that take targets from an existing load balancer are held where too few would be left. Each load balancer
    has one hold, with all that takes some."""
    for lb, changes in services_with(facts, *OF_TRAFFIC):
        if lb.present is None:
            continue
        losses = tuple(_losses(_Of(lb, facts), lb.present, in_order(changes)))
        if losses:
            keys = tuple(sorted({key for loss in losses for key in loss.taking}))
            cause = facts.plan.by_key[losses[0].taking[0]].reason
            why = f"load balancer {lb.present.id} {lb.present.spec.name}: {losses[0].why}; {cause}"
            value, limit = str(losses[0].left), str(losses[0].least)
            yield GuardResult(GuardName.TARGET_FLOOR, Verdict.HELD, keys, why, value, limit, advice=_ADVICE)


@dataclass(frozen=True, slots=True)
class _Loss:
    """Too few members that would be left of one scope."""

    taking: tuple[str, ...]
    """Keys of the changes that take some."""
    left: int
    least: int
    why: str


def _losses(of: _Of, present: CloudBalancer, changes: Sequence[Change]) -> Iterator[_Loss]:
    states = [present]
    for change in changes:
        states.append(balancer_after(states[-1], change))
    for row in POPULATIONS:
        announced = [target for target in present.targets if row.announced(target, of)]
        going = frozenset(map(of.lb.targets.node_targets.name_of, announced))
        counted_in, lately = [row.members(state, of) for state in states], [row.lately(state, of) for state in states]
        for scope, had in counted_in[0].items():
            there = [members.get(scope, frozenset()) for members in counted_in]
            may = [found | (also.get(scope, frozenset()) - going) for found, also in zip(there, lately, strict=True)]
            losing = [bool(were - are) for were, are in pairwise(may)]
            end, taking = there[-1], tuple(c.key for c, loses in zip(changes, losing, strict=True) if loses)
            peak = of.facts.setbacks.peaks.get(_scope(present, row, scope), frozenset())
            most = max(len(had - (going - end)), len(peak.difference(target.name for target in announced)))
            least = max(row.share(most), min(row.fewest, len(had)))
            on_the_way = [len(are) for are, loses in zip(there[1:], losing, strict=True) if loses and row.on_the_way]
            left = min([*on_the_way, len(end)])
            if left >= least or not taking:
                continue
            lost = counted(len(had) - left, "target")
            returns = "" if len(end) <= left else " until the changes are done"
            why = row.says.format(left=left, had=max(len(had), most), scope=scope, lost=lost) + returns
            yield _Loss(taking, left, least, why)


LAST_FOR = timedelta(hours=1)
"""How long a peak counts: so many small steps within it mean what one means."""


def takes_targets(change: Change) -> bool:
    """Whether the change is of a kind that may take targets from a load balancer."""
    return change.kind in OF_TRAFFIC and change.verb is not Verb.ADD


def exposure(facts: Facts) -> Iterator[GuardResult]:
    """An internal load balancer becomes public only by an annotation of its own Service: what was not to be reached
    from outside would be, whatever setting was lost, mistyped or changed for all. So does a new one in the place of one
    that somebody deleted, as long as the Service publishes nothing but private addresses."""
    elsewhere = is_for_the_settings(facts)  # one hold for all of them
    for lb, changes in services_with(facts, ChangeKind.LB_PUBLIC_INTERFACE, ChangeKind.LB_CREATE):
        opening = tuple(change.key for change in changes if _opens(change, lb))
        own_word = BY_FIELD["disable_public_network"].full_key in lb.service.claim.annotations
        if own_word or elsewhere.issuperset(opening):
            continue
        why = f"Service {lb.service.id} publishes private addresses alone, and its new load balancer would be public"
        if lb.present is not None:
            why = f"load balancer {lb.present.id} {lb.present.spec.name} is internal and would become public"
        asks = f"set {BY_FIELD['disable_public_network'].full_key} on Service {lb.service.id} to say which it is"
        yield GuardResult(GuardName.EXPOSURE, Verdict.HELD, opening, why, "public", "internal", advice=asks)


def _opens(change: Change, lb: DesiredLoadBalancer) -> bool:
    """Whether what was internal is public after the change."""
    if isinstance(change.after, LoadBalancer):
        return change.after.public_interface is not False and _publishes_inside_alone(lb.service)
    return change.kind == ChangeKind.LB_PUBLIC_INTERFACE and change.after is True


def _publishes_inside_alone(service: Service) -> bool:
    published = [parse_address(entry.ip) for entry in service.ingress]
    return bool(published) and all(address is not None and is_private_address(address) for address in published)


def peaks_of(world: Snapshot, settings: Settings, before: Mapping[str, Peak]) -> Mapping[str, Peak]:
    """Scope → peak, with what there is in this world: servers of Hetzner Cloud that are reported healthy, and that are
    targets. A member whose Node was announced to go since counts no more. What a list lacks keeps its peak."""
    if world.load_balancers is None:
        return before
    now, given_up_after = world.taken_at, settings.waits.given_up_after
    drained = {
        ServerTarget(key.id, use_private_ip=False).name
        for node in world.nodes.items.values()
        if (key := server_key(node.provider_id)) is not None and key.provider is Provider.CLOUD
        if is_planned_disruption(node, world, given_up_after)
    }
    found: dict[str, Peak] = {} if world.load_balancers.is_whole else dict(before)
    for balancer in world.load_balancers:
        servers = [target for target in balancer.targets if isinstance(target, ServerTarget)]
        there: dict[str, list[ServerTarget]] = {_scope(balancer, BY_PROVIDER, Provider.CLOUD): servers}
        for port, answering in healthy(balancer).items():
            there[_scope(balancer, ANSWERING, f"port {port}")] = [each for each in servers if each in answering]
        for scope, targets in there.items():
            members, peak = frozenset(target.name for target in targets) - drained, before.get(scope)
            stays = peak is not None and now - peak.at <= LAST_FOR and len(members) < len(peak.members - drained)
            found[scope] = Peak(peak.members - drained, peak.at) if peak and stays else Peak(members, now)
    return found


def without_balancers(peaks: Mapping[str, Peak], ids: Collection[int]) -> Mapping[str, Peak]:
    """The peaks of other load balancers than these: what a person let go of is no loss afterwards."""
    prefixes = tuple(f"{number}/" for number in ids)
    return {scope: peak for scope, peak in peaks.items() if not scope.startswith(prefixes)} if ids else peaks


def _scope(balancer: CloudBalancer, row: Population, scope: str) -> str:
    return f"{balancer.id}/{row.name}/{scope}"
