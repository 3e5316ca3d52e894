"""What goes on at the same time in a run, and the clocks that it goes by: threads of the standard library and real time
by default.

Whatever blocks in a controller's passes is made here: threads and pools, events, conditions, queues, and locks that are
held over a request. So a test can run a whole controller under a scheduler of its own, on virtual time. A lock that is
never held over anything that blocks needs no such care, and is the standard library's. What answers browsers and
scrapes, waits for signals or bounds a command makes threads itself: ``tests/unit/test_seams.py`` has the reasons.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_futures
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from queue import SimpleQueue
from typing import Any, Protocol

if sys.platform == "linux":

    def boot_clock() -> float:
        """Seconds of a clock that is never set, and that goes on while the machine sleeps."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

else:

    def boot_clock() -> float:
        """Seconds of a clock that is never set."""
        return time.monotonic()


class Task(Protocol):
    """What has been started and runs beside its caller."""

    def is_alive(self) -> bool:
        """Whether it still runs."""

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, for so many seconds at most."""


def start_thread(target: Callable[[], object], name: str) -> Task:
    """A daemon thread that has been started. Raises RuntimeError when the system has none to give."""
    started = threading.Thread(target=target, name=name, daemon=True)
    started.start()
    return started


def _wait(futures: Iterable[Future[Any]], timeout_s: float) -> set[Future[Any]]:
    return wait_for_futures(futures, timeout_s).not_done


@dataclass(frozen=True, slots=True)
class Concurrency:
    """Makes everything of a run that blocks."""

    clock: Callable[[], float] = time.monotonic
    """Seconds of a clock that is never set."""
    boot_clock: Callable[[], float] = boot_clock
    """The same, of one that goes on while the machine sleeps."""
    wall_clock: Callable[[], float] = time.time
    """Seconds since the epoch, as the machine has it."""
    start: Callable[[Callable[[], object], str], Task] = start_thread
    """Starts what runs beside the caller, under a name. Raises RuntimeError when there is no thread for it."""
    pool: Callable[[int, str], Executor] = ThreadPoolExecutor
    """So many threads, and what they are called."""
    event: Callable[[], threading.Event] = threading.Event
    condition: Callable[[], threading.Condition] = threading.Condition
    lock: Callable[[], AbstractContextManager[Any]] = threading.Lock
    """For a lock that is held over a request."""
    queue: Callable[[], SimpleQueue[Any]] = SimpleQueue
    wait: Callable[[Iterable[Future[Any]], float], set[Future[Any]]] = _wait
    """Waits for futures, for so many seconds at most; returns those that have not ended."""

    def now(self) -> datetime:
        """The time, as the machine has it."""
        return datetime.fromtimestamp(self.wall_clock(), UTC)


THREADS = Concurrency()
