"""Controllers that die in the midst of it: replicas of the product, and kube-controller-manager."""

import signal

import pytest

from tests.support.control_plane import ControlPlane
from tests.support.controller import running
from tests.support.living_cluster import BRISKLY, LivingCluster
from tests.support.measured import DEADLINE_S, Stopwatch
from tests.support.replicas import replicas
from tests.support.stage import wait_for

APPS = ("web", "api", "admin")


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_two_replicas_work_under_load_and_take_turns(
    cluster: LivingCluster, control_plane: ControlPlane, measured: Stopwatch
) -> None:
    """The one that leads is killed while machines join and leave and Services come and go; so is the other one later,
    politely. In the end everything is there, and nothing is there twice."""
    with replicas(cluster.stage, control_plane.api_server.ca_file, "one", "two", token=cluster.token) as (one, two):
        one.start("run", *BRISKLY)
        one.waits_for_lead()
        two.start("run", *BRISKLY)
        cluster.join("n-1", "n-2", "n-3")
        for app in APPS:
            cluster.deploy(app, 2)
            cluster.expose(app)
        wait_for(lambda: len(one.writes()) > 5, "the first one to be at work", within_s=DEADLINE_S)

        measured.start()
        one.send(signal.SIGKILL)
        one.ends()
        cluster.join("n-4", "n-5")
        cluster.stage.delete_service("admin")
        two.waits_for_lead()
        cluster.drain("n-1")
        cluster.delete_server("n-1")
        one.start("run", *BRISKLY)
        left = {"n-2", "n-3", "n-4", "n-5"}
        settled = {
            "Nodes": lambda: cluster.stage.nodes().keys() == left and all(map(cluster.is_open, left)),
            "routes": lambda: all(map(cluster.is_routed, left)) and len(cluster.stage.routes()) == len(left),
            "targets": lambda: all(cluster.serves(app, left) for app in ("web", "api")),
            "load balancers": lambda: (
                len(cluster.balancers()) == 2 and cluster.stage.services().keys() == {"web", "api"}
            ),
        }
        measured.wait_for(settled)

        measured.start()
        two.send(signal.SIGTERM)
        assert two.ends() == 0
        cluster.join("n-6")
        left.add("n-6")
        measured.wait_for(settled)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_kube_controller_manager_is_killed_while_machines_join(
    cluster: LivingCluster, control_plane: ControlPlane, measured: Stopwatch
) -> None:
    """Nodes that register meanwhile are initialized, and stay closed: they have no pods' addresses yet, and so no
    route. Once it is back they get both, and pods."""
    late = ("n-2", "n-3")
    with running(cluster.stage, *BRISKLY):
        cluster.expose("web")
        cluster.join("n-1")
        wait_for(lambda: cluster.is_routed("n-1"), "the first Node", within_s=DEADLINE_S)

        control_plane.kill("kube-controller-manager")
        cluster.join(*late)
        cluster.deploy("web", 4)
        wait_for(lambda: not any(map(cluster.is_new, late)), "both to be initialized", within_s=DEADLINE_S)
        assert not any(map(cluster.is_open, late))
        assert len(cluster.stage.routes()) == 1

        measured.start()
        control_plane.start_controller_manager()
        everyone = {"n-1", *late}
        measured.wait_for(
            {
                "back: open": lambda: all(map(cluster.is_open, everyone)),
                "routed": lambda: all(map(cluster.is_routed, everyone)) and len(cluster.stage.routes()) == 3,
                "targets": lambda: cluster.serves("web", everyone),
                "pods": lambda: cluster.runs("web", 4),
            }
        )
