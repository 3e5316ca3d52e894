"""The campaign is tested itself: what is taken out of the product, and what is planted there, has to be found.

A file of ``planted/`` is a patch with some lines about it before: what it breaks, whose history knows such a fault, and
which tests find it. Each is applied to a copy of the tree. Guards need no patch: ``WITHOUT_GUARD`` switches one off.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.sampling import SEED

ROOT = Path(__file__).resolve().parents[2]
PLANTED = Path(__file__).parent / "planted"
KINDS: Mapping[str, str] = {
    "faults": "of the kinds that changelogs tell",
    "preconditions": "what an actuator makes sure of at the moment of a write is left out",
    "proofs": "something counts as proven that is not",
}
"""Folder of ``planted/`` → what its patches do."""
COPIED = ("actuators", "desired", "docs", "launch", "reconciler", "scripts", "tests", "pyproject.toml")

RUNS: Sequence[Sequence[str]] = (
    ("tests/property/test_harm_known.py", "tests/campaign/test_guards.py", "tests/campaign/test_between.py"),
    ("tests/campaign",),
    ("tests/property/test_harm.py",),
    ("tests/property", *(f"--ignore=tests/property/test_{name}.py" for name in ("harm", "harm_known", "corpus"))),
)
"""What is asked where no test is named, or none of those that are: known sequences first, as they are the quickest.
The corpus is no law: it has every plan as it is."""

UNSEEN: Mapping[str, str] = {
    "preconditions/adopted-balancer-is-no-other-clusters": "the comparison of all owner labels tells another"
    " owner, unless the cluster's own UID is not known, and then nothing is written",
    "preconditions/certificate-has-no-twin": "Hetzner takes no second certificate of a name",
    "preconditions/deleted-balancer-is-unprotected": "Hetzner deletes nothing that is protected",
    "preconditions/node-is-silent": "who reports writes the status, so that the version in the deletion is an old one",
    "preconditions/part-is-of-no-other-cluster": "no plan has such a change, as a load balancer of another cluster is"
    " nobody's here",
    "proofs/list-of-this-minute": "before a plan that rests on an older list is judged, Robot's list is read anew",
    "proofs/witness-of-before": "what a pass makes is no other witness in the next one, and what waits in its first"
    " pass waits in all",
}
"""What no run finds missing → why it stays all the same: defence in depth. One that is found has no place here."""


@dataclass(frozen=True)
class Planted:
    name: str
    """``faults/route-of-another``."""
    breaks: str
    history: str
    """Whose history knows a fault of its kind; "" for a precondition or a proof."""
    found_by: Sequence[str]
    """Names of tests; empty for what is ``UNSEEN``."""

    @property
    def file(self) -> Path:
        return PLANTED / f"{self.name}.patch"


_GUARD = re.compile(r"^\| `([a-z-]+)` \| ([^|]+) \|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py::test_\w+)`")


def noticed_by() -> Mapping[str, Sequence[str]]:
    """Guard → the tests that notice its absence, as ``docs/safety.md`` names them."""
    page = (ROOT / "docs" / "safety.md").read_text("utf-8")
    return {name: _TEST.findall(shown) for name, shown in _GUARD.findall(page)}


def all_planted() -> Sequence[Planted]:
    """Every patch, by its name."""
    return [_read(file) for file in sorted(PLANTED.rglob("*.patch"))]


def _read(file: Path) -> Planted:
    about = file.read_text("utf-8").partition("\n\n")[0]
    said: dict[str, list[str]] = {}
    for line in about.splitlines():
        title, _, text = line.partition(": ")
        said.setdefault(title, []).append(text)
    name = str(file.relative_to(PLANTED).with_suffix(""))
    return Planted(name, said["Breaks"][0], said.get("History", [""])[0], said.get("Found by", []))


@contextmanager
def a_copy() -> Iterator[Path]:
    """A copy of the tree, with what Python has compiled, as far as tests of the campaign and laws look at it."""
    with TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in COPIED:
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy2)(ROOT / name, tree / name)
        yield tree


def apply(planted: Planted, tree: Path, *options: str) -> None:
    """Apply the patch. Raises CalledProcessError where it does not fit any more; ``--check`` does nothing else."""
    apart = os.environ | {"GIT_CEILING_DIRECTORIES": str(tree.resolve().parent)}
    subprocess.run(["git", "apply", *options, str(planted.file)], cwd=tree, env=apart, capture_output=True, check=True)


_FAILED = re.compile(r"^FAILED (.+?)(?: - .*)?$", re.MULTILINE)


def found_by(tests: Sequence[str], tree: Path, **environment: str) -> str | None:
    """The first of these tests that fails in the tree; None when all pass. Raises RuntimeError when they cannot be run:
    what nothing can import is no fault that was found."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *tests]
    given = os.environ | {"PROPERTY_SEED": str(SEED)} | environment
    ended = subprocess.run(command, cwd=tree, env=given, capture_output=True, text=True, check=False)
    failed = _FAILED.search(ended.stdout)
    if ended.returncode == 0:
        return None
    if ended.returncode != 1 or failed is None:
        raise RuntimeError(f"{' '.join(tests)} could not be run:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return failed[1]


def first_finder(tests: Sequence[str], tree: Path, clean: Path, **environment: str) -> str | None:
    """The first test that notices what is missing in the tree, of those that are named, then of all ``RUNS``; None
    where none does. Raises RuntimeError when it fails in the ``clean`` tree as well: it has noticed something else."""
    for run in filter(None, (tests, *RUNS)):
        found = found_by(run, tree, **environment)
        if found is not None and _is_red(found.partition("[")[0], clean):
            raise RuntimeError(f"{found} fails where nothing is missing, with PROPERTY_SEED={SEED}")
        if found is not None:
            return found
    return None


@cache
def _is_red(test: str, clean: Path) -> bool:
    return found_by((test,), clean) is not None
