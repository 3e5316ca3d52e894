"""Text of reports: a whole one, its parts, and nothing lost, cut or obeyed by the terminal."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.model.load_balancer import ManagedCertificate
from desired.model.snapshot import NodeAddress, Taint
from desired.model.to_builtins import to_builtins
from desired.plan.change import Change, GuardDecision, GuardName, Hold, NodeIdentity, Verdict
from desired.plan.notes import Note, NoteKind
from desired.section import Section, Unknown
from reconciler.config.options import Output
from reconciler.report.documents import report_as_json
from reconciler.report.folding import blocks
from reconciler.report.text import TextLine, Tone, block_lines, render_lines, with_moments
from reconciler.result import Line, Report, Requests
from tests.balancers import a_balancer, a_certificate, a_service, a_world
from tests.builders import NOW, a_change, a_server, a_snapshot, an_identity, incomplete
from tests.routes import a_route, a_routed_world, routes_of
from tests.support.balancer_changes import a_creation, a_difference, a_wish
from tests.support.keys import key_of
from tests.support.rendering import ESCAPES, Terminal, golden, written
from tests.support.scenarios import SCENARIOS


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A narrow terminal with colours."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "40")
    return Terminal()


def test_a_golden_report() -> None:
    """A plan with holds, line by line; set UPDATE_GOLDEN to write the file anew, and read it."""
    text = written(SCENARIOS["balancer_adopted"])

    assert text == golden("balancer_adopted.txt", text)


def test_a_terminal_shows_the_same_words(terminal: Terminal) -> None:
    """With colors taken away a terminal shows what a pipe gets, but for its lines' ends; a pipe gets no colors."""
    report = SCENARIOS["balancer_adopted"]
    shown = written(report, Output.AUTO, terminal)

    assert "\x1b[" in shown
    assert ESCAPES.sub("", shown).split() == written(report).split()
    assert written(report) == written(report, Output.AUTO)


def test_no_blank_ends_a_line() -> None:
    """However little there is to say."""
    for name, report in SCENARIOS.items():
        assert not re.search(r"[ \t]$", written(report), re.MULTILINE), name


def test_text_on_a_terminal_is_plain(terminal: Terminal) -> None:
    """``--output text`` has no colours, even on a terminal."""
    assert written(SCENARIOS["joining"], Output.TEXT, terminal) == written(SCENARIOS["joining"])


def test_no_colour_is_honoured(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``NO_COLOR`` no colour is used; a dumb terminal gets no escapes at all."""
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", written(SCENARIOS["joining"], Output.AUTO, terminal))

    monkeypatch.setenv("TERM", "dumb")
    assert written(SCENARIOS["joining"], Output.AUTO, Terminal()) == written(SCENARIOS["joining"])


@pytest.mark.parametrize("coloured", [False, True])
def test_brackets_are_kept(coloured: bool, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Label paths, and whatever else looks like markup, appear as they are."""
    monkeypatch.setenv("COLUMNS", "80")
    change = a_change(
        kind="node.initialise",
        before=an_identity(None, labels={}),
        after=an_identity(labels={"topology.kubernetes.io/region": "[red]fsn1[/red]"}),
        reason="because [/bold] of :smile: [link=x]",
    )
    report = Report(snapshot=a_snapshot(), lines=(Line(change),))

    text = written(report, Output.AUTO, terminal) if coloured else written(report)

    assert "labels[topology.kubernetes.io/region]: (none) -> [red]fsn1[/red]" in ESCAPES.sub("", text)
    assert "because [/bold] of :smile: [link=x]" in ESCAPES.sub("", text)


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
    """Text from elsewhere cannot move the cursor, change colours or begin a line of its own."""
    note = Note(key_of("node/web-1"), NoteKind.UNKNOWN, foreign)
    report = Report(snapshot=a_snapshot(), notes=(note,))

    text = written(report)

    assert f"  node/web-1  unknown: {shown}\n" in text


def test_an_empty_value_can_be_seen() -> None:
    """An empty text is shown in quotes, and told apart from nothing at all."""
    change = a_change(before=an_identity(labels={"a": ""}), after=an_identity(labels={"b": "x"}))

    text = written(Report(snapshot=a_snapshot(), lines=(Line(change),)))

    assert '      labels[a]: "" -> (none)\n' in text
    assert "      labels[b]: (none) -> x\n" in text


_VALUES = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=1, max_size=60)
_LABELS = st.dictionaries(_VALUES, _VALUES, max_size=5)
_TAINTS = st.lists(st.builds(Taint, _VALUES, _VALUES, _VALUES), max_size=3).map(tuple)
_TYPES = st.sampled_from(["Hostname", "ExternalIP", "InternalIP"]) | _VALUES
_ADDRESSES = st.lists(st.builds(NodeAddress, _TYPES, _VALUES), max_size=4).map(tuple)
_IDENTITIES = st.builds(an_identity, st.none() | _VALUES, labels=_LABELS, taints=_TAINTS, addresses=_ADDRESSES)


