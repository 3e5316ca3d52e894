"""Every variable and flag of HCCM that decides what is written, absent, empty and set: what the cluster and the project
are like afterwards. A row for each line of the table in docs/migrate-from-hccm.md."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as member
from pathlib import Path
from typing import Any

import pytest

from desired.model.route import CONDITION_NETWORK
from reconciler.config.config import ConfigurationError
from reconciler.config.environment import VARIABLES
from tests.support.in_process import ONCE, one_pass
from tests.support.objects import UNROUTED, a_service, ingress, network_condition
from tests.support.stage import Stage

PAGE = Path(__file__).parents[2] / "docs" / "migrate-from-hccm.md"
LOCATED = {"HCLOUD_LOAD_BALANCERS_LOCATION": "fsn1"}
NETWORK = {**LOCATED, "HCLOUD_NETWORK": "4711"}
RANGE = {"--cluster-cidr": "10.244.0.0/16"}
STALE = {"destination": "10.244.77.0/24", "gateway": "10.0.0.3"}


@dataclass(frozen=True)
class Row:
    """One setting, and what is other than with the location of load balancers alone."""

    variables: Mapping[str, str] = member(default_factory=dict)
    flags: Mapping[str, str] = member(default_factory=dict)
    other: Mapping[str, Any] = member(default_factory=dict)

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in {**self.variables, **self.flags}.items())


def written(stage: Stage) -> dict[str, Any]:
    """What HCCM and this controller may write, in words of their own."""
    nodes = stage.nodes()
    node = nodes["w-1"]
    found: dict[str, Any] = {
        "routes": len(stage.routes()),
        "closed": {name for name, said in _network_conditions(nodes).items() if said == "True"},
        "open": {name for name, said in _network_conditions(nodes).items() if said == "False"},
        "addresses": [address["address"] for address in node["status"].get("addresses", [])[1:]],
        "zone": node["metadata"].get("labels", {}).get("topology.kubernetes.io/zone"),
        "joined": "providerID" in nodes["w-9"]["spec"] and "taints" not in nodes["w-9"]["spec"],
        "published": ["v6" if ":" in entry["ip"] else entry["ip"].partition(".")[0] for entry in _published(stage)],
        "load balancer": {},
    }
    for balancer in stage.balancers():
        (service,) = balancer["services"]
        check = service["health_check"]
        found["load balancer"] = {
            "type": balancer["load_balancer_type"]["name"],
            "location": balancer["location"]["name"],
            "algorithm": balancer["algorithm"]["type"],
            "public": balancer["public_net"]["enabled"],
            "attached": bool(balancer["private_net"]),
            "private_ip": any(target["use_private_ip"] for target in balancer["targets"]),
            "proxy": service["proxyprotocol"],
            "health_check": (check["interval"], check["timeout"], check["retries"]),
        }
    return found


def _network_conditions(nodes: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: said["status"]
        for name, node in nodes.items()
        for said in node["status"].get("conditions", [])
        if said["type"] == CONDITION_NETWORK
    }


def _published(stage: Stage) -> list[dict[str, str]]:
    return ingress(stage.service()) if "loadBalancer" in stage.service()["status"] else []


BALANCER: Mapping[str, Any] = {
    "type": "lb11",
    "location": "fsn1",
    "algorithm": "round_robin",
    "public": True,
    "attached": False,
    "private_ip": False,
    "proxy": False,
    "health_check": (15, 10, 3),
}
BASE: Mapping[str, Any] = {
    "routes": 1,
    "closed": {"w-3"},
    "open": set(),
    "addresses": ["198.18.0.2"],
    "zone": "fsn1-dc14",
    "joined": True,
    "published": ["198", "v6"],
    "load balancer": BALANCER,
}
NO_BALANCER: Mapping[str, Any] = {"load balancer": {}, "published": []}


def _balancer(published: Sequence[str] = ("198", "v6"), **other: Any) -> dict[str, Any]:
    return {"load balancer": {**BALANCER, **other}, "published": list(published)}


def _in_network(published: Sequence[str] = ("198", "v6", "10"), **other: Any) -> dict[str, Any]:
    return {"addresses": ["198.18.0.2", "10.0.0.3"], **_balancer(published, attached=True, **other)}


IN_NETWORK = _in_network()
LB = "HCLOUD_LOAD_BALANCERS"
NODES = {"cp-1", "w-1", "w-2", "w-4"}

NOTHING = {
    "HCLOUD_DEBUG": "true",
    "HCLOUD_METRICS_ADDRESS": "127.0.0.1:0",
    "HCLOUD_METRICS_ENABLED": "false",
    "HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK": "true",
    "HCLOUD_SERVER_CACHE_MAX_AGE": "1m",
    "HCLOUD_SERVER_CACHE_MODE": "off",
    "ROBOT_CACHE_TIMEOUT": "1m",
    "ROBOT_FORWARD_INTERNAL_IPS": "false",
    "ROBOT_RATE_LIMIT_WAIT_TIME": "1m",
}
"""What decides on nothing that is written, the last without ``ROBOT_ENABLED``."""
ELSEWHERE = {"HCLOUD_TOKEN", "HCLOUD_ENDPOINT", "ROBOT_ENABLED", "ROBOT_USER", "ROBOT_PASSWORD", "ROBOT_ENDPOINT"}
"""Where what is written is; the rows of Robot are in tests/unit/reconciler/test_converge_robot_hccm.py."""

ROWS = (
    Row(),
    Row(NOTHING),
    Row({"HCLOUD_NETWORK": ""}),
    Row({"HCLOUD_NETWORK": ""}, RANGE),
    Row(NETWORK, other=IN_NETWORK),
    Row(NETWORK, {"--cluster-cidr": ""}, IN_NETWORK),
    Row(NETWORK, RANGE, {**IN_NETWORK, "routes": 4, "open": NODES, "closed": {"w-3", "w-9"}}),
    Row({}, RANGE),
    Row(NETWORK, {"--allocate-node-cidrs": "true"}, IN_NETWORK),
    Row(NETWORK, {"--configure-cloud-routes": "true"}, IN_NETWORK),
    Row(NETWORK, {**RANGE, "--configure-cloud-routes": "false"}, {**IN_NETWORK, "closed": set()}),
    Row({**NETWORK, "HCLOUD_NETWORK_ROUTES_ENABLED": "true"}, other=IN_NETWORK),
    Row({**NETWORK, "HCLOUD_NETWORK_ROUTES_ENABLED": "false"}, RANGE, {**IN_NETWORK, "closed": set()}),
    Row({"HCLOUD_NETWORK_ROUTES_ENABLED": "false"}, RANGE),
    Row(NETWORK, {**RANGE, "--controllers": "*,-route"}, IN_NETWORK),
    Row({}, {"--controllers": "*,-service"}, NO_BALANCER),
    Row({}, {"--controllers": "*,-cloud-node"}, {"joined": False, "addresses": [], "zone": None}),
    Row({"HCLOUD_INSTANCES_ADDRESS_FAMILY": ""}),
    Row({"HCLOUD_INSTANCES_ADDRESS_FAMILY": "ipv6"}, other={"addresses": ["2001:db8:0:2::1"]}),
    Row({"HCLOUD_INSTANCES_ADDRESS_FAMILY": "dualstack"}, other={"addresses": ["198.18.0.2", "2001:db8:0:2::1"]}),
    Row({"HCLOUD_INSTANCES_ZONE_LABEL_ENABLED": "false"}, other={"zone": None}),
    Row({f"{LB}_ENABLED": "false"}, other=NO_BALANCER),
    Row({f"{LB}_LOCATION": "", f"{LB}_NETWORK_ZONE": ""}, other=NO_BALANCER),
    Row({f"{LB}_LOCATION": "", f"{LB}_NETWORK_ZONE": "eu-central"}),
    Row({f"{LB}_TYPE": ""}),
    Row({f"{LB}_TYPE": "lb21"}, other=_balancer(type="lb21")),
    Row({f"{LB}_ALGORITHM_TYPE": ""}),
    Row({f"{LB}_ALGORITHM_TYPE": "least_connections"}, other=_balancer(algorithm="least_connections")),
    Row({f"{LB}_DISABLE_PUBLIC_NETWORK": "false"}),
    Row(
        {**NETWORK, f"{LB}_DISABLE_PUBLIC_NETWORK": "true", f"{LB}_USE_PRIVATE_IP": "true"},
        other=_in_network(["10"], public=False, private_ip=True),
    ),
    Row({f"{LB}_DISABLE_PUBLIC_NETWORK": "true"}, other=NO_BALANCER),
    Row({**NETWORK, f"{LB}_DISABLE_PRIVATE_INGRESS": "true"}, other=_in_network(["198", "v6"])),
    Row({f"{LB}_DISABLE_IPV6": "true"}, other=_balancer(["198"])),
    Row({**NETWORK, f"{LB}_USE_PRIVATE_IP": "true"}, other=_in_network(private_ip=True)),
    Row({**NETWORK, f"{LB}_PRIVATE_SUBNET_IP_RANGE": "10.0.0.0/24"}, other=IN_NETWORK),
    Row({f"{LB}_USES_PROXYPROTOCOL": "true"}, other=_balancer(proxy=True)),
    Row({f"{LB}_USES_PROXYPROTOCOL": "false"}),
    Row(
        {f"{LB}_HEALTH_CHECK_INTERVAL": "9s", f"{LB}_HEALTH_CHECK_TIMEOUT": "5s", f"{LB}_HEALTH_CHECK_RETRIES": "2"},
        other=_balancer(health_check=(9, 5, 2)),
    ),
    Row({f"{LB}_HEALTH_CHECK_INTERVAL": "", f"{LB}_HEALTH_CHECK_TIMEOUT": "", f"{LB}_HEALTH_CHECK_RETRIES": ""}),
    Row({f"{LB}_DELETION_POLICY": "retain"}),
)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_what_is_written(field: Callable[[str], Stage], row: Row) -> None:
    """Beside routes and a closed Node that an earlier run has left, a Node that joins and a Service."""
    stage = field("14-network-without-cluster-cidr")
    stage.have_services(a_service())
    stage.have_routes(STALE)
    stage.set_condition("w-3", network_condition(*UNROUTED))

    one_pass(stage, {**ONCE, **row.flags}, **{**LOCATED, **row.variables})

    assert written(stage) == {**BASE, **row.other}


def test_each_variable_has_a_row() -> None:
    """A variable that is added gets one, here and on the page."""
    tried = {name for row in ROWS for name in row.variables}
    assert tried | ELSEWHERE == set(VARIABLES)
    _, _, section = PAGE.read_text().partition("## What the same variables and flags write")
    flags = {name for row in ROWS for name in row.flags}
    assert {name for name in tried | ELSEWHERE | flags if name not in section} == set()


@pytest.mark.parametrize("name", sorted(name for name, row in VARIABLES.items() if not row.empty_is_unset))
def test_an_empty_one_that_may_not_be(field: Callable[[str], Stage], name: str) -> None:
    """As HCCM, which does not start: a Boolean and both of the cache."""
    stage = field("14-network-without-cluster-cidr")
    with pytest.raises(ConfigurationError, match=name):
        one_pass(stage, ONCE, **{**NETWORK, name: ""})
