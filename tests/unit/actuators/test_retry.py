"""The one retry layer: what is tried again, how often, after which wait, and when it is given up."""

import contextlib
import threading
from dataclasses import dataclass, field

import pytest

from actuators.http.errors import (
    ApiError,
    Broken,
    Busy,
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
        "invalid": (Invalid("wrong"), True, 1),
        "broken": (Broken("html"), True, 1),
    },
)
def test_errors_after_which_a_call_is_tried_again(error: ApiError, repeatable: bool, tries: int) -> None:
    service = Service([error])
    if tries == 1:
        with pytest.raises(type(error)) as raised:
            Waiting().call(service, repeatable=repeatable)
        assert raised.value is error
    else:
        assert Waiting().call(service, repeatable=repeatable) == "answer"
    assert len(service.timeouts) == tries


@rows(
    "errors patience repeatable waits",
    {
        "tried once": ([BROKEN_DOWN] * 9, Patience(attempts=1), True, []),
        "without patience, also what is throttled": ([throttled(0.1)], NO_PATIENCE, True, []),
        "no wait beyond the deadline": ([throttled(2.0)] * 5, Patience(deadline_s=5.0), True, [2.0, 4.0]),
        "nor one of an hour": ([throttled(3600.0)], PATIENT, True, []),
        "a busy object of which nothing is known then": ([Busy("locked"), BROKEN_DOWN], PATIENT, False, None),
    },
)
def test_when_it_is_given_up(
    errors: list[ApiError], patience: Patience, repeatable: bool, waits: list[float] | None
) -> None:
    waiting, service = Waiting(patience), Service(errors)
    with pytest.raises(type(errors[-1])):
        waiting.call(service, repeatable=repeatable)
    assert waits is None or waiting.waits == waits
    assert len(service.timeouts) == len(waiting.waits) + 1 == (2 if waits is None else len(waits) + 1)


def test_nothing_is_repeated_once_stopped() -> None:
    waiting = Waiting()
    waiting.stop.set()
    service = Service([BROKEN_DOWN])
    with pytest.raises(Transient):
        waiting.call(service)
    assert (waiting.waits, len(service.timeouts)) == ([], 1)


@rows(
    "deadline_s timeout_s tries least most",
    {
        "cut to what is left": (5.0, 15.0, 2, 4.0, 5.0),
        "below that it is kept": (5.0, 0.25, 2, 0.25, 0.25),
        "never zero or less": (0.0, 15.0, 1, 0.1, 0.1),
    },
)
def test_the_timeout_of_a_try(deadline_s: float, timeout_s: float, tries: int, least: float, most: float) -> None:
    """No try may take longer than what is left until the deadline, and a later one has less."""
    service = Service([throttled(0.0)] * (tries - 1))
    Waiting(Patience(deadline_s=deadline_s)).call(service, timeout_s=timeout_s)
    assert len(service.timeouts) == tries
    assert all(least <= each <= most for each in service.timeouts)
    assert least == most or service.timeouts[0] > service.timeouts[1]


def test_hints_are_obeyed_and_doubled() -> None:
    waiting = Waiting()
    waiting.call(Service([throttled(1.5), throttled(1.5), throttled(2.0)]))
    assert waiting.waits == [1.5, 3.0, 8.0]


def test_waits_without_a_hint_grow_at_random() -> None:
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
    drawn = []
    for _ in range(20):
        waiting = Waiting()
        with pytest.raises(Busy):
            waiting.call(Service([Busy("locked")] * 5), repeatable=False)
        drawn.append(waiting.waits)
    lower_ends = [0.5, 1.0, 2.0, 4.0]
    assert all(end <= wait <= end + 0.5 for waits in drawn for wait, end in zip(waits, lower_ends, strict=True))
    assert len({waits[0] for waits in drawn}) > 1


def test_the_stop_event_ends_waiting() -> None:
    stop = threading.Event()
    refusal = throttled(20.0)
    service = Service([refusal] * 5)
    threading.Timer(0.01, stop.set).start()
    with pytest.raises(Throttled) as raised:
        Retry(stop, Patience(deadline_s=1000)).call(service, timeout_s=1.0)
    assert raised.value is refusal
    assert len(service.timeouts) == 1


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
    waiting = Waiting(budget=RetryBudget())
    gone = [_tries(waiting) for _ in range(30)]
    _tries(waiting, refusals=1, error=answer) if answer else _tries(waiting, refusals=0)
    assert gone[-1] == 1
    assert _tries(waiting) == 5


@pytest.mark.parametrize("told", [Stopped("told to stop"), NotLeader("another one leads")])
def test_an_unsent_call_says_nothing_of_the_api(told: ApiError) -> None:
    waiting = Waiting(budget=RetryBudget())
    _tries(waiting)
    assert [_tries(waiting, error=told) for _ in range(20)] == [1] * 20
    assert [_tries(waiting) for _ in range(2)] == [5, 1]


def test_an_api_that_fails_now_and_then_is_always_tried_again() -> None:
    waiting = Waiting(budget=RetryBudget())
    assert [_tries(waiting, refusals=number % 2) for number in range(200)] == [1, 2] * 100


@pytest.mark.parametrize("error", [throttled(0.1), Busy("locked")])
def test_an_api_that_says_when_it_has_time_spends_nothing(error: ApiError) -> None:
    """It is not gone, and is asked when it wants to be."""
    waiting = Waiting(budget=RetryBudget())
    assert [_tries(waiting, error=error) for _ in range(10)] == [5] * 10
    assert _tries(waiting) == 5
