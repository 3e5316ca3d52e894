"""What users install: the wheel has all that the product needs, wherever it is run from. The image made of it is in
``test_image.py``."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.apiserver import ROOT
from tests.support.stage import clean_environment

pytestmark = pytest.mark.processes


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content, unpacked as pip does it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_the_demo_runs_from_an_empty_folder_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    """Plan, apply, empty plan, and what to type next, from the wheel alone."""
    code = (
        "import sys, reconciler; from reconciler.cli import main; print(reconciler.__file__); sys.exit(main(['demo']))"
    )
    environment = {**clean_environment(), "PYTHONPATH": str(installed)}

    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith(str(installed))
    plan, applied, empty = (ran.stdout.index(text) for text in ("9 to add", "Applied 15 changes", "What to type next"))
    assert plan < applied < empty
    quiet = "No changes. Observed 6 nodes, 6 servers, 6/100 routes, 2 services, 2 load balancers."
    assert ran.stdout[applied:].count(quiet) == 2


def test_the_wheel_has_the_schema_and_the_types_and_nothing_else_at_top_level(installed: Path) -> None:
    """The JSON Schema and the typing markers are shipped; tests and scripts are not."""
    assert json.loads((installed / "reconciler/report/schema.json").read_text())["title"]
    packages = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    assert packages == {"actuators", "desired", "reconciler"}
    assert all((installed / package / "py.typed").exists() for package in packages)


def test_the_base_of_the_image_is_named_by_its_digest() -> None:
    """What is built today is built tomorrow: a tag may be another image by then."""
    (base,) = re.findall(r"^ARG BASE=(\S+)$", (ROOT / "deploy" / "Dockerfile").read_text(), re.MULTILINE)
    assert re.fullmatch(r"docker\.io/library/python:3\.13-slim-trixie@sha256:[0-9a-f]{64}", base)
