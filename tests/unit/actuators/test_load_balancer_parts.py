"""Changing parts of a load balancer: type, algorithm, reverse names, public interface, listeners."""

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest

from actuators.http.errors import Invalid, Transient
from actuators.wire.load_balancer import BALANCERS
from desired.annotations.choices import Algorithm, Protocol
from desired.model.load_balancer import Attachment, HealthCheck, HttpCheck, HttpOptions, Listener
from desired.plan.change import Change, State
from desired.plan.kinds import Verb
from desired.section import UNMANAGED
from tests.balancers import a_balancer, a_listener, an_http_check, an_http_listener
from tests.support.balancer_changes import a_part
from tests.support.balancer_stage import LB, NETWORK_ID, Stage, a_stage
from tests.support.rows import rows
from tests.support.simulators import Simulate

WHY = "a test wants it"
ATTACHED = (Attachment(NETWORK_ID, IPv4Address("10.7.0.2")),)
CERTIFICATES = [{"id": 4}, {"id": 5}, {"id": 6}]
HTTPS = an_http_listener(
    443,
    30443,
    protocol=Protocol.HTTPS,
    http=HttpOptions("HCLBSTICKY", 300, 50, (4,), redirect_http=False, sticky_sessions=False),
)
CERTIFIED = HttpOptions("HCLBSTICKY", 300, 50, (5, 6), redirect_http=False, sticky_sessions=False)
WISH = Listener(8080, 30808, Protocol.TCP, HealthCheck(Protocol.TCP, 30808))
"""A listener of which nobody asked for more than it needs."""


def part(name: str, before: State | None, after: State | None) -> Change:
    verb = {"verb": Verb.MODIFY} if name.startswith("rdns/") else {}
    return a_part(name, before, after, WHY, **verb)


TYPE = part("type", "lb11", "lb21")
ALGORITHM = part("algorithm", Algorithm.ROUND_ROBIN, Algorithm.LEAST_CONNECTIONS)
REVERSE = part("rdns/ipv4", None, "lb.example.com")
UPDATE = part("listener/80", a_listener(), a_listener(proxyprotocol=True))
ADD = part("listener/8080", None, WISH)
REMOVE = part("listener/80", a_listener(), None)


PROXIED = {"listen_port": 80, "proxyprotocol": True}
NEW = {"protocol": "tcp", "listen_port": 8080, "destination_port": 30808}
ALL: dict[str, tuple[Change, str, dict[str, Any] | None]] = {
    "type": (TYPE, "change_type", {"load_balancer_type": "lb21"}),
    "algorithm": (ALGORITHM, "change_algorithm", {"type": "least_connections"}),
    "reverse name": (REVERSE, "change_dns_ptr", {"ip": "203.0.113.200", "dns_ptr": "lb.example.com"}),
    "public interface off": (part("public", True, False), "disable_public_interface", None),
    "public interface on": (part("public", False, True), "enable_public_interface", None),
    "changed listener": (UPDATE, "update_service", PROXIED),
    "new listener": (ADD, "add_service", NEW | {"health_check": {"protocol": "tcp", "port": 30808}}),
    "superfluous listener": (REMOVE, "delete_service", {"listen_port": 80}),
}


def service(stage: Stage, port: int) -> dict[str, Any]:
    (found,) = (service for service in stage.balancer()["services"] if service["listen_port"] == port)
    result: dict[str, Any] = found
    return result


def ports(stage: Stage) -> list[int]:
    return sorted(service["listen_port"] for service in stage.balancer()["services"])


@rows("change action body", ALL)
def test_one_action_each(simulate: Simulate, change: Change, action: str, body: dict[str, Any] | None) -> None:
    """It is sent, and waited for; members that nobody asked for are not sent."""
    is_off = change.after is True
    stage = a_stage(simulate, a_balancer(spec={"public_interface": not is_off}, attachments=ATTACHED, targets=()))
    before = stage.balancer()
    stage.carry_out(change)
    assert stage.sent() == [("POST", f"{LB}/actions/{action}", body)]
    assert stage.polls() == 1
    assert stage.balancer() != before


def test_a_reverse_name_that_hetzner_gives(simulate: Simulate) -> None:
    """What that is nobody knows before, so that nothing can be looked up."""
    stage = a_stage(simulate, a_balancer())
    stage.sim.hetzner.set_faults([{"kind": "action_vanishes"}])
    with pytest.raises(Transient, match="was not found"):
        stage.carry_out(part("rdns/ipv4", "before", None))


def test_a_listener_with_a_check_after_a_vanished_action(simulate: Simulate) -> None:
    stage = a_stage(simulate, a_balancer())
    stage.sim.hetzner.set_faults([{"kind": "action_vanishes"}])
    stage.carry_out(part("listener/80", a_listener(), checked(SLOW)))
    assert service(stage, 80)["health_check"]["interval"] == 30


@rows(
    "family pointer there",
    {
        "IPv6": ("ipv6", "lb.example.com", "lb.example.com"),
        "what Hetzner gives": ("ipv4", None, "static.200.113.0.203.clients.your-server.de"),
        "an empty name is one": ("ipv4", "", ""),
    },
)
def test_reverse_names(simulate: Simulate, family: str, pointer: str | None, there: str) -> None:
    stage = a_stage(simulate, a_balancer(targets=()))
    stage.carry_out(part(f"rdns/{family}", "before", pointer))
    found = stage.balancer()["public_net"]
    other = "ipv6" if family == "ipv4" else "ipv4"
    assert (found[family]["dns_ptr"], found[other]["dns_ptr"]) == (there, None)


