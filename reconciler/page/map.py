"""World map: which Service leads through which load balancer to which Node, whether that answers, and which routes lead
to the pods there, as rows."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from ipaddress import IPv4Address

from actuators.outcome import Applied
from desired.annotations.choices import Protocol
from desired.health.state import Level, ObjectState
from desired.load_balancers.matching import Missing, Owned
from desired.model.key import Key, ObjectKind
from desired.model.load_balancer import (
    CloudBalancer,
    Health,
    IpTarget,
    LoadBalancer,
    ServerTarget,
    Target,
)
from desired.model.route import Route, route_key
from desired.model.snapshot import AddressType, Node, NodeAddress, Readiness, Server, Snapshot
from desired.names import LABEL_INSTANCE_TYPE
from desired.plan.change import Change
from desired.plan.foresight import after_all
from desired.plan.kinds import ChangeKind
from desired.plan.notes import NoteKind
from desired.section import Absent, Present
from desired.syntax.bounds import counted
from desired.syntax.provider_id import Provider, ServerKey, server_key
from reconciler.report.escaping import LIMITS
from reconciler.report.folding import natural_order, symbol_of
from reconciler.result import Line, Report


class State(StrEnum):
    """How something is, as far as this pass has seen."""

    OK = "ok"
    BAD = "bad"
    UNKNOWN = "unknown"
    ASIDE = "aside"
    """It fails by design, as ``externalTrafficPolicy`` is Local and no pod is there."""
    PLANNED = "planned"
    """It does not exist yet."""


_WORDS = {
    State.OK: "healthy",
    State.BAD: "unhealthy",
    State.UNKNOWN: "unknown",
    State.ASIDE: "without a pod",
    State.PLANNED: "planned",
}
_TONES = {Level.BAD: "bad", Level.WARNING: "warning", Level.BUSY: "busy", Level.GOOD: "good"}
_LAST = 99


def shown_health(states: Iterable[State], words: Mapping[State, str] = _WORDS) -> str:
    """``3 healthy, 1 unhealthy``."""
    counts = Counter(states)
    return ", ".join(f"{counts[state]} {word}" for state, word in words.items() if counts[state])


_WEIGHTS = "!-+~?"
"""Symbols of a plan, the one that a person has to see first."""


@dataclass(frozen=True, slots=True)
class TargetRow:
    """One target of a load balancer."""

    name: str
    """``server:102``."""
    node: str | None
    """The Node behind it; None where none is known."""
    state: State
    health: str
    """``healthy``, ``unhealthy (1 port of 2: 443)``."""
    mark: str = ""
    """The symbol of what is planned for it; "" for nothing."""

    @property
    def shown(self) -> str:
        """What people know it by."""
        return self.node or self.name


@dataclass(frozen=True, slots=True)
class BalancerRow:
    """One load balancer, or one that is planned."""

    key: Key
    name: str
    id: int | None
    """None while it does not exist."""
    type: str
    place: str
    """Location or zone; "" where that is not known."""
    addresses: tuple[str, ...]
    ports: tuple[str, ...]
    """``443 to 30443``, by number; with the protocol where that is not TCP."""
    targets: tuple[TargetRow, ...]
    mark: str = ""

    @property
    def kind(self) -> str:
        """``lb11 in fsn1``."""
        return f"{self.type} in {self.place}" if self.place else self.type

    @property
    def health(self) -> str:
        """``3 healthy, 1 unhealthy``."""
        return shown_health(target.state for target in self.targets) or "no target"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedRow:
    """What rows of Services and Nodes have in common."""

    mark: str = ""
    health: ObjectState | None = None
    """Its state; None for what is not looked after here."""

    @property
    def word(self) -> str:
        """The state as people write it."""
        return "left alone" if self.health is None else self.health.word

    @property
    def tone(self) -> str:
        """The class of the state."""
        return "dim" if self.health is None else _TONES[self.health.level]

    @property
    def is_well(self) -> bool:
        """Whether nobody has to look at it."""
        return self.health is None or self.health.level is Level.GOOD

    @property
    def rank(self) -> tuple[int, int]:
        """The order of states, worst first."""
        return (1, _LAST) if self.health is None else self.health.rank


@dataclass(frozen=True, slots=True)
class ServiceRow(StatedRow):
    """One Service that wants a load balancer, or has to release one; or a load balancer without any."""

    key: Key | None
    """None for a load balancer that is no Service's."""
    balancer: BalancerRow | None
    why: str = ""
    """Why it has no load balancer; "" where it has one, or gets one."""

    @property
    def anchor_key(self) -> Key | None:
        """The key of its anchor."""
        return self.key or (self.balancer.key if self.balancer else None)

    @property
    def word(self) -> str:
        """The state as people write it, also of a load balancer without a Service."""
        return "without a Service" if self.key is None else super(ServiceRow, self).word

    @property
    def is_well(self) -> bool:
        """Whether nobody has to look at it."""
        return self.key is not None and super(ServiceRow, self).is_well


