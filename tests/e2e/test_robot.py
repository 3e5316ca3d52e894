"""Clusters that mix cloud and dedicated servers, against the real kube-apiserver."""

from typing import TYPE_CHECKING, Any

import pytest

from desired.names import TAINT_UNINITIALIZED
from tests.support.balancer_cluster import LOCATED, a_service, have_services
from tests.support.lifecycle import AT_ANY_AGE, SHUTDOWN, add_servers, set_ready, taints
from tests.support.objects import joining_node, server
from tests.support.stage import Ran, Stage

if TYPE_CHECKING:
    from reconciler.sandbox.robot import RobotSimulator

ONCE = ("--once", "--output", "json", *AT_ANY_AGE)
CLOUD = {1: "web-1", 2: "web-2", 3: "web-3"}
DEDICATED = {11: "db-1", 12: "db-2", 13: "db-3"}


def dedicated(number: int, **fields: Any) -> dict[str, Any]:
    """One of the dedicated servers."""
    return {"server_number": number, "server_name": DEDICATED[number], "server_ip": f"192.0.2.{number}", **fields}


class Mixed:
    """Three servers of each kind, whose Nodes have joined, and a Service for all."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        stage.environment |= LOCATED
        stage.servers(*(server(number, name) for number, name in CLOUD.items()))
        self.robot: RobotSimulator = stage.with_robot(*map(dedicated, DEDICATED))
        stage.register(*(joining_node(name) for name in (*CLOUD.values(), *DEDICATED.values())))
        have_services(stage, a_service())
        self.joined = self.once()
        set_ready(stage, *CLOUD.values(), *DEDICATED.values(), ready="True")

    def once(self) -> Ran:
        """One run."""
        return self.stage.reconcile(*ONCE)

    def targets(self) -> list[str]:
        """Where the load balancer sends traffic."""
        (balancer,) = self.stage.project.world()["hetzner"]["load_balancers"]
        return sorted(str(t["server"]["id"]) if t["type"] == "server" else t["ip"]["ip"] for t in balancer["targets"])

    def paths(self) -> list[str]:
        """What Robot was asked since the last time."""
        assert self.stage.robot_proxy is not None
        asked = [entry.path for entry in self.stage.robot_proxy.journal.entries()]
        self.stage.robot_proxy.journal.clear()
        return asked


@pytest.fixture
def mixed(stage: Stage) -> Mixed:
    """The cluster, in order."""
    return Mixed(stage)


def test_a_mixed_cluster_joins(mixed: Mixed) -> None:
    """Each Node by its own cloud, and one load balancer for all of them; another run has nothing to do."""
    nodes = mixed.stage.nodes()

    assert mixed.joined.code == 0, mixed.joined.stderr + mixed.joined.stdout
    assert {name: node["spec"]["providerID"] for name, node in nodes.items()} == {
        **{name: f"hcloud://{number}" for number, name in CLOUD.items()},
        **{name: f"hrobot://{number}" for number, name in DEDICATED.items()},
    }
    assert not {TAINT_UNINITIALIZED} & set().union(*map(taints, nodes.values()))
    assert mixed.targets() == ["1", "192.0.2.11", "192.0.2.12", "192.0.2.13", "2", "3"]
    assert mixed.once().report["result"] == "no_changes"


def test_a_dedicated_server_is_lost(mixed: Mixed) -> None:
    """Its target and its Node go, once the list and a question by number say that it is gone."""
    set_ready(mixed.stage, "db-1", ready="Unknown", since="2026-01-01T00:00:00Z")
    mixed.robot.replace_world({"servers": [dedicated(12), dedicated(13)]})
    mixed.paths()

    ran = mixed.once()

    assert ran.code == 0, ran.stderr
    assert sorted(mixed.stage.nodes()) == ["db-2", "db-3", "web-1", "web-2", "web-3"]
    assert mixed.targets() == ["1", "192.0.2.12", "192.0.2.13", "2", "3"]
    assert mixed.paths() == ["/server", "/server/11", "/server/11"]


def test_a_dedicated_server_is_switched_off(mixed: Mixed) -> None:
    """Its Node is tainted, and keeps its target."""
    set_ready(mixed.stage, "db-1", ready="Unknown")
    mixed.robot.replace_world({"servers": [dedicated(11, operating_status="shut off"), *map(dedicated, (12, 13))]})

    assert mixed.once().code == 0

    assert SHUTDOWN in taints(mixed.stage.nodes()["db-1"])
    assert "192.0.2.11" in mixed.targets()


@pytest.mark.parametrize(
    ("code", "body", "most"),
    [
        pytest.param(503, "maintenance", 2, id="maintenance"),
        pytest.param(401, {"error": {"status": 401, "code": "UNAUTHORIZED", "message": "no"}}, 1, id="wrong password"),
        pytest.param(403, "", 1, id="locked out"),
    ],
)
def test_robot_is_out_of_reach(mixed: Mixed, code: int, body: Any, most: int) -> None:
    """Cloud Nodes and targets come and go as ever; no dedicated one does, however silent it is."""
    stage = mixed.stage
    mixed.paths()
    assert stage.robot_proxy is not None
    stage.robot_proxy.set_faults([{"kind": "status", "code": code, "body": body, "count": None}])
    set_ready(stage, "db-1", ready="Unknown", since="2026-01-01T00:00:00Z")
    stage.cluster.request("DELETE", "/api/v1/nodes/web-3")
    add_servers(stage, server(4, "web-4"))
    stage.register(joining_node("web-4"), joining_node("db-4"))

    mixed.once()

    assert sorted(stage.nodes()) == ["db-1", "db-2", "db-3", "db-4", "web-1", "web-2", "web-4"]
    assert stage.nodes()["web-4"]["spec"]["providerID"] == "hcloud://4"
    assert "providerID" not in stage.nodes()["db-4"]["spec"]
    assert mixed.targets() == ["1", "192.0.2.11", "192.0.2.12", "192.0.2.13", "2", "4"]
    assert len(mixed.paths()) <= most
