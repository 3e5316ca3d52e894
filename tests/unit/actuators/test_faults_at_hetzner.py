"""Every kind of change at Hetzner meets every fault: how it ends, and what the project looks like then.

How it ends is ``done``, or the class of its error. Behind that, ``+``: the project is as after an undisturbed change;
``=``: as before; ``~``: something in between, or beside it, of which the next plan sees what is missing.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from actuators.balancer_task import BalancerTask
from actuators.http.errors import ApiError
from actuators.load_balancers import BALANCER_ACTUATORS
from actuators.routes import ROUTE_ACTUATORS, RouteTask
from desired.annotations.choices import Algorithm
from desired.model.load_balancer import (
    Attachment,
    CloudBalancer,
    Identity,
    IpTarget,
    ManagedCertificate,
    Owner,
    SelectorTarget,
    ServerTarget,
)
from desired.model.route import Route
from desired.names import LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from desired.plan.change import Change, State
from desired.plan.kinds import KINDS as PLANNED
from desired.plan.kinds import Verb
from tests.balancers import DEFAULT_NAME, SERVICE_UID, a_balancer, a_listener
from tests.builders import CLUSTER_UID, a_change
from tests.support.balancer_changes import BALANCER, OURS, a_creation, a_difference, a_part, a_wish
from tests.support.balancer_stage import NETWORK_ID, NETWORKS, Stage, a_stage, hands_in
from tests.support.faulted import Fault, ended
from tests.support.simulators import Simulate

WHY = "a test wants it"
LABELS = {LABEL_SERVICE_UID: SERVICE_UID, LABEL_CLUSTER_UID: CLUSTER_UID}
CERTIFICATE = ManagedCertificate("ccm-managed-certificate-web", ("example.com",), LABELS)
HERE, THERE = (Attachment(NETWORK_ID, IPv4Address(ip)) for ip in ("10.7.0.2", "10.7.0.200"))
PUBLIC, PRIVATE = ServerTarget(1, use_private_ip=False), ServerTarget(2, use_private_ip=True)
SELECTED = SelectorTarget("role=worker", use_private_ip=True)
DEDICATED, ELSEWHERE = IpTarget("198.51.100.7"), IpTarget("198.51.100.8")
PODS = IPv4Network("10.244.1.0/24")
OLD, NEW = (Route(PODS, IPv4Address(ip)) for ip in ("10.7.0.11", "10.7.0.12"))


def present(*places: Attachment, targets: tuple[Any, ...] = (PUBLIC, PRIVATE, SELECTED, DEDICATED)) -> CloudBalancer:
    return a_balancer(attachments=places, targets=targets)


def routed(name: str, before: Route | None, after: Route | None, verb: Verb) -> Change:
    sides = {"before": before, "after": after, "verb": verb, "owner": "node/web-1", "cloud_id": NETWORK_ID}
    return a_change(f"route/{NETWORK_ID}/{PODS}", f"route.{name}", **sides)


def part(name: str, before: State | None, after: State | None, **more: Any) -> Change:
    return a_part(name, before, after, WHY, **more)


IN, OUT = present(HERE), present(targets=(PUBLIC,))
LOST = Owner(None, "lost")
ORPHANED = a_balancer(spec={"labels": {LABEL_SERVICE_UID: "lost"}})
KINDS: Mapping[str, tuple[Change, CloudBalancer | None, Route | None]] = {
    "create": (a_creation(2), None, None),
    "adopt": (a_difference(BALANCER, "lb.adopt", LOST, OURS, WHY), ORPHANED, None),
    "identity": (part("identity", Identity(DEFAULT_NAME, LABELS), Identity("shop", LABELS)), OUT, None),
    "type": (part("type", "lb11", "lb21"), OUT, None),
    "algorithm": (part("algorithm", Algorithm.ROUND_ROBIN, Algorithm.LEAST_CONNECTIONS), OUT, None),
    "reverse-name": (part("rdns/ipv4", None, "lb.example.com", verb=Verb.MODIFY), OUT, None),
    "interface-off": (part("public", True, False), present(HERE, targets=()), None),
    "attach": (part(f"network/{NETWORK_ID}", None, HERE), OUT, None),
    "detach": (part(f"network/{NETWORK_ID}", HERE, None), IN, None),
    "move": (part(f"network/{NETWORK_ID}", HERE, THERE), IN, None),
    "add-port": (part("listener/8080", None, a_wish(8080, 30808)), OUT, None),
    "change-port": (part("listener/80", a_listener(), a_listener(proxyprotocol=True)), OUT, None),
    "remove-port": (part("listener/80", a_listener(), None), OUT, None),
    "add-target": (part("target/server:3", None, ServerTarget(3, use_private_ip=False)), OUT, None),
    "remove-target": (part("target/server:1", PUBLIC, None), OUT, None),
    "switch-target": (part("target/server:1", PUBLIC, replace(PUBLIC, use_private_ip=True)), IN, None),
    "swap-target": (part("target/ip", DEDICATED, ELSEWHERE), IN, None),
    "retain": (part("retain", OURS, Owner(CLUSTER_UID, None, "20260701T120000Z")), OUT, None),
    "delete": (a_difference(BALANCER, "lb.delete", OUT.spec, None, WHY), OUT, None),
    "certificate": (a_difference("certificate/default/web", "certificate.create", None, CERTIFICATE, WHY), OUT, None),
    "add-route": (routed("create", None, NEW, Verb.ADD), None, None),
    "replace-route": (routed("replace", OLD, NEW, Verb.MODIFY), None, OLD),
    "remove-route": (routed("delete", OLD, None, Verb.REMOVE), None, OLD),
}
"""Name → change, the load balancer that there is, the route that there is."""


def line(kind: str, **members: Any) -> Callable[[Stage], None]:
    """A fault of transport, that hits writes."""

    def strike(stage: Stage) -> None:
        for method in ("POST", "PUT", "DELETE"):
            stage.sim.spoil_hetzner(kind, method=method, **members)

    return strike


def refusal(status: int, code: str) -> Callable[[Stage], None]:
    return line("status", code=status, body={"error": {"code": code, "message": "no"}}, count=None)


def actions(kind: str, *commands: str, **members: Any) -> Callable[[Stage], None]:
    """A fault of the first action, or of the first of each of these commands."""
    faults = [{"kind": kind, "command": command, **members} for command in commands] or [{"kind": kind, **members}]
    return lambda stage: stage.sim.hetzner.set_faults(faults)


def gone_server(stage: Stage) -> None:
    """No server is found, and the first that is to be a target is refused as Hetzner refuses it."""
    bad_input = {"error": {"code": "invalid_input", "message": "cloud target was not found"}}
    line("status", path=".*/add_target$", code=422, body=bad_input)(stage)
    missing = {"error": {"code": "not_found", "message": "server not found"}}
    stage.sim.spoil_hetzner("status", method="GET", path="/v1/servers/", code=404, body=missing, count=None)


_NO = {"error": {"code": "word_of_next_year", "message": "no"}}
AT_ONCE = "adopt identity retain certificate"
"""Nothing is waited for."""
SEVERAL = "detach move switch-target swap-target replace-route"
"""Several actions."""
FAULTS: Mapping[str, Fault] = {
    "a request is lost": Fault("done+", line("reset")),
    "an answer is lost": Fault("done+", line("executed_then_reset")),
    "a gateway answers for it": Fault("done+", line("executed_then_504")),
    "its actions vanish": Fault("done+", actions("action_vanishes", count=None), {"Transient+": "delete"}),
    "its first action fails": Fault(
        "Invalid=", actions("action_fails", code="x"), {"done+": "adopt identity retain", "done~": "certificate"}
    ),
    "what it adds is refused": Fault(
        "done+",
        line("status", path=".*/(add_target|attach_to_network|add_route)$", code=422, body=_NO),
        {"Invalid=": "attach move add-target switch-target swap-target add-route replace-route"},
    ),
    "the addition of a target fails": Fault(
        "done+", actions("action_fails", "add_target", code="x"), {"Invalid=": "add-target switch-target swap-target"}
    ),
    "the addition of a route, or of an attachment, fails": Fault(
        "done+",
        actions("action_fails", "attach_to_network", "add_route", code="x"),
        {"Invalid=": "attach move add-route replace-route"},
    ),
    "the detachment fails": Fault(
        "done+", actions("action_fails", "detach_from_network", code="x"), {"Invalid=": "detach move"}
    ),
    "its actions do not end": Fault(
        "Transient=", actions("action_hangs", count=None), {"done~": "create certificate", "done+": AT_ONCE}
    ),
    "it is stopped": Fault("Stopped+", lambda stage: stage.sim.stop.set(), {"done+": AT_ONCE, "Stopped~": SEVERAL}),
    "the project is empty": Fault(
        "NotFound=",
        lambda stage: stage.sim.hetzner.replace_world({"networks": []}),
        {
            "Conflict=": "adopt identity retain",
            "Outdated=": "add-target",
            "done=": "remove-port remove-target delete",
            "done~": "certificate",
        },
    ),
    "the load balancer is another Service's": Fault(
        "done~",
        lambda stage: stage.change_balancer(labels={LABEL_SERVICE_UID: "another"}),
        {
            "Conflict=": "adopt identity detach move switch-target retain delete",
            "done+": "create add-route replace-route remove-route",
        },
    ),
    "the server of its target has gone": Fault(
        "done+", gone_server, {"Outdated=": "add-target switch-target", "Invalid=": "swap-target"}
    ),
    "it stays locked": Fault("Busy=", refusal(423, "locked")),
    "the allowance is used up": Fault("Throttled=", refusal(429, "rate_limit_exceeded")),
    "the token may not": Fault("Denied=", refusal(403, "forbidden")),
    "the API is down": Fault("Transient=", refusal(503, "unavailable")),
    "nothing can be read": Fault(
        "Broken+",
        lambda stage: stage.sim.spoil_hetzner("status", method="GET", code=200, body="?", count=None),
        {
            "Broken=": "adopt identity detach move switch-target retain delete",
            "Broken~": "swap-target replace-route",
            "done+": "certificate",
        },
    ),
}


def staged(simulate: Simulate, kind: str) -> tuple[Stage, dict[str, Any]]:
    """A project in which the change of this kind is about to be made, and what is in it."""
    _, balancer, route = KINDS[kind]
    stage = a_stage(simulate, *([balancer] if balancer else []))
    routes = [{"destination": str(route.destination), "gateway": str(route.gateway)}] if route else []
    return stage, stage.sim.hetzner.world()["hetzner"] | {"networks": [{**NETWORKS[0], "routes": routes}, NETWORKS[1]]}


def begin(stage: Stage, world: dict[str, Any]) -> None:
    """Nothing has gone wrong yet, and nobody remembers anything."""
    stage.sim.hetzner.clear_faults()
    stage.sim.hetzner_proxy.clear_faults()
    stage.sim.hetzner.replace_world(world)
    stage.sim.stop.clear()
    stage.writers = hands_in(stage.sim)


_VARIES = ("id", "created", "not_valid_before", "not_valid_after", "certificate", "fingerprint")


def project(stage: Stage) -> Any:
    """What there is, but for ids and times of what is new, and the order of targets."""
    world = stage.sim.hetzner.world()["hetzner"]
    return [
        [
            {
                name: sorted(value, key=str) if name == "targets" else value
                for name, value in each.items()
                if name not in _VARIES
            }
            for each in world[section]
        ]
        for section in ("load_balancers", "networks", "certificates")
    ]


def carry_out(stage: Stage, kind: str) -> str:
    """How the change ends; so does all that was begun."""
    change, _, _ = KINDS[kind]
    how = "done"
    try:
        if change.kind in ROUTE_ACTUATORS:
            ROUTE_ACTUATORS[change.kind](RouteTask(stage.writers, change))
        else:
            BALANCER_ACTUATORS[change.kind](BalancerTask(stage.writers, change, stage.snapshot))
    except ApiError as error:
        how = type(error).__name__
    stage.sim.clock.advance(7200)
    return how


def test_every_kind_is_here() -> None:
    """One that is not would meet no fault."""
    at_hetzner = {kind for kind, row in PLANNED.items() if row.writes_cloud}
    assert {change.kind for change, _, _ in KINDS.values()} == at_hetzner


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_meets_every_fault(simulate: Simulate, kind: str) -> None:
    """A write that may be lost is sent again only where it does no harm, what is refused takes nothing away, and what
    is not known to have happened is looked at before it is believed."""
    stage, world = staged(simulate, kind)
    begin(stage, world)
    assert carry_out(stage, kind) == "done"
    wanted, ends = project(stage), {}
    for name, fault in FAULTS.items():
        begin(stage, world)
        fault.strike(stage)
        before = project(stage)
        how = carry_out(stage, kind)
        ends[name] = ended(how, before, project(stage), wanted)

    assert ends == {name: fault.end_of(kind) for name, fault in FAULTS.items()}
