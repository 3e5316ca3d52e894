"""Passes to which a person has agreed: they make the changes that were shown, and no others."""

from collections.abc import Callable

from actuators.outcome import Applied
from desired.plan.change import GuardName, Verdict
from reconciler.passes.converge import plan_once
from reconciler.result import Report, Result
from tests.balancers import IN_NETWORK, annotated
from tests.support.balanced_passes import SERVICES, a_balanced_run, balancers, load_balancer_service, outcomes, written
from tests.support.objects import joining_node, server
from tests.support.passes import Run, just_before_the_writes
from tests.support.simulators import Simulation

Simulate = Callable[..., Simulation]


def show(run: Run) -> None:
    """Let a person see the plan, and agree to it."""
    report = plan_once(run.plan_context)
    run.shown = tuple(line.change for line in report.lines if line.change.decision.verdict is Verdict.ALLOWED)


def left(report: Report) -> list[str]:
    """Keys of what waits for a person to see it."""
    decisions = ((line.change.key, line.change.decision) for line in report.lines if line.outcome is None)
    return [
        key for key, decision in decisions if (decision.verdict, decision.rule) == (Verdict.WAITING, GuardName.ONLY)
    ]


def a_node_joins(run: Run, name: str = "web-9") -> None:
    """With its server."""
    project = run.sim.hetzner.world()["hetzner"]
    run.sim.hetzner.replace_world({**project, "servers": [*project["servers"], server(9, name)]})
    run.sim.kubernetes_writer().create("/api/v1/nodes", joining_node(name))


def delete_service(sim: Simulation, name: str) -> None:
    """As ``kubectl delete service`` does."""
    found = sim.objects("services")[name]["metadata"]
    sim.kubernetes_writer().delete(f"{SERVICES}/{name}", uid=found["uid"], version=found["resourceVersion"])


def test_what_was_shown_is_done(simulate: Simulate) -> None:
    """In all its rounds: the address of the new load balancer was not known when the plan was shown."""
    run = a_balanced_run(simulate)
    show(run)
    run.sim.clock.advance(70)

    report = run.converge()

    assert report.result is Result.NO_CHANGES
    assert set(outcomes(report).values()) == {Applied}


def test_what_has_come_since_waits(simulate: Simulate) -> None:
    """The rest is done all the same."""
    run = a_balanced_run(simulate)
    show(run)
    a_node_joins(run)

    report = run.converge()

    assert "providerID" not in run.sim.nodes()["web-9"]["spec"]
    assert "node/web-9" in left(report)
    assert run.sim.nodes()["web-2"]["spec"]["providerID"] == "hcloud://2"


def test_what_comes_in_the_middle_of_the_pass_is_not_done_in_its_next_round(simulate: Simulate) -> None:
    """A Service that is deleted meanwhile keeps its load balancer until a person has seen that it goes."""
    run = a_balanced_run(simulate, load_balancer_service("old"))
    run.converge()
    run.sim.kubernetes_writer().create(SERVICES, load_balancer_service("new"))
    show(run)
    just_before_the_writes(run, lambda sim: delete_service(sim, "old"))

    report = run.converge()

    assert "DELETE 1" not in written(run)
    assert len(balancers(run)) == 2
    assert any(key.startswith("load_balancer/default/old") for key in left(report))


def test_a_change_that_has_become_another_one_waits(simulate: Simulate) -> None:
    """Somebody has edited the Service since."""
    run = a_balanced_run(simulate)
    run.converge()
    run.sim.kubernetes_writer().patch(f"{SERVICES}/web", {"metadata": {"annotations": annotated(type="lb21")}})
    show(run)
    run.sim.kubernetes_writer().patch(f"{SERVICES}/web", {"metadata": {"annotations": annotated(type="lb31")}})

    report = run.converge()

    assert left(report) == ["load_balancer/default/web/type"]
    assert balancers(run)[0]["load_balancer_type"]["name"] == "lb11"


def test_a_switch_of_targets_may_begin_later_than_it_was_shown(simulate: Simulate) -> None:
    """Its label has the moment at which it begins, and a person needs time to read. The batch after the first one was
    shown as waiting, and waits."""
    run = a_balanced_run(simulate, settings=IN_NETWORK)
    run.converge()
    run.sim.kubernetes_writer().patch(
        f"{SERVICES}/web", {"metadata": {"annotations": annotated(use_private_ip="true")}}
    )
    show(run)
    run.sim.clock.advance(70)

    report = run.converge()

    assert left(report) == ["load_balancer/default/web/labels/switch", "load_balancer/default/web/target/server:2"]
    assert [target["use_private_ip"] for target in balancers(run)[0]["targets"]].count(True) == 1
