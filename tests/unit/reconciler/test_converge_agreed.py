"""Passes to which somebody has agreed, by what was shown or by a saved plan: they make these changes, and no others."""

from collections.abc import Callable
from dataclasses import replace

from actuators.outcome import Applied
from desired.model.settings import Settings
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS
from desired.plan.change import GuardName, Verdict
from desired.plan.notes import NoteKind
from reconciler.passes.agreement import Agreement
from reconciler.passes.one_pass import plan_once
from reconciler.passes.saved_plan import read_plan, save_plan
from reconciler.result import Report, Result, exit_code
from tests.balancers import IN_NETWORK, annotated
from tests.support.objects import joining_node, server
from tests.support.passes import (
    BALANCER,
    Run,
    a_balanced_run,
    delete_service,
    initialized,
    just_before_the_writes,
    load_balancer_service,
    outcomes,
    written,
)
from tests.support.simulators import Simulation
from tests.support.world import NODES, SERVICES

Simulate = Callable[..., Simulation]


def show(run: Run) -> None:
    report = plan_once(run.plan_context)
    run.agreement = Agreement.to(line.change for line in report.lines)


def save(run: Run, settings: Settings | None = None, *, is_exact: bool = False) -> None:
    settings = settings or run.settings
    content = save_plan(plan_once(replace(run.plan_context, settings=settings)), settings)
    run.agreement = read_plan(content, "plan.json", is_exact=is_exact).agreement


def said(report: Report) -> list[str]:
    return [note.text for note in report.notes if note.kind is NoteKind.AGREED_PLAN]


def left(report: Report) -> list[str]:
    waiting = (Verdict.WAITING, GuardName.AGREED_PLAN)
    decisions = ((line.change.key, line.change.decision) for line in report.lines if line.outcome is None)
    return [key for key, decision in decisions if (decision.verdict, decision.rule) == waiting]


def a_node_joins(run: Run, name: str = "web-9") -> None:
    project = run.sim.hetzner.world()["hetzner"]
    run.sim.hetzner.replace_world({**project, "servers": [*project["servers"], server(9, name)]})
    run.sim.kubernetes_writer().create("/api/v1/nodes", joining_node(name))


def test_what_comes_in_the_middle_of_the_pass_is_not_done_in_its_next_round(simulate: Simulate) -> None:
    """A Service that is deleted meanwhile keeps its load balancer until a person has seen that it goes."""
    run = a_balanced_run(simulate, load_balancer_service("old"))
    run.converge()
    run.sim.kubernetes_writer().create(SERVICES, load_balancer_service("new"))
    show(run)
    just_before_the_writes(run, lambda sim: delete_service(sim, "old"))

    report = run.converge()

    assert "DELETE 1" not in written(run)
    assert len(run.sim.balancers()) == 2
    assert any(key.startswith("load_balancer/default/old") for key in left(report))


def test_a_change_that_has_become_another_one_waits(simulate: Simulate) -> None:
    run = a_balanced_run(simulate)
    run.converge()
    run.sim.kubernetes_writer().patch(f"{SERVICES}/web", {"metadata": {"annotations": annotated(type="lb21")}})
    show(run)
    run.sim.kubernetes_writer().patch(f"{SERVICES}/web", {"metadata": {"annotations": annotated(type="lb31")}})

    report = run.converge()

    assert left(report) == ["load_balancer/default/web/type"]
    assert run.sim.balancers()[0]["load_balancer_type"]["name"] == "lb11"


def test_a_switch_of_targets_goes_on_as_far_as_it_was_shown(simulate: Simulate) -> None:
    """The target after the first one was shown as waiting, and is no longer: a person has agreed to both."""
    run = a_balanced_run(simulate, settings=IN_NETWORK)
    run.converge()
    run.sim.kubernetes_writer().patch(
        f"{SERVICES}/web", {"metadata": {"annotations": annotated(use_private_ip="true")}}
    )
    show(run)
    run.sim.clock.advance(70)

    report = run.converge()

    assert left(report) == []
    assert [target["use_private_ip"] for target in run.sim.balancers()[0]["targets"]].count(True) == 2


def test_a_saved_plan_is_done(simulate: Simulate) -> None:
    run = a_balanced_run(simulate)
    save(run)
    run.sim.clock.advance(3500)

    report = run.converge()
    again = run.converge()

    assert report.result is again.result is Result.NO_CHANGES
    assert set(outcomes(report).values()) == {Applied}
    assert said(report) == []
    assert again.lines == ()
    (text,) = said(again)
    assert text.startswith("4 changes of saved plan 'plan.json' no longer needed: load_balancer/default/web, node")


