"""When a server counts as gone (``absence-proof``)."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from desired.guards.absence import Doubt, doubt_about, doubt_about_server, servers_to_confirm
from desired.model.absence import AbsenceProof, is_going_away, proof_of_absence
from desired.model.settings import Controller, Settings, Waits
from desired.model.snapshot import Node, Readiness, RobotAccount, Snapshot
from desired.rules.guards import LIST_TOO_OLD, LOOKUP_FAILED, LOOKUP_PENDING, NODE_TOO_YOUNG, NOT_READY_TOO_SHORT
from desired.rules.rule import Rule
from desired.section import Absent, Section, Unknown
from desired.syntax.provider_id import ServerKey
from desired.syntax.selector import parse_selector
from tests.builders import (
    NOW,
    UNINITIALIZED,
    a_fleet,
    a_joining_node,
    a_lost_node,
    a_settled_node,
    a_snapshot,
    in_cloud,
    in_robot,
    incomplete,
    servers_of,
)

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
NO_WAITS = Waits(timedelta(0), timedelta(0), timedelta(0))
GONE: Mapping[int, Absent | Unknown] = {1: Absent()}


def ago(seconds: float) -> datetime:
    """So many seconds before the snapshot."""
    return NOW - timedelta(seconds=seconds)


def since(created: float, silent: float) -> Node:
    """A lost Node that was created, and has been silent, for so many seconds."""
    return a_lost_node(created_at=ago(created), ready_since=ago(silent))


def silence(due_in_s: float, wait: str = "20 s") -> Doubt:
    """The doubt that a Node's silence is too short."""
    return Doubt(NOT_READY_TOO_SHORT, {"wait": wait}, due_in_s)


def youth(due_in_s: float, wait: str = "120 s") -> Doubt:
    """The doubt that a Node is too young."""
    return Doubt(NODE_TOO_YOUNG, {"wait": wait}, due_in_s)


NOT_ASKED = Doubt(LOOKUP_PENDING, {"server": "server 1"}, 5.0)


def asked_in_vain(why: str) -> Doubt:
    """The doubt that a GET by id left."""
    return Doubt(LOOKUP_FAILED, {"server": "server 1", "error": why})


@pytest.mark.parametrize(
    ("node", "asked", "expected"),
    [
        pytest.param(a_lost_node(), GONE, None, id="complete"),
        pytest.param(since(120, 20), GONE, None, id="complete-to-the-second"),
        pytest.param(since(119, 20), GONE, youth(1), id="too-young-by-a-second"),
        pytest.param(since(500, 19.5), GONE, silence(0.5), id="not-ready-too-recently"),
        pytest.param(since(5, 5), GONE, youth(115), id="both-and-the-longer-wait-is-told"),
        pytest.param(since(119, 2), GONE, silence(18), id="both-and-the-other-is-the-longer"),
        pytest.param(since(110, 10), GONE, youth(10), id="both-equally-long"),
        pytest.param(since(30, 300), GONE, youth(90), id="silent-since-before-its-creation"),
        pytest.param(since(500, -3600), GONE, silence(3620), id="transition-in-the-future"),
        pytest.param(since(-3600, -3600), GONE, youth(3720), id="created-in-the-future"),
        pytest.param(
            a_lost_node(ready=Readiness.MISSING, created_at=ago(130)), GONE, None, id="never-reported-and-old-enough"
        ),
        pytest.param(
            a_lost_node(ready=Readiness.MISSING, created_at=ago(10)), GONE, youth(110), id="never-reported-and-young"
        ),
        pytest.param(
            a_lost_node(ready_since=None, created_at=ago(15)), GONE, youth(105), id="no-transition-counts-from-creation"
        ),
        pytest.param(a_lost_node(), {}, NOT_ASKED, id="not-asked-by-id"),
        pytest.param(a_lost_node(), {2: Absent()}, NOT_ASKED, id="another-was-asked-for"),
        pytest.param(a_lost_node(), {1: Unknown("500: oops")}, asked_in_vain("500: oops"), id="answered-500"),
        pytest.param(a_lost_node(), {1: Unknown("401: no token")}, asked_in_vain("401: no token"), id="answered-401"),
        pytest.param(since(119, 20), {}, youth(1), id="too-young-to-be-asked-for"),
        pytest.param(since(119, 20), {1: Unknown("500")}, asked_in_vain("500"), id="no-wait-mends-a-failed-question"),
    ],
)
def test_doubt(node: Node, asked: Mapping[int, Absent | Unknown], expected: Doubt | None) -> None:
    """A proof lacks whatever is missing of age, silence and an answer by id; the wait told is the longest."""
    snapshot = a_snapshot([node], confirmations=asked)
    assert doubt_about(proof_of_absence(node, in_cloud(1)), snapshot, Waits()) == expected


