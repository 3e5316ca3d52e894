"""Worlds of which a page has something to show in every section."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any

from reconciler.sandbox.demo_world import demo_world

Object = dict[str, Any]

MARKUP = '"><script>document.title="run"</script><img src=x onerror=document.title="run">'
RIGHT_TO_LEFT = "שלום \u202egnitirw\u202c مرحبا"
LONG = ("a-very-long-name." * 15)[:252] + "z"
"""As long as the name of a Node may be."""
_BATCH = 12
_ANNOTATION = "load-balancer.hetzner.cloud"
_JOINED = "worker-4"
"""A Node of the demo's world that has just joined, after which others are made."""


def page_worlds(now: datetime) -> dict[str, Object]:
    """World files' contents: little, much, and very much to be done, and nothing at all."""
    empty = {"format_version": "1.0", "kubernetes": {"nodes": []}, "hetzner": {"servers": []}}
    return {
        "demo": demo_world(now),
        "eventful": eventful_world(now),
        "large": large_world(now, nodes=120, services=50),
        "empty": empty,
    }


def eventful_world(now: datetime) -> Object:
    """A world file's content: the demo's world, in which a dozen Nodes join at once, a second server is gone, so that
    the deletion of two Nodes is held, a target is unhealthy, and names and annotations are hostile."""
    world = _spacious_world(now)
    cloud, cluster = world["hetzner"], world["kubernetes"]
    cluster["nodes"] += [*_joining_nodes(cluster["nodes"]), _long_node(cluster["nodes"])]
    cloud["servers"] = [*(each for each in cloud["servers"] if each["name"] != "worker-2"), *_servers(cloud["servers"])]
    gone = _named(cluster["nodes"], "worker-2")
    gone["spec"]["taints"] = deepcopy(_named(cluster["nodes"], "worker-3")["spec"]["taints"])
    gone["status"]["conditions"][0] = deepcopy(_named(cluster["nodes"], "worker-3")["status"]["conditions"][0])
    target = cloud["load_balancers"][0]["targets"][0]
    target["health_status"] = [{"listen_port": 443, "status": "unhealthy", "detail": "layer4_timeout"}]
    cluster["services"] += [
        _service("hostile", {"location": MARKUP, "name": RIGHT_TO_LEFT}),
        _service("s" * 63, {"location": "hel1", "algorithm-type": "l" * 253}),
    ]
    return world


def large_world(now: datetime, nodes: int, services: int) -> Object:
    """The demo's world with many Nodes that join at once, and many new Services."""
    world = _spacious_world(now)
    world["kubernetes"]["nodes"] += _joining_nodes(world["kubernetes"]["nodes"], nodes)
    world["kubernetes"]["services"] += [
        _service(f"app-{number:02}", {"location": "fsn1"}) for number in range(services)
    ]
    world["hetzner"]["servers"] += _servers(world["hetzner"]["servers"], nodes)
    return world


def _spacious_world(now: datetime) -> Object:
    """The demo's world with room in its network for thousands of servers."""
    world = demo_world(now)
    world["hetzner"]["networks"][0]["subnets"] += [
        {"type": "cloud", "ip_range": "10.0.16.0/20", "network_zone": "eu-central"}
    ]
    return world


def _named(objects: list[Object], name: str) -> Object:
    return next(each for each in objects if name in (each.get("name"), each.get("metadata", {}).get("name")))


def _joining_nodes(nodes: list[Object], count: int = _BATCH) -> Iterator[Object]:
    for number in range(count):
        node = deepcopy(_named(nodes, _JOINED))
        pods = f"10.244.{number + 100}.0/24" if number < 100 else None
        _rename(node, f"batch-{number:02}")
        node["spec"] |= {"podCIDR": pods, "podCIDRs": [pods]} if pods else {"podCIDR": "", "podCIDRs": []}
        yield node


def _long_node(nodes: list[Object]) -> Object:
    node = deepcopy(_named(nodes, _JOINED))
    _rename(node, LONG)
    node["metadata"]["labels"].pop("kubernetes.io/hostname")  # a label's value has 63 characters
    del node["spec"]["podCIDR"], node["spec"]["podCIDRs"]
    return node


def _rename(node: Object, name: str) -> None:
    node["metadata"]["name"] = name
    node["metadata"]["labels"]["kubernetes.io/hostname"] = name
    node["status"]["addresses"] = [{"type": "Hostname", "address": name}]


def _servers(servers: list[Object], count: int = _BATCH) -> Iterator[Object]:
    for number in range(count):
        high, low = divmod(number, 250)
        yield {
            **deepcopy(_named(servers, _JOINED)),
            "id": 1000 + number,
            "name": f"batch-{number:02}",
            "public_net": {
                "ipv4": {"ip": f"198.51.{100 + high}.{low + 1}"},
                "ipv6": {"ip": f"2001:db8:{1000 + number:x}::/64"},
            },
            "private_net": [{"network": 4711, "ip": f"10.0.{16 + high}.{low + 1}"}],
        }


def _service(name: str, options: Mapping[str, str]) -> Object:
    port = 31000 + sum(name.encode()) % 1000
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": {f"{_ANNOTATION}/{option}": value for option, value in options.items()},
        },
        "spec": {"type": "LoadBalancer", "ports": [{"name": "http", "port": 80, "nodePort": port}]},
    }
