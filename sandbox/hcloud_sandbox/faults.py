"""Simulated faults: what a service does wrong by itself, how often, and how such a fault is read.

Which kinds there are is said by each simulator, and of faults of transport by the proxy.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Parameter = Callable[[Any], Any]
"""Returns the value of a parameter as it is kept; raises ValueError that says what to give."""
Kinds = Mapping[str, Mapping[str, Parameter]]
"""Kind → its parameters; the names of those that may be left out end with a question mark."""


@dataclass(slots=True)
class _Fault:
    kind: str
    parameters: Mapping[str, Any]
    left: int | None
    """How often it is still to happen; None: until it is cleared."""


class ServiceFaults:
    """The faults that were set, oldest first; each use counts down."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._faults: list[_Fault] = []

    def add(self, faults: list[dict[str, Any]]) -> None:
        """Add faults, all or none. Raises ValueError for one that is not known or not complete."""
        self._faults += [_Fault(*read_fault(self._kinds, fault)) for fault in faults]

    def clear(self) -> None:
        """Forget all of them."""
        self._faults.clear()

    def take(
        self, kind: str, applies: Callable[[Mapping[str, Any]], bool] = lambda _: True
    ) -> Mapping[str, Any] | None:
        """The parameters of the oldest fault of a kind that applies, counted as happened; None when there is none."""
        for fault in self._faults:
            if fault.kind == kind and applies(fault.parameters):
                if fault.left is not None:
                    fault.left -= 1
                if fault.left == 0:
                    self._faults.remove(fault)
                return fault.parameters
        return None

    def pending(self, kind: str) -> Iterator[Mapping[str, Any]]:
        """The parameters of all faults of a kind, which do not count down by that."""
        return (fault.parameters for fault in self._faults if fault.kind == kind)


def read_fault(kinds: Kinds, sent: Any) -> tuple[str, dict[str, Any], int | None]:
    """Kind, parameters and count of a fault as it was sent. Raises ValueError for one that is not known or not
    complete."""
    if not isinstance(sent, Mapping):
        raise ValueError(f"a fault is an object, not {sent!r}")  # noqa: TRY004 - one error type for a bad fault
    given = dict(sent)
    kind = given.pop("kind", None)
    if not isinstance(kind, str) or kind not in kinds:
        raise ValueError(f"fault kind {kind!r} is not known; known: {', '.join(sorted(kinds))}")
    parameters = {name.rstrip("?"): read for name, read in kinds[kind].items()}
    for name in given:
        if name not in parameters and name != "count":
            known = ", ".join([*sorted(parameters), "count"])
            raise ValueError(f"fault {kind}: parameter {name!r} is not known; known: {known}")
    for name in kinds[kind]:
        if not name.endswith("?") and name not in given:
            raise ValueError(f"fault {kind}: give {name!r}")
    read = {name: _read(kind, name, value, parameters.get(name, _count)) for name, value in given.items()}
    count = read.pop("count", 1)
    return kind, read, count


def fits(test: Callable[[Any], bool], what: str) -> Parameter:
    """The parameter that passes a test; ``what`` is to be given instead of one that does not."""

    def read(value: Any) -> Any:
        if not test(value):
            raise ValueError(f"give {what}")
        return value

    return read


def is_number(value: Any) -> bool:
    """Whether JSON calls it one; a truth value is none, nor is what Python has beside, such as NaN."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def whole(least: int) -> Parameter:
    """The parameter for a whole number that is not less than this."""
    return fits(lambda value: _is_whole(value, least), f"a whole number from {least}")


def one_of(*options: str) -> Parameter:
    """The parameter for one of these texts."""
    return fits(lambda value: value in options, " or ".join(options))


def _is_whole(value: Any, least: int) -> bool:
    return is_number(value) and isinstance(value, int) and value >= least


_LONGEST_S = 1e10
"""Some 300 years, so that a date can be shifted by it."""
a_shift = fits(lambda value: is_number(value) and abs(value) <= _LONGEST_S, "a number of seconds")
a_duration = fits(lambda value: is_number(value) and 0 <= value <= _LONGEST_S, "a number from 0")
numbers = fits(
    lambda value: isinstance(value, list) and all(_is_whole(item, 1) for item in value),
    "a list of whole numbers from 1",
)
"""Ids or ports."""
_count = fits(lambda value: value is None or _is_whole(value, 1), "a whole number from 1, or null for no end")


def _read(kind: str, name: str, value: Any, read: Parameter) -> Any:
    try:
        return read(value)
    except ValueError as wrong:
        raise ValueError(f"fault {kind}: {name} is {value!r}, {wrong}") from None
