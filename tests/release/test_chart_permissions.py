"""The chart, installed by a real helm in a real API server: its account can do all that it has to, and no more."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from desired.model.settings import ServerLoss, Settings
from desired.names import LEASE
from reconciler.permissions import needed
from tests.support.apiserver import ApiServer
from tests.support.chart import (
    CHART,
    NAMESPACE,
    RELEASE,
    Object,
    by_kind,
    collection,
    helm,
    rendered,
)
from tests.support.eventful import act_as, everything, have_record, made_eventful
from tests.support.permissions import BESIDE_PASSES, Grant, granted, shipped, used
from tests.support.rows import rows
from tests.support.stage import Stage, wait_for

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(900)]
"""The first test may have to build helm."""

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{RELEASE}"
ROLES = ("ClusterRole", "Role")
WATCHED = {"monitoring": {"podMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}}}


KEPT = {"helm.sh/resource-policy": "keep"}


@pytest.fixture
def install(api_server: ApiServer) -> Iterator[Callable[[dict[str, Any]], str]]:
    """Installs the chart with these values and returns what helm says, or upgrades what is installed."""
    access = ("--namespace", NAMESPACE, "--kubeconfig", str(api_server.kubeconfig()))
    for each in rendered():  # what other tests left: helm takes over nothing unasked
        if each["kind"] in (*ROLES, "ClusterRoleBinding", "RoleBinding", "ConfigMap", "ServiceAccount"):
            api_server.request("DELETE", f"{collection(each)}/{each['metadata']['name']}")
    yield lambda values: helm("upgrade", "--install", RELEASE, str(CHART), *access, values=values)
    helm("uninstall", RELEASE, "--ignore-not-found", *access)


def _token(cluster: ApiServer) -> str:
    """Of the installed ServiceAccount."""
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{RELEASE}/token"
    status, answer = cluster.request("POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"})
    assert status == 201, answer
    token: str = answer["status"]["token"]
    return token


def _roles(objects: list[Object], *suffixes: str) -> list[Object]:
    return [each for each in objects if each["kind"] in ROLES and each["metadata"]["name"].endswith(suffixes)]


@pytest.mark.parametrize("file", ["observe", "reconcile", "approve"])
def test_the_charts_roles_are_those_of_the_files(file: str) -> None:
    """Rule by rule and in the same namespaces, whatever they are called."""
    found = sorted(_roles(rendered(), file), key=lambda each: ROLES.index(each["kind"]))
    ours, in_file = (
        [(each["kind"], each["metadata"].get("namespace"), each["rules"]) for each in roles]
        for roles in (found, shipped(f"{file}.yaml"))
    )
    assert ours == in_file


@rows("values acts", {"acting": ({}, True), "only looking": ({"policy": "observe"}, False)})
def test_the_roles_grant_what_the_table_says_is_needed(values: dict[str, Any], acts: bool) -> None:
    """The table that is checked against at the start of a run, of which it makes no use of less."""
    bound = {each["roleRef"]["name"] for each in rendered(values) if each["kind"].endswith("Binding")}
    roles = [each for each in rendered(values) if each["kind"] in ROLES and each["metadata"]["name"] in bound]

    wanted = needed(
        Settings(out_of_service=frozenset(ServerLoss)), acts=acts, watches=True, lease=LEASE if acts else None
    )

    beside_lease = granted(each for each in roles if each["kind"] == "Role")
    for found, rules in ((granted(roles), wanted), (beside_lease, [each for each in wanted if each.is_beside_lease])):
        assert {(verb, resource) for verb, resource, _ in found} == {(rule.verb, rule.resource) for rule in rules}


def test_roles_follow_the_lease() -> None:
    """They are where the Lease is, and name the one that is taken."""
    flags = {"leader-elect-resource-name": "mine", "leader-elect-resource-namespace": "default"}
    roles = by_kind(rendered({"args": flags}))

    assert {each["metadata"]["namespace"] for each in [*roles["Role"], *roles["RoleBinding"]]} == {"default"}
    assert ("update", "leases", "mine") in granted(roles["Role"])


def test_nobody_may_create_config_maps() -> None:
    """An approver, and the controller itself, write into the one that comes with the chart: it has no data, so that no
    upgrade takes away what is in it."""
    roles = _roles(rendered(), "observe", "reconcile", "approve")
    config_maps = by_kind(rendered())["ConfigMap"]

    assert {(verb, name) for verb, resource, name in granted(roles) if resource == "configmaps"} == {
        ("get", "hcloud-reconciler"),
        ("get", "hcloud-reconciler-approvals"),
        ("patch", "hcloud-reconciler"),
        ("patch", "hcloud-reconciler-approvals"),
    }
    assert granted(_roles(rendered(), "observe", "reconcile")).isdisjoint(
        {("patch", "configmaps", "hcloud-reconciler-approvals")}
    )
    kept = [each["metadata"].pop("annotations", {}).get("helm.sh/resource-policy") for each in config_maps]
    assert kept == ["keep", "keep"]
    assert config_maps == shipped("configmap.yaml")


def test_an_upgrade_keeps_what_was_approved(api_server: ApiServer, install: Callable[[dict[str, Any]], str]) -> None:
    """Also where somebody had to make the ConfigMap anew."""
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    written = {"data": {"approved": "yes"}}

    install({})
    status, _ = api_server.request("PATCH", f"{path}/hcloud-reconciler", written)
    assert status == 200
    install({"replicaCount": 1})
    _, kept = api_server.request("GET", f"{path}/hcloud-reconciler")
    assert kept["data"] == written["data"]

    api_server.request("DELETE", f"{path}/hcloud-reconciler")
    api_server.request("POST", path, {**shipped("configmap.yaml")[0], **written})
    install({"replicaCount": 2})
    _, theirs = api_server.request("GET", f"{path}/hcloud-reconciler")
    assert theirs["data"] == written["data"]


def test_the_account_can_do_all_of_it_and_no_more(
    a_stage: Callable[..., Stage], api_server: ApiServer, install: Callable[[dict[str, Any]], str]
) -> None:
    """Passes as the chart's own account: nothing is denied, and all that is granted is made use of. Then each right is
    taken away, and at once something is denied of what was asked for."""
    said = install({**WATCHED, "policy": "sync"})
    assert "the cluster does not know the kind PodMonitor" in said
    assert "the cluster does not know the kind PrometheusRule" in said
    roles = _roles(rendered(), "observe", "reconcile")
    stage = made_eventful(a_stage(action_s=0.0))
    have_record(stage)
    act_as(stage, api_server, _token(api_server))

    asked = used(everything(stage, api_server))

    assert asked == granted(roles) - BESIDE_PASSES
    for role in roles:
        _deny_without_each(api_server, role)


def _deny_without_each(cluster: ApiServer, role: Object) -> None:
    """Raises AssertionError for a right that the account has even when it is taken from this role."""
    path = f"{collection(role)}/{role['metadata']['name']}"
    for taken in sorted(granted([role])):
        rules = [rule for rule in _one_by_one(role) if taken not in granted([{"rules": [rule]}])]
        assert _may(cluster, taken)
        cluster.request("PATCH", path, {"rules": rules})
        wait_for(partial(_may_not, cluster, taken), f"{taken} to be denied")
        cluster.request("PATCH", path, {"rules": role["rules"]})
        wait_for(partial(_may, cluster, taken), f"{taken} to be allowed again")


def _one_by_one(role: Object) -> list[Object]:
    """The role's rules, with one verb and one resource each."""
    return [
        {**rule, "verbs": [verb], "resources": [resource]}
        for rule in role["rules"]
        for verb in rule["verbs"]
        for resource in rule["resources"]
    ]


