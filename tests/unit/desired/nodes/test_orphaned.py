"""What becomes of a Node whose server is gone."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from desired.model.absence import AbsenceProof
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Condition, Node, Readiness
from desired.nodes.node import OrphanedNode, UnmanagedNode
from desired.plan.change import LostNode, NodeIdentity
from desired.plan.notes import Note, NoteKind
from desired.rules.nodes import Stage
from tests.builders import (
    NOW,
    SERVER_LABELS,
    UNINITIALIZED,
    WEB_1_ADDRESSES,
    a_joining_node,
    a_lost_node,
    a_server,
    a_settled_node,
)
from tests.support.keys import key_of
from tests.support.nodes import decide

MISSING = "the project has no server 1"
FIVE_MINUTES_AGO, YESTERDAY = NOW - timedelta(minutes=5), NOW - timedelta(days=1)


def lost(node: Node, settings: Settings | None = None) -> LostNode | None:
    """What is lost with the Node, if it is to be deleted: then nothing is noted."""
    wanted, notes = decide(node, settings=settings)
    if not isinstance(wanted, OrphanedNode):
        return None
    assert (wanted.stage.value, wanted.stage.text, notes) == (Stage.DEPARTING, wanted.stage.text, ())
    return wanted.lost


def left(node: Node, namesake: int | None = None, settings: Settings | None = None) -> list[Note]:
    """Notes on the Node, which stays; another server may have its name."""
    wanted, notes = decide(node, None if namesake is None else a_server(namesake, node.name), settings)
    assert isinstance(wanted, UnmanagedNode)
    return list(notes)


@pytest.mark.parametrize("ready", [readiness for readiness in Readiness if readiness is not Readiness.TRUE])
def test_node_that_is_not_ready_departs(ready: Readiness) -> None:
    """Whatever not Ready is called: the Node is to be deleted, as it stands and with what is known of its absence."""
    identity = NodeIdentity("hcloud://1", SERVER_LABELS, (), WEB_1_ADDRESSES)
    since = YESTERDAY if ready is Readiness.MISSING else FIVE_MINUTES_AGO
    assert lost(a_lost_node(ready=ready)) == LostNode(identity, AbsenceProof(1, "uid-web-1", YESTERDAY, since))


def test_readiness_of_a_name_that_nobody_knows() -> None:
    """A status that Kubernetes does not define counts as not Ready."""
    assert lost(a_lost_node(conditions=(Condition("Ready", "Perhaps", "Test", FIVE_MINUTES_AGO),)))


@pytest.mark.parametrize("node", [a_settled_node(), a_joining_node(provider_id="hcloud://1", ready=Readiness.TRUE)])
def test_node_that_is_ready_stays(node: Node) -> None:
    """While the kubelet reports, nothing is done though the server is gone; a note says what is wrong."""
    why = f"{MISSING}, and the Node's kubelet reports Ready"
    assert left(node) == [Note(key_of("node/web-1"), NoteKind.UNMATCHED, why)]


def test_node_that_is_ready_beside_a_server_of_its_name() -> None:
    """Of a machine that was made anew under its old name the note tells the new server, and the remedy."""
    why = f"{MISSING}, and server 7 has the Node's name"
    remedy = "delete the Node, so that the kubelet there registers anew"
    assert left(a_settled_node(), 7) == [Note(key_of("node/web-1"), NoteKind.UNMATCHED, f"{why}; {remedy}")]


def test_a_server_of_its_name_saves_no_node() -> None:
    """A Node that is not Ready goes the same way whether or not another server has its name."""
    wanted, _ = decide(a_lost_node(), a_server(7, "web-1"))
    assert isinstance(wanted, OrphanedNode)
    assert wanted.lost == lost(a_lost_node())


@pytest.mark.parametrize("ready", Readiness)
@pytest.mark.parametrize(
    ("finalizers", "holders"),
    [
        pytest.param((), "the API server", id="none"),
        pytest.param(("example.com/a",), "finalizers example.com/a", id="one"),
        pytest.param(("example.com/b", "a"), "finalizers example.com/b, a", id="two-in-their-order"),
    ],
)
def test_node_that_is_being_deleted(ready: Readiness, finalizers: tuple[str, ...], holders: str) -> None:
    """A Node that lingers is not deleted twice; the note says since when, and who holds it."""
    node = a_lost_node(ready=ready, deleted_at=NOW - timedelta(hours=2), finalizers=finalizers)
    why = f"{MISSING}, and the Node is being deleted since 2026-07-01 10:00 UTC and waits for {holders}"
    assert left(node) == [Note(key_of("node/web-1"), NoteKind.DELETING, why)]


def test_finalizers_do_not_keep_a_node() -> None:
    """Finalizers are honoured by the API server: the deletion is asked for all the same."""
    assert lost(a_lost_node(finalizers=("example.com/a",)))


def test_joining_node_departs() -> None:
    """A Node that died before it was initialized and whose providerID names no server goes like any other."""
    node = a_joining_node(provider_id="hcloud://9", created_at=YESTERDAY, ready_since=FIVE_MINUTES_AGO)
    identity = NodeIdentity("hcloud://9", {}, (UNINITIALIZED,), ())
    assert lost(node) == LostNode(identity, AbsenceProof(9, "uid-web-1", YESTERDAY, FIVE_MINUTES_AGO))


@pytest.mark.parametrize("ready", Readiness)
def test_without_the_lifecycle_controller(ready: Readiness) -> None:
    """Nothing is deleted; a Node that joins is told that its server is not there."""
    settings = Settings(controllers=frozenset(Controller) - {Controller.LIFECYCLE})
    node = a_joining_node(provider_id="hcloud://1", ready=ready)
    why = f"{MISSING}; delete the Node if its server is gone for good"
    assert left(a_lost_node(ready=ready), settings=settings) == []
    assert left(node, settings=settings) == [Note(key_of("node/web-1"), NoteKind.UNMATCHED, why)]


@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param({"uid": "another"}, id="registered-again-under-its-name"),
        pytest.param({"ready_since": NOW - timedelta(minutes=1)}, id="was-ready-in-between"),
        pytest.param({"created_at": NOW}, id="created-at-another-time"),
    ],
)
def test_loss_of_another_life(overrides: Mapping[str, Any]) -> None:
    """What was planned or approved for one Node never fits the next one of its name."""
    assert lost(a_lost_node()) != lost(a_lost_node(**overrides))


def test_loss_shows_owned_labels_only() -> None:
    """What is lost is told in the labels that are ours, mirrored ones included."""
    node = a_lost_node(labels={"team": "red", "srv.example.com/team": "blue"})
    found = lost(node, Settings(mirror_labels="srv.example.com"))
    assert found is not None
    assert found.identity.labels == {"srv.example.com/team": "blue"}
