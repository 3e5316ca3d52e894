"""Some rows of a table that is too long for every run: as many as ``SAMPLES`` says, drawn by ``SAMPLE_SEED``.
``scripts/soak`` takes all."""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_SAMPLES = int(os.environ.get("SAMPLES", "1"))
_SEED = int(os.environ.get("SAMPLE_SEED", "1"))


def sample(rows: Sequence[T]) -> list[T]:
    """The rows that this run takes, in their order."""
    chosen = random.Random(_SEED).sample(range(len(rows)), min(_SAMPLES, len(rows)))
    return [rows[number] for number in sorted(chosen)]
