"""The loop's memory: what it holds against a change after failures, and after others undid it, and for how long."""

import random
from dataclasses import replace

import pytest

from actuators.outcome import NOT_SEEN, PREEMPTED, STOPPED, Applied, Failed, Outcome, Pending, Skipped
from desired.guards.history import mark_of, scope_of, suspension_of
from desired.plan.change import Change, GuardDecision, GuardName, Verdict
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.setbacks import Suspension
from desired.section import Section
from reconciler.passes.history import MOST_TRAILS, History
from reconciler.result import Line, Report
from tests.balancers import a_service
from tests.builders import NOW, a_change, a_server, a_snapshot, an_identity, incomplete, servers_of
from tests.support.keys import key_of
from tests.support.rows import rows

CHANGE = a_change()
OTHER = a_change("node/web-2", owner="node/web-2")
ELSEWHERE = a_change(after=an_identity("hcloud://2"))
NO = Failed("no")
HOUR = 3600.0


class Loop:
    """Passes over a memory, on a clock that only the test moves."""

    def __init__(self, *, draw: float = 0.0, most: int = MOST_TRAILS) -> None:
        self.now = 1000.0
        self.history = History(lambda: self.now, lambda: draw, most)

    def run(self, *lines: Line, after_s: float = 1.0) -> None:
        """A pass that ends with these lines, so long after the last one."""
        self.now += after_s
        self.history.setbacks()
        self.history.note(Report(snapshot=a_snapshot(), lines=lines))

    def held(self, change: Change = CHANGE, after_s: float = 0.0) -> Suspension | None:
        """What is held against the change, so long after the last pass."""
        self.now += after_s
        found = self.history.setbacks().suspensions.get(change.key)
        return found if found is not None and found.mark == mark_of(change) else None

    def said(self, change: Change = CHANGE, after_s: float = 0.0) -> tuple[GuardName, int, float] | None:
        """Rule, times and wait in seconds of what is held against the change."""
        found = self.held(change, after_s)
        return (found.rule, found.times, found.due_in_s) if found is not None else None


@pytest.mark.parametrize(("outcome", "counts"), [
    pytest.param(NO, True, id="refused"),
    pytest.param(Failed("time-out", retry_after_s=1.0), True, id="answer lost"),
    pytest.param(Applied(), False, id="applied"),
    pytest.param(NOT_SEEN, False, id="applied and not seen"),
    pytest.param(PREEMPTED, False, id="gave way"),
    pytest.param(Pending("busy", 10.0), False, id="busy"),
    pytest.param(Pending("overtaken"), False, id="overtaken"),
    pytest.param(Skipped(STOPPED), False, id="not tried"),
    pytest.param(None, False, id="not allowed"),
])  # fmt: skip
def test_failures(outcome: Outcome | None, counts: bool) -> None:
    """Only what was tried and not done, for another reason than that it has to wait."""
    loop = Loop()
    loop.run(Line(CHANGE, outcome))

    assert (loop.held() is not None) is counts
    assert (loop.history.due_in_s() is not None) is counts


def test_failures_wait_ever_longer() -> None:
    loop = Loop()
    for times, wait_s in enumerate((1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0), 1):
        loop.run(Line(CHANGE, NO))
        assert loop.said() == (GuardName.BACK_OFF, times, wait_s)
        assert loop.history.due_in_s() == wait_s
        assert loop.held(after_s=wait_s) is None


def test_waits_are_shortened_at_random() -> None:
    """By a tenth at most, so that what failed together does not come together for ever."""
    loop = Loop(draw=0.5)
    loop.run(Line(CHANGE, NO))

    assert loop.history.due_in_s() == pytest.approx(0.95)


def test_a_failure_is_told_with_its_error_and_the_time_left() -> None:
    loop = Loop()
    loop.run(Line(CHANGE, NO))
    loop.run(Line(CHANGE), after_s=0.5)
    held = loop.held()
    assert held is not None
    assert (held.times, held.error, held.due_in_s) == (1, "no", 0.5)


