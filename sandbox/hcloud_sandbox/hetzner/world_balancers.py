"""Load balancers, Primary IPs and certificates of a world file.

Known differences: a managed certificate that a world calls pending stays so, for a world has no running actions.
"""

from typing import Any

from hcloud_sandbox.hetzner.balancer_backends import address_of
from hcloud_sandbox.hetzner.balancer_health import DETAILS, STATUSES, said_otherwise
from hcloud_sandbox.hetzner.catalogue import LOAD_BALANCER_TYPES, LOCATIONS
from hcloud_sandbox.hetzner.completing import (
    catalogue_entry,
    check_labels_shape,
    check_type,
    checked_address,
    checked_network,
    complete,
    completed_list,
)
from hcloud_sandbox.hetzner.objects import (
    PublicAddresses,
    address_of_primary_ip,
    certificate_template,
    health_check_template,
    http_check_template,
    listener_template,
    load_balancer_template,
    primary_ip_template,
)
from hcloud_sandbox.hetzner.store import Object, Store

_FAMILIES = ("ipv4", "ipv6")
_CERTIFICATE_TYPES = ("uploaded", "managed")
_ISSUANCES = ("pending", "completed", "failed")
_ONCE_ISSUED = ("certificate", "not_valid_before", "not_valid_after", "fingerprint")


def complete_primary_ip(given: Object, created: str, where: str, addresses: PublicAddresses) -> Object:
    """A Primary IP with everything that was left out. The load balancer that has it names it; anything else that has
    it is named here."""
    primary_ip = complete(given, primary_ip_template(given["id"], created), where)
    primary_ip["location"] = catalogue_entry(primary_ip["location"], LOCATIONS, "fsn1", f"{where} location")
    check_labels_shape(primary_ip["labels"], f"{where} labels")
    primary_ip["protection"] = complete(primary_ip["protection"], {"delete": False}, f"{where} protection")
    if primary_ip["type"] not in _FAMILIES:
        raise ValueError(f"{where}: type {primary_ip['type']!r} is not known; use one of {', '.join(_FAMILIES)}")
    if primary_ip["assignee_type"] == "load_balancer":
        primary_ip |= {"assignee_id": None, "assignee_type": "unassigned"}
    if primary_ip["ip"] is None:
        primary_ip["ip"] = addresses.of_primary_ip(primary_ip["type"])
    elif primary_ip["type"] == "ipv4":
        primary_ip["ip"] = checked_address(primary_ip["ip"], f"{where} ip")
    else:
        primary_ip["ip"] = checked_network(primary_ip["ip"], f"{where} ip")
    return primary_ip


def complete_load_balancer(given: Object, created: str, where: str, store: Store, addresses: PublicAddresses) -> Object:
    """A load balancer with everything that was left out; the addresses of targets follow in ``complete_targets``."""
    balancer = complete(given, load_balancer_template(given["id"], created), where)
    balancer["location"] = catalogue_entry(balancer["location"], LOCATIONS, "fsn1", f"{where} location")
    balancer["load_balancer_type"] = catalogue_entry(
        balancer["load_balancer_type"], LOAD_BALANCER_TYPES, "lb11", f"{where} load_balancer_type"
    )
    check_labels_shape(balancer["labels"], f"{where} labels")
    balancer["protection"] = complete(balancer["protection"], {"delete": False}, f"{where} protection")
    balancer["algorithm"] = complete(balancer["algorithm"], {"type": "round_robin"}, f"{where} algorithm")
    balancer["public_net"] = _public_net(balancer["public_net"], f"{where} public_net", store, addresses)
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
    """Give targets that are servers their address, and all targets what the world says of their health.

    Inside ``store.change()``.
    """
    view = store.truth()
    for balancer in view.all("load_balancers"):
        for target in balancer["targets"]:
            for listed in target["targets"] if target["type"] == "label_selector" else [target]:
                _complete_server(store, balancer, listed, found=listed is not target)
        said = [said_otherwise(view, balancer, target) for target in balancer["targets"]]
        store.put("load_balancers", {**balancer, "targets": said})