@given(_IDENTITIES, _IDENTITIES)
def test_every_changed_value_is_shown(before: object, after: object) -> None:
    """Plain text contains everything that goes, comes or moves, whole and verbatim."""
    if before == after:
        return
    change = a_change(before=before, after=after)
    text = "\n".join(line.text for line in render_lines(Report(snapshot=a_snapshot(), lines=(Line(change),))))

    old, new = to_builtins(before), to_builtins(after)
    for key in old["labels"].keys() | new["labels"].keys():
        if old["labels"].get(key) != new["labels"].get(key):
            sides = [side.get(key, "(none)") for side in (old["labels"], new["labels"])]
            assert f"      labels[{key}]: {sides[0]} -> {sides[1]}" in text
    if old["provider_id"] != new["provider_id"]:
        assert f"      provider_id: {old['provider_id'] or '(none)'} -> {new['provider_id'] or '(none)'}" in text
    old_types, new_types = by_type(old["addresses"]), by_type(new["addresses"])
    for kind in old_types.keys() | new_types.keys():
        if old_types.get(kind) != new_types.get(kind):
            assert (
                f"      addresses[{kind}]: {old_types.get(kind, '(none)')} -> {new_types.get(kind, '(none)')}" in text
            )
    if old_types == new_types and old["addresses"] != new["addresses"]:
        assert f"      addresses: {listed(old['addresses'])} -> {listed(new['addresses'])}" in text


@given(_IDENTITIES, st.data())
def test_every_change_of_order_is_shown(before: NodeIdentity, data: st.DataObject) -> None:
    """Lists in another order are shown as they stood and as they stand, whatever else changes."""
    addresses = tuple(data.draw(st.permutations(before.addresses)))
    after = replace(data.draw(_IDENTITIES), addresses=addresses)
    if before == after or before.addresses == addresses:
        return
    change = a_change(before=before, after=after)
    text = "\n".join(line.text for line in render_lines(Report(snapshot=a_snapshot(), lines=(Line(change),))))

    old, new = to_builtins(before.addresses), to_builtins(addresses)
    expected = [
        f"      addresses[{kind}]: {shown} -> {by_type(new)[kind]}"
        for kind, shown in by_type(old).items()
        if shown != by_type(new)[kind]
    ] or [f"      addresses: {listed(old)} -> {listed(new)}"]
    assert all(line in text for line in expected)


def by_type(addresses: list[dict[str, str]]) -> dict[str, str]:
    """Type → its addresses in their order."""
    kinds = dict.fromkeys(address["type"] for address in addresses)
    return {kind: ", ".join(a["address"] for a in addresses if a["type"] == kind) for kind in kinds}


def listed(addresses: list[dict[str, str]]) -> str:
    """All addresses in their order."""
    return ", ".join(f"{address['type']} {address['address']}" for address in addresses)


WRONG = Note(key_of("service/default/web"), NoteKind.MALFORMED, "soon is no duration")
UNCLEAR = Note(key_of("node/web-1"), NoteKind.AMBIGUOUS, "two servers")
ONLY = Note(key_of("plan"), NoteKind.PARTIAL, "limited to node/web-1 by --only; 0 other changes left out")


