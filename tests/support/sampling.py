"""The seed by which laws, harm, the campaign and long tables draw their samples. ``scripts/test`` takes it from the
commit, so that each commit tries others; ``scripts/soak`` takes thousands, or all."""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

SEED = int(os.environ.get("PROPERTY_SEED") or 1)
"""Each failure is reported with it."""
_SAMPLES = int(os.environ.get("SAMPLES", "1"))


def sample(rows: Sequence[T], table: str, least: int = 1) -> list[T]:
    """The rows that this run takes, in their order, and ``least`` at least. ``table`` names the table: each has a draw
    of its own."""
    count = min(max(_SAMPLES, least), len(rows))
    chosen = random.Random(f"{SEED} {table}").sample(range(len(rows)), count)
    return [rows[number] for number in sorted(chosen)]
