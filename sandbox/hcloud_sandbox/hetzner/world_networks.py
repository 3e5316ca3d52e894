"""Networks of a world file, and their members."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from hcloud_sandbox.hetzner.addressing import allocated_address, range_of, subnet_object, subnet_with
from hcloud_sandbox.hetzner.catalogue import NETWORK_ZONES
from hcloud_sandbox.hetzner.completing import (
    check_labels_shape,
    check_type,
    checked_address,
    checked_network,
    complete,
    completed_list,
)
from hcloud_sandbox.hetzner.errors import ApiError
from hcloud_sandbox.hetzner.objects import network_template, new_mac_address
from hcloud_sandbox.hetzner.store import Kind, Object, Store

_HOLDERS: tuple[tuple[Kind, str], ...] = (("servers", "server"), ("load_balancers", "load balancer"))


def complete_network(given: Object, created: str, where: str) -> Object:
    """A network with everything that was left out, but for its subnets when none were given."""
    network = complete(given, network_template(given["id"], created), where)
    network["ip_range"] = checked_network(network["ip_range"], f"{where} ip_range")
    check_labels_shape(network["labels"], f"{where} labels")
    network["protection"] = complete(network["protection"], {"delete": False}, f"{where} protection")
    network["subnets"] = [
        _subnet(network, subnet, f"{where} subnets")
        for subnet in completed_list(network["subnets"], f"{where} subnets")
    ]
    network["routes"] = [
        _route(route, f"{where} routes") for route in completed_list(network["routes"], f"{where} routes")
    ]
    for field in ("servers", "load_balancers"):
        for member in completed_list(network[field], f"{where} {field}"):
            check_type(member, int, "ids", f"{where} {field}")
    return network


def connect(store: Store, without_subnets: set[int]) -> None:
    """Put servers, load balancers and networks in step, inside ``store.change()``.

    Members that only the network lists are attached. Networks in ``without_subnets`` get the /24 of each attached
    address, or their first /24. Then every attachment without an address gets one.
    """
    for network in store.truth().all("networks"):
        _attach_listed(store, network)
    attachments = list(_attachments(store))
    for where, _, entry in attachments:
        if store.get("networks", entry["network"]) is None:
            raise ValueError(
                f"{where} is attached to network {entry['network']}, which is not there; "
                "add the network or remove the private_net entry"
            )
    for network_id in sorted(without_subnets):
        _add_subnets(store, network_id, attachments)
    taken: dict[tuple[int, str], str] = {}
    for where, _, entry in attachments:
        for address in [a for a in (entry["ip"], *entry.get("alias_ips", ())) if a is not None]:
            _check_address(store, where, entry["network"], address)
            other = taken.setdefault((entry["network"], address), where)
            if other != where:
                raise ValueError(f"{where} and {other} have the same address {address}; change one of them")
    for where, holder, entry in attachments:
        if entry["ip"] is None:
            _allocate(store, where, holder, entry, taken)


def _subnet(network: Object, given: Any, where: str) -> Object:
    template = {"type": "cloud", "ip_range": None, "network_zone": "eu-central", "gateway": None, "vswitch_id": None}
    subnet = complete(given, template, where)
    ip_range = checked_network(subnet["ip_range"], where)
    if subnet["network_zone"] not in NETWORK_ZONES:
        raise ValueError(f"{where}: network_zone {subnet['network_zone']!r}; use one of {', '.join(NETWORK_ZONES)}")
    if not IPv4Network(ip_range).subnet_of(range_of(network)):
        raise ValueError(f"{where}: {ip_range} is not in the network's ip_range {network['ip_range']}; change one")
    made = subnet_object(network, subnet["type"], ip_range, subnet["network_zone"], subnet["vswitch_id"])
    return {**made, "gateway": subnet["gateway"] or made["gateway"]}


def _route(given: Any, where: str) -> Object:
    route = complete(given, {"destination": None, "gateway": None}, where)
    return {
        "destination": checked_network(route["destination"], f"{where} destination"),
        "gateway": checked_address(route["gateway"], f"{where} gateway"),
    }


def _attach_listed(store: Store, network: Object) -> None:
    for kind, singular in _HOLDERS:
        for member_id in network[kind]:
            holder = store.get(kind, member_id)
            if holder is None:
                raise ValueError(
                    f"network {network['id']} ({network['name']}) lists {singular} {member_id}, which is not there; "
                    f"add the {singular} or remove its id"
                )
            if all(entry["network"] != network["id"] for entry in holder["private_net"]):
                entry: Object = {"network": network["id"], "ip": None}
                if kind == "servers":
                    entry |= {"alias_ips": [], "mac_address": new_mac_address(store)}
                store.put(kind, {**holder, "private_net": [*holder["private_net"], entry]})
    store.put("networks", {**network, "servers": [], "load_balancers": []})


def _attachments(store: Store) -> Iterator[tuple[str, Object, Object]]:
    for kind, singular in _HOLDERS:
        for holder in store.truth().all(kind):
            for entry in holder["private_net"]:
                yield f"{singular} {holder['id']} ({holder['name']})", holder, entry


def _add_subnets(store: Store, network_id: int, attachments: list[tuple[str, Object, Object]]) -> None:
    network = store.require("networks", network_id)
    mine = [(holder, entry) for _, holder, entry in attachments if entry["network"] == network_id]
    zone = mine[0][0]["location"]["network_zone"] if mine else "eu-central"
    within = range_of(network)
    prefix = max(24, within.prefixlen)
    given = [a for _, entry in mine for a in (entry["ip"], *entry.get("alias_ips", ())) if a is not None]
    wanted = {IPv4Network((int(IPv4Address(a)), prefix), strict=False) for a in given if IPv4Address(a) in within}
    ranges = sorted(wanted) or [next(within.subnets(new_prefix=prefix))]
    subnets = [subnet_object(network, "cloud", str(ip_range), zone) for ip_range in ranges]
    store.put("networks", {**network, "subnets": subnets})


def _check_address(store: Store, where: str, network_id: int, address: str) -> None:
    network = store.require("networks", network_id)
    if subnet_with(network, address) is None:
        raise ValueError(
            f"{where}: {address} is in no subnet of network {network_id} ({network['ip_range']}); "
            "add a subnet or change the address"
        )


def _allocate(store: Store, where: str, holder: Object, entry: Object, taken: dict[tuple[int, str], str]) -> None:
    network = store.require("networks", entry["network"])
    used = {address for of, address in taken if of == network["id"]}
    try:
        address = allocated_address(network, holder["location"]["network_zone"], used)
    except ApiError as full:
        raise ValueError(f"{where}: network {network['id']}: {full.message}; add a subnet or give an ip") from None
    taken[network["id"], address] = where
    kind: Kind = "servers" if "mac_address" in entry else "load_balancers"
    present = store.require(kind, holder["id"])
    entries = [{**old, "ip": address} if old["network"] == network["id"] else old for old in present["private_net"]]
    store.put(kind, {**present, "private_net": entries})
