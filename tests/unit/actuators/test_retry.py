"""The one retry layer: what is tried again, how often, after which wait, and when it is given up."""

import contextlib
import threading
from dataclasses import dataclass, field

import pytest

from actuators.http.errors import (
    ApiError,
    Broken,
    Busy,
    Conflict,
    Denied,
    Invalid,
    NotFound,
    NotLeader,
    Stopped,
    Throttled,
    Transient,
)
from actuators.http.retry import NO_PATIENCE, PATIENT, Patience, Retry, RetryBudget
from tests.support.rows import rows

BROKEN_DOWN = Transient("no answer")


@dataclass
class Service:
    """Raises each of ``refusals`` once, then answers."""

    refusals: list[ApiError]
    timeouts: list[float] = field(default_factory=list)
    """Seconds that each try was given."""

    def __call__(self, timeout_s: float) -> str:
        self.timeouts.append(timeout_s)
        if len(self.timeouts) <= len(self.refusals):
            raise self.refusals[len(self.timeouts) - 1]
        return "answer"


@dataclass
class Waiting:
    """A Retry, and the waits that it asked for."""

    patience: Patience = PATIENT
    stop: threading.Event = field(default_factory=threading.Event)
    budget: RetryBudget | None = None
    waits: list[float] = field(default_factory=list)

    def call(self, service: Service, *, timeout_s: float = 1.0, repeatable: bool = True) -> str:
        return Retry(self.stop, self.patience, self.budget, sleep=self._note).call(
            service, timeout_s=timeout_s, repeatable=repeatable
        )

    def _note(self, seconds: float) -> None:
        self.waits.append(seconds)


def throttled(retry_after_s: float) -> Throttled:
    return Throttled("slow down", retry_after_s=retry_after_s)


@rows(
    "error repeatable tries",
    {
        "a repeatable call that broke down": (BROKEN_DOWN, True, 2),
        "a write that broke down may have been carried out": (BROKEN_DOWN, False, 1),
        "throttled": (throttled(0.1), True, 2),
        "a throttled write was not carried out": (throttled(0.1), False, 2),
        "busy": (Busy("locked"), True, 2),
        "a write to a busy object was not carried out": (Busy("locked"), False, 2),
        "told to stop": (Stopped("told to stop"), True, 1),
        "another one leads": (NotLeader("nothing is written"), True, 1),
        "not found": (NotFound("gone"), True, 1),
        "conflict is planned again, never resent": (Conflict("moved on"), True, 1),
        "invalid": (Invalid("wrong"), True, 1),
        "denied": (Denied("no"), True, 1),
        "broken": (Broken("html"), True, 1),
    },
)
def test_what_is_tried_again(error: ApiError, repeatable: bool, tries: int) -> None:
    """Throttled and Busy are always tried again, Transient only when the call may be repeated, the rest never."""
    service = Service([error])
    if tries == 1:
        with pytest.raises(type(error)) as raised:
            Waiting().call(service, repeatable=repeatable)
        assert raised.value is error
    else:
        assert Waiting().call(service, repeatable=repeatable) == "answer"
    assert len(service.timeouts) == tries


@pytest.mark.parametrize(("attempts", "tries"), [(1, 1), (3, 3), (5, 5)])
def test_tries_are_counted(attempts: int, tries: int) -> None:
    """A call that never succeeds is tried as often as the patience says, and its last error is raised as it is."""
    errors: list[ApiError] = [Transient(f"no answer {number}") for number in range(9)]
    service = Service(errors)
    with pytest.raises(Transient) as raised:
        Waiting(Patience(attempts=attempts)).call(service)
    assert raised.value is errors[tries - 1]
    assert len(service.timeouts) == tries


def test_no_patience_never_waits() -> None:
    """A call without patience is tried once, even when it is throttled."""
    waiting = Waiting(NO_PATIENCE)
    with pytest.raises(Throttled):
        waiting.call(Service([throttled(0.1)]))
    assert waiting.waits == []


def test_hints_are_obeyed_and_doubled() -> None:
    """The server's hint is waited exactly, doubled with each refusal."""
    waiting = Waiting()
    waiting.call(Service([throttled(1.5), throttled(1.5), throttled(2.0)]))
    assert waiting.waits == [1.5, 3.0, 8.0]


def test_waits_without_a_hint_grow_at_random() -> None:
    """Without a hint a wait is drawn between nothing and an upper end that doubles up to the longest wait."""
    patience = Patience(attempts=7, deadline_s=1000, first_wait_s=1.0, longest_wait_s=4.0)
    upper_ends = [1.0, 2.0, 4.0, 4.0, 4.0, 4.0]
    drawn = []
    for _ in range(20):
        waiting = Waiting(patience)
        waiting.call(Service([BROKEN_DOWN] * 6))
        drawn.append(waiting.waits)
    assert all(0 <= wait <= end for waits in drawn for wait, end in zip(waits, upper_ends, strict=True))
    assert len({waits[0] for waits in drawn}) > 1
    assert any(waits[2] > upper_ends[1] for waits in drawn)


def test_a_busy_object_gets_its_time() -> None:
    """The wait doubles from half a second, with up to half a second drawn on top; nine seconds or so in all."""
    drawn = []
    for _ in range(20):
        waiting = Waiting()
        with pytest.raises(Busy):
            waiting.call(Service([Busy("locked")] * 5), repeatable=False)
        drawn.append(waiting.waits)
    lower_ends = [0.5, 1.0, 2.0, 4.0]
    assert all(end <= wait <= end + 0.5 for waits in drawn for wait, end in zip(waits, lower_ends, strict=True))
    assert len({waits[0] for waits in drawn}) > 1


