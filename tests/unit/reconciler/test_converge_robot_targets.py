"""Targets of dedicated servers in whole passes, when something goes wrong around them: what serves goes on serving, and
what goes is not left behind."""

from dataclasses import replace
from typing import Any

import pytest

from reconciler.result import Report, Result
from tests.balancers import IN_NETWORK, annotated
from tests.support.dedicated import Simulate, a_run, dedicated, robot_node
from tests.support.objects import joining_node, public_ipv4, server
from tests.support.passes import Run, load_balancer_service
from tests.support.world import SERVICES

INSIDE = replace(IN_NETWORK, robot=True)
EXCLUDED = {"metadata": {"labels": {"node.kubernetes.io/exclude-from-external-load-balancers": ""}}}
SILENT = {"kind": "no_answer", "ranges": ["10.1.0.0/16"]}


def a_served_run(simulate: Simulate, *nodes: dict[str, Any], private: bool = True, **how: Any) -> Run:
    run = a_run(simulate, *nodes, **{"settings": INSIDE, **how})
    annotations = annotated(use_private_ip="true" if private else "false")
    run.sim.kubernetes_writer().create(SERVICES, load_balancer_service(**annotations))
    passes(run)
    return run


def passes(run: Run, number: int = 3) -> Report:
    for _ in range(number - 1):
        run.converge()
        run.sim.clock.advance(60)
    return run.converge()


def ask_for(run: Run, **options: str) -> None:
    run.sim.kubernetes_writer().patch(f"{SERVICES}/web", {"metadata": {"annotations": annotated(**options)}})


def exclude(run: Run, *nodes: str) -> None:
    for node in nodes:
        run.sim.kubernetes_writer().patch(f"/api/v1/nodes/{node}", EXCLUDED)


def addresses(run: Run) -> list[str]:
    (balancer,) = run.sim.balancers()
    return sorted(target["ip"]["ip"] for target in balancer["targets"] if target["type"] == "ip")


@pytest.mark.parametrize("is_enabled", [True, False], ids=["out of reach", "switched off"])
def test_a_move_in_the_network_without_robot(simulate: Simulate, is_enabled: bool) -> None:
    """What was a target comes back: nothing of that is Robot's word."""
    run = a_served_run(simulate, robot_node(1), robot_node(2))
    before = addresses(run)
    if is_enabled:
        run.sim.spoil_robot("status", code=503, body="", count=None)
        run.sim.clock.advance(400)
    else:
        run = Run(run.sim, replace(run.settings, robot=False))
        run.readers = replace(run.readers, robot=None)

    ask_for(run, private_ipv4="10.0.0.77")
    for hold in run.plan().holds:
        run.approve(hold.hash)
    passes(run, 4)

    (balancer,) = run.sim.balancers()
    assert [place["ip"] for place in balancer["private_net"]] == ["10.0.0.77"]
    assert addresses(run) == before == ["10.1.0.1", "10.1.0.2"]


@pytest.mark.parametrize("private", [True, False])
def test_a_node_stays_until_its_target_has_gone(simulate: Simulate, private: bool) -> None:
    """Without the Node nobody would know whose address it was, and who rents it next would get the traffic."""
    run = a_served_run(simulate, robot_node(1, "Unknown"), robot_node(2), robot_node(3), private=private)
    run.sim.robot.replace_world({"servers": [dedicated(2), dedicated(3)]})  # type: ignore[union-attr]
    refused = {"error": {"code": "robot_unavailable", "message": "later"}}
    run.sim.spoil_hetzner("status", path=".*/remove_target$", code=422, body=refused, count=None)
    run.sim.clock.advance(300)

    passes(run)
    assert "db-1" in run.sim.nodes()
    assert len(addresses(run)) == 3

    run.sim.hetzner_proxy.clear_faults()
    run.sim.clock.advance(600)
    passes(run)
    assert "db-1" not in run.sim.nodes()
    assert len(addresses(run)) == 2


def test_a_node_stays_while_load_balancers_are_unknown(simulate: Simulate) -> None:
    run = a_served_run(simulate, robot_node(1, "Unknown"), robot_node(2), robot_node(3))
    run.sim.robot.replace_world({"servers": [dedicated(2), dedicated(3)]})  # type: ignore[union-attr]
    run.sim.spoil_hetzner("status", path="/v1/load_balancers$", code=503, body="", count=None)
    run.sim.clock.advance(300)

    passes(run)

    assert "db-1" in run.sim.nodes()


def test_a_failed_check_of_the_old_address_ends_no_exchange(simulate: Simulate) -> None:
    """The new one is known to be silent, so that nothing would be left when the old one answers again."""
    run = a_served_run(simulate, robot_node(1), robot_node(2), private=False)
    run.sim.hetzner.set_faults([SILENT])
    ask_for(run, use_private_ip="true")
    passes(run)

    run.sim.hetzner.set_faults([{**SILENT, "ranges": ["192.0.2.0/24"]}])
    passes(run)

    assert {"192.0.2.1", "192.0.2.2"} <= set(addresses(run))


