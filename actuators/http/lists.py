"""Complete lists of Hetzner objects: pages read in parallel, sorted by id, counted against ``total_entries``.

Pages are cut from a live list, so an object that is created or deleted between two pages can be missed or seen twice. A
list is read once more, and is incomplete if that does not settle it, when its pages disagree on how many objects there
are, when the count does not add up, when an object is on two pages, or when a page before the last one is not as full
as the first: then the pages have shifted, even if the count is the same. A list of one page cannot shift, and costs
nothing more.

One case cannot be detected: an object is deleted and another one created between two pages. The list is in the order of
ids, so that each page is full, the count is right, and the object that moved onto a page that was read already is
missing. Therefore nothing may be removed because a list lacks it: servers are asked for by their ids
(``absence-proof``), and load balancers and certificates by their labels and names before one is created.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import quote

import msgspec

from actuators.http.decoding import Decoded, in_one, member
from actuators.http.errors import ApiError, Broken
from actuators.http.hetzner import HetznerReader
from desired.section import Section

V = TypeVar("V")

PAGE_SIZE = 50
"""The API's largest page."""
_UNSORTED = frozenset({"/load_balancer_types"})
"""Lists for which the API has no parameter ``sort``."""
_MOST_PAGES = 2_000
"""More pages than any project has. An answer that announces more is not believed."""
_PARALLEL = 4
"""Pages read at once. More would be faster and would take more of an allowance that the whole project shares."""


class _Pagination(msgspec.Struct):
    last_page: int | None
    total_entries: int | None


_pagination_in = member("meta.pagination", _Pagination)


def read_list(
    reader: HetznerReader, path: str, decode: Callable[[bytes], Decoded[int, V]], selector: str = ""
) -> tuple[Section[int, V], ApiError | None]:
    """Read all objects under ``path``, or those that a label ``selector`` selects; return them with the error that made
    the list incomplete, or None. Never raises an ApiError.

    Costs ceil(objects / 50) requests, twice that when the list changed while it was being read.
    """

    def page(number: int) -> _Page[V]:
        body = reader.get(page_of(path, number, selector))
        return _Page(_pagination(path, body), decode(body))  # at once: no page's text outlives its decoding

    section, error = _read_once(reader, page)
    if section.complete or error is not None:
        return section, error
    return _read_once(reader, page)


@dataclass(frozen=True, slots=True)
class _Page(Generic[V]):
    pagination: _Pagination
    decoded: Decoded[int, V]

    @property
    def keys(self) -> set[int]:
        """Of everything on it whose id could be read."""
        return self.decoded.items.keys() | self.decoded.unreadable.keys()

    @property
    def size(self) -> int:
        """Number of objects on it."""
        return len(self.keys) + self.decoded.nameless


def _read_once(reader: HetznerReader, read_page: Callable[[int], _Page[V]]) -> tuple[Section[int, V], ApiError | None]:
    try:
        first = read_page(1)
    except ApiError as refusal:
        return Section.missing(str(refusal)), refusal
    impossible = _why_impossible(first)
    rest, error = ([], None) if impossible else _read_rest(reader, read_page, first.pagination.last_page or 1)
    pages = (first, *rest)
    found = in_one(page.decoded for page in pages)
    why = impossible or _why_incomplete(pages, found, error)
    total = first.pagination.total_entries
    expected = None if total is None or total < 0 else total
    return Section(found.items, why is None, why, expected, found.unreadable, found.names), error


def page_of(path: str, number: int = 1, selector: str = "") -> str:
    """The path of one page of the list under ``path``, which a label ``selector`` may narrow."""
    order = "" if path in _UNSORTED else "&sort=id:asc"
    narrowed = f"&label_selector={quote(selector, safe='')}" if selector else ""
    return f"{path}?page={number}&per_page={PAGE_SIZE}{order}{narrowed}"


def _read_rest(
    reader: HetznerReader, read_page: Callable[[int], _Page[V]], last_page: int
) -> tuple[list[_Page[V]], ApiError | None]:
    """Pages 2 to ``last_page`` that arrived, and the first error."""
    if last_page < 2:
        return [], None
    pages: list[_Page[V]] = []
    error: ApiError | None = None
    with reader.concurrency.pool(_PARALLEL, "hetzner-list") as pool:
        for future in [pool.submit(read_page, number) for number in range(2, last_page + 1)]:
            try:
                pages.append(future.result())
            except ApiError as problem:
                error = error or problem
    return pages, error


def _why_impossible(first: _Page[V]) -> str | None:
    """The reason why the first page's numbers cannot be right, so that no other is asked for; None when they can."""
    total, last_page = first.pagination.total_entries, first.pagination.last_page or 1
    if total is not None and total < 0:
        return f"the API says that there are {total} objects, which cannot be"
    needed = -(-(total or 0) // first.size) if total is not None and first.size else last_page
    if not 1 <= last_page <= min(_MOST_PAGES, max(1, needed)):
        return f"the API says that there are {last_page} pages of {total} objects, {first.size} on the first"
    return None


def _why_incomplete(pages: Sequence[_Page[V]], found: Decoded[int, V], error: ApiError | None) -> str | None:
    """The reason why the pages are not the whole list, or do not belong together; None when they seem to."""
    if error is not None:
        return str(error)
    total, *others = {page.pagination.total_entries for page in pages}
    arrived = len(found.items) + len(found.unreadable)
    if others:
        return "the list changed while it was being read"
    if found.nameless:
        return f"{found.nameless} objects of the list could not be read, not even their ids"
    if total is None:
        return "the API did not say how many objects there are"
    if arrived != total:
        return f"{arrived} of {total} objects arrived: the list changed while it was being read"
    twice = [key for key, times in Counter(key for page in pages for key in page.keys).items() if times > 1]
    if twice:
        return f"{min(twice)} is on two pages: the list changed while it was being read"
    if any(page.size != pages[0].size for page in pages[:-1]):
        return "a page is not full, and more follow: the list changed while it was being read"
    return None


def _pagination(path: str, body: bytes) -> _Pagination:
    try:
        return _pagination_in(body)
    except ValueError as error:
        looks_like = re.sub(rb"\s+", b" ", body[:60]).decode("utf-8", "replace")
        raise Broken(f"Hetzner GET {path}: the answer is no list of the Hetzner API ({looks_like!r})") from error
