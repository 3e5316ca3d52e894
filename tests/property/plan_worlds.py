"""Any cluster, project and Robot account in which much is to be done, as raw API objects, with any choices of a person.

Services, load balancers and their members are those of ``balancer_worlds``. Beside them Nodes join, differ or have lost
their servers, routes are missing or lead astray, and what was released waits for its deletion.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from hypothesis import strategies as st

from desired.annotations.choices import DeletionPolicy
from desired.annotations.options import Options
from desired.model.settings import AddressFamily, Controller, Policy, Settings
from desired.names import FINALIZER_BALANCER, LABEL_CLUSTER_UID, LABEL_DELETE_AFTER, LABEL_FORMER, LABEL_RELEASED
from desired.syntax.selector import parse_selector
from tests.balancers import annotated
from tests.property.balancer_worlds import CERTIFICATES, CLUSTER_UID, NETWORK, World, worlds
from tests.property.strategies import some
from tests.support.objects import joining_node, server, settled_node

Raw = dict[str, Any]
CLUSTER_CIDR = IPv4Network("10.244.0.0/16")
NAMESPACE = "kube-system"
_NOBODY = "10.0.0.77"
_COUPLED = {
    "ip_range": "10.0.0.0/8",
    "subnets": [
        {"type": "cloud", "ip_range": "10.0.0.0/24", "network_zone": "eu-central"},
        {"type": "vswitch", "ip_range": "10.1.0.0/24", "network_zone": "eu-central", "vswitch_id": 1},
    ],
}
"""The network, with a subnet for dedicated servers."""


@dataclass(frozen=True)
class PlanWorld:
    """What the simulators start from, and what the operator chose."""

    cluster: Mapping[str, Any]
    project: Mapping[str, Any]
    account: tuple[Raw, ...] | None
    """Dedicated servers; None where Robot is not enabled."""
    settings: Settings
    approves: bool
    """Whether a person has approved all that is held at first."""


_DRIFT: tuple[Mapping[str, Any], ...] = (
    {},
    {},
    {},
    {"server_type": "cpx42"},
    {"status": "off"},
    {"location": "nbg1"},
    {"name": "renamed"},
    {"labels": {"mirror/env": "prod"}},
)
"""In what a server is not as its Node says."""
_SILENCES = st.tuples(some("False", "Unknown", "True"), some(0, 0, 0, 1, 2, 3), some(False, False, True))


def _with_pods(node: Raw, number: int) -> Raw:
    node["spec"] |= {"podCIDR": pods(number), "podCIDRs": [pods(number)]}
    return node


def pods(number: int) -> str:
    return f"10.244.{number}.0/24"


def _address(number: int) -> str:
    return f"10.0.0.{10 + number}"


def _a_server(number: int, **changes: Any) -> Raw:
    return server(100 + number, f"n{number}", private_net=[{"network": 7, "ip": _address(number)}], **changes)


@st.composite
def _joining(draw: st.DrawFn) -> tuple[list[Raw], list[Raw]]:
    """Nodes that have just registered, and their servers, of which one may be missing."""
    count = draw(some(0, 1, 2, 6))
    nodes = [_with_pods(joining_node(f"n{number}"), number) for number in range(20, 20 + count)]
    missing = draw(some(0, 0, 0, 1))
    return nodes, [
        _a_server(number, **draw(some(*_DRIFT[:5]))) for number in range(20, 20 + count - min(missing, count))
    ]


@st.composite
def _lost(draw: st.DrawFn) -> list[Raw]:
    """Nodes whose servers are gone, silent or not."""
    ready, count, cordoned = draw(_SILENCES)
    nodes = [_with_pods(settled_node(f"n{number}", 100 + number, ready), number) for number in range(30, 30 + count)]
    for node in nodes:
        node["spec"]["unschedulable"] = cordoned
    return nodes


@st.composite
def _crowd(draw: st.DrawFn) -> tuple[list[Raw], list[Raw], bool | None]:
    """Nodes in good order, more than one batch of a switch; and whether load balancers lead to them by their private
    addresses, None where they do not lead there."""
    count = draw(some(0, 0, 0, 0, 12))
    nodes = [_with_pods(settled_node(f"n{number}", 100 + number), number) for number in range(40, 40 + count)]
    for node in nodes:
        number = int(node["metadata"]["name"][1:])
        node["status"]["addresses"].append({"type": "InternalIP", "address": _address(number)})
    return nodes, [_a_server(number) for number in range(40, 40 + count)], draw(some(None, False, True))


@st.composite
def _routes(draw: st.DrawFn, numbers: Sequence[int]) -> list[Raw]:
    """Of each Node one that is right, leads to another one or to nobody, or none; and some that are no Node's."""
    found: list[Raw] = []
    for number in numbers:
        way = draw(some("right", "right", "right", "missing", "other", "nobody"))
        gateway = {"right": _address(number), "other": _address(numbers[0]), "nobody": _NOBODY}.get(way)
        if gateway is not None:
            found.append({"destination": pods(number), "gateway": gateway})
    strays: tuple[list[Raw], ...] = (
        [],
        [{"destination": pods(90), "gateway": _NOBODY}],
        [{"destination": pods(number), "gateway": _NOBODY} for number in range(91, 94)],
        [{"destination": "10.99.0.0/24", "gateway": _NOBODY}],
    )
    return found + draw(some(*strays))


