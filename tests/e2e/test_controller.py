"""The controller on a real API server, whose events wake it or do not.

``tests/unit/reconciler/test_whole_controller.py`` has the rest, on virtual time.
"""

import json
import ssl
from collections.abc import Callable
from http.client import HTTPSConnection
from urllib.parse import urlsplit

from tests.support.apiserver import ApiServer
from tests.support.controller import RARELY, running
from tests.support.objects import IN_NETWORK, a_service, ago, condition, said_of
from tests.support.stage import Stage, wait_for

LABEL = "instance.hetzner.cloud/provided-by"
INVALID = {"LoadBalancerReady": ("False", "NotCreated"), "LoadBalancerInSync": ("False", "InvalidAnnotation")}


def _beat(cluster: ApiServer, name: str, times: int) -> None:
    """A kubelet says so often that its Node is as it was."""
    tls = ssl.create_default_context(cafile=str(cluster.ca_file))
    kubelet = HTTPSConnection(urlsplit(cluster.url).netloc, context=tls, timeout=30)
    headers = {"Authorization": f"Bearer {cluster.admin_token}", "Content-Type": "application/merge-patch+json"}
    for turn in range(times):
        heartbeat = condition("Ready", "True") | {"lastHeartbeatTime": ago(seconds=-turn)}
        body = json.dumps({"status": {"conditions": [heartbeat]}})
        kubelet.request("PATCH", f"/api/v1/nodes/{name}/status", body, headers)
        answer = kubelet.getresponse()
        assert (answer.status, bool(answer.read())) == (200, True)
    kubelet.close()


def test_heartbeats_and_own_writes_wake_nobody_and_a_label_that_is_taken_does(
    a_stage: Callable[..., Stage], api_server: ApiServer
) -> None:
    """Intervals are an hour. The Service cannot be served: its finalizer, status and conditions are written at the
    end of the first pass. The second pass is that for the label."""
    stage = a_stage(action_s=0.0)
    stage.environment |= IN_NETWORK
    stage.have_nodes(2)
    stage.have_services(a_service(), a_service("broken", algorithm_type="nonsense"))

    with running(stage, *RARELY) as controller:
        assert said_of(stage.service("broken")) == INVALID
        _beat(api_server, "web-1", 100)
        stage.patch_node("web-2", {"metadata": {"labels": {LABEL: None}}})
        wait_for(lambda: stage.nodes()["web-2"]["metadata"]["labels"].get(LABEL) == "cloud", "the label to be mended")
        controller.wait_for_passes(2)

        assert (controller.passes(), controller.triggers()) == (2, ["the start", "node/web-2 changed"])
