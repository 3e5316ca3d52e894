"""A Service of type LoadBalancer gets its load balancer, which follows what is asked of it, on a real API server."""

from collections.abc import Mapping
from typing import Any

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
EVERYWHERE = {1: "public", 2: "public", 3: "public"}


def _converge(stage: Stage) -> None:
    """A pass that leaves nothing to do, and a second one that writes nothing at all."""
    stage.forget()
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


def test_what_changes_is_changed_and_nothing_else(balanced: Stage) -> None:
    """The API server keeps the node ports of ports that stay. What others have put on the Service is as it was."""
    balanced.have_services(a_service("web", 80, 443))
    _marked_by_others(balanced)
    one_pass(balanced)
    before = seen(balanced.balancers()[0])
    balanced.patch_service({"spec": {"ports": [port(443), port(8080)]}})
    balanced.annotate(uses_proxyprotocol="true")

    _converge(balanced)

    service, (balancer,) = balanced.service(), balanced.balancers()
    node_ports = {found["port"]: found["nodePort"] for found in service["spec"]["ports"]}
    assert balanced.asked_of_hetzner() == ["POST update_service", "POST add_service", "POST delete_service"]
    assert node_ports[443] == before["ports"][443]
    assert seen(balancer) == before | {"ports": node_ports, "proxy": [True, True]}
    assert ingress(service) == _published(balancer, "Proxy")
    assert finalizers(service) == {FOREIGN_FINALIZER, FINALIZER_BALANCER}
    assert FOREIGN_CONDITION in service["status"]["conditions"]
    assert (said_of(service)[READY], said_of(service)[IN_SYNC]) == (("True", "AddressPublished"), ("True", "InSync"))
