"""The command running for ever on a stage, as seen from outside: its output, its probes, its metrics."""

import json
import re
import signal
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from tests.support.child_processes import free_ports
from tests.support.stage import Stage, wait_for
from tests.support.warm_start import Process

RARELY = ("--interval", "1h")
"""What happens soon was not waited for: something called for it."""
OFTEN = ("--interval", "1s")
_SAMPLE = re.compile(r"^(?P<name>\w+)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$", re.MULTILINE)


class Pages:
    """What somebody serves on a port of this machine."""

    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}"

    def page(self, path: str) -> tuple[int, str]:
        """Status and text of one of its pages; status 0 when nobody answers."""
        try:
            with urllib.request.urlopen(self._address + path, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()
        except OSError as error:
            return 0, str(error)

    def metric(self, name: str, *labels: str) -> float:
        """The sum of the samples of this name that have these labels, such as ``result="error"``."""
        _, text = self.page("/metrics")
        samples = (found for found in _SAMPLE.finditer(text) if found["name"] == name)
        return sum(
            float(found["value"]) for found in samples if all(each in (found["labels"] or "") for each in labels)
        )

    def passes(self, *labels: str) -> int:
        """How many have ended."""
        return int(self.metric("hcloud_reconciler_passes_total", *labels))

    def wait_for_passes(self, count: int, *labels: str) -> None:
        wait_for(lambda: self.passes(*labels) >= count, f"pass {count} {labels}")


class Controller(Pages):
    """One process. ``stdout`` and ``stderr`` have the lines that it has written so far."""

    def __init__(self, process: Process, port: int) -> None:
        super().__init__(port)
        self.process = process
        self.stdout: list[str] = []
        self.stderr: list[str] = []
        outputs = ((process.stdout, self.stdout), (process.stderr, self.stderr))
        self._readers = [threading.Thread(target=_follow, args=output, daemon=True) for output in outputs]
        for reader in self._readers:
            reader.start()

    def told(self) -> list[dict[str, str]]:
        """What the log says of each pass that is told of: its pairs, by their keys."""
        lines = (line.partition(" pass ")[2] for line in list(self.stderr) if " pass result=" in line)
        return [dict(_pair(word) for word in re.findall(r"\w+=(?:'[^']*'|\S+)", line)) for line in lines]

    def triggers(self) -> list[str]:
        """What called for each of these passes."""
        return [told["trigger"] for told in self.told()]

    def says(self, text: str) -> bool:
        return any(text in line for line in list(self.stderr))

    def wait_to_say(self, text: str) -> None:
        wait_for(lambda: self.says(text), f"{text!r} in the log, which has {self.stderr}")

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, float]:
        """Send a signal; the exit code, and the seconds that it took to end."""
        began = time.monotonic()
        self.process.send_signal(number)
        return self.ended(), time.monotonic() - began

    def ended(self) -> int:
        """The exit code, as soon as there is one and all that was written has been read."""
        code = self.process.wait(timeout=30)
        for reader in self._readers:
            reader.join(timeout=30)
        return code


@contextmanager
def started(stage: Stage, *arguments: str, **variables: str | None) -> Iterator[Controller]:
    """A controller with probes and metrics on one port. Killed at the end if it still runs."""
    with started_by(lambda served: stage.start("run", *arguments, **{**served, **variables})) as controller:
        yield controller


@contextmanager
def started_by(start: Callable[[Mapping[str, str]], Process]) -> Iterator[Controller]:
    """The same with a process that ``start`` makes: of the variables that name its port, with its streams as pipes."""
    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"
    served = {"RECONCILER_HEALTH_ADDRESS": address, "HCLOUD_METRICS_ENABLED": "true", "HCLOUD_METRICS_ADDRESS": address}
    controller = Controller(start(served), port)
    try:
        yield controller
    finally:
        controller.process.kill()
        controller.ended()


@contextmanager
def running(stage: Stage, *arguments: str, **variables: str | None) -> Iterator[Controller]:
    """The same, after its first pass."""
    with started(stage, *arguments, **variables) as controller:
        controller.wait_for_passes(1)
        yield controller


def _follow(stream: IO[str], lines: list[str]) -> None:
    with stream:
        for line in stream:
            lines.append(line.rstrip("\n"))  # noqa: PERF401 - others read the list meanwhile


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key, value.strip("'")


def as_json(lines: list[str]) -> list[dict[str, Any]]:
    """Lines of a log, each of which has to be an object of JSON."""
    return [json.loads(line) for line in lines]
