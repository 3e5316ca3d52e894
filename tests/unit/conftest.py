"""One event loop for the simulators of all unit tests, and simulations on it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from hcloud_sandbox.serving import BackgroundLoop
from tests.support.simulators import Simulation, simulation


@pytest.fixture(scope="session")
def background_loop() -> Iterator[BackgroundLoop]:
    """The event loop in which all simulators answer."""
    loop = BackgroundLoop()
    yield loop
    loop.close()


@pytest.fixture
def simulate(
    background_loop: BackgroundLoop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Simulation]]:
    """Starts a simulation, see ``simulation``; it is stopped, and judged, when the test ends."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    with ExitStack() as running:

        def start(**arguments: Any) -> Simulation:
            return running.enter_context(simulation(background_loop, tmp_path, **arguments))

        yield start