def _may_not(cluster: ApiServer, what: Grant) -> bool:
    return not _may(cluster, what)


def _may(cluster: ApiServer, what: Grant) -> bool:
    verb, resource, name = what
    resource, _, part = resource.partition("/")
    namespaced = {"leases": "coordination.k8s.io", "deployments": "apps", "daemonsets": "apps"}
    groups = {**namespaced, "volumeattachments": "storage.k8s.io"}
    spec = {
        "user": ACCOUNT,
        "groups": ["system:serviceaccounts", "system:authenticated"],
        "resourceAttributes": {
            "verb": verb,
            "group": groups.get(resource, ""),
            "resource": resource,
            "subresource": part,
            "name": name,
            "namespace": NAMESPACE if resource in {"configmaps", *namespaced} else "",
        },
    }
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    _, answer = cluster.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
    allowed: bool = answer["status"]["allowed"]
    return allowed


def test_an_account_that_only_looks_cannot_write(
    a_stage: Callable[..., Stage], api_server: ApiServer, install: Callable[[dict[str, Any]], str]
) -> None:
    """Policy observe after sync: an upgrade takes the rights to write away, the plan stays the same."""
    stage = made_eventful(a_stage(action_s=0.0))
    full = stage.reconcile("--dry-run", "--output", "json").report
    install({})
    install({"policy": "observe"})
    act_as(stage, api_server, _token(api_server))
    stage.forget()

    least = stage.reconcile("--dry-run", "--output", "json").report

    assert _planned(least) == _planned(full) != []
    assert used(stage.proxy.journal.entries()) == granted(_roles(rendered(), "observe")) - BESIDE_PASSES
    assert not any(_may(api_server, right) for right in granted(_roles(rendered(), "reconcile")))


def _planned(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(change["key"], change["verdict"]) for change in report["changes"]]


def test_everything_but_records_is_gone_after_it_is_uninstalled(
    api_server: ApiServer, install: Callable[[dict[str, Any]], str]
) -> None:
    """In both kinds of network, after an upgrade from one to the other. Approvals and their uses stay."""
    install({})
    install({"networking": {"enabled": True}})
    objects = rendered({"networking": {"enabled": True}})
    paths = [f"{collection(each)}/{each['metadata']['name']}" for each in objects]
    kept = {path for path, each in zip(paths, objects, strict=True) if each["metadata"].get("annotations", {}) == KEPT}
    assert len(kept) == 2
    assert {api_server.request("GET", path)[0] for path in paths} == {200}

    helm("uninstall", RELEASE, "--namespace", NAMESPACE, "--kubeconfig", str(api_server.kubeconfig()))

    assert {path for path in paths if api_server.request("GET", path)[0] == 200} == kept
    for path in kept:
        api_server.request("DELETE", path)
