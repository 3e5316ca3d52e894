"""The environment that ``reconcile sandbox`` prints is all that a client needs."""

import base64
import json
import subprocess
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from hcloud_sandbox.kubelets import KubeletOptions
from hcloud_sandbox.running import Sandbox, SandboxOptions
from hcloud_sandbox.session import without_proxy
from tests.faults.sandbox_process import COMMAND, environment, running
from tests.support.objects import server
from tests.support.proxy_stage import send
from tests.support.rows import rows
from tests.support.stage import DEADLINE_S


@pytest.mark.parametrize("arguments", [[], ["--without=robot"]], ids=["a dedicated server joins", "pods have routes"])
def test_the_exports_suffice_to_plan_for_the_default_world(arguments: list[str]) -> None:
    """Nothing has to be added: the Nodes' private addresses are known, so that none is to go away. Where there is no
    dedicated server, new ones get routes, once the owner says which range the cluster's pods have."""
    with running(*arguments, NO_PROXY="a.b") as exports:
        assert exports["NO_PROXY"] == "a.b,127.0.0.1,localhost"
        ran = subprocess.run(
            [*COMMAND, "--dry-run", "--output", "json", *(["--cluster-cidr=10.244.0.0/16"] if arguments else [])],
            capture_output=True,
            text=True,
            check=False,
            timeout=DEADLINE_S,
            env=environment(exports),
        )

    assert (ran.returncode, ran.stderr) == (0, "")
    report: dict[str, Any] = json.loads(ran.stdout)
    of_routes = {
        *((f"node/worker-{number}/network", "node.network_condition", "allowed") for number in (4, 5)),
        *((f"route/4711/10.244.{number}.0/24", "route.create", "allowed") for number in (4, 5)),
        ("route/4711/10.244.3.0/24", "route.delete", "allowed"),
    }
    assert {(change["key"], change["kind"], change["verdict"]) for change in report["changes"]} == {
        ("node/worker-4", "node.initialise", "allowed"),
        ("node/worker-5", "node.initialise", "allowed"),
        ("node/worker-1/labels", "node.labels", "allowed"),
        *(of_routes if arguments else {("node/db-1", "node.initialise", "allowed")}),
        ("node/worker-3", "node.delete", "allowed"),
        *((f"load_balancer/default/api/target/server:{server}", "lb.target", "allowed") for server in (103, 105, 106)),
        ("load_balancer/default/shop", "lb.create", "allowed"),
        ("service/default/shop/finalizer", "service.claim", "allowed"),
        ("service/default/shop/status", "service.status", "allowed"),
    }
    notes = [("node/worker6", "unmatched"), ("route/4711/10.8.0.0/24", "foreign")]
    assert [(note["key"], note["kind"]) for note in report["notes"]] == (notes if arguments else notes[:1])


def test_a_server_that_stops_before_time_is_skipped_has_been_silent_since() -> None:
    """Nobody has to wait until the kubelets have noticed it."""
    world = {
        "hetzner": {"servers": [{"id": 1, "name": "web-1"}]},
        "kubernetes": {"nodes": [{"metadata": {"name": "web-1"}, "spec": {"providerID": "hcloud://1"}}]},
    }
    with Sandbox(SandboxOptions(world=world, kubelets=KubeletOptions())) as sandbox:
        assert sandbox.kubernetes is not None
        token = {"Authorization": f"Bearer {sandbox.environment['HCLOUD_TOKEN']}"}
        send(sandbox.hetzner_server.url, "DELETE", "/v1/servers/1", headers=token)
        send(sandbox.hetzner_server.url, "POST", "/_sandbox/advance", '{"seconds": 60}')
        [ready] = sandbox.kubernetes.nodes()[0]["status"]["conditions"]
    assert ready["status"] == "Unknown"


def test_attachments_of_a_network_can_be_limited(tmp_path: Path) -> None:
    """One attachment more than that is refused, as the 101st is by the real service."""
    file = tmp_path / "world.json"
    network = {"id": 5, "name": "private", "ip_range": "10.0.0.0/16"}
    servers = [server(1, "web-1"), server(2, "web-2")]
    file.write_text(json.dumps({"hetzner": {"servers": servers, "networks": [network]}}))
    with running(f"--world={file}", "--network-attachments=1", "--action-ms=0") as exports:
        token = {"Authorization": f"Bearer {exports['HCLOUD_TOKEN']}"}
        url, paths = exports["HCLOUD_ENDPOINT"], (f"/v1/servers/{each}/actions/attach_to_network" for each in (1, 2))
        first, second = (send(url, "POST", path, '{"network": 5}', headers=token) for path in paths)
        code = json.load(second)["error"]["code"]
    assert (first.status, code) == (201, "resource_limit_exceeded")


