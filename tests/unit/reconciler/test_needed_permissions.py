"""What has to be allowed in the cluster, by what a run does."""

from typing import Any

import pytest

from desired.model.settings import Controller, Settings
from reconciler.permissions import RbacRule, needed

OBSERVES = {
    "list nodes",
    "get namespaces kube-system",
    "get configmaps hcloud-reconciler",
    "get configmaps hcloud-reconciler-approvals",
    "list deployments.apps",
    "list daemonsets.apps",
}
ACTS = {
    "create events",
    "patch events",
    "patch configmaps hcloud-reconciler",
    "get configmaps hcloud-reconciler-status",
    "patch configmaps hcloud-reconciler-status",
}
LEADS = {f"{verb} leases.coordination.k8s.io{name}" for verb, name in (("get", " x"), ("create", ""), ("update", " x"))}


@pytest.mark.parametrize(
    ("controllers", "how", "rights"),
    [
        pytest.param([], {}, OBSERVES, id="looks"),
        pytest.param([Controller.SERVICE], {}, OBSERVES | {"list services"}, id="looks at Services"),
        pytest.param([], {"acts": True}, OBSERVES | ACTS, id="acts"),
        pytest.param([], {"lease": "x"}, OBSERVES | LEADS, id="leads"),
        pytest.param([], {"watches": True}, OBSERVES | {"watch nodes"}, id="watches"),
        pytest.param(
            [Controller.SERVICE],
            {"watches": True},
            OBSERVES | {"list services", "watch nodes", "watch services"},
            id="watches Services",
        ),
        pytest.param(
            [Controller.NODE], {"acts": True}, OBSERVES | ACTS | {"patch nodes", "patch nodes/status"}, id="Nodes"
        ),
        pytest.param(
            [Controller.LIFECYCLE],
            {"acts": True},
            OBSERVES | ACTS | {"patch nodes", "get nodes", "delete nodes"},
            id="their end",
        ),
        pytest.param([Controller.ROUTE], {"acts": True}, OBSERVES | ACTS | {"patch nodes/status"}, id="routes"),
        pytest.param(
            [Controller.SERVICE],
            {"acts": True},
            OBSERVES | ACTS | {"list services", "patch services/status"},
            id="load balancers",
        ),
    ],
)
def test_what_is_needed(controllers: list[Controller], how: dict[str, Any], rights: set[str]) -> None:
    """No verb is needed for what is switched off."""
    settings = Settings(controllers=frozenset(controllers))
    found = needed(settings, **{"acts": False, "watches": False, "lease": None} | how)

    assert set(map(str, found)) == rights


def test_each_right_is_told_with_all_that_needs_it() -> None:
    """In the words of the plan."""
    found = needed(Settings(), acts=True, watches=False, lease=None)

    assert found[RbacRule("patch", "nodes/status")] == (
        "node.initialise",
        "node.addresses",
        "node.network_condition",
    )
