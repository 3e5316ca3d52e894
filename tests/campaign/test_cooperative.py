"""The scheduler on which whole controllers run: order, time, deadlocks, and the end of processes."""

from collections.abc import Callable, Iterator

import pytest

from actuators.concurrency import Concurrency
from tests.support.cooperative import Deadlock, Killed, Scheduler


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    made = Scheduler(1)
    yield made
    made.close()


def _worked(seed: int) -> list[tuple[float, str]]:
    """What some workers did, and when."""
    scheduler, done = Scheduler(seed), list[tuple[float, str]]()
    make = scheduler.concurrency()
    said, ended, changed = make.event(), make.queue(), make.condition()

    def work(number: int) -> None:
        scheduler.sleep(1.0)
        done.append((scheduler.now, f"{number}"))
        with changed:
            changed.notify_all()
        ended.put(number)

    def lead() -> None:
        with make.pool(3, "work") as pool:
            futures = [pool.submit(work, number) for number in range(8)]
            with changed:
                changed.wait_for(lambda: len(done) >= 4)
            done.append((scheduler.now, "half"))
            assert [future.result() for future in futures] == [None] * 8
        assert sorted(ended.get() for _ in futures) == [*range(8)]
        said.wait(5.0)
        done.append((scheduler.now, "end"))

    scheduler.start_process("lead", lead)
    scheduler.sleep(60.0)
    scheduler.close()
    return done


def test_a_seed_decides_the_order() -> None:
    """Three workers at a time, a second each."""
    orders = [_worked(seed) for seed in range(6)]
    assert orders == [_worked(seed) for seed in range(6)]
    assert len({str(order) for order in orders}) > 1
    assert [moment for moment, _ in sorted(orders[0])] == [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 8.0]


def test_a_deadlock_says_where_each_stands(scheduler: Scheduler) -> None:
    """Two that wait for each other, and the test for both."""
    make = scheduler.concurrency()
    one, other = make.event(), make.event()

    def waits_for_the_other() -> None:
        other.wait()
        one.set()

    def waits_for_the_one() -> None:
        one.wait()
        other.set()

    scheduler.start_process("first", waits_for_the_other)
    scheduler.start_process("second", waits_for_the_one)
    with pytest.raises(Deadlock) as found:
        make.event().wait()

    said = str(found.value)
    assert "first: first waits in" in said
    assert "second: second waits in" in said
    assert said.count("test_cooperative.py:") == 2


def test_a_process_that_is_killed_does_nothing_more(scheduler: Scheduler) -> None:
    """It ends where it waits, whatever it would have done there."""
    done: list[str] = []

    def run() -> None:
        try:
            scheduler.sleep(10.0)
            done.append("went on")
        except Exception:  # noqa: BLE001 - as code that survives everything has it
            done.append("caught")
        finally:
            done.append("ended")
            with pytest.raises(Killed):
                scheduler.sleep(1.0)

    process = scheduler.start_process("victim", run)
    scheduler.sleep(5.0)
    scheduler.kill(process)

    assert (done, scheduler.now) == (["ended"], 5.0)


def test_a_process_that_stands_still(scheduler: Scheduler) -> None:
    """What it has sent arrives all the same; nothing else happens until it goes on."""
    done: list[tuple[float, str]] = []

    def send() -> None:
        scheduler.travel(2.0)
        done.append((scheduler.now, "arrived"))
        scheduler.sleep(1.0)
        done.append((scheduler.now, "read"))

    process = scheduler.start_process("slow", send)
    scheduler.sleep(1.0)
    process.stands_until = 100.0
    scheduler.sleep(200.0)

    assert done == [(2.0, "arrived"), (100.0, "read")]


def _holds_the_lock(make: Concurrency, scheduler: Scheduler, done: list[float]) -> Callable[[], None]:
    lock = make.lock()

    def hold() -> None:
        with lock:
            scheduler.sleep(1.0)
            done.append(scheduler.now)

    return hold


def test_a_lock_over_a_wait(scheduler: Scheduler) -> None:
    """One after the other has it."""
    done: list[float] = []
    hold = _holds_the_lock(scheduler.concurrency(), scheduler, done)
    for number in range(3):
        scheduler.start_process(f"{number}", hold)
    scheduler.sleep(10.0)
    assert done == [1.0, 2.0, 3.0]


def test_what_nothing_handles_is_told() -> None:
    """A task that fails does not fail in silence."""
    scheduler = Scheduler(1)
    scheduler.start_process("wrong", lambda: 1 / 0)
    scheduler.sleep(1.0)
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        scheduler.close()
