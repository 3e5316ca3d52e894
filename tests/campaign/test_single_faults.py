"""A sample of the campaign: single faults of each kind, in each workload, and pairs; ``scripts/campaign`` tries all."""

import random
import re
from collections import defaultdict

import pytest

from tests.campaign.cases import Case, case_of_name, cases_of, judged, undisturbed
from tests.campaign.faults import FAULTS, faults_at
from tests.campaign.oracles import differences
from tests.campaign.pairs import drawn_pairs
from tests.campaign.pass_faults import PASS_FAULTS
from tests.campaign.points import Point
from tests.campaign.running import play
from tests.campaign.workloads import WORKLOADS
from tests.support.sampling import SEED, sample

PER_WORKLOAD = 2
PAIRS = 10
TRIED = sample([*WORKLOADS], "workloads", least=10)


@pytest.mark.parametrize("name", TRIED)
def test_a_workload_runs_the_same_twice(name: str) -> None:
    """Otherwise nothing follows from a difference."""
    first, again = undisturbed(name), play(WORKLOADS[name])
    assert differences(name, (), again, first) == ([], frozenset())
    assert sorted(again.points) == sorted(first.points)


@pytest.mark.parametrize("name", TRIED)
def test_a_fault_leaves_nothing_behind(name: str) -> None:
    """Whatever one request meets, the cluster ends as it would have, and nothing is made or lost twice on the way."""
    cases = [*cases_of(name)]
    _pass(random.Random(f"{SEED} {name}").sample(cases, min(PER_WORKLOAD, len(cases))))


def test_each_fault_once() -> None:
    """One of each kind, in whichever workload, and that there is one: a fault that no point may meet is not tried."""
    found = defaultdict[str, list[Case]](list)
    for case in (case for name in WORKLOADS for case in cases_of(name)):
        found[case.strikes[0].fault].append(case)
    kinds = {*FAULTS, *PASS_FAULTS}
    rng = random.Random(str(SEED))
    assert kinds <= found.keys()
    _pass([rng.choice(found[fault]) for fault in sorted(kinds)])


UNCLEAR = ("dies after", "times out before", "times out after", "action fails", "action hangs")
"""What makes it hard to say what became of a write."""


@pytest.mark.parametrize("fault", UNCLEAR)
def test_each_write_that_ends_unclear(fault: str) -> None:
    """Each kind of write, in the shortest workload that has one: it is looked up, made good or left to the next pass,
    and never done twice."""
    cases: dict[str, Case] = {}
    for name in sorted(WORKLOADS, key=lambda name: len(undisturbed(name).points)):
        for point in undisturbed(name).points:
            if point.is_write and fault in faults_at(point):
                kind = re.sub("(/(?:load_balancers|services|nodes)/)[^/]+", r"\1*", f"{point.method} {point.path}")
                cases.setdefault(kind, Case.of(name, point, fault))
    assert len(cases) > 15
    _pass([*cases.values()])


def test_pairs_of_faults() -> None:
    """Two faults where they touch leave nothing behind that one does not. The second may not come after the first."""
    verdicts = [judged(case) for case in drawn_pairs(PAIRS, str(SEED))]
    assert {str(each.case): each.differences for each in verdicts if each.differences} == {}
    assert any(each.has_happened for each in verdicts)


def _pass(cases: list[Case]) -> None:
    verdicts = [judged(case) for case in cases]
    assert {str(each.case): each.differences for each in verdicts if each.differences} == {}
    assert all(each.has_happened for each in verdicts), "a point was not reached"


def test_a_name_finds_its_case() -> None:
    """Of each pair that is drawn, and of each of its faults by itself."""
    for case in drawn_pairs(PAIRS, str(SEED)):
        assert case_of_name(str(case)) == case
        for strike in case.strikes:
            assert str(case_of_name(f"{case.workload}, {strike}")) == f"{case.workload}, {strike}"


def test_a_name_of_no_case_tells_what_there_is() -> None:
    """Of the workload, or of the point and the fault."""
    name = next(iter(WORKLOADS))
    for wrong, told in {"nothing, 0.0 pass, late": name, f"{name}, 0.0 pass, lat": "0.0 "}.items():
        with pytest.raises(KeyError, match=re.escape(told)):
            case_of_name(wrong)


_NODES = Point(0, 0, "kubernetes", "GET", "/api/v1/nodes", 0)
KNOWN = (
    # A Node that arrived without its spec had lost its providerID, and load balancers its server.
    Case.of("a server is resized", Point(0, 0, "kubernetes", "GET", "/api/v1/nodes", 1), "lacks spec"),
    # The Node of a dedicated server went, and with it what told whose the target was that could not be read.
    Case.of("a dedicated server is given back", Point(0, 0, "hetzner", "GET", "/networks", 0), "first is null"),
    Case.of("a dedicated server is given back", Point(0, 0, "hetzner", "GET", "/load_balancers", 0), "first is null"),
    # A Node without the list of its pod CIDRs had none, although the first of them is told twice: its route went.
    Case.of("a Service turns into another type", _NODES, "lacks spec.podCIDRs"),
    # A process whose plan was of an earlier time took a target away and back that was right by then.
    Case.of("a Service goes private", Point(0, 0), "two leaders"),
    # A look without labels counted as one at a load balancer that has none: those of others went with ours.
    Case.of(
        "an idle load balancer is adopted", Point(0, 0, "hetzner", "GET", "/load_balancers/idle", 0), "lacks labels"
    ),
)
"""What the campaign has found in the product."""


@pytest.mark.parametrize("case", KNOWN, ids=str)
def test_what_was_found_is_mended(case: Case) -> None:
    assert not judged(case).differences
