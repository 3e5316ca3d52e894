"""Nodes with pods on a stage, the private network that their servers are in, and what became of routes and conditions.

Node ``web-3`` has the pods 10.244.3.0/24, and is on server 3, which has the address 10.0.0.103 in network 7.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from actuators.outcome import Outcome
from desired.model.route import CONDITION_NETWORK
from desired.plan.change import Change
from reconciler.passes.context import Progress
from reconciler.passes.one_pass import converge
from reconciler.report.json_report import report_as_json
from tests.support.balancer_cluster import IN_NETWORK, NETWORK, a_node, a_server_of, private_ip
from tests.support.in_process import ONCE, runtime
from tests.support.lifecycle import patch
from tests.support.objects import LONG_AGO, condition
from tests.support.simulators import ImpatientStop
from tests.support.stage import Stage

CIDR = {"RECONCILER_CLUSTER_CIDR": "10.244.0.0/16"}
"""With it in the environment routes are changed and removed as well."""
ROUTED = ("False", "RouteCreated", "RouteController created a route")
UNROUTED = ("True", "NoRouteCreated", "RouteController failed to create a route")
"""Status, reason and message of the condition, as HCCM writes them."""
OF_A_KUBELET = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


def pods_of(number: int) -> str:
    """The pod CIDR of ``web-NUMBER``."""
    return f"10.244.{number}.0/24"


def a_route_to(number: int, gateway: int | str | None = None) -> dict[str, str]:
    """The route to the pods of ``web-NUMBER``, by its own server or another, or by an address."""
    by = gateway if isinstance(gateway, str) else private_ip(gateway or number)
    return {"destination": pods_of(number), "gateway": by}


def a_pod_node(stage: Stage, number: int, *pod_cidrs: str, says: tuple[str, str, str] | None = None) -> dict[str, Any]:
    """A Node in order, with all that a kubelet says of it, and ``says`` in its condition NetworkUnavailable."""
    node = a_node(stage, number)
    node["spec"]["podCIDRs"] = list(pod_cidrs) or [pods_of(number)]
    node["spec"]["podCIDR"] = node["spec"]["podCIDRs"][0]
    healthy = {"Ready": "True"}
    node["status"]["conditions"] = [condition(kind, healthy.get(kind, "False")) for kind in OF_A_KUBELET]
    if says is not None:
        node["status"]["conditions"].append(network_condition(*says))
    return node


def network_condition(status: str, reason: str, message: str) -> dict[str, str]:
    """The condition NetworkUnavailable, as somebody wrote it long ago."""
    return condition(CONDITION_NETWORK, status, LONG_AGO) | {"reason": reason, "message": message}


def have_pods(
    stage: Stage, size: int, *routes: Mapping[str, str], says: tuple[str, str, str] | None = None, **project: Any
) -> None:
    """So many Nodes with pods, their servers in the network, and these routes in it; and the rest of a project."""
    stage.environment |= IN_NETWORK | CIDR
    numbers = range(1, size + 1)
    network = {**NETWORK, "routes": list(routes)}
    servers = [a_server_of(number) for number in numbers]
    stage.project.replace_world({"servers": servers, "networks": [network], **project})
    stage.register(*(a_pod_node(stage, number, says=says) for number in numbers))


def settle(stage: Stage, size: int) -> None:
    """So many Nodes, each with its route and its condition: nothing is left to do."""
    have_pods(stage, size, *map(a_route_to, range(1, size + 1)), says=ROUTED)


def routes(stage: Stage) -> dict[str, str]:
    """Destination → gateway of all routes of the only network."""
    (network,) = stage.project.world()["hetzner"]["networks"]
    return {route["destination"]: route["gateway"] for route in network["routes"]}


def have_routes(stage: Stage, *routes: Mapping[str, str]) -> None:
    """Make these the routes of the only network, as a person at the console would."""
    change_network(stage, routes=list(routes))


def change_network(stage: Stage, **changes: Any) -> None:
    """Somebody changes the only network."""
    world = stage.project.world()["hetzner"]
    (network,) = world["networks"]
    stage.project.replace_world({**world, "networks": [{**network, **changes}]})


def move_server(stage: Stage, number: int, *addresses: str) -> None:
    """The server of ``web-NUMBER`` gets other addresses in the network, or is taken out of it."""
    world = stage.project.world()["hetzner"]
    places = [{"network": NETWORK["id"], "ip": address} for address in addresses]
    servers = [found | ({"private_net": places} if found["id"] == number else {}) for found in world["servers"]]
    networks = [{**network, "servers": []} for network in world["networks"]]
    stage.project.replace_world({**world, "networks": networks, "servers": servers})


def delete_node(stage: Stage, name: str) -> None:
    """``kubectl delete node``."""
    status, answer = stage.cluster.request("DELETE", f"/api/v1/nodes/{name}")
    assert status == 200, answer


def said(node: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """What the Node's condition NetworkUnavailable says; None when nobody has written it."""
    found = [each for each in node["status"].get("conditions", []) if each["type"] == CONDITION_NETWORK]
    return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else None


def all_say(stage: Stage) -> dict[str, tuple[str, str, str] | None]:
    """Name → what each Node's condition says."""
    return {name: said(node) for name, node in stage.nodes().items()}


def of_others(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The Node's conditions but that one, in their order."""
    return [each for each in node["status"]["conditions"] if each["type"] != CONDITION_NETWORK]


def set_condition(stage: Stage, name: str, written: Mapping[str, str]) -> None:
    """Somebody writes one condition of a Node, and leaves the others as they are."""
    others = [each for each in stage.nodes()[name]["status"]["conditions"] if each["type"] != written["type"]]
    patch(stage, f"{name}/status", {"status": {"conditions": [*others, dict(written)]}})


@dataclass
class _Interrupted:
    """Progress of a pass during which something happens, before the first of its writes."""

    progress: Progress
    happens: Callable[[], object]
    has_happened: bool = False

    def begin(self, changes: Sequence[Change]) -> None:
        if not self.has_happened:
            self.has_happened = True
            self.happens()
        self.progress.begin(changes)

    def done(self, change: Change, outcome: Outcome) -> None:
        self.progress.done(change, outcome)

    def end(self) -> None:
        self.progress.end()


def pass_during_which(stage: Stage, happens: Callable[[], object], /, **variables: str) -> Mapping[str, Any]:
    """The JSON report of one pass. When it has observed, and not written yet, this happens."""
    with runtime(stage, ONCE, ImpatientStop(), **variables) as built:
        assert built.connections is not None
        apply_context = replace(
            built.connections.apply_context, progress=_Interrupted(built.connections.apply_context.progress, happens)
        )
        return report_as_json(converge(built.plan_context, apply_context))


def warnings_on(stage: Stage, name: str) -> dict[str, str]:
    """Reason → text of the warnings on a Node."""
    uid = stage.nodes()[name]["metadata"]["uid"]
    selector = f"involvedObject.uid={uid},type=Warning"
    _, listed = stage.cluster.request("GET", f"/api/v1/namespaces/default/events?fieldSelector={selector}")
    return {event["reason"]: event["message"] for event in listed["items"]}
