"""What plans and passes say of prices, in a simulated project where lb11 is 5.39 and lb21 is 16.40 EUR a month."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from reconciler.config.options import Detail
from reconciler.report.documents import report_as_json
from reconciler.report.markdown import render_markdown
from reconciler.result import MonthlyCost, Report
from tests.routes import gateway_of, pods_of
from tests.support.objects import NETWORK, joining_node, server
from tests.support.passes import BALANCER, ROUTED, Run, a_balanced_run, delete_service, load_balancer_service
from tests.support.rendering import invalid, written
from tests.support.schemas import published
from tests.support.simulators import Simulation
from tests.support.world import SERVICES
from tests.unit.reconciler.test_folded_plans import shown  # noqa: F401 - a fixture

Simulate = Callable[..., Simulation]
SIZE, ZONE, ADDRESS = (f"load-balancer.hetzner.cloud/{name}" for name in ("type", "network-zone", "public-net-ipv4"))


def asked(run: Run) -> int:
    return sum(entry.path == "/v1/pricing" for entry in run.sim.sent_to_hetzner())


def total(report: Report) -> str:
    """The line with all costs; "" where there is none."""
    found = re.search(r"^Cost: .*$", written(report), re.MULTILINE)
    return found[0] if found else ""


def heads(report: Report) -> list[str]:
    """The lines of changes of load balancers, as they begin."""
    return re.findall(
        r"^  [-+~!?] (load_balancer/\S+  lb\.(?:create|type|delete|retain).*)$", written(report), re.MULTILINE
    )


@pytest.fixture
def small(simulate: Simulate) -> Run:
    """A cluster in order with one load balancer, in which then a server is resized, a Service asks for another load
    balancer, and somebody adds a route that leads nowhere."""
    numbers = range(1, 5)
    servers = [
        server(
            100 + number,
            f"worker-{number}",
            server_type="cpx32",
            location="nbg1",
            private_net=[{"network": 4711, "ip": gateway_of(number)}],
        )
        for number in numbers
    ]
    network = {**NETWORK, "id": 4711}
    sim = simulate(nodes=[_node(number) for number in numbers], project={"servers": servers, "networks": [network]})
    sim.kubernetes_writer().create(SERVICES, load_balancer_service("web"))
    run = Run(sim, replace(ROUTED, network="4711"))
    for _ in range(2):
        run.converge()
    project = sim.hetzner.world()["hetzner"]
    project["networks"][0]["routes"].append({"destination": "10.244.9.0/24", "gateway": "10.0.0.50"})
    project["servers"][1]["server_type"] = "cpx42"
    sim.hetzner.replace_world(project)
    sim.kubernetes_writer().create(SERVICES, load_balancer_service("shop"))
    return Run(sim, run.settings)


def _node(number: int) -> dict[str, Any]:
    node, pods = joining_node(f"worker-{number}"), pods_of(number)
    return {**node, "spec": {**node["spec"], "podCIDR": pods, "podCIDRs": [pods]}}


def test_a_small_plan(small: Run, shown: Callable[..., str]) -> None:  # noqa: F811
    report = small.plan()
    wanted, price = "Service default/shop has no load balancer yet", "+5.39 EUR a month"

    text = shown(report)
    assert f"\n  + load_balancer/default/shop  lb.create  {price}\n      why: {wanted}\n" in text
    assert text.count("EUR") == 2
    assert "\nCost: +5.39 EUR a month, gross list price, without traffic\nPlan: " in text
    assert f"\n  + load_balancer/default/shop  lb.create: {wanted}  {price}\n" in shown(report, 120)
    assert f"lb.create  {price}\n" in shown(replace(report, detail=Detail.SUMMARY))


def test_what_was_applied(simulate: Simulate) -> None:
    run = a_balanced_run(simulate)

    done = run.converge()

    assert heads(done) == [f"{BALANCER}  lb.create  +5.39 EUR a month  applied"]
    assert total(done) == "Cost: +5.39 EUR a month, gross list price, without traffic"
    run.sim.hetzner_proxy.journal.clear()
    idle = run.converge()
    assert (idle.lines, idle.cost, total(idle)) == ((), MonthlyCost(), "")
    assert [entry.path for entry in run.sim.sent_to_hetzner()].count("/v1/pricing") == 0


def test_a_larger_type_and_the_end(simulate: Simulate) -> None:
    run = a_balanced_run(simulate)
    run.converge()
    run.sim.kubernetes_writer().patch(f"{SERVICES}/web", {"metadata": {"annotations": {SIZE: "lb21"}}})

    grown = run.converge()

    assert heads(grown) == [f"{BALANCER}/type  lb.type  +11.01 EUR a month  applied"]
    assert total(grown) == "Cost: +11.01 EUR a month, gross list price, without traffic"

    delete_service(run.sim, "web")
    plan = run.plan()
    gone = run.converge()

    saved = "Cost: -16.40 EUR a month, gross list price, without traffic"
    assert (heads(plan), total(plan)) == ([f"{BALANCER}  lb.delete  -16.40 EUR a month"], saved)
    assert (heads(gone), total(gone)) == ([f"{BALANCER}  lb.delete  -16.40 EUR a month  applied"], saved)
    assert re.search(r"consequence: loses its public addresses \S+ and \S+ for good", written(plan))
    assert asked(run) == 1


@pytest.mark.parametrize("fault", [{"code": 503}, {"code": 403}, {"code": 200, "body": []}], ids=["503", "403", "junk"])
def test_without_a_currency(simulate: Simulate, fault: dict[str, Any]) -> None:
    """Prices are told without one, all is done as always, and nothing is asked a second time."""
    run = a_balanced_run(simulate)
    run.sim.spoil_hetzner("status", **fault, path="/v1/pricing", count=None)

    plan, done = run.plan(), run.converge()

    assert (plan.errors, done.errors, str(done.result)) == ((), (), "no_changes")
    assert heads(done) == [f"{BALANCER}  lb.create  +5.39 a month  applied"]
    assert total(plan) == "Cost: +5.39 a month, gross list price, without traffic"
    assert asked(run) == 1


def test_without_prices(simulate: Simulate) -> None:
    """A type whose price nobody can read is ordered all the same."""
    run = a_balanced_run(simulate)
    types = run.sim.hetzner_reader().get("/load_balancer_types")
    run.sim.spoil_hetzner(
        "status", code=200, body=types.replace(b'"5.3900"', b'"\\u001b-5"').decode(), path="/v1/load_balancer_types"
    )

    report = run.converge()

    assert (heads(report), total(report)) == (
        [f"{BALANCER}  lb.create  price not known  applied"],
        "Cost: price not known",
    )


def test_an_end_in_the_dark(simulate: Simulate) -> None:
    """What was done is paid for, though nothing can be seen any more; nobody is asked for a currency then."""
    run = a_balanced_run(simulate)
    run.sim.spoil_kubernetes("reset", method="GET", path="/api/v1/nodes", skip=1, count=None)

    report = run.converge()

    assert (str(report.result), asked(run)) == ("error", 0)
    assert total(report) == "Cost: +5.39 a month, gross list price, without traffic"


def test_markdown(simulate: Simulate) -> None:
    text = render_markdown(a_balanced_run(simulate).plan())

    assert text.splitlines()[1].endswith(" to modify, +5.39 EUR a month")
    assert "\n**Cost:** +5.39 EUR a month, gross list price, without traffic\n" in text
    assert f"| + | `{BALANCER}`<br>+5.39 EUR a month<br>Service " in text


def test_json(simulate: Simulate) -> None:
    document = report_as_json(a_balanced_run(simulate).plan())

    assert {change["key"]: change["cost"] for change in document["changes"] if change["cost"]} == {BALANCER: "5.39"}
    assert document["cost"] == {"currency": "EUR", "gross": "5.39"}
    assert invalid(document, published("schema.json")) == []