@pytest.mark.parametrize(
    ("waits", "asked", "expected"),
    [
        pytest.param(NO_WAITS, GONE, None, id="no-waits"),
        pytest.param(NO_WAITS, {}, NOT_ASKED, id="no-waits-still-ask"),
        pytest.param(Waits(timedelta(0), timedelta(seconds=10)), GONE, youth(9, "10 s"), id="age"),
        pytest.param(Waits(timedelta(minutes=1.5), timedelta(0)), GONE, silence(89, "90 s"), id="silence"),
    ],
)
def test_waits_are_settings(waits: Waits, asked: Mapping[int, Absent], expected: Doubt | None) -> None:
    """Each wait is up to the operator and may be none; the question by id is not."""
    node = since(1, 1)
    assert doubt_about(proof_of_absence(node, in_cloud(1)), a_snapshot([node], confirmations=asked), waits) == expected


def test_no_wait_at_all_still_waits_for_a_transition_in_the_future() -> None:
    """A Node that stops being Ready in an hour, by a clock that is ahead, has not stopped yet."""
    node = since(500, -3600)
    doubt = doubt_about(proof_of_absence(node, in_cloud(1)), a_snapshot([node], confirmations=GONE), NO_WAITS)
    assert doubt == silence(3600, "0 s")


def test_a_proof_is_of_one_node_and_one_silence() -> None:
    """Another Node under the same name, or the same one silent again, is another proof."""
    node = since(500, 60)
    proof = proof_of_absence(node, in_cloud(1))
    assert proof == AbsenceProof(1, "uid-web-1", ago(500), ago(60))
    others = [
        proof_of_absence(node, in_cloud(2)),
        proof_of_absence(replace(node, uid="registered-anew"), in_cloud(1)),
        proof_of_absence(since(499, 60), in_cloud(1)),
        proof_of_absence(since(500, 59), in_cloud(1)),
    ]
    assert proof not in others
    assert proof_of_absence(replace(node, resource_version="2", unschedulable=True), in_cloud(1)) == proof


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        *(pytest.param(a_lost_node(ready=ready), ready is not Readiness.TRUE, id=ready.name) for ready in Readiness),
        pytest.param(a_lost_node(deleted_at=NOW), False, id="being-deleted"),
        pytest.param(a_lost_node(unschedulable=True), True, id="cordoned"),
    ],
)
def test_is_departing(node: Node, expected: bool) -> None:
    """A Node goes unless its kubelet reports, and is deleted once."""
    assert is_going_away(node) is expected


LOST = a_lost_node("a", 1)
READY = a_settled_node("z", 9)
SPARED = Settings(ignore_nodes=parse_selector("example.com/spare"))


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(a_fleet(LOST, READY, gone=[1]), (1,), id="proven-but-for-the-question"),
        pytest.param(a_fleet(LOST, READY, gone=[1], confirmations={}), (1,), id="whether-or-not-it-was-asked-before"),
        pytest.param(a_fleet(LOST, gone=[1]), (1,), id="the-only-node"),
        pytest.param(a_fleet(LOST, READY), (), id="server-is-there"),
        pytest.param(
            a_fleet(
                a_lost_node("a", 3, ready_since=ago(200)),
                a_lost_node("b", 2, ready_since=ago(400)),
                a_lost_node("c", 5, ready_since=ago(300)),
                a_lost_node("d", 4, ready_since=ago(300)),
                gone=[2, 3, 4, 5],
            ),
            (2, 4, 5, 3),
            id="the-longest-silent-first-then-by-id",
        ),
        pytest.param(
            a_fleet(LOST, a_lost_node("b", 1, ready_since=ago(60)), gone=[1]), (1,), id="two-nodes-of-one-server"
        ),
        pytest.param(a_fleet(a_lost_node("a", 1, created_at=ago(119)), gone=[1]), (), id="too-young"),
        pytest.param(a_fleet(a_lost_node("a", 1, ready_since=ago(19)), gone=[1]), (), id="not-ready-too-recently"),
        pytest.param(a_fleet(a_lost_node("a", 1, ready_since=NOW + HOUR), gone=[1]), (), id="clocks-an-hour-apart"),
        pytest.param(
            a_fleet(a_lost_node("a", 1, ready=Readiness.TRUE), READY, gone=[1]), (), id="its-kubelet-still-reports"
        ),
        pytest.param(a_fleet(a_lost_node("a", 1, deleted_at=NOW), READY, gone=[1]), (), id="being-deleted"),
        pytest.param(
            a_fleet(a_lost_node("a", 1, taints=(UNINITIALIZED,)), READY, gone=[1]),
            (1,),
            id="joining-with-a-provider-id",
        ),
        pytest.param(a_snapshot([a_joining_node(created_at=ago(999))]), (), id="joining-by-name"),
        pytest.param(a_snapshot([a_lost_node(provider_id="hrobot://1")]), (), id="robot"),
        pytest.param(a_fleet(a_lost_node("a", 1, labels={"example.com/spare": ""}), READY, gone=[1]), (), id="ignored"),
        pytest.param(a_fleet(LOST, a_settled_node("y", 8), READY, gone=[1, 8]), (1,), id="another-is-lost-and-ready"),
        pytest.param(a_fleet(LOST, READY, gone=[1, 9]), (1,), id="no-server-was-found-at-all"),
        pytest.param(
            a_snapshot([LOST, READY], servers_section=replace(servers_of(), unreadable={9: "no name"})),
            (1,),
            id="another-server-is-unreadable",
        ),
        pytest.param(a_fleet(LOST, READY, servers_section=incomplete(servers_of())), (), id="nothing-of-the-list"),
        pytest.param(
            a_fleet(LOST, READY, servers_section=incomplete(a_fleet(READY).servers)), (), id="part-of-the-list"
        ),
        pytest.param(
            a_fleet(LOST, READY, servers_section=replace(a_fleet(READY).servers, unreadable={1: "no name"})),
            (),
            id="server-is-there-and-unreadable",
        ),
    ],
)
def test_servers_to_confirm(snapshot: Snapshot, expected: tuple[int, ...]) -> None:
    """A server is asked for when its answer is all that a proof still lacks, the Node longest silent first."""
    assert servers_to_confirm(snapshot, SPARED) == expected


