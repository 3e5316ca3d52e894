"""The health of targets: what follows from the servers, and what a world file says instead.

A target has one health per service. It follows the state of its server, but where a world file said otherwise: such a
health stays, whatever happens, until the target is gone. Source: Hetzner Cloud API, load balancers.

Known differences: nothing is really checked. A running server answers on every port, but for a node port of a simulated
cluster's Service, which takes the families of the Service alone (``families_of``); a target by IP does so as well, and
the first check of a new target or service is done at once.
"""

from collections.abc import Callable
from typing import Any

from hcloud_sandbox.hetzner.balancer_backends import found_servers, has_public_address, private_address
from hcloud_sandbox.hetzner.store import Object, View

STATUSES = ("healthy", "unhealthy", "unknown")
DETAILS = (
    "unspecified",
    "layer4_no_connection",
    "layer4_timeout",
    "layer7_timeout",
    "unexpected_http_status",
    "unexpected_http_content",
)
_UNKNOWN = frozenset({"initializing", "unknown"})


Silence = Callable[[str, int, int], str | None]
"""What the health check of a listener, by its port and its destination's, says of an address where nothing answers;
None where something does."""


def shown_targets(view: View, balancer: Object, silence: Silence) -> list[Object]:
    """The targets as readers see them: selectors with the servers they find, and everything with its health."""
    return [_shown(view, balancer, target, silence) for target in balancer["targets"]]


def said_otherwise(view: View, balancer: Object, target: Object) -> Object:
    """The target of a world file, with only those of its healths that do not follow by themselves."""
    if target["type"] == "label_selector":
        return {**target, "targets": [said_otherwise(view, balancer, found) for found in target["targets"]]}
    follows = _following(view, balancer, target)
    given = target["health_status"] or []
    return {**target, "health_status": [health for health in given if _without_port(health) != follows]}


def _shown(view: View, balancer: Object, target: Object, silence: Silence) -> Object:
    if target["type"] != "label_selector":
        return {**target, "health_status": _health(view, balancer, target, target["health_status"], silence)}
    said = {found["server"]["id"]: found["health_status"] for found in target["targets"]}
    found = []
    for server, address in found_servers(view, balancer, target):
        resolved: Object = {
            "type": "server",
            "server": {"id": server["id"], "ip": address},
            "use_private_ip": target["use_private_ip"],
        }
        health = _health(view, balancer, resolved, said.get(server["id"], []), silence)
        found.append({**resolved, "health_status": health})
    return {**target, "targets": found}


def _health(view: View, balancer: Object, target: Object, said: list[Object], silence: Silence) -> list[Object]:
    by_port = {health["listen_port"]: health for health in said}
    follows = _following(view, balancer, target)
    address = target[target["type"]]["ip"]
    ports = [(service["listen_port"], service["destination_port"]) for service in balancer["services"]]
    return [
        dict(by_port.get(port, {"listen_port": port, **_heard(follows, silence(address, port, destination))}))
        for port, destination in ports
    ]


def _heard(follows: Object, silent: str | None) -> Object:
    """The health that follows from the server, unless nothing answers there."""
    if silent is None or follows["status"] != "healthy":
        return follows
    return {"status": silent, **({"detail": "layer4_timeout"} if silent == "unhealthy" else {})}


def _following(view: View, balancer: Object, target: Object) -> dict[str, Any]:
    """The health that follows from the target's server, without a port."""
    if target["type"] == "ip":
        return {"status": "healthy"}
    server = view.get("servers", target["server"]["id"])
    if server is not None and server["status"] in _UNKNOWN:
        return {"status": "unknown"}
    if server is None or server["status"] != "running" or not _is_reached(balancer, server, target):
        return {"status": "unhealthy", "detail": "layer4_timeout"}
    return {"status": "healthy"}


def _is_reached(balancer: Object, server: Object, target: Object) -> bool:
    address = target["server"]["ip"]
    if target["use_private_ip"]:
        return bool(private_address(balancer, server) == address)
    # A world may say that a selector found a server which has no public address.
    return address is not None and has_public_address(server, address)


def _without_port(health: Object) -> Object:
    return {name: value for name, value in health.items() if name != "listen_port"}
