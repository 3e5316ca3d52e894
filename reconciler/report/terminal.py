"""Output to people: plain text into pipes and files, wrapped and colored on a terminal; the same words in both."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from actuators.outcome import Outcome
from desired.plan.change import Change
from reconciler.config.options import Color
from reconciler.report.documents import Versioned, report_as_json, to_json
from reconciler.report.text import TextLine, Tone, render_lines
from reconciler.result import Explained, Report

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID


class Told(Protocol):
    """The result of a command that makes no plan."""

    def lines(self) -> Iterator[TextLine]:
        """The text."""

    def document(self) -> Versioned:
        """The JSON."""


Said = Report | Explained | Told
"""What a command writes."""

_COLORS = {
    Tone.PLAIN: "",
    Tone.HEADING: "1",
    Tone.DETAIL: "2",
    Tone.ADD: "32",
    Tone.MODIFY: "33",
    Tone.REMOVE: "31",
    Tone.GOOD: "1;32",
    Tone.WARNING: "33",
    Tone.BAD: "1;31",
}
"""Tone → what SGR sequences call it: 1 is bold, 2 dim, 31 to 33 are red, green and yellow."""
_FORCES_COLOR = ("FORCE_COLOR", "CLICOLOR_FORCE")
_USUAL_WIDTH = 80
"""Columns of a terminal that says it has none."""
_HANGING = 2
"""How much further than its line a continuation is indented."""
_TOOL = "(?:kubectl|hcloud|reconcile)"
_WORD = re.compile(
    rf" *(?:(?P<command>'{_TOOL} [^']+'[^ ]*|{_TOOL}(?: (?!or |and )[^ (,;][^ ,;]*)+[,;]?)"
    r"|[^ ]+(?: x[0-9]+,?(?= |$))?)"
)
"""A word with the blanks before it, and with how often it occurs behind it: ``fsn1 x33,``; or a command in a sentence,
up to a sign or a word that ends it."""


def json_of(said: Said) -> Mapping[str, Any]:
    """What was said in JSON values."""
    if isinstance(said, Report):
        return report_as_json(said)
    if isinstance(said, Explained):
        from reconciler.report.explanation import explanation_as_json  # noqa: PLC0415 - a pass need not pay for it

        return explanation_as_json(said)
    written: Mapping[str, Any] = to_json(said.document())
    return written


def lines_of(said: Said) -> Iterator[TextLine]:
    """The text of what was said."""
    if isinstance(said, Report):
        return render_lines(said)
    if isinstance(said, Explained):
        from reconciler.report.explanation import render_explanation  # noqa: PLC0415

        return render_explanation(said)
    return said.lines()


def on_terminal(said: Said, width: int | None, *, is_colored: bool) -> Iterator[str]:
    """The text of what was said, line by line, wrapped where there is a ``width``."""
    for line in lines_of(said):
        for text in fitted(line, width):
            color = _COLORS[line.tone] if is_colored else ""
            yield f"\x1b[{color}m{text}\x1b[0m" if color and text else text


class TerminalProgress:
    """A bar on stderr while changes are applied, on a terminal only."""

    def __init__(self, color: Color = Color.AUTO, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._color = color
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def begin(self, changes: Sequence[Change]) -> None:
        """Show the bar."""
        if not is_terminal(self._stream):
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        self._bar = Progress(*columns, console=_console(self._stream, self._color), transient=True)
        self._bar.start()
        self._task = self._bar.add_task("applying", total=len(changes))

    def done(self, change: Change, outcome: Outcome) -> None:  # noqa: ARG002 - the bar shows only which and how many
        """Move the bar on."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=1, description=change.key)

    def end(self) -> None:
        """Take the bar away: the report says the rest."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def fitted(line: TextLine, width: int | None) -> Iterator[str]:
    """The texts of a line for a terminal so wide; None: for a pipe, in which nothing is wrapped."""
    if width is None:
        yield line.text
        return
    from rich.cells import cell_len  # noqa: PLC0415 - pipes need not pay for rich

    yield from wrapped(line, width, cell_len)


def wrapped(line: TextLine, width: int, measure: Callable[[str], int] = len) -> Iterator[str]:
    """The texts of a line, each as wide as ``measure`` allows. A word that no line can hold stays whole where it is,
    and a command stands whole on a line of its own: both can be copied."""
    if measure(line.text) <= width:
        yield line.text
        return
    indent = len(line.text) - len(line.text.lstrip(" "))
    hanging = " " * min(indent + _HANGING, width // 2)
    before, command, behind = line.text.partition(line.command) if line.command else (line.text, "", "")
    text = ""
    for word, is_command in (*_words(before), *([(command, True)] if command else []), *_words(behind)):
        following = text + (" " if word == line.command and text else "") + word
        is_too_long = not is_command and measure(hanging + word.lstrip(" ")) > width
        if not text.strip() or measure(following) <= width or is_too_long:
            text = following
        else:
            yield text
            text = hanging + word.lstrip(" ")
    yield text


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """What a line is broken between, and whether it is a command."""
    return ((found[0], bool(found["command"])) for found in _WORD.finditer(text))


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at ``stream`` on something that understands colors."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def is_colored(color: Color, environ: Mapping[str, str], *, on_terminal: bool) -> bool:
    """Whether a text is colored: NO_COLOR decides before the flag, the flag before what forces colors, and that before
    the terminal, which has to be one that understands them."""
    if environ.get("NO_COLOR"):
        return False
    if color is not Color.AUTO:
        return color is Color.ALWAYS
    return on_terminal or any(environ.get(name) not in (None, "", "0") for name in _FORCES_COLOR)


def columns(stream: TextIO) -> int:
    """How wide the terminal is: as COLUMNS says, else as the terminal does, else as most are."""
    try:
        given = int(os.environ.get("COLUMNS") or 0)
    except ValueError:
        given = 0
    try:
        return given if given > 0 else os.get_terminal_size(stream.fileno()).columns or _USUAL_WIDTH
    except OSError:
        return _USUAL_WIDTH


def _console(stream: TextIO, color: Color) -> "Console":
    """A console for a terminal, which takes every character as it is, and asks no variables: rich has rules of its own
    for them."""
    from rich.console import Console  # noqa: PLC0415

    return Console(
        file=stream,
        force_terminal=True,
        force_interactive=True,
        color_system="standard" if is_colored(color, os.environ, on_terminal=True) else None,
        no_color=False,
        width=columns(stream),
        markup=False,
        highlight=False,
        emoji=False,
    )
