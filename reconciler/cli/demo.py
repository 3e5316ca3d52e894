"""``reconcile demo``: plan, apply and an empty plan against an embedded sandbox."""

import sys
from collections.abc import Mapping

from reconciler.cli.run import run
from reconciler.sandbox.clock import SimulatedClock
from reconciler.sandbox.demo_world import demo_world
from reconciler.sandbox.running import Sandbox, SandboxOptions

_LATENCY_S = 0.05
"""What a request to Hetzner takes from a server there, so that the demo shows a real pace."""

_INTRODUCTION = """\
A small cluster on Hetzner, simulated on this machine: three Nodes run, three have just joined and carry the
taint that keeps pods away until a cloud controller has initialised them, and one bears a mistyped name.
"""
_FAREWELL = """\
That was the whole way: a plan, the apply, and an empty plan that was observed. What to type next:

  reconcile sandbox              keep such a world running, and try kubectl and hcloud on it
  reconcile --dry-run            the plan for your own cluster; it sends nothing but reads
                                 (needs HCLOUD_TOKEN, a read-only one will do, and a kubeconfig)
  reconcile --help               all flags and commands
"""


def demo(environ: Mapping[str, str]) -> int:
    """Show it all; the exit code of the last run, which is 0 when the world converged."""
    with Sandbox(SandboxOptions(world=demo_world(SimulatedClock().now()), latency_s=_LATENCY_S)) as sandbox:
        inherited = {
            name: value for name, value in environ.items() if not name.startswith(("HCLOUD", "ROBOT", "RECONC"))
        }
        surroundings = {**inherited, **sandbox.environment, "HCLOUD_NETWORK": "cluster"}
        flags = {"--kubeconfig": sandbox.environment["KUBECONFIG"]}
        _tell(_INTRODUCTION)
        for step in ("--dry-run", "--once", "--dry-run"):
            _tell(f"$ reconcile {step}\n")
            code = run({**flags, step: "true"}, surroundings)
            _tell("\n")
            if code != 0:
                return code
        _tell(_FAREWELL)
    return 0


def _tell(text: str) -> None:
    sys.stdout.write(text + ("\n" if text.endswith(".\n") else ""))
    sys.stdout.flush()
