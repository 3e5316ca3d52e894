"""The three clocks at hand, compared: Kubernetes', Hetzner's and this process' (guard ``clock-skew``)."""

import time
from collections.abc import Callable
from datetime import timedelta

from actuators.http.dates import ClockBounds, Dates
from desired.model.clocks import NO_OTHER_CLOCKS, Clocks


def compare_clocks(kubernetes: Dates, hetzner: Dates, wall: Callable[[], float] | None) -> Clocks:
    """How far the clocks are apart by the answers of one reading. ``wall`` is this process' clock; None: it has none
    that says anything, as where a file is read."""
    base = kubernetes.seen
    if base is None:
        return NO_OTHER_CLOCKS
    other = hetzner.seen
    return Clocks(
        None if other is None else timedelta(seconds=other.ahead_of_s(base)),
        None if wall is None else timedelta(seconds=_of_process(wall).ahead_of_s(base)),
        timedelta(seconds=base.jump_s),
    )


def _of_process(wall: Callable[[], float]) -> ClockBounds:
    shown = wall() - time.monotonic()
    return ClockBounds(shown, shown)