@dataclass(frozen=True, slots=True)
class NodeRow(StatedRow):
    """One Node."""

    key: Key
    ready: Readiness
    server: str
    """``server 102``; "" while it has none."""
    is_gone: bool
    """Whether its project has no such server any more."""
    type: str
    location: str
    addresses: tuple[NodeAddress, ...]
    """But for a host name that is the Node's own."""
    routes: tuple[str, ...]
    """Destinations of the routes that lead to it."""

    @property
    def anchor_key(self) -> Key:
        """The key of its anchor."""
        return self.key

    @property
    def kind(self) -> str:
        """``cpx32 in fsn1``."""
        return f"{self.type} in {self.location}" if self.location else self.type

    @property
    def state(self) -> State:
        """Whether it is Ready."""
        return {Readiness.TRUE: State.OK, Readiness.FALSE: State.BAD}.get(self.ready, State.UNKNOWN)

    @property
    def shown_server(self) -> str:
        """``server 102``, ``server 102 is gone``."""
        return f"{self.server} is gone" if self.is_gone else self.server or "no server"


@dataclass(frozen=True, slots=True)
class RouteRow:
    """One route of the network, or one that is planned."""

    key: Key
    destination: str
    gateway: str
    """"" for one that could not be read."""
    node: str | None
    leads_to: str
    """Who has the gateway, in words."""
    state: State
    mark: str = ""


@dataclass(frozen=True, slots=True)
class WorldMap:
    """What leads where."""

    services: tuple[ServiceRow, ...] = ()
    nodes: tuple[NodeRow, ...] = ()
    routes: tuple[RouteRow, ...] = ()
    routes_used: int | None = None
    """How many routes the network has; None where there is no network, or where nothing is known of it."""
    routes_limit: int | None = None


def map_of(report: Report) -> WorldMap:
    """The map of a report; an empty one when nothing was read."""
    if report.snapshot is None:
        return WorldMap()
    return _Cartographer(report, report.snapshot).drawn()


def _marks(changes: Iterable[Change]) -> Mapping[str, str]:
    """Key of an object, or of a part of one → the symbol that stands for all that is planned for it. What comes or goes
    as a whole is no modification."""
    found: dict[str, str] = {}
    for change in changes:
        symbol = symbol_of(change.verb, change.decision)
        for key in {change.key, change.key.whole}:
            told = symbol if key == change.key or symbol in "!?" else "~"
            before = found.get(key, "")
            found[key] = min(filter(None, (before, told)), key=_WEIGHTS.index)
    return found


