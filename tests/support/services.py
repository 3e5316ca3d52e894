"""Raw Services for whole readings: of type LoadBalancer as people write them, and what the API server adds."""

from typing import Any

from desired.annotations.options import OPTIONS
from desired.names import FINALIZER_BALANCER
from tests.support.simulators import Simulation

GOING = "2027-01-15T07:59:00Z"
"""When a Service was asked to go: a minute before a simulation starts."""


def raw_service(name: str = "web", *, claimed: bool = False, going: bool = False, **options: str) -> dict[str, Any]:
    """A Service of type LoadBalancer in namespace ``default`` with port 80; ``options`` are annotations by the names of
    their options. ``claimed`` gives it our finalizer, ``going`` a deletionTimestamp and a finalizer of somebody else.
    """
    finalizers = [FINALIZER_BALANCER] * claimed + ["example.com/hold"] * going
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "annotations": {OPTIONS[field].full_key: text for field, text in options.items()},
        "finalizers": finalizers,
    }
    if going:
        metadata |= {"deletionTimestamp": GOING, "deletionGracePeriodSeconds": 0}
    spec = {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30080}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def of_type(kind: str, name: str = "web", *, claimed: bool = False, **spec: Any) -> dict[str, Any]:
    found = raw_service(name, claimed=claimed)
    found["spec"] |= {"type": kind, **spec}
    if kind == "ClusterIP":
        found["spec"]["ports"] = [{"port": 80}]
    return found


def set_services(sim: Simulation, *services: dict[str, Any]) -> None:
    """Put these Services in place of all that the cluster has; its Nodes stay."""
    world = sim.kubernetes.world()["kubernetes"]
    sim.kubernetes.replace_world({**world, "services": list(services)})
