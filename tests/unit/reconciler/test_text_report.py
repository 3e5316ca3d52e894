"""What people read: whole reports against golden files, and nothing lost, cut or obeyed by the terminal."""

import io
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desired.change import Note, NoteKind
from desired.plain import plain
from desired.snapshot import NodeAddress, Taint
from reconciler.flags import Output
from reconciler.report.terminal import Writer
from reconciler.report.text_report import render_lines
from reconciler.result import Line, Report
from tests.builders import a_change, a_snapshot, an_identity
from tests.support.scenarios import SCENARIOS

GOLDEN = Path(__file__).parent / "golden"
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    """A stream that says a person is looking."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def written(report: Report, output: Output = Output.TEXT, stream: io.StringIO | None = None) -> str:
    """What reaches the stream."""
    stream = stream or io.StringIO()
    Writer(output, stream).write(report)
    return stream.getvalue()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A narrow terminal with colours."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "40")
    return Terminal()


@pytest.mark.parametrize("name", SCENARIOS)
def test_golden_reports(name: str) -> None:
    """Each scenario reads exactly as its golden file; set UPDATE_GOLDEN to write the files anew, and read them."""
    file = GOLDEN / f"{name}.txt"
    text = written(SCENARIOS[name])
    if "UPDATE_GOLDEN" in os.environ:
        file.write_text(text, "utf-8")

    assert text == file.read_text("utf-8")


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("output", [Output.TEXT, Output.AUTO])
def test_no_escapes_in_pipes(name: str, output: Output) -> None:
    """What does not go to a terminal has no escape byte, and no blank at the end of a line."""
    text = written(SCENARIOS[name], output)

    assert "\x1b" not in text
    assert not re.search(r"[ \t]$", text, re.MULTILINE)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_terminal_shows_the_same_words(name: str, terminal: Terminal) -> None:
    """With colours taken away a terminal shows what a pipe gets, unwrapped however narrow it is."""
    shown = written(SCENARIOS[name], Output.AUTO, terminal)

    assert "\x1b[" in shown
    assert ESCAPES.sub("", shown) == written(SCENARIOS[name])


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
def test_brackets_are_kept(coloured: bool, terminal: Terminal) -> None:
    """Label paths, and whatever else looks like markup, appear as they are."""
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
    note = Note("node/web-1", NoteKind.UNKNOWN, foreign)
    report = Report(snapshot=a_snapshot(), notes=(note,), errors=(foreign,))

    text = written(report)

    assert f"  node/web-1  unknown: {shown}\n" in text
    assert f"Error: {shown}\n" in text


def test_an_empty_value_can_be_seen() -> None:
    """An empty text is shown in quotes, and told apart from nothing at all."""
    change = a_change(before=an_identity(labels={"a": ""}), after=an_identity(labels={"b": "x"}))

    text = written(Report(snapshot=a_snapshot(), lines=(Line(change),)))

    assert '      labels[a]: "" -> (none)\n' in text
    assert "      labels[b]: (none) -> x\n" in text


_VALUES = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=1, max_size=60)
_LABELS = st.dictionaries(_VALUES.filter(lambda key: not key.startswith("__")), _VALUES, max_size=5)
_TAINTS = st.lists(st.builds(Taint, _VALUES, _VALUES, _VALUES), max_size=3).map(tuple)
_ADDRESSES = st.lists(st.builds(NodeAddress, _VALUES, _VALUES), max_size=3).map(tuple)
_IDENTITIES = st.builds(an_identity, st.none() | _VALUES, labels=_LABELS, taints=_TAINTS, addresses=_ADDRESSES)


@given(_IDENTITIES, _IDENTITIES)
def test_every_changed_value_is_shown(before: object, after: object) -> None:
    """Plain text contains every label and address that goes or comes, whole and verbatim."""
    if before == after:
        return
    change = a_change(before=before, after=after)
    text = "\n".join(line.text for line in render_lines(Report(snapshot=a_snapshot(), lines=(Line(change),))))

    old, new = plain(before), plain(after)
    for key in old["labels"].keys() | new["labels"].keys():
        if old["labels"].get(key) != new["labels"].get(key):
            sides = [side.get(key, "(none)") for side in (old["labels"], new["labels"])]
            assert f"labels[{key}]: {sides[0]} -> {sides[1]}" in text
    if old["provider_id"] != new["provider_id"]:
        assert f"provider_id: {old['provider_id'] or '(none)'} -> {new['provider_id'] or '(none)'}" in text
    for side, other in ((old, new), (new, old)):
        for index, address in enumerate(side["addresses"]):
            if index >= len(other["addresses"]) or other["addresses"][index] != address:
                assert f"{address['type']} {address['address']}" in text
