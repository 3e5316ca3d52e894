"""Targets of a load balancer: what may become one, which servers they are and by which address, and their health.

A target has one health per service. It follows the state of its server, but where a world file said otherwise: such a
health stays, whatever happens, until the target is gone. A stored target of type ``label_selector`` lists nothing but
the healths that a world file gave; which servers it finds is computed whenever somebody looks.

Source: Hetzner Cloud API, load balancers and load balancer actions; the refusal of an unknown server was seen on the
live API, that of one in another network zone is reported of ``add_target``. Known differences: nothing is really
checked: a running server answers on every port, but for a node port of a simulated cluster's Service, which takes the
families of the Service alone; a target by IP does so as well, and the first check of a new target or service is done at
once. No Robot is simulated here, so a public address that is nobody's in this project counts as a dedicated server of
the owner, but for ``foreign_addresses``; any address of a vSwitch subnet is taken for one of a dedicated server. A
label selector counts as one target, finds a server the moment its labels match, and leaves out one that has no address
of the wanted kind, or is in another network zone, without a word. A creation is refused for a server in another network
zone as ``add_target`` is.
"""

from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv4Network, ip_address, ip_network
from typing import Any

from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import ApiError, invalid_text, limit_exceeded
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.public_addresses import FAMILIES, has_public_address, public_address
from hcloud_sandbox.hetzner.selectors import parse_selector
from hcloud_sandbox.hetzner.store import Object, Store, View
from hcloud_sandbox.hetzner.subnets import is_private as is_private_range
from hcloud_sandbox.hetzner.subnets import subnet_with
from hcloud_sandbox.shapes import Rule, a, a_number, an_address, each, one_of, optional, part, shape

Silence = Callable[[str, int, int], str | None]
"""What the health check of a listener, by its port and its destination's, says of an address where nothing answers;
None where something does."""

_SELECTOR = range(1, 1001)
_UNKNOWN = frozenset({"initializing", "unknown"})
_DETAILS = (
    "unspecified",
    "layer4_no_connection",
    "layer4_timeout",
    "layer7_timeout",
    "unexpected_http_status",
    "unexpected_http_content",
)
_TEMPLATES: dict[Any, Object] = {
    "server": {"type": "server", "server": {}, "health_status": [], "use_private_ip": False},
    "label_selector": {"type": "label_selector", "label_selector": {}, "targets": [], "use_private_ip": False},
    "ip": {"type": "ip", "ip": {}, "health_status": []},
}


def is_private(target: Object) -> bool:
    """Whether the target is reached through the load balancer's network."""
    return _is_private_address(target["ip"]["ip"]) if target["type"] == "ip" else bool(target["use_private_ip"])


def without_private_targets(balancer: Object) -> Object:
    """The load balancer as it is left when its network is gone."""
    return {**balancer, "targets": [target for target in balancer["targets"] if not is_private(target)]}


def balancers_by_server(view: View) -> dict[int, list[int]]:
    """The ids of the load balancers that have a server as a target, listed or found, by the server's id."""
    by_server: dict[int, list[int]] = {}
    for balancer in view.all("load_balancers"):
        ids: set[int] = set()
        for target in balancer["targets"]:
            if target["type"] == "server":
                ids.add(target["server"]["id"])
            elif target["type"] == "label_selector":
                ids.update(server["id"] for server, _ in _found_servers(view, balancer, target))
        for server_id in ids:
            by_server.setdefault(server_id, []).append(balancer["id"])
    return by_server


def without_server(balancer: Object, server_id: int) -> list[Object]:
    """The targets that a load balancer has when a server is gone."""
    return [
        {**target, "targets": [found for found in target["targets"] if found["server"]["id"] != server_id]}
        if target["type"] == "label_selector"
        else target
        for target in balancer["targets"]
        if target["type"] != "server" or target["server"]["id"] != server_id
    ]


