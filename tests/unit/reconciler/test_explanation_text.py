"""What people read of one Node or Service: golden files, the page that shows them, and nothing that a terminal would
obey."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from desired.explain.fact import Fact, Rule
from desired.explain.node import Explanation
from desired.explain.routes import NodeRoutes, RouteFact
from desired.explain.service_stage import ServiceStage
from desired.explain.stage import Stage
from desired.load_balancers.targets import Membership
from desired.plan.change import Note, NoteKind
from desired.routes.actions import RouteAction
from desired.routes.claims import RouteStatus
from reconciler.config.flags import Output
from reconciler.report.explanation_json import explanation_as_json
from reconciler.report.explanation_text import render_explanation
from reconciler.report.text_report import Tone
from reconciler.result import Explained
from tests.support.explanations import EXPLANATIONS
from tests.support.keys import key_of
from tests.support.rendering import ESCAPES, Terminal, golden, written
from tests.support.route_explanations import ROUTED_WORLDS
from tests.support.service_explanations import SERVICE_EXPLANATIONS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "explain.md"
ALL = {**EXPLANATIONS, **SERVICE_EXPLANATIONS}
EXAMPLE = re.compile(r"(<!-- example (?P<name>\w+) -->\n```\n)(?P<text>.*?)(```\n)", re.DOTALL)


def changed(explained: Explained, **members: Any) -> Explained:
    """The same with other members of the explanation."""
    assert isinstance(explained.explanation, Explanation)
    return replace(explained, explanation=replace(explained.explanation, **members))


@pytest.mark.parametrize("name", ALL)
def test_golden_explanations(name: str) -> None:
    """Each reads exactly as its golden file; set UPDATE_GOLDEN to write the files anew, and read them."""
    text = written(ALL[name])

    assert text == golden(f"explain_{name}.txt", text)


def test_the_page_shows_what_is_printed() -> None:
    """Each example of docs/explain.md is what the command prints; ``UPDATE_DOCS=1`` writes them anew."""
    page = PAGE.read_text("utf-8")
    now = EXAMPLE.sub(lambda found: found[1] + written(ALL[found["name"]]) + found[4], page)
    if "UPDATE_DOCS" in os.environ:
        PAGE.write_text(now, "utf-8")

    assert len(EXAMPLE.findall(page)) == page.count("<!-- example") > 0
    assert PAGE.read_text("utf-8") == now


def test_the_page_names_every_word() -> None:
    """The tables of docs/explain.md have a row for each stage, rule, standing, fate and membership, and none for what
    does not exist."""
    rows = re.findall(r"^\| `([\w-]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)

    assert rows == [*Stage, *Rule, *RouteStatus, *RouteAction, *ServiceStage, *Membership]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("output", [Output.TEXT, Output.AUTO])
def test_no_escapes_in_pipes(name: str, output: Output) -> None:
    """What does not go to a terminal has no escape byte, and no blank at the end of a line."""
    text = written(ALL[name], output)

    assert "\x1b" not in text
    assert not re.search(r"[ \t]$", text, re.MULTILINE)


@pytest.mark.parametrize("name", ALL)
def test_a_terminal_shows_the_same_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With colours taken away a terminal shows what a pipe gets, unwrapped however narrow it is."""
    for variable in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "40")
    shown = written(ALL[name], Output.AUTO, Terminal())

    assert "\x1b[" in shown
    assert ESCAPES.sub("", shown) == written(ALL[name])


@pytest.mark.parametrize("name", ALL)
def test_text_and_json_tell_the_same(name: str) -> None:
    """Stage, sentence, every fact and every word of a guard that machines get, people get as well."""
    document, text = explanation_as_json(ALL[name]), written(ALL[name])
    parts = ("labels", "addresses", "taints", "conditions", "status")
    rows = [row for part in parts for row in document.get(part, ())]

    told = [f"{document['key']}  {document['stage']}", document["why"]] if document["stage"] else document["errors"]
    assert all(words in text for words in told)
    for row in rows:
        assert re.search(rf" {re.escape(row['subject'])} .*{re.escape(row['source'])}$", text, re.MULTILINE), row
    for word in document["guards"]:
        assert f" {word['rule']} " in text
        assert word["why"] is None or word["why"] in text


