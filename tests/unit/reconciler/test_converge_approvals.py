"""Whole passes in which a guard holds something: what a violated anchor stops, and what approvals let through."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from actuators.http.call_budget import CallBudget
from desired.model.settings import Controller, Policy
from desired.plan.change import Verdict
from desired.plan.notes import NoteKind
from reconciler.result import Report, Result
from tests.balancers import annotated
from tests.support.objects import joining_node, server, settled_node
from tests.support.passes import (
    BALANCER,
    NAMESPACE,
    Run,
    a_balanced_run,
    delete_service,
    initialized,
    load_balancer_service,
)
from tests.support.records import begin_record
from tests.support.simulators import Simulation
from tests.support.world import SERVICES

REFUSED_NODE = {"kind": "Status", "reason": "Forbidden", "message": "may not patch nodes"}


def said_of_approvals(report: Report) -> list[str]:
    return [note.text for note in report.notes if note.kind is NoteKind.APPROVAL]


def test_a_violated_anchor_writes_nothing(elsewhere: Run) -> None:
    report = elsewhere.converge()

    assert report.result is Result.BLOCKED
    assert elsewhere.sim.written() == []
    assert initialized(elsewhere) == ["old-1", "old-2"]
    assert [hold.rule for hold in report.holds] == ["project-anchor"]
    assert report.holds[0].keys == ("node/web-1",)
    assert ("web-1", "ChangeHeld") in {(event.subject.name, event.reason) for event in elsewhere.ears.events}


def test_an_approval_counts_once(elsewhere: Run) -> None:
    """An approved hold passes, its approval is used up before the write, and a second pass finds it void."""
    (hold,) = elsewhere.plan().holds
    elsewhere.approve(hold.hash)

    report = elsewhere.converge()

    assert "web-1" in initialized(elsewhere)
    assert report.holds == ()
    paths = [entry.path for entry in elsewhere.sim.written()]
    assert paths == [
        f"/api/v1/namespaces/{NAMESPACE}/configmaps/hcloud-reconciler",
        "/api/v1/nodes/web-1/status",
        "/api/v1/nodes/web-1",
        f"/api/v1/namespaces/{NAMESPACE}/configmaps/hcloud-reconciler",  # it is struck
    ]
    elsewhere.sim.kubernetes.replace_world(
        {
            "nodes": [joining_node("web-1"), settled_node("old-1", 98), settled_node("old-2", 99)],
            "configmaps": list(elsewhere.sim.objects("configmaps").values()),
            "namespaces": list(elsewhere.sim.objects("namespaces").values()),
        }
    )
    again = elsewhere.converge()
    assert again.result is Result.BLOCKED
    assert [held.hash for held in again.holds] == [hold.hash]
    used = f"was used at {elsewhere.sim.clock.now():%Y-%m-%d %H:%M} UTC"
    assert said_of_approvals(again) == [f"the approval of {hold.hash} by somebody {used}"]


def test_an_approval_that_cannot_be_used_up_approves_nothing(elsewhere: Run) -> None:
    (hold,) = elsewhere.plan().holds
    elsewhere.approve(hold.hash)
    elsewhere.sim.spoil_kubernetes("status", method="PATCH", path=".*configmaps", code=403, body=REFUSED_NODE)

    report = elsewhere.converge()

    assert report.result is Result.BLOCKED
    assert "web-1" not in initialized(elsewhere)
    assert "its approval could not be marked as used" in str(report.lines[0].outcome)


def test_a_process_strikes_no_name_of_parts_that_it_does_not_plan(elsewhere: Run) -> None:
    """A second one with other controllers sees nothing held, and nothing of it done."""
    settings = elsewhere.settings
    elsewhere.approve(elsewhere.plan().holds[0].hash)
    elsewhere.sim.spoil_kubernetes("status", method="PATCH", path="/api/v1/nodes/.*", code=500, body={}, count=None)
    elsewhere.converge()
    elsewhere.sim.kubernetes_proxy.clear_faults()

    elsewhere.settings = replace(settings, controllers=frozenset({Controller.SERVICE}))
    elsewhere.converge()
    elsewhere.settings = settings
    elsewhere.converge()

    assert "web-1" in initialized(elsewhere)


def test_a_pass_that_only_observes_begins_no_record(elsewhere: Run) -> None:
    """Although something is held, for which approvals are looked up."""
    elsewhere.settings = replace(elsewhere.settings, policy=Policy.OBSERVE)
    elsewhere.converge()
    assert elsewhere.sim.objects("configmaps") == {}


def test_an_expired_approval_approves_nothing(elsewhere: Run) -> None:
    (hold,) = elsewhere.plan().holds
    elsewhere.approve(hold.hash)
    approved_at = elsewhere.sim.clock.now()
    elsewhere.sim.clock.advance(3601)

    report = elsewhere.converge()

    assert report.result is Result.BLOCKED
    assert elsewhere.sim.written() == []
    expired = f"expired at {approved_at + timedelta(hours=1):%Y-%m-%d %H:%M} UTC"
    assert said_of_approvals(report) == [f"the approval of {hold.hash} by somebody {expired}"]


def test_approvals_that_cannot_be_read(elsewhere: Run) -> None:
    elsewhere.sim.spoil_kubernetes("status", path=".*configmaps", code=403, body=REFUSED_NODE)

    report = elsewhere.plan()

    assert report.result is Result.BLOCKED
    (text,) = said_of_approvals(report)
    assert text.startswith("no approval counts: the record of uses could not be read: Kubernetes API server: GET /api/")
    assert text.endswith("answers 403 may not patch nodes")


def test_an_approval_on_the_command_line(elsewhere: Run) -> None:
    begin_record(elsewhere.sim.kubernetes_reader(), elsewhere.sim.kubernetes_writer())
    elsewhere.approved = (elsewhere.plan().holds[0].hash,)

    elsewhere.converge()

    assert "web-1" in initialized(elsewhere)
    assert len(json.loads(elsewhere.sim.objects("configmaps")["hcloud-reconciler"]["data"]["record"])["uses"]) == 1


def test_an_approval_waits_for_room_in_the_call_budget(simulate: Callable[..., Simulation]) -> None:
    run = a_balanced_run(simulate, load_balancer_service(**annotated(name="shared")))
    project = run.sim.hetzner.world()["hetzner"]
    in_use = {"id": 70, "name": "shared", "services": [{"protocol": "tcp", "listen_port": 22, "destination_port": 22}]}
    run.sim.hetzner.replace_world({**project, "load_balancers": [in_use]})
    (hold,) = run.plan().holds
    run.approve(hold.hash)
    run.budget = CallBudget(run.sim.clock.timestamp)
    while run.budget.left() >= 298:
        run.budget.spend()

    report = run.converge()

    assert "the call budget has no room" in str([line.outcome for line in report.lines])
    assert run.sim.balancers()[0]["labels"] == {}

    run.sim.clock.advance(60)
    run.converge()
    assert run.sim.balancers()[0]["labels"] != {}


def test_what_is_held_at_first_is_done_in_no_later_pass(simulate: Callable[..., Simulation]) -> None:
    """A load balancer leads to a server that has lost its Node, and there is hardly another one: its removal is held.
    Two Nodes that join in the same pass are reason enough for the guard; yet that is what the pass itself has done, so
    only the next one judges by it. The plan told the truth."""
    run = a_balanced_run(simulate)
    run.converge()
    project = run.sim.hetzner.world()["hetzner"]
    run.sim.hetzner.replace_world({**project, "servers": [*project["servers"], server(5, "web-5"), server(6, "web-6")]})
    nodes = run.sim.nodes()
    there = [nodes["web-1"], joining_node("web-5"), joining_node("web-6")]
    run.sim.kubernetes.replace_world({**run.sim.kubernetes.world()["kubernetes"], "nodes": there})
    removal = f"{BALANCER}/target/server:2"

    def is_target() -> bool:
        return 2 in {target["server"]["id"] for target in run.sim.balancers()[0]["targets"]}

    assert [(hold.rule, removal in hold.keys) for hold in run.plan().holds] == [("silent-cluster", True)]

    report = run.converge()

    assert {"web-5", "web-6"} <= {*initialized(run)}
    assert is_target()
    (left,) = (line.change.decision for line in report.lines if line.change.key == removal)
    assert (left.verdict, left.rule, left.due_in_s) == (Verdict.WAITING, "silent-cluster", 0.0)

    run.converge()
    assert not is_target()


def test_what_is_refused_at_first_is_done_in_no_later_pass(simulate: Callable[..., Simulation]) -> None:
    """A Service asks by name for the load balancer of another one, which is being deleted and leaves it behind, empty.
    The plan refuses that; so it is taken over by the next pass, whose plan shows it."""
    retained = annotated(name="shared") | {"hcloud-reconciler/deletion-policy": "retain"}
    run = a_balanced_run(simulate, load_balancer_service(**retained))
    run.converge()
    project = run.sim.hetzner.world()["hetzner"]
    empty = {**project["load_balancers"][0], "services": [], "targets": []}
    run.sim.hetzner.replace_world({**project, "load_balancers": [empty]})
    delete_service(run.sim)
    run.sim.kubernetes_writer().create(SERVICES, load_balancer_service("api", **annotated(name="shared")))

    def owner() -> str:
        return str(run.sim.balancers()[0]["labels"].get("hcloud-ccm/service-uid", ""))

    (asked,) = (line.change for line in run.plan().lines if line.change.key == "load_balancer/default/api")
    assert (asked.decision.verdict, asked.decision.rule) == (Verdict.REFUSED, "foreign-owner")

    run.converge()
    assert "web" not in run.sim.objects("services")
    assert owner() != run.sim.objects("services")["api"]["metadata"]["uid"]

    run.converge()
    assert owner() == run.sim.objects("services")["api"]["metadata"]["uid"]
