"""Trace of the changes that a running controller leaves alone for now, so that a dry run beside it can say so.

It is kept in the product's ConfigMap, key ``suspended``, as JSON with a version, the cluster's UID and who wrote it.
Whoever may write there may write anything, and a controller may be gone: the trace is information, decides nothing, and
is void an hour after it was written. A value that we would not write, or of another cluster, tells of nothing.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from desired.model.clocks import TOLERANCE, parse_moment, shown_moment
from desired.model.record import format_record, parse_record
from desired.plan.change import GuardName

KEY = "suspended"
"""In the ConfigMap."""
LIFETIME = timedelta(hours=1)
"""How long a trace counts. A controller that still runs writes it anew before."""
MOST = 50
"""Changes that a trace names."""
RULES = frozenset({GuardName.FLAPPING, GuardName.BACK_OFF, GuardName.QUOTA})
"""The guards on what the controller alone remembers."""
_LONGEST = 65_536
"""Characters of a trace that are looked at: more than ``MOST`` changes take."""
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
    """When it is tried again; None when nobody knows whether that helps."""

    def shown(self, by: str, now: datetime) -> str:
        """What a person should know who sees the change planned. ``by`` is who suspended it."""
        until = f", until {shown_moment(self.until, now)}" if self.until else ""
        since = shown_moment(self.since, now)
        return f"suspended by the running controller ({by}) since {since}{until}: {self.rule}, {self.why}"


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
    return tuple(sorted(changes, key=lambda change: (change.since, change.key))[:MOST])


def format_trace(changes: Collection[SuspendedChange], by: str, cluster_uid: str, now: datetime) -> str:
    """The value in the ConfigMap, with texts that are not too long. ``changes`` are ``MOST`` at most."""
    fields = {
        "by": _cut(by),
        "written_at": now.isoformat(),
        "changes": [
            {
                "key": change.key,
                "mark": change.mark,
                "rule": change.rule,
                "why": _cut(change.why),
                "since": change.since.isoformat(),
                "until": change.until.isoformat() if change.until else None,
            }
            for change in changes
        ],
    }
    return format_record(cluster_uid, fields)


def parse_trace(text: str | None, cluster_uid: str, now: datetime) -> Trace:
    """Parse the value in the ConfigMap; NO_TRACE where it is missing, malformed, too long, too old, of the future or of
    another cluster. A suspension that has ended is left out."""
    trace = parse_record(text, cluster_uid, _LONGEST, lambda fields: _trace(fields, now)) or NO_TRACE
    live = {key: found for key, found in trace.changes.items() if found.until is None or found.until > now}
    return replace(trace, changes=live)


def _trace(fields: Mapping[str, Any], now: datetime) -> Trace | None:
    """None for what is too old, or of the future."""
    if not -TOLERANCE <= now - parse_moment(fields["written_at"]) <= LIFETIME:
        return None
    found = [_change(each) for each in fields["changes"][:MOST]]
    return Trace(_cut(_text(fields["by"])), {change.key: change for change in found})


def _change(fields: Mapping[str, Any]) -> SuspendedChange:
    """One entry. Raises ValueError, KeyError, TypeError or OverflowError for anything else."""
    key, mark, why = (_text(fields[name]) for name in ("key", "mark", "why"))
    rule = GuardName(fields["rule"])
    if rule not in RULES:
        raise ValueError(f"{rule} suspends nothing")
    until = None if fields["until"] is None else parse_moment(fields["until"])
    return SuspendedChange(key, mark, rule, _cut(why), parse_moment(fields["since"]), until)


def _text(value: object) -> str:
    """A text. Raises TypeError for anything else."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
