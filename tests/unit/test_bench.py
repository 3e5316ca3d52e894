"""scripts/bench measures what it says; how long anything takes is nobody's business here."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.xdist_group("bench")  # one run of it serves all tests here

_BENCH = Path(__file__).resolve().parent.parent.parent / "scripts" / "bench"
_NODES = 5


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Mapping[str, Any]]:
    """The Markdown and the JSON of one quick run."""
    output = tmp_path_factory.mktemp("bench") / "bench.json"
    command = [str(_BENCH), "--quick", "--latency-ms=0", "--action-ms=0", f"--output={output}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    document: Mapping[str, Any] = json.loads(output.read_text("utf-8"))
    return done.stdout, document


def test_every_row_of_the_table_has_every_column(smoke: tuple[str, Mapping[str, Any]]) -> None:
    """A header, its rule, one row for each measurement, and two of HCCM to compare with."""
    rows = [line for line in smoke[0].splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {11}
    assert [row.split("|")[1].strip() for row in rows] == [
        "what",
        "---",
        "join",
        "resize",
        "idle",
        "further pass",
        "HCCM, join",
        "HCCM, join",
    ]


def test_json_has_every_measure_of_every_row(smoke: tuple[str, Mapping[str, Any]]) -> None:
    """Numbers that are more than nothing, for the whole and for each repetition; and no problem."""
    document = smoke[1]
    assert document["format_version"] == "1.0"
    assert document["problems"] == []
    assert document["remarks"] == []
    assert document["conditions"] == {"latency_ms": 0, "action_ms": 0, "rate_limit": 36000}
    for row in document["rows"]:
        assert row["result"] == "no_changes"
        assert row["repetitions"] == len(row["runs"]) == 1
        for measures in (row, *row["runs"]):
            assert all(measures[name] > 0 for name in ("wall_s", "cpu_s", "cpu_ratio", "calibration_s", "peak_mib"))


def test_joining_costs_two_writes_and_one_event_a_node(smoke: tuple[str, Mapping[str, Any]]) -> None:
    """And two lists of Nodes, before and after; the cloud is read once."""
    row = _row(smoke[1], "join")
    assert row["nodes"] == _NODES
    assert row["requests"] == {"hetzner": {"GET": 2}, "kubernetes": {"GET": 3, "PATCH": 2 * _NODES, "POST": _NODES}}
    assert row["calls"] == {
        "hetzner": {"GET /v1/networks/*": 1, "GET /v1/servers": 1},
        "kubernetes": {
            "GET /api/v1/namespaces/*": 1,
            "GET /api/v1/nodes": 2,
            "PATCH /api/v1/nodes/*": _NODES,
            "PATCH /api/v1/nodes/*/status": _NODES,
            "POST /api/v1/namespaces/*/events": _NODES,
        },
    }


def test_a_resize_costs_one_write_a_node(smoke: tuple[str, Mapping[str, Any]]) -> None:
    """And nothing of Hetzner beyond the list that every pass reads; nobody is told, so there are no Events."""
    row = _row(smoke[1], "resize")
    assert row["nodes"] == _NODES
    assert row["calls"] == {
        "hetzner": {"GET /v1/networks/*": 1, "GET /v1/servers": 1},
        "kubernetes": {
            "GET /api/v1/namespaces/*": 1,
            "GET /api/v1/nodes": 2,
            "PATCH /api/v1/nodes/*": _NODES,
        },
    }


@pytest.mark.parametrize("name", ["idle", "further pass"])
def test_idle_pass_asks_hetzner_for_pages_and_network_only(smoke: tuple[str, Mapping[str, Any]], name: str) -> None:
    """100 servers are two pages; the network is one call as HCLOUD_NETWORK is an id. Nothing is written."""
    row = _row(smoke[1], name)
    assert row["nodes"] == 100
    assert row["calls"] == {
        "hetzner": {"GET /v1/networks/*": 1, "GET /v1/servers": 2},
        "kubernetes": {"GET /api/v1/namespaces/*": 1, "GET /api/v1/nodes": 1},
    }


def _row(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    row: Mapping[str, Any]
    (row,) = [row for row in document["rows"] if row["name"] == name]
    return row
