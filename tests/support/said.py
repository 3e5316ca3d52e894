"""Commands that are called in this process, and how they ended."""

import io
import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from reconciler.cli import main
from reconciler.telemetry.logs import SINGLE_REQUESTS

_OURS = ("HCLOUD_", "ROBOT_", "RECONCILER_")


@contextmanager
def logging_as_before() -> Iterator[None]:
    """Undo what a command in this process sets up of logging."""
    loggers = [logging.getLogger(name) for name in (None, "hcloud-reconciler", *SINGLE_REQUESTS)]
    handlers, levels = logging.getLogger().handlers[:], [logger.level for logger in loggers]
    yield
    logging.getLogger().handlers[:] = handlers
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


@dataclass(frozen=True, slots=True)
class Said:
    """Exit code, and what it wrote."""

    code: int
    stdout: str
    stderr: str
    schema: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What is published of the JSON that it writes; nothing when there is none to be judged."""

    @property
    def refusal(self) -> str:
        """The one line on stderr, all that was said."""
        (line,) = self.stderr.splitlines()
        assert self.stdout == ""
        return line

    @property
    def document(self) -> Any:
        found = json.loads(self.stdout)
        judge = Draft202012Validator(dict(self.schema), format_checker=FormatChecker())
        assert [error.message for error in judge.iter_errors(found)] == []
        return found


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Runs commands. The environment has nothing that the product reads but what is given."""

    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    """Set in every run that says nothing else."""
    schema: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __call__(self, *words: str, stdin: bytes | str | None = None, **variables: str) -> Said:
        for name in filter(lambda each: each.startswith(_OURS), tuple(os.environ)):
            self.monkeypatch.delenv(name)
        for name, value in {**self.variables, **variables}.items():
            self.monkeypatch.setenv(name, value)
        if stdin is not None:
            self.monkeypatch.setattr(
                "sys.stdin", io.TextIOWrapper(io.BytesIO(stdin if isinstance(stdin, bytes) else stdin.encode()))
            )
        try:
            code = main(words)
        except SystemExit as left:
            code = int(str(left.code))
        return Said(code, *self.capsys.readouterr(), self.schema)