@pytest.mark.parametrize("name", SERVICE_EXPLANATIONS)
def test_text_tells_all_of_a_service(name: str) -> None:
    """Every Node, port, annotation, problem and wait that machines get, people get as well."""
    document, text = explanation_as_json(ALL[name]), written(ALL[name])
    for part, subject, said in (
        ("targets", "subject", "why"),
        ("listeners", "port", "why"),
        ("pending", "subject", "why"),
        ("certificates", "name", "state"),
    ):
        for row in document[part]:
            line = rf" {re.escape(str(row[subject]))}.*{re.escape(row[said])}"
            assert re.search(line, text, re.MULTILINE), row
    for option in document["options"]:
        key = option["key"].removeprefix("load-balancer.hetzner.cloud/")
        assert re.search(rf" {re.escape(key)}  .*{re.escape(option['variable'] or '')}", text, re.MULTILINE), option
        assert all(problem in text for problem in option["problems"])
    assert all(remark["text"] in text for remark in document["remarks"])
    assert all(note["text"] in text for note in document["notes"])


@pytest.mark.parametrize("name", ROUTED_WORLDS)
def test_text_tells_all_of_the_routes(name: str) -> None:
    """Every range, word and sentence that machines get, people get as well."""
    routes, text = explanation_as_json(ALL[name])["routes"], written(ALL[name])
    for row in routes["destinations"]:
        word = row["standing"] or row["fate"] or "-"
        line = rf" {re.escape(row['destination'])} +{word} .*{re.escape(row['why'])}$"
        assert re.search(line, text, re.MULTILINE), row
    for said in (routes["why"], routes["mismatch"], routes["cluster_cidr"]):
        assert said is None or said in text


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        pytest.param("unroutable", "!", id="a person has to act"),
        pytest.param("over_limit", "!", id="there is no room"),
        pytest.param("rerouted", "~", id="it is changed"),
        pytest.param("routes_dead", "-", id="it goes, whatever waits"),
        pytest.param("routes_joining", "+", id="it comes"),
        pytest.param("routed", " ", id="all is well"),
    ],
)
def test_marks_of_routes(name: str, mark: str) -> None:
    """What changes has the mark of a plan, and what is wrong and stays so that of what is held."""
    assert re.search(rf"^  {re.escape(mark)} 10\.244\.1\.0/24  ", written(ALL[name]), re.MULTILINE)


def test_a_route_that_waits_is_marked_so() -> None:
    """Where too little is known all stays as it is, and that is no good news."""
    fact = RouteFact("10.244.1.0/24", RouteStatus.WAITING, None, None, None, "why")
    text = written(changed(EXPLANATIONS["routed"], routes=NodeRoutes((fact,), "", 4, None)))

    assert "  ? 10.244.1.0/24  waiting  (none)  why\n" in text
    assert "  network 4, an unknown number of routes; cluster CIDR: not given" in text


def test_what_is_set_stands_first() -> None:
    """Annotations that somebody has set are above those that nobody has, and what is wrong is marked."""
    lines = written(SERVICE_EXPLANATIONS["service_malformed"]).split("\nAnnotations\n")[1].splitlines()
    rows = [line for line in lines if not line.startswith(" " * 8)]
    places = [place for place, line in enumerate(rows) if " not set: " not in line]

    assert places == list(range(len(places)))
    assert [line.split()[1] for line in rows if line.startswith("  ! ")] == [
        "use-private-ip",
        "http-redirect-http",
        "health-check-interval",
        "health-check-timeout",
    ]


