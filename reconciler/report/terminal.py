"""Output to people: plain text into pipes and files, rich on a terminal; the same words in both."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from actuators.outcome import Outcome
from desired.plan.change import Change
from reconciler.config.flags import Output
from reconciler.report.json_report import render_json
from reconciler.report.text_report import TextLine, Tone, render_lines
from reconciler.result import Report

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from reconciler.report.renderers import Other

    Said = Report | Other

_STYLES = {
    Tone.PLAIN: "",
    Tone.HEADING: "bold",
    Tone.DETAIL: "dim",
    Tone.ADD: "green",
    Tone.MODIFY: "yellow",
    Tone.REMOVE: "red",
    Tone.GOOD: "bold green",
    Tone.WARNING: "yellow",
    Tone.BAD: "bold red",
}
_USUAL_WIDTH = 80
"""Columns of a terminal that says it has none."""
_HANGING = 2
"""How much further than its line a continuation is indented."""
_WORD = re.compile(r" *[^ ]+(?: x[0-9]+,?(?= |$))?")
"""A word with the blanks before it, and with how often it occurs behind it: ``fsn1 x33,``."""


class Writer:
    """Writes reports, explanations and validations to one stream in the format that was asked for."""

    def __init__(self, output: Output, stream: TextIO | None = None) -> None:
        self._json = output is Output.JSON
        self._stream = stream or sys.stdout
        self._coloured = output is Output.AUTO and is_terminal(self._stream)

    def write(self, said: "Said", *, stream_of_passes: bool = False) -> None:
        """Write ``said`` whole and flush. Raises BrokenPipeError when nobody reads any more."""
        if self._json:
            self._stream.write(_json(said, compact=stream_of_passes))
        elif self._coloured:
            self._write_coloured(said)
        else:
            self._stream.write("".join(f"{line.text}\n" for line in _text(said)))
        self._stream.flush()

    def _write_coloured(self, said: "Said") -> None:
        from rich.cells import cell_len  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415 - pipes need not pay for rich

        out = console(self._stream)
        for line in _text(said, out.width):
            for text in wrapped(line, out.width, cell_len) if isinstance(said, Report) else (line.text,):
                # Text and not markup, which would swallow the brackets of label paths. Rich would cut words.
                out.print(Text(text, style=_STYLES[line.tone]), soft_wrap=True)


def _json(said: "Said", *, compact: bool) -> str:
    if isinstance(said, Report):
        return render_json(said, compact=compact)
    from reconciler.report import renderers  # noqa: PLC0415 - a pass need not pay for what other commands show

    return renderers.to_json(said)


def _text(said: "Said", width: int | None = None) -> Iterator[TextLine]:
    if isinstance(said, Report):
        return render_lines(said, width)
    from reconciler.report import renderers  # noqa: PLC0415

    return renderers.to_text(said)


class TerminalProgress:
    """A bar on stderr while changes are applied, on a terminal only."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
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
        self._bar = Progress(*columns, console=console(self._stream), transient=True)
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


def wrapped(line: TextLine, width: int, measure: Callable[[str], int] = len) -> Iterator[str]:
    """The texts of a line, each as wide as ``measure`` allows. A word that no line can hold stays whole where it is,
    and a command stands whole on a line of its own: both can be copied."""
    if measure(line.text) <= width:
        yield line.text
        return
    indent = len(line.text) - len(line.text.lstrip(" "))
    hanging = " " * min(indent + _HANGING, width // 2)
    sentence = line.text.removesuffix(line.command)
    text = ""
    for word in (*_WORD.findall(sentence), *filter(None, [line.command])):
        following = text + (" " if word == line.command and text else "") + word
        is_too_long = word != line.command and measure(hanging + word.lstrip(" ")) > width
        if not text.strip() or measure(following) <= width or is_too_long:
            text = following
        else:
            yield text
            text = hanging + word.lstrip(" ")
    yield text


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at ``stream`` on something that understands colors."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def console(stream: TextIO) -> "Console":
    """A rich console that takes every character as it is. It honours ``NO_COLOR``."""
    from rich.console import Console  # noqa: PLC0415

    found = Console(file=stream, markup=False, highlight=False, emoji=False)
    if found.width < 1:  # rich would write nothing at all
        found.width = _USUAL_WIDTH
    return found
