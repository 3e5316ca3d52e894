"""stdout and stderr as they may be: whatever becomes of them, the exit code and the other stream still tell."""

import io
import os
import pty
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest

from desired.plan.notes import Note, NoteKind
from reconciler.cli.streams import Writer, is_agreed, prepare_streams, publish, say, swallow_stdout
from reconciler.config.options import Output
from reconciler.report.escaping import visible
from reconciler.result import Report
from tests.builders import a_snapshot
from tests.support.keys import key_of
from tests.support.rows import rows

REPORT = Report(snapshot=a_snapshot(), notes=(Note(key_of("node/web-1"), NoteKind.FOREIGN, "Grüße \udc80"),))
LONG = Report(errors=("x" * 100_000,))
TEXT = "  node/web-1  foreign: Grüße \\udc80\n"


def a_closed_pipe() -> TextIO:
    reading, writing = os.pipe()
    os.close(reading)
    return open(writing, "w", encoding="utf-8")  # noqa: PTH123 - a descriptor


@contextmanager
def streams(stdout: TextIO | None) -> Iterator[io.StringIO]:
    """What is said on stderr while ``stdout`` is the process's. No fixture: until the call pytest has its own."""
    stderr = io.StringIO()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdout", stdout)
        patched.setattr(sys, "stderr", stderr)
        yield stderr


def test_a_report_that_arrives() -> None:
    stdout = io.StringIO()

    with streams(stdout) as stderr:
        assert publish(Writer(Output.TEXT), REPORT) is True

    assert (TEXT in stdout.getvalue(), stderr.getvalue()) == (True, "")


@pytest.mark.parametrize("output", [Output.TEXT, Output.JSON])
def test_a_reader_that_has_gone_away(output: Output) -> None:
    """``head`` closing its end is no trouble; later reports vanish without a word."""
    with a_closed_pipe() as stdout, streams(stdout) as stderr:
        writer = Writer(output)
        with pytest.raises(BrokenPipeError):
            writer.write(LONG)

        assert publish(writer, LONG) is True
        assert publish(writer, LONG) is True

    assert stderr.getvalue() == ""


@pytest.mark.parametrize("output", [Output.TEXT, Output.JSON])
def test_a_full_disk(output: Output) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as stdout, streams(stdout) as stderr:
        writer = Writer(output)

        assert publish(writer, LONG) is False
        assert publish(writer, LONG) is True

    assert stderr.getvalue() == "reconcile: error: the report cannot be written: No space left on device\n"


def test_an_error_of_no_name(tmp_path: Path) -> None:
    """An error of the operating system without its usual words is said in the words that it has."""

    class Odd(io.StringIO):
        def write(self, _text: str) -> int:
            raise OSError("odd")

    with (tmp_path / "out").open("w", encoding="utf-8") as stdout, streams(stdout) as stderr:
        assert publish(Writer(Output.TEXT, Odd()), REPORT) is False

    assert stderr.getvalue() == "reconcile: error: the report cannot be written: odd\n"


def test_swallowing_stdout(tmp_path: Path) -> None:
    file = tmp_path / "out"
    with file.open("w", encoding="utf-8") as stdout, streams(stdout):
        stdout.write("before\n")
        stdout.flush()

        swallow_stdout()
        stdout.write("after\n")
        stdout.flush()

    assert file.read_text("utf-8") == "before\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("error: no", "error: no"),
        ("\x1b]0;pwned\x07", r"\x1b]0;pwned\x07"),
        ("two\nlines", r"two\nlines"),
        ("Grüße", "Grüße"),
    ],
)
def test_a_line_for_people(line: str, said: str) -> None:
    """A line names the program, and control characters of foreign text do nothing."""
    with streams(None) as stderr:
        say(line)

    assert stderr.getvalue() == f"reconcile: {said}\n"


def test_nobody_listens_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stderr that nobody reads ends no run: the exit code is what is left."""
    with a_closed_pipe() as stream:
        monkeypatch.setattr(sys, "stderr", stream)

        say("error: first")
        say("error: second")


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_stream_that_the_shell_closed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A closed stream, which Python has as None, takes everything and shows nothing."""
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(sys, name, None)

    prepare_streams()

    stream: TextIO = getattr(sys, name)
    stream.write("Grüße \udc80" if name == "stderr" else "Grüße")
    stream.flush()
    stream.close()


@pytest.mark.parametrize(
    ("encoding", "written"),
    [("ascii", b"Gr\\xfc\\xdfe \\udc80"), ("utf-8", "Grüße \\udc80".encode()), ("latin-1", b"Gr\xfc\xdfe \\udc80")],
)
def test_characters_that_a_stream_does_not_know(monkeypatch: pytest.MonkeyPatch, encoding: str, written: bytes) -> None:
    """What an encoding has no bytes for is written as an escape instead of ending the run."""
    bottom = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(bottom, encoding))

    prepare_streams()
    sys.stdout.write("Grüße \udc80")
    sys.stdout.flush()

    assert bottom.getvalue() == written


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("plain text, with 'quotes' and a \\ backslash", "plain text, with 'quotes' and a \\ backslash"),
        ("tab\there", r"tab\there"),
        ("a'\x00\"b", r"""a'\x00"b"""),
        ("\u2028\u202e\ufeff", r"\u2028\u202e\ufeff"),
        ("\U000e0001", r"\U000e0001"),
        ("日本 é", "日本 é"),
    ],
)
def test_foreign_text_is_harmless(text: str, shown: str) -> None:
    """Whatever does not print is written as an escape, and the result is one printable line."""
    assert visible(text) == shown
    assert visible(text).isprintable()


class Person(io.StringIO):
    """A terminal's screen. The person before it types once they have read the question."""

    def __init__(self, types: str, keyboard: int) -> None:
        super().__init__()
        self._types, self._keyboard = types, keyboard

    def flush(self) -> None:
        os.write(self._keyboard, self._types.encode())
        self._types = ""


@rows("typed answer agreed", {
    "y": ("", "y\n", True),
    "yes": ("", " YES\n", True),
    "no": ("", "n\n", False),
    "Enter": ("", "\n", False),
    "a typing error": ("", "yess\n", False),
    "the end": ("", "\x04", False),
    "a yes before anything was shown": ("y\n", "n\n", False),
})  # fmt: skip
def test_no_answer_is_no_yes(typed: str, answer: str, agreed: bool) -> None:
    keyboard, terminal = pty.openpty()
    os.write(keyboard, typed.encode())
    screen = Person(answer, keyboard)
    with open(terminal, encoding="utf-8") as stdin, pytest.MonkeyPatch.context() as patched:  # noqa: PTH123
        patched.setattr(sys, "stdin", stdin)
        patched.setattr(sys, "stdout", screen)
        assert is_agreed("Apply 1 change?", threading.Event()) is agreed
    os.close(keyboard)
    assert screen.getvalue() == "Apply 1 change? [y/N] " + "\n" * (answer == "\x04")
