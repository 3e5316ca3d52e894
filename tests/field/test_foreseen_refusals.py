"""Requests that Hetzner is known to refuse are not sent: what was read says so."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.support.in_process import one_pass
from tests.support.objects import notes_of_kind
from tests.support.stage import Stage

PREFIX = "load-balancer.hetzner.cloud/"
SERVICE = "/api/v1/namespaces/default/services/web"
EUROPE = {"id": 5, "name": "net", "subnets": [{"ip_range": "10.0.0.0/24", "network_zone": "eu-central"}]}
BARE = {"id": 5, "name": "net", "ip_range": "10.0.0.0/16", "subnets": []}
FAR = "network net is in eu-central, but the load balancer is in us-east: both must be in one network zone"


@pytest.mark.parametrize(
    ("network", "annotations", "created", "kind", "said"),
    [
        pytest.param(None, {"location": "moon"}, False, "malformed", "type lb11 not sold in moon, only", id="place"),
        pytest.param(EUROPE, {}, True, "unsupported", FAR, id="a network of another zone"),
        pytest.param(EUROPE, {"use-private-ip": "true"}, True, "unreachable", FAR, id="by its private addresses"),
        pytest.param(EUROPE, {"disable-public-network": "true"}, False, "malformed", FAR, id="in it alone"),
        pytest.param(EUROPE, {"location": "fsn1"}, True, None, "", id="a network of its zone"),
        pytest.param(BARE, {}, True, "unsupported", "network net has no subnet", id="a network without subnet"),
    ],
)
def test_foreseen(
    field: Callable[[str], Stage],
    network: Mapping[str, Any] | None,
    annotations: Mapping[str, str],
    created: bool,
    kind: str | None,
    said: str,
) -> None:
    """No request is refused, the reason and its remedy are told, and the second pass has nothing to do."""
    stage = field("01-two-network-zones-new")
    world = stage.project.world()["hetzner"]
    stage.project.replace_world({**world, "networks": [network] if network else []})
    asked = {f"{PREFIX}{name}": value for name, value in annotations.items()}
    stage.cluster.request("PATCH", SERVICE, {"metadata": {"annotations": asked}})
    variables = {"HCLOUD_NETWORK": "net", "HCLOUD_NETWORK_ROUTES_ENABLED": "false"} if network else {}

    one_pass(stage, **variables)
    second = one_pass(stage, **variables)

    sent = [entry for entry in stage.hetzner_proxy.journal.entries() if entry.method != "GET"]
    assert [entry.path for entry in sent if entry.status >= 400] == []
    assert len(stage.project.world()["hetzner"]["load_balancers"]) == created
    assert (second["changes"], second["result"] in ("no_changes", "refused")) == ([], True)
    told = {note["kind"]: note["text"] for note in second["notes"] if said and said in note["text"]}
    assert list(told) == ([kind] if kind else [])


def test_targets_stay_where_the_network_is_out_of_reach(field: Callable[[str], Stage]) -> None:
    """They serve: nothing is removed, and nothing says that no Node gets traffic."""
    stage = field("01-two-network-zones-new")
    one_pass(stage)
    world = stage.project.world()["hetzner"]
    stage.project.replace_world({**world, "networks": [EUROPE]})
    before = world["load_balancers"][0]["targets"]
    stage.cluster.request("PATCH", SERVICE, {"metadata": {"annotations": {f"{PREFIX}use-private-ip": "true"}}})

    report = one_pass(stage, HCLOUD_NETWORK="net", HCLOUD_NETWORK_ROUTES_ENABLED="false")

    (balancer,) = stage.project.world()["hetzner"]["load_balancers"]
    assert balancer["targets"] == before != []
    assert any(FAR in text for text in notes_of_kind(report, "kept"))
    assert "no-targets" not in {note["kind"] for note in report["notes"]}
