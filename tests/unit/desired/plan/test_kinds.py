"""The table of kinds, row by row."""

import pytest

from desired.model.settings import Controller
from desired.plan.kinds import KINDS, Api, Kind
from tests.support.rows import rows

DESIGN = """
node.initialise       A    patch nodes/status, patch nodes
node.addresses        M    patch nodes/status
node.labels           M    patch nodes
node.shutdown_taint   M    patch nodes
node.out_of_service_taint  MR  patch nodes
node.network_condition  M  patch nodes/status
node.delete           R    delete nodes
service.claim         A    patch services/status
service.status        M    patch services/status
service.release       R    patch services/status
lb.create             A    POST /load_balancers  network
lb.adopt              M    PUT /load_balancers/{id}
lb.identity           M    PUT /load_balancers/{id}
lb.type               M    LB change_type
lb.algorithm          M    LB change_algorithm
lb.rdns               M    LB change_dns_ptr
lb.network            AMR  LB attach_to_network, LB detach_from_network  network
lb.public_interface   M    LB enable_public_interface, LB disable_public_interface
lb.listener           AMR  LB add_service, LB update_service, LB delete_service
lb.target             AMR  LB add_target, LB remove_target
lb.retain             M    PUT /load_balancers/{id}
lb.delete             R    DELETE /load_balancers/{id}
certificate.create    A    POST /certificates
route.create          A    NET add_route  network
route.replace         M    NET delete_route, NET add_route  network
route.delete          R    NET delete_route  network
"""
"""Name, classes, writes, and whether it may lock a network; parted by two blanks."""
ROWS = [[cell.strip() for cell in line.split("  ") if cell] for line in DESIGN.splitlines()[1:]]


def written(kind: Kind) -> list[str]:
    """A row of the table in code, as the design writes it."""
    calls = ", ".join(f"{call.verb} {call.resource}" for call in kind.calls)
    short = calls.replace("POST /load_balancers/{id}/actions/", "LB ").replace("POST /networks/{id}/actions/", "NET ")
    classes = "".join(sorted(verb.value[0].upper() for verb in kind.verbs))
    return [kind.name, classes, short, *(["network"] if kind.locks_network else [])]


def test_table_is_the_designs() -> None:
    """The table in code has the kinds of the design in its order, with their classes, calls and locks."""
    assert [written(kind) for kind in KINDS.values()] == ROWS


def test_kinds_that_serve_others() -> None:
    """A finalizer is set for a load balancer, and a certificate requested for a port, and for nothing else."""
    assert {name: kind.serves for name, kind in KINDS.items() if kind.serves} == {
        "service.claim": {"lb.create", "lb.adopt"},
        "certificate.create": {"lb.listener"},
    }


def test_kinds_that_create_in_the_cloud() -> None:
    """Only new load balancers, certificates and routes are creations of cloud objects."""
    assert [name for name, kind in KINDS.items() if kind.creates_in_cloud] == [
        "lb.create",
        "certificate.create",
        "route.create",
    ]


@pytest.mark.parametrize("name", KINDS)
def test_cloud_writes(name: str) -> None:
    """Nodes and Services are written to Kubernetes, everything else to Hetzner, and no kind to both."""
    kubernetes = name.startswith(("node.", "service."))
    assert {call.api for call in KINDS[name].calls} == {Api.KUBERNETES if kubernetes else Api.HETZNER}
    assert KINDS[name].writes_cloud is not kubernetes


@rows("names sections", {
    "nodes": ([name for name in KINDS if name.startswith("node.")], ("nodes", "servers")),
    "services-and-load-balancers": ([name for name in KINDS if name.startswith(("service.",
        "lb.")) and name != "lb.target"], ("services", "load_balancers")),
    "targets": (["lb.target"], ("services", "load_balancers", "nodes", "servers")),
    "certificates": (["certificate.create"], ("services", "certificates")),
    "routes": ([name for name in KINDS if name.startswith("route.")], ("nodes", "servers", "routes")),
})  # fmt: skip
def test_sections_behind_a_decision(names: list[str], sections: tuple[str, ...]) -> None:
    assert {KINDS[name].decided_from for name in names} == {sections}


@pytest.mark.parametrize(("controller", "names"), [
    (Controller.NODE, {"node.initialise", "node.addresses", "node.labels"}),
    (Controller.LIFECYCLE, {"node.shutdown_taint", "node.out_of_service_taint", "node.delete"}),
    (Controller.ROUTE, {"node.network_condition", "route.create", "route.replace", "route.delete"}),
    (Controller.SERVICE, {name for name in KINDS if name.startswith(("service.", "lb.", "certificate."))}),
])  # fmt: skip
def test_controllers(controller: Controller, names: set[str]) -> None:
    """Each kind belongs to the controller that does it in HCCM, so that switching one off means the same."""
    assert {name for name, kind in KINDS.items() if kind.controller is controller} == names


def test_kinds_that_give_way() -> None:
    """Only routes come in series so long that what is more urgent cannot wait for their end."""
    assert {name for name, kind in KINDS.items() if kind.is_preemptible} == {
        "route.create",
        "route.replace",
        "route.delete",
    }