@st.composite
def _released(draw: st.DrawFn) -> list[Raw]:
    """Load balancers whose Services are gone: released, by an earlier version, or with a Service that has come back."""
    state = draw(some(*[None] * 3, "window", "kept", "kept", "back"))
    if state is None:
        return []
    labels = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_FORMER: "default.web" if state == "back" else "default.gone"}
    labels |= {LABEL_DELETE_AFTER if state == "window" else LABEL_RELEASED: "20270101T000000Z"}
    return [{"id": 60, "name": "former", "load_balancer_type": "lb11", "location": "fsn1", "labels": labels}]


def _leading(balancer: Raw, machines: Sequence[Raw], *, private: bool) -> Raw:
    """The same load balancer, which leads to these servers as well, if it is where it can reach them."""
    if private and not balancer.get("private_net"):
        return balancer
    more = [{"type": "server", "server": {"id": each["id"]}, "use_private_ip": private} for each in machines]
    return {**balancer, "targets": [*balancer.get("targets", ()), *more]}


_MORE: tuple[Mapping[str, str], ...] = (
    *[{}] * 8,
    {"protocol": "https", "certificate_type": "managed", "http_managed_certificate_domains": "shop.example.com"},
    {"name": "taken-over"},
    {"use_private_ip": "true"},
    {"type": "lb21", "algorithm_type": "least_connections", "name": "as-i-say"},
)


@st.composite
def _services(draw: st.DrawFn, world: World) -> list[Raw]:
    """Those of the world, one of which may ask for more, or is being deleted."""
    found = [dict(service) for service in world.services]
    chosen = found[draw(some(0, 1, 2)) % len(found)]
    meta = {**chosen["metadata"]}
    meta["annotations"] = {**meta["annotations"], **annotated(**draw(some(*_MORE)))}
    if FINALIZER_BALANCER in meta["finalizers"] and draw(some(False, False, False, True)):
        meta["deletionTimestamp"] = "2027-01-15T07:59:00Z"
    chosen["metadata"] = meta
    return [chosen if each["metadata"]["name"] == meta["name"] else each for each in found]


