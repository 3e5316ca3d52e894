"""Whether the process is alive and ready: what probes ask. No I/O, and nothing here depends on a cloud being up, as a
restart mends none (O-3, O-8).
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import parse_qs

from reconciler.result import Report
from reconciler.telemetry.logs import printable

_INTERVALS = 3
"""So many may go by without a sign of life."""
_TIMEOUTS = 10
"""And so many times the longest wait for one answer: what a pass may take between two signs. Reading pages and proving
absence is a handful of answers in a row, an action of Hetzner's is waited for as long as four."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a probe looks at."""

    name: str
    problem: str | None = None
    """What is wrong, for people; None when nothing is."""

    @property
    def line(self) -> str:
        """As components of Kubernetes write it, but for the reason, which they withhold."""
        return f"[+]{self.name} ok" if self.problem is None else f"[-]{self.name} failed: {self.problem}"


class Health:
    """Hears of the loop from its thread, and answers probes from any. ``clock`` never goes back; in seconds."""

    def __init__(
        self, *, interval_s: float, request_timeout_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``interval_s`` is the pause between passes until ``passed`` names another."""
        self._clock = clock
        self._lock = threading.Lock()
        self._interval_s = interval_s
        self._allowance_s = _TIMEOUTS * request_timeout_s
        self._sign_at = clock()
        self._began_at: float | None = None
        self._has_seen_all = False
        self._stands_by = False
        self._why_unseen = "no pass has ended yet"
        self._why_leaderless = ""

    def began(self) -> None:
        """A pass begins: this process leads."""
        with self._lock:
            self._began_at = self._clock()
            self._stands_by = False
            self._why_leaderless = ""

    def alive(self) -> None:
        """Something of a pass has come to an end: a pass with much to do may take long."""
        with self._lock:
            self._sign_at = self._clock()

    def passed(self, report: Report, interval_s: float | None = None) -> None:
        """A pass has ended, however. ``interval_s`` is the pause to the next one; None: as before."""
        why = _unread(report)
        with self._lock:
            self._sign_at = self._clock()
            self._began_at = None
            self._interval_s = self._interval_s if interval_s is None else interval_s
            self._has_seen_all = self._has_seen_all or why is None
            self._why_unseen = why or ""

    def standby(self) -> None:
        """The loop went round, and has seen that another process leads."""
        with self._lock:
            self._sign_at = self._clock()
            self._began_at = None
            self._stands_by = True
            self._why_leaderless = ""

    def leaderless(self, why: str) -> None:
        """The loop went round, and has neither the lead nor seen that another process has it; ``why`` may be "".

        Whoever stood by goes on doing so: an API server that is gone for a moment makes no replica unready. Who never
        did is of no use yet, and a rollout must not take the leader away for it.
        """
        with self._lock:
            self._sign_at = self._clock()
            self._began_at = None
            self._why_leaderless = why

    def liveness(self) -> tuple[Check, ...]:
        """What ``/livez`` looks at: whether the loop comes round. A pass that hangs, and a loop that has died, need a
        restart; anything else does not."""
        with self._lock:
            now = self._clock()
            silent_s, allowed_s = now - self._sign_at, _INTERVALS * self._interval_s + self._allowance_s
            running = (
                "" if self._began_at is None else f"; the pass that is running began {now - self._began_at:.0f} s ago"
            )
        late = f"nothing has come to an end for {silent_s:.0f} s, where {allowed_s:.0f} s are allowed{running}"
        return Check("ping"), Check("loop", late if silent_s > allowed_s else None)

    def readiness(self) -> tuple[Check, ...]:
        """What ``/readyz`` looks at: whether everything was read once, or another process was seen to lead."""
        with self._lock:
            is_ready = self._has_seen_all or self._stands_by
            why = self._why_leaderless or self._why_unseen
        return Check("ping"), Check("snapshot", None if is_ready else why)


def _unread(report: Report) -> str | None:
    """What the pass could not read whole; None when it read everything."""
    if report.snapshot is None:
        return report.errors[0] if report.errors else "the last pass read nothing"
    gaps = [section.why_incomplete for section in report.snapshot.sections().values() if not section.complete]
    return gaps[0] if gaps else None


_TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    """What a page is asked."""

    query: str = ""
    """What stands behind the question mark."""
    accept: str = ""
    """The header of that name."""


@dataclass(frozen=True, slots=True)
class Page:
    """An answer."""

    status: int
    body: bytes
    content_type: str = _TEXT


Pages = Mapping[str, Callable[[Request], Page]]
"""Path → what answers there."""

Render = Callable[[str], tuple[str, bytes]]
"""``Accept`` header → content type and text of a scrape."""


def health_pages(health: Health) -> Pages:
    """The three probes. ``/healthz`` is the old name of ``/livez``, and HCCM's."""
    return MappingProxyType(
        {
            "/livez": lambda request: _probe("livez", health.liveness(), request),
            "/readyz": lambda request: _probe("readyz", health.readiness(), request),
            "/healthz": lambda request: _probe("healthz", health.liveness(), request),
        }
    )


def metrics_pages(render: Render) -> Pages:
    """The scrape."""

    def metrics(request: Request) -> Page:
        content_type, text = render(request.accept)
        return Page(200, text, content_type)

    return MappingProxyType({"/metrics": metrics})


def _probe(name: str, checks: tuple[Check, ...], request: Request) -> Page:
    """``ok``; a line for each check when something failed, or with ``?verbose`` (Kubernetes API health endpoints)."""
    is_fine = all(check.problem is None for check in checks)
    if is_fine and "verbose" not in parse_qs(request.query, keep_blank_values=True):
        return Page(200, b"ok")
    lines = [printable(check.line) for check in checks]
    lines.append(f"{name} check {'passed' if is_fine else 'failed'}")
    return Page(200 if is_fine else 500, "".join(f"{line}\n" for line in lines).encode())
