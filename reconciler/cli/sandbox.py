"""``reconcile sandbox``: the simulators, or the fault proxy, until a signal comes."""

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.demo_world import demo_world
from hcloud_sandbox.kubelets import KubeletOptions
from hcloud_sandbox.proxy import FaultProxy
from hcloud_sandbox.running import Sandbox, SandboxOptions, read_world
from hcloud_sandbox.serving import BackgroundLoop
from reconciler.cli.stopping import stop_on_signals
from reconciler.cli.streams import fail, swallow_stdout
from reconciler.config.options import FLAGS, Command, read_flags
from reconciler.config.program import BAD_USAGE

_PARTS = frozenset({"kubelets", "kubernetes", "robot"})
_OF_THE_PROXY = ("--proxy-port", "--proxy-ca-file")
_OF_SIMULATORS = tuple(
    name for name, row in FLAGS.items() if Command.SANDBOX in row.commands and name not in ("--proxy", *_OF_THE_PROXY)
)
_LOCAL = ("127.0.0.1", "localhost")


def sandbox(_words: Sequence[str], given: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """Serve until a signal comes; the exit code. Raises, when all is stopped, KeyboardInterrupt for Ctrl-C and
    BrokenPipeError without a reader."""
    usage: list[str] = []
    flags = read_flags(Command.SANDBOX, given, environ, usage, usage)
    usage += _contradictions(flags, given)
    if usage:
        return fail(*usage, code=BAD_USAGE)
    try:
        if flags["--proxy"] is not None:
            return _proxy(flags["--proxy"], flags["--proxy-port"], flags["--proxy-ca-file"])
        return _simulators(flags, environ)
    except BrokenPipeError:
        raise
    except (ValueError, OSError) as error:
        return fail(str(error), code=1)


def _contradictions(flags: Mapping[str, Any], given: Mapping[str, str]) -> list[str]:
    """Errors in combinations of flags, and in values that the table does not check."""
    lines = []
    if _parts(flags) - _PARTS:
        lines.append(f"--without is {flags['--without']!r}: expect a list of {', '.join(sorted(_PARTS))}")
    if not flags["--rate-limit"]:
        lines.append("--rate-limit is '0': expect a number of 1 or more")
    if flags["--proxy"] is None:
        return lines + [f"{name} goes with --proxy" for name in _OF_THE_PROXY if name in given]
    if not _is_address(flags["--proxy"]):
        name = "--proxy" if "--proxy" in given else FLAGS["--proxy"].variable
        lines.append(f"{name} is {flags['--proxy']!r}: expect an address such as https://127.0.0.1:6443")
    if pointless := [name for name in _OF_SIMULATORS if name in given]:
        lines.append(f"--proxy starts no simulators: it does not go with {', '.join(pointless)}")
    return lines


def _parts(flags: Mapping[str, Any]) -> set[str]:
    return {part.strip() for part in flags["--without"].split(",") if part.strip()}


def _is_address(text: str) -> bool:
    """Whether requests can be sent there: scheme, host, and perhaps a port and the start of a path."""
    if not re.fullmatch(r"https?://[^\s?#]+", text):
        return False
    try:
        parts = urlsplit(text)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _simulators(flags: Mapping[str, Any], environ: Mapping[str, str]) -> int:
    file = flags["--world"]
    without_robot = "robot" in _parts(flags)
    world = read_world(file) if file is not None else demo_world(SimulatedClock().now(), dedicated=not without_robot)
    options = SandboxOptions(
        world=world,
        hetzner_port=flags["--hetzner-port"],
        kubernetes_port=flags["--kubernetes-port"],
        robot_port=flags["--robot-port"],
        without_kubernetes="kubernetes" in _parts(flags),
        without_robot=without_robot,
        action_s=flags["--action-ms"] / 1000,
        latency_s=flags["--latency-ms"] / 1000,
        rate_limit=flags["--rate-limit"],
        kubelets=_kubelets(flags),
        network_attachments=flags["--network-attachments"],
    )
    with stop_on_signals() as stop, _sandbox(options, file) as running:
        if stop.is_set():
            return 0
        exports = running.environment | without_proxy(environ)
        _tell("".join(f"export {name}={shlex.quote(value)}\n" for name, value in exports.items()))
        paste = " Paste the lines above into another terminal." if sys.stdout.isatty() else ""
        sys.stderr.write(f"The sandbox runs until Ctrl-C.{paste}\n")
        stop.wait()
    return 0


def _kubelets(flags: Mapping[str, Any]) -> KubeletOptions | None:
    if "kubelets" in _parts(flags):
        return None
    return KubeletOptions(join_s=flags["--join-ms"] / 1000, grace_s=flags["--node-grace-ms"] / 1000)


def _sandbox(options: SandboxOptions, file: str | None) -> Sandbox:
    try:
        return Sandbox(options)
    except ValueError as error:
        raise ValueError(f"world file {file!r} cannot be used: {error}") from error


def without_proxy(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that keep clients from asking a proxy for addresses of this machine; what is exempt stays so.

    Of the two spellings each client has its own favorite, so one that is set in lower case is set in both.
    """
    names = ["no_proxy", "NO_PROXY"] if environ.get("no_proxy") else ["NO_PROXY"]
    given = [part.strip() for name in names for part in environ.get(name, "").split(",")]
    exempt = ["*"] if "*" in given else dict.fromkeys([*filter(None, given), *_LOCAL])
    return dict.fromkeys(names, ",".join(exempt))


def _proxy(upstream: str, port: int, ca_file: str | None) -> int:
    with stop_on_signals() as stop, closing(BackgroundLoop()) as loop:
        try:
            proxy = FaultProxy(loop, upstream, port=port, ca_file=ca_file)
        except OSError as error:
            raise OSError(f"--proxy-ca-file {ca_file!r} cannot be used: {error.strerror or error}") from error
        try:
            proxy.start()
            _tell(f"{proxy.url}\n")
            sys.stderr.write(f"Everything sent there goes to {upstream}; faults: POST {proxy.url}/_sandbox/faults\n")
            stop.wait()
        finally:
            proxy.stop()
    return 0


def _tell(text: str) -> None:
    """Write it to stdout. Raises OSError when that is full, BrokenPipeError without a reader."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        swallow_stdout()
        raise OSError(f"stdout cannot be written: {error.strerror or error}") from error
