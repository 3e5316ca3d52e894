"""What is decided is decided once: passes, explanations and pages read it."""

from collections import Counter
from collections.abc import Callable

import pytest

from desired.annotations.reading import with_defaults
from desired.guards.judge import ask_guards
from desired.load_balancers.certificates import desired_certificates
from desired.load_balancers.lifecycle import orphans
from desired.load_balancers.matching import match_balancers
from desired.load_balancers.membership import node_memberships
from desired.load_balancers.primary_ips import chosen_primary_ips
from desired.load_balancers.targets import desired_targets
from desired.model.key import Key, ObjectKind
from desired.plan.change import Verdict
from desired.planner import compute_desired, diff
from reconciler.live_page.making import Maker
from reconciler.passes.one_pass import explain_once
from tests.support.counting import calls_of
from tests.support.objects import server, settled_node
from tests.support.passes import Run, a_balanced_run, load_balancer_service
from tests.support.simulators import Simulation

pytestmark = pytest.mark.passes

DECISIONS = (
    compute_desired,
    diff,
    ask_guards,
    with_defaults,
    match_balancers,
    orphans,
    node_memberships,
    desired_targets,
    desired_certificates,
    chosen_primary_ips,
)
ONCE = Counter(function.__name__ for function in DECISIONS)
ADDRESS = "load-balancer.hetzner.cloud/public-net-ipv4"
SERVICE = Key(ObjectKind.SERVICE, "default/web")


@pytest.fixture
def run(simulate: Callable[..., Simulation]) -> Run:
    """A Service whose load balancer is to be created with a Primary IP, which is looked up."""
    free = {"id": 7, "name": "web", "ip": "198.51.100.7"}
    return a_balanced_run(simulate, load_balancer_service("web", **{ADDRESS: "7"}), primary_ips=[free])


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
    names = {number: f"web-{number}" for number in (1, 2, 3, 4)}
    nodes = [settled_node(name, number, "Unknown" if number == 1 else "True") for number, name in names.items()]
    servers = [server(number, name) for number, name in names.items() if number != 1 or not is_gone]
    lost = Run(simulate(nodes=nodes, project={"servers": servers}))
    with calls_of(compute_desired, diff, ask_guards) as calls:
        report = lost.plan()
    assert calls == {"compute_desired": plans, "diff": plans, "ask_guards": 1}
    assert [line.change.decision.verdict for line in report.lines] == [Verdict.ALLOWED] * is_gone


def test_an_explanation_decides_nothing(run: Run) -> None:
    """It reads what the plan was made from."""
    with calls_of(*DECISIONS) as calls:
        explain_once(run.plan_context, SERVICE)
    assert calls == ONCE


def test_a_page_decides_nothing(run: Run) -> None:
    """Neither the map nor the explanation of one object; the report has what was decided."""
    maker = Maker(run.converge(), (), "", "")
    with calls_of(*DECISIONS) as calls:
        maker.page()
        maker.explanation(SERVICE)
    assert calls == Counter()
