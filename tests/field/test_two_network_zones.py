"""A cluster in two network zones: Hetzner takes no server of another zone as a target."""

from collections.abc import Callable

import pytest

from tests.support.in_process import one_pass
from tests.support.objects import notes_of_kind
from tests.support.stage import Stage

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


def _told(stage: Stage, reason: str) -> set[tuple[str, str]]:
    """Name and message of the events with this reason."""
    return {(event["involvedObject"]["name"], event["message"]) for event in stage.events(reason)}


def _targets(stage: Stage) -> list[int]:
    (balancer,) = stage.balancers()
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
    assert _told(stage, "UnusableTarget") == {(node, text) for node in nodes}


def test_the_remedy_ends_the_note(field: Callable[[str], Stage]) -> None:
    """The selector that the note names leaves out exactly the Nodes of the other zone."""
    stage = field("01-two-network-zones-existing")
    one_pass(stage)
    stage.annotate(node_selector=f"{REGION}!=ash")

    report = one_pass(stage)

    assert (_targets(stage), notes_of_kind(report, "unusable-target"), report["changes"]) == ([1, 2], [], [])


def test_all_servers_are_in_another_zone(field: Callable[[str], Stage]) -> None:
    """The reason stands in the note, the Event and the condition of the Service itself; nothing is sent in vain."""
    stage = field("01-two-network-zones-new")
    stage.delete_node("ash-1")

    report = one_pass(stage)

    assert _targets(stage) == []
    why = IN_EUROPE.removesuffix(f"; {_remedy('fsn1')}")
    text = f"0 of 2 Nodes can be targets: 2 in another network zone (fsn-1: {why}); {_remedy('fsn1')}"
    assert notes_of_kind(report, "no-targets") == [text]
    assert ("web", text) in _told(stage, "UnAvailableLoadBalancer")
    assert text in {condition["message"] for condition in stage.service()["status"]["conditions"]}
    assert one_pass(stage)["changes"] == []


def test_a_refusal_that_nobody_foresaw(field: Callable[[str], Stage]) -> None:
    """Whatever the code: the load balancer is created without targets, each of them is tried by itself, and the one
    that is refused is told and stops no other."""
    stage = field("01-two-network-zones-existing")
    stage.have_balancers()
    error = {"error": {"code": "word_of_next_year", "message": "not that one"}}
    refusal = {"kind": "status", "method": "POST", "code": 422, "body": error}
    stage.hetzner_proxy.set_faults(
        [
            {**refusal, "path": "/v1/load_balancers$"},
            {**refusal, "path": "/v1/load_balancers/.*/add_target"},
        ]
    )

    first = one_pass(stage)

    assert stage.asked_of_hetzner() == ["POST load_balancers"] * 2 + ["POST add_target"] * 2
    assert first["result"] == "blocked"
    assert len(_targets(stage)) == 1
    (told,) = stage.events("UpdateLoadBalancerFailed")
    assert "not that one (word_of_next_year" in told["message"]

    second = one_pass(stage)

    assert (_targets(stage), second["result"]) == ([1, 2], "no_changes")
    assert len(stage.asked_of_hetzner()) == 5
