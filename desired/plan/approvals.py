"""Approvals in ConfigMaps: their formats, and what approving, using and revoking write.

| ConfigMap | Key | Value |
|---|---|---|
| ``hcloud-reconciler`` | ``sha256.<16 hex>`` | an approval in JSON, with its use or revocation |
| | ``sha256.<16 hex>.by`` | who wrote that, in the API server's words: plain text, so that a policy can compare it |
| | ``sha256.<16 hex>.git`` | what became of an approval in Git, in JSON |
| ``hcloud-reconciler-approvals`` | ``sha256.<16 hex>`` | an approval in Git, in JSON; it is only ever read |

They have no envelope: the hash has the cluster in it, and people write them as well. Any client that may write there
may write anything: an entry that is damaged approves nothing, one that asks for more time than may be gets what may be,
and a damaged record of a use is a use.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import MAXYEAR, UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from desired.model.clocks import parse_moment
from desired.model.record import DAMAGE, format_json, parse_json, parse_text
from desired.plan.grants import Grant, Here, Source
from desired.syntax import bounds

_HASH = re.compile(r"sha256:[0-9a-f]{16}", re.ASCII)
_LENGTH = len("sha256:") + 16
_BY, _GIT = ".by", ".git"
KEPT = timedelta(days=7)
"""How long an entry is kept after it has become void, for people who look."""
_NEVER = datetime(1, 1, 1, tzinfo=UTC)
"""When a damaged entry in Git ends."""
_DAMAGED = "cannot be read: expect JSON with approver and expires_at, which needs a zone"
Writes = Mapping[str, str | None]
"""Key → what is to stand there; None takes the key away."""


def is_hash(text: str) -> bool:
    """Whether ``text`` can be the hash of a hold."""
    return len(text) == _LENGTH and _HASH.fullmatch(text) is not None


_MEMBERS = (
    *("approver", "approved_at", "expires_at", "via", "reason"),
    *("used_at", "used_by", "left", "revoked_at", "revoked_by"),
)
"""Of a stored approval: the fields of a grant."""
_OF_ENTRY = ("approver", "expires_at", "reason")
"""What people write in Git."""
_OF_END = ("used_at", "used_by", "left", "revoked_at", "revoked_by")


def format_approval(approval: Grant) -> tuple[str, str]:
    """Key and value in the ConfigMap. A key may not have a colon, so the hash's becomes a dot.

    To versions that know no revocation a revoked approval is a used one.
    """
    members = _members(approval, _MEMBERS)
    return _key(approval.of), format_json({"approver": "", "used_at": members.get("revoked_at"), **members})


def _format_end(entry: Grant) -> tuple[str, str]:
    """Key and value of what became of an entry in Git."""
    return f"{_key(entry.of)}{_GIT}", format_json(_members(entry, ("approver", "expires_at", *_OF_END)))


def _members(grant: Grant, names: Iterable[str]) -> Mapping[str, object]:
    """Those that say something."""
    values = ((name, getattr(grant, name)) for name in names)
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values if value}


def parse_approvals(data: Mapping[str, str]) -> tuple[Grant, ...]:
    """The approvals among a ConfigMap's data. What is no approval, or a damaged one, approves nothing.

    The name that stands beside one is that of its last writer: a policy can check that, and not what is in JSON.
    """
    found = ((_hash_of(key), value, data.get(f"{key}{_BY}")) for key, value in sorted(data.items()))
    approvals = (_parse(text, value, by) for text, value, by in found if is_hash(text))
    return tuple(approval for approval in approvals if approval is not None)


def approval_of(hold_hash: str, data: Mapping[str, str]) -> Grant | None:
    """The approval of a hold among a ConfigMap's data; None without one."""
    return next((each for each in parse_approvals(data) if each.of == hold_hash), None)


def _parse(hold_hash: str, value: str, by: str | None) -> Grant | None:
    try:
        found = _grant(Source.CLUSTER, hold_hash, value, needed=("approver", "approved_at", "used_at"))
    except DAMAGE:
        return None
    if found.approved_at is None or found.approved_at.year == MAXYEAR:  # no calendar goes on to its end
        return None
    if found.revoked_at is not None:
        found = replace(found, used_at=None)
    if not by or bounds.LONGEST_APPROVAL.is_exceeded(by):
        return found
    return replace(found, revoked_by=by) if found.revoked_at else replace(found, approver=by)


