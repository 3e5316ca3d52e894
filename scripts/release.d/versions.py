"""The version of the product: where it is written, what a tag of it is called and when that is released, and what the
changelog says of it."""

import re
import subprocess
from collections.abc import Iterator
from datetime import date
from pathlib import Path

SOURCE = "reconciler/__init__.py"
"""The file whose version is that of the wheel. All others follow it."""
CHANGELOG = "CHANGELOG.md"
OF_THE_SANDBOX = "sandbox/CHANGELOG.md"
"""That of the other distribution, which is released with ours and has the same version."""
UNRELEASED = "unreleased"
_REVIEWED = "origin/main"
_ELSEWHERE = ("tests/", "sandbox/tests/", CHANGELOG, OF_THE_SANDBOX)
"""What has versions of its own: other projects' in tests, and past ones."""
_NUMBER = r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)"
_STATED = re.compile(
    r'(?:^__version__ = "|^ARG VERSION=|^version: |^appVersion: v|\bhcloud\\?-(?:reconciler|sandbox)(?::v|==| )'
    rf'|\bnewTag: v|\bimage\.tag=v|"tool_version": "|^ *version=)({_NUMBER})(?![\w.])',
    re.MULTILINE,
)
"""What introduces the version, and the version."""
_SECTION = re.compile(r"^## (?P<version>\S+), (?P<released>\S+)\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


class ReleaseError(Exception):
    """What stands in the way of a release, as one sentence."""


def version_of(root: Path) -> str:
    """The version of the checkout. Raises ReleaseError where a file says another one."""
    stated: dict[str, list[str]] = {file: _STATED.findall(text) for file, text in _texts(root)}
    (version,) = stated[SOURCE]
    wrong = sorted(file for file, found in stated.items() if set(found) - {version})
    if wrong:
        raise ReleaseError(f"{', '.join(wrong)}: not the version of {SOURCE}, {version}: run scripts/release prepare")
    return version


def stating(root: Path) -> dict[str, int]:
    """How often each tracked file names the version; files that do not are left out."""
    counted = {file: len(_STATED.findall(text)) for file, text in _texts(root)}
    return {file: count for file, count in counted.items() if count}


def version_in(tag: str) -> str:
    """``1.2.3`` for the tag ``v1.2.3``. Raises ReleaseError for any other form, that of a release candidate among them:
    Python and Helm write it differently."""
    if not re.fullmatch(f"v{_NUMBER}", tag):
        raise ReleaseError(f"{tag!r} is no tag of a release: name one such as v1.2.3")
    return tag.removeprefix("v")


def require_reviewed(root: Path) -> None:
    """Raises ReleaseError unless the commit that is checked out is on the main branch of where it came from: a tag can
    be pushed of any other one, which was not reviewed."""
    if _git(root, "rev-parse", "--quiet", "--verify", f"{_REVIEWED}^{{commit}}").returncode:
        raise ReleaseError(f"{_REVIEWED} is not known here: fetch it, with its history")
    if _git(root, "merge-base", "--is-ancestor", "HEAD", _REVIEWED).returncode:
        raise ReleaseError(f"the commit is not on {_REVIEWED}: merge it, and tag what was merged")


def require_unreleased(tag: str, repository: str) -> None:
    """Raises ReleaseError where the repository on GitHub, OWNER/NAME, has a release of the tag, or does not say."""
    asked = [
        "gh",
        "release",
        "list",
        "--repo",
        repository,
        "--limit",
        "1000",
        "--json",
        "tagName",
        "--jq",
        ".[].tagName",
    ]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"the releases of {repository} cannot be read: {done.stderr.strip()[-300:]}")
    if tag in done.stdout.splitlines():
        raise ReleaseError(f"{tag} is released, and stays as it is: release the next version")


def prepare(root: Path, version: str, today: date) -> list[str]:
    """Write the version wherever it is named, and the date into its section of the changelog, which is that of what is
    unreleased; that of the sandbox may have none. Returns the files that changed. Raises ReleaseError, and has written
    nothing."""
    version_in(f"v{version}")
    changelog = root / CHANGELOG
    text = changelog.read_text("utf-8")
    heading = re.compile(rf"^## \S+, {UNRELEASED}$", re.MULTILINE)
    if len(heading.findall(text)) != 1:
        raise ReleaseError(f"{CHANGELOG} has no section, or several, of what is {UNRELEASED}: there has to be one")
    if any(found["version"] == version and found["released"] != UNRELEASED for found in _SECTION.finditer(text)):
        raise ReleaseError(f"{CHANGELOG} says that {version} is released: take the next one")
    now = {
        file: _STATED.sub(lambda found: found[0].replace(found[1], version), before) for file, before in _texts(root)
    }
    for file in (CHANGELOG, OF_THE_SANDBOX):
        now[file] = heading.sub(f"## {version}, {today}", (root / file).read_text("utf-8"))
    changed = sorted(file for file, after in now.items() if (root / file).read_text("utf-8") != after)
    for file in changed:
        (root / file).write_text(now[file], "utf-8")
    return changed


def section_of(changelog: str, version: str) -> str:
    """What the changelog says of a version that is released. Raises ReleaseError where it does not."""
    for found in _SECTION.finditer(changelog):
        if found["version"] == version:
            if found["released"] == UNRELEASED:
                raise ReleaseError(f"{CHANGELOG} calls {version} {UNRELEASED}: run scripts/release prepare {version}")
            body = found["body"].strip()
            if body:
                return body
    raise ReleaseError(f"{CHANGELOG} says nothing of {version}: describe it in a section of its own")


def _git(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)


def _texts(root: Path) -> Iterator[tuple[str, str]]:
    """The tracked files that may name the version, and their texts."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
    for file in listed.split("\0"):
        if file and not file.startswith(_ELSEWHERE) and (root / file).is_file():
            try:
                yield file, (root / file).read_text("utf-8")
            except UnicodeDecodeError:  # a picture
                continue
