"""A loop over passes of which only the report matters."""

import threading
from collections.abc import Callable

from reconciler.cli.stopping import Stop
from reconciler.leader_election.leadership import NoElection
from reconciler.passes.loop import Leader, Wake, run_loop
from reconciler.passes.pacing import Pace
from reconciler.result import Report
from reconciler.telemetry.pass_logger import Measured

AT_ONCE = Pace(0.0)


def loop(
    run_pass: Callable[[str], Report],
    stop: threading.Event,
    *,
    pace: Pace = AT_ONCE,
    publish: Callable[[Measured], None] = lambda _: None,
    wake: Wake | None = None,
    leader: Leader | None = None,
) -> None:
    """Run it until ``stop`` is set; with real time, and a leader, unless they are given."""
    if wake is None:
        wake = Wake(stop)
        if isinstance(stop, Stop):
            stop.wakes(wake.interrupt)

    def measured(why: str) -> tuple[Measured, Pace]:
        return Measured(run_pass(why), 0.0, why), pace

    run_loop(measured, stop=stop, publish=publish, wake=wake, leader=leader or NoElection())