def test_a_busy_object_that_breaks_down() -> None:
    """A write is given up at the first answer of which nothing is known, whatever was waited for before."""
    service = Service([Busy("locked"), BROKEN_DOWN])
    with pytest.raises(Transient):
        Waiting().call(service, repeatable=False)
    assert len(service.timeouts) == 2


def test_no_try_begins_after_the_deadline() -> None:
    """A wait that would end after the deadline is not begun: the error is raised at once."""
    waiting = Waiting(Patience(deadline_s=5.0))
    service = Service([throttled(2.0)] * 5)
    with pytest.raises(Throttled):
        waiting.call(service)
    assert waiting.waits == [2.0, 4.0]
    assert len(service.timeouts) == 3


def test_a_hint_beyond_the_deadline_is_not_waited_for() -> None:
    """A server that asks for an hour gets no further try in this call."""
    waiting = Waiting()
    service = Service([throttled(3600.0)])
    with pytest.raises(Throttled):
        waiting.call(service)
    assert waiting.waits == []
    assert len(service.timeouts) == 1


def test_the_stop_event_ends_waiting() -> None:
    """A wait ends when the stop event is set, and no further try, which might hang, begins after it."""
    stop = threading.Event()
    refusal = throttled(20.0)
    service = Service([refusal] * 5)
    threading.Timer(0.01, stop.set).start()
    with pytest.raises(Throttled) as raised:
        Retry(stop, Patience(deadline_s=1000)).call(service, timeout_s=1.0)
    assert raised.value is refusal
    assert len(service.timeouts) == 1


def test_nothing_is_repeated_once_stopped() -> None:
    """After the stop event a call is tried once and never again."""
    waiting = Waiting()
    waiting.stop.set()
    service = Service([BROKEN_DOWN])
    with pytest.raises(Transient):
        waiting.call(service)
    assert waiting.waits == []
    assert len(service.timeouts) == 1


def test_timeouts_are_cut_to_what_is_left() -> None:
    """No try may take longer than what is left until the deadline."""
    waiting = Waiting(Patience(deadline_s=5.0))
    service = Service([throttled(0.0)])
    waiting.call(service, timeout_s=15.0)
    first, second = service.timeouts
    assert 4.0 < second < first <= 5.0


def test_a_short_timeout_is_kept() -> None:
    """A time-out below what is left is passed on as it is, to every try."""
    service = Service([throttled(0.0)])
    Waiting().call(service, timeout_s=0.25)
    assert service.timeouts == [0.25, 0.25]


def test_a_try_always_gets_some_time() -> None:
    """A deadline that is all but over leaves a try a tenth of a second, never zero or less."""
    service = Service([])
    Waiting(Patience(deadline_s=0.0)).call(service, timeout_s=15.0)
    assert service.timeouts == [0.1]


def _tries(waiting: Waiting, refusals: int = 9, error: ApiError = BROKEN_DOWN) -> int:
    """How often one call is sent that gets so many refusals."""
    service = Service([error] * refusals)
    with contextlib.suppress(ApiError):
        waiting.call(service)
    return len(service.timeouts)


def test_an_api_that_is_gone_is_tried_less_and_less() -> None:
    """All calls to it share what is left for further tries; when nothing goes through, each is sent once."""
    waiting = Waiting(budget=RetryBudget())
    assert [_tries(waiting) for _ in range(6)] == [5, 5, 1, 1, 1, 1]


@pytest.mark.parametrize("answer", [None, NotFound("gone"), Denied("no"), throttled(0.1)])
def test_an_api_that_answers_again_is_tried_as_before(answer: ApiError | None) -> None:
    """One answer is enough, whatever it says."""
    waiting = Waiting(budget=RetryBudget())
    gone = [_tries(waiting) for _ in range(30)]
    _tries(waiting, refusals=1, error=answer) if answer else _tries(waiting, refusals=0)
    assert gone[-1] == 1
    assert _tries(waiting) == 5


@pytest.mark.parametrize("told", [Stopped("told to stop"), NotLeader("another one leads")])
def test_what_was_not_sent_says_nothing_of_the_api(told: ApiError) -> None:
    """Neither that it is there nor that it is gone."""
    waiting = Waiting(budget=RetryBudget())
    _tries(waiting)
    assert [_tries(waiting, error=told) for _ in range(20)] == [1] * 20
    assert [_tries(waiting) for _ in range(2)] == [5, 1]


def test_an_api_that_fails_now_and_then_is_always_tried_again() -> None:
    """Every other call fails once, for as long as you like."""
    waiting = Waiting(budget=RetryBudget())
    assert [_tries(waiting, refusals=number % 2) for number in range(200)] == [1, 2] * 100


@pytest.mark.parametrize("error", [throttled(0.1), Busy("locked")])
def test_an_api_that_says_when_it_has_time_spends_nothing(error: ApiError) -> None:
    """It is not gone, and is asked when it wants to be."""
    waiting = Waiting(budget=RetryBudget())
    assert [_tries(waiting, error=error) for _ in range(10)] == [5] * 10
    assert _tries(waiting) == 5
