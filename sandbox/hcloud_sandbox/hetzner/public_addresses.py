"""Public addresses: giving them out, their reverse names, and whose they are.

Known differences: they come from the benchmark range 198.18.0.0/15 and the documentation range 2001:db8::/32; reverse
names and MAC addresses are made up.
"""

from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv6Network, ip_address, ip_interface

from hcloud_sandbox.hetzner.errors import ApiError
from hcloud_sandbox.hetzner.store import Object, Store

FAMILIES = ("ipv4", "ipv6")
_IPV4_POOL = IPv4Address("198.18.0.0")
_IPV6_POOL = int(IPv6Network("2001:db8::/32").network_address)


class PublicAddresses:
    """Gives out public addresses that nobody has yet; ``used`` are those that a world has from the start."""

    def __init__(self, store: Store, used: Iterable[str] = ()) -> None:
        self._store = store
        self._used = {_taken(each) for each in used}

    def new(self, family: str) -> str:
        """An IPv4 address, or a /64: what a server and a Primary IP have."""
        if family == "ipv4":
            return self._next("public_ipv4", lambda number: str(_IPV4_POOL + number))
        return self._next("public_ipv6", lambda number: str(IPv6Network((_IPV6_POOL + (number << 64), 64))))

    def of_server(self, family: str, name: str) -> Object:
        """A server's new address, whose IPv4 has its name as reverse name."""
        dns_ptr = name if family == "ipv4" else []
        address = self.new(family)
        return {"id": self._store.next_id("primary_ips"), "ip": address, "blocked": False, "dns_ptr": dns_ptr}

    def _next(self, counter: str, address_of: Callable[[int], str]) -> str:
        while True:
            address = address_of(self._store.next_id(counter))
            if address not in self._used:
                return address


def _taken(address: str) -> str:
    """What an address takes of the pool: itself, and of IPv6 its /64, of which a load balancer has one address."""
    found = ip_interface(address)
    return address if found.version == 4 else str(IPv6Network(f"{found.ip}/64", strict=False))


def first_host(address: str) -> str:
    """The address that a load balancer has of an IPv4 address, which is that, or of a /64: the first behind its own."""
    return str(IPv6Network(address)[1]) if ":" in address else address


def default_dns_ptr(ip: str) -> str | None:
    """The reverse DNS name that an address has when nobody gave it one; an IPv6 address has none."""
    if ":" in ip:
        return None
    return f"static.{'.'.join(reversed(ip.split('.')))}.clients.your-server.de"


def with_reverse_name(named: Iterable[Object], address: str, dns_ptr: str | None) -> list[Object]:
    """The reverse names with another one for an address; None takes it away."""
    kept = [entry for entry in named if entry["ip"] != address]
    return [*kept, *([] if dns_ptr is None else [{"ip": address, "dns_ptr": dns_ptr}])]


def with_dns_ptr(server: Object, address: str, dns_ptr: str | None) -> Object:
    """A server's ``public_net`` with another reverse name; None resets it. Raises ``ip_not_assigned_to_server``."""
    public_net: Object = server["public_net"]
    ipv4, ipv6 = public_net["ipv4"], public_net["ipv6"]
    if ipv4 is not None and ipv4["ip"] == address:
        return {**public_net, "ipv4": {**ipv4, "dns_ptr": dns_ptr or server["name"]}}
    if ipv6 is not None and ":" in address and ip_address(address) in IPv6Network(ipv6["ip"]):
        named = with_reverse_name(ipv6["dns_ptr"] or (), address, dns_ptr)
        return {**public_net, "ipv6": {**ipv6, "dns_ptr": named}}
    message = "the specified IP is neither the primary IPv4 address nor in the IPv6 subnet of the given server"
    raise ApiError("ip_not_assigned_to_server", message)


def public_address(server: Object) -> str | None:
    """The server's public IPv4; None when it has none."""
    ipv4 = server["public_net"]["ipv4"]
    return None if ipv4 is None else str(ipv4["ip"])


def has_public_address(server: Object, address: str) -> bool:
    """Whether it is the server's public IPv4, or a host in its IPv6 network."""
    parsed = ip_address(address)
    if isinstance(parsed, IPv4Address):
        return public_address(server) == str(parsed)
    if server["public_net"]["ipv6"] is None:
        return False
    network = IPv6Network(server["public_net"]["ipv6"]["ip"])
    return parsed in network and parsed != network.network_address


def new_mac_address(store: Store) -> str:
    """A MAC address that no interface has yet."""
    digits = f"{store.next_id('mac_addresses'):06x}"
    return f"86:00:00:{digits[:2]}:{digits[2:4]}:{digits[4:]}"
