"""Keys of objects and of their parts in plans, notes, holds and ``--only``: formatted here, and nowhere taken apart."""

from collections.abc import Collection
from enum import StrEnum


class ObjectKind(StrEnum):
    """Kinds of objects that keys name; the value is the first part of the text."""

    NODE = "node"
    SERVICE = "service"
    LOAD_BALANCER = "load_balancer"
    CERTIFICATE = "certificate"
    NETWORK = "network"
    ROUTE = "route"
    DEPLOYMENT = "deployment"
    DAEMON_SET = "daemonset"
    CLUSTER = "cluster"
    PROJECT = "project"
    PLAN = "plan"
    """The plan as a whole: what a note says of no single object."""


class Key(str):
    """The identity of an object, or of a part of one: ``service/default/web``, ``node/web-1/labels``.

    It is the text that people read and scripts compare, with the values that it was made from: what is decided by an
    object's kind or name is decided by these.
    """

    __slots__ = ("kind", "name", "parts")
    kind: ObjectKind
    name: str
    """``web-1``, ``default/web``, or an id; "" for the plan."""
    parts: tuple[str, ...]
    """``("listener", "80")``; empty for the object itself."""

    def __new__(cls, kind: ObjectKind, name: object = "", *parts: object) -> "Key":
        key = super().__new__(cls, "/".join((kind, *filter(None, (str(name),)), *map(str, parts))))
        key.kind, key.name, key.parts = kind, str(name), tuple(map(str, parts))
        return key

    def __getnewargs__(self) -> tuple[ObjectKind, str, *tuple[str, ...]]:  # type: ignore[override]
        return (self.kind, self.name, *self.parts)

    def part(self, *parts: object) -> "Key":
        """The key of a part of this object."""
        return Key(self.kind, self.name, *self.parts, *parts)

    @property
    def whole(self) -> "Key":
        """The key of the object that this is a part of; the same for an object."""
        return Key(self.kind, self.name)


PLAN = Key(ObjectKind.PLAN)


def is_below(key: str, roots: Collection[str]) -> bool:
    """Whether ``key`` is one of ``roots``, which a person may have written, or a part of what one of them names."""
    return any(key == root or key.startswith(f"{root}/") for root in roots)
