"""The rules of the core that ``scripts/check`` enforces do catch what they are there for."""

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]


def _found(folder: str, code: str) -> int:
    """How many banned names are found in a module of that folder."""
    command = [sys.executable, "-m", "ruff", "check", "--select=TID251", "--output-format=concise", "--quiet"]
    ran = subprocess.run(
        [*command, f"--stdin-filename={folder}/probe.py", "-"],
        input=code,
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stderr == ""
    return ran.stdout.count("TID251")


@pytest.mark.parametrize(
    "code",
    [
        "from datetime import UTC, datetime\nnow = datetime.now(UTC)",
        "import datetime as d\nnow = d.datetime.utcnow()",
        "from datetime import datetime\nnow = datetime.today",
        "from datetime import date\nnow = date.today()",
        "import time",
        "from time import monotonic",
    ],
)
def test_the_core_has_no_clock(code: str) -> None:
    """Its only time is that of the snapshot; other packages may look at the clock."""
    assert _found("desired", code) == 1
    assert _found("reconciler", code) == 0


def test_other_uses_of_dates_are_free() -> None:
    """The core computes with moments that it was given."""
    assert (
        _found("desired", "from datetime import datetime, timedelta\nx = datetime.fromisoformat('') + timedelta()") == 0
    )
