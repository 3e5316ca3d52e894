"""What has to be allowed in the cluster, by what a run does."""

from typing import Any

from desired.model.settings import Controller, Settings
from reconciler.permissions import RbacRule, needed
from tests.support.rows import rows

OBSERVES = {
    "list nodes",
    "get namespaces kube-system",
    "get configmaps hcloud-reconciler",
    "get configmaps hcloud-reconciler-approvals",
    "list deployments.apps",
    "list daemonsets.apps",
}
ACTS = {"create events", "patch events", "patch configmaps hcloud-reconciler"}
LEADS = {f"{verb} leases.coordination.k8s.io{name}" for verb, name in (("get", " x"), ("create", ""), ("update", " x"))}


@rows(
    "controllers how rights",
    {
        "looks": ([], {}, OBSERVES),
        "looks at Services": ([Controller.SERVICE], {}, OBSERVES | {"list services"}),
        "acts": ([], {"acts": True}, OBSERVES | ACTS),
        "leads": ([], {"lease": "x"}, OBSERVES | LEADS),
        "watches": ([], {"watches": True}, OBSERVES | {"watch nodes"}),
        "watches Services": (
            [Controller.SERVICE],
            {"watches": True},
            OBSERVES | {"list services", "watch nodes", "watch services"},
        ),
        "Nodes": ([Controller.NODE], {"acts": True}, OBSERVES | ACTS | {"patch nodes", "patch nodes/status"}),
        "their end": (
            [Controller.LIFECYCLE],
            {"acts": True},
            OBSERVES | ACTS | {"patch nodes", "get nodes", "delete nodes"},
        ),
        "routes": ([Controller.ROUTE], {"acts": True}, OBSERVES | ACTS | {"patch nodes/status"}),
        "load balancers": (
            [Controller.SERVICE],
            {"acts": True},
            OBSERVES | ACTS | {"list services", "patch services/status"},
        ),
    },
)
def test_what_is_needed(controllers: list[Controller], how: dict[str, Any], rights: set[str]) -> None:
    settings = Settings(controllers=frozenset(controllers))
    found = needed(settings, **{"acts": False, "watches": False, "lease": None} | how)

    assert set(map(str, found)) == rights


def test_each_right_is_told_with_all_that_needs_it() -> None:
    found = needed(Settings(), acts=True, watches=False, lease=None)

    assert found[RbacRule("patch", "nodes/status")] == ("node.initialise", "node.addresses", "node.network_condition")
