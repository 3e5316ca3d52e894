"""``reconcile sandbox``: the simulators, or the fault proxy, until a signal comes."""

import shlex
import sys
from collections.abc import Mapping

from reconciler.cli.stopping import stop_on_signals
from reconciler.flags import BAD_USAGE, Command, read_flags
from reconciler.sandbox.clock import SimulatedClock
from reconciler.sandbox.demo_world import demo_world
from reconciler.sandbox.proxy import FaultProxy
from reconciler.sandbox.running import Sandbox, SandboxOptions, read_world
from reconciler.sandbox.serving import BackgroundLoop

_PARTS = frozenset({"kubernetes", "robot"})


def sandbox(given: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """Serve until SIGTERM or SIGINT; the exit code."""
    usage: list[str] = []
    flags = read_flags(Command.SANDBOX, given, environ, usage, usage)
    without = {part.strip() for part in flags["--without"].split(",") if part.strip()}
    if without - _PARTS:
        usage.append(f"--without is {flags['--without']!r}: expect a list of {', '.join(sorted(_PARTS))}")
    if usage:
        return _fail(*usage, code=BAD_USAGE)
    try:
        return (
            _proxy(flags["--proxy"], flags["--proxy-port"], flags["--proxy-ca-file"])
            if flags["--proxy"]
            else (
                _simulators(
                    SandboxOptions(
                        world=read_world(flags["--world"]) if flags["--world"] else demo_world(SimulatedClock().now()),
                        hetzner_port=flags["--hetzner-port"],
                        kubernetes_port=flags["--kubernetes-port"],
                        without_kubernetes="kubernetes" in without,
                        action_s=flags["--action-ms"] / 1000,
                        latency_s=flags["--latency-ms"] / 1000,
                        rate_limit=flags["--rate-limit"],
                    )
                )
            )
        )
    except (ValueError, OSError) as error:
        return _fail(str(error), code=1)


def _simulators(options: SandboxOptions) -> int:
    with stop_on_signals() as stop, Sandbox(options) as running:
        for name, value in running.environment.items():
            sys.stdout.write(f"export {name}={shlex.quote(value)}\n")
        sys.stdout.flush()
        sys.stderr.write("The sandbox runs until Ctrl-C. Paste the lines above into another terminal.\n")
        stop.wait()
    return 0


def _proxy(upstream: str, port: int, ca_file: str | None) -> int:
    loop = BackgroundLoop()
    with stop_on_signals() as stop:
        proxy = FaultProxy(loop, upstream, port=port, ca_file=ca_file).start()
        sys.stdout.write(f"{proxy.url}\n")
        sys.stdout.flush()
        sys.stderr.write(f"Everything sent there goes to {upstream}; faults: POST {proxy.url}/_sandbox/faults\n")
        stop.wait()
        proxy.stop()
    loop.close()
    return 0


def _fail(*lines: str, code: int) -> int:
    for line in lines:
        sys.stderr.write(f"reconcile: error: {line}\n")
    return code
