"""Servers of a world file."""

from typing import Any

from hcloud_sandbox.hetzner.catalogue import IMAGES, LOCATIONS, SERVER_TYPES
from hcloud_sandbox.hetzner.completing import (
    catalogue_entry,
    check_labels_shape,
    check_type,
    checked_address,
    checked_network,
    complete,
    completed_list,
)
from hcloud_sandbox.hetzner.firewalls import server_entry
from hcloud_sandbox.hetzner.images import find_image
from hcloud_sandbox.hetzner.objects import PublicAddresses, new_mac_address, server_template
from hcloud_sandbox.hetzner.rendering import is_behind
from hcloud_sandbox.hetzner.store import Kind, Object, Store

_STATUSES = (
    "running",
    "initializing",
    "starting",
    "stopping",
    "off",
    "deleting",
    "migrating",
    "rebuilding",
    "unknown",
)


def complete_server(given: Object, created: str, where: str, store: Store, addresses: PublicAddresses) -> Object:
    """A server with everything that was left out; addresses in networks follow when all objects are known."""
    server = complete(given, server_template(given["id"], created), where)
    server["server_type"] = catalogue_entry(server["server_type"], SERVER_TYPES, "cpx22", f"{where} server_type")
    server["location"] = catalogue_entry(server["location"], LOCATIONS, "fsn1", f"{where} location")
    server["image"] = _image(server["image"], server["server_type"]["architecture"], f"{where} image")
    if "primary_disk_size" not in given:
        server["primary_disk_size"] = server["server_type"]["disk"]
    if server["status"] not in _STATUSES:
        raise ValueError(f"{where}: status {server['status']!r} is not known; use one of {', '.join(_STATUSES)}")
    server["placement_group"] = _group_id(server["placement_group"], f"{where} placement_group")
    check_labels_shape(server["labels"], f"{where} labels")
    check_type(server["locked"], bool, "true or false", f"{where} locked")
    protection = {"delete": False, "rebuild": False}
    server["protection"] = complete(server["protection"], protection, f"{where} protection")
    server["private_net"] = [
        _attachment(entry, f"{where} private_net", store)
        for entry in completed_list(server["private_net"], f"{where} private_net")
    ]
    for volume in completed_list(server["volumes"], f"{where} volumes"):
        check_type(volume, int, "ids", f"{where} volumes")
    server["public_net"] = _public_net(given, f"{where} public_net", server["name"], store, addresses)
    return server


def connect_servers(store: Store) -> None:
    """Put servers in step with their firewalls, volumes and placement groups, inside ``store.change()``.

    What only the server lists is attached to it. Raises ValueError for what is not there.
    """
    for server in store.truth().all("servers"):
        _connect(store, server)
    for volume in store.truth().all("volumes"):
        if volume["server"] is not None:
            where = f"volume {volume['id']} ({volume['name']}) is attached to server"
            _require(store, "servers", volume["server"], where)
    for firewall in store.truth().all("firewalls"):
        where = f"firewall {firewall['id']} ({firewall['name']}) is applied to server"
        for entry in firewall["applied_to"]:
            if entry["type"] == "server":
                _require(store, "servers", entry["server"]["id"], where)


def _connect(store: Store, server: Object) -> None:
    where = f"server {server['id']} ({server['name']})"
    if server["placement_group"] is not None:
        _require(store, "placement_groups", server["placement_group"], f"{where} is in placement group")
    for listed in server["public_net"]["firewalls"]:
        firewall = _require(store, "firewalls", listed["id"], f"{where} is behind firewall")
        if not is_behind(firewall, server):
            entries = [*firewall["applied_to"], server_entry(server["id"])]
            store.put("firewalls", {**firewall, "applied_to": entries})
    for listed in server["volumes"]:
        volume = _require(store, "volumes", listed, f"{where} has volume")
        store.put("volumes", {**volume, "server": server["id"]})
    public_net = {**server["public_net"], "firewalls": []}
    store.put("servers", {**server, "public_net": public_net, "volumes": []})


def _require(store: Store, kind: Kind, object_id: int, where: str) -> Object:
    found = store.get(kind, object_id)
    if found is None:
        raise ValueError(f"{where} {object_id}, which is not there; add it to {kind} or remove what names it")
    return found


def _group_id(given: Any, where: str) -> int | None:
    """The id of a placement group, given alone or with the group."""
    group_id = given.get("id") if isinstance(given, dict) else given
    check_type(group_id, (int, type(None)), "the id of the placement group", where)
    found: int | None = group_id
    return found


def _attachment(given: Any, where: str, store: Store) -> Object:
    template: Object = {"network": None, "ip": None, "alias_ips": [], "mac_address": None}
    entry = complete(given, template, where)
    check_type(entry["network"], int, "the id of the network", f"{where} network")
    if entry["ip"] is not None:
        entry["ip"] = checked_address(entry["ip"], f"{where} ip")
    entry["alias_ips"] = [
        checked_address(alias, f"{where} alias_ips") for alias in completed_list(entry["alias_ips"], where)
    ]
    entry["mac_address"] = entry["mac_address"] or new_mac_address(store)
    return entry


def _public_net(given: Object, where: str, name: str, store: Store, addresses: PublicAddresses) -> Object:
    """No ``public_net`` means both addresses; a family that a given one leaves out is null."""
    if "public_net" not in given:
        return {"ipv4": addresses.ipv4(name), "ipv6": addresses.ipv6(), "floating_ips": [], "firewalls": []}
    template: Object = {"ipv4": None, "ipv6": None, "floating_ips": [], "firewalls": []}
    public_net = complete(given["public_net"], template, where)
    for firewall in completed_list(public_net["firewalls"], f"{where} firewalls"):
        check_type(firewall, dict, "an object", f"{where} firewalls")
        check_type(firewall.get("id"), int, "the id of the firewall", f"{where} firewalls")
    if public_net["ipv4"] is not None:
        public_net["ipv4"] = _primary_ip(public_net["ipv4"], f"{where} ipv4", name, store)
        public_net["ipv4"]["ip"] = checked_address(public_net["ipv4"]["ip"], f"{where} ipv4")
    if public_net["ipv6"] is not None:
        public_net["ipv6"] = _primary_ip(public_net["ipv6"], f"{where} ipv6", [], store)
        public_net["ipv6"]["ip"] = checked_network(public_net["ipv6"]["ip"], f"{where} ipv6")
    return public_net


def _primary_ip(given: Any, where: str, dns_ptr: Any, store: Store) -> Object:
    address = complete(given, {"id": None, "ip": None, "blocked": False, "dns_ptr": dns_ptr}, where)
    if address["id"] is None:
        address["id"] = store.next_id("primary_ips")
    store.reserve_id("primary_ips", address["id"])
    return address


def _image(given: Any, architecture: str, where: str) -> Object | None:
    if given is None:
        return None
    if isinstance(given, dict):
        return complete(given, IMAGES[0], where)
    found = find_image(list(IMAGES), given, architecture)
    if found is None:
        names = sorted({image["name"] for image in IMAGES})
        raise ValueError(f"{where}: {given!r} is not in the catalogue; use one of {', '.join(names)} or an object")
    return found
