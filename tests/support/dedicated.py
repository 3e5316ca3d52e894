"""Clusters with dedicated servers, and whole passes of them."""

from collections.abc import Callable
from typing import Any

from tests.builders import SERVER_LABELS
from tests.support.objects import NETWORK, server, settled_node
from tests.support.passes import Run
from tests.support.simulators import Simulation, ago

Simulate = Callable[..., Simulation]


def dedicated(number: int, **fields: Any) -> dict[str, Any]:
    """Robot server ``db-NUMBER``."""
    return {
        "server_number": number,
        "server_name": f"db-{number}",
        "server_ip": f"192.0.2.{number}",
        "server_ipv6_net": f"2001:db8:{number}::",
        **fields,
    }


def robot_node(number: int, ready: str = "True", *, since: str = ago(3600), **spec: str) -> dict[str, Any]:
    node = settled_node(f"db-{number}", number, ready, since=since)
    node["spec"] = {"providerID": f"hrobot://{number}", **spec}
    types = dict.fromkeys(["node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"], "AX41-NVMe")
    node["metadata"]["labels"] |= {**SERVER_LABELS, **types, "instance.hetzner.cloud/provided-by": "robot"}
    node["status"]["addresses"] = [
        {"type": "Hostname", "address": f"db-{number}"},
        {"type": "ExternalIP", "address": f"192.0.2.{number}"},
        {"type": "InternalIP", "address": f"10.1.0.{number}"},
    ]
    return node


CLOUD_SUBNET = {"type": "cloud", "ip_range": "10.0.0.0/24", "network_zone": "eu-central"}
VSWITCH = {"type": "vswitch", "ip_range": "10.1.0.0/24", "network_zone": "eu-central", "vswitch_id": 4}
COUPLED: dict[str, Any] = NETWORK | {"ip_range": "10.0.0.0/8", "subnets": [CLOUD_SUBNET, VSWITCH]}
"""The network, with the vSwitch of the dedicated servers."""


def a_run(simulate: Simulate, *nodes: dict[str, Any], account: tuple[int, ...] | None = (1, 2, 3), **run: Any) -> Run:
    """Three cloud Nodes in order, these Nodes, and a Robot account with servers of these numbers; without credentials
    for it where there is none."""
    cloud = {100 + number: f"web-{number}" for number in range(1, 4)}
    places = {server_id: [{"network": NETWORK["id"], "ip": f"10.0.0.{server_id}"}] for server_id in cloud}
    servers = [server(server_id, name, private_net=places[server_id]) for server_id, name in cloud.items()]
    sim = simulate(
        nodes=[*nodes, *(settled_node(name, server_id) for server_id, name in cloud.items())],
        project={"servers": servers, "networks": [COUPLED]},
        robot=None if account is None else [dedicated(number) for number in account],
    )
    return Run(sim, **run)
