"""Signals: the first asks for a stop between changes, the second ends the process at once.

What hangs must not keep a process that was asked to go: Kubernetes waits 30 s before it kills, and nobody else leads
meanwhile.
"""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType

_log = logging.getLogger("hcloud-reconciler.stopping")

GRACE_S = 8.0
"""How long what is under way may take to end after a signal; what else there is to do at the end takes 2 s at most."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stop(threading.Event):
    """An event that tells when to come to an end, and wakes whoever sleeps on another one."""

    def __init__(self) -> None:
        super().__init__()
        self._sleepers: list[Callable[[], object]] = []

    def wakes(self, sleeper: Callable[[], object]) -> None:
        """Have this called when the event is set; at once where it is."""
        self._sleepers.append(sleeper)
        if self.is_set():
            sleeper()

    def set(self) -> None:
        """Set the event."""
        super().set()
        for wake in self._sleepers:
            wake()


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """An event that SIGTERM or SIGINT sets; after that the signals do what they do by default. Restored at the end."""
    stop = Stop()
    # A handler runs in the middle of anything, also of an event's own lock: only this queue may be touched there.
    came: SimpleQueue[bool] = SimpleQueue()
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def ask(_number: int, _frame: FrameType | None) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        came.put(True)

    def listen() -> None:
        if came.get():
            stop.set()

    listener = threading.Thread(target=listen, name="signals", daemon=True)
    listener.start()
    for number in _SIGNALS:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        came.put(False)
        listener.join()


@contextmanager
def ended_at_the_latest(
    stop: Stop, last_words: Callable[[], object] = lambda: None, *, grace_s: float = GRACE_S, code: int = 0
) -> Iterator[None]:
    """Ends the process with ``code`` when the block goes on for longer than ``grace_s`` after a stop, whatever hangs in
    it. ``last_words`` is called before, for what has to be given back; it has to come to an end by itself."""
    over, asked = threading.Event(), threading.Event()
    stop.wakes(asked.set)

    def watch() -> None:
        asked.wait()
        if over.wait(grace_s):
            return
        _log.warning("something hangs: ended after %g s without it", grace_s)
        last_words()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    watcher = threading.Thread(target=watch, name="last-resort", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        asked.set()
        watcher.join()
