"""A Node whose server is gone is deleted, once that is proven, and no other Node ever is."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from tests.support.in_process import ONCE_AT_ANY_AGE, one_pass
from tests.support.objects import (
    SHUTDOWN,
    a_server_of,
    a_service,
    ago,
    by_key,
    joining_node,
    notes,
    pods_of,
    private_ip,
    seen,
    server,
    settled_node,
    taints,
)
from tests.support.stage import AT_ANY_AGE, SERVER_LIST, Stage, hetzner_says, killed_at_the_end, wait_for

ONCE = ("--once", "--output", "json", *AT_ANY_AGE)
NODE_LIST = "/api/v1/nodes$"


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


def test_the_node_of_a_server_that_is_gone_goes_and_only_that(stage: Stage) -> None:
    """Nodes that are off, Ready, foreign, Robot's, ignored or without a providerID stay, however silent they are."""
    silent: dict[str, Any] = {"ready": "Unknown", "since": ago(minutes=5)}
    strange = settled_node("strange", 9, **silent)
    strange["spec"]["providerID"] = "aws:///eu-central-1a/i-0123456789"
    robot = settled_node("robot", 9, **silent)
    robot["spec"]["providerID"] = "hrobot://4711"
    stage.have_servers(*(server(i, f"web-{i}") for i in (1, 2, 3)), server(4, "off", status="off"))
    stage.register(
        *(settled_node(f"web-{i}", i) for i in (1, 2, 3)),
        settled_node("off", 4, **silent),
        settled_node("lost", 5, **silent),
        settled_node("reporting", 6),
        settled_node("ignored", 7, **silent, example_com__by_hand="yes"),
        strange,
        robot,
        joining_node("nameless"),
    )
    stage.cordon("reporting")
    before = stage.uids()

    ran = stage.reconcile(*ONCE, RECONCILER_IGNORE_NODES="example-com/by-hand=yes")

    assert stage.uids() == {name: uid for name, uid in before.items() if name != "lost"}
    assert SHUTDOWN in taints(stage.nodes()["off"])
    assert (ran.code, ran.report["summary"]["applied"]) == (0, 2)
    assert ("node/reporting", "unmatched") in notes(ran.report)
    assert stage.deletions() == ["/api/v1/nodes/lost"]
    assert stage.asked_hetzner() == ["/v1/servers", "/v1/servers/5", "/v1/servers/5"]
    _, events = stage.cluster.request("GET", "/api/v1/namespaces/default/events?fieldSelector=reason=DeletingNode")
    assert ("lost", "Deleting node lost because it does not exist in the cloud provider") in {
        (event["involvedObject"]["name"], event["message"]) for event in events["items"]
    }


def test_a_young_node_waits(losing: Stage) -> None:
    """With the default of 120 s a Node just registered is left alone, and no question about its server is wasted."""
    ran = losing.reconcile("--once", "--output", "json")
    told = losing.reconcile("--once")

    (change,) = ran.report["changes"]
    assert (change["key"], change["verdict"], change["rule"]) == ("node/lost", "waiting", "absence-proof")
    assert 60 < change["due_in_s"] <= 120
    assert "Node must be older than 120 s; due in" in told.stdout
    assert (ran.report["result"], ran.code, losing.deletions(), losing.questions()) == ("changes", 0, [], [])
    assert "lost" in losing.nodes()


def test_the_silence_has_to_last(losing: Stage) -> None:
    """A Node that has been silent for less than was asked for waits for the rest of that."""
    report = one_pass(losing, {**ONCE_AT_ANY_AGE, "--delete-not-ready-for": "1h"})

    assert 3200 < by_key(report)["node/lost"]["due_in_s"] <= 3300
    assert (losing.deletions(), losing.questions()) == ([], [])


def _ready_again(stage: Stage) -> None:
    stage.set_ready("lost", ready="True")


def _registered_again(stage: Stage) -> None:
    """As happens when a machine is rebuilt under its old name: the silence of the old Node says nothing of it."""
    stage.register_again(settled_node("lost", 3, ready="False", since=ago(minutes=4)))


_LAST_QUESTION = {"kind": "hang", "method": "GET", "path": "/v1/servers/3", "skip": 1}
_DELETION = {"kind": "hang", "method": "DELETE", "path": "/api/v1/nodes/lost"}


@pytest.mark.parametrize("happens", [_ready_again, _registered_again], ids=["Ready again", "registered again"])
@pytest.mark.parametrize("moment", ["the last question for its server", "the deletion"])
def test_a_node_that_moves_on_between_plan_and_deletion_stays(
    losing: Stage, moment: str, happens: Callable[[Stage], None]
) -> None:
    """Planned, allowed and on its way: what is Ready by then, or another Node under the same name, is not deleted.

    The answer at that moment stays away, which gives the other client time, and is asked for again.
    """
    at_hetzner = moment != "the deletion"
    proxy = losing.hetzner_proxy if at_hetzner else losing.proxy
    proxy.set_faults([_LAST_QUESTION if at_hetzner else _DELETION])
    old = losing.uids()["lost"]

    with killed_at_the_end(losing.start(*ONCE, "--request-timeout", "1s", "--delete-not-ready-for", "290s")) as process:
        wait_for(lambda: any(entry.status == 0 for entry in proxy.journal.entries()), moment)
        happens(losing)
        new = losing.uids()["lost"]
        process.communicate(timeout=30)

    assert (new == old) is (happens is _ready_again)
    assert losing.uids()["lost"] == new
    assert process.returncode == 0
    if at_hetzner and happens is _ready_again:
        assert losing.deletions() == []


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