def with_target(project: Project, balancer: Object, body: Body) -> Object:
    """The load balancer with one target more. Raises ApiError."""
    target = _wanted(project, balancer, body)
    if any(_is_same(project, target, other) for other in balancer["targets"]):
        raise ApiError("target_already_defined", "load balancer target is already defined")
    if len(balancer["targets"]) >= balancer["load_balancer_type"]["max_targets"]:
        raise limit_exceeded("load_balancer_target_limit")
    return {**balancer, "targets": [*balancer["targets"], target]}


def without_target(balancer: Object, body: Body) -> Object:
    """The load balancer without the target that the body names: a server goes by all its addresses, unless it names
    one. Raises ``not_found``."""
    kind = body.choice("type", tuple(_TEMPLATES))
    wish = body.object(kind)
    meant: Object = {}
    if kind == "label_selector":
        meant["selector"] = wish.text("selector")
    elif kind == "server":
        meant["id"] = wish.only("id", "ip").integer("id")
    if kind == "ip" or (kind == "server" and wish.has("ip")):
        meant["ip"] = wish.address("ip")
    left = [t for t in balancer["targets"] if t["type"] != kind or not meant.items() <= t[kind].items()]
    if len(left) == len(balancer["targets"]):
        raise ApiError("not_found", "load balancer target not found")
    return {**balancer, "targets": left}


def shown_targets(view: View, balancer: Object, silence: Silence) -> list[Object]:
    """The targets as readers see them: selectors with the servers they find, and everything with its health."""

    def shown(target: Object, said: list[Object]) -> Object:
        return {**target, "health_status": _health(view, balancer, target, said, silence)}

    targets = []
    for target in balancer["targets"]:
        if target["type"] == "label_selector":
            said = {found["server"]["id"]: found["health_status"] for found in target["targets"]}
            found = [
                shown(_server_target(server["id"], address, target["use_private_ip"]), said.get(server["id"], []))
                for server, address in _found_servers(view, balancer, target)
            ]
            targets.append({**target, "targets": found})
        else:
            targets.append(shown(target, target["health_status"]))
    return targets


def complete_target(given: Any, where: str) -> Object:
    """A target of a world file; its address follows in ``connect_targets``. Raises ValueError."""
    kind = one_of(*_TEMPLATES)(given.get("type", "server") if isinstance(given, dict) else None, f"{where} type")
    rules: dict[str, dict[str, Rule]] = {
        "server": {"server": part({"id": None, "ip": None}, {"id": a(int, "the id of the server")})},
        "label_selector": {"label_selector": part({"selector": None}), "targets": each(complete_target)},
        "ip": {"ip": part({"ip": None}, {"ip": an_address})},
    }
    health: dict[str, Rule] = {} if kind == "label_selector" else {"health_status": each(_complete_health)}
    target = shape(given, _TEMPLATES[kind], where, {**rules[kind], **health})
    if any(found["type"] != "server" for found in target.get("targets", ())):
        raise ValueError(f"{where}: a label selector finds servers only; remove the other targets from its list")
    return target


def connect_targets(store: Store) -> None:
    """Give targets of a world that are servers their address, and all targets what it says of their health.

    Inside ``store.changing()``. Raises ValueError.
    """
    view = store.truth()
    for balancer in view.all("load_balancers"):
        for target in balancer["targets"]:
            for listed in target["targets"] if target["type"] == "label_selector" else [target]:
                _complete_server(store, balancer, listed, found=listed is not target)
        said = [_said_otherwise(view, balancer, target) for target in balancer["targets"]]
        store.put("load_balancers", {**balancer, "targets": said})