def parse_git_approvals(entries: Mapping[str, str], data: Mapping[str, str]) -> tuple[Grant, ...]:
    """The approvals among the entries that come from Git, with what is recorded of each in the ``data`` of the
    product's ConfigMap. A damaged entry approves nothing, and is there all the same: people believe that it does."""
    found = ((_hash_of(key), value) for key, value in sorted(entries.items()))
    return tuple(_with_end(_parse_entry(text, value), data) for text, value in found if is_hash(text))


def _parse_entry(hold_hash: str, value: str) -> Grant:
    try:
        found = _grant(Source.GIT, hold_hash, value, needed=("approver", "expires_at"), known=_OF_ENTRY)
        if found.expires_at is not None and found.approver.strip():
            return found
    except DAMAGE:
        pass
    return Grant(Source.GIT, hold_hash, "an unknown approver", expires_at=_NEVER, damage=_DAMAGED)


def _with_end(entry: Grant, data: Mapping[str, str]) -> Grant:
    """An entry of Git's with what became of it. A record is of all entries of its hash that end no later than the one
    that was used: Git restores what it has, and a new approval ends later."""
    value = data.get(f"{_key(entry.of)}{_GIT}")
    if value is None or entry.damage or entry.expires_at is None:
        return entry
    try:
        end = _parse_end(entry.of, value)
    except DAMAGE:
        return replace(entry, damage="counts no more: the record of its use is damaged")
    if end.expires_at is not None and entry.expires_at > end.expires_at:
        return replace(entry, left=end.left)
    return replace(entry, **{name: getattr(end, name) for name in _OF_END})


def _parse_end(hold_hash: str, value: str) -> Grant:
    """What became of an entry in Git. Raises one of ``DAMAGE`` for anything else."""
    found = _grant(Source.GIT, hold_hash, value, needed=("expires_at",), known=("expires_at", *_OF_END))
    if found.expires_at is None or (found.used_at is None and found.revoked_at is None):
        raise ValueError("it tells of no use")
    return found


def _grant(
    source: Source, hold_hash: str, value: str, *, needed: Iterable[str], known: Collection[str] = _MEMBERS
) -> Grant:
    """The grant of a stored text, which has the members ``needed``. Raises one of ``DAMAGE`` for anything else."""
    bounds.LONGEST_APPROVAL.check(value)
    fields = parse_json(value)
    missing = [name for name in needed if name not in fields]
    if missing:
        raise KeyError(*missing)
    found: dict[str, Any] = {name: _member(name, fields[name]) for name in known if name in fields}
    return Grant(source, hold_hash, **found)


def _member(name: str, value: Any) -> object:
    """The value of a member. Raises one of ``DAMAGE`` for anything else."""
    if name == "left":
        return tuple(map(parse_text, value)) if isinstance(value, list) else ()
    return _moment(value) if name.endswith("_at") else parse_text(value)


class Step(StrEnum):
    """What approving means, given what is there."""

    NEW = "new"
    AGAIN = "again"
    """The hold was approved before, and that was used or revoked: it passes once more."""
    LONGER = "longer"
    STANDS = "stands"
    """It is approved for at least as long: nothing is written."""


def step_to(wanted: Grant, before: Grant | None, now: datetime) -> Step:
    """What approving ``wanted`` means, given the approval that is there."""
    if before is None:
        return Step.NEW
    if before.is_spent:
        return Step.AGAIN
    if not before.counts(Here(now)):
        return Step.NEW
    return Step.LONGER if (wanted.until or now) > (before.until or now) else Step.STANDS


def writes_of_approval(approval: Grant, name: str, data: Mapping[str, str], now: datetime) -> Writes:
    """What approving writes: the approval, the ``name`` that the API server has for the person, "" where it has none,
    and void entries that are old enough are taken away. Empty where the hold is approved for as long already."""
    before = approval_of(approval.of, data)
    if step_to(approval, before, now) is Step.STANDS:
        return {}
    key, value = format_approval(approval if before is None else replace(approval, left=before.left))
    return {**dict.fromkeys(_old(data, now)), key: value, **_by(key, name, data)}


