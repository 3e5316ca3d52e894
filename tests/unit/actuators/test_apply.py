"""Carrying out changes: what waits for what and what for nothing, and what every ending becomes."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from actuators.apply import PARALLEL_CHANGES, Actuator, apply
from actuators.http.errors import (
    ApiError,
    Broken,
    Busy,
    Conflict,
    Denied,
    Exhausted,
    Invalid,
    NotFound,
    Outdated,
    Stopped,
    Throttled,
    Transient,
)
from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.model.load_balancer import Attachment, LoadBalancer
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.kinds import Api
from tests.builders import a_change, a_snapshot
from tests.support.rows import rows

TIMEOUT_S = 5.0
"""After which a test that waits for another thread has failed."""
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


def carry_out(writers: Actuator, *changes: Change, stop: threading.Event | None = None) -> Mapping[str, Outcome]:
    """Key → outcome."""
    actuators: dict[str, Actuator] = {change.kind: writers for change in changes}
    return apply(changes, a_snapshot(), actuators, stop=stop or threading.Event())


def part(name: str, owner: str = "node/web-1", depends_on: tuple[str, ...] = ()) -> Change:
    """A change that occupies ``owner``."""
    return a_change(f"{owner}/{name}", owner=owner, depends_on=depends_on)


def of_balancer(name: str, part: str = "", kind: str = "lb.identity", **fields: Any) -> Change:
    return a_change(f"load_balancer/ns/{name}{part}", kind, owner=f"service/ns/{name}", **fields)


def created(name: str, network_id: int) -> Change:
    wanted = LoadBalancer(name, labels={}, type="lb11", attachment=Attachment(network_id))
    return of_balancer(name, kind="lb.create", after=wanted)


@rows(
    "error outcome",
    {
        "gone since it was listed: after the next list": (Outdated("gone"), Pending("gone", 5.0)),
        "conflict: plan again": (Conflict("moved on"), Pending("moved on")),
        "busy through all tries: not in this pass": (Busy("locked"), Pending("locked", 10.0, is_busy=True)),
        "stopped while it waited: nothing is wrong": (Stopped("told to stop"), Pending("told to stop")),
        "throttled: when one more may pass": (Throttled("slow", retry_after_s=7.0), Pending("slow", 7.0)),
        "transient: soon": (Transient("no answer"), Failed("no answer", 1.0)),
        "not found": (NotFound("gone"), Failed("gone")),
        "invalid": (Invalid("wrong"), Failed("wrong")),
        "denied": (Denied("no"), Failed("no")),
        "broken": (Broken("html"), Failed("html")),
        "anything else of an API": (ApiError("odd"), Failed("odd")),
    },
)
def test_errors_become_outcomes(error: ApiError, outcome: Outcome) -> None:
    assert carry_out(Hands({"node/web-1": error}), a_change()) == {"node/web-1": outcome}


def test_a_bug_in_one_lane_loses_no_outcome_of_the_others() -> None:
    """What is no error of an API fails its own change and what depends on it; every other change has its outcome."""
    writers = Hands({"node/web-1/a": KeyError("resourceVersion")})
    changes = (part("a"), part("b", depends_on=("node/web-1/a",)), part("c"), part("d", "node/web-2"))
    assert carry_out(writers, *changes) == {
        "node/web-1/a": Failed("internal error, KeyError: 'resourceVersion'"),
        "node/web-1/b": Skipped("blocked by node/web-1/a (not applied)"),
        "node/web-1/c": Applied(),
        "node/web-2/d": Applied(),
    }


def test_changes_of_one_object_keep_their_order() -> None:
    writers = Hands()
    changes = [part(name) for name in "abcdefgh"]
    outcomes = carry_out(writers, *changes)
    assert writers.done == [change.key for change in changes]
    assert set(outcomes.values()) == {Applied()}


def test_objects_side_by_side() -> None:
    meeting = threading.Barrier(PARALLEL_CHANGES[Api.KUBERNETES], timeout=TIMEOUT_S)
    writers = Hands(before_each=lambda _change: meeting.wait())
    changes = [a_change(f"node/web-{number}") for number in range(PARALLEL_CHANGES[Api.KUBERNETES])]
    assert set(carry_out(writers, *changes).values()) == {Applied()}


def test_one_object_is_never_changed_twice_at_once() -> None:
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


@pytest.mark.parametrize(
    "error", [Conflict("moved on"), Invalid("wrong"), Transient("no answer"), Throttled("slow", retry_after_s=1.0)]
)
def test_what_depends_on_an_undone_change_is_skipped(error: ApiError) -> None:
    writers = Hands({"node/web-1/a": error})
    changes = (
        part("a"),
        part("b", depends_on=("node/web-1/a",)),
        part("c", depends_on=("node/web-1/b",)),
        part("d", depends_on=("node/web-9/never-planned",)),
    )

    outcomes = carry_out(writers, *changes)

    assert outcomes["node/web-1/b"] == Skipped("blocked by node/web-1/a (not applied)")
    assert outcomes["node/web-1/c"] == Skipped("blocked by node/web-1/b (not applied)")
    assert writers.done == ["node/web-1/d"]


def test_what_follows_comes_after_whatever_became_of_the_other() -> None:
    """A change that follows others, of any object, is tried when they have ended, done or not."""
    slow = threading.Event()
    writers = Hands({"node/web-2": Invalid("wrong")}, before_each=lambda _change: slow.wait(0.01))
    last = replace(a_change(), follows=("node/web-2", "node/web-3", "node/never-planned"))
    outcomes = carry_out(writers, last, a_change("node/web-2"), a_change("node/web-3"))
    assert list(outcomes)[-1] == "node/web-1"
    assert outcomes["node/web-1"] == Applied()


def test_a_failure_of_one_object_reaches_what_depends_on_it_in_another() -> None:
    target = of_balancer("web", "/target/server:1", "lb.target", depends_on=("node/web-1",))
    assert carry_out(Hands({"node/web-1": Invalid("wrong")}), target, a_change()) == {
        "node/web-1": Failed("wrong"),
        target.key: Skipped("blocked by node/web-1 (not applied)"),
    }


def overlaps(changes: Sequence[Change]) -> set[frozenset[str]]:
    under_way: set[str] = set()
    pairs: set[frozenset[str]] = set()
    pause, lock = threading.Event(), threading.Lock()

    def watch(change: Change) -> None:
        with lock:
            pairs.update(frozenset({change.key, other}) for other in under_way)
            under_way.add(change.key)
        pause.wait(0.02)
        with lock:
            under_way.discard(change.key)

    carry_out(Hands(before_each=watch), *changes)
    return pairs


def test_one_network_is_never_changed_twice_at_once() -> None:
    """Load balancers are created side by side, but for those of one network: attaching locks it."""
    in_one = [created(name, 7) for name in "abc"]
    elsewhere = created("d", 8)
    found = overlaps([*in_one, elsewhere])
    assert {pair for pair in found if elsewhere.key not in pair} == set()
    assert any(elsewhere.key in pair for pair in found)


def test_who_waits_for_a_network_takes_no_place() -> None:
    """However many load balancers wait for a network, others are made meanwhile."""
    done = threading.Event()

    def act(change: Change) -> None:
        if change.kind == "lb.identity":
            done.set()
        else:
            assert done.wait(TIMEOUT_S)

    waiting = [created(f"{number:03}", 7) for number in range(3 * PARALLEL_CHANGES[Api.HETZNER])]

    outcomes = carry_out(Hands(before_each=act), *waiting, of_balancer("zzz"))

    assert set(outcomes.values()) == {Applied()}


def test_no_node_waits_while_load_balancers_take_their_time() -> None:
    """Changes that are sent to Hetzner leave room for those that are sent to the API server, however many they are."""
    joined = threading.Event()

    def act(change: Change) -> None:
        if change.kind == "node.initialise":
            joined.set()
        else:
            assert joined.wait(TIMEOUT_S)

    balancers = [of_balancer(f"{number}") for number in range(3 * PARALLEL_CHANGES[Api.HETZNER])]

    outcomes = carry_out(Hands(before_each=act), *balancers, a_change())

    assert set(outcomes.values()) == {Applied()}


@rows("circle", {"depending": {"depends_on": ("node/web-2",)}, "following": {"follows": ("node/web-2",)}})
def test_changes_that_wait_for_each_other_write_nothing(circle: Mapping[str, Any]) -> None:
    """A circle is a bug of the plan, and is said before the first write."""
    writers = Hands()
    changes = (a_change("node/web-1", **circle), a_change("node/web-2", follows=("node/web-1",)))
    with pytest.raises(ValueError, match="wait for each other"):
        carry_out(writers, a_change("node/web-3"), *changes)
    assert writers.done == []


def test_five_thousand_changes_in_the_worst_order() -> None:
    """Chains and lanes of any length are carried out in their order."""
    size = 5000
    writers = Hands()
    changes = [part(f"{number:04}", depends_on=(f"node/web-1/{number + 1:04}",)) for number in range(size)]
    outcomes = carry_out(writers, *changes)
    assert writers.done == [f"node/web-1/{number:04}" for number in reversed(range(size))]
    assert set(outcomes.values()) == {Applied()}


class Interrupted(BaseException):
    """What is no error of any program: it has to reach who started the run."""


def test_an_interruption_is_passed_on() -> None:
    """What ends a thread ends the run, with its cause: it never waits for an outcome that does not come."""

    def act(_change: Change, _snapshot: Snapshot) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        carry_out(act, a_change())


def test_stop_between_changes() -> None:
    """The change in flight is finished; those after it are not begun."""
    stop = threading.Event()
    writers = Hands(before_each=lambda _change: stop.set())
    later = part("c", depends_on=("node/web-1/b",))
    outcomes = carry_out(writers, part("a"), part("b"), later, a_change("node/web-2", follows=(later.key,)), stop=stop)
    assert outcomes == {
        "node/web-1/a": Applied(),
        "node/web-1/b": Skipped(STOPPED),
        "node/web-1/c": Skipped(STOPPED),
        "node/web-2": Skipped(STOPPED),
    }


def test_stop_before_those_that_wait_for_a_thread() -> None:
    """What is ready and has no thread yet when the stop comes is not begun either."""
    stop, last_begun = threading.Event(), threading.Event()

    def act(change: Change) -> None:
        if change.kind == "lb.identity":  # has a thread at once, and is the last to be handed over
            last_begun.set()
        else:
            assert last_begun.wait(TIMEOUT_S)
            stop.set()

    nodes = [a_change(f"node/{number}") for number in range(3 * PARALLEL_CHANGES[Api.KUBERNETES])]

    outcomes = carry_out(Hands(before_each=act), *nodes, of_balancer("web"), stop=stop)

    stopped = [node.key for node in nodes if outcomes[node.key] == Skipped(STOPPED)]
    assert 2 * PARALLEL_CHANGES[Api.KUBERNETES] <= len(stopped) < len(nodes)


def test_an_unknown_kind_writes_nothing() -> None:
    """When a planned kind has no actuator, that is said before the first write of any other."""
    writers = Hands()
    changes = (a_change(), a_change("node/web-2/addresses", "node.addresses", owner="node/web-2"))
    with pytest.raises(KeyError, match=r"node\.addresses"):
        apply(changes, a_snapshot(), {"node.initialise": writers}, stop=threading.Event())
    assert writers.done == []


def test_progress_is_told() -> None:
    """Each ending is told once, with its outcome, in the caller's thread."""
    told: dict[str, Outcome] = {}
    threads = set()

    def done(change: Change, outcome: Outcome) -> None:
        told[change.key] = outcome
        threads.add(threading.current_thread())

    writers = Hands({"node/web-2": Invalid("wrong")})
    outcomes = apply(
        (a_change(), a_change("node/web-2")),
        a_snapshot(),
        {"node.initialise": writers},
        stop=threading.Event(),
        done=done,
    )

    assert told == outcomes == {"node/web-1": Applied(), "node/web-2": Failed("wrong")}
    assert threads == {threading.current_thread()}