def _wanted(project: Project, balancer: Object, body: Body) -> Object:
    kind = body.choice("type", tuple(_TEMPLATES))
    private = body.boolean("use_private_ip")
    if kind == "ip":
        if private:
            raise body.wrong("use_private_ip", "is only valid for targets of type server and label_selector")
        return _wanted_ip(project, balancer, body.object("ip").address("ip"))
    if private:
        _require_network(balancer)
    elif not balancer["public_net"]["enabled"]:
        raise _public_interface_disabled()
    if kind == "server":
        return _wanted_server(project, balancer, body.object("server").only("id", "ip"), private=private)
    selector = body.object("label_selector").text("selector", _SELECTOR)
    parse_selector(selector)
    return {**_TEMPLATES[kind], "label_selector": {"selector": selector}, "use_private_ip": private}


def _wanted_server(project: Project, balancer: Object, body: Body, *, private: bool) -> Object:
    server = project.store.get("servers", body.integer("id"))
    if server is None:
        raise invalid_text("cloud target was not found")
    if not _is_in_zone(balancer, server):
        raise ApiError("unsupported_error", "server is not in the network zone of the load balancer")
    if private and body.has("ip"):
        raise body.wrong("ip", "is only valid for public targets")
    address = body.address("ip") if body.has("ip") else _address_of(balancer, server, private=private)
    if address is None and private:
        message = "server is not attached to the load balancer's network"
        raise ApiError("resolve_cloud_private_targets_error", message)
    if address is None:
        raise ApiError("resolve_cloud_public_targets_error", "server has no public IPv4 address")
    if not private and not has_public_address(server, address):
        raise ApiError("ip_not_assigned_to_server", "IP is not assigned to the server")
    return _server_target(server["id"], address, private)


def _server_target(server_id: int, address: str, private: bool) -> Object:
    named = {"id": server_id, "ip": address}
    return {"type": "server", "server": named, "health_status": [], "use_private_ip": private}


def _wanted_ip(project: Project, balancer: Object, address: str) -> Object:
    if _is_private_address(address):
        _require_network(balancer)
        network = project.require("networks", balancer["private_net"][0]["network"])
        if all(subnet["type"] != "vswitch" for subnet in network["subnets"]):
            raise ApiError("network_has_no_vswitch_subnet", "network has no vSwitch subnet")
        subnet = subnet_with(network, address)
        if subnet is None or subnet["type"] != "vswitch":
            raise ApiError("ip_not_in_vswitch_subnet", "IP is not in the vSwitch subnet of the network")
    elif not balancer["public_net"]["enabled"]:
        raise _public_interface_disabled()
    elif _is_of_project(project.store.truth(), address):
        raise ApiError("cloud_resource_ip_not_allowed", "IP belongs to a cloud resource")
    elif any(ip_address(address) in ip_network(foreign) for foreign in project.options.foreign_addresses):
        raise ApiError("ip_not_owned", "IP is not owned by the project owner")
    return {**_TEMPLATES["ip"], "ip": {"ip": address}}


def _require_network(balancer: Object) -> None:
    if not balancer["private_net"]:
        message = "load balancer is not attached to a network"
        raise ApiError("load_balancer_not_attached_to_network", message)


def _public_interface_disabled() -> ApiError:
    message = "load balancer public interface is disabled, cannot add target using public IP"
    return ApiError("load_balancer_public_interface_disabled", message)


def _is_same(project: Project, target: Object, other: Object) -> bool:
    """Whether two targets are one; for a server by two addresses that is an option."""
    kind = target["type"]
    if kind != other["type"] or kind != "server" or project.options.server_as_two_targets == "accepted":
        return bool(kind == other["type"] and target[kind] == other[kind])
    return bool(target["server"]["id"] == other["server"]["id"])


def _is_of_project(view: View, address: str) -> bool:
    held = {balancer["public_net"][family]["ip"] for balancer in view.all("load_balancers") for family in FAMILIES}
    return address in held or any(has_public_address(server, address) for server in view.all("servers"))


def _is_private_address(address: str) -> bool:
    parsed = ip_address(address)
    return isinstance(parsed, IPv4Address) and is_private_range(IPv4Network(parsed))


