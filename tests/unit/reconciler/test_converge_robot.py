"""Whole passes in clusters with dedicated servers: Nodes that join, are kept, shut off and deleted, and what an outage
of Robot leaves alone."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from desired.model.settings import Settings
from desired.names import TAINT_SHUTDOWN
from desired.plan.change import GuardName, Verdict
from desired.plan.kinds import Verb
from hcloud_sandbox.exchange import Request, Response
from reconciler.passes.loop import went_wrong
from reconciler.report.text import render_lines
from reconciler.result import Report, Result
from reconciler.telemetry.pass_logger import Meter, PassLogger
from reconciler.telemetry.pass_metrics import succeeded
from tests.balancers import IN_NETWORK, LOCATED, annotated
from tests.support.dedicated import Simulate, a_run, dedicated, robot_node
from tests.support.objects import condition, joining_node, server
from tests.support.passes import Run, just_before_the_writes, load_balancer_service
from tests.support.rows import rows
from tests.support.simulators import Simulation, ago
from tests.support.world import SERVICES


def keys(report: Report) -> list[str]:
    return [str(line.change.key) for line in report.lines]


def test_robot_servers_join(simulate: Simulate) -> None:
    """By name, with Robot's labels and addresses, the kubelet's InternalIP kept; cloud servers beside them."""
    joining = joining_node("db-1")
    joining["status"]["addresses"].append({"type": "InternalIP", "address": "10.1.0.1"})
    run = a_run(simulate, joining, joining_node("web-4"))
    project = run.sim.hetzner.world()["hetzner"]
    run.sim.hetzner.replace_world({**project, "servers": [*project["servers"], server(104, "web-4")]})

    report = run.converge()

    assert report.result is Result.NO_CHANGES
    node = run.sim.nodes()["db-1"]
    assert node["spec"]["providerID"] == "hrobot://1"
    assert not node["spec"].get("taints")
    assert node["metadata"]["labels"]["instance.hetzner.cloud/provided-by"] == "robot"
    assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "AX41-NVMe"
    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "fsn1-dc14"
    assert [entry["address"] for entry in node["status"]["addresses"]] == ["db-1", "192.0.2.1", "10.1.0.1"]
    assert run.sim.nodes()["web-4"]["spec"]["providerID"] == "hcloud://104"
    assert run.sim.sent_to_robot() == ["/server", "/reset/1"]  # it is not Ready yet


@pytest.mark.parametrize("provider_id", ["hrobot://1", "hcloud://bm-1"])
def test_a_server_that_was_given_back(simulate: Simulate, provider_id: str) -> None:
    """Its Node goes, once a fresh list lacks it and a question by number says so, whoever wrote its providerID."""
    node = robot_node(1, "Unknown", providerID=provider_id)
    run = a_run(simulate, node, robot_node(2), robot_node(3), account=(1, 2, 3))
    run.converge()
    run.sim.robot.replace_world({"servers": [dedicated(2), dedicated(3)]})  # type: ignore[union-attr]
    run.sim.robot_proxy.journal.clear()  # type: ignore[union-attr]
    assert run.converge().lines == ()
    run.sim.clock.advance(300)

    report = run.converge()

    assert keys(report) == ["node/db-1"]
    assert sorted(run.sim.nodes()) == ["db-2", "db-3", "web-1", "web-2", "web-3"]
    assert run.sim.sent_to_robot() == ["/server", "/server/1", "/server/1"]


NO_SUCH_PAGE = "<html>404</html>"
NO_SUCH_THING = {"error": {"status": 404, "code": "NOT_FOUND", "message": "no"}}


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(lambda sim: sim.robot.replace_world({"servers": [dedicated(1)]}), id="it is there again"),
        pytest.param(lambda sim: sim.robot.set_credentials("#ws+new", "changed"), id="another password"),
        pytest.param(lambda sim: sim.spoil_robot("status", code=503, body="", count=None), id="maintenance"),
        pytest.param(lambda sim: sim.spoil_robot("status", code=403, body="", count=None), id="locked out"),
        pytest.param(lambda sim: sim.spoil_robot("status", code=404, body=NO_SUCH_PAGE, count=None), id="a page"),
        pytest.param(lambda sim: sim.spoil_robot("status", code=404, body=NO_SUCH_THING, count=None), id="another 404"),
        pytest.param(lambda sim: sim.spoil_robot("reset", count=None), id="nobody answers"),
    ],
)
def test_what_happens_after_the_proof(simulate: Simulate, happens: Callable[[Simulation], object]) -> None:
    """Robot is asked once more before a Node goes, and nothing but its own word counts."""
    run = a_run(simulate, robot_node(1, "Unknown"), robot_node(2), robot_node(3), account=(2, 3))
    just_before_the_writes(run, happens)

    report = run.converge()

    assert keys(report) == ["node/db-1"]
    assert "db-1" in run.sim.nodes()


@pytest.mark.parametrize(
    "world",
    [
        pytest.param([dedicated(1, server_name="other"), dedicated(2), dedicated(3)], id="a name that differs"),
        pytest.param([], id="an account without servers"),
        pytest.param([dedicated(9)], id="another account"),
        pytest.param([dedicated(3)], id="too many at once"),
        pytest.param([dedicated(n, cancelled=True, status="cancelled") for n in (1, 2, 3)], id="cancelled servers"),
        pytest.param([dedicated(n, server_name="db-1") for n in (1, 2, 3)], id="one name for all"),
        pytest.param([dedicated(n, server_name=f"DB-{n}") for n in (1, 2, 3)], id="names in other case"),
        pytest.param([dedicated(n, server_ip=None, server_ipv6_net=None) for n in (1, 2, 3)], id="no addresses"),
    ],
)
def test_what_is_no_absence(simulate: Simulate, world: list[dict[str, Any]]) -> None:
    nodes = [robot_node(number, "Unknown", since=ago(60)) for number in (1, 2)]
    run = a_run(simulate, *nodes, robot_node(3))
    run.sim.robot.replace_world({"servers": world})  # type: ignore[union-attr]

    for _ in range(3):
        run.converge()
        run.sim.clock.advance(150)

    assert {"db-1", "db-2", "db-3"} <= set(run.sim.nodes())


@pytest.mark.parametrize(("said", "tainted"), [("shut off", True), ("running", False), ("not supported", False)])
def test_a_server_that_is_off(simulate: Simulate, said: str, tainted: bool) -> None:
    run = a_run(simulate, robot_node(1, "Unknown"), robot_node(2), robot_node(3))
    run.sim.robot.replace_world(  # type: ignore[union-attr]
        {"servers": [dedicated(1, operating_status=said), dedicated(2), dedicated(3)]}
    )

    run.converge()

    def taints() -> set[str]:
        return {taint["key"] for taint in run.sim.nodes()["db-1"]["spec"].get("taints", ())}

    assert (TAINT_SHUTDOWN in taints()) is tainted
    assert run.sim.sent_to_robot() == ["/server", "/reset/1"]
    status = {"status": {"conditions": [condition("Ready", "True")]}}
    run.sim.kubernetes_writer().patch("/api/v1/nodes/db-1/status", status)
    run.converge()
    assert TAINT_SHUTDOWN not in taints()


@rows(
    "code body at_most",
    {
        "maintenance": (503, "maintenance", 40),
        "wrong password": (401, {"error": {"status": 401, "code": "UNAUTHORIZED", "message": "no"}}, 1),
        "locked out": (403, "", 6),
        "rate limit": (
            403,
            {"error": {"status": 403, "code": "RATE_LIMIT_EXCEEDED", "message": "x", "interval": 3600}},
            1,
        ),
        "another service": (200, "<html>hello</html>", 40),
    },
)
def test_an_hour_without_robot(simulate: Simulate, code: int, body: Any, at_most: int) -> None:
    """Cloud Nodes join and go; of Robot nothing is changed, however much is lost meanwhile, and little is asked."""
    run = a_run(simulate, robot_node(1, "Unknown"), robot_node(2), joining_node("db-3"))
    run.sim.spoil_robot("status", code=code, body=body, count=None)
    project = run.sim.hetzner.world()["hetzner"]
    run.sim.hetzner.replace_world({**project, "servers": [*project["servers"], server(104, "web-4")]})
    before = {name: node["metadata"]["resourceVersion"] for name, node in run.sim.nodes().items() if name[:2] == "db"}
    run.sim.kubernetes_writer().create("/api/v1/nodes", joining_node("web-4"))

    results = set()
    for _ in range(60):
        results.add(run.converge().result)
        run.sim.clock.advance(60)

    assert results <= {Result.INCOMPLETE, Result.ERROR}
    assert run.sim.nodes()["web-4"]["spec"]["providerID"] == "hcloud://104"
    assert before == {
        name: node["metadata"]["resourceVersion"] for name, node in run.sim.nodes().items() if name[:2] == "db"
    }
    assert len(run.sim.sent_to_robot()) <= at_most


def test_a_wrong_password_is_one_error(simulate: Simulate, caplog: pytest.LogCaptureFixture) -> None:
    """Said once in a report and once in a log, with what to do; it is no obstacle to anything of Hetzner Cloud."""
    run = a_run(simulate, robot_node(1), robot_node(2), robot_node(3))
    run.sim.robot.set_credentials("#ws+other", "other")  # type: ignore[union-attr]
    meter, logger = Meter(), PassLogger()

    with caplog.at_level(logging.INFO):
        report = run.converge()
        logger.passed(meter.end(report))

    (error,) = report.errors
    assert error.startswith("Robot webservice http://127.0.0.1:")
    assert "user or password is wrong; nothing is asked until ROBOT_USER or ROBOT_PASSWORD change" in error
    assert (report.result, report.obstacles) == (Result.ERROR, ())
    assert not went_wrong(report)
    assert succeeded(report) >= {"nodes", "servers"}
    assert "robot" not in succeeded(report)
    text = [line.text for line in render_lines(report)]
    assert text[1] == "  Robot servers: INCOMPLETE, not read"
    assert not any(error in line for line in text)
    assert sum("is wrong" in line for line in caplog.messages) == 1


SERVED = replace(LOCATED, robot=True)
INSIDE = replace(IN_NETWORK, robot=True)
EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"
SERVERS = ["server 101", "server 102", "server 103"]


def served(run: Run, *, private: bool = False) -> list[str]:
    """Where the only load balancer sends traffic, after the passes that it takes; by ``use-private-ip`` from now on."""
    options = annotated(use_private_ip="true" if private else "false")
    run.sim.kubernetes_writer().patch(f"{SERVICES}/web", {"metadata": {"annotations": options}})
    for _ in range(3):
        run.converge()
    (balancer,) = run.sim.balancers()
    found = balancer["targets"]
    return sorted(f"server {t['server']['id']}" if t["type"] == "server" else t["ip"]["ip"] for t in found)


def a_served_run(simulate: Simulate, *nodes: dict[str, Any], settings: Settings = SERVED, **how: Any) -> Run:
    run = a_run(simulate, *nodes, settings=settings, **how)
    run.sim.kubernetes_writer().create(SERVICES, load_balancer_service())
    return run


def test_targets_of_both_clouds(simulate: Simulate) -> None:
    run = a_served_run(simulate, robot_node(1), robot_node(2))

    assert served(run) == ["192.0.2.1", "192.0.2.2", *SERVERS]
    assert run.converge().lines == ()


def test_a_target_goes_with_its_server(simulate: Simulate) -> None:
    run = a_served_run(simulate, robot_node(1, "Unknown"), robot_node(2), robot_node(3))
    assert "192.0.2.1" in served(run)
    run.sim.robot.replace_world({"servers": [dedicated(2), dedicated(3)]})  # type: ignore[union-attr]
    run.sim.clock.advance(300)

    report = run.converge()

    assert keys(report) == ["load_balancer/default/web/target/ip:192.0.2.1", "node/db-1"]
    assert served(run) == ["192.0.2.2", "192.0.2.3", *SERVERS]


@pytest.mark.parametrize("ready", ["True", "Unknown"])
def test_no_target_goes_by_the_word_of_another_account(simulate: Simulate, ready: str) -> None:
    """Its list lacks all of ours, and each question by number says so as well."""
    run = a_served_run(simulate, robot_node(1), robot_node(2), robot_node(3))
    before = served(run)
    status = {"status": {"conditions": [condition("Ready", "Unknown", since=ago(-100))]}}
    for name in ("db-1", "db-2") if ready == "True" else ("db-1", "db-2", "db-3"):
        run.sim.kubernetes_writer().patch(f"/api/v1/nodes/{name}/status", status)
    run.sim.robot.replace_world({"servers": [dedicated(9)]})  # type: ignore[union-attr]
    run.sim.clock.advance(300)

    assert served(run) == before


@pytest.mark.parametrize("code", ["ip_not_owned", "robot_unavailable", "cloud_resource_ip_not_allowed", "missing_ipv4"])
def test_an_address_that_is_refused(simulate: Simulate, code: str) -> None:
    run = a_served_run(simulate, robot_node(1), robot_node(2))
    for name in ("db-1", "web-1"):
        run.sim.kubernetes_writer().patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {EXCLUDED: ""}}})
    assert served(run) == ["192.0.2.2", *SERVERS[1:]]
    refusal = {"error": {"code": code, "message": "not now"}}
    project = run.sim.hetzner
    handle = project.handle

    def refuse(request: Request) -> Response:
        is_it = request.path.endswith("/add_target") and b"192.0.2.1" in request.body
        return Response(422, refusal) if is_it else handle(request)

    project.handle = refuse  # type: ignore[method-assign]
    for name in ("db-1", "web-1"):
        run.sim.kubernetes_writer().patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {EXCLUDED: None}}})
    assert served(run) == ["192.0.2.2", *SERVERS]
    project.handle = handle  # type: ignore[method-assign]
    assert served(run) == ["192.0.2.1", "192.0.2.2", *SERVERS]


LIMIT = {"error": {"status": 403, "code": "RATE_LIMIT_EXCEEDED", "message": "x", "max_request": 200, "interval": 3600}}


@pytest.mark.parametrize("code", [503, 401, 403, "limit"])
def test_no_target_goes_while_robot_is_out_of_reach(simulate: Simulate, code: int | str) -> None:
    run = a_served_run(simulate, robot_node(1), robot_node(2, "Unknown"))
    before = served(run)
    status, body = (403, LIMIT) if code == "limit" else (code, "")
    run.sim.spoil_robot("status", code=status, body=body, count=None)
    run.sim.clock.advance(300)
    node = run.sim.nodes()["web-3"]["metadata"]
    run.sim.kubernetes_writer().delete("/api/v1/nodes/web-3", uid=node["uid"], version=node["resourceVersion"])

    assert served(run) == [target for target in before if target != "server 103"]


@rows("status verdict", {"unchecked": ("unknown", Verdict.WAITING), "silent": ("unhealthy", Verdict.HELD)})
def test_no_address_goes_before_the_other_one_answers(simulate: Simulate, status: str, verdict: Verdict) -> None:
    """Both are targets meanwhile; once it answers exactly one is left."""
    run = a_served_run(simulate, robot_node(1), robot_node(2), settings=INSIDE)
    assert served(run) == ["192.0.2.1", "192.0.2.2", *SERVERS]
    run.sim.hetzner.set_faults([{"kind": "no_answer", "ranges": ["10.1.0.0/16"], "status": status}])

    assert served(run, private=True)[:4] == ["10.1.0.1", "10.1.0.2", "192.0.2.1", "192.0.2.2"]
    kept = [line.change for line in run.plan().lines if line.change.key.endswith("ip:192.0.2.1")]
    assert [(change.verb, change.decision.rule, change.decision.verdict) for change in kept] == [
        (Verb.REMOVE, GuardName.TARGET_HEALTH, verdict)
    ]

    run.sim.hetzner.clear_faults()
    run.sim.clock.advance(60)
    assert served(run, private=True) == ["10.1.0.1", "10.1.0.2", *SERVERS]


def test_a_person_may_end_an_exchange_that_nobody_answers(simulate: Simulate) -> None:
    """Who knows better than the health checks approves it."""
    run = a_served_run(simulate, robot_node(1), robot_node(2), settings=INSIDE)
    served(run)
    run.sim.hetzner.set_faults([{"kind": "no_answer", "ranges": ["10.1.0.0/16"]}])
    served(run, private=True)

    (hold,) = [hold for hold in run.plan().holds if hold.rule == GuardName.TARGET_HEALTH]
    run.approve(hold.hash)

    run.sim.clock.advance(60)
    assert served(run, private=True) == ["10.1.0.1", "10.1.0.2", *SERVERS]


def test_a_full_load_balancer_exchanges_one_address_at_a_time(simulate: Simulate) -> None:
    """There is no room for both: what does not answer by the new address stops the others."""
    run = a_served_run(simulate, robot_node(1), robot_node(2), robot_node(3), settings=INSIDE)
    served(run)
    (balancer,) = run.sim.balancers()
    path = f"/load_balancers/{balancer['id']}/actions/add_target"
    for number in range(balancer["load_balancer_type"]["max_targets"] - len(balancer["targets"])):
        run.sim.hetzner_writer().post(path, {"type": "ip", "ip": {"ip": f"198.51.100.{number + 1}"}})
        run.sim.clock.advance(5)
    run.sim.hetzner.set_faults([{"kind": "no_answer", "ranges": ["10.1.0.0/16"]}])

    exchanged = served(run, private=True)

    assert [ip for ip in exchanged if ip.startswith(("10.1.", "192.0.2."))] == ["10.1.0.1", "192.0.2.2", "192.0.2.3"]
    run.sim.hetzner.clear_faults()
    for _ in range(3):
        run.sim.clock.advance(60)
        exchanged = served(run, private=True)
    assert [ip for ip in exchanged if ip.startswith(("10.1.", "192.0.2."))] == ["10.1.0.1", "10.1.0.2", "10.1.0.3"]
