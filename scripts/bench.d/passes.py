"""Passes in one running process, as ``reconcile`` repeats them, and what each of them cost: JSON on stdout.

The first pass pays for what is imported late and for connections; what a controller costs for ever is a later one.
"""

import gc
import json
import os
import resource
import sys
import threading
import time
from dataclasses import replace

from measured import calibrate, mebibytes

from reconciler.config.config import load_config
from reconciler.config.options import Command
from reconciler.passes.loop import Pace, Wake, run_loop
from reconciler.passes.one_pass import converge
from reconciler.report.terminal import TerminalProgress
from reconciler.result import Report
from reconciler.runtime import build_runtime
from reconciler.telemetry.pass_logger import Measured


def main() -> int:
    """Run as many passes as the only argument says."""
    wanted = int(sys.argv[1])
    stop = threading.Event()
    runtime = build_runtime(load_config(Command.BARE, {}, os.environ), stop, TerminalProgress())
    connections = runtime.connections
    if connections is None:
        raise AssertionError("a run that is no dry run acts")
    gc.freeze()
    passes: list[dict[str, float]] = []
    last = Report()

    def run_pass(_why: str) -> tuple[Measured, Pace]:
        nonlocal last
        before, started = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
        report = converge(runtime.plan_context, connections.apply_context)
        last = replace(report, snapshot=None)  # the world is not kept, as the loop does not keep it
        wall_s, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_SELF)
        passes.append(
            {
                "wall_s": wall_s,
                "user_s": after.ru_utime - before.ru_utime,
                "system_s": after.ru_stime - before.ru_stime,
                "peak_mib": mebibytes(after),
                "calibration_s": calibrate(),
            }
        )
        if len(passes) == wanted:
            stop.set()
        return Measured(report, wall_s), Pace(0.0)

    run_loop(run_pass, stop=stop, publish=lambda _: None, wake=Wake(stop), leader=connections.leader)
    connections.events.close(5.0)
    requests = {"kubernetes": last.requests.kubernetes, "hetzner": last.requests.hetzner}
    json.dump({"result": last.result, "requests": requests, "passes": passes}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
