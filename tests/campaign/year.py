"""A year of a cluster: two processes of the product, churn, and faults, from one seed and on virtual time.

Every week there is quiet; then the world is what it should be, and there is nothing left to plan. At every write it is
asked who leads, and whether it takes something that is still needed.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

from desired.names import CONFIG_MAP
from desired.plan.change import Verdict
from tests.campaign.shell import Cluster, Replica
from tests.support.churn import Churn
from tests.support.objects import CIDR, IN_NETWORK, a_service, condition
from tests.support.passes import Run
from tests.support.world import CONFIG_MAPS

DAY_S, HOUR_S = 86_400.0, 3600.0
LEASE_S = 900.0
QUIET_S = 3 * HOUR_S
ACTION_S = 1.0
"""How long an action of Hetzner's runs."""
INCIDENTS_A_DAY = 6
FAULTS_A_DAY = 3
NODES = 6
MOST_CALLS_AN_HOUR = 3_600
"""To one API, of both processes: Hetzner's usual allowance."""
ENVIRONMENT: Mapping[str, str] = {
    **IN_NETWORK,
    **CIDR,
    "--interval": "1h",
    "RECONCILER_LEADER_ELECT_LEASE_DURATION": f"{LEASE_S:.0f}s",
    "RECONCILER_LEADER_ELECT_RENEW_DEADLINE": "700s",
    "RECONCILER_LEADER_ELECT_RETRY_PERIOD": "360s",
}
"""Longer pauses than the defaults, which leave most of a year idle: a pass a minute, and a renewal every two seconds,
would take hours and find nothing in them."""


@dataclass(frozen=True)
class Told:
    days: int
    faults: Mapping[str, int]
    """Fault → how often it happened."""
    happened: Mapping[str, int]
    """What people and machines did → how often."""
    passes: int
    calls: int
    most_calls_an_hour: int
    differences: Sequence[str]
    log: Sequence[str]
    """Its end."""
    digest: str


@dataclass(frozen=True)
class _Armed:
    """A fault that waits for a request to this API."""

    api: str
    fault: str
    of_writes: bool
    skips: int
    """So many requests pass unharmed before."""


