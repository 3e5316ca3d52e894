"""Volumes of a made-up CSI driver in a whole cluster: what the driver, its sidecar external-attacher and kubelets do.

Kubernetes' own attach-detach controller makes and deletes the VolumeAttachments.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.support.apiserver import ApiServer
from tests.support.stage import Stage

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
