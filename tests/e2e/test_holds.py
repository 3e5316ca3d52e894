"""Holds on the real API server: whose name an approval has, what Git approves, what is taken back, and a policy."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.apiserver import ApiServer
from tests.support.assets import ROOT
from tests.support.in_process import ONCE, one_pass
from tests.support.objects import joining_node, server, settled_node
from tests.support.permissions import grant, shipped
from tests.support.stage import Stage, is_initialised, wait_for

CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
APPROVALS = "hcloud-reconciler-approvals"
POLICIES = "/apis/admissionregistration.k8s.io/v1"


@pytest.fixture
def held(stage: Stage) -> Iterator[Stage]:
    """A Node that joins in what seems to be another project; the product's ConfigMaps are empty."""
    names = ("hcloud-reconciler", APPROVALS)
    for name in names:
        stage.cluster.request("DELETE", f"{CONFIG_MAPS}/{name}")
    for made in shipped("configmap.yaml"):
        stage.cluster.request("POST", CONFIG_MAPS, made)
    stage.register(*(settled_node(f"old-{i}", i) for i in (1, 2)), joining_node("new-1"))
    stage.have_servers(server(900, "new-1"))
    yield stage
    for name in names:
        stage.cluster.request("DELETE", f"{CONFIG_MAPS}/{name}")


def stored(stage: Stage, name: str = APPROVALS) -> Mapping[str, str]:
    """The data of a ConfigMap."""
    _, found = stage.cluster.request("GET", f"{CONFIG_MAPS}/{name}")
    data: Mapping[str, str] = found.get("data") or {}
    return data


def as_approver(stage: Stage, cluster: ApiServer, user: str) -> dict[str, str | None]:
    """The environment of a person with the approver's role."""
    grant(cluster, user, shipped("approve.yaml"))
    return {"KUBECONFIG": str(cluster.kubeconfig(cluster.token(user), server=stage.proxy.url)), "HCLOUD_TOKEN": None}


def test_from_the_hold_to_its_use(held: Stage, api_server: ApiServer) -> None:
    """A run publishes what it holds; a person without a token sees it, is refused another hash, and approves it under
    the API server's name, which is recorded; revoked, it lets nothing pass, and approved anew it does."""
    anna = as_approver(held, api_server, "reader")
    assert held.reconcile("--once").code == 3

    (found,) = json.loads(held.reconcile("holds", "--output", "json", **anna).stdout)["holds"]
    hold_hash, key = found["hold"]["hash"], found["hold"]["hash"].replace(":", ".")
    wrong = held.reconcile("approve", "sha256:0123456789abcdef", **anna)
    assert (wrong.code, stored(held)) == (1, {})

    assert held.reconcile("approve", hold_hash, "--reason", "planned", **anna).code == 0
    approval = json.loads(stored(held)[key])
    assert (approval["approver"], stored(held)[f"{key}.by"], approval["reason"]) == ("reader", "reader", "planned")

    assert held.reconcile("revoke", hold_hash[:13], **anna).code == 0
    assert one_pass(held, ONCE)["summary"]["applied"] == 0
    assert held.reconcile("approve", hold_hash, **anna).code == 0
    assert one_pass(held, ONCE)["summary"]["applied"] == 1
    assert is_initialised(held.nodes()["new-1"])
    assert held.reconcile("revoke", hold_hash, **anna).code == 1


def test_what_git_approves_is_used_once(held: Stage) -> None:
    """Though Git restores the entry, and in spite of an approval by hand that was used as well."""
    (hold,) = one_pass(held, ONCE)["holds"]
    key = hold["hash"].replace(":", ".")
    now = datetime.now(UTC)
    entry = {"approver": "team", "approved_at": now.isoformat(), "expires_at": (now + timedelta(hours=9)).isoformat()}
    of_git = {"metadata": {"name": APPROVALS}, "data": {key: json.dumps(entry)}}
    held.cluster.request("PATCH", f"{CONFIG_MAPS}/{APPROVALS}", of_git)

    assert one_pass(held, ONCE)["summary"]["applied"] == 1

    held.cluster.request("DELETE", f"{CONFIG_MAPS}/{APPROVALS}")
    held.cluster.request("POST", CONFIG_MAPS, of_git)
    held.cluster.request("DELETE", "/api/v1/nodes/new-1")
    held.register(joining_node("new-1"))
    again = one_pass(held, ONCE)
    assert ([each["hash"] for each in again["holds"]], again["summary"]["applied"]) == ([hold["hash"]], 0)
    assert any("by team was used at" in note["text"] for note in again["notes"])


def test_the_policy_of_the_documentation(held: Stage, api_server: ApiServer) -> None:
    """It lets people approve and revoke under their own names, and nobody under another one."""
    page = (Path(ROOT) / "docs" / "holds.md").read_text("utf-8")
    policy, binding = yaml.safe_load_all(re.findall(r"<!-- example policy -->\n```yaml\n(.*?)```", page, re.DOTALL)[0])
    objects: dict[str, Any] = {"validatingadmissionpolicies": policy, "validatingadmissionpolicybindings": binding}
    anna, ben = (as_approver(held, api_server, user) for user in ("reader", "keeper"))
    key = "sha256.0123456789abcdef"
    for plural, each in objects.items():
        assert held.cluster.request("POST", f"{POLICIES}/{plural}", each)[0] == 201

    def forge(**data: str) -> int:
        return api_server.request(
            "PATCH", f"{CONFIG_MAPS}/{APPROVALS}", {"data": data}, token=api_server.token("keeper")
        )[0]

    try:
        names = count()  # what stays as it is would be allowed
        wait_for(lambda: forge(**{f"{key}.by": f"somebody-{next(names)}"}) == 422, "the policy to be in force")
        assert held.reconcile("approve", "sha256:0123456789abcdef", "--unseen", **anna).code == 0
        assert forge(**{key: "{}"}) == 422, "under the name that is there"
        assert forge(**{f"{key}.by": "reader", key: "{ }"}) == 422
        assert forge(**{"sha256.ffffffffffffffff": "{}"}) == 422, "under no name"
        assert json.loads(stored(held)[key])["approver"] == "reader"
        assert held.reconcile("revoke", "0123456789abcdef", **ben).code == 0
        assert json.loads(stored(held)[f"{key}.revoked"])["revoked_by"] == "keeper"
        assert forge(**{f"{key}.revoked": "{}", f"{key}.by": "reader"}) == 422, "a revocation under another's name"
    finally:
        for plural, each in objects.items():
            held.cluster.request("DELETE", f"{POLICIES}/{plural}/{each['metadata']['name']}")
