"""Records in the product's ConfigMaps: JSON with a version and the UID of the cluster that they are of.

Whoever may write there may write anything: what we would not write, and a record of another cluster, tells of nothing.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

_VERSION = 1
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""What reading a malformed record raises; the last is json's on deep nesting."""


def format_record(cluster_uid: str, fields: Mapping[str, object]) -> str:
    """The value in the ConfigMap."""
    return json.dumps({"version": _VERSION, "cluster": cluster_uid, **fields}, sort_keys=True)


def parse_record(
    text: str | None, cluster_uid: str, longest: int, read: Callable[[Mapping[str, Any]], T | None]
) -> T | None:
    """Return what ``read`` makes of the fields, for which it may raise ValueError, KeyError, TypeError, AttributeError
    or OverflowError; None where the value is missing, malformed, longer than ``longest`` characters, of another version
    or of another cluster."""
    if text is None or len(text) > longest:
        return None
    try:
        fields = json.loads(text)
        if (fields["version"], fields["cluster"]) != (_VERSION, cluster_uid):
            return None
        return read(fields)
    except _DAMAGE:
        return None