class _Cartographer:
    """Look-ups that all rows share: computed once."""

    def __init__(self, report: Report, snapshot: Snapshot) -> None:
        self._report = report
        self._snapshot = snapshot
        # Where a key stands twice, its first change was made already.
        by_key = {line.change.key: line.change for line in sorted(report.lines, key=_is_left)}
        self._then = after_all(snapshot, tuple(by_key.values()))
        self._balancers = self._then.load_balancers.items if self._then.load_balancers else {}
        self._marks = _marks(line.change for line in report.lines if line.outcome is None)
        self._states = {each.key: each for each in report.states}
        self._servers_of = dict(self._server_keys())
        self._node_of = {key: name for name, key in self._servers_of.items()}
        self._node_with = {key.id: name for key, name in self._node_of.items() if key.provider is Provider.CLOUD}
        self._node_at = {address.address: node.name for node in snapshot.nodes for address in node.addresses}
        self._network = snapshot.network.value if isinstance(snapshot.network, Present) else None
        self._server_at = dict(self._private_addresses())

    def drawn(self) -> WorldMap:
        routes = tuple(sorted(self._routes(), key=lambda row: _by_address(row.destination)))
        to: dict[str, list[str]] = {}
        for row in routes:
            if row.node is not None:
                to.setdefault(row.node, []).append(row.destination)
        read = self._snapshot.routes
        return WorldMap(
            services=(*self._services(), *self._without_service()),
            nodes=tuple(
                self._node(node, tuple(to.get(node.name, ())))
                for node in sorted(self._snapshot.nodes, key=lambda node: natural_order(node.name))
            ),
            routes=routes,
            routes_used=read.total if read is not None and self._network is not None else None,
            routes_limit=LIMITS.get("routes"),
        )

    def _server_keys(self) -> Iterator[tuple[str, ServerKey]]:
        """Name of a Node → its server, by its providerID or the one that it is about to get."""
        for node in self._snapshot.nodes:
            key = server_key((self._then.node(node.key) or node).provider_id)
            if key is not None:
                yield node.name, key

    def _private_addresses(self) -> Iterator[tuple[IPv4Address, ServerKey]]:
        network = self._network.id if self._network else None
        for server in self._snapshot.servers:
            yield from ((ip, server.key) for there, ip in (*server.alias_ips, *server.private_ips) if there == network)

    def _mark(self, key: str) -> str:
        return self._marks.get(key, "")

    def _services(self) -> Iterator[ServiceRow]:
        matches = self._report.facts.desired.matches if self._report.facts else {}
        coming = {each.owner.uid: each for each in self._balancers.values() if each.id < 0}
        for name, match in sorted(matches.items()):
            service = Key(ObjectKind.SERVICE, name)
            key = Key(ObjectKind.LOAD_BALANCER, name)
            mark, health, found = self._mark(service), self._states.get(service), self._snapshot.service(service)
            if isinstance(match, Owned):
                yield ServiceRow(service, self._balancer(key, match.balancer, health), mark=mark, health=health)
            elif found is not None and found.uid in coming:
                yield ServiceRow(service, self._balancer(key, coming[found.uid]), mark=mark, health=health)
            else:
                is_wanted = found is not None and self._snapshot.serving.wants(found)
                why = getattr(match, "why", "") or (
                    "none yet" if is_wanted and isinstance(match, Missing) else "none of its own"
                )
                yield ServiceRow(service, None, why, mark=mark, health=health)

    def _without_service(self) -> Iterator[ServiceRow]:
        """Load balancers of this cluster that no Service wants."""
        told = {note.key for note in self._report.notes if note.kind is NoteKind.ORPHAN}
        told |= {line.change.key for line in self._report.lines if line.change.kind is ChangeKind.LB_DELETE}
        for balancer in self._snapshot.load_balancers or ():
            if balancer.key in told:
                yield ServiceRow(None, self._balancer(balancer.key, balancer))

    def _balancer(self, key: Key, balancer: CloudBalancer, health: ObjectState | None = None) -> BalancerRow:
        """The row of a load balancer that is there, or that is to come; ``health`` is the state of its Service."""
        is_there, spec = balancer.id > 0, balancer.spec
        public = [str(address) for address in (balancer.ipv4, balancer.ipv6) if address]
        private = [str(place.ip) for place in balancer.attachments if isinstance(place.ip, IPv4Address)]
        targets = [self._target(key, balancer, target) for target in balancer.targets if is_there]
        if health and health.ports and not any(port.failing for port in health.ports):
            targets = [_aside(target) if target.state is State.BAD else target for target in targets]
        known = {target.name for target in targets}
        then = self._balancers.get(balancer.id, balancer).targets
        targets += [
            self._target(key, None, target, "" if is_there else "+") for target in then if target.name not in known
        ]
        return BalancerRow(
            key=key,
            name=spec.name,
            id=balancer.id if is_there else None,
            type=balancer.type.name,
            place=spec.location or spec.zone or "",
            addresses=(*(public if spec.public_interface is not False else ()), *private) if is_there else (),
            ports=_ports(spec),
            targets=tuple(sorted(targets, key=lambda row: (row.shown, row.name))),
            mark=self._mark(key),
        )

    def _target(self, key: Key, balancer: CloudBalancer | None, target: Target, mark: str = "") -> TargetRow:
        """The row of a target, which comes with the ``mark`` of all where it has no change of its own. ``balancer`` is
        the load balancer that has it; None for one that is to come."""
        state, health = _health(balancer.checks.get(target, {})) if balancer else (State.PLANNED, "planned")
        name = target.name
        # No key is made of so many to look it up: as a text it is the same.
        return TargetRow(name, self._node_behind(target), state, health, self._mark(f"{key}/target/{name}") or mark)

    def _node_behind(self, target: Target) -> str | None:
        match target:
            case ServerTarget(server_id):
                return self._node_with.get(server_id)
            case IpTarget(ip):
                return self._node_at.get(ip)
        return None

    def _node(self, node: Node, routes: tuple[str, ...]) -> NodeRow:
        key = self._servers_of.get(node.name)
        found = self._snapshot.find(key) if key is not None else None
        server: Server | None = found.value if isinstance(found, Present) else None
        label = next((node.labels[name] for name in LABEL_INSTANCE_TYPE if name in node.labels), "")
        return NodeRow(
            key=node.key,
            ready=node.ready,
            server=key.name if key else "",
            is_gone=isinstance(found, Absent),
            type=server.type if server else label,
            location=server.location if server else "",
            addresses=tuple(each for each in node.addresses if each != NodeAddress(AddressType.HOSTNAME, node.name)),
            routes=routes,
            mark=self._mark(node.key),
            health=self._states.get(node.key),
        )

    def _routes(self) -> Iterator[RouteRow]:
        if self._network is None:
            return
        for route in self._snapshot.routes or ():
            yield self._route(route, is_there=True)
        there = self._snapshot.routes.items if self._snapshot.routes else {}
        for planned in self._then.routes or ():
            if str(planned.destination) not in there:
                yield self._route(planned, is_there=False)
        unreadable = self._snapshot.routes.unreadable if self._snapshot.routes else {}
        for destination, why in sorted(unreadable.items()):
            yield RouteRow(route_key(self._network.id, destination), destination, "", None, why, State.UNKNOWN)

    def _route(self, route: Route, *, is_there: bool) -> RouteRow:
        key = route_key(self._network.id if self._network else 0, route.destination)
        owner = self._server_at.get(route.gateway)
        node = self._node_of.get(owner) if owner else None
        if node is not None:
            leads_to, state = f"Node {node}", State.OK if is_there else State.PLANNED
        elif owner is not None:
            leads_to, state = f"{owner.name}, which is no Node", State.UNKNOWN
        else:
            leads_to, state = "no server that was read", State.UNKNOWN if self._is_foreign(key) else State.BAD
        return RouteRow(key, str(route.destination), str(route.gateway), node, leads_to, state, self._mark(key))

    def _is_foreign(self, key: Key) -> bool:
        return any(note.key == key and note.kind is NoteKind.FOREIGN for note in self._report.notes)