@pytest.mark.parametrize(("line", "expected_s"), [
    pytest.param(Line(CHANGE, Applied()), 1.0, id="done"),
    pytest.param(Line(CHANGE, NOT_SEEN), 1.0, id="done and not seen"),
    pytest.param(Line(ELSEWHERE, Applied()), 1.0, id="another value"),
    pytest.param(Line(CHANGE, Pending("overtaken")), 4.0, id="overtaken"),
    pytest.param(Line(CHANGE), 4.0, id="planned and withheld"),
    pytest.param(Line(OTHER), 4.0, id="not planned"),
])  # fmt: skip
def test_when_failures_begin_anew(line: Line, expected_s: float) -> None:
    """After the change was done, or when another value is wanted; not because a pass did not try it."""
    loop = Loop()
    for done in (Line(CHANGE, NO), Line(CHANGE, NO), line, Line(CHANGE, NO)):
        loop.run(done)

    held = loop.held()
    assert held is not None
    assert held.due_in_s == expected_s


def test_old_failures_are_forgotten() -> None:
    loop = Loop()
    loop.run(Line(CHANGE, NO))
    loop.run(Line(OTHER), after_s=601.0)
    assert len(loop.history) == 0

    loop.run(Line(CHANGE, NO))
    assert loop.history.due_in_s() == 1.0


def test_the_third_time_undone() -> None:
    """Applied and planned again three times within ten minutes: the third time it is left alone for an hour."""
    loop = Loop()
    for _ in range(3):
        assert loop.held() is None
        loop.run(Line(CHANGE, Applied()), after_s=60.0)
        loop.run()
    due = loop.held()
    assert due is not None
    assert (due.since, loop.said()) == (NOW, (GuardName.FLAPPING, 3, HOUR))

    loop.run(Line(CHANGE), after_s=0.0)
    assert loop.held(after_s=HOUR / 2) == replace(due, due_in_s=HOUR / 2)
    assert loop.held(after_s=HOUR / 2) is None


def test_a_change_that_stays_is_free() -> None:
    """Two times undone and then done for good is forgotten after ten minutes."""
    loop = Loop()
    for _ in range(3):
        loop.run(Line(CHANGE, Applied()))
    assert loop.held() is not None
    loop.run()

    assert loop.held(after_s=601.0) is None
    loop.run(Line(CHANGE, Applied()))
    assert loop.held() is None


SAW_ALL, SAW_NOTHING = Report(snapshot=a_snapshot()), Report(errors=("the API is gone",))
SAW_LESS = Report(snapshot=a_snapshot(servers_section=incomplete(servers_of(a_server()))))


@rows("passes every_s rule", {
    "planned again at once": ([Applied()] * 3, 1.0, GuardName.FLAPPING),
    "not seen done yet: lists may lag": ([NOT_SEEN] * 4, 1.0, GuardName.BACK_OFF),
    "not seen done, beside an API in trouble": ([NOT_SEEN, SAW_NOTHING] * 4, 1.0, GuardName.BACK_OFF),
    "not seen done, by a pass that saw less": ([NOT_SEEN, SAW_LESS] * 4, 1.0, GuardName.BACK_OFF),
    "seen done, which ends the lag": ([NOT_SEEN, SAW_ALL] * 3, 1.0, GuardName.FLAPPING),
    "never seen done, longer than a list lags": ([NOT_SEEN] * 4, 40.0, GuardName.FLAPPING),
    "one time less": ([Applied()] * 2, 1.0, None),
    "refused in between": ([Applied(), NO, Applied(), Applied()], 1.0, GuardName.FLAPPING),
    "planned, not tried, for a while: once undone": ([Applied(), None, None, Applied()], 1.0, None),
    "never undone": ([NO, NO, NO, NO, Applied()], 1.0, None),
})  # fmt: skip
def test_undone_changes(passes: list[Outcome | Report | None], every_s: float, rule: GuardName | None) -> None:
    """Whatever was applied and is planned again is undone, once for each time that it was applied."""
    loop = Loop()
    for each in passes:
        if isinstance(each, Report):
            loop.history.note(each)
        else:
            loop.run(Line(CHANGE, each), after_s=every_s)
    held = loop.held(after_s=every_s if every_s > 1 else 0.0)

    assert (held and held.rule) == rule


