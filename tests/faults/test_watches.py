"""The product's watches on a real API server that goes away and comes back."""

import json
import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from actuators.http.kubernetes import KubernetesReader, connect
from actuators.http.retry import Retry
from reconciler.observe.nodes import observe_nodes
from reconciler.observe.services import observe_services
from reconciler.triggers import Triggers, WatchedKind, watch_cluster
from tests.builders import a_snapshot
from tests.support.apiserver import OwnApiServer
from tests.support.objects import joining_node, settled_node

NODES = "/api/v1/nodes"
SOON_S = 60.0


@pytest.fixture
def watched(own_api_server: OwnApiServer, tmp_path: Path) -> Iterator[tuple[Triggers, "queue.Queue[str]"]]:
    """Running watches of a cluster of one Node, after a first pass, and what wakes the loop."""
    assert own_api_server.request("POST", NODES, settled_node("web-1", 1))[0] == 201
    kubeconfig = str(own_api_server.kubeconfig())
    connection = connect(
        kubeconfig, user_agent="tests/1.0", retry=Retry(threading.Event()), timeout_s=10.0, read_only=True
    )
    reader = KubernetesReader(connection)
    woken: queue.Queue[str] = queue.Queue()
    triggers = watch_cluster(reader, woken.put, tuple(WatchedKind))
    triggers.start(SOON_S)
    (nodes, _), (services, _) = observe_nodes(reader), observe_services(reader)
    triggers.settle(a_snapshot(nodes_section=nodes, services=services))
    yield triggers, woken
    triggers.stop()


def test_an_api_server_that_is_killed_and_started(
    own_api_server: OwnApiServer, watched: tuple[Triggers, "queue.Queue[str]"]
) -> None:
    """The watches stand again by themselves, and what happens then wakes the loop."""
    triggers, woken = watched
    assert own_api_server.request("POST", NODES, joining_node("web-2"))[0] == 201
    assert woken.get(timeout=SOON_S) == "node/web-2 is new"

    own_api_server.restart()
    assert own_api_server.request("POST", NODES, joining_node("web-3"))[0] == 201

    reasons = iter(lambda: woken.get(timeout=SOON_S), None)
    assert next(why for why in reasons if "services" not in why) in {
        "node/web-3 is new",
        "the watch of nodes began anew",
    }
    counts = triggers.counts()[WatchedKind.NODE]
    assert counts.connects >= 2
    assert counts.requests < 20


def test_heartbeats_of_a_real_api_server(
    own_api_server: OwnApiServer, watched: tuple[Triggers, "queue.Queue[str]"]
) -> None:
    """They wake nobody, and what comes after them does."""
    _, woken = watched
    conditions = own_api_server.request("GET", f"{NODES}/web-1")[1]["status"]["conditions"]
    for beat in range(300):
        conditions[0]["lastHeartbeatTime"] = f"2026-02-01T00:{beat // 60:02}:{beat % 60:02}Z"
        answer = own_api_server.request("PATCH", f"{NODES}/web-1/status", {"status": {"conditions": conditions}})
        assert answer[0] == 200, json.dumps(answer[1])
    assert own_api_server.request("PATCH", f"{NODES}/web-1", {"metadata": {"labels": {"x": "y"}}})[0] == 200

    assert woken.get(timeout=SOON_S) == "node/web-1 changed"
    assert woken.empty()
