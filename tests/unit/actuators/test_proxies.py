"""Proxies of the environment, as company machines have them: never between the product and this very machine."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from actuators.http.errors import Transient
from actuators.http.hetzner import HetznerReader
from tests.support.connecting import a_cluster, a_project
from tests.support.objects import joining_node, server
from tests.support.simulators import Simulate, Simulation

NOBODY = "http://127.0.0.1:9"


@pytest.fixture
def sim(simulate: Simulate, monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """A world on this machine, and an environment whose proxy for everything is one that does not answer."""
    sim = simulate(nodes=[joining_node("web-1")], project={"servers": [server(1, "web-1")]})
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, NOBODY)
        monkeypatch.setenv(name.lower(), NOBODY)
    return sim


class ForwardProxy(HTTPServer):
    """Answers every request itself, and notes for which address it was."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.asked_for: list[str] = []


class _Answer(BaseHTTPRequestHandler):
    server: ForwardProxy

    def do_GET(self) -> None:
        self.server.asked_for.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it that
        pass


@pytest.fixture
def forward_proxy() -> Iterator[ForwardProxy]:
    """A proxy that works."""
    proxy = ForwardProxy()
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield proxy
    proxy.shutdown()
    thread.join()
    proxy.server_close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_api_server_on_this_machine(sim: Simulation, host: str) -> None:
    file = sim.folder / "kubeconfig-here"
    file.write_text(json.dumps(sim.kubernetes.kubeconfig(sim.kubernetes_proxy.url.replace("127.0.0.1", host))))
    assert b"web-1" in a_cluster(file, attempts=1).get("/api/v1/nodes").body


def test_an_endpoint_on_this_machine(sim: Simulation) -> None:
    assert b"web-1" in sim.hetzner_reader().get("/servers/1")


def test_an_api_server_elsewhere_is_asked_through_the_proxy(
    sim: Simulation, forward_proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", forward_proxy.url)
    file = sim.folder / "kubeconfig-elsewhere"
    file.write_text(json.dumps(sim.kubernetes.kubeconfig("http://cluster.invalid:6443")))
    a_cluster(file, attempts=1).get("/api/v1/nodes")
    assert forward_proxy.asked_for == ["http://sandbox:sandbox-admin@cluster.invalid:6443/api/v1/nodes"]


def test_an_endpoint_elsewhere_is_asked_through_the_proxy(
    sim: Simulation, forward_proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Transient, match=r"does not answer: .*[Pp]roxy"):
        HetznerReader(a_project("http://hetzner.invalid/v1", "x" * 64, attempts=1)).get("/servers/1")
    monkeypatch.setenv("http_proxy", forward_proxy.url)
    HetznerReader(a_project("http://hetzner.invalid/v1", "x" * 64, attempts=1)).get("/servers/1")
    assert forward_proxy.asked_for == ["http://hetzner.invalid/v1/servers/1"]


def test_the_kubeconfigs_own_proxy_is_kept(sim: Simulation, forward_proxy: ForwardProxy) -> None:
    """A ``proxy-url`` leads to another machine's loopback address, as a tunnel to a k3s server does."""
    content = sim.kubernetes.kubeconfig("http://127.0.0.1:1")
    content["clusters"][0]["cluster"]["proxy-url"] = forward_proxy.url
    file = sim.folder / "kubeconfig-tunnel"
    file.write_text(json.dumps(content))
    a_cluster(file, attempts=1).get("/api/v1/nodes")
    assert forward_proxy.asked_for == ["http://sandbox:sandbox-admin@127.0.0.1:1/api/v1/nodes"]
