"""Trace of the changes that a running controller leaves alone for now, so that a dry run beside it can say so.

Any client that may write into the ConfigMap may write anything, and a controller may be gone: the trace is information,
decides nothing, and is void an hour after it was written.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from desired.model.clocks import TOLERANCE, parse_moment
from desired.model.record import Format, cut, parse_text
from desired.plan.change import GuardName

TRACE_LIFETIME = timedelta(hours=1)
"""How long a trace counts. A controller that still runs writes it anew before."""
MOST_TRACES = 50
"""Changes that a trace names."""
RULES = frozenset({GuardName.FLAPPING, GuardName.BACK_OFF, GuardName.QUOTA})
"""The guards on what the controller alone remembers."""
_LONGEST_TEXT = 300


@dataclass(frozen=True, slots=True)
class SuspendedChange:
    """One change that is not tried now."""

    key: str
    mark: str
    """Of the change that is meant (``desired.guards.history.mark_of``): another one of the same key is free."""
    rule: GuardName
    why: str
    """One sentence for people."""
    since: datetime
    until: datetime | None = None
    """When it is tried again; None when it is not known whether that helps."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What a controller has suspended."""

    by: str = ""
    """The host's name of the controller, which is its pod's."""
    changes: Mapping[str, SuspendedChange] = field(default_factory=lambda: MappingProxyType({}))
    """Key of a change → its suspension."""


NO_TRACE = Trace()


def first_suspended(changes: Iterable[SuspendedChange]) -> tuple[SuspendedChange, ...]:
    """As many as a trace names; those that were suspended first."""
    return tuple(sorted(changes, key=lambda change: (change.since, change.key))[:MOST_TRACES])


def trace_in(text: str | None, cluster: str, now: datetime) -> Trace:
    """The trace in a text of the ConfigMap; NO_TRACE where there is none, or it is too old, or of the future. A
    suspension that has ended is left out."""
    found = SUSPENDED.record(text, cluster)
    if found is None or found.written_at is None or not -TOLERANCE <= now - found.written_at <= TRACE_LIFETIME:
        return NO_TRACE
    return Trace(found.by, {each.key: each for each in found.value if each.until is None or each.until > now})


def _fields(changes: Collection[SuspendedChange]) -> Mapping[str, object]:
    return {"changes": [_row(change) for change in changes]}


def _row(change: SuspendedChange) -> Mapping[str, object]:
    until = change.until.isoformat() if change.until else None
    why = cut(change.why, _LONGEST_TEXT)
    row = {"key": change.key, "mark": change.mark, "rule": change.rule, "why": why}
    return {**row, "since": change.since.isoformat(), "until": until}


def _changes(fields: Mapping[str, Any]) -> tuple[SuspendedChange, ...]:
    return tuple(_change(row) for row in fields["changes"][:MOST_TRACES])


def _change(row: Mapping[str, Any]) -> SuspendedChange:
    key, mark, why = (parse_text(row[name]) for name in ("key", "mark", "why"))
    rule = GuardName(row["rule"])
    if rule not in RULES:
        raise ValueError(f"{rule} suspends nothing")
    until = None if row["until"] is None else parse_moment(row["until"])
    return SuspendedChange(key, mark, rule, cut(why, _LONGEST_TEXT), parse_moment(row["since"]), until)


SUSPENDED: Format[Collection[SuspendedChange]] = Format("suspended", 65_536, _fields, _changes)
"""``MOST_TRACES`` changes take less."""
