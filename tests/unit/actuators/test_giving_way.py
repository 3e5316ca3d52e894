"""A long series that stops for what is more urgent: routes of one network, one after another."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address

import pytest

from actuators.apply import Actuator, apply
from actuators.outcome import PREEMPTED, Applied, Outcome, Skipped
from desired.model.route import ROUTED
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from tests.builders import a_change, a_snapshot

TIMEOUT_S = 5.0
"""After which a test that waits for another thread has failed."""


def a_route(number: int) -> Change:
    """The creation of the route to the pods of one Node."""
    key = f"route/7/10.244.{number}.0/24"
    return a_change(key, "route.create", owner=f"node/web-{number}", after=IPv4Address("10.0.0.2") + number)


ROUTES = tuple(a_route(number) for number in range(6))
CONDITION = a_change(
    "node/web-5/network", "node.network_condition", owner="node/web-5", after=ROUTED, depends_on=(ROUTES[5].key,)
)


@dataclass
class Hands:
    """Carries out anything, and notes it."""

    before_each: Callable[[Change], object] = lambda _change: None
    done: list[str] = field(default_factory=list)

    def __call__(self, change: Change, _snapshot: Snapshot) -> None:
        self.before_each(change)
        self.done.append(change.key)


def carry_out(writers: Hands, *changes: Change, yields: Callable[[Change, bool], bool]) -> Mapping[str, Outcome]:
    """Key → outcome."""
    actuators: dict[str, Actuator] = {change.kind: writers for change in changes}
    return apply(changes, a_snapshot(), actuators, stop=threading.Event(), yields=yields)


@pytest.mark.parametrize(("called_after", "applied"), [(0, 1), (1, 1), (3, 3), (9, 6)])
def test_a_series_stops_when_it_is_called_and_never_before_its_first(called_after: int, applied: int) -> None:
    """However often the loop is woken, each pass gets on with the routes by one at least."""
    writers = Hands()

    outcomes = carry_out(writers, *ROUTES, yields=lambda _change, _alone: len(writers.done) >= called_after)

    assert writers.done == [route.key for route in ROUTES[:applied]]
    assert [outcomes[route.key] for route in ROUTES] == [Applied()] * applied + [PREEMPTED] * (6 - applied)


def test_what_comes_after_a_route_that_gave_way_is_not_tried() -> None:
    """No Node is told of a route that is not there yet."""
    outcomes = carry_out(Hands(), *ROUTES, CONDITION, yields=lambda _change, _alone: True)

    assert outcomes[CONDITION.key] == Skipped(f"comes after {ROUTES[5].key}, which was not done")


def test_nothing_urgent_gives_way() -> None:
    """Nodes join and load balancers change whatever the loop is called for."""
    nodes = [a_change(f"node/{name}") for name in "abc"]

    outcomes = carry_out(Hands(), *nodes, *ROUTES, yields=lambda _change, _alone: True)

    assert [outcomes[node.key] for node in nodes] == [Applied()] * 3


def test_a_series_is_told_when_only_what_waits_for_it_is_left() -> None:
    """As long as a Node is joining, the series goes on; a condition that comes after a route counts as part of it."""
    two_done = threading.Event()
    joining = a_change("node/web-9")
    writers = Hands()

    def act(change: Change) -> None:
        if change is joining:
            assert two_done.wait(TIMEOUT_S)
        elif change is ROUTES[2]:
            two_done.set()
            while joining.key not in writers.done:
                threading.Event().wait(0.001)
            threading.Event().wait(0.05)  # until that has been noticed as well

    writers.before_each = act
    outcomes = carry_out(writers, *ROUTES, CONDITION, joining, yields=lambda _change, alone: alone)

    assert [outcomes[route.key] for route in ROUTES] == [Applied()] * 3 + [PREEMPTED] * 3
    assert outcomes[joining.key] == Applied()
