"""Rounds that give way to what is more urgent: by ending a long series, and by leaving what does not end."""

import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any

import pytest

from actuators.apply import Actuator, Pressure, apply
from actuators.http.connection import note_action
from actuators.http.errors import Busy, Throttled
from actuators.lanes import UnderWay
from actuators.outcome import GOES_ON, OVERTAKEN, PREEMPTED, Applied, Outcome, Pending, Skipped
from desired.model.load_balancer import Attachment
from desired.model.route import ROUTED
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from tests.builders import a_change, a_snapshot
from tests.support.cooperative import Scheduler
from tests.support.hands import Hands, of_balancer
from tests.support.rows import rows


def a_route(number: int) -> Change:
    key = f"route/7/10.244.{number}.0/24"
    return a_change(key, "route.create", owner=f"node/web-{number}", after=IPv4Address("10.0.0.2") + number)


ROUTES = tuple(a_route(number) for number in range(6))
CONDITION = a_change(
    "node/web-5/network", "node.network_condition", owner="node/web-5", after=ROUTED, depends_on=(ROUTES[5].key,)
)


@dataclass
class Endless:
    """Changes with these keys go on until they are let go."""

    let_go: threading.Event
    keys: Collection[str] = ()
    accepted: bool = False
    """Whether Hetzner has begun an action for each of them."""
    done: list[str] = field(default_factory=list)

    def __call__(self, change: Change, _snapshot: Snapshot) -> None:
        if change.key in self.keys:
            if self.accepted:
                note_action(len(self.done))
            assert self.let_go.wait()
        self.done.append(change.key)


class Rounds:
    """Rounds on virtual time, and what they leave."""

    def __init__(self) -> None:
        self.scheduler = Scheduler(1)
        concurrency = self.scheduler.concurrency()
        self.under_way = UnderWay(concurrency)
        self.let_go = concurrency.event()

    @property
    def now(self) -> float:
        return self.scheduler.now

    def endless(self, *keys: str, accepted: bool = False) -> Endless:
        return Endless(self.let_go, keys, accepted)

    def carry_out(self, writers: Actuator, *changes: Change, **pressure: Any) -> Mapping[str, Outcome]:
        """Key → outcome, of a round that may leave what goes on."""
        return carry_out(writers, *changes, under_way=self.under_way, **pressure)


@pytest.fixture
def rounds() -> Iterator[Rounds]:
    made = Rounds()
    yield made
    made.scheduler.close()


def carry_out(writers: Actuator, *changes: Change, **pressure: Any) -> Mapping[str, Outcome]:
    """Key → outcome."""
    actuators: dict[str, Actuator] = {change.kind: writers for change in changes}
    return apply(changes, a_snapshot(), actuators, stop=threading.Event(), pressure=Pressure(**pressure))


@pytest.mark.parametrize(("called_after", "applied"), [(0, 1), (1, 1), (3, 3), (9, 6)])
def test_a_series_stops_when_it_is_called_and_never_before_its_first(called_after: int, applied: int) -> None:
    """However often the loop is woken, each pass gets on with the routes by one at least."""
    writers = Hands()
    outcomes = carry_out(writers, *ROUTES, is_called=lambda: len(writers.done) >= called_after)
    assert writers.done == [route.key for route in ROUTES[:applied]]
    assert [outcomes[route.key] for route in ROUTES] == [Applied()] * applied + [PREEMPTED] * (6 - applied)


def test_followers_of_a_route_that_gave_way_are_not_tried() -> None:
    outcomes = carry_out(Hands(), *ROUTES, CONDITION, is_called=lambda: True)
    assert outcomes[CONDITION.key] == Skipped(f"blocked by {ROUTES[5].key} (not applied)")


def test_nothing_urgent_gives_way() -> None:
    """Nodes join and load balancers change whatever the loop is called for."""
    nodes = [a_change(f"node/{name}") for name in "abc"]
    outcomes = carry_out(Hands(), *nodes, *ROUTES, is_called=lambda: True)
    assert [outcomes[node.key] for node in nodes] == [Applied()] * 3


def test_a_series_is_told_when_only_its_followers_are_left(rounds: Rounds) -> None:
    """As long as a Node is joining, the series goes on; a condition that comes after a route counts as part of it."""
    joining = a_change("node/web-9")
    writers = Hands()

    def act(change: Change) -> None:
        if change is joining:
            assert rounds.let_go.wait()
        elif change is ROUTES[2]:
            rounds.let_go.set()
            rounds.scheduler.sleep(1.0)  # until that has been noticed

    writers.before_each = act
    outcomes = rounds.carry_out(writers, *ROUTES, CONDITION, joining, is_awaited=True)

    assert [outcomes[route.key] for route in ROUTES] == [Applied()] * 3 + [PREEMPTED] * 3
    assert outcomes[joining.key] == Applied()


def attached(name: str) -> Change:
    return of_balancer(name, "/network/7", "lb.network", after=Attachment(7))


