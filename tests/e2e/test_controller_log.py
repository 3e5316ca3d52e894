"""What a controller says: one kind of line, no secrets, and the name of a right that is missing."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from hcloud_sandbox.hetzner import HetznerSimulator
from tests.support.apiserver import ApiServer
from tests.support.controller import OFTEN, RARELY, Controller, as_json, running, started
from tests.support.permissions import grant, shipped
from tests.support.stage import Stage, is_initialised, wait_for

JSON_LINES = ("--log-format", "json")


def _output(controller: Controller) -> str:
    return "\n".join([*controller.stdout, *controller.stderr])


def _secrets(stage: Stage) -> Sequence[str]:
    """The tokens for both APIs."""
    with open(stage.environment["KUBECONFIG"]) as file:  # noqa: PTH123
        users = json.load(file)["users"]
    return HetznerSimulator.TOKEN, users[0]["user"]["token"]


TROUBLE: list[tuple[str, list[dict[str, Any]], list[dict[str, Any]]]] = [
    ("none", [], []),
    (
        "of all sorts",
        [{"kind": "reset", "count": 2}, {"kind": "status", "code": 401}, {"kind": "status", "code": 200, "body": "<"}],
        [
            {"kind": "status", "code": 401, "body": {"error": {"code": "unauthorized", "message": "Bearer xyz"}}},
            {"kind": "status", "code": 500, "body": "<html>\n"},
            {"kind": "cut_body"},
        ],
    ),
]


@pytest.mark.parametrize(("cluster", "cloud"), [row[1:] for row in TROUBLE], ids=[row[0] for row in TROUBLE])
def test_lines_of_json_and_nothing_else(
    one_node: Stage, cluster: list[dict[str, Any]], cloud: list[dict[str, Any]]
) -> None:
    """stdout stays empty; each line of stderr is an object with time, level and message, also while it debugs, and no
    secret is in any of them."""
    one_node.proxy.set_faults(cluster)
    one_node.hetzner_proxy.set_faults(cloud)
    given = (*OFTEN, *JSON_LINES, "--route-reconciliation-period", "10s")

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


def _port_taken(stage: Stage) -> dict[str, str]:
    return {"RECONCILER_HEALTH_ADDRESS": stage.hetzner.url.removeprefix("http://")}


def _no_kubeconfig(stage: Stage) -> dict[str, str]:
    return {"KUBECONFIG": str(stage.folder / "none")}


@pytest.mark.parametrize(("spoilt", "why"), [(_port_taken, "cannot listen"), (_no_kubeconfig, "kubeconfig")])
def test_a_controller_that_cannot_start_says_so_in_json_too(
    one_node: Stage, spoilt: Callable[[Stage], dict[str, str]], why: str
) -> None:
    """Whoever collects its log reads nothing else."""
    with started(one_node, *JSON_LINES, **spoilt(one_node)) as controller:
        assert controller.ended() == 1

    assert controller.stdout == []
    (told,) = (line for line in as_json(controller.stderr) if line["level"] == "error")
    assert why in told["error"]


def test_a_pass_without_changes_is_not_narrated(one_node: Stage) -> None:
    """One line for the Node, one for its pass, none for those that follow, which are counted."""
    with running(one_node, *OFTEN) as controller:
        controller.wait_for_passes(3)
        assert controller.end()[0] == 0

    assert sum(" applied kind=" in line for line in controller.stderr) == 1
    assert len(controller.told()) <= 2
    assert controller.told()[0]["result"] == "no_changes"


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


@pytest.mark.parametrize(
    ("user", "verb", "resource"),
    [
        pytest.param("deaf", "watch", "nodes", id="watch nodes"),
        pytest.param("mute", "patch", "nodes/status", id="patch nodes/status"),
    ],
)
def test_a_missing_right_is_named_at_the_start_and_the_loop_goes_on(
    one_node: Stage, api_server: ApiServer, user: str, verb: str, resource: str
) -> None:
    """Beside the first pass, in one line; what can be done without it is done."""
    grant(api_server, user, _without(verb, resource))
    kubeconfig = str(api_server.kubeconfig(api_server.token(user), server=one_node.proxy.url))

    with running(one_node, *OFTEN, KUBECONFIG=kubeconfig, RECONCILER_LEADER_ELECT="true") as controller:
        controller.wait_for_passes(2)
        assert controller.page("/livez") == (200, "ok")
        if verb == "watch":
            wait_for(lambda: is_initialised(one_node.nodes()["web-1"]), "the Node, at the interval")
        controller.wait_to_say("permission missing")
        assert controller.end()[0] == 0

    (gap,) = (line for line in controller.stderr if "permission missing" in line)
    assert f"not allowed to {verb} {resource}, which" in gap


def test_a_node_is_noticed_at_the_interval_without_the_right_to_watch(one_node: Stage, api_server: ApiServer) -> None:
    """The watch that is refused is tried ever more rarely, and told of once."""
    grant(api_server, "deaf", _without("watch", "nodes"))
    kubeconfig = str(api_server.kubeconfig(api_server.token("deaf"), server=one_node.proxy.url))

    with running(one_node, *RARELY, KUBECONFIG=kubeconfig) as controller:
        controller.wait_to_say("the watch of nodes")
        wait_for(lambda: _watches(one_node) >= 3, "more tries to watch")
        assert sum("the watch of nodes" in line for line in controller.stderr) == 1
        assert controller.passes() == 1


def _watches(stage: Stage) -> int:
    """How often a watch of Nodes was refused."""
    log = stage.proxy.journal.entries()
    return sum((entry.path, entry.status) == ("/api/v1/nodes", 403) for entry in log if "watch=true" in entry.query)
