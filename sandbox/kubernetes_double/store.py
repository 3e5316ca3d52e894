"""Store: objects by key, the global version, unique ids, and the state of each object before its last write.

Rules of single kinds do not belong here. Objects are copied on the way in and out, so nobody changes the store by
changing an answer.
"""

import random
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from kubernetes_double.patch import copied
from kubernetes_double.resources import Resource

FIRST_VERSION = 1000
_NAME_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


class Key(NamedTuple):
    """One object. ``namespace`` is empty for kinds that have none."""

    resource: Resource
    namespace: str
    name: str

    @property
    def sort_key(self) -> str:
        """The order of lists, which is the order of keys in etcd."""
        return f"{self.namespace}/{self.name}"


class Write(NamedTuple):
    """The last change of one object."""

    key: Key
    before: dict[str, Any] | None
    """The object as it was; None when this write created it."""
    version: int
    """The version that this write took."""


Overlay = Mapping[Key, Write]
"""Writes that a read must not see, by key."""


class Store:
    """All objects of one cluster. ``on_write`` is called after every change."""

    def __init__(self, seed: int, on_write: Callable[[Write], None]) -> None:
        self.version = FIRST_VERSION
        self._seed = seed
        self._on_write = on_write
        self._objects: dict[Resource, dict[Key, dict[str, Any]]] = {}
        self._last_writes: dict[Key, Write] = {}

    def get(self, key: Key) -> dict[str, Any] | None:
        """A copy of the object, or None."""
        found = self._objects.get(key.resource, {}).get(key)
        return None if found is None else copied(found)

    def all(self, resource: Resource) -> Iterator[dict[str, Any]]:
        """Every object of a kind, not copied: for reading only."""
        return iter(self._objects.get(resource, {}).values())

    def put(self, key: Key, found: dict[str, Any]) -> dict[str, Any]:
        """Store an object under the next version and answer a copy of it."""
        kept = copied(found)
        self._record(key)
        kept["metadata"]["resourceVersion"] = str(self.version)
        self._objects.setdefault(key.resource, {})[key] = kept
        self._on_write(self._last_writes[key])
        return copied(kept)

    def remove(self, key: Key) -> None:
        """Forget an object, which takes a version too."""
        self._record(key)
        del self._objects[key.resource][key]
        self._on_write(self._last_writes[key])

    def load(self, objects: Mapping[Key, dict[str, Any]]) -> None:
        """Replace everything; objects bring their versions. The global version never goes back."""
        self._objects, self._last_writes = {}, {}
        for key, found in objects.items():
            self._objects.setdefault(key.resource, {})[key] = copied(found)
            self.version = max(self.version, int(found["metadata"]["resourceVersion"]))

    def snapshot(self, resource: Resource, hidden: Overlay) -> tuple[int, dict[Key, dict[str, Any]]]:
        """Version and objects of a kind (not copied, in no order), without the ``hidden`` writes."""
        found = dict(self._objects.get(resource, {}))
        version = self.version
        for key, write in hidden.items():
            if key.resource != resource:
                continue
            version = min(version, write.version - 1)
            if write.before is None:
                found.pop(key, None)
            else:
                found[key] = write.before
        return version, found

    def last_write(self, matches: Callable[[Key], bool]) -> Write | None:
        """The latest write of an object that ``matches``."""
        found = [write for key, write in self._last_writes.items() if matches(key)]
        return max(found, key=lambda write: write.version, default=None)

    def uid(self, *parts: object) -> str:
        """The unique id that this seed gives to something with these parts."""
        bits = random.Random(f"{self._seed}/{'/'.join(map(str, parts))}").getrandbits(128)  # noqa: S311 - not a secret
        return str(uuid.UUID(int=bits, version=4))

    def generated_name(self, prefix: str) -> str:
        """A name for an object created with ``generateName``."""
        letters = random.Random(f"{self._seed}/{prefix}/{self.version}")  # noqa: S311 - not a secret
        return prefix + "".join(letters.choice(_NAME_LETTERS) for _ in range(5))

    def _record(self, key: Key) -> None:
        self.version += 1
        before = self._objects.get(key.resource, {}).get(key)
        self._last_writes[key] = Write(key, before, self.version)
