"""What a cluster remembers of its project, as it is kept: whatever else is there remembers nothing."""

import json
from typing import Any

import pytest

from desired.model.record import Stamp
from desired.model.remembered import ANCHOR, MOST_REMEMBERED, NOTHING, Remembered
from tests.builders import CLUSTER_UID, NOW
from tests.support.rows import rows

FULL = Remembered(4711, (42, 43))
FIELDS = {"version": 1, "cluster": CLUSTER_UID, "network": 4711, "load_balancers": [42, 43]}


@pytest.mark.parametrize(
    "remembered", [NOTHING, FULL, Remembered(2**63 - 1, tuple(range(2**63 - MOST_REMEMBERED, 2**63)))]
)
def test_what_is_kept_comes_back(remembered: Remembered) -> None:
    """Also at its longest."""
    assert ANCHOR.read(ANCHOR.write(remembered, Stamp(CLUSTER_UID, "h" * 500, NOW)), CLUSTER_UID) == remembered


def _with(**changes: Any) -> str:
    return json.dumps(FIELDS | changes)


@rows("text", {
    "nothing-there": None,
    "empty": "",
    "no-json": "network 4711",
    "a-list": "[]",
    "no-fields": "{}",
    "another-version": _with(version=2),
    "another-cluster": _with(cluster="another"),
    "a-network-as-text": _with(network="4711"),
    "a-truth-value": _with(network=True),
    "no-id": _with(network=0),
    "a-negative-id": _with(network=-1),
    "an-id-that-is-too-large": _with(network=2**63),
    "no-list": _with(load_balancers=None),
    "text-for-a-list": _with(load_balancers="42"),
    "one-that-is-no-id": _with(load_balancers=[42, "43"]),
    "a-list-within": _with(load_balancers=[[42]]),
    "too-long": _with(padding="x" * 4096),
    "too-deep": "[" * 4096,
    "a-very-long-number": '{"version": ' + "1" * 4000 + "}",
})  # fmt: skip
def test_what_was_not_kept_by_us_remembers_nothing(text: str | None) -> None:
    """Damaged, hostile or another cluster's: then nothing is a witness that would not be one without it."""
    assert ANCHOR.read(text, CLUSTER_UID) is None


def test_ids_are_sorted_and_no_more_than_there_is_room_for() -> None:
    """Whoever wrote more is heard for as many as we would have written."""
    assert ANCHOR.read(_with(load_balancers=[9, 3, 9]), CLUSTER_UID) == Remembered(4711, (3, 9))
    many = ANCHOR.read(_with(load_balancers=list(range(1, MOST_REMEMBERED + 50))), CLUSTER_UID)
    assert many == Remembered(4711, tuple(range(1, MOST_REMEMBERED + 1)))
