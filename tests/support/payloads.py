"""API payloads with one field dropped or replaced, for tests of decoding."""

import copy
from collections.abc import Iterator
from typing import Any, TypeVar, cast

GONE = "(gone)"
"""Stands for "not there" where a value is asked for."""


P = TypeVar("P")


def replaced(payload: P, path: tuple[Any, ...], value: Any) -> P:
    """A copy of ``payload`` with the field at ``path`` replaced, or dropped when ``value`` is GONE."""
    found: Any = copy.copy(payload)
    step, *rest = path
    if rest:
        found[step] = replaced(found[step], tuple(rest), value)
    elif value is GONE:
        del found[step]
    else:
        found[step] = value
    return cast("P", found)


def paths(text: str) -> list[tuple[Any, ...]]:
    """The paths of these words, such as ``spec:taints:0:key``."""
    return [tuple(int(step) if step.isdigit() else step for step in word.split(":")) for word in text.split()]


def every_path(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything in a JSON value."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield (*path, key)
        yield from every_path(child, (*path, key))
