"""New objects with every field the API requires, and the addresses and numbers that the service gives out.

Known differences: public addresses come from the benchmark range 198.18.0.0/15 and the documentation range
2001:db8::/32; reverse DNS names and MAC addresses are made up.
"""

import copy
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Network, ip_address, ip_interface
from typing import Any

from hcloud_sandbox.hetzner.catalogue import (
    DEFAULT_LOAD_BALANCER_TYPE,
    DEFAULT_LOCATION,
    DEFAULT_SERVER_TYPE,
    IMAGES,
    LOAD_BALANCER_TYPES,
    LOCATIONS,
    SERVER_TYPES,
)
from hcloud_sandbox.hetzner.store import Object, Store

_TIB = 2**40
_IPV4_POOL = IPv4Address("198.18.0.0")
_IPV6_POOL = int(IPv6Network("2001:db8::/32").network_address)

_CATALOGUE_FIELDS = frozenset({"server_type", "location", "image", "load_balancer_type", "iso", "placement_group"})


def fresh_copy(value: Object) -> Object:
    """A copy that a caller may change, but for the parts from the catalog, which are many and never change."""
    return {name: part if name in _CATALOGUE_FIELDS else copy.deepcopy(part) for name, part in value.items()}


def server_template(server_id: int, created: str) -> Object:
    """A running server without networks and public addresses."""
    return {
        "id": server_id,
        "name": f"server-{server_id}",
        "status": "running",
        "created": created,
        "public_net": {"ipv4": None, "ipv6": None, "floating_ips": [], "firewalls": []},
        "private_net": [],
        "server_type": SERVER_TYPES[DEFAULT_SERVER_TYPE],
        "location": LOCATIONS[DEFAULT_LOCATION],
        "image": IMAGES[0],
        "iso": None,
        "rescue_enabled": False,
        "locked": False,
        "backup_window": None,
        "outgoing_traffic": 0,
        "ingoing_traffic": 0,
        "included_traffic": 20 * _TIB,
        "protection": {"delete": False, "rebuild": False},
        "labels": {},
        "volumes": [],
        "load_balancers": [],
        "primary_disk_size": 0,
        "placement_group": None,
    }


def network_template(network_id: int, created: str) -> Object:
    """An empty network 10.0.0.0/16."""
    return {
        "id": network_id,
        "name": f"network-{network_id}",
        "ip_range": "10.0.0.0/16",
        "subnets": [],
        "routes": [],
        "servers": [],
        "load_balancers": [],
        "protection": {"delete": False},
        "labels": {},
        "created": created,
        "expose_routes_to_vswitch": False,
    }


def load_balancer_template(load_balancer_id: int, created: str) -> Object:
    """A load balancer without services, targets and network."""
    return {
        "id": load_balancer_id,
        "name": f"load-balancer-{load_balancer_id}",
        "public_net": {"enabled": True, "ipv4": {}, "ipv6": {}},
        "private_net": [],
        "location": LOCATIONS[DEFAULT_LOCATION],
        "load_balancer_type": LOAD_BALANCER_TYPES[DEFAULT_LOAD_BALANCER_TYPE],
        "protection": {"delete": False},
        "labels": {},
        "created": created,
        "services": [],
        "targets": [],
        "algorithm": {"type": "round_robin"},
        "outgoing_traffic": 0,
        "ingoing_traffic": 0,
        "included_traffic": 20 * _TIB,
    }


def listener_template() -> Object:
    """What a service has beside its protocol and ports: its defaults for http and https."""
    return {
        "cookie_name": "HCLBSTICKY",
        "cookie_lifetime": 300,
        "timeout_idle": 50,
        "certificates": [],
        "redirect_http": False,
        "sticky_sessions": False,
    }


def health_check_template(port: int) -> Object:
    """The health check that the API gives a service without one."""
    return {"protocol": "tcp", "port": port, "interval": 15, "timeout": 10, "retries": 3}


def http_check_template() -> Object:
    """The defaults of a health check over http."""
    return {"domain": "", "path": "/", "response": "", "status_codes": ["2??", "3??"], "tls": False}


def system_address(ip: str, dns_ptr: str | None) -> Object:
    """A public address of a load balancer. The service's own ones are no Primary IPs, so their id stays null."""
    return {"id": None, "ip": ip, "blocked": False, "dns_ptr": dns_ptr}


