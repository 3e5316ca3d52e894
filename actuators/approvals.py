"""Writes of approvals to their ConfigMap and of uses to the record, and the API server's name for a person."""

import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from http import HTTPStatus

from actuators.config_maps import ConfigMap, Values, compare_and_set, read_data
from actuators.http.decoding import member
from actuators.http.errors import ApiError, Broken, Conflict
from actuators.http.kubernetes import KubernetesReader, KubernetesWriter
from desired.names import APPROVALS_CONFIG_MAP
from desired.plan.approvals import (
    Step,
    parse_approvals,
    step_to,
    writes_of_approval,
    writes_of_revocation,
)
from desired.plan.controller_record import ControllerRecord, FoundRecord, Use
from desired.plan.grants import Grant, Here, Source
from desired.section import Present, Unknown

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
    before: Grant | None = None,
    name: str = "",
) -> Step:
    """Record ``approval``, and beside it the API server's ``name`` for the approver; what that meant, given
    the approval that was there ``before``. A ConfigMap that is not there is created.

    Raises an ApiError; Denied has the remedy for a person who may not create one: the chart brings it, and approvers do
    not need that right.
    """
    step = step_to(approval, before, now)
    if step is Step.LONGER and before is not None:  # the same approval: it may be used at this moment
        approval = replace(approval, approved_at=before.approved_at)
    if step is not Step.STANDS:

        def choose(data: Mapping[str, str]) -> Values:
            return writes_of_approval(approval, name, data, now)

        compare_and_set(reader, writer, namespace, choose, APPROVALS_CONFIG_MAP, creates=True)
    return step


def revoke(
    reader: KubernetesReader,
    writer: KubernetesWriter,
    namespace: str,
    hold_hash: str,
    now: datetime,
    *,
    who: str,
    name: str,
) -> None:
    """Make every approval of the hold void that was given until ``now``: ``who`` revokes, and ``name`` is the API
    server's for that person, "" if it has none. Raises an ApiError."""

    def choose(data: Mapping[str, str]) -> Values:
        return writes_of_revocation(hold_hash, now, who, name, data)

    compare_and_set(reader, writer, namespace, choose, APPROVALS_CONFIG_MAP, creates=True)


@dataclass
class ApprovalUses:
    """The uses that a process makes of approvals, in the record and in its own memory."""

    config_map: ConfigMap
    """Of the controller, with the record."""
    reader: KubernetesReader
    namespace: str
    """Of the ConfigMap of approvals."""
    creates: bool = False
    """Whether the first hold makes a ConfigMap that is not there: pods have no right to, and the chart brings it."""
    own: dict[tuple[str, datetime | None], Use] = field(default_factory=dict)
    """Uses of this process: they count although a restored record lacks them."""
    has_looked: bool = False
    """Whether names that earlier processes left are among them."""
    _names: set[str] = field(default_factory=set)

    def forget(self) -> None:
        """Look again for names that other processes have left. May be called from any thread."""
        self.has_looked = False

    def known(self, found: FoundRecord, here: Here) -> FoundRecord:
        """The record that was ``found`` with the uses of this process; begun now if it has not."""
        if isinstance(found, Unknown):
            return found
        record = found.value
        if record.begun_at is None and here.clocks_differ:
            return Unknown("the record of uses does not begin while the clocks differ")
        try:
            if record.begun_at is None:
                record = self._change(lambda stored: _begun(stored, here), here, creates=self.creates)
        except ApiError as error:
            return Unknown(f"the record of uses could not be written: {error}")
        return Present(record.beside(self.own.values()))

    def use_up(self, approvals: Collection[Grant], here: Here, names: Collection[str] = ()) -> None:
        """Mark these approvals of one hold as used before what they let through is applied: that counts once, whatever
        happens next, and however many processes try. The differences of these ``names`` pass until they are done.
        Raises Conflict when none counts any more, also if it was revoked until it was marked, and other ApiErrors."""
        word, used = secrets.token_hex(8), list[Use]()

        def choose(stored: ControllerRecord) -> ControllerRecord:
            used[:] = [use for use in stored.uses if use.used_by == word]
            if used:  # the answer to our own write was lost
                return stored
            record = _begun(stored, here).beside(self.own.values())
            found = [record.judged(each) for each in approvals]
            counting = [each for each in found if each.counts(here)]
            if not counting:
                why = next((each.why_void(here) for each in found), "counts no more")
                raise Conflict(f"it {why}")
            record = record.using(counting, here, word, names)
            used[:] = [use for use in record.uses if use.used_by == word]
            return record

        self._change(choose, here)
        self.own |= {use.identity: use for use in used}
        if not any(each.counts(here) for each in self._now(approvals)):
            raise Conflict("it was revoked meanwhile")
        self._names.update(names)

    def strike(
        self, begun: Collection[str], is_done: Callable[[str], bool], here: Here, *, looks: bool = False
    ) -> None:
        """Strike the differences that approvals let pass, these and those of earlier passes, and that are done: they
        never pass again. ``looks`` asks once for those that a process before this one has left. Raises an ApiError; the
        next pass tries again."""
        if looks and not self.has_looked:
            found = self.config_map.read_record(here.cluster)
            if isinstance(found, Unknown):
                raise Broken(found.why)
            self._names.update(found.value.names)
            self.has_looked = True
        self._names.update(begun)
        if not (done := {name for name in self._names if is_done(name)}):
            return
        self._change(lambda stored: stored if stored.names.isdisjoint(done) else stored.without(done), here)
        left = ControllerRecord(uses=tuple(self.own.values())).without(done)
        self.own, self._names = {use.identity: use for use in left.uses}, self._names - done

    def _change(
        self, choose: Callable[[ControllerRecord], ControllerRecord], here: Here, *, creates: bool = False
    ) -> ControllerRecord:
        return self.config_map.change_record(choose, here.cluster, here.now, creates=creates)

    def _now(self, approvals: Collection[Grant]) -> Iterator[Grant]:
        """These approvals as they stand by now: one may have been revoked meanwhile."""
        stored = [each for each in approvals if each.source is Source.CLUSTER]
        yield from (each for each in approvals if each.source is not Source.CLUSTER)
        found = read_data(self.reader, self.namespace, APPROVALS_CONFIG_MAP) if stored else None
        there = {each.identity: each for each in parse_approvals(found or {})}
        yield from (there[each.identity] for each in stored if each.identity in there)


def _begun(record: ControllerRecord, here: Here) -> ControllerRecord:
    return record if record.begun_at is not None else replace(record, begun_at=here.now)


_username_in = member("status.userInfo.username", str)


def reviewed_name(writer: KubernetesWriter) -> str:
    """The API server's name for the user; "" where it has no such reviews. A SelfSubjectReview changes nothing.

    Raises an ApiError for any other trouble."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        name = _username_in(writer.create(_REVIEWS, body).body)
    except ApiError as error:
        if error.status in _UNANSWERED:
            return ""
        raise
    except ValueError:
        return ""
    return name if len(name) <= _LONGEST_NAME else ""
