"""Nodes that are likely on a server that is not theirs: what set their providerID, which server, the way out."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.support.in_process import one_pass
from tests.support.objects import notes_of_kind, seen
from tests.support.stage import Stage

_WAY = "delete the Node and restart its kubelet"
K3S = (
    "providerID 'k3s://cp-1' was set by the built-in cloud controller of k3s, and the Node is likely server 1 cp-1 (by"
    " name); to have the Node managed, start the k3s servers with --disable-cloud-controller and every k3s with"
    f" --kubelet-arg=cloud-provider=external, {_WAY}"
)
RKE2 = (
    "providerID 'rke2://w-1' was set by the built-in cloud controller of rke2, and the Node is likely server 2 w-1 (by"
    " name); to have the Node managed, start the rke2 servers with --disable-cloud-controller and every rke2 with"
    f" --kubelet-arg=cloud-provider=external, {_WAY}"
)
BARE = (
    "providerID '3' was set by the kubelet's --provider-id or an old kubelet, without the prefix hcloud://, and the"
    " Node is likely server 3 w-2 (by name); to have the Node managed, start the kubelet with"
    f" --cloud-provider=external, {_WAY}"
)
NONE = (
    "the Node has neither a providerID nor the uninitialized taint, and is likely server 4 w-3 (by name); to have it"
    " managed, start its kubelet with --cloud-provider=external and let the Node register again"
)
JOINING = (
    "no server of the project is named 'host-6jk-4yw', and the Node is likely server 2 prod-w-1 (by address 10.0.0.3),"
    " the server of Node prod-w-1 (silent since 2026-11-25 03:40 UTC); give the machine its former host name, or delete"
    " both Nodes and start the kubelet with --provider-id=hcloud://2"
)


def notes_of(report: Mapping[str, Any]) -> Mapping[str, str]:
    """Key → text of the notes on Nodes."""
    return {note["key"]: note["text"] for note in report["notes"] if note["key"].startswith("node/")}


def events_of(stage: Stage) -> Mapping[str, tuple[str, str]]:
    """Name of each Node with a warning → its reason and message."""
    return {
        event["involvedObject"]["name"]: (event["reason"], event["message"])
        for event in stage.events()
        if event["involvedObject"]["kind"] == "Node" and event["type"] == "Warning"
    }


def test_provider_ids_of_distributions(field: Callable[[str], Stage]) -> None:
    """07: each is told what set it and which server has its name, in note and Event; nothing is joined."""
    stage = field("07-provider-ids-of-distributions")
    before = stage.nodes()

    report = one_pass(stage)

    told = {"cp-1": K3S, "w-1": RKE2, "w-2": BARE, "w-3": NONE}
    assert notes_of(report) == {f"node/{name}": text for name, text in told.items()}
    assert events_of(stage) == {name: ("UnknownProviderIDPrefix", text) for name, text in told.items()}
    assert stage.nodes() == before


def test_the_empty_load_balancer_says_why(field: Callable[[str], Stage]) -> None:
    """07: as with HCCM there is a load balancer, and its note and conditions have the reason and the way out."""
    stage = field("07-provider-ids-of-distributions")

    report = one_pass(stage)

    (text,) = notes_of_kind(report, "no-targets")
    (of_k3s, way), (unclaimed, claim) = K3S.split("; "), NONE.split("; ")
    counts = f"3 of another cloud (cp-1: {of_k3s}), 1 without providerID (w-3: {unclaimed})"
    assert text == f"0 of 4 Nodes can be targets: {counts}; cp-1: {way}, or w-3: {claim}"
    said = {each["type"]: each["message"] for each in stage.service()["status"]["conditions"]}
    assert said["LoadBalancerInSync"] == text


def test_explain_has_the_server(field: Callable[[str], Stage]) -> None:
    """07: the section on servers has the one with its name, and why it is not the Node's."""
    stage = field("07-provider-ids-of-distributions")

    explained = stage.reconcile("explain", "node", "cp-1")

    assert explained.code == 0
    assert K3S in explained.stdout
    assert any(
        line.split() == ["nearest", "server", "1", "cp-1", "likely", "by", "name"]
        for line in explained.stdout.splitlines()
    )


def test_machines_with_another_host_name(field: Callable[[str], Stage]) -> None:
    """08: the silent Node is told with the joining one; nothing is joined, deleted or taken out of use."""
    stage = field("08-machines-renamed")
    before = stage.nodes()

    report = one_pass(stage, {"--once": "true"}, HCLOUD_NETWORK="cluster")

    notes, events = notes_of(report), events_of(stage)
    assert notes["node/host-6jk-4yw"] == JOINING
    assert "prod-w-2 (silent since 2026-11-25 03:40 UTC" in notes["node/host-jo8-ff0"]
    assert events["host-6jk-4yw"] == ("ServerNotFound", JOINING)
    after = stage.nodes()
    assert after.keys() == before.keys()
    assert {name: node["spec"].get("providerID") for name, node in after.items()} == {
        name: node["spec"].get("providerID") for name, node in before.items()
    }
    assert seen(stage.balancers()[0])["targets"].keys() == {1, 2, 3}
