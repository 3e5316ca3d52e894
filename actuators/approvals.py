"""Writes of approvals to the product's ConfigMap: that of a hold, its use and its revocation; and the API server's name
for a person."""

import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus

import msgspec

from actuators import config_maps
from actuators.config_maps import Values, compare_and_set
from actuators.http.decoding import decoder
from actuators.http.errors import ApiError, Conflict
from actuators.http.kubernetes import KubernetesReader, KubernetesWriter
from desired.names import CONFIG_MAP
from desired.plan.approvals import (
    Step,
    approval_of,
    is_used_by,
    names_left,
    step_to,
    writes_of_approval,
    writes_of_revocation,
    writes_of_strike,
    writes_of_use,
)
from desired.plan.grants import Grant, Here, Source

_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_LONGEST_NAME = 256
_UNANSWERED = frozenset(
    {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}
)
"""Answers of an API server without such reviews: before Kubernetes 1.28, and where an administrator took the right."""


def approve(
    reader: KubernetesReader,
    writer: KubernetesWriter,
    namespace: str,
    approval: Grant,
    now: datetime,
    *,
    name: str = "",
) -> tuple[Step, Grant | None]:
    """Record ``approval``, and ``name`` beside it, which is the API server's for who approves; what that meant, and the
    approval that was there before, None without one. A ConfigMap that is not there is created.

    Raises an ApiError; Denied has the remedy for who may not create one, as it comes with the chart and approvers need
    no such right.
    """

    def choose(data: Mapping[str, str]) -> Values:
        return writes_of_approval(approval, name, data, now)

    before = approval_of(approval.of, compare_and_set(reader, writer, namespace, choose, creates=True))
    return step_to(approval, before, now), before


@dataclass
class ApprovalUses:
    """The uses that a process makes of approvals."""

    reader: KubernetesReader
    writer: KubernetesWriter
    namespace: str
    begun: set[str] = field(default_factory=set)
    """Names of differences that an approval has let pass, and that no pass has seen done."""
    has_looked: bool = False
    """Whether those of earlier processes are among them."""

    def use_up(self, approvals: Collection[Grant], now: datetime, names: Collection[str] = ()) -> None:
        """Mark these approvals of one hold as used before what they let through is applied: that counts once, whatever
        happens next, and however many processes try. The differences of these ``names`` pass until they are done.
        Raises Conflict when none counts any more, and other ApiErrors."""
        by, hold_hash = secrets.token_hex(8), next(iter(approvals)).of
        git = [approval for approval in approvals if approval.source is Source.GIT]

        def choose(data: Mapping[str, str]) -> Values:
            if is_used_by(hold_hash, data, by):  # the answer to our own write was lost
                return {}
            values = writes_of_use(hold_hash, git, data, now, by, names)
            if not values:
                found = approval_of(hold_hash, data)
                why = found.why_void(Here(now)) if found else "is not there any more, or was used"
                raise Conflict(f"it {why}")
            return values

        compare_and_set(self.reader, self.writer, self.namespace, choose)
        self.begun.update(names)

    def strike(self, begun: Collection[str], is_done: Callable[[str], bool], *, looks: bool = False) -> None:
        """Strike the differences that approvals let pass, these and those of earlier passes, and that are done: they
        never pass again. ``looks`` asks once for those that a process before this one has left. Raises an ApiError; the
        next pass tries again."""
        if looks and not self.has_looked:
            found = config_maps.read(self.reader, self.namespace, CONFIG_MAP)
            self.begun.update(names_left(found.data if found else {}))
            self.has_looked = True
        self.begun.update(begun)
        if done := {name for name in self.begun if is_done(name)}:
            compare_and_set(self.reader, self.writer, self.namespace, lambda data: writes_of_strike(data, done))
            self.begun -= done


def revoke(
    reader: KubernetesReader,
    writer: KubernetesWriter,
    namespace: str,
    hold_hash: str,
    git: Collection[Grant],
    now: datetime,
    *,
    who: str,
    name: str,
) -> bool:
    """Take back every approval of the hold that could count; whether there was one. ``git`` are those that were read
    from Git, ``who`` revokes, and ``name`` is the API server's for them, "" where it has none. Raises an ApiError."""

    def choose(data: Mapping[str, str]) -> Values:
        return writes_of_revocation(hold_hash, git, data, now, who, name)

    return bool(choose(compare_and_set(reader, writer, namespace, choose)))


class _UserInfo(msgspec.Struct):
    username: str


class _ReviewStatus(msgspec.Struct):
    user: _UserInfo = msgspec.field(name="userInfo")


class _Review(msgspec.Struct):
    status: _ReviewStatus


def reviewed_name(writer: KubernetesWriter) -> str:
    """The API server's name for the user; "" where it has no such reviews. A SelfSubjectReview changes nothing.

    Raises an ApiError for any other trouble."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        name = decoder(_Review).decode(writer.create(_REVIEWS, body).body).status.user.username
    except ApiError as error:
        if error.status in _UNANSWERED:
            return ""
        raise
    except ValueError:
        return ""
    return name if len(name) <= _LONGEST_NAME else ""
