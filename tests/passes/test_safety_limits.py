"""What must not get out of hand: ages by a wrong clock, and calls for what Hetzner refuses, on a real API server."""

from collections.abc import Callable

from actuators.apply import PARALLEL_CHANGES
from desired.plan.kinds import Api
from tests.support.controller import running
from tests.support.in_process import ONCE_AT_ANY_AGE, one_pass
from tests.support.objects import LOCATED, a_service, ago, notes, said_of
from tests.support.stage import Stage

FIVE = [f"web-{i}" for i in range(1, 6)]


def _five_of_eight_are_silent(stage: Stage) -> None:
    """Since five minutes; their servers are gone from the project, and nobody announced it."""
    stage.have_nodes(8)
    stage.remove_servers(*range(1, 6))
    stage.set_ready(*FIVE, ready="Unknown", since=ago(minutes=5))


def test_an_api_server_an_hour_ahead_gives_up_no_node(stage: Stage) -> None:
    """By its clock all five were silent for an hour, so that their loss would be past the blast radius."""
    _five_of_eight_are_silent(stage)
    stage.proxy.set_faults([{"kind": "clock", "seconds": 3600, "count": None}])

    report = one_pass(stage, ONCE_AT_ANY_AGE)

    assert (len(stage.nodes()), stage.deletions()) == (8, [])
    assert ("plan", "clock-skew") in notes(report)
    assert report["holds"][0]["rule"] == "node-blast-radius"


def test_forty_services_and_a_quota_of_five_cost_one_try_a_minute(a_stage: Callable[..., Stage]) -> None:
    """Twenty passes of the running controller: what is under way when Hetzner refuses the first, and then one in turn.
    All others wait, and say why."""
    stage = a_stage(action_s=0.0, load_balancer_limit=5)
    stage.environment |= LOCATED
    stage.have_nodes(2)
    stage.have_services(*(a_service(f"web-{i:02}") for i in range(40)))
    stage.forget()

    with running(stage, "--interval", "200ms") as loop:
        loop.wait_for_passes(20)

    tried = [entry for entry in stage.written_to_hetzner() if entry.path == "/v1/load_balancers"]
    assert len(stage.balancers()) == 5
    assert len(tried) <= 5 + PARALLEL_CHANGES[Api.HETZNER] + 2
    refused = said_of(stage.service("web-39"))["LoadBalancerInSync"]
    assert refused == ("False", "SyncFailed")


def test_runs_under_cron_leave_a_quarter_of_the_allowance(a_stage: Callable[..., Stage]) -> None:
    """Somebody else has used up most of it: changes are begun as long as there is more, and what is left waits."""
    stage = a_stage(action_s=0.0, rate_limit=240, load_balancer_limit=1000)
    stage.environment |= LOCATED
    stage.have_nodes(2)
    stage.have_services(*(a_service(f"web-{i:02}") for i in range(40)))
    for _ in range(160):
        assert stage.to_project("GET", "/servers")[0] == 200
    stage.forget()

    ran = stage.reconcile("--once", "--output", "json")

    assert 0 < len(stage.balancers()) < 40
    assert "kept for other clients" in ran.stdout
    assert len(stage.asked_hetzner()) < 40
