"""``reconcile capture`` on a real API server: the file has the plan of the moment, and no token."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hcloud_sandbox.hetzner import HetznerSimulator
from tests.support.apiserver import ApiServer
from tests.support.eventful import act_as, made_eventful
from tests.support.permissions import grant, shipped
from tests.support.stage import AT_ANY_AGE, Stage

PLAN = ("--dry-run", "--output", "json", *AT_ANY_AGE)
PLANNED = {"node.initialise", "node.delete", "node.network_condition", "route.create", "lb.create", "lb.adopt"}
"""Kinds of changes that there are to make on the stage, among others."""


def but_for_the_moment(report: dict[str, Any]) -> dict[str, Any]:
    """A report without when it was made, and what it cost."""
    return {name: told for name, told in report.items() if name not in ("taken_at", "requests")}


def test_the_same_plan_from_the_cluster_and_from_its_file(
    a_stage: Callable[..., Stage], api_server: ApiServer, tmp_path: Path
) -> None:
    """The observer's role suffices for both, and the file for the second, with which nobody is asked anything. The
    file has neither a token nor what the API server keeps beside each object."""
    stage = made_eventful(a_stage(action_s=0.0))
    grant(api_server, "observer", shipped("observe.yaml"))
    token, file = api_server.token("observer"), tmp_path / "world.json"
    act_as(stage, api_server, token)

    captured = stage.reconcile("capture", "--to", str(file))
    online = stage.reconcile(*PLAN)
    answers = {(entry.method, entry.status) for entry in stage.proxy.journal.entries()}
    stage.forget()
    offline = stage.reconcile(*PLAN, "--from", str(file), KUBECONFIG="/nowhere", HCLOUD_TOKEN=None)

    assert (captured.code, captured.stdout, captured.stderr.count("\n")) == (0, "", 1)
    assert captured.stderr.startswith("reconcile: captured 5 Nodes, 4 Services, 4 servers and 1 load balancer as of ")
    assert answers <= {("GET", 200), ("GET", 404)}
    assert {change["kind"] for change in online.report["changes"]} > PLANNED
    assert online.report["holds"]
    assert online.report["notes"]
    without_file = json.loads(offline.stdout.replace(f" --from {file}", ""))
    assert but_for_the_moment(without_file) == but_for_the_moment(online.report)
    assert (offline.code, offline.stderr) == (online.code, online.stderr)
    assert offline.report["requests"] == {"kubernetes": 0, "hetzner": 0}
    assert (stage.proxy.journal.entries(), stage.asked_hetzner()) == ([], [])
    secrets = (HetznerSimulator.TOKEN, token, "f:metadata", "BEGIN CERTIFICATE", "clusterIP")
    assert [secret for secret in secrets if secret in file.read_text()] == []