def primary_ip_template(primary_ip_id: int, created: str) -> Object:
    """An IPv4 address that nothing has; ``ip`` is still to be given out."""
    return {
        "id": primary_ip_id,
        "name": f"primary-ip-{primary_ip_id}",
        "type": "ipv4",
        "ip": None,
        "assignee_id": None,
        "assignee_type": "unassigned",
        "auto_delete": False,
        "blocked": False,
        "created": created,
        "dns_ptr": [],
        "labels": {},
        "location": LOCATIONS[DEFAULT_LOCATION],
        "protection": {"delete": False},
    }


def address_of_primary_ip(primary_ip: Object) -> str:
    """The address that a load balancer has of a Primary IP: of a /64 the first one behind the network's own."""
    return str(primary_ip["ip"] if primary_ip["type"] == "ipv4" else IPv6Network(primary_ip["ip"])[1])


def default_dns_ptr(ip: str) -> str | None:
    """The reverse DNS name that an address has when nobody gave it one; an IPv6 address has none."""
    parsed = ip_address(ip)
    if not isinstance(parsed, IPv4Address):
        return None
    return f"static.{'.'.join(reversed(str(parsed).split('.')))}.clients.your-server.de"


def certificate_template(certificate_id: int, created: str) -> Object:
    """An uploaded certificate."""
    return {
        "id": certificate_id,
        "name": f"certificate-{certificate_id}",
        "labels": {},
        "type": "uploaded",
        "certificate": None,
        "created": created,
        "not_valid_before": created,
        "not_valid_after": "2036-01-01T00:00:00Z",
        "domain_names": ["example.com"],
        "fingerprint": None,
        "status": None,
        "used_by": [],
    }


class PublicAddresses:
    """Gives out public addresses that nobody has yet."""

    def __init__(self, store: Store, used: Iterable[str] = ()) -> None:
        self._store = store
        self._used = {_held(each) for each in (*used, *_addresses_in(store))}

    def ipv4(self, name: str) -> Object:
        """A server's new IPv4 with the given reverse DNS name."""
        address = self._next("public_ipv4", lambda number: str(_IPV4_POOL + number))
        return {"id": self._store.next_id("primary_ips"), "ip": address, "blocked": False, "dns_ptr": name}

    def ipv6(self) -> Object:
        """A server's new /64."""
        address = self._next("public_ipv6", lambda number: f"{IPv6Network((_IPV6_POOL + (number << 64), 64))}")
        return {"id": self._store.next_id("primary_ips"), "ip": address, "blocked": False, "dns_ptr": []}

    def of_primary_ip(self, family: str) -> str:
        """A Primary IP's new IPv4 address, or its /64."""
        return str((self.ipv4("") if family == "ipv4" else self.ipv6())["ip"])

    def of_balancer(self, family: str) -> str:
        """A load balancer's new IPv4 or IPv6 address, which is a single one."""
        if family == "ipv4":
            return str(self.ipv4("")["ip"])
        return str(IPv6Network(self.ipv6()["ip"])[1])

    def _next(self, counter: str, address_of: Any) -> str:
        while True:
            address: str = address_of(self._store.next_id(counter))
            if address not in self._used:
                self._used.add(address)
                return address


def _held(address: str) -> str:
    """What an address takes of the pool: itself, and of IPv6 its /64, of which a load balancer has one address."""
    found = ip_interface(address)
    return address if found.version == 4 else str(IPv6Network(f"{found.ip}/64", strict=False))


def _addresses_in(store: Store) -> Iterable[str]:
    view = store.truth()
    yield from (primary_ip["ip"] for primary_ip in view.all("primary_ips"))
    for holder in (*view.all("servers"), *view.all("load_balancers")):
        for family in ("ipv4", "ipv6"):
            held = holder["public_net"][family]
            if held is not None and held["ip"] is not None:
                yield held["ip"]


def new_mac_address(store: Store) -> str:
    """A MAC address that no interface has yet."""
    digits = f"{store.next_id('mac_addresses'):06x}"
    return f"86:00:00:{digits[:2]}:{digits[2:4]}:{digits[4:]}"
