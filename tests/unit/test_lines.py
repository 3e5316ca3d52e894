"""The way past ports: answers on a line are those of the port, and a line goes past an idle port alone."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest
import requests
import urllib3

from actuators.http.watch import current_version, open_watch
from hcloud_sandbox.proxy import FaultProxy
from hcloud_sandbox.serving import SimulatorServer
from tests.support.objects import joining_node, server
from tests.support.rows import rows
from tests.support.simulators import Simulate, Simulation

NODES, SERVERS = "/api/v1/nodes", "/servers"
LABELS = {"metadata": {"labels": {"pool": "a"}}}
_OF_A_CONNECTION = {"content-length", "server"}
Answer = tuple[int, str, dict[str, str], bytes]
Ask = Callable[..., Answer]


def _end_to_end(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that are not those of a connection, without its address."""
    found = {name.lower(): re.sub("https?://[^/]+", "", text) for name, text in headers.items()}
    return {name: text for name, text in found.items() if name not in _OF_A_CONNECTION}


def of_hetzner(sim: Simulation, method: str, path: str, body: Any = None) -> Answer:
    session = sim.hetzner_connection()._opened()
    headers = {"Authorization": f"Bearer {sim.hetzner.TOKEN}"}
    answer: requests.Response = session.request(method, f"{sim.endpoint}{path}", json=body, headers=headers, timeout=5)
    return answer.status_code, str(answer.reason), _end_to_end(answer.headers), answer.content


def of_kubernetes(sim: Simulation, method: str, path: str, body: Any = None) -> Answer:
    pool: Any = sim.kubernetes_connection()._api_client.rest_client.pool_manager
    media_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers = {"Authorization": f"Bearer {sim.kubernetes.TOKEN}", "Content-Type": media_type, "User-Agent": "tests/1.0"}
    answer: urllib3.HTTPResponse = pool.request(
        method, f"{sim.kubernetes_proxy.url}{path}", headers=headers, body=None if body is None else json.dumps(body)
    )
    return answer.status, str(answer.reason), _end_to_end(answer.headers), answer.data


class Ports(NamedTuple):
    server: SimulatorServer
    proxy: FaultProxy


def ports(sim: Simulation, ask: Ask) -> Ports:
    if ask is of_hetzner:
        return Ports(sim.hetzner_server, sim.hetzner_proxy)
    return Ports(sim.kubernetes_server, sim.kubernetes_proxy)


def way(sim: Simulation, ask: Ask) -> str:
    """The way that a request takes now: the simulator's server notes in its journal what comes to its port."""
    journal = ports(sim, ask).server.journal
    journal.clear()
    try:
        status = ask(sim, "GET", SERVERS if ask is of_hetzner else NODES)[0]
    except (requests.ConnectionError, urllib3.exceptions.HTTPError):
        return "refused"
    return "port" if journal.entries() else "line" if status == 200 else str(status)


@pytest.fixture
def sim(simulate: Simulate) -> Simulation:
    return simulate(nodes=[joining_node("web-1")], project={"servers": [server(1, "web-1")]})


def _set_fault(proxy: FaultProxy) -> None:
    """A fault that hits nothing."""
    proxy.set_faults([{"kind": "hang", "path": "/nowhere"}])


def _clear_fault(proxy: FaultProxy) -> None:
    _set_fault(proxy)
    proxy.clear_faults()


@pytest.mark.parametrize("ask", [of_hetzner, of_kubernetes])
@rows(
    "happens expected",
    {
        "nothing": (lambda _: None, "line"),
        "a-fault-is-set": (lambda ports: _set_fault(ports.proxy), "port"),
        "a-fault-is-cleared": (lambda ports: _clear_fault(ports.proxy), "line"),
        "the-proxy-stops": (lambda ports: ports.proxy.stop(), "refused"),
        "the-server-stops": (lambda ports: ports.server.stop(), "502"),
    },
)
def test_a_line_goes_past_an_idle_port_alone(
    sim: Simulation, ask: Ask, happens: Callable[[Ports], None], expected: str
) -> None:
    happens(ports(sim, ask))
    assert way(sim, ask) == expected


def test_requests_beside_a_watch_take_its_port(sim: Simulation) -> None:
    """A watch goes through the port as well, and that of one API concerns no other."""
    reader = sim.kubernetes_reader()
    watch = open_watch(reader, NODES, current_version(reader, NODES), lasts_s=30, silence_s=5.0)
    try:
        assert [entry.path for entry in sim.kubernetes_server.journal.entries()] == [NODES]
        assert (way(sim, of_kubernetes), way(sim, of_hetzner)) == ("port", "line")
    finally:
        watch._response.close()


@rows(
    "ask method path body",
    {
        "hetzner-lists": (of_hetzner, "GET", f"{SERVERS}?name=web-1&page=1", None),
        "hetzner-decodes-a-query": (of_hetzner, "GET", f"{SERVERS}?label_selector=pool%3Da%20", None),
        "hetzner-knows-none": (of_hetzner, "GET", f"{SERVERS}/9", None),
        "hetzner-creates": (of_hetzner, "POST", "/networks", {"name": "net", "ip_range": "10.0.0.0/16"}),
        "hetzner-refuses": (of_hetzner, "POST", "/networks", {"name": ""}),
        "hetzner-changes": (of_hetzner, "PUT", f"{SERVERS}/1", {"labels": {"pool": "a"}}),
        "hetzner-deletes": (of_hetzner, "DELETE", f"{SERVERS}/1", None),
        "kubernetes-lists": (of_kubernetes, "GET", f"{NODES}?limit=1", None),
        "kubernetes-decodes-a-path": (of_kubernetes, "GET", f"{NODES}/web%2D1", None),
        "kubernetes-knows-none": (of_kubernetes, "GET", f"{NODES}/web-9", None),
        "kubernetes-creates": (of_kubernetes, "POST", NODES, joining_node("web-2")),
        "kubernetes-patches": (of_kubernetes, "PATCH", f"{NODES}/web-1", LABELS),
        "kubernetes-deletes": (of_kubernetes, "DELETE", f"{NODES}/web-1", None),
    },
)
def test_a_line_answers_as_the_port(simulate: Simulate, ask: Ask, method: str, path: str, body: Any) -> None:
    """Status, headers and body are the same, and so are the lines in the journal of the proxy."""
    by_line, by_port = (
        simulate(nodes=[joining_node("web-1")], project={"servers": [server(1, "web-1")]}) for _ in range(2)
    )
    _set_fault(ports(by_port, ask).proxy)
    assert ask(by_line, method, path, body) == ask(by_port, method, path, body)
    assert ports(by_line, ask).proxy.journal.entries() == ports(by_port, ask).proxy.journal.entries()
