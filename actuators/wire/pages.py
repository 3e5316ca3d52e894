"""Objects of the Hetzner Cloud API, read into values: whole lists, one by its id, or those that a query finds.

An object that cannot be decoded is isolated, the page stays whole. What cannot be decoded raises ValueError, whether it
is msgspec, ipaddress or the text's encoding that objects. Fields that the API may drop one day are optional."""

from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar
from urllib.parse import urlencode

import msgspec

from actuators.http.decoding import Decoded, decoder, member, one_by_one
from actuators.http.errors import ApiError, broken_unless_readable
from actuators.http.hetzner import HetznerReader
from actuators.http.lists import read_list
from desired.section import Section


class _Numbered(Protocol):
    @property
    def id(self) -> int: ...


S = TypeVar("S")
V = TypeVar("V", bound=_Numbered)


class _Identity(msgspec.Struct):
    """What identifies an object that cannot be read as a whole."""

    id: int
    name: msgspec.Raw = msgspec.Raw(b"null")


class Codec(Generic[S, V]):
    """The objects of one kind: where they are, how they are read, and what they are called. Observing, the look before
    a write and a capture read an object by the same codec."""

    def __init__(self, path: str, word: str, shape: type[S], value: Callable[[S], V]) -> None:
        """``shape`` is what is read, ``value`` makes the value of it or raises ValueError, ``word`` is for people."""
        self.shape = shape
        self.path = path
        self._word = word
        self._value = value
        plural = path.removeprefix("/")
        self._whole = member(plural, list[shape])  # type: ignore[valid-type]
        self._raw = member(plural, list[msgspec.Raw])
        self._single = member(plural.removesuffix("s"), shape)
        self._one = decoder(shape)

    def observe(self, reader: HetznerReader, selector: str = "") -> tuple[Section[int, V], ApiError | None]:
        """All objects, or those that a label ``selector`` selects, and the error that made the list incomplete."""
        return read_list(reader, self.path, self.decode, selector)

    def decode(self, page: bytes) -> Decoded[int, V]:
        """The objects of one page. Raises Broken for a body that is no page of this list."""
        try:
            values = [self._value(found) for found in self._whole(page)]
            return Decoded({value.id: value for value in values})
        except ValueError:
            return self._one_by_one(page)

    def one(self, reader: HetznerReader, object_id: int) -> V:
        """One object as it is now. Raises an ApiError: NotFound when the API itself says that it is not there."""
        path = f"{self.path}/{object_id}"
        body = reader.get(path)
        with broken_unless_readable(f"Hetzner GET {path}: the answer is no {self._word}"):
            return self._value(self._single(body))

    def found(self, reader: HetznerReader, query: Mapping[str, str]) -> list[V]:
        """The objects that a query finds, of which there are few enough for a page. Raises an ApiError, Broken where
        one of them cannot be read: it is there, whatever it is."""
        body = reader.get(f"{self.path}?{urlencode(query)}")
        with broken_unless_readable(f"Hetzner GET {self.path}: a {self._word} could not be read"):
            return [self._value(found) for found in self._whole(body)]

    def _one_by_one(self, page: bytes) -> Decoded[int, V]:
        with broken_unless_readable(f"Hetzner GET {self.path}: the answer is no list of {self._word}s"):
            raw_items = self._raw(page)
        return one_by_one(
            raw_items, self._item, _identified, lambda key, error: f"{self._word} {key} could not be read: {error}"
        )

    def _item(self, raw: msgspec.Raw) -> tuple[int, V]:
        value = self._value(self._one.decode(raw))
        return value.id, value


def _identified(raw: msgspec.Raw) -> tuple[int, str | None]:
    found = decoder(_Identity).decode(raw)
    return found.id, name_in(found.name)


def name_in(raw: msgspec.Raw) -> str | None:
    """The text of a name; None when it is none."""
    try:
        return decoder(str).decode(raw)
    except ValueError:
        return None
