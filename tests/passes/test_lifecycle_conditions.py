"""Kubernetes' conditions of a Node's lifecycle, where they are heeded: drained Nodes leave load balancers before their
pods do, maintenance announces losses, and neither is a way around a guard."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.in_process import ONCE, ONCE_AT_ANY_AGE, one_pass
from tests.support.objects import LOCATED, a_service, ago, condition
from tests.support.stage import Stage

HEEDING = ONCE | {"--lifecycle-conditions": "true"}
ALL = frozenset(range(1, 9))


@pytest.fixture
def fleet(a_stage: Callable[..., Stage]) -> Stage:
    """Eight Nodes, all of them targets of the Service ``web``."""
    stage = a_stage(action_s=0.0)
    stage.environment |= LOCATED
    stage.have_nodes(8)
    stage.have_services(a_service())
    one_pass(stage)
    assert targets(stage) == ALL
    return stage


def targets(stage: Stage) -> frozenset[int]:
    """The servers to which the only load balancer leads."""
    return frozenset(target["server"]["id"] for target in stage.balancers()[0]["targets"])


def say(stage: Stage, kind: str, *numbers: int, status: str = "True") -> None:
    for number in numbers:
        stage.set_condition(f"web-{number}", condition(kind, status))


def drain(stage: Stage, *numbers: int) -> None:
    """As a drain begins."""
    stage.cordon(*(f"web-{number}" for number in numbers))
    say(stage, "DrainInProgress", *numbers)


def uncordon(stage: Stage, *numbers: int) -> None:
    for number in numbers:
        stage.patch_node(f"web-{number}", {"spec": {"unschedulable": None}})


def holds(report: Any) -> dict[str, tuple[str, str]]:
    return {hold["rule"]: (hold["value"], hold["limit"]) for hold in report["holds"]}


def test_a_drain_takes_nodes_out_and_the_end_of_it_brings_them_back(fleet: Stage) -> None:
    """Out while it is drained, and in again once it is uncordoned, although its condition was never taken back."""
    drain(fleet, 1, 2)
    assert one_pass(fleet)["changes"] == []
    assert one_pass(fleet, HEEDING)["result"] == "no_changes"
    assert targets(fleet) == ALL - {1, 2}

    say(fleet, "DrainInProgress", 1, 2, status="False")
    say(fleet, "Drained", 1, 2)
    assert one_pass(fleet, HEEDING)["changes"] == []

    uncordon(fleet, 1, 2)
    assert one_pass(fleet, HEEDING)["result"] == "no_changes"
    assert targets(fleet) == ALL


def test_a_flag_that_is_lost_only_brings_targets_back(fleet: Stage) -> None:
    drain(fleet, 1, 2)
    one_pass(fleet, HEEDING)

    assert one_pass(fleet)["result"] == "no_changes"
    assert targets(fleet) == ALL


@pytest.mark.parametrize("kind", ["DrainInProgress", "Drained", "MaintenancePlanned", "MaintenanceInProgress"])
def test_who_may_only_write_the_status_takes_no_node_out(fleet: Stage, kind: str) -> None:
    """A drain counts on cordoned Nodes alone, and maintenance takes none out."""
    say(fleet, kind, *ALL)

    assert one_pass(fleet, HEEDING)["changes"] == []
    assert targets(fleet) == ALL


def test_a_drain_of_all_leaves_none_without_targets(fleet: Stage) -> None:
    """The last ones stay until a person approves, however they were announced."""
    drain(fleet, *ALL)

    report = one_pass(fleet, HEEDING)

    assert (report["result"], holds(report)) == ("refused", {"target-floor": ("0", "1")})
    assert targets(fleet) == ALL


def test_maintenance_of_most_does_not_lower_the_floor_of_targets(fleet: Stage) -> None:
    """Six of eight are excluded by mistake: that maintenance is announced for all of them excuses it no more than
    without."""
    say(fleet, "MaintenanceInProgress", *ALL)
    fleet.label(*(f"web-{number}" for number in range(1, 7)), labels={EXCLUDED: ""})

    report = one_pass(fleet, HEEDING)

    assert (report["result"], holds(report)) == ("refused", {"target-floor": ("2", "4")})
    assert targets(fleet) == ALL


EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"


def vanish(stage: Stage, *numbers: int) -> None:
    for number in numbers:
        stage.delete_server(number)
    stage.set_ready(*(f"web-{number}" for number in numbers), ready="Unknown", since=ago(minutes=5))


def test_maintenance_announces_the_loss_of_a_node(fleet: Stage) -> None:
    """Three servers go during their maintenance, which would be held otherwise."""
    vanish(fleet, 1, 2, 3)
    say(fleet, "MaintenanceInProgress", 1, 2, 3)
    assert holds(one_pass(fleet, ONCE_AT_ANY_AGE)) == {"node-blast-radius": ("3", "2")}

    report = one_pass(fleet, HEEDING | ONCE_AT_ANY_AGE)

    assert (report["result"], report["holds"]) == ("no_changes", [])
    assert sorted(fleet.nodes()) == [f"web-{number}" for number in range(4, 9)]


def test_maintenance_of_most_announces_no_loss(fleet: Stage) -> None:
    """A window for all Nodes says of none that it goes: six servers that vanish in it are held."""
    say(fleet, "MaintenancePlanned", *ALL)
    vanish(fleet, *range(1, 7))

    report = one_pass(fleet, HEEDING | ONCE_AT_ANY_AGE)

    assert holds(report)["node-blast-radius"] == ("6", "2")
    assert len(fleet.nodes()) == 8


def test_maintenance_of_nodes_that_live_deletes_nothing(fleet: Stage) -> None:
    """It hurries nothing: a Node whose server is there stays, Ready or not."""
    say(fleet, "MaintenanceInProgress", 1, 2)
    fleet.set_ready("web-1", "web-2", ready="Unknown", since=ago(minutes=5))

    assert one_pass(fleet, HEEDING | ONCE_AT_ANY_AGE)["changes"] == []
    assert (len(fleet.nodes()), targets(fleet)) == (8, ALL)
