"""What becomes of the volume of a machine that is deleted: it follows its pod, at once where Nodes get the
out-of-service taint, and only after minutes where they do not."""

from collections.abc import Iterator

import pytest

from desired.names import TAINT_OUT_OF_SERVICE
from tests.support.apiserver import ApiServer
from tests.support.control_plane import ControlPlane
from tests.support.controller import running
from tests.support.living_cluster import BRISKLY, LivingCluster
from tests.support.measured import DEADLINE_S, Stopwatch
from tests.support.stage import wait_for
from tests.support.volumes import attached_to, attaching, provide_volume, remove_volume

DATA = "data"


@pytest.fixture
def api_server(control_plane: ControlPlane) -> ApiServer:
    return control_plane.api_server


@pytest.fixture
def with_volume(cluster: LivingCluster, api_server: ApiServer) -> Iterator[LivingCluster]:
    """Two Nodes will do; the volume is there, and is attached to whichever runs its pod."""
    provide_volume(cluster.stage, DATA)
    with attaching(api_server):
        yield cluster
        remove_volume(cluster.stage, DATA)


def _lose(cluster: LivingCluster) -> tuple[str, str]:
    """Run a pod with the volume and delete the server under it; its Node, and the one that is left."""
    cluster.join("n-1", "n-2")
    wait_for(lambda: all(map(cluster.is_open, ("n-1", "n-2"))), "Nodes", within_s=DEADLINE_S)
    cluster.deploy("db", 1, volume=DATA)
    wait_for(lambda: any(attached_to(cluster.stage, name) for name in ("n-1", "n-2")), "it", within_s=DEADLINE_S)
    lost, other = ("n-1", "n-2") if attached_to(cluster.stage, "n-1") else ("n-2", "n-1")
    cluster.delete_server(lost)
    return lost, other


def test_a_volume_follows_its_pod(with_volume: LivingCluster, measured: Stopwatch) -> None:
    """The Node is out of service, its volume is attached elsewhere, and only then does the Node go."""
    with running(with_volume.stage, *BRISKLY, "--out-of-service", "deleted"):
        lost, other = _lose(with_volume)

        measured.start()
        measured.wait_for(
            {
                "out of service": lambda: TAINT_OUT_OF_SERVICE in with_volume.taints(lost),
                "detached": lambda: not attached_to(with_volume.stage, lost),
                "attached elsewhere": lambda: attached_to(with_volume.stage, other),
            }
        )
        measured.wait_for({"Node gone": lambda: with_volume.node(lost) is None})


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_volume_without_the_taint(with_volume: LivingCluster, measured: Stopwatch) -> None:
    """It stays with the Node that is gone until Kubernetes detaches it by force, after six minutes."""
    with running(with_volume.stage, *BRISKLY):
        lost, other = _lose(with_volume)

        measured.start()
        measured.wait_for({"Node gone": lambda: with_volume.node(lost) is None})
        assert attached_to(with_volume.stage, lost)
        measured.wait_for({"attached elsewhere": lambda: attached_to(with_volume.stage, other)}, 800)
