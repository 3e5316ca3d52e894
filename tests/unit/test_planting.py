"""What the campaign plants in the product (``tests/campaign/planted``) still fits it; ``scripts/campaign planted``
runs it."""

import subprocess
from pathlib import Path

import pytest

from desired.guards.table import GUARDS
from tests.campaign.planting import KINDS, PLANTED, ROOT, UNSEEN, Planted, all_planted, apply, first_finder, found_by

ALL = {planted.name: planted for planted in all_planted()}


@pytest.mark.parametrize("planted", ALL.values(), ids=ALL)
def test_a_patch_fits(planted: Planted) -> None:
    """It says what it breaks, and which tests find it or why none does, and applies to the product as it is."""
    assert planted.breaks
    assert bool(planted.found_by) is not (planted.name in UNSEEN)
    assert bool(planted.history) is planted.name.startswith("faults/")
    apply(planted, ROOT, "--check")


def test_twenty_faults_are_planted() -> None:
    """And every folder has something."""
    assert sum(name.startswith("faults/") for name in ALL) >= 20
    assert {file.parent.name for file in PLANTED.rglob("*.patch")} == KINDS.keys()


def test_what_is_unseen_is_there() -> None:
    """An excuse outlives nothing."""
    assert UNSEEN.keys() <= {*ALL, *(f"guards/{name}" for name in GUARDS)}


def test_a_patch_that_does_not_fit_is_told(tmp_path: Path) -> None:
    """As where the product was changed since."""
    with pytest.raises(subprocess.CalledProcessError):
        apply(next(iter(ALL.values())), tmp_path, "--check")


def test_what_cannot_be_run_has_found_nothing(tmp_path: Path) -> None:
    """A test that is not there, or a module that nothing can import."""
    with pytest.raises(RuntimeError, match="could not be run"):
        found_by(("test_nothing_of_this_name.py",), tmp_path)


@pytest.mark.parametrize("is_red", [False, True])
def test_what_fails_anyway_has_found_nothing(tmp_path: Path, is_red: bool) -> None:
    """Otherwise one law that is red would find every patch."""
    trees = {name: tmp_path / name for name in ("planted", "clean")}
    for name, tree in trees.items():
        tree.mkdir()
        (tree / "test_law.py").write_text(f"def test_it():\n    assert {name == 'clean' and not is_red}\n", "utf-8")

    if is_red:
        with pytest.raises(RuntimeError, match="fails where nothing is missing"):
            first_finder(("test_law.py",), trees["planted"], trees["clean"])
    else:
        assert first_finder(("test_law.py",), trees["planted"], trees["clean"]) == "test_law.py::test_it"
