"""Threads that send side by side, and that nobody waits for at the end of the process."""

import subprocess
import sys
import threading
from concurrent.futures import wait

import pytest

from reconciler.telemetry.events import Senders


def test_no_more_at_once_than_told() -> None:
    senders, at_once, go = Senders(3, "tests"), threading.Semaphore(0), threading.Event()
    most: list[int] = []

    def call() -> None:
        at_once.release()
        go.wait(60)
        most.append(len([thread for thread in threading.enumerate() if thread.name == "tests"]))

    futures = [senders.submit(call) for _ in range(10)]
    for _ in range(3):
        assert at_once.acquire(timeout=60)
    assert not at_once.acquire(blocking=False)
    go.set()

    assert not wait(futures, timeout=60).not_done
    assert (len(most), max(most)) == (10, 3)


def test_threads_end_when_there_is_nothing_to_do() -> None:
    senders = Senders(2, "tests")
    for _ in range(2):
        wait([senders.submit(lambda: None) for _ in range(5)], timeout=60)
        for thread in threading.enumerate():
            if thread.name == "tests":
                thread.join(60)
        assert not [thread for thread in threading.enumerate() if thread.name == "tests"]


def test_what_is_cancelled_before_its_turn_is_never_called() -> None:
    senders, begun, go, called = Senders(1, "tests"), threading.Event(), threading.Event(), list[str]()

    def first() -> None:
        begun.set()
        go.wait(60)
        called.append("first")

    futures = [senders.submit(first), *(senders.submit(lambda: called.append("other")) for _ in range(2))]
    assert begun.wait(60)
    assert [futures[0].cancel(), futures[1].cancel()] == [False, True]
    go.set()

    assert not wait(futures, timeout=60).not_done
    assert called == ["first", "other"]


def test_a_bug_in_one_call_keeps_no_other_from_its_turn() -> None:
    senders = Senders(1, "tests")

    def broken() -> None:
        raise ValueError("a bug")

    futures = [senders.submit(broken), senders.submit(lambda: None)]

    with pytest.raises(ValueError, match="a bug"):
        futures[0].result(5)
    assert futures[1].result(5) is None


def test_a_call_that_hangs_does_not_keep_a_process_at_its_end() -> None:
    """The interpreter joins the threads of every executor before it ends, for as long as that takes."""
    script = """
import threading
from reconciler.telemetry.events import Senders

senders, begun = Senders(1, "tests"), threading.Event()
senders.submit(lambda: begun.set() or threading.Event().wait())
begun.wait()
print("ended")
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True)

    assert (ran.stdout, ran.stderr) == ("ended\n", "")
