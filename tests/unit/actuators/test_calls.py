"""A change that takes several writes begins with room for all of them, or not at all, and is never cut between them."""

from contextlib import suppress
from ipaddress import IPv4Address
from typing import Any

import pytest

from actuators.calls import calls_of, within_budget
from actuators.http.call_budget import CallBudget
from actuators.http.errors import Invalid, OverBudget
from desired.model.load_balancer import Attachment, IpTarget, ServerTarget
from desired.plan.change import Change
from desired.plan.kinds import Verb
from tests.balancers import a_balancer
from tests.builders import a_change
from tests.support.balancer_changes import CLAIM, a_creation, a_part
from tests.support.balancer_stage import NETWORK_ID, Stage, a_member, a_stage
from tests.support.rows import rows
from tests.support.simulators import Simulate

WHY = "a test wants it"
HERE, THERE, TAKEN = (Attachment(NETWORK_ID, IPv4Address(f"10.7.0.{end}")) for end in (2, 200, 11))
MEMBERS = tuple(ServerTarget(number, use_private_ip=True) for number in range(1, 9))
MOVE, REFUSED_MOVE = (a_part(f"network/{NETWORK_ID}", HERE, place, WHY) for place in (THERE, TAKEN))
LEAVE = a_part(f"network/{NETWORK_ID}", HERE, None, WHY)
SWITCH = a_part("target/server/1", MEMBERS[0], ServerTarget(1, use_private_ip=False), WHY)
SWAP = a_part("target/db-1", IpTarget("10.7.1.77"), IpTarget("198.51.100.7"), WHY)

REPLACE = a_change(f"route/{NETWORK_ID}/10.244.1.0/24", "route.replace", verb=Verb.MODIFY, cloud_id=NETWORK_ID)
INVALID = {"error": {"code": "invalid_input", "message": "no"}}


def a_private_stage(simulate: Simulate, **options: Any) -> Stage:
    """A load balancer in the network, which reaches eight servers through it."""
    servers = [a_member(target.server_id) for target in MEMBERS]
    return a_stage(simulate, a_balancer(attachments=(HERE,), targets=MEMBERS), servers=servers, **options)


def carry_out(stage: Stage, change: Change, budget: CallBudget) -> None:
    """What a controller does that has this budget."""
    for client in (stage.writers.reader, stage.writers.writer):
        client._connection.budget = budget
    actuators = {str(change.kind): lambda change, _snapshot: stage.carry_out(change)}
    within_budget(actuators, budget.begin_change)[change.kind](change, stage.snapshot)


def a_budget(left: int, allowance: int = 3600) -> CallBudget:
    """One of which so many calls are left, and nothing flows in."""
    budget = CallBudget(clock=lambda: 0.0)
    budget.allow(allowance)
    while budget.left() >= left + 1:
        budget.spend()
    return budget


@pytest.mark.parametrize("left", [5, 6, 8, 12, 383])
def test_a_move_is_not_cut_by_the_budget(simulate: Simulate, left: int) -> None:
    stage = a_private_stage(simulate)
    with pytest.raises(OverBudget):
        carry_out(stage, MOVE, a_budget(left))
    assert stage.sent() == []
    assert stage.targets() == frozenset(MEMBERS)


def test_a_move_that_has_room(simulate: Simulate) -> None:
    stage, budget = a_private_stage(simulate), a_budget(384)
    carry_out(stage, MOVE, budget)
    assert stage.balancer()["private_net"] == [{"network": NETWORK_ID, "ip": str(THERE.ip)}]
    assert budget.left() == pytest.approx(384 - len(stage.sent()) - stage.polls(), abs=1)


def test_putting_back_goes_on_with_nothing_left(simulate: Simulate) -> None:
    """The small bucket is used up before the last target is back: the rest is overdrawn, and the next call waits."""
    stage, budget = a_private_stage(simulate, rate_limit=240), a_budget(39, 240)
    with pytest.raises(Invalid, match="ip_not_available"):
        carry_out(stage, REFUSED_MOVE, budget)
    assert len(stage.sent()) + stage.polls() > 40
    assert stage.targets() == frozenset(MEMBERS)
    with pytest.raises(OverBudget) as caught:
        budget.spend()
    assert caught.value.retry_after_s > 60


@rows(
    "change",
    {
        "a move": MOVE,
        "a move that is refused": REFUSED_MOVE,
        "a departure": LEAVE,
        "another address of a server": SWITCH,
    },
)
@pytest.mark.parametrize("refused", ["", "attach_to_network", "detach_from_network", "add_target"])
def test_a_change_takes_no_more_than_it_says(simulate: Simulate, change: Change, refused: str) -> None:
    stage = a_private_stage(simulate)
    if refused:
        stage.sim.hetzner.set_faults([{"kind": "action_fails", "command": refused, "code": "x"}])
    with suppress(Invalid):
        stage.carry_out(change)
    assert 0 < len(stage.sent()) + stage.polls() <= calls_of(change, stage.snapshot)


@pytest.mark.parametrize("refusals", [1, 2, 3])
def test_a_creation_takes_no_more_than_it_says(simulate: Simulate, refusals: int) -> None:
    stage = a_stage(simulate)
    stage.sim.spoil_hetzner("status", method="POST", path="/v1/load_balancers$", code=422, body=INVALID, count=refusals)
    with suppress(Invalid):
        stage.carry_out(a_creation())
    assert [path for path, _ in stage.acted()] == ["load_balancers"] * min(refusals + 1, 3)
    assert len(stage.sent()) + stage.polls() <= calls_of(a_creation(), stage.snapshot)


@rows(
    "change calls",
    {
        "a move: three writes, and two for each target": (MOVE, 95),
        "a departure: one, and two for each": (LEAVE, 85),
        "an arrival: one": (a_part(f"network/{NETWORK_ID}", None, HERE, WHY), 5),
        "another address of a server: removed, added, put back": (SWITCH, 15),
        "another address: the same": (SWAP, 15),
        "one more target": (a_part("target/server/1", None, MEMBERS[0], WHY), 5),
        "one target less": (a_part("target/server/1", MEMBERS[0], None, WHY), 5),
        "another gateway: the same": (REPLACE, 15),
        "of a Service: none to Hetzner": (CLAIM, 0),
        "a creation: once more without each of network, targets and ports": (a_creation(), 20),
    },
)
def test_calls_of_changes(simulate: Simulate, change: Change, calls: int) -> None:
    """Five for each write."""
    assert calls_of(change, a_private_stage(simulate).snapshot) == calls
