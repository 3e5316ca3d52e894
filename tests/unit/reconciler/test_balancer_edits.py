"""Edits of a Service that has its load balancer: one call for each difference, and the status follows."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from actuators.outcome import Pending
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from kubernetes_double import KubernetesSimulator
from reconciler.result import Report, Result
from tests.support.direct import DirectSimulation
from tests.support.objects import IN_NETWORK, a_service, addresses, ingress, port, said_of, seen
from tests.support.passes import Run
from tests.support.simulators import START

READY, IN_SYNC = "LoadBalancerReady", "LoadBalancerInSync"
STATUS = "service/default/web/status"
EVERYWHERE = {1: "public", 2: "public", 3: "public"}


@pytest.fixture
def balanced() -> DirectSimulation:
    """Three Nodes in a private network, in a project whose actions have ended when they are answered."""
    clock = SimulatedClock(source=START.timestamp)
    hetzner = HetznerSimulator(clock, HetznerOptions(action_s=0.0))
    world = DirectSimulation(hetzner, KubernetesSimulator(clock), clock, environment=dict(IN_NETWORK))
    world.have_nodes(3)
    return world


def _pass(world: DirectSimulation) -> Report:
    return Run(world, world.settings).converge()


def _asked(world: DirectSimulation) -> list[str]:
    """Method and last part of the path of each write to Hetzner, in order."""
    return [f"{each.method} {each.path.rpartition('/')[2]}" for each in world.sent_to_hetzner() if each.method != "GET"]


def _converge(world: DirectSimulation) -> None:
    """A pass that leaves nothing to do, and a second one that writes nothing at all. Where targets are looked at before
    the public interface goes no round is left for the status: it follows in the next pass."""
    world.forget()
    report = _pass(world)
    if [line.change.key for line in report.lines if isinstance(line.outcome, Pending)] == [STATUS]:
        report = _pass(world)
    asked, written = _asked(world), len(world.written())
    assert report.result is Result.NO_CHANGES
    again = _pass(world)
    assert (again.result, again.lines) == (Result.NO_CHANGES, ())
    assert (_asked(world), len(world.written())) == (asked, written)


def _published(balancer: Mapping[str, Any], mode: str = "VIP") -> list[dict[str, str]]:
    return [{"ip": address, "ipMode": mode} for address in addresses(balancer)]


def _listens_on(*numbers: int) -> Callable[[DirectSimulation], None]:
    return lambda world: world.patch_service({"spec": {"ports": [port(number) for number in numbers]}})


def _asks(**options: str | None) -> Callable[[DirectSimulation], None]:
    return lambda world: world.annotate(**options)


def _node_2_is_excluded(world: DirectSimulation) -> None:
    label = {"node.kubernetes.io/exclude-from-external-load-balancers": "true"}
    world.patch_node("web-2", {"metadata": {"labels": label}})


_SWITCH = ["POST remove_target", "POST add_target"] * 3
"""One target after the other: at most half is out, which is one of three."""


@pytest.mark.parametrize(
    ("happens", "asked", "becomes"),
    [
        pytest.param(_listens_on(80, 443), ["POST add_service"], {"proxy": [False, False]}, id="a port more"),
        pytest.param(_listens_on(8080), ["POST add_service", "POST delete_service"], {}, id="another port"),
        pytest.param(_asks(type="lb21"), ["POST change_type"], {"type": "lb21"}, id="type"),
        pytest.param(
            _asks(algorithm_type="least_connections", ipv4_rdns="www.example.com"),
            ["POST change_algorithm", "POST change_dns_ptr"],
            {"algorithm": "least_connections", "reverse": "www.example.com"},
            id="algorithm and reverse name",
        ),
        pytest.param(_asks(name="shop"), ["PUT 1"], {"name": "shop"}, id="name"),
        pytest.param(
            _asks(node_selector="kubernetes.io/hostname in (web-1, web-3)"),
            ["POST remove_target"],
            {"targets": {1: "public", 3: "public"}},
            id="node selector",
        ),
        pytest.param(
            _node_2_is_excluded, ["POST remove_target"], {"targets": {1: "public", 3: "public"}}, id="a Node's label"
        ),
        pytest.param(
            _asks(use_private_ip="true"), _SWITCH, {"targets": dict.fromkeys((1, 2, 3), "private")}, id="private IPs"
        ),
        pytest.param(
            _asks(use_private_ip="true", disable_public_network="true"),
            [*_SWITCH, "POST disable_public_interface"],
            {"targets": dict.fromkeys((1, 2, 3), "private"), "public": False},
            id="private IPs alone",
        ),
        pytest.param(
            _asks(private_ipv4="10.0.0.99"),
            ["POST detach_from_network", "POST attach_to_network"],
            {"private": ["10.0.0.99"]},
            id="private address",
        ),
        pytest.param(_asks(uses_proxyprotocol="true"), ["POST update_service"], {"proxy": [True]}, id="PROXY protocol"),
    ],
)
def test_what_changes_is_changed_and_nothing_else(
    balanced: DirectSimulation, happens: Callable[[DirectSimulation], None], asked: list[str], becomes: dict[str, Any]
) -> None:
    """One call for what differs, and a status that follows what the load balancer does."""
    balanced.have_services(a_service())
    _pass(balanced)
    before = seen(balanced.balancers()[0])
    happens(balanced)

    _converge(balanced)

    service, (balancer,) = balanced.service(), balanced.balancers()
    node_ports = {found["port"]: found["nodePort"] for found in service["spec"]["ports"]}
    assert _asked(balanced) == asked
    assert seen(balancer) == before | {"ports": node_ports} | becomes
    assert ingress(service) == _published(balancer, "Proxy" if becomes.get("proxy") == [True] else "VIP")
    assert (said_of(service)[READY], said_of(service)[IN_SYNC]) == (("True", "AddressPublished"), ("True", "InSync"))


def test_ports_have_options_of_their_own(balanced: DirectSimulation) -> None:
    """One call for each port that differs, and one mode of all addresses. A wrong one holds back its port alone until
    it is taken away; and what is said of ports no more goes back to what the Service says."""
    balanced.have_services(a_service("web", 80, 443, 8443))
    _pass(balanced)

    balanced.annotate(port_80_protocol="http", port_443_uses_proxyprotocol="true")
    _converge(balanced)
    assert _asked(balanced) == ["POST update_service"] * 2
    assert _spoken(balanced) == {80: ("http", False), 443: ("tcp", True), 8443: ("tcp", False)}
    assert ingress(balanced.service()) == _published(balanced.balancers()[0], "Proxy")
    assert said_of(balanced.service())[IN_SYNC] == ("True", "InSync")

    balanced.forget()
    balanced.annotate(port_443_uses_proxyprotocol="perhaps", port_8443_uses_proxyprotocol="true")
    _pass(balanced)
    assert _asked(balanced) == ["POST update_service"]
    assert _spoken(balanced) == {80: ("http", False), 443: ("tcp", True), 8443: ("tcp", True)}
    assert said_of(balanced.service())[IN_SYNC] == ("False", "InvalidAnnotation")

    gone = dict.fromkeys(("port_443_uses_proxyprotocol", "port_8443_uses_proxyprotocol"))
    balanced.annotate(**gone, port_80_protocol="tcp", uses_proxyprotocol="false")
    _converge(balanced)
    assert _spoken(balanced) == dict.fromkeys((80, 443, 8443), ("tcp", False))
    assert ingress(balanced.service()) == _published(balanced.balancers()[0])
    assert said_of(balanced.service())[IN_SYNC] == ("True", "InSync")


def _spoken(world: DirectSimulation) -> dict[int, tuple[str, bool]]:
    """Port → its protocol, and whether it speaks the PROXY protocol."""
    (balancer,) = world.balancers()
    return {each["listen_port"]: (each["protocol"], each["proxyprotocol"]) for each in balancer["services"]}
