"""Some rows of a table that is too long for every run: as many as ``SAMPLES`` says, drawn by ``SAMPLE_SEED``.
``scripts/soak`` takes all."""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_SAMPLES = int(os.environ.get("SAMPLES", "1"))
_SEED = int(os.environ.get("SAMPLE_SEED", "1"))


def sample(rows: Sequence[T], table: str, least: int = 1) -> list[T]:
    """The rows that this run takes, in their order, and ``least`` at least. ``table`` names the table: each has a draw
    of its own."""
    count = min(max(_SAMPLES, least), len(rows))
    chosen = random.Random(f"{_SEED} {table}").sample(range(len(rows)), count)
    return [rows[number] for number in sorted(chosen)]
