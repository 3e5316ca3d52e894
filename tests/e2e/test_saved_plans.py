"""A saved plan on a real API server: planned with the rights of an observer, applied after the world has moved."""

import pytest

from tests.support.apiserver import ApiServer
from tests.support.eventful import act_as
from tests.support.objects import joining_node, server
from tests.support.permissions import grant, shipped
from tests.support.stage import Stage, is_initialised

NAMES = ("web-1", "web-2", "web-3")


@pytest.fixture
def joining(stage: Stage) -> Stage:
    """The stage with two Nodes that join."""
    stage.have_servers(*(server(number, name) for number, name in enumerate(NAMES, 1)))
    stage.register(*map(joining_node, NAMES[:2]))
    return stage


def initialised(stage: Stage) -> list[str]:
    """Names of the Nodes that are."""
    return sorted(name for name, node in stage.nodes().items() if is_initialised(node))


def test_what_was_reviewed_is_applied_and_nothing_else(joining: Stage, api_server: ApiServer) -> None:
    """One Node has gone since, another one has come: neither is an error, and the file is of use once."""
    grant(api_server, "observer", shipped("observe.yaml"))
    admin = joining.environment["KUBECONFIG"]
    act_as(joining, api_server, api_server.token("observer"))
    planned = joining.reconcile("plan", "--save", "plan.json")
    assert planned.stdout.splitlines()[-1] == "Result: changes. Next: reconcile apply plan.json"
    joining.environment["KUBECONFIG"] = admin
    joining.cluster.request("DELETE", "/api/v1/nodes/web-2")
    joining.register(joining_node("web-3"))

    exact = joining.reconcile("apply", "plan.json", "--exact")
    assert (exact.code, initialised(joining)) == (1, [])
    applied = joining.reconcile("apply", "plan.json", "--detailed-exitcode")
    again = joining.reconcile("apply", "plan.json", "--output", "json")

    assert (applied.code, initialised(joining)) == (4, ["web-1"])
    assert "1 change skipped, not in saved plan 'plan.json': node/web-3" in applied.stdout
    assert "1 change of saved plan 'plan.json' no longer needed: node/web-2" in applied.stdout
    assert (again.code, again.report["result"], again.report["summary"]["applied"]) == (0, "partial", 0)
    assert initialised(joining) == ["web-1"]
