"""What a pass cost, and what called for it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from reconciler.result import Cost, Report


@dataclass(frozen=True, slots=True)
class Measured:
    """A pass that has ended."""

    report: Report
    seconds: float
    trigger: str = ""
    """What called for it, in a few words; "" when it was its time."""
    kubernetes_requests: int = 0
    hetzner_requests: int = 0
    """Those of this pass alone: a report has those of the run."""

    @property
    def report_alone(self) -> Report:
        """The report with the requests of this pass alone, as a reader of one pass after the other expects them."""
        sent = replace(self.report.cost, kubernetes=self.kubernetes_requests, hetzner=self.hetzner_requests)
        return replace(self.report, cost=sent)


class Meter:
    """Measures one pass after the other. ``clock`` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._before = Cost()

    def measure(self, run_pass: Callable[[], Report], trigger: str = "") -> Measured:
        """Run a pass, and say what it took. Raises what the pass raises."""
        began = self._clock()
        report = run_pass()
        before, cost = self._before, report.cost
        self._before = Cost(max(before.kubernetes, cost.kubernetes), max(before.hetzner, cost.hetzner))
        return Measured(
            report,
            self._clock() - began,
            trigger,
            max(0, cost.kubernetes - before.kubernetes),
            max(0, cost.hetzner - before.hetzner),
        )
