"""What blocks is made by the object that a run carries; where it is not, the table says why.

A lock that is never held over anything that blocks is the standard library's everywhere, and so is the type of an
event.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

_ROOT = Path(__file__).resolve().parents[2]
_BLOCKS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "threading": frozenset(
            {"Thread", "Timer", "Event", "Condition", "Semaphore", "BoundedSemaphore", "Barrier"},
        ),
        "concurrent.futures": frozenset({"ThreadPoolExecutor", "ProcessPoolExecutor", "wait", "as_completed"}),
        "queue": frozenset({"Queue", "SimpleQueue", "LifoQueue", "PriorityQueue"}),
        "time": frozenset({"sleep"}),
    }
)
EXCEPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "actuators/concurrency.py": "makes it for all others",
        "reconciler/cli/run.py": "ends a single pass that takes too long, by the real clock",
        "reconciler/cli/stopping.py": "waits for signals, which the system sends to a real process",
        "reconciler/page/live.py": "makes pages in the threads of the server that answers browsers",
        "reconciler/telemetry/serving.py": "answers over real sockets, and decides on nothing in a pass",
    }
)
"""Module → what it makes by itself, and why a scheduler need not know of it."""


def test_what_blocks_is_made_in_one_place() -> None:
    """No module makes it but those of the table, and each of these does."""
    found = {
        file.relative_to(_ROOT).as_posix()
        for folder in ("actuators", "reconciler")
        for file in (_ROOT / folder).rglob("*.py")
        if any(_made_in(file.read_text("utf-8")))
    }

    assert found == EXCEPTIONS.keys()


def _made_in(text: str) -> Iterator[str]:
    """``threading.Thread`` and the like that a module calls, however they are imported."""
    if not any(package in text for package in _BLOCKS):
        return
    module = ast.parse(text)
    names: dict[str, str] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom):
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            said = ast.unparse(node.func)
            package, _, name = names.get(said, said).rpartition(".")
            if name in _BLOCKS.get(package, ()):
                yield name
