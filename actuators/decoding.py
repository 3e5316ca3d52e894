"""Decoders of answers, built one at a time.

msgspec keeps what it finds out of a type on the type itself, and lets other threads see it half done (0.22): two that
decode into a type for the first time can end the process with SIGSEGV. So every decoder comes from here.
"""

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_building = threading.Lock()
_built: dict[object, msgspec.json.Decoder[Any]] = {}


def decoder(shape: type[T]) -> msgspec.json.Decoder[T]:
    """The decoder into ``shape``, a type that lasts as long as the process. Safe to call from several threads."""
    with _building:
        if shape not in _built:
            _built[shape] = msgspec.json.Decoder(shape)
        return _built[shape]