@pytest.mark.parametrize(
    ("notes", "lines", "footer"),
    [
        pytest.param((), (), "No changes. Observed 0 nodes, 1 server.", id="of everything"),
        pytest.param(
            (WRONG,), (), "No changes; 1 object needs a person, see Notes. Observed 0 nodes, 1 server.", id="one wrong"
        ),
        pytest.param(
            (WRONG, UNCLEAR, ONLY),
            (),
            "No changes in the part that --only names; 2 objects need a person, see Notes. Observed 0 nodes, 1 server.",
            id="two wrong in a part",
        ),
        pytest.param(
            (ONLY,), (), "No changes in the part that --only names. Observed 0 nodes, 1 server.", id="of a part"
        ),
        pytest.param(
            (ONLY,),
            (Line(a_change(), Applied()),),
            "Applied 1 change. No changes in the part that --only names. Observed 0 nodes, 1 server.",
            id="of a part after a write",
        ),
    ],
)
def test_no_changes_says_of_what(notes: tuple[Note, ...], lines: tuple[Line, ...], footer: str) -> None:
    """A part without changes is never said to be a world without changes."""
    report = Report(snapshot=a_snapshot(servers=[a_server()]), lines=lines, notes=notes)

    assert written(report).splitlines()[-1] == footer


@pytest.mark.parametrize(
    ("notes", "tone"),
    [
        pytest.param((), Tone.GOOD, id="all is well"),
        pytest.param((ONLY,), Tone.PLAIN, id="a part"),
        pytest.param((WRONG,), Tone.WARNING, id="somebody has to act"),
    ],
)
def test_nothing_to_do_is_only_good_where_nobody_has_to_act(notes: tuple[Note, ...], tone: Tone) -> None:
    """Green is for what is as it should be."""
    *_, last = render_lines(Report(snapshot=a_snapshot(), notes=notes))

    assert last.tone is tone


@pytest.mark.parametrize(
    ("members", "line"),
    [
        pytest.param(
            {"not_leader": "held"},
            "Result: not_leader: another process leads, and does the same within its interval",
            id="led",
        ),
        pytest.param(
            {"snapshot": a_snapshot(servers_section=incomplete(Section({})))},
            "Result: incomplete: some data is incomplete, and nothing that depends on it is done",
            id="a gap",
        ),
        pytest.param(
            {"lines": (Line(a_change(decision=GuardDecision(Verdict.REFUSED, GuardName.FOREIGN_OWNER, "why"))),)},
            "Result: refused: a guard stands in the way; nothing that it covers is done",
            id="refused",
        ),
        pytest.param(
            {"lines": (Line(a_change(), Pending("busy")),)},
            "Result: partial: part of it is not done yet",
            id="not done yet",
        ),
        pytest.param({"lines": (Line(a_change()),)}, "Result: changes", id="changes"),
        pytest.param({"errors": ("no",)}, "Result: error", id="an error"),
    ],
)
def test_the_last_line(members: Mapping[str, Any], line: str) -> None:
    """The result, and what it means."""
    assert written(Report(**{"snapshot": a_snapshot(), **members})).splitlines()[-1] == line


def test_how_many_changes() -> None:
    """The line before the last counts them by class, then what withheld some of them and what became of others."""
    verdicts = (Verdict.HELD, Verdict.WAITING, Verdict.WAITING, Verdict.REFUSED)
    withheld = [Line(a_change(f"node/{n}", decision=GuardDecision(v))) for n, v in enumerate(verdicts)]
    outcomes: tuple[Outcome, ...] = (Applied(), Failed("no"))
    tried = [Line(a_change(f"node/{n}"), outcome) for n, outcome in enumerate(outcomes, 4)]
    report = Report(snapshot=a_snapshot(), lines=(*withheld, *tried))

    assert written(report).splitlines()[-2] == (
        "Plan: 6 to add, 0 to modify, 0 to remove, 1 held, 2 waiting, 1 refused, 1 applied, 1 failed."
    )