def _is_left(line: Line) -> bool:
    """Whether the change is still to be made, as far as is known."""
    return not isinstance(line.outcome, Applied)


def _ports(spec: LoadBalancer) -> tuple[str, ...]:
    return tuple(
        f"{port} to {listener.destination_port}"
        + (f" ({listener.protocol})" if listener.protocol is not Protocol.TCP else "")
        for port, listener in sorted(spec.listeners.items())
    )


def _health(checks: Mapping[int, Health]) -> tuple[State, str]:
    """How a target is by the checks of all listeners; of one that fails some, which."""
    others = [said for said in checks.values() if said is not Health.HEALTHY]
    if checks and not others:
        return State.OK, "healthy"
    if Health.UNHEALTHY in others:
        failing = sorted(port for port, said in checks.items() if said is Health.UNHEALTHY)
        which = f" ({counted(len(failing), 'port')} of {len(checks)}: {', '.join(map(str, failing[:4]))})"
        return State.BAD, f"unhealthy{which if len(checks) > 1 else ''}"
    return State.UNKNOWN, "health unknown"


def _aside(target: TargetRow) -> TargetRow:
    """The same target, of a Service that does not mean it to answer."""
    return replace(target, state=State.ASIDE, health=_WORDS[State.ASIDE])


def _by_address(destination: str) -> tuple[int, ...]:
    """The order of destinations as people count; what is none comes last."""
    parts = destination.replace("/", ".").split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else (1 << 32,)
