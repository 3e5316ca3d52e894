"""Carrying out changes: what waits for what and what for nothing, and what every ending becomes."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from actuators.apply import PARALLEL_CHANGES, Actuator, apply
from actuators.http.errors import (
    ApiError,
    Busy,
    Conflict,
    Denied,
    Exhausted,
    Invalid,
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
from tests.support.hands import Hands, of_balancer
from tests.support.rows import rows

TIMEOUT_S = 5.0
"""After which a test that waits for another thread has failed."""
STOPPED = "stopped before it began, by a signal or the deadline of --once"


def carry_out(writers: Actuator, *changes: Change, stop: threading.Event | None = None) -> Mapping[str, Outcome]:
    """Key → outcome."""
    actuators: dict[str, Actuator] = {change.kind: writers for change in changes}
    return apply(changes, a_snapshot(), actuators, stop=stop or threading.Event())


def part(name: str, owner: str = "node/web-1", depends_on: tuple[str, ...] = ()) -> Change:
    """A change that occupies ``owner``."""
    return a_change(f"{owner}/{name}", owner=owner, depends_on=depends_on)


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
        "invalid": (Invalid("wrong"), Failed("wrong")),
        "anything else of an API": (ApiError("odd"), Failed("odd")),
    },
)
def test_errors_become_outcomes(error: ApiError, outcome: Outcome) -> None:
    assert carry_out(Hands({"node/web-1": error}), a_change()) == {"node/web-1": outcome}


def test_a_bug_in_one_lane_loses_no_outcome_of_the_others() -> None:
    writers = Hands({"node/web-1/a": KeyError("resourceVersion")})
    changes = (part("a"), part("b", depends_on=("node/web-1/a",)), part("c"), part("d", "node/web-2"))
    assert carry_out(writers, *changes) == {
        "node/web-1/a": Failed("internal error, KeyError: 'resourceVersion'"),
        "node/web-1/b": Skipped("blocked by node/web-1/a (not applied)"),
        "node/web-1/c": Applied(),
        "node/web-2/d": Applied(),
    }


def test_objects_side_by_side() -> None:
    meeting = threading.Barrier(PARALLEL_CHANGES[Api.KUBERNETES], timeout=TIMEOUT_S)
    writers = Hands(before_each=lambda _change: meeting.wait())
    changes = [a_change(f"node/web-{number}") for number in range(PARALLEL_CHANGES[Api.KUBERNETES])]
    assert set(carry_out(writers, *changes).values()) == {Applied()}


def test_changes_after_an_undone_one_are_skipped() -> None:
    writers = Hands({"node/web-1/a": Conflict("moved on")})
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


def test_a_follower_comes_after_any_end_of_the_other() -> None:
    slow = threading.Event()
    writers = Hands({"node/web-2": Invalid("wrong")}, before_each=lambda _change: slow.wait(0.01))
    last = replace(a_change(), follows=("node/web-2", "node/web-3", "node/never-planned"))
    outcomes = carry_out(writers, last, a_change("node/web-2"), a_change("node/web-3"))
    assert list(outcomes)[-1] == "node/web-1"
    assert outcomes["node/web-1"] == Applied()


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


def test_one_object_is_never_changed_twice_at_once() -> None:
    changes = [part(name, f"node/web-{number}") for name in "abc" for number in range(8)]
    owners = [{str(key).rpartition("/")[0] for key in pair} for pair in overlaps(changes)]
    assert {len(pair) for pair in owners} == {2}


def test_one_network_is_never_changed_twice_at_once() -> None:
    """Load balancers are created side by side, but for those of one network: attaching locks it."""
    in_one = [created(name, 7) for name in "abc"]
    elsewhere = created("d", 8)
    found = overlaps([*in_one, elsewhere])
    assert {pair for pair in found if elsewhere.key not in pair} == set()
    assert any(elsewhere.key in pair for pair in found)


SLOW = [f"{number:03}" for number in range(3 * PARALLEL_CHANGES[Api.HETZNER])]


@rows(
    "waiting urgent",
    {
        "beside load balancers of one network": ([created(name, 7) for name in SLOW], of_balancer("zzz")),
        "a Node, beside load balancers": ([of_balancer(name) for name in SLOW], a_change()),
    },
)
def test_others_go_on_while_many_wait(waiting: Sequence[Change], urgent: Change) -> None:
    """Those of a network take no place while they wait for it, and Hetzner leaves room for the API server."""
    done = threading.Event()
    writers = Hands(before_each=lambda change: done.set() if change is urgent else done.wait(TIMEOUT_S))
    outcomes = carry_out(writers, *waiting, urgent)
    assert set(outcomes.values()) == {Applied()}
    assert writers.done[0] == urgent.key


@rows("circle", {"depending": {"depends_on": ("node/web-2",)}, "following": {"follows": ("node/web-2",)}})
def test_changes_that_wait_for_each_other_write_nothing(circle: Mapping[str, Any]) -> None:
    """A circle is a bug of the plan, and is said before the first write."""
    writers = Hands()
    changes = (a_change("node/web-1", **circle), a_change("node/web-2", follows=("node/web-1",)))
    with pytest.raises(ValueError, match="wait for each other"):
        carry_out(writers, a_change("node/web-3"), *changes)
    assert writers.done == []


def test_five_thousand_changes_in_the_worst_order() -> None:
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
    writers = Hands()
    changes = (a_change(), a_change("node/web-2/addresses", "node.addresses", owner="node/web-2"))
    with pytest.raises(KeyError, match=r"node\.addresses"):
        apply(changes, a_snapshot(), {"node.initialise": writers}, stop=threading.Event())
    assert writers.done == []


def test_progress_is_told() -> None:
    """Each ending at once, before the next change of its object begins, in the caller's thread."""
    told: dict[str, Outcome] = {}
    known: list[list[str]] = []
    threads = set()

    def done(change: Change, outcome: Outcome) -> None:
        told[change.key] = outcome
        threads.add(threading.current_thread())

    changes = [part(name) for name in "abc"]
    keys = [change.key for change in changes]
    writers = Hands({keys[1]: Invalid("wrong")}, before_each=lambda _change: known.append(list(told)))
    outcomes = apply(changes, a_snapshot(), {changes[0].kind: writers}, stop=threading.Event(), done=done)

    assert told == outcomes == dict(zip(keys, (Applied(), Failed("wrong"), Applied()), strict=True))
    assert known == [keys[:0], keys[:1], keys[:2]]
    assert threads == {threading.current_thread()}


