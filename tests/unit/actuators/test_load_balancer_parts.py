"""Changing parts of a load balancer: type, algorithm, reverse names, public interface, listeners."""

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest

from actuators.http.errors import Invalid, NotFound, Transient
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
WISH = Listener(8080, 30808, Protocol.TCP, HealthCheck(Protocol.TCP, 30808))
"""A listener of which nobody asked for more than it needs."""


def part(name: str, before: State | None, after: State | None) -> Change:
    verb = {"verb": Verb.MODIFY} if name.startswith("rdns/") else {}
    return a_part(name, before, after, WHY, **verb)


TYPE = part("type", "lb11", "lb21")
ALGORITHM = part("algorithm", Algorithm.ROUND_ROBIN, Algorithm.LEAST_CONNECTIONS)
REVERSE = part("rdns/ipv4", None, "lb.example.com")
PUBLIC = part("public", False, True)
UPDATE = part("listener/80", a_listener(), a_listener(proxyprotocol=True))
ADD = part("listener/8080", None, WISH)
REMOVE = part("listener/80", a_listener(), None)
ALL = {
    "type": (TYPE, "change_type"),
    "algorithm": (ALGORITHM, "change_algorithm"),
    "reverse name": (REVERSE, "change_dns_ptr"),
    "public interface": (PUBLIC, "enable_public_interface"),
    "changed listener": (UPDATE, "update_service"),
    "new listener": (ADD, "add_service"),
    "superfluous listener": (REMOVE, "delete_service"),
}


def service(stage: Stage, port: int) -> dict[str, Any]:
    (found,) = (service for service in stage.balancer()["services"] if service["listen_port"] == port)
    result: dict[str, Any] = found
    return result


def ports(stage: Stage) -> list[int]:
    return sorted(service["listen_port"] for service in stage.balancer()["services"])


def has_happened(stage: Stage, change: Change) -> bool:
    found = stage.balancer()
    services = {service["listen_port"]: service for service in found["services"]}
    seen = {
        TYPE.key: found["load_balancer_type"]["name"] == "lb21",
        ALGORITHM.key: found["algorithm"]["type"] == "least_connections",
        REVERSE.key: found["public_net"]["ipv4"]["dns_ptr"] == "lb.example.com",
        PUBLIC.key: found["public_net"]["enabled"],
        ADD.key: 8080 in services,
    }
    if change.key == UPDATE.key:
        return 80 not in services if change.after is None else bool(services[80]["proxyprotocol"])
    return bool(seen[change.key])


def staged(simulate: Simulate, **options: Any) -> Stage:
    """A load balancer that all the changes above fit."""
    return a_stage(simulate, a_balancer(spec={"public_interface": False}, targets=()), **options)


@pytest.mark.parametrize(("change", "action"), ALL.values(), ids=ALL)
def test_one_action_each(simulate: Simulate, change: Change, action: str) -> None:
    """It is sent, and waited for: when the actuator is done it has happened."""
    stage = staged(simulate)
    stage.carry_out(change)
    assert [(method, path) for method, path, _ in stage.sent()] == [("POST", f"{LB}/actions/{action}")]
    assert stage.polls() == 1
    assert has_happened(stage, change)


def test_a_reverse_name_that_hetzner_gives(simulate: Simulate) -> None:
    """What that is nobody knows before, so that nothing can be looked up."""
    stage = staged(simulate)
    stage.sim.hetzner.set_faults([{"kind": "action_vanishes"}])
    with pytest.raises(Transient, match="was not found"):
        stage.carry_out(part("rdns/ipv4", "before", None))


def test_a_listener_with_members_whose_action_vanishes(simulate: Simulate) -> None:
    """What was sent of a health check is looked up in it."""
    stage = a_stage(simulate, a_balancer())
    stage.sim.hetzner.set_faults([{"kind": "action_vanishes"}])
    check = HealthCheck(Protocol.TCP, 30080, 30, 10, 3)
    stage.carry_out(part("listener/80", a_listener(), a_listener(health_check=check)))
    assert service(stage, 80)["health_check"]["interval"] == 30


