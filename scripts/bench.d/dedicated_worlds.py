"""World files of clusters on dedicated servers alone: new ones, and ones that load balancers have served for long."""

from typing import Any

from served_worlds import MOST_TARGETS, full_world
from worlds import joining_world

_FIRST_NUMBER = 2_000_001
_TYPE = "AX41-NVMe"
_TYPE_LABELS = ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type")


def joining_dedicated_world(nodes: int) -> dict[str, Any]:
    """``nodes`` dedicated servers, and for each the Node that its kubelet has just registered."""
    return _dedicated(joining_world(nodes))


def full_dedicated_world(nodes: int, services: int) -> dict[str, Any]:
    """The same long after, with load balancers that have as many addresses as the largest type takes."""
    world = _dedicated(full_world(nodes, services))
    for i, node in enumerate(world["kubernetes"]["nodes"]):
        node["spec"]["providerID"] = f"hrobot://{_FIRST_NUMBER + i}"
        node["metadata"]["labels"] |= {
            **dict.fromkeys(_TYPE_LABELS, _TYPE),
            "instance.hetzner.cloud/provided-by": "robot",
        }
    addresses = [server["server_ip"] for server in world["robot"]["servers"][:MOST_TARGETS]]
    for balancer in world["hetzner"]["load_balancers"]:
        balancer["targets"] = [{"type": "ip", "ip": {"ip": address}} for address in addresses]
    return world


def _dedicated(world: dict[str, Any]) -> dict[str, Any]:
    """The world with all servers in a Robot account, by their names and public addresses."""
    project = world["hetzner"]
    account = [
        {
            "server_number": _FIRST_NUMBER + i,
            "server_name": server["name"],
            "server_ip": server["public_net"]["ipv4"]["ip"],
            "server_ipv6_net": server["public_net"]["ipv6"]["ip"].removesuffix("/64"),
            "product": _TYPE,
            "dc": "FSN1-DC14",
        }
        for i, server in enumerate(project["servers"])
    ]
    return {**world, "hetzner": {**project, "servers": []}, "robot": {"servers": account}}
