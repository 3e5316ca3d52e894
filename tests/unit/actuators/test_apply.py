"""Carrying out changes: order inside a lane, nothing shared between lanes, and what every ending becomes."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from actuators.apply import PARALLEL_LANES, Actuator, apply
from actuators.errors import ApiError, Broken, Conflict, Denied, Invalid, NotFound, Throttled, Transient
from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.change import Change
from desired.snapshot import Snapshot
from tests.builders import a_change, a_snapshot

STOPPED = "stopped before it began, by a signal or the deadline of --once"


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


def carry_out(hands: Actuator, *changes: Change, stop: threading.Event | None = None) -> Mapping[str, Outcome]:
    """Key → outcome."""
    actuators = {change.kind: hands for change in changes}
    return apply(changes, a_snapshot(), actuators, stop=stop or threading.Event())


def part(name: str, owner: str = "node/web-1", depends_on: tuple[str, ...] = ()) -> Change:
    """A change that occupies ``owner``."""
    return a_change(f"{owner}/{name}", owner=owner, depends_on=depends_on)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(Conflict("moved on"), Pending("moved on"), id="conflict: plan again"),
        pytest.param(
            Throttled("slow", retry_after_s=7.0), Pending("slow", 7.0), id="throttled: when one more may pass"
        ),
        pytest.param(Transient("no answer"), Failed("no answer", 1.0), id="transient: soon"),
        pytest.param(NotFound("gone"), Failed("gone"), id="not found"),
        pytest.param(Invalid("wrong"), Failed("wrong"), id="invalid"),
        pytest.param(Denied("no"), Failed("no"), id="denied"),
        pytest.param(Broken("html"), Failed("html"), id="broken"),
        pytest.param(ApiError("odd"), Failed("odd"), id="anything else of an API"),
    ],
)
def test_errors_become_outcomes(error: ApiError, outcome: Outcome) -> None:
    """Each class of error is one outcome, with the error's words."""
    assert carry_out(Hands({"node/web-1": error}), a_change()) == {"node/web-1": outcome}


def test_a_bug_in_one_lane_loses_no_outcome_of_the_others() -> None:
    """What is no error of an API fails its own change and what depends on it; every other change has its outcome."""
    hands = Hands({"node/web-1/a": KeyError("resourceVersion")})
    changes = (part("a"), part("b", depends_on=("node/web-1/a",)), part("c"), part("d", "node/web-2"))

    assert carry_out(hands, *changes) == {
        "node/web-1/a": Failed("internal error, KeyError: 'resourceVersion'"),
        "node/web-1/b": Skipped("comes after node/web-1/a, which was not done"),
        "node/web-1/c": Applied(),
        "node/web-2/d": Applied(),
    }


def test_nothing_to_do() -> None:
    """Without changes there are no outcomes."""
    assert carry_out(Hands()) == {}


def test_changes_of_one_object_keep_their_order() -> None:
    """Changes that occupy one object are carried out one after another, in the order of the plan."""
    hands = Hands()
    changes = [part(name) for name in "abcdefgh"]

    outcomes = carry_out(hands, *changes)

    assert hands.done == [change.key for change in changes]
    assert set(outcomes.values()) == {Applied()}


def test_objects_side_by_side() -> None:
    """Changes of different objects are carried out at the same time."""
    meeting = threading.Barrier(PARALLEL_LANES, timeout=5)
    hands = Hands(before_each=lambda _change: meeting.wait())
    changes = [a_change(f"node/web-{number}") for number in range(PARALLEL_LANES)]

    assert set(carry_out(hands, *changes).values()) == {Applied()}


def test_one_object_is_never_changed_twice_at_once() -> None:
    """While a change of an object is under way no other one of it begins."""
    under_way: set[str] = set()
    overlaps: list[str] = []

    def watch(change: Change) -> None:
        if change.owner in under_way:
            overlaps.append(change.key)
        under_way.add(change.owner)
        threading.Event().wait(0.001)
        under_way.discard(change.owner)

    changes = [part(name, f"node/web-{number}") for name in "abc" for number in range(8)]

    carry_out(Hands(before_each=watch), *changes)

    assert overlaps == []


def test_a_failure_stays_alone() -> None:
    """Neither another object nor an independent change of the same one is touched by a failure."""
    changes = (part("a"), part("b"), part("c", "node/web-2"))

    outcomes = carry_out(Hands({"node/web-1/a": Invalid("wrong")}), *changes)

    assert outcomes == {"node/web-1/a": Failed("wrong"), "node/web-1/b": Applied(), "node/web-2/c": Applied()}


@pytest.mark.parametrize(
    "error", [Conflict("moved on"), Invalid("wrong"), Transient("no answer"), Throttled("slow", retry_after_s=1.0)]
)
def test_what_depends_on_an_undone_change_is_skipped(error: ApiError) -> None:
    """A change is not tried when one that it comes after was not done, nor is what comes after it in turn."""
    hands = Hands({"node/web-1/a": error})
    changes = (
        part("a"),
        part("b", depends_on=("node/web-1/a",)),
        part("c", depends_on=("node/web-1/b",)),
        part("d", depends_on=("node/web-9/never-planned",)),
    )

    outcomes = carry_out(hands, *changes)

    assert outcomes["node/web-1/b"] == Skipped("comes after node/web-1/a, which was not done")
    assert outcomes["node/web-1/c"] == Skipped("comes after node/web-1/b, which was not done")
    assert hands.done == ["node/web-1/d"]


def test_what_depends_on_a_done_change_is_done() -> None:
    """A change whose forerunner was applied is applied."""
    outcomes = carry_out(Hands(), part("a"), part("b", depends_on=("node/web-1/a",)))

    assert set(outcomes.values()) == {Applied()}


def test_stop_between_changes() -> None:
    """The change in flight is finished; those after it are not begun."""
    stop = threading.Event()
    hands = Hands(before_each=lambda _change: stop.set())

    outcomes = carry_out(hands, part("a"), part("b"), stop=stop)

    assert outcomes == {"node/web-1/a": Applied(), "node/web-1/b": Skipped(STOPPED)}


def test_stopped_beforehand() -> None:
    """When the stop came first nothing is begun at all."""
    stop = threading.Event()
    stop.set()
    hands = Hands()

    assert carry_out(hands, a_change(), stop=stop) == {"node/web-1": Skipped(STOPPED)}
    assert hands.done == []


def test_an_unknown_kind_writes_nothing() -> None:
    """When a planned kind has no actuator, that is said before the first write of any other."""
    hands = Hands()
    changes = (a_change(), a_change("node/web-2/addresses", "node.addresses", owner="node/web-2"))

    with pytest.raises(KeyError, match=r"node\.addresses"):
        apply(changes, a_snapshot(), {"node.initialise": hands}, stop=threading.Event())

    assert hands.done == []


def test_progress_is_told() -> None:
    """Each ending is told once, with its outcome, in the caller's thread."""
    told: dict[str, Outcome] = {}
    threads = set()

    def done(change: Change, outcome: Outcome) -> None:
        told[change.key] = outcome
        threads.add(threading.current_thread())

    hands = Hands({"node/web-2": Invalid("wrong")})
    outcomes = apply(
        (a_change(), a_change("node/web-2")),
        a_snapshot(),
        {"node.initialise": hands},
        stop=threading.Event(),
        done=done,
    )

    assert told == outcomes == {"node/web-1": Applied(), "node/web-2": Failed("wrong")}
    assert threads == {threading.current_thread()}
