"""What tests of reports share: a stream that poses as a terminal, what reaches a stream, golden files, and schemas."""

import io
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from reconciler.cli.streams import Writer
from reconciler.config.options import Output
from reconciler.report.terminal import Said

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_GOLDEN = Path(__file__).resolve().parents[1] / "unit" / "reconciler" / "golden"


class Terminal(io.StringIO):
    """A stream that says a person is looking."""

    def isatty(self) -> bool:
        return True


def written(said: Said, output: Output = Output.TEXT, stream: io.StringIO | None = None) -> str:
    stream = stream or io.StringIO()
    Writer(output, stream).write(said)
    return stream.getvalue()


def golden(name: str, text: str) -> str:
    """What the golden file of this name says; with UPDATE_GOLDEN set, ``text`` is written into it before."""
    file = _GOLDEN / name
    if "UPDATE_GOLDEN" in os.environ:
        file.write_text(text, "utf-8")
    return file.read_text("utf-8")


def invalid(document: Any, schema: Mapping[str, Any]) -> list[str]:
    """What a published schema says against a document."""
    judge = Draft202012Validator(dict(schema), format_checker=FormatChecker())
    return [f"{error.json_path}: {error.message}" for error in judge.iter_errors(document)]
