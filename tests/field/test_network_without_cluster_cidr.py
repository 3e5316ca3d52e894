"""A network for addresses and targets, and pods that a network plug-in routes: ``HCLOUD_NETWORK`` without
``--cluster-cidr``. As HCCM: no route is made or taken away, no ``NetworkUnavailable`` written or taken away."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from desired.model.route import CONDITION_NETWORK
from tests.support.in_process import ONCE, one_pass
from tests.support.objects import UNROUTED, network_condition
from tests.support.stage import Stage

WORLD = "14-network-without-cluster-cidr"
NETWORK = {"HCLOUD_NETWORK": "4711"}
LEFT = [
    {"destination": "10.244.1.0/24", "gateway": "10.0.0.4"},
    {"destination": "10.244.77.0/24", "gateway": "10.0.0.99"},
    {"destination": "0.0.0.0/0", "gateway": "10.0.0.2"},
]
"""Routes that lead to another Node, to an address of no server, and out."""


def _said(stage: Stage) -> dict[str, list[Any]]:
    """Node → its conditions NetworkUnavailable."""
    return {
        name: [found for found in node["status"]["conditions"] if found["type"] == CONDITION_NETWORK]
        for name, node in stage.nodes().items()
    }


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param({}, id="not given"),
        pytest.param({"--cluster-cidr": ""}, id="given empty"),
        pytest.param({"--configure-cloud-routes": "true"}, id="routes on, and no range"),
    ],
)
def test_nothing_of_routes_is_written(field: Callable[[str], Stage], flags: Mapping[str, str]) -> None:
    """Nodes join and get their private addresses; routes and conditions stay as they are, and one note names the flag.
    The next pass has nothing to do."""
    stage = field(WORLD)
    stage.have_routes(*LEFT)
    before = stage.routes()

    first, second = (one_pass(stage, {**ONCE, **flags}, **NETWORK) for _ in range(2))

    assert (stage.routes(), _said(stage)) == (before, {name: [] for name in stage.nodes()})
    assert stage.nodes()["w-9"]["spec"]["providerID"] == "hcloud://9"
    addresses = stage.nodes()["w-1"]["status"]["addresses"]
    assert {"type": "InternalIP", "address": "10.0.0.3"} in addresses
    for report in (first, second):
        (note,) = [note for note in report["notes"] if note["kind"] == "cluster-cidr"]
        assert (note["key"], "--cluster-cidr" in note["text"]) == ("network/4711", True)
        assert "HCLOUD_NETWORK_ROUTES_ENABLED=false" in note["text"]
    assert (second["result"], second["changes"]) == ("no_changes", [])


@pytest.mark.parametrize(
    ("variables", "stays"),
    [
        pytest.param(NETWORK, True, id="no range"),
        pytest.param({}, True, id="no network"),
        pytest.param({**NETWORK, "HCLOUD_NETWORK_ROUTES_ENABLED": "false"}, False, id="switched off"),
    ],
)
def test_a_node_that_was_closed_by_routes(
    field: Callable[[str], Stage], variables: Mapping[str, str], stays: bool
) -> None:
    """What an earlier run has left goes only where somebody says that there are no routes; else the note names the
    Node."""
    stage = field(WORLD)
    stage.set_condition("w-3", network_condition(*UNROUTED))

    report = one_pass(stage, ONCE, **variables)

    assert bool(_said(stage)["w-3"]) is stays
    told = [(note["key"], "NetworkUnavailable=True" in note["text"]) for note in report["notes"] if stays]
    assert told == ([("network/4711" if variables else "node/w-3", True)] if stays else [])
