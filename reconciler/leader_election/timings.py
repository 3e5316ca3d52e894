"""How long a Lease lasts, and how hard its holder tries to keep it."""

import math
from dataclasses import dataclass

_CALL_SHARE = 0.75
"""Of the retry period, for one request: a call that hangs must not cost the next try as well."""
JITTER = 0.1
"""Share by which the retry period is shortened at random, so that several processes do not ask in step."""

LEAST_TRIES = 1.2
"""So many retry periods the renew deadline has to be longer than, as client-go has it."""


@dataclass(frozen=True, slots=True)
class Timings:
    """HCCM's three durations, with its defaults (operations 3)."""

    lease_duration_s: float = 15.0
    """How long others leave a Lease alone after its last renewal that they saw."""
    renew_deadline_s: float = 10.0
    """How long its holder leads after the start of its last renewal that succeeded. What is left of the duration is for
    writes that are under way by then."""
    retry_period_s: float = 2.0
    """From the start of one try to that of the next one."""

    @property
    def call_timeout_s(self) -> float:
        """How long one request for the Lease may take."""
        return self.retry_period_s * _CALL_SHARE

    @property
    def written_duration_s(self) -> int:
        """The duration as the Lease says it, in whole seconds, and never shorter than it is."""
        return math.ceil(self.lease_duration_s)

    def period_s(self, drawn: float) -> float:
        """From this try to the next one. ``drawn`` is between 0 and 1."""
        return self.retry_period_s * (1 - JITTER * drawn)