def complete_certificate(given: Object, created: str, where: str) -> Object:
    """A certificate with everything that was left out."""
    certificate = complete(given, certificate_template(given["id"], created), where)
    check_labels_shape(certificate["labels"], f"{where} labels")
    if certificate["type"] not in _CERTIFICATE_TYPES:
        raise ValueError(
            f"{where}: type {certificate['type']!r} is not known; use one of {', '.join(_CERTIFICATE_TYPES)}"
        )
    if certificate["type"] == "managed":
        issued = {"issuance": "completed", "renewal": "unavailable", "error": None}
        status = complete(given.get("status", {}), issued, f"{where} status")
        if status["issuance"] not in _ISSUANCES:
            raise ValueError(f"{where}: issuance {status['issuance']!r}; use one of {', '.join(_ISSUANCES)}")
        validity: Object = {} if status["issuance"] == "completed" else dict.fromkeys(_ONCE_ISSUED)
        certificate |= {"status": status, **validity, **{name: given[name] for name in _ONCE_ISSUED if name in given}}
    # Who uses it follows from the load balancers.
    return {**certificate, "used_by": []}


def _public_net(given: Any, where: str, store: Store, addresses: PublicAddresses) -> Object:
    public_net = complete(given, {"enabled": True, "ipv4": {}, "ipv6": {}}, where)
    template = {"id": None, "ip": None, "blocked": False, "dns_ptr": None}
    for family in _FAMILIES:
        address = complete(public_net[family], template, f"{where} {family}")
        primary_ip = None if address["id"] is None else store.get("primary_ips", address["id"])
        if "ip" not in public_net[family]:
            address["ip"] = addresses.of_balancer(family) if primary_ip is None else address_of_primary_ip(primary_ip)
        elif address["ip"] is not None:
            address["ip"] = checked_address(address["ip"], f"{where} {family}")
        public_net[family] = address
    return public_net


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
        service["http"] = complete(http, listener_template(), f"{where} http")
    check = {**health_check_template(service["destination_port"]), "http": {}}
    health_check = complete(service["health_check"], check, f"{where} health_check")
    http = health_check.pop("http")
    if health_check["protocol"] == "http":
        health_check["http"] = complete(http, http_check_template(), f"{where} health_check http")
    service["health_check"] = health_check
    return service


def _target(given: Any, where: str) -> Object:
    kind = given.get("type", "server") if isinstance(given, dict) else None
    templates: dict[Any, Object] = {
        "server": {"type": "server", "server": {}, "health_status": [], "use_private_ip": False},
        "label_selector": {"type": "label_selector", "label_selector": {}, "targets": [], "use_private_ip": False},
        "ip": {"type": "ip", "ip": {}, "health_status": []},
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
        if any(resolved["type"] != "server" for resolved in target["targets"]):
            raise ValueError(f"{where}: a label selector finds servers only; remove the other targets from its list")
    else:
        target["ip"] = complete(target["ip"], {"ip": None}, f"{where} ip")
        target["ip"]["ip"] = checked_address(target["ip"]["ip"], f"{where} ip")
    if kind != "label_selector":
        target["health_status"] = [
            _health(health, f"{where} health_status")
            for health in completed_list(target["health_status"], f"{where} health_status")
        ]
    return target


def _health(given: Any, where: str) -> Object:
    template = {"listen_port": None, "status": None, "detail": None, "http_status_code": None}
    health = complete(given, template, where)
    check_type(health["listen_port"], int, "the listen port of a service", f"{where} listen_port")
    if health["status"] not in STATUSES:
        raise ValueError(f"{where}: status {health['status']!r} is not known; use one of {', '.join(STATUSES)}")
    if health["detail"] is not None and health["detail"] not in DETAILS:
        raise ValueError(f"{where}: detail {health['detail']!r} is not known; use one of {', '.join(DETAILS)}")
    return {name: value for name, value in health.items() if value is not None}


def _complete_server(store: Store, balancer: Object, target: Object, *, found: bool) -> None:
    """Give a target that is a server its address. One that a selector found need not have any."""
    if target["type"] != "server":
        return
    where = f"load balancer {balancer['id']} ({balancer['name']}) has server {target['server']['id']} as a target"
    server = store.get("servers", target["server"]["id"])
    if server is None:
        raise ValueError(f"{where}, which is not there; add the server or remove the target")
    given, private = target["server"]["ip"], target["use_private_ip"]
    address = address_of(balancer, server, private=private) if given is None else checked_address(given, where)
    if address is None and private and not found:
        raise ValueError(
            f"{where} by private IP, but they share no network; attach both to one or set use_private_ip to false"
        )
    if address is None and not found:
        raise ValueError(
            f"{where}, which has no public IPv4; give it one, name its IPv6 address in server.ip, or set use_private_ip"
        )
    target["server"]["ip"] = address
