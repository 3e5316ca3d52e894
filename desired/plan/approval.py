"""Approval of one hold by a person: its formats, when it counts, and what approving, using and revoking it write.

| ConfigMap | Key | Value |
|---|---|---|
| ``hcloud-reconciler`` | ``sha256.<16 hex>`` | an approval in JSON, with its use or revocation |
| | ``sha256.<16 hex>.by`` | who wrote that, in the API server's words: plain text, so that a policy can compare it |
| | ``sha256.<16 hex>.git`` | what became of an approval in Git, in JSON |
| ``hcloud-reconciler-approvals`` | ``sha256.<16 hex>`` | an approval in Git, in JSON; it is only ever read |

Whoever may write there may write anything: an entry that is damaged approves nothing, one that asks for more time than
may be gets what may be, and a damaged record of a use is a use.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import MAXYEAR, UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from desired.model.clocks import TOLERANCE, parse_moment
from desired.syntax import bounds

_HASH = re.compile(r"sha256:[0-9a-f]{16}", re.ASCII)
_LENGTH = len("sha256:") + 16
_BY, _GIT = ".by", ".git"
LIFETIME = timedelta(hours=1)
"""How long an approval counts unless it says otherwise: long enough for a person and a pass, too short to be forgotten
and met later."""
LONGEST = timedelta(hours=24)
"""And at most."""
GIT_HORIZON = timedelta(days=7)
"""How far ahead an approval in Git may end: reviews and merges take their time."""
KEPT = timedelta(days=7)
"""How long an entry is kept after it has become void, for people who look."""
_CLOCKS = "does not count while the clocks differ, as its age is not known; use reconcile --once --approve"
_NEVER = datetime(1, 1, 1, tzinfo=UTC)
"""When a damaged entry in Git ends: it has never counted."""
_DAMAGED = "cannot be read: expect JSON with approver and expires_at, which needs a zone"
_DAMAGE = (ValueError, KeyError, TypeError, OverflowError, RecursionError)
"""What reading foreign JSON may raise; the last on deep nesting."""


@dataclass(frozen=True, slots=True)
class Approval:
    """One approval in the product's ConfigMap."""

    hash: str
    approver: str
    """The API server's name for who approved, or a claim."""
    approved_at: datetime
    used_at: datetime | None = None
    expires_at: datetime | None = None
    """None: an hour after it was approved."""
    via: str = ""
    """``user@host`` from which it was written; "" when that is the approver."""
    reason: str = ""
    used_by: str = ""
    """A word of whoever used it up, by which it knows its own use again."""
    revoked_at: datetime | None = None
    revoked_by: str = ""

    @property
    def until(self) -> datetime:
        """When it ends, whatever it asks for."""
        return min(self.expires_at or self.approved_at + LIFETIME, self.approved_at + LONGEST)

    @property
    def void_since(self) -> datetime:
        """When it becomes void, or became."""
        return min(filter(None, (self.used_at, self.revoked_at, self.until)))

    def counts(self, now: datetime, *, clocks_differ: bool = False) -> bool:
        """Whether it lets its hold pass at ``now``."""
        return self.why_void(now, clocks_differ=clocks_differ) is None

    def why_void(self, now: datetime, *, clocks_differ: bool = False) -> str | None:
        """The reason why it lets nothing pass at ``now``; None when it counts.

        API servers behind one address are not of one second: a minute from the future still counts. While clocks differ
        by more, nobody knows how old it is, and one that has expired could count again.
        """
        if self.used_at is not None:
            return f"was used at {self.used_at:%H:%M:%S} UTC"
        if self.revoked_at is not None:
            return f"was revoked at {self.revoked_at:%H:%M:%S} UTC by {self.revoked_by}"
        if now > self.until:
            return f"has expired: it is of {self.approved_at:%Y-%m-%d %H:%M} UTC"
        if self.approved_at - now > TOLERANCE:
            return f"is of the future, {self.approved_at:%Y-%m-%d %H:%M} UTC"
        return _CLOCKS if clocks_differ else None

    def used(self, now: datetime, by: str = "") -> "Approval":
        """The same approval, void from ``now`` on. ``by`` is a word by which the user knows its own use again."""
        return replace(self, used_at=now, used_by=by)

    def revoked(self, now: datetime, by: str) -> "Approval":
        """The same approval, taken back by ``by``."""
        return replace(self, revoked_at=now, revoked_by=by)


