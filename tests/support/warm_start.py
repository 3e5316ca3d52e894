"""The command in a process of its own that has nothing left to import: a template process, which has loaded it, forks
itself for each run. Python's start and the imports would be most of a short run.

A run has its own arguments, environment, folder and streams, and ends as any process does. With ``COLD_STARTS`` each
run is a new interpreter, as a user's is; ``scripts/soak`` sets it, and the tests of what is installed need no template.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

ROOT = Path(__file__).resolve().parents[2]
_IS_COLD = bool(os.environ.get("COLD_STARTS"))
_PACKAGES = ("desired", "actuators", "reconciler")
_SIZE = struct.Struct("!I")
_CLIENTS = ("deepdiff", "hcloud", "kubernetes.client", "kubernetes.config", "requests.adapters", "rich.console")
"""What the command imports when it needs it."""


class Process(Protocol):
    """What tests use of a process, whichever way it was started: the text streams that are pipes, and its end."""

    pid: int
    stdout: IO[str] | None
    stderr: IO[str] | None
    returncode: int | None

    def poll(self) -> int | None:
        """The exit code, None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, which is waited for. Raises TimeoutExpired."""

    def communicate(self, *, timeout: float | None = None) -> tuple[str, str]:
        """What it writes to its pipes until it ends. Raises TimeoutExpired."""

    def send_signal(self, number: int, /) -> None:
        """Send it a signal, unless it has ended."""

    def terminate(self) -> None:
        """Send it SIGTERM, unless it has ended."""

    def kill(self) -> None:
        """Send it SIGKILL, unless it has ended."""


def start_command(
    arguments: Sequence[str], environment: Mapping[str, str], folder: Path, stdout: int, stderr: int
) -> Process:
    """``reconcile`` with these arguments and nothing in its environment but what is given. A stream is a descriptor or
    ``subprocess.PIPE``."""
    if _IS_COLD:
        command = [sys.executable, "-m", "reconciler", *arguments]
        return subprocess.Popen(command, stdout=stdout, stderr=stderr, text=True, cwd=folder, env=environment)
    return _template().fork(arguments, environment, folder, (stdout, stderr))


class _Fork:
    """A run that the template forked."""

    def __init__(self, pid: int, told: int, stdout: IO[str] | None, stderr: IO[str] | None) -> None:
        self.pid = pid
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None
        self._told = told
        self._readers: list[_Reader] = []

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("reconcile", timeout or 0)
            self.returncode = int(os.read(self._told, 64))
            os.close(self._told)
        return self.returncode

    def communicate(self, *, timeout: float | None = None) -> tuple[str, str]:
        """What it writes to its pipes until it ends. Raises TimeoutExpired."""
        self._readers = self._readers or [_Reader(self.stdout), _Reader(self.stderr)]
        self.wait(timeout)
        stdout, stderr = (reader.all() for reader in self._readers)
        return stdout, stderr

    def send_signal(self, number: int, /) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class _Reader(threading.Thread):
    """Reads a stream to its end."""

    def __init__(self, stream: IO[str] | None) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._text = ""
        self.start()

    def run(self) -> None:
        if self._stream is not None and not self._stream.closed:
            with self._stream:
                self._text = self._stream.read()

    def all(self) -> str:
        """What there was, as soon as it is all."""
        self.join()
        return self._text


class _Template:
    """The process that forks runs, which ends with this one."""

    def __init__(self) -> None:
        self._orders, theirs = socket.socketpair()
        self._ordering = threading.Lock()
        command = [sys.executable, "-m", __name__, str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=ROOT, pass_fds=[theirs.fileno()]
            )
        atexit.register(self._end)

    def fork(
        self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, streams: tuple[int, int]
    ) -> _Fork:
        """Order a run."""
        order = json.dumps([arguments, dict(environment), str(folder)]).encode()
        told, tells = os.pipe()
        pipes = [os.pipe() if stream == subprocess.PIPE else None for stream in streams]
        given = [pipe[1] if pipe else stream for pipe, stream in zip(pipes, streams, strict=True)]
        with self._ordering:
            socket.send_fds(self._orders, [_SIZE.pack(len(order))], [*given, tells])
            self._orders.sendall(order)
            pid = int(self._orders.recv(64))
        for descriptor in (tells, *(pipe[1] for pipe in pipes if pipe)):
            os.close(descriptor)
        stdout, stderr = (os.fdopen(pipe[0], encoding="utf-8") if pipe else None for pipe in pipes)
        return _Fork(pid, told, stdout, stderr)

    def _end(self) -> None:
        self._orders.close()
        self._process.wait()


@functools.cache
def _template() -> _Template:
    return _Template()


_Order = tuple[list[str], dict[str, str], str, list[int]]
"""Arguments, environment and folder of a run; its stdout, its stderr, and where its exit code is told."""


def _serve(orders: socket.socket) -> _Order | None:
    """Fork a process for each order: there it returns the order, and here None when nobody can order any more."""
    waker, wakes = socket.socketpair()
    wakes.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([orders, waker], [], [])
        if waker in ready:
            waker.recv(4096)
            _tell_who_ended(running)
        if orders not in ready:
            continue
        order = _received(orders)
        if order is None:
            return None
        stdout, stderr, tells = order[3]
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for descriptor in (orders.detach(), waker.detach(), wakes.detach(), tells, *running.values()):
                os.close(descriptor)
            return order
        running[pid] = tells
        os.close(stdout)
        os.close(stderr)
        orders.sendall(str(pid).encode())


def _received(orders: socket.socket) -> _Order | None:
    head, descriptors, _, _ = socket.recv_fds(orders, _SIZE.size, 3)
    if not head:
        return None
    (size,) = _SIZE.unpack(head)
    arguments, environment, folder = json.loads(orders.recv(size, socket.MSG_WAITALL))
    return arguments, environment, folder, descriptors


def _tell_who_ended(running: dict[int, int]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with suppress(BrokenPipeError):
            os.write(running[pid], str(os.waitstatus_to_exitcode(status)).encode())
        os.close(running.pop(pid))


def _become(order: _Order) -> None:
    arguments, environment, folder, (stdout, stderr, _) = order
    for descriptor, stream in ((stdout, 1), (stderr, 2)):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    # Those of the template rely on what its own descriptors are.
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - until the end
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = arguments
    try:
        runpy.run_module("reconciler", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        _said.append(end.code)
        raise


_said: list[object] = []
"""The exit code of this run, when it has come to its end."""


def _end_at_once() -> None:
    """The last function that is called at exit. What would follow is to take all modules apart: nobody sees it, and it
    is half of a short run, as each page of memory is copied that was the template's."""
    if _said and isinstance(_said[0], int):
        with suppress(OSError, ValueError):  # else the interpreter says so, as it always does
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(_said[0])


def _load() -> None:
    """Import all that a run may need, and have no collection look at it again."""
    for name in _CLIENTS:
        importlib.import_module(name)
    for package in map(importlib.import_module, _PACKAGES):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    atexit.register(_end_at_once)  # the first that is registered is the last that is called
    _load()
    ordered = _serve(socket.socket(fileno=int(sys.argv[1])))
    if ordered is not None:
        _become(ordered)
