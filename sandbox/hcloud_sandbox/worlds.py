"""World files as a whole: version, parts and sections. Objects are checked by their simulators."""

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

FORMAT_VERSION = "1.0"
"""What is written; any 1.x is read."""

HetznerKind = Literal[
    "servers",
    "networks",
    "primary_ips",
    "load_balancers",
    "certificates",
    "ssh_keys",
    "placement_groups",
    "firewalls",
    "volumes",
    "images",
]
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "kubernetes": (
        "nodes",
        "services",
        "namespaces",
        "events",
        "leases",
        "configmaps",
        "deployments",
        "daemonsets",
        "volumeattachments",
    ),
    "hetzner": get_args(HetznerKind),
    "robot": ("servers",),
}
"""Part of a world file → its sections, each a list of objects."""
_FILE_KEYS = ("format_version", "captured", *SECTIONS)
"""``captured`` is for plans from the file: what it has beside objects plays no part in a simulation."""


def check_file(world: Any) -> None:
    """Raises ValueError that names the key when this is no world file."""
    _check_keys(world, _FILE_KEYS, "")
    version = world.get("format_version", FORMAT_VERSION)
    if not isinstance(version, str) or not re.fullmatch(r"1\.[0-9]+", version, re.ASCII):
        raise ValueError(f"format_version {version!r} is not known: expect 1.x, such as {FORMAT_VERSION!r}")
    for part in SECTIONS:
        _check_part(world.get(part, {}), part)


def part_of(world: Any, part: str) -> Mapping[str, Any]:
    """One part of a whole world file, empty when that has none; or ``world`` itself when it is the part.

    Raises ValueError that names the key. An object with nothing in it is neither, and refused: it says nothing about
    what there should be.
    """
    if isinstance(world, Mapping) and not world:
        raise ValueError(f'the world has no key: use {{"{part}": {{}}}} for an empty one')
    if isinstance(world, Mapping) and not world.keys().isdisjoint(_FILE_KEYS):
        check_file(world)
        found: Mapping[str, Any] = world.get(part, {})
        return found
    _check_part(world, part)
    whole: Mapping[str, Any] = world
    return whole


def _check_part(found: Any, part: str) -> None:
    _check_keys(found, SECTIONS[part], part)
    for name, section in found.items():
        if not isinstance(section, list | tuple):
            raise ValueError(f"{part}.{name} must be a list of objects")  # noqa: TRY004 - one error for a bad world


def _check_keys(found: Any, known: tuple[str, ...], part: str) -> None:
    if not isinstance(found, Mapping):
        raise ValueError(f"{part or 'world'}: give an object, not {_shown(found)}")  # noqa: TRY004
    for key in found:
        if key not in known:
            raise ValueError(f"{part}{'.' * bool(part)}{key} is not known: use one of {', '.join(known)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
