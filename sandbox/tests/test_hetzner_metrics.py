"""Metrics: what may be asked for, how many samples there are, and what the values follow."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from hcloud import Client

from hcloud_sandbox.hetzner import HetznerSimulator
from hcloud_sandbox.serving import BackgroundLoop, SimulatorServer
from sandbox_support.hetzner_spec import HetznerApi

CREATED = "2023-01-01T00:00:00Z"
NOW = datetime.fromtimestamp(HetznerApi.NOW, UTC)
WORLD: Any = {
    "servers": [{"id": 1, "created": CREATED}, {"id": 2, "created": CREATED, "status": "off"}],
    "load_balancers": [
        {
            "id": 1,
            "created": CREATED,
            "services": [{"listen_port": 80, "destination_port": 80}],
            "targets": [{"type": "ip", "ip": {"ip": "203.0.113.7"}}],
        },
        {"id": 2, "created": CREATED},
    ],
}


def url(of: str, types: str, hours: float = 1.0, **more: str) -> str:
    """The last hours up to now."""
    period = {"start": (NOW - timedelta(hours=hours)).isoformat(), "end": NOW.isoformat()}
    return f"/{of}/metrics?{urlencode({'type': types, **period, **more})}"


def series(api: HetznerApi, of: str, types: str, hours: float = 1.0, **more: str) -> Mapping[str, Any]:
    """Name → values."""
    found = api.get(url(of, types, hours, **more))["metrics"]["time_series"]
    return {name: [float(value) for _, value in part["values"]] for name, part in found.items()}


def test_series_of_the_types() -> None:
    """Several types are separated by commas, or given one by one."""
    api = HetznerApi(WORLD)

    assert set(series(api, "servers/1", "cpu,network")) == {
        "cpu",
        *(f"network.0.{what}.{way}" for what in ("pps", "bandwidth") for way in ("in", "out")),
    }
    assert set(series(api, "load_balancers/1", "open_connections,bandwidth")) == {
        "open_connections",
        "bandwidth.in",
        "bandwidth.out",
    }
    assert len(api.get(url("servers/1", "cpu") + "&type=disk")["metrics"]["time_series"]) == 5


@pytest.mark.parametrize(
    ("hours", "more", "step", "samples"),
    [
        pytest.param(1, {"step": "600"}, 600, 7, id="as-asked-for"),
        pytest.param(1, {}, 19, 190, id="at-most-200-without-a-step"),
        pytest.param(1, {"step": "1"}, 8, 451, id="at-most-500"),
        pytest.param(60 * 24, {"step": "86400"}, 86400, 31, id="of-30-days"),
        pytest.param(0, {}, 1, 1, id="a-moment"),
    ],
)
def test_samples(hours: float, more: dict[str, str], step: float, samples: int) -> None:
    """The step is adjusted to the number of samples that there may be."""
    found = HetznerApi(WORLD).get(url("servers/1", "cpu", hours, **more))["metrics"]

    assert (found["step"], len(found["time_series"]["cpu"]["values"])) == (step, samples)


def test_a_series_is_the_same_for_everybody() -> None:
    """Of one object at one time; of another one it is another."""
    one, same = (series(HetznerApi(WORLD), "servers/1", "disk") for _ in range(2))

    assert one == same
    assert len({tuple(values) for values in one.values()}) == 4
    assert series(HetznerApi(WORLD), "load_balancers/1", "bandwidth") != one


def test_what_does_nothing_has_no_load() -> None:
    """A server that is off, and a load balancer that leads nowhere; neither has one that was not there yet."""
    api = HetznerApi(WORLD)

    assert set(series(api, "servers/2", "cpu")["cpu"]) == {0}
    assert set(series(api, "load_balancers/2", "requests_per_second")["requests_per_second"]) == {0}
    assert min(series(api, "servers/1", "cpu")["cpu"]) > 0
    assert min(series(api, "load_balancers/1", "requests_per_second")["requests_per_second"]) > 0
    assert series(HetznerApi({"servers": [{"id": 1, "created": NOW.isoformat()}]}), "servers/1", "cpu") == {"cpu": []}


def test_a_server_has_no_load_from_its_stop_to_its_start() -> None:
    """Whatever it is now."""
    api = HetznerApi(WORLD)
    for command in ("poweroff", "poweron"):
        api.done("POST", f"/servers/1/actions/{command}")
    period = {"start": NOW.isoformat(), "end": (NOW + timedelta(hours=1)).isoformat()}
    found = api.get(f"/servers/1/metrics?{urlencode({'type': 'cpu', 'step': '30', **period})}")["metrics"]

    values = [float(value) for _, value in found["time_series"]["cpu"]["values"]]
    assert [value > 0 for value in values] == [True, False, False, True, True]


@pytest.mark.parametrize(
    ("of", "command", "before"),
    [
        pytest.param(1, "rebuild", True, id="running-when-rebuilt"),
        pytest.param(1, "poweron", True, id="running-when-started"),
        pytest.param(2, "poweroff", False, id="off-when-stopped"),
        pytest.param(2, "rebuild", False, id="off-when-rebuilt"),
    ],
)
def test_an_action_says_nothing_new_of_the_time_before(of: int, command: str, before: bool) -> None:
    """What changes nothing was taken for a change, so that a server that had run seemed to have been off."""
    api = HetznerApi(WORLD)
    hour = url(f"servers/{of}", "cpu", step="600")

    api.send("POST", f"/servers/{of}/actions/{command}", {"image": "debian-12"} if command == "rebuild" else None)
    while_it_runs = api.get(hour)["metrics"]["time_series"]["cpu"]["values"]
    api.clock.advance(3600)
    for values in (while_it_runs, api.get(hour)["metrics"]["time_series"]["cpu"]["values"]):
        assert {float(value) > 0 for _, value in values[:-1]} == {before}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("start=2023-11-14T00:00:00Z&end=2023-11-14T01:00:00Z", "type"),
        ("type=memory&start=2023-11-14T00:00:00Z&end=2023-11-14T01:00:00Z", "type"),
        ("type=cpu&end=2023-11-14T01:00:00Z", "start"),
        ("type=cpu&start=2023-11-14T00:00:00Z", "end"),
        ("type=cpu&start=yesterday&end=2023-11-14T01:00:00Z", "start"),
        ("type=cpu&start=2023-11-14T00:00:00&end=2023-11-14T01:00:00Z", "start"),
        ("type=cpu&start=0001-01-01T00:00:00%2B14:00&end=2023-11-14T01:00:00Z", "start"),
        ("type=cpu&start=2023-11-14T02:00:00Z&end=2023-11-14T01:00:00Z", "end"),
        ("type=cpu&start=2023-11-14T00:00:00Z&end=2023-11-14T01:00:00Z&step=0", "step"),
        ("type=cpu&start=2023-11-14T00:00:00Z&end=2023-11-14T01:00:00Z&step=nan", "step"),
    ],
)
def test_refusals(query: str, field: str) -> None:
    """The field is named."""
    error = HetznerApi(WORLD).send("GET", f"/servers/1/metrics?{query}").body["error"]

    assert (error["code"], error["details"]["fields"][0]["name"]) == ("invalid_input", field)


def test_a_year_has_four_digits() -> None:
    """Also an early one, which clients could not read otherwise."""
    period = {"start": "0999-01-01T00:00:00+00:00", "end": NOW.isoformat()}
    found = HetznerApi(WORLD).get(f"/servers/1/metrics?{urlencode({'type': 'cpu', **period})}")["metrics"]

    assert found["start"] == "0999-01-01T00:00:00Z"


def test_the_vendors_client_reads_them(background_loop: BackgroundLoop) -> None:
    """Of both kinds."""
    api = HetznerApi(WORLD)
    server = SimulatorServer(background_loop, api.judged, api.clock).start()
    client = Client(token=HetznerSimulator.TOKEN, api_endpoint=f"{server.url}/v1")
    start = NOW - timedelta(hours=1)

    of_server = client.servers.get_by_id(1).get_metrics(["cpu", "disk"], start, NOW, step=60)
    of_balancer = client.load_balancers.get_by_id(1).get_metrics("bandwidth", start, NOW, step=60)
    server.stop()

    assert (of_server.metrics.start, of_server.metrics.step) == (start, 60)
    assert len(of_server.metrics.time_series) == 5
    assert len(of_balancer.metrics.time_series["bandwidth.in"]["values"]) == 61
