"""What becomes of a Node whose server is gone."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from desired.model.absence import AbsenceProof
from desired.model.settings import Settings
from desired.model.snapshot import Condition, Node, Readiness
from desired.nodes.desired import OrphanedNode, orphaned_node
from desired.nodes.matching import Gone
from desired.plan.change import LostNode, NodeIdentity
from desired.plan.notes import Note, NoteKind
from tests.builders import (
    NOW,
    SERVER_LABELS,
    UNINITIALIZED,
    WEB_1_ADDRESSES,
    a_joining_node,
    a_lost_node,
    a_settled_node,
    in_cloud,
)
from tests.support.keys import key_of

SETTINGS = Settings()
MISSING = "no server of the project has the id 1"
FIVE_MINUTES_AGO, YESTERDAY = NOW - timedelta(minutes=5), NOW - timedelta(days=1)


@pytest.mark.parametrize("ready", [readiness for readiness in Readiness if readiness is not Readiness.TRUE])
def test_node_that_is_not_ready_departs(ready: Readiness) -> None:
    """Whatever not Ready is called: the Node is to be deleted, as it stands and with what is known of its absence."""
    node = a_lost_node(ready=ready)
    identity = NodeIdentity("hcloud://1", SERVER_LABELS, (), WEB_1_ADDRESSES)
    since = YESTERDAY if ready is Readiness.MISSING else FIVE_MINUTES_AGO
    lost = LostNode(identity, AbsenceProof(1, "uid-web-1", YESTERDAY, since))
    assert orphaned_node(node, Gone(in_cloud(1)), SETTINGS) == (OrphanedNode(lost), ())


def test_readiness_of_a_name_that_nobody_knows() -> None:
    """A status that Kubernetes does not define counts as not Ready."""
    node = a_lost_node(conditions=(Condition("Ready", "Perhaps", "Test", FIVE_MINUTES_AGO),))
    departing, _ = orphaned_node(node, Gone(in_cloud(1)), SETTINGS)
    assert departing is not None


@pytest.mark.parametrize("node", [a_settled_node(), a_joining_node(provider_id="hcloud://1", ready=Readiness.TRUE)])
def test_node_that_is_ready_stays(node: Node) -> None:
    """While the kubelet reports, nothing is done though the server is gone; a note says what is wrong."""
    why = f"{MISSING}, and its kubelet reports Ready: nothing is done while it does"
    assert orphaned_node(node, Gone(in_cloud(1)), SETTINGS) == (
        None,
        (Note(key_of("node/web-1"), NoteKind.UNMATCHED, why),),
    )


def test_node_that_is_ready_beside_a_server_of_its_name() -> None:
    """Of a machine that was made anew under its old name the note tells the new server, and the remedy."""
    why = f"{MISSING}, and its kubelet reports Ready: nothing is done while it does"
    remedy = "server 7 has its name: delete the Node, so that the kubelet there registers anew"
    found = orphaned_node(a_settled_node(), Gone(in_cloud(1), 7), SETTINGS)
    assert found == (None, (Note(key_of("node/web-1"), NoteKind.UNMATCHED, f"{why}; {remedy}"),))


@pytest.mark.parametrize("namesake", [None, 7])
def test_a_server_of_its_name_saves_no_node(namesake: int | None) -> None:
    """A Node that is not Ready goes the same way whether or not another server has its name."""
    assert orphaned_node(a_lost_node(), Gone(in_cloud(1), namesake), SETTINGS) == orphaned_node(
        a_lost_node(), Gone(in_cloud(1)), SETTINGS
    )


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
    why = f"{MISSING}; the Node is being deleted since 2026-07-01 10:00 UTC and waits for {holders}"
    assert orphaned_node(node, Gone(in_cloud(1)), SETTINGS) == (
        None,
        (Note(key_of("node/web-1"), NoteKind.DELETING, why),),
    )


def test_finalizers_do_not_keep_a_node() -> None:
    """Finalizers are honoured by the API server: the deletion is asked for all the same."""
    departing, notes = orphaned_node(a_lost_node(finalizers=("example.com/a",)), Gone(in_cloud(1)), SETTINGS)
    assert (departing is not None, notes) == (True, ())


def test_joining_node_departs() -> None:
    """A Node that died before it was initialized and whose providerID names no server goes like any other."""
    node = a_joining_node(provider_id="hcloud://9", created_at=YESTERDAY, ready_since=FIVE_MINUTES_AGO)
    identity = NodeIdentity("hcloud://9", {}, (UNINITIALIZED,), ())
    lost = LostNode(identity, AbsenceProof(9, "uid-web-1", YESTERDAY, FIVE_MINUTES_AGO))
    assert orphaned_node(node, Gone(in_cloud(9), 2), SETTINGS) == (OrphanedNode(lost), ())


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
    assert orphaned_node(a_lost_node(), Gone(in_cloud(1)), SETTINGS) != orphaned_node(
        a_lost_node(**overrides), Gone(in_cloud(1)), SETTINGS
    )


def test_loss_shows_owned_labels_only() -> None:
    """What is lost is told in the labels that are ours, mirrored ones included."""
    node = a_lost_node(labels={"team": "red", "srv.example.com/team": "blue"})
    departing, _ = orphaned_node(node, Gone(in_cloud(1)), Settings(mirror_labels="srv.example.com"))
    assert departing is not None
    assert departing.lost.identity.labels == {"srv.example.com/team": "blue"}
