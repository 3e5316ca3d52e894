"""Complete lists of the API server's objects of one kind.

One object that cannot be decoded is isolated: its key becomes Unknown, and the list stays complete. msgspec's errors
are ValueErrors, and so is that of text that is not UTF-8.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from actuators.http.decoding import Decoded, decoder, in_one, member, one_by_one
from actuators.http.errors import Broken, broken_unless_readable
from actuators.http.kubernetes import ApiAnswer, KubernetesReader
from desired.section import Section, Unknown
from desired.syntax.bounds import counted


class ListMeta(msgspec.Struct, rename="camel", gc=False):
    """Metadata that every object has (Kubernetes meta/v1 ObjectMeta)."""

    name: str
    uid: str
    resource_version: str
    creation_timestamp: datetime
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None


class Name(msgspec.Struct, gc=False):
    """The identity of an object that is in no namespace."""

    name: str

    @property
    def key(self) -> str:
        """In the snapshot."""
        return self.name


class NamespacedName(msgspec.Struct, gc=False):
    """The identity of an object in a namespace."""

    name: str
    namespace: str

    @property
    def key(self) -> str:
        """In the snapshot: ``NAMESPACE/NAME``."""
        return f"{self.namespace}/{self.name}"


class _Keyed(Protocol):
    @property
    def key(self) -> str: ...


S = TypeVar("S")
V = TypeVar("V")


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _ObjectList(msgspec.Struct, Generic[S]):
    """A page of a list."""

    kind: str
    metadata: _ListMeta
    items: list[S] | None


class ListOf(Generic[S, V]):
    """The objects of one kind: where they are listed, how they are decoded, and what they are called."""

    def __init__(
        self,
        path: str,
        word: str,
        shape: type[S],
        value: Callable[[S], V],
        *,
        identity: type[_Keyed],
        key: Callable[[V], str],
    ) -> None:
        """``shape`` has the fields that are read, of which ``value`` makes the value or raises ValueError; ``identity``
        has those of its metadata that name it, and ``key`` finds the same name in the value."""
        self.path = path
        self._word = word
        self._value = value
        self._key = key
        self._whole = decoder(_ObjectList[shape])  # type: ignore[valid-type]
        self._raw = decoder(_ObjectList[msgspec.Raw])
        self._one = decoder(shape)
        self._identity = member("metadata", identity)

    def observe(self, reader: KubernetesReader) -> tuple[Section[str, V], datetime]:
        """All objects, and the API server's time when the reading began. Raises an ApiError."""
        pages = reader.list_pages(self.path, lambda answer: (self.decode(answer.body), server_time(answer)))
        return self.joined([page for page, _ in pages]), pages[0][1]

    def decode(self, page: bytes) -> Decoded[str, V]:
        """The objects of one page. Raises Broken for a page that is no list of the API server's."""
        try:
            values = [self._value(found) for found in self._checked(self._whole.decode(page))]
            return Decoded({self._key(value): value for value in values})
        except ValueError:
            return self._one_by_one(page)

    def joined(self, pages: Sequence[Decoded[str, V]]) -> Section[str, V]:
        """One section of all pages."""
        found = in_one(pages)
        why = f"{counted(found.nameless, self._word)} could not be read, name included" if found.nameless else None
        return Section(found.items, complete=why is None, why_incomplete=why, unreadable=found.unreadable)

    def _one_by_one(self, page: bytes) -> Decoded[str, V]:
        with broken_unless_readable(f"Kubernetes GET {self.path}: the answer is no list"):
            raw_items = self._checked(self._raw.decode(page))
        return one_by_one(raw_items, self._item, self._identified, lambda _key, error: self._why(error))

    def decode_one(self, raw: bytes | msgspec.Raw) -> tuple[str | None, V | Unknown]:
        """One object and its key; Unknown for one that cannot be read, without a key when not even its name can be."""
        try:
            return self._item(raw)
        except ValueError as error:
            key = None
            with suppress(ValueError):
                key, _ = self._identified(raw)
            return key, Unknown(self._why(error))

    def _item(self, raw: bytes | msgspec.Raw) -> tuple[str, V]:
        value = self._value(self._one.decode(raw))
        return self._key(value), value

    def _why(self, error: ValueError) -> str:
        return f"the API server's {self._word} could not be read: {error}"

    def _checked(self, answer: _ObjectList[Any]) -> Sequence[Any]:
        """The items of a list. Null items are an empty list only in an answer that is a list of some version."""
        if not answer.kind.endswith("List") or (answer.items is None and not answer.metadata.resource_version):
            why = f"the answer is a {answer.kind}, not a list of {self._word}s"
            raise Broken(f"Kubernetes GET {self.path}: {why}")
        return answer.items or ()

    def _identified(self, raw: bytes | msgspec.Raw) -> tuple[str, None]:
        return self._identity(raw).key, None


def server_time(answer: ApiAnswer) -> datetime:
    """The API server's clock, to the second, in UTC. Raises Broken when the answer carries no ``Date``."""
    try:
        return parsedate_to_datetime(answer.headers["date"]).astimezone(UTC)
    except (KeyError, ValueError, OverflowError) as error:
        raise Broken("the Kubernetes API server's answer has no usable Date header; is that a proxy?") from error
