"""JSON documents. A document is a type: its fields are the members, in the order in which people read them.

``to_json`` encodes every document, and the published schemas are made from the same types, so that both follow from one
declaration. Values of the planner are documents as they are. UNSET and UNMANAGED leave a member out, None is null.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from desired.model.route import Route
from desired.model.snapshot import Snapshot
from desired.model.to_builtins import to_builtins
from desired.section import UNMANAGED, Present
from reconciler.result import Report

FORMAT_VERSION = "1.0"
"""Readers ignore fields they do not know within a major version, and refuse another major version."""
FormatVersion = Annotated[str, Meta(pattern=r"^1\.[0-9]+$")]
DocumentKey = Annotated[str, Meta(pattern="^[a-z_]+(/.+)?$")]
"""The key of something in a plan, ``node/web-1``."""
Shown = Mapping[type, Callable[[Any], object]]
"""Type that is no document → what is shown in its place."""


class ClusterDocument(Struct, frozen=True):
    """The cluster that was read."""

    uid: str | None
    """UID of namespace kube-system; None when it could not be read."""

    @classmethod
    def of(cls, snapshot: Snapshot | None) -> "ClusterDocument":
        """The cluster of a snapshot."""
        uid = snapshot.cluster_uid if snapshot else None
        return cls(uid.value if isinstance(uid, Present) else None)


class RequestsDocument(Struct, frozen=True):
    """How many requests the run sent to each API, and how many more Hetzner takes."""

    kubernetes: int
    hetzner: int
    robot: int | UnsetType = UNSET
    """Only there where Robot servers are read."""
    hetzner_left: int | UnsetType = UNSET
    """What was left of the project's allowance after the run; only there where Hetzner said so."""
    hetzner_limit: int | UnsetType = UNSET
    """How many requests an hour that allowance is; likewise."""

    @classmethod
    def of(cls, report: Report) -> "RequestsDocument":
        """Those of the run that made the report."""
        sent = report.requests
        return cls(
            sent.kubernetes,
            sent.hetzner,
            UNSET if sent.robot is None else sent.robot,
            UNSET if sent.remaining is None else sent.remaining,
            UNSET if sent.limit is None else sent.limit,
        )


def to_json(value: object, shown: Shown | None = None) -> Any:
    """``value`` in JSON values. Mappings come in the order of their keys."""
    if shown and type(value) in shown:
        value = shown[type(value)](value)
    match value:
        case Mapping():
            return {str(key): to_json(value[key], shown) for key in sorted(value, key=str)}
        case tuple() | list():
            return [to_json(item, shown) for item in value]
        case Route():
            return to_builtins(value)
    document: Any = type(value)
    names = members_of(document)
    if not names:
        return to_builtins(value)
    members = ((name, getattr(value, field)) for field, name in names.items())
    return {name: to_json(member, shown) for name, member in members if member is not UNSET and member is not UNMANAGED}


@cache
def members_of(document: Any) -> Mapping[str, str]:
    """Field of a document → the name of its member; nothing for any other type.

    Fields that are never compared are left out. A field whose name Python keeps for itself has an underscore behind it,
    which its member has not.
    """
    if is_dataclass(document):
        names = [field.name for field in fields(document) if field.compare]
    else:
        names = list(getattr(document, "__struct_fields__", ()))
    return {name: name.rstrip("_") for name in names}
