"""Setbacks of changes: failures and reverts of earlier tries, in this chain of passes and in those that a loop
remembers.

They are a value beside the snapshot, as they were not observed. The planner only reads them: see
``desired.guards.history``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from desired.plan.change import GuardName

WINDOW_S = 600.0
"""Within how many seconds a change that is reverted three times is suspended (``flapping``)."""
SUSPENDED_S = 3600.0
"""For how many."""


@dataclass(frozen=True, slots=True)
class Suspension:
    """The reason why one change is not tried now, and when it is again."""

    rule: GuardName
    mark: str
    """Of the change that is meant (``desired.guards.history.mark_of``): another one of the same key is free."""
    due_in_s: float
    times: int = 1
    """How often it was made and reverted, or failed in a row."""
    since: datetime | None = None
    """When it was first seen reverted, by the API server's clock; None when that did not say, or it was not."""
    is_unseen: bool = False
    """Whether it was made, and no list has shown it since."""
    error: str = ""
    """What it failed with the last time; "" unless it failed."""
    retry_after_s: float | None = None
    """Seconds until the time that the failure named; None for most failures."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A refusal by Hetzner for every object of one scope (``quota``), and the time and order of further tries."""

    error: str
    """The last refusal, and the remedy."""
    due_in_s: float
    """Until one may be tried; not above 0: now."""
    again_in_s: float
    """Seconds that the others wait then."""
    turns: Mapping[str, int] = field(default_factory=dict)
    """Key of a change → when it had its turn, or joined the others: higher is later. Unlisted changes come last."""


Scope = tuple[object, ...]
"""The name of a population (``desired.guards.peaks``), such as ``("nodes", "Cloud")``."""
ANSWERING, OF_PROVIDER = "answering", "provider"
"""Of a load balancer: servers that answer at a port, and servers of a provider."""
OF_NODES, OF_ROUTES = "nodes", "routes"
"""Of a provider, and of a network."""


@dataclass(frozen=True, slots=True)
class Setbacks:
    """All setbacks, and the peaks of the last hour. A run of ``--once`` has those of its own chain alone."""

    refused: frozenset[str] = frozenset()
    """Keys of the changes that were refused in this chain of passes, and of those not sent as others like them were."""
    unclear: frozenset[str] = frozenset()
    """Keys of those among them that may have been done all the same, as no answer said so."""
    suspensions: Mapping[str, Suspension] = field(default_factory=lambda: MappingProxyType({}))
    """By key of the change."""
    bars: Mapping[str, Bar] = field(default_factory=lambda: MappingProxyType({}))
    """By scope of changes."""
    withheld: Mapping[str, GuardName] = field(default_factory=lambda: MappingProxyType({}))
    """Key of a change → the guard that withheld it in the chain's first pass, for a reason that no later one ends."""

    peaks: Mapping[Scope, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    """Scope → members of the population when it had most within the last hour."""

    def peak(self, *scope: object) -> frozenset[str]:
        """The most members of a population within the last hour; empty if none are remembered."""
        return self.peaks.get(scope, frozenset())

    @property
    def failed(self) -> frozenset[str]:
        """Keys of the changes that failed and are not due yet."""
        backing_off = {key for key, found in self.suspensions.items() if found.rule is GuardName.BACK_OFF}
        return self.refused | backing_off | {key for bar in self.bars.values() for key in bar.turns}


NO_SETBACKS = Setbacks()
