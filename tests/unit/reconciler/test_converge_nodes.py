"""Whole passes over settled Nodes: what follows their servers, at which price, and what is left alone."""

from collections.abc import Callable

import pytest

from actuators.outcome import Applied
from reconciler.result import Result
from tests.support.objects import server, settled_node
from tests.support.passes import Run
from tests.support.simulators import Simulation

RESIZED = {"server_type": "cpx42"}
SHUTDOWN = {"key": "node.cloudprovider.kubernetes.io/shutdown", "effect": "NoSchedule"}


@pytest.fixture
def settled(simulate: Callable[..., Simulation]) -> Run:
    names = {number: f"web-{number}" for number in (1, 2, 3)}
    nodes = [settled_node(name, number) for number, name in names.items()]
    return Run(simulate(nodes=nodes, project={"servers": [server(number, name) for number, name in names.items()]}))


def asked(run: Run) -> list[str]:
    paths = [entry.path for entry in run.sim.sent_to_hetzner()]
    run.sim.hetzner_proxy.journal.clear()
    return paths


def types(run: Run) -> list[str]:
    return [node["metadata"]["labels"]["node.kubernetes.io/instance-type"] for node in run.sim.nodes().values()]


def test_nothing_to_do(settled: Run) -> None:
    report = settled.converge()

    assert (report.result, report.lines, report.notes) == (Result.NO_CHANGES, (), ())
    assert (report.requests.kubernetes, asked(settled)) == (5, ["/v1/servers"])
    assert settled.sim.written() == []
    assert settled.ears.events == []


def test_everything_at_once(settled: Run) -> None:
    address = {"public_net": {"ipv4": {"ip": "192.0.2.4"}}}
    settled.sim.change_servers(1, **RESIZED, **address, status="off")

    report = settled.converge()

    node = settled.sim.nodes()["web-1"]
    assert report.result is Result.NO_CHANGES
    assert {line.change.key: line.outcome for line in report.lines} == {
        "node/web-1/addresses": Applied(),
        "node/web-1/labels": Applied(),
        "node/web-1/shutdown": Applied(),
    }
    assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "cpx42"
    assert node["status"]["addresses"][1] == {"type": "ExternalIP", "address": "192.0.2.4"}
    assert node["spec"]["taints"] == [SHUTDOWN]
    assert settled.converge().lines == ()


def test_a_gap_in_the_list(simulate: Callable[..., Simulation]) -> None:
    names = {number: f"web-{number}" for number in (1, 60)}
    servers = [server(number, f"web-{number}", **RESIZED, status="off") for number in range(1, 61)]
    run = Run(simulate(nodes=[settled_node(name, n) for n, name in names.items()], project={"servers": servers}))
    before = run.sim.nodes()["web-60"]
    run.sim.spoil_hetzner("status", code=503, query="page=2&", body="<html>", count=None)

    report = run.converge()

    assert report.result is Result.INCOMPLETE
    assert types(run) == ["cpx42", "cpx32"]
    assert run.sim.nodes()["web-1"]["spec"]["taints"] == [SHUTDOWN]
    assert run.sim.nodes()["web-60"] == before
