"""Records in the product's ConfigMaps: JSON in one envelope, with the fields of a format.

| Member | Value |
|---|---|
| ``version`` | 1 |
| ``cluster`` | UID of the cluster that it is of; missing if its writer does not know it: it is of any |
| ``by`` | host name of the process that wrote it, which in a cluster is its pod's |
| ``written_at`` | when, by the API server's clock |

Older versions wrote some records without ``by`` and ``written_at``. Any client that may write there may write anything:
a value that we would not write, and a record of another cluster, is none.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from desired.model.clocks import parse_moment

V = TypeVar("V")

_VERSION = 1
_LONGEST_NAME = 500
DAMAGE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""What reading a malformed record raises; the last is json's on deep nesting."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which process writes a record, when, and of which cluster; "" where that is not known."""

    cluster: str
    by: str
    at: datetime

    @property
    def members(self) -> Mapping[str, object]:
        """The envelope."""
        envelope = {"cluster": self.cluster, "by": cut(self.by, _LONGEST_NAME), "written_at": self.at.isoformat()}
        return {"version": _VERSION, **{name: text for name, text in envelope.items() if text}}


@dataclass(frozen=True, slots=True)
class Record(Generic[V]):
    """What was read."""

    value: V
    by: str
    """"" where that was not written."""
    written_at: datetime | None
    cluster: str = ""
    """UID; "" where that was not written."""


@dataclass(frozen=True, slots=True)
class Format(Generic[V]):
    """One kind of record."""

    key: str
    """In the ConfigMap."""
    longest: int
    """Characters that are looked at."""
    fields_of: Callable[[V], Mapping[str, object]]
    """The members beside the envelope, as JSON values."""
    value_of: Callable[[Mapping[str, Any]], V]
    """The value of a document, which has the envelope as well. Raises one of ``DAMAGE`` for what is none."""

    def write(self, value: V, origin: Stamp) -> str:
        """The text in the ConfigMap."""
        return format_json({**self.fields_of(value), **origin.members})

    def read(self, text: str | None, cluster: str | None = None) -> V | None:
        """The value of a text; None as for ``record``."""
        found = self.record(text, cluster)
        return None if found is None else found.value

    def record(self, text: str | None, cluster: str | None = None) -> Record[V] | None:
        """The record in a text; None where it is missing, malformed, longer than ``longest``, of another version, or of
        another cluster than this one. ``cluster`` None: of whichever it is."""
        if text is None or len(text) > self.longest:
            return None
        try:
            fields = parse_json(text)
            of = parse_text(fields.get("cluster", ""))
            if fields["version"] != _VERSION or (cluster is not None and of not in ("", cluster)):
                return None
            written_at = parse_moment(fields["written_at"]) if "written_at" in fields else None
            by = cut(parse_text(fields.get("by", "")), _LONGEST_NAME)
            return Record(self.value_of(fields), by, written_at, of)
        except DAMAGE:
            return None


def format_json(fields: Mapping[str, object]) -> str:
    """A JSON object with letters of every language as they are: escaped they could be more than is read again. Half
    characters, which JSON has not, become question marks."""
    text = json.dumps(fields, sort_keys=True, ensure_ascii=False)
    return text.encode(errors="replace").decode()


def parse_json(text: str) -> Any:
    """The value of a JSON text. Raises one of ``DAMAGE``, also for what JSON has
    not, NaN and half characters: these could not be shown."""
    fields = json.loads(text)
    json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
    return fields


def parse_text(value: object) -> str:
    """A text. Raises TypeError for anything else."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def cut(text: str, longest: int) -> str:
    """What a text begins with, as far as there is room."""
    return text if len(text) <= longest else f"{text[:longest]}..."