def test_what_is_told_elsewhere_is_no_note() -> None:
    """A note whose words stand with an annotation, a port or in the first sentence is not told again."""
    for name, said in SERVICE_EXPLANATIONS.items():
        text = written(said)
        for note in said.explanation.notes if said.explanation else ():
            if note.kind in (NoteKind.MALFORMED, NoteKind.UNSUPPORTED):
                assert f"{note.kind}: {note.text}" not in text, name


def test_a_hold_is_shown_with_its_command() -> None:
    """What holds is told with all that it holds and what to type, with the flags that this run was given."""
    held = EXPLANATIONS["held"]
    assert isinstance(held.explanation, Explanation)
    hold = next(word.hold for word in held.explanation.guards if word.hold)
    text = written(replace(held, report=replace(held.report, approve_flags="--kubeconfig f")))

    assert "        changes: node/web-1, node/web-2\n" in text
    assert f"        to let exactly these pass once: reconcile approve {hold.hash} --kubeconfig f\n" in text


def test_an_approved_hold_asks_for_nothing() -> None:
    """What was approved passes, says so, and is not offered to be approved again."""
    text = written(EXPLANATIONS["approved"])

    assert "      node-blast-radius    passes, as it was approved, measured 2, limit 1" in text
    assert "reconcile approve" not in text


FOREIGN = "a\x1b[31m\nb\u202e"


def test_control_characters_are_made_visible() -> None:
    """Text from elsewhere cannot move the cursor, change colours or begin a line of its own."""
    fact = Fact(FOREIGN, FOREIGN, None, Rule.SERVER, FOREIGN)
    note = Note(key_of("node/web-1"), NoteKind.UNKNOWN, FOREIGN)
    spoiled = changed(EXPLANATIONS["settled"], why=FOREIGN, labels=(fact,), notes=(note,))
    shown = r"a\x1b[31m\nb\u202e"

    assert f"  - {shown}  {shown} -> (none)  {shown}\n" in written(spoiled)
    assert f"  {shown}\n" in written(spoiled)


def test_columns_are_aligned() -> None:
    """Values stand below each other, whatever is in them; one that is far too long only pushes its own line."""
    rows = ("a", "\x1b", "x" * 60)
    facts = tuple(Fact(row, row, row, Rule.FOREIGN, "END") for row in rows)
    lines = written(changed(EXPLANATIONS["settled"], labels=facts)).splitlines()
    short, escaped, long = (line.index("END") for line in lines if line.endswith("END"))

    assert short == escaped == 4 + 48 + 2 + 48 + 2 < long


@pytest.mark.parametrize(
    ("value", "wanted", "line", "tone"),
    [
        pytest.param("x", "x", "    key  x  why", Tone.PLAIN, id="right"),
        pytest.param("", "", '    key  ""  why', Tone.PLAIN, id="right-and-empty"),
        pytest.param(None, "x", "  + key  (none) -> x  why", Tone.ADD, id="comes"),
        pytest.param("x", "y", "  ~ key  x -> y  why", Tone.MODIFY, id="changes"),
        pytest.param("x", None, "  - key  x -> (none)  why", Tone.REMOVE, id="goes"),
    ],
)
def test_marks(value: str | None, wanted: str | None, line: str, tone: Tone) -> None:
    """A fact that differs from what should be has the mark of a plan, and its colour."""
    fact = Fact("key", value, wanted, Rule.SERVER, "why")
    lines = list(render_explanation(changed(EXPLANATIONS["settled"], labels=(fact,))))

    assert [(found.text, found.tone) for found in lines if found.text.endswith("why")] == [(line, tone)]


def test_a_note_is_not_told_twice() -> None:
    """The note that the first sentence tells already is left out below."""
    assert "Notes" not in written(EXPLANATIONS["unmatched"])
    assert "Notes" in written(EXPLANATIONS["drifted"])
