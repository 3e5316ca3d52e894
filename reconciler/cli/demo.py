"""``reconcile demo``: plan, apply and an empty plan against an embedded sandbox."""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.demo_world import CLUSTER_CIDR, demo_world
from hcloud_sandbox.running import Sandbox, SandboxOptions
from reconciler.cli.run import run
from reconciler.cli.stopping import stop_on_signals
from reconciler.config.options import Command
from reconciler.config.program import CALLED, PROGRAM

_LATENCY_S = 0.05
"""What a request to Hetzner takes from a server there, so that the demo shows a real pace."""

_INTRODUCTION = """\
A small cluster on Hetzner, simulated on this machine. Two Nodes have just joined and carry the taint that keeps pods
away until a cloud controller has initialized them; a third bears a mistyped name. Of those that have run for days,
one's server now has a larger type, and one is silent since its server was deleted: the route to its pods leads
nowhere. The Service shop is new and wants a load balancer; from the one of the Service api a target was taken.
"""
_FAREWELL = """\
That was the whole way: a plan, the apply, and an empty plan that was observed. What to type next:

"""
_COMMANDS = {
    "sandbox": ("keep such a world running, and try kubectl and hcloud on it",),
    "plan": (
        "the plan for your own cluster; it sends nothing but reads",
        "(needs HCLOUD_TOKEN, a read-only one will do, and a kubeconfig)",
    ),
    "--help": ("all flags and commands",),
}
"""Arguments of the command → what it does."""


def demo(_words: Sequence[str], _flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """Show it all; the exit code of the last run, which is 0 when the world converged. Raises KeyboardInterrupt."""
    options = SandboxOptions(world=demo_world(SimulatedClock().now()), latency_s=_LATENCY_S)
    with stop_on_signals() as stop, Sandbox(options) as sandbox:
        inherited = {
            name: value for name, value in environ.items() if not name.startswith(("HCLOUD", "ROBOT", "RECONC"))
        }
        surroundings = {**inherited, **sandbox.environment}
        flags = {"--kubeconfig": sandbox.environment["KUBECONFIG"], "--cluster-cidr": CLUSTER_CIDR}
        _tell(_INTRODUCTION)
        for step in (Command.PLAN, Command.APPLY, Command.PLAN):
            yes = {"--yes": "true"} if step is Command.APPLY else {}
            _tell(f"$ reconcile {' '.join((step, *yes))} --cluster-cidr {CLUSTER_CIDR}\n")
            code = run({**flags, **yes}, surroundings, stop, step)
            if stop.is_set():
                return code or 1
            _tell("\n")
            if code != 0:
                return code
    _tell(_FAREWELL + _what_to_type(shown_command(sys.argv[0])))
    return 0


def shown_command(started_as: str) -> str:
    """What to type to run this command again: its name where the shell finds it, else the shortest path to it.

    ``started_as`` is ``sys.argv[0]``.
    """
    path = Path(started_as)
    if path.name == "__main__.py":
        return f"{_shortest(Path(sys.executable))} -m {path.parent.name}"
    if path.name not in CALLED:
        return PROGRAM
    found = shutil.which(path.name)
    return CALLED[path.name] if found and Path(found).resolve() == path.resolve() else _shortest(path)


def _shortest(path: Path) -> str:
    """An executable's path, from here or from the root, as a shell takes it."""
    whole = path.absolute()
    here = os.path.relpath(whole)
    if os.sep not in here:
        here = os.path.join(os.curdir, here)  # noqa: PTH118 - pathlib drops the dot, and the shell would search PATH
    return shlex.quote(min(str(whole), here, key=len))


def _what_to_type(command: str) -> str:
    """The farewell's commands, each with what it does beside it."""
    width = len(command) + max(map(len, _COMMANDS)) + 4
    lines = []
    for arguments, meaning in _COMMANDS.items():
        for left, right in zip((f"{command} {arguments}", *[""] * len(meaning)), meaning, strict=False):
            lines.append(f"  {left:<{width}}{right}\n")
    return "".join(lines)


def _tell(text: str) -> None:
    sys.stdout.write(text + ("\n" if text.endswith(".\n") else ""))
    sys.stdout.flush()
