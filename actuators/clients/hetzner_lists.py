"""Whole lists of Hetzner objects: pages side by side, sorted by id, counted against what the API says there is.

Pages are cut from a live list, so an object that is created or deleted between two pages can be missed or seen twice
(hetzner-api 4). A list whose count does not add up is read once more, and is incomplete if it still does not.
"""

import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

from actuators.clients.hetzner import HetznerReader
from actuators.decoding import decoder
from actuators.errors import ApiError, Broken
from desired.section import Section

V = TypeVar("V")

PAGE_SIZE = 50
"""The API's largest page."""
_PARALLEL = 4
"""Pages read at once. More would be faster and would take more of an allowance that the whole project shares."""


class _Pagination(msgspec.Struct):
    last_page: int | None
    total_entries: int | None


class _Meta(msgspec.Struct):
    pagination: _Pagination


class _Envelope(msgspec.Struct):
    meta: _Meta


@dataclass(frozen=True, slots=True)
class Decoded(Generic[V]):
    """What one page held."""

    items: Mapping[int, V]
    unreadable: Mapping[int, str]
    """Id → why the object could not be decoded."""
    names: Mapping[int, str] = field(default_factory=dict)
    """Id → name of those that could not be decoded, where the name could be read."""
    nameless: int = 0
    """Objects of which not even the id could be read."""


def read_list(
    reader: HetznerReader, path: str, decode: Callable[[bytes], Decoded[V]]
) -> tuple[Section[int, V], ApiError | None]:
    """All objects under ``path``, and the error that kept it from being all; never raises an ApiError.

    Costs ceil(objects / 50) requests, twice that when the list changed while it was being read.
    """
    section, error = _read_once(reader, path, decode)
    if section.complete or error is not None:
        return section, error
    return _read_once(reader, path, decode)


@dataclass(frozen=True, slots=True)
class _Page(Generic[V]):
    decoded: Decoded[V]
    pagination: _Pagination


def _read_once(
    reader: HetznerReader, path: str, decode: Callable[[bytes], Decoded[V]]
) -> tuple[Section[int, V], ApiError | None]:
    try:
        first = _read_page(reader, path, 1, decode)
    except ApiError as refusal:
        return Section.missing(str(refusal)), refusal
    rest, error = _read_rest(reader, path, first.pagination.last_page or 1, decode)
    pages = (first, *rest)
    items = {key: item for page in pages for key, item in page.decoded.items.items()}
    unreadable = {key: why for page in pages for key, why in page.decoded.unreadable.items() if key not in items}
    totals = {page.pagination.total_entries for page in pages}
    nameless = sum(page.decoded.nameless for page in pages)
    why = _why_incomplete(error, totals, len(items) + len(unreadable), nameless)
    expected = first.pagination.total_entries
    names = {key: name for page in pages for key, name in page.decoded.names.items() if key in unreadable}
    return Section(items, why is None, why, expected, unreadable, names), error


def _read_page(reader: HetznerReader, path: str, number: int, decode: Callable[[bytes], Decoded[V]]) -> _Page[V]:
    """One page, decoded at once: no page's text outlives its decoding. Raises an ApiError."""
    body = reader.get(f"{path}?page={number}&per_page={PAGE_SIZE}&sort=id:asc")
    pagination = _pagination(path, body)
    return _Page(decode(body), pagination)


def _read_rest(
    reader: HetznerReader, path: str, last_page: int, decode: Callable[[bytes], Decoded[V]]
) -> tuple[list[_Page[V]], ApiError | None]:
    """Pages 2 to ``last_page`` that arrived, and the first error."""
    if last_page < 2:
        return [], None
    pages: list[_Page[V]] = []
    error: ApiError | None = None
    with ThreadPoolExecutor(_PARALLEL, thread_name_prefix="hetzner-list") as pool:
        numbers = range(2, last_page + 1)
        for future in [pool.submit(_read_page, reader, path, number, decode) for number in numbers]:
            try:
                pages.append(future.result())
            except ApiError as problem:
                error = error or problem
    return pages, error


def _why_incomplete(error: ApiError | None, totals: set[int | None], seen: int, nameless: int) -> str | None:
    """Why the pages are not the whole list; None when they are."""
    if error is not None:
        return str(error)
    if len(totals) > 1:
        return "the list changed while it was being read"
    (total,) = totals
    if nameless:
        return f"{nameless} objects of the list could not be read, not even their ids"
    if total is None:
        return "the API did not say how many objects there are"
    if seen != total:
        return f"{seen} of {total} objects arrived: the list changed while it was being read"
    return None


def _pagination(path: str, body: bytes) -> _Pagination:
    try:
        return decoder(_Envelope).decode(body).meta.pagination
    except ValueError as error:
        looks_like = re.sub(rb"\s+", b" ", body[:60]).decode("utf-8", "replace")
        raise Broken(f"Hetzner GET {path}: the answer is no list of the Hetzner API ({looks_like!r})") from error
