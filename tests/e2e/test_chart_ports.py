"""Ports of the chart's pods: probes and metrics may share one, as they may in the process."""

from collections.abc import Mapping
from typing import Any

import pytest

from reconciler.config import load_config
from reconciler.flags import parse_command_line
from tests.support.chart import by_kind, container_in, rendered

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(900)]
"""The first test may have to build helm."""


@pytest.mark.parametrize(
    ("ports", "address"),
    [
        pytest.param({"health": {"port": 8233}}, None, id="of metrics"),
        pytest.param({"monitoring": {"port": 10258}}, ":10258", id="of probes"),
    ],
)
def test_one_port_for_probes_and_metrics(ports: Mapping[str, Any], address: str | None) -> None:
    """It is named as HCCM's scrapers know it; the process serves both there, and only who may scrape is let in."""
    scrapers: list[Mapping[str, Any]] = [{"namespaceSelector": {}}]
    policy = {"networkPolicy": {"enabled": True, "metricsFrom": scrapers}}
    watched = {"podMonitor": {"enabled": True}, **ports.get("monitoring", {})}
    objects = rendered(
        {**ports, **policy, "monitoring": watched}, "--api-versions", "monitoring.coreos.com/v1/PodMonitor"
    )
    container = container_in(objects)
    (port,) = container["ports"]
    (monitor,), (network,) = by_kind(objects)["PodMonitor"], by_kind(objects)["NetworkPolicy"]

    assert port["name"] == monitor["spec"]["podMetricsEndpoints"][0]["port"] == "metrics"
    assert {container[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} == {"metrics"}
    assert network["spec"]["ingress"] == [
        {"ports": [{"port": port["containerPort"], "protocol": "TCP"}], "from": scrapers}
    ]
    given = {each["name"]: each.get("value") for each in container["env"]}
    assert given.get("HCLOUD_METRICS_ADDRESS") == address
    command, flags, _ = parse_command_line(container["args"])
    environment = {"HCLOUD_TOKEN": "t" * 64, **({"HCLOUD_METRICS_ADDRESS": address} if address else {})}
    config = load_config(command, flags, environment)
    assert config.health_address == config.metrics_address == ("", port["containerPort"])


def test_one_port_without_monitoring_is_that_of_probes() -> None:
    """Nothing else is served on it."""
    container = container_in(rendered({"health": {"port": 8233}, "monitoring": {"enabled": False}}))

    assert container["ports"] == [{"name": "health", "containerPort": 8233}]
    assert container["livenessProbe"]["httpGet"]["port"] == "health"
