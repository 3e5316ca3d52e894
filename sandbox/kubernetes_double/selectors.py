"""Field selectors: from the text of a query parameter to a test of one object."""

import re
from collections.abc import Callable
from typing import Any

from kubernetes_double.errors import bad_request
from kubernetes_double.resources import Resource

Test = Callable[[dict[str, Any]], bool]

_REQUIREMENT = re.compile(r"(?P<field>[^=!]+)(?P<sign>==|=|!=)(?P<value>.*)")


def field_test(selector: str | None, resource: Resource) -> Test:
    """The test for a ``fieldSelector``: requirements with commas between them, all of which have to hold.

    Raises ApiError 400 for one that cannot be read, and for a field that cannot be selected by.
    """
    requirements = []
    for part in selector.split(",") if selector else ():
        match = _REQUIREMENT.fullmatch(part)
        if match is None:
            raise bad_request(f"invalid selector: '{selector}'; can't understand '{part}'")
        if match["field"] not in ("metadata.name", "metadata.namespace", *resource.selectable):
            raise bad_request(f"field label not supported: {match['field']}")
        requirements.append((match["field"], match["sign"] != "!=", match["value"]))
    return lambda found: all((_field(found, path) == value) is wanted for path, wanted, value in requirements)


def _field(found: dict[str, Any], path: str) -> str:
    """The field as text; "" when it is absent, as with Go's zero values."""
    value: Any = found
    for step in path.split("."):
        value = value.get(step, "") if isinstance(value, dict) else ""
    return str(value)
