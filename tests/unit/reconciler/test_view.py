"""The view of a report: what stands in which section, what goes, what is worth telling, and which switch opens it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from actuators.outcome import Applied
from desired.plan.change import Change, GuardDecision, GuardName, Hold, Verdict
from desired.plan.notes import Note, NoteKind
from desired.section import Present, Section, Unknown
from reconciler.config.options import Detail
from reconciler.report.view import View, are_folded, view_of
from reconciler.result import Line, Report, Requests
from tests.balancers import a_balancer, a_world
from tests.builders import CLUSTER_UID, a_change, a_server, a_snapshot, incomplete, servers_of
from tests.routes import a_route, a_routed_world, routes_of
from tests.support.keys import key_of
from tests.support.rows import rows

HELD = GuardDecision(Verdict.HELD, GuardName.NODE_BLAST_RADIUS, "too many")
WAITING = GuardDecision(Verdict.WAITING, GuardName.ABSENCE_PROOF, "too soon")
REFUSED = GuardDecision(Verdict.REFUSED, GuardName.FOREIGN_OWNER, "another's")
NEXT = "reconcile apply"


def of(*changes: Change, outcome: Applied | None = None, detail: Detail = Detail.FOLDED) -> View:
    return view_of(Report(lines=tuple(Line(change, outcome) for change in changes), detail=detail))


def test_sections_stand_in_the_order_of_reading() -> None:
    keys = ("service/default/web/finalizer", "route/4/10.0.0.0", "load_balancer/default/web", "node/web-1")
    parts = of(*map(a_change, (*keys, "certificate/default/web", "load_balancer/default/shop"))).parts

    assert [part.heading for part in parts] == ["nodes", "load balancers", "certificates", "services", "routes"]
    assert [line.change.key for line in parts[1].lines] == [keys[2], "load_balancer/default/shop"]
    assert [dict(part.counts) for part in parts] == [{"add": 1 + (part is parts[1])} for part in parts]


def test_what_is_used_of_a_limit() -> None:
    """A network takes a hundred routes: what is there, readable or not, stands above those that change."""
    section = routes_of(a_route(), a_route(2, 2), unreadable={"fd00::/64": "its destination is of IPv6"})
    line = Line(a_change("route/4/10.244.3.0/24", "route.create", after=a_route(3)))
    world = replace(a_routed_world(), routes=section)

    assert [part.title for part in view_of(Report(snapshot=world, lines=(line,))).parts] == ["routes, 3/100 used"]
    assert [part.title for part in of(line.change).parts] == ["routes"]


def routes(number: int, decision: GuardDecision | None = None) -> tuple[Change, ...]:
    every = [a_change(f"route/4/10.244.{2 * n}.0/24", "route.delete") for n in range(number)]
    return tuple(change.ruled(decision) if decision else change for change in every)


@pytest.mark.parametrize(
    ("view", "goes"),
    [
        pytest.param(of(*routes(2)), {"To remove": ["10.244.0.0/24", "10.244.2.0/24"]}, id="a few"),
        pytest.param(
            of(*reversed(routes(6))), {"To remove": [f"10.244.{2 * n}.0/24" for n in range(6)]}, id="by number"
        ),
        pytest.param(of(*routes(1, HELD)), {"To remove, when approved": ["10.244.0.0/24"]}, id="held"),
        pytest.param(of(*routes(1, WAITING)), {"To remove, after waiting": ["10.244.0.0/24"]}, id="waits"),
        pytest.param(of(*routes(1, REFUSED)), {}, id="refused"),
        pytest.param(of(*routes(1), outcome=Applied()), {"Removed": ["10.244.0.0/24"]}, id="applied"),
        pytest.param(of(a_change()), {}, id="nothing goes"),
    ],
)
def test_what_goes(view: View, goes: Mapping[str, Sequence[str]]) -> None:
    assert {end: [key.removeprefix("route/4/") for key in keys] for end, keys in view.goes.items()} == goes


NODES = [a_change(f"node/w-{n}", "node.delete") for n in range(21)]
NOTES = tuple(Note(key_of(f"route/4/{n}"), NoteKind.FOREIGN, "left alone") for n in range(9))
STUCK = tuple(Note(key_of(f"service/ns/s-{n}"), NoteKind.STUCK, "nobody deletes it") for n in range(7))


@pytest.mark.parametrize(
    ("report", "switch"),
    [
        pytest.param(Report(lines=tuple(map(Line, routes(5)))), "Each change: --full", id="changes"),
        pytest.param(Report(notes=NOTES), "Each note: --full", id="notes"),
        pytest.param(Report(notes=(*STUCK, *NOTES)), "Each note: --full", id="notes beside those in need"),
        pytest.param(Report(notes=STUCK), "", id="who needs a person is named"),
        pytest.param(Report(lines=tuple(map(Line, NODES))), "Each name: --full", id="names of what goes"),
        pytest.param(Report(lines=tuple(map(Line, NODES[:20]))), "", id="as many as are named"),
    ],
)
def test_which_switch_opens_it(report: Report, switch: str) -> None:
    """Where no change is folded, notes alone may be, and where no note is, names of what goes; in full nothing is."""
    assert view_of(report).opening == switch
    assert view_of(replace(report, detail=Detail.FULL)).opening == ""


@pytest.mark.parametrize(
    ("report", "command"),
    [
        pytest.param(Report(lines=(Line(a_change()),), next_step=NEXT), NEXT, id="due"),
        pytest.param(Report(lines=(Line(a_change()),)), "", id="no dry run"),
        pytest.param(Report(lines=(Line(a_change(decision=WAITING)),), next_step=NEXT), "", id="all waits"),
        pytest.param(Report(lines=(Line(a_change()),), next_step=NEXT, errors=("no",)), "", id="an error"),
        pytest.param(Report(next_step=NEXT), "", id="no changes"),
    ],
)
def test_the_next_command(report: Report, command: str) -> None:
    assert view_of(report).next_step == command


WRONG_TOKEN = "Hetzner API: GET /servers answers 401; check HCLOUD_TOKEN"
UNREAD = replace(a_routed_world(), servers=Section.missing(WRONG_TOKEN), routes=Section.missing(WRONG_TOKEN))


@rows(
    "report gaps",
    {
        "none": (Report(snapshot=a_snapshot()), []),
        "a page": (
            Report(snapshot=a_world(load_balancers=incomplete(Section({42: a_balancer()}, expected=3)))),
            ["load balancers: 1 of 3 read, INCOMPLETE: page 2 timed out"],
        ),
        "all of it": (
            Report(snapshot=replace(a_routed_world(), routes=Section.missing("503"))),
            ["routes: 0 read, INCOMPLETE: 503"],
        ),
        "what the error has said": (
            Report(snapshot=UNREAD, errors=(WRONG_TOKEN,)),
            ["servers, routes: INCOMPLETE, not read"],
        ),
        "what was read of it in spite of the error": (
            Report(
                snapshot=replace(a_snapshot(), servers=incomplete(servers_of(a_server()))), errors=("page 2 timed out",)
            ),
            ["servers: 1 of 1 read, INCOMPLETE: page 2 timed out"],
        ),
        "an error about something else": (
            Report(snapshot=replace(UNREAD, routes=None), errors=("x",), misconfigured=("x",)),
            [f"servers: 0 read, INCOMPLETE: {WRONG_TOKEN}"],
        ),
    },
)
def test_gaps(report: Report, gaps: list[str]) -> None:
    assert list(view_of(report).head.told_gaps) == gaps


@pytest.mark.parametrize(
    ("uid", "requests", "told"),
    [
        (
            Present(CLUSTER_UID),
            Requests(5, 4, 3599, 3600),
            (CLUSTER_UID, "", "5 to Kubernetes, 4 to Hetzner", "3599 of 3600"),
        ),
        (Unknown("403"), Requests(5, 4, robot=1), ("", "403", "5 to Kubernetes, 1 to Robot, 4 to Hetzner", "")),
    ],
    ids=["known", "unknown"],
)
def test_the_head(uid: Present[str] | Unknown, requests: Requests, told: tuple[str, ...]) -> None:
    head = view_of(Report(snapshot=replace(a_snapshot(), cluster_uid=uid), requests=requests)).head

    assert (head.cluster, head.why_unknown, head.requests, head.left) == told


WEB = key_of("service/default/web")
ANCHOR = Note(key_of("project/cloud"), NoteKind.ANCHOR, "wrong token")
FOREIGN = Note(key_of("node/web-1"), NoteKind.FOREIGN, "another cloud's")
UNKNOWN = Note(WEB, NoteKind.UNKNOWN, "the servers were not read")
KEYS = tuple(key_of(f"node/n{n}") for n in range(9))


@rows(
    "report told",
    {
        "the anchor explains most of the others": (Report(notes=(FOREIGN, ANCHOR)), [(ANCHOR,), (FOREIGN,)]),
        "what says the same is one": (Report(notes=(*NOTES[:3], FOREIGN)), [NOTES[:3], (FOREIGN,)]),
        "each by itself in full": (Report(notes=NOTES[:3], detail=Detail.FULL), [(note,) for note in NOTES[:3]]),
        "what follows from an error": (
            Report(notes=(UNKNOWN, Note(WEB, NoteKind.MALFORMED, "own")), errors=(WRONG_TOKEN,)),
            [(Note(WEB, NoteKind.MALFORMED, "own"),)],
        ),
        "an error of the settings": (Report(notes=(UNKNOWN,), errors=("x",), misconfigured=("x",)), [(UNKNOWN,)]),
        "what a hold says, and what follows from the anchor": (
            Report(
                notes=(Note(WEB, NoteKind.NO_TARGETS, "no Node"), Note(WEB, NoteKind.KEPT, "unchanged"), ANCHOR),
                holds=(Hold("sha256:2", GuardName.PROJECT_ANCHOR, "0", "5", KEYS, "wrong token"),),
            ),
            [],
        ),
    },
)
def test_notes_worth_telling(report: Report, told: list[tuple[Note, ...]]) -> None:
    """What a hold or an error says already is not told a second time; what says the same stands together."""
    assert list(view_of(report).notes) == told


@pytest.mark.parametrize(("notes", "folded"), [(NOTES[:4], False), (NOTES[:5], True), (STUCK, False)])
def test_notes_that_fold(notes: tuple[Note, ...], folded: bool) -> None:
    """Five or more, but for those of objects that need a person: each is named."""
    assert are_folded(notes) is folded


def test_the_anchor_is_the_first_of_the_holds() -> None:
    many, anchor = (
        Hold(f"sha256:{rule}", rule, "9", "1", KEYS, "why")
        for rule in (GuardName.NODE_BLAST_RADIUS, GuardName.PROJECT_ANCHOR)
    )

    assert view_of(Report(holds=(many, anchor))).holds == (anchor, many)
