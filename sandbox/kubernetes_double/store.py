"""Store: objects by key, the global version, and unique ids.

Rules of single kinds do not belong here. Objects are copied on the way in and out, and never changed in place.
"""

import random
import uuid
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hcloud_sandbox.shapes import copied
from kubernetes_double.resources import Resource

FIRST_VERSION = 1000


class Key(NamedTuple):
    """One object, or all objects of a kind where parts are empty. ``namespace`` is empty for kinds that have none."""

    resource: Resource
    namespace: str
    name: str

    @property
    def sort_key(self) -> str:
        """The order of lists, which is the order of keys in etcd."""
        return f"{self.namespace}/{self.name}"


Objects = dict[Key, dict[str, Any]]


class Write(NamedTuple):
    """One change of one object."""

    key: Key
    before: dict[str, Any] | None
    """The object as it was; None when this write created it."""
    version: int
    """The version that this write took."""


class Store:
    """All objects of one cluster."""

    def __init__(self, seed: int) -> None:
        self.version = FIRST_VERSION
        self.on_write: Callable[[Write], None] = lambda _write: None
        """Called after every change."""
        self._seed = seed
        self._objects: dict[Resource, Objects] = {}

    def get(self, key: Key) -> dict[str, Any] | None:
        """A copy of the object; None where it is not stored."""
        found: dict[str, Any] | None = copied(self._objects.get(key.resource, {}).get(key))
        return found

    def all(self, resource: Resource) -> Iterable[dict[str, Any]]:
        """Every object of a kind, not copied: for reading only."""
        return self._objects.get(resource, {}).values()

    def put(self, key: Key, found: dict[str, Any]) -> dict[str, Any]:
        """Store an object under the next version and answer a copy of it."""
        kept: dict[str, Any] = copied(found)
        objects = self._objects.setdefault(key.resource, {})
        self.version += 1
        write = Write(key, objects.get(key), self.version)
        kept["metadata"]["resourceVersion"] = str(self.version)
        objects[key] = kept
        self.on_write(write)
        return dict(copied(kept))

    def remove(self, key: Key) -> None:
        """Forget an object, which takes a version too."""
        self.version += 1
        self.on_write(Write(key, self._objects[key.resource].pop(key), self.version))

    def load(self, objects: Objects) -> None:
        """Replace everything; objects bring their versions. The global version never goes back."""
        self._objects = {}
        for key, found in objects.items():
            self._objects.setdefault(key.resource, {})[key] = copied(found)
            self.version = max(self.version, int(found["metadata"]["resourceVersion"]))

    def snapshot(self, resource: Resource) -> Objects:
        """All objects of a kind as they are now, not copied and in no order: for reading only."""
        return dict(self._objects.get(resource, {}))

    def uid(self, *parts: object) -> str:
        """The unique id that this seed gives to something with these parts."""
        bits = random.Random(f"{self._seed}/{'/'.join(map(str, parts))}").getrandbits(128)  # noqa: S311 - not a secret
        return str(uuid.UUID(int=bits, version=4))