class Year:
    """The cluster, and what happens to it."""

    def __init__(self, seed: int, keeps: int | None = 2000) -> None:
        self.cluster = Cluster(seed, ENVIRONMENT, ACTION_S, keeps)
        self._draw = Random(f"{seed} world")
        self._requests: list[_Armed] = []
        self._events: list[str] = []
        self._late: list[bytes] = []
        self._off: dict[str, int] = {}
        """Nodes whose servers are switched off → the server."""
        self._differences: list[str] = []
        world = self.cluster.world
        world.may_be_refused = (404, 409, 422, 423)
        world.settle(NODES)
        world.have_services(a_service("web-0"), a_service("web-1", 80, 443))
        world._cluster("POST", CONFIG_MAPS, {"metadata": {"name": CONFIG_MAP}})
        self._churn = Churn(world, seed)
        self.cluster.meets, self.cluster.bends = self._meets, self._bends
        self.cluster.harms = partial(harm, self.cluster)
        self._replicas = [Replica(self.cluster, f"replica-{number}") for number in (1, 2)]

    def pass_days(self, days: int, rested: Callable[[int], object] = lambda _day: None) -> Told:
        """Let so many days pass; what came of them. ``rested`` is called after each rest with the days so far."""
        scheduler = self.cluster.scheduler
        for replica in self._replicas:
            replica.start()
        for day in range(days):
            moments = sorted(self._draw.uniform(0, DAY_S - HOUR_S) for _ in range(INCIDENTS_A_DAY))
            faulty = self._draw.sample(range(INCIDENTS_A_DAY), FAULTS_A_DAY)
            for number, moment in enumerate(moments):
                scheduler.sleep(max(0.0, day * DAY_S + moment - scheduler.now))
                self._incident(is_faulty=number in faulty)
            if day % 7 == 6 or day == days - 1:
                self._rest()
                rested(day + 1)
            if self._differences or self.cluster.wrongs:
                break
        return self._told()

    def _incident(self, *, is_faulty: bool) -> None:
        """One or more things happen within a minute, and something goes wrong meanwhile."""
        steps = self._draw.randint(1, 4)
        wrong_at = self._draw.randrange(steps) if is_faulty else -1
        for number in range(steps):
            if number == wrong_at:
                name = self._draw.choice([*FAULTS])
                self.cluster.log.note("fault", name)
                # What waits for a request or an event is counted when that comes.
                if name not in ARMED:
                    self.cluster.faults[name] += 1
                FAULTS[name](self)
            self._draw.choice((self._churn.step, self._churn.step, self._churn.step, self._power))()
            self.cluster.scheduler.sleep(self._draw.choice((0.0, self._draw.random(), self._draw.uniform(0, 30.0))))

    def _power(self) -> None:
        """A server is switched off, and its Node falls silent; or on again, unless it is being deleted by now."""
        world, nodes = self.cluster.world, self.cluster.world.nodes()
        servers = {each["name"]: each for each in world.servers()}
        if self._off:
            name, server = self._off.popitem()
            found = servers.get(name, {})
            if name in nodes and (found.get("id"), found.get("status")) == (server, "off"):
                world.power(server, on=True)
                self._says(name, "True")
                self._churn.done["a server is switched on"] += 1
            return
        able = sorted(name for name, node in nodes.items() if name in servers and not node["spec"].get("unschedulable"))
        if len(able) > 3:
            name = self._draw.choice(able)
            server = servers[name]["id"]
            if world._act(f"/servers/{server}", "poweroff"):
                self._off[name] = server
                self._says(name, "Unknown")
                self.cluster.scheduler.sleep(2 * ACTION_S)
                self._churn.done["a server is switched off"] += 1

    def _says(self, name: str, ready: str) -> None:
        since = self.cluster.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        self.cluster.world.set_condition(name, condition("Ready", ready, since))

    # Faults.

    def spoil_requests(self, api: str, fault: str) -> None:
        """Some of the next requests to an API, or of the next writes, meet this."""
        is_once = fault in ("dies", "dies after", "stands still")
        of_writes = fault in ("409", "423") or self._draw.random() < 0.5
        armed = _Armed(api, fault, of_writes=of_writes, skips=self._draw.randint(0, 8))
        self._requests += [armed] * (1 if is_once else self._draw.randint(1, 6))

    def spoil_events(self, fault: str) -> None:
        """Some of the next events of watches meet this."""
        self._events += [fault] * self._draw.randint(1, 3)

    def silence(self) -> None:
        """Watches are open, and say nothing."""
        self.cluster.silent_until = self.cluster.scheduler.now + self._draw.uniform(30.0, 300.0)

    def compact(self) -> None:
        """The API server forgets what was, and answers watches with 410."""
        self.cluster.world.kubernetes._history.forget()

    def pause_leader(self) -> None:
        """The process that leads stands still for longer than its Lease lasts, and goes on."""
        self._leading().stand_still(LEASE_S * self._draw.uniform(1.0, 3.0))

    def pause_briefly(self) -> None:
        """The process that leads stands still for a moment."""
        self._leading().stand_still(self._draw.uniform(0.0, LEASE_S))

    def kill(self) -> None:
        victim = self._draw.choice((self._leading(), *self._replicas))
        self.cluster.scheduler.sleep(self._draw.random() * 3.0)
        victim.kill()
        self._start_later(victim)

    def restart(self) -> None:
        victim = self._leading()
        victim.stop()
        self._start_later(victim)

    def _start_later(self, replica: Replica) -> None:
        after_s = self._draw.choice((0.0, self._draw.uniform(0.0, 20.0), self._draw.uniform(0.0, 600.0)))

        def start() -> None:
            self.cluster.scheduler.sleep(after_s)
            replica.start()

        self.cluster.scheduler.start_process(f"start of {replica.name}", start)

    def _leading(self) -> Replica:
        holder = self.cluster.holder()
        return next((each for each in self._replicas if each.identity == holder), self._replicas[0])

    def _meets(self, replica: Replica, api: str, method: str, _path: str) -> str:
        for number, armed in enumerate(self._requests):
            if armed.api == api and (method != "GET" or not armed.of_writes):
                if armed.skips:
                    self._requests[number] = replace(armed, skips=armed.skips - 1)
                    continue
                del self._requests[number]
                self.cluster.faults[f"{api} {armed.fault}"] += 1
                return self._met(replica, armed.fault)
        return ""

    def _met(self, replica: Replica, fault: str) -> str:
        if fault == "stands still":
            replica.stand_still(LEASE_S * self._draw.uniform(0.5, 3.0))
            return ""
        if fault in ("dies", "dies after"):
            self._start_later(replica)
        return fault

    def _bends(self, line: bytes) -> list[bytes] | None:
        late, self._late = self._late, []
        fault = self._events.pop(0) if self._events else ""
        if fault:
            self.cluster.faults[f"events {fault}"] += 1
            self.cluster.log.note("event", fault)
        match fault:
            case "lost":
                return late
            case "doubled":
                return [line, line, *late]
            case "late":
                self._late = [line, *late]
                return []
            case "reset":
                return None
        return [line, *late]

    # Oracles.

    def _rest(self) -> None:
        """Nothing happens for a while, and then all is in order."""
        self._requests.clear()
        self._events.clear()
        while self._off:
            self._power()
        self.cluster.scheduler.sleep(QUIET_S)
        self._differences += sorted(self._churn.unsettled())
        report = Run(self.cluster.world, self.cluster.config().settings).plan()
        self._differences += sorted(
            f"to be done: {line.change.key}: {line.change.decision.verdict}"
            for line in report.lines
            if line.change.decision.verdict is not Verdict.REFUSED
        )
        if self.cluster.holder() not in {replica.identity for replica in self._replicas}:
            self._differences.append("no process leads")

    def _told(self) -> Told:
        cluster = self.cluster
        most = max(cluster.calls.values(), default=0)
        if most > MOST_CALLS_AN_HOUR:
            self._differences.append(f"{most} calls in an hour")
        days = round(cluster.scheduler.now / DAY_S)
        for replica in self._replicas:
            replica.stop()
        cluster.scheduler.sleep(60.0)
        cluster.close()
        return Told(
            days,
            cluster.faults,
            self._churn.done,
            sum(replica.reports.total() for replica in self._replicas),
            cluster.calls.total(),
            most,
            [*cluster.wrongs, *self._differences],
            cluster.log.lines,
            cluster.log.digest,
        )


