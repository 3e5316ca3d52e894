"""Decoders of JSON answers, built one at a time and safe for any depth of nesting.

msgspec stores what it finds out about a type on the type itself, and lets other threads see it half done (0.22): two
threads that decode into a type for the first time can end the process with SIGSEGV. Therefore every decoder comes from
here.

msgspec also fails on nesting that is deeper than the interpreter's stack, and an API server stores ten thousand levels
of ``managedFields`` for any client that may write one object: no list that has this object could be read. What is
deeper than anything that is decoded is therefore left out, in one run over the text.
"""

import re
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, TypeVar, cast

import msgspec

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_DEEPEST = 64
"""Levels that are kept: what is decoded here has at most a dozen."""
_TEXT_OR_BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)
_OPENING = (b"[", b"{")

Json = bytes | bytearray | memoryview | msgspec.Raw

_building = threading.Lock()
_built: "dict[object, Decoder[Any]]" = {}


class Decoder(Generic[T]):
    """Decodes JSON into a type. Safe to use from several threads."""

    def __init__(self, shape: type[T]) -> None:
        self.type = shape
        self._decoder = msgspec.json.Decoder(shape)

    def decode(self, data: Json) -> T:
        """The value. Raises ValueError for what is no JSON, or no such value; never RecursionError."""
        try:
            try:
                return self._decoder.decode(data)
            except RecursionError:
                return self._decoder.decode(without_depths(bytes(memoryview(data))))
        except msgspec.ValidationError as error:
            raise msgspec.ValidationError(in_words(error)) from error


_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "array": "a list",
        "bool": "true or false",
        "datetime": "a time",
        "float": "a number",
        "int": "a whole number",
        "null": "nothing",
        "object": "an object",
        "str": "text",
    }
)
"""Kind of value, as msgspec names it → the same for people."""
_KIND = re.compile("`({0}(?: [|] {0})*)`".format(f"(?:{'|'.join(_KINDS)})"))


def in_words(error: msgspec.ValidationError) -> str:
    """What does not fit, for people: ``Expected text, got a list - at $.metadata.name``."""
    text = _KIND.sub(lambda found: " or ".join(_KINDS[kind] for kind in found[1].split(" | ")), str(error))
    return text.replace("`", "")


def decoder(shape: type[T]) -> Decoder[T]:
    """The decoder into ``shape``, a type that lasts as long as the process. Safe to call from several threads."""
    with _building:
        if shape not in _built:
            _built[shape] = Decoder(shape)
        return _built[shape]


def member(path: str, shape: type[T]) -> Callable[[Json], T]:
    """A decoder of one member of an object, ``meta.pagination`` of a list: it raises ValueError if there is none. To be
    made once, and safe to use from several threads."""
    names = path.split(".")
    enclosing: Any = shape
    for name in reversed(names):
        enclosing = msgspec.defstruct("Object", [("member", enclosing)], rename={"member": name})
    outermost = decoder(enclosing)

    def decode(data: Json) -> T:
        found: Any = outermost.decode(data)
        for _ in names:
            found = found.member
        return cast("T", found)

    return decode


def without_depths(data: bytes) -> bytes:
    """The JSON text with ``null`` in the place of everything that is nested too deeply to be looked at. Takes time in
    proportion to the text; what is no JSON stays that."""
    kept: list[bytes] = []
    depth, start = 0, 0
    for found in _TEXT_OR_BRACKET.finditer(data):
        if found[0] in _OPENING:
            depth += 1
            if depth == _DEEPEST + 1:
                kept += (data[start : found.start()], b"null")
        elif found[0][:1] != b'"':
            depth -= 1
            if depth == _DEEPEST:
                start = found.end()
    return b"".join((*kept, data[start:] if depth <= _DEEPEST else b""))


@dataclass(frozen=True, slots=True)
class Decoded(Generic[K, V]):
    """The objects of one page of a list."""

    items: Mapping[K, V]
    unreadable: Mapping[K, str] = field(default_factory=dict)
    """Key → why the object could not be decoded."""
    names: Mapping[K, str] = field(default_factory=dict)
    """Key → name of those that could not be decoded, where the name could be read."""
    nameless: int = 0
    """Objects without a readable key."""


def one_by_one(
    raw_items: Iterable[T],
    item: Callable[[T], tuple[K, V]],
    identity: Callable[[T], tuple[K, str | None]],
    why: Callable[[K, ValueError], str],
) -> Decoded[K, V]:
    """The objects of a list, in which one for which ``item`` raises ValueError is isolated under its ``identity``: key,
    and name if it has one that can be read; ValueError if not even the key can be. ``why`` tells people of it."""
    items: dict[K, V] = {}
    unreadable: dict[K, str] = {}
    names: dict[K, str] = {}
    nameless = 0
    for raw in raw_items:
        try:
            key, value = item(raw)
            items[key] = value
        except ValueError as error:
            try:
                key, name = identity(raw)
            except ValueError:
                nameless += 1
                continue
            unreadable[key] = why(key, error)
            if name:
                names[key] = name
    return Decoded(items, unreadable, names, nameless)


def in_one(pages: Iterable[Decoded[K, V]]) -> Decoded[K, V]:
    """The objects of all pages. An object that one page has readable and another one not is readable."""
    pages = tuple(pages)
    items = {key: value for page in pages for key, value in page.items.items()}
    unreadable = {key: why for page in pages for key, why in page.unreadable.items() if key not in items}
    names = {key: name for page in pages for key, name in page.names.items() if key in unreadable}
    return Decoded(items, unreadable, names, sum(page.nameless for page in pages))
