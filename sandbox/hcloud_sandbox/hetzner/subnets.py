"""The rules of private networks about ranges, subnets, routes and addresses: pure functions over raw networks.

Source: Hetzner Cloud API, networks and network actions. Assumed where it is silent: the first and last address of a
subnet are taken as reserved, an attachment without a wish gets an address of the last subnet by range that has one
free, a default route is in the way of another one alone, and no vSwitch exists but those in the world's subnets.
"""

from collections.abc import Collection, Iterator
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError

from hcloud_sandbox.hetzner.catalogue import NETWORK_ZONES
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field, invalid_text, known, limit_exceeded
from hcloud_sandbox.hetzner.store import Object

MAX_SUBNETS = 50
MAX_ROUTES = 100
_PRIVATE = tuple(IPv4Network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
_PUBLIC_GATEWAY = IPv4Address("172.31.1.1")
_EVERYTHING = IPv4Network("0.0.0.0/0")


def parse_range(text: str, field: str) -> IPv4Network:
    """An IPv4 range in CIDR notation without host bits. Raises ``invalid_input``."""
    try:
        if "/" in text:
            return IPv4Network(text)
    except (AddressValueError, NetmaskValueError, ValueError):
        pass
    raise invalid_field(field, "must be an IPv4 range in CIDR notation")


def parse_address(text: str, field: str) -> IPv4Address:
    """An IPv4 address. Raises ``invalid_input``."""
    try:
        return IPv4Address(text)
    except AddressValueError:
        raise invalid_field(field, "must be an IPv4 address") from None


def is_private(network: IPv4Network) -> bool:
    """Whether the range lies in one of RFC 1918."""
    return any(network.subnet_of(private) for private in _PRIVATE)


def range_of(item: Object) -> IPv4Network:
    """The ``ip_range`` of a stored network or subnet."""
    return IPv4Network(item["ip_range"])


def first_address(network: Object) -> str:
    """The gateway of all subnets: the first address of the network, not of the subnet."""
    return str(range_of(network)[1])


def subnet_with(network: Object, address: str) -> Object | None:
    """The subnet that contains the address, None when none does."""
    wanted = IPv4Address(address)
    return next((subnet for subnet in network["subnets"] if wanted in range_of(subnet)), None)


def check_network_range(text: str) -> str:
    """The range of a new network. Raises ``invalid_input``."""
    ip_range = parse_range(text, "ip_range")
    if not is_private(ip_range):
        raise invalid_field("ip_range", "must be a private range of RFC 1918")
    if ip_range.prefixlen > 24:
        raise invalid_field("ip_range", "must be at least a /24")
    return str(ip_range)


def check_grown_range(network: Object, text: str) -> str:
    """The new range of a network that grows at its end. Raises ``invalid_input``."""
    new, old = parse_range(check_network_range(text), "ip_range"), range_of(network)
    if new.network_address != old.network_address or new.prefixlen >= old.prefixlen:
        raise invalid_field("ip_range", f"must start with {old.network_address} and be larger than /{old.prefixlen}")
    return str(new)


def checked_subnet(network: Object, kind: str, zone: str, wanted: str | None, vswitch_id: int | None) -> Object:
    """A new subnet of the network; without a wanted range the first free /24. Raises ApiError."""
    if kind not in {"cloud", "server", "vswitch"}:
        raise invalid_field("type", known(("cloud", "server", "vswitch")))
    if zone not in NETWORK_ZONES:
        raise invalid_field("network_zone", known(NETWORK_ZONES))
    if len(network["subnets"]) >= MAX_SUBNETS:
        raise limit_exceeded("subnet_limit")
    if any(subnet["network_zone"] != zone for subnet in network["subnets"]):
        raise invalid_field("network_zone", "all subnets of a network must be in the same network zone")
    if kind == "vswitch":
        if vswitch_id is None:
            raise invalid_field("vswitch_id", "is missing")
        raise ApiError("service_error", "vswitch not found")
    ip_range = _first_free_range(network) if wanted is None else parse_range(wanted, "ip_range")
    if ip_range.prefixlen > 30:
        raise invalid_field("ip_range", "must be at least a /30")
    if not ip_range.subnet_of(range_of(network)):
        raise invalid_field("ip_range", f"is not part of the network IP range ({network['ip_range']})")
    if any(ip_range.overlaps(taken) for taken in _occupied(network) if taken != _EVERYTHING):
        raise invalid_field("ip_range", "overlaps with another subnetwork or network route")
    return subnet_object(network, kind, str(ip_range), zone)


def subnet_object(network: Object, kind: str, ip_range: str, zone: str, vswitch_id: int | None = None) -> Object:
    """A subnet as the API answers it."""
    return {
        "type": kind,
        "ip_range": ip_range,
        "network_zone": zone,
        "gateway": first_address(network),
        "vswitch_id": vswitch_id,
    }


def checked_route(network: Object, destination_text: str, gateway_text: str) -> Object:
    """A new route of the network. Raises ApiError."""
    destination = parse_range(destination_text, "destination")
    gateway = parse_address(gateway_text, "gateway")
    if destination != _EVERYTHING and not is_private(destination):
        raise invalid_field("destination", "must be a private range of RFC 1918 or 0.0.0.0/0")
    if gateway not in range_of(network):
        raise invalid_text(f"network route gateway not part of the network IP range ({network['ip_range']})")
    behind_vswitch = any(subnet["type"] == "vswitch" and gateway in range_of(subnet) for subnet in network["subnets"])
    if str(gateway) == first_address(network) or gateway == _PUBLIC_GATEWAY or behind_vswitch:
        raise invalid_text("invalid gateway")
    route = {"destination": str(destination), "gateway": str(gateway)}
    # The default route contains everything, and is in the way of another one alone.
    others = [taken for taken in _occupied(network) if (taken == _EVERYTHING) == (destination == _EVERYTHING)]
    if any(destination.overlaps(taken) for taken in others):
        raise invalid_text("network route destination overlaps with another subnetwork or network route")
    if destination != _EVERYTHING and _PUBLIC_GATEWAY in destination:
        raise invalid_text(f"network route destination overlaps with {_PUBLIC_GATEWAY}")
    if len(network["routes"]) >= MAX_ROUTES:
        raise limit_exceeded("route_limit")
    return route


def allocated_address(
    network: Object, zone: str, taken: Collection[str], *, ip: str | None = None, ip_range: str | None = None
) -> str:
    """The address for a new attachment from a location in this zone.

    ``ip`` asks for one address, ``ip_range`` for a subnet. Raises ``ip_not_available``, ``no_subnet_available`` or
    ``invalid_input``.
    """
    usable = [s for s in network["subnets"] if s["type"] != "vswitch" and s["network_zone"] == zone]
    if ip_range is not None:
        wanted = parse_range(ip_range, "ip_range")
        usable = [subnet for subnet in usable if range_of(subnet) == wanted]
    if ip is not None:
        address = parse_address(ip, "ip")
        if ip_range is not None and address not in parse_range(ip_range, "ip_range"):
            raise invalid_field("ip", f"is not part of the subnet {ip_range}")
        for subnet in usable:
            if address in range_of(subnet):
                if is_reserved(network, subnet, address) or str(address) in taken:
                    raise ApiError("ip_not_available", f"IP {address} is not available")
                return str(address)
        raise ApiError("no_subnet_available", "no subnet or IP is available for the resource within the network")
    for subnet in sorted(usable, key=range_of, reverse=True):
        free = next(_free_addresses(network, subnet, taken), None)
        if free is not None:
            return free
    raise ApiError("no_subnet_available", "no subnet or IP is available for the resource within the network")


def is_reserved(network: Object, subnet: Object, address: IPv4Address) -> bool:
    """Whether no resource may have this address of the subnet."""
    ip_range = range_of(subnet)
    edges = {ip_range.network_address, ip_range.broadcast_address}
    return address in edges or str(address) == first_address(network) or address == _PUBLIC_GATEWAY


def _free_addresses(network: Object, subnet: Object, taken: Collection[str]) -> Iterator[str]:
    for address in range_of(subnet).hosts():
        if str(address) not in taken and not is_reserved(network, subnet, address):
            yield str(address)


def _occupied(network: Object) -> list[IPv4Network]:
    return [
        *(range_of(subnet) for subnet in network["subnets"]),
        *(IPv4Network(route["destination"]) for route in network["routes"]),
    ]


def _first_free_range(network: Object) -> IPv4Network:
    taken = [occupied for occupied in _occupied(network) if occupied != _EVERYTHING]
    for candidate in range_of(network).subnets(new_prefix=24):
        if not any(candidate.overlaps(occupied) for occupied in taken):
            return candidate
    raise ApiError("service_error", "no free /24 is left in the network")
