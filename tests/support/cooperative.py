"""Scheduler for whole controllers in a test: threads of which one at a time goes on, in the order of a seed, on virtual
time.

Every task is a thread, and exactly one has the baton. It gives it back where it waits: for an event, a future, a lock,
the end of another task, or time. Who goes on is drawn from those that can; when none can, time moves to the next moment
at which one does. What happens between two waits happens at one moment, and undisturbed.

Tasks belong to processes, which may stand still for a while and go on, or be killed at any wait.
"""

import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from functools import partial
from math import inf
from queue import SimpleQueue
from random import Random
from typing import Any, TypeVar

from actuators.concurrency import Concurrency
from hcloud_sandbox.clock import SimulatedClock
from tests.support.simulators import START

T = TypeVar("T")
Holds = Callable[[], bool]


def _now() -> bool:
    return True


class Killed(BaseException):
    """Ends the tasks of a process that is dead. What they still ask for does not arrive."""


class Deadlock(AssertionError):
    """Every task waits for another one, and none for time."""


@dataclass(eq=False)
class Process:
    """Some tasks that live and die together."""

    name: str
    stands_until: float = -inf
    """It does nothing before this moment."""
    is_dead: bool = False


@dataclass(eq=False)
class Task:
    """Something that has been started. Implements ``actuators.concurrency.Task``."""

    scheduler: "Scheduler"
    name: str
    process: Process
    thread: threading.Thread
    turn: threading.Semaphore = field(default_factory=partial(threading.Semaphore, 0))
    """Released when it is its turn."""
    holds: Holds = _now
    """What it waits for."""
    until: float = inf
    """How long it waits for that."""
    is_under_way: bool = False
    """Whether it is in the hands of the network, which goes on whether its process does or not."""
    is_over: bool = False

    def is_alive(self) -> bool:
        return not self.is_over

    def join(self, timeout: float | None = None) -> None:
        self.scheduler.wait_until(lambda: self.is_over, timeout)

    @property
    def is_killed(self) -> bool:
        return self.process.is_dead and self is not self.scheduler.first

    def goes_on_at(self, now: float) -> float:
        """The moment at which it can go on, as things stand."""
        process = self.process
        if process.is_dead and self.is_killed:
            return now
        moment = now if self.holds() else self.until
        return moment if self.is_under_way or moment > process.stands_until else process.stands_until


@dataclass(eq=False)
class Scheduler:
    """Hands the baton on. The thread that made it is the first task."""

    seed: int
    clock: SimulatedClock = field(default_factory=lambda: SimulatedClock(source=START.timestamp))
    """Which it moves, as others may."""
    switches: int = 0
    errors: list[str] = field(default_factory=list)
    """What ended a task that nothing should end."""

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self._began = self.clock.timestamp()
        self.first = Task(self, "test", Process("test"), threading.current_thread())
        self._current = self.first
        self._waiting: list[Task] = []
        self._failure: Deadlock | None = None

    @property
    def now(self) -> float:
        return self.clock.timestamp() - self._began

    # For tests.

    def at(self, seconds: float, happens: Callable[[], object]) -> None:
        """Let something happen so many seconds after the beginning."""

        def wait() -> None:
            self.sleep(seconds - self.now)
            happens()

        self._begin(wait, "event", Process("events"))

    def start_process(self, name: str, target: Callable[[], object]) -> Process:
        process = Process(name)
        self._begin(target, name, process)
        return process

    def kill(self, process: Process) -> None:
        process.is_dead = True
        self.wait_until(lambda: not any(task.is_killed and task.process is process for task in self._waiting))

    def close(self) -> None:
        """Kill whatever is left. Raises AssertionError when a task met what it does not handle."""
        while self._waiting:
            self.kill(self._waiting[0].process)
        self.first.process = Process("test")
        assert not self.errors, "\n".join(self.errors)

    @property
    def process(self) -> Process:
        return self._current.process

    def concurrency(self) -> Concurrency:
        """What a run makes everything with that blocks."""
        return Concurrency(
            clock=lambda: self.now,
            boot_clock=lambda: self.now,
            wall_clock=self.clock.timestamp,
            start=lambda target, name: self._begin(target, name, self.process),
            pool=partial(_Pool, self),
            event=partial(_Event, self),
            condition=partial(_Condition, self),
            lock=partial(_Lock, self),
            queue=partial(_Queue, self),
            wait=self._wait_for_futures,
        )

    # Waiting.

    def wait_until(self, holds: Holds, timeout: float | None = None) -> bool:
        """Give the baton back until this holds, for so many seconds at most. Whether it holds."""
        task = self._current
        if task.is_killed:
            raise Killed
        task.holds, task.until = holds, inf if timeout is None else self.now + max(0.0, timeout)
        self._waiting.append(task)
        self._hand_on(task)
        if task is self.first and self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if task.is_killed:
            raise Killed
        return holds()

    def sleep(self, seconds: float) -> None:
        self.wait_until(lambda: False, seconds)

    def travel(self, seconds: float) -> None:
        """The same, while the network has what the task has sent or waits for: it arrives although its process stands
        still."""
        task = self._current
        task.is_under_way = True
        try:
            self.sleep(seconds)
        finally:
            task.is_under_way = False

    def _begin(self, target: Callable[[], object], name: str, process: Process) -> Task:
        thread = threading.Thread(target=lambda: self._carry_out(task, target), name=name, daemon=True)
        task = Task(self, name, process, thread)
        self._waiting.append(task)
        thread.start()
        return task

    def _carry_out(self, task: Task, target: Callable[[], object]) -> None:
        task.turn.acquire()
        try:
            if not task.is_killed:
                target()
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - told when the test ends
            self.errors.append(f"{task.name}: {''.join(traceback.format_exception(error))}")
        task.is_over = True
        self._release(self._next())

    def _hand_on(self, task: Task) -> None:
        chosen = self._next()
        if chosen is not task:
            self._release(chosen)
            task.turn.acquire()

    def _release(self, task: Task) -> None:
        self.switches += 1
        task.turn.release()

    def _next(self) -> Task:
        """The next one to go on; the first task, with what there is to say of it, when none can."""
        now = self.now
        moments = [task.goes_on_at(now) for task in self._waiting]
        moment = min(moments)
        if moment == inf:
            self._failure = Deadlock("\n".join(["no task can go on", *map(self._stands, self._waiting)]))
            self._waiting.remove(self.first)
            self._current = self.first
        else:
            moment = max(now, moment)
            self.clock.advance(moment - now)
            able = [number for number, each in enumerate(moments) if each <= moment]
            self._current = self._waiting.pop(able[int(self.random.random() * len(able))])
        return self._current

    def _stands(self, task: Task) -> str:
        frame = sys._current_frames().get(task.thread.ident or 0) if task is not self.first else None
        places = (
            [] if frame is None else [each for each in traceback.extract_stack(frame) if each.filename not in _OURS]
        )
        where = f" in {places[-1].filename}:{places[-1].lineno}" if places else ""
        return f"{task.process.name}: {task.name} waits{where}"

    def _wait_for_futures(self, futures: Iterable[Future[Any]], timeout_s: float) -> set[Future[Any]]:
        chosen = [*futures]
        self.wait_until(lambda: all(future.done() for future in chosen), timeout_s)
        return {future for future in chosen if not future.done()}


