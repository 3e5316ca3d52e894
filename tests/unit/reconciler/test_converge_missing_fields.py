"""Whole passes over servers of which Hetzner says less than before: what did not arrive takes nothing away."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from actuators.outcome import Applied
from desired.model.settings import AddressFamily, Settings
from desired.plan.notes import NoteKind
from reconciler.result import Result
from tests.support.objects import server, settled_node
from tests.support.passes import Run
from tests.support.payloads import GONE, replaced
from tests.support.simulators import Simulation

MIRRORED = "servers.example.com/role"
SETTINGS = Settings(network="net", address_family=AddressFamily.DUALSTACK, mirror_labels="servers.example.com")
PUBLIC = {"ipv4": {"ip": "198.51.100.1"}, "ipv6": {"ip": "2001:db8:1::/64"}}
SERVER = server(
    1, "web-1", public_net=PUBLIC, private_net=[{"network": 7, "ip": "10.0.0.2"}], labels={"role": "worker"}
)
NETWORK = {"id": 7, "name": "net", "ip_range": "10.0.0.0/16"}


@pytest.fixture
def run(simulate: Callable[..., Simulation]) -> Run:
    project = {"servers": [SERVER], "networks": [NETWORK]}
    started = Run(simulate(nodes=[settled_node("web-1", 1)], project=project), settings=SETTINGS)
    started.converge()
    assert addresses(started) == ["web-1", "198.51.100.1", "2001:db8:1::1", "10.0.0.2"]
    assert labels(started)[MIRRORED] == "worker"
    return started


def addresses(run: Run) -> list[str]:
    return [address["address"] for address in run.sim.nodes()["web-1"]["status"]["addresses"]]


def labels(run: Run) -> dict[str, str]:
    found: dict[str, str] = run.sim.nodes()["web-1"]["metadata"]["labels"]
    return found


def say(run: Run, path: tuple[Any, ...], value: Any) -> None:
    """From now on Hetzner's answers have this at ``path`` of each server, or have it no more."""
    listed = json.loads(run.sim.hetzner_reader().get("/servers"))
    listed["servers"] = [replaced(found, path, value) for found in listed["servers"]]
    run.sim.spoil_hetzner("status", code=200, body=listed, path="/v1/servers$", count=None)


ADDRESS_FIELDS = [("public_net",), ("public_net", "ipv4"), ("public_net", "ipv6"), ("private_net",)]


@pytest.mark.parametrize("path", ADDRESS_FIELDS, ids=".".join)
def test_no_address_goes_for_want_of_a_field(run: Run, path: tuple[str, ...]) -> None:
    """A note says why, and the result is that something is not known; labels and taint follow the server as ever."""
    before = addresses(run)
    run.sim.change_servers(1, server_type="cpx42", status="off")
    say(run, path, GONE)

    report = run.converge()

    assert {line.change.key: line.outcome for line in report.lines} == {
        "node/web-1/labels": Applied(),
        "node/web-1/shutdown": Applied(),
    }
    assert report.result is Result.INCOMPLETE
    (note,) = report.notes
    assert (note.key, note.kind) == ("node/web-1", NoteKind.UNKNOWN)
    assert note.text.startswith(f"addresses are not written: Hetzner's answer has no {'.'.join(path)}")
    assert addresses(run) == before