@st.composite
def _settings(draw: st.DrawFn, *, has_network: bool, has_robot: bool) -> Settings:
    parts = frozenset(Controller)
    return Settings(
        network="7" if has_network else None,
        routes=has_network and not has_robot and draw(some(True, True, True, False)),
        robot=has_robot,
        cluster_cidr=draw(some(CLUSTER_CIDR, CLUSTER_CIDR, CLUSTER_CIDR, None)),
        address_family=draw(some(AddressFamily.IPV4, AddressFamily.IPV4, AddressFamily.DUALSTACK)),
        policy=draw(some(*[Policy.SYNC] * 6, Policy.UPSERT, Policy.OBSERVE)),
        controllers=draw(some(*[parts] * 8, parts - {Controller.ROUTE}, *(parts - {each} for each in Controller))),
        ignore_nodes=draw(some(None, None, None, None, parse_selector("zone=b"))),
        mirror_labels=draw(some(None, None, "mirror")),
        balancer_defaults=Options(
            location="fsn1", deletion_policy=draw(some(*[DeletionPolicy.DELETE] * 3, DeletionPolicy.RETAIN))
        ),
        only=draw(some(*[()] * 12, ("service/default/web",), ("load_balancer/default/web",), ("node/n0", "node/n20"))),
    )


def _dedicated(number: int) -> Raw:
    return {
        "server_number": number,
        "server_name": f"n{number}",
        "server_ip": f"192.0.2.{number}",
        "server_ipv6_net": f"2001:db8:{number}::",
    }


@st.composite
def _metal(draw: st.DrawFn) -> tuple[list[Raw], tuple[Raw, ...] | None]:
    """Nodes on dedicated servers, and the account; None where Robot is not enabled."""
    count = draw(some(0, 0, 0, 1, 2, 5))
    if not count:
        return [], None
    numbers = range(61, 61 + count)
    nodes = []
    for number in numbers:
        if draw(some(True, False)):
            node = settled_node(f"n{number}", number)
            node["spec"] = {"providerID": f"hrobot://{number}"}
            node["metadata"]["labels"]["instance.hetzner.cloud/provided-by"] = "robot"
        else:
            node = joining_node(f"n{number}")
        node["status"]["addresses"] = [
            {"type": "Hostname", "address": f"n{number}"},
            {"type": "InternalIP", "address": f"10.1.0.{number}"},
        ]
        nodes.append(node)
    kept = list(numbers)[: count - draw(some(0, 0, 0, 1))]
    return nodes, tuple(_dedicated(number) for number in kept)


@st.composite
def plan_worlds(draw: st.DrawFn) -> PlanWorld:
    world = draw(worlds())
    metal_nodes, account = draw(_metal())
    nodes = [dict(node) for node in world.nodes]
    for node in nodes:
        number = int(node["metadata"]["name"].removeprefix("n"))
        _with_pods(node, number)
    machines = [{**machine, **draw(some(*_DRIFT))} for machine in world.servers]
    crowd, crowd_servers, crowd_targets = draw(_crowd()) if world.has_network else ([], [], None)
    names: set[str] = set()
    for machine in machines:  # a project has each name once
        if machine["name"] in names:
            machine["name"] = f"{machine['name']}-{machine['id']}"
        names.add(machine["name"])
    joining, joined = draw(_joining())
    lost = draw(_lost())
    numbers = [machine["id"] - 100 for machine in (*machines, *crowd_servers, *joined) if machine["private_net"]]
    load_balancers = [*world.balancers, *draw(_released())]
    if crowd_targets is not None:
        load_balancers = [_leading(balancer, crowd_servers, private=crowd_targets) for balancer in load_balancers]
    settings = draw(_settings(has_network=world.has_network, has_robot=account is not None))
    routes = draw(_routes(numbers)) if settings.routes and numbers else []
    identity = {"metadata": {"name": "kube-system", "uid": CLUSTER_UID}}
    own = {"metadata": {"name": "hcloud-reconciler", "namespace": NAMESPACE}, "data": {}}
    return PlanWorld(
        cluster={
            "nodes": [*nodes, *crowd, *joining, *lost, *metal_nodes],
            "services": draw(_services(world)),
            "namespaces": [identity],
            "configmaps": [own],
        },
        project={
            "servers": [*machines, *crowd_servers, *joined],
            "networks": [{**NETWORK, **_COUPLED, "routes": routes}],
            "load_balancers": load_balancers,
            "certificates": list(CERTIFICATES),
        },
        account=account,
        settings=settings,
        approves=draw(some(False, False, True)),
    )
