"""The product's watches on a real API server that goes away and comes back."""

import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from actuators.http.kubernetes import KubernetesReader, connect
from actuators.http.retry import Retry
from actuators.wire.node import NODES
from actuators.wire.service import SERVICES
from reconciler.triggers import WatchedKind, watch_cluster
from tests.builders import a_snapshot
from tests.support.apiserver import ApiServer
from tests.support.objects import joining_node, settled_node

SOON_S = 60.0


@pytest.fixture
def watched(api_server: ApiServer, tmp_path: Path) -> Iterator[tuple[KubernetesReader, "queue.Queue[str]"]]:
    """Running watches of a cluster of which one Node is known, after a first pass, and what wakes the loop."""
    assert api_server.request("POST", NODES.path, settled_node("watched-1", 1))[0] == 201
    kubeconfig = str(api_server.kubeconfig())
    connection = connect(
        kubeconfig, user_agent="tests/1.0", retry=Retry(threading.Event()), timeout_s=10.0, read_only=True
    )
    reader = KubernetesReader(connection)
    woken: queue.Queue[str] = queue.Queue()
    triggers = watch_cluster(reader, woken.put, tuple(WatchedKind))
    triggers.start(SOON_S)
    (nodes, _), (services, _) = NODES.observe(reader), SERVICES.observe(reader)
    triggers.settle(a_snapshot(nodes_section=nodes, services=services))
    yield reader, woken
    triggers.stop()


def test_an_api_server_that_is_killed_and_started(
    api_server: ApiServer, watched: tuple[KubernetesReader, "queue.Queue[str]"]
) -> None:
    """The watches stand again by themselves, and what happens then wakes the loop."""
    reader, woken = watched
    assert api_server.request("POST", NODES.path, joining_node("watched-2"))[0] == 201
    assert woken.get(timeout=SOON_S) == "node/watched-2 is new"

    api_server.restart()
    assert api_server.request("POST", NODES.path, joining_node("watched-3"))[0] == 201

    reasons = iter(lambda: woken.get(timeout=SOON_S), None)
    assert next(why for why in reasons if "services" not in why) in {
        "node/watched-3 is new",
        "the watch of nodes began anew",
    }
    assert reader.requests.total < 40
