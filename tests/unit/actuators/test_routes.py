"""Routes of a network: adding one, removing one, and the swap that lets one lead elsewhere."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from actuators.http.errors import ApiError, Broken, Busy, Conflict, Invalid, Transient
from actuators.routes import ROUTE_ACTUATORS, RouteTask
from actuators.writers import Writers
from desired.model.route import Route
from desired.plan.change import Change
from desired.plan.kinds import Verb
from hcloud_sandbox.hetzner import HetznerOptions
from tests.builders import a_change
from tests.support.balancer_stage import NETWORK_ID, NETWORKS, hands_in
from tests.support.rows import rows
from tests.support.simulators import PassingTime, Simulate, Simulation

PODS = "10.244.1.0/24"
OLD, NEW, THIRD = "10.7.0.11", "10.7.0.12", "10.7.0.13"
OUTSIDE = "10.8.0.12"
"""A gateway that Hetzner refuses."""
FOREIGN = [{"destination": "0.0.0.0/0", "gateway": THIRD}, {"destination": "10.250.0.0/16", "gateway": OLD}]
ACTIONS = f"/v1/networks/{NETWORK_ID}/actions"
NAMED = rf"route to {PODS} via 10\.\d\.0\.1\d in network 7"


def change(before: str | None, after: str | None) -> Change:
    kinds = {(False, True): ("create", Verb.ADD), (True, True): ("replace", Verb.MODIFY)}
    name, verb = kinds.get((before is not None, after is not None), ("delete", Verb.REMOVE))
    sides = {"before": _route(before), "after": _route(after)}
    key = f"route/{NETWORK_ID}/{PODS}"
    return a_change(key, f"route.{name}", verb=verb, owner="node/web-1", cloud_id=NETWORK_ID, **sides)


def _route(gateway: str | None) -> Route | None:
    return None if gateway is None else Route(IPv4Network(PODS), IPv4Address(gateway))


CREATE, REPLACE, DELETE = change(None, NEW), change(OLD, NEW), change(OLD, None)
ALL = [pytest.param(each, id=each.kind) for each in (CREATE, REPLACE, DELETE)]


@dataclass
class Stage:
    """A network with routes, and hands to change them with."""

    sim: Simulation
    writers: Writers

    def carry_out(self, wanted: Change) -> None:
        ROUTE_ACTUATORS[wanted.kind](RouteTask(self.writers, wanted))

    def leads_to(self) -> str | None:
        """The gateway to the pods once everything has ended; None when there is no route. Those of others stay."""
        self.sim.clock.advance(60)
        (network, _) = self.sim.hetzner.world()["hetzner"]["networks"]
        gateways = [route["gateway"] for route in network["routes"] if route["destination"] == PODS]
        assert [route for route in network["routes"] if route["destination"] != PODS] == FOREIGN
        assert len(gateways) <= 1
        return gateways[0] if gateways else None

    def sent(self) -> list[str]:
        """What was sent: ``add_route 10.7.0.12``, ``look``, ``poll``."""
        return [_said(entry.path, entry.body) for entry in self.sim.sent_to_hetzner()]


def _said(path: str, body: Any) -> str:
    if path == "/v1/actions":
        return "poll"
    if body is None:
        return "look"
    assert body["destination"] == PODS
    return f"{path.removeprefix(f'{ACTIONS}/')} {body['gateway']}"


def a_stage(simulate: Simulate, gateway: str | None, **options: Any) -> Stage:
    """The route to the pods leads there, or is missing. ``options`` are those of the simulator."""
    ours = [{"destination": PODS, "gateway": gateway}] if gateway else []
    networks = [{**NETWORKS[0], "routes": [*FOREIGN, *ours]}, NETWORKS[1]]
    sim = simulate(project={"networks": networks}, options=HetznerOptions(**options))
    sim.stop = PassingTime(sim.clock)
    return Stage(sim, hands_in(sim))


def before(wanted: Change) -> str | None:
    """Where the route leads before the change."""
    return str(wanted.before.gateway) if isinstance(wanted.before, Route) else None


def after(wanted: Change) -> str | None:
    """Where it leads afterwards."""
    return str(wanted.after.gateway) if isinstance(wanted.after, Route) else None


@rows(
    "wanted sent",
    {
        "create": (CREATE, [f"add_route {NEW}", "poll"]),
        "delete": (DELETE, [f"delete_route {OLD}", "poll"]),
        "replace: no look in between": (REPLACE, [f"delete_route {OLD}", "poll", f"add_route {NEW}", "poll"]),
    },
)
def test_changes(simulate: Simulate, wanted: Change, sent: list[str]) -> None:
    """An action each, asked for once, and nothing else; routes of others stay byte for byte."""
    stage = a_stage(simulate, before(wanted))
    stage.carry_out(wanted)
    assert stage.sent() == sent
    assert stage.leads_to() == after(wanted)


@rows(
    "wanted present expected",
    {
        "made meanwhile": (CREATE, NEW, NEW),
        "removed meanwhile": (DELETE, None, None),
        "removed meanwhile, to be replaced": (REPLACE, None, NEW),
        "replaced meanwhile": (REPLACE, NEW, NEW),
    },
)
def test_somebody_was_faster(simulate: Simulate, wanted: Change, present: str | None, expected: str | None) -> None:
    stage = a_stage(simulate, present)
    stage.carry_out(wanted)
    assert stage.leads_to() == expected
    assert stage.sent().count("look") == 1


def test_absence_in_other_words(simulate: Simulate) -> None:
    """Whatever a removal is refused with, what counts is that the route is gone."""
    stage = a_stage(simulate, None)
    refusal = {"error": {"code": "invalid_input", "message": "no such route"}}
    stage.sim.spoil_hetzner("status", method="POST", code=422, body=refusal)
    stage.carry_out(DELETE)
    assert stage.sent() == [f"delete_route {OLD}", "look"]


def test_a_look_that_cannot_be_read_proves_nothing(simulate: Simulate) -> None:
    """A removal was refused, and what the network answers then is no list of routes: nothing is known to be gone."""
    stage = a_stage(simulate, OLD)
    refusal = {"error": {"code": "invalid_input", "message": "no such route"}}
    stage.sim.spoil_hetzner("status", method="POST", code=422, body=refusal)
    network = {**NETWORKS[0], "routes": "many"}
    stage.sim.spoil_hetzner("status", method="GET", code=200, body={"network": network}, count=None)
    with pytest.raises(Broken, match="network 7 could not be read"):
        stage.carry_out(DELETE)
    assert stage.leads_to() == OLD


@pytest.mark.parametrize("wanted", ALL)
def test_another_gateway_by_hand(simulate: Simulate, wanted: Change) -> None:
    """Whose it is now is for the next plan to find out: it stays."""
    stage = a_stage(simulate, THIRD)
    with pytest.raises(Conflict, match=rf"^the {NAMED} now has another gateway, {THIRD}$"):
        stage.carry_out(wanted)
    assert stage.leads_to() == THIRD
    assert stage.sent().count("look") == 1


@rows(
    "wanted said",
    {
        "gateway outside": (change(None, OUTSIDE), "gateway not part of the network IP range"),
        "first address": (change(None, "10.7.0.1"), "invalid gateway"),
    },
)
def test_refused_routes(simulate: Simulate, wanted: Change, said: str) -> None:
    stage = a_stage(simulate, None)
    with pytest.raises(Invalid, match=said):
        stage.carry_out(wanted)
    assert stage.leads_to() is None
    assert stage.sent() == [f"add_route {after(wanted)}", "look"]


def test_no_way_back(simulate: Simulate, caplog: pytest.LogCaptureFixture) -> None:
    stage = a_stage(simulate, OLD)
    stage.sim.hetzner.set_faults([{"kind": "action_fails", "command": "add_route", "code": "x", "count": 2}])
    with pytest.raises(Invalid, match=rf"^addition of route to {PODS} via {NEW} in network 7: the action add_route"):
        stage.carry_out(REPLACE)
    assert stage.leads_to() is None
    assert f"route to {PODS} via {OLD} in network 7 may be missing until the next pass: addition of" in caplog.text


@rows("code word expected", {"busy": (409, "conflict", Busy), "down": (503, "unavailable", Transient)})
def test_a_swap_that_may_work_in_a_moment(simulate: Simulate, code: int, word: str, expected: type[ApiError]) -> None:
    """The old route could not be added either: what is missing then is for the next plan."""
    stage = a_stage(simulate, OLD)
    body = {"error": {"code": word, "message": "no"}}
    stage.sim.spoil_hetzner("status", path=f"{ACTIONS}/add_route", count=None, code=code, body=body)
    with pytest.raises(expected):
        stage.carry_out(REPLACE)
    assert stage.leads_to() is None
    assert f"add_route {OLD}" not in stage.sent()
