"""The clock that the Lease is counted on: nobody sets it, and it goes on while the machine sleeps."""

import inspect
import runpy
import sys
import time

import pytest

from actuators import concurrency
from actuators.concurrency import THREADS, boot_clock
from reconciler.leader_election.elector import Elector

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="CLOCK_BOOTTIME is Linux's")


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0])
def test_setting_the_time_moves_nothing(monkeypatch: pytest.MonkeyPatch, jump_s: float) -> None:
    """Somebody puts the wall clock right between two readings."""
    before, began = boot_clock(), time.monotonic()
    wall, wall_ns = time.time() + jump_s, time.time_ns() + int(jump_s * 1e9)
    monkeypatch.setattr(time, "time", lambda: wall)
    monkeypatch.setattr(time, "time_ns", lambda: wall_ns)

    assert 0.0 <= boot_clock() - before <= time.monotonic() - began + 1.0


@ON_LINUX
def test_the_seconds_since_the_machine_was_started() -> None:
    before, read, after = time.clock_gettime(time.CLOCK_BOOTTIME), boot_clock(), time.clock_gettime(time.CLOCK_BOOTTIME)

    assert before <= read <= after


@ON_LINUX
def test_sleep_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that slept for an hour has been without its Lease for an hour."""
    awake_s, asleep_s = 100.0, 3600.0
    kernel = {time.CLOCK_MONOTONIC: awake_s, time.CLOCK_BOOTTIME: awake_s + asleep_s}
    monkeypatch.setattr(time, "clock_gettime", kernel.__getitem__)
    monkeypatch.setattr(time, "monotonic", lambda: awake_s)

    assert boot_clock() == awake_s + asleep_s


def test_without_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(time, "monotonic", lambda: 7.0)

    assert runpy.run_path(str(concurrency.__file__))["boot_clock"]() == 7.0


def test_the_lease_is_counted_on_it() -> None:
    assert inspect.signature(Elector).parameters["clock"].default is THREADS.boot_clock is boot_clock
