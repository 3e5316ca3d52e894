"""Every mode with load balancers and routes works with what HCCM may do in a cluster, and is shipped with no more than
it uses."""

from collections.abc import Callable
from typing import Any

import pytest

from reconciler.cli.approve import approve
from reconciler.sandbox.exchange import Exchange
from tests.support.apiserver import OwnApiServer
from tests.support.balancer_cluster import (
    a_server_of,
    a_service,
    annotate,
    balancers,
    delete_service,
    finalizers,
    have_services,
    ingress,
    private_ip,
    said_of,
    service_in,
    services,
)
from tests.support.in_process import ONCE_AT_ANY_AGE, one_pass
from tests.support.lifecycle import ago
from tests.support.objects import joining_node, settled_node
from tests.support.permissions import Role, grant, granted, shipped, used
from tests.support.routed_cluster import ROUTED, a_route_to, all_say, have_pods, pods_of, routes
from tests.support.stage import Stage

_RBAC = "rbac.authorization.k8s.io/v1"


def _rule(resource: str, *verbs: str, group: str = "", **names: list[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs), **names}


OF_HCCM: list[Role] = [
    {
        "apiVersion": _RBAC,
        "kind": "ClusterRole",
        "metadata": {"name": "system:hcloud-cloud-controller-manager"},
        "rules": [
            _rule("configmaps", "get", "list", "watch"),
            _rule("events", "create", "patch", "update"),
            _rule("nodes", "*"),
            _rule("nodes/status", "patch"),
            _rule("services", "list", "watch"),
            _rule("services/status", "patch", "update"),
            _rule("serviceaccounts", "create"),
            _rule("leases", "create", "get", "list", "watch", "update", group="coordination.k8s.io"),
            _rule("namespaces", "get", resourceNames=["kube-system"]),
        ],
    },
    {
        "apiVersion": _RBAC,
        "kind": "Role",
        "metadata": {"name": "hcloud-reconciler-beside-hccm", "namespace": "kube-system"},
        "rules": [
            _rule("configmaps", "get", "patch", resourceNames=["hcloud-reconciler"]),
            _rule("configmaps", "create"),
        ],
    },
]
"""operations.md section 12, and what the product needs on top of it: the cluster's identity, and approvals."""


@pytest.fixture
def eventful(a_stage: Callable[..., Stage]) -> Stage:
    """A stage with something to do of every sort: a Node that joins and one that has to go; Services that want a load
    balancer, that may take over one when a person says so, and that ask for what they cannot have; routes that are
    missing, lead elsewhere or nowhere."""
    stage = a_stage(action_s=0.0)
    stray = {"protocol": "tcp", "listen_port": 9000, "destination_port": 9000}
    have_pods(
        stage, 3, a_route_to(2, 1), a_route_to(9), load_balancers=[{"id": 70, "name": "shop", "services": [stray]}]
    )
    world = stage.project.world()["hetzner"]
    stage.project.replace_world({**world, "servers": [*world["servers"], a_server_of(4)]})
    stage.register(joining_node("web-4"), settled_node("lost", 9, "Unknown", since=ago(minutes=5)))
    have_services(stage, a_service(), a_service("shop", name="shop"), a_service("bad", type="lb99"))
    return stage


def _as_user(stage: Stage, cluster: OwnApiServer, user: str) -> None:
    stage.environment["KUBECONFIG"] = str(cluster.kubeconfig(cluster.token(user), server=stage.proxy.url))


