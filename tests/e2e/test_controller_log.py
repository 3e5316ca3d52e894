"""What a controller says: one kind of line, no secrets, and the name of a right that is missing."""

import json
from collections.abc import Sequence
from typing import Any

from hcloud_sandbox.hetzner import HetznerSimulator
from tests.support.apiserver import ApiServer
from tests.support.controller import RARELY, Controller, as_json, running
from tests.support.permissions import grant, shipped
from tests.support.stage import Stage, is_initialised, wait_for


def _output(controller: Controller) -> str:
    return "\n".join([*controller.stdout, *controller.stderr])


def _secrets(stage: Stage) -> Sequence[str]:
    """The tokens for both APIs."""
    with open(stage.environment["KUBECONFIG"]) as file:  # noqa: PTH123
        users = json.load(file)["users"]
    return HetznerSimulator.TOKEN, users[0]["user"]["token"]


TO_CLUSTER: list[dict[str, Any]] = [
    {"kind": "reset", "count": 2},
    {"kind": "status", "code": 401},
    {"kind": "status", "code": 200, "body": "<"},
]
TO_CLOUD: list[dict[str, Any]] = [
    {"kind": "status", "code": 401, "body": {"error": {"code": "unauthorized", "message": "Bearer xyz"}}},
    {"kind": "status", "code": 500, "body": "<html>\n"},
    {"kind": "cut_body"},
]


def test_lines_of_json_and_nothing_else_in_trouble(one_node: Stage) -> None:
    """stdout stays empty; each line of stderr is an object with time, level and message, also while it debugs, and no
    secret is in any of them."""
    one_node.proxy.set_faults(TO_CLUSTER)
    one_node.hetzner_proxy.set_faults(TO_CLOUD)
    given = ("--interval", "100ms", "--log-format", "json", "--route-reconciliation-period", "10s")

    with running(one_node, *given, HCLOUD_DEBUG="true") as controller:
        wait_for(lambda: is_initialised(one_node.nodes()["web-1"]), "the Node")
        controller.wait_for_passes(1, 'result="no_changes"')
        assert controller.end()[0] == 0

    lines = as_json(controller.stderr)
    assert controller.stdout == []
    assert all({"time", "level", "logger", "message"} <= set(line) for line in lines)
    (applied,) = (line for line in lines if line["message"] == "applied")
    assert (applied["kind"], applied["key"]) == ("node.initialise", "node/web-1")
    assert any("--route-reconciliation-period" in line.get("warning", "") for line in lines)
    assert [secret for secret in _secrets(one_node) if secret in _output(controller)] == []


def _without(verb: str, resource: str) -> list[dict[str, Any]]:
    """The shipped roles under names of their own, without that right."""
    roles = shipped("observe.yaml", "reconcile.yaml")
    for role in roles:
        role["metadata"]["name"] += f"-without-{verb}-{resource.replace('/', '-')}"
        rules = []
        for rule in role["rules"]:
            rest = [each for each in rule["resources"] if each != resource]
            if rest:
                rules.append({**rule, "resources": rest})
            if rest != rule["resources"]:
                rules.append({**rule, "resources": [resource], "verbs": [v for v in rule["verbs"] if v != verb]})
        role["rules"] = [rule for rule in rules if rule["verbs"]]
    return roles


def test_the_right_to_watch_is_named_and_its_lack_is_no_storm(one_node: Stage, api_server: ApiServer) -> None:
    """Passes go on. The watch that is refused is tried ever more rarely, and told of once."""
    grant(api_server, "deaf", _without("watch", "nodes"))
    kubeconfig = str(api_server.kubeconfig(api_server.token("deaf"), server=one_node.proxy.url))

    with running(one_node, *RARELY, KUBECONFIG=kubeconfig) as controller:
        controller.wait_to_say("permission missing")
        controller.wait_to_say("the watch of nodes")
        wait_for(lambda: _watches(one_node) >= 3, "more tries to watch")
        assert controller.passes() == 1
        assert controller.end()[0] == 0

    assert is_initialised(one_node.nodes()["web-1"])
    assert sum("the watch of nodes" in line for line in controller.stderr) == 1
    (gap,) = (line for line in controller.stderr if "permission missing" in line)
    assert "not allowed to watch nodes, which" in gap


def _watches(stage: Stage) -> int:
    """How often a watch of Nodes was refused."""
    log = stage.proxy.journal.entries()
    return sum((entry.path, entry.status) == ("/api/v1/nodes", 403) for entry in log if "watch=true" in entry.query)