def writes_of_use(
    hold_hash: str,
    git: Collection[Grant],
    data: Mapping[str, str],
    now: datetime,
    by: str,
    names: Collection[str] = (),
) -> Writes:
    """What a use writes: every approval of the hold that counts is used up at once, so that none lets it pass a second
    time; the differences with these ``names`` pass until they are struck. Empty when none counts any more. ``git`` are
    those that were read from Git."""
    counting = (each for each in _of(hold_hash, git, data) if each.counts(Here(now)))
    left = tuple(sorted(names))
    return dict(_formatted(replace(each, used_at=now, used_by=by, left=left)) for each in counting)


def names_left(data: Mapping[str, str]) -> frozenset[str]:
    """The names of all differences that approvals go on to let pass."""
    return frozenset(name for grant in _begun(data) for name in grant.left)


def writes_of_strike(data: Mapping[str, str], done: Collection[str]) -> Writes:
    """The writes of a pass that has seen the differences of these names done: no approval lets them pass again."""
    struck = ((each, tuple(name for name in each.left if name not in done)) for each in _begun(data))
    return dict(_formatted(replace(each, left=left)) for each, left in struck if left != each.left)


def _begun(data: Mapping[str, str]) -> Iterator[Grant]:
    """The approvals that were used, and let something pass that no pass has seen done."""
    yield from (grant for grant in (*parse_approvals(data), *_ends(data).values()) if grant.left)


def _ends(data: Mapping[str, str]) -> Mapping[str, Grant]:
    """Key → what became of an approval in Git, of those that can be read."""
    found: dict[str, Grant] = {}
    for key, value in data.items():
        hash_of_hold = _hash_of(key.removesuffix(_GIT))
        if key.endswith(_GIT) and is_hash(hash_of_hold):
            with suppress(*DAMAGE):
                found[key] = _parse_end(hash_of_hold, value)
    return found


def is_used_by(hold_hash: str, data: Mapping[str, str], by: str) -> bool:
    """Whether it was ``by`` who used an approval of the hold: the answer to its write may have been lost."""
    people = {each.used_by for each in parse_approvals(data) if each.of == hold_hash}
    try:
        return by in people | {_parse_end(hold_hash, data[f"{_key(hold_hash)}{_GIT}"]).used_by}
    except DAMAGE:
        return by in people


def writes_of_revocation(
    hold_hash: str, git: Collection[Grant], data: Mapping[str, str], now: datetime, who: str, name: str
) -> Writes:
    """What a revocation by ``who`` writes: every approval of the hold that could count becomes void. Empty when none
    could. ``name`` is the API server's for that person, "" where it has none."""
    writes: dict[str, str | None] = {}
    for approval in _of(hold_hash, git, data):
        is_open = approval.left or not approval.is_spent
        if is_open and approval.until is not None and now <= approval.until:
            key, value = _formatted(replace(approval, left=(), revoked_at=now, revoked_by=who))
            writes |= {key: value, **(_by(key, name, data) if approval.source is Source.CLUSTER else {})}
    return writes


def _of(hold_hash: str, git: Collection[Grant], data: Mapping[str, str]) -> tuple[Grant, ...]:
    """The approvals of one hold as they stand in ``data`` now."""
    entries = (replace(each, used_at=None, revoked_at=None) for each in git if each.of == hold_hash)
    people = (each for each in parse_approvals(data) if each.of == hold_hash)
    return (*people, *(_with_end(each, data) for each in entries))


def _formatted(approval: Grant) -> tuple[str, str]:
    return format_approval(approval) if approval.source is Source.CLUSTER else _format_end(approval)


def _by(key: str, name: str, data: Mapping[str, str]) -> Writes:
    beside = f"{key}{_BY}"
    return {beside: name} if name else {beside: None} if beside in data else {}


def _old(data: Mapping[str, str], now: datetime) -> Iterator[str]:
    """Keys of what has been void for too long to be of interest. The record of an approval in Git is not, before that
    cannot count again whatever restores it."""
    for approval in parse_approvals(data):
        void_since = min(filter(None, (approval.used_at, approval.revoked_at, approval.until)))
        if now - void_since > KEPT:
            yield from (key for key in (_key(approval.of), f"{_key(approval.of)}{_BY}") if key in data)
    yield from (key for key, end in _ends(data).items() if end.expires_at and now - end.expires_at > KEPT)


def _key(hold_hash: str) -> str:
    return hold_hash.replace(":", ".")


def _hash_of(key: str) -> str:
    return key.replace(".", ":")


def _moment(value: Any) -> datetime | None:
    """Raises one of ``DAMAGE`` for what is no moment."""
    return None if value is None else parse_moment(value)
