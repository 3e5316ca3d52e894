"""Approvals of people, and the record of their uses, read into grants."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from actuators.config_maps import read_data
from actuators.http.errors import ApiError
from actuators.http.kubernetes import KubernetesReader
from desired.names import APPROVALS_CONFIG_MAP
from desired.plan.approvals import parse_approvals
from desired.plan.controller_record import ControllerRecord, FoundRecord, record_in
from desired.plan.grants import Grant
from desired.section import Present, Unknown


@dataclass(frozen=True, slots=True)
class StoredApprovals:
    """What was found of them."""

    given: tuple[Grant, ...] = ()
    """All approvals, whether or not they count."""
    unread: str = ""
    """Why they could not be read; "" when they were."""
    record: FoundRecord = field(default_factory=lambda: Present(ControllerRecord()))

    @property
    def grants(self) -> tuple[Grant, ...]:
        """The approvals, as the record judges them."""
        return self.judged(self.given)

    def judged(self, grants: Iterable[Grant]) -> tuple[Grant, ...]:
        """These, with their uses; none counts while the record cannot be read."""
        if isinstance(self.record, Present):
            return tuple(map(self.record.value.judged, grants))
        why = f"does not count: {self.record.why}"
        return tuple(replace(each, damage=each.damage or why) if each.is_stored else each for each in grants)


def observe_approvals(
    reader: KubernetesReader,
    namespace: str,
    cluster: Present[str] | Unknown | None = None,
    *,
    survives: type[ApiError] = ApiError,
) -> StoredApprovals:
    """The approvals and, in another request, the record of uses of the cluster with this UID; None: of whichever it is.
    Raises an ApiError that is none that it ``survives``."""
    record: FoundRecord
    try:
        record = record_in(read_data(reader, namespace) or {}, cluster)
    except survives as error:
        record = Unknown(f"the record of uses could not be read: {error}")
    try:
        given = parse_approvals(read_data(reader, namespace, APPROVALS_CONFIG_MAP) or {})
    except survives as error:
        return StoredApprovals(unread=str(error), record=record)
    return StoredApprovals(given, record=record)
