"""Choice of an actuator by the two sides of a change.

An actuator takes a task and both sides, ``def attach(task: Task, before: None, after: Attachment)``, and is called for
the sides that its annotations name, as with ``functools.singledispatch``.
"""

from collections.abc import Callable
from types import UnionType
from typing import Any, Protocol, TypeVar, get_origin, get_type_hints

from desired.plan.change import Change


class _Task(Protocol):
    @property
    def change(self) -> Change: ...


T = TypeVar("T", bound=_Task)


def by_sides(*actuators: Callable[[T, Any, Any], object]) -> Callable[[T], None]:
    """The one of these actuators that fits the change of a task. It raises TypeError for a change that fits none."""
    rows = [(*_declared(actuator), actuator) for actuator in actuators]

    def carry_out(task: T) -> None:
        before, after = task.change.before, task.change.after
        for of_before, of_after, actuator in rows:
            if isinstance(before, of_before) and isinstance(after, of_after):
                actuator(task, before, after)
                return
        expect(task.change, fits=False)

    return carry_out


def expect(change: Change, *, fits: bool) -> None:
    """Raise TypeError if the sides of the change do not fit together, which is a bug."""
    if not fits:
        before, after = type(change.before).__name__, type(change.after).__name__
        raise TypeError(f"{change.key}: {change.kind} from {before} to {after}")


def _declared(actuator: Callable[..., object]) -> tuple[Any, Any]:
    """The classes of both sides, by the annotations of the parameters."""
    _, before, after, *_ = get_type_hints(actuator).values()
    return _class_of(before), _class_of(after)


def _class_of(side: Any) -> Any:
    return side if isinstance(side, UnionType) else get_origin(side) or side
