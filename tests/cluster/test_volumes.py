"""What becomes of the volume of a machine that is deleted: it follows its pod, at once where Nodes get the
out-of-service taint, and only after minutes where they do not."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from desired.names import TAINT_OUT_OF_SERVICE
from tests.support.apiserver import ApiServer
from tests.support.control_plane import ControlPlane
from tests.support.controller import running
from tests.support.living_cluster import BRISKLY, LivingCluster
from tests.support.measured import DEADLINE_S, Stopwatch
from tests.support.stage import Stage, wait_for

DRIVER = "csi.example.com"
_STORAGE = "/apis/storage.k8s.io/v1"
_ATTACHMENTS = f"{_STORAGE}/volumeattachments"
_CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
_LOOKS_EACH_S = 0.3


def attachments(stage: Stage) -> list[dict[str, Any]]:
    """All VolumeAttachments."""
    status, listed = stage.cluster.request("GET", _ATTACHMENTS)
    assert status == 200, listed
    found: list[dict[str, Any]] = listed["items"]
    return found


def attached_to(stage: Stage, node: str) -> bool:
    """Whether a VolumeAttachment names the Node."""
    return any(each["spec"]["nodeName"] == node for each in attachments(stage))


def provide_volume(stage: Stage, name: str) -> None:
    """A claim, and the volume that it is bound to."""
    reference = {"namespace": "default", "name": name}
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    csi = {"driver": DRIVER, "volumeHandle": name}
    want = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "volumeName": name,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    stage.cluster.request(
        "POST", f"{_STORAGE}/csidrivers", {"metadata": {"name": DRIVER}, "spec": {"attachRequired": True}}
    )
    volume = {"metadata": {"name": name}, "spec": {**spec, "csi": csi, "claimRef": reference}}
    for path, body in (("/api/v1/persistentvolumes", volume), (_CLAIMS, {"metadata": {"name": name}, "spec": want})):
        status, answer = stage.cluster.request("POST", path, body)
        assert status == 201, answer


def remove_volume(stage: Stage, name: str) -> None:
    """Take it away, whatever still uses it."""
    for path in (f"{_CLAIMS}/{name}", f"/api/v1/persistentvolumes/{name}"):
        stage.cluster.request("PATCH", path, {"metadata": {"finalizers": None}})
        stage.cluster.request("DELETE", path)
    for each in attachments(stage):
        stage.cluster.request("DELETE", f"{_ATTACHMENTS}/{each['metadata']['name']}")


@contextmanager
def attaching(api_server: ApiServer) -> Iterator[None]:
    """While it lasts, what is to be attached is attached at once, and kubelets say that it is in use until their Node
    is gone: a kubelet that is silent takes nothing back."""
    stop = threading.Event()

    def attach() -> None:
        while not stop.wait(_LOOKS_EACH_S):
            with suppress(OSError):
                _attach_all(api_server)

    worker = threading.Thread(target=attach, daemon=True)
    worker.start()
    try:
        yield
    finally:
        stop.set()
        worker.join()


def _attach_all(api_server: ApiServer) -> None:
    status, listed = api_server.request("GET", _ATTACHMENTS)
    for each in listed["items"] if status == 200 else ():
        if each.get("status", {}).get("attached"):
            continue
        volume, node = each["spec"]["source"]["persistentVolumeName"], each["spec"]["nodeName"]
        used = {"status": {"volumesInUse": [f"kubernetes.io/csi/{DRIVER}^{volume}"]}}
        api_server.request("PATCH", f"/api/v1/nodes/{node}/status", used)
        path = f"{_ATTACHMENTS}/{each['metadata']['name']}/status"
        api_server.request("PATCH", path, {"status": {"attached": True}})


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
