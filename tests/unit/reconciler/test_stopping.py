"""Signals: the first asks for a stop, the second would end the process, and afterwards all is as before."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

import pytest

from reconciler.cli import stopping
from reconciler.cli.stopping import Stop, ended_at_the_latest, stop_on_signals
from tests.support.stage import clean_environment
from tests.support.warm_start import start_command

SIGNALS = [signal.SIGTERM, signal.SIGINT]


@contextmanager
def interrupted_by(number: int) -> Iterator[None]:
    """The block ends as SIGINT ends one, and as any other signal does not."""
    if number != signal.SIGINT:
        yield
        return
    with pytest.raises(KeyboardInterrupt):
        yield


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_asks_for_a_stop(number: signal.Signals) -> None:
    with interrupted_by(number), stop_on_signals() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.wait(60)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_second_signal_is_not_caught(number: signal.Signals) -> None:
    with interrupted_by(number), stop_on_signals() as stop:
        os.kill(os.getpid(), number)
        assert stop.wait(60)
        assert [signal.getsignal(each) for each in SIGNALS] == [signal.SIG_DFL, signal.SIG_DFL]


@pytest.mark.parametrize("signalled", [False, True])
def test_handlers_are_put_back(signalled: bool) -> None:
    before = [signal.getsignal(number) for number in SIGNALS]

    def interrupted() -> None:
        with stop_on_signals():
            if signalled:
                os.kill(os.getpid(), signal.SIGTERM)
            raise ValueError("anything")

    with pytest.raises(ValueError, match="anything"):
        interrupted()

    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_ctrl_c_stays_ignored_where_it_was() -> None:
    """As after ``reconcile &`` in a script, where Ctrl-C is meant for another; SIGTERM ends it, and nothing is put back
    that was not changed."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stop_on_signals() as stop:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)
            assert stop.wait(60)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert not stop.is_interrupted
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_who_sleeps_elsewhere_is_woken() -> None:
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
        pytest.param([signal.SIGTERM], 1, "60", "given back\n", 1, id="with the code that was asked for"),
        pytest.param([signal.SIGINT], 0, "60", "given back\n", 130, id="after Ctrl-C with that of shells"),
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
        rest = process.stdout.read()  # communicate() would lose what came together with the first line

    assert (rest, process.returncode) == (said, ended)


def _catches(pid: int) -> bool:
    with Path(f"/proc/{pid}/status").open(encoding="ascii") as status:
        caught = next(line for line in status if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) & 1 << signal.SIGTERM - 1)


def test_a_block_that_ends_in_time_is_left_alone() -> None:
    stop = Stop()
    with ended_at_the_latest(stop, grace_s=30.0):
        stop.set()


def test_a_signal_is_heard_while_the_main_thread_is_stuck() -> None:
    """No handler runs while the main thread looks up a name, or waits elsewhere outside of Python."""
    script = """
import ctypes
from reconciler.cli.stopping import ended_at_the_latest, stop_on_signals

library, lock = ctypes.CDLL(None), ctypes.create_string_buffer(256)
with stop_on_signals() as stop, ended_at_the_latest(stop, grace_s=0.1, code=7):
    print("hanging", flush=True)
    library.pthread_mutex_lock(lock)
    library.pthread_mutex_lock(lock)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "hanging\n"
        process.terminate()
        assert process.wait(30) == 7


def test_a_stderr_that_nobody_reads_does_not_keep_a_process() -> None:
    """Whoever writes into it holds a lock of the log: the last words do not wait for that."""
    script = """
import logging, sys
from reconciler.cli.stopping import ended_at_the_latest, stop_on_signals

logging.basicConfig(stream=sys.stderr)
with stop_on_signals() as stop, ended_at_the_latest(stop, lambda: print("given back", flush=True), grace_s=0.1, code=7):
    print("hanging", flush=True)
    while True:
        logging.warning("x" * 1000)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "hanging\n"
        process.terminate()
        assert process.wait(30) == 7
        assert process.stdout.read() == "given back\n"


def test_the_first_process_of_a_container_is_ended_by_a_second_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel would ignore it where the process does not say what it does: then the handlers stay, and the thread
    that hears of signals ends the process."""
    monkeypatch.setattr(stopping, "_FIRST_PROCESS", os.getpid())
    ended = SimpleQueue[int]()
    monkeypatch.setattr(os, "_exit", ended.put)
    with stop_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.wait(60)
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        os.kill(os.getpid(), signal.SIGTERM)
        assert ended.get(timeout=60) == 128 + signal.SIGTERM


INTERRUPTED = """
import os, signal, sys
from reconciler.cli import main

moments = [({event!r}, {what!r})]

def heard(event, arguments):
    if moments and event == moments[0][0] and moments[0][1] in str(arguments):
        moments.clear()
        os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(heard)
sys.argv[1:] = [{command!r}]
sys.exit(main())
"""
"""A run of the whole command that gets SIGINT when the interpreter reports this event with this in its arguments."""


@pytest.mark.parametrize(
    ("command", "event", "what"),
    [
        pytest.param("demo", "import", "reconciler.cli.app", id="before anything is loaded"),
        pytest.param("demo", "import", "yaml", id="while a library is loaded"),
        pytest.param("demo", "http.client.send", "GET /v1/servers", id="while the demo plans"),
        pytest.param("demo", "http.client.send", "POST /v1/load_balancers", id="while the demo applies"),
        pytest.param("sandbox", "tempfile.mkdtemp", "", id="while simulators start"),
    ],
)
def test_ctrl_c_at_any_moment(command: str, event: str, what: str, tmp_path: Path) -> None:
    """One line, the exit code of shells, and nothing is left behind; nor does the demo say that it was the whole
    way."""
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(command=command, event=event, what=what)],
        env={**clean_environment(), "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    said = ran.stderr.splitlines()
    assert (ran.returncode, said[-1].partition(": ")[2]) == (130, "interrupted")
    assert command == "sandbox" or len(said) == 1  # which may have started when it hears the signal
    assert "That was the whole way" not in ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_what_runs_in_the_background_is_stopped_at_the_end() -> None:
    """A page that was asked for ahead, and that a command which failed never took, went on being asked for."""
    with stop_on_signals() as stop:
        assert not stop.is_set()
    assert stop.is_set()


@pytest.mark.parametrize(("mode", "code"), [(["run"], 0), (["--once"], 1), (["--dry-run"], 1)])
def test_a_credential_plugin_that_hangs_does_not_keep_a_process(mode: Sequence[str], code: int, tmp_path: Path) -> None:
    """Before anything is connected a signal ends every kind of run as well."""
    fifo = tmp_path / "called"
    os.mkfifo(fifo)
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "sh",
        "args": ["-c", f"echo $$ >'{fifo}'; exec sleep 60 </dev/null >/dev/null 2>&1"],
    }
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        json.dumps(
            {
                "current-context": "it",
                "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
                "clusters": [{"name": "it", "cluster": {"server": "http://127.0.0.1:9"}}],
                "users": [{"name": "it", "user": {"exec": plugin}}],
            }
        )
    )
    environ = {**clean_environment(), "HCLOUD_TOKEN": "x" * 64, "KUBECONFIG": str(kubeconfig)}
    process = start_command(mode, environ, tmp_path, subprocess.PIPE, subprocess.PIPE)
    plugin_id = int(fifo.read_text())
    process.terminate()
    assert process.wait(30) == code
    os.kill(plugin_id, signal.SIGKILL)  # it is left behind
    process.communicate(timeout=30)
