"""Guards: their input, their results, and the type of a row in their table."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache, cached_property
from types import MappingProxyType

from desired.guards.anchor import Anchor, anchor_of, witnesses
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.model.key import Key
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.model.to_builtins import digest
from desired.nodes.disruption import NodeLosses, drained_servers, losses_of
from desired.plan.change import Change, GuardName, HoldEnd, Plan, Verdict
from desired.plan.foresight import readiness
from desired.plan.notes import Note
from desired.plan.setbacks import OF_NODES, Setbacks
from desired.planner import DesiredState
from desired.rules.rule import Plain, Rule
from desired.section import Present, grouped
from desired.syntax.provider_id import Provider, ServerKey


class Named(Enum):
    """The things that an approval of a hold names."""

    CHANGES = auto()
    """The held changes, each with how many stay, are found, or report; without a count, with the value and limit."""
    DIFFERENCES = auto()
    """Their differences, whichever changes bring them about: Nodes that come and go make no other hold."""
    NOTHING = auto()
    """One approval, one try."""


@dataclass(frozen=True, slots=True)
class GuardResult:
    """The decision of a row of a guard on some changes of the plan. Made by ``of``."""

    row: Rule
    guard: GuardName
    verdict: Verdict
    keys: tuple[str, ...]
    facts: Mapping[str, Plain]
    """Values in the row's sentence."""
    value: str = ""
    """The measured value; "" without one."""
    limit: str = ""
    floors: tuple[tuple[str, int], ...] = ()
    """Populations, and how many of each stay, are found, or report; empty if nothing is counted."""
    due_in_s: float | None = None
    """Seconds until another look is worth it; None when no time is known."""
    end: HoldEnd | None = None
    """How a hold ends by itself, where the guard knows."""
    named: Named = Named.CHANGES

    @classmethod
    def of(
        cls,
        row: Rule,
        keys: Iterable[str],
        facts: Mapping[str, Plain] = MappingProxyType({}),
        *,
        value: Plain = "",
        limit: Plain = "",
        due_in_s: float | None = None,
        end: HoldEnd | None = None,
        guard: GuardName | None = None,
    ) -> "GuardResult":
        """What this row says with these facts, in the name of ``guard`` where the row is no single one's. Raises
        TypeError for a row of something else."""
        speaker = guard or row.of
        if not isinstance(speaker, GuardName) or row.verdict is None:
            raise TypeError(f"rule {row.name} is no guard's")
        return cls(row, speaker, row.verdict, tuple(keys), facts, str(value), str(limit), (), due_in_s, end)

    def leaving(self, left: int, of: str) -> "GuardResult":
        """The same with how many ``of`` another population stay, are found, or report: an approval lasts while they do
        not become fewer."""
        return replace(self, floors=(*self.floors, (of, left)))

    def naming(self, named: Named) -> "GuardResult":
        """The same with the things that an approval names."""
        return replace(self, named=named)

    @property
    def why(self) -> str:
        """The row's sentence without the remedy."""
        return self.row.says.format_map(self.facts)

    @property
    def advice(self) -> str:
        """The row's remedy; "" where there is none."""
        return self.row.advice(self.facts)

    def names_of(self, change: Change, snapshot: Snapshot) -> frozenset[str]:
        """The names by which an approval lets this held change pass, in this cluster and of this very object; see
        ``Named``."""
        if self.named is Named.NOTHING:
            return frozenset()
        cluster = snapshot.cluster_uid.value if isinstance(snapshot.cluster_uid, Present) else None
        owner = snapshot.service(change.owner) or snapshot.node(change.owner)
        identity = (HASHED, cluster, None if owner is None else owner.uid, change.cloud_id)
        if self.named is Named.DIFFERENCES:
            found = [(each.owner, each.field, each.port, each.before, each.after) for each in change.brings]
            return frozenset(f"{digest(*identity, *each)} {change.owner}" for each in found)
        held = (*identity, self.guard, change.kind, change.key, change.before, change.after)
        counted_by = {digest(*held, of): left for of, left in self.floors}
        if not counted_by:
            return frozenset({f"{digest(*held, self.value, self.limit)} {change.owner}"})
        return frozenset(f"{name} {change.owner}{_LEAVING}{left}" for name, left in counted_by.items())


