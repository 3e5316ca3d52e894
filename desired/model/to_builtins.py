"""Conversion of the planner's values to plain JSON values: one canonical form for hashes, reports and field-level
differences."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

from desired.model.route import Route


def to_builtins(value: object) -> Any:
    """``value`` in dicts, lists, strings, numbers, booleans and None.

    Mappings come in the order of their keys, sets sorted; fields that are never compared are left out. Raises TypeError
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
        return {field.name: to_builtins(getattr(value, field.name)) for field in fields(value) if field.compare}
    raise TypeError(f"{type(value).__name__} has no plain form")


def digest(*values: object, digits: int = 16) -> str:
    """``sha256:`` and the first hex ``digits`` over the canonical JSON of ``values``. Short ones are for people to
    type: two values with the same 16 digits can be found."""
    canonical = json.dumps([to_builtins(value) for value in values], sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()[:digits]}"