def test_kubelets_work_while_the_sandbox_runs() -> None:
    """Nobody has to ask for it: a watch sees the Node come."""
    world: dict[str, Any] = {"hetzner": {"servers": []}, "kubernetes": {"nodes": []}}
    with Sandbox(SandboxOptions(world=world, action_s=0, kubelets=KubeletOptions(join_s=0))) as sandbox:
        assert sandbox.kubernetes is not None
        assert sandbox.kubernetes_server is not None
        body = json.dumps({"name": "web-1", "server_type": "cx23", "image": "debian-12"})
        token = {"Authorization": f"Bearer {sandbox.environment['HCLOUD_TOKEN']}"}
        assert send(sandbox.hetzner_server.url, "POST", "/v1/servers", body, headers=token).status == 201
        login = {"Authorization": f"Bearer {sandbox.kubernetes.TOKEN}"}
        path = "/api/v1/nodes?watch=true&timeoutSeconds=20"
        with closing(HTTPConnection(urlsplit(sandbox.kubernetes_server.url).netloc, timeout=20)) as connection:
            connection.request("GET", path, headers=login)
            event = json.loads(connection.getresponse().readline())
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "web-1")


@rows("world options is_there", {
    "a dedicated server": ({"robot": {"servers": [{"server_number": 1}]}}, {}, True),
    "an account without servers": ({"robot": {"servers": []}}, {}, True),
    "a world without the account": ({"hetzner": {}}, {}, False),
    "left out": ({"robot": {"servers": []}}, {"without_robot": True}, False),
})  # fmt: skip
def test_robot_is_exported_if_the_world_has_it(world: Any, options: Any, is_there: bool) -> None:
    """With the one setting that a client cannot have beside it. The account answers under these credentials."""
    with Sandbox(SandboxOptions(world=world, **options)) as sandbox:
        exported = {name for name in sandbox.environment if name.startswith(("ROBOT", "HCLOUD_NETWORK_ROUTES"))}
        login = {name: sandbox.environment.get(f"ROBOT_{name}", "") for name in ("USER", "PASSWORD")}
        if sandbox.robot_server is not None:
            basic = base64.b64encode("{USER}:{PASSWORD}".format_map(login).encode()).decode()
            answer = send(
                sandbox.environment["ROBOT_ENDPOINT"], "GET", "/reset", headers={"Authorization": f"Basic {basic}"}
            )
            assert answer.status == (200 if world["robot"]["servers"] else 404)

    variables = {f"ROBOT_{name}" for name in ("ENABLED", "USER", "PASSWORD", "ENDPOINT")}
    assert exported == (variables | {"HCLOUD_NETWORK_ROUTES_ENABLED"} if is_there else set())


@rows("names expected", {
    "none": ((), None),
    "one": (("private",), "private"),
    "two, of which only its owner can tell the cluster's": (("private", "other"), None),
})  # fmt: skip
def test_the_only_network_is_the_clusters(names: tuple[str, ...], expected: str | None) -> None:
    """A client that has to be told its network is told it, if there is nothing to choose. Both addresses that Hetzner's
    clients know by heart are set to others: that of the cloud, and that of storage."""
    networks = [
        {"id": number, "name": name, "ip_range": f"10.{number}.0.0/16"} for number, name in enumerate(names, start=5)
    ]
    with Sandbox(SandboxOptions(world={"hetzner": {"networks": networks}})) as sandbox:
        assert sandbox.environment.get("HCLOUD_NETWORK") == expected
        endpoints = {sandbox.environment[name] for name in ("HCLOUD_ENDPOINT", "HETZNER_ENDPOINT")}
        assert endpoints == {f"{sandbox.hetzner_server.url}/v1"}


@rows("given expected", {
    "none": ({}, {"NO_PROXY": "127.0.0.1,localhost"}),
    "some": ({"NO_PROXY": "a.b, 10.0.0.0/8"}, {"NO_PROXY": "a.b,10.0.0.0/8,127.0.0.1,localhost"}),
    "half": ({"NO_PROXY": "localhost,.b"}, {"NO_PROXY": "localhost,.b,127.0.0.1"}),
    "everything": ({"NO_PROXY": "*"}, {"NO_PROXY": "*"}),
    "lower case, which some clients look at first": ({"no_proxy": "a.b"},
        {"no_proxy": "a.b,127.0.0.1,localhost", "NO_PROXY": "a.b,127.0.0.1,localhost"}),
    "both": ({"no_proxy": "a", "NO_PROXY": "b,a"},
        {"no_proxy": "a,b,127.0.0.1,localhost", "NO_PROXY": "a,b,127.0.0.1,localhost"}),
})  # fmt: skip
def test_exemptions_from_a_proxy(given: dict[str, str], expected: dict[str, str]) -> None:
    """This machine is one, and former ones stay."""
    assert without_proxy(given) == expected
