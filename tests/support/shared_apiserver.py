"""One API server for all processes of a test run, started by the first that needs it.

A keeper process owns the server. Every user holds a shared lock on one file; the keeper waits for the exclusive lock,
gets it when the last user has ended in whatever way, stops the server and ends. The kernel does the counting.
"""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from tests.support.apiserver import ROOT, ApiServer, find_binaries, start_api_server


@contextmanager
def shared_api_server(directory: Path) -> Iterator[ApiServer]:
    """The run's server, started now if this is its first user. Raises RuntimeError when it cannot be started.

    ``directory`` is the same for all processes of the run, and no other run's.
    """
    find_binaries()
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "users.lock").open("a") as users:
        # Waits while the keeper of earlier users is stopping its server.
        fcntl.flock(users, fcntl.LOCK_SH)
        with (directory / "start.lock").open("a") as starting:
            fcntl.flock(starting, fcntl.LOCK_EX)
            if not (directory / "kept").exists():
                _start_keeper(directory)
        yield ApiServer(directory)
        _leave(users.fileno(), directory)


def _start_keeper(directory: Path) -> None:
    command = [sys.executable, "-m", __name__, str(directory)]
    # Returns when the keeper has closed its output, which it does when the server is ready or it has failed.
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if not (directory / "kept").exists():
        raise RuntimeError(f"the shared API server did not start: {done.stderr}")


def _leave(users: int, directory: Path) -> None:
    """As the last user, wait until the server is stopped, so that nothing outlives the run, not even by a moment."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    fcntl.flock(users, fcntl.LOCK_UN)
    deadline = time.monotonic() + 10
    while (directory / "kept").exists() and time.monotonic() < deadline:
        Event().wait(0.005)


def _keep(directory: Path) -> None:
    """The keeper: detach, start, say so by closing the output, stay until the last user has gone."""
    if os.fork():
        os._exit(0)
    os.setsid()
    server = start_api_server(directory)
    kept = directory / "kept"
    kept.touch()
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    with (directory / "users.lock").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_EX)
        server.stop()
        kept.unlink()


if __name__ == "__main__":
    _keep(Path(sys.argv[1]))