@rows(
    "family pointer there",
    {
        "IPv4": ("ipv4", "lb.example.com", "lb.example.com"),
        "IPv6": ("ipv6", "lb.example.com", "lb.example.com"),
        "what Hetzner gives": ("ipv4", None, "static.200.113.0.203.clients.your-server.de"),
        "an empty name is one": ("ipv4", "", ""),
    },
)
def test_reverse_names(simulate: Simulate, family: str, pointer: str | None, there: str) -> None:
    """The address is of the family in the key; the other one keeps its name."""
    stage = a_stage(simulate, a_balancer(targets=()))
    stage.carry_out(part(f"rdns/{family}", "before", pointer))
    found = stage.balancer()["public_net"]
    other = "ipv6" if family == "ipv4" else "ipv4"
    assert (found[family]["dns_ptr"], found[other]["dns_ptr"]) == (there, None)


def test_switching_the_public_interface_off(simulate: Simulate) -> None:
    """It needs a network, and has no body."""
    stage = a_stage(simulate, a_balancer(attachments=ATTACHED, targets=()))
    stage.carry_out(part("public", True, False))
    assert stage.acted() == [("disable_public_interface", None)]
    assert not stage.balancer()["public_net"]["enabled"]


def test_a_listener_as_asked_for(simulate: Simulate) -> None:
    """What nobody asked for is not sent, and is what the API gives."""
    stage = a_stage(simulate, a_balancer())

    stage.carry_out(ADD)

    check = {"protocol": "tcp", "port": 30808}
    assert stage.acted() == [
        ("add_service", {"protocol": "tcp", "listen_port": 8080, "destination_port": 30808, "health_check": check})
    ]
    assert service(stage, 8080) == {
        "protocol": "tcp",
        "listen_port": 8080,
        "destination_port": 30808,
        "proxyprotocol": False,
        "health_check": {**check, "interval": 15, "timeout": 10, "retries": 3},
    }


def test_a_listener_with_everything(simulate: Simulate) -> None:
    """Every member arrives, in the API's own names and units."""
    check = HealthCheck(
        Protocol.HTTP, 8888, 20, 5, 4, HttpCheck("a.example.com", "/healthz", "ok", ("200", "30?"), tls=True)
    )
    http = HttpOptions("MINE", 600, 60, (4, 5), redirect_http=True, sticky_sessions=True)
    stage = a_stage(simulate, a_balancer(listeners=()))
    stage.sim.hetzner.replace_world({**stage.sim.hetzner.world()["hetzner"], "certificates": CERTIFICATES})

    stage.carry_out(
        part(
            "listener/443",
            None,
            a_listener(443, 30443, protocol=Protocol.HTTPS, proxyprotocol=True, health_check=check, http=http),
        )
    )

    assert service(stage, 443) == {
        "protocol": "https",
        "listen_port": 443,
        "destination_port": 30443,
        "proxyprotocol": True,
        "health_check": {
            "protocol": "http",
            "port": 8888,
            "interval": 20,
            "timeout": 5,
            "retries": 4,
            "http": {
                "domain": "a.example.com",
                "path": "/healthz",
                "response": "ok",
                "status_codes": ["200", "30?"],
                "tls": True,
            },
        },
        "http": {
            "cookie_name": "MINE",
            "cookie_lifetime": 600,
            "timeout_idle": 60,
            "certificates": [4, 5],
            "redirect_http": True,
            "sticky_sessions": True,
        },
    }


