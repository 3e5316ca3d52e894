"""What calls for the next pass, how long a pause is, and what of it a pass that begins has seen."""

import threading

import pytest

from reconciler.passes.loop import Wake
from tests.support.leases import Timeline


def a_wake(clock: Timeline, stop: threading.Event | None = None) -> Wake:
    return Wake(stop or clock.event(), gap_s=5.0, clock=clock.clock, event=clock.event)


def test_nobody_called() -> None:
    """Without an interval only a call makes it time, and not before the gap is over: a series that stopped at each call
    would never get on."""
    clock = Timeline(100.0)
    wake = a_wake(clock)
    wake.begin(None)
    clock.now += 60.0
    assert not wake.is_called()

    wake.begin(None)
    wake.call("a Node")
    clock.now += 4.9
    assert not wake.is_called()
    clock.now += 0.1
    assert wake.is_called()


def test_a_pass_that_begins_sees_what_it_was_called_for() -> None:
    wake = a_wake(Timeline(100.0))
    wake.call("a Node")
    wake.call("a Service")

    assert wake.begin(None) == "a Node"
    assert not wake.is_called()
    assert wake.begin(None) == ""


def test_a_pass_that_takes_longer_than_the_interval() -> None:
    clock = Timeline(100.0)
    wake = a_wake(clock)
    wake.begin(60.0)

    clock.now += 59.9
    assert not wake.is_called()
    clock.now += 0.1
    assert wake.is_called()

    wake.begin(60.0)
    assert not wake.is_called()


@pytest.mark.parametrize(
    ("pass_takes", "calls", "pause", "began"),
    [
        pytest.param(1.0, [], 60.0, 161.0, id="nobody calls: the whole pause"),
        pytest.param(1.0, [130.0], 60.0, 130.0, id="called: at once"),
        pytest.param(1.0, [101.5], 60.0, 105.0, id="called soon: not before the gap is over"),
        pytest.param(1.0, [101.5, 102.0, 104.9], 60.0, 105.0, id="a burst: one pass"),
        pytest.param(1.0, [100.5], 60.0, 105.0, id="called while the pass ran"),
        pytest.param(9.0, [100.5], 60.0, 109.0, id="the pass took longer than the gap"),
        pytest.param(1.0, [101.5], 2.0, 103.0, id="a retry that is due earlier"),
        pytest.param(1.0, [], 0.0, 101.0, id="no pause at all"),
    ],
)
def test_pauses(pass_takes: float, calls: list[float], pause: float, began: float) -> None:
    clock = Timeline(100.0)
    wake = a_wake(clock)
    wake.begin(None)
    for moment in calls:
        clock.at(moment, lambda: wake.call("something"))
    clock.advance(pass_takes)

    wake.pause(pause)

    assert clock.now == pytest.approx(began)


def test_what_is_left_of_the_gap() -> None:
    """It begins with the pass, and nothing is left of it before the first one, and after five seconds."""
    clock = Timeline(100.0)
    wake = a_wake(clock)
    assert wake.gap_left_s == 0.0

    wake.begin(None)
    lasts = []
    for _ in range(3):
        clock.now += 2.0
        lasts.append(wake.gap_left_s)

    assert lasts == [3.0, 1.0, 0.0]


def test_the_first_call_of_all_waits_for_nothing() -> None:
    """Before the first pass there is none to keep a distance from."""
    clock = Timeline(100.0)
    wake = a_wake(clock)
    wake.call("a Node")

    wake.pause(60.0)

    assert clock.now == 100.0


@pytest.mark.parametrize("called", [False, True])
def test_the_end_of_the_run_ends_a_pause(called: bool) -> None:
    clock = Timeline(100.0)
    stop = clock.event()
    wake = a_wake(clock, stop)
    wake.begin(None)
    if called:
        wake.call("a Node")

    def end() -> None:
        stop.set()
        wake.interrupt()

    clock.at(102.0, end)
    wake.pause(60.0)

    assert clock.now == 102.0


def test_a_bell_without_a_reason_is_never_left_behind() -> None:
    """However a call and the beginning of a pass meet, no pause spins: each looks at the clock a few times at most."""
    looks = 0

    def clock() -> float:
        nonlocal looks
        looks += 1
        return 0.0

    wake = Wake(threading.Event(), gap_s=0.0, clock=clock)
    ready = threading.Barrier(2)

    def call() -> None:
        for number in range(500):
            ready.wait(60)
            wake.call(str(number))

    caller = threading.Thread(target=call)
    caller.start()
    for _ in range(500):
        ready.wait(60)
        wake.begin(None)
    caller.join()
    wake.begin(None)
    looks = 0
    threading.Timer(0.05, wake.call, ["the end"]).start()
    wake.pause(60.0)

    assert looks < 5
