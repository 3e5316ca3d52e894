"""Worlds of which a page has something to show in every section."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any

from hcloud_sandbox.demo_world import demo_world

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
    """World files' contents: little, much, and very much to be done, nothing, of which a Service is down in one, and
    nothing at all."""
    empty = {"format_version": "1.0", "kubernetes": {"nodes": []}, "hetzner": {"servers": []}}
    return {
        "demo": demo_world(now),
        "eventful": eventful_world(now),
        "large": large_world(now, nodes=120, services=50),
        "well": settled_world(now, nodes=100, services=20),
        "down": settled_world(now, nodes=100, services=20, is_down=True),
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


def settled_world(now: datetime, nodes: int, services: int, *, is_down: bool = False) -> Object:
    """The demo's world without its drift, with so many Nodes that are well, and as many Services, of which one has 30
    ports. ``is_down``: no target of that answers at port 8007."""
    world = _spacious_world(now)
    cloud, cluster, network = world["hetzner"], world["kubernetes"], world["hetzner"]["networks"][0]
    workers = nodes - 1
    cloud["servers"] = [_named(cloud["servers"], "control-plane-1"), *_servers(cloud["servers"], workers, "worker-2")]
    node = _named(cluster["nodes"], "worker-2")
    cluster["nodes"] = [_named(cluster["nodes"], "control-plane-1")]
    network["routes"] = [{"destination": "10.244.0.0/24", "gateway": "10.0.0.2"}]
    for number, server in enumerate(cloud["servers"][1:]):
        pods, private = f"10.244.{number + 1}.0/24", server["private_net"][0]["ip"]
        public = server["public_net"]["ipv4"]["ip"]
        fresh = deepcopy(node)
        _rename(fresh, server["name"])
        fresh["spec"] = {"podCIDR": pods, "podCIDRs": [pods], "providerID": f"hcloud://{server['id']}"}
        fresh["status"]["addresses"] += [
            {"type": "ExternalIP", "address": public},
            {"type": "InternalIP", "address": private},
        ]
        cluster["nodes"].append(fresh)
        network["routes"].append({"destination": pods, "gateway": private})
    service, balancer = _named(cluster["services"], "api"), cloud["load_balancers"][0]
    pairs = [_served(service, balancer, number, cloud["servers"][1:]) for number in range(services)]
    cluster["services"], cloud["load_balancers"] = map(list, zip(*pairs, strict=True))
    if is_down:
        for target in cloud["load_balancers"][0]["targets"]:
            target["health_status"] = [{"listen_port": 8007, "status": "unhealthy", "detail": "layer4_timeout"}]
    network["subnets"] += [{"type": "cloud", "ip_range": "10.0.8.0/24", "network_zone": "eu-central"}]
    return world


def busy_world(now: datetime) -> Object:
    """A hundred Nodes join, twenty Services are new, 40 load balancers leave their public interface to a default, and a
    Service is down."""
    world = settled_world(now, nodes=12, services=41, is_down=True)
    cluster, cloud = world["kubernetes"], world["hetzner"]
    cluster["services"][0]["metadata"]["annotations"][f"{_ANNOTATION}/disable-public-network"] = "false"
    joining = demo_world(now)
    cluster["nodes"] += _joining_nodes(joining["kubernetes"]["nodes"], 100, "w")
    cluster["services"] += [_service(f"web-{number:02}", {"location": "fsn1"}) for number in range(20)]
    cloud["servers"] += _servers(joining["hetzner"]["servers"], 100, name="w", first=2000)
    return world


def by_default_world(now: datetime) -> Object:
    """A settled world of a hundred Nodes and twenty Services, which leave to defaults how their targets are reached."""
    world = settled_world(now, nodes=100, services=20)
    for service in world["kubernetes"]["services"]:
        del service["metadata"]["annotations"][f"{_ANNOTATION}/use-private-ip"]
    return world


def _served(service: Object, balancer: Object, number: int, servers: list[Object]) -> tuple[Object, Object]:
    """One more Service like this, with its load balancer; the first has 30 ports."""
    own, its, ports = deepcopy(service), deepcopy(balancer), [443] if number else [*range(8000, 8030)]
    name, uid = f"app-{number:02}", f"6a1f4d3e-2b7c-4c1a-9d55-0c2f1b7a{number:04}"
    addresses = [f"203.0.113.{100 + number}", f"2001:db8:ff:{number + 1:x}::1", f"10.0.8.{number + 1}"]
    own["metadata"] |= {"name": name, "uid": uid}
    own["metadata"]["annotations"] |= {f"{_ANNOTATION}/name": name, f"{_ANNOTATION}/type": "lb31"}
    own["spec"]["ports"] = [{"name": f"p{port}", "port": port, "nodePort": 22000 + port} for port in ports]
    own["status"]["loadBalancer"]["ingress"] = [{"ip": each, "ipMode": "VIP"} for each in addresses]
    its |= {"id": 901 + number, "name": name, "labels": {"hcloud-ccm/service-uid": uid}, "load_balancer_type": "lb31"}
    its["public_net"] = {"ipv4": {"ip": addresses[0]}, "ipv6": {"ip": addresses[1]}}
    its["private_net"][0]["ip"] = addresses[2]
    its["services"] = [{"listen_port": port, "destination_port": 22000 + port} for port in ports]
    its["targets"] = [{"type": "server", "server": {"id": each["id"]}, "use_private_ip": True} for each in servers]
    return own, its


def _spacious_world(now: datetime) -> Object:
    """The demo's world with room in its network for thousands of servers."""
    world = demo_world(now)
    world["hetzner"]["networks"][0]["subnets"] += [
        {"type": "cloud", "ip_range": "10.0.16.0/20", "network_zone": "eu-central"}
    ]
    return world


def _named(objects: list[Object], name: str) -> Object:
    return next(each for each in objects if name in (each.get("name"), each.get("metadata", {}).get("name")))


def _joining_nodes(nodes: list[Object], count: int = _BATCH, name: str = "batch") -> Iterator[Object]:
    for number in range(count):
        node = deepcopy(_named(nodes, _JOINED))
        pods = f"10.244.{number + 100}.0/24" if number < 100 else None
        _rename(node, f"{name}-{number:02}")
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


def _servers(
    servers: list[Object], count: int = _BATCH, like: str = _JOINED, name: str = "batch", first: int = 1000
) -> Iterator[Object]:
    for number in range(count):
        high, low = divmod(first - 1000 + number, 250)
        yield {
            **deepcopy(_named(servers, like)),
            "id": first + number,
            "name": f"{name}-{number:02}",
            "public_net": {
                "ipv4": {"ip": f"198.51.{100 + high}.{low + 1}"},
                "ipv6": {"ip": f"2001:db8:{first + number:x}::/64"},
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