@pytest.mark.parametrize(
    ("outcome", "fate"),
    [
        pytest.param(Applied(), "applied", id="applied"),
        pytest.param(Pending("busy"), "pending: busy", id="pending"),
        pytest.param(Skipped("stopped"), "skipped: stopped", id="skipped"),
        pytest.param(Failed("no"), "FAILED: no", id="failed"),
    ],
)
def test_outcomes(outcome: Outcome, fate: str) -> None:
    """How the attempt at a change ended stands behind its kind."""
    change = a_change()
    (block,) = blocks([Line(change, outcome)])
    first, *_ = block_lines(block)

    assert first.text == f"  + {change.key}  {change.kind}  {fate}"


def test_the_header() -> None:
    """Which cluster was read, and what that cost; nothing of what is not known."""
    known = Report(snapshot=a_snapshot(), requests=Requests(kubernetes=2, hetzner=1, remaining=3599, limit=3600))
    unknown = Report(
        snapshot=replace(a_snapshot(), cluster_uid=Unknown("403")), requests=Requests(kubernetes=2, hetzner=1)
    )

    assert written(known).splitlines()[1] == "Requests: 2 to Kubernetes, 1 to Hetzner, 3599 of 3600 left"
    assert written(unknown).splitlines()[:2] == [
        "Cluster unknown (403), read at 2026-07-01 12:00:00 UTC",
        "Requests: 2 to Kubernetes, 1 to Hetzner",
    ]


@pytest.mark.parametrize("verdict", Verdict)
def test_what_is_refused_is_not_shown_in_detail(verdict: Verdict) -> None:
    """Nobody can let it pass, so that its fields are of no use; JSON has them."""
    line = Line(replace(a_creation(), decision=GuardDecision(verdict, GuardName.FOREIGN_OWNER, "why")))

    shown = [each.text for block in blocks([line]) for each in block_lines(block)]

    assert any("listeners" in text for text in shown) is (verdict is not Verdict.REFUSED)


@pytest.mark.parametrize(
    ("flags", "command"),
    [
        ("", "reconcile approve {}"),
        ("--kubeconfig '/my file'", "reconcile approve {} --kubeconfig '/my file'"),
    ],
)
def test_the_approve_command_reaches_the_same_cluster(flags: str, command: str) -> None:
    """What is shown to be typed has the flags that this run was given, in text and for machines."""
    report = replace(SCENARIOS["held_by_anchor"], approve_flags=flags)
    expected = command.format(report.holds[0].hash)

    assert f"      approve: {expected}   (once, within 1 h)\n" in written(report)
    assert report_as_json(report)["holds"][0]["approve"] == expected


@pytest.mark.parametrize(
    ("due_in_s", "shown"),
    [
        (12.0, "; due in 12 s"),
        (11.2, "; due in 12 s"),
        (0.4, "; due in 1 s"),
        (120.0, "; due in 120 s"),
        (1500.0, "; due in 25 min"),
        (1501.0, "; due in 26 min"),
        (7200.0, "; due in 120 min"),
        (20_000.0, "; due in 6 h"),
        (0.0, ""),
        (None, ""),
    ],
)
def test_when_a_wait_ends(due_in_s: float | None, shown: str) -> None:
    """A wait is told with whole seconds, never too few; what is due already, or nobody knows when, has none."""
    change = a_change(decision=GuardDecision(Verdict.WAITING, GuardName.ABSENCE_PROOF, "too soon", due_in_s))

    text = written(Report(snapshot=a_snapshot(), lines=(Line(change),)))

    assert f"      waiting by absence-proof: too soon{shown}\n" in text


def test_consequences_are_shown() -> None:
    """What a person would want to be warned of stands under its change, in text and for machines."""
    report = Report(snapshot=a_snapshot(), lines=(Line(a_change(consequences=("InternalIP 10.0.0.9 goes away",))),))

    assert "      consequence: InternalIP 10.0.0.9 goes away\n" in written(report)
    assert report_as_json(report)["changes"][0]["consequences"] == ["InternalIP 10.0.0.9 goes away"]