HASHED = 1
"""Format of hashes and names of holds: a version with another one takes no approval for its own."""
_LEAVING, _MOST_DIGITS = " leaving ", 9


def read_name(name: str) -> tuple[str, int]:
    """The part of a name that stays the same until its difference is done, and how many are left at least; 0 if nothing
    is counted."""
    of, _, left = name.partition(_LEAVING)
    return (of, int(left)) if left.isdecimal() and len(left) <= _MOST_DIGITS else (name, 0)


def owner_in(name: str) -> str:
    """The key of the object in a name."""
    return read_name(name)[0].partition(" ")[2]


@dataclass(frozen=True)
class GuardInput:
    """Everything a guard may look at."""

    plan: Plan
    """The changes that this run may make."""
    snapshot: Snapshot
    settings: Settings
    desired: DesiredState
    """What the plan was made from."""
    setbacks: Setbacks
    left_out: tuple[Change, ...] = ()
    """Changes that filters leave out of this run, with their decisions: none is counted on, and none is held."""

    def without(self, keys: Collection[str]) -> "GuardInput":
        """The same without the changes of these keys."""
        changes = tuple(change for change in self.plan.changes if change.key not in keys)
        return replace(self, plan=replace(self.plan, changes=changes))

    @cached_property
    def planned(self) -> Mapping[str, Change]:
        """Key → change, also if it is left out."""
        return {**self.plan.by_key, **{change.key: change for change in self.left_out}}

    def anchor_in(self, provider: Provider) -> Anchor:
        """The anchor of a provider."""
        return self.robot_anchor if provider is Provider.ROBOT else self.anchor

    @cached_property
    def losses(self) -> Callable[[Provider], NodeLosses]:
        """The losses of a provider."""
        peak = self.setbacks.peak
        return cache(lambda of: losses_of(of, self.snapshot, self.settings, peak(OF_NODES, of)))

    @cached_property
    def anchor(self) -> Anchor:
        """The anchor of Hetzner Cloud."""
        return anchor_of(Provider.CLOUD, self.snapshot, self.settings)

    @cached_property
    def robot_anchor(self) -> Anchor:
        """The anchor of the Robot account."""
        return anchor_of(Provider.ROBOT, self.snapshot, self.settings)

    @cached_property
    def witnesses(self) -> Mapping[str, str]:
        """The witnesses of the project when no Node is Ready."""
        return witnesses(self.snapshot, self.settings)

    @cached_property
    def readiness(self) -> Mapping[ServerKey, bool]:
        """Server → whether a Node on it is Ready."""
        return readiness(self.snapshot)

    @cached_property
    def drained(self) -> frozenset[ServerKey]:
        """The servers of which each Node was announced to go."""
        return drained_servers(self.snapshot, self.settings)

    @cached_property
    def by_owner(self) -> Mapping[Key, tuple[Change, ...]]:
        """Key of a Node or Service → its changes."""
        return grouped((change.owner, change) for change in self.plan.changes)

    def balancers(self, *kinds: str) -> Iterator[tuple[DesiredLoadBalancer, tuple[Change, ...]]]:
        """Each Service that wants a load balancer and has a change of one of these kinds, with all its changes."""
        for owner, changes in self.by_owner.items():
            if any(change.kind in kinds for change in changes):
                lb = self.desired.services.get(owner.name)
                if isinstance(lb, DesiredLoadBalancer):
                    yield lb, changes

    @cached_property
    def notes_by_key(self) -> Mapping[str, tuple[Note, ...]]:
        """Key → the notes on it."""
        return grouped((note.key, note) for note in self.plan.notes)


def _always(_view: GuardInput, _change: Change) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Guard:
    """A row of the table of guards: its function, and the facts for an explanation if it lets a change pass."""

    judge: Callable[[GuardInput], Iterable[GuardResult]]
    looks_at: Callable[[GuardInput, Change], bool] | None = _always
    """Whether it has a say on such a change. None for a guard that explanations name only if it withholds a change: it
    depends on the memory of the loop, or on clocks, and not on the object."""
    measure: Callable[[GuardInput, Provider], tuple[int, int]] | None = None
    """The measured value of a provider, and the limit; None without a measurement."""
