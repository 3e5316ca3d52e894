"""Store of the objects of a project, and the views that readers have of them.

Objects are raw API objects and are never changed in place: a change puts new ones. So an old state costs nothing to
keep, and three features share one mechanism, the *undo* of a change: rolling back a refused request, changes that
readers see late, and reads of the state before the last change.

Fields that follow from other objects (a network's ``servers``) are not stored; ``Resource.render`` adds them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, get_args

from hcloud_sandbox.shapes import copied
from hcloud_sandbox.worlds import HetznerKind

T = TypeVar("T")
Object = dict[str, Any]
Kind = HetznerKind
KINDS: tuple[Kind, ...] = get_args(Kind)
Key = tuple[Kind, int]
"""Kind and id of an object."""
Undo = dict[Key, Object | None]
"""What objects were before a change; None for one that was not there."""

_IN_WORDS = {"primary_ips": "primary IP", "ssh_keys": "SSH key"}
_CATALOGUE_FIELDS = frozenset({"server_type", "location", "image", "load_balancer_type", "iso", "placement_group"})


def singular(kind: str) -> str:
    """The name of one object of a kind, as in answers: ``load_balancer``."""
    return kind.removesuffix("es" if kind.endswith("xes") else "s")


def in_words(kind: str) -> str:
    """The same, as messages have it: ``load balancer``."""
    return _IN_WORDS.get(kind, singular(kind).replace("_", " "))


def fresh_copy(value: Object) -> Object:
    """A copy that a caller may change, but for the parts from the catalog, which are many and never change."""
    return {name: part if name in _CATALOGUE_FIELDS else copied(part) for name, part in value.items()}


class View:
    """The objects as one reader sees them: those of the tables, with some changes taken back."""

    def __init__(self, tables: dict[Kind, dict[int, Object]], taken_back: list[Undo]) -> None:
        self._tables = tables
        self._computed: dict[Any, Any] = {}
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

    def once(self, compute: Callable[["View"], T]) -> T:
        """What ``compute`` makes of this view, computed once however many objects are shown by it."""
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        found: T = self._computed[compute]
        return found


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

    def put(self, kind: Kind, value: Object) -> None:
        """Create or replace an object."""
        self._remember(kind, value["id"])
        self._tables[kind][value["id"]] = value
        self.reserve_id(kind, value["id"])

    def change(self, kind: Kind, object_id: int, **fields: object) -> None:
        """Set fields of an object; nothing when it is gone by now."""
        present = self.get(kind, object_id)
        if present is not None:
            self.put(kind, {**present, **fields})

    def remove(self, kind: Kind, object_id: int) -> None:
        """Remove an object; nothing when it is gone by now."""
        if object_id in self._tables[kind]:
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
    def changing(self) -> Iterator[Undo]:
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
            raise RuntimeError("objects are changed inside store.changing() only")
        self._open.setdefault((kind, object_id), self._tables[kind].get(object_id))
