"""Several projects behind one address, as at Hetzner: the token says which one is meant."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner import HetznerSimulator
from hcloud_sandbox.serving import BackgroundLoop, SimulatorServer


class Projects:
    """One simulator for each token; ``asked`` has method and token of each request, in order. A token of no project is
    refused as by one that knows another."""

    def __init__(self, clock: SimulatedClock, worlds: Mapping[str, Mapping[str, Any]]) -> None:
        """``worlds``: token → the project that it is for. Tokens with one and the same world share the project."""
        self.asked: list[tuple[str, str]] = []
        self.by_token: dict[str, HetznerSimulator] = {}
        for token, world in worlds.items():
            others = [known for known, its in worlds.items() if its is world]
            same = next((self.by_token[other] for other in others if other in self.by_token), None)
            self.by_token[token] = same or HetznerSimulator(clock, tokens=dict.fromkeys(others, "rw"), world=world)
        self._stranger = HetznerSimulator(clock)

    def revoke(self, token: str) -> None:
        """The token is of no use from now on."""
        del self.by_token[token]

    def handle(self, request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.asked.append((request.method, token))
        return self.by_token.get(token, self._stranger).handle(request)

    def world(self) -> dict[str, Any]:
        return {}

    def replace_world(self, world: Mapping[str, Any]) -> None:  # noqa: ARG002 - as a simulator has it
        """Not supported."""
        raise ValueError("there are several worlds")

    def set_faults(self, faults: list[dict[str, Any]]) -> None:  # noqa: ARG002
        """Not supported."""
        raise ValueError("there are several simulators")

    def clear_faults(self) -> None:
        """Nothing is set."""


@contextmanager
def served(projects: Projects, clock: SimulatedClock) -> Iterator[str]:
    """What to give as ``HCLOUD_ENDPOINT``."""
    loop = BackgroundLoop()
    server = SimulatorServer(loop, projects, clock).start()
    try:
        yield f"{server.url}/v1"
    finally:
        server.stop()
        loop.close()
