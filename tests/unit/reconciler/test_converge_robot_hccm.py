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
    """Both labels of it."""
    return dict.fromkeys(["node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"], name)


def with_node_ip(node: dict[str, Any], node_ip: str) -> dict[str, Any]:
    """The Node of a kubelet with ``--node-ip``, whose address HCCM puts first."""
    node["metadata"]["annotations"]["alpha.kubernetes.io/provided-node-ip"] = node_ip
    addresses = node["status"]["addresses"]
    node["status"]["addresses"] = sorted(addresses, key=lambda address: address["address"] != node_ip)
    return node


def a_run_on(simulate: Simulate, node: dict[str, Any], settings: Settings, **fields: Any) -> Run:
    """A run in a cluster of the Node db-1 alone, whose server has these fields."""
    return Run(simulate(nodes=[node], robot=[dedicated(1, **fields)]), settings)


OFF = {"key": "node.cloudprovider.kubernetes.io/shutdown", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("node", "fields", "settings"),
    [
        pytest.param(a_node(IPV4), {}, SETTINGS, id="hrobot"),
        pytest.param(a_node(IPV4, provider_id=FORKED), {}, SETTINGS, id="as the fork wrote it"),
        pytest.param(
            a_node(IPV4, labels=instance_type("Server-Auction")),
            {"product": "Server Auction"},
            SETTINGS,
            id="a product with a blank",
        ),
        pytest.param(
            a_node(IPV4, labels=instance_type("Robot-Server-1")),
            {"product": "Robot Server™ 1"},
            SETTINGS,
            id="a product with more than labels may have",
        ),
        pytest.param(a_node(IPV4), {}, replace(SETTINGS, zone_labels=False), id="zones of cloud servers are off"),
        pytest.param(a_node(IPV6, IPV4), {}, DUAL_STACK, id="two families"),
        pytest.param(a_node(IPV6), {}, replace(SETTINGS, address_family=AddressFamily.IPV6), id="IPv6 alone"),
        pytest.param(a_node(IPV4, INTERNAL), {}, SETTINGS, id="an InternalIP"),
        pytest.param(a_node(IPV4, INTERNAL, ("InternalIP", "10.2.0.1")), {}, SETTINGS, id="two InternalIPs"),
        pytest.param(
            a_node(IPV6, IPV4, ("InternalIP", "fd00::1"), INTERNAL), {}, DUAL_STACK, id="InternalIPs of two families"
        ),
        pytest.param(a_node(IPV4), {}, replace(SETTINGS, forward_internal_ips=False), id="no InternalIPs are wanted"),
        pytest.param(with_node_ip(a_node(IPV4, INTERNAL), "10.1.0.1"), {}, SETTINGS, id="node-ip is an InternalIP"),
        pytest.param(with_node_ip(a_node(IPV4, INTERNAL), "192.0.2.1"), {}, SETTINGS, id="node-ip is public"),
        pytest.param(
            a_node(IPV4, ready="Unknown", taints=[OFF]), {"operating_status": "shut off"}, SETTINGS, id="switched off"
        ),
    ],
)
def test_a_node_is_right(
    simulate: Simulate, node: dict[str, Any], fields: Mapping[str, Any], settings: Settings
) -> None:
    """Nothing is planned for it, and nothing said of it."""
    report = a_run_on(simulate, node, settings, **fields).converge()

    assert (report.result, report.lines, report.notes) == (Result.NO_CHANGES, (), ())


def test_a_renamed_server_keeps_its_node(simulate: Simulate) -> None:
    """HCCM would delete it as soon as it is silent; here a note says that the names differ."""
    report = a_run_on(simulate, a_node(IPV4), SETTINGS, server_name="db-1-old").converge()

    assert report.result is Result.NO_CHANGES
    assert [note.text for note in report.notes] == ["Hostname db-1 is kept, but Robot server 1 is named db-1-old"]


@pytest.mark.parametrize(
    ("node", "fields", "addresses"),
    [
        pytest.param(a_node(("ExternalIP", "1"), IPV4), {"server_ipv6_net": None}, ["db-1", "192.0.2.1"], id="no IPv6"),
        pytest.param(a_node(IPV6, ("ExternalIP", "")), {"server_ip": None}, ["db-1", "2001:db8:1::1"], id="no IPv4"),
        pytest.param(
            a_node(IPV6, IPV4, ("InternalIP", "2001:db8:1:0::1")),
            {},
            ["db-1", "2001:db8:1::1", "192.0.2.1"],
            id="a public InternalIP in another spelling",
        ),
    ],
)
def test_an_address_is_mended(
    simulate: Simulate, node: dict[str, Any], fields: Mapping[str, Any], addresses: Sequence[str]
) -> None:
    """Where HCCM writes what is no address, or the same one twice."""
    run = a_run_on(simulate, node, DUAL_STACK, **fields)

    assert [str(line.change.key) for line in run.converge().lines] == ["node/db-1/addresses"]

    assert [entry["address"] for entry in run.sim.nodes()["db-1"]["status"]["addresses"]] == addresses


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


def without_internal_ip(number: int) -> dict[str, Any]:
    """The Node on that server, of which nothing but the public address is known."""
    node = robot_node(number)
    node["status"]["addresses"].pop()
    return node


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
    """A load balancer for both kinds of servers needs nothing, though it has no label of ours."""
    report = served(simulate, targets, robot_node(1), robot_node(2), **world).converge()

    assert (report.result, report.lines) == (Result.NO_CHANGES, ())


@pytest.mark.parametrize(
    ("targets", "account"),
    [
        pytest.param((*SERVERS, "10.1.0.1", "192.0.2.2"), (1, 2, 3), id="its public address takes its place"),
        pytest.param((*SERVERS, "10.1.0.1"), None, id="without credentials it is none"),
    ],
)
def test_a_node_without_internal_ip_is_right(
    simulate: Simulate, targets: Sequence[int | str], account: tuple[int, ...] | None
) -> None:
    """Behind a load balancer that sends traffic to private addresses."""
    run = served(simulate, targets, robot_node(1), without_internal_ip(2), private=True, account=account)

    report = run.converge()

    assert (report.result, report.lines) == (Result.NO_CHANGES, ())


@pytest.mark.parametrize(
    ("private", "right", "stale"),
    [
        pytest.param(True, PRIVATE, "192.0.2.1", id="its public one"),
        pytest.param(False, PUBLIC, "10.1.0.1", id="its private one"),
    ],
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


def test_a_stale_address_stays_while_robot_is_out_of_reach(simulate: Simulate) -> None:
    """Nothing of the server is known then."""
    run = served(simulate, (*SERVERS, *PRIVATE, "192.0.2.1"), robot_node(1), robot_node(2), private=True)
    run.sim.spoil_robot("status", code=503, body="maintenance", count=None)

    assert run.converge().lines == ()
