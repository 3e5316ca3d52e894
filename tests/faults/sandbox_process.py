"""``reconcile sandbox`` as a process of its own, as people start it."""

import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.support.stage import DEADLINE_S, clean_environment, killed_at_the_end

COMMAND = [sys.executable, "-m", "reconciler"]
NOBODY = "http://127.0.0.1:9"
"""An address where nothing listens."""


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    return {**clean_environment(), **variables}


@contextmanager
def running(*arguments: str, **variables: str) -> Iterator[dict[str, str]]:
    """A sandbox of its own process, as the environment that it prints. SIGTERM ends it well; stderr is inherited."""
    process = subprocess.Popen(
        [*COMMAND, "sandbox", *arguments], stdout=subprocess.PIPE, text=True, env=environment(variables)
    )
    with killed_at_the_end(process):
        assert process.stdout is not None
        exports = {}
        while "NO_PROXY" not in exports:
            name, _, value = process.stdout.readline().removeprefix("export ").partition("=")
            (exports[name],) = shlex.split(value)
        yield exports
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
