"""What a plan was made from: whole lists (``incomplete-snapshot``), no other controller beside us
(``other-controller``), clocks that agree (``clock-skew``). What each change rests on is in ``plan/test_evidence``."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.guards.evidence import clock_notes, controller_notes, incomplete_snapshot
from desired.guards.filters import restrict
from desired.guards.guard import GuardResult
from desired.model.clocks import LOOK_AGAIN_S, Clocks
from desired.model.key import PLAN
from desired.model.load_balancer import CloudBalancer
from desired.model.serving import Serving
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Server, Snapshot
from desired.model.workload import IMAGE, Container, Workload, sign_of_another
from desired.names import LABEL_CLASS, LABEL_CLUSTER_UID, LABEL_OWN_CLASS_UID
from desired.plan.change import Change, Plan, Verdict
from desired.plan.kinds import Verb
from desired.plan.notes import NoteKind
from desired.planner import compute_plan
from desired.rules import guards as rows
from desired.section import Section, Unknown
from desired.syntax.provider_id import Provider
from tests.balancers import SERVICE_UID, a_balancer, a_service
from tests.builders import (
    CLUSTER_UID,
    NOW,
    a_change,
    a_fleet,
    a_joining_node,
    a_loss,
    a_lost_node,
    a_server,
    a_settled_node,
    a_snapshot,
    a_workload,
    incomplete,
    nodes_of,
    servers_of,
    workloads_of,
)
from tests.support.judging import facts_of, judge
from tests.support.rows import rows as cases

LB = "load_balancer/ns/a"
MISSING: Section[int, Server] = Section.missing("401")
NO_UID = a_snapshot(cluster_uid=Unknown("403"))
HALF = a_snapshot(servers_section=incomplete(servers_of(), "429"))
NEITHER = a_snapshot(nodes_section=incomplete(nodes_of(), "503"), servers_section=MISSING)
DELETE, TYPE = a_change("node/old", "node.delete"), a_change(f"{LB}/type", "lb.type")
LOSS = a_loss()
OF_ROBOT = replace(LOSS, proof=replace(LOSS.proof, provider=Provider.ROBOT))
METAL = a_change("node/old", "node.delete", before=OF_ROBOT)
ROUTE = a_change("route/4/10.0.0.0/24", "route.delete")
TARGET = a_change(f"{LB}/target/server:1", "lb.target", verb=Verb.REMOVE)
BALANCERS_GAP = replace(a_snapshot(), load_balancers=incomplete(Section(), "503"))
NO_TARGETS = replace(a_snapshot(), load_balancers=Section({}, unreadable={1: "no targets"}))
NO_NETWORK = a_snapshot(network=Unknown("503"))
SERVICES, BALANCERS = ("services", "not read"), ("load balancers", "not read")


@cases("change snapshot uid gaps", {
    "removal-without-all-servers": (DELETE, HALF, None, [("servers", "429")]),
    "removal-without-either": (DELETE, NEITHER, None, [("nodes", "503"), ("servers", "401")]),
    "no-cloud-write-needs-no-uid": (DELETE, NO_UID, None, ()),
    "metal-where-services-are-not-read": (METAL, a_snapshot(), None, ()),
    "metal-and-a-gap-in-its-targets": (METAL, BALANCERS_GAP, None, [("load balancers", "503")]),
    "metal-and-unreadable-targets": (METAL, NO_TARGETS, None, [("load balancers", "no targets")]),
    "metal-and-an-unknown-network": (METAL, NO_NETWORK, None, [("networks", "503")]),
    "a-gap-in-what-it-does-not-rest-on": (DELETE, BALANCERS_GAP, None, ()),
    "a-write-to-kubernetes": (a_change(), HALF, None, ()),
    "cloud-write-with-the-uid": (TYPE, a_snapshot(), None, ()),
    "cloud-write-without-the-uid": (TYPE, NO_UID, "403", ()),
    "all-that-it-waits-for": (ROUTE, NO_UID, "403", [("routes", "not read")]),
    "creation": (a_change(LB, "lb.create"), a_snapshot(), None, (SERVICES, BALANCERS)),
    "removal-by-a-kind-that-also-adds": (TARGET, a_snapshot(), None, (SERVICES, BALANCERS)),
})  # fmt: skip
def test_incomplete_snapshot(change: Change, snapshot: Snapshot, uid: str | None, gaps: Any) -> None:
    lists = [GuardResult.of(rows.LIST_INCOMPLETE, (change.key,), {"list": name, "error": why}) for name, why in gaps]
    unread = [GuardResult.of(rows.CLUSTER_UNREAD, (change.key,), {"error": uid})] if uid else []
    assert list(incomplete_snapshot(facts_of(Plan((change,)), snapshot, Settings()))) == [*unread, *lists]


HCCM = a_workload()
OURS = a_workload("hcloud-reconciler", images=("ghcr.io/example/hcloud-reconciler:1.0",))
DENIED = "Kubernetes API server: GET /apis/apps/v1/namespaces/kube-system/deployments answers 403 may not list"


@cases("workload expected", {
    "as the chart makes it": ({}, True),
    "scaled to 0, or not ready": ({"ready": 0}, False),
    "without containers": ({"images": ()}, False),
    "no registry, no tag": ({"images": ("hcloud-cloud-controller-manager",)}, True),
    "a mirror": ({"images": ("r.example.com:5000/m/hcloud-cloud-controller-manager",)}, True),
    "flat": ({"images": ("r.example.com/hetznercloud_hcloud-cloud-controller-manager:v1",)}, True),
    "in the tag": ({"images": ("r.example.com/mirror:hcloud-cloud-controller-manager-v1",)}, True),
    "by digest": ({"images": (f"h/hcloud-cloud-controller-manager@sha256:{'a' * 64}",)}, True),
    "the second": ({"images": ("proxy:1", "hetznercloud/hcloud-cloud-controller-manager:v1")}, True),
    "other software of Hetzner's": ({"images": ("hetznercloud/hcloud-csi-driver:v2",)}, False),
    "only the name": ({"name": "hcloud-cloud-controller-manager", "containers": OURS.containers}, False),
})  # fmt: skip
def test_other_controllers(workload: dict[str, Any], expected: bool) -> None:
    assert bool(sign_of_another(a_workload(**workload))) is expected


FLAG = "--cloud-provider=hcloud"
NETWORK, FAMILY = ("HCLOUD_TOKEN", "HCLOUD_NETWORK"), "HCLOUD_INSTANCES_ADDRESS_FAMILY"
FORK = "hetzner-cloud-controller-manager"


@cases("container sign", {
    "Syself's fork": (Container(f"ghcr.io/syself/{FORK}:v2"), FORK),
    "ccm-hetzner": (Container("r.example.com/ccm-hetzner:1"), "ccm-hetzner"),
    "hcloud-ccm": (Container("r.example.com/infra/hcloud-ccm"), "hcloud-ccm"),
    "its program": (Container("r.example.com/infra/cloud:1", ("/bin/hcloud-cloud-controller-manager",)), IMAGE),
    "its flag": (Container("r.example.com/infra/cloud:1", ("/ccm", FLAG)), FLAG),
    "its flag in two words": (Container("r.example.com/infra/cloud:1", ("--cloud-provider", "hcloud")), FLAG),
    "its flag in a shell": (Container("alpine", ("sh", "-c", f"exec /ccm {FLAG} --v=4")), FLAG),
    "its variables": (Container("cloud", (), (*NETWORK, FAMILY)), FAMILY),
    "the CSI driver": (Container("docker.io/hetznercloud/hcloud-csi-driver:v2", ("-controller",), NETWORK), ""),
    "the cluster autoscaler": (
        Container("k8s.io/cluster-autoscaler:v1", ("./cluster-autoscaler", "--cloud-provider=hetzner"), NETWORK),
        "",
    ),
    "another cloud's": (Container("registry.k8s.io/cloud-controller-manager:v1", ("--cloud-provider=aws",)), ""),
    "Cluster API's provider": (Container("ghcr.io/syself/caph:v1", ("--leader-elect",), ("HCLOUD_TOKEN",)), ""),
    "ours with HCCM's flags": (Container("r.example.com/hcloud-reconciler:1", (FLAG,), ("HCLOUD_INSTANCES_X",)), ""),
    "ours from a mirror": (Container("cloud:1", ("run",), (FAMILY,), "hcloud-reconciler"), ""),
    "ours by its program": (Container("r.example.com/cloud:1", ("reconcile", "run", FLAG)), ""),
})  # fmt: skip
def test_signs_of_another_controller(container: Container, sign: str) -> None:
    """HCCM's forks and copies have them; what shares its token has not."""
    assert container.sign == sign


