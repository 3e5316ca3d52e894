"""Versions of long ago, which an API server has forgotten: pages and watches that begin there."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.serving import BackgroundLoop, SimulatorServer
from kubernetes_double import KubernetesSimulator
from tests.contract.conftest import BOTH, real, simulated
from tests.contract.kubernetes_api import CONFIG_MAPS, Answer, KubernetesApi, new_name
from tests.support.apiserver import ApiServer
from tests.support.stage import wait_for

TOO_OLD = "The provided continue parameter is too old to display a consistent list result."
Aging = tuple[KubernetesApi, Callable[[], None]]
"""An API that forgets old versions, and what makes it older."""


@pytest.fixture(scope="module")
def forgetful(api_server: ApiServer) -> Iterator[ApiServer]:
    """The real one, which forgets all but the newest versions each second, and begins with versions that are old."""
    api_server.restart("--etcd-compaction-interval=1s")
    yield api_server
    api_server.restart()


@pytest.fixture(params=BOTH)
def aging(request: pytest.FixtureRequest, tmp_path: Path, sandbox_loop: BackgroundLoop) -> Iterator[Aging]:
    """Each of the two APIs in turn."""
    if request.param == "simulator":
        clock = SimulatedClock()
        server = SimulatorServer(sandbox_loop, KubernetesSimulator(clock, tokens=None), clock).start()
        api = simulated(server, tmp_path)
        yield api, lambda: clock.advance(301)
        server.stop()
    else:
        api = real(request.getfixturevalue("forgetful"))
        yield api, lambda: None
    api.close()


def test_a_token_expires(aging: Aging) -> None:
    """410: whoever reads on has to begin anew."""
    api, grow_older = aging
    name = new_name()
    for number in range(4):
        api.create(CONFIG_MAPS, {"metadata": {"name": f"{name}-{number}"}})
    token = api.get(f"{CONFIG_MAPS}?limit=2").good()["metadata"]["continue"]
    answers: list[Answer] = []

    def is_refused() -> bool:
        grow_older()
        api.merge(f"{CONFIG_MAPS}/{name}-0", {"data": {"turn": str(len(answers))}}).good()
        answers.append(api.get(f"{CONFIG_MAPS}?limit=2&continue={token}"))
        return answers[-1].status != 200

    wait_for(is_refused, "the token to expire", every_s=0.2)
    code, reason, message = answers[-1].refusal
    assert (code, reason) == (410, "Expired")
    assert message.startswith(TOO_OLD)


def test_a_version_of_long_ago(aging: Aging) -> None:
    api, grow_older = aging
    api.create(CONFIG_MAPS, {"metadata": {"name": new_name()}})
    grow_older()
    with api.watching(CONFIG_MAPS, "resourceVersion=1") as events:
        (event,) = events
    status = event["object"]
    assert (event["type"], status["kind"], status["status"]) == ("ERROR", "Status", "Failure")
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert status["message"].startswith("too old resource version: 1 (")
