"""The table of guards, and what ``--policy`` leaves out (``policy``)."""

from dataclasses import replace

import pytest

from desired.guards.filters import policy
from desired.guards.guard import GuardResult
from desired.guards.table import GUARDS
from desired.model.settings import Policy, Settings
from desired.plan.change import GuardName, Plan
from desired.rules.guards import EXCLUDED_BY_POLICY
from tests.builders import a_change, a_snapshot
from tests.support.judging import facts_of

PLAN = Plan((a_change("node/old", "node.delete"), a_change(), a_change("load_balancer/ns/a/type", "lb.type")))
TYPE, INITIALISE, DELETE = PLAN.by_key


@pytest.mark.parametrize(
    ("chosen", "keys"), [(Policy.SYNC, ()), (Policy.UPSERT, (DELETE,)), (Policy.OBSERVE, (TYPE, INITIALISE, DELETE))]
)
def test_policy(chosen: Policy, keys: tuple[str, ...]) -> None:
    """Upsert leaves removals undone, observe everything, sync nothing."""
    found = policy(replace(facts_of(PLAN, a_snapshot(), Settings()), settings=Settings(policy=chosen)))
    assert list(found) == [GuardResult.of(EXCLUDED_BY_POLICY, keys, {"policy": chosen})]


ORDER = """
incomplete-snapshot other-controller project-anchor silent-cluster absence-proof clock-skew node-blast-radius
by-default address-blast-radius foreign-owner adoption ip-loss address-in-use
target-floor target-health exposure certificate-issuance route-blast-radius cluster-cidr flapping back-off quota policy
volume-detach
"""


def test_guards_in_their_order() -> None:
    """Of two guards with equally heavy verdicts the earlier one is named. What is no guard leaves changes out."""
    assert list(GUARDS) == ORDER.split()
    assert set(GuardName) - GUARDS.keys() == {"only", "agreed-plan"}
