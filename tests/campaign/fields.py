"""Fields of what is read: which the product looks at in an answer, and the answer without one of them."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

import msgspec
from msgspec.structs import fields

from hcloud_sandbox.exchange import Response

_BY_PEOPLE = ("labels", "annotations")
"""Objects whose keys people choose."""


@dataclass(frozen=True)
class Read:
    """What an undisturbed read tells of the faults that it may meet."""

    fields: Sequence[str] = ()
    """Those that the product reads of the first object."""
    objects: int = 0
    """How many its list has."""
    is_paged: bool = False
    """Whether the list may come in pages."""
    writes: int = 0
    """How many there were to this API before it."""

    @classmethod
    def of(cls, answer: Response, writes: int) -> "Read":
        """An answer after so many writes."""
        body = answer.body
        name = listed(body)
        items = body if isinstance(body, list) else body[name] if name else ()
        return cls(fields_of(answer), len(items), isinstance(body, dict) and "meta" in body, writes)


NOTHING_READ = Read()


def fields_of(answer: Response) -> tuple[str, ...]:
    """The fields that the product reads of the first object of a list, or of the object that an answer is, and of what
    each of them has: ``status``, ``status.addresses``, ``private_net.0.ip``. Empty where there is no object."""
    found = _holder(answer.body)
    return tuple(each for each in _paths(found[0], 3) if _is_read(each)) if found else ()


def _is_read(path: str) -> bool:
    """Whether any decoder of the product knows such a field in such a place."""
    first, *others = (each for each in path.split(".") if each != "0")
    below = _below()
    return first in below and all(each in below.get(of, ()) for of, each in zip((first, *others), others, strict=False))


@cache
def _below() -> Mapping[str, Collection[str]]:
    """Name of a field that some decoder knows → names of what it knows in that."""
    below: dict[str, set[str]] = {}
    for struct in _structs(msgspec.Struct):
        for each in fields(struct) if struct.__module__.startswith(("actuators", "reconciler.observe")) else ():
            inner = below.setdefault(each.encode_name, set())
            inner.update(name for part in _in(each.type) for name in part.__struct_encode_fields__)
    return below


def _structs(base: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for each in base.__subclasses__():
        yield each
        yield from _structs(each)


def _in(annotation: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        yield annotation
    for each in get_args(annotation):
        yield from _in(each)


def without(answer: Response, field: str) -> Response:
    """The same answer, in which the first object lacks this field; unchanged where there is none."""
    return _spoilt(answer, lambda found: _lacking(found, field.split(".")))


def first_is(answer: Response, value: Any) -> Response:
    """The same answer, with something else in the place of the first object of its list."""
    return _spoilt(answer, lambda _: value)


def listed(body: Any) -> str | None:
    """The name under which an answer has a list that is not empty; None for others."""
    if not isinstance(body, dict):
        return None
    return next((name for name, part in body.items() if isinstance(part, list) and part), None)


def _spoilt(answer: Response, change: Any) -> Response:
    found = _holder(answer.body) if answer.status == 200 else None
    if found is None:
        return answer
    first, name = found
    if name is None:
        return Response(answer.status, json.dumps(change(first)).encode(), answer.headers)
    part = answer.body[name]
    spoilt = [change(first), *part[1:]] if isinstance(part, list) else change(first)
    return Response(answer.status, {**answer.body, name: spoilt}, answer.headers)


def _holder(body: Any) -> tuple[dict[str, Any], str | None] | None:
    """The object that an answer has, and under which name: the first of its list, or the only one of Hetzner's answers
    (``load_balancer``), or the whole answer, without a name; None without an object."""
    name = listed(body)
    if name is not None and "metadata" in body and "items" not in body:
        name = None  # one object of Kubernetes
    if name is not None:
        first = body[name][0]
        return (first, name) if isinstance(first, dict) else None
    if not isinstance(body, dict) or "items" in body or "meta" in body:
        return None
    if "kind" in body:
        return body, None
    return next(((part, name) for name, part in body.items() if isinstance(part, dict)), None)


def _paths(found: Any, depth: int) -> Iterator[str]:
    """Keys, and those of what is below, so many levels deep; of a list those of its first object."""
    if isinstance(found, list) and found:
        yield from (f"0.{each}" for each in _paths(found[0], depth))
    elif isinstance(found, Mapping) and depth:
        for key, part in found.items():
            yield key
            if key not in _BY_PEOPLE:
                yield from (f"{key}.{each}" for each in _paths(part, depth - 1))


def _lacking(found: Any, path: list[str]) -> Any:
    key, *rest = path
    if isinstance(found, list):
        return [_lacking(found[0], rest), *found[1:]] if found else found
    if not isinstance(found, dict) or key not in found:
        return found
    if not rest:
        return {each: part for each, part in found.items() if each != key}
    return {**found, key: _lacking(found[key], rest)}
