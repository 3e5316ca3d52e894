"""What the parts of the campaign tell of a failure."""

from collections.abc import Sequence
from pathlib import Path


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
