"""Pages of Hetzner's lists of one kind of object. An object that cannot be decoded is isolated, the page stays whole.

What cannot be decoded raises ValueError, whether it is msgspec, ipaddress or the text's encoding that objects.
"""

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from actuators.http.decoding import Decoder, decoder
from actuators.http.errors import ApiError, Broken
from actuators.http.hetzner import HetznerReader
from actuators.http.hetzner_lists import Decoded, read_list
from desired.section import Section


class _Numbered(Protocol):
    @property
    def id(self) -> int: ...


S = TypeVar("S")
V = TypeVar("V", bound=_Numbered)


class _IdOnly(msgspec.Struct):
    id: int


class _Identified(msgspec.Struct):
    id: int
    name: str | None = None


_ID_ONLY = decoder(_IdOnly)
_IDENTIFIED = decoder(_Identified)


class PagesOf(Generic[S, V]):
    """The objects of one kind: where they are listed, how they are decoded, and what they are called."""

    def __init__(self, path: str, word: str, shape: type[S], value: Callable[[S], V]) -> None:
        self._path = path
        self._word = word
        self._value = value
        self._whole = _page_decoder(path, shape)
        self._raw = _page_decoder(path, msgspec.Raw)
        self._one = decoder(shape)

    def observe(self, reader: HetznerReader) -> tuple[Section[int, V], ApiError | None]:
        """All objects of the project, and the error that made the list incomplete."""
        return read_list(reader, self._path, self.decode)

    def decode(self, page: bytes) -> Decoded[V]:
        """The objects of one page. Raises Broken for a body that is no page of this list."""
        try:
            values = [self._value(found) for found in self._whole.decode(page).items]
            return Decoded({value.id: value for value in values}, {})
        except ValueError:
            return self._one_by_one(page)

    def _one_by_one(self, page: bytes) -> Decoded[V]:
        try:
            raw_items = self._raw.decode(page).items
        except ValueError as error:
            raise Broken(f"Hetzner GET {self._path}: the answer is no list of {self._word}s ({error})") from error
        items: dict[int, V] = {}
        unreadable: dict[int, str] = {}
        names: dict[int, str] = {}
        nameless = 0
        for raw in raw_items:
            try:
                value = self._value(self._one.decode(raw))
                items[value.id] = value
            except ValueError as error:
                found = _identified(raw)
                if found is None:
                    nameless += 1
                    continue
                unreadable[found.id] = f"{self._word} {found.id} could not be read: {error}"
                if found.name:
                    names[found.id] = found.name
        return Decoded(items, unreadable, names, nameless)


def _page_decoder(path: str, shape: Any) -> Decoder[Any]:
    """Of an object whose one member has the name of the list."""
    page = msgspec.defstruct("Page", [("items", list[shape])], rename={"items": path.removeprefix("/")})
    return decoder(page)


def _identified(raw: msgspec.Raw) -> _Identified | None:
    """Id and, if that can be read too, name of an object; None when there is no id."""
    try:
        return _IDENTIFIED.decode(raw)
    except ValueError:
        pass
    try:
        return _Identified(_ID_ONLY.decode(raw).id)
    except ValueError:
        return None
