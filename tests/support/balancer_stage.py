"""A project with the one load balancer of ``default/web``, the same as a snapshot, and hands to change it with.

The world of the simulator is made from the core's values, so that both say the same. Waiting lets the simulated time
pass, and nothing sleeps.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from ipaddress import IPv4Address
from typing import Any

from actuators.balancer_task import BalancerTask
from actuators.http.actions import Actions
from actuators.http.hetzner import HetznerConnection, HetznerWriter
from actuators.load_balancers import BALANCER_ACTUATORS
from actuators.unlisted import UnlistedBalancers
from actuators.writers import Writers
from desired.model.load_balancer import CloudBalancer, IpTarget, Listener, SelectorTarget, ServerTarget, Target
from desired.model.record import Stamp
from desired.model.remembered import Remembered
from desired.model.service import Service
from desired.model.snapshot import Server, Snapshot
from desired.plan.change import Change
from desired.plan.controller_record import RECORD, ControllerRecord, record_in
from hcloud_sandbox.hetzner import HetznerOptions
from reconciler.runtime import actuators_with
from tests.balancers import a_service, a_world
from tests.builders import CLUSTER_UID, a_server
from tests.support.simulators import PassingTime, Simulation

BALANCER_ID = 42
NETWORK_ID = 7
LB = f"/load_balancers/{BALANCER_ID}"
NETWORKS = [
    {
        "id": number,
        "name": name,
        "ip_range": f"10.{number}.0.0/16",
        "subnets": [{"type": "cloud", "ip_range": f"10.{number}.0.0/24", "network_zone": "eu-central"}],
    }
    for number, name in ((NETWORK_ID, "private"), (8, "other"))
]


def a_member(number: int, **overrides: Any) -> Server:
    """A server with a public address and one in network 7."""
    private = ((NETWORK_ID, IPv4Address(f"10.{NETWORK_ID}.0.{number + 10}")),)
    return a_server(number, f"web-{number}", **{"private_ips": private} | overrides)


@dataclass
class Stage:
    """One simulation, and what was observed of it."""

    sim: Simulation
    snapshot: Snapshot
    writers: Writers

    def carry_out(self, change: Change) -> None:
        BALANCER_ACTUATORS[change.kind](BalancerTask(self.writers, change, self.snapshot))

    def balancers(self) -> list[dict[str, Any]]:
        """All load balancers, as they truly are once everything has ended."""
        self.sim.clock.advance(60)
        listed: list[dict[str, Any]] = self.sim.hetzner.world()["hetzner"]["load_balancers"]
        return listed

    def balancer(self) -> dict[str, Any]:
        (found,) = self.balancers()
        return found

    def targets(self) -> frozenset[Target]:
        return frozenset(_target(raw) for raw in self.balancer()["targets"])

    def sent(self) -> list[tuple[str, str, Any]]:
        """Method, path and body of what was sent, polls of actions left out."""
        return [
            (entry.method, entry.path.removeprefix("/v1"), entry.body)
            for entry in self.sim.sent_to_hetzner()
            if entry.path != "/v1/actions"
        ]

    def acted(self) -> list[tuple[str, Any]]:
        """Last part of the path and body of all writes."""
        return [(path.rpartition("/")[2], body) for method, path, body in self.sent() if method != "GET"]

    def polls(self) -> int:
        """How often actions were asked for."""
        return sum(entry.path == "/v1/actions" for entry in self.sim.sent_to_hetzner())

    def change_balancer(self, **changes: Any) -> None:
        """Let somebody else change the load balancer; nothing runs on it afterwards."""
        world = self.sim.hetzner.world()["hetzner"]
        changed = [found | changes for found in world["load_balancers"]]
        self.sim.hetzner.replace_world({**world, "load_balancers": changed})

    def take_over_before(self, action: str) -> None:
        """Let another client get the load balancer right before this action is sent."""
        path = f"{LB}/actions/{action}"
        writer = _TakenOver(self.sim.hetzner_connection(), path, lambda: self.change_balancer(labels={}))
        self.writers = replace(self.writers, writer=writer)


class _TakenOver(HetznerWriter):
    def __init__(self, connection: HetznerConnection, before: str, take: Callable[[], object]) -> None:
        super().__init__(connection)
        self._before, self._take = before, take

    def post(self, path: str, body: Mapping[str, Any] | None = None, *, repeatable: bool = False) -> bytes:
        if path == self._before:
            self._take()
        return super().post(path, body, repeatable=repeatable)


def a_stage(
    simulate: Callable[..., Simulation],
    *balancers: CloudBalancer,
    service: Service | None = None,
    servers: Iterable[Server] | None = None,
    **options: Any,
) -> Stage:
    """Three servers, two networks, one Service, and these load balancers. ``options`` are those of the simulator."""
    fleet = tuple(servers) if servers is not None else tuple(a_member(number) for number in (1, 2, 3))
    project = {
        "servers": [_raw_server(server) for server in fleet],
        "networks": NETWORKS,
        "load_balancers": [_raw_balancer(balancer) for balancer in balancers],
    }
    sim = simulate(project=project, options=HetznerOptions(**options))
    sim.stop = PassingTime(sim.clock)
    snapshot = a_world([service or a_service()], balancers, servers=fleet)
    return Stage(sim, snapshot, hands_in(sim))


def hands_in(sim: Simulation) -> Writers:
    """Hands for the simulation: their waits are those of its stop event, their clock is its own."""
    reader = sim.hetzner_reader()
    actions = Actions(reader, sim.stop, clock=sim.clock.timestamp)
    return Writers(reader, sim.hetzner_writer(), actions, sim.kubernetes_reader())


def carry_out(sim: Simulation, change: Change, snapshot: Snapshot, hands: Writers | None = None) -> None:
    """Carry out a change with whatever the simulation has, or with these ``hands``."""
    actuators_with(sim.kubernetes_writer(), hands or hands_in(sim), sim.robot_reader())[change.kind](change, snapshot)


def in_record(*ids: int, cluster: str = CLUSTER_UID) -> UnlistedBalancers:
    """The record of the cluster's load balancers has these ids."""
    stamp = Stamp(cluster, "a test", datetime(2026, 7, 1, tzinfo=UTC))
    text = RECORD.write(ControllerRecord(project=Remembered(None, ids)), stamp)
    return UnlistedBalancers(lambda uid: record_in({RECORD.key: text}, uid))


