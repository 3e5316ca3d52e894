"""Filling in what a partial object leaves out: the parts that all kinds of a world file share.

Every problem is a ValueError that names the object and says what to do.
"""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

from hcloud_sandbox.hetzner.catalogue import find_entry
from hcloud_sandbox.hetzner.store import Object


def complete(given: Any, template: Object, where: str) -> Object:
    """The template with what is given laid over it."""
    check_type(given, Mapping, "an object", where)
    for name in given:
        if name not in template:
            raise ValueError(f"{where}: key {name!r} is not known; remove it or use one of {', '.join(template)}")
    return {**template, **given}


def completed_list(given: Any, where: str) -> Sequence[Any]:
    """The value of a field that must be a list."""
    check_type(given, (list, tuple), "a list", where)
    items: Sequence[Any] = given
    return items


def check_type(value: Any, kinds: type | tuple[type, ...], what: str, where: str) -> None:
    """Raises when a value does not have one of the types; a truth value is no number."""
    allowed = kinds if isinstance(kinds, tuple) else (kinds,)
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        raise ValueError(f"{where}: give {what}, not {value!r}")


def check_labels_shape(labels: Any, where: str) -> None:
    """Raises when labels are not a map of text to text; the grammar of values is the API's business."""
    check_type(labels, dict, "an object of labels", where)
    for key, value in labels.items():
        check_type(value, str, "a text", f"{where}[{key}]")


def catalogue_entry(given: Any, entries: dict[str, Object], fallback: str, where: str) -> Object:
    """An entry given by name, by id, or as an object, which may be partial and may be of a name not known here."""
    if isinstance(given, Mapping):
        base = find_entry(entries, given.get("name", fallback)) or entries[fallback]
        return complete(given, base, where)
    found = find_entry(entries, given)
    if found is None:
        raise ValueError(f"{where}: {given!r} is not in the catalogue; use one of {', '.join(entries)} or an object")
    return found


def checked_address(given: Any, where: str) -> str:
    """An IP address in its usual spelling."""
    try:
        return str(ip_address(given))
    except ValueError:
        raise ValueError(f"{where}: {given!r} is no IP address; give one like '10.0.0.2'") from None


def checked_network(given: Any, where: str) -> str:
    """A range in CIDR notation in its usual spelling."""
    try:
        return str(ip_network(given))
    except ValueError:
        raise ValueError(
            f"{where}: {given!r} is no range; give one like '10.0.0.0/16', with no bits set behind the prefix"
        ) from None
