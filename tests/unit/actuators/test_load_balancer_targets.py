"""Targets of a load balancer: adding, removing, and reaching a server by its other address."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv6Network
from typing import Any

import pytest

from actuators.http.errors import Conflict, Invalid, Outdated, Transient
from desired.model.load_balancer import Attachment, CloudBalancer, IpTarget, SelectorTarget, ServerTarget, Target
from desired.plan.change import Change
from tests.balancers import a_balancer
from tests.support.balancer_changes import a_part
from tests.support.balancer_stage import LB, NETWORK_ID, Stage, a_member, a_stage
from tests.support.rows import rows
from tests.support.simulators import Simulate

IPV6 = "2001:db8:2::1"
WHY = "a test wants it"
PLACE = Attachment(NETWORK_ID, IPv4Address("10.7.0.2"))
DEDICATED = IpTarget("198.51.100.7")
NO_TARGET = {"error": {"code": "resolve_cloud_private_targets_error", "message": "server has left the network"}}


def public(number: int) -> ServerTarget:
    return ServerTarget(number, use_private_ip=False)


def private(number: int) -> ServerTarget:
    return ServerTarget(number, use_private_ip=True)


def change(before: Target | None, after: Target | None) -> Change:
    some = after or before
    assert some is not None
    return a_part(f"target/{some.name}", before, after, WHY)


def balancer(*targets: Target) -> CloudBalancer:
    return a_balancer(attachments=(PLACE,), targets=targets)


def actions(stage: Stage) -> list[str]:
    """What was asked of the targets: ``add private``, ``remove 10.7.0.11``, ``remove`` without an address."""
    asked = []
    for action, body in stage.acted():
        how = (
            body.get("server", {}).get("ip") or {True: "private", False: "public", None: ""}[body.get("use_private_ip")]
        )
        asked.append(f"{action.removesuffix('_target')} {how}".strip())
    return asked


def body(*, private: bool, **named: str) -> dict[str, Any]:
    return {"type": "server", "server": {"id": 2, **named}, "use_private_ip": private}


@rows(
    "target sent",
    {
        "public": (public(2), body(private=False)),
        "public by IPv6": (replace(public(2), ipv6=IPV6), body(private=False, ip=IPV6)),
        "private": (private(2), body(private=True)),
        "private, and without IPv4": (replace(private(2), ipv6=IPV6), body(private=True)),
        "a dedicated server": (DEDICATED, {"type": "ip", "ip": {"ip": "198.51.100.7"}}),
    },
)
def test_addition_and_removal(simulate: Simulate, target: Target, sent: dict[str, Any]) -> None:
    """By which kind of address a server is reached is always said. It is removed by an IPv6 address that it has, and
    else whatever the address is."""
    servers = [a_member(number, ipv6=IPv6Network(f"2001:db8:{number}::/64")) for number in (1, 2)]
    stage = a_stage(simulate, balancer(public(1)), servers=servers)
    stage.carry_out(change(None, target))
    assert stage.targets() == {public(1), target}
    stage.carry_out(change(target, None))
    assert stage.targets() == {public(1)}
    named = {name: value for name, value in sent.items() if name != "use_private_ip"}
    assert stage.acted() == [("add_target", sent), ("remove_target", named)]
    assert stage.polls() == 2


@pytest.mark.parametrize("target", [public(1), DEDICATED])
def test_a_target_that_is_there_is_added(simulate: Simulate, target: Target) -> None:
    stage = a_stage(simulate, balancer(target))
    stage.carry_out(change(None, target))
    assert stage.targets() == {target}
    assert stage.polls() == 0


@pytest.mark.parametrize("target", [public(1), DEDICATED])
@pytest.mark.parametrize("is_found_out_late", [False, True])
def test_a_target_that_is_gone_is_removed(simulate: Simulate, target: Target, *, is_found_out_late: bool) -> None:
    stage = a_stage(simulate, balancer(*([target] if is_found_out_late else [])))
    if is_found_out_late:
        stage.sim.hetzner.set_faults([{"kind": "action_fails", "code": "not_found"}])
    stage.carry_out(change(target, None))
    assert len(stage.acted()) == 1


BAD_INPUT = {"error": {"code": "invalid_input", "message": "cloud target was not found"}}


@pytest.mark.parametrize("how", ["refused", "found out late", "404"])
def test_a_server_that_is_gone_is_no_target_and_no_failure(simulate: Simulate, how: str) -> None:
    """It went after the list was read, which the next list settles. Hetzner's code for it is that of any bad
    input, so that a look at the server decides."""
    stage = a_stage(simulate, balancer(public(1)))
    stage.sim.delete_server(2)
    if how != "found out late":
        missing = {"error": {"code": "not_found", "message": "server not found"}}
        code, body = (404, missing) if how == "404" else (422, BAD_INPUT)
        stage.sim.spoil_hetzner("status", method="POST", code=code, body=body)

    with pytest.raises(Outdated, match=r"^server 2 is gone, and is no target of load balancer 42 "):
        stage.carry_out(change(None, public(2)))

    assert stage.targets() == {public(1)}
    assert [path for method, path, _ in stage.sent() if method == "GET"] == ["/servers/2"]


@pytest.mark.parametrize("look", [{}, {"kind": "status", "code": 503}], ids=["it is there", "that is not known"])
def test_bad_input_about_a_server_that_is_not_gone_is_a_failure(simulate: Simulate, look: dict[str, Any]) -> None:
    """Nothing else would make that known."""
    stage = a_stage(simulate, balancer(public(1)))
    stage.sim.spoil_hetzner("status", method="POST", code=422, body=BAD_INPUT)
    if look:
        stage.sim.spoil_hetzner(method="GET", path="/v1/servers/2$", count=None, **look)

    with pytest.raises(Invalid, match="cloud target was not found"):
        stage.carry_out(change(None, public(2)))


@pytest.mark.parametrize("target", [public(1), DEDICATED])
def test_bad_input_about_a_target_that_is_gone_is_its_removal(simulate: Simulate, target: Target) -> None:
    """A server takes its targets along, and what the API calls that is not documented: a look decides."""
    stage = a_stage(simulate, balancer(public(2)))
    stage.sim.spoil_hetzner("status", method="POST", code=422, body=BAD_INPUT)

    stage.carry_out(change(target, None))

    assert stage.targets() == {public(2)}


def test_bad_input_about_a_target_that_stays_is_a_failure(simulate: Simulate) -> None:
    stage = a_stage(simulate, balancer(public(1), public(2)))
    stage.sim.spoil_hetzner("status", method="POST", code=422, body=BAD_INPUT)

    with pytest.raises(Invalid, match="cloud target was not found"):
        stage.carry_out(change(public(1), None))


@rows(
    "others trouble asked",
    {
        "the new address, once more": ((public(2),), {"kind": "reset"}, ["remove", "add private"]),
        "the old one, put back": (
            (public(2),),
            {"kind": "status", "code": 422, "body": NO_TARGET},
            ["remove", "add private"],
        ),
        "the new one beside the only target, once more": ((), {"kind": "reset"}, ["add private"]),
    },
)
def test_an_exchange_goes_no_further_on_a_lost_load_balancer(
    simulate: Simulate, others: tuple[Target, ...], trouble: dict[str, Any], asked: list[str]
) -> None:
    """Whatever is sent after an unclear answer, or to put back what was removed, comes after a look at whose it is: it
    is taken over right before the new address is added."""
    stage = a_stage(simulate, balancer(public(1), *others))
    stage.take_over_before("add_target")
    stage.sim.spoil_hetzner(method="POST", path=f"/v1{LB}/actions/add", **trouble)
    with pytest.raises((Conflict, Invalid)):
        stage.carry_out(change(public(1), private(1)))
    assert actions(stage) == asked


OLD, NEW, OTHER = public(1), private(1), public(2)


@rows(
    "planned now before after twins asked",
    {
        "among others": ([OLD, OTHER], None, OLD, NEW, "refused", ["remove", "add private"]),
        "among others, to the public one": ([NEW, OTHER], None, NEW, OLD, "refused", ["remove", "add public"]),
        "among others, where both may be": ([OLD, OTHER], None, OLD, NEW, "accepted", ["remove", "add private"]),
        "the only one, beside the old": ([OLD], None, OLD, NEW, "accepted", ["add private", "remove 203.0.113.1"]),
        "the only one, to the public": ([NEW], None, NEW, OLD, "accepted", ["add public", "remove 10.7.0.11"]),
        "the only one, in its place": ([OLD], None, OLD, NEW, "refused", ["add private", "remove", "add private"]),
        "the only public one": ([NEW], None, NEW, OLD, "refused", ["add public", "remove", "add public"]),
        "both are there": ([OLD, NEW, OTHER], None, OLD, NEW, "accepted", ["remove 203.0.113.1"]),
        "both, to the public": ([NEW, OLD, OTHER], None, NEW, OLD, "accepted", ["remove 10.7.0.11"]),
        "one of two goes": ([OLD, NEW], None, OLD, None, "accepted", ["remove 203.0.113.1"]),
        "the private of two goes": ([OLD, NEW], None, NEW, None, "accepted", ["remove 10.7.0.11"]),
        "was made meanwhile": ([OLD, OTHER], [NEW, OTHER], OLD, NEW, "accepted", []),
        "of the only one left": ([OLD, OTHER], [OLD], OLD, NEW, "accepted", ["add private", "remove 203.0.113.1"]),
        "of one of two by now": ([OLD], [OLD, OTHER], OLD, NEW, "accepted", ["remove", "add private"]),
        "the old one has gone": ([OLD, OTHER], [OTHER], OLD, NEW, "accepted", ["add private"]),
        "the new one has gone": ([OLD, NEW, OTHER], [OLD, OTHER], OLD, NEW, "accepted", ["remove", "add private"]),
    },
)
def test_the_other_address(
    simulate: Simulate,
    planned: list[ServerTarget],
    now: list[ServerTarget] | None,
    before: ServerTarget,
    after: ServerTarget | None,
    twins: str,
    asked: list[str],
) -> None:
    """Among others a server is removed and added again: whether it may be two targets need not be known. The only one
    does not go before its successor is there, where that can be. Where others were faster than the plan, what is there
    decides: a removal names the server alone, so that it would take away what another process has just added."""
    stage = a_stage(simulate, balancer(*planned), server_as_two_targets=twins)
    there = planned if now is None else now
    if now is not None:
        found = [
            {"type": "server", "server": {"id": each.server_id}, "use_private_ip": each.use_private_ip} for each in now
        ]
        stage.change_balancer(targets=found)
    stage.carry_out(change(before, after))
    assert actions(stage) == asked
    assert stage.targets() == {*there} - {before} | ({after} if after else set())


@rows("server", {"without an address by now": a_member(1, ipv4=None), "that is gone": a_member(9)})
def test_an_old_address_that_is_not_known(simulate: Simulate, server: Any) -> None:
    stage = a_stage(simulate, balancer(public(1), private(1)), server_as_two_targets="accepted")
    servers = {server.id: server}
    stage.snapshot = replace(stage.snapshot, servers=replace(stage.snapshot.servers, items=servers))
    stage.carry_out(change(public(1), private(1)))
    assert stage.targets() == {private(1)}
    assert actions(stage) == ["remove", "add private"]


@pytest.mark.parametrize("twins", ["accepted", "refused"])
def test_a_new_address_of_the_only_target_that_is_refused(simulate: Simulate, twins: str) -> None:
    servers = [a_member(1, private_ips=())]
    stage = a_stage(simulate, balancer(public(1)), servers=servers, server_as_two_targets=twins)
    with pytest.raises(Invalid, match="resolve_cloud_private_targets_error"):
        stage.carry_out(change(public(1), private(1)))
    assert stage.targets() == {public(1)}
    assert actions(stage) == ["add private"]


def test_a_new_address_of_which_nothing_is_known(simulate: Simulate) -> None:
    """It may have been added, so that the old one is not put back: that is for the next look at it."""
    stage = a_stage(simulate, balancer(public(1), public(2)))
    stage.sim.spoil_hetzner("status", method="POST", path=f"/v1{LB}/actions/add", code=500, body="<html>", count=None)
    with pytest.raises(Transient):
        stage.carry_out(change(public(1), private(1)))
    assert actions(stage) == ["remove", "add private", "add private"]


SELECTED = SelectorTarget("role=worker", use_private_ip=True)


def test_a_label_selector_that_comes_back(simulate: Simulate) -> None:
    """After a move in the network, by the addresses that it asked for; and it goes for one that it cannot follow."""
    stage = a_stage(simulate, balancer(public(1)))
    stage.carry_out(replace(change(public(1), private(1)), before=None, after=SELECTED))
    assert stage.targets() == {public(1), SELECTED}
    stage.carry_out(replace(change(public(1), private(1)), before=SELECTED, after=None))
    assert stage.targets() == {public(1)}
