"""What is decided is decided once: passes, explanations and pages read it."""

from collections import Counter
from collections.abc import Callable

import pytest

from desired.annotations.reading import with_defaults
from desired.guards.anchor import anchor_of
from desired.guards.judge import ask_guards
from desired.guards.statuses import conditions_of
from desired.load_balancers.certificates import desired_certificates
from desired.load_balancers.matching import match_balancers
from desired.load_balancers.membership import node_memberships
from desired.load_balancers.orphans import orphans
from desired.load_balancers.primary_ips import chosen_primary_ips
from desired.load_balancers.targets import desired_targets
from desired.model.key import Key, ObjectKind
from desired.nodes.disruption import losses_of
from desired.plan.change import Verdict
from desired.planner import compute_desired, diff
from reconciler.page.page import Maker
from reconciler.passes.one_pass import explain_once
from tests.support.counting import calls_of
from tests.support.dedicated import a_run, robot_node
from tests.support.objects import server, settled_node
from tests.support.passes import Run, a_balanced_run, load_balancer_service
from tests.support.simulators import Simulation

DECISIONS = (
    compute_desired,
    diff,
    ask_guards,
    anchor_of,
    losses_of,
    conditions_of,
    with_defaults,
    match_balancers,
    orphans,
    node_memberships,
    desired_targets,
    desired_certificates,
    chosen_primary_ips,
)
ONCE = Counter(function.__name__ for function in DECISIONS if function is not losses_of)
"""No Node is deleted, and so no loss is counted."""
ONCE["anchor_of"] = 3
"""Of each provider, and of the cloud before that: whether the memory of the cluster is asked for its project."""
ADDRESS = "load-balancer.hetzner.cloud/public-net-ipv4"
SERVICE = Key(ObjectKind.SERVICE, "default/web")


@pytest.fixture
def run(simulate: Callable[..., Simulation]) -> Run:
    """A Service whose load balancer is to be created with a Primary IP, which is looked up."""
    free = {"id": 7, "name": "web", "ip": "198.51.100.7"}
    return a_balanced_run(simulate, load_balancer_service("web", **{ADDRESS: "7"}), primary_ips=[free])


def a_silent_run(simulate: Callable[..., Simulation], *, is_gone: bool) -> Run:
    """Four Nodes, of which the first is silent, and its server may be gone."""
    names = {number: f"web-{number}" for number in (1, 2, 3, 4)}
    nodes = [settled_node(name, number, "Unknown" if number == 1 else "True") for number, name in names.items()]
    servers = [server(number, name) for number, name in names.items() if number != 1 or not is_gone]
    return Run(simulate(nodes=nodes, project={"servers": servers}))


@pytest.fixture
def lost(simulate: Callable[..., Simulation]) -> Run:
    """A Node whose deletion is planned."""
    return a_silent_run(simulate, is_gone=True)


def test_a_dry_run_decides_once(run: Run) -> None:
    """Looking up Primary IPs needs the match of Services and load balancers, and so does the plan."""
    with calls_of(*DECISIONS) as calls:
        run.plan()
    assert calls == ONCE


@pytest.mark.parametrize(("is_gone", "plans"), [(False, 1), (True, 2)], ids=["all listed", "one by its id"])
def test_a_plan_is_made_again_where_an_answer_says_more(
    simulate: Callable[..., Simulation], is_gone: bool, plans: int
) -> None:
    """The plan asks for the server of a Node that is to go, and is the pass's own where there is nothing to ask."""
    with calls_of(compute_desired, diff, ask_guards) as calls:
        report = a_silent_run(simulate, is_gone=is_gone).plan()
    assert calls == {"compute_desired": plans, "diff": plans, "ask_guards": 1}
    assert [line.change.decision.verdict for line in report.lines] == [Verdict.ALLOWED] * is_gone


def test_a_list_that_proves_nothing_any_more_makes_no_third_plan(simulate: Callable[..., Simulation]) -> None:
    """Robot servers are listed anew, and one of them is asked for, before the second plan."""
    run = a_run(simulate, robot_node(1, "Unknown"), robot_node(2), robot_node(3), account=(2, 3))
    run.plan()
    run.sim.clock.advance(150)
    run.sim.robot_proxy.journal.clear()  # type: ignore[union-attr]

    with calls_of(compute_desired, diff) as calls:
        run.plan()

    assert (calls, run.sim.sent_to_robot()) == ({"compute_desired": 2, "diff": 2}, ["/server", "/server/1"])


NODE = Key(ObjectKind.NODE, "web-1")


@pytest.mark.parametrize("key", [SERVICE, NODE])
def test_an_explanation_decides_nothing(run: Run, key: Key) -> None:
    """It reads the values that the plan was made and judged from."""
    with calls_of(*DECISIONS) as calls:
        explain_once(run.plan_context, key)
    assert calls == ONCE


def test_an_explanation_of_a_deletion_decides_nothing(lost: Run) -> None:
    with calls_of(*DECISIONS) as planned:
        lost.plan()
    with calls_of(*DECISIONS) as calls:
        explain_once(lost.plan_context, NODE)
    assert calls == planned
    assert calls["losses_of"] == 1


@pytest.mark.parametrize("key", [SERVICE, NODE])
def test_a_page_decides_nothing(run: Run, key: Key) -> None:
    """Neither the map nor the explanation of one object; the report has what was decided."""
    maker = Maker(run.converge(), "", "")
    with calls_of(*DECISIONS) as calls:
        maker.page()
        maker.explanation(key)
    assert calls == {}
