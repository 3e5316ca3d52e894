"""The Hetzner simulator seen by the vendor's own client, over HTTP: a judge that shares no code with it."""

from collections.abc import Iterator
from typing import Any

import pytest
from hcloud import APIException, Client
from hcloud.actions import ActionFailedException
from hcloud.images import Image
from hcloud.locations import Location
from hcloud.networks import NetworkRoute, NetworkSubnet
from hcloud.server_types import ServerType

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from hcloud_sandbox.serving import BackgroundLoop, SimulatorServer
from sandbox_support.hetzner_spec import ValidatingSimulator, load_spec

READ_ONLY = "r" * 64
TOKENS: Any = {HetznerSimulator.TOKEN: "rw", READ_ONLY: "ro"}
WORLD = {
    "servers": [
        {"id": number, "name": f"web-{number}", "private_net": [{"network": 5}] if number < 9 else []}
        for number in range(1, 61)
    ],
    "networks": [{"id": 5, "name": "net", "routes": [{"destination": "10.244.0.0/24", "gateway": "10.0.0.2"}]}],
    "load_balancers": [
        {
            "id": 1,
            "name": "lb",
            "private_net": [{"network": 5}],
            "services": [
                {"protocol": "https", "listen_port": 443, "health_check": {"protocol": "http"}},
                {"protocol": "http", "listen_port": 80},
                {"protocol": "tcp", "listen_port": 22},
            ],
            "targets": [
                {"type": "server", "server": {"id": 1}},
                {"type": "label_selector", "label_selector": {"selector": "a"}, "targets": [{"server": {"id": 2}}]},
                {"type": "ip", "ip": {"ip": "203.0.113.9"}},
            ],
        }
    ],
    "certificates": [{"id": 1, "name": "managed", "type": "managed"}],
}


class Service:
    """A running server and how to reach it."""

    def __init__(self, server: SimulatorServer) -> None:
        self.server = server

    def client(self, token: str = HetznerSimulator.TOKEN) -> Any:
        """A client with this token that polls without waiting long; untyped, as all its fields are optional."""
        return Client(
            token, api_endpoint=f"{self.server.url}/v1", poll_interval=0.005, timeout=10, application_name="judge"
        )


@pytest.fixture(scope="module")
def loop() -> Iterator[BackgroundLoop]:
    """One event loop for all servers of this module."""
    background = BackgroundLoop()
    yield background
    background.close()


