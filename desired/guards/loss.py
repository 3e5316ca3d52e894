"""Losses: the table of populations of which a part may be lost, its evaluator, and the guard ``target-floor``.

A guard counts the members of a population in the state of the world, or before and after the changes (``foresight``),
and names the changes that take some. If less would be left than the population's row says, they are held, whatever
kinds of change bring it about and however many. If each member has to stay, nothing is counted up: the guard makes a
hold of each loss (``GuardResult.of``). The rows of all guards are tables in docs/design/architecture.md.

What could not be read counts as lost. So does what was lost before: targets, Nodes and routes by their peaks, addresses
by the state of the world.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain, pairwise
from types import MappingProxyType

from desired.guards.guard import GuardInput, GuardResult
from desired.guards.history import is_stalled
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.membership import Membership, find_server
from desired.model.load_balancer import CloudBalancer, Target
from desired.plan.change import Change
from desired.plan.foresight import balancer_after, has_way, healthy, is_down, serving
from desired.plan.kinds import OF_TRAFFIC, Verb
from desired.plan.ordering import in_order
from desired.plan.setbacks import ANSWERING, OF_PROVIDER
from desired.rules import guards as rows
from desired.rules.rule import Plain, Rule
from desired.section import Absent
from desired.syntax.bounds import counted, several
from desired.syntax.provider_id import ServerKey


@dataclass(frozen=True, slots=True)
class Population:
    """One row of the table: how much of a population stays, and the sentence if less would."""

    rule: Rule
    """What is said, with ``left``, ``lost``, ``most``, and words of the count."""
    least: Callable[[int, int], int]
    """How many have to stay, of the most that are counted by, and of those that are there now."""
    shows_left: bool = False
    """Whether value and limit of the hold are how many are left, and have to be; else how many are lost, and may be."""

    def losses(
        self,
        taking: Collection[str],
        left: int,
        most: int,
        words: Mapping[str, Plain] = MappingProxyType({}),
        row: Rule | None = None,
        there: int = 0,
        scope: str = "",
    ) -> list[GuardResult]:
        """The hold of what takes some, by their keys, if too few would be ``left`` of ``most``, in one ``scope`` of
        several; says another ``row`` than its own if one is given."""
        least = self.least(most, there)
        if not taking or left >= least:
            return []
        facts = {**words, "left": left, "lost": most - left, "most": max(most, there)}
        facts |= {"least": least, "limit": most - least}
        value, limit = (left, least) if self.shows_left else (most - left, most - least)
        held = GuardResult.of(row or self.rule, sorted(taking), facts, value=value, limit=limit)
        return [held.leaving(left, of=f"{self.rule.name} {scope}")]


Members = Mapping[str, frozenset[str]]
"""Scope, such as a port, → names of its members."""


@dataclass(frozen=True)
class BalancerChanges:
    """The changes of one load balancer that exists, each after what it needs, and the world that they are made in."""

    lb: DesiredLoadBalancer
    view: GuardInput
    present: CloudBalancer
    changes: Sequence[Change]

    @property
    def name(self) -> str:
        """``load balancer 7 web``."""
        return f"load balancer {self.present.id} {self.present.spec.name}"

    @cached_property
    def states(self) -> tuple[CloudBalancer, ...]:
        """The load balancer as it is, and after each change."""
        return tuple(accumulate(self.changes, balancer_after, initial=self.present))

    @cached_property
    def quiet(self) -> Mapping[int, frozenset[str]]:
        """Port at which nothing answers → the names of the servers that did within the last hour, of which there are
        some."""
        ports, peak_of = (port for port, there in healthy(self.present).items() if not there), self.view.setbacks.peak
        return {port: peak for port in ports if (peak := peak_of(self.present.id, ANSWERING, f"port {port}"))}

    def answered_lately(self, balancer: CloudBalancer) -> Mapping[int, frozenset[Target]]:
        """``quiet`` port → the targets, of this state of the load balancer, that lead to servers which answered there
        within the last hour and are up: they may answer again the next moment."""
        servers = {t: self.led_to(t) for t in balancer.targets if has_way(t, balancer)} if self.quiet else {}
        snapshot, ready = self.view.snapshot, self.view.readiness
        up = {t: server.name for t, server in servers.items() if server and not is_down(server, snapshot, ready)}
        return {port: frozenset(t for t, name in up.items() if name in peak) for port, peak in self.quiet.items()}

    def led_to(self, target: Target) -> ServerKey | None:
        """The server that a target leads to, there or gone; None when it is none of a Node."""
        return self.lb.targets.candidates.server_of(target)

    def server(self, target: Target) -> ServerKey | None:
        """The same; None as well when the server is known to be gone: it answers nothing, whatever its health checks
        said last. ``absence-proof`` asks for the proof."""
        server = self.led_to(target)
        if server is None or not isinstance(self.view.snapshot.find(server), Absent):
            return server
        nodes = [self.view.snapshot.nodes.items[member.node] for member in self.lb.targets.of_server(server)]
        return None if isinstance(find_server(server, self.view.snapshot, nodes), Absent) else server

    def names_of(self, targets: Collection[Target]) -> frozenset[str]:
        """The names of the servers that they lead to, else their own."""
        return frozenset(map(self.lb.targets.candidates.name_of, targets))


def _answering(balancer: CloudBalancer, of: BalancerChanges) -> Members:
    """By port: ports that the Service gives up are its end and no loss."""
    wanted = of.lb.wanted.listeners if of.lb.wanted is not None else balancer.spec.listeners
    there = {
        port: [target for target in targets if of.led_to(target) is None or of.server(target) is not None]
        for port, targets in sorted(serving(balancer, of.view.snapshot, of.view.readiness).items())
        if port in wanted
    }
    named = of.lb.targets.candidates.names_by_port(there, balancer)
    return {f"port {port}": names for port, names in named.items()}


def _lately(balancer: CloudBalancer, of: BalancerChanges) -> Members:
    return {f"port {port}": of.names_of(there) for port, there in of.answered_lately(balancer).items()}


def _at_all(balancer: CloudBalancer, of: BalancerChanges) -> Members:
    """Servers that answer at any port that is checked, or may at one of its ports: another number is another scope."""
    may = frozenset().union(*serving(balancer, of.view.snapshot, of.view.readiness).values())
    there = {t for t in balancer.targets if (balancer.answering(t) and has_way(t, balancer)) or t in may}
    return {"": of.names_of([target for target in there if of.server(target) is not None])}


def _by_provider(balancer: CloudBalancer, of: BalancerChanges) -> Members:
    """The servers that the targets lead to, as reachable as they are."""
    led = (of.server(target) for target in balancer.targets if has_way(target, balancer))
    servers = frozenset(server for server in led if server is not None)
    providers = {server.provider for server in servers}
    return {str(each): frozenset(s.name for s in servers if s.provider is each) for each in sorted(providers)}


def _existing(balancer: CloudBalancer, of: BalancerChanges) -> Members:
    return {"": frozenset().union(*_by_provider(balancer, of).values())}


def _foreign(balancer: CloudBalancer, of: BalancerChanges) -> Members:
    return {"": frozenset(target.name for target in balancer.targets if target in of.lb.targets.foreign)}


def _is_drained(target: Target, of: BalancerChanges) -> bool:
    return of.led_to(target) in of.view.drained


def _is_kept_out(target: Target, of: BalancerChanges) -> bool:
    """Whether a person, an autoscaler or the end of each Node keeps the server from the load balancer."""
    members = of.lb.targets.of_server(of.led_to(target))
    return bool(members) and all(member.membership is Membership.EXCLUDED for member in members)


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfTargets(Population):
    """A row that is counted in each state of a load balancer."""

    shows_left: bool = True
    peak: str = ""
    """Its name in the memory of peaks; "" if none are remembered."""
    members: Callable[[CloudBalancer, BalancerChanges], Members]
    announced: Callable[[Target, BalancerChanges], bool] = lambda *_: False
    """Whether the loss of a target lowers the number that has to stay."""
    meanwhile: Rule | None = None
    """The sentence if too few are left only until the changes are done; None if the last state alone counts."""
    lately: Callable[[CloudBalancer, BalancerChanges], Members] = lambda *_: {}
    """Those besides the members whose going counts as a loss as well."""


def _all(most: int, _there: int) -> int:
    return most


def _one(_most: int, there: int) -> int:
    return min(1, there)


def _half(most: int, _there: int) -> int:
    return (most + 1) // 2


def _half_and_one(most: int, there: int) -> int:
    return max(_half(most, there), _one(most, there))


def _three_quarters(most: int, _there: int) -> int:
    """A quarter may be lost, one at least."""
    return most - max(1, most // 4)


def _three_quarters_or_all(most: int, there: int) -> int:
    """The same, but a single one stays."""
    return 1 if most == 1 else _three_quarters(most, there)


NODES = Population(rows.NODES_LOST, _three_quarters_or_all)
ADDRESSES = Population(rows.ADDRESSES_LOST, _three_quarters)
OPEN_TO_PODS = Population(rows.CLOSED_TO_PODS, _three_quarters)
ROUTES = Population(rows.ROUTES_LOST, _three_quarters)
_TARGETS = (
    _OfTargets(
        rows.TOO_FEW_ANSWER,
        _half_and_one,
        peak=ANSWERING,
        members=_answering,
        announced=_is_drained,
        meanwhile=rows.TOO_FEW_ANSWER_MEANWHILE,
        lately=_lately,
    ),
    _OfTargets(rows.NONE_ANSWERS, _one, members=_at_all),
    _OfTargets(rows.NO_TARGET_LEFT, _one, members=_existing, announced=_is_drained),
    _OfTargets(rows.TOO_FEW_OF_PROVIDER, _half, peak=OF_PROVIDER, members=_by_provider, announced=_is_kept_out),
    _OfTargets(rows.TARGETS_OF_OTHERS, _all, members=_foreign, meanwhile=rows.TARGETS_OF_OTHERS_MEANWHILE),
)
"""In the order in which a loss is told."""


def _losses(of: BalancerChanges, row: _OfTargets) -> Iterator[GuardResult]:
    """By scope, what the changes of the load balancer take from a population."""
    counted_in, lately = [row.members(state, of) for state in of.states], [row.lately(state, of) for state in of.states]
    for scope, had in counted_in[0].items():
        there, also = ([members.get(scope, frozenset()) for members in found] for found in (counted_in, lately))
        if all(were <= are for were, are in chain(pairwise(there), pairwise(also))):
            continue
        announced = [target for target in of.present.targets if row.announced(target, of)]
        going = of.names_of(announced)
        may = [found | (besides - going) for found, besides in zip(there, also, strict=True)]
        losing = [bool(were - are) for were, are in pairwise(may)]
        end, taking = there[-1], [c.key for c, loses in zip(of.changes, losing, strict=True) if loses]
        most = max(len(had - (going - end)), len(of.view.setbacks.peak(of.present.id, row.peak, scope) - going))
        on_the_way = [len(are) for are, loses in zip(there[1:], losing, strict=True) if loses and row.meanwhile]
        left = min([*on_the_way, len(end)])
        words: dict[str, Plain] = {
            "balancer": of.name,
            "scope": scope,
            "targets": counted(len(had) - left, "target"),
            "cause": of.view.plan.by_key[taking[0]].reason if taking else "",
        }
        said = row.meanwhile if left < len(end) else row.rule
        yield from row.losses(taking, left, most, words, said, len(had), scope)


def takes_targets(change: Change) -> bool:
    """Whether the change is of a kind that may take targets from a load balancer."""
    return change.kind in OF_TRAFFIC and change.verb is not Verb.ADD


def with_targets_taken(view: GuardInput) -> Iterator[BalancerChanges]:
    """Each load balancer that exists, and may lose targets: to most of many a pass only adds."""
    for lb, changes in view.balancers(*OF_TRAFFIC):
        if lb.present is not None and any(map(takes_targets, changes)):
            yield BalancerChanges(lb, view, lb.present, in_order(changes))


def target_floor(view: GuardInput) -> Iterator[GuardResult]:
    """Changes that take targets from an existing load balancer are held if too few would be left. Each load balancer
    has one hold, with all that takes some. If too few are left only while some cannot be added, they wait for those.
    """
    for of in with_targets_taken(view):
        stalled = [c.key for c in of.changes if c.verb is Verb.ADD and is_stalled(c, view.setbacks)]
        held = _loss(of)
        if held:
            yield held
        elif stalled and (loss := _loss(replace(of, changes=[c for c in of.changes if c.key not in stalled]))):
            found: dict[str, Plain] = {"balancer": of.name, "added": str(several(stalled))}
            yield GuardResult.of(rows.TARGETS_NOT_ADDED, loss.keys, found, value=loss.value, limit=loss.limit)


def _loss(of: BalancerChanges) -> GuardResult | None:
    """The first loss in the order of the table, with the keys and floors of all; None if enough is left of each."""
    found = [loss for row in _TARGETS for loss in _losses(of, row)]
    if not found:
        return None
    keys = sorted({key for loss in found for key in loss.keys})
    return replace(found[0], keys=tuple(keys), floors=tuple(floor for loss in found for floor in loss.floors))
