"""What serves goes on to serve while a load balancer moves, on a real API server: nothing that somebody has added is
lost by it, and nothing is emptied without a person's word."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.support.in_process import ONCE, one_pass
from tests.support.objects import IN_NETWORK, NETWORK, a_service, private_ip
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
    stage.have_nodes(3, networks=[SHARED_NETWORK])
    stage.have_services(a_service())
    one_pass(stage)
    stage.change_balancer(targets=[*stage.balancers()[0]["targets"], ROBOT, SELECTOR])
    stage.forget()
    return stage


def targets(stage: Stage) -> set[str]:
    """What the only load balancer leads to."""
    names = []
    for found in stage.balancers()[0]["targets"]:
        private = " private" if found.get("use_private_ip") else ""
        value = next(iter(found[found["type"]].values()))
        names.append(f"{found['type']} {value}{private}")
    return set(names)


def private_address(stage: Stage) -> list[str]:
    """Of the only load balancer."""
    return [place["ip"] for place in stage.balancers()[0]["private_net"]]


FOREIGN = {"ip 10.0.1.77", "label_selector role in (edge, worker),!spare private"}
PUBLIC = {f"server {number}" for number in (1, 2, 3)}
PRIVATE = {f"server {number} private" for number in (1, 2, 3)}


def test_a_move_in_the_network_gives_back_what_others_have_added(shared: Stage) -> None:
    """Another private address is another attachment, and everything private goes with the one before: that is held,
    the plan says what comes back, and with an approval it does."""
    shared.annotate(private_ipv4="10.0.0.99")
    planned = one_pass(shared, DRY_RUN)
    (hold,) = holds_of(planned, "target-floor")
    assert (one_pass(shared)["result"], targets(shared)) == ("blocked", PUBLIC | FOREIGN)

    report = one_pass(shared, ONCE | {"--approve": hold["hash"]})

    assert (report["result"], private_address(shared)) == ("no_changes", ["10.0.0.99"])
    assert targets(shared) == PUBLIC | FOREIGN
    lb = "load_balancer/default/web"
    back = {f"{lb}/target/ip:10.0.1.77", f"{lb}/target/selector:role in (edge, worker),!spare"}
    keys = {change["key"]: change["class"] for change in planned["changes"]}
    assert keys.keys() - {"service/default/web/status"} == {f"{lb}/network/7", *back}
    assert {keys[key] for key in back} == {"add"}
    assert one_pass(shared)["changes"] == []


def test_a_network_that_is_not_configured_any_more_costs_others_nothing(shared: Stage) -> None:
    """Their targets cannot be reached without it. Unset keeps the load balancer in it."""
    before = private_address(shared)
    report = one_pass(shared, HCLOUD_NETWORK="")

    assert (holds_of(report, "target-floor"), targets(shared)) == ([], PUBLIC | FOREIGN)
    assert private_address(shared) == before


def test_a_move_that_empties_a_load_balancer_is_held(balanced: Stage) -> None:
    """All its Nodes are reached through the network that it leaves: nobody would be served until it is back. With
    approval it moves, and all of them are targets again."""
    balanced.have_services(a_service(use_private_ip="true"))
    one_pass(balanced)
    before = private_address(balanced)
    assert targets(balanced) == PRIVATE

    balanced.annotate(private_ipv4="10.0.0.99")
    report = one_pass(balanced)

    (hold,) = holds_of(report, "target-floor")
    assert (report["result"], hold["value"]) == ("blocked", "0")
    assert (private_address(balanced), targets(balanced)) == (before, PRIVATE)

    approved = one_pass(balanced, ONCE | {"--approve": hold["hash"]})
    assert (approved["result"], private_address(balanced)) == ("no_changes", ["10.0.0.99"])
    assert targets(balanced) == PRIVATE


NO_ANSWER = {"kind": "no_answer", "ranges": ["10.0.0.0/16"]}
"""A firewall drops what comes to the servers through the network."""


def holds_of(report: Mapping[str, Any], rule: str) -> list[Any]:
    """The holds of one rule."""
    return [hold for hold in report["holds"] if hold["rule"] == rule]


def test_one_target_goes_first_and_a_firewall_that_drops_it_holds_the_others(balanced: Stage) -> None:
    """Public to private addresses, behind a firewall: one target goes and does not answer. The others go on to serve,
    and are held; an approval lets all of them go, and back to public addresses needs none."""
    balanced.have_services(a_service())
    one_pass(balanced)
    balanced.project.set_faults([NO_ANSWER])
    balanced.annotate(use_private_ip="true", disable_public_network="true")

    failed = one_pass(balanced)
    assert targets(balanced) == {"server 1 private", "server 2", "server 3"}
    (hold,) = holds_of(failed, "target-health")
    assert (failed["result"], "firewalls" in hold["why"]) == ("blocked", True)

    balanced.forget()
    again = one_pass(balanced)
    assert (holds_of(again, "target-health")[0]["hash"], balanced.asked_of_hetzner()) == (hold["hash"], [])
    assert balanced.balancers()[0]["public_net"]["enabled"] is True

    balanced.annotate(use_private_ip="false", disable_public_network="false")
    assert (one_pass(balanced)["result"], targets(balanced)) == ("no_changes", PUBLIC)

    balanced.annotate(use_private_ip="true")
    (hold,) = holds_of(one_pass(balanced), "target-health")
    approved = one_pass(balanced, ONCE | {"--approve": hold["hash"]})
    assert (approved["result"], targets(balanced)) == ("blocked", PRIVATE), "none of them answers"


def test_as_many_targets_follow_as_answer(a_stage: Callable[..., Stage]) -> None:
    """One, one more, two, four: as many at once as the load balancer has reported healthy, and a run that begins anew
    finds out how far it is."""
    stage = a_stage(action_s=0.0)
    stage.environment |= IN_NETWORK
    stage.have_nodes(8)
    stage.have_services(a_service())
    one_pass(stage)
    stage.annotate(use_private_ip="true")

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
    assert switched == [1, 2, 4, 8]
    assert one_pass(stage)["result"] == "no_changes"


def test_a_port_that_never_answers_sends_no_target_ahead(balanced: Stage) -> None:
    """One of two ports answers nobody: what the other one serves is switched with the same care."""
    nobody = {"kind": "no_answer", "ranges": ["0.0.0.0/0"], "ports": [9090]}
    balanced.have_services(a_service("web", 80, 9090))
    balanced.project.set_faults([nobody, NO_ANSWER])
    one_pass(balanced)
    balanced.annotate(use_private_ip="true")

    assert one_pass(balanced)["result"] == "blocked"
    assert targets(balanced) == {"server 1 private", "server 2", "server 3"}


def test_an_edited_health_check_sends_no_target_ahead(balanced: Stage) -> None:
    """Nothing is known of any target for a while: none is switched until it is, and then one goes first."""
    balanced.have_services(a_service())
    one_pass(balanced)
    balanced.project.set_faults([{"kind": "no_answer", "ranges": ["0.0.0.0/0"], "status": "unknown"}])
    balanced.annotate(use_private_ip="true")

    one_pass(balanced)
    assert (one_pass(balanced)["summary"]["waiting"], targets(balanced)) == (3, PUBLIC)
    balanced.project.clear_faults()
    balanced.project.set_faults([NO_ANSWER])
    one_pass(balanced)
    assert targets(balanced) == {"server 1 private", "server 2", "server 3"}
