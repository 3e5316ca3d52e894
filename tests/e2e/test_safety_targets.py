"""What serves goes on to serve while a load balancer moves, on a real API server: nothing that somebody has added is
lost by it, and nothing is emptied without a person's word."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.load_balancers.switch import trial_of
from desired.names import LABEL_RETURNING, LABEL_SWITCH
from tests.support.balancer_cluster import (
    IN_NETWORK,
    NETWORK,
    a_service,
    annotate,
    asked_of_hetzner,
    balancers,
    have_nodes,
    have_services,
    private_ip,
)
from tests.support.balancer_cluster import change_balancer as somebody_changes
from tests.support.in_process import ONCE, one_pass
from tests.support.stage import Stage

CLOUD = {"type": "cloud", "ip_range": "10.0.0.0/24", "network_zone": "eu-central"}
VSWITCH = {"type": "vswitch", "ip_range": "10.0.1.0/24", "network_zone": "eu-central", "vswitch_id": 1}
SHARED_NETWORK = {**NETWORK, "subnets": [CLOUD, VSWITCH]}
ROBOT: dict[str, Any] = {"type": "ip", "ip": {"ip": "10.0.1.77"}}
SELECTOR: dict[str, Any] = {
    "type": "label_selector",
    "label_selector": {"selector": "role in (edge, worker),!spare"},
    "use_private_ip": True,
}

DRY_RUN = {"--dry-run": "true"}


@pytest.fixture
def shared(a_stage: Callable[..., Stage]) -> Stage:
    """Three Nodes and a Service whose load balancer has got an address and a label selector by somebody else, both
    reached through the network. Hetzner drops what is reached so when the load balancer leaves."""
    stage = a_stage(action_s=0.0, private_targets_at_detachment="dropped")
    stage.environment |= IN_NETWORK
    have_nodes(stage, 3, networks=[SHARED_NETWORK])
    have_services(stage, a_service())
    one_pass(stage)
    somebody_changes(stage, targets=[*balancers(stage)[0]["targets"], ROBOT, SELECTOR])
    stage.forget()
    return stage


def targets(stage: Stage) -> set[str]:
    """What the only load balancer leads to."""
    names = []
    for found in balancers(stage)[0]["targets"]:
        private = " private" if found.get("use_private_ip") else ""
        value = next(iter(found[found["type"]].values()))
        names.append(f"{found['type']} {value}{private}")
    return set(names)


def private_address(stage: Stage) -> list[str]:
    """Of the only load balancer."""
    return [place["ip"] for place in balancers(stage)[0]["private_net"]]


def remembered(stage: Stage) -> list[str]:
    """The labels of the only load balancer that say what comes back."""
    return [key for key in balancers(stage)[0]["labels"] if key.startswith(LABEL_RETURNING)]


FOREIGN = {"ip 10.0.1.77", "label_selector role in (edge, worker),!spare private"}
PUBLIC = {f"server {number}" for number in (1, 2, 3)}
PRIVATE = {f"server {number} private" for number in (1, 2, 3)}


def test_a_move_in_the_network_gives_back_what_others_have_added(shared: Stage) -> None:
    """Another private address is another attachment, and everything private goes with the one before: the plan says
    what goes and comes back, and it does."""
    annotate(shared, private_ipv4="10.0.0.99")
    planned = {change["key"]: change for change in one_pass(shared, DRY_RUN)["changes"]}

    report = one_pass(shared)

    assert (report["result"], private_address(shared)) == ("no_changes", ["10.0.0.99"])
    assert (targets(shared), remembered(shared)) == (PUBLIC | FOREIGN, [])
    lb = "load_balancer/default/web"
    back = {f"{lb}/target/ip:10.0.1.77", f"{lb}/target/selector:role in (edge, worker),!spare"}
    assert planned.keys() == {f"{lb}/labels/returning", f"{lb}/network/7", *back, "service/default/web/status"}
    assert {planned[key]["class"] for key in back} == {"add"}
    assert one_pass(shared)["changes"] == []


def test_a_move_that_ends_half_way_forgets_nothing(shared: Stage) -> None:
    """The load balancer has left the network and does not get in again. The next run finds in its labels what it
    had."""
    annotate(shared, private_ipv4="10.0.0.99")
    shared.project.set_faults([{"kind": "action_fails", "command": "attach_to_network", "code": "x", "count": 2}])
    one_pass(shared)
    assert (private_address(shared), targets(shared)) == ([], PUBLIC)

    report = one_pass(shared)

    assert (report["result"], private_address(shared)) == ("no_changes", ["10.0.0.99"])
    assert (targets(shared), remembered(shared)) == (PUBLIC | FOREIGN, [])


def test_a_network_that_is_not_configured_any_more_costs_others_nothing(shared: Stage) -> None:
    """Their targets cannot be reached without it: that it is left is for a person to approve."""
    report = one_pass(shared, HCLOUD_NETWORK="")

    (hold,) = holds_of(report, "target-floor")
    assert (report["result"], targets(shared)) == ("refused", PUBLIC | FOREIGN)
    assert len(private_address(shared)) == 1

    one_pass(shared, ONCE | {"--approve": hold["hash"]}, HCLOUD_NETWORK="")
    assert (targets(shared), private_address(shared)) == (PUBLIC, [])


def test_a_move_that_empties_a_load_balancer_is_held(balanced: Stage) -> None:
    """All its Nodes are reached through the network that it leaves: nobody would be served until it is back. With
    approval it moves, and all of them are targets again."""
    have_services(balanced, a_service(use_private_ip="true"))
    one_pass(balanced)
    before = private_address(balanced)
    assert targets(balanced) == PRIVATE

    annotate(balanced, private_ipv4="10.0.0.99")
    report = one_pass(balanced)

    (hold,) = holds_of(report, "target-floor")
    assert (report["result"], hold["value"]) == ("refused", "0")
    assert (private_address(balanced), targets(balanced)) == (before, PRIVATE)

    approved = one_pass(balanced, ONCE | {"--approve": hold["hash"]})
    assert (approved["result"], private_address(balanced)) == ("no_changes", ["10.0.0.99"])
    assert targets(balanced) == PRIVATE


def test_a_move_of_what_serves_nobody_is_not_held(balanced: Stage) -> None:
    """Where nothing answers there is nothing to lose."""
    have_services(balanced, a_service(use_private_ip="true"))
    one_pass(balanced)
    world = balanced.project.world()["hetzner"]
    off = [found | {"status": "off"} for found in world["servers"]]
    unsaid = [target | {"health_status": []} for target in balancers(balanced)[0]["targets"]]
    balanced.project.replace_world(world | {"servers": off})
    somebody_changes(balanced, targets=unsaid)

    annotate(balanced, private_ipv4="10.0.0.99")
    report = one_pass(balanced)

    assert (report["holds"], private_address(balanced), targets(balanced)) == ([], ["10.0.0.99"], PRIVATE)


NO_ANSWER = {"kind": "no_answer", "ranges": ["10.0.0.0/16"]}
"""A firewall drops what comes to the servers through the network."""
LIMIT = timedelta(seconds=(3 + 2) * 15 + 10)
"""Two health checks more than a listener is set to need, as the API sets it."""


def time_passes(stage: Stage, how_much: timedelta) -> None:
    """What the label of the only load balancer says was so much longer ago."""
    labels = dict(balancers(stage)[0]["labels"])
    trial = trial_of(labels)
    assert trial is not None
    somebody_changes(stage, labels=labels | {LABEL_SWITCH: str(replace(trial, since=trial.since - how_much))})


def switch(stage: Stage) -> str | None:
    """What the label of the only load balancer says of a switch."""
    label: str | None = balancers(stage)[0]["labels"].get(LABEL_SWITCH)
    return label


def holds_of(report: Mapping[str, Any], rule: str) -> list[Any]:
    """The holds of one rule."""
    return [hold for hold in report["holds"] if hold["rule"] == rule]


def test_one_target_goes_first_and_back_when_a_firewall_drops_it(balanced: Stage) -> None:
    """Public to private addresses, behind a firewall: one target is switched, does not answer in time, and goes back.
    The others never stopped to serve; they are held, and an approval switches all of them."""
    have_services(balanced, a_service())
    one_pass(balanced)
    balanced.project.set_faults([NO_ANSWER])
    annotate(balanced, use_private_ip="true", disable_public_network="true")

    first = one_pass(balanced)
    assert targets(balanced) == {"server 1 private", "server 2", "server 3"}
    assert (first["result"], first["summary"]["waiting"]) == ("changes", 3)
    early = one_pass(balanced)
    assert (early["result"], targets(balanced)) == ("changes", {"server 1 private", "server 2", "server 3"})

    time_passes(balanced, LIMIT)
    failed = one_pass(balanced)
    (hold,) = holds_of(failed, "target-health")
    assert (failed["result"], targets(balanced)) == ("refused", PUBLIC)
    assert "firewalls" in hold["why"]

    balanced.forget()
    again = one_pass(balanced)
    assert (holds_of(again, "target-health")[0]["hash"], asked_of_hetzner(balanced)) == (hold["hash"], [])
    assert (targets(balanced), balancers(balanced)[0]["public_net"]["enabled"]) == (PUBLIC, True)

    approved = one_pass(balanced, ONCE | {"--approve": hold["hash"]})
    assert (approved["result"], targets(balanced), switch(balanced)) == ("no_changes", PRIVATE, None)


def test_targets_follow_in_batches_that_double(a_stage: Callable[..., Stage]) -> None:
    """One, two, four: each batch only once the load balancer has reported the one before it healthy, and a run that
    begins anew finds out how far it is."""
    stage = a_stage(action_s=0.0)
    stage.environment |= IN_NETWORK
    have_nodes(stage, 8)
    have_services(stage, a_service())
    one_pass(stage)
    annotate(stage, use_private_ip="true")

    switched = []
    for _ in range(4):
        private = {target for target in targets(stage) if target.endswith(" private")}
        late = [private_ip(number) for number in range(1, 9) if f"server {number} private" not in private]
        stage.project.clear_faults()
        stage.project.set_faults([NO_ANSWER | {"ranges": late, "status": "unknown"}])
        one_pass(stage)
        switched.append(sum(target.endswith(" private") for target in targets(stage)))
        assert one_pass(stage)["summary"]["applied"] == 0

    stage.project.clear_faults()
    assert switched == [1, 3, 7, 8]
    assert (one_pass(stage)["result"], switch(stage)) == ("no_changes", None)


def test_what_nobody_was_served_by_is_switched_at_once(balanced: Stage) -> None:
    """Nothing answered before: there is nothing that could be looked at, and nothing to lose."""
    have_services(balanced, a_service())
    one_pass(balanced)
    balanced.project.set_faults([{"kind": "no_answer", "ranges": ["0.0.0.0/0"]}])
    annotate(balanced, use_private_ip="true")

    assert (one_pass(balanced)["result"], targets(balanced)) == ("no_changes", PRIVATE)


def test_a_port_that_never_answers_sends_no_target_ahead(balanced: Stage) -> None:
    """One of two ports answers nobody: what the other one serves is switched with the same care, and goes back."""
    nobody = {"kind": "no_answer", "ranges": ["0.0.0.0/0"], "ports": [9090]}
    have_services(balanced, a_service("web", 80, 9090))
    balanced.project.set_faults([nobody, NO_ANSWER])
    one_pass(balanced)
    annotate(balanced, use_private_ip="true")

    one_pass(balanced)
    assert targets(balanced) == {"server 1 private", "server 2", "server 3"}
    time_passes(balanced, LIMIT)
    assert (one_pass(balanced)["result"], targets(balanced)) == ("refused", PUBLIC)


def test_an_edited_health_check_sends_no_target_ahead(balanced: Stage) -> None:
    """Nothing is known of any target for a while: none is switched until it is, and then one goes first."""
    have_services(balanced, a_service())
    one_pass(balanced)
    balanced.project.set_faults([{"kind": "no_answer", "ranges": ["0.0.0.0/0"], "status": "unknown"}])
    annotate(balanced, use_private_ip="true")

    one_pass(balanced)
    assert (one_pass(balanced)["summary"]["waiting"], targets(balanced)) == (3, PUBLIC)
    balanced.project.clear_faults()
    balanced.project.set_faults([NO_ANSWER])
    one_pass(balanced)
    assert targets(balanced) == {"server 1 private", "server 2", "server 3"}
