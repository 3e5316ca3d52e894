"""Label and field selectors: from the text of a query parameter to a test of one object."""

import re
from collections.abc import Callable
from typing import Any

from kubernetes_double.resources import Resource
from kubernetes_double.status import bad_request

Test = Callable[[dict[str, Any]], bool]

_KEY = r"(?:[a-z0-9][-a-z0-9.]*/)?[A-Za-z0-9][-A-Za-z0-9_.]*"
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_EQUALITY = re.compile(rf"({_KEY})\s*(==|=|!=)\s*([-A-Za-z0-9_.]*)")
_PRESENCE = re.compile(rf"(!?)\s*({_KEY})")
_COMMA_OUTSIDE_A_SET = re.compile(r",(?![^()]*\))")


def label_test(selector: str) -> Test:
    """The test for a ``labelSelector``. Raises ApiError 400 for one that cannot be read."""
    tests = [_requirement(part.strip()) for part in _COMMA_OUTSIDE_A_SET.split(selector)] if selector.strip() else []
    return lambda found: all(test(found["metadata"].get("labels", {})) for test in tests)


def _requirement(text: str) -> Callable[[dict[str, str]], bool]:
    if match := _SET.fullmatch(text):
        key, word, listed = match.groups()
        values = {value.strip() for value in listed.split(",")}
        if word == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if match := _EQUALITY.fullmatch(text):
        key, sign, value = match.groups()
        if sign == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if match := _PRESENCE.fullmatch(text):
        absent, key = match.groups()
        return lambda labels: (key in labels) is not bool(absent)
    raise bad_request(f'unable to parse requirement: found "{text}"')


def field_test(selector: str, resource: Resource) -> Test:
    """The test for a ``fieldSelector``. Raises ApiError 400 for a field that cannot be selected by."""
    tests = []
    for part in filter(None, (part.strip() for part in selector.split(","))):
        match = re.fullmatch(r"([^=!]+)(==|=|!=)(.*)", part)
        if match is None:
            raise bad_request(f"invalid selector: '{selector}'; can't understand '{part}'")
        field, sign, value = match.groups()
        if field not in ("metadata.name", "metadata.namespace", *resource.selectable):
            known = 'is not a known field selector: only "metadata.name", "metadata.namespace"'
            unknown = f"field label not supported: {field}" if resource.selectable else f'"{field}" {known}'
            raise bad_request(unknown)
        tests.append((field, sign != "!=", value))
    return lambda found: all((_field(found, field) == value) is wanted for field, wanted, value in tests)


def _field(found: dict[str, Any], path: str) -> str:
    """The field as text; "" when it is absent, as with Go's zero values. Booleans read "true" and "false"."""
    if path == "spec.unschedulable":
        return "true" if found.get("spec", {}).get("unschedulable") else "false"
    if path == "source":
        return str(found.get("source", {}).get("component", ""))
    value: Any = found
    for step in path.split("."):
        value = value.get(step, "") if isinstance(value, dict) else ""
    return str(value)
