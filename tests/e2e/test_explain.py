"""``reconcile explain node NAME`` on a real API server: what it is, why, and what a person can do."""

import json
from typing import Any

import pytest

from tests.support.objects import ago, joining_node, server, settled_node
from tests.support.stage import Stage


@pytest.fixture
def varied(stage: Stage) -> Stage:
    """Three healthy Nodes, two that lost their servers unannounced, one cordoned before, and two that are nobody's."""
    silent: dict[str, Any] = {"ready": "Unknown", "since": ago(minutes=5)}
    strange = settled_node("strange", 9)
    strange["spec"]["providerID"] = "aws:///eu-central-1a/i-0123456789"
    stage.have_servers(*(server(i, f"web-{i}") for i in (1, 2, 3)), server(20, "worker-20"))
    stage.register(
        *(settled_node(f"web-{i}", i) for i in (1, 2, 3)),
        *(settled_node(f"lost-{i}", 10 + i, **silent) for i in (1, 2)),
        settled_node("leaving", 13, **silent),
        joining_node("cluster-worker-20"),
        strange,
    )
    stage.cordon("leaving")
    return stage


@pytest.mark.parametrize(
    ("name", "first", "is_", "told"),
    [
        pytest.param(
            "web-1", "in sync: server 1", "settled", ["matched by providerID hcloud://1", "cpx32 in fsn1"], id="healthy"
        ),
        pytest.param(
            "cluster-worker-20",
            "joining since ",
            "unmatched",
            ["no server of the project is named 'cluster-worker-20'", "nearest: 20  worker-20"],
            id="its name matches nothing",
        ),
        pytest.param(
            "strange", "foreign\n", "foreign", ["'aws:///eu-central-1a/i-0123456789' belongs to"], id="of another cloud"
        ),
        pytest.param(
            "leaving",
            "going since ",
            "departing",
            ["Node must be older than 120 s; due in", "planned removal of this Node: cordoned"],
            id="awaiting deletion",
        ),
        pytest.param(
            "lost-1",
            "stuck: node.delete is held ",
            "departing",
            ["lost without a drain: 2 of 6 Nodes (limit 1)", "approve: reconcile approve sha256:"],
            id="its deletion is held",
        ),
    ],
)
def test_a_node_is_explained(varied: Stage, name: str, first: str, is_: str, told: list[str]) -> None:
    """Text says it to people, JSON to machines, and neither writes anything, not even an Event."""
    text = varied.reconcile("explain", "node", name)
    machine = varied.reconcile("explain", "node", name, "--output", "json")

    explained = json.loads(machine.stdout)
    assert text.stdout.startswith(f"node/{name}  {first}")
    assert [phrase for phrase in told if phrase not in text.stdout] == []
    assert (explained["key"], explained["stage"], explained["errors"]) == (f"node/{name}", is_, [])
    assert explained["why"] in text.stdout
    assert (text.code, machine.code, text.stderr) == (0, 0, "")
    assert [entry for entry in varied.proxy.journal.entries() if entry.method != "GET"] == []


def test_an_explained_hold_can_be_approved_as_it_says(varied: Stage) -> None:
    """The command that the explanation prints lets the deletion pass in the next run."""
    explained = json.loads(varied.reconcile("explain", "node", "lost-1", "--output", "json").stdout)
    (hold,) = [word["hold"] for word in explained["guards"] if word["hold"] is not None]
    assert hold["keys"] == ["node/lost-1", "node/lost-2"]

    varied.reconcile(*hold["approve"].split()[1:], "--unseen")
    varied.reconcile("--once", "--delete-min-age", "0s")

    assert not {"lost-1", "lost-2", "leaving"} & varied.nodes().keys()
