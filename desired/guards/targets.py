"""The guard ``target-health``: nothing that answers goes before what replaces it answers.

Judged on what the health checks report now, port by port, and without memory: whatever a pass has begun, the next one
finds in the targets that are there.

| What goes | When |
|---|---|
| a target | once as many answer without it as do now, or as will at the end |
| an address of a dedicated server that has its other one by now | once it answers by that at all ports |
| an address for a server's other one, or what makes room | as many as answer the new way, one at least, half at most |
| the public interface, or a network that is left for good | when all that goes has gone, and newcomers were checked |

Of the third row those that answer go first, and of them last those that alone answer at a port. A newcomer that fails
its checks holds what is left, unless its server or its Node is down: that says nothing of the way. Where nothing
answers, and all was checked, nothing is waited for.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from desired.guards.facts import Facts, GuardResult
from desired.guards.load_balancers import services_with
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.ordering import turn_of
from desired.model.load_balancer import CloudBalancer, Health, IpTarget, Listener, ServerTarget, Target
from desired.plan.change import Change, GuardName, Verdict
from desired.plan.foresight import balancer_after, healthy, is_down, serving
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.ordering import in_order
from desired.section import Unmanaged
from desired.syntax.bounds import several

_OF_TRAFFIC = (ChangeKind.LB_TARGET, ChangeKind.LB_PUBLIC_INTERFACE, ChangeKind.LB_NETWORK)
_KINDS: tuple[type[ServerTarget] | type[IpTarget], ...] = (ServerTarget, IpTarget)
_Look = Callable[[CloudBalancer], Mapping[int, Collection[Target]]]
_CHECK_INTERVAL_S = 15
"""Where a listener does not say (Hetzner Cloud API, load balancers)."""
_LOOK_AT = (
    "look at firewalls (of Hetzner and on the servers), node ports, externalTrafficPolicy and the private network, or"
    " approve it to let all that are left go at once"
)


def target_health(facts: Facts) -> Iterator[GuardResult]:
    """What may not go yet waits for health checks, and is held where a newcomer fails them."""
    for lb, changes in services_with(facts, *_OF_TRAFFIC):
        if lb.present is not None and lb.wanted is not None and not isinstance(lb.wanted.targets, Unmanaged):
            yield from _Replacement(lb, lb.present, facts).judged(in_order(changes))


@dataclass
class _Replacement:
    """The targets of one load balancer that come and go."""

    lb: DesiredLoadBalancer
    present: CloudBalancer
    facts: Facts
    waiting: list[Change] = field(default_factory=list)
    """What does not go now, in order."""

    def judged(self, ordered: Sequence[Change]) -> Iterator[GuardResult]:
        """What waits, and what is held. Servers of Hetzner Cloud and addresses are no matter of each other."""
        if not self.present.spec.listeners:
            return  # nothing is checked, and nothing is lost
        for kind in _KINDS:
            self._take_turns(kind, [change for change in ordered if self._is_swap(change, ordered, kind)])
        self._go(ordered)
        named = f"load balancer {self.present.id} {self.present.spec.name}"
        for kind in _KINDS:
            waiting = [change for change in self.waiting if isinstance(change.before, kind)]
            keys, silent = tuple(sorted(change.key for change in waiting)), self._silent(kind)
            if silent and any(change.verb is Verb.MODIFY or self._follower(change) for change in waiting):
                left = "1 other stays" if len(keys) == 1 else f"{len(keys)} others stay"
                why = f"{named}: {several(silent)} came and fails its health checks; {left}"
                yield GuardResult(
                    GuardName.TARGET_HEALTH, Verdict.HELD, keys, why, "0", "1", self._due_in_s, advice=_LOOK_AT
                )
            else:
                why = f"{named}: waits until what replaces it answers its health checks"
                yield GuardResult(GuardName.TARGET_HEALTH, Verdict.WAITING, keys, why, due_in_s=self._due_in_s)
        if self.waiting or self._unchecked:
            closing = tuple(sorted(change.key for change in ordered if _closes_a_way(change, ordered)))
            why = f"{named}: waits until all targets are reached another way"
            yield GuardResult(GuardName.TARGET_HEALTH, Verdict.WAITING, closing, why, due_in_s=self._due_in_s)

    def _take_turns(self, kind: type[Target], swaps: Sequence[Change]) -> None:
        """Let as many go at once as answer the new way, one at least, and never more than half."""
        if not swaps or len(self.present.targets) == 1:
            return
        came = [target for target in self._newcomers if isinstance(target, kind)]
        answering = sum(bool(self.present.answering(target)) for target in came)
        out = len(self._in_doubt(kind))
        of_kind = sum(bool(self.present.answering(target)) for target in self.present.targets if type(target) is kind)
        most = 0 if self._silent(kind) else min(max(1, answering), max(1, (of_kind + out) // 2))
        sound = [change for change in swaps if self._answers(change.before)]
        for change in sorted(sound, key=lambda change: turn_of(change, self.present)):
            out += 1
            if out > most:
                self.waiting.append(change)
        rest = [change for change in swaps if change not in sound]
        self.waiting += [change for change in rest if sound or self._may_answer(change.before)]

    def _go(self, ordered: Sequence[Change]) -> None:
        """Let a removal go where as many answer without it as do now, or will at the end: by their health checks, and
        with those that may answer as they are not checked yet."""
        never = self.facts.setbacks.suspensions.keys() | self.facts.setbacks.refused
        come = (change for change in ordered if change.verb is not Verb.ADD or change.key not in never)
        end = reduce(balancer_after, come, self.present)
        later = self._by_port(self._serving(end))
        swaps = [change for change in ordered if any(self._is_swap(change, ordered, kind) for kind in _KINDS)]
        state = reduce(balancer_after, (change for change in swaps if change not in self.waiting), self.present)

        def are_enough(look: _Look, without: CloudBalancer) -> bool:
            first, now, left = (self._by_port(look(each)) for each in (self.present, state, without))
            return all(
                rest == now[port] or len(rest) >= min(len(first[port]), len(later.get(port, ())))
                for port, rest in left.items()
            )

        for change in ordered:
            if change.kind != ChangeKind.LB_TARGET or change.verb is Verb.ADD or change in swaps:
                continue
            follower, without = self._follower(change), balancer_after(state, change)
            if follower is not None:
                may_go = self._takes_over(follower, change.before)
            else:
                may_go = are_enough(healthy, without) and are_enough(self._serving, without)
            if may_go:
                state = without
            else:
                self.waiting.append(change)

    def _serving(self, balancer: CloudBalancer) -> Mapping[int, frozenset[Target]]:
        return serving(balancer, self.facts.snapshot, self.facts.readiness)

    def _is_swap(self, change: Change, ordered: Sequence[Change], kind: type[Target]) -> bool:
        if change.kind != ChangeKind.LB_TARGET or not isinstance(change.before, kind):
            return False
        if change.verb is Verb.MODIFY:
            return change.after not in self.present.targets
        return change.verb is Verb.REMOVE and _makes_room(change, ordered)

    def _follower(self, removal: Change) -> Target | None:
        """The other target of the same server, where that has come to stay; None where the server goes, or is reached
        by another one only in the end."""
        led_to = self.lb.targets.node_targets.led_to
        server = None if not isinstance(removal.before, IpTarget) else led_to(removal.before)
        return next((target for target in self._newcomers if server is not None and led_to(target) == server), None)

    def _takes_over(self, new: Target, old: object) -> bool:
        """Whether a dedicated server can do with its new address alone: it answers by that wherever it does by the old
        one. A server that answers by neither follows the others: once one of them answers by its new address, while
        none has lost a port by that."""
        by_old = self.present.answering(old) if isinstance(old, IpTarget) else frozenset()
        by_new = self.present.answering(new)
        if by_old or by_new:
            return bool(by_new) and by_old <= by_new
        is_told = isinstance(old, IpTarget) and self._is_told(old) and self._is_told(new)
        others = (target for target in self._newcomers if isinstance(target, IpTarget) and target != new)
        return is_told and not self._has_lost_a_port and any(map(self.present.answering, others))

    @property
    def _has_lost_a_port(self) -> bool:
        """Whether a dedicated server answers somewhere by its old address and not by its new one."""
        led_to, by_server = self.lb.targets.node_targets.led_to, dict[object, Target]()
        for target in self._newcomers:
            if isinstance(target, IpTarget) and self._is_told(target):
                by_server[led_to(target)] = target
        old = (target for target in self.present.targets if target not in self.lb.targets.targets)
        answering = self.present.answering
        pairs = ((target, by_server.get(led_to(target))) for target in old if isinstance(target, IpTarget))
        return any(new is not None and answering(target) - answering(new) for target, new in pairs)

    def _is_told(self, target: Target) -> bool:
        """Whether health checks have said whether it answers."""
        return bool(self.present.checks.get(target)) and not self.present.is_unchecked(target)

    @property
    def _newcomers(self) -> Iterator[Target]:
        """The targets of Nodes that are there and stay."""
        wanted, led_to = self.lb.targets.targets, self.lb.targets.node_targets.led_to
        return (target for target in self.present.targets if target in wanted and led_to(target) is not None)

    def _in_doubt(self, kind: type[Target]) -> list[Target]:
        """Newcomers that do not answer at some port at which another target does, and whose servers and Nodes are up.
        Where only Nodes with a pod answer (externalTrafficPolicy Local), one that answers shows the way for all."""
        came = [target for target in self._newcomers if isinstance(target, kind) and not self._is_down(target)]
        if self.lb.service.claim.is_local and any(map(self.present.answering, came)):
            return []
        return [t for t in came if self.present.checks.get(t) and not self._answering <= self.present.answering(t)]

    def _silent(self, kind: type[Target]) -> list[str]:
        """Names of those in doubt that fail checks which others pass. A Node without a pod fails none."""
        if self.lb.service.claim.is_local:
            return []
        return [target.name for target in self._in_doubt(kind) if self._failing(target) & self._answering]

    def _failing(self, target: Target) -> frozenset[int]:
        said = self.present.checks.get(target, {})
        return frozenset(port for port, health in said.items() if health is Health.UNHEALTHY)

    def _is_down(self, target: Target) -> bool:
        server = self.lb.targets.node_targets.led_to(target)
        return server is not None and is_down(server, self.facts.snapshot, self.facts.readiness)

    def _may_answer(self, target: object) -> bool:
        return (
            isinstance(target, ServerTarget | IpTarget)
            and self.present.is_unchecked(target)
            and not self._is_down(target)
        )

    def _answers(self, target: object) -> bool:
        return isinstance(target, ServerTarget | IpTarget) and bool(self.present.answering(target))

    @property
    def _answering(self) -> frozenset[int]:
        """The ports at which anything answers."""
        return frozenset().union(*map(self.present.answering, self.present.targets))

    @property
    def _unchecked(self) -> bool:
        """Whether nothing is known yet of a target whose server may answer."""
        ours = filter(self._leads_to_a_server, self.present.targets)
        return any(self.present.is_unchecked(target) and not self._is_down(target) for target in ours)

    def _by_port(self, found: Mapping[int, Collection[Target]]) -> Mapping[int, frozenset[str]]:
        """Whom targets of others lead to is not known: they count where they are reported healthy."""
        return {
            port: self._names(t for t in targets if self._leads_to_a_server(t) or port in self.present.answering(t))
            for port, targets in found.items()
        }

    def _leads_to_a_server(self, target: Target) -> bool:
        return self.lb.targets.node_targets.led_to(target) is not None

    def _names(self, targets: Iterable[Target]) -> frozenset[str]:
        """A server is one, by whichever addresses."""
        led_to = self.lb.targets.node_targets.led_to
        return frozenset(target.name if (server := led_to(target)) is None else server.name for target in targets)

    @property
    def _due_in_s(self) -> int:
        """When another look is worth its while: after the shortest interval of health checks."""
        return look_again_s(self.present.spec.listeners.values())


def look_again_s(listeners: Iterable[Listener]) -> int:
    """The shortest interval of health checks, in seconds."""
    checks = (listener.health_check.interval_s for listener in listeners)
    return min(
        (_CHECK_INTERVAL_S if isinstance(check, Unmanaged) else check for check in checks), default=_CHECK_INTERVAL_S
    )


def _makes_room(change: Change, ordered: Sequence[Change]) -> bool:
    """Whether another target can be added only once this one is gone."""
    adds = (other for other in ordered if other.verb is Verb.ADD and other.kind == ChangeKind.LB_TARGET)
    return any(change.key in other.depends_on for other in adds)


def _closes_a_way(change: Change, ordered: Sequence[Change]) -> bool:
    """Whether the change ends a way by which targets are reached: the public interface, or a network that is left for
    good. A move to another network comes back, and what it takes on the way is for ``target-floor``."""
    if change.kind == ChangeKind.LB_PUBLIC_INTERFACE:
        return change.after is False
    leaves = change.kind == ChangeKind.LB_NETWORK and change.after is None
    return leaves and not any(other.kind == ChangeKind.LB_NETWORK and other.after is not None for other in ordered)
