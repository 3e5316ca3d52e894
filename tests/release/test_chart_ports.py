"""Ports of the chart's pods: probes and metrics may share one, as they may in the process."""

from collections.abc import Mapping
from typing import Any

import pytest

from reconciler.cli.app import parse_command_line
from reconciler.config.config import load_config
from tests.support.chart import RefusedError, by_kind, container_in, rendered

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


@pytest.mark.parametrize(
    ("values", "address", "host"),
    [
        pytest.param({}, "", None, id="in the pods' network"),
        pytest.param({"hostNetwork": True}, "127.0.0.1", "127.0.0.1", id="in the Nodes' network"),
        pytest.param({"networking": {"enabled": True}}, "127.0.0.1", "127.0.0.1", id="with a private network"),
        pytest.param({"networking": {"enabled": True}, "hostNetwork": False}, "", None, id="though it is there"),
        pytest.param({"hostNetwork": True, "bindAddress": "pod"}, "$(BIND_ADDRESS)", None, id="the pod's own"),
        pytest.param({"hostNetwork": True, "bindAddress": "10.0.0.1"}, "10.0.0.1", "10.0.0.1", id="a given one"),
        pytest.param({"bindAddress": "fd00::1"}, "[fd00::1]", "fd00::1", id="of IPv6"),
        pytest.param({"hostNetwork": True, "bindAddress": "0.0.0.0"}, "0.0.0.0", None, id="all, as asked"),
    ],
)
def test_no_port_is_open_to_the_world_unasked(values: Mapping[str, Any], address: str, host: str | None) -> None:
    """In the Nodes' network the process serves at 127.0.0.1, where the kubelet asks for probes; it takes what it is
    given."""
    container = container_in(rendered(values))
    variables = {each["name"]: each for each in container["env"]}
    metrics = variables.get("HCLOUD_METRICS_ADDRESS", {"value": ":8233"})["value"]

    assert (f"--health-address={address}:10258" in container["args"], metrics) == (True, f"{address}:8233")
    probes = [container[probe]["httpGet"].get("host") for probe in ("livenessProbe", "readinessProbe")]
    assert probes == [host, host]
    if "BIND_ADDRESS" in address:
        names = list(variables)
        assert variables["BIND_ADDRESS"]["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
        assert names.index("BIND_ADDRESS") < names.index("HCLOUD_METRICS_ADDRESS")
    given = [each.replace("$(BIND_ADDRESS)", "10.0.0.9") for each in (*container["args"], metrics)]
    command, flags, _ = parse_command_line(given[:-1])
    environment = {"HCLOUD_TOKEN": "t" * 64, "HCLOUD_NETWORK": "private", "HCLOUD_METRICS_ADDRESS": given[-1]}
    config = load_config(command, flags, environment)
    assert config.health_address is not None
    assert config.metrics_address is not None
    assert config.health_address[0] == config.metrics_address[0] == (host or given[-1].rpartition(":")[0].strip("[]"))


WATCHED = {"podMonitor": {"enabled": True}}


@pytest.mark.parametrize(
    ("values", "metrics", "host"),
    [
        pytest.param({}, ":8233", None, id="in the pods' network"),
        pytest.param({"networking": {"enabled": True}}, "$(BIND_ADDRESS):8233", "127.0.0.1", id="in a private network"),
        pytest.param(
            {"networking": {"enabled": True}, "bindAddress": "pod"}, "$(BIND_ADDRESS):8233", None, id="as asked"
        ),
        pytest.param({"hostNetwork": True, "bindAddress": "pod"}, "$(BIND_ADDRESS):8233", None, id="in no network"),
        pytest.param({"networking": {"enabled": True}, "hostNetwork": False}, ":8233", None, id="though it is there"),
    ],
)
def test_a_pod_monitor_reaches_the_metrics(values: Mapping[str, Any], metrics: str, host: str | None) -> None:
    """HCCM's values for production have both, and were served at 127.0.0.1: of Nodes in a private network metrics alone
    are at their InternalIP then, and probes stay where only the kubelet asks."""
    container = container_in(rendered({**values, "monitoring": WATCHED}))
    variables = {each["name"]: each for each in container["env"]}

    assert variables.get("HCLOUD_METRICS_ADDRESS", {"value": ":8233"})["value"] == metrics
    assert [container[probe]["httpGet"].get("host") for probe in ("livenessProbe", "readinessProbe")] == [host, host]
    if "BIND_ADDRESS" in metrics:
        names = list(variables)
        assert variables["BIND_ADDRESS"]["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
        assert names.index("BIND_ADDRESS") < names.index("HCLOUD_METRICS_ADDRESS")


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"hostNetwork": True}, id="Nodes whose own address may be public"),
        pytest.param({"bindAddress": "127.0.0.1"}, id="as asked"),
        pytest.param({"networking": {"enabled": True}, "health": {"port": 8233}}, id="one port for both"),
    ],
)
def test_a_pod_monitor_that_reaches_nothing_is_refused(values: Mapping[str, Any]) -> None:
    """A warning in the notes was read by nobody who renders manifests."""
    said = r'monitoring\.podMonitor\.enabled is set, but metrics are served on 127.*set bindAddress to "pod"'
    with pytest.raises(RefusedError, match=said):
        rendered({**values, "monitoring": WATCHED})
    assert container_in(rendered({**values, "monitoring": {"podMonitor": {"enabled": False}}}))
    assert container_in(rendered({**values, "monitoring": WATCHED, "kind": "CronJob"}))


