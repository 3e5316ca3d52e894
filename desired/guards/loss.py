"""Losses: the evaluator of populations of which a part may be lost, and the guard ``target-floor``.

Where each member has to stay, nothing is counted up: the guard makes a hold of each loss (``GuardResult.of``). Of any
other population a guard counts the members in the state of the world, or before and after the changes (``foresight``),
and names the changes that take some. Where less would be left than the population's row says, they are held, whatever
kinds of change bring it about and however many. The rows of all guards are tables in docs/design/architecture.md.

What could not be read counts as lost. So does what was lost before, so that ten small steps mean what one means:
targets by the most within the last hour (``Setbacks.peaks``), all others by the state of the world. Where nothing
answers at a port, who answered there within that hour may again, and counts as taken: checks that fail for all at once
may be wrong for a moment.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from itertools import accumulate, chain, pairwise
from types import MappingProxyType

from desired.guards.guard import GuardInput, GuardResult
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.membership import Membership, find_server
from desired.model.load_balancer import CloudBalancer, ServerTarget, Target
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.nodes.disruption import drained_servers
from desired.plan.change import Change
from desired.plan.foresight import balancer_after, has_way, healthy, is_down, serving
from desired.plan.kinds import OF_TRAFFIC, Verb
from desired.plan.ordering import in_order
from desired.plan.setbacks import Peak
from desired.rules import guards as rows
from desired.rules.rule import Plain, Rule
from desired.section import Absent
from desired.syntax.bounds import counted, several
from desired.syntax.provider_id import Provider, ServerKey


@dataclass(frozen=True, slots=True)
class Population:
    """One row of the table: how much of a population stays, and what is said where less would."""

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
    ) -> list[GuardResult]:
        """The hold of what takes some, by their keys, where too few would be ``left`` of ``most``; says another ``row``
        than its own where one is given."""
        least = self.least(most, there)
        if not taking or left >= least:
            return []
        facts = {**words, "left": left, "lost": most - left, "most": max(most, there)}
        value, limit = (left, least) if self.shows_left else (most - left, most - least)
        return [GuardResult.of(row or self.rule, sorted(taking), facts, value=value, limit=limit)]


def all_stay(most: int, _there: int) -> int:
    """None may be lost."""
    return most


def three_quarters(most: int, _there: int) -> int:
    """A quarter may be lost, one at least."""
    return most - max(1, most // 4)


Members = Mapping[str, frozenset[str]]
"""Scope, such as a port, → names of its members."""


@dataclass(frozen=True)
class _Of:
    """One load balancer that exists, the world that it is in, and its changes, each after what it needs."""

    lb: DesiredLoadBalancer
    view: GuardInput
    present: CloudBalancer
    changes: Sequence[Change]

    @cached_property
    def states(self) -> tuple[CloudBalancer, ...]:
        """The load balancer as it is, and after each change."""
        return tuple(accumulate(self.changes, balancer_after, initial=self.present))

    @cached_property
    def quiet(self) -> Mapping[int, frozenset[str]]:
        """The ports at which nothing answers, as it is, with who did lately."""
        return quiet_ports(self.present, self.view)

    def led_to(self, target: Target) -> ServerKey | None:
        """The server that a target leads to, there or gone; None when it is none of a Node."""
        return self.lb.targets.node_targets.led_to(target)

    def server(self, target: Target) -> ServerKey | None:
        """The same; None as well when the server is known to be gone: it answers nothing, whatever its health checks
        said last. ``absence-proof`` asks for the proof."""
        server = self.led_to(target)
        if server is None or not isinstance(self.view.snapshot.find(server), Absent):
            return server
        nodes = [self.view.snapshot.nodes.items[member.node] for member in self.lb.targets.claiming(server)]
        return None if isinstance(find_server(server, self.view.snapshot, nodes), Absent) else server

    def servers(self, balancer: CloudBalancer) -> Iterator[ServerKey]:
        """The servers that the targets lead to, as reachable as they are."""
        for target in balancer.targets:
            server = self.server(target)
            if server is not None and has_way(target, balancer):
                yield server


def _answering(balancer: CloudBalancer, of: _Of) -> Members:
    """By port: ports that the Service gives up are its end and no loss."""
    wanted = of.lb.wanted.listeners if of.lb.wanted is not None else balancer.spec.listeners
    found = serving(balancer, of.view.snapshot, of.view.readiness)
    there = {
        port: [target for target in targets if of.led_to(target) is None or of.server(target) is not None]
        for port, targets in sorted(found.items())
        if port in wanted
    }
    named = of.lb.targets.node_targets.names_by_port(there, balancer)
    return {f"port {port}": names for port, names in named.items()}


def _lately(balancer: CloudBalancer, of: _Of) -> Members:
    found = answered_lately(balancer, of.quiet, of.view)
    return {f"port {port}": frozenset(map(of.lb.targets.node_targets.name_of, there)) for port, there in found.items()}


def quiet_ports(balancer: CloudBalancer, view: GuardInput) -> Mapping[int, frozenset[str]]:
    """Port at which nothing answers → the names of the targets that did within the last hour, as far as a loop
    remembers; without ports of which it remembers none."""
    quiet = (port for port, there in healthy(balancer).items() if not there)
    peaks = {port: view.setbacks.peaks.get(_scope(balancer, ANSWERING, f"port {port}")) for port in quiet}
    return {port: peak for port, peak in peaks.items() if peak}


def answered_lately(
    balancer: CloudBalancer, quiet: Mapping[int, frozenset[str]], view: GuardInput
) -> Mapping[int, frozenset[ServerTarget]]:
    """Port that was ``quiet`` (``quiet_ports``) → the targets that answered there within the last hour, and whose
    servers and Nodes are up: they may answer again the next moment."""
    up = [
        target
        for target in (balancer.targets if quiet else ())
        if isinstance(target, ServerTarget) and has_way(target, balancer)
        if not is_down(ServerKey(Provider.CLOUD, target.server_id), view.snapshot, view.readiness)
    ]
    return {port: frozenset(each for each in up if each.name in peak) for port, peak in quiet.items()}


def _at_all(balancer: CloudBalancer, of: _Of) -> Members:
    """Who answers at any port that is checked, or may at one of its ports: another number is another scope."""
    may = frozenset().union(*serving(balancer, of.view.snapshot, of.view.readiness).values())
    there = {t for t in balancer.targets if (balancer.answering(t) and has_way(t, balancer)) or t in may}
    led = (target for target in there if of.led_to(target) is not None and of.server(target) is not None)
    return {"": frozenset(map(of.lb.targets.node_targets.name_of, led))}


def _existing(balancer: CloudBalancer, of: _Of) -> Members:
    return {"": frozenset(server.name for server in of.servers(balancer))}


def _by_provider(balancer: CloudBalancer, of: _Of) -> Members:
    servers = frozenset(of.servers(balancer))
    providers = {server.provider for server in servers}
    return {str(each): frozenset(s.name for s in servers if s.provider is each) for each in sorted(providers)}


def _foreign(balancer: CloudBalancer, of: _Of) -> Members:
    return {"": frozenset(target.name for target in balancer.targets if target in of.lb.targets.foreign)}


def _is_drained(target: Target, of: _Of) -> bool:
    return of.led_to(target) in of.view.drained


def _is_kept_out(target: Target, of: _Of) -> bool:
    """Whether a person, an autoscaler or the end of each Node keeps the server from the load balancer."""
    members = of.lb.targets.claiming(of.led_to(target))
    return bool(members) and all(member.membership is Membership.EXCLUDED for member in members)


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfTargets(Population):
    """A row that is counted in each state of a load balancer."""

    shows_left: bool = True
    name: str = ""
    """In the memory of peaks."""
    members: Callable[[CloudBalancer, _Of], Members]
    announced: Callable[[Target, _Of], bool] = lambda *_: False
    """Whether the loss of a target lowers the number that has to stay."""
    meanwhile: Rule | None = None
    """What is said where too few are left only until the changes are done; None where the last state alone counts."""
    lately: Callable[[CloudBalancer, _Of], Members] = lambda *_: {}
    """Those besides the members whose going counts as a loss as well."""


ANSWERING = _OfTargets(
    rows.TOO_FEW_ANSWER,
    lambda most, there: max((most + 1) // 2, min(1, there)),
    name="answering",
    members=_answering,
    announced=_is_drained,
    meanwhile=rows.TOO_FEW_ANSWER_MEANWHILE,
    lately=_lately,
)
BY_PROVIDER = _OfTargets(
    rows.TOO_FEW_OF_PROVIDER,
    lambda most, _: (most + 1) // 2,
    name="provider",
    members=_by_provider,
    announced=_is_kept_out,
)
_TARGETS = (
    ANSWERING,
    _OfTargets(
        rows.NONE_ANSWERS,
        lambda _, there: min(1, there),
        members=_at_all,
    ),
    _OfTargets(
        rows.NO_TARGET_LEFT,
        lambda _, there: min(1, there),
        members=_existing,
        announced=_is_drained,
    ),
    BY_PROVIDER,
    _OfTargets(
        rows.TARGETS_OF_OTHERS,
        all_stay,
        members=_foreign,
        meanwhile=rows.TARGETS_OF_OTHERS_MEANWHILE,
    ),
)
"""In the order in which a loss is told."""


def _losses(of: _Of, row: _OfTargets) -> Iterator[GuardResult]:
    """By scope, what the changes of the load balancer take from a population."""
    counted_in, lately = [row.members(state, of) for state in of.states], [row.lately(state, of) for state in of.states]
    for scope, had in counted_in[0].items():
        there, also = ([members.get(scope, frozenset()) for members in found] for found in (counted_in, lately))
        if all(were <= are for were, are in chain(pairwise(there), pairwise(also))):
            continue
        announced = [target for target in of.present.targets if row.announced(target, of)]
        going = frozenset(map(of.lb.targets.node_targets.name_of, announced))
        may = [found | (besides - going) for found, besides in zip(there, also, strict=True)]
        losing = [bool(were - are) for were, are in pairwise(may)]
        end, taking = there[-1], [c.key for c, loses in zip(of.changes, losing, strict=True) if loses]
        peak = of.view.setbacks.peaks.get(_scope(of.present, row, scope), frozenset())
        most = max(len(had - (going - end)), len(peak.difference(target.name for target in announced)))
        on_the_way = [len(are) for are, loses in zip(there[1:], losing, strict=True) if loses and row.meanwhile]
        left = min([*on_the_way, len(end)])
        words: dict[str, Plain] = {
            "balancer": f"load balancer {of.present.id} {of.present.spec.name}",
            "scope": scope,
            "targets": counted(len(had) - left, "target"),
            "cause": of.view.plan.by_key[taking[0]].reason if taking else "",
        }
        said = row.meanwhile if left < len(end) else row.rule
        yield from row.losses(taking, left, most, words, said, len(had))


def target_floor(view: GuardInput) -> Iterator[GuardResult]:
    """Changes that take targets from an existing load balancer are held where too few would be left. Each load balancer
    has one hold, with all that takes some. Where too few are left only while some cannot be added, they wait for those.
    """
    for lb, changes in view.balancers(*OF_TRAFFIC):
        if lb.present is None or not any(map(takes_targets, changes)):
            continue  # of many load balancers a pass only adds to most
        ordered = in_order(changes)
        stalled = [c.key for c in ordered if c.verb is Verb.ADD and c.key in view.setbacks.stalled]
        made = _Of(lb, view, lb.present, ordered)
        if found := [loss for row in _TARGETS for loss in _losses(made, row)]:
            yield _together(found)
            continue
        made = _Of(lb, view, lb.present, [change for change in ordered if change.key not in stalled])
        if stalled and (found := [loss for row in _TARGETS for loss in _losses(made, row)]):
            loss, added = _together(found), str(several(stalled))
            facts_of = {"balancer": loss.facts["balancer"], "added": added}
            yield GuardResult.of(rows.TARGETS_NOT_ADDED, loss.keys, facts_of, value=loss.value, limit=loss.limit)


def _together(found: Sequence[GuardResult]) -> GuardResult:
    """The first of them, with the keys of all."""
    return replace(found[0], keys=tuple(sorted({key for loss in found for key in loss.keys})))


LAST_FOR = timedelta(hours=1)
"""How long a peak counts: so many small steps within it mean what one means."""


def takes_targets(change: Change) -> bool:
    """Whether the change is of a kind that may take targets from a load balancer."""
    return change.kind in OF_TRAFFIC and change.verb is not Verb.ADD


def peaks_of(world: Snapshot, settings: Settings, before: Mapping[str, Peak]) -> Mapping[str, Peak]:
    """Scope → peak, with what there is in this world: servers of Hetzner Cloud that are reported healthy, and that are
    targets. A member whose Node was announced to go since counts no more. What a list lacks keeps its peak."""
    if world.load_balancers is None:
        return before
    now, drained = world.taken_at, drained_servers(world, settings.waits.given_up_after)
    gone = {ServerTarget(each.id, use_private_ip=False).name for each in drained if each.provider is Provider.CLOUD}
    found: dict[str, Peak] = {} if world.load_balancers.is_whole else dict(before)
    for balancer in world.load_balancers:
        servers = [target for target in balancer.targets if isinstance(target, ServerTarget)]
        there: dict[str, list[ServerTarget]] = {_scope(balancer, BY_PROVIDER, Provider.CLOUD): servers}
        for port, answering in healthy(balancer).items():
            there[_scope(balancer, ANSWERING, f"port {port}")] = [each for each in servers if each in answering]
        for scope, targets in there.items():
            members, peak = frozenset(target.name for target in targets) - gone, before.get(scope)
            stays = peak is not None and now - peak.at <= LAST_FOR and len(members) < len(peak.members - gone)
            found[scope] = Peak(peak.members - gone, peak.at) if peak and stays else Peak(members, now)
    return found


def without_balancers(peaks: Mapping[str, Peak], ids: Collection[int]) -> Mapping[str, Peak]:
    """The peaks of other load balancers than these: what a person let go of is no loss afterwards."""
    prefixes = tuple(f"{number}/" for number in ids)
    return {scope: peak for scope, peak in peaks.items() if not scope.startswith(prefixes)} if ids else peaks


def _scope(balancer: CloudBalancer, row: _OfTargets, scope: str) -> str:
    return f"{balancer.id}/{row.name}/{scope}"
