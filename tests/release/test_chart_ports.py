"""Ports of the chart's pods: probes and metrics may share one, as they may in the process."""

from collections.abc import Mapping
from typing import Any

import pytest

from reconciler.cli.app import parse_command_line
from reconciler.config.config import load_config
from tests.support.chart import RefusedError, by_kind, container_in, rendered
from tests.support.rows import rows

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(900)]
"""The first test may have to build helm."""


@rows("ports address", {
    "of metrics": ({"health": {"port": 8233}}, None),
    "of probes": ({"monitoring": {"port": 10258}}, ":10258"),
})  # fmt: skip
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
    container = container_in(rendered({"health": {"port": 8233}, "monitoring": {"enabled": False}}))

    assert container["ports"] == [{"name": "health", "containerPort": 8233}]
    assert container["livenessProbe"]["httpGet"]["port"] == "health"


WATCHED = {"podMonitor": {"enabled": True}}
HOST, OWN, NETWORK = "127.0.0.1", "$(BIND_ADDRESS)", {"networking": {"enabled": True}}


@rows("values probed metrics host", {
    "in the pods' network": ({}, "", "", None),
    "in the Nodes' network": ({"hostNetwork": True}, HOST, HOST, HOST),
    "with a private network": (NETWORK, HOST, HOST, HOST),
    "though it is there": ({**NETWORK, "hostNetwork": False}, "", "", None),
    "the pod's own": ({"hostNetwork": True, "bindAddress": "pod"}, OWN, OWN, None),
    "a given one": ({"hostNetwork": True, "bindAddress": "10.0.0.1"}, "10.0.0.1", "10.0.0.1", "10.0.0.1"),
    "of IPv6": ({"bindAddress": "fd00::1"}, "[fd00::1]", "[fd00::1]", "fd00::1"),
    "all, as asked": ({"hostNetwork": True, "bindAddress": "0.0.0.0"}, "0.0.0.0", "0.0.0.0", None),
    "watched in the pods' network": ({"monitoring": WATCHED}, "", "", None),
    "watched in a private network": ({**NETWORK, "monitoring": WATCHED}, HOST, OWN, HOST),
    "watched as asked": ({**NETWORK, "bindAddress": "pod", "monitoring": WATCHED}, OWN, OWN, None),
    "watched in no network": ({"hostNetwork": True, "bindAddress": "pod", "monitoring": WATCHED}, OWN, OWN, None),
    "watched though it is there": ({**NETWORK, "hostNetwork": False, "monitoring": WATCHED}, "", "", None),
})  # fmt: skip
def test_no_port_is_open_to_the_world_unasked(
    values: Mapping[str, Any], probed: str, metrics: str, host: str | None
) -> None:
    """In the Nodes' network the process serves at 127.0.0.1, where the kubelet asks for probes; it takes what it is
    given. HCCM's values for production have a PodMonitor, which has to reach metrics: of Nodes in a private network
    these alone are at their InternalIP then."""
    container = container_in(rendered(values))
    variables = {each["name"]: each for each in container["env"]}
    served = variables.get("HCLOUD_METRICS_ADDRESS", {"value": ":8233"})["value"]

    assert (f"--health-address={probed}:10258" in container["args"], served) == (True, f"{metrics}:8233")
    probes = [container[probe]["httpGet"].get("host") for probe in ("livenessProbe", "readinessProbe")]
    assert probes == [host, host]
    if metrics == OWN:
        names = list(variables)
        assert variables["BIND_ADDRESS"]["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
        assert names.index("BIND_ADDRESS") < names.index("HCLOUD_METRICS_ADDRESS")
    *arguments, served = [each.replace(OWN, "10.0.0.9") for each in (*container["args"], served)]
    command, flags, _ = parse_command_line(arguments)
    environment = {"HCLOUD_TOKEN": "t" * 64, "HCLOUD_NETWORK": "private", "HCLOUD_METRICS_ADDRESS": served}
    config = load_config(command, flags, environment)
    for found, address in ((config.health_address, probed), (config.metrics_address, metrics)):
        assert found is not None
        assert found[0] == address.strip("[]").replace(OWN, "10.0.0.9")


@rows("values", {
    "Nodes whose own address may be public": {"hostNetwork": True},
    "as asked": {"bindAddress": "127.0.0.1"},
    "one port for both": {"networking": {"enabled": True}, "health": {"port": 8233}},
})  # fmt: skip
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
        rendered({**NETWORK, "monitoring": WATCHED, "page": {"enabled": True, "service": {"enabled": True}}})
