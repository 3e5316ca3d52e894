"""Shapes of what a world file says: a template with what is given laid over it, and the rules for single fields.

A rule gets a value and where it stands, and returns it as it is stored. Every problem is a ValueError that names the
place and says what to do.
"""

from collections.abc import Callable, Mapping
from ipaddress import ip_address, ip_network
from typing import Any

Object = dict[str, Any]
Rule = Callable[[Any, str], Any]


def copied(value: Any) -> Any:
    """A deep copy of a JSON value."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def shape(given: Any, template: Object, where: str, rules: Mapping[str, Rule] | None = None) -> Object:
    """The template with what is given laid over it, and every field that has a rule as that makes it."""
    an_object(given, where)
    for name in given:
        if name not in template:
            raise ValueError(f"{where}: key {name!r} is not known; remove it or use one of {', '.join(template)}")
    whole = {**template, **given}
    return {**whole, **{name: rule(whole[name], f"{where} {name}") for name, rule in (rules or {}).items()}}


def a(kinds: type | tuple[type, ...], what: str) -> Rule:
    """The rule for values of one of the types; a truth value is no number."""
    allowed = kinds if isinstance(kinds, tuple) else (kinds,)

    def rule(value: Any, where: str) -> Any:
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise ValueError(f"{where}: give {what}, not {value!r}")
        return value

    return rule


def one_of(*options: str) -> Rule:
    """The rule for one of these texts."""

    def rule(value: Any, where: str) -> Any:
        if value not in options:
            raise ValueError(f"{where}: {value!r} is not known; use one of {', '.join(options)}")
        return value

    return rule


def part(template: Object, rules: Mapping[str, Rule] | None = None) -> Rule:
    """The rule for an object with a template and rules of its own."""
    return lambda value, where: shape(value, template, where, rules)


def each(rule: Rule) -> Rule:
    """The rule for a list of what the rule is for."""
    return lambda value, where: [rule(item, where) for item in a_list(value, where)]


def optional(rule: Rule) -> Rule:
    """The rule for null, or what the rule is for."""
    return lambda value, where: None if value is None else rule(value, where)


def an_address(value: Any, where: str) -> str:
    """An IP address in its usual spelling."""
    try:
        return str(ip_address(value))
    except ValueError:
        raise ValueError(f"{where}: {value!r} is no IP address; give one like '10.0.0.2'") from None


def a_range(value: Any, where: str) -> str:
    """A range in CIDR notation in its usual spelling."""
    try:
        return str(ip_network(value))
    except ValueError:
        remedy = "give one like '10.0.0.0/16', with no bits set behind the prefix"
        raise ValueError(f"{where}: {value!r} is no range; {remedy}") from None


def labels(value: Any, where: str) -> Object:
    """A map of text to text; the grammar of values is the API's business."""
    return {key: a_text(text, f"{where}[{key}]") for key, text in an_object(value, where).items()}


an_object = a(dict, "an object")
a_list = a((list, tuple), "a list")
a_text = a(str, "a text")
a_number = a(int, "a whole number")
a_flag = a(bool, "true or false")
