"""What a cluster remembers of its project, as it is kept: whatever else is there remembers nothing."""

import json
from typing import Any

import pytest

from desired.model.record import Origin
from desired.model.remembered import ANCHOR, MOST, NOTHING, Remembered
from tests.builders import CLUSTER_UID, NOW

FULL = Remembered(4711, (42, 43))
FIELDS = {"version": 1, "cluster": CLUSTER_UID, "network": 4711, "load_balancers": [42, 43]}


@pytest.mark.parametrize("remembered", [NOTHING, FULL, Remembered(2**63 - 1, tuple(range(2**63 - MOST, 2**63)))])
def test_what_is_kept_comes_back(remembered: Remembered) -> None:
    """Also at its longest."""
    assert ANCHOR.read(ANCHOR.write(remembered, Origin(CLUSTER_UID, "h" * 500, NOW)), CLUSTER_UID) == remembered


def _with(**changes: Any) -> str:
    return json.dumps(FIELDS | changes)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(None, id="nothing-there"),
        pytest.param("", id="empty"),
        pytest.param("network 4711", id="no-json"),
        pytest.param("[]", id="a-list"),
        pytest.param("{}", id="no-fields"),
        pytest.param(_with(version=2), id="another-version"),
        pytest.param(_with(cluster="another"), id="another-cluster"),
        pytest.param(_with(network="4711"), id="a-network-as-text"),
        pytest.param(_with(network=True), id="a-truth-value"),
        pytest.param(_with(network=0), id="no-id"),
        pytest.param(_with(network=-1), id="a-negative-id"),
        pytest.param(_with(network=2**63), id="an-id-that-is-too-large"),
        pytest.param(_with(load_balancers=None), id="no-list"),
        pytest.param(_with(load_balancers="42"), id="text-for-a-list"),
        pytest.param(_with(load_balancers=[42, "43"]), id="one-that-is-no-id"),
        pytest.param(_with(load_balancers=[[42]]), id="a-list-within"),
        pytest.param(_with(padding="x" * 4096), id="too-long"),
        pytest.param("[" * 4096, id="too-deep"),
        pytest.param('{"version": ' + "1" * 4000 + "}", id="a-very-long-number"),
    ],
)
def test_what_was_not_kept_by_us_remembers_nothing(text: str | None) -> None:
    """Damaged, hostile or another cluster's: then nothing is a witness that would not be one without it."""
    assert ANCHOR.read(text, CLUSTER_UID) is None


def test_ids_are_sorted_and_no_more_than_there_is_room_for() -> None:
    """Whoever wrote more is heard for as many as we would have written."""
    assert ANCHOR.read(_with(load_balancers=[9, 3, 9]), CLUSTER_UID) == Remembered(4711, (3, 9))
    many = ANCHOR.read(_with(load_balancers=list(range(1, MOST + 50))), CLUSTER_UID)
    assert many == Remembered(4711, tuple(range(1, MOST + 1)))