def test_a_server_that_answers_by_neither_address(simulate: Simulate) -> None:
    """It has reasons of its own, as others answer by the new kind of address: it ends with one as well."""
    run = a_served_run(simulate, robot_node(1), robot_node(2), private=False)
    run.sim.hetzner.set_faults([{**SILENT, "ranges": ["10.1.0.1/32", "192.0.2.1/32"]}])
    ask_for(run, use_private_ip="true")

    passes(run, 4)

    assert addresses(run) == ["10.1.0.1", "10.1.0.2"]


def test_targets_of_the_cloud_wait_for_no_dedicated_server(simulate: Simulate) -> None:
    """In a full load balancer, in which addresses that do not answer are held."""
    run = a_served_run(simulate, robot_node(1), robot_node(2), private=False)
    (balancer,) = run.sim.balancers()
    path = f"/load_balancers/{balancer['id']}/actions/add_target"
    for number in range(balancer["load_balancer_type"]["max_targets"] - len(balancer["targets"])):
        run.sim.hetzner_writer().post(path, {"type": "ip", "ip": {"ip": f"203.0.113.{number + 1}"}})
        run.sim.clock.advance(5)
    servers = [f"{public_ipv4(number)}/32" for number in (101, 102, 103)]
    run.sim.hetzner.set_faults([{**SILENT, "ranges": ["10.0.0.0/8", *servers]}])
    run.sim.clock.advance(120)

    ask_for(run, use_private_ip="true")
    passes(run, 6)

    (balancer,) = run.sim.balancers()
    assert all(target["use_private_ip"] for target in balancer["targets"] if target["type"] == "server")


def test_a_joining_node_is_a_target_by_the_address_that_it_keeps(simulate: Simulate) -> None:
    """With ROBOT_FORWARD_INTERNAL_IPS=false its InternalIP goes, and is no target before that."""
    joining = joining_node("db-1")
    joining["status"]["addresses"].append({"type": "InternalIP", "address": "10.1.0.1"})
    run = a_served_run(simulate, joining, settings=replace(INSIDE, forward_internal_ips=False))

    assert passes(run).result is Result.NO_CHANGES
    assert addresses(run) == ["192.0.2.1"]


def test_an_address_that_another_node_still_reports(simulate: Simulate) -> None:
    """It is that of the Node that should be a target by it: planned once, kept, and counted."""
    successor = robot_node(2)
    successor["status"]["addresses"][2]["address"] = "10.1.0.1"
    run = a_served_run(simulate, robot_node(1), robot_node(3))
    exclude(run, "db-1")
    run.sim.kubernetes_writer().create("/api/v1/nodes", successor)
    run.sim.kubernetes_writer().patch("/api/v1/nodes/db-2/status", {"status": successor["status"]})

    report = passes(run)

    assert (report.result, addresses(run)) == (Result.NO_CHANGES, ["10.1.0.1", "10.1.0.3"])
    assert not [note for note in report.notes if "10.1.0.1" in note.text]


def test_the_same_address_in_another_network(simulate: Simulate) -> None:
    run = a_served_run(simulate, robot_node(1), private=False)
    project = run.sim.hetzner.world()["hetzner"]
    subnet = {"type": "cloud", "ip_range": "10.1.0.0/24", "network_zone": "eu-central"}
    staging = {"id": 99, "name": "staging", "ip_range": "10.0.0.0/8", "subnets": [subnet]}
    stranger = server(777, "staging-1", private_net=[{"network": 99, "ip": "10.1.0.1"}])
    run.sim.hetzner.replace_world(
        {**project, "networks": [*project["networks"], staging], "servers": [*project["servers"], stranger]}
    )

    ask_for(run, use_private_ip="true")
    passes(run, 4)

    assert addresses(run) == ["10.1.0.1"]


def test_an_adoption_waits_until_robot_tells_what_would_be_lost(simulate: Simulate) -> None:
    """A person would approve less than what happens later."""
    run = a_served_run(simulate, robot_node(1), private=False)
    project = run.sim.hetzner.world()["hetzner"]
    (balancer,) = project["load_balancers"]
    strange = {"type": "ip", "ip": {"ip": "192.0.2.3"}}
    balancer |= {"name": "mine", "labels": {}, "targets": [*balancer["targets"], strange]}
    run.sim.hetzner.replace_world({**project, "load_balancers": [balancer]})
    ask_for(run, name="mine")
    run.sim.spoil_robot("status", code=503, body="", count=None)
    run.sim.clock.advance(400)

    for hold in run.plan().holds:
        run.approve(hold.hash)
    passes(run)

    (found,) = run.sim.balancers()
    assert (found["labels"], addresses(run)) == ({}, ["192.0.2.1", "192.0.2.3"])
