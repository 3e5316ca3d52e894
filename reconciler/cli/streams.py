"""Streams of the command line: what goes to stdout and to stderr, and how logging and warnings begin."""

import logging
import os
import select
import sys
import termios
import threading
from io import TextIOWrapper
from typing import TextIO

from reconciler.config.config import Config
from reconciler.config.options import Color, Output
from reconciler.config.program import program_name
from reconciler.report.escaping import json_text, visible
from reconciler.report.terminal import Said, columns, fitted, is_colored, is_terminal, json_of, lines_of, on_terminal
from reconciler.report.text import TextLine
from reconciler.result import Report
from reconciler.telemetry import logs
from reconciler.telemetry.logs import masked

_log = logging.getLogger("hcloud-reconciler.run")

_LOOKS_EVERY_S = 0.2
"""How soon Ctrl-C is noticed while a question is open."""


def begin(config: Config) -> None:
    """Set up logging, for a person at a terminal in full, otherwise for warnings alone, with secrets masked in every
    line."""
    logs.set_up(debug=config.debug, quiet=not is_terminal(sys.stderr), wrapped=for_stderr)
    logs.hide(config.token, *config.passwords)


def prepare_streams() -> None:
    """Make both streams usable whatever the shell did to them: closed ones swallow, odd characters are escaped."""
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - until the end
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def for_stderr(line: str) -> str:
    """A line as it is written to stderr: wrapped on a terminal."""
    width = columns(sys.stderr) if is_terminal(sys.stderr) else None
    return "\n".join(fitted(TextLine(line), width))


def say(line: str) -> None:
    """One line for people on stderr. Without a reader that changes nothing: the exit code says enough."""
    try:
        sys.stderr.write(f"{for_stderr(f'{program_name()}: {visible(masked(line))}')}\n")
        sys.stderr.flush()
    except OSError:
        _swallow(sys.stderr)


def fail(*lines: str, code: int) -> int:
    """Say each line as an error; the exit code, for the caller to return."""
    for line in lines:
        say(f"error: {line}")
    return code


def internal_error(error: Exception) -> str:
    """The message for a person about a bug; the details are logged for debugging."""
    _log.debug("internal error", exc_info=True)
    where = "set HCLOUD_DEBUG=true for details, and please report it"
    return f"internal error, {type(error).__name__}: {masked(str(error))}; {where}"


def is_attended() -> bool:
    """Whether a person sits at the terminal, who has typed this and can be asked."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def is_agreed(question: str, stop: threading.Event) -> bool:
    """Whether the person at the terminal answers yes. Ctrl-C ends the question, and what was typed before it is no
    answer."""
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    sys.stdout.write(f"{question} [y/N] ")
    sys.stdout.flush()
    while not stop.is_set():
        if select.select([sys.stdin], [], [], _LOOKS_EVERY_S)[0]:
            answer = sys.stdin.readline()
            if not answer.endswith("\n"):
                _end_line()
            return answer.strip().lower() in ("y", "yes")
    _end_line()
    return False


def _end_line() -> None:
    """What is said next has a line of its own, also where Enter was not typed."""
    sys.stdout.write("\n")
    sys.stdout.flush()


class Writer:
    """Writes reports, explanations and validations to one stream in the format that was asked for."""

    def __init__(self, output: Output, stream: TextIO | None = None, *, color: Color = Color.AUTO) -> None:
        self._output = output
        self._stream = stream or sys.stdout
        self._is_wrapped = output is Output.AUTO and is_terminal(self._stream)
        self._is_colored = is_colored(color, os.environ, on_terminal=self._is_wrapped)

    def write(self, said: Said, *, stream_of_passes: bool = False) -> None:
        """Write ``said`` whole and flush. Raises BrokenPipeError without a reader."""
        if self._output in (Output.AUTO, Output.TEXT):
            width = columns(self._stream) if self._is_wrapped else None
            lines = on_terminal(said, width, is_colored=self._is_colored)
            self._stream.write("".join(f"{line}\n" for line in lines))
        else:
            self._stream.write(rendered(said, self._output, is_one_of_many=stream_of_passes))
        self._stream.flush()


def rendered(said: Said, output: Output, *, is_one_of_many: bool = False) -> str:
    """``said`` in this format, as pipes and files have it, with a line break at its end. Where it ``is_one_of_many`` in
    a stream, a document of JSON is one line, and one of YAML has a mark of its beginning.

    Only a plan, or what was applied, is there in Markdown and HTML, and has names; only a migration has values.
    """
    match output:
        case Output.JSON:
            return json_text(json_of(said), compact=is_one_of_many)
        case Output.YAML:
            from reconciler.report.yaml_text import yaml_text  # noqa: PLC0415 - few ask for it

            return yaml_text(json_of(said), is_one_of_many=is_one_of_many)
        case Output.MARKDOWN if isinstance(said, Report):
            from reconciler.report.markdown import render_markdown  # noqa: PLC0415 - few ask for it

            return render_markdown(said)
        case Output.NAME if isinstance(said, Report):
            return "".join(f"{visible(line.change.key)}\n" for line in said.lines)
        case Output.VALUES:
            from reconciler.report.migration import MigrationReport  # noqa: PLC0415 - few ask for it

            return said.values_text() if isinstance(said, MigrationReport) else ""
        case Output.HTML if isinstance(said, Report):
            from reconciler.page import page  # noqa: PLC0415 - few ask for it

            return page.document_of(page.page_of(said)).file()
    return "".join(f"{line.text}\n" for line in lines_of(said))


def publish(writer: Writer, report: Said, *, stream_of_passes: bool = False) -> bool:
    """Write ``report``; whether it could be written. A reader that has gone away, as ``head`` does, is no trouble."""
    try:
        writer.write(report, stream_of_passes=stream_of_passes)
    except BrokenPipeError:
        swallow_stdout()
    except OSError as error:
        swallow_stdout()
        say(f"error: the report cannot be written: {error.strerror or error}")
        return False
    return True


def swallow_stdout() -> None:
    """Let what is still to be written vanish, so that the interpreter does not complain about it at its end."""
    _swallow(sys.stdout)


def _swallow(stream: TextIO) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
