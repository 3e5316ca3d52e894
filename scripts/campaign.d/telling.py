"""What the parts of the campaign have in common: who carries the runs out, and what is told of a failure."""

import gc
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path


def all_cores() -> ProcessPoolExecutor:
    """A process for each core."""
    return ProcessPoolExecutor(os.cpu_count(), initializer=_settle_in)


def _settle_in() -> None:
    """Let the collector of garbage leave alone what is there from the start: looking through it took a tenth."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def tell(name: str, differences: Sequence[str], folder: Path | None, log: Sequence[str] = ()) -> bool:
    """Print a failure, leave its file with the log of it, and say whether it is one."""
    if not differences:
        return False
    text = "\n    ".join([f"{name}:", *differences])
    print(text, flush=True)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{len([*folder.iterdir()]) + 1:05}.txt").write_text("\n".join([text, *log, ""]), "utf-8")
    return True
