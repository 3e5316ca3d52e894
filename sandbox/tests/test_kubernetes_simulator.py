"""What only the double does: tokens with verbs, the kubeconfig, and what it refuses."""

import base64
from typing import Any

import pytest

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Response
from kubernetes_double import KubernetesSimulator

MERGE = "application/merge-patch+json"


class Cluster:
    """A simulator with two nodes, and short ways to ask it."""

    def __init__(self, **options: Any) -> None:
        self.clock = SimulatedClock(lambda: 1_767_225_600.0)
        world = {"nodes": [{"metadata": {"name": name, "labels": {"n": "0"}}} for name in ("web-1", "web-2")]}
        self.api = KubernetesSimulator(self.clock, world=world, **options)

    def ask(self, method: str, url: str, body: Any = None, token: str = KubernetesSimulator.TOKEN) -> Response:
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": MERGE if method == "PATCH" else "application/json",
        }
        return self.api.handle(Request.of(method, url, body, headers))

    def relabel(self, name: str, value: str) -> Response:
        return self.ask("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"labels": {"n": value}}})


@pytest.mark.parametrize("query", ["labelSelector=n%3D0", "dryRun=All"])
def test_what_is_not_simulated_is_refused(query: str) -> None:
    """And not ignored, which would show or write too much."""
    assert Cluster().ask("GET", f"/api/v1/nodes?{query}").status == 400
    assert Cluster().ask("DELETE", f"/api/v1/nodes/web-1?{query}").status == 400


def test_there_are_no_faults() -> None:
    """Those of transport are the fault proxy's."""
    with pytest.raises(ValueError, match="unknown fault 'stale_read'"):
        Cluster().api.set_faults([{"kind": "stale_read"}])


@pytest.mark.parametrize(
    ("method", "url", "status"),
    [
        ("GET", "/api/v1/nodes", 200),
        ("GET", "/api/v1/nodes/web-1", 200),
        ("PATCH", "/api/v1/nodes/web-1", 403),
        ("PATCH", "/api/v1/nodes/web-1/status", 403),
        ("PUT", "/api/v1/nodes/web-1", 403),
        ("POST", "/api/v1/nodes", 403),
        ("DELETE", "/api/v1/nodes/web-1", 403),
        ("GET", "/api", 200),
    ],
)
def test_a_token_has_verbs(method: str, url: str, status: int) -> None:
    """No more than that: for all kinds and names."""
    cluster = Cluster(tokens={"all": None, "reader": ("get", "list")})
    assert cluster.ask(method, url, {}, token="reader").status == status
    assert cluster.ask("GET", "/api/v1/nodes").status == 401
    assert cluster.relabel("web-1", "1").status == 401
    assert cluster.ask("PATCH", "/api/v1/nodes/web-1", {}, token="all").status == 200


def test_the_kubeconfig_names_the_server_and_the_token() -> None:
    """Twice: kubectl sends no token over plain HTTP, but the password in an address."""
    config = Cluster(tokens={"a/b": None, "c": ()}).api.kubeconfig("http://127.0.0.1:1234")
    assert config["clusters"][0]["cluster"] == {"server": "http://sandbox:a%2Fb@127.0.0.1:1234"}
    assert config["users"][0]["user"] == {"token": "a/b"}
    assert Cluster().api.kubeconfig("http://h", "x")["users"][0]["user"] == {"token": "x"}


@pytest.mark.parametrize(("password", "status"), [("secret", 200), ("wrong", 401), ("", 401)])
def test_a_password_is_a_token(password: str, status: int) -> None:
    """Whoever the user."""
    cluster = Cluster(tokens={"secret": None})
    basic = base64.b64encode(f"anybody:{password}".encode()).decode()
    request = Request.of("GET", "/api/v1/nodes", headers={"Authorization": f"Basic {basic}"})
    assert cluster.api.handle(request).status == status


def test_pods_are_an_empty_list() -> None:
    """kubectl asks for them; nobody can create any."""
    assert Cluster().ask("GET", "/api/v1/pods?fieldSelector=spec.nodeName=web-1").body["items"] == []
    assert Cluster().ask("POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": "a"}}).status == 405


@pytest.mark.parametrize("body", [[], {"spec": None}, {"spec": []}, {"spec": {"resourceAttributes": 7}}])
def test_a_question_about_nothing_is_answered(body: Any) -> None:
    """As one about a verb that there is not."""
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert Cluster().ask("POST", path, body).body["status"] == {"allowed": True}
