"""What Hetzner calls the things that were asked of it while one change is carried out: with these ids its support, and
its project's log of actions, find them again.

Kept beside the calls and not in outcomes: the ids differ each time, and nothing is decided on them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

_current: ContextVar["Trace | None"] = ContextVar("trace", default=None)


@dataclass(slots=True)
class Trace:
    """The ids of one change, in the order of its calls. Of a change that does not call Hetzner both are empty."""

    actions: list[int] = field(default_factory=list)
    correlations: list[str] = field(default_factory=list)
    """Of the answers to its writes, and to what was refused of its reads (header ``X-Correlation-Id``)."""


@contextmanager
def tracing() -> Iterator[Trace]:
    """Collects the ids of what this thread does inside the block."""
    trace = Trace()
    before = _current.set(trace)
    try:
        yield trace
    finally:
        _current.reset(before)


def note_action(action_id: int) -> None:
    """An action began. Without effect where nobody collects."""
    trace = _current.get()
    if trace is not None and action_id not in trace.actions:
        trace.actions.append(action_id)


def note_correlation(correlation_id: str | None) -> None:
    """An answer came. Without effect where nobody collects, and when the answer has no such id."""
    trace = _current.get()
    if trace is not None and correlation_id:
        trace.correlations.append(correlation_id)
