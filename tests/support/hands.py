"""What carries out changes without any API, and changes to give to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from tests.builders import a_change


@dataclass
class Hands:
    """Carries out any change, unless ``refusals`` has something for its key."""

    refusals: Mapping[str, Exception] = field(default_factory=dict)
    before_each: Callable[[Change], object] = lambda _change: None
    done: list[str] = field(default_factory=list)

    def __call__(self, change: Change, _snapshot: Snapshot) -> None:
        self.before_each(change)
        if change.key in self.refusals:
            raise self.refusals[change.key]
        self.done.append(change.key)


def of_balancer(name: str, part: str = "", kind: str = "lb.identity", **fields: Any) -> Change:
    """A change of the load balancer ``ns/name``."""
    return a_change(f"load_balancer/ns/{name}{part}", kind, owner=f"service/ns/{name}", **fields)