def _raw_server(server: Server) -> dict[str, Any]:
    return {
        "id": server.id,
        "name": server.name,
        "public_net": {
            "ipv4": {"ip": str(server.ipv4)} if server.ipv4 else None,
            "ipv6": {"ip": str(server.ipv6)} if server.ipv6 else None,
        },
        "private_net": [{"network": network, "ip": str(ip)} for network, ip in server.private_ips],
    }


def _raw_balancer(balancer: CloudBalancer) -> dict[str, Any]:
    spec = balancer.spec
    return {
        "id": balancer.id,
        "name": spec.name,
        "labels": dict(spec.labels),
        "load_balancer_type": spec.type,
        "protection": {"delete": balancer.is_protected},
        "public_net": {
            "enabled": spec.public_interface,
            "ipv4": {"ip": str(balancer.ipv4)},
            "ipv6": {"ip": str(balancer.ipv6)},
        },
        "private_net": [{"network": place.network_id, "ip": str(place.ip)} for place in balancer.attachments],
        "services": [_raw_service(listener) for listener in spec.listeners.values()],
        "targets": [_raw_target(target) for target in balancer.targets],
    }


def _raw_service(listener: Listener) -> dict[str, Any]:
    return {
        "protocol": listener.protocol.value,
        "listen_port": listener.port,
        "destination_port": listener.destination_port,
        "proxyprotocol": listener.proxyprotocol,
    }


def _raw_target(target: Target) -> dict[str, Any]:
    match target:
        case ServerTarget(server_id=server_id, use_private_ip=private):
            return {"type": "server", "server": {"id": server_id}, "use_private_ip": private}
        case IpTarget(ip=ip):
            return {"type": "ip", "ip": {"ip": ip}}
        case SelectorTarget(selector=selector, use_private_ip=private):
            return {"type": "label_selector", "label_selector": {"selector": selector}, "use_private_ip": private}


def _target(raw: Mapping[str, Any]) -> Target:
    match raw["type"]:
        case "server":
            return ServerTarget(raw["server"]["id"], raw["use_private_ip"])
        case "ip":
            return IpTarget(raw["ip"]["ip"])
    return SelectorTarget(raw["label_selector"]["selector"], raw["use_private_ip"])
