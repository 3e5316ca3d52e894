"""Lists: filters, sorting, pages, and the ``Link`` header.

Source: Hetzner Cloud API, pagination, sorting and label selectors. Known differences: pages are cut from the live list,
which is assumed of the real service too; a ``per_page`` above 50 counts as 50, and a status or type that nobody knows
matches nothing (the documentation does not say what the real service does).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlencode

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.actions import Actions
from hcloud_sandbox.hetzner.errors import invalid_field
from hcloud_sandbox.hetzner.selectors import parse_selector
from hcloud_sandbox.hetzner.store import Kind, Object

DEFAULT_PER_PAGE = 25
MAX_PER_PAGE = 50
_PUBLIC_HOST = "https://api.hetzner.cloud"


def filtered(request: Request, items: Iterable[Object], exact: Sequence[str] = ()) -> list[Object]:
    """The items that ``name``, ``label_selector`` and the filters in ``exact`` (repeatable, any value) leave."""
    chosen = list(items)
    if name := request.first("name"):
        chosen = [item for item in chosen if item["name"] == name]
    if selector := request.first("label_selector"):
        matches = parse_selector(selector)
        chosen = [item for item in chosen if matches(item["labels"])]
    for field in exact:
        if wanted := request.query.get(field):
            chosen = [item for item in chosen if str(item[field]) in wanted]
    return chosen


def ordered(request: Request, items: list[Object], fields: Sequence[str]) -> list[Object]:
    """The items in the order that ``sort`` asks for, but for sorts that are unknown or contradict an earlier one."""
    wanted: dict[str, bool] = {}
    for sort in request.query.get("sort", ()):
        field, _, direction = sort.partition(":")
        if field in fields and direction in {"", "asc", "desc"}:
            wanted.setdefault(field, direction == "desc")
    for field, descending in reversed(wanted.items()):
        items = sorted(items, key=_sort_key(field), reverse=descending)
    return items


def actions_of_query(
    request: Request, actions: Actions, kind: Kind | None = None, object_id: int | None = None
) -> list[Object]:
    """The actions, of a kind or of one object if given, that ``id`` and ``status`` leave, in the wanted order."""
    ids = request.query.get("id", ())
    if not all(action_id.isascii() and action_id.isdigit() for action_id in ids):
        raise invalid_field("id", "must be a number")
    listed = actions.listed(kind, object_id)
    rendered = [actions.render(action) for action in listed if not ids or str(action.id) in ids]
    return ordered(
        request, filtered(request, rendered, ("status",)), ("id", "command", "status", "started", "finished")
    )


def page_of(
    request: Request, name: str, items: list[Object], render: Callable[[Object], Object], total: int | None = None
) -> Response:
    """One page of a list under ``name``, with ``meta`` and ``Link``; only the page's items are rendered.

    ``total`` is what the list says of its length when that is not the truth.
    """
    page = _number(request, "page", 1)
    per_page = min(_number(request, "per_page", DEFAULT_PER_PAGE), MAX_PER_PAGE)
    last_page = max(1, -(-len(items) // per_page))
    pagination = {
        "page": page,
        "per_page": per_page,
        "previous_page": page - 1 if page > 1 else None,
        "next_page": page + 1 if page < last_page else None,
        "last_page": last_page,
        "total_entries": len(items) if total is None else total,
    }
    shown = [render(item) for item in items[(page - 1) * per_page : page * per_page]]
    links = {"prev": pagination["previous_page"], "next": pagination["next_page"], "last": last_page}
    return Response(200, {name: shown, "meta": {"pagination": pagination}}, {"Link": _link(request, links, per_page)})


def _number(request: Request, name: str, default: int) -> int:
    text = request.first(name)
    if text is None:
        return default
    if not re.fullmatch("[0-9]{1,19}", text) or int(text) < 1:
        raise invalid_field(name, "must be a number from 1")
    return int(text)


def _sort_key(field: str) -> Callable[[Object], Any]:
    if field == "ip":
        return lambda item: int(ip_address(item["ip"]))
    return lambda item: (item[field] is not None, item[field] if item[field] is not None else 0)


def _link(request: Request, pages: dict[str, int | None], per_page: int) -> str:
    host = request.headers.get("host")
    base = f"http://{host}" if host else _PUBLIC_HOST
    kept = [(name, v) for name, values in request.query.items() if name not in {"page", "per_page"} for v in values]
    return ", ".join(
        f'<{base}{request.path}?{urlencode([*kept, ("page", page), ("per_page", per_page)])}>; rel="{rel}"'
        for rel, page in pages.items()
        if page is not None
    )
