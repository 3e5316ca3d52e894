"""Store of the objects of a project, and the views that readers have of them.

Objects are raw API objects and are never changed in place: a change puts new ones. So an old state costs nothing to
keep, and three features share one mechanism, the *undo* of a change: rolling back a refused request, changes that
readers see late, and reads of the state before the last change.

Fields that follow from other objects (a network's ``servers``) are not stored; ``rendering`` adds them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, get_args

Object = dict[str, Any]
Kind = Literal[
    "servers",
    "networks",
    "primary_ips",
    "load_balancers",
    "certificates",
    "ssh_keys",
    "placement_groups",
    "firewalls",
    "volumes",
    "images",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

Undo = dict[tuple[Kind, int], Object | None]
"""What objects were before a change; None for one that was not there."""


class View:
    """The objects as one reader sees them: those of the tables, with some changes taken back."""

    def __init__(self, tables: dict[Kind, dict[int, Object]], taken_back: list[Undo]) -> None:
        self._tables = tables
        self._undone: Undo = {}
        for undo in taken_back:
            self._undone.update(undo)

    def get(self, kind: Kind, object_id: int) -> Object | None:
        """One object, None when the reader sees none."""
        if (kind, object_id) in self._undone:
            return self._undone[kind, object_id]
        return self._tables[kind].get(object_id)

    def all(self, kind: Kind) -> list[Object]:
        """All objects of a kind, by id."""
        table = self._tables[kind]
        if self._undone:
            table = dict(table)
            for (undone_kind, object_id), before in self._undone.items():
                if undone_kind == kind:
                    table.pop(object_id, None)
                    if before is not None:
                        table[object_id] = before
        return [table[object_id] for object_id in sorted(table)]


class Store:
    """The true state. Writers use ``get``, ``put`` and ``remove``; readers ask for a ``view``."""

    def __init__(self) -> None:
        self._tables: dict[Kind, dict[int, Object]] = {kind: {} for kind in KINDS}
        self._last_ids: dict[str, int] = {}
        self._open: Undo | None = None
        self._last_change: Undo = {}
        self._late: list[tuple[float, Undo]] = []

    def get(self, kind: Kind, object_id: int) -> Object | None:
        """One object as it truly is."""
        return self._tables[kind].get(object_id)

    def require(self, kind: Kind, object_id: int) -> Object:
        """One object that must be there. Raises KeyError."""
        return self._tables[kind][object_id]

    def put(self, kind: Kind, value: Object) -> None:
        """Create or replace an object."""
        self._remember(kind, value["id"])
        self._tables[kind][value["id"]] = value
        self.reserve_id(kind, value["id"])

    def remove(self, kind: Kind, object_id: int) -> None:
        """Remove an object that is there."""
        self._remember(kind, object_id)
        del self._tables[kind][object_id]

    def truth(self) -> View:
        """The true state to read from."""
        return View(self._tables, [])

    def view(self, now: float, *, before_last_change: bool = False) -> View:
        """What a reader sees now, or would have seen before the last change."""
        self._late = [(until, undo) for until, undo in self._late if until > now]
        taken_back = [undo for _, undo in reversed(self._late)]
        return View(self._tables, [self._last_change, *taken_back] if before_last_change else taken_back)

    def show_late(self, undo: Undo, until: float) -> None:
        """Let readers see the state before a change until then."""
        self._late.append((until, dict(undo)))

    @contextmanager
    def change(self) -> Iterator[Undo]:
        """One change, all or nothing: an exception takes it back. A change inside a change is part of it."""
        if self._open is not None:
            yield self._open
            return
        self._open = {}
        try:
            yield self._open
        except BaseException:
            for (kind, object_id), before in self._open.items():
                self._tables[kind].pop(object_id, None)
                if before is not None:
                    self._tables[kind][object_id] = before
            raise
        else:
            self._last_change = self._open or self._last_change
        finally:
            self._open = None

    def forget_last_change(self) -> None:
        """Let the present state be the one to start from."""
        self._last_change = {}

    def next_id(self, counter: str) -> int:
        """A fresh id; ids are never used twice, also not after a deletion."""
        self._last_ids[counter] = self._last_ids.get(counter, 0) + 1
        return self._last_ids[counter]

    def reserve_id(self, counter: str, used: int) -> None:
        """Let ``next_id`` start above an id that came from outside."""
        self._last_ids[counter] = max(self._last_ids.get(counter, 0), used)

    def _remember(self, kind: Kind, object_id: int) -> None:
        if self._open is None:
            raise RuntimeError("objects are changed inside store.change() only")
        self._open.setdefault((kind, object_id), self._tables[kind].get(object_id))
