"""The command ``reconcile orphans`` against both simulators: what it lists, what it deletes, and what it leaves."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from desired.model.record import Stamp
from desired.model.remembered import Remembered
from desired.plan.controller_record import RECORD, ControllerRecord
from desired.rules.guards import PROJECT_MISMATCH
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from hcloud_sandbox.robot import RobotSimulator
from reconciler.runtime import open_cloud, open_cluster
from tests.builders import CLUSTER_UID, NOW
from tests.support.dedicated import dedicated, robot_node
from tests.support.objects import server, settled_node
from tests.support.rows import rows
from tests.support.said import CommandLine, Said
from tests.support.schemas import published
from tests.support.simulators import READ_ONLY_TOKEN, Simulation

VIEWER = "viewer"
"""A token of the API server that may get and list."""
CLUSTER = "hcloud-reconciler/cluster-uid"
SERVICE = "hcloud-ccm/service-uid"
RELEASED = "hcloud-reconciler/released"
WEB, GONE = "aaaaaaaa-0000-0000-0000-000000000001", "dddddddd-0000-0000-0000-000000000009"


Orphans = Callable[..., Said]


def service(name: str, uid: str, kind: str = "LoadBalancer", **annotations: str) -> dict[str, Any]:
    """A Service that lives."""
    return {
        "metadata": {"name": name, "namespace": "default", "uid": uid, "annotations": annotations},
        "spec": {"type": kind, "ports": [{"port": 80, "nodePort": 30080} if kind == "LoadBalancer" else {"port": 80}]},
    }


def balancer(number: int, name: str, protected: bool = False, **labels: str) -> dict[str, Any]:
    """A load balancer with these labels, by short names."""
    keys = {
        "cluster": CLUSTER,
        "service": SERVICE,
        "released": RELEASED,
        "former": "hcloud-reconciler/service",
        "delete_after": "hcloud-reconciler/delete-after",
    }
    return {
        "id": number,
        "name": name,
        "labels": {keys[key]: value for key, value in labels.items()},
        "protection": {"delete": protected},
        "created": "2027-01-03T08:00:00Z",
    }


ORPHAN = balancer(42, "left-over", cluster=CLUSTER_UID, service=GONE)
LET_GO = balancer(43, "let-go", cluster=CLUSTER_UID, released="20270110T080000Z")
PROTECTED = balancer(44, "kept", protected=True, cluster=CLUSTER_UID, released="20270110T080000Z")
OTHERS = [
    balancer(50, "a-of-web", cluster=CLUSTER_UID, service=WEB),
    balancer(51, "another-cluster", cluster="99999999-8888-7777-6666-555555555555", service=GONE),
    balancer(52, "of-hccm", service=GONE),
    balancer(53, "by-hand"),
]
"""Load balancers that are none of the command's business."""


@pytest.fixture
def world(simulate: Callable[..., Simulation]) -> Simulation:
    """A cluster with one Service and its load balancer; three orphans, and load balancers of others."""
    sim = simulate(
        project={"servers": [server(1, "web-1")], "load_balancers": [ORPHAN, LET_GO, PROTECTED, *OTHERS]},
        kubernetes_tokens={"admin": None, VIEWER: ["get", "list"]},
        options=HetznerOptions(action_s=0),
        robot=[dedicated(7)],
    )
    set_cluster(sim)
    return sim


def set_cluster(
    sim: Simulation, *services: dict[str, Any], nodes: list[Any] | None = None, record: str | None = None
) -> None:
    """Let the cluster have these Services besides ``web``, and these Nodes or else the one that is server 1."""
    meta = {"name": "hcloud-reconciler", "namespace": "kube-system"}
    sim.kubernetes.replace_world(
        {
            "namespaces": [{"metadata": {"name": "kube-system", "uid": CLUSTER_UID}}],
            "nodes": [settled_node("web-1", 1)] if nodes is None else nodes,
            "services": [service("web", WEB), *services],
            "configmaps": [{"metadata": meta, "data": {} if record is None else {"record": record}}],
        }
    )