@pytest.fixture
def service(loop: BackgroundLoop, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A simulator on a port, its answers judged when the test ends."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    clock = SimulatedClock()
    simulator = HetznerSimulator(clock, HetznerOptions(action_s=0.02), tokens=TOKENS, world=WORLD)
    judged = ValidatingSimulator(simulator, load_spec(), collect=True)
    server = SimulatorServer(loop, judged, clock).start()
    yield Service(server)
    server.stop()
    assert judged.problems == []


def test_lists(service: Service) -> None:
    """The client walks all pages and understands every object."""
    client = service.client()
    servers = client.servers.get_all()

    assert [server.id for server in servers] == list(range(1, 61))
    assert servers[0].server_type.name == "cpx22"
    assert servers[0].private_net[0].ip == "10.0.0.2"
    assert servers[0].public_net.ipv4.ip == "198.18.0.1"
    assert client.networks.get_by_name("net").routes[0].destination == "10.244.0.0/24"
    assert {location.name for location in client.locations.get_all()} >= {"fsn1", "sin"}
    assert client.server_types.get_by_name("cx23").architecture == "x86"
    assert [kind.name for kind in client.load_balancer_types.get_all()] == ["lb11", "lb21", "lb31"]
    assert client.servers.get_by_name("nobody") is None
    assert client.servers.get_all(label_selector="a=b", status=["off"]) == []


def test_load_balancers_and_certificates_are_understood(service: Service) -> None:
    """Every field that the client indexes blindly is there."""
    [balancer] = service.client().load_balancers.get_all()
    [certificate] = service.client().certificates.get_all()

    assert [listener.protocol for listener in balancer.services] == ["https", "http", "tcp"]
    assert [target.type for target in balancer.targets] == ["server", "label_selector", "ip"]
    assert certificate.status.issuance == "completed"


def test_server_life(service: Service) -> None:
    """Create, wait, attach, stop, rename and delete, with the client's own waiting."""
    client = service.client()
    created = client.servers.create(
        name="new",
        server_type=ServerType(name="cpx22"),
        image=Image(name="ubuntu-24.04"),
        location=Location(name="hel1"),
        labels={"pool": "new"},
    )
    for action in (created.action, *created.next_actions):
        action.wait_until_finished()
    server = created.server
    server.attach_to_network(client.networks.get_by_id(5)).wait_until_finished()
    server.power_off().wait_until_finished()
    server.change_type(ServerType(name="cpx32"), upgrade_disk=False).wait_until_finished()
    server.reload()
    assert (server.status, server.server_type.name, server.location.name) == ("running", "cpx32", "hel1")
    assert server.private_net[0].network.name == "net"
    assert [action.command for action in server.get_actions()] == [
        "create_server",
        "start_server",
        "attach_to_network",
        "stop_server",
        "change_server_type",
    ]
    assert server.update(name="newer", labels={}).name == "newer"

    server.delete().wait_until_finished()

    assert client.servers.get_by_name("newer") is None


def test_a_deleted_server_is_gone_from_everywhere(service: Service) -> None:
    """From the list, from its network and from load balancers; the client's GET by id says so with ``not_found``."""
    client = service.client()
    client.servers.get_by_id(1).delete().wait_until_finished()

    with pytest.raises(APIException) as absent:
        client.servers.get_by_id(1)

    assert absent.value.code == "not_found"
    assert [server.id for server in client.servers.get_all()] == list(range(2, 61))
    assert 1 not in [server.id for server in client.networks.get_by_id(5).servers]
    assert [target.type for target in client.load_balancers.get_by_id(1).targets] == ["label_selector", "ip"]


def test_a_server_is_switched_off_and_on(service: Service) -> None:
    """Gracefully or not, the status is what was asked for once the action has ended."""
    server = service.client().servers.get_by_id(1)
    seen = []
    for switch in (server.shutdown, server.power_on, server.power_off):
        switch().wait_until_finished()
        server.reload()
        seen.append(server.status)

    assert seen == ["off", "running", "off"]


def test_a_list_that_lacks_a_server(service: Service) -> None:
    """The fault that tests of deletion need: the client's list is whole without it, and its GET by id finds it."""
    service.server.simulator.set_faults([{"kind": "list_lacks", "path": "/servers", "ids": [1], "count": None}])
    client = service.client()

    assert [server.id for server in client.servers.get_all()] == list(range(2, 61))
    assert client.servers.get_by_name("web-1") is None
    assert client.servers.get_by_id(1).name == "web-1"


def test_network_life(service: Service) -> None:
    """Subnets, routes and members through the client."""
    client = service.client()
    network = client.networks.create(name="second", ip_range="10.7.0.0/16")
    network.add_subnet(
        NetworkSubnet(type="cloud", network_zone="eu-central", ip_range="10.7.1.0/24")
    ).wait_until_finished()
    route = NetworkRoute(destination="10.245.0.0/24", gateway="10.7.1.9")
    network.add_route(route).wait_until_finished()
    client.servers.get_by_id(60).attach_to_network(network, ip="10.7.1.9").wait_until_finished()
    network.reload()

    assert [found.gateway for found in network.routes] == ["10.7.1.9"]
    assert [(member.ip, member.status) for member in network.get_member_list().members] == [("10.7.1.9", "ok")]
    network.delete_route(route).wait_until_finished()
    assert network.delete()
    assert client.servers.get_by_id(60).private_net == []


def test_errors_are_understood(service: Service) -> None:
    """The client's exception has code, message and correlation id."""
    with pytest.raises(APIException) as refused:
        service.client().servers.get_by_id(999)

    assert (refused.value.code, refused.value.message) == ("not_found", "server with ID '999' not found")
    assert refused.value.correlation_id


def test_tokens(service: Service) -> None:
    """A read-only token reads and may not write; a wrong token may nothing."""
    reader = service.client(READ_ONLY)
    assert reader.servers.get_by_id(1).name == "web-1"
    with pytest.raises(APIException) as forbidden:
        reader.networks.create(name="x", ip_range="10.9.0.0/16")
    with pytest.raises(APIException) as unknown:
        service.client("wrong").servers.get_all()

    assert [forbidden.value.code, unknown.value.code] == ["forbidden", "unauthorized"]


def test_failed_action(service: Service) -> None:
    """The client's waiting ends with the action's error."""
    service.server.simulator.set_faults([{"kind": "action_fails", "code": "oops", "message": "no power"}])
    action = service.client().servers.get_by_id(1).reboot()

    with pytest.raises(ActionFailedException) as failed:
        action.wait_until_finished()

    error: Any = failed.value.action.error
    assert error == {"code": "oops", "message": "no power"}


def test_journal_names_the_client(service: Service) -> None:
    """Calls are logged by the server, not by the simulator."""
    service.client().servers.get_by_id(1)
    [entry] = service.server.journal.entries()

    assert (entry.method, entry.path, entry.status) == ("GET", "/v1/servers/1", 200)
    assert entry.client.startswith("judge")
