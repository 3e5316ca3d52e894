"""Every mode with load balancers and routes works with what HCCM may do in a cluster, and is shipped with no more than
it uses."""

from collections.abc import Callable
from typing import Any

import pytest

from hcloud_sandbox.exchange import Exchange
from tests.support.apiserver import ApiServer
from tests.support.eventful import OUT_OF_SERVICE, act_as, everything, have_record, made_eventful
from tests.support.in_process import one_pass
from tests.support.objects import a_service, finalizers
from tests.support.permissions import BESIDE_PASSES, Grant, Role, grant, granted, shipped, used
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
            _rule("deployments", "list", group="apps"),
            _rule("daemonsets", "list", group="apps"),
        ],
    },
]
"""operations.md section 12, and what the product needs on top of it: the cluster's identity, approvals, what runs
beside."""


@pytest.fixture
def eventful(a_stage: Callable[..., Stage]) -> Stage:
    """A stage with something to do of every sort."""
    return made_eventful(a_stage(action_s=0.0))


def _as_user(stage: Stage, cluster: ApiServer, user: str) -> None:
    act_as(stage, cluster, cluster.token(user))


def _everything(stage: Stage, cluster: ApiServer, user: str) -> list[Exchange]:
    _as_user(stage, cluster, user)
    return everything(stage, cluster)


def _of_approvers() -> set[Grant]:
    return granted(shipped("approve.yaml"))


def test_all_of_it_works_with_what_hccm_may_do(eventful: Stage, api_server: ApiServer) -> None:
    """HCCM's role, the identity of the cluster, approvals, and a look at what runs beside: not one request is denied.
    An approver needs no more but to approve, and only the out-of-service taint does."""
    del eventful.environment[OUT_OF_SERVICE]
    grant(api_server, "hccm", OF_HCCM)

    assert used(_everything(eventful, api_server, "hccm"))
    theirs = granted(OF_HCCM)
    more = {each for each in _of_approvers() if not theirs & {each, (*each[:2], "")}}
    assert more == {("patch", "configmaps", "hcloud-reconciler-approvals")}


def test_the_shipped_roles_grant_what_is_used_and_nothing_else(eventful: Stage, api_server: ApiServer) -> None:
    """Take a verb from them and something is denied here; add one and nothing here uses it."""
    have_record(eventful)
    observing, reconciling = shipped("observe.yaml"), shipped("reconcile.yaml")
    grant(api_server, "observer", observing)
    grant(api_server, "reconciler", [*observing, *reconciling])

    _as_user(eventful, api_server, "observer")
    assert one_pass(eventful, {"--dry-run": "true"})["holds"]
    assert used(eventful.proxy.journal.entries()) == granted(observing) - BESIDE_PASSES

    eventful.forget()
    assert used(_everything(eventful, api_server, "reconciler")) == (
        granted([*observing, *reconciling]) - BESIDE_PASSES
    )
    assert granted(observing).isdisjoint(granted(reconciling))


@pytest.mark.parametrize("words", [("explain", "service", "default/web"), ("orphans",)], ids=" ".join)
def test_what_only_looks_works_with_the_role_for_looking(
    balanced: Stage, api_server: ApiServer, words: tuple[str, ...]
) -> None:
    """By the command: it has an answer, nothing to complain of, and asks for nothing that it is not given."""
    balanced.have_services(a_service())
    one_pass(balanced)
    grant(api_server, "observer", shipped("observe.yaml"))
    _as_user(balanced, api_server, "observer")
    balanced.forget()

    ran = balanced.reconcile(*words)

    assert (ran.code, ran.stdout != "", ran.stderr) == (0, True, "")
    assert used(balanced.proxy.journal.entries()) <= granted(shipped("observe.yaml"))


def test_without_the_right_to_write_to_services_nothing_is_created(balanced: Stage, api_server: ApiServer) -> None:
    """The finalizer comes before the first write to Hetzner: where it cannot be set, no load balancer is made."""
    balanced.have_services(a_service())
    grant(api_server, "observer", shipped("observe.yaml"))
    _as_user(balanced, api_server, "observer")

    ran = balanced.reconcile("--once", "--output", "json")

    outcomes = {change["key"]: change["outcome"] for change in ran.report["changes"]}
    assert (ran.code, ran.report["result"], balanced.balancers()) == (1, "error", [])
    assert 'cannot patch resource "services/status"' in outcomes["service/default/web/finalizer"]["why"]
    assert finalizers(balanced.service()) == set()
