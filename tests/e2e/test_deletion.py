"""Deletion of a Node as the real API server carries it out: with finalizers, and with volumes."""

import pytest

from tests.support.in_process import ONCE_AT_ANY_AGE, one_pass
from tests.support.objects import (
    ago,
    by_key,
    server,
    settled_node,
)
from tests.support.stage import AT_ANY_AGE, Stage

ONCE = ("--once", "--output", "json", *AT_ANY_AGE)


@pytest.fixture
def losing(stage: Stage) -> Stage:
    """Two healthy Nodes, and ``lost``, which has been silent for five minutes and whose server 3 is gone."""
    stage.have_servers(server(1, "web-1"), server(2, "web-2"))
    stage.register(
        settled_node("web-1", 1),
        settled_node("web-2", 2),
        settled_node("lost", 3, ready="Unknown", since=ago(minutes=5)),
    )
    return stage


def test_a_node_with_a_finalizer_lingers_and_is_noted(losing: Stage) -> None:
    """It is asked to go once; who holds it is said; when they release it, it goes, and the next pass has no changes."""
    losing.patch_node("lost", {"metadata": {"finalizers": ["example.com/drain"]}})

    first = one_pass(losing, ONCE_AT_ANY_AGE)
    second = one_pass(losing, ONCE_AT_ANY_AGE)

    assert losing.nodes()["lost"]["metadata"]["deletionTimestamp"]
    assert len(losing.deletions()) == 1
    for report in (first, second):
        (note,) = report["notes"]
        assert (note["key"], note["kind"], report["result"]) == ("node/lost", "deleting", "no_changes")
        assert "waits for finalizers example.com/drain" in note["text"]

    losing.patch_node("lost", {"metadata": {"finalizers": None}})
    third = one_pass(losing, ONCE_AT_ANY_AGE)
    assert (third["result"], third["notes"], sorted(losing.nodes())) == (
        "no_changes",
        [],
        ["web-1", "web-2"],
    )


def test_a_node_with_volumes_is_out_of_service_before_it_goes(losing: Stage) -> None:
    """The shipped command, on the real API server, which keeps the time of the taint as it is written; the Node goes
    once no attachment names it."""
    attachments = "/apis/storage.k8s.io/v1/volumeattachments"
    spec = {"attacher": "csi.example.com", "nodeName": "lost", "source": {"persistentVolumeName": "data"}}
    status, answer = losing.cluster.request("POST", attachments, {"metadata": {"name": "csi-lost"}, "spec": spec})
    assert status == 201, answer

    ran = losing.reconcile(*ONCE, "--out-of-service", "deleted")

    assert {key: change["verdict"] for key, change in by_key(ran.report).items()}["node/lost"] == "waiting"
    (taint,) = [each for each in losing.nodes()["lost"]["spec"]["taints"] if "out-of-service" in each["key"]]
    assert (taint["value"], taint["effect"]) == ("hcloud-server-deleted", "NoExecute")
    assert taint["timeAdded"].endswith("Z")
    losing.cluster.request("DELETE", f"{attachments}/csi-lost")
    losing.reconcile(*ONCE, "--out-of-service", "deleted")
    assert set(losing.nodes()) == {"web-1", "web-2"}
