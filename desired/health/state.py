"""The states of Services and Nodes as values, and which is worse."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import IntEnum, StrEnum
from itertools import chain
from types import MappingProxyType
from typing import Final

from desired.model.key import Key
from desired.model.load_balancer import Health
from desired.plan.change import Change
from desired.plan.notes import Note


class Level(IntEnum):
    """How bad a state is: the worse, the greater."""

    GOOD = 0
    BUSY = 1
    """It passes by itself."""
    WARNING = 2
    BAD = 3
    """Clients notice, or nothing happens until a person acts."""


class ServiceState(StrEnum):
    """State of a Service that has, wants or releases a load balancer, worst first. The values are public."""

    DOWN = "down"
    """A port that no healthy target answers, no target at all, or a port or an address that will not be made."""
    BLOCKED = "blocked"
    """Part of what it asks for is held, refused or invalid: a person has to act."""
    UNKNOWN = "unknown"
    """Too little could be read, or its health checks have had no result for longer than they take."""
    DEGRADED = "degraded"
    """Every port is answered, and not by all targets."""
    WAITING = "waiting"
    """It has no load balancer, port, address or result of a health check yet, which passes by itself."""
    SERVING = "serving"
    """Every port is answered, and no target that should answer fails."""


class NodeState(StrEnum):
    """State of a Node that is, or should be, a server of Hetzner's, worst first. The values are public."""

    STUCK = "stuck"
    """It stays as it is until a person acts."""
    UNKNOWN = "unknown"
    """Too little could be read."""
    OFF = "off"
    """Its server is switched off."""
    GOING = "going"
    """Its server is gone, or its deletion was asked for."""
    JOINING = "joining"
    """It waits to be initialized."""
    CHANGING = "changing"
    """It differs from its server, and is about to be corrected."""
    IN_SYNC = "in_sync"
    """It is as its server says."""


AnyState = ServiceState | NodeState

_LEVELS: Mapping[AnyState, Level] = MappingProxyType(
    {
        ServiceState.DOWN: Level.BAD,
        ServiceState.BLOCKED: Level.WARNING,
        ServiceState.UNKNOWN: Level.WARNING,
        ServiceState.DEGRADED: Level.WARNING,
        ServiceState.WAITING: Level.BUSY,
        ServiceState.SERVING: Level.GOOD,
        NodeState.STUCK: Level.WARNING,
        NodeState.UNKNOWN: Level.WARNING,
        NodeState.OFF: Level.WARNING,
        NodeState.GOING: Level.BUSY,
        NodeState.JOINING: Level.BUSY,
        NodeState.CHANGING: Level.BUSY,
        NodeState.IN_SYNC: Level.GOOD,
    }
)
_OF_PEOPLE = frozenset({ServiceState.DOWN, ServiceState.BLOCKED, NodeState.STUCK})


class PortState(StrEnum):
    """How many targets of a port are healthy. The values are public."""

    ALL = "all"
    SOME = "some"
    NONE = "none"
    UNKNOWN = "unknown"
    """None, and nothing is known of them yet; or some fail, in the first minutes of a load balancer."""


@dataclass(frozen=True, slots=True)
class PortHealth:
    """The targets of one port of a Service, by the health check of its listener."""

    port: int
    healthy: int
    unhealthy: int
    targets: int
    """All that the load balancer can reach; of those that are neither, nothing is known yet."""
    is_local: bool = False
    """Whether Nodes without a pod fail by design, so that one that answers is enough."""
    is_new: bool = field(default=False, compare=False)
    """Whether the load balancer is so new that its first checks are no failure yet."""

    @property
    def unchecked(self) -> int:
        """Those of which nothing is known yet."""
        return self.targets - self.healthy - self.unhealthy

    @property
    def failing(self) -> int:
        """Those that fail and should not."""
        return 0 if self.is_local and self.healthy else self.unhealthy

    @property
    def state(self) -> PortState:
        """The same in a word. A target that joins others that fail makes a dead port no better."""
        if self.healthy:
            return PortState.ALL if self.healthy == self.targets else PortState.SOME
        is_early = self.is_new and self.unchecked > 0
        return PortState.NONE if not self.targets or (self.unhealthy and not is_early) else PortState.UNKNOWN


@dataclass(frozen=True, slots=True)
class Findings:
    """What a pass says of one Service or Node."""

    changes: Sequence[Change]
    """Its own, judged."""
    notes: Collection[Note]
    """On it, and on the load balancer of a Service."""
    failed: Mapping[str, str]
    """Key of a change that an API refused in this pass → the error."""
    now: datetime


def word_of(state: AnyState) -> str:
    """A state as people write it."""
    return state.value.replace("_", " ")


@dataclass(frozen=True, slots=True)
class ObjectState:
    """The state of one Service or Node."""

    key: Key
    state: AnyState
    why: str
    """One clause."""
    since: datetime | None = None
    """When it began, as far as this process or the one that led before has seen; None if neither has."""
    ports: tuple[PortHealth, ...] = ()
    """The ports of a Service on its load balancer, in their order; empty without one, and of a Node."""
    targets: tuple[Health, ...] = field(default=(), compare=False)
    """The worst that the health checks say of each target of the load balancer."""
    also: tuple[str, ...] = ()
    """What else a person has to mend, a clause each with its remedy."""

    @property
    def word(self) -> str:
        """The state as people write it."""
        return word_of(self.state)

    @property
    def level(self) -> Level:
        """How bad that is."""
        return _LEVELS[self.state]

    @property
    def needs_a_person(self) -> bool:
        """Whether it stays as it is until a person acts."""
        return self.state in _OF_PEOPLE

    @property
    def rank(self) -> tuple[int, int]:
        """Its place among those of its kind: the worst first, then in the order of the states."""
        return -self.level, list(type(self.state)).index(self.state)


@dataclass(frozen=True, slots=True)
class States:
    """The states of all Services and Nodes that are ours to look after, worst first, then by name."""

    services: tuple[ObjectState, ...] = ()
    nodes: tuple[ObjectState, ...] = ()

    def __iter__(self) -> Iterator[ObjectState]:
        return chain(self.services, self.nodes)

    def since(self, began: Mapping[str, datetime | None]) -> "States":
        """The same, with the times at which they began."""
        dated = ([replace(each, since=began[each.key]) for each in group] for group in (self.services, self.nodes))
        return States(*map(tuple, dated))

    def of(self, key: Key) -> ObjectState | None:
        """The state of the Service or Node with this key; None for one that is not looked after here."""
        return next((each for each in self if each.key == key), None)

    @property
    def unwell(self) -> tuple[ObjectState, ...]:
        """Those that a person should look at, worst first."""
        return tuple(sorted((each for each in self if each.level >= Level.WARNING), key=lambda each: -each.level))

    @property
    def level(self) -> Level:
        """The worst of them; GOOD if there is none."""
        return max((each.level for each in self), default=Level.GOOD)


NO_STATES: Final = States()
"""Those of nothing."""
