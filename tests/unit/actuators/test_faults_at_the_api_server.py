"""Every kind of change of a Node or a Service meets every fault: how it ends, and what the object looks like then.

How it ends is ``done``, or the class of its error. Behind that, ``+``: the object is as after an undisturbed change;
``=``: as before; ``~``: something in between, of which the next plan sees what is missing.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from actuators.http.errors import ApiError
from desired.model.route import UNROUTED
from desired.model.service import Ingress
from desired.model.settings import Settings
from desired.names import FINALIZER_BALANCER
from desired.plan.change import Change, Claimed
from desired.plan.kinds import KINDS as PLANNED
from desired.plan.kinds import Verb
from reconciler.observe.world import observe_world
from reconciler.runtime import actuators_with
from tests.builders import a_change
from tests.support.balancer_changes import SERVICE, a_difference
from tests.support.balancer_stage import hands_in
from tests.support.faulted import Fault, ended
from tests.support.objects import joining_node, server, settled_node
from tests.support.passes import planned
from tests.support.simulators import Simulate, Simulation, ago

WHY = "a test wants it"
OLD = [{"ip": "203.0.113.9", "ipMode": "VIP"}]
NEW = (Ingress("203.0.113.9"), Ingress("2001:db8::200"))


def drifted() -> dict[str, Any]:
    """A Node with a wrong label and a wrong address, whose server is switched off."""
    node = settled_node("web-1", 1)
    node["metadata"]["labels"]["node.kubernetes.io/instance-type"] = "cx22"
    node["status"]["addresses"] = [{"type": "ExternalIP", "address": "198.51.100.9"}]
    return node


def service(*finalizers: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "web", "namespace": "default", "finalizers": ["example.com/hold", *finalizers]},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30080}]},
        "status": {"loadBalancer": {"ingress": OLD}},
    }


OFF = server(1, "web-1", status="off")
UNREACHED = a_change(
    "node/web-1/network", "node.network_condition", verb=Verb.MODIFY, before=None, after=UNROUTED, owner="node/web-1"
)
TAINTED = a_change(
    "node/web-1/out-of-service", "node.out_of_service_taint", verb=Verb.REMOVE, before=None, owner="node/web-1"
)
CLAIMED = a_difference(f"{SERVICE}/finalizer", "service.claim", False, True, WHY, verb=Verb.ADD)
PUBLISHED = a_difference(f"{SERVICE}/status", "service.status", (), NEW, WHY)
RELEASED = a_difference(f"{SERVICE}/release", "service.release", Claimed(FINALIZER_BALANCER, ()), None, WHY)
KINDS: Mapping[str, tuple[dict[str, Any], list[dict[str, Any]], Change | None]] = {
    "node.initialise": (joining_node("web-1"), [server(1, "web-1")], None),
    "node.addresses": (drifted(), [OFF], None),
    "node.labels": (drifted(), [OFF], None),
    "node.shutdown_taint": (drifted(), [OFF], None),
    "node.out_of_service_taint": (settled_node("web-1", 1, "Unknown", since=ago(300)), [], TAINTED),
    "node.network_condition": (settled_node("web-1", 1), [server(1, "web-1")], UNREACHED),
    "node.delete": (settled_node("web-1", 1, "Unknown", since=ago(300)), [], None),
    "service.claim": (service(), [], CLAIMED),
    "service.status": (service(FINALIZER_BALANCER), [], PUBLISHED),
    "service.release": (service(FINALIZER_BALANCER), [], RELEASED),
}
"""Kind → the object, the server that belongs to it, and the change; None: the one that is planned."""


def line(kind: str, **members: Any) -> Callable[[Simulation, str], object]:
    """A fault of transport, that hits writes."""

    def strike(sim: Simulation, _path: str) -> None:
        for method in ("PATCH", "DELETE"):
            sim.spoil_kubernetes(kind, method=method, **members)

    return strike


def refusal(status: int, reason: str) -> Callable[[Simulation, str], object]:
    body = {"kind": "Status", "status": "Failure", "reason": reason, "code": status, "message": "no"}
    return line("status", code=status, body=body, count=None)


def write(sim: Simulation, path: str) -> None:
    """Somebody else writes what is nobody's business."""
    sim.kubernetes_writer().patch(path, {"metadata": {"annotations": {"example.com/noted": "by somebody"}}})


