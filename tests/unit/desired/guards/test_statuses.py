"""Writes of statuses, as the judged plan leaves them."""

from desired.guards.history import mark_in
from desired.plan.change import GuardName, Plan
from desired.plan.setbacks import NO_SETBACKS, Setbacks, Suspension
from desired.planner import compute_plan
from tests.balancers import LOCATED, a_balancer, a_claim, a_served_service, a_world, annotated
from tests.support.judging import judge
from tests.support.keys import key_of
from tests.support.rows import rows

OTHER = key_of("load_balancer/default/api")
STATUS, LISTENER = key_of("service/default/web/status"), key_of("load_balancer/default/web/listener/80")
PROXIED = a_served_service(claim=a_claim(annotations=annotated(uses_proxyprotocol="true")))
WORLD = a_world([PROXIED], [a_balancer()])
PLAN = compute_plan(WORLD, LOCATED)
SUSPENDED = Suspension(GuardName.BACK_OFF, mark_in(PLAN.by_key[LISTENER], WORLD), 7.0, error="failed")


@rows("setbacks is_written", {
    "nothing in the way": (NO_SETBACKS, True),
    "its port waits": (Setbacks(suspensions={LISTENER: SUSPENDED}), False),
    "its port was refused": (Setbacks(refused=frozenset({LISTENER})), False),
    "another was refused": (Setbacks(refused=frozenset({OTHER})), True),
})  # fmt: skip
def test_a_status_that_waits_for_its_load_balancer(setbacks: Setbacks, is_written: bool) -> None:
    """It is left out as long as the load balancer stays as it is: what is published is right then."""
    assert {STATUS, LISTENER} <= PLAN.by_key.keys()
    assert (STATUS in judge(PLAN, WORLD, LOCATED, setbacks=setbacks).by_key) is is_written


def test_a_status_that_is_wrong_now() -> None:
    """It waits for nothing."""
    world = a_world([a_served_service(ingress=())], [a_balancer()])
    plan: Plan = judge(compute_plan(world, LOCATED), world, LOCATED)
    assert [change.key for change in plan.allowed] == [STATUS]
