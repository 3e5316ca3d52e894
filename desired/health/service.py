"""State of a Service: what its clients have, by its load balancer's health checks, then what keeps it from more."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby

from desired.health.state import Findings, ObjectState, PortHealth, PortState, ServiceState
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.lifecycle import LoadBalancerRelease
from desired.load_balancers.matching import Adoptable, Contested, Foreign, Owned, Undecided
from desired.model.load_balancer import CloudBalancer, Health, Listener, worst_of
from desired.model.service import Service, ServiceCondition
from desired.names import CONDITION_HEALTHY
from desired.plan.change import Change, GuardName, Verdict
from desired.plan.foresight import reached_by
from desired.plan.kinds import ChangeKind
from desired.plan.notes import NoteKind
from desired.syntax.bounds import counted, listed

SETTLING = timedelta(minutes=5)
"""How long a new load balancer may be without targets, or without results of its health checks: by then each of them
was tried three times with the longest interval (Hetzner Cloud API, load balancers)."""
_PORTS = 5
"""How many ports are told by their numbers: ``explain`` has all of them."""
_NEED_A_PERSON = (NoteKind.LIMIT, NoteKind.CERTIFICATE)
"""Notes that keep a Service from part of what it asks for, besides those whose table says so."""


def service_health(lb: DesiredLoadBalancer | LoadBalancerRelease, findings: Findings) -> ObjectState:
    """The state of the Service of ``lb``.

    What clients notice comes first: a Service that serves, and has a change that is held, is blocked; one of which a
    port is not answered is down, whatever is held. With ``externalTrafficPolicy: Local`` Nodes without a pod are
    unhealthy by design (Kubernetes, Services), so that a port is well when one answers.
    """
    obstacles = tuple(dict.fromkeys(_obstacles(findings)))
    state = _state_of(lb, findings, next(iter(obstacles), ""))
    return replace(state, also=tuple(each for each in obstacles if each not in state.why))


def _state_of(lb: DesiredLoadBalancer | LoadBalancerRelease, findings: Findings, blocked: str) -> ObjectState:
    """The state with its first obstacle ``blocked``; "" without one."""
    service = lb.service
    if isinstance(lb, LoadBalancerRelease):
        state, why = _leaving(lb, blocked)
        return ObjectState(service.key, state, why)
    match lb.match:
        case Undecided(is_ambiguous=is_ambiguous, why=why):
            return ObjectState(service.key, ServiceState.BLOCKED if is_ambiguous else ServiceState.UNKNOWN, why)
        case Foreign(why=why) | Contested(why=why):
            return ObjectState(service.key, ServiceState.BLOCKED, why)
        case Owned(balancer):
            return _Served(lb, balancer, findings, blocked).state()
        case matched:
            state, why = _to_come(lb, findings.changes, blocked)
            if isinstance(matched, Adoptable) and state is ServiceState.WAITING:
                why = f"load balancer {matched.balancer.id} is not adopted yet"
            return ObjectState(service.key, state, why)


def _obstacles(findings: Findings) -> Iterator[str]:
    """Obstacles to a part of what the Service asks for, until a person acts; gravest first."""
    changes, notes, failed = findings.changes, findings.notes, findings.failed
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
    return ServiceState.WAITING, "its load balancer is about to be deleted or released"


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
    return ServiceState.WAITING, "its load balancer does not exist yet"


@dataclass(frozen=True)
class _Served:
    """A Service that has its load balancer."""

    lb: DesiredLoadBalancer
    balancer: CloudBalancer
    findings: Findings
    blocked: str
    """The first obstacle that a person has to mend; "" without one."""

    @property
    def is_new(self) -> bool:
        return self.findings.now - self.balancer.created_at < SETTLING

    @cached_property
    def ports(self) -> tuple[PortHealth, ...]:
        return tuple(port_health(self.balancer, is_local=self.lb.service.claim.is_local, is_new=self.is_new))

    def state(self) -> ObjectState:
        found = [*self._of_targets(), *self._of_writes()]
        service, serves = self.lb.service, "; ".join(_sentences(self.ports))
        if self.blocked:
            found.append((ServiceState.BLOCKED, f"{self.blocked}; {serves}" if serves else self.blocked))
        fails = any(port.healthy and port.failing for port in self.ports)
        found.append((ServiceState.DEGRADED if fails else ServiceState.SERVING, serves))
        state, why = min(found, key=lambda each: list(ServiceState).index(each[0]))  # they stand there worst first
        return ObjectState(service.key, state, why, ports=self.ports, targets=tuple(_worst(self.balancer)))

    def _of_targets(self) -> Iterator[tuple[ServiceState, str]]:
        """What clients notice of the targets, and what is not known of them: results come, unless they are overdue."""
        balancer, notes = self.balancer, self.findings.notes
        if not balancer.targets:
            cause = "".join(f"; {note.text}" for note in notes if note.kind is NoteKind.NO_TARGETS)
            told = f"load balancer {balancer.id} has no target{cause}"
            yield ServiceState.WAITING if self.is_new else ServiceState.DOWN, told
        elif not reached_by(balancer):
            yield ServiceState.DOWN, f"load balancer {balancer.id} reaches 0 of {len(balancer.targets)} targets"
        else:
            dead = [port for port in self.ports if port.state is PortState.NONE]
            yield from ((ServiceState.DOWN, told) for told in _sentences(dead))
            is_overdue = _is_overdue(self.lb.service, self.findings.now)
            state = ServiceState.UNKNOWN if is_overdue else ServiceState.WAITING
            unknown = (port for port in self.ports if port.state is PortState.UNKNOWN)
            for unchecked, alike in groupby(unknown, lambda port: port.unchecked):
                yield state, f"{_ports(alike)}: {counted(unchecked, 'target')} not checked yet"

    def _of_writes(self) -> Iterator[tuple[ServiceState, str]]:
        """What clients miss as it is not written: it waits if the write is to come, and otherwise they notice. A port
        that a person has to make possible says so by what it is blocked by."""
        service, changes, there = self.lb.service, self.findings.changes, {port.port for port in self.ports}
        if not service.claim.allocates_node_ports:  # a note tells of these ports, and none of them comes
            there |= {*self.lb.without_node_port}
        lacking = [port.port for port in service.claim.tcp_ports if port.port not in there]
        if lacking and self.lb.wanted is not None:
            left = next((why for each in changes if _port_of(each) in lacking and (why := _why_left(each))), "")
            is_coming = self.is_new or bool(self.blocked) or not left
            told = f"{_numbers(lacking)}: not on load balancer {self.balancer.id}"
            yield (ServiceState.WAITING, f"{told} yet") if is_coming else (ServiceState.DOWN, f"{told}: {left}")
        status = next((change for change in changes if change.kind is ChangeKind.SERVICE_STATUS), None)
        if not service.ingress and status is not None:
            is_coming = self.is_new or not (self.blocked or _why_left(status))
            state = ServiceState.WAITING if is_coming else ServiceState.DOWN
            yield state, f"the address of load balancer {self.balancer.id} is not published"


def _worst(balancer: CloudBalancer) -> Iterator[Health]:
    """The worst that is said of each target."""
    for target in balancer.targets:
        yield worst_of(balancer.checks.get(target, {}).values()) or Health.UNKNOWN


def port_health(balancer: CloudBalancer, *, is_local: bool, is_new: bool) -> Iterator[PortHealth]:
    """The targets of each port of a load balancer, by port. One that it cannot reach, as it is in no network or has no
    public interface, is no target of any. With ``is_local`` one that answers is enough for a port."""
    reached = reached_by(balancer)
    for port in sorted(balancer.spec.listeners):
        said = [balancer.checks.get(target, {}).get(port, Health.UNKNOWN) for target in reached]
        yield PortHealth(port, said.count(Health.HEALTHY), said.count(Health.UNHEALTHY), len(said), is_local, is_new)


def _port_of(change: Change) -> int | None:
    return change.after.port if isinstance(change.after, Listener) else None


def _why_left(change: Change) -> str:
    """Why a change that no person holds up will not be made by a pass soon; "" if it will, also if it is tried
    again."""
    return change.decision.why if change.decision.rule in (GuardName.POLICY, GuardName.FLAPPING) else ""


def _sentences(ports: Sequence[PortHealth]) -> Iterator[str]:
    """A sentence for all ports that are alike, worst first."""
    ordered = sorted(ports, key=lambda port: (port.healthy, -port.unhealthy, port.targets, port.port))
    for (healthy, _, targets), alike in groupby(ordered, key=lambda port: (port.healthy, port.unhealthy, port.targets)):
        yield f"{_ports(alike)}: {healthy} of {targets} healthy"


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
        status, reason, told = "Unknown", "NoTargets", "the load balancer has no targets"
    elif PortState.NONE in states:
        status, reason, told = "False", "NoHealthyTarget", "a port has no healthy target"
    elif PortState.UNKNOWN in states:
        status, reason = "Unknown", "Pending"
        told = "a port has no healthy target yet, and not all of its targets are checked"
    elif any(port.failing for port in ports):
        status, reason = "True", "SomeUnhealthy"
        told = "every port has a healthy target, and some targets are unhealthy"
    else:
        status, reason = "True", "AllHealthy"
        told = "every port has a healthy target, and no target that should answer fails"
    there = next((each for each in service.conditions if each.type == CONDITION_HEALTHY), None)
    since = there.since if there is not None and there.status == status else None
    return ServiceCondition(CONDITION_HEALTHY, status, reason, told, since or now)


def _is_overdue(service: Service, now: datetime) -> bool:
    """Whether health checks have said nothing for longer than they take. The load balancer does not tell since when:
    each edit of a check begins anew. Only the condition does, with ``--health-conditions``."""
    told = (each for each in service.conditions if each.type == CONDITION_HEALTHY)
    pending = (each.since for each in told if (each.status, each.reason) == ("Unknown", "Pending"))
    return any(since is not None and now - since >= SETTLING for since in pending)
