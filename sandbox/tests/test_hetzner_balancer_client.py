"""Load balancers and certificates of the Hetzner simulator seen by the vendor's own client, over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest
from hcloud import APIException, Client
from hcloud.actions import ActionFailedException
from hcloud.load_balancer_types import LoadBalancerType
from hcloud.load_balancers import (
    LoadBalancerAlgorithm,
    LoadBalancerCreatePublicNetwork,
    LoadBalancerHealthCheck,
    LoadBalancerHealthCheckHttp,
    LoadBalancerService,
    LoadBalancerServiceHttp,
    LoadBalancerTarget,
    LoadBalancerTargetIP,
    LoadBalancerTargetLabelSelector,
)
from hcloud.locations import Location
from hcloud.networks import Network
from hcloud.servers import Server

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from hcloud_sandbox.serving import BackgroundLoop, SimulatorServer
from sandbox_support.certificates import CERTIFICATE, PRIVATE_KEY
from sandbox_support.hetzner_spec import ValidatingSimulator, load_spec

WORLD = {
    "servers": [
        {"id": n, "name": f"web-{n}", "labels": {"pool": "web"}, "private_net": [{"network": 5}]} for n in (1, 2, 3)
    ],
    "networks": [{"id": 5, "name": "net"}],
}


@pytest.fixture(scope="module")
def loop() -> Iterator[BackgroundLoop]:
    """One event loop for all servers of this module."""
    background = BackgroundLoop()
    yield background
    background.close()


@pytest.fixture
def simulator() -> HetznerSimulator:
    """Three servers in a network, and a domain for which nothing is issued."""
    options = HetznerOptions(action_s=0.02, issuance_errors={"bad.example.com": "dns_zone_not_found"})
    return HetznerSimulator(SimulatedClock(), options, world=WORLD)


@pytest.fixture
def client(loop: BackgroundLoop, simulator: HetznerSimulator, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The vendor's client, untyped, as all its fields are optional; the answers are judged when the test ends."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    judged = ValidatingSimulator(simulator, load_spec(), collect=True)
    server = SimulatorServer(loop, judged, SimulatedClock()).start()
    yield Client(simulator.TOKEN, api_endpoint=f"{server.url}/v1", poll_interval=0.005, timeout=10)
    server.stop()
    assert judged.problems == []


def server_target(server_id: int) -> LoadBalancerTarget:
    """A server by its private address."""
    server: Any = Server(id=server_id)
    return LoadBalancerTarget(type="server", server=server, use_private_ip=True)


def http_service(certificate: Any) -> LoadBalancerService:
    """An https service with everything that a service can have."""
    lifetime_s: Any = 60
    return LoadBalancerService(
        protocol="https",
        listen_port=443,
        destination_port=30443,
        proxyprotocol=True,
        http=LoadBalancerServiceHttp(
            cookie_name="C",
            cookie_lifetime=lifetime_s,
            certificates=[certificate],
            sticky_sessions=True,
            timeout_idle=60,
        ),
        health_check=LoadBalancerHealthCheck(
            protocol="http",
            port=30443,
            interval=5,
            timeout=4,
            retries=2,
            http=LoadBalancerHealthCheckHttp(
                domain="example.com", path="/healthz", response="ok", status_codes=["2??"], tls=True
            ),
        ),
    )


def test_life_of_a_load_balancer(client: Any) -> None:
    """Created in one call with network, services, targets and a managed certificate, then changed and deleted."""
    managed = client.certificates.create_managed("cert", ["example.com"], labels={"a": "b"})
    managed.action.wait_until_finished()
    created = client.load_balancers.create(
        name="lb",
        load_balancer_type=LoadBalancerType(name="lb11"),
        location=Location(name="fsn1"),
        algorithm=LoadBalancerAlgorithm(type="least_connections"),
        labels={"owner": "me"},
        network=Network(id=5),
        services=[
            LoadBalancerService(protocol="tcp", listen_port=80, destination_port=30080),
            http_service(managed.certificate),
        ],
        targets=[server_target(n) for n in (1, 2)],
    )
    created.action.wait_until_finished()
    balancer = created.load_balancer
    balancer.reload()

    assert (balancer.name, balancer.labels, balancer.algorithm.type) == ("lb", {"owner": "me"}, "least_connections")
    assert balancer.private_net[0].network.name == "net"
    assert balancer.public_net.ipv4.ip == "198.18.0.4"
    assert [target.server.id for target in balancer.targets] == [1, 2]
    assert {health.status for target in balancer.targets for health in target.health_status} == {"healthy"}
    [plain, https] = balancer.services
    assert (plain.listen_port, plain.health_check.interval) == (80, 15)
    assert [certificate.name for certificate in https.http.certificates] == ["cert"]
    assert (https.http.timeout_idle, https.health_check.http.path, https.health_check.http.tls) == (
        60,
        "/healthz",
        True,
    )
    with pytest.raises(APIException, match="certificate still in use"):
        managed.certificate.delete()

    plain.destination_port = 30081
    changes: tuple[Any, ...] = (
        lambda: balancer.update_service(plain),
        lambda: balancer.delete_service(https),
        lambda: balancer.change_type(LoadBalancerType(name="lb21")),
        lambda: balancer.change_algorithm(LoadBalancerAlgorithm(type="round_robin")),
        lambda: balancer.change_dns_ptr("198.18.0.4", "lb.example.com"),
        balancer.disable_public_interface,
        lambda: balancer.add_target(server_target(3)),
        balancer.enable_public_interface,
        lambda: balancer.add_target(LoadBalancerTarget(type="ip", ip=LoadBalancerTargetIP(ip="203.0.113.9"))),
        lambda: balancer.remove_target(server_target(1)),
        lambda: balancer.change_protection(delete=True),
    )
    for change in changes:
        change().wait_until_finished()
    changed = client.load_balancers.get_by_id(balancer.id).update(name="renamed", labels={})

    assert (changed.name, changed.labels, changed.load_balancer_type.name) == ("renamed", {}, "lb21")
    assert [service.destination_port for service in changed.services] == [30081]
    assert [target.type for target in changed.targets] == ["server", "server", "ip"]
    assert changed.public_net.ipv4.dns_ptr == "lb.example.com"
    with pytest.raises(APIException, match="delete protected"):
        changed.delete()
    changed.change_protection(delete=False).wait_until_finished()
    changed.delete().action.wait_until_finished()
    assert client.load_balancers.get_all() == []
    assert client.certificates.get_by_id(managed.certificate.id).delete()


def test_network_of_a_load_balancer(client: Any) -> None:
    """Attached with an address of choice, and detached."""
    created = client.load_balancers.create(
        name="lb", load_balancer_type=LoadBalancerType(name="lb11"), network_zone="eu-central"
    )
    created.action.wait_until_finished()
    balancer = created.load_balancer
    selector = LoadBalancerTargetLabelSelector(selector="pool=web")
    wanted = LoadBalancerTarget(type="label_selector", label_selector=selector, use_private_ip=False)
    balancer.attach_to_network(Network(id=5), ip="10.0.0.77").wait_until_finished()
    balancer.add_target(wanted).wait_until_finished()
    balancer.reload()
    assert balancer.private_net[0].ip == "10.0.0.77"
    assert [target.server.id for target in balancer.targets[0].targets] == [1, 2, 3]

    balancer.detach_from_network(Network(id=5)).wait_until_finished()

    assert client.load_balancers.get_by_name("lb").private_net == []
    assert [action.command for action in balancer.get_actions()] == [
        "create_load_balancer",
        "attach_to_network",
        "add_target",
        "detach_from_network",
    ]


def test_primary_ips(client: Any) -> None:
    """Created, found by name and among those of servers, given to a load balancer and kept, protected and deleted."""
    made = client.primary_ips.create(type="ipv4", name="web", location=Location(name="fsn1")).primary_ip
    six = client.primary_ips.create(type="ipv6", name="six", location=Location(name="fsn1")).primary_ip
    assert (made.ip, made.auto_delete, made.assignee_id, six.ip) == ("198.18.0.4", False, None, "2001:db8:0:4::/64")
    assert client.primary_ips.get_by_name("web").id == made.id
    assert {found.assignee_type for found in client.primary_ips.get_all()} == {"server", "unassigned"}
    created = client.load_balancers.create(
        name="lb",
        load_balancer_type=LoadBalancerType(name="lb11"),
        location=Location(name="fsn1"),
        public_net=LoadBalancerCreatePublicNetwork(ipv4=made, ipv6=six),
    )
    created.action.wait_until_finished()
    balancer = client.load_balancers.get_by_name("lb")

    assert (balancer.public_net.ipv4.ip, balancer.public_net.ipv6.ip) == (made.ip, "2001:db8:0:4::1")
    assert balancer.public_net.ipv4.primary_ip.name == "web"
    assert client.primary_ips.get_by_id(made.id).assignee_id == balancer.id
    with pytest.raises(APIException, match="assigned"):
        made.delete()

    balancer.delete().action.wait_until_finished()
    kept = client.primary_ips.get_by_id(made.id).update(auto_delete=True, name="renamed", labels={"a": "b"})
    assert (kept.assignee_id, kept.auto_delete, kept.name, kept.labels) == (None, True, "renamed", {"a": "b"})
    kept.change_protection(delete=True).wait_until_finished()
    with pytest.raises(APIException, match="delete protected"):
        kept.delete()
    assert six.delete()


def test_certificates(client: Any) -> None:
    """Uploaded, failed and retried."""
    uploaded = client.certificates.create("mine", CERTIFICATE, PRIVATE_KEY, labels={"a": "b"})
    assert (uploaded.domain_names, uploaded.not_valid_after.year) == (["example.com", "www.example.com"], 2036)
    failed = client.certificates.create_managed("bad", ["bad.example.com"])
    with pytest.raises(ActionFailedException, match="dns_zone_not_found"):
        failed.action.wait_until_finished()
    bad = client.certificates.get_by_id(failed.certificate.id)
    assert (bad.status.issuance, bad.status.error.code) == ("failed", "dns_zone_not_found")

    with pytest.raises(ActionFailedException):
        bad.retry_issuance().wait_until_finished()
    with pytest.raises(APIException) as refused:
        uploaded.retry_issuance()

    assert (refused.value.code, refused.value.message) == ("unsupported_error", "certificate not retryable")
    assert uploaded.update(name="renamed").name == "renamed"


def test_failed_creation(client: Any, simulator: HetznerSimulator) -> None:
    """A fault of the action reaches the client as its error."""
    simulator.set_faults([{"kind": "action_fails", "command": "create_load_balancer", "code": "oops", "message": "no"}])
    created = client.load_balancers.create(
        name="lb", load_balancer_type=LoadBalancerType(name="lb11"), location=Location(name="fsn1")
    )

    with pytest.raises(ActionFailedException, match="oops"):
        created.action.wait_until_finished()
    assert client.load_balancers.get_all() == []
