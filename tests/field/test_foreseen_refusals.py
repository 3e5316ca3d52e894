"""Requests that Hetzner is known to refuse are not sent: what was read says so."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.support.in_process import one_pass
from tests.support.objects import notes_of_kind
from tests.support.stage import Stage

EUROPE = {"id": 5, "name": "net", "subnets": [{"ip_range": "10.0.0.0/24", "network_zone": "eu-central"}]}
BARE = {"id": 5, "name": "net", "ip_range": "10.0.0.0/16", "subnets": []}
FAR = "network net is in eu-central, but the load balancer is in us-east: both must be in one network zone"


@pytest.mark.parametrize(
    ("network", "options", "created", "kind", "said"),
    [
        pytest.param(None, {"location": "moon"}, False, "malformed", "type lb11 not sold in moon, only", id="place"),
        pytest.param(EUROPE, {}, True, "unsupported", FAR, id="a network of another zone"),
        pytest.param(EUROPE, {"use_private_ip": "true"}, True, "unreachable", FAR, id="by its private addresses"),
        pytest.param(EUROPE, {"disable_public_network": "true"}, False, "malformed", FAR, id="in it alone"),
        pytest.param(EUROPE, {"location": "fsn1"}, True, None, "", id="a network of its zone"),
        pytest.param(BARE, {}, True, "unsupported", "network net has no subnet", id="a network without subnet"),
    ],
)
def test_foreseen(
    field: Callable[[str], Stage],
    network: Mapping[str, Any] | None,
    options: Mapping[str, str],
    created: bool,
    kind: str | None,
    said: str,
) -> None:
    """No request is refused, the reason and its remedy are told, and the second pass has nothing to do."""
    stage = field("01-two-network-zones-new")
    stage.change_project(networks=[network] if network else [])
    stage.annotate(**options)
    variables = {"HCLOUD_NETWORK": "net", "HCLOUD_NETWORK_ROUTES_ENABLED": "false"} if network else {}

    one_pass(stage, **variables)
    second = one_pass(stage, **variables)

    assert [entry.path for entry in stage.written_to_hetzner() if entry.status >= 400] == []
    assert len(stage.balancers()) == created
    assert (second["changes"], second["result"] in ("no_changes", "blocked")) == ([], True)
    told = {note["kind"]: note["text"] for note in second["notes"] if said and said in note["text"]}
    assert list(told) == ([kind] if kind else [])


def test_targets_stay_where_the_network_is_out_of_reach(field: Callable[[str], Stage]) -> None:
    """They serve: nothing is removed, and nothing says that no Node gets traffic."""
    stage = field("01-two-network-zones-new")
    one_pass(stage)
    before = stage.balancers()[0]["targets"]
    stage.change_project(networks=[EUROPE])
    stage.annotate(use_private_ip="true")

    report = one_pass(stage, HCLOUD_NETWORK="net", HCLOUD_NETWORK_ROUTES_ENABLED="false")

    (balancer,) = stage.balancers()
    assert balancer["targets"] == before != []
    assert any(FAR in text for text in notes_of_kind(report, "kept"))
    assert "no-targets" not in {note["kind"] for note in report["notes"]}


def test_targets_stay_while_the_private_address_is_wrong(field: Callable[[str], Stage]) -> None:
    """The load balancer stays out of the network, so Hetzner refuses a newcomer by private address."""
    stage = field("01-two-network-zones-new")
    stage.annotate(location="fsn1")
    one_pass(stage)
    before = stage.balancers()[0]["targets"]
    stage.change_project(networks=[EUROPE])
    stage.remove_servers(3)
    stage.add_servers({"id": 3, "name": "ash-1", "private_net": [{"network": EUROPE["id"], "ip": "10.0.0.4"}]})
    stage.annotate(use_private_ip="true", private_ipv4="10.9.9.9")

    report = one_pass(stage, HCLOUD_NETWORK="net", HCLOUD_NETWORK_ROUTES_ENABLED="false")

    assert [entry.path for entry in stage.written_to_hetzner() if entry.status >= 400] == []
    assert stage.balancers()[0]["targets"] == before != []
    assert any("10.9.9.9" in text for text in notes_of_kind(report, "malformed"))
    assert "no-targets" not in {note["kind"] for note in report["notes"]}
