"""Sections: what was read of one kind of object, with a three-valued look-up, because unknown is not absent."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import Final, Generic, TypeVar

K = TypeVar("K", str, int)
V = TypeVar("V")
G = TypeVar("G")


@dataclass(frozen=True, slots=True)
class Present(Generic[V]):
    """The object exists."""

    value: V


@dataclass(frozen=True, slots=True)
class Absent:
    """A complete reading has no such object."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing can be said: the reading has a gap, or the object arrived and could not be read."""

    why: str


class Unmanaged(Enum):
    """The type of UNMANAGED alone."""

    UNMANAGED = "unmanaged"


NOT_SELECTED: Final = "not among the objects that a selector has listed"
UNMANAGED: Final = Unmanaged.UNMANAGED
"""A desired field that was not asked for, or of which too little is known: it is never diffed."""


@dataclass(frozen=True, slots=True)
class Section(Generic[K, V]):
    """Everything that one reading found, by key, and whether it was all.

    Iterating yields the objects in the order of their keys, so that nothing downstream depends on the order in which
    an API answered.
    """

    items: Mapping[K, V] = field(default_factory=lambda: MappingProxyType({}))
    complete: bool = True
    why_incomplete: str | None = None
    """One sentence for people; None exactly when the section is complete."""
    expected: int | None = None
    """How many objects the API said there are; None when it did not say."""
    unreadable: Mapping[K, str] = field(default_factory=lambda: MappingProxyType({}))
    """Key of an object that arrived but could not be decoded → why. These keys are Unknown, the others are not."""
    unreadable_names: Mapping[K, str] = field(default_factory=lambda: MappingProxyType({}))
    """Key → name of those unreadable objects whose name could be read: only what looks for that name is in doubt."""
    read_by_key: frozenset[K] | None = None
    """Where a selector has narrowed the list: the keys that were asked for one by one besides. Keys that are neither
    listed nor among these are Unknown. None: the list was not narrowed."""

    def __post_init__(self) -> None:
        if self.complete != (self.why_incomplete is None):
            raise ValueError("a section is incomplete exactly when it says why")

    @classmethod
    def missing(cls, why: str) -> "Section[K, V]":
        """A section of which nothing could be read."""
        return cls({}, complete=False, why_incomplete=why)

    @property
    def is_whole(self) -> bool:
        """Whether all that there is was read: only then is what is not in it known to be absent."""
        return self.complete and not self.unreadable and self.read_by_key is None

    @property
    def total(self) -> int:
        """Number of objects that arrived, those that could not be read included: they take up room as well."""
        return len(self.items) + len(self.unreadable)

    def find(self, key: K) -> Present[V] | Absent | Unknown:
        """The object under ``key``. Absent is only ever said by a complete section."""
        if key in self.items:
            return Present(self.items[key])
        if key in self.unreadable:
            return Unknown(self.unreadable[key])
        if self.complete and self.read_by_key is not None and key not in self.read_by_key:
            return Unknown(NOT_SELECTED)
        return Absent() if self.complete else Unknown(self.why_incomplete or "the reading is incomplete")

    def without(self, key: K) -> "Section[K, V]":
        """The same, as if it were known that there is no such object."""
        items = {each: item for each, item in self.items.items() if each != key}
        unreadable = {each: why for each, why in self.unreadable.items() if each != key}
        read_by_key = None if self.read_by_key is None else self.read_by_key | {key}
        return replace(self, items=items, unreadable=unreadable, read_by_key=read_by_key)

    def __iter__(self) -> Iterator[V]:
        return (self.items[key] for key in sorted(self.items))

    def __len__(self) -> int:
        return len(self.items)


def grouped(pairs: Iterable[tuple[G, V]]) -> Mapping[G, tuple[V, ...]]:
    """Key → all of its values; keys and values in their order."""
    groups: dict[G, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in groups.items()}