def beside(controllers: Section[str, Workload] | None, *, joining: bool = True) -> Snapshot:
    """A Node to initialise and one in order, or the latter alone, with these controllers beside us."""
    nodes = [*([a_joining_node()] if joining else []), a_settled_node("web-2", 2)]
    return a_snapshot(nodes, [a_server(), a_server(2, "web-2")], controllers=controllers)


UNREADABLE: Section[str, Workload] = Section(unreadable={"deployment/kube-system/a": "no"})


@cases("controllers verdict notes", {
    "nobody looked": (None, Verdict.ALLOWED, []),
    "only ourselves": (workloads_of(OURS), Verdict.ALLOWED, []),
    "HCCM": (workloads_of(OURS, HCCM), Verdict.HELD, [HCCM.key]),
    "could not be read just now": (Section.missing("503"), Verdict.WAITING, ["plan"]),
    "no permission to look": (Section(unreadable={"apps": DENIED}), Verdict.ALLOWED, ["plan"]),
    "seen in half a list": (incomplete(workloads_of(HCCM)), Verdict.HELD, [HCCM.key, "plan"]),
    "unreadable": (UNREADABLE, Verdict.ALLOWED, ["plan"]),
})  # fmt: skip
def test_holds_beside_another_controller(
    controllers: Section[str, Workload] | None, verdict: Verdict, notes: list[str]
) -> None:
    snapshot = beside(controllers)
    plan = judge(compute_plan(snapshot, Settings()), snapshot, Settings())
    assert {change.decision.verdict for change in plan.changes} == {verdict}
    assert [note.key for note in plan.notes if note.kind is NoteKind.OTHER_CONTROLLER] == notes


