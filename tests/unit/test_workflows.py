"""The workflows: what they run stands in scripts, nothing that they use can be moved, each job has the rights that it
needs; and what docs/versions.md says is tested, they test. Besides: that a rehearsal of one can fail."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.assets import ROOT
from tests.support.workflows import Outputs, Runner

_WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yaml"))
_USES = re.compile(r"^\s*(?:- )?uses: (\S+)(?: # (\S+))?", re.MULTILINE)
_ROW = re.compile(r"^\| (\d[\w.]*(?: and older| to \d[\w.]*)?) \| ([^|]+) \|$", re.MULTILINE)
_WRITES = {
    "image": {"packages", "id-token", "attestations"},
    "chart": {"packages", "id-token", "attestations"},
    "index": {"id-token"},
    "release": {"contents"},
}
"""Job of a release → what it may write. What builds the wheel writes nothing, and what publishes it builds nothing."""


def _jobs(workflow: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(workflow.read_text())["jobs"]
    return found


def test_every_action_is_pinned_by_its_commit() -> None:
    """With the version that the commit has in a comment, and each action at one commit: a tag may be moved."""
    used = [found for workflow in _WORKFLOWS for found in _USES.findall(workflow.read_text())]
    actions = {(*name.split("@"), version) for name, version in used if not name.startswith("./")}

    assert len(actions) == len({name for name, *_ in actions}) > 8
    for name, commit, version in actions:
        assert re.fullmatch(r"[0-9a-f]{40}", commit), name
        assert re.fullmatch(r"v\d+\.\d+\.\d+", version), name


@pytest.mark.parametrize("workflow", _WORKFLOWS, ids=lambda path: path.stem)
def test_what_is_run_stands_in_scripts(workflow: Path) -> None:
    """One command a step, with nothing in it that GitHub fills in: a title of a pull request would be run."""
    steps = [step["run"] for job in _jobs(workflow).values() for step in job.get("steps", ()) if "run" in step]

    assert steps
    assert [step for step in steps if "\n" in step.strip() or "${{" in step] == []


@pytest.mark.parametrize("workflow", _WORKFLOWS, ids=lambda path: path.stem)
def test_no_job_may_write_more_than_it_needs(workflow: Path) -> None:
    """Nothing is granted to all jobs, and a checkout keeps no password."""
    assert yaml.safe_load(workflow.read_text())["permissions"] == {}
    for name, job in _jobs(workflow).items():
        granted = {what for what, how in job["permissions"].items() if how == "write"}
        assert granted == (_WRITES.get(name, set()) if workflow.stem == "release" else set()), name
        for step in job.get("steps", ()):
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_what_builds_the_image_is_pinned_and_kept_nowhere() -> None:
    """Actions start images of their own, one of them with all rights: each is named by its digest. None takes what
    another run left in a cache."""
    names = {"docker/setup-qemu-action": "image", "docker/setup-buildx-action": "driver-opts"}
    used = [
        (step["uses"].partition("@")[0], step["with"])
        for step in _jobs(ROOT / ".github" / "workflows" / "release.yaml")["image"]["steps"]
        if step.get("uses", "").startswith("docker/")
    ]
    steps, built = dict(used), [inputs for action, inputs in used if action == "docker/build-push-action"]
    images = [steps[action][name] for action, name in names.items()] + [inputs["sbom"] for inputs in built]

    assert [inputs["file"] for inputs in built] == ["deploy/Dockerfile", "sandbox/Dockerfile"]
    assert [each for each in images if not re.search(r"\b[a-z]+/[a-z-]+:[\w.-]+@sha256:[0-9a-f]{64}$", each)] == []
    assert (
        steps["docker/setup-qemu-action"]["cache-image"] is steps["docker/setup-buildx-action"]["cache-binary"] is False
    )
    assert [name for _, inputs in used for name in inputs if name.startswith("cache-") and inputs[name]] == []


def test_renovate_knows_each_image_that_an_action_starts() -> None:
    """By a pattern of its own: what it knows of workflows are actions."""
    (manager,) = json.loads((ROOT / ".github" / "renovate.json").read_text())["customManagers"]
    pattern = re.compile(re.sub(r"\(\?<(?!=)", "(?P<", manager["matchStrings"][0]))
    text = (ROOT / ".github" / "workflows" / "release.yaml").read_text()

    assert [found["depName"] for found in pattern.finditer(text)] == [
        "tonistiigi/binfmt",
        "moby/buildkit",
        "docker/buildkit-syft-scanner",
        "docker/buildkit-syft-scanner",
    ]
    assert text.count("@sha256:") == len(pattern.findall(text))


def test_a_tag_is_asked_about_before_anything_is_made() -> None:
    """With the history that tells whether its commit was reviewed, and before what is pushed to a registry."""
    jobs = _jobs(ROOT / ".github" / "workflows" / "release.yaml")
    check_out, _python, unreleased, names, *_ = jobs["build"]["steps"]

    assert check_out["with"]["fetch-depth"] == 0
    assert unreleased["run"].startswith("scripts/release unreleased ")
    assert names["run"].startswith("scripts/release names ")
    assert "build" in jobs["image"]["needs"]


def test_only_the_index_is_asked_with_nothing_built_beside() -> None:
    """The job that may publish has no step but to load what was built, and the one that publishes."""
    (load, publish) = _jobs(ROOT / ".github" / "workflows" / "release.yaml")["index"]["steps"]

    assert load["uses"].startswith("actions/download-artifact@")
    assert publish["uses"].startswith("pypa/gh-action-pypi-publish@")


def test_the_page_of_versions_says_what_is_tested() -> None:
    """Kubernetes: what scripts/envtest builds, what scripts/older runs each night, and what the chart refuses. Python:
    what CI runs and what pip refuses."""
    kubernetes, python = (
        dict(_ROW.findall(part.partition("\n## ")[0]))
        for part in re.split(
            r"^## (?:Kubernetes|Python)$", (ROOT / "docs/versions.md").read_text(), flags=re.MULTILINE
        )[1:]
    )
    pins = ROOT / "scripts/envtest.d"
    built = re.search(r"k8s\.io/kubernetes v(\d+\.\d+)\.", (pins / "go.mod").read_text())
    older = re.findall(r"^v(\d+\.\d+)\.\d+$", (pins / "older.txt").read_text(), re.MULTILINE)
    refused = re.search(r">= 1\.(\d+)\.0", (ROOT / "deploy/helm/hcloud-reconciler/Chart.yaml").read_text())
    image = re.search(r"^ARG BASE=\S+/python:(\d+\.\d+)-", (ROOT / "deploy/Dockerfile").read_text(), re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ci = _jobs(ROOT / ".github" / "workflows" / "ci.yaml")
    promised = {each.rpartition(" ")[2] for each in project["classifiers"] if re.search(r":: 3\.\d+$", each)}

    assert built
    assert [minor for minor, state in kubernetes.items() if state.startswith("tested by everything")] == [built[1]]
    assert [minor for minor, state in kubernetes.items() if "scripts/older" in state] == older
    assert _jobs(ROOT / ".github/workflows/nightly.yaml")["older"]["strategy"]["matrix"]["kubernetes"] == older
    assert refused
    assert kubernetes[f"1.{int(refused[1]) - 1} and older"].startswith("unsupported")
    everything, rules = (set(ci[job]["strategy"]["matrix"]["python"]) for job in ("everything", "rules"))
    assert {minor for minor, state in python.items() if state.startswith("tested by everything")} == everything
    assert {minor for minor, state in python.items() if state.startswith("tested")} == rules
    assert {
        minor for minor, state in python.items() if state.startswith("tested") and "may fail" not in state
    } == promised
    assert image
    assert "the image has it" in python[image[1]]
    assert project["requires-python"] == ">=3.11"
    assert python["3.10 and older"].startswith("unsupported")


_TWO_JOBS: dict[Any, Any] = {
    True: {"push": {}},  # "on", as YAML reads it
    "jobs": {
        "second": {
            "needs": "first",
            "steps": [{"uses": "a/tell@1", "with": {"what": "${{ needs.first.outputs.said }} by ${{ github.actor }}"}}],
        },
        "first": {
            "outputs": {"said": "${{ steps.say.outputs.word }}"},
            "steps": [
                {"id": "say", "run": 'echo "word=$WORD" >> "$GITHUB_OUTPUT"', "env": {"WORD": "${{ env.WORD }}"}}
            ],
        },
    },
}


def _carried_out(folder: Path, **first: Any) -> list[str]:
    """What the second job was told. ``first`` is put into the first one's only step."""
    step = {**_TWO_JOBS["jobs"]["first"]["steps"][0], **first}
    jobs = {**_TWO_JOBS["jobs"], "first": {**_TWO_JOBS["jobs"]["first"], "steps": [step]}}
    workflow = folder / "workflow.yaml"
    workflow.write_text(yaml.safe_dump({**_TWO_JOBS, "jobs": jobs}))
    told = []

    def tell(_job: Path, inputs: Mapping[str, str]) -> Outputs:
        told.append(inputs["what"])
        return {}

    Runner(folder, {"actor": "us"}, {"a/tell": tell}, {"WORD": "hello"}).carry_out(workflow)
    return told


def test_a_rehearsal_passes_on_what_jobs_say(tmp_path: Path) -> None:
    """In the order of their needs, not of the file."""
    assert _carried_out(tmp_path) == ["hello by us"]


@pytest.mark.parametrize(
    ("first", "why"),
    [
        pytest.param({"run": "echo no >&2; false | true; false; true"}, "no", id="a-command-that-fails"),
        pytest.param({"env": {"WORD": "${{ env.WORDS }}"}}, "there is no WORDS", id="a-misspelt-name"),
        pytest.param({"env": {"WORD": "${{ env.WORD || 1 }}"}}, "only names are understood", id="an-expression"),
        pytest.param({"run": "true"}, "there is no word", id="an-output-that-is-not-there"),
        pytest.param({"continue-on-error": True}, "nobody carries out", id="a-key-that-is-not-understood"),
    ],
)
def test_a_rehearsal_that_fails(tmp_path: Path, first: dict[str, Any], why: str) -> None:
    """Nothing is passed over."""
    with pytest.raises(AssertionError, match=re.escape(why)):
        _carried_out(tmp_path, **first)