def _everything(stage: Stage, cluster: OwnApiServer, user: str) -> list[Exchange]:
    """What the user's passes sent: Services served, adopted, changed and let go, Nodes initialised, routed and deleted,
    an approval used up, and an event that is said once more. That all of it was done is asserted here."""
    _as_user(stage, cluster, user)
    first = one_pass(stage, ONCE_AT_ANY_AGE)
    sent = stage.proxy.journal.entries()
    (hold,) = first["holds"]
    assert routes(stage) == {pods_of(number): private_ip(number) for number in (1, 2, 3)}
    assert all_say(stage) == {**dict.fromkeys(("web-1", "web-2", "web-3"), ROUTED), "web-4": None}
    assert approve(hold["hash"], {"--kubeconfig": str(cluster.kubeconfig())}, {}) == 0
    stage.forget()

    annotate(stage, use_private_ip="true", disable_public_network="true")
    one_pass(stage, ONCE_AT_ANY_AGE)
    assert sorted(stage.nodes()) == ["web-1", "web-2", "web-3", "web-4"]
    assert [len(ingress(service_in(stage, name))) for name in ("web", "shop", "bad")] == [1, 3, 0]
    assert said_of(service_in(stage, "bad"))["LoadBalancerInSync"][0] == "False"

    for name in ("web", "shop", "bad"):
        delete_service(stage, name)
    one_pass(stage, ONCE_AT_ANY_AGE)
    assert (services(stage), balancers(stage)) == ({}, [])
    return [*sent, *stage.proxy.journal.entries()]


def test_all_of_it_works_with_what_hccm_may_do(eventful: Stage, real_cluster: OwnApiServer) -> None:
    """HCCM's role, the identity of the cluster, and approvals: not one request is denied. An approver needs no more."""
    grant(real_cluster, "hccm", OF_HCCM)

    assert used(_everything(eventful, real_cluster, "hccm"))
    assert granted(shipped("approve.yaml")) <= granted(OF_HCCM)


def test_the_shipped_roles_grant_what_is_used_and_nothing_else(eventful: Stage, real_cluster: OwnApiServer) -> None:
    """Take a verb from them and something is denied here; add one and nothing here uses it."""
    observing, reconciling = shipped("observe.yaml"), shipped("reconcile.yaml")
    grant(real_cluster, "observer", observing)
    grant(real_cluster, "reconciler", [*observing, *reconciling])

    _as_user(eventful, real_cluster, "observer")
    assert one_pass(eventful, {"--dry-run": "true"})["holds"]
    assert used(eventful.proxy.journal.entries()) == granted(observing)

    eventful.forget()
    assert used(_everything(eventful, real_cluster, "reconciler")) == granted([*observing, *reconciling])
    assert granted(observing).isdisjoint(granted(reconciling))


@pytest.mark.parametrize("words", [("explain", "service", "default/web"), ("orphans",)], ids=" ".join)
def test_what_only_looks_works_with_the_role_for_looking(
    balanced: Stage, real_cluster: OwnApiServer, words: tuple[str, ...]
) -> None:
    """By the command: it has an answer, nothing to complain of, and asks for nothing that it is not given."""
    have_services(balanced, a_service())
    one_pass(balanced)
    grant(real_cluster, "observer", shipped("observe.yaml"))
    _as_user(balanced, real_cluster, "observer")
    balanced.forget()

    ran = balanced.reconcile(*words)

    assert (ran.code, ran.stdout != "", ran.stderr) == (0, True, "")
    assert used(balanced.proxy.journal.entries()) <= granted(shipped("observe.yaml"))


def test_without_the_right_to_write_to_services_nothing_is_created(balanced: Stage, real_cluster: OwnApiServer) -> None:
    """The finalizer comes before the first write to Hetzner: where it cannot be set, no load balancer is made."""
    have_services(balanced, a_service())
    grant(real_cluster, "observer", shipped("observe.yaml"))
    _as_user(balanced, real_cluster, "observer")

    ran = balanced.reconcile("--once", "--output", "json")

    outcomes = {change["key"]: change["outcome"] for change in ran.report["changes"]}
    assert (ran.code, ran.report["result"], balancers(balanced)) == (1, "error", [])
    assert 'cannot patch resource "services/status"' in outcomes["service/default/web/finalizer"]["why"]
    assert finalizers(service_in(balanced)) == set()
