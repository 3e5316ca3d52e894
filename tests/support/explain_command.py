"""The command ``reconcile explain`` in this process, with rights to read only, and how a run of it ends."""

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
from reconciler.report.explanation_json import explanation_schema
from tests.support.simulators import READ_ONLY_TOKEN, Simulation

VIEWER = "viewer"
"""A token of the API server that may get and list."""
TOKENS = {"admin": None, VIEWER: ["get", "list"]}
"""What a simulation has to know for ``ExplainCommand``."""


@dataclass
class Said:
    """How a run of the command ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> Any:
        """The JSON on stdout, which is valid against the published schema."""
        found = json.loads(self.stdout)
        judge = Draft202012Validator(dict(explanation_schema()), format_checker=FormatChecker())
        assert [error.message for error in judge.iter_errors(found)] == []
        return found


@dataclass
class ExplainCommand:
    """Runs the command on objects of one kind, with flags and variables on top."""

    kind: str
    sim: Simulation
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    """Set in every run that says nothing else."""

    def __call__(self, name: str, *flags: str, **variables: str) -> Said:
        """How the run ends."""
        for variable in os.environ:
            if variable.startswith(("HCLOUD_", "ROBOT_", "RECONCILER_")):
                self.monkeypatch.delenv(variable)
        given = {"HCLOUD_TOKEN": READ_ONLY_TOKEN, "HCLOUD_ENDPOINT": self.sim.endpoint, **self.variables, **variables}
        for variable, value in given.items():
            self.monkeypatch.setenv(variable, value)
        code = main(["explain", self.kind, name, "--kubeconfig", str(self.sim.kubeconfig(VIEWER)), *flags])
        return Said(code, *self.capsys.readouterr())

    def document(self, name: str, *flags: str, **variables: str) -> Any:
        """The document on an object that can be explained."""
        said = self(name, "--output", "json", *flags, **variables)
        assert (said.code, said.stderr) == (0, "")
        return said.document


@contextmanager
def logging_as_before() -> Iterator[None]:
    """What the command sets up of logging lasts no longer than this."""
    root, ours = logging.getLogger(), logging.getLogger("hcloud-reconciler")
    before = (root.handlers[:], root.level, ours.level)
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    ours.setLevel(before[2])