def test_a_waiting_deletion_wakes_the_loop_when_it_is_due(losing: Stage) -> None:
    """With an hour between passes a Node that has to be silent for three seconds still goes within a few."""
    losing.set_ready("lost", ready="Unknown")

    with killed_at_the_end(losing.start("run", "--interval", "1h", *AT_ANY_AGE, "--delete-not-ready-for", "3s")):
        wait_for(lambda: "lost" not in losing.nodes(), "the Node to go when its wait is over")

    assert losing.asked_hetzner().count("/v1/servers") <= 4


@pytest.mark.parametrize("hours", [1, -1], ids=["an hour ahead", "an hour behind"])
@pytest.mark.parametrize(("silent_s", "deleted"), [(30, True), (5, False)], ids=["silent long enough", "not yet"])
def test_only_the_clock_of_the_api_server_counts(losing: Stage, hours: int, silent_s: int, deleted: bool) -> None:
    """This machine's clock is off by an hour: what counts is how long a Node is silent by the clock that wrote when it
    began. Hetzner's agrees with it, and all that the API server wrote is shifted with them.
    """
    losing.set_ready("lost", ready="Unknown", since=ago(hours=-hours, seconds=silent_s))
    _, listed = losing.cluster.request("GET", "/api/v1/nodes")
    for node in listed["items"]:
        node["metadata"]["creationTimestamp"] = ago(hours=-hours)
    date = {"Date": format_datetime(datetime.now(UTC) + timedelta(hours=hours), usegmt=True)}
    shifted = {"kind": "clock", "seconds": hours * 3600, "count": None}
    replaced = {"kind": "status", "code": 200, "body": listed, "headers": date, "path": NODE_LIST}
    losing.proxy.set_faults([replaced, shifted])
    losing.hetzner_proxy.set_faults([shifted])

    report = one_pass(losing, ONCE_AT_ANY_AGE)

    change = by_key(report)["node/lost"]
    assert ("lost" not in losing.nodes(), change["verdict"]) == ((True, "allowed") if deleted else (False, "waiting"))
    assert deleted or 0 < change["due_in_s"] <= 20


def test_a_silence_that_begins_in_an_hour_waits_for_it(losing: Stage) -> None:
    """A kubelet whose clock is an hour ahead: nothing is deleted before the API server's clock has come there."""
    losing.set_ready("lost", ready="Unknown", since=ago(hours=-1))

    report = one_pass(losing, ONCE_AT_ANY_AGE)

    assert 3500 < by_key(report)["node/lost"]["due_in_s"] <= 3625
    assert (losing.deletions(), "lost" in losing.nodes()) == ([], True)


def test_a_server_that_is_gone_for_the_list_alone_keeps_its_node(losing: Stage) -> None:
    """A list that lacks a server and adds up all the same, as a replica that lags would answer: the question by id
    finds it, so one of the two is wrong, and nothing is decided on either."""
    short = hetzner_says(losing.project, SERVER_LIST)
    losing.add_servers(server(3, "lost"))
    losing.hetzner_proxy.set_faults([{"kind": "status", "code": 200, "body": short, "path": "/v1/servers$"}])

    report = one_pass(losing, ONCE_AT_ANY_AGE)

    assert ("lost" in losing.nodes(), losing.deletions(), report["result"]) == (True, [], "incomplete")
    why = "it lacks server 3, which a GET by its id finds"
    assert (report["sections"]["servers"]["complete"], report["sections"]["servers"]["why_incomplete"]) == (False, why)


def test_a_second_run_has_nothing_to_do(losing: Stage) -> None:
    """After the deletion the world is as it should be, and a pass costs one list."""
    one_pass(losing, ONCE_AT_ANY_AGE)
    losing.forget()

    report = one_pass(losing, ONCE_AT_ANY_AGE)

    assert (report["result"], report["changes"], report["notes"]) == ("no_changes", [], [])
    assert (losing.writes(), losing.asked_hetzner()) == ([], ["/v1/servers"])


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


def test_with_a_selector_of_servers_a_node_goes_by_proof_and_by_nothing_else(
    a_stage: Callable[..., Stage],
) -> None:
    """The shipped command. web-1 and web-2 have the label, web-3 and web-4 have not; the server of web-4 is deleted.
    All Nodes but web-1 are silent, so that nothing but what is known of their servers speaks for them."""
    stage = a_stage(action_s=0.0)
    stage.settle(4)
    stage.have_services(a_service())
    stage.change_servers(1, 2, labels={"cluster": "ours"})
    stage.add_servers({**a_server_of(90), "labels": {"cluster": "theirs"}})
    one_pass(stage)
    stage.cordon("web-4")
    stage.delete_server(4)
    for name in ("web-2", "web-3", "web-4"):
        stage.set_ready(name, ready="Unknown", since=ago(minutes=5))
    before = stage.uids()
    stage.forget()

    ran = stage.reconcile(*ONCE, "--server-selector", "cluster=ours")
    idle = stage.reconcile(*ONCE, "--server-selector", "cluster=ours")

    assert (ran.code, idle.code, idle.report["result"], idle.report["changes"]) == (0, 0, "no_changes", [])
    assert stage.uids() == {name: uid for name, uid in before.items() if name != "web-4"}
    assert stage.deletions() == ["/api/v1/nodes/web-4"]
    assert stage.routes() == {pods_of(number): private_ip(number) for number in (1, 2, 3)}
    (balancer,) = stage.balancers()
    assert seen(balancer)["targets"] == {1: "public", 2: "public", 3: "public"}
    assert ("node/web-3", "unselected") in notes(idle.report)
    assert stage.asked_hetzner().count("/v1/servers/3") == 2
    assert "/v1/servers/1" not in stage.asked_hetzner()
