"""World files of clusters whose Nodes have pod CIDRs: with a route in the network to each, or still without."""

from typing import Any

from served_worlds import with_new_services
from worlds import NETWORK, joining_world, settled_world

CLUSTER_CIDR = "10.244.0.0/16"
"""What ``--cluster-cidr`` has to be for these clusters; Node i has 10.244.i.0/24 of it."""
_ROUTED = ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route")


def unrouted_world(nodes: int, services: int = 0) -> dict[str, Any]:
    """Nodes whose kubelets have just registered them, without routes; and Services that were created a moment ago."""
    return with_new_services(_with_pods(joining_world(nodes)), services)


def routed_world(nodes: int) -> dict[str, Any]:
    """Settled Nodes with their routes, as a route controller has left them long ago: nothing is left to do."""
    world = _with_pods(settled_world(nodes))
    for node in world["kubernetes"]["nodes"]:
        of_network = next(each for each in node["status"]["conditions"] if each["type"] == _ROUTED[0])
        of_network |= dict(zip(("type", "status", "reason", "message"), _ROUTED, strict=True))
    (network,) = world["hetzner"]["networks"]
    network["routes"] = [
        {"destination": _pods(i), "gateway": place["ip"]}
        for i, server in enumerate(world["hetzner"]["servers"])
        for place in server["private_net"]
        if place["network"] == NETWORK
    ]
    return world


def _with_pods(world: dict[str, Any]) -> dict[str, Any]:
    for i, node in enumerate(world["kubernetes"]["nodes"]):
        node["spec"] |= {"podCIDR": _pods(i), "podCIDRs": [_pods(i)]}
    return world


def _pods(i: int) -> str:
    return f"10.244.{i}.0/24"
