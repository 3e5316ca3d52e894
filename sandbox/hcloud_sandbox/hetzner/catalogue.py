"""Catalog of what can be ordered: locations, server types, load balancer types, images, ISOs, and what they cost.

``catalogue.json`` has it as the API answers it, so that an entry of the real service can be put in its place. Known
differences: sizes and ids are the real ones as far as they are public, prices are placeholders with the right shape,
ids and names of ISOs are made up, only the types of the cx, cpx, cax and ccx families there exist, and ``cx22`` and
``cx32`` are kept as examples of types that are deprecated and sold out. Availability never changes by itself.
"""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import ApiError
from hcloud_sandbox.hetzner.store import Object
from hcloud_sandbox.shapes import Rule, shape

_DATA: Mapping[str, Any] = json.loads(files(__package__).joinpath("catalogue.json").read_text("utf-8"))


def _by_name(section: str) -> dict[str, Object]:
    return {entry["name"]: entry for entry in _DATA[section]}


LOCATIONS = _by_name("locations")
SERVER_TYPES = _by_name("server_types")
LOAD_BALANCER_TYPES = _by_name("load_balancer_types")
ISOS = _by_name("isos")
IMAGES: tuple[Object, ...] = tuple(_DATA["images"])
PRICING: Object = _DATA["pricing"]
"""The owner's currency and taxes, and what everything costs that has no type: images, volumes, backups, addresses."""

NETWORK_ZONES = tuple(dict.fromkeys(location["network_zone"] for location in LOCATIONS.values()))
DEFAULT_LOCATION = "fsn1"
DEFAULT_SERVER_TYPE = "cpx22"
DEFAULT_LOAD_BALANCER_TYPE = "lb11"
INCLUDED_TRAFFIC = 20 * 2**40
_ANNOUNCED = "2026-01-01T00:00:00Z"


def load_balancer_types(end: Mapping[str, str]) -> dict[str, Object]:
    """The types of load balancers by name; those in ``end`` are deprecated and can be ordered until then."""

    def ending(entry: Object, unavailable_after: str) -> Object:
        deprecation = {"announced": _ANNOUNCED, "unavailable_after": unavailable_after}
        return {**entry, "deprecated": _ANNOUNCED, "deprecation": deprecation}

    return {name: ending(entry, end[name]) if name in end else entry for name, entry in LOAD_BALANCER_TYPES.items()}


def find_entry(entries: Mapping[str, Object], id_or_name: Any) -> Object | None:
    """The entry with this name or id, as a number or as text; None when there is none."""
    found = entries.get(str(id_or_name))
    return found or next((entry for entry in entries.values() if str(entry["id"]) == str(id_or_name)), None)


def wanted_entry(body: Body, field: str, entries: Mapping[str, Object]) -> Object:
    """The entry that a field names, by id or by name. Raises ``invalid_input`` without one, or ``not_found``."""
    body.require(field)
    found = find_entry(entries, body.id_or_name(field))
    if found is None:
        raise ApiError("not_found", f"{field.replace('_', ' ')} not found")
    return found


def entry_of(entries: Mapping[str, Object], fallback: str) -> Rule:
    """The rule of a world file for an entry: by name, by id, or an object, which may be partial, and of a name that is
    not known here, when it is completed from ``fallback``."""

    def rule(value: Any, where: str) -> Object:
        if isinstance(value, Mapping):
            return shape(value, find_entry(entries, value.get("name", fallback)) or entries[fallback], where)
        found = find_entry(entries, value)
        if found is None:
            raise ValueError(
                f"{where}: {value!r} is not in the catalogue; use one of {', '.join(entries)} or an object"
            )
        return found

    return rule