Fault = Callable[[Year], object]
ARMED: Mapping[str, Fault] = {
    **{
        f"{api} {fault}": partial(Year.spoil_requests, api=api, fault=fault)
        for api in ("kubernetes", "hetzner", "lease")
        for fault in ("lost", "unanswered", "reset", "500", "503", "429", "409", "dies", "dies after", "stands still")
    },
    "hetzner 423": partial(Year.spoil_requests, api="hetzner", fault="423"),
    **{f"events {fault}": partial(Year.spoil_events, fault=fault) for fault in ("lost", "doubled", "late", "reset")},
}
"""What goes wrong with requests and events to come."""
FAULTS: Mapping[str, Fault] = {
    **ARMED,
    "watches are silent": Year.silence,
    "410 Gone": Year.compact,
    "the leader stands still": Year.pause_leader,
    "the leader stands still for a moment": Year.pause_briefly,
    "a process is killed": Year.kill,
    "the leader is restarted": Year.restart,
}
"""What goes wrong."""

_NODE = re.compile(r"/api/v1/nodes/([^/?]+)$")
_BALANCER = re.compile(r"/v1/load_balancers/(\d+)$")


def harm(cluster: Cluster, _api: str, method: str, path: str, body: bytes) -> str:
    """Why a write takes something that is needed, by what is true at that moment; "" when it does not."""
    return next((why for rule in _HARMS if (why := rule(cluster, method, path, body))), "")


def _live_node(cluster: Cluster, method: str, path: str, _body: bytes) -> str:
    found = _NODE.search(path)
    lives = found is not None and found[1] in {server["name"] for server in cluster.world.servers()}
    return "deletes a Node whose server is there" if method == "DELETE" and lives else ""


def _wanted_balancer(cluster: Cluster, method: str, path: str, _body: bytes) -> str:
    found = _BALANCER.search(path)
    if method != "DELETE" or found is None:
        return ""
    uids = {service["metadata"]["uid"] for service in _wanting(cluster)}
    labels: Mapping[str, str] = next(
        (each["labels"] for each in cluster.world.balancers() if each["id"] == int(found[1])), {}
    )
    return "deletes the load balancer of a Service" if uids & {*labels.values()} else ""


def _needed_route(cluster: Cluster, _method: str, path: str, body: bytes) -> str:
    if not path.endswith("/actions/delete_route"):
        return ""
    asked = json.loads(body)
    at = {server["name"]: [each["ip"] for each in server["private_net"]] for server in cluster.world.servers()}
    needed = any(
        node["spec"].get("podCIDR") == asked["destination"] and asked["gateway"] in at.get(name, ())
        for name, node in cluster.world.nodes().items()
    )
    return "deletes the route of a Node" if needed else ""


def _serving_target(cluster: Cluster, _method: str, path: str, body: bytes) -> str:
    if not path.endswith("/actions/remove_target"):
        return ""
    asked = json.loads(body)
    names = {server["id"]: server["name"] for server in cluster.world.servers() if server["status"] == "running"}
    name = names.get(asked.get("server", {}).get("id"))
    node = cluster.world.nodes().get(name or "")
    is_kept = node is not None and not node["spec"].get("unschedulable")
    return "removes a target that serves" if is_kept else ""


_HARMS = (_live_node, _wanted_balancer, _needed_route, _serving_target)


def _wanting(cluster: Cluster) -> Iterator[Mapping[str, Any]]:
    for service in cluster.world.services().values():
        if service["spec"]["type"] == "LoadBalancer" and "deletionTimestamp" not in service["metadata"]:
            yield service