OF_CLASS = {LABEL_OWN_CLASS_UID: SERVICE_UID, LABEL_CLASS: "internal", LABEL_CLUSTER_UID: CLUSTER_UID}


@pytest.mark.parametrize(
    ("balancer_class", "balancer"), [(None, a_balancer()), ("internal", a_balancer(spec={"labels": OF_CLASS}))]
)
def test_holds_beside_hccm_for_services_without_a_class(balancer_class: str | None, balancer: CloudBalancer) -> None:
    """Load balancers of a class are nobody else's; Nodes and routes still have two masters."""
    service = a_service(load_balancer_class=balancer_class)
    snapshot = replace(
        beside(workloads_of(HCCM)),
        serving=Serving(balancer_class),
        services=Section({service.id: service}),
        load_balancers=Section({42: balancer}),
    )
    plan = judge(compute_plan(snapshot, Settings()), snapshot, Settings())
    parts = {(change.row.controller, change.decision.rule) for change in plan.changes}
    held = "other-controller" if balancer_class is None else None
    assert parts == {(Controller.NODE, "other-controller"), (Controller.SERVICE, held)}


def test_the_hold_of_another_controller() -> None:
    snapshot = beside(workloads_of(HCCM, a_workload("ccm", kind="DaemonSet")))
    plan = compute_plan(snapshot, Settings())
    (hold,) = judge(plan, snapshot, Settings()).holds
    assert (hold.rule, hold.value, hold.limit, hold.keys) == ("other-controller", "2", "0", tuple(plan.by_key))
    workloads = "DaemonSet kube-system/ccm, Deployment kube-system/hcloud-cloud-controller-manager"
    assert hold.said == rows.CONTROLLER_RUNS.text(sign=IMAGE, workloads=workloads)
    assert judge(plan, snapshot, Settings(), [hold.hash]).allowed == plan.changes


@pytest.mark.parametrize("only", [(), ("node/web-2",)])
def test_another_controller_is_told_of_an_empty_plan(only: tuple[str, ...]) -> None:
    snapshot = beside(workloads_of(HCCM), joining=False)
    plan = restrict(judge(compute_plan(snapshot, Settings()), snapshot, Settings()), only)
    assert (plan.changes, plan.holds) == ((), ())
    workload = "Deployment kube-system/hcloud-cloud-controller-manager"
    assert rows.CONTROLLER_RUNS.note(HCCM.key, sign=IMAGE, workloads=workload) in plan.notes


