"""What the parts of the campaign have in common: who carries the runs out, what an option chooses, and what is told."""

import gc
import operator
import os
import re
import shlex
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple


class Told(NamedTuple):
    """What a part of the campaign ends with."""

    tried: str
    """What was tried, and how often."""
    differences: int
    """Each of them has been told."""


class NotThereError(Exception):
    """An option names what there is not."""


def all_cores() -> ProcessPoolExecutor:
    """A process for each core."""
    return ProcessPoolExecutor(os.cpu_count(), initializer=_settle_in)


def _settle_in() -> None:
    """Let the collector of garbage leave alone what is there from the start: looking through it took a tenth."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def chosen(
    option: str,
    texts: Sequence[str] | None,
    there: Collection[str],
    is_of: Callable[[str, str], bool] = operator.contains,
) -> list[str]:
    """Those with any of these texts in their names, all without a text. Raises NotThereError for a text that chooses
    none."""
    for text in texts or ():
        if not any(is_of(name, text) for name in there):
            raise NotThereError(f"{option}: nothing is called {text!r}; there are\n  " + "\n  ".join(sorted(there)))
    return [name for name in there if not texts or any(is_of(name, text) for text in texts)]


def tell(
    name: str, differences: Sequence[str], folder: Path | None, again: Sequence[str], log: Sequence[str] = ()
) -> bool:
    """Print a failure, leave its file with the arguments that try it again and the log of it, and say whether it is
    one."""
    if not differences:
        return False
    text = "\n    ".join([f"{name}:", *differences])
    print(text, flush=True)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        safe = re.sub(r"[^\w.]+", "-", name, flags=re.ASCII).strip("-")[:150]
        command = shlex.join(["scripts/campaign", *again])
        file = folder / f"{len([*folder.iterdir()]) + 1:05}-{safe}.txt"
        file.write_text("\n".join([text, f"again: {command}", *log, ""]), "utf-8")
    return True
