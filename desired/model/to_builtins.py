"""Conversion of the planner's values to plain JSON values: one canonical form for hashes, reports and field-level
differences."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from types import MappingProxyType
from typing import Any

from desired.model.route import Route

ADDED = MappingProxyType({"added": True})
"""``metadata`` of a field that was added to a value after hashes of it had been stored: it is left out while it has its
default, so that what was approved stays approved."""


@cache
def added_fields(shape: Any) -> Mapping[str, object]:
    """Field of ``ADDED`` → its default; nothing for what is no dataclass."""
    found = fields(shape) if is_dataclass(shape) else ()
    return {field.name: field.default for field in found if "added" in field.metadata}


def to_builtins(value: object) -> Any:
    """``value`` in dicts, lists, strings, numbers, booleans and None.

    Mappings come in the order of their keys, sets sorted; fields that are never compared are left out, and so are
    those of ``ADDED`` that have their default. Raises TypeError
    for a type that has no canonical form: for a new type it has to be decided here.
    """
    match value:
        case Enum():
            return value.value
        case None | bool() | int() | float():
            return value
        case datetime():
            return value.isoformat()
        case Route():  # the destination is its identity, and in its key
            return str(value.gateway)
        case str() | IPv4Address() | IPv6Address() | IPv4Network() | IPv6Network():
            return str(value)  # the text alone of a key, too
        case Mapping():
            return {str(key): to_builtins(value[key]) for key in sorted(value, key=str)}
        case tuple() | list():
            return [to_builtins(item) for item in value]
        case frozenset() | set():
            return sorted((to_builtins(item) for item in value), key=json.dumps)
    if is_dataclass(value) and not isinstance(value, type):
        compared = (field.name for field in fields(value) if field.compare)
        added = added_fields(type(value))
        return {
            name: to_builtins(found) for name in compared if (found := getattr(value, name)) != added.get(name, MISSING)
        }
    raise TypeError(f"{type(value).__name__} has no plain form")


def digest(*values: object, digits: int = 16) -> str:
    """``sha256:`` and the first hex ``digits`` over the canonical JSON of ``values``. Short ones are for people to
    type: two values with the same 16 digits can be found."""
    canonical = json.dumps([to_builtins(value) for value in values], sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()[:digits]}"
