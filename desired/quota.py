"""What Hetzner refuses whatever the object is: a limit is reached, a payment is missing, an account is locked.

Nothing that is tried again mends that, and the next object of the same kind fares no better. So one of them is tried at
a time, each in its turn, and the others wait (guard ``quota``).
"""

from collections.abc import Iterator, Mapping
from math import inf

from desired.change import Change, Verdict
from desired.finding import Facts, Finding
from desired.snapshot import Snapshot
from desired.suspension import Bar

QUOTA = "quota"


def scope_of(change: Change) -> str:
    """What is refused along with this change when the account is: all changes of its kind and class."""
    return f"{change.kind} {change.verb}"


def narrow_scope_of(change: Change) -> str:
    """The same where a limit is reached, which may be that of one load balancer: then others go on."""
    return f"{scope_of(change)} of {change.owner}" if change.kind in _LIMITED_BY_OWNER else scope_of(change)


_LIMITED_BY_OWNER = frozenset({"lb.listener", "lb.target"})
"""Kinds of which each load balancer may have so many, by its type."""


def quota(facts: Facts) -> Iterator[Finding]:
    """Of what Hetzner has refused for all objects of a kind one is tried an interval: whose turn was longest ago."""
    for scope, changes in _by_scope(facts).items():
        bar = facts.snapshot.bars[scope]
        is_due = bar.due_in_s <= 0
        first = min(changes, key=lambda change: (bar.turns.get(change.key, inf), change.order)) if is_due else None
        keys = tuple(change.key for change in changes if change is not first)
        yield Finding(QUOTA, Verdict.WAITING, keys, bar.why, due_in_s=bar.again_in_s if is_due else bar.due_in_s)


def bars_of(change: Change, snapshot: Snapshot) -> tuple[Bar, ...]:
    """What Hetzner has refused others like this one with; empty when it is only what it comes after."""
    scopes = dict.fromkeys((scope_of(change), narrow_scope_of(change)))
    return tuple(snapshot.bars[scope] for scope in scopes if scope in snapshot.bars)


def refused_by_quota(snapshot: Snapshot) -> frozenset[str]:
    """Keys of the changes that are known to wait for it: what hangs on them is not as it should be."""
    return frozenset(key for bar in snapshot.bars.values() for key in bar.turns)


def _by_scope(facts: Facts) -> Mapping[str, list[Change]]:
    grouped: dict[str, list[Change]] = {}
    for change in facts.plan.changes if facts.snapshot.bars else ():
        for scope in {scope_of(change), narrow_scope_of(change)} & facts.snapshot.bars.keys():
            grouped.setdefault(scope, []).append(change)
    return grouped
