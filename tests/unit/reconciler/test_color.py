"""Color: who decides on it, and that it changes nothing but colors."""

import io
import os
import pty
import re
from collections.abc import Mapping

import pytest

from reconciler.cli.streams import Writer
from reconciler.config.options import Color, Output
from reconciler.report.holds import HoldsReport
from reconciler.report.orphans import OrphanReport
from reconciler.report.terminal import Said, TerminalProgress, columns, is_colored
from reconciler.report.validation import Unreadable, Validation
from reconciler.result import Line, Report
from tests.builders import NOW, a_change
from tests.support.explanations import EXPLANATIONS
from tests.support.rendering import ESCAPES, Terminal
from tests.support.scenarios import SCENARIOS
from tests.support.service_explanations import SERVICE_EXPLANATIONS

AUTO, ALWAYS, NEVER = Color.AUTO, Color.ALWAYS, Color.NEVER
REPORT = SCENARIOS["balancer_adopted"]


@pytest.mark.parametrize(
    ("color", "environ", "on_terminal", "colored"),
    [
        pytest.param(AUTO, {}, True, True, id="terminal"),
        pytest.param(AUTO, {}, False, False, id="pipe"),
        pytest.param(AUTO, {"NO_COLOR": "1"}, True, False, id="NO_COLOR"),
        pytest.param(AUTO, {"NO_COLOR": "0"}, True, False, id="NO_COLOR has any value"),
        pytest.param(AUTO, {"NO_COLOR": ""}, True, True, id="NO_COLOR is empty"),
        pytest.param(ALWAYS, {"NO_COLOR": "1"}, True, False, id="NO_COLOR before the flag"),
        pytest.param(ALWAYS, {}, False, True, id="always, in a pipe"),
        pytest.param(NEVER, {}, True, False, id="never, at a terminal"),
        pytest.param(NEVER, {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}, True, False, id="the flag before what forces"),
        pytest.param(AUTO, {"FORCE_COLOR": "1"}, False, True, id="FORCE_COLOR"),
        pytest.param(AUTO, {"CLICOLOR_FORCE": "1"}, False, True, id="CLICOLOR_FORCE"),
        pytest.param(AUTO, {"FORCE_COLOR": "0", "CLICOLOR_FORCE": ""}, False, False, id="0 and empty force nothing"),
        pytest.param(AUTO, {"FORCE_COLOR": "0"}, True, True, id="and forbid nothing"),
        pytest.param(AUTO, {"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, True, False, id="NO_COLOR before what forces"),
    ],
)
def test_who_decides(color: Color, environ: dict[str, str], on_terminal: bool, colored: bool) -> None:
    """NO_COLOR, the flag, what forces colors, the terminal: the first that says something."""
    assert is_colored(color, environ, on_terminal=on_terminal) is colored


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    return monkeypatch


RESULTS: Mapping[str, Said] = {
    "report": REPORT,
    "brackets": Report(lines=(Line(a_change(reason="because [/bold] of :smile: [link=x]")),)),
    "node": EXPLANATIONS["settled"],
    "service": SERVICE_EXPLANATIONS["service_served"],
    "orphans": OrphanReport(NOW, errors=("no answer",)),
    "holds": HoldsReport(NOW),
    "validation": Validation(1, unreadable=(Unreadable("x", None, "broken"),)),
}
"""What commands write."""


def written(stream: io.StringIO, output: Output = Output.AUTO, color: Color = AUTO, said: Said = REPORT) -> str:
    Writer(output, stream, color=color).write(said)
    return stream.getvalue()


@pytest.mark.parametrize("said", RESULTS.values(), ids=RESULTS)
def test_a_terminal_shows_the_same_words(said: Said, environ: pytest.MonkeyPatch) -> None:
    """Nothing is said by color alone: with colors taken away it is what a pipe gets, but for the ends of lines; a pipe,
    a dumb terminal, and who asks for plain text get no colors."""
    plain, shown = written(io.StringIO(), said=said), written(Terminal(), said=said)

    assert "\x1b[" in shown
    assert ESCAPES.sub("", shown).split() == plain.split()
    assert plain == written(Terminal(), Output.TEXT, said=said)
    environ.setenv("TERM", "dumb")
    assert plain == written(Terminal(), said=said)
    assert not re.search(r"[ \t]$|\x1b", plain, re.MULTILINE)


def test_a_pipe_that_is_forced(environ: pytest.MonkeyPatch) -> None:
    plain = written(io.StringIO())
    for forced in (written(io.StringIO(), color=ALWAYS), written(io.StringIO(), Output.TEXT, ALWAYS)):
        assert "\x1b[" in forced
        assert ESCAPES.sub("", forced) == plain


def test_a_terminal_without_colors(environ: pytest.MonkeyPatch) -> None:
    """It wraps, and gets no escape at all, neither bold nor dim."""
    colored = written(Terminal())
    environ.setenv("NO_COLOR", "1")
    environ.setenv("CLICOLOR_FORCE", "1")

    assert ESCAPES.sub("", colored) == written(Terminal())


def test_a_document_has_no_colors(environ: pytest.MonkeyPatch) -> None:
    environ.setenv("FORCE_COLOR", "1")

    assert "\x1b" not in written(Terminal(), Output.JSON, ALWAYS)


@pytest.mark.parametrize(
    ("stream", "term", "color", "shown"),
    [
        pytest.param(io.StringIO, "xterm", ALWAYS, "", id="pipe"),
        pytest.param(Terminal, "dumb", ALWAYS, "", id="dumb"),
        pytest.param(Terminal, "xterm", NEVER, "applying", id="without colors"),
        pytest.param(Terminal, "xterm", AUTO, "applying", id="with colors"),
    ],
)
def test_progress(stream: type[io.StringIO], term: str, color: Color, shown: str, environ: pytest.MonkeyPatch) -> None:
    """A bar is shown on a terminal alone, whatever forces colors, and obeys the same rule."""
    environ.setenv("TERM", term)
    environ.setenv("FORCE_COLOR", "1")
    environ.setenv("TTY_COMPATIBLE", "0")
    there = stream()

    progress = TerminalProgress(color, there)
    progress.begin([a_change()])
    progress.end()

    assert shown in there.getvalue()
    assert bool(there.getvalue()) is bool(shown)
    assert bool(ESCAPES.search(there.getvalue())) is (bool(shown) and color is AUTO)


@pytest.mark.parametrize("given", ["0", "-1", "wide", "", "9" * 5000])
def test_columns_that_say_nothing(given: str, environ: pytest.MonkeyPatch) -> None:
    """The terminal is asked then; one that says it has none is taken for a usual one."""
    environ.setenv("COLUMNS", given)
    here, there = pty.openpty()
    with os.fdopen(there, "w") as stream:
        assert columns(stream) == 80
    os.close(here)
