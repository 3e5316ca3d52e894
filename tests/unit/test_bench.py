"""scripts/bench measures what it says, of each version; how long anything takes is nobody's business here."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from bench import SCENARIOS, shown
from processes import like_the_image

_BENCH = Path(__file__).resolve().parent.parent.parent / "scripts" / "bench"
_NODES, _SERVICES = 3, 2
_REQUESTS = {
    "join": {"hetzner": 3 + _NODES},  # network and servers, a route each, and the network once more
    "services": {"hetzner": 4 + 2 * _SERVICES},
    "large": {"hetzner": 6},  # four pages of servers, the network, the load balancers
    "robot": {"hetzner": 2, "robot": 1 + _NODES},  # the account, and a question for each that is not Ready yet
}
"""What a pass in each of the small worlds sends. Of Kubernetes it is left to chance how many requests Events take."""


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Mapping[str, Any]]:
    """The tables and the JSON of one quick run, which compares the commit that is checked out with itself."""
    output = tmp_path_factory.mktemp("bench") / "bench.json"
    command = [str(_BENCH), "--quick", "--latency-ms=0", "--action-ms=0", "--against=HEAD", f"--output={output}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    document: Mapping[str, Any] = json.loads(output.read_text("utf-8"))
    return done.stdout, document


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_each_measure_of_each_version(smoke: tuple[str, Mapping[str, Any]]) -> None:
    """A table a scenario, a column a version, and of the other one the ratio. Nothing is zero, and nothing went
    wrong."""
    said, document = smoke
    assert document["problems"] == []
    assert [line.split("**")[1] for line in said.splitlines() if line.startswith("**")] == [*_REQUESTS, "loop", "fleet"]
    for row in document["rows"]:
        assert row["least"].keys() == {"now", "HEAD"}
        for measures in row["least"].values():
            assert all(value > 0 for value in measures.values())
            assert measures.keys() > {"peak_mib"}
    cells = [line.split("|")[3] for line in said.splitlines() if line.startswith("| peak |")]
    assert all(" MiB, now x " in cell for cell in cells)
    assert len(cells) == len(document["rows"])


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", _REQUESTS)
def test_requests_are_counted(smoke: tuple[str, Mapping[str, Any]], name: str) -> None:
    """By the sandbox's own log."""
    (row,) = (row for row in smoke[1]["rows"] if row["name"] == name)
    for measures in row["least"].values():
        assert {api: measures[api] for api in _REQUESTS[name]} == _REQUESTS[name]


def test_a_ratio_is_of_this_version_to_the_other() -> None:
    """ "now x 0.50": this one takes half as much. A version without the measure has none."""
    assert shown(10.0, "MiB", 1, None) == "10.0 MiB"
    assert shown(20.0, "MiB", 1, 10.0) == "20.0 MiB, now x 0.50"
    assert shown(None, "MiB", 1, 10.0) == ""


def test_figures_of_hccm_are_those_of_the_documents() -> None:
    """docs/timing.md has what the bench shows beside ours."""
    page = (_BENCH.parents[1] / "docs" / "timing.md").read_text("utf-8")
    known = [each.hccm for each in SCENARIOS if "wall_s" in each.hccm]

    assert len(known) == 2
    assert [each for each in known if f"{each['wall_s']:.0f} s, {each['hetzner']:.0f} requests |" not in page] == []


def test_runs_have_the_settings_of_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what the shell says to the product."""
    monkeypatch.setenv("HCLOUD_TOKEN", "x")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    environment = like_the_image()

    assert {"HCLOUD_TOKEN", "PYTHONDONTWRITEBYTECODE"} & environment.keys() == set()
    assert environment["PYTHONOPTIMIZE"] == "2"
