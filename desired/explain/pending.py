"""What a Service waits for: a guard, a person, Hetzner, or whoever else has to do something first."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from desired.explain.guards import Word
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.listeners import ports_without_node_port
from desired.load_balancers.release import LoadBalancerRelease
from desired.model.load_balancer import KNOWN_AFTER_APPLY
from desired.names import FINALIZER_BALANCER
from desired.plan.change import Change, Verdict


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing that is waited for."""

    subject: str
    """The rule of a guard; else the certificate, port, status or finalizer that it is about."""
    why: str
    due_in_s: float | None = None
    """Seconds until another look is worth it; None when no time is known."""


def explain_pending(
    wish: DesiredLoadBalancer | LoadBalancerRelease | None, changes: Collection[Change], words: Collection[Word]
) -> tuple[Wait, ...]:
    """What keeps the Service from being as it should be, though nothing has failed. ``words`` are those of the
    guards on ``changes``."""
    return tuple(_waits(wish, changes, words))


def _waits(
    wish: DesiredLoadBalancer | LoadBalancerRelease | None, changes: Collection[Change], words: Collection[Word]
) -> Iterator[Wait]:
    for word in words:
        if word.verdict in (Verdict.WAITING, Verdict.HELD):
            approval = "somebody has to approve it: " if word.verdict is Verdict.HELD else ""
            yield Wait(word.rule, approval + word.why, word.due_in_s)
    match wish:
        case DesiredLoadBalancer():
            pending = wish.certificates.pending
            if pending is not None and all(word.why != pending for word in words):
                yield Wait("certificate", pending, wish.certificates.due_in_s)
            for port in ports_without_node_port(wish.service):
                yield Wait(f"port {port}", "the API server has still to choose its node port")
        case LoadBalancerRelease(service) if service.deleted_at is not None:
            others = [name for name in service.finalizers if name != FINALIZER_BALANCER]
            if others:
                yield Wait("finalizers", f"others have to let go of the Service as well: {', '.join(others)}")
    if any(change.after is KNOWN_AFTER_APPLY for change in changes):
        yield Wait("status", "the addresses are known once there is a load balancer")
