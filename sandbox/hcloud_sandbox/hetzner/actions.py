"""Actions (the asynchronous jobs of the API), the time they take, and the locks they hold.

An action changes its objects when it finishes, not before. Nothing runs in the background: ``settle`` finishes what has
become due, in the order of time, whenever a request arrives.

Source: Hetzner Cloud API, actions. Known differences: progress grows evenly; durations are options, not those of the
real service; actions are kept for ever.
"""

import heapq
import math
import random
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner.errors import ApiError, not_found
from hcloud_sandbox.hetzner.faults import Faults
from hcloud_sandbox.hetzner.options import HetznerOptions
from hcloud_sandbox.hetzner.store import Key, Kind, Object, Store, in_words, singular


def format_time(timestamp: float) -> str:
    """Seconds since the epoch as the API writes times. Raises ValueError outside of the years 1 to 9999."""
    return f"{datetime.fromtimestamp(timestamp, UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def nothing(*_: object) -> None:
    """The effect of an action that leaves no trace on the object, such as a reboot."""


@dataclass(slots=True)
class Action:
    """One action. ``due`` and ``started`` are seconds since the epoch."""

    id: int
    command: str
    resources: tuple[Key, ...]
    started: float
    due: float
    effect: Callable[[], object]
    on_failure: Callable[[Object], object]
    fails_with: Object | None
    """The error of a simulated fault."""
    vanished: bool
    ran_before: bool
    """Whether the server that it is about ran when it started."""
    runs_after: bool = False
    """The same of when it had finished."""
    status: str = "running"
    error: Object | None = None
    finished: float | None = None

    def render(self, now: float) -> Object:
        """The action as the API answers it."""
        progress = 100
        if self.status == "running":
            progress = min(99, int(100 * max(0.0, now - self.started) / max(self.due - self.started, 1e-9)))
        return {
            "id": self.id,
            "command": self.command,
            "status": self.status,
            "progress": progress,
            "started": format_time(self.started),
            "finished": None if self.finished is None else format_time(self.finished),
            "resources": [{"id": object_id, "type": singular(kind)} for kind, object_id in self.resources],
            "error": self.error,
        }

    def is_of(self, kind: Kind | None, object_id: int | None) -> bool:
        """Whether it is about an object of this kind, and about this one; None stands for any."""
        return any(kind in {None, of} and object_id in {None, on} for of, on in self.resources)


class Actions:
    """All actions of a project."""

    def __init__(self, clock: SimulatedClock, options: HetznerOptions, store: Store, faults: Faults) -> None:
        self._clock = clock
        self._options = options
        self._store = store
        self._faults = faults
        self._jitter = random.Random(options.seed)  # noqa: S311 (repeatable on purpose)
        self._actions: dict[int, Action] = {}
        self._due: list[tuple[float, int]] = []
        self._locks: dict[Key, int] = {}

    def start(
        self,
        command: str,
        *resources: Key,
        effect: Callable[[], object] = nothing,
        on_failure: Callable[[Object], object] = nothing,
        after: Action | None = None,
        locks: bool = True,
    ) -> Action:
        """Start an action that locks its resources until it has finished, unless it ``locks`` nothing.

        It begins when ``after`` is due, if given. ``effect`` runs at its end; when it raises ApiError or a fault was
        set, the action ends in an error, and ``on_failure`` runs with that error instead.
        """
        now = self._clock.timestamp()
        duration = math.inf if self._faults.action_hangs(command) else self._options.seconds_of(command)
        if self._options.jitter_s:
            duration += self._jitter.uniform(0, self._options.jitter_s)
        action = Action(
            id=self._store.next_id("actions"),
            command=command,
            resources=resources,
            started=now,
            due=(after.due if after else now) + duration,
            effect=effect,
            on_failure=on_failure,
            fails_with=self._faults.action_fails(command),
            vanished=self._faults.action_vanishes(command),
            ran_before=self._runs(resources),
        )
        self._actions[action.id] = action
        heapq.heappush(self._due, (action.due, action.id))
        for resource in action.resources if locks else ():
            # The later one of two chained actions takes the lock over.
            self._locks[resource] = action.id
        if action.due <= now:
            self.settle()
        return action

    def settle(self) -> None:
        """Finish every action that is due."""
        now = self._clock.timestamp()
        while self._due and self._due[0][0] <= now:
            due, action_id = heapq.heappop(self._due)
            self._finish(self._actions[action_id], due)

    def _finish(self, action: Action, at: float) -> None:
        late_s = max(self._options.visible_late_s, self._faults.visible_late_s())
        action.finished, action.error = at, action.fails_with
        if action.error is None:
            try:
                with self._store.changing() as undo:
                    action.effect()
                if late_s:
                    self._store.show_late(undo, at + late_s)
            except ApiError as refused:
                action.error = {"code": refused.code, "message": refused.message}
        action.status = "success" if action.error is None else "error"
        if action.error is not None:
            with self._store.changing():
                action.on_failure(action.error)
        action.runs_after = self._runs(action.resources)
        for resource in action.resources:
            if self._locks.get(resource) == action.id:
                del self._locks[resource]

    def _runs(self, resources: Collection[Key]) -> bool:
        servers = (self._store.get(kind, object_id) for kind, object_id in resources if kind == "servers")
        return any(server is not None and server["status"] == "running" for server in servers)

    def is_busy(self, kind: Kind, object_id: int) -> bool:
        """Whether an action runs on the object."""
        return (kind, object_id) in self._locks

    def require_free(self, kind: Kind, object_id: int) -> None:
        """Raises what the service answers to a second change while one runs."""
        stored = self._store.get(kind, object_id) or {}
        if not self.is_busy(kind, object_id) and not stored.get("locked"):
            return
        if self._options.busy_code(kind) == "conflict":
            raise ApiError("conflict", f"{in_words(kind)} has changed during request")
        raise ApiError("locked", f"cannot perform operation because {in_words(kind)} is locked")

    def find(self, action_id: int, kind: Kind | None = None, object_id: int | None = None) -> Action:
        """An action by id, of objects of this kind or of one object if given. Raises ``not_found``."""
        action = self._actions.get(action_id)
        if action is None or action.vanished or not action.is_of(kind, object_id):
            raise not_found("actions", action_id)
        return action

    def listed(self, kind: Kind | None = None, object_id: int | None = None) -> Iterator[Action]:
        """All actions by id, of one kind of object or of one object if given."""
        for action in self._actions.values():
            if not action.vanished and action.is_of(kind, object_id):
                yield action

    def render(self, action: Action) -> Object:
        """The action as the API answers it now."""
        return action.render(self._clock.timestamp())
