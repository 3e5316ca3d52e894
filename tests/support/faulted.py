"""Kinds of changes that meet faults: how each ends, and what the world looks like then."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Fault:
    """What goes wrong before a change begins, and how changes end that meet it."""

    ends: str
    """Of all kinds that ``but`` does not name."""
    strike: Callable[..., object]
    but: Mapping[str, str] = field(default_factory=dict)
    """Another end → the kinds that have it."""

    def end_of(self, kind: str) -> str:
        return next((end for end, kinds in self.but.items() if kind in kinds.split()), self.ends)


def ended(how: str, before: Any, after: Any, wanted: Any) -> str:
    """``how``, and ``+`` for the world after an undisturbed change, ``=`` for the one before, ``~`` for any other."""
    return how + ("+" if after == wanted else "=" if after == before else "~")
