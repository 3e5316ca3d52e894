"""Kinds of objects that are watched, and the projection of each: what the planner sees of it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from desired.annotations.claims import Claim
from desired.load_balancers.wanted import matters
from desired.model.service import Service
from desired.model.snapshot import Node, Snapshot
from desired.section import Section, Unknown
from reconciler.observe.kubernetes_lists import ListOf
from reconciler.observe.nodes import NODES
from reconciler.observe.services import SERVICES

_MOST_DIGITS = 39
"""Of 128 bits, which no version of an API server has (KEP-5504)."""


class WatchedKind(StrEnum):
    """A kind that is watched. The value is the first part of keys."""

    NODE = "node"
    SERVICE = "service"

    @property
    def path(self) -> str:
        """The path where all objects of the kind are listed."""
        return _LISTS[self].path

    def section(self, snapshot: Snapshot) -> Section[str, Node] | Section[str, Service] | None:
        """The objects of the kind as a pass has read them; None when it reads none."""
        return snapshot.nodes if self is WatchedKind.NODE else snapshot.services

    def decode(self, raw: bytes) -> tuple[str | None, Node | Service | Unknown]:
        """Key and value of an object; Unknown for one that cannot be read, without a key when it cannot be either."""
        if self is WatchedKind.NODE:
            return NODES.decode_one(raw)
        return SERVICES.decode_one(raw)


_LISTS: Mapping[WatchedKind, ListOf[Any, Any]] = {WatchedKind.NODE: NODES, WatchedKind.SERVICE: SERVICES}


@dataclass(frozen=True, slots=True)
class Projection:
    """What the planner sees of an object: nothing but a number, so that thousands cost nothing to keep."""

    projection: int | None
    """Equal for objects between which no rule can tell; None for one at which none looks, as when it is not there."""
    version: int | None = None
    """The object's ``resourceVersion``: of two, the greater one is the later one (KEP-5504). None when not known."""


NOTHING = Projection(None)


def projection_of(found: Node | Service | Unknown) -> Projection:
    """The projection of an object. Of one that cannot be read it is the reason why.

    Two objects have one number by accident once in 2**60, and then the next pass of the interval sees the difference.
    """
    if isinstance(found, Unknown):
        return Projection(hash(found.why))
    if isinstance(found, Service) and not matters(found):
        return Projection(None, version_number(found.resource_version))
    return Projection(_number(found), version_number(found.resource_version))


def version_number(version: str) -> int | None:
    """A ``resourceVersion`` as something that can be compared; None when it cannot."""
    is_number = version.isascii() and version.isdigit() and len(version) <= _MOST_DIGITS
    return int(version) if is_number else None


def _number(value: Node | Service | Claim) -> int:
    """The hash of all fields that are compared. Labels have none of their own; what the server counts is left out."""
    return hash(tuple(_hashable(getattr(value, name)) for name in _FIELDS[type(value)]))


def _hashable(value: object) -> object:
    if isinstance(value, Mapping):
        return frozenset(value.items())
    return _number(value) if isinstance(value, Claim) else value


_FIELDS = {
    shape: tuple(field.name for field in fields(shape) if field.compare and field.name != "resource_version")
    for shape in (Node, Service, Claim)
}