@dataclass(frozen=True, slots=True)
class GitApproval:
    """One approval that came from Git, and what became of it."""

    hash: str
    approver: str
    expires_at: datetime
    reason: str = ""
    ended: str | None = None
    """Why it counts no more, as recorded beside the approvals of people; None when nothing is recorded. A record is of
    all entries of its hash that end no later than the one that was used: Git restores what it has, and a new approval
    ends later."""
    used_at: datetime | None = None
    """When it was used, as recorded."""

    def counts(self, now: datetime, *, clocks_differ: bool = False) -> bool:
        """Whether it lets its hold pass at ``now``."""
        return self.why_void(now, clocks_differ=clocks_differ) is None

    def why_void(self, now: datetime, *, clocks_differ: bool = False) -> str | None:
        """The reason why it lets nothing pass at ``now``; None when it counts."""
        if self.ended is not None:
            return self.ended
        if now > self.expires_at:
            return f"has expired: it ended at {self.expires_at:%Y-%m-%d %H:%M} UTC"
        if self.expires_at - now > GIT_HORIZON:
            days = GIT_HORIZON.days
            return f"ends at {self.expires_at:%Y-%m-%d %H:%M} UTC, more than {days} days ahead: let it end sooner"
        return _CLOCKS if clocks_differ else None


def is_hash(text: str) -> bool:
    """Whether ``text`` can be the hash of a hold."""
    return len(text) == _LENGTH and _HASH.fullmatch(text) is not None


def format_approval(approval: Approval) -> tuple[str, str]:
    """Key and value in the ConfigMap. A key may not have a colon, so the hash's becomes a dot.

    To versions that know no revocation a revoked approval is a used one.
    """
    used_at = approval.used_at or approval.revoked_at
    value: dict[str, str | None] = {
        "approver": approval.approver,
        "approved_at": approval.approved_at.isoformat(),
        "used_at": used_at.isoformat() if used_at else None,
    }
    more = {
        "expires_at": approval.expires_at.isoformat() if approval.expires_at else "",
        "via": approval.via,
        "reason": approval.reason,
        "used_by": approval.used_by,
        "revoked_at": approval.revoked_at.isoformat() if approval.revoked_at else "",
        "revoked_by": approval.revoked_by,
    }
    value |= {name: text for name, text in more.items() if text}
    return _key(approval.hash), _json(value)


def parse_approvals(data: Mapping[str, str]) -> tuple[Approval, ...]:
    """The approvals among a ConfigMap's data. What is no approval, or a damaged one, approves nothing.

    The name that stands beside one is that of whoever wrote it last: a policy can check that, and not what is in JSON.
    """
    return tuple(
        approval
        for key, value in sorted(data.items())
        if (approval := _parse(key.replace(".", ":"), value, data.get(f"{key}{_BY}"))) is not None
    )


def _parse(text: str, value: str, by: str | None) -> Approval | None:
    if not is_hash(text) or bounds.APPROVAL.is_exceeded(value):
        return None
    try:
        fields = _loads(value)
        used_at = None if fields["used_at"] is None else parse_moment(fields["used_at"])
        revoked_at, approved_at = _moment(fields, "revoked_at"), parse_moment(fields["approved_at"])
        if approved_at.year == MAXYEAR:  # no calendar goes on to its end
            return None
        approver, revoked_by = str(fields["approver"]), str(fields.get("revoked_by", ""))
        if by and not bounds.APPROVAL.is_exceeded(by):
            approver, revoked_by = (approver, by) if revoked_at else (by, revoked_by)
        return Approval(
            text,
            approver,
            approved_at,
            None if revoked_at else used_at,
            _moment(fields, "expires_at"),
            str(fields.get("via", "")),
            str(fields.get("reason", "")),
            str(fields.get("used_by", "")),
            revoked_at,
            revoked_by,
        )
    except _DAMAGE:
        return None


