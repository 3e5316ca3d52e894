"""State of a Service: what its clients have, by its load balancer's health checks, then what keeps it from more."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby

from desired.health.state import ObjectState, PortHealth, PortState, ServiceState
from desired.load_balancers.conditions import OTHER_ADDRESS
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.lifecycle import LoadBalancerRelease
from desired.load_balancers.matching import Adoptable, Contested, Foreign, Owned, Undecided
from desired.model.load_balancer import CloudBalancer, Health, Listener
from desired.model.service import Service, ServiceCondition
from desired.names import CONDITION_HEALTHY, CONDITION_IN_SYNC, CONDITION_READY
from desired.plan.change import Change, GuardName, Verdict
from desired.plan.foresight import has_way
from desired.plan.kinds import ChangeKind
from desired.plan.notes import Note, NoteKind
from desired.rules import health as rows
from desired.rules.rule import Reason
from desired.syntax.bounds import counted, listed

SETTLING = timedelta(minutes=5)
"""How long a new load balancer may be without targets, or without results of its health checks: by then each of them
was tried three times with the longest interval (Hetzner Cloud API, load balancers)."""
_PORTS = 5
"""How many ports are told by their numbers: ``explain`` has all of them."""
_NEED_A_PERSON = (NoteKind.LIMIT, NoteKind.CERTIFICATE)
"""Notes that keep a Service from part of what it asks for, besides those whose table says so."""


def service_health(
    lb: DesiredLoadBalancer | LoadBalancerRelease,
    changes: Sequence[Change],
    notes: Collection[Note],
    failed: Mapping[str, str],
    now: datetime,
) -> ObjectState:
    """The state of the Service of ``lb``.

    ``changes`` are its own, judged, ``notes`` those on it and its load balancer, and ``failed`` has the errors of
    changes that an API refused in this pass, by key. What clients notice comes first: a Service that serves, and has
    a change that is held, is blocked; one of which a port is not answered is down, whatever is held. With
    ``externalTrafficPolicy: Local`` Nodes without a pod are unhealthy by design (Kubernetes, Services), so that a port
    is well when one answers.
    """
    service = lb.service
    blocked = next(_obstacles(changes, notes, failed), "")
    if isinstance(lb, LoadBalancerRelease):
        state, why = _leaving(lb, blocked)
        return ObjectState(service.key, state, why, service.deleted_at)
    match lb.match:
        case Undecided(is_ambiguous=is_ambiguous, why=why):
            return ObjectState(service.key, ServiceState.BLOCKED if is_ambiguous else ServiceState.UNKNOWN, why)
        case Foreign(why=why) | Contested(why=why):
            return ObjectState(service.key, ServiceState.BLOCKED, why, _since(service, ServiceState.BLOCKED))
        case Owned(balancer):
            why_none = "".join(f"; {note.text}" for note in notes if note.kind is NoteKind.NO_TARGETS)
            return _served(lb, balancer, changes, blocked, why_none, now)
        case matched:
            state, why = _to_come(lb, changes, blocked)
            if isinstance(matched, Adoptable) and state is ServiceState.WAITING:
                why = rows.TO_BE_ADOPTED.text(balancer=matched.balancer.id)
            return ObjectState(service.key, state, why, service.created_at)


def _obstacles(changes: Sequence[Change], notes: Collection[Note], failed: Mapping[str, str]) -> Iterator[str]:
    """What keeps the Service from part of what it asks for until a person acts, gravest first."""
    yield from (note.text for note in notes if note.needs_a_person)
    for verdict in (Verdict.REFUSED, Verdict.HELD):
        found = (change.decision for change in changes if change.decision.verdict is verdict)
        yield from (f"{verdict} ({decision.rule}): {decision.why}" for decision in found)
    yield from (failed[change.key] for change in changes if change.key in failed)
    yield from (note.text for note in notes if note.kind in _NEED_A_PERSON)


def _leaving(lb: LoadBalancerRelease, blocked: str) -> tuple[ServiceState, str]:
    if isinstance(lb.match, Undecided):
        return ServiceState.BLOCKED if lb.match.is_ambiguous else ServiceState.UNKNOWN, lb.match.why
    if blocked:
        return ServiceState.BLOCKED, blocked
    return ServiceState.WAITING, rows.TO_BE_RELEASED.text()


def _to_come(lb: DesiredLoadBalancer, changes: Sequence[Change], blocked: str) -> tuple[ServiceState, str]:
    """Of a Service whose load balancer is still to be created or adopted."""
    if blocked:
        return ServiceState.BLOCKED, blocked
    problem = lb.size.problem
    if lb.wanted is None and problem is not None:
        return ServiceState.UNKNOWN if problem.rule.of is NoteKind.UNKNOWN else ServiceState.BLOCKED, problem.text
    for change in changes:
        if change.decision.verdict is Verdict.WAITING:
            is_unknown = change.decision.waits_for_data
            return ServiceState.UNKNOWN if is_unknown else ServiceState.WAITING, change.decision.why
    return ServiceState.WAITING, rows.TO_BE_CREATED.text()


def _served(
    lb: DesiredLoadBalancer,
    balancer: CloudBalancer,
    changes: Sequence[Change],
    blocked: str,
    why_none: str,
    now: datetime,
) -> ObjectState:
    """Of a Service that has its load balancer; ``why_none`` is told where that has no target."""
    is_new = now - balancer.created_at < SETTLING
    ports = tuple(port_health(balancer, is_local=lb.service.claim.is_local, is_new=is_new))
    found = [
        *_of_targets(balancer, ports, why_none, is_new=is_new, is_overdue=_is_overdue(lb.service, now)),
        *_of_writes(lb, balancer, ports, changes, is_blocked=bool(blocked), is_new=is_new),
    ]
    serves = "; ".join(reason.text for reason in _reasons(ports))
    if blocked:
        found.append((ServiceState.BLOCKED, f"{blocked}; {serves}" if serves else blocked))
    fails = any(port.healthy and port.failing for port in ports)
    found.append((ServiceState.DEGRADED if fails else ServiceState.SERVING, serves))
    state, why = min(found, key=lambda each: list(ServiceState).index(each[0]))  # they stand there worst first
    since = balancer.created_at if is_new and state is ServiceState.WAITING else _since(lb.service, state)
    return ObjectState(lb.service.key, state, why, since, ports, tuple(_worst(balancer)))


def _worst(balancer: CloudBalancer) -> Iterator[Health]:
    """The worst that is said of each target."""
    for target in balancer.targets:
        said = balancer.checks.get(target, {}).values()
        yield next(
            (each for each in (Health.UNHEALTHY, Health.UNKNOWN, Health.HEALTHY) if each in said), Health.UNKNOWN
        )


def port_health(balancer: CloudBalancer, *, is_local: bool, is_new: bool) -> Iterator[PortHealth]:
    """The targets of each port of a load balancer, by port. One that it cannot reach, as it is in no network or has no
    public interface, is no target of any. With ``is_local`` one that answers is enough for a port."""
    reached = [target for target in balancer.targets if has_way(target, balancer)]
    for port in sorted(balancer.spec.listeners):
        said = [balancer.checks.get(target, {}).get(port, Health.UNKNOWN) for target in reached]
        yield PortHealth(port, said.count(Health.HEALTHY), said.count(Health.UNHEALTHY), len(said), is_local, is_new)


def _of_targets(
    balancer: CloudBalancer, ports: Sequence[PortHealth], why_none: str, *, is_new: bool, is_overdue: bool
) -> Iterator[tuple[ServiceState, str]]:
    """What clients notice of the targets, and what is not known of them: results come, unless they are overdue."""
    if not balancer.targets:
        told = rows.NO_TARGET.text(balancer=balancer.id, cause=why_none)
        yield ServiceState.WAITING if is_new else ServiceState.DOWN, told
    elif not any(has_way(target, balancer) for target in balancer.targets):
        yield ServiceState.DOWN, rows.NO_WAY.text(balancer=balancer.id, targets=len(balancer.targets))
    else:
        dead = [port for port in ports if port.state is PortState.NONE]
        yield from ((ServiceState.DOWN, reason.text) for reason in _reasons(dead))
        state = ServiceState.UNKNOWN if is_overdue else ServiceState.WAITING
        unknown = (port for port in ports if port.state is PortState.UNKNOWN)
        for unchecked, alike in groupby(unknown, lambda port: port.unchecked):
            yield state, rows.PORTS_UNCHECKED.text(ports=_ports(alike), targets=counted(unchecked, "target"))


def _of_writes(
    lb: DesiredLoadBalancer,
    balancer: CloudBalancer,
    ports: Sequence[PortHealth],
    changes: Sequence[Change],
    *,
    is_blocked: bool,
    is_new: bool,
) -> Iterator[tuple[ServiceState, str]]:
    """What clients miss as it is not written: it waits where the write is to come, and otherwise they notice. A port
    that a person has to make possible says so by what it is blocked by."""
    there = {port.port for port in ports}
    lacking = [port.port for port in lb.service.claim.ports if port.protocol == "TCP" and port.port not in there]
    if lacking and lb.wanted is not None:
        left = next((why for each in changes if _port_of(each) in lacking and (why := _why_left(each))), "")
        is_coming = is_new or is_blocked or not left
        row = rows.PORT_ABSENT if is_coming else rows.PORT_LEFT_OUT
        told = row.text(ports=_numbers(lacking), balancer=balancer.id, why=left)
        yield ServiceState.WAITING if is_coming else ServiceState.DOWN, told
    status = next((change for change in changes if change.kind is ChangeKind.SERVICE_STATUS), None)
    if not lb.service.ingress and status is not None:
        is_coming = is_new or not (is_blocked or _why_left(status))
        state = ServiceState.WAITING if is_coming else ServiceState.DOWN
        yield state, rows.NOT_PUBLISHED.text(balancer=balancer.id)


def _port_of(change: Change) -> int | None:
    return change.after.port if isinstance(change.after, Listener) else None


def _why_left(change: Change) -> str:
    """Why a change that no person holds up will not be made by a pass soon; "" where it will, also where it is tried
    again."""
    return change.decision.why if change.decision.rule in (GuardName.POLICY, GuardName.FLAPPING) else ""


def _reasons(ports: Sequence[PortHealth]) -> Iterator[Reason]:
    """A sentence for all ports that are alike, worst first."""
    ordered = sorted(ports, key=lambda port: (port.healthy, -port.unhealthy, port.targets, port.port))
    for (healthy, _, targets), alike in groupby(ordered, key=lambda port: (port.healthy, port.unhealthy, port.targets)):
        yield rows.PORTS_HEALTHY.because(ports=_ports(alike), healthy=healthy, targets=targets)


def _ports(ports: Iterable[PortHealth]) -> str:
    return _numbers([port.port for port in ports])


def _numbers(numbers: Sequence[int]) -> str:
    """``port 80``, ``ports 80, 443``; of many the first, as a state is a line."""
    return f"port{'s' * (len(numbers) > 1)} {listed([*map(str, sorted(numbers))], _PORTS)}"


def health_condition(state: ObjectState, service: Service, now: datetime) -> ServiceCondition | None:
    """The condition ``LoadBalancerHealthy`` of the Service with this state, with the time since when it has its status;
    None without a load balancer. Nodes without a pod are no failure of ``externalTrafficPolicy: Local``. Which
    ports and how many targets it does not say: that changes more often than it is written."""
    ports = state.ports
    if not ports:
        return None
    states = {port.state for port in ports}
    if not state.targets:
        status, reason, row = "Unknown", "NoTargets", rows.HEALTH_NO_TARGETS
    elif PortState.NONE in states:
        status, reason, row = "False", "NoHealthyTarget", rows.HEALTH_NONE
    elif PortState.UNKNOWN in states:
        status, reason, row = "Unknown", "Pending", rows.HEALTH_PENDING
    elif any(port.failing for port in ports):
        status, reason, row = "True", "SomeUnhealthy", rows.HEALTH_SOME
    else:
        status, reason, row = "True", "AllHealthy", rows.HEALTH_ALL
    there = next((each for each in service.conditions if each.type == CONDITION_HEALTHY), None)
    since = there.since if there is not None and there.status == status else None
    return ServiceCondition(CONDITION_HEALTHY, status, reason, row.text(), since or now)


def _is_overdue(service: Service, now: datetime) -> bool:
    """Whether health checks have said nothing for longer than they take. The load balancer does not tell since when:
    each edit of a check begins anew. Only the condition does, with ``--health-conditions``."""
    since = _since(service, ServiceState.UNKNOWN, "Pending")
    return since is not None and now - since >= SETTLING


def _since(service: Service, state: ServiceState, reason: str | None = None) -> datetime | None:
    """Since when the Service's conditions tell what makes its state, for this ``reason`` where one is given; None where
    they do not."""
    told = _TOLD_BY.get(state, {})
    said = (each for each in service.conditions if each.status == told.get(each.type))
    # Another published address is no outage of ours, and may be older than one.
    ours = (each.since for each in said if each.reason != OTHER_ADDRESS and reason in (None, each.reason))
    return min(filter(None, ours), default=None)


_TOLD_BY: Mapping[ServiceState, Mapping[str, str]] = {
    ServiceState.DOWN: {CONDITION_HEALTHY: "False", CONDITION_READY: "False"},
    ServiceState.BLOCKED: {CONDITION_IN_SYNC: "False"},
    ServiceState.WAITING: {CONDITION_IN_SYNC: "False"},
    ServiceState.UNKNOWN: {CONDITION_HEALTHY: "Unknown"},
}
"""State → type and status of the conditions in which it shows."""
