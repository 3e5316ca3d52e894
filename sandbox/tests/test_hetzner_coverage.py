"""The page that says what is simulated. ``UPDATE_DOCS=1`` writes it anew."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from hcloud_sandbox.hetzner.errors import ApiError
from sandbox_support.coverage import documented, page, raised

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "sandbox-coverage.md"


def test_the_page_is_what_the_tables_say() -> None:
    """Each operation, each code with its source, each limit."""
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(page(), "utf-8")

    assert PAGE.read_text("utf-8") == page()


def test_no_cell_breaks_a_table() -> None:
    """Each row has as many cells as the one above it."""
    lines = page().splitlines()
    rows = [(above.count("|"), line.count("|")) for above, line in pairwise(lines) if line[:1] == "|"]

    assert [row for row in rows if row[0] not in {0, row[1]}] == []


@pytest.mark.parametrize("code", sorted(raised() & documented().keys()))
def test_codes_have_the_status_of_the_document(code: str) -> None:
    """Where it has one; another one than the usual is given where the code is raised."""
    statuses = set(documented()[code].values())

    assert statuses == {0} or ApiError(code, "").status in statuses
