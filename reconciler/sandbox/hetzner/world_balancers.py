"""Load balancers and certificates of a world file."""

from ipaddress import IPv6Network
from typing import Any

from reconciler.sandbox.hetzner.catalogue import LOAD_BALANCER_TYPES, LOCATIONS
from reconciler.sandbox.hetzner.completing import (
    catalogue_entry,
    check_labels_shape,
    check_type,
    checked_address,
    complete,
    completed_list,
)
from reconciler.sandbox.hetzner.objects import PublicAddresses, certificate_template, load_balancer_template
from reconciler.sandbox.hetzner.rendering import server_targets
from reconciler.sandbox.hetzner.store import Object, Store

_HTTP = {
    "cookie_name": "HCLBSTICKY",
    "cookie_lifetime": 300,
    "timeout_idle": 50,
    "certificates": [],
    "redirect_http": False,
    "sticky_sessions": False,
}
_HEALTH_CHECK_HTTP = {"domain": "", "path": "/", "response": "", "status_codes": ["2??", "3??"], "tls": False}


def complete_load_balancer(given: Object, created: str, where: str, addresses: PublicAddresses) -> Object:
    """A load balancer with everything that was left out; the addresses of targets follow in ``complete_targets``."""
    balancer = complete(given, load_balancer_template(given["id"], created), where)
    balancer["location"] = catalogue_entry(balancer["location"], LOCATIONS, "fsn1", f"{where} location")
    balancer["load_balancer_type"] = catalogue_entry(
        balancer["load_balancer_type"], LOAD_BALANCER_TYPES, "lb11", f"{where} load_balancer_type"
    )
    check_labels_shape(balancer["labels"], f"{where} labels")
    balancer["protection"] = complete(balancer["protection"], {"delete": False}, f"{where} protection")
    balancer["algorithm"] = complete(balancer["algorithm"], {"type": "round_robin"}, f"{where} algorithm")
    balancer["public_net"] = _public_net(balancer["public_net"], f"{where} public_net", addresses)
    balancer["private_net"] = [
        _attachment(entry, f"{where} private_net")
        for entry in completed_list(balancer["private_net"], f"{where} private_net")
    ]
    balancer["services"] = [
        _service(service, f"{where} services") for service in completed_list(balancer["services"], f"{where} services")
    ]
    balancer["targets"] = [
        _target(target, f"{where} targets") for target in completed_list(balancer["targets"], f"{where} targets")
    ]
    return balancer


def complete_targets(store: Store) -> None:
    """Give targets that are servers their address and health, inside ``store.change()``."""
    for balancer in store.truth().all("load_balancers"):
        where = f"load balancer {balancer['id']} ({balancer['name']})"
        healthy = [{"listen_port": s["listen_port"], "status": "healthy"} for s in balancer["services"]]
        for target in server_targets(balancer):
            server = store.get("servers", target["server"]["id"])
            if server is None:
                raise ValueError(
                    f"{where} has server {target['server']['id']} as a target, which is not there; "
                    "add the server or remove the target"
                )
            if target["server"]["ip"] is None:
                target["server"]["ip"] = _target_address(balancer, server, use_private_ip=target["use_private_ip"])
        for target in (*balancer["targets"], *server_targets(balancer)):
            if "health_status" in target and target["health_status"] is None:
                target["health_status"] = list(healthy)
        store.put("load_balancers", balancer)


def complete_certificate(given: Object, created: str, where: str) -> Object:
    """A certificate with everything that was left out."""
    certificate = complete(given, certificate_template(given["id"], created), where)
    check_labels_shape(certificate["labels"], f"{where} labels")
    if certificate["type"] == "managed" and "status" not in given:
        certificate["status"] = {"issuance": "completed", "renewal": "unavailable", "error": None}
    return certificate