def test_progress_is_told_at_once() -> None:
    """An ending is told before the next change of its object begins, and not when all of the object have ended."""
    told: list[str] = []
    known: list[list[str]] = []
    changes = [part(name) for name in "abc"]

    apply(
        changes,
        a_snapshot(),
        {change.kind: lambda _change, _snapshot: known.append(list(told)) for change in changes},
        stop=threading.Event(),
        done=lambda change, _outcome: told.append(change.key),
    )

    assert known == [told[:0], told[:1], told[:2]]
    assert told == [change.key for change in changes]


LIMIT = Exhausted("no more", code="resource_limit_exceeded")
LOCKED = Exhausted("account locked", code="resource_locked")


@rows(
    "refusal first second is_sent",
    {
        "a limit of the project": (LIMIT, created("a", 7), created("b", 7), False),
        "a token that may only read": (Denied("may not"), created("a", 7), created("b", 7), False),
        "a load balancer that is wrong itself": (Invalid("no name"), created("a", 7), created("b", 7), True),
        "another kind": (LIMIT, created("a", 7), of_balancer("b"), True),
        "a limit of one load balancer": (
            LIMIT,
            of_balancer("a", "/listener/80", "lb.listener"),
            of_balancer("b", "/listener/80", "lb.listener"),
            True,
        ),
        "an account that is locked": (
            LOCKED,
            of_balancer("a", "/listener/80", "lb.listener"),
            of_balancer("b", "/listener/80", "lb.listener", follows=("load_balancer/ns/a/listener/80",)),
            False,
        ),
    },
)
def test_what_hetzner_refuses_for_all(refusal: ApiError, first: Change, second: Change, is_sent: bool) -> None:
    """Others of its kind are not sent after it, and say why; they are not tried again in this pass."""
    writers = Hands({first.key: refusal})
    outcomes = carry_out(writers, first, second)
    refused, other = outcomes[first.key], outcomes[second.key]
    assert isinstance(refused, Failed)
    assert bool(refused.bars) is isinstance(refusal, Exhausted | Denied)
    assert writers.done == ([second.key] if is_sent else [])
    assert is_sent or (isinstance(other, Skipped) and other.is_final and refused.error in other.reason)


def test_what_an_earlier_round_was_refused() -> None:
    """Nothing of it is begun in this one."""
    writers, change = Hands(), created("a", 7)
    refused = {"lb.create add": "no more"}
    outcomes = apply([change], a_snapshot(), {"lb.create": writers}, stop=threading.Event(), barred=refused)
    assert isinstance(outcomes[change.key], Skipped)
    assert writers.done == []
