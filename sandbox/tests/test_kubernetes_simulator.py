"""What only the simulator does: faults, tokens with verbs, the kubeconfig."""

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

    def seen(self) -> dict[str, str]:
        listed = self.ask("GET", "/api/v1/nodes").body["items"]
        return {node["metadata"]["name"]: node["metadata"]["labels"]["n"] for node in listed}


def test_a_stale_read_answers_as_before_the_last_write() -> None:
    """So many times, and with the version of that moment."""
    cluster = Cluster()
    cluster.relabel("web-1", "1")
    cluster.relabel("web-2", "1")
    fresh = cluster.ask("GET", "/api/v1/nodes").body["metadata"]["resourceVersion"]
    cluster.api.set_faults([{"kind": "stale_read", "path": "/api/v1/nodes", "count": 2}])
    stale = cluster.ask("GET", "/api/v1/nodes").body
    assert int(stale["metadata"]["resourceVersion"]) < int(fresh)
    assert cluster.seen() == {"web-1": "1", "web-2": "0"}
    assert cluster.seen() == {"web-1": "1", "web-2": "1"}


def test_a_stale_read_of_one_object_concerns_its_own_last_write() -> None:
    """Whatever was written elsewhere since; creations and deletions are undone as well."""
    cluster = Cluster()
    cluster.ask("POST", "/api/v1/nodes", {"metadata": {"name": "web-3"}})
    cluster.ask("DELETE", "/api/v1/nodes/web-2")
    cluster.relabel("web-1", "1")
    cluster.api.set_faults([{"kind": "stale_read", "count": 3}])
    assert cluster.ask("GET", "/api/v1/nodes/web-3").status == 404
    assert cluster.ask("GET", "/api/v1/nodes/web-2").status == 200
    assert cluster.ask("GET", "/api/v1/nodes/web-1").body["metadata"]["labels"] == {"n": "0"}
    assert cluster.ask("GET", "/api/v1/nodes/web-3").status == 200


def test_a_fault_without_an_end_lasts_until_it_is_cleared() -> None:
    """``count`` null: every read is stale."""
    cluster = Cluster()
    cluster.relabel("web-1", "1")
    cluster.api.set_faults([{"kind": "stale_read"}, {"kind": "stale_read", "count": None}])
    assert [cluster.seen()["web-1"] for _ in range(3)] == ["0", "0", "0"]
    cluster.api.clear_faults()
    assert cluster.seen()["web-1"] == "1"


def test_a_stale_read_elsewhere_does_not_count() -> None:
    """The path is a prefix."""
    cluster = Cluster()
    cluster.relabel("web-1", "1")
    cluster.api.set_faults([{"kind": "stale_read", "path": "/api/v1/services"}])
    assert cluster.seen()["web-1"] == "1"


def test_a_write_is_visible_late() -> None:
    """To reads; another write meets the true state."""
    cluster = Cluster()
    cluster.api.set_faults([{"kind": "visible_late", "seconds": 5, "count": 1}])
    old = cluster.ask("GET", "/api/v1/nodes/web-1").body["metadata"]["resourceVersion"]
    cluster.relabel("web-1", "1")
    cluster.relabel("web-2", "1")
    assert cluster.seen() == {"web-1": "0", "web-2": "1"}
    stale = {"metadata": {"resourceVersion": old, "labels": {"n": "2"}}}
    assert cluster.ask("PATCH", "/api/v1/nodes/web-1", stale).status == 409
    cluster.clock.advance(5)
    assert cluster.seen() == {"web-1": "1", "web-2": "1"}


def test_several_late_writes_show_the_oldest_state() -> None:
    """Until each has become visible."""
    cluster = Cluster()
    cluster.api.set_faults([{"kind": "visible_late", "path": "/api/v1/nodes/web-1", "seconds": 5, "count": 2}])
    cluster.relabel("web-1", "1")
    cluster.clock.advance(3)
    cluster.relabel("web-1", "2")
    assert cluster.seen()["web-1"] == "0"
    cluster.clock.advance(3)
    assert cluster.seen()["web-1"] == "1"
    cluster.clock.advance(3)
    assert cluster.seen()["web-1"] == "2"


def test_cleared_faults_are_gone() -> None:
    """What was hidden is shown."""
    cluster = Cluster()
    cluster.api.set_faults([{"kind": "visible_late", "seconds": 5}, {"kind": "stale_read"}])
    cluster.relabel("web-1", "1")
    cluster.api.clear_faults()
    assert cluster.seen()["web-1"] == "1"


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ({"kind": "status"}, "unknown fault 'status': this simulator knows stale_read, visible_late"),
        ({}, "unknown fault None"),
        ({"kind": "stale_read", "seconds": 1}, "fault stale_read has no seconds: it takes count, kind, path"),
        ({"kind": "stale_read", "count": 0}, "count is a whole number from 1, or null for no end, not 0"),
        ({"kind": "stale_read", "path": "nodes"}, "path is a path prefix"),
        ({"kind": "visible_late"}, "seconds is a positive number"),
    ],
)
def test_an_unknown_fault_is_refused(fault: dict[str, Any], text: str) -> None:
    """Together with all that came with it."""
    cluster = Cluster()
    cluster.relabel("web-1", "1")
    with pytest.raises(ValueError, match=text):
        cluster.api.set_faults([{"kind": "stale_read"}, fault])
    assert cluster.seen()["web-1"] == "1"


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
