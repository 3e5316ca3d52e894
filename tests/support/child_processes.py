"""Processes that tests start: none of them outlives the test, however that ends."""

import itertools
import os
import random
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hcloud_sandbox.kubernetes.api_server import ending_with_parent

Process = subprocess.Popen[bytes]


def spawn(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> Process:
    """Start a program, named by its path, with all output appended to ``log``.

    ``environment`` is added to this process's own. On Linux the program is killed when the calling thread ends; other
    systems leave that to the caller's ``end``.
    """
    with log.open("ab") as output:
        return subprocess.Popen(
            ending_with_parent(*command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **environment},
            start_new_session=True,
        )


def end(process: Process) -> None:
    process.kill()
    process.wait()


def wait_until(is_ready: Callable[[], bool], processes: Sequence[Process], deadline_s: float) -> bool:
    """Whether the condition came true before the deadline and before one of the processes ended."""
    deadline = time.monotonic() + deadline_s
    while not is_ready():
        if any(process.poll() is not None for process in processes) or time.monotonic() > deadline:
            return False
        try:
            # Not a sleep: it returns at once when the process ends.
            processes[0].wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    return True


def free_ports(count: int) -> list[int]:
    """Different ports that nobody listens on, below those that the system hands out: nobody takes one in a restart."""
    candidates = random.SystemRandom().sample(range(20000, 30000), 1000)
    return list(itertools.islice(filter(_is_free, candidates), count))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
