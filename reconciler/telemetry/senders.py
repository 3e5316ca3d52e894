"""Threads for calls that may hang: unlike those of an executor, no process waits for them at its end."""

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress

from reconciler.telemetry.logs import pairs

_log = logging.getLogger("hcloud-reconciler.senders")


class Senders:
    """Carries out what is handed over side by side, in threads that last for as long as there is something to do."""

    def __init__(self, most: int, name: str) -> None:
        """``most`` is how many go on at once."""
        self._most = most
        self._name = name
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[None], Callable[[], None]]] = deque()
        self._threads = 0

    def submit(self, call: Callable[[], None]) -> Future[None]:
        """Have this called when its turn comes, and return at once. Until then it may be cancelled."""
        future: Future[None] = Future()
        with self._lock:
            self._waiting.append((future, call))
            if self._threads < self._most:
                self._begin()
        return future

    def _begin(self) -> None:
        """One thread more. Where the system has none to give, those that there are go on, or the next call tries."""
        with suppress(RuntimeError):
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
            self._threads += 1

    def _work(self) -> None:
        while (turn := self._next()) is not None:
            future, call = turn
            if not future.set_running_or_notify_cancel():
                continue
            try:
                call()
            except Exception as error:  # noqa: BLE001 - a bug in one call must not cost the others their thread
                _log.warning("internal error beside a pass %s", pairs(what=self._name, error=repr(error)))
                future.set_exception(error)
            else:
                future.set_result(None)

    def _next(self) -> tuple[Future[None], Callable[[], None]] | None:
        """Whose turn it is; None: nobody's, and the thread that asks counts no more."""
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._threads -= 1
            return None
