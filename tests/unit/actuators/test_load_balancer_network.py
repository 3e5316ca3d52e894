"""The place of a load balancer in a private network: attaching, leaving, and another address in the same one."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from actuators.http.errors import Conflict, Invalid, NotFound, Transient
from desired.model.load_balancer import Attachment, CloudBalancer, IpTarget, SelectorTarget, ServerTarget, Target
from desired.plan.change import Change
from desired.section import Section
from tests.balancers import DEFAULT_NAME, a_balancer
from tests.support.balancer_changes import a_part
from tests.support.balancer_stage import LB, NETWORK_ID, Stage, a_stage
from tests.support.rows import rows
from tests.support.simulators import Simulate

WHY = "a test wants it"
ANYWHERE = Attachment(NETWORK_ID)
HERE = Attachment(NETWORK_ID, IPv4Address("10.7.0.2"))
THERE = Attachment(NETWORK_ID, IPv4Address("10.7.0.200"))
OTHER = Attachment(8, IPv4Address("10.8.0.2"))
PUBLIC = ServerTarget(1, use_private_ip=False)
PRIVATE = ServerTarget(2, use_private_ip=True)
SELECTED = SelectorTarget("role=worker", use_private_ip=True)
VSWITCH = IpTarget("10.7.1.77")


def change(before: Attachment | None, after: Attachment | None) -> Change:
    some = after or before
    assert some is not None
    return a_part(f"network/{some.network_id}", before, after, WHY)


JOIN, LEAVE, MOVE = change(None, ANYWHERE), change(HERE, None), change(HERE, THERE)


def balancer(*places: Attachment, targets: tuple[Target, ...] = (PUBLIC,)) -> CloudBalancer:
    return a_balancer(attachments=places, targets=targets)


def places(stage: Stage) -> list[tuple[int, str]]:
    """The networks that the load balancer is in, with its addresses."""
    return [(entry["network"], entry["ip"]) for entry in stage.balancer()["private_net"]]


@rows(
    "place body",
    {
        "any address": (ANYWHERE, {}),
        "an address": (THERE, {"ip": "10.7.0.200"}),
        "a subnet": (Attachment(NETWORK_ID, ip_range=IPv4Network("10.7.0.0/24")), {"ip_range": "10.7.0.0/24"}),
        "both": (
            Attachment(NETWORK_ID, IPv4Address("10.7.0.9"), IPv4Network("10.7.0.0/24")),
            {"ip": "10.7.0.9", "ip_range": "10.7.0.0/24"},
        ),
    },
)
def test_attachment(simulate: Simulate, place: Attachment, body: dict[str, str]) -> None:
    stage = a_stage(simulate, balancer())
    stage.carry_out(change(None, place))
    assert stage.acted() == [("attach_to_network", {"network": NETWORK_ID, **body})]
    ((network, ip),) = places(stage)
    assert network == NETWORK_ID
    assert ip == body.get("ip", ip)
    assert stage.polls() == 1


@rows(
    "present wanted after sent",
    {
        "leaves": (HERE, LEAVE, None, ["look", "detach_from_network"]),
        "moves": (HERE, MOVE, THERE, ["look", "detach_from_network", "look", "attach_to_network"]),
        "is in it already": (HERE, JOIN, HERE, ["attach_to_network", "look"]),
        "has the address already": (THERE, change(None, THERE), THERE, ["attach_to_network", "look"]),
        "has left already": (None, LEAVE, None, ["look", "detach_from_network", "look"]),
        "has left, and comes back": (
            None,
            MOVE,
            THERE,
            ["look", "detach_from_network", "look", "look", "attach_to_network"],
        ),
    },
)
def test_attachments_without_private_targets(
    simulate: Simulate, present: Attachment | None, wanted: Change, after: Attachment | None, sent: list[str]
) -> None:
    """It leaves, is seen out, and comes back; where somebody was faster that is done."""
    stage = a_stage(simulate, balancer(*([present] if present else [])))
    stage.carry_out(wanted)
    assert places(stage) == ([(after.network_id, str(after.ip))] if after else [])
    assert stage.targets() == {PUBLIC}
    assert ["look" if method == "GET" else path.rpartition("/")[2] for method, path, _ in stage.sent()] == sent


@rows(
    "stay go",
    {
        "others have added a selector and an address": ((PUBLIC,), (SELECTED, VSWITCH, PRIVATE)),
        "a server by both addresses": ((replace(PRIVATE, use_private_ip=False),), (PRIVATE,)),
        "public addresses": ((IpTarget("198.51.100.7"), IpTarget("2001:db8::7")), (IpTarget("10.7.0.77"),)),
    },
)
@pytest.mark.parametrize("wanted", [LEAVE, MOVE])
def test_private_targets_go_first(
    simulate: Simulate, wanted: Change, stay: tuple[Target, ...], go: tuple[Target, ...]
) -> None:
    """Whoever added them: else the load balancer could not leave."""
    options: dict[str, Any] = {"server_as_two_targets": "accepted", "private_targets_at_detachment": "refused"}
    stage = a_stage(simulate, balancer(HERE, targets=(*stay, *go)), **options)
    stage.carry_out(wanted)
    assert stage.targets() == set(stay)


@pytest.mark.parametrize("wanted", [LEAVE, MOVE])
@pytest.mark.parametrize("news", [SELECTED, VSWITCH, PRIVATE])
def test_a_target_that_came_meanwhile(simulate: Simulate, wanted: Change, news: Target) -> None:
    """Nobody was told that it goes: nothing is done, and the next plan shows it."""
    stage = a_stage(simulate, balancer(HERE, targets=(PUBLIC, news)))
    stage.snapshot = replace(stage.snapshot, load_balancers=Section({42: balancer(HERE)}))
    with pytest.raises(Conflict, match="as a target, which would be lost"):
        stage.carry_out(wanted)
    assert stage.acted() == []
    assert stage.targets() == {PUBLIC, news}


def test_a_detachment_that_is_seen_late(simulate: Simulate) -> None:
    """Even after the action reads have shown the attachment for a while: it is waited for that to pass."""
    stage = a_stage(simulate, balancer(HERE))
    stage.sim.hetzner.set_faults([{"kind": "visible_late", "seconds": 3.0}])
    stage.carry_out(MOVE)
    assert places(stage) == [(NETWORK_ID, "10.7.0.200")]
    looks = sum(method == "GET" for method, _, _ in stage.sent())
    assert 3 <= looks <= 8


def test_a_detachment_that_is_never_seen(simulate: Simulate) -> None:
    stage = a_stage(simulate, balancer(HERE))
    stage.sim.hetzner.set_faults([{"kind": "visible_late", "seconds": 300.0}])
    with pytest.raises(Transient, match=r"^detachment of load balancer 42 .* from network 7: not confirmed"):
        stage.carry_out(MOVE)
    assert [action for action, _ in stage.acted()] == ["detach_from_network"]


@rows("present wanted", {"in another network": (OTHER, ANYWHERE), "at another address": (HERE, THERE)})
def test_it_is_elsewhere(simulate: Simulate, present: Attachment, wanted: Attachment) -> None:
    """It can be in one network only, and why it is in that one is for the next plan to find out."""
    stage = a_stage(simulate, balancer(present))
    with pytest.raises(Conflict, match="is now in another network, or has another address there"):
        stage.carry_out(change(None, wanted))
    assert places(stage) == [(present.network_id, str(present.ip))]


def test_a_detachment_that_is_said_to_be_none(simulate: Simulate) -> None:
    """When it is seen to be attached all the same, what is missing is something else."""
    stage = a_stage(simulate, balancer(HERE))
    refusal = {"error": {"code": "not_found", "message": "network with ID '7' not found"}}
    stage.sim.spoil_hetzner("status", method="POST", code=404, body=refusal)
    with pytest.raises(NotFound, match="network with ID '7' not found"):
        stage.carry_out(LEAVE)


TAKEN = change(HERE, Attachment(NETWORK_ID, IPv4Address("10.7.0.11")))


def test_no_way_back(simulate: Simulate, caplog: pytest.LogCaptureFixture) -> None:
    stage = a_stage(simulate, balancer(HERE, targets=(PUBLIC, PRIVATE)))
    stage.sim.hetzner.set_faults([{"kind": "action_fails", "command": "attach_to_network", "code": "x", "count": 2}])
    with pytest.raises(Invalid, match="the action attach_to_network failed"):
        stage.carry_out(MOVE)
    assert places(stage) == []
    assert f"load balancer 42 {DEFAULT_NAME} is not in network 7 for now: attachment of" in caplog.text


def test_a_target_that_does_not_come_back(simulate: Simulate, caplog: pytest.LogCaptureFixture) -> None:
    targets = (PRIVATE, ServerTarget(3, use_private_ip=True))
    stage = a_stage(simulate, balancer(HERE, targets=targets))
    stage.sim.hetzner.set_faults([{"kind": "action_fails", "command": "add_target", "code": "x"}])
    with pytest.raises(Invalid, match="ip_not_available"):
        stage.carry_out(TAKEN)
    assert places(stage) == [(NETWORK_ID, "10.7.0.2")]
    assert len(stage.targets()) == 1
    assert f"is no target of load balancer 42 {DEFAULT_NAME} for now" in caplog.text


def test_an_attachment_that_is_not_seen_yet(simulate: Simulate) -> None:
    """Reads lag behind: that is what is said, and not that it is elsewhere."""
    stage = a_stage(simulate, balancer())
    refusal = {"error": {"code": "load_balancer_already_attached", "message": "no"}}
    stage.sim.spoil_hetzner("status", method="POST", code=422, body=refusal)
    with pytest.raises(
        Conflict, match=r"^load balancer 42 .*: Hetzner reports it as attached, but it is not visible yet$"
    ):
        stage.carry_out(JOIN)


REFUSED = {"kind": "status", "code": 422, "body": {"error": {"code": "invalid_input", "message": "no"}}}


@rows(
    "wanted action trouble",
    {
        "it is not attached once more": (MOVE, "attach_to_network", {"kind": "reset"}),
        "nor where it was": (MOVE, "attach_to_network", REFUSED),
        "nor is a target put back": (LEAVE, "detach_from_network", REFUSED),
    },
)
def test_a_move_goes_no_further_with_a_lost_load_balancer(
    simulate: Simulate, wanted: Change, action: str, trouble: dict[str, Any]
) -> None:
    """Somebody takes the load balancer over just before an action that goes wrong."""
    stage = a_stage(simulate, balancer(HERE, targets=(PUBLIC, PRIVATE)))
    stage.sim.spoil_hetzner(method="POST", path=f"/v1{LB}/actions/{action}", **trouble)
    stage.take_over_before(action)
    with pytest.raises((Conflict, Invalid)):
        stage.carry_out(wanted)

    assert [name for name, _ in stage.acted()][-1] == action
    assert stage.targets() == {PUBLIC}
