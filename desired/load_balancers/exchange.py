"""Exchange of the addresses by which dedicated servers are targets.

Two addresses of one server may be targets at a time: the new one comes first, and the old one goes when nothing is lost
by that. (What switches a cloud server takes it away first, and needs more care: ``switch``.)

| the new address | the old one | then |
|---|---|---|
| is no target yet | | it is added |
| answers | at no port at which the new one does not | the old one goes |
| was not checked yet | | nothing, for a while |
| does not answer at some port | does | held |
| answers nowhere | nor does it | nothing, until another dedicated server answers by an address of that kind |

A load balancer without listeners checks nothing, and loses nothing. Where it has no room for both addresses, one takes
the place of the other: one server at a time, and none after one that does not answer.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from desired.load_balancers.targets import DesiredTargets
from desired.model.load_balancer import CloudBalancer, IpTarget, is_private
from desired.model.snapshot import Readiness, Snapshot
from desired.syntax.provider_id import ServerKey


class Step(StrEnum):
    """The next step of an exchange."""

    ADD = "add"
    """The new address comes."""
    REMOVE = "remove"
    """The old one goes."""
    WAIT = "wait"
    """For health checks."""
    ASK = "ask"
    """A person: the new address does not answer, and the old one does."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A dedicated server that should be a target by another of its addresses than it is."""

    server: ServerKey
    old: tuple[IpTarget, ...]
    """In the order of the API."""
    new: IpTarget
    step: Step


def exchanges_of(present: CloudBalancer, targets: DesiredTargets) -> tuple[Exchange, ...]:
    """The dedicated servers whose addresses are to be exchanged, in the order of their keys."""
    old: dict[ServerKey, list[IpTarget]] = {}
    for target in present.targets:
        server = targets.node_targets.led_to(target)
        if isinstance(target, IpTarget) and server and target not in targets.targets:
            old.setdefault(server, []).append(target)
    wanted = ((server, targets.node_targets.candidates.get(server)) for server in sorted(old))
    found = [
        Exchange(server, tuple(old[server]), new, _step(tuple(old[server]), new, present))
        for server, new in wanted
        if isinstance(new, IpTarget) and new in targets.targets
    ]
    if any(exchange.step is Step.ASK for exchange in found):
        return tuple(found)
    return tuple(replace(each, step=Step.REMOVE) if _has_no_say(each, present, targets) else each for each in found)


def _step(old: tuple[IpTarget, ...], new: IpTarget, present: CloudBalancer) -> Step:
    if new not in present.targets:
        return Step.ADD
    answers, before = present.answering(new), frozenset[int]().union(*map(present.answering, old))
    if not present.spec.listeners or (answers and before <= answers):
        return Step.REMOVE
    return Step.ASK if before - answers and _is_told(new, present) else Step.WAIT


def _has_no_say(exchange: Exchange, present: CloudBalancer, targets: DesiredTargets) -> bool:
    """Whether the server answers by neither address, for reasons of its own: others answer by one like the new one."""
    if exchange.step is not Step.WAIT or not all(_is_told(each, present) for each in (exchange.new, *exchange.old)):
        return False
    return any(
        isinstance(target, IpTarget)
        and is_private(target) is is_private(exchange.new)
        and bool(present.answering(target))
        for target in present.targets
        if target in targets.targets and targets.node_targets.led_to(target)
    )


def _is_told(target: IpTarget, present: CloudBalancer) -> bool:
    """Whether health checks have said of the target whether it answers."""
    return bool(present.checks.get(target)) and not present.is_unchecked(target)


def silent_newcomers(present: CloudBalancer, targets: DesiredTargets, snapshot: Snapshot) -> tuple[IpTarget, ...]:
    """The addresses by which dedicated servers should get traffic and do not, although their Nodes are Ready: in a load
    balancer without room for two addresses of a server the next exchange waits for them."""
    return tuple(
        target
        for target in present.targets
        if isinstance(target, IpTarget)
        and target in targets.targets
        and not present.answering(target)
        and any(
            snapshot.nodes.items[member.node].ready is Readiness.TRUE
            for member in targets.claiming(targets.node_targets.led_to(target))
        )
    )