def _public_net(given: Any, where: str, addresses: PublicAddresses) -> Object:
    public_net = complete(given, {"enabled": True, "ipv4": {}, "ipv6": {}}, where)
    template = {"id": None, "ip": None, "blocked": False, "dns_ptr": None}
    for family in ("ipv4", "ipv6"):
        address = complete(public_net[family], template, f"{where} {family}")
        if "ip" not in public_net[family]:
            # The service's own addresses are no Primary IPs, so their id stays null.
            address["ip"] = _new_address(family, addresses)
        public_net[family] = address
    return public_net


def _new_address(family: str, addresses: PublicAddresses) -> str:
    if family == "ipv4":
        return str(addresses.ipv4("")["ip"])
    return str(IPv6Network(addresses.ipv6()["ip"])[1])


def _attachment(given: Any, where: str) -> Object:
    entry = complete(given, {"network": None, "ip": None}, where)
    check_type(entry["network"], int, "the id of the network", f"{where} network")
    if entry["ip"] is not None:
        entry["ip"] = checked_address(entry["ip"], f"{where} ip")
    return entry


def _service(given: Any, where: str) -> Object:
    template: Object = {
        "protocol": "tcp",
        "listen_port": None,
        "destination_port": None,
        "proxyprotocol": False,
        "health_check": {},
        "http": {},
    }
    service = complete(given, template, where)
    check_type(service["listen_port"], int, "a port", f"{where} listen_port")
    if service["destination_port"] is None:
        service["destination_port"] = service["listen_port"]
    http = service.pop("http")
    if service["protocol"] != "tcp":
        service["http"] = complete(http, _HTTP, f"{where} http")
    check = {
        "protocol": "tcp",
        "port": service["destination_port"],
        "interval": 15,
        "timeout": 10,
        "retries": 3,
        "http": {},
    }
    health_check = complete(service["health_check"], check, f"{where} health_check")
    http = health_check.pop("http")
    if health_check["protocol"] == "http":
        health_check["http"] = complete(http, _HEALTH_CHECK_HTTP, f"{where} health_check http")
    service["health_check"] = health_check
    return service


def _target(given: Any, where: str) -> Object:
    kind = given.get("type", "server") if isinstance(given, dict) else None
    templates: dict[Any, Object] = {
        "server": {"type": "server", "server": {}, "health_status": None, "use_private_ip": False},
        "label_selector": {"type": "label_selector", "label_selector": {}, "targets": [], "use_private_ip": False},
        "ip": {"type": "ip", "ip": {}, "health_status": None},
    }
    if kind not in templates:
        raise ValueError(f"{where}: type {kind!r} is not known; use one of {', '.join(templates)}")
    target = complete(given, templates[kind], where)
    if kind == "server":
        target["server"] = complete(target["server"], {"id": None, "ip": None}, f"{where} server")
        check_type(target["server"]["id"], int, "the id of the server", f"{where} server id")
    elif kind == "label_selector":
        target["label_selector"] = complete(target["label_selector"], {"selector": None}, f"{where} label_selector")
        found = completed_list(target["targets"], f"{where} targets")
        target["targets"] = [_target(resolved, f"{where} targets") for resolved in found]
    else:
        target["ip"] = complete(target["ip"], {"ip": None}, f"{where} ip")
        target["ip"]["ip"] = checked_address(target["ip"]["ip"], f"{where} ip")
    return target


def _target_address(balancer: Object, server: Object, *, use_private_ip: bool) -> str:
    networks = {entry["network"] for entry in balancer["private_net"]}
    if use_private_ip:
        for entry in server["private_net"]:
            if entry["network"] in networks:
                return str(entry["ip"])
        raise ValueError(
            f"load balancer {balancer['id']} ({balancer['name']}) has server {server['id']} as a target by private "
            "IP, but they share no network; attach both to one or set use_private_ip to false"
        )
    ipv4 = server["public_net"]["ipv4"]
    if ipv4 is None:
        raise ValueError(
            f"load balancer {balancer['id']} ({balancer['name']}) has server {server['id']} as a target, which has "
            "no public IPv4; give it one or set use_private_ip"
        )
    return str(ipv4["ip"])
