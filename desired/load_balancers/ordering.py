"""Order of the changes of one load balancer, so that traffic never stops and the API accepts each one.

Add before remove where there is headroom; at a limit one is swapped for another. By direction: the public interface
comes before the targets that need it and goes after those that needed it, since Hetzner refuses to disable it before.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce

from desired.model.load_balancer import (
    Attachment,
    BalancerType,
    CloudBalancer,
    IpTarget,
    Listener,
    SelectorTarget,
    ServerTarget,
    Target,
    is_private,
)
from desired.plan.change import Change
from desired.plan.foresight import balancer_after
from desired.plan.kinds import ChangeKind, Verb
from desired.section import grouped


def with_needs(parts: Sequence[Change], present: CloudBalancer, size: BalancerType) -> Iterator[Change]:
    """The changes of parts, each with those without which the API would refuse it, or traffic would be lost by it.
    ``size`` is the next type."""
    of = grouped((change.kind, change) for change in parts)
    public, networks, targets = (
        of.get(kind, ()) for kind in (ChangeKind.LB_PUBLIC_INTERFACE, ChangeKind.LB_NETWORK, ChangeKind.LB_TARGET)
    )
    for change in parts:
        needed: Iterable[Change] = ()
        match change.kind:
            case ChangeKind.LB_TARGET if _is_private(change.after):
                # While a person thinks about another network, Nodes come and go: they join the present one. What is
                # lost with that returns through the next.
                returns = change.before is None and change.after in present.targets
                needed = [c for c in networks if c.after is not None and (returns or not present.attachments)]
            case ChangeKind.LB_TARGET if change.after is not None:
                needed = [c for c in public if c.after is True]
            case ChangeKind.LB_NETWORK if change.before is None:
                needed = [c for c in networks if c.before is not None]
            case ChangeKind.LB_NETWORK:
                # What is reached through a network is lost with it: it is removed before, if a guard lets it.
                needed = [c for c in targets if _is_private(c.before)]
            case ChangeKind.LB_PUBLIC_INTERFACE if change.after is False:
                needed = [*targets, *networks]
            case ChangeKind.LB_TYPE if size.max_targets < present.type.max_targets:
                needed = _making_room([*of.get(ChangeKind.LB_LISTENER, ()), *targets], present, size)
        yield _needing(change, needed)


def _making_room(parts: Sequence[Change], present: CloudBalancer, size: BalancerType) -> Iterable[Change]:
    """The removals that are needed before a smaller type holds all targets and listeners."""
    fullest = reduce(balancer_after, (change for change in parts if change.verb is not Verb.REMOVE), present)
    kinds = {*_exceeded(fullest, size)}
    return [change for change in parts if change.kind in kinds and change.verb is Verb.REMOVE]


def in_sequence(changes: Collection[Change], present: CloudBalancer, size: BalancerType) -> tuple[Change, ...]:
    """The changes of parts of ``present`` in their order. Each follows the one before it, which is tried first, and may
    fail."""
    larger = size.max_targets >= present.type.max_targets
    room = size if larger else present.type
    by_key = sorted(changes, key=lambda change: change.key)

    def of(*kinds: ChangeKind) -> list[Change]:
        return [change for kind in kinds for change in by_key if change.kind is kind]

    types, public, targets = of(ChangeKind.LB_TYPE), of(ChangeKind.LB_PUBLIC_INTERFACE), of(ChangeKind.LB_TARGET)
    networks = sorted(of(ChangeKind.LB_NETWORK), key=lambda change: change.verb is not Verb.REMOVE)
    early = _before_it_leaves(targets, networks)
    late = [change for change in targets if change not in early]
    moved = reduce(balancer_after, (*early, *networks), present)
    ordered = [
        *of(ChangeKind.LB_ADOPT, ChangeKind.LB_IDENTITY, ChangeKind.LB_ALGORITHM, ChangeKind.LB_RDNS),
        *(change for change in public if change.after),
        *(types if larger else ()),
        *_targets(early, room.max_targets - len(present.targets), present),
        *networks,
        *_listeners(of(ChangeKind.LB_LISTENER), room.max_services - len(present.spec.listeners)),
        *_targets(late, room.max_targets - len(moved.targets), present),
        *(change for change in public if not change.after),
        *(() if larger else types),
    ]
    if larger and types:
        ordered = [*_with_room(ordered, present, types)]
    return tuple(
        replace(change, follows=tuple(before.key for before in ordered[max(0, place - 1) : place]))
        for place, change in enumerate(ordered)
    )


def _with_room(ordered: Sequence[Change], present: CloudBalancer, types: Sequence[Change]) -> Iterator[Change]:
    """The changes in their order. An addition for which there is room only once the load balancer has its larger type
    needs that change, which a guard may hold: the API would refuse it in each pass. A guard may hold the move in a
    network as well, so that it makes no room; targets that go with it and are added again have their place."""
    enlarging, then = [change for change in types if not change.depends_on], present
    for change in ordered:
        then = then if change.kind is ChangeKind.LB_NETWORK else balancer_after(then, change)
        is_new = change.verb is Verb.ADD and change.after not in present.targets
        yield _needing(change, enlarging) if is_new and change.kind in _exceeded(then, present.type) else change


def _exceeded(balancer: CloudBalancer, size: BalancerType) -> Iterator[ChangeKind]:
    """Kinds of the parts of which the load balancer has more than this type takes."""
    if len(balancer.targets) > size.max_targets:
        yield ChangeKind.LB_TARGET
    if len(balancer.spec.listeners) > size.max_services:
        yield ChangeKind.LB_LISTENER


def interleaved(adds: Iterable[Change], removals: Iterable[Change], headroom: int) -> list[Change]:
    """All of both: additions as long as there is headroom, then a removal before each, on which it depends, as the API
    would refuse it otherwise; removals that are left, last."""
    waiting = deque(removals)
    ordered = []
    for add in adds:
        if headroom <= 0 and waiting:
            ordered.append(waiting.popleft())
            ordered.append(_needing(add, ordered[-1:]))
            continue
        ordered.append(add)
        headroom -= 1
    return [*ordered, *waiting]


def _listeners(changes: Sequence[Change], headroom: int) -> list[Change]:
    """Changes of listeners. A redirect takes port 80 besides its own: the change that frees it comes before the one
    that takes it, which the API refuses until then."""
    taking = {c.key for c in changes if _takes_80(c.after) and not _takes_80(c.before)}
    early = [c for c in changes if taking and _takes_80(c.before) and not _takes_80(c.after)]
    adds, modifies, removals = _by_verb(
        [_needing(c, early) if c.key in taking else c for c in changes if c not in early]
    )
    freed = sum(change.verb is Verb.REMOVE for change in early)
    return [*early, *modifies, *interleaved(adds, removals, headroom + freed)]


def _takes_80(side: object) -> bool:
    return isinstance(side, Listener) and (
        side.port == 80 or (side.http is not None and side.http.redirect_http is True)
    )


def _before_it_leaves(targets: Sequence[Change], networks: Sequence[Change]) -> list[Change]:
    """The changes of targets that come before the load balancer leaves a network, and loses those that it reaches
    through it: all of them, or if some will be reached through the next network, those of the old one only."""
    if not any(isinstance(change.before, Attachment) for change in networks):
        return []
    needs_network = any(_is_private(change.after) for change in targets)
    return [c for c in targets if not needs_network or (_is_private(c.before) and not _is_private(c.after))]


def _is_private(side: object) -> bool:
    return isinstance(side, Target) and is_private(side)


def _targets(changes: Sequence[Change], headroom: int, present: CloudBalancer) -> list[Change]:
    """Dead targets make room first, then new ones are added, then addresses are switched one by one: the next only when
    all before it succeeded. Removals of targets that may answer come last; ``target-health`` says when they may."""
    adds, flips, removals = _by_verb(changes)
    adds = sorted(adds, key=lambda change: change.after not in present.targets)  # one that comes back has its place
    flips = sorted(flips, key=lambda change: turn_of(change, present))
    mixed = interleaved(adds, sorted(removals, key=lambda change: bool(change.consequences)), headroom)
    last_add = max((place for place, change in enumerate(mixed) if change.verb is Verb.ADD), default=-1) + 1
    one_by_one = [*_one_by_one(flips, adds, ServerTarget), *_one_by_one(flips, adds, IpTarget)]
    return [*mixed[:last_add], *one_by_one, *mixed[last_add:]]


def turn_of(change: Change, present: CloudBalancer) -> tuple[int, str]:
    """The turn of a target that is replaced: first if the other address is in use already, then those that answer now,
    as only they show whether they do afterwards. Of these, those that alone answer at some port are last."""
    if change.after in present.targets:
        return 0, change.key
    ports = _ports(change.before, present)
    if not ports:
        return 3, change.key
    others = {port for target in present.targets if target != change.before for port in _ports(target, present)}
    return 1 if ports <= others else 2, change.key


def _ports(target: object, present: CloudBalancer) -> frozenset[int]:
    return present.answering(target) if isinstance(target, ServerTarget | IpTarget | SelectorTarget) else frozenset()


def _one_by_one(flips: Sequence[Change], adds: Sequence[Change], kind: type[Target]) -> list[Change]:
    """The switches of targets of one kind, the first after the additions of that kind, and each after the one before
    it. A refusal for dedicated servers does not stop servers of the cloud, and the other way round."""
    own, before = ([change for change in changes if isinstance(change.after, kind)] for changes in (flips, adds))
    return [_needing(flip, own[place - 1 : place] if place else before) for place, flip in enumerate(own)]


def _needing(change: Change, needed: Iterable[Change]) -> Change:
    keys = tuple(other.key for other in needed)
    return replace(change, depends_on=(*change.depends_on, *keys)) if keys else change


def _by_verb(changes: Sequence[Change]) -> tuple[list[Change], list[Change], list[Change]]:
    adds, modifies, removals = ([c for c in changes if c.verb is verb] for verb in (Verb.ADD, Verb.MODIFY, Verb.REMOVE))
    return adds, modifies, removals
