"""Text and Markdown of reports, whole: of each scenario, and of whatever else a report may say. UPDATE_GOLDEN writes
the files anew; read them."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from actuators.outcome import Applied, Failed, Outcome, Pending
from desired.model.price import Cost
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, GuardDecision, GuardName, Hold, Verdict
from desired.plan.notes import Note, NoteKind
from desired.section import Section, Unknown
from reconciler.config.options import Detail, Output
from reconciler.report.text import Tone, render_lines
from reconciler.result import Line, MonthlyCost, Report, Requests
from tests.balancers import a_balancer, a_certificate, a_service, a_world
from tests.builders import a_change, a_server, a_snapshot, incomplete, servers_of
from tests.routes import a_route, a_routed_world, routes_of
from tests.support.balancer_changes import a_creation
from tests.support.keys import key_of
from tests.support.rendering import golden, written
from tests.support.scenarios import SCENARIOS

SEEN = a_snapshot(servers=[a_server()])
HELD = GuardDecision(Verdict.HELD, GuardName.NODE_BLAST_RADIUS, "too many")
WAITING = GuardDecision(Verdict.WAITING, GuardName.ABSENCE_PROOF, "too soon")
REFUSED = GuardDecision(Verdict.REFUSED, GuardName.FOREIGN_OWNER, "another's")
OF_ANCHOR = GuardDecision(Verdict.HELD, GuardName.PROJECT_ANCHOR, "wrong token")
NEXT = "reconcile apply"
WRONG_TOKEN = "Hetzner API: GET /servers answers 401; check HCLOUD_TOKEN"
UNREAD = replace(a_routed_world(), servers=Section.missing(WRONG_TOKEN), routes=Section.missing(WRONG_TOKEN))
KEYS = tuple(key_of(f"node/n{n}") for n in range(3))
MANY = Hold("sha256:1", GuardName.NODE_BLAST_RADIUS, "3", "1", KEYS, "too many")
WEB = key_of("service/default/web")
WRONG = Note(WEB, NoteKind.MALFORMED, "soon is no duration")
UNCLEAR = Note(key_of("node/web-1"), NoteKind.AMBIGUOUS, "two servers")
ONLY = Note(key_of("plan"), NoteKind.PARTIAL, "limited to node/web-1 by --only; 0 other changes left out")
UNKNOWN = Note(WEB, NoteKind.UNKNOWN, "lookup of type lb11 failed")
ANCHOR = Note(key_of("project/cloud"), NoteKind.ANCHOR, "wrong token")
FOREIGN = Note(key_of("node/web-1"), NoteKind.FOREIGN, "another cloud's")
NOTES = tuple(Note(key_of(f"route/4/{n}"), NoteKind.FOREIGN, "left alone") for n in range(9))
STUCK = tuple(Note(key_of(f"service/ns/s-{n}"), NoteKind.STUCK, "nobody deletes it") for n in range(7))
KEPT = (Note(WEB, NoteKind.NO_TARGETS, "no Node"), Note(WEB, NoteKind.KEPT, "unchanged"))


def report(*changes: Change, outcome: Outcome | None = None, snapshot: Snapshot | None = None, **parts: Any) -> Report:
    lines = tuple(Line(change, outcome) for change in changes)
    return Report(snapshot=snapshot, **{"lines": lines, **parts})


def routes(number: int, decision: GuardDecision | None = None) -> list[Change]:
    every = [a_change(f"route/4/10.244.{2 * n}.0/24", "route.delete") for n in range(number)]
    return [change.ruled(decision) if decision else change for change in every]


def nodes(number: int) -> list[Change]:
    return [a_change(f"node/w-{n}", "node.delete") for n in range(number)]


def observed(services: int, balancers: int, certificates: int | None) -> Report:
    listed = None if certificates is None else [a_certificate(n) for n in range(certificates)]
    found = [a_service(f"web-{n}") for n in range(services)], [a_balancer(n) for n in range(balancers)]
    return Report(snapshot=a_world(*found, certificates=listed))


def a_gap(**sections: Any) -> Snapshot:
    return replace(a_snapshot(), **sections)


SECTIONS = "service/default/web/finalizer route/4/10.0.0.0 load_balancer/default/web node/web-1 certificate/default/web"
VERDICTS = (Verdict.HELD, Verdict.WAITING, Verdict.WAITING, Verdict.REFUSED)
COUNTED = (
    *(Line(a_change(f"node/{n}", decision=GuardDecision(v))) for n, v in enumerate(VERDICTS)),
    Line(a_change("node/4"), Applied()),
    Line(a_change("node/5"), Failed("no")),
)
FULL_NETWORK = replace(
    a_routed_world(),
    routes=routes_of(a_route(), a_route(2, 2), unreadable={"fd00::/64": "its destination is of IPv6"}),
)
OF_HOLDS = [a_change(key, "node.labels", decision=OF_ANCHOR) for key in KEYS]
TWO_HOLDS = (MANY, Hold("sha256:2", GuardName.PROJECT_ANCHOR, "0", "5", KEYS, "wrong token"))
PRICED = replace(a_creation(), cost=Cost(Decimal("5.39")))
WITH_COSTS = report(PRICED, a_change(), snapshot=SEEN, cost=MonthlyCost("EUR", Cost(Decimal("5.39"))))
TOLD: Mapping[str, Report] = {
    **SCENARIOS,
    "one is wrong": report(snapshot=SEEN, notes=(WRONG,)),
    "two are wrong in a part": report(snapshot=SEEN, notes=(WRONG, UNCLEAR, ONLY)),
    "a part": report(snapshot=SEEN, notes=(ONLY,)),
    "a part was written": report(a_change(), outcome=Applied(), snapshot=SEEN, notes=(ONLY,)),
    "another process leads": report(snapshot=a_snapshot(), not_leader="held"),
    "refused": report(a_change(decision=REFUSED), snapshot=a_snapshot()),
    "not made yet": report(a_change(), outcome=Pending("busy"), snapshot=a_snapshot()),
    "follows from an error": report(errors=("no",), notes=(UNKNOWN, replace(UNKNOWN, key=WEB.part("status")))),
    "of each verdict and outcome": Report(snapshot=a_snapshot(), lines=COUNTED),
    **{
        f"{verdict}, in detail": report(replace(a_creation(), decision=replace(REFUSED, verdict=verdict)))
        for verdict in Verdict
    },
    "two holds": report(*OF_HOLDS, snapshot=a_snapshot(), holds=TWO_HOLDS),
    "with costs": WITH_COSTS,
    "one of each was read": observed(1, 1, 1),
    "other numbers were read": observed(3, 2, 0),
    "no certificates were read": observed(0, 0, None),
    "sections in the order of reading": report(*map(a_change, SECTIONS.split())),
    "used of a limit": report(
        a_change("route/4/10.244.3.0/24", "route.create", after=a_route(3)), snapshot=FULL_NETWORK
    ),
    "a few go": report(*routes(2)),
    "many go, by number": report(*reversed(routes(6))),
    "goes when approved": report(*routes(1, HELD)),
    "goes after waiting": report(*routes(1, WAITING)),
    "does not go": report(*routes(1, REFUSED)),
    "went": report(*routes(1), outcome=Applied()),
    "more Nodes go than are named": report(*nodes(21), detail=Detail.SUMMARY),
    "as many Nodes go as are named": report(*nodes(20), detail=Detail.SUMMARY),
    "changes in full": report(*routes(5), detail=Detail.FULL),
    "notes": report(notes=(*NOTES[:5], FOREIGN)),
    "too few notes for a fold": report(notes=NOTES[:4]),
    "notes in full": report(notes=NOTES[:3], detail=Detail.FULL),
    "notes beside those in need": report(notes=(*STUCK, *NOTES)),
    "a next command": report(a_change(), next_step=NEXT),
    "all waits": report(a_change(decision=WAITING), next_step=NEXT),
    "a next command after an error": report(a_change(), next_step=NEXT, errors=("no",)),
    "no changes, and a next command": report(next_step=NEXT),
    "a page is missing": report(snapshot=a_world(load_balancers=incomplete(Section({42: a_balancer()}, expected=3)))),
    "all of a list is missing": report(snapshot=replace(a_routed_world(), routes=Section.missing("503"))),
    "the error has said why": report(snapshot=UNREAD, errors=(WRONG_TOKEN,)),
    "something was read in spite of the error": report(
        snapshot=a_gap(servers=incomplete(servers_of(a_server()))), errors=("page 2 timed out",)
    ),
    "an error about something else": report(
        snapshot=replace(UNREAD, routes=None), notes=(UNKNOWN,), errors=("x",), misconfigured=("x",)
    ),
    "requests": report(snapshot=a_snapshot(), requests=Requests(5, 4, 3599, 3600)),
    "an unknown cluster": report(snapshot=a_gap(cluster_uid=Unknown("403")), requests=Requests(5, 4, robot=1)),
    "the anchor first": report(notes=(FOREIGN, ANCHOR)),
    "an error beside what follows from it": report(notes=(UNKNOWN, WRONG), errors=(WRONG_TOKEN,)),
    "a hold has said it": report(notes=(*KEPT, ANCHOR), holds=TWO_HOLDS[1:]),
}
"""Name → report."""


@pytest.mark.parametrize(("output", "name"), [(Output.TEXT, "reports.txt"), (Output.MARKDOWN, "reports.md")])
def test_whole_reports(output: Output, name: str) -> None:
    text = "".join(f"=== {name}\n{written(told, output)}\n" for name, told in TOLD.items())

    assert text == golden(name, text)


@pytest.mark.parametrize(
    ("name", "tone"), [("empty", Tone.GOOD), ("one is wrong", Tone.WARNING), ("a part", Tone.PLAIN)]
)
def test_green_is_for_a_world_as_it_should_be(name: str, tone: Tone) -> None:
    """A part without changes is never said to be a world without changes."""
    *_, last = render_lines(TOLD[name])

    assert last.tone == tone