FIVE = a_fleet(
    a_lost_node("a", 1, ready_since=ago(500)),
    a_lost_node("b", 2, ready_since=ago(400), unschedulable=True),
    a_lost_node("c", 3, ready_since=ago(300)),
    a_lost_node("d", 4, ready_since=ago(200), unschedulable=True),
    a_lost_node("e", 5, ready_since=ago(1800)),
    gone=[1, 2, 3, 4, 5],
)


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        pytest.param((), (5, 2, 4, 1, 3), id="announced-and-given-up-ones"),
        pytest.param(("node/c",), (3, 5, 2, 4, 1), id="the-one-that-is-looked-at"),
        pytest.param(("node/c", "node/d"), (4, 3, 5, 2, 1), id="those-that-are-looked-at"),
        pytest.param(("node/z",), (5, 2, 4, 1, 3), id="one-that-is-not-lost"),
    ],
)
def test_whose_answer_is_wanted_first(only: tuple[str, ...], expected: tuple[int, ...]) -> None:
    """Before the longest silent come those that may go without a person's word, and before all what was asked for."""
    assert servers_to_confirm(FIVE, Settings(only=only)) == expected


@pytest.mark.parametrize(
    ("controllers", "expected"),
    [
        pytest.param({Controller.LIFECYCLE}, (1,), id="lifecycle-alone"),
        pytest.param({*Controller} - {Controller.LIFECYCLE}, (), id="all-others"),
        pytest.param(set(), (), id="none"),
    ],
)
def test_only_who_deletes_asks(controllers: set[Controller], expected: tuple[int, ...]) -> None:
    """Without the controller that deletes Nodes no server is asked for."""
    settings = Settings(controllers=frozenset(controllers))
    assert servers_to_confirm(a_fleet(LOST, READY, gone=[1]), settings) == expected


def test_who_was_given_up_is_a_setting() -> None:
    """What counts as announced by its silence, and so is asked for first, is up to the operator."""
    patient = Settings(waits=Waits(given_up_after=timedelta(seconds=450)))
    assert servers_to_confirm(FIVE, patient) == (5, 1, 2, 4, 3)


def test_waits_decide_when_to_ask() -> None:
    """With no waits a server is asked for as soon as its Node is silent, and its Node may be as young as it likes."""
    snapshot = a_fleet(a_lost_node("a", 1, created_at=NOW, ready_since=NOW), READY, gone=[1])
    assert servers_to_confirm(snapshot, Settings()) == ()
    assert servers_to_confirm(snapshot, Settings(waits=NO_WAITS)) == (1,)


def test_a_server_of_two_nodes_is_asked_for_once_and_for_the_more_urgent_one() -> None:
    """Two Nodes may claim one server that is gone: the one that was announced says when it is asked for."""
    nodes = (
        a_lost_node("a", 1, ready_since=ago(300), unschedulable=True),
        a_lost_node("b", 1, ready_since=ago(300)),
        a_lost_node("c", 2, ready_since=ago(540)),
    )
    assert servers_to_confirm(a_fleet(*nodes, gone=[1, 2]), Settings()) == (1, 2)


@pytest.mark.parametrize(
    ("server", "age", "row"),
    [
        pytest.param(in_robot(321), timedelta(minutes=2), None, id="as old as it may be"),
        pytest.param(in_robot(321), timedelta(minutes=2, seconds=1), LIST_TOO_OLD, id="older"),
        pytest.param(in_cloud(1), timedelta(hours=1), None, id="of no matter to a server of the cloud"),
    ],
)
def test_a_list_of_robot_that_is_kept(server: ServerKey, age: timedelta, row: Rule | None) -> None:
    """In the minutes for which it is kept the server may have come back: an old list proves nothing."""
    robot = RobotAccount(Section(), age, {321: Absent()})
    doubt = doubt_about_server(server, a_snapshot(robot=robot, confirmations=GONE))
    assert (doubt and doubt.row) is row