def test_why_another_controller_cannot_be_told() -> None:
    assert controller_notes(beside(Section.missing(DENIED))) == (rows.CONTROLLER_UNKNOWN.note(PLAN, error=DENIED),)


HOUR, SECOND, NONE = timedelta(hours=1), timedelta(seconds=1), timedelta(0)
AHEAD = Clocks(hetzner=-HOUR, process=-HOUR)
"""Kubernetes' clock is an hour ahead of the two others."""
BOTH, HERE = "Hetzner and this machine", "Kubernetes and this machine"
BY_AN_HOUR = "about 60 minutes ahead of"
MACHINE = rows.MACHINE_CLOCK_OFF.text(apart="about 30 hours ahead of", others="Kubernetes and Hetzner")
REPLICA = rows.API_SERVERS_DIFFER.text(apart="about 10 days")


def off(clock: str, apart: str, others: str) -> str:
    return rows.CLOCKS_DIFFER.text(clock=clock, apart=apart, others=others)


@cases("clocks differ expected", {
    "no-other-clock-is-known": (Clocks(), False, None),
    "all-within-a-minute": (Clocks(60 * SECOND, -60 * SECOND, 60 * SECOND), False, None),
    "kubernetes-ahead": (AHEAD, True, off("Kubernetes", BY_AN_HOUR, BOTH)),
    "two-clocks-alone": (Clocks(-HOUR), True, off("Kubernetes", BY_AN_HOUR, "Hetzner")),
    "two-agree": (Clocks(-HOUR, NONE), True, off("Hetzner", "about 60 minutes behind", HERE)),
    "no-two-agree": (Clocks(-HOUR, HOUR), True, off("Kubernetes", BY_AN_HOUR, "Hetzner")),
    "hetzner-unknown": (Clocks(None, -61 * SECOND), True, off("Kubernetes", "about 1 minute ahead of", "this machine")),
    "only-this-machine": (Clocks(SECOND, 30 * HOUR), False, MACHINE),
    "one-replica-of-several": (Clocks(NONE, NONE, 240 * HOUR), True, REPLICA),
})  # fmt: skip
def test_clocks_that_are_off(clocks: Clocks, differ: bool, expected: str | None) -> None:
    notes = clock_notes(replace(a_fleet(), clocks=clocks))
    assert clocks.differ is differ
    assert [(note.key, note.text) for note in notes] == ([] if expected is None else [("plan", expected)])


def five_of_eight(clocks: Clocks) -> Snapshot:
    """Five of eight Nodes are silent for an hour by the API server's clock, and their servers are gone."""
    silent = [a_lost_node(f"lost-{i}", i, ready_since=NOW - HOUR) for i in range(1, 6)]
    ready = [a_settled_node(f"ready-{i}", i) for i in range(6, 9)]
    return replace(a_fleet(*silent, *ready, gone=range(1, 6)), clocks=clocks)


@cases("clocks is_approved decision", {
    "clocks-that-agree": (Clocks(NONE, NONE), False, (Verdict.ALLOWED, None, None)),
    "only-this-machine-is-off": (Clocks(NONE, HOUR), False, (Verdict.ALLOWED, None, None)),
    "kubernetes-is-ahead": (AHEAD, False, (Verdict.HELD, "node-blast-radius", LOOK_AGAIN_S)),
    "no-approval-sets-a-clock": (AHEAD, True, (Verdict.WAITING, "clock-skew", LOOK_AGAIN_S)),
})  # fmt: skip
def test_nodes_that_seem_given_up(clocks: Clocks, is_approved: bool, decision: tuple[Verdict, str | None, Any]) -> None:
    snapshot = five_of_eight(clocks)
    plan = compute_plan(snapshot, Settings())
    approved = [hold.hash for hold in judge(plan, snapshot, Settings()).holds if is_approved]
    found = [
        each.decision for each in judge(plan, snapshot, Settings(), approved).changes if each.kind == "node.delete"
    ]
    assert [(each.verdict, each.rule, each.due_in_s) for each in found] == [decision] * 5
