"""A cluster in which something happens all the time, and two APIs that fail now and then; each run from a seed."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from hcloud_sandbox.proxy import FaultProxy
from tests.support.objects import LONG_AGO, NETWORK, a_service, condition, joining_node, pods_of, port, with_pods
from tests.support.stage import is_initialised
from tests.support.world import World

MOST_NODES, FEWEST_NODES = 12, 4
MOST_SERVICES = 4
_SLOTS = range(1, 41)
"""Pod CIDRs that Nodes get, and give back."""
_ALGORITHMS = ("round_robin", "least_connections")
_TRANSPORT: Sequence[dict[str, Any]] = (
    {"kind": "status", "code": 503},
    {"kind": "status", "code": 500},
    {"kind": "status", "code": 403},
    {"kind": "status", "code": 401},
    {"kind": "hang"},
    {"kind": "delay", "seconds": 1.5},
    {"kind": "reset"},
    {"kind": "cut_body"},
    {"kind": "executed_then_504"},
    {"kind": "executed_then_reset"},
    {"kind": "half_open"},
)
_CUT = {"kind": "cut_client", "client": "hcloud-reconciler"}
_MOST_HITS = 6


class Churn:
    """What people, kubelets and networks do to one world. Every step is one of many, drawn from the seed."""

    def __init__(self, stage: World, seed: int, proxies: Sequence[FaultProxy] = ()) -> None:
        self.done: Counter[str] = Counter()
        """Step → how often it was carried out."""
        self._stage = stage
        stage.may_be_refused = range(400, 600)
        self._proxies = proxies
        self._rng = random.Random(seed)
        self._named = 0
        self._spoilt: set[str] = set()
        """What was undone by hand once: whoever does it again and again is left alone with it, and rightly so."""
        self._steps: Sequence[tuple[Callable[[], str | None], int]] = (
            (self._join, 4),
            (self._leave, 3),
            (self._make_service, 2),
            (self._change_service, 3),
            (self._remove_service, 1),
            (self._remove_route, 2),
            (self._add_black_hole, 1),
            (self._remove_target, 2),
            (self._add_listener, 1),
            (self._heartbeat, 8),
        )

    def step(self) -> None:
        """Something happens, or is tried: an API may refuse it to people as well."""
        (chosen,) = self._rng.choices([step for step, _ in self._steps], [weight for _, weight in self._steps])
        what = chosen()
        if what is not None:
            self.done[what] += 1

    def faults(self) -> None:
        """One of the APIs gets better or worse."""
        proxy = self._rng.choice(self._proxies)
        proxy.clear_faults()
        draw = self._rng.random()
        if draw < 0.1:
            proxy.set_faults([_CUT])
        elif draw < 0.7:
            fault = {**self._rng.choice(_TRANSPORT), "count": self._rng.randint(1, _MOST_HITS)}
            proxy.set_faults([{**fault, "skip": self._rng.randint(0, 3)}])
        self.done["fault"] += draw < 0.7

    def calm(self) -> None:
        for proxy in self._proxies:
            proxy.clear_faults()

    def unsettled(self) -> list[str]:
        """What is not yet as it should be, in words; nothing when all is."""
        stage = self._stage
        nodes, servers = stage.nodes(), {server["name"]: server for server in stage.servers()}
        wanted = {name for name, service in stage.services().items() if service["spec"]["type"] == "LoadBalancer"}
        found = {balancer["labels"].get("hcloud-ccm/service-uid"): balancer for balancer in stage.balancers()}
        uids = {name: service["metadata"]["uid"] for name, service in stage.services().items()}
        routed = {node["spec"]["podCIDR"] for node in nodes.values()}
        said = [f"{name} is not initialized" for name, node in nodes.items() if not is_initialised(node)]
        said += [f"{name} has no server" for name in nodes.keys() - servers.keys()]
        said += [f"{cidr} is routed wrongly" for cidr in (routed ^ stage.routes().keys()) - self._led_to_others()]
        said += [f"load balancer of {uid} is nobody's" for uid in found.keys() - {uids[name] for name in wanted}]
        for name in wanted:
            balancer = found.get(uids[name])
            if balancer is None:
                said.append(f"{name} has no load balancer")
                continue
            ports = {each["port"] for each in stage.services()[name]["spec"]["ports"]}
            targets = {target["server"]["id"] for target in balancer["targets"]}
            if ports != {each["listen_port"] for each in balancer["services"]}:
                said.append(f"{name} has other ports than it wants")
            if targets != {servers[node]["id"] for node in nodes if node in servers}:
                said.append(f"{name} has other targets than it wants")
        return said

    def _led_to_others(self) -> set[str]:
        """Pod CIDRs whose routes lead to an address that another server has by now, as a project gives addresses out
        again: many of these at once are held by ``route-blast-radius``, and a person decides."""
        taken = {place["ip"] for server in self._stage.servers() for place in server.get("private_net", ())}
        pods = {node["spec"]["podCIDR"] for node in self._stage.nodes().values()}
        return {cidr for cidr, gateway in self._stage.routes().items() if gateway in taken and cidr not in pods}

    def _join(self) -> str | None:
        nodes = self._stage.nodes()
        free = sorted(set(map(pods_of, _SLOTS)) - {node["spec"]["podCIDR"] for node in nodes.values()})
        if len(nodes) >= MOST_NODES:
            return None
        self._named += 1
        name, cidr = f"n-{self._named}", self._rng.choice(free)
        if self._stage.buy_server(name, [NETWORK["id"]]) is None:
            return None
        node = with_pods(joining_node(name), cidr)
        node["status"]["conditions"] = [condition("Ready", "True")]
        self._stage.register(node)
        return "a Node joins"

    def _leave(self) -> str | None:
        nodes = self._stage.nodes()
        initialized = [name for name, node in nodes.items() if is_initialised(node)]
        standing = [name for name in initialized if not nodes[name]["spec"].get("unschedulable")]
        servers = {server["name"]: server["id"] for server in self._stage.servers()}
        leaving = self._any(sorted(standing))
        if leaving not in servers or len(standing) <= FEWEST_NODES:
            return None
        self._stage.cordon(leaving)
        self._stage.set_ready(leaving, ready="False", since=LONG_AGO)
        return "a Node leaves" if self._stage.delete_server(servers[leaving]) else None

    def _heartbeat(self) -> str | None:
        node = self._any(sorted(self._stage.nodes()))
        if node is None:
            return None
        self._stage.patch_node(node, {"metadata": {"annotations": {"example.com/beat": f"{self._rng.random()}"}}})
        return "a heartbeat"

    def _make_service(self) -> str | None:
        free = [f"web-{n}" for n in range(MOST_SERVICES) if f"web-{n}" not in self._stage.services()]
        if not free:
            return None
        self._stage.have_services(a_service(self._rng.choice(free), *self._ports()))
        return "a Service comes"

    def _change_service(self) -> str | None:
        name = self._live_service()
        if name is None:
            return None
        if self._rng.random() < 0.5:
            self._stage.annotate(name, algorithm_type=self._rng.choice(_ALGORITHMS))
        else:
            self._stage.patch_service({"spec": {"ports": [port(number) for number in self._ports()]}}, name)
        return "a Service changes"

    def _remove_service(self) -> str | None:
        name = self._live_service()
        if name is None:
            return None
        self._stage.delete_service(name)
        return "a Service goes"

    def _remove_route(self) -> str | None:
        routed = self._stage.routes()
        cidr = self._any(sorted(routed.keys() - self._spoilt))
        if cidr is None:
            return None
        self._spoilt.add(cidr)
        return "a route vanishes" if self._stage.delete_route(NETWORK["id"], cidr, routed[cidr]) else None

    def _add_black_hole(self) -> str | None:
        cidr = self._rng.choice(sorted(set(map(pods_of, range(100, 251))) - self._spoilt))
        self._spoilt.add(cidr)
        return "a black hole" if self._stage.add_route(NETWORK["id"], cidr, "10.0.0.250") else None

    def _remove_target(self) -> str | None:
        places = {
            f"{balancer['id']} {target['server']['id']}": (balancer["id"], target["server"]["id"])
            for balancer in self._stage.balancers()
            for target in balancer["targets"]
        }
        chosen = self._any(sorted(places.keys() - self._spoilt))
        if chosen is None:
            return None
        self._spoilt.add(chosen)
        return "a target vanishes" if self._stage.remove_target(*places[chosen]) else None

    def _add_listener(self) -> str | None:
        balancer = self._any([balancer["id"] for balancer in self._stage.balancers()])
        number = self._rng.randint(9000, 9999)
        done = balancer and self._stage.add_listener(balancer, number, 30000)
        return "a foreign listener" if done else None

    def _live_service(self) -> str | None:
        found = self._stage.services().items()
        live = [name for name, service in found if "deletionTimestamp" not in service["metadata"]]
        return self._rng.choice(sorted(live)) if live else None

    def _ports(self) -> list[int]:
        return self._rng.sample((80, 443, 8080, 9090), self._rng.randint(1, 3))

    def _any(self, among: Sequence[Any]) -> Any:
        return self._rng.choice(among) if among else None