def test_a_pass_that_is_called_for_leaves_unfinished_changes(rounds: Rounds) -> None:
    """After three seconds of work nothing more is begun at Hetzner, and what goes on is left; a Node is no such
    thing."""
    writers = rounds.endless("load_balancer/ns/a")
    changes = [of_balancer("a"), of_balancer("a", "/type", "lb.type"), a_change()]
    outcomes = rounds.carry_out(writers, *changes, is_called=lambda: True)
    assert list(outcomes.values()) == [Applied(), GOES_ON, PREEMPTED]
    assert (rounds.now, [lane.change for lane in rounds.under_way.left]) == (3.0, [changes[0]])


def test_its_object_is_left_alone_until_it_ends(rounds: Rounds) -> None:
    """What is planned for that meanwhile was planned from a world that is not there any more; others go on."""
    first = rounds.endless("load_balancer/ns/a")
    rounds.carry_out(first, of_balancer("a"), is_called=lambda: True)
    second = rounds.endless()
    rounds.scheduler.at(5.0, rounds.let_go.set)
    changes = [of_balancer("a", "/type", "lb.type"), of_balancer("b")]
    outcomes = rounds.carry_out(second, *changes)
    assert [outcomes[change.key] for change in changes] == [OVERTAKEN, Applied()]
    assert list(rounds.under_way.begin_chain()) == [(of_balancer("a"), Applied())]
    assert list(rounds.under_way.begin_chain()) == []
    assert second.done == ["load_balancer/ns/b"]


def test_a_stuck_change_keeps_no_further_round_waiting(rounds: Rounds) -> None:
    """Where something was done that another round goes on with, it is left after ten seconds."""
    writers = rounds.endless("load_balancer/ns/a")
    outcomes = rounds.carry_out(writers, of_balancer("a"), of_balancer("b"), is_awaited=True)
    assert [outcomes[of_balancer(name).key] for name in "ab"] == [GOES_ON, Applied()]
    assert rounds.now == 10.0


@pytest.mark.parametrize(("accepted", "after_s"), [(False, 20.0), (True, 10.0)])
def test_a_stuck_change_holds_no_network(rounds: Rounds, accepted: bool, after_s: float) -> None:
    """The next one that locks it begins after ten seconds, and all others too once Hetzner accepts that: then it is
    not the network that is locked."""
    writers = rounds.endless(*(attached(name).key for name in "ab"), accepted=accepted)
    when: list[float] = []

    def act(change: Change, snapshot: Snapshot) -> None:
        if change.key == attached("c").key:
            when.append(rounds.now)
            rounds.let_go.set()
        writers(change, snapshot)

    outcomes = rounds.carry_out(act, *map(attached, "abc"))

    assert set(outcomes.values()) == {Applied()}
    assert after_s <= when[0] <= after_s + 1


def test_bound_changes_go_on_while_they_get_on(rounds: Rounds) -> None:
    """Approved changes of one object are all made, however often the pass is called for; but nobody waits for one that
    is stuck longer than ten seconds."""
    series = [of_balancer("a", f"/{number}") for number in range(4)]
    writers = rounds.endless(series[2].key)
    bound = {change.key for change in series}
    outcomes = rounds.carry_out(writers, *series, is_called=lambda: True, bound=bound)
    assert [outcomes[change.key] for change in series] == [Applied(), Applied(), GOES_ON, PREEMPTED]
    assert rounds.now == 10.0


@rows(
    "first second is_tried",
    {
        "the same load balancer": (of_balancer("a", "/x"), of_balancer("a", "/y"), False),
        "another one": (of_balancer("a", "/x"), of_balancer("b", "/y"), True),
        "the same network": (ROUTES[0], ROUTES[1], False),
        "which of the two it was is not known": (attached("a"), attached("b"), True),
        "the Service": (of_balancer("a", "/x"), a_change("service/ns/a/status", "service.status"), True),
    },
)
def test_a_busy_object_keeps_the_rest_from_being_tried(first: Change, second: Change, is_tried: bool) -> None:
    """Each try takes ten seconds, and a load balancer that is locked may have hundreds of changes."""
    tried: list[str] = []
    writers = Hands({first.key: Busy("locked")}, before_each=lambda change: tried.append(change.key))
    assert carry_out(writers, first, second) == {
        first.key: Pending("locked", 10.0, is_busy=True),
        second.key: Applied() if is_tried else Pending("locked", 10.0, is_busy=True),
    }
    assert tried == [first.key, second.key][: 1 + is_tried]


def test_a_429_that_asks_for_ten_seconds_is_not_taken_for_a_busy_object() -> None:
    """It says nothing of the object: its other changes are tried."""
    first, second = of_balancer("a", "/x"), of_balancer("a", "/y")
    writers = Hands({first.key: Throttled("slow", retry_after_s=10.0)})
    assert carry_out(writers, first, second) == {first.key: Pending("slow", 10.0), second.key: Applied()}