@pytest.mark.parametrize(
    ("before", "after", "sent"),
    [
        pytest.param(a_listener(), a_listener(node_port=30081), None, id="node port and its check"),
        pytest.param(a_listener(), a_listener(proxyprotocol=True), {"proxyprotocol": True}, id="proxy protocol"),
        pytest.param(
            a_listener(),
            a_listener(health_check=HealthCheck(Protocol.TCP, 30080, 30, 10, 3)),
            {"health_check": {"interval": 30}},
            id="one member of the check",
        ),
        pytest.param(
            a_listener(health_check=an_http_check()),
            a_listener(health_check=an_http_check(path="/healthz")),
            {"health_check": {"http": {"path": "/healthz"}}},
            id="one member of a check over HTTP",
        ),
        pytest.param(
            a_listener(),
            a_listener(health_check=HealthCheck(Protocol.HTTP, 30080, http=HttpCheck(path="/healthz"))),
            {"health_check": {"protocol": "http", "http": {"path": "/healthz"}}},
            id="a check over HTTP",
        ),
        pytest.param(
            a_listener(health_check=an_http_check()),
            a_listener(health_check=HealthCheck(Protocol.TCP, 30080, UNMANAGED, UNMANAGED, UNMANAGED)),
            {"health_check": {"protocol": "tcp"}},
            id="a check over TCP",
        ),
        pytest.param(
            a_listener(),
            an_http_listener(http=HttpOptions(sticky_sessions=True)),
            {"protocol": "http", "http": {"sticky_sessions": True}},
            id="TCP becomes HTTP",
        ),
        pytest.param(
            a_listener(), an_http_listener(http=HttpOptions()), {"protocol": "http"}, id="and is left as it is"
        ),
        pytest.param(an_http_listener(), a_listener(), {"protocol": "tcp"}, id="HTTP becomes TCP"),
        pytest.param(HTTPS, a_listener(443, 30443), {"protocol": "tcp"}, id="HTTPS becomes TCP"),
        pytest.param(
            HTTPS,
            an_http_listener(443, 30443),
            {"protocol": "http", "http": {"certificates": [], "redirect_http": False}},
            id="HTTPS becomes HTTP",
        ),
        pytest.param(
            HTTPS,
            replace(HTTPS, http=replace(HTTPS.http, certificates=(5, 6))),  # type: ignore[type-var]
            {"http": {"certificates": [5, 6]}},
            id="certificates as a whole list",
        ),
        pytest.param(
            HTTPS,
            replace(HTTPS, http=HttpOptions(cookie_lifetime_s=600, redirect_http=True)),
            {"http": {"cookie_lifetime": 600, "redirect_http": True}},
            id="what nobody asks for stays",
        ),
    ],
)
def test_only_what_differs_is_sent(
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


def test_a_listener_that_is_gone(simulate: Simulate) -> None:
    """There is nothing left to remove, and nothing to change."""
    stage = a_stage(simulate, a_balancer(listeners=()))
    stage.carry_out(REMOVE)
    with pytest.raises(NotFound):
        stage.carry_out(UPDATE)
    assert ports(stage) == []


def test_a_removal_that_finds_out_late(simulate: Simulate) -> None:
    """Its action says that there is nothing to remove."""
    stage = a_stage(simulate, a_balancer())
    stage.sim.hetzner.set_faults([{"kind": "action_fails", "code": "not_found"}])
    stage.carry_out(REMOVE)


def test_a_port_that_is_taken(simulate: Simulate) -> None:
    """Somebody else's listener is not mistaken for ours: the API's refusal is said as it is."""
    stage = a_stage(simulate, a_balancer())
    with pytest.raises(Invalid, match="source_port_already_used"):
        stage.carry_out(part("listener/80", None, a_listener(node_port=30099)))
    assert service(stage, 80)["destination_port"] == 30080


def test_a_second_request_that_is_refused(simulate: Simulate) -> None:
    """When the port is not there afterwards the refusal counts."""
    stage = a_stage(simulate, a_balancer())
    refusal = {"error": {"code": "source_port_already_used", "message": "port 80 is busy, redirect_http needs it"}}
    stage.sim.spoil_hetzner("reset", method="POST")
    stage.sim.spoil_hetzner("status", method="POST", code=412, body=refusal)
    with pytest.raises(Invalid, match="redirect_http needs it"):
        stage.carry_out(ADD)
    assert ports(stage) == [80]