def test_what_a_saved_plan_does_not_have_is_left_and_counted(simulate: Simulate) -> None:
    run = a_balanced_run(simulate)
    save(run)
    a_node_joins(run)

    report = run.converge()

    assert report.result is Result.PARTIAL
    assert "providerID" not in run.sim.nodes()["web-9"]["spec"]
    assert run.sim.nodes()["web-2"]["spec"]["providerID"] == "hcloud://2"
    new, served = "node/web-9", ["service/default/web/finalizer", "service/default/web/status"]
    assert left(report) == [BALANCER, new, *served]  # the new load balancer would have another target
    (text,) = said(report)
    assert text == (
        "4 changes skipped, not in saved plan 'plan.json':"
        " load_balancer/default/web, node/web-9, service/default/web/finalizer and 1 more"
    )


def test_an_exact_plan_is_done_whole_or_not_at_all(simulate: Simulate) -> None:
    run = a_balanced_run(simulate)
    save(run, is_exact=True)
    a_node_joins(run)
    before = run.sim.nodes()

    report = run.converge()

    assert (report.result, exit_code(report, detailed=False, acts=True)) == (Result.ERROR, 1)
    (error,) = report.errors
    assert error == (
        "saved plan 'plan.json' no longer matches, and nothing was applied: 2 changes differ"
        " (load_balancer/default/web, node/web-9); plan again with 'reconcile plan --save plan.json'"
    )
    assert (run.sim.nodes(), run.sim.balancers(), run.ears.events) == (before, [], [])
    assert set(outcomes(report).values()) == {None}


def test_an_exact_plan_may_be_as_it_was(simulate: Simulate) -> None:
    """Whatever time has passed, and with what it shows as waiting once that may go."""
    run = a_balanced_run(simulate, settings=IN_NETWORK)
    run.converge()
    run.sim.kubernetes_writer().patch(
        f"{SERVICES}/web", {"metadata": {"annotations": annotated(use_private_ip="true")}}
    )
    save(run, is_exact=True)
    run.sim.clock.advance(70)

    report = run.converge()

    assert report.errors == ()
    assert [target["use_private_ip"] for target in run.sim.balancers()[0]["targets"]].count(True) == 2


def test_a_hold_of_a_saved_plan_stays_held_until_somebody_approves(elsewhere: Run) -> None:
    """The file approves nothing; but what was held in it is permitted once it is allowed."""
    save(elsewhere)
    refused = elsewhere.converge()
    assert (refused.result, elsewhere.sim.written()) == (Result.BLOCKED, [])
    elsewhere.approve(refused.holds[0].hash)

    elsewhere.converge()

    assert "web-1" in initialized(elsewhere)


def test_a_hold_of_a_saved_plan_is_of_its_own_changes(elsewhere: Run) -> None:
    """Another Node joins meanwhile. The approval of the hold that is shown lets the Node of the file pass, and no
    other."""
    save(elsewhere)
    a_node_joins(elsewhere)
    (hold,) = elsewhere.converge().holds
    elsewhere.approve(hold.hash)
    report = elsewhere.converge()
    assert (hold.keys, left(report)) == (("node/web-1",), ["node/web-9"])
    assert "web-1" in initialized(elsewhere)
    assert "web-9" not in initialized(elsewhere)


def test_a_saved_plan_of_a_part_is_applied_to_that_part(simulate: Simulate) -> None:
    """The rest is not looked at, and what has gone is no typing error."""
    run = a_balanced_run(simulate)
    save(run, replace(run.settings, only=("node/web-2",)))

    report = run.converge()
    again = run.converge()

    assert [line.change.key for line in report.lines] == ["node/web-2"]
    assert (report.result, again.result) == (Result.NO_CHANGES, Result.NO_CHANGES)
    assert run.sim.balancers() == []


def test_a_saved_plan_may_be_applied_in_part(simulate: Simulate) -> None:
    run = a_balanced_run(simulate)
    save(run)
    run.settings = replace(run.settings, only=("node/web-2",))

    report = run.converge()

    assert (outcomes(report), run.sim.balancers()) == ({"node/web-2": Applied}, [])


def test_the_last_target_stays_if_its_replacement_is_not_in_the_saved_plan(simulate: Simulate) -> None:
    """The Node that has joined since is none of the file's, so that nothing would answer."""
    run = a_balanced_run(simulate)
    run.converge()
    targets = run.sim.balancers()[0]["targets"]
    excluded = {"metadata": {"labels": {LABEL_EXCLUDE_FROM_BALANCERS: ""}}}
    for name in run.sim.nodes():
        run.sim.kubernetes_writer().patch(f"{NODES}/{name}", excluded)
    save(run)
    a_node_joins(run)

    report = run.converge()

    assert {hold.rule for hold in report.holds} == {GuardName.TARGET_FLOOR}
    assert run.sim.balancers()[0]["targets"] == targets
