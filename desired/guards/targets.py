"""The guard ``target-health``: nothing that answers goes before what replaces it answers.

Judged on what the health checks report now, port by port. Nothing is remembered of a switch: what a pass has begun the
next one finds in the targets that are there.

| What goes | When |
|---|---|
| a target | once as many answer without it as do now, or as will at the end; at any port, if one is given up |
| an address of a dedicated server that has its other one by now | once it answers by that at all ports |
| an address for a server's other one, or what makes room | as many as answer the new way, one at least |
| the public interface, or a network that is left for good | when all that goes has gone, and newcomers were checked |

Of the third row those that answer go first, and of them last those that alone answer at a port: never more than half
are out. A newcomer that fails its checks holds what is left, unless its server or its Node is down: that says nothing
of the way. If nothing answers, and all was checked, nothing is waited for; but what answered within the last hour
counts as answering, and so does what was not checked while nothing is known to answer.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from desired.guards.guard import GuardInput, GuardResult
from desired.guards.history import is_stalled
from desired.guards.loss import BalancerChanges, with_targets_taken
from desired.load_balancers.ordering import turn_of
from desired.model.load_balancer import CloudBalancer, Health, IpTarget, Listener, ServerTarget, Target
from desired.plan.change import Change
from desired.plan.foresight import balancer_after, healthy, is_down, serving
from desired.plan.kinds import ChangeKind, Verb
from desired.rules import guards as rows
from desired.section import Unmanaged
from desired.syntax.bounds import counted, several
from desired.syntax.provider_id import ServerKey

_KINDS = (ServerTarget, IpTarget)
_CHECK_INTERVAL_S = 15
"""If a listener does not say (Hetzner Cloud API, load balancers)."""


def target_health(view: GuardInput) -> Iterator[GuardResult]:
    """Removals that may not be made yet wait for health checks, and are held if a newcomer fails them. If no port
    listens, nothing is checked, and nothing is lost."""
    for of in with_targets_taken(view):
        is_managed = of.lb.wanted is not None and not isinstance(of.lb.wanted.targets, Unmanaged)
        if is_managed and of.present.spec.listeners:
            yield from _Replacement(of.lb, view, of.present, of.changes).judged()


@dataclass(frozen=True)
class _Replacement(BalancerChanges):
    """The targets of one load balancer that come and go."""

    def judged(self) -> Iterator[GuardResult]:
        """What waits, and what is held. Servers of Hetzner Cloud and addresses are no matter of each other, unless one
        makes room for the other."""
        swaps = [change for kind in _KINDS for change in self._swaps_that_wait(kind)]
        waiting = [*swaps, *self._removals_that_wait(swaps)]
        due_in_s = look_again_s(self.present.spec.listeners.values())
        named = {"balancer": self.name}
        for kind in _KINDS:
            of_kind, failing = [change for change in waiting if isinstance(change.before, kind)], self._failing(kind)
            keys = sorted(change.key for change in of_kind)
            if failing and any(change in self._swaps or self._follower(change.before) for change in of_kind):
                yield GuardResult.of(
                    rows.NEWCOMERS_UNHEALTHY,
                    keys,
                    {**named, "targets": str(several(failing)), "kept": counted(len(keys), "former target")},
                    value=0,
                    limit=1,
                    due_in_s=due_in_s,
                )
            else:
                yield GuardResult.of(rows.NEWCOMERS_UNCHECKED, keys, named, due_in_s=due_in_s)
        if waiting or any(self._may_answer(t) for t in self.present.targets if self.led_to(t) is not None):
            closing = sorted(change.key for change in self.changes if _closes_a_way(change, self.changes))
            yield GuardResult.of(rows.WAY_IN_USE, closing, named, due_in_s=due_in_s)

    def _swaps_that_wait(self, kind: type[Target]) -> list[Change]:
        """As many go at once as answer the new way, one at least: so never more than half are out."""
        swaps = [change for change in self._swaps if isinstance(change.before, kind)]
        if not swaps or len(self.present.targets) == 1:
            return []
        kinds = self._with_successors(kind)
        answering = sum(isinstance(t, kinds) and self._answers(t) for t in self._newcomers)
        most = 0 if self._failing(kind) else max(1, answering)
        sound = [change for change in swaps if self._answered(change.before)]
        in_turn = sorted(sound, key=lambda change: turn_of(change, self.present))
        rest = [change for change in swaps if change not in sound]
        return [
            *in_turn[max(0, most - len(self._in_doubt(kind))) :],
            *(change for change in rest if sound or self._may_answer(change.before)),
        ]

    def _removals_that_wait(self, waiting: Collection[Change]) -> Iterator[Change]:
        """A removal goes if as many answer without it as do now, or will at the end: by their health checks, and
        with those that may answer as they are not checked yet. Swaps go but for those that are ``waiting``."""
        come = (c for c in self.changes if c.verb is not Verb.ADD or not is_stalled(c, self.view.setbacks))
        later = self._looks_at(reduce(balancer_after, come, self.present))[-1]
        gone = (change for change in self._swaps if change not in waiting)
        state = reduce(balancer_after, gone, self.present)
        first, now = self._looks_at(self.present), self._looks_at(state)
        for change in self.changes:
            if change.kind != ChangeKind.LB_TARGET or change.verb is Verb.ADD or change in self._swaps:
                continue
            without = balancer_after(state, change)
            left, follower = self._looks_at(without), self._follower(change.before)
            if follower is not None and isinstance(change.before, IpTarget):
                may_go = self._takes_over(follower, change.before)
            else:
                may_go = all(
                    rest == there[port] or len(rest) >= min(len(before[port]), len(later.get(port, ())))
                    for before, there, found in zip(first, now, left, strict=True)
                    for port, rest in found.items()
                )
            if may_go:
                state, now = without, left
            else:
                yield change

    def _looks_at(self, balancer: CloudBalancer) -> tuple[Mapping[int, frozenset[str]], Mapping[int, frozenset[str]]]:
        """Port → names of those that answer: by their health checks, or did lately if nothing does; and with those
        that may."""
        may_answer = serving(balancer, self.view.snapshot, self.view.readiness)
        unchecked = {port: there & {*balancer.targets} for port, there in self._unchecked.items()}
        answering = {**healthy(balancer), **unchecked, **self.answered_lately(balancer)}
        named = self.lb.targets.candidates.names_by_port
        by_check, at_best = named(answering, balancer), named(may_answer, balancer)
        if any(change.kind == ChangeKind.LB_LISTENER and change.verb is Verb.REMOVE for change in self.changes):
            # What answers at a port has none to answer at in the end: who answers at any is counted as port 0.
            by_check, at_best = ({**found, 0: frozenset().union(*found.values())} for found in (by_check, at_best))
        return by_check, at_best

    @cached_property
    def _swaps(self) -> tuple[Change, ...]:
        """The changes by which a server gets its other address, or a target makes room for another."""
        of_targets = [change for change in self.changes if change.kind == ChangeKind.LB_TARGET]
        needed = {key for change in of_targets if change.verb is Verb.ADD for key in change.depends_on}
        return tuple(
            change
            for change in of_targets
            if isinstance(change.before, _KINDS)
            and (
                change.after not in self.present.targets
                if change.verb is Verb.MODIFY
                else change.verb is Verb.REMOVE and change.key in needed
            )
        )

    def _with_successors(self, kind: type[Target]) -> tuple[type[Target], ...]:
        """The kind, and those of the targets for which targets of this kind make room."""
        going = {change.key for change in self._swaps if isinstance(change.before, kind)}
        added = [change for change in self.changes if change.verb is Verb.ADD and going.intersection(change.depends_on)]
        return (kind, *(each for each in _KINDS if any(isinstance(change.after, each) for change in added)))

    @cached_property
    def _newcomers(self) -> tuple[Target, ...]:
        """The targets of servers that are there, are wanted, and that no change removes. A target that is not wanted is
        none of them, even if no change removes it: it goes when the load balancer leaves its network."""
        removals = (c for c in self.changes if c.kind == ChangeKind.LB_TARGET and c.verb is Verb.REMOVE)
        stay = self.lb.targets.targets - {change.before for change in removals}
        return tuple(t for t in self.present.targets if t in stay and self.led_to(t) is not None)

    @cached_property
    def _by_server(self) -> Mapping[ServerKey | None, Target]:
        return {self.led_to(target): target for target in reversed(self._newcomers)}

    def _follower(self, old: object) -> Target | None:
        """The other address of a dedicated server, if that has come to stay; None if the server goes, or is
        reached by another one only in the end."""
        return self._by_server.get(self.led_to(old)) if isinstance(old, IpTarget) else None

    def _takes_over(self, new: Target, old: IpTarget) -> bool:
        """Whether a dedicated server can do with its new address alone: it answers by that wherever it does by the old
        one. A server that answers by neither follows the others: once one of them answers by its new address, while
        none has lost a port by that."""
        by_old, by_new = self.present.answering(old), self.present.answering(new)
        if by_old or by_new:
            return bool(by_new) and by_old <= by_new
        others = (target for target in self._newcomers if isinstance(target, IpTarget) and target != new)
        is_checked = self._is_checked(old) and self._is_checked(new)
        return is_checked and not self._has_lost_a_port and any(map(self._answers, others))

    @property
    def _has_lost_a_port(self) -> bool:
        """Whether a dedicated server answers somewhere by its old address and not by its new one."""
        old = [target for target in self.present.targets if target not in self.lb.targets.targets]
        pairs = ((target, self._follower(target)) for target in old)
        answering = self.present.answering
        return any(new is not None and self._is_checked(new) and answering(was) - answering(new) for was, new in pairs)

    def _is_checked(self, target: Target) -> bool:
        """Whether health checks have said whether it answers."""
        return bool(self.present.checks.get(target)) and not self.present.is_unchecked(target)

    def _in_doubt(self, kind: type[Target]) -> list[Target]:
        """Newcomers that do not answer at some port at which another target does, or did lately if nothing does
        now, and whose servers and Nodes are up. If only Nodes with a pod answer (externalTrafficPolicy Local), one
        that answers shows the way for all."""
        kinds = self._with_successors(kind)
        came = [target for target in self._newcomers if isinstance(target, kinds) and not self._is_down(target)]
        if self.lb.service.claim.is_local and any(map(self._answers, came)):
            return []
        ports = self._answering | self._lately.keys()
        return [t for t in came if self.present.checks.get(t) and not ports <= self.present.answering(t)]

    def _failing(self, kind: type[Target]) -> list[str]:
        """Names of those in doubt that fail checks which others pass. A Node without a pod fails none."""
        if self.lb.service.claim.is_local:
            return []
        return [
            target.name
            for target in self._in_doubt(kind)
            if any(self.present.checks[target].get(port) is Health.UNHEALTHY for port in self._answering)
        ]

    @cached_property
    def _unchecked(self) -> Mapping[int, frozenset[Target]]:
        """Port at which nothing is known to answer → the targets that are no newcomers and may answer, as they were not
        checked. That counts for them, as it does not for what replaces them. A target of others that stays is among
        them before and after, so that no removal depends on it."""
        former = {t for t in self.present.targets if t not in self._newcomers and self._may_answer(t)}
        return {port: frozenset(former) for port in self.present.spec.listeners if port not in self._answering}

    def _is_down(self, target: Target) -> bool:
        server = self.led_to(target)
        return server is not None and is_down(server, self.view.snapshot, self.view.readiness)

    def _may_answer(self, target: object) -> bool:
        """Whether nothing is known yet of a target whose server may answer."""
        return isinstance(target, _KINDS) and self.present.is_unchecked(target) and not self._is_down(target)

    def _answered(self, target: object) -> bool:
        """Whether the target answers, or did within the last hour if nothing does now."""
        return self._answers(target) or any(target in there for there in self._lately.values())

    @cached_property
    def _lately(self) -> Mapping[int, frozenset[Target]]:
        return self.answered_lately(self.present)

    def _answers(self, target: object) -> bool:
        return isinstance(target, _KINDS) and bool(self.present.answering(target))

    @cached_property
    def _answering(self) -> frozenset[int]:
        """The ports at which anything answers."""
        return frozenset().union(*map(self.present.answering, self.present.targets))


def look_again_s(listeners: Iterable[Listener]) -> int:
    """The shortest interval of health checks, in seconds."""
    checks = (listener.health_check.interval_s for listener in listeners)
    return min(
        (_CHECK_INTERVAL_S if isinstance(check, Unmanaged) else check for check in checks), default=_CHECK_INTERVAL_S
    )


def _closes_a_way(change: Change, ordered: Sequence[Change]) -> bool:
    """Whether the change ends a way by which targets are reached: the public interface, or a network that is left for
    good. A move to another network comes back, and what it takes on the way is for ``target-floor``."""
    if change.kind == ChangeKind.LB_PUBLIC_INTERFACE:
        return change.after is False
    leaves = change.kind == ChangeKind.LB_NETWORK and change.after is None
    return leaves and not any(other.kind == ChangeKind.LB_NETWORK and other.after is not None for other in ordered)