def parse_git_approvals(entries: Mapping[str, str], data: Mapping[str, str]) -> tuple[GitApproval, ...]:
    """The approvals among the entries that come from Git, with what is recorded of each in the ``data`` of the
    product's ConfigMap. A damaged entry approves nothing, and is there all the same: somebody believes that it does."""
    found = ((key.replace(".", ":"), value) for key, value in sorted(entries.items()))
    return tuple(_with_record(_parse_git(text, value), data) for text, value in found if is_hash(text))


def _parse_git(text: str, value: str) -> GitApproval:
    try:
        bounds.APPROVAL.check(value)
        fields = _loads(value)
        approver, reason = fields["approver"], fields.get("reason", "")
        if not isinstance(approver, str) or not isinstance(reason, str) or not approver.strip():
            raise ValueError("it names no approver")
        return GitApproval(text, approver, parse_moment(fields["expires_at"]), reason)
    except _DAMAGE:
        return GitApproval(text, "somebody", _NEVER, ended=_DAMAGED)


def _with_record(approval: GitApproval, data: Mapping[str, str]) -> GitApproval:
    value = data.get(f"{_key(approval.hash)}{_GIT}")
    if value is None or approval.expires_at == _NEVER:
        return approval
    try:
        record = _read_record(value)
        if approval.expires_at > record.expires_at:
            return approval
        return replace(approval, ended=record.ended, used_at=record.used_at)
    except _DAMAGE:
        return replace(approval, ended="counts no more: the record of its use is damaged")


@dataclass(frozen=True, slots=True)
class _Record:
    """What became of an approval in Git."""

    expires_at: datetime
    """When the entry ends that it is about."""
    ended: str
    used_at: datetime | None
    used_by: str


def _read_record(value: str) -> _Record:
    """Raises one of ``_DAMAGE`` for anything else."""
    bounds.APPROVAL.check(value)
    fields = _loads(value)
    used_at, revoked_at = _moment(fields, "used_at"), _moment(fields, "revoked_at")
    moment = used_at or revoked_at
    if moment is None:
        raise ValueError("it tells of no use")
    by = f" by {fields.get('revoked_by', '')}" if used_at is None else ""
    ended = f"was {'revoked' if used_at is None else 'used'} at {moment:%H:%M:%S} UTC{by}"
    return _Record(parse_moment(fields["expires_at"]), ended, used_at, str(fields.get("used_by", "")))


def _record(approval: GitApproval, **fields: str) -> tuple[str, str]:
    value = {"approver": approval.approver, "expires_at": approval.expires_at.isoformat(), **fields}
    return f"{_key(approval.hash)}{_GIT}", _json(value)


class Step(StrEnum):
    """What approving means, given what is there."""

    NEW = "new"
    AGAIN = "again"
    """The hold was approved before, and that was used or revoked: it passes once more."""
    LONGER = "longer"
    STANDS = "stands"
    """It is approved for at least as long: nothing is written."""


def step_to(wanted: Approval, before: Approval | None, now: datetime) -> Step:
    """What approving ``wanted`` means, given the approval that is there."""
    if before is None:
        return Step.NEW
    if before.used_at or before.revoked_at:
        return Step.AGAIN
    if not before.counts(now):
        return Step.NEW
    return Step.LONGER if wanted.until > before.until else Step.STANDS


def writes_of_approval(approval: Approval, name: str, data: Mapping[str, str], now: datetime) -> dict[str, str | None]:
    """What approving writes: the approval, the ``name`` that the API server has for the person, "" where it has none,
    and void entries that are old enough are taken away."""
    key, value = format_approval(approval)
    return {**dict.fromkeys(_old(data, now)), key: value, **_by(key, name, data)}


