"""The shipped roles suffice: each mode works with exactly the RBAC under ``deploy/rbac``, and no more."""

from collections.abc import Callable
from typing import Any

import pytest

from hcloud_sandbox.hetzner import HetznerSimulator
from hcloud_sandbox.serving import BackgroundLoop, SimulatorServer
from tests.support.apiserver import ApiServer
from tests.support.objects import ago, joining_node, pods_of, private_ip, server, settled_node
from tests.support.permissions import grant, granted, shipped, used
from tests.support.stage import AT_ANY_AGE, Stage, is_initialised

READ_ONLY_TOKEN = "r" * 64


def _without(verb: str, roles: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same roles under names of their own, each rule without that verb."""
    for role in roles:
        role["metadata"]["name"] += f"-without-{verb}"
        for rule in role["rules"]:
            rule["verbs"] = [granted for granted in rule["verbs"] if granted != verb]
    return roles


@pytest.fixture
def held(stage: Stage) -> Stage:
    """A stage on which every mode has something to do: one Node that joins, and approvals to look at."""
    stage.have_servers(server(1, "web-1"), server(2, "web-2"))
    stage.register(settled_node("web-2", 2), joining_node("web-1"))
    return stage


def test_a_dry_run_works_with_get_and_list_and_a_read_only_token(held: Stage, api_server: ApiServer) -> None:
    """The observer's role and a read-only Hetzner token give the same plan as all rights do."""
    grant(api_server, "observer", shipped("observe.yaml"))
    loop = BackgroundLoop()
    project = HetznerSimulator(held.clock, tokens={READ_ONLY_TOKEN: "ro"}, world=held.project.world())
    read_only = SimulatorServer(loop, project, held.clock).start()
    kubeconfig = str(api_server.kubeconfig(api_server.token("observer"), server=held.proxy.url))

    full = held.reconcile("--dry-run", "--output", "json").report
    least = held.reconcile(
        "--dry-run",
        "--output",
        "json",
        KUBECONFIG=kubeconfig,
        HCLOUD_ENDPOINT=f"{read_only.url}/v1",
        HCLOUD_TOKEN=READ_ONLY_TOKEN,
    ).report
    read_only.stop()
    loop.close()

    assert full["result"] == "changes"
    assert least["notes"] == []
    assert {**least, "taken_at": None} == {**full, "taken_at": None}


def test_once_works_with_the_shipped_role(held: Stage, api_server: ApiServer) -> None:
    """The reconciler's role suffices to initialise a Node, to say so in an Event, and to use an approval up."""
    grant(api_server, "reconciler", shipped("observe.yaml", "reconcile.yaml"))
    kubeconfig = str(api_server.kubeconfig(api_server.token("reconciler"), server=held.proxy.url))
    held.have_servers(server(1, "web-1"))  # the settled Node's server is gone: the anchor holds what is planned
    (hold,) = held.reconcile("--dry-run", "--output", "json", KUBECONFIG=kubeconfig).report["holds"]
    held.reconcile("approve", hold["hash"], "--unseen")
    held.forget()

    report = held.reconcile("--once", "--output", "json", KUBECONFIG=kubeconfig).report

    assert report["summary"]["applied"] == 1
    assert is_initialised(held.nodes()["web-1"])
    assert {entry.status for entry in held.proxy.journal.entries()} <= {200, 201, 404}, "no ConfigMap is there"
    assert any(entry.path.endswith("/configmaps/hcloud-reconciler") for entry in held.writes())


@pytest.fixture
def losing(held: Stage) -> Stage:
    """The same stage, and a silent Node whose server is gone."""
    held.register(settled_node("lost", 3, "Unknown", since=ago(minutes=5)))
    return held


def _events_on(stage: Stage, uid: str) -> dict[str, str]:
    """Reason → text of the events on the Node with this uid."""
    _, listed = stage.cluster.request(
        "GET", f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid={uid}"
    )
    return {event["reason"]: event["message"] for event in listed["items"]}


def test_deleting_works_with_the_shipped_role(losing: Stage, api_server: ApiServer) -> None:
    """The reconciler's role suffices to delete a Node whose server is gone, and to say so."""
    grant(api_server, "reconciler", shipped("observe.yaml", "reconcile.yaml"))
    kubeconfig = str(api_server.kubeconfig(api_server.token("reconciler"), server=losing.proxy.url))
    uid = losing.nodes()["lost"]["metadata"]["uid"]

    ran = losing.reconcile("--once", "--output", "json", *AT_ANY_AGE, KUBECONFIG=kubeconfig)

    assert (ran.code, ran.report["result"], ran.report["summary"]["applied"]) == (0, "no_changes", 2)
    assert sorted(losing.nodes()) == ["web-1", "web-2"]
    assert {entry.status for entry in losing.proxy.journal.entries()} <= {200, 201, 404}, "no ConfigMap is there"
    assert _events_on(losing, uid) == {
        "DeletingNode": "Deleting node lost because it does not exist in the cloud provider"
    }


def test_without_the_right_to_delete(losing: Stage, api_server: ApiServer) -> None:
    """With everything but that verb, only the deletion fails: its Node stays and is told of, the other one joins."""
    grant(api_server, "keeper", _without("delete", shipped("observe.yaml", "reconcile.yaml")))
    kubeconfig = str(api_server.kubeconfig(api_server.token("keeper"), server=losing.proxy.url))
    uid = losing.nodes()["lost"]["metadata"]["uid"]

    ran = losing.reconcile("--once", "--output", "json", *AT_ANY_AGE, KUBECONFIG=kubeconfig)

    outcomes = {change["key"]: change["outcome"]["state"] for change in ran.report["changes"]}
    assert (ran.code, ran.report["result"]) == (1, "blocked")
    assert outcomes == {"node/web-1": "applied", "node/lost": "failed"}
    assert is_initialised(losing.nodes()["web-1"])
    assert losing.nodes()["lost"]["metadata"]["uid"] == uid
    assert [entry.method for entry in losing.proxy.journal.entries() if entry.status == 403] == ["DELETE"]
    (reason, text), *others = _events_on(losing, uid).items()
    assert (reason, others) == ("DeletingNodeFailed", [])
    assert text.startswith("Failed deleting node lost: ")
    assert 'cannot delete resource "nodes"' in text


def test_without_the_right_to_patch_status_a_node_has_its_route_and_is_not_told(
    a_stage: Callable[..., Stage], api_server: ApiServer
) -> None:
    """Pods are reached all the same, and the report names the verb that is missing."""
    stage = a_stage(action_s=0.0)
    stage.have_pods(1)
    grant(api_server, "observer", shipped("observe.yaml"))
    kubeconfig = str(api_server.kubeconfig(api_server.token("observer"), server=stage.proxy.url))

    ran = stage.reconcile("--once", "--output", "json", KUBECONFIG=kubeconfig)

    outcomes = {change["kind"]: change["outcome"] for change in ran.report["changes"]}
    assert (ran.code, ran.report["result"]) == (1, "blocked")
    assert outcomes["route.create"]["state"] == "applied"
    assert 'cannot patch resource "nodes/status"' in outcomes["node.network_condition"]["why"]
    assert (stage.routes(), stage.all_say()) == ({pods_of(1): private_ip(1)}, {"web-1": None})


def test_approve_works_with_the_shipped_role(stage: Stage, api_server: ApiServer) -> None:
    """A person with the approver's role can approve, in the ConfigMap that comes with the roles. Where it is missing
    one sentence says what to do, and no other one can be made."""
    grant(api_server, "reader", shipped("approve.yaml"))
    kubeconfig = str(api_server.kubeconfig(api_server.token("reader"), server=stage.proxy.url))
    path = "/api/v1/namespaces/kube-system/configmaps"
    ours = shipped("configmap.yaml")
    for each in ours:
        stage.cluster.request("DELETE", f"{path}/{each['metadata']['name']}")
    assert [stage.cluster.request("POST", path, each)[0] for each in ours] == [201, 201]

    assert stage.reconcile("approve", f"sha256:{4:016x}", "--unseen").code == 0  # the record has begun
    stage.forget()
    hashes = [f"sha256:{i:016x}" for i in (1, 2)]
    codes = [stage.reconcile("approve", each, "--unseen", KUBECONFIG=kubeconfig).code for each in hashes]
    codes += [stage.reconcile(*words, KUBECONFIG=kubeconfig).code for words in (("revoke", hashes[0]), ("status",))]

    assert codes == [0, 0, 0, 1], "nothing was published"
    assert used(stage.proxy.journal.entries()) == granted(shipped("approve.yaml"))

    stage.cluster.request("DELETE", f"{path}/hcloud-reconciler-approvals")
    refused = stage.reconcile("approve", f"sha256:{3:016x}", "--unseen", KUBECONFIG=kubeconfig)
    assert (refused.code, len(refused.stderr.splitlines())) == (1, 1)
    assert "kubectl -n kube-system create configmap hcloud-reconciler-approvals" in refused.stderr
    assert stage.cluster.request("GET", f"{path}/hcloud-reconciler-approvals")[0] == 404


def test_a_missing_permission_is_named(held: Stage, api_server: ApiServer) -> None:
    """Without any right the run ends with one line that says which verb on which resource is missing."""
    kubeconfig = str(api_server.kubeconfig(api_server.token("nobody"), server=held.proxy.url))

    ran = held.reconcile("--dry-run", KUBECONFIG=kubeconfig)

    assert (ran.code, len(ran.stderr.splitlines())) == (1, 1)
    assert 'cannot list resource "nodes"' in ran.stderr