_OURS = (__file__, threading.__file__)


class _Event(threading.Event):
    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler = scheduler

    def wait(self, timeout: float | None = None) -> bool:
        return self._scheduler.wait_until(self.is_set, timeout)


class _Condition(threading.Condition):
    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler = scheduler

    def wait_for(self, predicate: Callable[[], T], timeout: float | None = None) -> T:
        self.release()
        try:
            self._scheduler.wait_until(lambda: bool(predicate()), timeout)
        finally:
            self.acquire()
        return predicate()


class _Queue(SimpleQueue[Any]):
    def __new__(cls, _scheduler: Scheduler) -> "_Queue":
        return super().__new__(cls)

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if block:
            self._scheduler.wait_until(lambda: not self.empty(), timeout)
        return self.get_nowait()


class _Lock:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._is_held = False

    def __enter__(self) -> None:
        self._scheduler.wait_until(lambda: not self._is_held)
        self._is_held = True

    def __exit__(self, *_: object) -> None:
        self._is_held = False


class _Future(Future[Any]):
    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler = scheduler

    def result(self, timeout: float | None = None) -> Any:
        if not self.done():
            self._scheduler.wait_until(self.done, timeout)
        return super().result(0)


class _Pool(Executor):
    def __init__(self, scheduler: Scheduler, most: int, name: str) -> None:
        self._scheduler = scheduler
        self._most, self._name, self._workers = most, name, 0
        self._todo: deque[tuple[_Future, Callable[[], Any]]] = deque()
        self._start = scheduler.concurrency().start

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> _Future:
        future = _Future(self._scheduler)
        self._todo.append((future, partial(call, *args, **kwargs)))
        if self._workers < self._most:
            self._workers += 1
            self._start(self._work, self._name)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        assert not cancel_futures
        if wait and self._workers:
            self._scheduler.wait_until(lambda: not self._workers)

    def _work(self) -> None:
        try:
            while self._todo:
                future, call = self._todo.popleft()
                if future.set_running_or_notify_cancel():
                    _carry_out(future, call)
        finally:
            self._workers -= 1


def _carry_out(future: _Future, call: Callable[[], Any]) -> None:
    try:
        result = call()
    except Killed as end:
        future.set_exception(end)
        raise
    except BaseException as error:  # noqa: BLE001 - as the standard library's executors do
        future.set_exception(error)
    else:
        future.set_result(result)