LIMIT = Exhausted("no more", code="resource_limit_exceeded")
PORT, NEXT_PORT = (of_balancer(name, "/listener/80", "lb.listener") for name in "ab")
NEXT_PORT = replace(NEXT_PORT, follows=(PORT.key,))
LOCKED = Exhausted("account locked", code="resource_locked")


@rows(
    "refusal first second is_sent",
    {
        "a limit of the project": (LIMIT, created("a", 7), created("b", 7), False),
        "a token that may only read": (Denied("may not"), created("a", 7), created("b", 7), False),
        "a load balancer that is wrong itself": (Invalid("no name"), created("a", 7), created("b", 7), True),
        "another kind": (LIMIT, created("a", 7), of_balancer("b"), True),
        "a limit of one load balancer": (LIMIT, PORT, replace(NEXT_PORT, follows=()), True),
        "an account that is locked": (LOCKED, PORT, NEXT_PORT, False),
    },
)
def test_refusals_for_all(refusal: ApiError, first: Change, second: Change, is_sent: bool) -> None:
    writers = Hands({first.key: refusal})
    outcomes = carry_out(writers, first, second)
    refused, other = outcomes[first.key], outcomes[second.key]
    assert isinstance(refused, Failed)
    assert bool(refused.bars) is isinstance(refusal, Exhausted | Denied)
    assert writers.done == ([second.key] if is_sent else [])
    assert is_sent or (isinstance(other, Skipped) and other.is_final and refused.error in other.reason)


def test_refusals_of_an_earlier_round() -> None:
    writers, change = Hands(), created("a", 7)
    refused = {"lb.create add": "no more"}
    outcomes = apply([change], a_snapshot(), {"lb.create": writers}, stop=threading.Event(), barred=refused)
    assert isinstance(outcomes[change.key], Skipped)
    assert writers.done == []
