"""A run that dies at one of its writes, chosen beforehand: ``kill -9`` while the write has no answer."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from hcloud_sandbox.exchange import Exchange
from hcloud_sandbox.proxy import FaultProxy
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
    """Patterns of method and path, in the order in which Hetzner gets its own, and Kubernetes those of one object: on a
    busy machine the second of two Nodes may come before the first."""


def crashes(operations: Mapping[str, Operation], *certain: Crash) -> Iterator[Any]:
    """Parameters ``name``, ``number`` and ``fault``: a sample of all writes, and those that are certain."""
    every = [
        (name, number, fault)
        for name, operation in operations.items()
        for number in range(len(operation.writes))
        for fault in _MOMENTS
    ]
    for crash in sorted({*sample(every, ", ".join(operations), least=1 if certain else 2), *certain}):
        assert crash in every, f"there is no such write: {crash}"
        name, number, fault = crash
        last = operations[name].writes[number].rpartition("/")[2].replace("[0-9]+", "ID")
        yield pytest.param(*crash, id=f"{name}, {_MOMENTS[fault]} write {number + 1} ({last})")


def wrote_as_expected(stage: Stage, operation: Operation) -> bool:
    """Whether a run has sent the operation's writes, and no other. Raises AssertionError that shows those when not."""
    for proxy in (stage.proxy, stage.hetzner_proxy):
        expected = [write for write in operation.writes if _proxy(stage, write) is proxy]
        sent = [_write(entry) for entry in writes_in(proxy)]
        if proxy is stage.proxy:  # its objects have no order among each other
            expected, sent = sorted(expected, key=_object), sorted(sent, key=_object)
        assert _are(expected, sent), f"{sent} is not {expected}"
    return True


def dies_at(stage: Stage, operation: Operation, number: int, fault: str) -> None:
    """Run the command until its write of this number is under way, and kill it. The APIs are well afterwards."""
    write, before = operation.writes[number], operation.writes[:number].count(operation.writes[number])
    method, _, path = write.partition(" ")
    proxy = _proxy(stage, write)
    proxy.set_faults([{"kind": fault, "method": method, "path": f"{path}$", "skip": before, "count": None}])

    def such() -> list[bool]:
        """Whether each write like this one has no answer."""
        return [entry.status == 0 for entry in writes_in(proxy) if re.fullmatch(write, _write(entry))]

    with killed_at_the_end(stage.start("--once")):
        wait_for(lambda: len(such()) > before, f"write number {number + 1}, {write}")
    proxy.clear_faults()
    assert such()[: before + 1] == [*([False] * before), fault == "hang"]


def _write(entry: Exchange) -> str:
    """A write as an operation names it."""
    return f"{entry.method} {entry.path}"


def _object(write: str) -> str:
    """What is written to; the order of writes to one object is kept by a stable sort."""
    return write.partition(" ")[2].removesuffix("/status")


def _proxy(stage: Stage, write: str) -> FaultProxy:
    return stage.hetzner_proxy if " /v1/" in write else stage.proxy


def _are(expected: Collection[str], sent: Collection[str]) -> bool:
    return len(expected) == len(sent) and all(
        re.fullmatch(pattern, one) for pattern, one in zip(expected, sent, strict=True)
    )