def test_a_time_as_people_write_it() -> None:
    """JSON has it with seconds and zone."""
    (line,) = (line for line in told(a_change(kind="node.delete")) if "not_ready" in line)

    assert line == "      not_ready_since: 1 Jul 11:55 UTC -> (none)"


def test_the_anchor_is_the_first_of_the_notes() -> None:
    """What explains most of the other notes is read before them."""
    notes = (
        Note(key_of("node/web-1"), NoteKind.FOREIGN, "another cloud's"),
        Note(key_of("project/cloud"), NoteKind.ANCHOR, "wrong token"),
    )
    lines = [line.text for line in render_lines(Report(snapshot=a_snapshot(), notes=notes))]

    noted = [line.split()[0] for line in lines if line.startswith("  ")]
    assert noted == ["project/cloud", "node/web-1"]


REFUSED = "Hetzner API: GET /servers answers 401; check HCLOUD_TOKEN"


def test_a_wrong_token_is_told_once() -> None:
    """Its error is on stderr: a page with many Services names what was not read, and repeats nothing."""
    world = replace(a_routed_world(), servers=Section.missing(REFUSED), routes=Section.missing(REFUSED))
    notes = tuple(Note(key_of(f"service/default/{n}"), NoteKind.UNKNOWN, f"{n}: {REFUSED}") for n in range(20))
    keys = key_of("service/default/1"), key_of("service/default/1/status")
    notes += tuple(Note(key, NoteKind.UNKNOWN, "lookup of type lb11 failed") for key in keys)
    noted = (*notes, Note(key_of("node/x"), NoteKind.MALFORMED, "its own trouble"))

    text = written(Report(snapshot=world, notes=noted, errors=(REFUSED,)))

    assert REFUSED not in text
    assert "  servers, routes: INCOMPLETE, not read\n" in text
    assert re.findall(r"^  .*(?:unknown|malformed): .*$", text, re.MULTILINE) == [
        "  node/x  malformed: its own trouble"
    ]
    assert text.endswith("Result: error, and 20 objects cannot be decided on until it is corrected\n")


def test_an_error_of_the_settings_hides_nothing() -> None:
    """It is about something else than what could not be read."""
    world = replace(a_routed_world(), servers=Section.missing("429"))
    noted = (Note(key_of("service/default/web"), NoteKind.UNKNOWN, "the servers were not read"),)
    error = "--only node/x names nothing"

    text = written(Report(snapshot=world, notes=noted, errors=(error,), misconfigured=(error,)))

    assert "  servers: 0 read, INCOMPLETE: 429\n" in text
    assert "  service/default/web  unknown: the servers were not read\n" in text
    assert text.endswith("Result: error\n")


def test_what_a_hold_says_is_not_said_again() -> None:
    """The anchor comes first of the holds and speaks for whatever was not found; only machines get each change."""
    keys = tuple(key_of(f"node/n{n}") for n in range(9))
    decision = GuardDecision(Verdict.HELD, GuardName.PROJECT_ANCHOR, "wrong token")
    changes = [a_change(key, "node.labels", decision=decision) for key in keys]
    holds = (
        Hold("sha256:1", GuardName.NODE_BLAST_RADIUS, "9", "1", keys, "too many"),
        Hold("sha256:2", GuardName.PROJECT_ANCHOR, "0", "5", keys, "wrong token"),
    )
    notes = (
        Note(key_of("project/cloud"), NoteKind.ANCHOR, "wrong token"),
        Note(key_of("service/default/web"), NoteKind.NO_TARGETS, "no Node may get traffic"),
        Note(key_of("service/default/web"), NoteKind.KEPT, "Node a is unchanged"),
        Note(key_of("service/default/web"), NoteKind.UNSUPPORTED, "no UDP"),
    )

    text = written(Report(snapshot=a_snapshot(), lines=tuple(map(Line, changes)), holds=holds, notes=notes))

    assert text.count("wrong token") == 1
    assert text.index("! project-anchor") < text.index("! node-blast-radius")
    assert text.count(f"      also holds: {', '.join(keys)}\n") == 1, "nothing else says what the second one holds"
    assert text.split("Notes\n")[1].splitlines()[0] == "  service/default/web  unsupported: no UDP"
    assert "Node a" not in text
    assert "no Node may" not in text


