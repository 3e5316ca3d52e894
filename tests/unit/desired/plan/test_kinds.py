"""The table of kinds, row by row."""

import pytest

from desired.model.settings import Controller
from desired.plan.kinds import KINDS, Kind

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
lb.create             A    POST /load_balancers  creates, network
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
certificate.create    A    POST /certificates  creates
route.create          A    NET add_route  creates, network, gives way
route.replace         M    NET delete_route, NET add_route  network, gives way
route.delete          R    NET delete_route  network, gives way
"""
"""Name, classes, writes, and marks: it creates in the cloud, may lock a network, gives way; parted by two blanks."""
ROWS = [[cell.strip() for cell in line.split("  ") if cell] for line in DESIGN.splitlines()[1:]]


def written(kind: Kind) -> list[str]:
    """A row of the table in code, as the design writes it."""
    calls = ", ".join(f"{call.verb} {call.resource}" for call in kind.calls)
    short = calls.replace("POST /load_balancers/{id}/actions/", "LB ").replace("POST /networks/{id}/actions/", "NET ")
    classes = "".join(sorted(verb.value[0].upper() for verb in kind.verbs))
    marks = {"creates": kind.creates_in_cloud, "network": kind.locks_network, "gives way": kind.is_preemptible}
    return [kind.name, classes, short, *([", ".join(filter(marks.get, marks))] if any(marks.values()) else [])]


def test_table_is_the_designs() -> None:
    assert [written(kind) for kind in KINDS.values()] == ROWS


@pytest.mark.parametrize(("controller", "names"), [
    (Controller.NODE, {"node.initialise", "node.addresses", "node.labels"}),
    (Controller.LIFECYCLE, {"node.shutdown_taint", "node.out_of_service_taint", "node.delete"}),
    (Controller.ROUTE, {"node.network_condition", "route.create", "route.replace", "route.delete"}),
    (Controller.SERVICE, {name for name in KINDS if name.startswith(("service.", "lb.", "certificate."))}),
])  # fmt: skip
def test_controllers(controller: Controller, names: set[str]) -> None:
    """Each kind belongs to the controller that does it in HCCM, so that switching one off means the same."""
    assert {name for name, kind in KINDS.items() if kind.controller is controller} == names
