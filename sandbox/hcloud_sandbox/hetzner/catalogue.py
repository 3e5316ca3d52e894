"""Catalogs of what can be ordered: locations, server types, load balancer types, images, ISOs, and what they cost.

Known differences: sizes and ids are the real ones as far as they are public, prices are placeholders with the right
shape, ids and names of ISOs are made up, only the types of the cx, cpx, cax and ccx families below
exist, and ``cx22``/``cx32`` are kept as examples of types that are deprecated and sold out. Availability never changes
by itself.
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import ApiError
from hcloud_sandbox.hetzner.store import Object
from hcloud_sandbox.shapes import Rule, shaped

_TIB = 2**40
INCLUDED_TRAFFIC = 20 * _TIB
_EUROPE = ("fsn1", "nbg1", "hel1")
_OVERSEAS = ("ash", "hil", "sin")

NETWORK_ZONES = ("eu-central", "us-east", "us-west", "ap-southeast")
DEFAULT_LOCATION = "fsn1"
DEFAULT_SERVER_TYPE = "cpx22"
DEFAULT_LOAD_BALANCER_TYPE = "lb11"
CURRENCY = "EUR"
VAT_RATE = "19.000000"
"""Those of the project's owner."""

_SOLD_OUT = {"announced": "2025-10-16T06:00:00Z", "unavailable_after": "2025-12-31T00:00:00Z"}


def _named(fields: str, *rows: tuple[Any, ...]) -> dict[str, Object]:
    """Rows of values as objects by their names."""
    entries = [dict(zip(fields.split(), row, strict=True)) for row in rows]
    return {entry["name"]: entry for entry in entries}


LOCATIONS = _named(
    "id name description country city latitude longitude network_zone",
    (1, "fsn1", "Falkenstein DC Park 1", "DE", "Falkenstein", 50.47612, 12.370071, "eu-central"),
    (2, "nbg1", "Nuremberg DC Park 1", "DE", "Nuremberg", 49.452102, 11.076665, "eu-central"),
    (3, "hel1", "Helsinki DC Park 1", "FI", "Helsinki", 60.169855, 24.938379, "eu-central"),
    (4, "ash", "Ashburn, VA", "US", "Ashburn, VA", 39.045821, -77.487073, "us-east"),
    (5, "hil", "Hillsboro, OR", "US", "Hillsboro, OR", 45.54222, -122.951924, "us-west"),
    (6, "sin", "Singapore", "SG", "Singapore", 1.283333, 103.833333, "ap-southeast"),
)


def _amount(gross: float) -> Object:
    return {"net": f"{gross / (1 + float(VAT_RATE) / 100):.4f}", "gross": f"{gross:.4f}"}


def _price(location: str, gross: float, included_tib: int) -> Object:
    """What it costs there: ``gross`` is that of a month."""
    return {
        "location": location,
        "price_hourly": _amount(gross / 625),
        "price_monthly": _amount(gross),
        "included_traffic": included_tib * _TIB,
        "price_per_tb_traffic": _amount(1.19),
    }


def other_prices() -> Object:
    """What everything costs that has no type: images, volumes, backups and addresses."""

    def in_all_locations(**prices: float) -> list[Object]:
        amounts = {name: _amount(gross) for name, gross in prices.items()}
        return [{"location": place, **amounts} for place in LOCATIONS]

    addresses = (("ipv4", 0.60, 3.57), ("ipv6", 0.0, 1.19))
    return {
        "image": {"price_per_gb_month": _amount(0.0131)},
        "volume": {"price_per_gb_month": _amount(0.0524)},
        "server_backup": {"percentage": "20.0000000000"},
        "floating_ip": {"price_monthly": _amount(3.57)},
        "floating_ips": [
            {"type": family, "prices": in_all_locations(price_monthly=floating)} for family, _, floating in addresses
        ],
        "primary_ips": [
            {"type": family, "prices": in_all_locations(price_hourly=gross / 625, price_monthly=gross)}
            for family, gross, _ in addresses
        ],
    }


_CATEGORIES = {"cx": "cost_optimized", "ca": "cost_optimized", "cp": "regular_purpose", "cc": "general_purpose"}


def _server_type(
    type_id: int, name: str, cores: int, memory: int, disk: int, locations: Iterable[str], ends: Object | None = None
) -> Object:
    dedicated = name.startswith("ccx")
    offer = {"deprecation": ends, "recommended": ends is None, "available": ends is None}
    return {
        "id": type_id,
        "name": name,
        "description": name.upper(),
        "cores": cores,
        "memory": memory,
        "disk": disk,
        "deprecated": ends is not None,
        "deprecation": ends,
        "prices": [_price(location, cores * (7.0 if dedicated else 3.0), 20) for location in locations],
        "storage_type": "local",
        "cpu_type": "dedicated" if dedicated else "shared",
        "category": _CATEGORIES[name[:2]],
        "architecture": "arm" if name.startswith("cax") else "x86",
        "locations": [{"id": LOCATIONS[location]["id"], "name": location, **offer} for location in locations],
    }


