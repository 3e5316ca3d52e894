"""The choke point of the Kubernetes API: what every answer becomes, and how often every call is sent."""

from collections.abc import Callable
from http.client import responses
from typing import Any

import pytest

from actuators.http import kubernetes
from actuators.http.errors import ApiError, Broken, Conflict, Denied, Invalid, NotFound, Throttled, Transient
from actuators.http.kubernetes import KubernetesReader
from tests.support.objects import joining_node
from tests.support.simulators import USER_AGENT, Simulation

NODES = "/api/v1/nodes"
NODE = f"{NODES}/web-1"
HTML = "<html><body>Bad gateway</body></html>"
EVENT = {
    "metadata": {"name": "e", "namespace": "default"},
    "involvedObject": {"kind": "Node", "name": "web-1"},
    "type": "Normal",
}


def status_body(reason: str, message: str = "the reason why") -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message}


def in_words(status: int, body: Any) -> str:
    """How a refusal ends: with the API server's own words, or with the word that it was not it that refused."""
    remedy = "; the kubeconfig's credentials are unknown or expired" if status == 401 else ""
    if isinstance(body, dict) and body.get("kind") == "Status":
        return f"{body['message']}{remedy}"
    phrase = responses.get(status, "without a word")
    return f"{phrase}, and not as an API server does; check server in the kubeconfig{remedy}"


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    return simulate(nodes=[joining_node("web-1")])


@pytest.mark.parametrize(
    ("status", "body", "expected", "sent"),
    [
        pytest.param(400, status_body("BadRequest"), Invalid, 1, id="bad request"),
        pytest.param(401, status_body("Unauthorized"), Denied, 1, id="unknown token"),
        pytest.param(401, HTML, Denied, 1, id="a proxy's 401"),
        pytest.param(403, status_body("Forbidden"), Denied, 1, id="no right"),
        pytest.param(403, HTML, Denied, 1, id="a proxy's 403"),
        pytest.param(404, status_body("NotFound"), NotFound, 1, id="not found"),
        pytest.param(404, HTML, Broken, 1, id="a proxy's 404 is no absence"),
        pytest.param(404, {"detail": "Not Found"}, Broken, 1, id="another API's 404 is no absence"),
        pytest.param(404, None, Broken, 1, id="404 without a word is no absence"),
        pytest.param(405, status_body("MethodNotAllowed"), Invalid, 1, id="method not allowed"),
        pytest.param(408, HTML, Transient, 3, id="request timeout"),
        pytest.param(409, status_body("Conflict"), Conflict, 1, id="conflict"),
        pytest.param(410, status_body("Expired"), Conflict, 1, id="gone"),
        pytest.param(415, status_body("UnsupportedMediaType"), Invalid, 1, id="media type"),
        pytest.param(422, status_body("Invalid"), Invalid, 1, id="invalid"),
        pytest.param(
            422, status_body("Invalid", "metadata.uid: field is immutable"), Conflict, 1, id="another object's uid"
        ),
        pytest.param(429, status_body("TooManyRequests"), Throttled, 3, id="too many requests"),
        pytest.param(429, HTML, Throttled, 3, id="a proxy's 429"),
        pytest.param(500, status_body("InternalError"), Transient, 3, id="internal error"),
        pytest.param(502, HTML, Transient, 3, id="bad gateway"),
        pytest.param(503, None, Transient, 3, id="unavailable"),
        pytest.param(504, HTML, Transient, 3, id="gateway timeout"),
        pytest.param(501, HTML, Broken, 1, id="not implemented"),
        pytest.param(520, None, Broken, 1, id="a status that no standard knows"),
        pytest.param(302, HTML, Broken, 1, id="redirect"),
    ],
)
def test_refusals_of_reads(sim: Simulation, status: int, body: Any, expected: type[ApiError], sent: int) -> None:
    """Each refusal becomes the error that says what to do about it, and only passing ones are asked again."""
    sim.spoil_kubernetes("status", code=status, body=body, count=None)
    reader = KubernetesReader(sim.kubernetes_connection(attempts=3))
    with pytest.raises(ApiError) as raised:
        reader.get(NODE)
    assert type(raised.value) is expected
    assert raised.value.status == status
    assert str(raised.value) == f"Kubernetes API server: GET {NODE} answers {status} {in_words(status, body)}"
    assert len(sim.sent_to_kubernetes()) == reader.requests.total == sent


def test_the_servers_own_words_are_kept(sim: Simulation) -> None:
    """Message and reason of the API server reach whoever reads the error."""
    sim.spoil_kubernetes("status", code=403, body=status_body("Forbidden", "User cannot\nget resource"))
    with pytest.raises(Denied, match="User cannot get resource") as raised:
        sim.kubernetes_reader().get(NODE)
    assert raised.value.code == "Forbidden"


def test_a_status_without_a_message(sim: Simulation) -> None:
    """Where the API server says no more than the status, its name in HTTP is said."""
    sim.spoil_kubernetes("status", code=403, body=status_body("Forbidden", ""))
    with pytest.raises(Denied) as raised:
        sim.kubernetes_reader().get(NODE)
    assert str(raised.value) == f"Kubernetes API server: GET {NODE} answers 403 Forbidden"


@pytest.mark.parametrize(
    ("headers", "waited"),
    [
        pytest.param({"Retry-After": "2"}, [2.0, 4.0], id="as told, doubled"),
        pytest.param({}, [1.0, 2.0], id="a second without a hint"),
        pytest.param({"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, [1.0, 2.0], id="a date is no hint"),
        pytest.param({"Retry-After": "-3"}, [0.0, 0.0], id="never less than nothing"),
        pytest.param({"Retry-After": "nan"}, [0.0, 0.0], id="no number"),
        pytest.param({"Retry-After": "3600"}, [], id="more than a call's patience"),
    ],
)
def test_throttling(sim: Simulation, headers: dict[str, str], waited: list[float]) -> None:
    """A throttled call, even a POST, waits as the server says and is sent again."""
    sim.spoil_kubernetes("status", code=429, body=status_body("TooManyRequests"), headers=headers, count=2)
    writer = sim.kubernetes_writer()
    if waited:
        writer.create("/api/v1/namespaces/default/events", EVENT)
    else:
        with pytest.raises(Throttled):
            writer.create("/api/v1/namespaces/default/events", EVENT)
    assert sim.stop.waits == waited
    assert len(sim.sent_to_kubernetes("POST")) == len(waited) + 1


def test_an_event_is_not_sent_again_when_throttled(sim: Simulation) -> None:
    """What may be lost is not worth a second request."""
    sim.spoil_kubernetes("status", code=429, body=status_body("TooManyRequests"), count=None)
    with pytest.raises(Throttled):
        sim.kubernetes_writer().try_create("/api/v1/namespaces/default/events", EVENT)
    assert len(sim.sent_to_kubernetes()) == 1
    assert sim.stop.waits == []


def test_user_agent_and_credentials(sim: Simulation) -> None:
    """The API server sees who calls, and the kubeconfig's token."""
    sim.kubernetes_reader().get(NODE)
    (entry,) = sim.sent_to_kubernetes()
    assert (entry.client, entry.status) == (USER_AGENT, 200)


def test_header_names_are_lower_case(sim: Simulation) -> None:
    """An answer's headers are found whatever case the server writes them in."""
    assert "date" in sim.kubernetes_reader().get(NODE).headers


def test_names_are_quoted() -> None:
    """A name from elsewhere stays one segment of a path."""
    assert kubernetes.segment("a/../b?c#d é") == "a%2F..%2Fb%3Fc%23d%20%C3%A9"
