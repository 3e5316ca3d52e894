"""What people start: the simulators, or the fault proxy, until they stop it.

Whoever has a command line for this reads flags, says what is wrong with them, and hears signals.
"""

import os
import shlex
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, closing
from typing import Any

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.demo_world import demo_world
from hcloud_sandbox.flags import parts_in
from hcloud_sandbox.kubelets import KubeletOptions
from hcloud_sandbox.kubernetes.api_server import ASSETS, assets_of
from hcloud_sandbox.proxy import FaultProxy
from hcloud_sandbox.running import Sandbox, SandboxOptions, read_world
from hcloud_sandbox.serving import BackgroundLoop

Stopping = Callable[[], AbstractContextManager[threading.Event]]
"""Hears signals for the length of a block, and tells by an event that one came."""

_LOCAL = ("127.0.0.1", "localhost")


def serve(flags: Mapping[str, Any], environ: Mapping[str, str], stopping: Stopping) -> None:
    """Serve until a signal comes. Raises ValueError and OSError with a sentence for people, and BrokenPipeError without
    a reader."""
    if flags["--proxy"] is not None:
        _proxy(flags, stopping)
    else:
        _simulators(flags, environ, stopping)


def _simulators(flags: Mapping[str, Any], environ: Mapping[str, str], stopping: Stopping) -> None:
    file = flags["--world"]
    without_kubernetes, without_robot = (part in parts_in(flags) for part in ("kubernetes", "robot"))
    assets = assets_of(environ) if flags["--kubernetes"] == "auto" and not without_kubernetes else None
    world = read_world(file) if file is not None else demo_world(SimulatedClock().now(), dedicated=not without_robot)
    options = SandboxOptions(
        world=world,
        listen=flags["--listen"],
        hetzner_port=flags["--hetzner-port"],
        kubernetes_port=flags["--kubernetes-port"],
        robot_port=flags["--robot-port"],
        without_kubernetes=without_kubernetes,
        kubernetes_assets=assets,
        without_robot=without_robot,
        action_s=flags["--action-ms"] / 1000,
        latency_s=flags["--latency-ms"] / 1000,
        rate_limit=flags["--rate-limit"],
        kubelets=_kubelets(flags),
        network_attachments=flags["--network-attachments"],
    )
    if flags["--kubernetes"] == "auto" and not without_kubernetes:
        which = f"the API server in {assets}" if assets else f"the small double: {ASSETS} names no API server"
        sys.stderr.write(f"Kubernetes is {which}.\n")
    with stopping() as stop, ExitStack() as stack:
        try:
            running = stack.enter_context(Sandbox(options, stopped=stop.is_set))
        except InterruptedError:
            return
        except ValueError as error:
            raise ValueError(f"world file {file!r} cannot be used: {error}") from error
        if stop.is_set():
            return
        exports = running.environment | without_proxy(environ)
        _tell("".join(f"export {name}={shlex.quote(value)}\n" for name, value in exports.items()))
        paste = " Paste the lines above into another terminal." if sys.stdout.isatty() else ""
        sys.stderr.write(f"The sandbox runs until Ctrl-C.{paste}\n")
        stop.wait()


def _kubelets(flags: Mapping[str, Any]) -> KubeletOptions | None:
    if "kubelets" in parts_in(flags):
        return None
    return KubeletOptions(join_s=flags["--join-ms"] / 1000, grace_s=flags["--node-grace-ms"] / 1000)


def without_proxy(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that keep clients from asking a proxy for addresses of this machine; what is exempt stays so.

    Of the two spellings each client has its own favorite, so one that is set in lower case is set in both.
    """
    names = ["no_proxy", "NO_PROXY"] if environ.get("no_proxy") else ["NO_PROXY"]
    given = [part.strip() for name in names for part in environ.get(name, "").split(",")]
    exempt = ["*"] if "*" in given else dict.fromkeys([*filter(None, given), *_LOCAL])
    return dict.fromkeys(names, ",".join(exempt))


def _proxy(flags: Mapping[str, Any], stopping: Stopping) -> None:
    upstream, ca_file = flags["--proxy"], flags["--proxy-ca-file"]
    with stopping() as stop, closing(BackgroundLoop()) as loop:
        try:
            proxy = FaultProxy(loop, upstream, port=flags["--proxy-port"], address=flags["--listen"], ca_file=ca_file)
        except OSError as error:
            raise OSError(f"--proxy-ca-file {ca_file!r} cannot be used: {error.strerror or error}") from error
        try:
            proxy.start()
            _tell(f"{proxy.url}\n")
            sys.stderr.write(f"Everything sent there goes to {upstream}; faults: POST {proxy.url}/_sandbox/faults\n")
            stop.wait()
        finally:
            proxy.stop()


def _tell(text: str) -> None:
    """Write it to stdout. Raises OSError when that is full, BrokenPipeError without a reader."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # What is still to be written vanishes, so that the interpreter does not complain about it at its end.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
        if isinstance(error, BrokenPipeError):
            raise
        raise OSError(f"stdout cannot be written: {error.strerror or error}") from error
