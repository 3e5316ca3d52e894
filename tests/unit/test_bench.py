"""scripts/bench measures what it says; how long anything takes is nobody's business here."""

import json
import runpy
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.soak

_BENCH = Path(__file__).resolve().parent.parent.parent / "scripts" / "bench"
_NODES = 5
_OTHERS = {
    "GET /apis/apps/v1/namespaces/*/daemonsets": 1,
    "GET /apis/apps/v1/namespaces/*/deployments": 1,
}
"""What looks for another controller."""
_SERVICES = 2


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
    """A header, its rule, one row for each measurement, and those of HCCM to compare with."""
    rows = [line for line in smoke[0].splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {11}
    assert [row.split("|")[1].strip() for row in rows] == [
        "what",
        "---",
        "join",
        "resize",
        "idle",
        "further pass",
        "idle with 2 full Services",
        "2 new Services",
        "one more for 2 Services",
        "join with routes",
        "join with routes and 2 new Services",
        "idle with routes",
        "join on Robot servers",
        "idle with 2 full Services on Robot servers",
        "HCCM, join",
        "HCCM, join",
        "HCCM, 2 new Services",
        "HCCM, 10 new Services",
        "HCCM, 20 new Services",
        "HCCM, join with routes",
        "HCCM, join with routes",
    ]


def test_json_has_every_measure_of_every_row(smoke: tuple[str, Mapping[str, Any]]) -> None:
    """Numbers that are more than nothing, for the whole and for each repetition; and no problem."""
    document = smoke[1]
    assert document["format_version"] == "1.0"
    assert document["problems"] == []
    assert document["remarks"] == []
    assert document["conditions"] == {
        "latency_ms": 0,
        "action_ms": 0,
        "rate_limit": 36000,
        "network_attachments": 200,
    }
    for row in document["rows"]:
        assert row["result"] == "no_changes"
        assert row["repetitions"] == len(row["runs"]) == 1
        for measures in (row, *row["runs"]):
            assert all(measures[name] > 0 for name in ("wall_s", "cpu_s", "cpu_ratio", "calibration_s", "peak_mib"))


def test_joining_costs_two_writes_and_one_event_a_node(smoke: tuple[str, Mapping[str, Any]]) -> None:
    """And two lists of Nodes, before and after; the cloud is read once."""
    row = _row(smoke[1], "join")
    assert row["nodes"] == _NODES
    assert row["requests"] == {"hetzner": {"GET": 2}, "kubernetes": {"GET": 6, "PATCH": 2 * _NODES, "POST": _NODES}}
    assert row["calls"] == {
        "hetzner": {"GET /v1/networks/*": 1, "GET /v1/servers": 1},
        "kubernetes": {
            **_OTHERS,
            "GET /api/v1/namespaces/*": 1,
            "GET /api/v1/nodes": 2,
            "GET /api/v1/services": 1,
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
            **_OTHERS,
            "GET /api/v1/namespaces/*": 1,
            "GET /api/v1/nodes": 2,
            "GET /api/v1/services": 1,
            "PATCH /api/v1/nodes/*": _NODES,
        },
    }


@pytest.mark.parametrize("name", ["idle", "further pass", "idle with routes"])
def test_idle_pass_asks_hetzner_for_pages_and_network_only(smoke: tuple[str, Mapping[str, Any]], name: str) -> None:
    """100 servers are two pages; the network is one call as HCLOUD_NETWORK is an id, and its routes are in the answer.
    Nothing is written."""
    row = _row(smoke[1], name)
    assert row["nodes"] == 100
    assert row["calls"] == {
        "hetzner": {"GET /v1/networks/*": 1, "GET /v1/servers": 2},
        "kubernetes": {
            **_OTHERS,
            "GET /api/v1/namespaces/*": 1,
            "GET /api/v1/nodes": 1,
            "GET /api/v1/services": 1,
        },
    }


def test_a_new_service_costs_one_creation_and_two_writes(smoke: tuple[str, Mapping[str, Any]]) -> None:
    """The finalizer before it, the status after it; load balancers are listed before and after, the catalogue and the
    currency of prices read once."""
    row = _row(smoke[1], "2 new Services")
    assert (row["nodes"], row["services"]) == (_NODES, _SERVICES)
    assert row["calls"] == {
        "hetzner": {
            "GET /v1/load_balancer_types": 1,
            "GET /v1/load_balancers": 2,
            "GET /v1/pricing": 1,
            "GET /v1/servers": 1,
            "POST /v1/load_balancers": _SERVICES,
        },
        "kubernetes": {
            **_OTHERS,
            "GET /api/v1/namespaces/*": 1,
            "GET /api/v1/nodes": 1,
            "GET /api/v1/services": 3,
            "PATCH /api/v1/namespaces/*/services/*/status": 2 * _SERVICES,
            "POST /api/v1/namespaces/*/events": _SERVICES,
        },
    }


def test_one_node_more_costs_one_target_a_service(smoke: tuple[str, Mapping[str, Any]]) -> None:
    """And nothing else is changed of a load balancer; the Node itself joins as it does alone."""
    row = _row(smoke[1], "one more for 2 Services")
    assert (row["nodes"], row["services"]) == (_NODES, _SERVICES)
    assert row["calls"] == {
        "hetzner": {
            "GET /v1/load_balancers": 2,
            "GET /v1/networks/*": 1,
            "GET /v1/servers": 1,
            "POST /v1/load_balancers/*/actions/add_target": _SERVICES,
        },
        "kubernetes": {
            **_OTHERS,
            "GET /api/v1/namespaces/*": 1,
            "GET /api/v1/nodes": 2,
            "GET /api/v1/services": 1,
            "PATCH /api/v1/nodes/*": 1,
            "PATCH /api/v1/nodes/*/status": 1,
            "POST /api/v1/namespaces/*/events": 1 + _SERVICES,
        },
    }


def test_a_route_costs_one_call_and_one_condition(smoke: tuple[str, Mapping[str, Any]]) -> None:
    """Beside what a joining Node costs; the network is read before and after. No action is asked for, as here each is
    done at once."""
    row = _row(smoke[1], "join with routes")
    assert row["nodes"] == _NODES
    assert row["calls"] == {
        "hetzner": {
            "GET /v1/networks/*": 2,
            "GET /v1/servers": 1,
            "POST /v1/networks/*/actions/add_route": _NODES,
        },
        "kubernetes": {
            **_OTHERS,
            "GET /api/v1/namespaces/*": 1,
            "GET /api/v1/nodes": 2,
            "GET /api/v1/services": 1,
            "PATCH /api/v1/nodes/*": _NODES,
            "PATCH /api/v1/nodes/*/status": 2 * _NODES,
            "POST /api/v1/namespaces/*/events": _NODES,
        },
    }


def test_when_services_were_served_beside_routes(smoke: tuple[str, Mapping[str, Any]]) -> None:
    """It is told where routes come after them, and nowhere else."""
    rows = {row["name"]: row for row in smoke[1]["rows"]}
    mixed = rows.pop("join with routes and 2 new Services")
    assert mixed["served_s"] > 0
    assert {row["served_s"] for row in rows.values()} == {None}
    told = [line for line in smoke[0].splitlines() if line.startswith("Served")]
    assert told == [f"Served in {mixed['name']} at {_NODES} nodes: all after {mixed['served_s']:.1f} s."]


def test_a_loop_is_told_by_its_start_and_its_peak(smoke: tuple[str, Mapping[str, Any]]) -> None:
    """One line each, whether the aim was kept or not."""
    loop = smoke[1]["loop"]
    assert loop["first_request_s"] >= loop["first_request_cpu_s"] > 0
    assert [(peak["nodes"], peak["peak_mib"] > 0) for peak in loop["peaks"]] == [(_NODES, True)]
    assert loop["page"]["nodes"] == _NODES
    assert min(loop["page"]["off_mib"], loop["page"]["on_mib"]) > 0
    told = [line.split(":")[0] for line in smoke[0].splitlines() if " a loop" in line]
    assert told == [
        "First request of a loop",
        f"Peak of a loop that {_NODES} nodes join",
        f"A page that is not asked for adds to a loop that {_NODES} nodes join",
    ]


def test_how_soon_a_person_has_an_answer(smoke: tuple[str, Mapping[str, Any]]) -> None:
    """Of help and of a plan, whether the aim was kept or not."""
    answers = smoke[1]["answers"]
    assert all(cost["wall_s"] > 0 < cost["cpu_s"] for cost in answers.values())
    told = [line.split(":")[0] for line in smoke[0].splitlines() if line.startswith("Answer to ")]
    assert (
        told
        == [f"Answer to {name}" for name in answers]
        == [f"Answer to {n}" for n in ("--help", "plan --help", "plan")]
    )


@pytest.mark.parametrize(
    ("name", "latency_ms", "judgements"),
    [
        pytest.param(
            "10 new Services in a network",
            50,
            ["6.01 s OVER 6, 28 Hetzner requests within 28, 60 MiB within 63"],
            id="theirs",
        ),
        pytest.param("join with routes", 50, ["6.01 s within 12, 28 Hetzner requests within 45"], id="none for memory"),
        pytest.param("10 new Services in a network", 0, [], id="other conditions"),
    ],
)
def test_a_row_is_held_against_its_aim(
    smoke: tuple[str, Mapping[str, Any]], name: str, latency_ms: int, judgements: Sequence[str]
) -> None:
    """Time, requests and memory, in one line; a row without an aim has none."""
    measured = {"wall_s": 6.01, "requests": {"hetzner": {"GET": 18, "POST": 10}, "kubernetes": {}}, "peak_mib": 60.0}
    plain = smoke[1]["rows"][0]
    row = {**plain, **measured, "name": name, "nodes": 20}
    conditions = {**smoke[1]["conditions"], "latency_ms": latency_ms, "action_ms": 300}
    document = {**smoke[1], "conditions": conditions, "rows": [row, plain]}
    render = _function("tables.py", "render")

    lines = [line for line in render(document).splitlines() if line.startswith("Aim of")]
    assert lines == [f"Aim of {name} at 20 nodes: {judgement}." for judgement in judgements]


def test_dedicated_servers_cost_one_list(smoke: tuple[str, Mapping[str, Any]]) -> None:
    """Of Robot, and one question each for ten of those that are not Ready yet; Hetzner Cloud has no server to list."""
    joining, idle = (_row(smoke[1], f"{name} on Robot servers") for name in ("join", "idle with 2 full Services"))
    assert joining["calls"]["robot"] == {"GET /reset/*": _NODES, "GET /server": 1}
    assert idle["calls"]["robot"] == {"GET /server": 1}
    assert idle["calls"]["hetzner"] == {
        "GET /v1/load_balancers": 1,
        "GET /v1/networks/*": 1,
        "GET /v1/servers": 1,
    }


def test_a_row_is_compared_with_another(smoke: tuple[str, Mapping[str, Any]]) -> None:
    """By multiples, as both were measured in the same minutes."""
    plain = smoke[1]["rows"][0] | {"cpu_ratio": 10.0, "wall_s": 4.0, "peak_mib": 50.0}
    other = plain | {"name": "more", "cpu_ratio": 15.0, "wall_s": 2.0, "peak_mib": 60.0, "beside": plain["name"]}

    lines = _function("tables.py", "render")({**smoke[1], "rows": [plain, other]}).splitlines()

    told = f"more at {_NODES} nodes: 1.50 times the CPU, 0.50 times the time, 1.20 times the memory of {plain['name']}."
    assert told in lines


_ADDRESS = {"loadBalancer": {"ingress": [{"ip": "203.0.113.1"}]}}
_CLAIMED = {"name": "web", "finalizers": ["service.kubernetes.io/load-balancer-cleanup"]}


@pytest.mark.parametrize(
    ("metadata", "status", "names"),
    [
        pytest.param(_CLAIMED, _ADDRESS, [], id="both"),
        pytest.param({"name": "web"}, _ADDRESS, ["web"], id="no finalizer"),
        pytest.param(_CLAIMED, {"loadBalancer": {}}, ["web"], id="no address"),
        pytest.param(_CLAIMED, {}, ["web"], id="no status"),
    ],
)
def test_a_service_is_served_with_finalizer_and_address(
    metadata: Mapping[str, Any], status: Mapping[str, Any], names: Sequence[str]
) -> None:
    """A run that leaves one without is a problem, however fast it was."""
    assert list(_function("processes.py", "unpublished")([{"metadata": metadata, "status": status}])) == names


def _function(file: str, name: str) -> Callable[..., Any]:
    """A function of the script, which is no package."""
    function: Callable[..., Any] = runpy.run_path(str(_BENCH.with_name("bench.d") / file))[name]
    return function


def _row(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    row: Mapping[str, Any]
    (row,) = [row for row in document["rows"] if row["name"] == name]
    return row
