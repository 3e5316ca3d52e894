"""The choke point of the Kubernetes API: what every answer becomes, and how often every call is sent."""

from http.client import responses
from typing import Any

import pytest

from actuators.http import kubernetes
from actuators.http.errors import ApiError, Broken, Conflict, Denied, Invalid, NotFound, Throttled, Transient
from actuators.http.kubernetes import KubernetesReader
from tests.support.objects import joining_node
from tests.support.rows import rows
from tests.support.simulators import USER_AGENT, Simulate, Simulation

NODES = "/api/v1/nodes"
NODE = f"{NODES}/web-1"
HTML = "<html><body>Bad gateway</body></html>"
EVENT = {
    "metadata": {"name": "e", "namespace": "default"},
    "involvedObject": {"kind": "Node", "name": "web-1"},
    "type": "Normal",
}


def status_body(reason: str, message: str = "the reason\nwhy") -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message}


def in_words(status: int, body: Any) -> str:
    """How a refusal ends: with the API server's own words, or with the word that it was not it that refused."""
    remedy = "; the kubeconfig's credentials are unknown or expired" if status == 401 else ""
    phrase = responses.get(status, "without a reason")
    if isinstance(body, dict) and body.get("kind") == "Status":
        return f"{' '.join(body['message'].split()) or phrase}{remedy}"
    return f"{phrase}, which is no answer of an API server; check server in the kubeconfig{remedy}"


@pytest.fixture
def sim(simulate: Simulate) -> Simulation:
    return simulate(nodes=[joining_node("web-1")])


@rows(
    "status body expected sent",
    {
        "bad request": (400, status_body("BadRequest"), Invalid, 1),
        "unknown token": (401, status_body("Unauthorized"), Denied, 1),
        "no right": (403, status_body("Forbidden"), Denied, 1),
        "no right, in no words": (403, status_body("Forbidden", ""), Denied, 1),
        "a proxy's 403": (403, HTML, Denied, 1),
        "not found": (404, status_body("NotFound"), NotFound, 1),
        "a proxy's 404 is no absence": (404, HTML, Broken, 1),
        "404 without a reason is no absence": (404, None, Broken, 1),
        "request timeout": (408, HTML, Transient, 3),
        "conflict": (409, status_body("Conflict"), Conflict, 1),
        "gone": (410, status_body("Expired"), Conflict, 1),
        "another object's uid": (422, status_body("Invalid", "metadata.uid: field is immutable"), Conflict, 1),
        "too many requests": (429, status_body("TooManyRequests"), Throttled, 3),
        "internal error": (500, status_body("InternalError"), Transient, 3),
        "unavailable": (503, None, Transient, 3),
        "not implemented": (501, HTML, Broken, 1),
        "a status that no standard knows": (520, None, Broken, 1),
        "redirect": (302, HTML, Broken, 1),
    },
)
def test_refusals_of_reads(sim: Simulation, status: int, body: Any, expected: type[ApiError], sent: int) -> None:
    sim.spoil_kubernetes("status", code=status, body=body, count=None)
    reader = KubernetesReader(sim.kubernetes_connection(attempts=3))
    with pytest.raises(ApiError) as raised:
        reader.get(NODE)
    assert type(raised.value) is expected
    assert raised.value.status == status
    assert raised.value.code == (body.get("reason") if isinstance(body, dict) else None)
    assert str(raised.value) == f"Kubernetes API server: GET {NODE} answers {status} {in_words(status, body)}"
    assert len(sim.sent_to_kubernetes()) == reader.requests.total == sent


@rows(
    "headers waited",
    {
        "as told, doubled": ({"Retry-After": "2"}, [2.0, 4.0]),
        "a second without a hint": ({}, [1.0, 2.0]),
        "a date is no hint": ({"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, [1.0, 2.0]),
        "never less than nothing": ({"Retry-After": "-3"}, [0.0, 0.0]),
        "no number": ({"Retry-After": "nan"}, [0.0, 0.0]),
        "more than a call's patience": ({"Retry-After": "3600"}, []),
    },
)
def test_throttling(sim: Simulation, headers: dict[str, str], waited: list[float]) -> None:
    sim.spoil_kubernetes("status", code=429, body=status_body("TooManyRequests"), headers=headers, count=2)
    writer = sim.kubernetes_writer()
    if waited:
        writer.create("/api/v1/namespaces/default/events", EVENT)
    else:
        with pytest.raises(Throttled):
            writer.create("/api/v1/namespaces/default/events", EVENT)
    assert sim.stop.waits == waited
    assert len(sim.sent_to_kubernetes("POST")) == len(waited) + 1


def test_user_agent_and_credentials(sim: Simulation) -> None:
    sim.kubernetes_reader().get(NODE)
    (entry,) = sim.sent_to_kubernetes()
    assert (entry.client, entry.status) == (USER_AGENT, 200)


def test_names_are_quoted() -> None:
    assert kubernetes.segment("a/../b?c#d é") == "a%2F..%2Fb%3Fc%23d%20%C3%A9"
