"""What is left undone when a world has settled: what is not as people want it, each with its object and in words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tests.support.harm_metal import addresses_of_metal, inside, metal_of
from tests.support.harm_serving import asked
from tests.support.harm_start import HOME, NETWORK, Start
from tests.support.harm_truth import (
    DELETED_SERVER,
    Cluster,
    Raw,
    Seen,
    addresses_of,
    balancer_of,
    is_joining,
    is_ready,
    is_wanted,
    may_serve,
    option,
    out_of_service,
    pods_of,
    private_ip,
    published,
    server_of,
    target_addresses,
    target_servers,
    wishes,
)
from tests.support.world import settings_of


class What(StrEnum):
    """What of an object can be otherwise than people want it."""

    JOINING = "a Node that waits to be initialized"
    MACHINE = "a Node without a server"
    TAINT = "the taint of a deleted server on a Node whose server runs"
    ROUTE = "a route to pods"
    BALANCER = "a load balancer that is missing"
    TARGET = "a target"
    PORTS = "the ports of a load balancer"
    STATUS = "the addresses that a Service publishes"
    RELEASE = "what a Service that wants no load balancer keeps"


@dataclass(frozen=True)
class Undone:
    """Something that is not as people want it."""

    cluster: str
    key: str
    what: What
    how: str

    def __str__(self) -> str:
        return f"{self.cluster}: {self.key} {self.how}"


@dataclass(frozen=True)
class Settled:
    seen: Seen
    clusters: Mapping[str, Cluster]
    start: Start
    environment: Mapping[str, str]

    def undone(self) -> Iterator[Undone]:
        """All that is left."""
        yield from self._of_nodes()
        yield from self._of_services()
        yield from self._of_unwanted()

    @property
    def _real(self) -> list[str]:
        return [name for name, found in self.clusters.items() if not found.is_copy]

    def _of_nodes(self) -> Iterator[Undone]:
        servers = self.seen.servers[HOME]
        names = [each["name"] for each in servers.values()]
        names += [each["server_name"] for each in self.seen.account]
        for cluster in self._real:
            for name, node in self.seen.nodes[cluster].items():
                if (dedicated := metal_of(node)) is not None:
                    if dedicated not in self.seen.metal and not is_ready(node) and not self.start.keyless:
                        yield Undone(cluster, f"node/{name}", What.MACHINE, "has no dedicated server")
                    continue
                number, key = server_of(node), f"node/{name}"
                machine = servers.get(number or 0)
                is_keyless_metal = self.start.keyless and name not in {each["name"] for each in servers.values()}
                if is_joining(node) and names.count(name) == 1 and not is_keyless_metal:
                    yield Undone(cluster, key, What.JOINING, "is not initialized")
                elif number is not None and machine is None and not is_ready(node):
                    yield Undone(cluster, key, What.MACHINE, "has no server")
                elif machine is not None and machine["status"] == "running" and DELETED_SERVER in out_of_service(node):
                    yield Undone(cluster, key, What.TAINT, "is tainted as one of a deleted server, and its server runs")
                address = private_ip(machine, NETWORK) if machine else None
                if settings_of(self.environment).routes and address and pods_of(node):
                    gateway = self.seen.routes(HOME).get((NETWORK, str(pods_of(node))))
                    if gateway != address:
                        yield Undone(cluster, f"route/{NETWORK}/{pods_of(node)}", What.ROUTE, f"leads to {gateway}")

    def _of_services(self) -> Iterator[Undone]:
        for cluster, service, found in wishes(self.seen, self.clusters, HOME):
            name = f"default/{service['metadata']['name']}"
            key = f"load_balancer/{name}"
            if found is None:
                yield Undone(cluster, key, What.BALANCER, "is missing")
                continue
            wanted = {
                number
                for node in self.seen.nodes[cluster].values()
                if may_serve(node, service) and (number := server_of(node)) in self.seen.servers[HOME]
            }
            if asked(service, self.environment, "use-private-ip") == "true":
                wanted = {number for number in wanted if private_ip(self.seen.servers[HOME][number or 0], NETWORK)}
            differing = sorted(target_servers(found) ^ {each for each in wanted if each})
            names = [f"server:{number}" for number in differing]
            names += [f"ip:{each}" for each in self._metal_off(cluster, service, found)]
            for each in names:
                yield Undone(cluster, f"{key}/target/{each}", What.TARGET, "is there or missing")
            listening = {each["listen_port"] for each in found["services"]}
            if {each["port"] for each in service["spec"]["ports"]} != listening:
                yield Undone(cluster, key, What.PORTS, "listens on other ports")
            if not option(service, "hostname") and not published(service) & addresses_of(found):
                yield Undone(cluster, f"service/{name}", What.STATUS, "does not publish it")

    def _of_unwanted(self) -> Iterator[Undone]:
        """Services that want no load balancer, and do not go or have one all the same."""
        for cluster in self._real:
            for name, service in self.seen.services[cluster].items():
                key = f"load_balancer/{name}"
                if "deletionTimestamp" in service["metadata"]:
                    yield Undone(cluster, key, What.RELEASE, "keeps its Service from going")
                elif not is_wanted(service):
                    if balancer_of(self.seen, HOME, service, self.seen.uid(cluster)):
                        yield Undone(cluster, key, What.RELEASE, "is left behind")
                    if service["metadata"].get("finalizers"):
                        yield Undone(cluster, key, What.RELEASE, "has its finalizer on a Service that wants none")

    def _metal_off(self, cluster: str, service: Raw, found: Raw) -> Iterator[str]:
        """Addresses of dedicated servers that are no targets and should be, or the other way round."""
        is_private = asked(service, self.environment, "use-private-ip") == "true"
        if self.start.keyless and not is_private:
            return
        for node in self.seen.nodes[cluster].values():
            machine = self.seen.metal.get(metal_of(node) or 0)
            if machine is None:
                continue
            number = machine["server_number"]
            wanted = inside(number) if is_private else machine["server_ip"] or f"{machine['server_ipv6_net']}1"
            there = target_addresses(found).intersection(addresses_of_metal(machine))
            yield from sorted(there ^ ({wanted} if may_serve(node, service) else set()))