def test_a_listener_with_everything(simulate: Simulate) -> None:
    http_check = HttpCheck("a.example.com", "/healthz", "ok", ("200", "30?"), tls=True)
    http = HttpOptions("MINE", 600, 60, (4, 5), redirect_http=True, sticky_sessions=True)
    check = HealthCheck(Protocol.HTTP, 8888, 20, 5, 4, http_check)
    wish = Listener(443, 30443, Protocol.HTTPS, check, proxyprotocol=True, http=http)
    stage = a_stage(simulate, a_balancer(listeners=()))
    stage.sim.hetzner.replace_world({**stage.sim.hetzner.world()["hetzner"], "certificates": CERTIFICATES})
    stage.carry_out(part("listener/443", None, wish))
    stage.sim.clock.advance(60)
    assert BALANCERS.one(stage.sim.hetzner_reader(), 42).spec.listeners[443] == wish


def checked(check: HealthCheck) -> Listener:
    return a_listener(health_check=check)


SLOW, PLAIN = HealthCheck(Protocol.TCP, 30080, 30, 10, 3), an_http_listener(443, 30443)
BARE = HealthCheck(Protocol.TCP, 30080, UNMANAGED, UNMANAGED, UNMANAGED)
UP = HealthCheck(Protocol.HTTP, 30080, http=HttpCheck(path="/up"))
AT_UP = {"http": {"path": "/up"}}
NO_TLS = {"protocol": "http", "http": {"certificates": [], "redirect_http": False}}
STICKY = an_http_listener(http=HttpOptions(sticky_sessions=True))


@rows(
    "before after sent",
    {
        "node port and its check": (a_listener(), a_listener(node_port=30081), None),
        "proxy protocol": (a_listener(), a_listener(proxyprotocol=True), {"proxyprotocol": True}),
        "interval of the check": (a_listener(), checked(SLOW), {"health_check": {"interval": 30}}),
        "path": (checked(an_http_check()), checked(an_http_check(path="/up")), {"health_check": AT_UP}),
        "a check over HTTP": (a_listener(), checked(UP), {"health_check": {"protocol": "http", **AT_UP}}),
        "a check over TCP": (checked(an_http_check()), checked(BARE), {"health_check": {"protocol": "tcp"}}),
        "TCP becomes HTTP": (a_listener(), STICKY, {"protocol": "http", "http": {"sticky_sessions": True}}),
        "and is left as it is": (a_listener(), an_http_listener(http=HttpOptions()), {"protocol": "http"}),
        "HTTP becomes TCP": (an_http_listener(), a_listener(), {"protocol": "tcp"}),
        "HTTPS becomes TCP": (HTTPS, a_listener(443, 30443), {"protocol": "tcp"}),
        "HTTPS becomes HTTP": (HTTPS, PLAIN, NO_TLS),
        "certificates as a whole list": (HTTPS, replace(HTTPS, http=CERTIFIED), {"http": {"certificates": [5, 6]}}),
        "unmanaged members stay": (
            HTTPS,
            replace(HTTPS, http=HttpOptions(cookie_lifetime_s=600, redirect_http=True)),
            {"http": {"cookie_lifetime": 600, "redirect_http": True}},
        ),
    },
)
def test_only_differences_are_sent(
    simulate: Simulate, before: Listener, after: Listener, sent: dict[str, Any] | None
) -> None:
    """So that what a person set besides stays as it is. Only https has certificates: http is refused with them."""
    stage = a_stage(simulate, a_balancer(listeners=()), https_left_behind="refused")
    stage.sim.hetzner.replace_world({**stage.sim.hetzner.world()["hetzner"], "certificates": CERTIFICATES})
    stage.carry_out(part(f"listener/{before.port}", None, before))
    was = service(stage, before.port)
    stage.sim.hetzner_proxy.journal.clear()
    stage.carry_out(part(f"listener/{before.port}", before, after))
    wanted = sent or {"destination_port": 30081, "health_check": {"port": 30081}}
    assert stage.acted() == [("update_service", {"listen_port": before.port, **wanted})]
    now = service(stage, before.port)
    assert {name for name in was.keys() | now.keys() if was.get(name) != now.get(name)} <= {*wanted, "http"}


def test_a_removal_that_finds_out_late(simulate: Simulate) -> None:
    stage = a_stage(simulate, a_balancer())
    stage.sim.hetzner.set_faults([{"kind": "action_fails", "code": "not_found"}])
    stage.carry_out(REMOVE)


def test_a_second_request_that_is_refused(simulate: Simulate) -> None:
    stage = a_stage(simulate, a_balancer())
    refusal = {"error": {"code": "source_port_already_used", "message": "port 80 is busy, redirect_http needs it"}}
    stage.sim.spoil_hetzner("reset", method="POST")
    stage.sim.spoil_hetzner("status", method="POST", code=412, body=refusal)
    with pytest.raises(Invalid, match="redirect_http needs it"):
        stage.carry_out(ADD)
    assert ports(stage) == [80]
