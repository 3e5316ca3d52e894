"""Watching from outside, while a run goes on, for the time when all Services are served."""

import threading
import time
from types import TracebackType

from processes import SandboxProcess, unpublished

_PAUSE_S = 0.2


class Watch:
    """Looks at the Services of a sandbox now and then, as a context manager."""

    def __init__(self, sandbox: SandboxProcess) -> None:
        self._sandbox = sandbox
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.served_at: float | None = None
        """Seconds since the epoch when all were first seen served, up to 0.2 s late; None: they never were."""

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        is_over = False
        while self.served_at is None and not is_over:
            is_over = self._over.wait(_PAUSE_S)  # when it is, there is one more look: all may just have been served
            if not any(unpublished(self._sandbox.services())):
                self.served_at = time.time()
