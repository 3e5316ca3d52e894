"""A sample of the campaign: single faults, of each kind and in each workload; ``scripts/campaign`` tries all."""

import os
import random

import pytest

from tests.campaign.cases import Case, cases_of, judged, undisturbed
from tests.campaign.faults import FAULTS
from tests.campaign.oracles import differences
from tests.campaign.points import Point
from tests.campaign.running import play
from tests.campaign.workloads import WORKLOADS
from tests.property.strategies import SEED

pytestmark = pytest.mark.passes

PER_WORKLOAD = int(os.environ.get("CAMPAIGN_FAULTS") or 2)


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_runs_the_same_twice(name: str) -> None:
    """Otherwise nothing follows from a difference."""
    first, again = undisturbed(name), play(WORKLOADS[name])

    assert differences(name, None, None, again, first) == []
    assert sorted(again.points) == sorted(first.points)


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_fault_leaves_nothing_behind(name: str) -> None:
    """Whatever one request meets, the cluster ends as it would have, and nothing is made or lost twice on the way."""
    cases = [*cases_of(name)]
    drawn = random.Random(f"{SEED} {name}").sample(cases, min(PER_WORKLOAD, len(cases)))
    verdicts = [judged(case) for case in drawn]

    assert {str(each.case): each.differences for each in verdicts if each.differences} == {}
    assert all(each.has_happened for each in verdicts), "a point was not reached"


def test_every_fault_is_drawn() -> None:
    """A fault that no point may meet is not tried, whatever the table says."""
    assert {case.fault for name in WORKLOADS for case in cases_of(name)} == FAULTS.keys()


KNOWN = (
    # A Node that arrived without its spec had lost its providerID, and load balancers its server.
    Case("a server is resized", Point(0, 0, "kubernetes", "GET", "/api/v1/nodes", 1), "a field missing"),
    # The Node of a dedicated server went, and with it what told whose the target was that could not be read.
    Case("a dedicated server is given back", Point(0, 0, "hetzner", "GET", "/networks", 0), "a field missing"),
    Case("a dedicated server is given back", Point(0, 0, "hetzner", "GET", "/load_balancers", 0), "a field missing"),
)
"""What the campaign has found in the product."""


@pytest.mark.parametrize("case", KNOWN, ids=str)
def test_what_was_found_is_mended(case: Case) -> None:
    """See the case."""
    assert not judged(case).differences
