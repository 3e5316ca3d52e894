"""Text of reports: a whole one, its parts, and nothing lost, cut or obeyed by the terminal."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from actuators.outcome import Applied, Failed, Outcome, Pending
from desired.plan.change import GuardDecision, GuardName, Hold, Verdict
from desired.plan.notes import Note, NoteKind
from desired.section import Section
from reconciler.report.folding import blocks
from reconciler.report.text import Tone, block_lines, render_lines
from reconciler.result import Line, Report
from tests.balancers import a_balancer, a_certificate, a_service, a_world
from tests.builders import a_change, a_server, a_snapshot, an_identity, incomplete
from tests.support.balancer_changes import a_creation
from tests.support.keys import key_of
from tests.support.rendering import written
from tests.support.rows import rows


def test_brackets_are_kept() -> None:
    change = a_change(
        before=an_identity(None, labels={}),
        after=an_identity(labels={"topology.kubernetes.io/region": "[red]fsn1[/red]"}),
        reason="because [/bold] of :smile: [link=x]",
    )
    text = written(Report(snapshot=a_snapshot(), lines=(Line(change),)))

    assert "labels[topology.kubernetes.io/region]: (none) -> [red]fsn1[/red]" in text
    assert "because [/bold] of :smile: [link=x]" in text


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [
        ("a\x1b[31mred", r"a\x1b[31mred"),
        ("two\nlines", r"two\nlines"),
        ("\rover", r"\rover"),
        ("\x9b31m", r"\x9b31m"),
        ("bell\x07", r"bell\x07"),
        ("right\u202eleft", r"right\u202eleft"),
        ("lone \udc80", r"lone \udc80"),
        ("Grüße 日本", "Grüße 日本"),
    ],
)
def test_control_characters_are_made_visible(foreign: str, shown: str) -> None:
    note = Note(key_of("node/web-1"), NoteKind.UNKNOWN, foreign)
    report = Report(snapshot=a_snapshot(), notes=(note,))

    text = written(report)

    assert f"  node/web-1  unknown: {shown}\n" in text


WRONG = Note(key_of("service/default/web"), NoteKind.MALFORMED, "soon is no duration")
UNCLEAR = Note(key_of("node/web-1"), NoteKind.AMBIGUOUS, "two servers")
ONLY = Note(key_of("plan"), NoteKind.PARTIAL, "limited to node/web-1 by --only; 0 other changes left out")
UNREAD = Note(WRONG.key, NoteKind.UNKNOWN, "lookup of type lb11 failed")
OF_PART = " in the part that --only names"
PART, SEEN = f"No changes{OF_PART}", "Observed 0 nodes, 1 server."


@rows(
    "notes lines footer tone",
    {
        "of everything": ((), (), f"No changes. {SEEN}", Tone.GOOD),
        "one wrong": ((WRONG,), (), f"No changes; 1 object needs a person, see Notes. {SEEN}", Tone.WARNING),
        "two wrong in a part": (
            (WRONG, UNCLEAR, ONLY),
            (),
            f"{PART}; 2 objects need a person, see Notes. {SEEN}",
            Tone.WARNING,
        ),
        "of a part": ((ONLY,), (), f"{PART}. {SEEN}", Tone.PLAIN),
        "after a write": (
            (ONLY,),
            (Line(a_change(), Applied()),),
            f"Applied 1 change; none is left{OF_PART}. {SEEN}",
            Tone.PLAIN,
        ),
    },
)
def test_no_changes_says_of_what(notes: tuple[Note, ...], lines: tuple[Line, ...], footer: str, tone: Tone) -> None:
    """A part without changes is never said to be a world without changes, and green is for what is as it should be."""
    *_, last = render_lines(Report(snapshot=a_snapshot(servers=[a_server()]), lines=lines, notes=notes))

    assert (last.text, last.tone) == (footer, tone)


@rows(
    "members line",
    {
        "led": ({"not_leader": "held"}, "Result: not_leader: another process leads, which makes the same changes"),
        "a gap": (
            {"snapshot": a_snapshot(servers_section=incomplete(Section({})))},
            "Result: incomplete: some data could not be read, and changes that depend on it wait",
        ),
        "refused": (
            {"lines": (Line(a_change(decision=GuardDecision(Verdict.REFUSED, GuardName.FOREIGN_OWNER, "why"))),)},
            "Result: refused: a person has to decide or correct something first",
        ),
        "not done yet": (
            {"lines": (Line(a_change(), Pending("busy")),)},
            "Result: partial: some changes are not made yet",
        ),
        "changes": ({"lines": (Line(a_change()),)}, "Result: changes"),
        "an error": ({"errors": ("no",)}, "Result: error"),
        "an error, and what follows from it": (
            {"errors": ("no",), "notes": (UNREAD, replace(UNREAD, key=UNREAD.key.part("status")))},
            "Result: error, and 1 object cannot be decided on until it is corrected",
        ),
    },
)
def test_the_last_line(members: Mapping[str, Any], line: str) -> None:
    assert written(Report(**{"snapshot": a_snapshot(), **members})).splitlines()[-1] == line


def test_how_many_changes() -> None:
    verdicts = (Verdict.HELD, Verdict.WAITING, Verdict.WAITING, Verdict.REFUSED)
    withheld = [Line(a_change(f"node/{n}", decision=GuardDecision(v))) for n, v in enumerate(verdicts)]
    outcomes: tuple[Outcome, ...] = (Applied(), Failed("no"))
    tried = [Line(a_change(f"node/{n}"), outcome) for n, outcome in enumerate(outcomes, 4)]
    report = Report(snapshot=a_snapshot(), lines=(*withheld, *tried))

    assert written(report).splitlines()[-2] == ("Applied 1 of 6 changes, 1 failed, 1 held, 2 waiting, 1 refused.")


@pytest.mark.parametrize("verdict", Verdict)
def test_what_is_refused_is_not_shown_in_detail(verdict: Verdict) -> None:
    """Nobody can let it pass, so that its fields are of no use; JSON has them."""
    line = Line(replace(a_creation(), decision=GuardDecision(verdict, GuardName.FOREIGN_OWNER, "why")))

    shown = [each.text for block in blocks([line]) for each in block_lines(block)]

    assert any("listeners" in text for text in shown) is (verdict is not Verdict.REFUSED)


def test_a_hold_names_what_nothing_else_does() -> None:
    keys = tuple(key_of(f"node/n{n}") for n in range(3))
    decision = GuardDecision(Verdict.HELD, GuardName.PROJECT_ANCHOR, "wrong token")
    holds = (
        Hold("sha256:1", GuardName.NODE_BLAST_RADIUS, "3", "1", keys, "too many"),
        Hold("sha256:2", GuardName.PROJECT_ANCHOR, "0", "5", keys, "wrong token"),
    )
    lines = tuple(Line(a_change(key, "node.labels", decision=decision)) for key in keys)

    text = written(Report(snapshot=a_snapshot(), lines=lines, holds=holds))

    anchor, _, other = text.partition("  ! node-blast-radius: ")
    assert "  ! project-anchor: " in anchor
    assert "also holds" not in anchor
    assert f"      also holds: {', '.join(keys)}\n" in other


@pytest.mark.parametrize(
    ("services", "balancers", "certificates", "seen"),
    [
        pytest.param(1, 1, 1, "1 service, 1 load balancer, 1 certificate", id="one of each"),
        pytest.param(3, 2, 0, "3 services, 2 load balancers, 0 certificates", id="other numbers"),
        pytest.param(0, 0, None, "0 services, 0 load balancers", id="what nobody had to read is not counted"),
    ],
)
def test_what_was_observed(services: int, balancers: int, certificates: int | None, seen: str) -> None:
    world = a_world(
        [a_service(f"web-{n}") for n in range(services)],
        [a_balancer(n) for n in range(balancers)],
        certificates=None if certificates is None else [a_certificate(n) for n in range(certificates)],
    )

    assert written(Report(snapshot=world)).splitlines()[-1] == f"No changes. Observed 1 node, 1 server, {seen}."
