"""Signals: the first asks for a stop, the second would end the process, and afterwards all is as before."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from reconciler.cli.stopping import Stop, ended_at_the_latest, stop_on_signals

SIGNALS = [signal.SIGTERM, signal.SIGINT]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_asks_for_a_stop(number: signal.Signals) -> None:
    """The first signal sets the event, and the process goes on."""
    with stop_on_signals() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.wait(5)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_second_signal_is_not_caught(number: signal.Signals) -> None:
    """After the first signal both do what they do by default: the next one ends the process at once."""
    with stop_on_signals() as stop:
        os.kill(os.getpid(), number)
        assert stop.wait(5)
        assert [signal.getsignal(each) for each in SIGNALS] == [signal.SIG_DFL, signal.SIG_DFL]


@pytest.mark.parametrize("signalled", [False, True])
def test_handlers_are_put_back(signalled: bool) -> None:
    """At the end signals are handled as they were before, even when the block raised."""
    before = [signal.getsignal(number) for number in SIGNALS]

    def interrupted() -> None:
        with stop_on_signals():
            if signalled:
                os.kill(os.getpid(), signal.SIGTERM)
            raise ValueError("anything")

    with pytest.raises(ValueError, match="anything"):
        interrupted()

    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_nobody_signals() -> None:
    """Without a signal nothing stops."""
    with stop_on_signals() as stop:
        pass

    assert not stop.is_set()


def test_who_sleeps_elsewhere_is_woken() -> None:
    """A stop calls whoever asked for it, and at once who asks too late."""
    stop, woken = Stop(), list[str]()
    stop.wakes(lambda: woken.append("in time"))
    assert woken == []

    stop.set()
    stop.wakes(lambda: woken.append("too late"))

    assert woken == ["in time", "too late"]


HANGS = """
import signal, sys, threading
from reconciler.cli.stopping import ended_at_the_latest, stop_on_signals

with stop_on_signals() as stop, ended_at_the_latest(stop, lambda: print("given back"), grace_s=0.1, code={code}):
    print("hanging", flush=True)
    threading.Event().wait({hangs})
print("left alone")
"""


@pytest.mark.parametrize(
    ("signals", "code", "hangs", "said", "ended"),
    [
        pytest.param([signal.SIGTERM], 0, "60", "given back\n", 0, id="something hangs: the end comes all the same"),
        pytest.param([signal.SIGINT], 1, "60", "given back\n", 1, id="with the code that was asked for"),
        pytest.param([signal.SIGTERM, signal.SIGTERM], 0, "60", "", -signal.SIGTERM, id="a second signal: at once"),
        pytest.param([], 0, "0.01", "left alone\n", 0, id="nothing hangs, and nobody signals"),
    ],
)
def test_what_hangs_does_not_keep_a_process(
    signals: Sequence[signal.Signals], code: int, hangs: str, said: str, ended: int
) -> None:
    """After the grace period the process ends, and gives back before what it holds."""
    script = HANGS.format(code=code, hangs=hangs)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "hanging\n"
        for number in signals:
            process.send_signal(number)
            while len(signals) > 1 and process.poll() is None and _catches(process.pid):
                pass
        rest, _ = process.communicate(timeout=30)

    assert (rest, process.returncode) == (said, ended)


def _catches(pid: int) -> bool:
    """Whether the process still handles SIGTERM itself."""
    with Path(f"/proc/{pid}/status").open(encoding="ascii") as status:
        caught = next(line for line in status if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) & 1 << signal.SIGTERM - 1)


def test_a_block_that_ends_in_time_is_left_alone() -> None:
    """Nothing happens to who comes to an end."""
    stop = Stop()
    with ended_at_the_latest(stop, grace_s=30.0):
        stop.set()
