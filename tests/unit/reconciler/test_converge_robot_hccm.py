"""Clusters with dedicated servers as HCCM leaves them: what is right there needs nothing, what is wrong is mended
as ``docs/differences-from-hccm.md`` says."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from desired.model.settings import AddressFamily, Settings
from desired.names import FINALIZER_BALANCER, LABEL_SERVICE_UID
from reconciler.result import Result
from tests.balancers import DEFAULT_NAME, LOCATED, SERVICE_UID, annotated
from tests.support.dedicated import Simulate, a_run, dedicated, robot_node
from tests.support.objects import NETWORK, server, settled_node
from tests.support.passes import Run, load_balancer_service
from tests.support.rows import rows

SETTINGS = replace(LOCATED, robot=True)
IN_NETWORK = replace(SETTINGS, network="7")
DUAL_STACK = replace(SETTINGS, address_family=AddressFamily.DUALSTACK)
FORKED = "hcloud://bm-1"
IPV4, IPV6 = ("ExternalIP", "192.0.2.1"), ("ExternalIP", "2001:db8:1::1")
INTERNAL = ("InternalIP", "10.1.0.1")


def a_node(
    *addresses: tuple[str, str],
    provider_id: str = "hrobot://1",
    ready: str = "True",
    labels: Mapping[str, str] | None = None,
    **node: Any,
) -> dict[str, Any]:
    """The Node db-1 with these addresses after its name, and these labels beside those that HCCM wrote."""
    found = robot_node(1, ready)
    found["spec"] = {"providerID": provider_id, **node}
    found["metadata"]["labels"] |= labels or {}
    listed = [("Hostname", "db-1"), *addresses]
    found["status"]["addresses"] = [{"type": kind, "address": address} for kind, address in listed]
    return found


def instance_type(name: str) -> dict[str, str]:
    return dict.fromkeys(["node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"], name)


def with_node_ip(node: dict[str, Any], node_ip: str) -> dict[str, Any]:
    """The Node of a kubelet with ``--node-ip``, whose address HCCM puts first."""
    node["metadata"]["annotations"]["alpha.kubernetes.io/provided-node-ip"] = node_ip
    addresses = node["status"]["addresses"]
    node["status"]["addresses"] = sorted(addresses, key=lambda address: address["address"] != node_ip)
    return node


def a_run_on(simulate: Simulate, node: dict[str, Any], settings: Settings, **fields: Any) -> Run:
    return Run(simulate(nodes=[node], robot=[dedicated(1, **fields)]), settings)


OFF = {"key": "node.cloudprovider.kubernetes.io/shutdown", "effect": "NoSchedule"}


@rows(
    "node fields settings",
    {
        "hrobot": (a_node(IPV4), {}, SETTINGS),
        "as the fork wrote it": (a_node(IPV4, provider_id=FORKED), {}, SETTINGS),
        "a product with a blank": (
            a_node(IPV4, labels=instance_type("Server-Auction")),
            {"product": "Server Auction"},
            SETTINGS,
        ),
        "a product with more than labels may have": (
            a_node(IPV4, labels=instance_type("Robot-Server-1")),
            {"product": "Robot Server™ 1"},
            SETTINGS,
        ),
        "zones of cloud servers are off": (a_node(IPV4), {}, replace(SETTINGS, zone_labels=False)),
        "two families": (a_node(IPV6, IPV4), {}, DUAL_STACK),
        "IPv6 alone": (a_node(IPV6), {}, replace(SETTINGS, address_family=AddressFamily.IPV6)),
        "an InternalIP": (a_node(IPV4, INTERNAL), {}, SETTINGS),
        "two InternalIPs": (a_node(IPV4, INTERNAL, ("InternalIP", "10.2.0.1")), {}, SETTINGS),
        "InternalIPs of two families": (a_node(IPV6, IPV4, ("InternalIP", "fd00::1"), INTERNAL), {}, DUAL_STACK),
        "no InternalIPs are wanted": (a_node(IPV4), {}, replace(SETTINGS, forward_internal_ips=False)),
        "node-ip is an InternalIP": (with_node_ip(a_node(IPV4, INTERNAL), "10.1.0.1"), {}, SETTINGS),
        "node-ip is public": (with_node_ip(a_node(IPV4, INTERNAL), "192.0.2.1"), {}, SETTINGS),
        "switched off": (a_node(IPV4, ready="Unknown", taints=[OFF]), {"operating_status": "shut off"}, SETTINGS),
    },
)
def test_a_node_is_right(
    simulate: Simulate, node: dict[str, Any], fields: Mapping[str, Any], settings: Settings
) -> None:
    report = a_run_on(simulate, node, settings, **fields).converge()

    assert (report.result, report.lines, report.notes) == (Result.NO_CHANGES, (), ())


def served(
    simulate: Simulate,
    targets: Sequence[int | str],
    *nodes: dict[str, Any],
    private: bool = False,
    account: tuple[int, ...] | None = (1, 2, 3),
) -> Run:
    """A run in a cluster whose only Service has a load balancer of HCCM's with these targets: ids of cloud servers, and
    addresses."""
    run = a_run(simulate, account=account, settings=IN_NETWORK)
    cloud = [
        server(100 + number, f"web-{number}", private_net=[{"network": 7, "ip": f"10.0.0.{number + 1}"}])
        for number in range(1, 4)
    ]
    balancer = {
        "id": 5,
        "name": DEFAULT_NAME,
        "load_balancer_type": "lb11",
        "location": "fsn1",
        "labels": {LABEL_SERVICE_UID: SERVICE_UID},
        "private_net": [{"network": 7, "ip": "10.0.0.200"}],
        "services": [{"protocol": "tcp", "listen_port": 80, "destination_port": 30080}],
        "targets": [
            {"type": "ip", "ip": {"ip": target}}
            if isinstance(target, str)
            else {"type": "server", "server": {"id": target}, "use_private_ip": private}
            for target in targets
        ],
    }
    run.sim.hetzner.replace_world({"servers": cloud, "networks": [NETWORK], "load_balancers": [balancer]})
    (made,) = run.sim.balancers()
    public = made["public_net"]
    published = [public["ipv4"]["ip"], public["ipv6"]["ip"], "10.0.0.200"]
    service = load_balancer_service(**annotated(**({"use_private_ip": "true"} if private else {})))
    service["metadata"] |= {"uid": SERVICE_UID, "finalizers": [FINALIZER_BALANCER]}
    service["status"] = {"loadBalancer": {"ingress": [{"ip": ip, "ipMode": "VIP"} for ip in published]}}
    settled = [settled_node(found["name"], found["id"]) for found in cloud]
    for node, found in zip(settled, cloud, strict=True):
        node["status"]["addresses"].append({"type": "InternalIP", "address": found["private_net"][0]["ip"]})
    run.sim.kubernetes.replace_world({"nodes": [*settled, *nodes], "services": [service]})
    return run


SERVERS = (101, 102, 103)
PUBLIC = ("192.0.2.1", "192.0.2.2")
PRIVATE = ("10.1.0.1", "10.1.0.2")


@pytest.mark.parametrize(
    ("targets", "world"),
    [
        pytest.param((*SERVERS, *PUBLIC), {}, id="public"),
        pytest.param((*SERVERS, *PRIVATE), {"private": True}, id="private"),
        pytest.param((*SERVERS, *PRIVATE), {"private": True, "account": None}, id="private without credentials"),
        pytest.param(SERVERS, {"account": None}, id="public without credentials"),
    ],
)
def test_targets_are_right(simulate: Simulate, targets: Sequence[int | str], world: Mapping[str, Any]) -> None:
    report = served(simulate, targets, robot_node(1), robot_node(2), **world).converge()

    assert (report.result, report.lines) == (Result.BLOCKED if "account" in world else Result.NO_CHANGES, ())


@rows(
    "private right stale",
    {"its public one": (True, PRIVATE, "192.0.2.1"), "its private one": (False, PUBLIC, "10.1.0.1")},
)
def test_a_stale_address_goes(simulate: Simulate, private: bool, right: Sequence[str], stale: str) -> None:
    """HCCM keeps it beside the right one, as both are the Node's."""
    run = served(simulate, (*SERVERS, *right, stale), robot_node(1), robot_node(2), private=private)

    report = run.converge()

    assert [(str(line.change.key), line.change.verb) for line in report.lines] == [
        (f"load_balancer/default/web/target/ip:{stale}", "remove")
    ]
    addresses = [target["ip"]["ip"] for target in run.sim.balancers()[0]["targets"] if target["type"] == "ip"]
    assert addresses == list(right)