SERVER_TYPES: dict[str, Object] = {
    row[1]: _server_type(*row)
    for row in (
        (22, "cpx11", 2, 2, 40, _OVERSEAS),
        (23, "cpx21", 3, 4, 80, _OVERSEAS),
        (24, "cpx31", 4, 8, 160, _OVERSEAS),
        (25, "cpx41", 8, 16, 240, _OVERSEAS),
        (26, "cpx51", 16, 32, 360, _OVERSEAS),
        (45, "cax11", 2, 4, 40, _EUROPE),
        (93, "cax21", 4, 8, 80, _EUROPE),
        (94, "cax31", 8, 16, 160, _EUROPE),
        (95, "cax41", 16, 32, 320, _EUROPE),
        (96, "ccx13", 2, 8, 80, _EUROPE + _OVERSEAS),
        (97, "ccx23", 4, 16, 160, _EUROPE + _OVERSEAS),
        (98, "ccx33", 8, 32, 240, _EUROPE + _OVERSEAS),
        (99, "ccx43", 16, 64, 360, _EUROPE + _OVERSEAS),
        (100, "ccx53", 32, 128, 600, _EUROPE + _OVERSEAS),
        (101, "ccx63", 48, 192, 960, _EUROPE + _OVERSEAS),
        (104, "cx22", 2, 4, 40, _EUROPE, _SOLD_OUT),
        (105, "cx32", 4, 8, 80, _EUROPE, _SOLD_OUT),
        (108, "cpx12", 1, 2, 40, (*_EUROPE, "sin")),
        (109, "cpx22", 2, 4, 80, (*_EUROPE, "sin")),
        (110, "cpx32", 4, 8, 160, (*_EUROPE, "sin")),
        (111, "cpx42", 8, 16, 320, (*_EUROPE, "sin")),
        (112, "cpx52", 12, 24, 480, (*_EUROPE, "sin")),
        (113, "cpx62", 16, 32, 640, (*_EUROPE, "sin")),
        (114, "cx23", 2, 4, 40, _EUROPE),
        (115, "cx33", 4, 8, 80, _EUROPE),
        (116, "cx43", 8, 16, 160, _EUROPE),
        (117, "cx53", 16, 32, 320, _EUROPE),
    )
}


def _load_balancer_type(
    type_id: int, gross: float, services: int, targets: int, certificates: int, connections: int
) -> Object:
    return {
        "id": type_id,
        "name": f"lb{type_id}1",
        "description": f"LB{type_id}1",
        "max_connections": connections,
        "max_services": services,
        "max_targets": targets,
        "max_assigned_certificates": certificates,
        "deprecated": None,
        "deprecation": None,
        "prices": [
            _price(location, gross, 20 if LOCATIONS[location]["network_zone"] == "eu-central" else 1)
            for location in LOCATIONS
        ],
    }


LOAD_BALANCER_TYPES: dict[str, Object] = {
    f"lb{row[0]}1": _load_balancer_type(*row)
    for row in ((1, 5.39, 5, 25, 10, 10_000), (2, 16.40, 15, 75, 25, 20_000), (3, 32.90, 30, 150, 50, 40_000))
}


def _image(image_id: int, name: str, architecture: str) -> Object:
    flavor, _, version = name.partition("-")
    return {
        "id": image_id,
        "type": "system",
        "status": "available",
        "name": name,
        "description": f"{flavor.capitalize()} {version}",
        "image_size": None,
        "disk_size": 5,
        "created": "2024-04-25T13:26:27Z",
        "created_from": None,
        "bound_to": None,
        "os_flavor": flavor,
        "os_version": version,
        "rapid_deploy": True,
        "protection": {"delete": False},
        "deprecated": None,
        "deprecation": None,
        "deleted": None,
        "labels": {},
        "architecture": architecture,
    }


_SYSTEMS = ("ubuntu-24.04", "ubuntu-22.04", "debian-12", "debian-13", "rocky-10", "alma-10", "fedora-43")
IMAGES: tuple[Object, ...] = tuple(
    _image(161547269 + number, name, architecture)
    for number, (name, architecture) in enumerate(itertools.product(_SYSTEMS, ("x86", "arm")))
)

ISOS = _named(
    "id name description type deprecation architecture",
    (122630, "debian-13.1.0-amd64-netinst.iso", "Debian 13.1 (amd64/netinstall)", "public", None, "x86"),
    (122631, "debian-13.1.0-arm64-netinst.iso", "Debian 13.1 (arm64/netinstall)", "public", None, "arm"),
    (98332, "netboot.xyz.iso", "netboot.xyz (x86)", "public", None, "x86"),
)

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
            return shaped(value, find_entry(entries, value.get("name", fallback)) or entries[fallback], where)
        found = find_entry(entries, value)
        if found is None:
            raise ValueError(
                f"{where}: {value!r} is not in the catalogue; use one of {', '.join(entries)} or an object"
            )
        return found

    return rule