def _by(key: str, name: str, data: Mapping[str, str]) -> dict[str, str | None]:
    beside = f"{key}{_BY}"
    return {beside: name} if name else {beside: None} if beside in data else {}


def _old(data: Mapping[str, str], now: datetime) -> Iterator[str]:
    """Keys of what has been void for so long that nobody asks for it any more. The record of an approval in Git is not,
    before that cannot count again whatever restores it."""
    for approval in parse_approvals(data):
        if now - approval.void_since > KEPT:
            yield from (key for key in (_key(approval.hash), f"{_key(approval.hash)}{_BY}") if key in data)
    for key, value in data.items():
        try:
            if _is_record(key) and now - _read_record(value).expires_at > KEPT:
                yield key
        except _DAMAGE:
            continue


def _is_record(key: str) -> bool:
    return key.endswith(_GIT) and is_hash(key.removesuffix(_GIT).replace(".", ":"))


def writes_of_use(
    hold_hash: str, git: Collection[GitApproval], data: Mapping[str, str], now: datetime, by: str
) -> dict[str, str | None]:
    """What a use writes: every approval of the hold that counts is used up at once, so that none lets it pass a second
    time. Empty when none counts any more. ``git`` are those that were read from Git."""
    people, of_git = _of(hold_hash, git, data)
    writes = [format_approval(approval.used(now, by)) for approval in people if approval.counts(now)]
    used = {"used_at": now.isoformat(), "used_by": by}
    writes += [_record(approval, **used) for approval in of_git if approval.counts(now)]
    return dict(writes)


def is_used_by(hold_hash: str, data: Mapping[str, str], by: str) -> bool:
    """Whether it was ``by`` who used an approval of the hold: the answer to its write may have been lost."""
    people, _ = _of(hold_hash, (), data)
    record = data.get(f"{_key(hold_hash)}{_GIT}")
    try:
        return any(found.used_by == by for found in people) or (
            record is not None and _read_record(record).used_by == by
        )
    except _DAMAGE:
        return False


def writes_of_revocation(
    hold_hash: str, git: Collection[GitApproval], data: Mapping[str, str], now: datetime, who: str, name: str
) -> dict[str, str | None]:
    """What a revocation by ``who`` writes: every approval of the hold that could count becomes void. Empty when none
    could. ``name`` is the API server's for that person, "" where it has none."""
    people, of_git = _of(hold_hash, git, data)
    writes: dict[str, str | None] = {}
    for approval in people:
        if not approval.used_at and not approval.revoked_at and now <= approval.until:
            key, value = format_approval(approval.revoked(now, who))
            writes |= {key: value, **_by(key, name, data)}
    for entry in of_git:
        if entry.ended is None and now <= entry.expires_at:
            key, value = _record(entry, revoked_at=now.isoformat(), revoked_by=who)
            writes[key] = value
    return writes


def _of(
    hold_hash: str, git: Collection[GitApproval], data: Mapping[str, str]
) -> tuple[list[Approval], list[GitApproval]]:
    """The approvals of one hold as they stand in ``data`` now."""
    people = [approval for approval in parse_approvals(data) if approval.hash == hold_hash]
    return people, [_with_record(replace(each, ended=None), data) for each in git if each.hash == hold_hash]


def _loads(value: str) -> Any:
    """Raises one of ``_DAMAGE``, also for half characters, which could not be written again."""
    fields = json.loads(value)
    json.dumps(fields, ensure_ascii=False).encode()
    return fields


def _json(value: Mapping[str, str | None]) -> str:
    """With letters of every language as they are: escaped they could be more than is read again."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _key(hold_hash: str) -> str:
    return hold_hash.replace(":", ".")


def _moment(fields: Mapping[str, Any], name: str) -> datetime | None:
    """Raises one of ``_DAMAGE`` for what is no moment."""
    return None if fields.get(name) is None else parse_moment(fields[name])
