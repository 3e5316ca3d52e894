"""What is kept true on Nodes while their servers live: labels, addresses, the shutdown taint; and what that costs."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.builders import SERVER_LABELS
from tests.support.in_process import one_pass
from tests.support.objects import SHUTDOWN, ago, notes, public_ipv4, taints
from tests.support.stage import Stage


@pytest.fixture
def settled(stage: Stage) -> Stage:
    """Three Nodes that need nothing."""
    stage.have_nodes(3)
    return stage


def _run(stage: Stage, **variables: str) -> Mapping[str, Any]:
    """The report of one pass that ends well; its requests are the only ones in the logs."""
    stage.forget()
    report = one_pass(stage, **variables)
    assert report["result"] == "no_changes", report
    return report


def _labels(stage: Stage, name: str) -> dict[str, str]:
    found: dict[str, str] = stage.nodes()[name]["metadata"]["labels"]
    return found


def _addresses(stage: Stage, name: str) -> list[tuple[str, str]]:
    return [(found["type"], found["address"]) for found in stage.nodes()[name]["status"]["addresses"]]


def test_silent_nodes_with_living_servers_cost_nothing_more(stage: Stage) -> None:
    """100 Nodes that are not Ready: two pages of the one list, no question about any of them, no write."""
    stage.have_nodes(100)
    stage.set_ready(*stage.nodes(), ready="Unknown", since=ago(minutes=5))

    _run(stage)

    assert (stage.asked_hetzner(), stage.writes()) == (["/v1/servers", "/v1/servers"], [])


@pytest.mark.parametrize("ready", ["True", "Unknown"], ids=["while it reports again", "while the kubelet is silent"])
def test_the_shutdown_taint_follows_the_server(settled: Stage, ready: str) -> None:
    """Switched off, the Node is tainted; switched on it is not any more, whether or not the kubelet reports."""
    others = taints(settled.nodes()["web-1"])
    settled.set_ready("web-1", ready="Unknown")

    settled.change_servers(1, status="off")
    _run(settled)
    assert taints(settled.nodes()["web-1"]) == {*others, SHUTDOWN}

    settled.set_ready("web-1", ready=ready)
    settled.change_servers(1, status="running")
    _run(settled)
    assert taints(settled.nodes()["web-1"]) == others
    assert settled.asked_hetzner() == ["/v1/servers"]

    _run(settled)
    assert settled.writes() == []


def test_labels_that_somebody_edited(settled: Stage) -> None:
    """The type is corrected and what is missing comes back; a zone stays, with a note; foreign labels do too."""
    edited: dict[str, Any] = {
        "node.kubernetes.io/instance-type": "huge",
        "topology.kubernetes.io/zone": "rack-7",
        "topology.kubernetes.io/region": None,
        "instance.hetzner.cloud/provided-by": None,
        "example.com/team": "red",
    }
    settled.patch_node("web-1", {"metadata": {"labels": edited}})
    settled.patch_node("web-2", {"metadata": {"labels": {"failure-domain.beta.kubernetes.io/region": "elsewhere"}}})

    report = _run(settled)

    zones = {"failure-domain.beta.kubernetes.io/zone": "rack-7", "topology.kubernetes.io/zone": "rack-7"}
    assert _labels(settled, "web-1") == {
        **SERVER_LABELS,
        **zones,
        "kubernetes.io/hostname": "web-1",
        "example.com/team": "red",
    }
    assert _labels(settled, "web-2").items() >= SERVER_LABELS.items()
    assert notes(report) == {("node/web-1", "kept")}

    _run(settled)
    assert settled.writes() == []


def test_addresses_follow_the_private_network(settled: Stage) -> None:
    """Attached, the Node has an InternalIP; attached under another address, that one; detached, none. The others'
    addresses are not written."""
    settled.move_server(1)
    _run(settled, HCLOUD_NETWORK="private")
    public = [("Hostname", "web-1"), ("ExternalIP", public_ipv4(1))]
    for addresses in (["10.0.0.5"], ["10.0.0.6"], []):
        settled.move_server(1, *addresses)

        _run(settled, HCLOUD_NETWORK="private")

        assert _addresses(settled, "web-1") == [*public, *(("InternalIP", address) for address in addresses)]
        assert [entry.path for entry in settled.writes()] == ["/api/v1/nodes/web-1/status"]
        assert sorted(settled.asked_hetzner()) == ["/v1/networks", "/v1/servers"]

    _run(settled, HCLOUD_NETWORK="private")
    assert settled.writes() == []


def test_no_address_goes_away_because_the_network_could_not_be_read(settled: Stage) -> None:
    """While Hetzner does not say what is attached to the network, addresses stay; labels are kept true all the same."""
    _run(settled, HCLOUD_NETWORK="private")
    before = _addresses(settled, "web-1")
    settled.change_servers(1, private_net=[], server_type="cpx42")
    settled.hetzner_proxy.set_faults([{"kind": "status", "code": 422, "path": "/v1/networks", "count": None}])

    report = one_pass(settled, HCLOUD_NETWORK="private")

    assert (_addresses(settled, "web-1"), report["result"]) == (before, "incomplete")
    assert _labels(settled, "web-1")["node.kubernetes.io/instance-type"] == "cpx42"