def test_the_page_is_off_unasked() -> None:
    """No flag, no port, no Service, and nobody is let in."""
    objects = rendered({"networkPolicy": {"enabled": True}})

    assert "Service" not in by_kind(objects)
    assert not [argument for argument in container_in(objects)["args"] if "--ui" in argument]
    assert "8234" not in str(by_kind(objects)["NetworkPolicy"])


@pytest.mark.parametrize("values", [{}, {"hostNetwork": True}, {"bindAddress": "pod"}])
def test_the_page_is_for_port_forward(values: Mapping[str, Any]) -> None:
    """Wherever the pods run, at their own 127.0.0.1, which no other pod reaches."""
    objects = rendered({**values, "page": {"enabled": True}, "networkPolicy": {"enabled": True}})
    command, flags, _ = parse_command_line(container_in(objects)["args"])

    assert load_config(command, flags, {"HCLOUD_TOKEN": "t" * 64}).ui_address == ("127.0.0.1", 8234)
    assert "Service" not in by_kind(objects)
    assert "page" not in [port["name"] for port in container_in(objects)["ports"]]
    assert "8234" not in str(by_kind(objects)["NetworkPolicy"])


def test_the_page_behind_a_service() -> None:
    """For who is let in, under the names of the Service and those that were given."""
    proxies: list[Mapping[str, Any]] = [{"podSelector": {"matchLabels": {"app": "proxy"}}}]
    page = {"enabled": True, "service": {"enabled": True}, "hosts": ["page.example.com"], "from": proxies}
    objects = rendered({"page": page, "networkPolicy": {"enabled": True}})
    command, flags, _ = parse_command_line(container_in(objects)["args"])
    config = load_config(command, flags, {"HCLOUD_TOKEN": "t" * 64})
    (service,), (network,) = by_kind(objects)["Service"], by_kind(objects)["NetworkPolicy"]
    name = service["metadata"]["name"]

    assert config.ui_address == ("", 8234)
    assert config.ui_hosts == (name, f"{name}.kube-system", f"{name}.kube-system.svc", "page.example.com")
    assert service["spec"]["ports"] == [{"name": "page", "port": 8234, "targetPort": "page", "protocol": "TCP"}]
    assert {"name": "page", "containerPort": 8234} in container_in(objects)["ports"]
    assert {"ports": [{"port": 8234, "protocol": "TCP"}], "from": proxies} in network["spec"]["ingress"]
    assert _rights(objects) == _rights(rendered({}))


def _rights(objects: list[dict[str, Any]]) -> list[Mapping[str, Any]]:
    """Who may do what: the page asks for no more than there was."""
    kinds = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ServiceAccount")
    return [each for kind in kinds for each in by_kind(objects).get(kind, [])]


def test_a_service_that_leads_nowhere_is_refused() -> None:
    """In the Nodes' network nothing is served but at 127.0.0.1 unless somebody says where."""
    with pytest.raises(RefusedError, match=r'page\.service\.enabled is set.*set bindAddress to "pod"'):
        rendered({"hostNetwork": True, "page": {"enabled": True, "service": {"enabled": True}}})
    with pytest.raises(RefusedError, match=r"page\.service\.enabled is set"):  # what is open for scrapers has no page
        rendered(
            {
                "networking": {"enabled": True},
                "monitoring": WATCHED,
                "page": {"enabled": True, "service": {"enabled": True}},
            }
        )
