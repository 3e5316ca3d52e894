"""Approval of one hold by a person: its format in the ConfigMap, and when it counts."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from desired.model.clocks import TOLERANCE, parse_moment
from desired.syntax import bounds

_HASH = re.compile(r"sha256:[0-9a-f]{16}", re.ASCII)
_LENGTH = len("sha256:") + 16
LIFETIME = timedelta(hours=1)
"""How long an approval counts: long enough for a person and a pass, too short to be forgotten and met later."""


@dataclass(frozen=True, slots=True)
class Approval:
    """One line of the ConfigMap."""

    hash: str
    approver: str
    approved_at: datetime
    used_at: datetime | None = None

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
        if now - self.approved_at > LIFETIME:
            return f"has expired: it is of {self.approved_at:%Y-%m-%d %H:%M} UTC"
        if self.approved_at - now > TOLERANCE:
            return f"is of the future, {self.approved_at:%Y-%m-%d %H:%M} UTC"
        if clocks_differ:
            return "does not count while the clocks differ, as its age is not known; use reconcile --once --approve"
        return None

    def used(self, now: datetime) -> "Approval":
        """The same approval, void from ``now`` on."""
        return replace(self, used_at=now)


def is_hash(text: str) -> bool:
    """Whether ``text`` can be the hash of a hold."""
    return len(text) == _LENGTH and _HASH.fullmatch(text) is not None


def format_approval(approval: Approval) -> tuple[str, str]:
    """Key and value in the ConfigMap. A key may not have a colon, so the hash's becomes a dot."""
    value = {
        "approver": approval.approver,
        "approved_at": approval.approved_at.isoformat(),
        "used_at": approval.used_at.isoformat() if approval.used_at else None,
    }
    return approval.hash.replace(":", "."), json.dumps(value, sort_keys=True)


def parse_approvals(data: Mapping[str, str]) -> tuple[Approval, ...]:
    """The approvals among a ConfigMap's data. What is no approval, or a damaged one, approves nothing."""
    return tuple(
        approval
        for key, value in sorted(data.items())
        if (approval := _parse(key.replace(".", ":"), value)) is not None
    )


def _parse(text: str, value: str) -> Approval | None:
    if not is_hash(text) or bounds.APPROVAL.is_exceeded(value):
        return None
    try:
        fields = json.loads(value)
        used_at = None if fields["used_at"] is None else parse_moment(fields["used_at"])
        return Approval(text, str(fields["approver"]), parse_moment(fields["approved_at"]), used_at)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):  # the last: json's on deep nesting
        return None
