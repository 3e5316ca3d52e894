"""Orders in a request: the host name, and the type, the location and the image it names, by id or by name.

Known differences: which refusal an unknown type, image or location gets is not established; here it is ``not_found``. A
server without a wanted location goes to the first place that its type is offered in, a load balancer to the first
location of its network zone. A type of load balancer past its end is ``resource_unavailable``.
"""

import re

from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.catalogue import (
    DEFAULT_LOCATION,
    LOCATIONS,
    NETWORK_ZONES,
    SERVER_TYPES,
    find_entry,
)
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field, invalid_text
from hcloud_sandbox.hetzner.images import all_images, find_image
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.store import Object, View

_HOST_LABEL = r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_HOST_NAME = re.compile(rf"(?=.{{1,253}}$){_HOST_LABEL}(\.{_HOST_LABEL})*")
_MOST_USER_DATA = 32 * 2**10


def host_name(project: Project, name: str, own_id: int | None = None) -> str:
    """The name of a server, which no other server may have. Raises ApiError."""
    if not _HOST_NAME.fullmatch(name):
        raise invalid_field("name", "must be a valid hostname")
    project.require_unused("servers", name, own_id, "server name is already used")
    return name


def wanted_server_type(body: Body) -> Object:
    """The type in ``server_type``. Raises ApiError."""
    found = find_entry(SERVER_TYPES, _wish(body, "server_type"))
    if found is None:
        raise ApiError("not_found", "server type not found")
    return found


def wanted_image(body: Body, view: View, server_type: Object) -> Object:
    """The image in ``image``, for the type's architecture. Raises ApiError."""
    found = find_image(all_images(view), _wish(body, "image"), server_type["architecture"])
    if found is None:
        raise ApiError("not_found", "image not found")
    if found["architecture"] != server_type["architecture"]:
        raise invalid_text("image has another architecture than the server type")
    return found


def checked_user_data(body: Body) -> None:
    """Raises ``invalid_input`` for more in ``user_data`` than a server gets."""
    if len((body.optional_text("user_data") or "").encode()) > _MOST_USER_DATA:
        raise invalid_field("user_data", "must not be larger than 32 KiB")


def wanted_location(body: Body, server_type: Object) -> Object:
    """The place in ``location``, where the type must be available. Raises ApiError."""
    wanted = body.id_or_name("location")
    offered = {place["name"]: place["available"] for place in server_type["locations"]}
    if wanted is None:
        wanted = DEFAULT_LOCATION if DEFAULT_LOCATION in offered else next(iter(offered))
    location = find_entry(LOCATIONS, wanted)
    if location is None:
        raise ApiError("not_found", "location not found")
    if location["name"] not in offered:
        raise invalid_text("unsupported location for server type")
    if not offered[location["name"]]:
        raise ApiError("resource_unavailable", "server type is currently unavailable in the location")
    return location


def wanted_load_balancer_type(body: Body, types: dict[str, Object]) -> Object:
    """The type in ``load_balancer_type``, available or not. Raises ApiError."""
    found = find_entry(types, _wish(body, "load_balancer_type"))
    if found is None:
        raise ApiError("not_found", "load balancer type not found")
    return found


def is_available(load_balancer_type: Object, now: str) -> bool:
    """Whether the type can still be ordered. Times are as the API writes them, and compare as text."""
    deprecation = load_balancer_type["deprecation"]
    return deprecation is None or now < str(deprecation["unavailable_after"])


def wanted_balancer_location(body: Body) -> Object:
    """The place in ``location``, or one in ``network_zone``; one of both must be given. Raises ApiError."""
    place, zone = body.id_or_name("location"), body.optional_text("network_zone")
    if (place is None) == (zone is None):
        raise invalid_text("either location or network_zone must be given")
    if zone is not None:
        body.choice("network_zone", NETWORK_ZONES, None)
        return next(location for location in LOCATIONS.values() if location["network_zone"] == zone)
    location = find_entry(LOCATIONS, place)
    if location is None:
        raise ApiError("not_found", "location not found")
    return location


def _wish(body: Body, field: str) -> str:
    wanted = body.id_or_name(field)
    if wanted is None:
        raise invalid_field(field, "is missing")
    return wanted