def told(*changes: Change) -> list[str]:
    """The lines of a report on these changes."""
    report = Report(snapshot=a_snapshot(), lines=tuple(Line(change) for change in changes))
    return [line.text for line in render_lines(report)]


def test_sections_stand_in_the_order_of_reading() -> None:
    """Nodes come first, then load balancers with what belongs to them, whatever the order of the plan."""
    keys = ("service/default/web/finalizer", "route/4/10.0.0.0", "load_balancer/default/web", "node/web-1")
    changes = [a_change(key) for key in (*keys, "certificate/default/web", "load_balancer/default/shop")]

    headings = ["nodes", "load balancers", "certificates", "services", "routes"]
    lines = told(*changes)
    assert [line for line in lines if line in headings] == headings
    assert [line.split()[1] for line in lines if line.startswith("  + load")] == [keys[2], "load_balancer/default/shop"]


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        pytest.param(1, "server:1 (private)", id="one"),
        pytest.param(8, ", ".join(f"server:{n} (private)" for n in range(1, 9)), id="as many as are shown"),
        pytest.param(
            20,
            f"20 in all: {', '.join(f'server:{n} (private)' for n in range(1, 9))}, ...",
            id="more than anybody reads",
        ),
    ],
)
def test_many_targets_are_one_line(number: int, shown: str) -> None:
    """A large load balancer is told by the number of its targets and the first of them; machines get all of them."""
    creation = a_creation(number)
    lines = told(creation)

    assert f"      targets: (none) -> {shown}" in lines
    assert len(lines) == len(told(a_creation(1)))
    fields = report_as_json(Report(snapshot=a_snapshot(), lines=(Line(creation),)))["changes"][0]["fields"]
    found = next(field for field in fields if field["path"] == "targets")
    assert found["after"] == [f"server:{n} (private)" for n in range(1, number + 1)]


def test_a_list_that_changes_is_told_whole() -> None:
    """Where a long list has two sides, its last entry may be the one that matters."""
    sides = [ManagedCertificate("shop", tuple(f"{n}.example.com" for n in range(10, end)), {}) for end in (22, 23)]
    lines = told(a_change("certificate/default/web", "certificate.create", before=sides[0], after=sides[1]))

    line = next(line for line in lines if "domains" in line)
    assert line.count(".example.com") == 12 + 13


def test_long_lists_go_as_briefly_as_they_come() -> None:
    """A load balancer that is deleted is told by as few lines as it takes to know it."""
    spec = a_balancer(listeners=[a_wish(port, 30000 + port) for port in range(1, 16)]).spec
    lines = told(a_difference("load_balancer/default/web", "lb.delete", spec, None, "x"))

    listed = ", ".join(f"{port} (tcp)" for port in range(1, 9))
    assert f"      listeners: 15 in all: {listed}, ... -> (none)" in lines


@pytest.mark.parametrize(
    ("services", "balancers", "certificates", "seen"),
    [
        pytest.param(1, 1, 1, "1 service, 1 load balancer, 1 certificate", id="one of each"),
        pytest.param(3, 2, 0, "3 services, 2 load balancers, 0 certificates", id="other numbers"),
        pytest.param(0, 0, None, "0 services, 0 load balancers", id="what nobody had to read is not counted"),
    ],
)
def test_what_was_observed(services: int, balancers: int, certificates: int | None, seen: str) -> None:
    """A report without changes counts what it looked at, in words that people use."""
    world = a_world(
        [a_service(f"web-{n}") for n in range(services)],
        [a_balancer(n) for n in range(balancers)],
        certificates=None if certificates is None else [a_certificate(n) for n in range(certificates)],
    )

    assert written(Report(snapshot=world)).splitlines()[-1] == f"No changes. Observed 1 node, 1 server, {seen}."


