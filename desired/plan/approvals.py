"""Approvals in ConfigMap ``hcloud-reconciler-approvals``: their format, and what approving and revoking write.

| Key | Value |
|---|---|
| ``sha256.<16 hex>`` | an approval in JSON, by ``reconcile approve``, kubectl or a tool that applies from Git |
| ``sha256.<16 hex>.revoked`` | in JSON since when earlier approvals of the hold are void, and by whom |
| ``sha256.<16 hex>.by`` | who wrote these last, in the API server's words: a policy can compare plain text |

The controller only reads them: its uses stand in its own record. They have no envelope, as people write them, and the
hash has the cluster in it. Any client that may write there may write anything: a damaged approval is void, a damaged
revocation counts, and an approval that asks for more time than may be gets what may be.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import MAXYEAR, datetime, timedelta
from enum import StrEnum
from typing import Any

from desired.model.clocks import parse_moment
from desired.model.record import DAMAGE, format_json, parse_json, parse_text
from desired.plan.grants import LONGEST, Grant, Here, Source
from desired.syntax import bounds

_HASH = re.compile(r"sha256:[0-9a-f]{16}", re.ASCII)
_LENGTH = len("sha256:") + 16
_BY, _REVOKED = ".by", ".revoked"
KEPT = timedelta(days=7)
"""How long an entry is kept after it was given, for people who look."""
_DAMAGED = "cannot be read: expect JSON with approver and approved_at, which needs a zone"
Writes = Mapping[str, str | None]
"""Key → what is to stand there; None takes the key away."""


def is_hash(text: str) -> bool:
    """Whether ``text`` can be the hash of a hold."""
    return len(text) == _LENGTH and _HASH.fullmatch(text) is not None


_MEMBERS = ("approver", "approved_at", "expires_at", "via", "reason")
"""Of a stored approval: fields of a grant."""


def format_approval(approval: Grant) -> tuple[str, str]:
    """Key and value in the ConfigMap. A key may not have a colon, so the hash's becomes a dot."""
    values = ((name, getattr(approval, name)) for name in _MEMBERS)
    shown = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values if value}
    return _key(approval.of), format_json({"approver": "", **shown})


def parse_approvals(data: Mapping[str, str]) -> tuple[Grant, ...]:
    """The approvals among a ConfigMap's data, in the order of their hashes, with their revocations. A damaged one is
    void, and is there all the same: people believe that it counts.

    The name that stands beside one is that of its last writer: a policy can check that, and not what is in JSON.
    """
    found = ((_hash_of(key), value) for key, value in sorted(data.items()))
    return tuple(_parse(of, value, data) for of, value in found if is_hash(of))


def _parse(of: str, value: str, data: Mapping[str, str]) -> Grant:
    by, revocation = data.get(f"{_key(of)}{_BY}", ""), data.get(f"{_key(of)}{_REVOKED}")
    by = "" if bounds.LONGEST_APPROVAL.is_exceeded(by) else by
    try:
        bounds.LONGEST_APPROVAL.check(value)
        fields = parse_json(value)
        members: dict[str, Any] = {name: _member(name, fields[name]) for name in _MEMBERS if name in fields}
        found = Grant(Source.CLUSTER, of, **members)
        if found.approved_at is None or found.approved_at.year == MAXYEAR or not (found.approver or by).strip():
            raise ValueError("approver or time is missing")
    except DAMAGE:
        return Grant(Source.CLUSTER, of, by or "an unknown approver", damage=_DAMAGED)
    revoked_at, revoked_by = (None, "") if revocation is None else _parse_revocation(revocation, found.approved_at)
    if revoked_at is None or revoked_at < found.approved_at:
        return replace(found, approver=by or found.approver)
    return replace(found, revoked_at=revoked_at, revoked_by=by or revoked_by)


def _member(name: str, value: Any) -> object:
    """The value of a member. Raises one of ``DAMAGE`` for anything else."""
    if name.endswith("_at"):
        return None if value is None else parse_moment(value)
    return parse_text(value)


def _parse_revocation(value: str, approved_at: datetime) -> tuple[datetime, str]:
    """When and by whom; a damaged one is taken for later than the approval."""
    try:
        bounds.LONGEST_APPROVAL.check(value)
        fields = parse_json(value)
        return parse_moment(fields["revoked_at"]), parse_text(fields.get("revoked_by", ""))
    except DAMAGE:
        return approved_at, "an unknown person"


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
    if before is None or before.damage:
        return Step.NEW
    if before.is_spent:
        return Step.AGAIN
    if not before.counts(Here(now)):
        return Step.NEW
    return Step.LONGER if (wanted.until or now) > (before.until or now) else Step.STANDS


def writes_of_approval(approval: Grant, name: str, data: Mapping[str, str], now: datetime) -> Writes:
    """What approving writes: the approval, the ``name`` that the API server has for the person, "" where it has none. A
    revocation of earlier ones is taken away, and so are entries that are old enough."""
    key, value = format_approval(approval)
    revoked = {each: None for each in [f"{key}{_REVOKED}"] if each in data}
    return {**dict.fromkeys(_old(data, now)), **revoked, key: value, **_by(key, name, data)}


def writes_of_revocation(hold_hash: str, now: datetime, who: str, name: str, data: Mapping[str, str]) -> Writes:
    """What a revocation by ``who`` writes: approvals of the hold are void that were given until now. ``name`` is the
    API server's for that person, "" where it has none."""
    key = _key(hold_hash)
    value = format_json({"revoked_at": now.isoformat(), "revoked_by": who})
    return {f"{key}{_REVOKED}": value, **_by(key, name, data)}


def _by(key: str, name: str, data: Mapping[str, str]) -> Writes:
    beside = f"{key}{_BY}"
    return {beside: name} if name else {beside: None} if beside in data else {}


def _old(data: Mapping[str, str], now: datetime) -> Iterator[str]:
    """Keys of approvals that ended too long ago to be of interest."""
    for approval in parse_approvals(data):
        if approval.approved_at is not None and now - approval.approved_at > LONGEST + KEPT:
            yield from _keys_of(approval.of, data)


def _keys_of(hold_hash: str, data: Collection[str]) -> Iterator[str]:
    key = _key(hold_hash)
    yield from (each for each in (key, f"{key}{_BY}", f"{key}{_REVOKED}") if each in data)


def _key(hold_hash: str) -> str:
    return hold_hash.replace(":", ".")


def _hash_of(key: str) -> str:
    return key.replace(".", ":")