def _private_address(balancer: Object, server: Object) -> str | None:
    """The server's address in the load balancer's network; None when they share none."""
    networks = {entry["network"] for entry in balancer["private_net"]}
    return next((str(entry["ip"]) for entry in server["private_net"] if entry["network"] in networks), None)


def _address_of(balancer: Object, server: Object, *, private: bool) -> str | None:
    """The address by which a target reaches a server; None when it cannot."""
    return _private_address(balancer, server) if private else public_address(server)


def _is_in_zone(balancer: Object, server: Object) -> bool:
    """Whether both are in one network zone: nothing else becomes a target."""
    return bool(server["location"]["network_zone"] == balancer["location"]["network_zone"])


def _found_servers(view: View, balancer: Object, target: Object) -> Iterator[tuple[Object, str]]:
    """The servers that a label selector finds, by id, each with the address it is reached by."""
    matches = parse_selector(target["label_selector"]["selector"])
    for server in view.all("servers"):
        if matches(server["labels"]) and _is_in_zone(balancer, server):
            address = _address_of(balancer, server, private=target["use_private_ip"])
            if address is not None:
                yield server, address


def _health(view: View, balancer: Object, target: Object, said: list[Object], silence: Silence) -> list[Object]:
    by_port = {health["listen_port"]: health for health in said}
    follows = _following(view, balancer, target)
    address = target[target["type"]]["ip"]
    healths = []
    for service in balancer["services"]:
        port = service["listen_port"]
        if port in by_port:
            healths.append(dict(by_port[port]))
            continue
        silent = silence(address, port, service["destination_port"]) if follows["status"] == "healthy" else None
        healths.append({"listen_port": port, **(follows if silent is None else _unheard(silent))})
    return healths


def _unheard(status: str) -> Object:
    return {"status": status, **({"detail": "layer4_timeout"} if status == "unhealthy" else {})}


def _following(view: View, balancer: Object, target: Object) -> Object:
    """The health that follows from the target's server, without a port."""
    if target["type"] == "ip":
        return {"status": "healthy"}
    server = view.get("servers", target["server"]["id"])
    if server is not None and server["status"] in _UNKNOWN:
        return _unheard("unknown")
    if server is None or server["status"] != "running" or not _is_reached(balancer, server, target):
        return _unheard("unhealthy")
    return {"status": "healthy"}


def _is_reached(balancer: Object, server: Object, target: Object) -> bool:
    address = target["server"]["ip"]
    if target["use_private_ip"]:
        return bool(_private_address(balancer, server) == address)
    # A world may say that a selector found a server which has no public address.
    return address is not None and has_public_address(server, address)


def _said_otherwise(view: View, balancer: Object, target: Object) -> Object:
    """The target of a world file, with only those of its healths that do not follow by themselves."""
    if target["type"] == "label_selector":
        return {**target, "targets": [_said_otherwise(view, balancer, found) for found in target["targets"]]}
    follows = _following(view, balancer, target)
    said = [health for health in target["health_status"] if health != {"listen_port": health["listen_port"], **follows}]
    return {**target, "health_status": said}


def _complete_health(given: Any, where: str) -> Object:
    rules: dict[str, Rule] = {
        "listen_port": a(int, "the listen port of a service"),
        "status": one_of("healthy", "unhealthy", "unknown"),
        "detail": optional(one_of(*_DETAILS)),
        "http_status_code": optional(a_number),
    }
    health = shape(given, dict.fromkeys(rules), where, rules)
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
    address = _address_of(balancer, server, private=private) if given is None else an_address(given, where)
    if address is None and not found:
        remedy = (
            "by private IP, but they share no network; attach both to one or set use_private_ip to false"
            if private
            else "but it has no public IPv4; give it one, name its IPv6 address in server.ip, or set use_private_ip"
        )
        raise ValueError(f"{where} {remedy}")
    target["server"]["ip"] = address
