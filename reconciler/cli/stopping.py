"""Signals: the first asks for a stop between changes, the second ends the process at once.

Before a command says that it can be stopped, and after that, the entry point handles Ctrl-C (``reconciler.cli``).

A hanging call must not keep a process that was asked to stop: Kubernetes waits 30 s before it kills it, and no other
process leads meanwhile.
"""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from reconciler.cli import INTERRUPTED

_log = logging.getLogger("hcloud-reconciler.stopping")

GRACE_S = 7.5
"""How long what is under way may take to end after a signal."""
READING_GRACE_S = 2.0
"""And what only reads: nothing has to be brought to an end."""
LAST_WORDS_S = 2.2
"""And how long what else there is to do then, of which giving back the Lease takes 2 s at most: 10 s in all."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_IGNORED = (signal.SIGINT, signal.SIG_IGN)
_FIRST_PROCESS = 1
_BY_SIGNAL = 128
"""Added to a signal's number this is the exit code of who was ended by it, as shells have it."""


class Stop(threading.Event):
    """An event that tells when to come to an end, and wakes a thread that sleeps on another one."""

    def __init__(self) -> None:
        super().__init__()
        self.is_signalled = False
        """Whether it was a signal that set the event."""
        self.is_interrupted = False
        """Whether it was Ctrl-C."""
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

    def reraise(self) -> None:
        """Raise the KeyboardInterrupt that Ctrl-C was not at the time."""
        if self.is_interrupted:
            raise KeyboardInterrupt


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """An event that SIGTERM or SIGINT sets; the next one ends the process. Signals are restored at the end, and the
    event is set: what was asked for in the background is not asked for again.

    Raises KeyboardInterrupt at the end of the block if it was SIGINT, whatever the block returns or raises: what is to
    be said all the same has to be said inside.

    Python's handlers run in the main thread, which may be stuck where none of them runs, as in a look-up of a name. So
    a thread hears of signals from the interpreter itself. After the first they do what they do by default, but in a
    container: the first process of one ignores a signal of which it does not say what it does (pid_namespaces(7)).

    Where SIGINT was ignored before, it stays so: a shell without job control starts ``reconcile &`` like that, and
    Ctrl-C is then meant for what runs in the foreground. SIGTERM is heard all the same.
    """
    stop = Stop()
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    before = _handlers()

    def by_default(_number: int, _frame: FrameType | None) -> None:
        if os.getpid() != _FIRST_PROCESS:
            for number in before:
                signal.signal(number, signal.SIG_DFL)

    def listen() -> None:
        while number := os.read(ear, 1)[0]:
            if number in _SIGNALS and stop.is_signalled:
                os._exit(_BY_SIGNAL + number)
            if number in _SIGNALS:
                stop.is_signalled = True
                stop.is_interrupted = number == signal.SIGINT
                stop.set()

    listener = threading.Thread(target=listen, name="signals", daemon=True)
    listener.start()
    told_before = signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    for number in before:
        signal.signal(number, by_default)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(told_before)
        os.write(mouth, b"\0")
        listener.join()
        os.close(mouth)
        os.close(ear)
        stop.set()
        stop.reraise()


def _handlers() -> dict[signal.Signals, Any]:
    """Signal that is to be heard → its handler until now."""
    found = {number: signal.getsignal(number) for number in _SIGNALS}
    return {number: handler for number, handler in found.items() if (number, handler) != _IGNORED}


@contextmanager
def ended_at_the_latest(
    stop: Stop, last_words: Callable[[], object] = lambda: None, *, grace_s: float = GRACE_S, code: int = 0
) -> Iterator[None]:
    """Ends the process with ``code``, after Ctrl-C with 130, when the block goes on for longer than ``grace_s`` after a
    stop, whatever hangs in it. ``last_words`` is called before, for what has to be given back. Nor do they keep the
    process, or a stderr without a reader, for longer than 2.2 s."""
    over, asked = threading.Event(), threading.Event()
    stop.wakes(asked.set)

    def watch() -> None:
        asked.wait()
        if over.wait(grace_s):
            return
        last = threading.Thread(target=end, name="last-words", daemon=True)
        last.start()
        last.join(LAST_WORDS_S)
        os._exit(INTERRUPTED if stop.is_interrupted else code)

    def end() -> None:
        last_words()
        why = "interrupted" if stop.is_interrupted else "told to stop"
        _log.warning("%s: ended without what is still under way after %g s", why, grace_s)
        sys.stdout.flush()
        sys.stderr.flush()

    watcher = threading.Thread(target=watch, name="last-resort", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        asked.set()
        watcher.join()


@contextmanager
def stop_within(grace_s: float) -> Iterator[Stop]:
    """Both: the event that signals set, after which the block has so long to come to its end. Then the code is 1."""
    with stop_on_signals() as stop, ended_at_the_latest(stop, grace_s=grace_s, code=1):
        yield stop
