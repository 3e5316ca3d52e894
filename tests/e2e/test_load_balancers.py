"""A Service of type LoadBalancer gets its load balancer, which follows what is asked of it, on a real API server."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from desired.names import FINALIZER_BALANCER, LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from tests.support.in_process import one_pass
from tests.support.objects import LONG_AGO, a_service, addresses, finalizers, ingress, port, said_of, seen
from tests.support.stage import Stage

READY, IN_SYNC = "LoadBalancerReady", "LoadBalancerInSync"
FOREIGN_FINALIZER = "example.com/backup"
FOREIGN_CONDITION = {
    "type": "example.com/Audited",
    "status": "True",
    "observedGeneration": 3,
    "lastTransitionTime": LONG_AGO,
    "reason": "Audit",
    "message": "somebody else's",
}
STATUS = "service/default/web/status"
EVERYWHERE = {1: "public", 2: "public", 3: "public"}


def _converge(stage: Stage) -> None:
    """A pass that leaves nothing to do, and a second one that writes nothing at all. Where targets are looked at before
    the public interface goes no round is left for the status: it follows in the next pass."""
    stage.forget()
    report = one_pass(stage)
    left = [change["key"] for change in report["changes"] if (change["outcome"] or {}).get("state") == "pending"]
    if left == [STATUS]:
        report = one_pass(stage)
    asked = stage.asked_of_hetzner()
    assert report["result"] == "no_changes", report
    written = len(stage.writes())
    again = one_pass(stage)
    assert (again["result"], again["changes"]) == ("no_changes", [])
    assert (stage.asked_of_hetzner(), len(stage.writes())) == (asked, written)


def _marked_by_others(stage: Stage) -> None:
    """Somebody else has a finalizer and a condition on the Service."""
    stage.patch_service({"metadata": {"finalizers": [FOREIGN_FINALIZER]}})
    stage.patch_service({"status": {"conditions": [FOREIGN_CONDITION]}}, "web/status")


def _published(balancer: Mapping[str, Any], mode: str = "VIP") -> list[dict[str, str]]:
    return [{"ip": address, "ipMode": mode} for address in addresses(balancer)]


def test_one_run_creates_it_and_a_second_one_writes_nothing(balanced: Stage) -> None:
    """By the command: claimed before the load balancer is created with all its parts, and then published. The next run
    sends nothing but reads."""
    balanced.have_services(a_service("web", 80, 443))
    _marked_by_others(balanced)
    balanced.forget()

    first = balanced.reconcile("--once", "--output", "json")

    service, (balancer,) = balanced.service(), balanced.balancers()
    node_ports = {found["port"]: found["nodePort"] for found in service["spec"]["ports"]}
    uid = service["metadata"]["uid"]
    _, kube_system = balanced.cluster.request("GET", "/api/v1/namespaces/kube-system")
    assert (first.code, first.report["result"], first.report["summary"]["applied"]) == (0, "no_changes", 3)
    assert seen(balancer) == {
        "name": f"a{uid.replace('-', '')}"[:32],
        "labels": {LABEL_SERVICE_UID: uid, LABEL_CLUSTER_UID: kube_system["metadata"]["uid"]},
        "type": "lb11",
        "algorithm": "round_robin",
        "public": True,
        "reverse": balancer["public_net"]["ipv4"]["dns_ptr"],
        "private": [balancer["private_net"][0]["ip"]],
        "ports": node_ports,
        "proxy": [False, False],
        "targets": EVERYWHERE,
    }
    assert balanced.asked_of_hetzner() == ["POST load_balancers"]
    assert finalizers(service) == {FOREIGN_FINALIZER, FINALIZER_BALANCER}
    assert ingress(service) == _published(balancer)
    assert len(ingress(service)) == 3
    assert said_of(service) == {
        FOREIGN_CONDITION["type"]: ("True", "Audit"),
        READY: ("True", "AddressPublished"),
        IN_SYNC: ("True", "InSync"),
    }
    assert [entry.path for entry in balanced.writes()] == ["/api/v1/namespaces/default/services/web/status"] * 2

    balanced.forget()
    second = balanced.reconcile("--once", "--output", "json")
    assert (second.code, second.report["result"], second.report["changes"]) == (0, "no_changes", [])
    sent = [*balanced.proxy.journal.entries(), *balanced.hetzner_proxy.journal.entries()]
    assert {entry.method for entry in sent} == {"GET"}


def _listens_on(*numbers: int) -> Callable[[Stage], None]:
    """The Service gets these ports. The API server keeps the node ports of those that it had."""
    return lambda stage: stage.patch_service({"spec": {"ports": [port(number) for number in numbers]}})


def _asks(**options: str | None) -> Callable[[Stage], None]:
    return lambda stage: stage.annotate(**options)


def _node_2_is_excluded(stage: Stage) -> None:
    label = {"node.kubernetes.io/exclude-from-external-load-balancers": "true"}
    stage.patch_node("web-2", {"metadata": {"labels": label}})


_SWITCH = ["POST remove_target", "POST add_target"] * 3
"""One target after the other: at most half is out, which is one of three."""


@pytest.mark.parametrize(
    ("happens", "asked", "becomes"),
    [
        pytest.param(_listens_on(80, 443), ["POST add_service"], {"proxy": [False, False]}, id="a port more"),
        pytest.param(_listens_on(8080), ["POST add_service", "POST delete_service"], {}, id="another port"),
        pytest.param(_asks(type="lb21"), ["POST change_type"], {"type": "lb21"}, id="type"),
        pytest.param(
            _asks(algorithm_type="least_connections", ipv4_rdns="www.example.com"),
            ["POST change_algorithm", "POST change_dns_ptr"],
            {"algorithm": "least_connections", "reverse": "www.example.com"},
            id="algorithm and reverse name",
        ),
        pytest.param(_asks(name="shop"), ["PUT 1"], {"name": "shop"}, id="name"),
        pytest.param(
            _asks(node_selector="kubernetes.io/hostname in (web-1, web-3)"),
            ["POST remove_target"],
            {"targets": {1: "public", 3: "public"}},
            id="node selector",
        ),
        pytest.param(
            _node_2_is_excluded, ["POST remove_target"], {"targets": {1: "public", 3: "public"}}, id="a Node's label"
        ),
        pytest.param(
            _asks(use_private_ip="true"), _SWITCH, {"targets": dict.fromkeys((1, 2, 3), "private")}, id="private IPs"
        ),
        pytest.param(
            _asks(use_private_ip="true", disable_public_network="true"),
            [*_SWITCH, "POST disable_public_interface"],
            {"targets": dict.fromkeys((1, 2, 3), "private"), "public": False},
            id="private IPs alone",
        ),
        pytest.param(
            _asks(private_ipv4="10.0.0.99"),
            ["POST detach_from_network", "POST attach_to_network"],
            {"private": ["10.0.0.99"]},
            id="private address",
        ),
        pytest.param(_asks(uses_proxyprotocol="true"), ["POST update_service"], {"proxy": [True]}, id="PROXY protocol"),
    ],
)
def test_what_changes_is_changed_and_nothing_else(
    balanced: Stage, happens: Callable[[Stage], None], asked: list[str], becomes: dict[str, Any]
) -> None:
    """One call for what differs, a status that follows what the load balancer does, and what others have put on the
    Service as it was."""
    balanced.have_services(a_service())
    _marked_by_others(balanced)
    one_pass(balanced)
    before = seen(balanced.balancers()[0])
    happens(balanced)

    _converge(balanced)

    service, (balancer,) = balanced.service(), balanced.balancers()
    node_ports = {found["port"]: found["nodePort"] for found in service["spec"]["ports"]}
    assert balanced.asked_of_hetzner() == asked
    assert seen(balancer) == before | {"ports": node_ports} | becomes
    assert ingress(service) == _published(balancer, "Proxy" if becomes.get("proxy") == [True] else "VIP")
    assert finalizers(service) == {FOREIGN_FINALIZER, FINALIZER_BALANCER}
    assert FOREIGN_CONDITION in service["status"]["conditions"]
    assert (said_of(service)[READY], said_of(service)[IN_SYNC]) == (("True", "AddressPublished"), ("True", "InSync"))


def test_ports_have_options_of_their_own(balanced: Stage) -> None:
    """One call for each port that differs, and one mode of all addresses. A wrong one holds back its port alone until
    it is taken away; and what is said of ports no more goes back to what the Service says."""
    balanced.have_services(a_service("web", 80, 443, 8443))
    one_pass(balanced)

    balanced.annotate(port_80_protocol="http", port_443_uses_proxyprotocol="true")
    _converge(balanced)
    assert balanced.asked_of_hetzner() == ["POST update_service"] * 2
    assert _spoken(balanced) == {80: ("http", False), 443: ("tcp", True), 8443: ("tcp", False)}
    assert ingress(balanced.service()) == _published(balanced.balancers()[0], "Proxy")
    assert said_of(balanced.service())[IN_SYNC] == ("True", "InSync")

    balanced.forget()
    balanced.annotate(port_443_uses_proxyprotocol="perhaps", port_8443_uses_proxyprotocol="true")
    one_pass(balanced)
    assert balanced.asked_of_hetzner() == ["POST update_service"]
    assert _spoken(balanced) == {80: ("http", False), 443: ("tcp", True), 8443: ("tcp", True)}
    assert said_of(balanced.service())[IN_SYNC] == ("False", "InvalidAnnotation")

    gone = dict.fromkeys(("port_443_uses_proxyprotocol", "port_8443_uses_proxyprotocol"))
    balanced.annotate(**gone, port_80_protocol="tcp", uses_proxyprotocol="false")
    _converge(balanced)
    assert _spoken(balanced) == dict.fromkeys((80, 443, 8443), ("tcp", False))
    assert ingress(balanced.service()) == _published(balanced.balancers()[0])
    assert said_of(balanced.service())[IN_SYNC] == ("True", "InSync")


def _spoken(stage: Stage) -> dict[int, tuple[str, bool]]:
    """Port → its protocol, and whether it speaks the PROXY protocol."""
    (balancer,) = stage.balancers()
    return {each["listen_port"]: (each["protocol"], each["proxyprotocol"]) for each in balancer["services"]}
