"""What an actuator says of a change that it cannot have been given on purpose."""

from desired.change import Change, State


def misplanned(change: Change) -> TypeError:
    """The error for a change whose sides are not of its kind: a bug of ours."""
    return TypeError(f"{change.key}: {change.kind} from {_type(change.before)} to {_type(change.after)}")


def _type(side: State | None) -> str:
    return type(side).__name__
