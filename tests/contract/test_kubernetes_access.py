"""Who may ask, which paths there are, and how refusals look."""

import pytest

from tests.contract.kubernetes_api import LEASES, MERGE, NEWEST_ALONE, NODES, SERVICES, KubernetesApi
from tests.support.apiserver import NEWEST


def test_an_unknown_token_is_unauthorized(api: KubernetesApi) -> None:
    answer = api.request("GET", NODES, token="wrong")
    assert answer.refusal == (401, "Unauthorized", "Unauthorized")
    assert answer.body.keys() == {"kind", "apiVersion", "metadata", "status", "message", "reason", "code"}


CLUSTER, DEFAULT = "at the cluster scope", 'in the namespace "default"'


@pytest.mark.parametrize(
    ("method", "path", "subject", "what", "where"),
    [
        ("GET", f"{NODES}?watch=true", "nodes", 'watch resource "nodes"', CLUSTER),
        ("GET", f"{NODES}/x", 'nodes "x"', 'get resource "nodes"', CLUSTER),
        ("PATCH", f"{NODES}/x/status", 'nodes "x"', 'patch resource "nodes/status"', CLUSTER),
        ("POST", NODES, "nodes", 'create resource "nodes"', CLUSTER),
        ("DELETE", f"{SERVICES}/x", 'services "x"', 'delete resource "services"', DEFAULT),
        ("PUT", f"{LEASES}/x", 'leases.coordination.k8s.io "x"', 'update resource "leases"', DEFAULT),
    ],
)
def test_requests_without_a_right_are_forbidden(
    api: KubernetesApi, method: str, path: str, subject: str, what: str, where: str
) -> None:
    """Before the body is read, and whether or not the object exists."""
    answer = api.request(method, path, None if method == "GET" else {}, MERGE, token=api.nobody)
    code, reason, message = answer.refusal
    user = message.partition('User "')[2].partition('"')[0]
    group = "coordination.k8s.io" if path.startswith(LEASES) else ""
    text = f'{subject} is forbidden: User "{user}" cannot {what} in API group "{group}" {where}'
    assert (code, reason, message) == (403, "Forbidden", text)
    details = {"name": "x" if path.endswith(("/x", "/x/status")) else None, "group": group or None}
    plural = subject.partition(" ")[0].partition(".")[0]
    assert answer.body["details"] == {k: v for k, v in details.items() if v} | {"kind": plural}


def test_without_a_token_one_is_anonymous(api: KubernetesApi) -> None:
    """403, not 401; health is public, as plain text."""
    text = f'nodes is forbidden: User "system:anonymous" cannot list resource "nodes" in API group "" {CLUSTER}'
    assert api.request("GET", NODES, token=None).refusal == (403, "Forbidden", text)
    assert [api.request("GET", path, token=None).good() for path in ("/healthz", "/livez", "/readyz")] == ["ok"] * 3


@NEWEST_ALONE
def test_the_version_is_public(api: KubernetesApi) -> None:
    """The simulator takes after the release that the tests run."""
    version = api.request("GET", "/version", token=None).good()
    assert f"{version['major']}.{version['minor']}" == NEWEST
    assert version["gitVersion"].startswith(f"v{NEWEST}.")


@pytest.mark.parametrize(
    "path",
    [
        *("/api/v2", "/api/v1/things", f"{NODES}/x/thing", "/apis/coordination.k8s.io/v3", f"{LEASES}/x/status"),
        *("/api/v1/configmaps/x", "/api/v1/namespaces/default/nodes"),
    ],
)
def test_an_unknown_path_below_an_api_is_not_found(api: KubernetesApi, path: str) -> None:
    """A Status that names no object: it must not be taken for an absent one."""
    answer = api.get(path)
    assert answer.refusal == (404, "NotFound", "the server could not find the requested resource")
    assert answer.body["details"] == {}


@pytest.mark.parametrize("path", ["/thing", "/apis/example.com", "/apis/example.com/v1"])
def test_any_other_unknown_path_is_plain_text(api: KubernetesApi, path: str) -> None:
    answer = api.get(path)
    assert (answer.status, answer.body) == (404, "404 page not found\n")


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", f"{NODES}/x"), ("PUT", NODES), ("POST", "/api/v1/services"), ("DELETE", f"{NODES}/x/status")],
)
def test_a_method_that_a_path_does_not_have_is_refused(api: KubernetesApi, method: str, path: str) -> None:
    text = "the server does not allow this method on the requested resource"
    assert api.request(method, path, {}).refusal == (405, "MethodNotAllowed", text)


def test_kinds_are_announced(api: KubernetesApi) -> None:
    """What kubectl and the client libraries discover; the simulator's list is shorter, never different."""
    assert api.get("/api").good()["versions"] == ["v1"]
    (group,) = (g for g in api.get("/apis").good()["groups"] if g["name"] == "coordination.k8s.io")
    assert group["preferredVersion"] == {"groupVersion": "coordination.k8s.io/v1", "version": "v1"}
    rows = {row["name"]: row for row in api.get("/api/v1").good()["resources"]}
    for other in ("coordination.k8s.io", "apps"):
        rows |= {row["name"]: row for row in api.get(f"/apis/{other}/v1").good()["resources"]}
    expected = {
        "nodes": ("node", "Node", False, ["no"]),
        "nodes/status": ("", "Node", False, []),
        "services": ("service", "Service", True, ["svc"]),
        "services/status": ("", "Service", True, []),
        "namespaces": ("namespace", "Namespace", False, ["ns"]),
        "events": ("event", "Event", True, ["ev"]),
        "configmaps": ("configmap", "ConfigMap", True, ["cm"]),
        "leases": ("lease", "Lease", True, []),
        "pods": ("pod", "Pod", True, ["po"]),
        "deployments": ("deployment", "Deployment", True, ["deploy"]),
        "daemonsets": ("daemonset", "DaemonSet", True, ["ds"]),
    }
    found = {name: rows[name] for name in expected}
    assert expected == {
        name: (row["singularName"], row["kind"], row["namespaced"], row.get("shortNames", []))
        for name, row in found.items()
    }
    assert {"create", "delete", "get", "list", "patch", "update"} <= set(rows["nodes"]["verbs"])


REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def test_everybody_may_ask_for_their_rights(api: KubernetesApi) -> None:
    """A review is answered to each known token, and says no without being refused."""
    spec = {"resourceAttributes": {"verb": "list", "resource": "nodes"}}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    mine = api.request("POST", REVIEWS, body)
    theirs = api.request("POST", REVIEWS, body, token=api.nobody)
    assert (mine.status, mine.body["status"]["allowed"]) == (201, True)
    assert (theirs.status, theirs.body["status"]["allowed"]) == (201, False)


SELF_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def test_everybody_may_ask_who_they_are(api: KubernetesApi) -> None:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = api.request("POST", SELF_REVIEWS, body, token=api.nobody).good(201)
    refused = api.request("GET", NODES, token=api.nobody).refusal[2]
    assert (answer["kind"], answer["apiVersion"]) == ("SelfSubjectReview", "authentication.k8s.io/v1")
    assert f'User "{answer["status"]["userInfo"]["username"]}" cannot' in refused
