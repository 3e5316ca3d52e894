"""A person's word that one hold may pass: its format in the ConfigMap, and when it counts (design section 6)."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

_HASH = re.compile(r"sha256:[0-9a-f]{16}", re.ASCII)
LIFETIME = timedelta(hours=1)
"""How long an approval counts: long enough for a person and a pass, too short to be forgotten and met later."""


@dataclass(frozen=True, slots=True)
class Approval:
    """One line of the ConfigMap."""

    hash: str
    approver: str
    approved_at: datetime
    used_at: datetime | None = None

    def counts(self, now: datetime) -> bool:
        """Whether it lets its hold pass at ``now``: unused, not expired, and not from the future."""
        return self.used_at is None and timedelta() <= now - self.approved_at <= LIFETIME

    def used(self, now: datetime) -> "Approval":
        """The same approval, void from ``now`` on."""
        return replace(self, used_at=now)


def is_hash(text: str) -> bool:
    """Whether ``text`` can be the hash of a hold."""
    return _HASH.fullmatch(text) is not None


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
    if not is_hash(text):
        return None
    try:
        fields = json.loads(value)
        used_at = fields["used_at"]
        approval = Approval(
            text,
            str(fields["approver"]),
            datetime.fromisoformat(fields["approved_at"]),
            None if used_at is None else datetime.fromisoformat(used_at),
        )
    except (ValueError, KeyError, TypeError, RecursionError):  # the last is what json raises on deep nesting
        return None
    return approval if approval.approved_at.tzinfo else None
