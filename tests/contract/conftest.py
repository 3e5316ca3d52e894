"""The two Kubernetes APIs that have to agree: the simulator, and the real API server, which is right."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.serving import BackgroundLoop, SimulatorServer
from kubernetes_double import KubernetesSimulator
from tests.contract.kubernetes_api import KubernetesApi, new_name
from tests.support.apiserver import ApiServer

BOTH = ["simulator", pytest.param("apiserver", marks=pytest.mark.apiserver)]


@pytest.fixture(scope="session")
def sandbox_loop() -> Iterator[BackgroundLoop]:
    loop = BackgroundLoop()
    yield loop
    loop.close()


@pytest.fixture(scope="session")
def simulated_api(sandbox_loop: BackgroundLoop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubernetesApi]:
    """One simulator, shared by all tests as the real server is."""
    clock = SimulatedClock()
    tokens = {KubernetesSimulator.TOKEN: None, "nobody": ()}
    server = SimulatorServer(sandbox_loop, KubernetesSimulator(clock, tokens=tokens), clock).start()
    api = simulated(server, tmp_path_factory.mktemp("simulator"))
    yield api
    api.close()
    server.stop()


@pytest.fixture(params=BOTH)
def api(request: pytest.FixtureRequest) -> Iterator[KubernetesApi]:
    """Each of the two APIs in turn."""
    if request.param == "simulator":
        yield request.getfixturevalue("simulated_api")
        return
    server: ApiServer = request.getfixturevalue("api_server")
    api = real(server)
    yield api
    api.close()


@pytest.fixture
def name() -> str:
    """A name for this test's object."""
    return new_name()


def real(server: ApiServer) -> KubernetesApi:
    return KubernetesApi(server.url, server.admin_token, server.token("nobody"), server.kubeconfig, server.ca_file)


def simulated(server: SimulatorServer, directory: Path) -> KubernetesApi:
    simulator = server.simulator
    assert isinstance(simulator, KubernetesSimulator)
    file = directory / "kubeconfig"
    file.write_text(json.dumps(simulator.kubeconfig(server.url)))
    return KubernetesApi(server.url, KubernetesSimulator.TOKEN, "nobody", lambda: file)
