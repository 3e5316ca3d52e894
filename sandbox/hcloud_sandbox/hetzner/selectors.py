"""Labels and label selectors: their grammar, and whether an object's labels match.

Source: Hetzner Cloud API, labels and label selectors. Known differences: whether the real service accepts spaces around
``=``, ``==`` and ``!=`` is not known; here they are refused, so that nobody comes to rely on them. ``k!=v`` and ``k
notin (v)`` hold where ``k`` is absent, as in Kubernetes.
"""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from hcloud_sandbox.hetzner.errors import invalid_field

_NAME = r"[a-zA-Z0-9](?:[a-zA-Z0-9_.-]{0,61}[a-zA-Z0-9])?"
_DNS_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_KEY = rf"(?:(?=[^/]{{1,253}}/){_DNS_LABEL}(?:\.{_DNS_LABEL})*/)?{_NAME}"
_VALUE = rf"(?:{_NAME})?"
_RESERVED_PREFIX = "hetzner.cloud/"

_LABEL_KEY = re.compile(_KEY)
_LABEL_VALUE = re.compile(_VALUE)
_SPLIT = re.compile(r",(?![^(]*\))")
_EQUALS = re.compile(rf"({_KEY})(==|=|!=)({_VALUE})")
_EXISTS = re.compile(rf"(!?)({_KEY})")
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")

Labels = Mapping[str, str]
Matches = Callable[[Labels], bool]


def check_labels(labels: Any) -> dict[str, str]:
    """The labels of a request. Raises ``invalid_input`` for what the service would not store."""
    if not isinstance(labels, dict):
        raise invalid_field("labels", "must be an object")
    for key, value in labels.items():
        if not _LABEL_KEY.fullmatch(key):
            raise invalid_field("labels", f"label key '{key}' is not correctly formatted")
        if key.startswith(_RESERVED_PREFIX):
            raise invalid_field("labels", f"label key '{key}' uses the reserved prefix '{_RESERVED_PREFIX}'")
        if not isinstance(value, str) or not _LABEL_VALUE.fullmatch(value):
            raise invalid_field("labels", f"label value '{value}' (key: {key}) is not correctly formatted")
    return dict(labels)


@functools.lru_cache(maxsize=256)
def parse_selector(selector: str) -> Matches:
    """A selector as a predicate over labels; the empty one holds for everything. Raises ``invalid_input``."""
    if not selector.strip():
        return lambda _: True
    requirements = [_parse_requirement(part.strip()) for part in _SPLIT.split(selector)]
    return lambda labels: all(holds(labels) for holds in requirements)


def _parse_requirement(text: str) -> Matches:
    if match := _EQUALS.fullmatch(text):
        key, operator, value = match.groups()
        if operator == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if match := _EXISTS.fullmatch(text):
        absent, key = match.groups()
        return lambda labels: (key in labels) != bool(absent)
    if match := _SET.fullmatch(text):
        key, operator, listed = match.groups()
        values = {value.strip() for value in listed.split(",")}
        if all(_LABEL_VALUE.fullmatch(value) for value in values):
            return lambda labels: (labels.get(key) in values) == (operator == "in")
    raise invalid_field("label_selector", f"malformed at '{text}'")