@pytest.fixture
def orphans(world: Simulation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Orphans:
    """Runs the command with a token that may write only where something is to be deleted."""

    @contextmanager
    def without_waiting(_grace_s: float) -> Iterator[threading.Event]:
        yield world.stop

    monkeypatch.setattr("reconciler.cli.reading.stop_within", without_waiting)

    def run(*words: str, **variables: str) -> Said:
        token = HetznerSimulator.TOKEN if "--delete" in words else READ_ONLY_TOKEN
        usual = {"HCLOUD_TOKEN": token, "HCLOUD_ENDPOINT": world.endpoint}
        command = CommandLine(monkeypatch, capsys, usual, published("orphans.schema.json"))
        return command("orphans", "--kubeconfig", str(world.kubeconfig(VIEWER)), *words, **variables)

    return run


def balancers(sim: Simulation) -> set[int]:
    """Ids of all load balancers that there truly are."""
    sim.clock.advance(60)
    return {found["id"] for found in sim.hetzner.world()["hetzner"]["load_balancers"]}


EVERYTHING = {42, 43, 44, 50, 51, 52, 53}


def listed(orphans: Orphans, *words: str) -> dict[int, Any]:
    """Id → what JSON says of each orphan, where nothing went wrong."""
    said = orphans("--output", "json", *words)
    assert (said.code, said.stderr) == (0, "")
    return {found["id"]: found for found in said.document["orphans"]}


def test_what_is_listed(orphans: Orphans) -> None:
    """Everything with our cluster's label and without a living Service, with why; nothing of anybody else's."""
    found = listed(orphans)

    assert {key: orphan["why"] for key, orphan in found.items()} == {
        42: f"its Service (UID {GONE}) no longer exists",
        43: "released with its Service on 2027-01-10 08:00 UTC, and no Service requests its name",
        44: "released with its Service on 2027-01-10 08:00 UTC, and no Service requests its name",
    }
    assert [orphan["protected"] for orphan in found.values()] == [False, False, True]


def test_one_that_lost_its_labels(orphans: Orphans, world: Simulation) -> None:
    """Its name tells that a controller made it for a Service: listed with its price, and kept where it is named."""
    bare = {**balancer(70, "a0b9c5b1e7a434c0e9d553f1f5f0c2a1"), "labels": {}}
    project = world.hetzner.world()["hetzner"]
    world.hetzner.replace_world({**project, "load_balancers": [*project["load_balancers"], bare]})

    found = listed(orphans)[70]

    assert found["why"] == "named as the default of a Service, but no Service of this cluster has that UID"
    assert float(found["monthly_gross"]) > 0
    said = orphans("--delete", "70")
    assert (said.code, 70 in balancers(world)) == (1, True)
    assert "no label names its owner; if unused: hcloud load-balancer delete 70" in said.stdout


def test_listing_only_looks(orphans: Orphans, world: Simulation) -> None:
    """Rights to read are enough, and nothing but reads is sent."""
    assert len(listed(orphans)) == 3
    assert {entry.method for entry in (*world.sent_to_kubernetes(), *world.sent_to_hetzner())} == {"GET"}
    assert balancers(world) == EVERYTHING


@pytest.mark.parametrize(("words", "writes"), [([], False), (["--delete"], True)], ids=["list", "delete"])
def test_what_connections_are_opened_for(
    orphans: Orphans, monkeypatch: pytest.MonkeyPatch, words: list[str], writes: bool
) -> None:
    """A list holds nothing that could write; a deletion writes to Hetzner alone."""
    opened: dict[str, bool] = {}

    def note(name: str, connect: Callable[..., Any]) -> Callable[..., Any]:
        def connected(*given: Any, read_only: bool) -> Any:
            opened[name] = read_only
            return connect(*given, read_only=read_only)

        return connected

    for name, connect in (("cloud", open_cloud), ("cluster", open_cluster)):
        monkeypatch.setattr(f"reconciler.cli.orphans.open_{name}", note(name, connect))

    assert orphans(*words).code == 0
    assert opened == {"cloud": not writes, "cluster": True}


def test_a_cluster_without_services(orphans: Orphans, world: Simulation) -> None:
    """Where no Service wants a load balancer a pass reads none; this command does all the same."""
    world.kubernetes.replace_world(
        {"namespaces": [{"metadata": {"name": "kube-system", "uid": CLUSTER_UID}}], "nodes": [settled_node("web-1", 1)]}
    )

    assert set(listed(orphans)) == {42, 43, 44, 50}


def test_a_part_that_is_switched_off(orphans: Orphans) -> None:
    """Where load balancers are switched off, what is left over of them is found all the same."""
    said = orphans("--output", "json", HCLOUD_LOAD_BALANCERS_ENABLED="false")

    assert (said.code, len(said.document["orphans"])) == (0, 3)


@pytest.mark.parametrize("words", [["42"], ["42", "42"], ["042"]])
def test_only_some_are_listed(orphans: Orphans, words: list[str]) -> None:
    assert set(listed(orphans, *words)) == {42}


def test_deletion(orphans: Orphans, world: Simulation) -> None:
    """What was left behind is gone; what was released on purpose or is protected stays; nobody else's is touched."""
    said = orphans("--delete")

    assert (said.code, said.stderr) == (0, "")
    assert "3 load balancers left over: 1 deleted, 0 not deleted, 2 still there." in said.stdout
    assert "released on purpose; to delete it and its addresses: reconcile orphans --delete 43" in said.stdout
    assert balancers(world) == EVERYTHING - {42}
    assert {entry.method for entry in world.sent_to_kubernetes()} == {"GET"}
    writes = [(entry.method, entry.path) for entry in world.sent_to_hetzner() if entry.method != "GET"]
    assert writes == [("DELETE", "/v1/load_balancers/42")]


@pytest.mark.parametrize("text", ["1", "true", "false", ""])
def test_no_variable_deletes(orphans: Orphans, world: Simulation, text: str) -> None:
    """A variable that lies in a shell turns no listing into a deletion; it is an error that names the flag."""
    said = orphans(HCLOUD_TOKEN=HetznerSimulator.TOKEN, RECONCILER_DELETE=text)

    assert said.code == 1
    assert said.stderr == (
        "reconcile: error: RECONCILER_DELETE is no variable: give --delete on the command line, each time that it is"
        " meant\n"
    )
    assert balancers(world) == EVERYTHING


def test_only_some_are_deleted(orphans: Orphans, world: Simulation) -> None:
    """With ids only these go, what was released on purpose as well."""
    assert orphans("--delete", "43").code == 0
    assert balancers(world) == EVERYTHING - {43}


@rows(
    "number why",
    {
        "none such": ("7", "the project has no load balancer 7"),
        "a Service's": (
            "50",
            "load balancer 50 a-of-web is no orphan of this cluster: it has the label of Service default/web",
        ),
        "another cluster's": ("51", "load balancer 51 another-cluster is no orphan of this cluster"),
        "nobody's": ("53", "load balancer 53 by-hand is no orphan of this cluster"),
    },
)
def test_an_id_that_is_no_orphan(orphans: Orphans, world: Simulation, number: str, why: str) -> None:
    """A wrong id is an error, and nothing at all is deleted: the others may be wrong as well."""
    said = orphans("--delete", "42", number)

    assert (said.code, said.stderr) == (1, f"reconcile: error: {why}\n")
    assert balancers(world) == EVERYTHING


def test_a_protected_one_by_its_id(orphans: Orphans, world: Simulation) -> None:
    """Who asks for it is told that it stays, and the exit code says so."""
    said = orphans("--delete", "42", "44")

    assert said.code == 1
    assert "not deleted: protected against deletion" in said.stdout
    assert balancers(world) == EVERYTHING - {42}


@pytest.mark.parametrize("words", [["x"], ["--delete", "4.2"], ["-1"], ["--delete=maybe"], ["--once"]])
def test_bad_usage(orphans: Orphans, world: Simulation, words: list[str]) -> None:
    try:
        code = orphans(*words).code
    except SystemExit as error:
        code = int(str(error.code))

    assert code == 64
    assert world.sent_to_hetzner() == []


# --- when nothing may be deleted ---


def refused(orphans: Orphans, world: Simulation, *words: str) -> str:
    """The one error of a deletion that did nothing."""
    said = orphans("--delete", *words)
    assert said.code == 1
    assert balancers(world) == EVERYTHING
    assert {entry.method for entry in world.sent_to_hetzner()} == {"GET"}
    (line,) = said.stderr.splitlines()
    return line.removeprefix("reconcile: error: ")


def test_another_project(orphans: Orphans, world: Simulation) -> None:
    """Where the Ready Nodes' servers are not found, nothing goes, whatever the labels say."""
    set_cluster(world, nodes=[settled_node("web-1", 98), settled_node("web-2", 99)])
    why = PROJECT_MISMATCH.text(found=0, most=2, needed=1)

    assert refused(orphans, world).startswith(f"nothing is deleted: {why}")

    said = orphans("--output", "json")
    assert (said.code, said.document["result"]) == (0, "orphans")
    assert said.document["obstacle"].startswith(why)
    assert f"Nothing could be deleted now: {why}" in orphans().stdout


def test_nodes_that_are_ignored_are_no_anchor(orphans: Orphans, world: Simulation) -> None:
    """The anchor is that of the running controller when it is given the same Nodes to ignore."""
    set_cluster(
        world, nodes=[settled_node("web-1", 1), *(settled_node(f"x-{n}", n, example_com__x="") for n in (7, 8))]
    )

    refused(orphans, world)
    assert orphans("--delete", "--ignore-nodes", "example-com/x").code == 0


@rows(
    "api path why",
    {
        "servers": ("hetzner", "/v1/servers", "cannot verify the project of HCLOUD_TOKEN"),
        "load balancers": ("hetzner", "/v1/load_balancers", "the list of load balancers is not whole: "),
        "Services": (
            "kubernetes",
            "/api/v1/services",
            "cannot determine which load balancers are orphaned: list of services is ",
        ),
        "identity": ("kubernetes", "/api/v1/namespaces/kube-system", "cannot read the UID of the cluster"),
    },
)
def test_what_cannot_be_read(orphans: Orphans, world: Simulation, api: str, path: str, why: str) -> None:
    """Nothing goes while it is not certain whose the load balancers are, and that all are seen; without its load
    balancers or Services a list is an error too."""
    spoil = world.spoil_hetzner if api == "hetzner" else world.spoil_kubernetes
    spoil("status", code=503, path=path, count=None)

    assert why in refused(orphans, world)
    if path in ("/v1/load_balancers", "/api/v1/services"):
        said = orphans("--output", "json")
        assert (said.code, said.document["result"]) == (1, "error")


def test_a_cluster_that_is_down(orphans: Orphans, world: Simulation) -> None:
    """Without a Ready Node, and with none found, what the cluster remembers proves the project, and its label alone
    does not."""
    lost = [settled_node("web-1", 98, "Unknown")]
    set_cluster(world, nodes=lost)
    assert refused(orphans, world).startswith("nothing is deleted: no Node is Ready")

    record = ControllerRecord(project=Remembered(None, (42,)))
    set_cluster(world, nodes=lost, record=RECORD.write(record, Stamp(CLUSTER_UID, "", NOW)))
    assert orphans("--delete").code == 0
    assert balancers(world) == EVERYTHING - {42}


def test_a_token_that_may_only_read(orphans: Orphans, world: Simulation) -> None:
    said = orphans("--delete", "42", "43", HCLOUD_TOKEN=READ_ONLY_TOKEN)

    assert said.code == 1
    assert said.stdout.count("not deleted: Hetzner API ") == 2
    assert "2 not deleted, 2 still there" in said.stdout
    assert balancers(world) == EVERYTHING


def test_a_signal(orphans: Orphans, world: Simulation) -> None:
    """After a signal nothing more is begun, and the exit code says that not all was done."""
    world.stop.set()

    said = orphans("--delete", "42", "43")

    assert (said.code, said.stdout.count("not deleted: stopped before it began")) == (1, 2)
    assert balancers(world) == EVERYTHING


def test_ctrl_c(orphans: Orphans, world: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:

    @contextmanager
    def interrupted(_grace_s: float) -> Iterator[threading.Event]:
        yield world.stop
        raise KeyboardInterrupt

    monkeypatch.setattr("reconciler.cli.reading.stop_within", interrupted)

    said = orphans("--delete", "42")

    assert (said.code, said.stderr, "left-over" in said.stdout) == (130, "reconcile: interrupted\n", True)
    assert orphans().stdout == ""


def test_one_that_cannot_be_deleted(orphans: Orphans, world: Simulation) -> None:
    """A failure keeps no other from going, and is in the exit code."""
    world.spoil_hetzner(
        "status",
        code=422,
        path="/v1/load_balancers/42",
        method="DELETE",
        count=None,
        body={"error": {"code": "invalid_input", "message": "no"}},
    )

    said = orphans("--delete", "42", "43", "--output", "json")

    assert (said.code, said.document["result"]) == (1, "partial")
    assert {found["id"]: (found["outcome"] or {}).get("state") for found in said.document["orphans"]} == {
        42: "failed",
        43: "deleted",
    }
    assert balancers(world) == EVERYTHING - {43}


def test_a_terminal_is_told_what_will_go(orphans: Orphans, world: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who watches sees what is about to be deleted before it is."""
    seen: list[set[str]] = []
    monkeypatch.setattr("reconciler.cli.orphans.is_terminal", lambda _stream: True)
    monkeypatch.setattr(
        "reconciler.cli.orphans.say", lambda _line: seen.append({entry.method for entry in world.sent_to_hetzner()})
    )

    assert orphans("--delete", "42", "43").code == 0
    assert seen == [{"GET"}, {"GET"}]


def with_robot(world: Simulation, **variables: str) -> dict[str, str]:
    """The variables by which the account is read."""
    assert world.robot_proxy is not None
    login = {"ROBOT_USER": RobotSimulator.USER, "ROBOT_PASSWORD": RobotSimulator.PASSWORD}
    return {"ROBOT_ENABLED": "true", "ROBOT_ENDPOINT": world.robot_proxy.url, **login, **variables}


def have_targets(world: Simulation, *addresses: str) -> None:
    """Let the load balancer of the Service send traffic there, and a Node on the dedicated server join."""
    targets = [{"type": "ip", "ip": {"ip": address}} for address in addresses]
    project = world.hetzner.world()["hetzner"]
    found = [each | ({"targets": targets} if each["id"] == 50 else {}) for each in project["load_balancers"]]
    world.hetzner.replace_world({**project, "load_balancers": found})
    set_cluster(world, nodes=[settled_node("web-1", 1), robot_node(7)])


def test_addresses_of_nobody(orphans: Orphans, world: Simulation) -> None:
    """Are shown beside the orphans, and stay: what a Node has, or a server of the account, is not among them."""
    have_targets(world, "192.0.2.7", "10.1.0.7", "10.1.0.66", "198.51.100.99")

    said = orphans("--output", "json", **with_robot(world))

    assert said.document["stray_addresses"] == [
        {"load_balancer": 50, "name": "a-of-web", "ip": ip, "why": why}
        for ip, why in {
            "10.1.0.66": "belongs to no Node of the cluster (Robot lists no private addresses)",
            "198.51.100.99": "belongs to no Node of the cluster and no server of the Robot account",
        }.items()
    ]
    assert said.code == 0
    assert orphans("--delete", **with_robot(world)).code == 0
    assert balancers(world) == EVERYTHING - {42}
    (served,) = (each for each in world.hetzner.world()["hetzner"]["load_balancers"] if each["id"] == 50)
    assert len(served["targets"]) == 4


def test_addresses_while_robot_is_out_of_reach(orphans: Orphans, world: Simulation) -> None:
    """Nothing is said of them, and orphans are deleted all the same: those are of Hetzner Cloud."""
    have_targets(world, "198.51.100.99")
    world.spoil_robot("status", code=503, body="maintenance", count=None)

    said = orphans("--delete", "--output=json", **with_robot(world))

    assert said.code == 0, said
    assert said.document["stray_addresses"] == []
    assert balancers(world) == EVERYTHING - {42}