def test_three_times_not_seen_done_waits_until_no_list_lags() -> None:
    """For half a minute, in which it is not made again; a list that shows it meanwhile frees it, and one that does not
    proves that it was undone each time."""
    undone, lagged = Loop(), Loop()
    for loop in (undone, lagged):
        for _ in range(3):
            assert loop.held() is None
            loop.run(Line(CHANGE, NOT_SEEN))
        assert loop.said() == (GuardName.BACK_OFF, 3, 30.0)
        assert loop.history.due_in_s() == 30.0

    lagged.run(after_s=20.0)
    assert lagged.held() is None
    lagged.run(Line(CHANGE, Applied()), after_s=20.0)
    assert lagged.held() is None

    assert undone.said(after_s=30.0) == (GuardName.FLAPPING, 3, HOUR)
    undone.run(Line(CHANGE), after_s=0.0)
    assert undone.held(after_s=HOUR / 2) is not None


@pytest.mark.parametrize(("every_s", "is_suspended"), [(299.0, True), (301.0, False)])
def test_within_ten_minutes(every_s: float, is_suspended: bool) -> None:
    """From the first time that it was seen undone to the third; for as long as it is seldom, it goes on."""
    loop = Loop()
    for _ in range(3):
        loop.run(Line(CHANGE, Applied()), after_s=every_s)
    assert (loop.held(after_s=every_s) is not None) is is_suspended

    loop.run(Line(CHANGE, None if is_suspended else Applied()), after_s=0.0)
    assert (loop.held(after_s=every_s) is not None) is is_suspended


def test_an_hour_from_when_it_was_said() -> None:
    """However long the pass takes that finds it undone for the third time."""
    loop = Loop()
    for _ in range(3):
        loop.run(Line(CHANGE, Applied()))
    assert loop.held() is not None
    loop.now += 30.0
    loop.history.note(Report(snapshot=a_snapshot(), lines=(Line(CHANGE),)))

    assert loop.said() == (GuardName.FLAPPING, 3, HOUR - 30.0)


def test_another_value_in_between() -> None:
    """What we changed to something else ourselves, since somebody wanted that, nobody else has undone."""
    loop = Loop()
    for _ in range(5):
        loop.run(Line(CHANGE, Applied()))
        loop.run(Line(ELSEWHERE, Applied()))

    assert loop.held() is None
    assert loop.held(ELSEWHERE) is None


def test_another_value_of_what_is_suspended() -> None:
    loop = Loop()
    for _ in range(3):
        loop.run(Line(CHANGE, Applied()))
    loop.run(Line(CHANGE))
    assert loop.held() is not None
    assert loop.held(ELSEWHERE) is None

    loop.run(Line(ELSEWHERE, Applied()))
    assert loop.held() is None


def test_a_pass_that_saw_nothing() -> None:
    """What was written before the world could not be seen any more is remembered all the same."""
    loop = Loop()
    loop.history.note(Report(lines=(Line(CHANGE, NO),), errors=("gone",)))

    assert loop.held() is not None


def test_how_much_is_remembered() -> None:
    loop = Loop(most=3)
    changes = [a_change(f"node/web-{number}") for number in range(5)]
    for change in (*changes, changes[2]):
        loop.run(Line(change, NO), after_s=0.0)
        assert len(loop.history) <= 3

    assert list(loop.history.setbacks().suspensions) == ["node/web-3", "node/web-4", "node/web-2"]


def test_a_hundred_failures_cost_few_passes() -> None:
    """What fails for ever comes due at moments that drift apart: whatever is nearly due is tried along with the first,
    so that the rhythm of passes is that of one failure."""
    drawn = random.Random(1)
    now, passes, hours = 0.0, 0, 2
    history = History(lambda: now, drawn.random)
    changes = [a_change(f"node/web-{number}", owner=f"node/web-{number}") for number in range(100)]
    while now < hours * HOUR:
        held = history.setbacks().suspensions
        report = Report(lines=tuple(Line(change, None if change.key in held else NO) for change in changes))
        history.note(report)
        due_in_s = history.due_in_s()
        assert due_in_s is not None
        now += max(0.5, due_in_s)
        passes += 1

    assert passes <= hours * 70


def test_nothing_is_tried_earlier_than_an_api_asked_for() -> None:
    loop = Loop()
    loop.run(Line(CHANGE, Failed("no", retry_after_s=30.0)))

    assert loop.history.due_in_s() == 30.0
    assert loop.held(after_s=29.0) is not None
    assert loop.held(after_s=1.0) is None


