"""The command ``reconcile explain`` in this process, with rights to read only, and how a run of it ends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.said import CommandLine, Said
from tests.support.schemas import published
from tests.support.simulators import READ_ONLY_TOKEN, Simulation

VIEWER = "viewer"
"""A token of the API server that may get and list."""
TOKENS = {"admin": None, VIEWER: ["get", "list"]}
"""What a simulation has to know for ``ExplainCommand``."""


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
        usual = {"HCLOUD_TOKEN": READ_ONLY_TOKEN, "HCLOUD_ENDPOINT": self.sim.endpoint, **self.variables}
        run = CommandLine(self.monkeypatch, self.capsys, usual, published("explanation.schema.json"))
        return run("explain", self.kind, name, "--kubeconfig", str(self.sim.kubeconfig(VIEWER)), *flags, **variables)

    def document(self, name: str, *flags: str, **variables: str) -> Any:
        """The document on an object that can be explained."""
        said = self(name, "--output", "json", *flags, **variables)
        assert (said.code, said.stderr) == (0, "")
        return said.document

    def state(self, name: str, *flags: str, **variables: str) -> Any:
        """The word on an object that can be explained: the stage of a Node, the match of a Service."""
        return self.document(name, *flags, **variables)["decisions"][0]["state"]


def guards_in(document: Any) -> dict[str, str]:
    """Guard → verdict, of an explanation."""
    return {row["subject"]: row["state"] for row in document["decisions"] if row["part"] == "guards"}
