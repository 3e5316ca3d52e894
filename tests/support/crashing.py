"""A run that dies at one of its writes, chosen beforehand: ``kill -9`` while the write has no answer."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from reconciler.sandbox.proxy import FaultProxy
from tests.support.sampling import sample
from tests.support.stage import Stage, killed_at_the_end, wait_for, writes_in

_MOMENTS = {"hang": "before", "half_open": "after"}
"""Fault of the proxy → when the process dies: before its write is carried out, or after, without an answer."""

Crash = tuple[str, int, str]
"""Name of an operation, which of its writes, from 0, and the fault that it meets."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What happens to a world in which all is in order, and the writes that follow from it."""

    happens: Callable[[Stage], None]
    writes: tuple[str, ...]
    """Patterns of method and path, in the order in which each of the two APIs gets its own."""


def crashes(operations: Mapping[str, Operation], *certain: Crash) -> Iterator[Any]:
    """Parameters ``name``, ``number`` and ``fault``: a sample of each operation's writes, and those that are
    certain."""
    for name, operation in operations.items():
        every = [(name, number, fault) for number in range(len(operation.writes)) for fault in _MOMENTS]
        for crash in sorted({*sample(every, name), *(crash for crash in certain if crash[0] == name)}):
            assert crash in every, f"{name} has no such write: {crash}"
            _, number, fault = crash
            last = operation.writes[number].rpartition("/")[2].replace("[0-9]+", "ID")
            yield pytest.param(*crash, id=f"{name}, {_MOMENTS[fault]} write {number + 1} ({last})")


def wrote_as_expected(stage: Stage, operation: Operation) -> bool:
    """Whether a run has sent the operation's writes, and no other."""
    return all(
        _are(
            [write for write in operation.writes if _proxy(stage, write) is proxy],
            [f"{entry.method} {entry.path}" for entry in writes_in(proxy)],
        )
        for proxy in (stage.proxy, stage.hetzner_proxy)
    )


def dies_at(stage: Stage, operation: Operation, number: int, fault: str) -> None:
    """Run the command until its write of this number is under way, and kill it. The APIs are well afterwards."""
    write, before = operation.writes[number], operation.writes[:number]
    method, _, path = write.partition(" ")
    proxy = _proxy(stage, write)
    passed = [False for other in before if _proxy(stage, other) is proxy]
    proxy.set_faults(
        [{"kind": fault, "method": method, "path": f"{path}$", "skip": before.count(write), "count": None}]
    )
    with killed_at_the_end(stage.start("--once")):
        wait_for(lambda: len(writes_in(proxy)) > len(passed), f"write number {number + 1}, {write}")
    proxy.clear_faults()
    unanswered = [entry.status == 0 for entry in writes_in(proxy)]
    assert unanswered[: len(passed) + 1] == [*passed, fault == "hang"]


def _proxy(stage: Stage, write: str) -> FaultProxy:
    """Where the write passes."""
    return stage.hetzner_proxy if " /v1/" in write else stage.proxy


def _are(expected: Collection[str], sent: Collection[str]) -> bool:
    return len(expected) == len(sent) and all(
        re.fullmatch(pattern, one) for pattern, one in zip(expected, sent, strict=True)
    )
