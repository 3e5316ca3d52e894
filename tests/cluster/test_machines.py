"""What happens to machines, from the machine to the pods: as users of a cluster see it."""

from collections.abc import Callable, Iterator

import pytest

from tests.support.control_plane import USUAL, ControlPlane
from tests.support.controller import running
from tests.support.kubelets import come_back, fall_silent
from tests.support.living_cluster import BRISKLY, LivingCluster
from tests.support.measured import DEADLINE_S, Stopwatch
from tests.support.objects import AUTOSCALER, SHUTDOWN
from tests.support.stage import wait_for

POOL = {"example.com/pool": "new"}
NAMES = *OTHERS, LAST = "n-1", "n-2", "n-3", "n-4"


@pytest.fixture
def served(cluster: LivingCluster) -> Iterator[LivingCluster]:
    """Four Nodes, and a Service whose four pods run on all of them, in front of which a load balancer stands."""
    with running(cluster.stage, *BRISKLY):
        _serve(cluster)
        yield cluster


def _serve(cluster: LivingCluster, patience_s: int | None = 2) -> None:
    cluster.expose("web")
    cluster.join(*NAMES)
    wait_for(lambda: all(map(cluster.is_open, NAMES)), "Nodes", within_s=DEADLINE_S)
    cluster.deploy("web", 4, patience_s=patience_s)
    wait_for(lambda: cluster.pods_run_on("web") == list(NAMES), "a pod on each", within_s=DEADLINE_S)
    wait_for(lambda: all(map(cluster.is_routed, NAMES)), "routes", within_s=DEADLINE_S)
    wait_for(lambda: cluster.serves("web", NAMES), "targets", within_s=DEADLINE_S)


def test_a_machine_joins(cluster: LivingCluster, measured: Stopwatch) -> None:
    """It is open to pods, which are reached, and the load balancer leads to it; a pod that waits for it runs there."""
    with running(cluster.stage, *BRISKLY):
        cluster.join("n-1")
        cluster.expose("web")
        cluster.deploy("web", 1, on=POOL)
        wait_for(lambda: cluster.serves("web", ["n-1"]), "the first Node", within_s=DEADLINE_S)

        measured.start()
        cluster.join("n-2", **POOL)

        measured.wait_for(
            {
                "open": lambda: cluster.is_open("n-2"),
                "routed": lambda: cluster.is_routed("n-2"),
                "a target": lambda: cluster.serves("web", ["n-1", "n-2"]),
                "runs the pod": lambda: cluster.pods_run_on("web") == ["n-2"],
            }
        )


def test_a_server_is_deleted(served: LivingCluster, measured: Stopwatch) -> None:
    """Nothing leads to it any more, its Node goes, and its pod runs elsewhere; the other three stay as they are."""
    _lose_a_machine(served, measured)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_server_is_deleted_with_everything_as_it_is_by_default(
    a_cluster: Callable[..., LivingCluster], control_plane: ControlPlane, measured: Stopwatch
) -> None:
    """The same as long as it takes where nobody has set anything, in Kubernetes or in the product."""
    control_plane.run_with(USUAL)
    cluster = a_cluster()
    with running(cluster.stage):
        _serve(cluster, patience_s=None)
        _lose_a_machine(cluster, measured, within_s=900)


def _lose_a_machine(cluster: LivingCluster, measured: Stopwatch, within_s: float = DEADLINE_S) -> None:
    cidr = cluster.stage.nodes()[LAST]["spec"]["podCIDR"]

    measured.start()
    cluster.delete_server(LAST)

    measured.wait_for(
        {
            "no target": lambda: cluster.serves("web", OTHERS),
            "silence noticed": lambda: not cluster.is_heard(LAST),
            "no route": lambda: cidr not in cluster.stage.routes(),
            "Node gone": lambda: cluster.node(LAST) is None,
            "pods moved": lambda: cluster.runs("web", 4) and LAST not in cluster.pods_run_on("web"),
        },
        within_s,
    )
    assert cluster.serves("web", OTHERS)
    assert all(map(cluster.is_routed, OTHERS))


def test_a_server_is_switched_off_and_on_again(served: LivingCluster, measured: Stopwatch) -> None:
    """While it is off its Node is closed to pods, and its pod runs elsewhere; then all is as before, and nobody has
    taken the Node, its route or the target away."""
    before, routes = served.stage.uids(), served.stage.routes()

    measured.start()
    served.power(LAST, on=False)
    fall_silent(served.stage, LAST)
    measured.wait_for(
        {
            "off: tainted": lambda: SHUTDOWN in served.taints(LAST),
            "no answer": lambda: served.targets("web") == dict.fromkeys(NAMES, True) | {LAST: False},
            "pods moved": lambda: served.runs("web", 4) and LAST not in served.pods_run_on("web"),
        }
    )

    measured.start()
    served.power(LAST, on=True)
    come_back(served.stage, LAST)
    measured.wait_for(
        {
            "on: open": lambda: served.is_open(LAST),
            "answers": lambda: served.serves("web", NAMES),
        }
    )
    assert served.stage.uids() == before
    assert served.stage.routes() == routes


@pytest.mark.soak
def test_the_autoscaler_takes_a_machine_away(served: LivingCluster, measured: Stopwatch) -> None:
    """The load balancer leaves the Node as soon as it is marked, while its pods still run; the Node goes once its
    server is deleted."""
    measured.start()
    served.stage.taint(LAST, key=AUTOSCALER)
    served.stage.cordon(LAST)
    measured.wait_for({"marked: no target": lambda: served.serves("web", OTHERS)})
    assert LAST in served.pods_run_on("web")

    served.drain(LAST)
    measured.start()
    served.delete_server(LAST)
    measured.wait_for({"deleted: Node gone": lambda: served.node(LAST) is None})
    assert served.serves("web", OTHERS)


@pytest.mark.soak
def test_a_node_is_deleted_by_hand_and_its_kubelet_registers_again(served: LivingCluster, measured: Stopwatch) -> None:
    """Nothing leads to the machine but its route, for nobody knows what it is; the route goes once the Node is back
    with other pods."""
    cidr = served.stage.nodes()[LAST]["spec"]["podCIDR"]

    measured.start()
    served.stage.delete_node(LAST)
    measured.wait_for({"no target": lambda: served.serves("web", OTHERS)})
    asked = served.stage.reconcile("--dry-run", "--output", "json")
    assert [hold["rule"] for hold in asked.report["holds"]] == ["route-blast-radius"]
    assert cidr in served.stage.routes()

    measured.start()
    served.register(LAST)
    measured.wait_for(
        {
            "back: open": lambda: served.is_open(LAST),
            "routed": lambda: served.is_routed(LAST) and cidr not in served.stage.routes(),
            "a target": lambda: served.serves("web", NAMES),
        }
    )


@pytest.mark.soak
def test_a_service_that_keeps_the_address_of_its_clients(served: LivingCluster, measured: Stopwatch) -> None:
    """With ``externalTrafficPolicy: Local`` the load balancer asks the port that kube-proxy answers at, so that only
    Nodes with a pod get traffic; those without stay targets, as a pod may come."""
    served.deploy("local", 2)

    measured.start()
    served.expose("local", policy="Local", health_check_node_port="true")
    measured.wait_for(
        {
            "pods": lambda: len(served.pods_run_on("local")) == 2,
            "targets": lambda: served.targets("local").keys() == set(NAMES),
        }
    )

    (check,) = served.health_checks("local")
    asked = served.stage.service("local")["spec"]["healthCheckNodePort"]
    assert (check["protocol"], check["port"], check["http"]["path"]) == ("http", asked, "/healthz")