def make_anew(sim: Simulation, _path: str) -> None:
    """Somebody deletes the object, and another one comes under its name, in the same version."""
    world = sim.kubernetes.world()["kubernetes"]
    for section in ("nodes", "services"):
        for found in world.get(section, []):
            found["metadata"]["uid"] = f"another-{found['metadata']['name']}"
    sim.kubernetes.replace_world(world)


def remove(sim: Simulation, _path: str) -> None:
    sim.kubernetes.replace_world({"nodes": [], "services": []})


VERSIONED = {"Conflict+": "addresses shutdown_taint out_of_service_taint status release", "Conflict~": "initialise"}
"""A second try meets the version of the first: the change is planned again, and finds itself done."""
FAULTS: Mapping[str, Fault] = {
    "a request is lost": Fault("done+", line("reset")),
    "an answer is lost": Fault("done+", line("executed_then_reset"), VERSIONED),
    "a gateway answers for it": Fault("done+", line("executed_then_504"), VERSIONED),
    "somebody else writes": Fault("Conflict=", write, {"done+": "labels network_condition claim"}),
    "another one has its name": Fault("Conflict=", make_anew),
    "it is gone": Fault(
        "NotFound=", remove, {"Conflict=": "network_condition out_of_service_taint", "done=": "delete release"}
    ),
    "it may not": Fault("Denied=", refusal(403, "Forbidden")),
    "too many requests": Fault("Throttled=", refusal(429, "TooManyRequests")),
    "the API server is down": Fault("Transient=", refusal(503, "ServiceUnavailable")),
}


def begin(sim: Simulation, kind: str) -> None:
    """The change of this kind is about to be made, and nothing has gone wrong yet."""
    found, _, _ = KINDS[kind]
    of_nodes = kind.startswith("node")
    nodes = [settled_node("web-2", 2), *([found] if of_nodes else [])]
    sim.kubernetes_proxy.clear_faults()
    sim.kubernetes.replace_world({"nodes": nodes, "services": [] if of_nodes else [found]})


def cluster(sim: Simulation) -> Any:
    """What there is, but for annotations, and what every write changes."""
    world = sim.kubernetes.world()["kubernetes"]
    written = ("resourceVersion", "managedFields", "annotations")
    return {
        found["metadata"]["name"]: found
        | {"metadata": {name: value for name, value in found["metadata"].items() if name not in written}}
        for section in ("nodes", "services")
        for found in world.get(section, [])
    }


def carry_out(sim: Simulation, kind: str, fault: Fault | None = None) -> tuple[str, Any]:
    """How the change ends, and what there was before it."""
    _, _, change = KINDS[kind]
    if change is None:
        change, snapshot = planned(sim, kind)
    else:
        snapshot = observe_world(sim.readers(), Settings()).snapshot
    path = f"/api/v1/{'nodes' if kind.startswith('node') else 'namespaces/default/services'}/web"
    if fault is not None:
        fault.strike(sim, f"{path}-1" if kind.startswith("node") else path)
    before = cluster(sim)
    actuators = actuators_with(sim.kubernetes_writer(), hands_in(sim), sim.robot_reader())
    try:
        actuators[change.kind](change, snapshot)
    except ApiError as error:
        return type(error).__name__, before
    return "done", before


def test_every_kind_is_here() -> None:
    """One that is not would meet no fault."""
    assert KINDS.keys() == {kind for kind, row in PLANNED.items() if not row.writes_cloud}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_meets_every_fault(simulate: Simulate, kind: str) -> None:
    """Nothing is written to what has changed since it was observed, unless the write fits whatever has changed."""
    sim = simulate(project={"servers": [*KINDS[kind][1], server(2, "web-2")]})
    begin(sim, kind)
    assert carry_out(sim, kind)[0] == "done"
    wanted, ends = cluster(sim), {}
    for name, fault in FAULTS.items():
        begin(sim, kind)
        how, before = carry_out(sim, kind, fault)
        ends[name] = ended(how, before, cluster(sim), wanted)
    assert ends == {name: fault.end_of(kind.partition(".")[2]) for name, fault in FAULTS.items()}