@pytest.mark.parametrize(("uids", "is_held"), [
    pytest.param(["a", "a", "a"], True, id="one object, and somebody undoes it"),
    pytest.param(["a", "b", "c"], False, id="made anew each time under the same name"),
])  # fmt: skip
def test_an_object_made_anew_was_not_undone(uids: list[str], is_held: bool) -> None:
    """A Service that a person creates and deletes again and again is served each time."""
    loop = Loop()
    change = Change(
        key_of("service/default/web/finalizer"),
        ChangeKind.SERVICE_CLAIM,
        Verb.ADD,
        False,
        True,
        "new",
        key_of("service/default/web"),
    )
    for uid in uids:
        snapshot = a_snapshot(services=Section({"default/web": a_service(uid=uid)}))
        loop.now += 60.0
        loop.history.setbacks()
        loop.history.note(Report(snapshot=snapshot, lines=(Line(change, Applied()),)))
    found = loop.history.setbacks()
    planned = a_snapshot(services=Section({"default/web": a_service(uid="a" if is_held else "d")}))

    assert (suspension_of(change, planned, found) is not None) is is_held


def refused(change: Change) -> Line:
    """Hetzner refuses all of its kind."""
    return Line(change, Failed("no more", bars=scope_of(change)))


def waits(change: Change) -> Line:
    """Another one has been refused, or has its turn."""
    return Line(change.ruled(GuardDecision(Verdict.WAITING, GuardName.QUOTA)))


BALANCERS = [a_change(f"load_balancer/ns/{name}", "lb.create", owner=f"service/ns/{name}") for name in "abc"]
SCOPE = scope_of(BALANCERS[0])


def test_the_turns_of_what_is_refused() -> None:
    """A minute after a refusal the next one may be tried: whose turn was longest ago, held or not."""
    first, second, third = BALANCERS
    loop = Loop()
    loop.run(refused(first), *(Line(change, Skipped("not sent", is_final=True)) for change in (second, third)))
    assert loop.history.setbacks().bars[SCOPE].due_in_s == pytest.approx(54.0)

    loop.run(waits(first), refused(second), waits(third), after_s=60.0)
    loop.run(
        waits(first), waits(second), Line(third.ruled(GuardDecision(Verdict.HELD, GuardName.ADOPTION))), after_s=60.0
    )
    turns = loop.history.setbacks().bars[SCOPE].turns

    assert sorted(turns, key=lambda key: turns[key]) == [first.key, second.key, third.key]
    assert loop.history.setbacks().bars[SCOPE].due_in_s == 0.0
    assert loop.held(second) is None


@pytest.mark.parametrize(("tries", "left"), [([False] * 59, 1), ([False] * 62, 0), ([False] * 40 + [True] * 22, 1)])
def test_a_refusal_is_void_an_hour_after_the_last_try_was_due(tries: list[bool], left: int) -> None:
    """Where all wait for something that waits for them, as a move in the network does, nothing else would end it."""
    first, second, _ = BALANCERS
    loop = Loop()
    loop.run(refused(first), waits(second))
    for is_tried in tries:
        loop.run(refused(first) if is_tried else waits(first), waits(second), after_s=60.0)
    assert len(loop.history.setbacks().bars) == left


def test_a_success_frees_its_kind() -> None:
    first, second, third = BALANCERS
    loop = Loop()
    loop.run(refused(first), refused(second), waits(third))
    loop.run(Line(first, Applied()), waits(second), waits(third), after_s=60.0)

    assert loop.history.due_in_s() == 0.0
    assert loop.history.setbacks().bars == {}
    assert loop.history.due_in_s() is None


def test_a_success_beside_a_refusal_frees_nothing() -> None:
    first, second, third = BALANCERS
    loop = Loop()
    loop.run(Line(first, Applied()), refused(second), waits(third))

    assert list(loop.history.setbacks().bars) == [SCOPE]


@rows("report forgotten", {
    "it saw everything": (Report(snapshot=a_snapshot()), True),
    "it was kept from something": (Report(snapshot=a_snapshot(), errors=("401",)), False),
    "an error of the settings kept it from nothing else": (Report(snapshot=a_snapshot(), errors=("--cluster-cidr",),
        misconfigured=("--cluster-cidr",)), True),
})  # fmt: skip
def test_a_refusal_without_a_change_is_forgotten(report: Report, forgotten: bool) -> None:
    """A pass that saw everything, and has nothing of the kind."""
    loop = Loop()
    loop.run(refused(BALANCERS[0]))
    loop.history.note(report)

    assert (loop.history.setbacks().bars == {}) is forgotten
