"""A workflow carried out on this machine: its jobs in their order, each in a folder of its own, its ``run`` steps as
they are written, and a function for each action that it uses. What is not understood is an error and not left out."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import yaml

Outputs = Mapping[str, str]
Action = Callable[[Path, Mapping[str, str]], Outputs]
"""The folder of the job and the inputs → the outputs. Raises what it likes when the step fails."""

_EXPRESSION = re.compile(r"\$\{\{\s*([\w-]+(?:\.[\w-]+)+)\s*\}\}")
_OF_A_WORKFLOW = {"name", "on", "permissions", "concurrency", "env", "jobs"}
_OF_A_JOB = {"name", "needs", "runs-on", "timeout-minutes", "permissions", "environment", "env", "outputs", "steps"}
_OF_A_STEP = {"id", "uses", "with", "run", "env"}


@dataclass(frozen=True)
class Runner:
    """What hosted runners bring: a place to work, what GitHub tells, and the actions by their names.

    ``environment`` is that of the workflow where both have a variable. ``elsewhere`` are jobs that are left out.
    """

    folder: Path
    github: Mapping[str, str]
    actions: Mapping[str, Action]
    environment: Mapping[str, str]
    elsewhere: frozenset[str] = frozenset()

    def carry_out(self, workflow: Path) -> None:
        """Every job. Raises AssertionError with the output of a command that fails, and for what is not understood."""
        said: dict[Any, Any] = yaml.safe_load(workflow.read_text())
        said["on"] = said.pop(True)  # as YAML 1.1 reads the word
        _understand(said, _OF_A_WORKFLOW, workflow.name)
        jobs = {name: job for name, job in said["jobs"].items() if name not in self.elsewhere}
        needs = {name: set(_list(job.get("needs"))) - self.elsewhere for name, job in jobs.items()}
        done: dict[str, dict[str, Outputs]] = {}
        for name in TopologicalSorter(needs).static_order():
            job = jobs[name]
            _understand(job, _OF_A_JOB, name)
            known = {"github": self.github, "needs": {each: done[each] for each in needs[name]}, "steps": {}}
            at = _Job(self, self.folder / "jobs" / name, known)
            at.have(said.get("env", {}))
            at.known["env"] |= self.environment
            at.have(job.get("env", {}))
            for step in job["steps"]:
                at.carry_out(step)
            done[name] = {"outputs": {output: at.filled_in(text) for output, text in job.get("outputs", {}).items()}}


@dataclass
class _Job:
    runner: Runner
    folder: Path
    known: dict[str, Any]
    made: Iterator[int] = field(default_factory=lambda: iter(range(1000)))

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        self.known["env"] = {}

    def have(self, variables: Mapping[str, Any]) -> None:
        """Variables of all further steps."""
        self.known["env"] |= {name: self.filled_in(str(text)) for name, text in variables.items()}

    def carry_out(self, step: Mapping[str, Any]) -> None:
        """One step; its outputs are known from then on."""
        _understand(step, _OF_A_STEP, str(step))
        if "run" in step:
            outputs = self._run(step["run"], {name: self.filled_in(text) for name, text in step.get("env", {}).items()})
        else:
            action = self.runner.actions[step["uses"].partition("@")[0]]
            given = {name: _text(value) for name, value in step.get("with", {}).items()}
            outputs = action(self.folder, {name: self.filled_in(value) for name, value in given.items()})
        if "id" in step:
            self.known["steps"][step["id"]] = {"outputs": outputs}

    def _run(self, command: str, variables: Mapping[str, str]) -> Outputs:
        output = self.folder.with_name(f"{self.folder.name}-output-{next(self.made)}")
        output.touch()
        environment = {**os.environ, **self.known["env"], **variables, "GITHUB_OUTPUT": str(output)}
        done = subprocess.run(
            ["bash", "-e", "-c", command], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return dict(line.split("=", 1) for line in output.read_text().splitlines())

    def filled_in(self, text: str) -> str:
        """With the value of each expression; GitHub takes what is not there for nothing, and here it is an error."""

        def value(found: re.Match[str]) -> str:
            at: Any = self.known
            for name in found[1].split("."):
                assert name in at, f"{found[0]}: there is no {name}"
                at = at[name]
            assert isinstance(at, str), f"{found[0]} is no text"
            return at

        filled = _EXPRESSION.sub(value, text)
        assert "${{" not in filled, f"{filled}: only names are understood here"
        return filled


def _understand(said: Mapping[str, Any], known: set[str], where: str) -> None:
    assert set(said) <= known, f"{where}: nobody carries out {sorted(set(said) - known)} here"


def _list(said: str | list[str] | None) -> list[str]:
    return [said] if isinstance(said, str) else said or []


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
