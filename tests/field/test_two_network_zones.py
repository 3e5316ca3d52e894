"""A cluster in two network zones: Hetzner takes no server of another zone as a target."""

from collections.abc import Callable

import pytest

from tests.support.in_process import one_pass
from tests.support.objects import notes_of_kind
from tests.support.stage import Stage

SERVICE = "/api/v1/namespaces/default/services/web"
REGION = "topology.kubernetes.io/region"
SELECTOR = "load-balancer.hetzner.cloud/node-selector"


def _remedy(location: str) -> str:
    return f"add {REGION}!={location} to {SELECTOR}, or create a Service for each zone"


def _why(location: str, zone: str, other: str) -> str:
    return (
        f"the server is in {location} (network zone {zone}), but the load balancer is in {other}: both must be in one"
        f" network zone; {_remedy(location)}"
    )


IN_EUROPE = _why("fsn1", "eu-central", "us-east")
IN_AMERICA = _why("ash", "us-east", "eu-central")


def _events(stage: Stage, reason: str = "UnusableTarget") -> set[tuple[str, str, str]]:
    _, listed = stage.cluster.request("GET", "/api/v1/events")
    return {
        (event["involvedObject"]["name"], event["reason"], event["message"])
        for event in listed["items"]
        if event["reason"] == reason
    }


def _targets(stage: Stage) -> list[int]:
    (balancer,) = stage.project.world()["hetzner"]["load_balancers"]
    return sorted(target["server"]["id"] for target in balancer["targets"])


@pytest.mark.parametrize(
    ("name", "targets", "nodes", "note"),
    [
        pytest.param("new", [3], ["fsn-1", "fsn-2"], f"no target for Nodes fsn-1, fsn-2: {IN_EUROPE}", id="new"),
        pytest.param("existing", [1, 2], ["ash-1"], f"no target for Node ash-1: {IN_AMERICA}", id="existing"),
    ],
)
def test_servers_of_another_zone_are_no_targets(
    field: Callable[[str], Stage], name: str, targets: list[int], nodes: list[str], note: str
) -> None:
    """01: the load balancer has the targets of its zone, the others are told, and nothing is left to do."""
    stage = field(f"01-two-network-zones-{name}")

    first = one_pass(stage)
    second = one_pass(stage)
    ran = stage.reconcile("plan", "--detailed-exitcode")

    assert _targets(stage) == targets
    assert (first["result"], second["result"], ran.code) == ("no_changes", "no_changes", 0), ran.stderr
    assert "No changes." in ran.stdout
    assert second["changes"] == []
    assert note in " ".join(ran.stdout.split())
    explained = stage.reconcile("explain", "service", "default/web").stdout
    assert [line.split()[:2] for line in explained.splitlines() if line.endswith(note.partition(": ")[2])][
        -len(nodes) :
    ] == [[node, "unusable"] for node in nodes]
    assert notes_of_kind(second, "unusable-target") == [note]
    why = note.partition(": ")[2]
    text = f"no target of the load balancer of Service default/web: {why}"
    assert _events(stage) == {(node, "UnusableTarget", text) for node in nodes}


def test_the_remedy_ends_the_note(field: Callable[[str], Stage]) -> None:
    """The selector that the note names leaves out exactly the Nodes of the other zone."""
    stage = field("01-two-network-zones-existing")
    one_pass(stage)
    selected = {"metadata": {"annotations": {SELECTOR: f"{REGION}!=ash"}}}
    stage.cluster.request("PATCH", SERVICE, selected)

    report = one_pass(stage)

    assert (_targets(stage), notes_of_kind(report, "unusable-target"), report["changes"]) == ([1, 2], [], [])


def test_all_servers_are_in_another_zone(field: Callable[[str], Stage]) -> None:
    """The reason stands in the note, the Event and the condition of the Service itself; nothing is sent in vain."""
    stage = field("01-two-network-zones-new")
    stage.cluster.request("DELETE", "/api/v1/nodes/ash-1")

    report = one_pass(stage)

    assert _targets(stage) == []
    why = IN_EUROPE.removesuffix(f"; {_remedy('fsn1')}")
    text = f"0 of 2 Nodes can be targets: 2 in another network zone (fsn-1: {why}); {_remedy('fsn1')}"
    assert notes_of_kind(report, "no-targets") == [text]
    assert ("web", "UnAvailableLoadBalancer", text) in _events(stage, "UnAvailableLoadBalancer")
    _, service = stage.cluster.request("GET", SERVICE)
    assert text in {condition["message"] for condition in service["status"]["conditions"]}
    assert one_pass(stage)["changes"] == []


def test_a_refusal_that_nobody_foresaw(field: Callable[[str], Stage]) -> None:
    """Whatever the code: the load balancer is created without targets, each of them is tried by itself, and the one
    that is refused is told and stops no other."""
    stage = field("01-two-network-zones-existing")
    world = stage.project.world()["hetzner"]
    stage.project.replace_world({**world, "load_balancers": []})
    error = {"error": {"code": "word_of_next_year", "message": "not that one"}}
    refusal = {"kind": "status", "method": "POST", "code": 422, "body": error}
    stage.hetzner_proxy.set_faults(
        [
            {**refusal, "path": "/v1/load_balancers$"},
            {**refusal, "path": "/v1/load_balancers/.*/add_target"},
        ]
    )

    first = one_pass(stage)

    assert _posted(stage) == ["load_balancers", "load_balancers", "add_target", "add_target"]
    assert first["result"] == "partial"
    assert len(_targets(stage)) == 1
    (told,) = _events(stage, "UpdateLoadBalancerFailed")
    assert "not that one (word_of_next_year" in told[2]

    second = one_pass(stage)

    assert (_targets(stage), second["result"]) == ([1, 2], "no_changes")
    assert len(_posted(stage)) == 5


def _posted(stage: Stage) -> list[str]:
    """The last part of the path of each write to Hetzner."""
    return [entry.path.rpartition("/")[2] for entry in stage.hetzner_proxy.journal.entries() if entry.method == "POST"]
