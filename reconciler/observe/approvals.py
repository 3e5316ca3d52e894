"""Approvals in both ConfigMaps, read into grants."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from actuators.http.errors import ApiError
from actuators.http.kubernetes import KubernetesReader
from desired.names import GIT_CONFIG_MAP
from desired.plan.approvals import parse_approvals, parse_git_approvals
from desired.plan.grants import Grant
from reconciler.observe.kubernetes import observe_config_map


@dataclass(frozen=True, slots=True)
class StoredApprovals:
    """What was found of them."""

    grants: tuple[Grant, ...] = ()
    """All of them, also those that count no more."""
    data: Mapping[str, str] = field(default_factory=dict)
    """What else is in the product's ConfigMap."""
    unread: str = ""
    """Why none could be read; "" when they were."""
    git_unread: str = ""
    """Why those from Git could not be; the others count all the same."""


def observe_approvals(
    reader: KubernetesReader, namespace: str, *, survives: type[ApiError] = ApiError
) -> StoredApprovals:
    """The approvals of people and, in another request, those from Git. Raises an ApiError that is none that it
    ``survives``."""
    try:
        data = observe_config_map(reader, namespace) or {}
    except survives as error:
        return StoredApprovals(unread=str(error))
    people = parse_approvals(data)
    try:
        entries = observe_config_map(reader, namespace, GIT_CONFIG_MAP) or {}
    except survives as error:
        return StoredApprovals(people, data, git_unread=str(error))
    return StoredApprovals((*people, *parse_git_approvals(entries, data)), data)
