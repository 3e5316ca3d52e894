"""The rate limit: a token bucket and its three headers.

Source: Hetzner Cloud API, rate limiting. Known differences: the real limiter's resolution is not known; here a bucket
refills continuously, and requests without a valid token share one bucket of the same size.
"""

import math

from hcloud_sandbox.clock import SimulatedClock


class TokenBucket:
    """``limit`` requests per hour, with bursts up to ``limit``."""

    def __init__(self, clock: SimulatedClock, limit: int) -> None:
        self._clock = clock
        self._limit = limit
        self._left = float(limit)
        self._at = clock.timestamp()

    def take(self) -> bool:
        """Pay for one request; False when the bucket is empty, which costs nothing."""
        self._refill()
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def headers(self) -> dict[str, str]:
        """The headers of every answer. Reset is when the bucket will be full, not when one request is possible."""
        self._refill()
        full_at = self._at + (self._limit - self._left) * 3600 / self._limit
        return {
            "RateLimit-Limit": str(self._limit),
            "RateLimit-Remaining": str(math.floor(self._left)),
            "RateLimit-Reset": str(math.ceil(full_at)),
        }

    def _refill(self) -> None:
        now = self._clock.timestamp()
        # A hair is added because 3600 waits of a second must buy 3600 requests, whatever floats make of it.
        self._left = min(self._limit, self._left + max(0.0, now - self._at) * self._limit / 3600 + 1e-9)
        self._at = now
