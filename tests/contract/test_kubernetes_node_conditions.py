"""How a controller writes one condition of a Node: beside the kubelet's, over its own, and away again."""

from typing import Any

from tests.contract.kubernetes_api import NODES, KubernetesApi
from tests.support.rows import rows

LONG_AGO, NOW = "2027-01-01T00:00:00Z", "2027-01-15T08:00:00Z"


def condition(kind: str, status: str, reason: str) -> dict[str, str]:
    times = {"lastHeartbeatTime": LONG_AGO, "lastTransitionTime": LONG_AGO}
    return {"type": kind, "status": status, "reason": reason, "message": f"{kind} is {status}", **times}


KUBELET = [condition("Ready", "True", "KubeletReady"), condition("DiskPressure", "False", "KubeletHasNoDiskPressure")]
THERE = condition("NetworkUnavailable", "False", "CalicoIsUp")
SAID = {"type": THERE["type"], "status": "False", "reason": "RouteCreated", "message": "m", "lastHeartbeatTime": NOW}
FLIPPED = {**SAID, "status": "True", "reason": "NoRouteCreated", "lastTransitionTime": NOW}
AWAY = {"type": THERE["type"], "$patch": "delete"}


def a_node(api: KubernetesApi, name: str, conditions: list[dict[str, str]]) -> Any:
    addresses = [{"type": "Hostname", "address": name}]
    body = {"metadata": {"name": name}, "status": {"addresses": addresses, "conditions": conditions}}
    return api.create(NODES, body)


@rows("before patch after", {
    "a new one": (KUBELET, FLIPPED, [FLIPPED, *KUBELET]),
    "the first one": ([], FLIPPED, [FLIPPED]),
    "another status": ([*KUBELET, THERE], FLIPPED, [*KUBELET, FLIPPED]),
    "the same status: a time that is not sent stays": ([KUBELET[0], THERE, KUBELET[1]], SAID,
        [KUBELET[0], {**SAID, "lastTransitionTime": LONG_AGO}, KUBELET[1]]),
    "away": ([*KUBELET, THERE], AWAY, KUBELET),
    "away, the last one": ([THERE], AWAY, None),
    "away, where it is not": (KUBELET, AWAY, KUBELET),
    "away, where none is": ([], AWAY, None),
})  # fmt: skip
def test_one_condition_is_written(api: KubernetesApi, name: str, before: Any, patch: Any, after: Any) -> None:
    """All others stay byte for byte, and so does the rest of the Node."""
    node = a_node(api, name, before)
    body = {"metadata": {"uid": node["metadata"]["uid"]}, "status": {"conditions": [patch]}}
    written = api.strategic(f"{NODES}/{name}/status", body).good()
    assert written["status"].get("conditions") == after
    assert written["status"]["addresses"] == node["status"]["addresses"]
    assert written["spec"] == node["spec"]