def test_an_incomplete_section_has_a_name_that_people_use() -> None:
    """The header names what is missing, with a blank where machines have an underscore."""
    world = a_world(load_balancers=incomplete(Section({42: a_balancer()}, expected=3)))

    assert "  load balancers: 1 of 3 read, INCOMPLETE: page 2 timed out\n" in written(Report(snapshot=world))


def test_what_is_used_of_a_limit() -> None:
    """A network takes a hundred routes: what is there, readable or not, is told with that, above routes that change and
    where a report counts what it saw."""
    section = routes_of(a_route(), a_route(2, 2), unreadable={"fd00::/64": "its destination is of IPv6"})
    full = Report(snapshot=replace(a_routed_world(), routes=section))
    create = a_change("route/4/10.244.3.0/24", "route.create", after=a_route(3))

    assert "No changes. Observed 1 node, 1 server, 3/100 routes." in written(full)
    assert "\nroutes, 3/100 used\n  + route/4/10.244.3.0/24  route.create\n" in written(
        replace(full, lines=(Line(create),))
    )
    assert "\nroutes\n" in "\n".join(told(create))


def test_routes_that_could_not_be_read() -> None:
    """The header says so, as of every other section."""
    world = replace(a_routed_world(), routes=Section.missing("page 2 timed out"))

    assert "  routes: 0 read, INCOMPLETE: page 2 timed out\n" in written(Report(snapshot=world))


@pytest.mark.parametrize(
    ("number", "lines"),
    [
        pytest.param(1, ["  route/4/0  foreign: left alone"], id="one"),
        pytest.param(3, ["  route/4/0, route/4/1, route/4/2  foreign: left alone"], id="a few"),
        pytest.param(
            97, ["  97 x route/4/0, route/4/1, route/4/2 and 94 more  foreign: left alone"], id="far too many"
        ),
    ],
)
def test_notes_that_say_the_same(number: int, lines: list[str]) -> None:
    """Notes on many objects with the same text are one line for people, so that no other drowns; machines get all."""
    notes = tuple(Note(key_of(f"route/4/{n}"), NoteKind.FOREIGN, "left alone") for n in range(number))
    report = Report(snapshot=a_snapshot(), notes=(*notes, Note(key_of("node/web-1"), NoteKind.FOREIGN, "another's")))
    shown = [line.text for line in render_lines(report) if "foreign: " in line.text]

    assert shown == [*lines, "  node/web-1  foreign: another's"]
    assert len(report_as_json(report)["notes"]) == number + 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("deleted after 2026-11-22 07:23:39 UTC", "deleted after 22 Nov 07:23 UTC", id="this-year"),
        pytest.param("since 2025-12-31 23:59 UTC, as", "since 31 Dec 2025 23:59 UTC, as", id="another-year"),
        pytest.param("since 2026-07-01 and 12:00", "since 2026-07-01 and 12:00", id="a-day-alone"),
        pytest.param("2026-13-01 12:00:00 UTC", "2026-13-01 12:00:00 UTC", id="no-month"),
        pytest.param("12026-07-01 12:00:00 UTC", "12026-07-01 12:00:00 UTC", id="no-year"),
    ],
)
def test_times_are_those_of_people(text: str, shown: str) -> None:
    """To the minute, and with the year where it is another one; a heading says to the second when all was read."""
    ((line,), (heading,)) = (with_moments([TextLine(text, tone)], NOW) for tone in (Tone.PLAIN, Tone.HEADING))
    assert (line.text, heading.text) == (shown, text)


def test_a_time_without_a_world_has_its_year() -> None:
    """Then nobody knows which year it is."""
    (line,) = with_moments([TextLine("since 2026-07-01 12:00 UTC")], None)
    assert line.text == "since 1 Jul 2026 12:00 UTC"
