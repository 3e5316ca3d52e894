"""docs/operations.md names all that a person may meet: results, exit codes, permissions; and files that exist."""

import re
from pathlib import Path

import pytest

from desired.model.settings import Settings
from reconciler.config.program import BAD_USAGE
from reconciler.permissions import needed
from reconciler.result import Result

_DOCS = Path(__file__).resolve().parents[2] / "docs"
_PAGE = (_DOCS / "operations.md").read_text()
_ROWS = [[cell.strip() for cell in row.strip("|").split("|")] for row in _PAGE.splitlines() if row.startswith("| ")]


def test_every_result_is_told_with_what_to_do() -> None:
    """One row each."""
    assert {row[0].strip("`") for row in _ROWS} >= set(Result)


def test_every_exit_code_is_told() -> None:
    """Those of results, of bad usage, and of signals."""
    codes = {int(code) for row in _ROWS for code in re.findall(r"\b\d+\b", row[0]) if re.fullmatch(r"[\d, ]+", row[0])}

    assert codes == {0, 1, 2, 3, 4, 5, BAD_USAGE, 130, 143}


def test_every_permission_is_told() -> None:
    """Resource and verb, in a row of the table of permissions."""
    told = {
        (verb, resource)
        for row in _ROWS
        if row[-1] in ("observe", "reconcile")
        for verb in re.findall(r"\w+", row[1])
        for resource in re.findall(r"[a-z/]+s(?:/status)?\b", row[0])
    }
    wanted = needed(Settings(), acts=True, watches=True, lease="cloud-controller-manager")

    assert {(each.verb, each.resource) for each in wanted} - told == set()


@pytest.mark.parametrize("page", ["operations.md", "migrate-from-hccm.md"])
def test_links_lead_somewhere(page: str) -> None:
    """To files of the checkout."""
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", (_DOCS / page).read_text())

    assert links
    assert [link for link in links if not (_DOCS / link).exists()] == []
