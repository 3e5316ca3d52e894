"""What is released, made of the checkout: wheels and source archives, chart, manifests, checksums, notes."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from versions import CHANGELOG, ReleaseError, section_of

from hatch_build import for_an_index
from tests.support.assets import ROOT, folder_of

NAME = "hcloud-reconciler"
PROJECTS = {"hcloud_reconciler": ROOT, "hcloud_sandbox": ROOT / "sandbox"}
"""How the files of a distribution are called → where it is built."""
CHART = ROOT / "deploy" / "helm" / NAME
MANIFESTS = {
    f"{NAME}.yaml": f"deploy/manifests/{NAME}.yaml",
    f"{NAME}-networks.yaml": f"deploy/manifests/{NAME}-networks.yaml",
    f"{NAME}-cronjob.yaml": f"deploy/cronjob/{NAME}.yaml",
}
"""Name of the asset → file of the checkout."""
CHECKSUMS = "SHA256SUMS"
_LOCAL = re.compile(r"(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?/")
_IMAGE = re.compile(r"[a-z0-9.:\[\]-]+(?:/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}")


def build_wheels(folder: Path) -> None:
    """Wheels and source archives of what is checked out, into an empty folder; the same bytes wherever they are built.
    Raises ReleaseError for what an index would refuse, and for files that do not belong there."""
    if folder.exists() and any(folder.iterdir()):
        raise ReleaseError(f"{folder} is not empty: name another folder")
    for name, project in PROJECTS.items():
        _python(project, "hatchling", "build", "--directory", str(folder), SOURCE_DATE_EPOCH=_committed())
        _python(project, "check_wheel_contents", *map(str, folder.glob(f"{name}-*.whl")))
    _python(ROOT, "twine", "check", "--strict", *sorted(map(str, folder.iterdir())))


def notes(version: str, address: str) -> str:
    """The changelog's section of the version as Markdown for a release of the repository at this address: a line is an
    item, as a code host breaks lines where the text does. Raises ReleaseError."""
    section = section_of((ROOT / CHANGELOG).read_text("utf-8"), version)
    return for_an_index(re.sub(r"\n {2,}(?=[^\s*-])", " ", section), address, version) + "\n"


def package_chart(folder: Path, version: str, image: str) -> Path:
    """The chart as an archive in the folder; it installs the image of this digest. Raises ReleaseError."""
    repository, digest = _parts(image)
    with tempfile.TemporaryDirectory() as temporary:
        chart = Path(temporary) / NAME
        shutil.copytree(CHART, chart)
        values = chart / "values.yaml"
        text = values.read_text("utf-8")
        for before, after in (
            (
                "  # Where you have pushed the image that deploy/Dockerfile makes.\n",
                "  # The one that was released with this chart.\n",
            ),
            (f"  repository: {NAME}\n", f"  repository: {repository}\n"),
            ("  tag: 'v{{ $.Chart.Version }}'\n", f"  tag: 'v{version}@{digest}'\n"),
        ):
            text = _replaced(text, before, after, values)
        values.write_text(text, "utf-8")
        _helm("package", str(chart), "--destination", str(folder))
    return folder / f"{NAME}-{version}.tgz"


def push_chart(archive: Path, repository: str) -> str:
    """Push the archive below a repository of a registry, ``HOST/PATH``; returns its digest. Raises ReleaseError."""
    plainly = ["--plain-http"] if _LOCAL.match(f"{repository}/") else []  # as image clients decide it
    said = _helm("push", str(archive), f"oci://{repository}", *plainly)
    found = re.search(r"^Digest: (sha256:[0-9a-f]{64})$", said, re.MULTILINE)
    if found is None:
        raise ReleaseError(f"helm named no digest of what it pushed to {repository}, but: {said.strip()[:300]}")
    return found[1]


def write_manifests(folder: Path, version: str, image: str) -> None:
    """The static manifests into the folder; they install the image of this digest. Raises ReleaseError."""
    repository, digest = _parts(image)
    for name, file in MANIFESTS.items():
        text = (ROOT / file).read_text("utf-8")
        named = f'image: "{NAME}:v{version}"'
        (folder / name).write_text(
            _replaced(text, named, f'image: "{repository}:v{version}@{digest}"', ROOT / file), "utf-8"
        )


def write_checksums(folder: Path) -> None:
    """SHA256SUMS of the files in the folder, for ``sha256sum --check``."""
    files = sorted(each for each in folder.iterdir() if each.name != CHECKSUMS)
    lines = (f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in files)
    (folder / CHECKSUMS).write_text("".join(lines), "utf-8")


def _parts(image: str) -> tuple[str, str]:
    if not _IMAGE.fullmatch(image):
        raise ReleaseError(f"{image!r} is no image by its digest: name one such as HOST/OWNER/NAME@sha256:...")
    repository, _, digest = image.partition("@")
    return repository, digest


def _replaced(text: str, before: str, after: str, file: Path) -> str:
    if text.count(before) != 1:
        raise ReleaseError(f"{file.relative_to(file.parents[1])} does not say {before.strip()!r} once")
    return text.replace(before, after)


def _committed() -> str:
    """Seconds since 1970 of the commit that is checked out."""
    return _output(["git", "log", "-1", "--format=%ct"]).strip()


def _helm(*words: str) -> str:
    return _output([str(folder_of("helm") / "helm"), *words])


def _output(command: list[str]) -> str:
    """What it says on both streams. Raises ReleaseError with that."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"{' '.join(command[:3])} ended with {done.returncode}: {done.stdout.strip()[-2000:]}")
    return done.stdout


def _python(project: Path, module: str, *words: str, **variables: str) -> None:
    """Run a module in the folder of a project, with its output on stderr. Raises ReleaseError when it fails."""
    done = subprocess.run(
        [sys.executable, "-m", module, *words],
        cwd=project,
        env={**os.environ, **variables},
        stdout=sys.stderr,
        check=False,
    )
    if done.returncode:
        raise ReleaseError(f"{module} {words[0]} ended with {done.returncode}; its output stands above")
