"""What users install: the wheel has all that the product needs, wherever it is run from and whatever else is installed.
The image is in ``test_image.py``."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from email import message_from_string
from pathlib import Path, PurePath

import pytest

from reconciler import __version__
from reconciler.config.program import BAD_USAGE
from tests.support.assets import ROOT
from tests.support.stage import clean_environment

_OTHER = "reconciler"
"""The name of a distribution on the package index, which installs a package of that name."""
_THEIRS = {"reconciler/__init__.py": "WHOSE = 'theirs'\n", "reconciler/cli.py": "WHOSE = 'theirs'\n"}


_UNKNOWN = re.compile(r"hcloud_sandbox|kubernetes_double|\b(?:aiohttp|jsonpatch|yarl)\b")
"""What the product knows nothing of, but for two commands."""


def _build(tree: Path, folder: Path) -> Path:
    """The wheel, built in ``folder`` without a network. What it was built from stands beside it."""
    build = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(build, cwd=tree, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return _build(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def simulators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the sandbox."""
    return _build(ROOT / "sandbox", tmp_path_factory.mktemp("simulators"))


@pytest.fixture(scope="session")
def installed(wheel: Path) -> Path:
    """The wheel's content, unpacked as pip does it."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(wheel.parent / "site")
    return wheel.parent / "site"


def test_the_demo_runs_from_an_empty_folder_without_the_checkout(
    installed: Path, simulators: Path, tmp_path: Path
) -> None:
    """Plan, apply, empty plan, and what to type next, from both wheels alone."""
    code = (
        "import sys, hcloud_reconciler, hcloud_sandbox, reconciler; print(reconciler.__file__);"
        "assert hcloud_sandbox.__file__.startswith(sys.argv.pop());"
        "sys.exit(hcloud_reconciler.main(['demo']))"
    )
    environment = {**clean_environment(), "PYTHONPATH": f"{installed}{os.pathsep}{simulators}"}

    ran = subprocess.run(
        [sys.executable, "-c", code, str(simulators)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith(str(installed))
    plan, applied, empty = (ran.stdout.index(text) for text in ("9 to add", "Applied 15 changes", "What to type next"))
    assert plan < applied < empty
    seen = "Observed 6 nodes, 6 servers, 6/100 routes, 2 services, 2 load balancers."
    assert ran.stdout[applied:].count(f"none is left. {seen}") == ran.stdout[applied:].count(f"No changes. {seen}") == 1


def test_the_wheel_has_the_schema_and_one_name_at_top_level(wheel: Path) -> None:
    """The JSON Schema and the manual page are shipped; tests and scripts are not. The packages of the tree are where
    only we look."""
    with zipfile.ZipFile(wheel) as archive:
        files = [PurePath(name).parts for name in archive.namelist()]
        schema = json.loads(archive.read("hcloud_reconciler/_app/reconciler/report/schema.json"))

    ours = [parts[1:] for parts in files if parts[0] == "hcloud_reconciler"]
    manual = [parts[1:] for parts in files if parts[0].endswith(".data")]
    assert schema["title"]
    assert {parts[0] for parts in files if not parts[0].endswith((".dist-info", ".data"))} == {"hcloud_reconciler"}
    assert ("data", "share", "man", "man1", "reconcile.1") in manual
    assert {parts[0] for parts in ours} == {"__init__.py", "__main__.py", "_app"}
    assert {parts[1] for parts in ours if parts[0] == "_app"} == {"actuators", "desired", "reconciler"}


def test_the_wheel_has_no_simulator(installed: Path) -> None:
    """Nor does anything but the two commands that start one know of it, or of what it is made of."""
    knowing = {
        str(file.relative_to(installed / "hcloud_reconciler" / "_app"))
        for file in installed.rglob("*.py")
        if _UNKNOWN.search(file.read_text("utf-8"))
    }
    (file,) = installed.glob("*.dist-info/METADATA")
    needed = message_from_string(file.read_text("utf-8")).get_all("Requires-Dist") or []

    assert knowing == {"reconciler/cli/app.py", "reconciler/cli/demo.py", "reconciler/cli/sandbox.py"}
    assert [line for line in needed if "extra ==" in line] == [f"hcloud-sandbox=={__version__}; extra == 'sandbox'"]
    assert {"aiohttp", "jsonpatch", "yarl"} & {re.split(r"\W", line, maxsplit=1)[0] for line in needed} == set()


def test_the_wheel_of_the_sandbox_has_nothing_else(simulators: Path) -> None:
    """Its packages, its command, its fixtures, and no test."""
    with zipfile.ZipFile(simulators) as archive:
        files = [PurePath(name).parts for name in archive.namelist()]
        (commands,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        said = archive.read(commands).decode()

    assert {parts[0] for parts in files if not parts[0].endswith(".dist-info")} == {
        "hcloud_sandbox",
        "kubernetes_double",
    }
    assert said == (
        "[console_scripts]\nhcloud-sandbox = hcloud_sandbox.command:main\n\n"
        "[pytest11]\nhcloud-sandbox = hcloud_sandbox.pytest_plugin\n"
    )


def test_without_the_sandbox_two_commands_say_what_to_type(wheel: Path, simulators: Path, tmp_path: Path) -> None:
    environment = _Environment(tmp_path / "environment")
    environment.lend_libraries()
    environment.install(wheel)

    for command in ("demo", "sandbox"):
        said = "reconcile: error: the sandbox is not installed: type pip install 'hcloud-reconciler[sandbox]'\n"
        assert environment.said("reconcile", command, code=1) == said

    environment.install(simulators)
    said = "hcloud-sandbox: error: --proxy-port goes with --proxy\n"
    assert environment.said("reconcile", "sandbox", "--proxy-port=1", code=BAD_USAGE) == said
    assert environment.said("hcloud-sandbox", "--version") == f"hcloud-sandbox {__version__}\n"
    assert environment.said("python", "-m", "hcloud_sandbox", "--version") == f"hcloud-sandbox {__version__}\n"


def test_the_wheel_of_the_sandbox_brings_fixtures(simulators: Path, tmp_path: Path) -> None:
    environment = _Environment(tmp_path / "environment")
    environment.lend_libraries()
    environment.install(simulators)
    shutil.copy(ROOT / "sandbox" / "examples" / "pytest" / "test_web.py", tmp_path)

    line = ("-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", str(tmp_path / "test_web.py"))
    assert "3 passed" in environment.said("python", *line)


def test_the_wheel_says_of_itself_what_an_index_shows(installed: Path) -> None:
    """Who it is for, what it runs on, and the README with no link that leads nowhere there."""
    (file,) = installed.glob("*.dist-info/METADATA")
    said = message_from_string(file.read_text("utf-8"))
    classifiers = said.get_all("Classifier") or []

    assert said["Version"] == __version__
    assert said["License-Expression"] == "Apache-2.0"
    assert [each for each in classifiers if each.startswith("License")] == []
    assert "Intended Audience :: System Administrators" in classifiers
    assert said["Description-Content-Type"] == "text/markdown"
    readme = said.get_payload()
    assert isinstance(readme, str)
    assert readme.startswith("# hcloud-reconciler\n")
    assert "](docs/" not in readme


def test_the_wheel_is_the_same_each_time_and_from_the_source_archive(wheel: Path, tmp_path: Path) -> None:
    """Byte by byte, whenever and wherever it is built: anybody can check that it is made of these sources."""
    (archive,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(archive) as unpacked:
        unpacked.extractall(tmp_path / "sources", filter="data")
    (tree,) = (tmp_path / "sources").iterdir()

    assert {path.name for path in tree.iterdir() if path.is_dir()} == {
        "actuators",
        "desired",
        "docs",
        "launch",
        "reconciler",
    }

    again = _build(tree, tmp_path / "again")

    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


class _Environment:
    """A fresh environment with nothing in it."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, symlinks=True, with_pip=False)
        self._bin = folder / "bin"
        (self.site,) = folder.glob("lib/python*/site-packages")

    def pip(self, *words: str) -> None:
        """Install or uninstall with the pip of this process, without a network."""
        quietly = ("-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(self._bin / "python"))
        said = self._said([sys.executable, *quietly, *words])
        assert said == ""

    def install(self, wheel: Path) -> None:
        """What is needed beside it stays away: nothing that is run here loads it."""
        self.pip("install", "--no-index", "--no-deps", "--no-compile", str(wheel))

    def lend_libraries(self) -> None:
        """What is installed beside us in this environment; not us, who are in it as a tree."""
        (self.site / "lent.pth").write_text(sysconfig.get_path("purelib"), "utf-8")

    def said(self, program: str, *words: str, code: int = 0) -> str:
        """What a command of the environment says on both streams, when it ends with this code."""
        return self._said([str(self._bin / program), *words], code)

    def _said(self, line: Sequence[str], code: int = 0) -> str:
        environment = {name: text for name, text in clean_environment().items() if name != "PYTHONPATH"}
        ran = subprocess.run(
            line,
            cwd=self.site,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert ran.returncode == code, ran.stdout
        return ran.stdout


def _works(environment: _Environment) -> None:
    """In a folder where ``import reconciler`` may find that of somebody else."""
    assert environment.said("reconcile", "--version") == f"hcloud-reconciler {__version__}\n"


def _is_whole(environment: _Environment) -> None:
    """Their package: each file as they made it, and found by its name."""
    assert {name: (environment.site / name).read_text() for name in _THEIRS} == _THEIRS
    assert environment.said("python", "-c", "import reconciler.cli; print(reconciler.cli.WHOSE)") == "theirs\n"


def _made_up(folder: Path) -> Path:
    """A wheel of somebody else."""
    info = f"{_OTHER}-0.2.2.dist-info"
    files = {
        **_THEIRS,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {_OTHER}\nVersion: 0.2.2\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    made = folder / f"{_OTHER}-0.2.2-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(name, text)
    return made


def test_it_works_beside_another_owner_of_the_name_reconciler(wheel: Path, tmp_path: Path) -> None:
    """In either order of installation; and whichever goes, takes nothing of the other."""
    environment = _Environment(tmp_path / "environment")
    theirs = _made_up(tmp_path)

    environment.install(theirs)
    environment.install(wheel)
    _works(environment)
    _is_whole(environment)
    module = environment.said("python", "-m", "hcloud_reconciler", "--version")
    assert module == f"hcloud-reconciler {__version__}\n"
    assert environment.said("hcloud-reconciler", "--help").startswith("usage: hcloud-reconciler ")
    assert environment.said("kubectl-hcloud_reconciler", "--help").startswith("usage: kubectl hcloud-reconciler ")

    environment.pip("uninstall", "--yes", _OTHER)
    assert not (environment.site / "reconciler").exists()
    _works(environment)

    environment.install(theirs)
    _works(environment)
    _is_whole(environment)

    environment.pip("uninstall", "--yes", "hcloud-reconciler")
    assert not (environment.site / "hcloud_reconciler").exists()
    _is_whole(environment)


def test_the_base_of_both_images_is_named_by_its_digest() -> None:
    """What is built today is built tomorrow: a tag may be another image by then."""
    (base,) = {
        each
        for folder in ("deploy", "sandbox")
        for each in re.findall(r"^ARG BASE=(\S+)$", (ROOT / folder / "Dockerfile").read_text(), re.MULTILINE)
    }
    assert re.fullmatch(r"docker\.io/library/python:3\.13-slim-trixie@sha256:[0-9a-f]{64}", base)
