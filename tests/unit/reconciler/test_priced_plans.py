"""What plans and passes say of prices, in a simulated project where lb11 is 5.39 and lb21 is 16.40 EUR a month."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from reconciler.result import MonthlyCost, Report
from tests.support.passes import BALANCER, Run, a_balanced_run, delete_service
from tests.support.rendering import written
from tests.support.simulators import Simulation
from tests.support.world import SERVICES

Simulate = Callable[..., Simulation]
SIZE = "load-balancer.hetzner.cloud/type"


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
