"""Breadth first through a small world: two Nodes, one Service with up to two ports, and its load balancer.

An edge is one pass, undisturbed or disturbed once, or one thing that happens to the world. A pass is that of a process
that has just begun, as a restart between any two is possible: what it knows of earlier ones is in the cluster. Dying
before a write is dying after the one before it. States that differ in ids, addresses and times alone are one.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from desired.load_balancers.ownership import default_name
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Response
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from kubernetes_double import KubernetesSimulator
from tests.campaign.faults import FAULTS
from tests.campaign.points import Moment, Point
from tests.campaign.probe import Probe
from tests.campaign.workloads import LONG_SILENT
from tests.support.direct import DirectSimulation
from tests.support.harm_judge import Deed, harm
from tests.support.harm_truth import CLUSTER_LABEL, SERVICE_LABEL, Cluster, Seen
from tests.support.objects import LOCATED, a_service, ingress, port, said_of, taints
from tests.support.passes import Run
from tests.support.simulators import START

Raw = Mapping[str, Any]
NODES = (1, 2)
REST = 2
"""Undisturbed passes after which nothing is left to do."""
MOST_PASSES = 10
_STEP_S = 30.0


@dataclass(frozen=True)
class State:
    """Both APIs, and what a person has let pass."""

    hetzner: Raw
    kubernetes: Raw
    elapsed_s: float = 0.0
    let: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Hash of an approved hold → the keys of its changes."""
    past: tuple[Raw, Raw] | None = None
    """Both APIs one write ago, on the way by which the state was found."""

    @property
    def key(self) -> str:
        """The same of states that differ in nothing that decides, or in which of the two machines is the first."""
        told = (json.dumps(_told(self, numbers), sort_keys=True) for numbers in ((1, 2), (2, 1)))
        return sha256(min(told).encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Edge:
    """One step, and where it leads."""

    action: str
    state: State
    writes: int = 0
    harm: Sequence[str] = ()


# The world.


def start() -> State:
    """Two Nodes and a Service with its load balancer, in order."""
    world = _open(None)
    world.have_nodes(2)
    world.have_services(a_service())
    for _ in range(4):
        Run(world, world.settings).converge()
        world.advance(_STEP_S)
    return _close(world, State({}, {}))


def _open(state: State | None) -> DirectSimulation:
    clock = SimulatedClock(source=START.timestamp)
    hetzner = HetznerSimulator(clock, HetznerOptions(action_s=0.0, rate_limit=1_000_000))
    world = DirectSimulation(hetzner, KubernetesSimulator(clock), clock, is_judged=False)
    world.environment |= LOCATED
    if state is not None:
        world.hetzner.replace_world(state.hetzner)
        world.kubernetes.replace_world(state.kubernetes)
        world.advance(state.elapsed_s)
    return world


def _close(world: DirectSimulation, before: State, **changes: Any) -> State:
    elapsed_s = world.clock.timestamp() - START.timestamp()
    kubernetes = {**world.kubernetes.world()["kubernetes"], "events": [], "leases": []}
    return replace(
        before, hetzner=world.hetzner.world()["hetzner"], kubernetes=kubernetes, elapsed_s=elapsed_s, **changes
    )


# What tells states apart.


def _told(state: State, numbers: tuple[int, int]) -> Any:
    """What there is, where the machines have these numbers."""
    number = dict(zip(NODES, numbers, strict=True))
    services = {each["metadata"]["name"]: each for each in state.kubernetes["services"]}
    uid = services["web"]["metadata"]["uid"] if "web" in services else None
    balancers = sorted(state.hetzner["load_balancers"], key=lambda each: int(each["id"]))
    return {
        "servers": sorted((number[each["id"]], each["status"]) for each in state.hetzner["servers"]),
        "nodes": sorted(_of_node(each, number) for each in state.kubernetes["nodes"]),
        "service": _of_service(services["web"], balancers) if "web" in services else None,
        "balancers": [_of_balancer(each, uid, number) for each in balancers],
        "approved": _approved(state.kubernetes.get("configmaps", ())),
    }


def _of_node(node: Raw, number: Mapping[int, int]) -> Any:
    spec, metadata, status = node["spec"], node["metadata"], node["status"]
    conditions = sorted((each["type"], each["status"]) for each in status.get("conditions", ()))
    addresses = sorted(each["type"] for each in status.get("addresses", ()))
    name = number[int(metadata["name"].removeprefix("web-"))]
    return name, "providerID" in spec, sorted(taints(node)), sorted(metadata.get("labels", {})), conditions, addresses


def _of_service(service: Raw, balancers: Sequence[Raw]) -> Any:
    metadata, status = service["metadata"], service.get("status", {})
    owner = {ip: number for number, each in enumerate(balancers) for ip in _addresses(each)}
    published = [owner.get(str(each.get("ip")), "?") for each in ingress(service)] if "loadBalancer" in status else []
    ports = sorted(each["port"] for each in service["spec"]["ports"])
    return "deletionTimestamp" in metadata, metadata.get("finalizers", []), published, ports, said_of(service)


def _addresses(balancer: Raw) -> Iterator[str]:
    yield from (balancer["public_net"][family]["ip"] for family in ("ipv4", "ipv6"))


def _of_balancer(balancer: Raw, uid: str | None, number: Mapping[int, int]) -> Any:
    labels = balancer["labels"]
    owner = None if SERVICE_LABEL not in labels else labels[SERVICE_LABEL] == uid
    others = sorted(labels.keys() - {SERVICE_LABEL, CLUSTER_LABEL})
    is_named = uid is not None and balancer["name"] == default_name(uid)
    targets = sorted(number[each["server"]["id"]] for each in balancer["targets"])
    ports = sorted(each["listen_port"] for each in balancer["services"])
    return owner, CLUSTER_LABEL in labels, others, is_named, targets, ports


def _approved(config_maps: Sequence[Raw]) -> Any:
    """Whether uses are recorded, and approvals that were not used."""
    data = {key: text for each in config_maps for key, text in each.get("data", {}).items()}
    used = {use["of"].replace(":", ".") for use in json.loads(data.get("record", '{"uses": []}'))["uses"]}
    return "record" in data, sorted(key for key in data if key.startswith("sha256.") and key not in used)


# What happens to it.

Event = Callable[[DirectSimulation], object]


def events_in(state: State) -> Iterator[tuple[str, Event]]:
    names = {each["metadata"]["name"] for each in state.kubernetes["nodes"]}
    for number in NODES:
        server = next((each for each in state.hetzner["servers"] if each["id"] == number), None)
        if f"web-{number}" in names:
            yield f"Node {number} is deleted", _delete_node(number)
        if server is not None:
            is_off = server["status"] == "off"
            yield f"server {number} is lost", _lose(number, has_node=f"web-{number}" in names)
            yield f"server {number} is switched {'on' if is_off else 'off'}", _switch(number, on=is_off)
    service = next((each for each in state.kubernetes["services"] if each["metadata"]["name"] == "web"), None)
    if service is None:
        yield "the Service comes", lambda world: world.have_services(a_service())
    elif "deletionTimestamp" not in service["metadata"]:
        yield "the Service is deleted", lambda world: world.delete_service()
        ports = (80, 443) if len(service["spec"]["ports"]) == 1 else (80,)
        yield f"the Service has {len(ports)} ports", lambda world: world.listen("web", *map(port, ports))
    for balancer in state.hetzner["load_balancers"][:1]:
        yield "the load balancer is deleted", _delete_balancer(balancer["id"])
        if balancer["labels"]:
            yield "the load balancer loses its labels", _unlabel(balancer["id"])
        for target in balancer["targets"]:
            server_id = target["server"]["id"]
            yield f"the target of server {server_id} is taken out", _take_out(balancer["id"], server_id)


def _delete_node(number: int) -> Event:
    return lambda world: world.delete_node(f"web-{number}")


def _lose(number: int, *, has_node: bool) -> Event:
    def happens(world: DirectSimulation) -> None:
        world.delete_server(number)
        if has_node:
            world.set_ready(f"web-{number}", ready="Unknown", since=LONG_SILENT)

    return happens


def _switch(number: int, *, on: bool) -> Event:
    return lambda world: world.power(number, on=on)


def _delete_balancer(balancer: int) -> Event:
    return lambda world: world.delete_balancer(balancer)


def _unlabel(balancer: int) -> Event:
    return lambda world: world.change_labels(balancer, {})


def _take_out(balancer: int, server: int) -> Event:
    return lambda world: world.remove_target(balancer, server)


# Edges.


def edges(state: State) -> Iterator[Edge]:
    undisturbed, points = _pass(state)
    yield undisturbed
    for point in points:
        for fault in _faults_at(point, state):
            yield _pass(state, point, fault)[0]
    for name, happens in events_in(state):
        world = _open(state)
        happens(world)
        yield Edge(name, _close(world, state, past=(state.hetzner, state.kubernetes)))
    yield from _approval(state)


def expanded(state: State) -> Sequence[Edge]:
    return [*edges(state)]


def settled(state: State) -> Sequence[Edge]:
    """The one that is a pass which nothing disturbs."""
    return [_pass(state)[0]]


_LISTS = {
    "/api/v1/nodes": "nodes",
    "/api/v1/services": "services",
    "/servers": "servers",
    "/load_balancers": "load_balancers",
}
_LIES = ("first hidden", "last hidden", "as one write ago")


def _faults_at(point: Point, state: State) -> Sequence[str]:
    """What may happen there. Of the first reading of a list no lie that changes nothing, or that is told already."""
    if point.method != "GET":
        return ("dies after",)
    kind = _LISTS.get(point.path)
    if kind is None or point.nth:
        return _LIES if kind else ()
    of_cluster = point.api == "kubernetes"
    there = (state.kubernetes if of_cluster else state.hetzner).get(kind, [])
    was = there if state.past is None else state.past[of_cluster].get(kind, [])
    return (*_LIES[: min(2, len(there))], *(() if was == there else _LIES[2:]))


def _pass(state: State, at: Point | None = None, fault: str | None = None) -> tuple[Edge, Sequence[Point]]:
    world = _open(state)
    shown: dict[str, set[str]] = {}
    faults = {} if at is None or fault is None else {at: _noting(fault, shown)}
    probe = Probe(world, faults, keeps_past=True)
    if state.past is not None:
        for api, then in zip(("hetzner", "kubernetes"), state.past, strict=True):
            probe.past[api].append({**then})
    before = _seen(state)
    Run(world, world.settings).converge()
    asked = Counter(point.method == "GET" for point in probe.seen)
    world.advance(_STEP_S)
    past = _last(probe, state)
    after = _close(world, state, past=past)
    deed = _deed(world, state, before, _seen(after), shown, asked)
    action = "pass" if at is None else f"pass, {at.method} {at.path} {at.nth}, {fault}"
    return Edge(action, after, asked[False], [each for each in harm(deed) if not _is_excused(each, state)]), probe.seen


def _is_excused(said: str, state: State) -> bool:
    """Whether it is about a load balancer that lost its labels, and has the name that only its Service's has, be it one
    of a write ago: it is taken up again then, or released with its Service."""
    services = [*state.kubernetes["services"], *(() if state.past is None else state.past[1]["services"])]
    named = {default_name(each["metadata"]["uid"]) for each in services}
    ours = (each for each in state.hetzner["load_balancers"] if each["name"] in named)
    return said.endswith(_OF_NOBODY) and any(said.startswith(f"load balancer {each['id']} ") for each in ours)


_OF_NOBODY = "nobody's of this cluster, and in use"


def _last(probe: Probe, state: State) -> tuple[Raw, Raw] | None:
    """Both APIs one write ago."""
    if not probe.writes:
        return state.past
    hetzner, kubernetes = (
        probe.past[api][-1] if probe.past[api] else now
        for api, now in (("hetzner", state.hetzner), ("kubernetes", state.kubernetes))
    )
    return hetzner, {**kubernetes, "events": [], "leases": []}


def _noting(fault: str, shown: dict[str, set[str]]) -> Callable[[Moment], Response]:
    """The fault, and the names that a list of Nodes or Services then has."""

    def meet(moment: Moment) -> Response:
        answer = FAULTS[fault](moment)
        kind = moment.point.path.rpartition("/")[2]
        if moment.point.api == "kubernetes" and moment.point.method == "GET" and isinstance(answer.body, dict):
            shown[kind] = {each["metadata"]["name"] for each in answer.body.get("items", ())}
            if fault == "as one write ago":
                shown["stale"] = {kind}
        return answer

    return meet


def _deed(
    world: DirectSimulation,
    state: State,
    before: Seen,
    after: Seen,
    shown: Mapping[str, set[str]],
    asked: Counter[bool],
) -> Deed:
    cluster = Cluster("a", "home", world.kubernetes, world.hetzner, world.clock)
    used = {of for of, _ in after.approvals_used("a") - before.approvals_used("a")}
    names = {"nodes": {*before.nodes["a"]}, "services": {*before.services["a"]}, **shown}
    approved = [key for each in used for key in state.let.get(each, ())]
    return Deed(cluster, {"a": cluster}, before, after, names, approved, reads=asked[True], writes=asked[False])


def _seen(state: State) -> Seen:
    return Seen({"home": dict(state.hetzner)}, {"a": dict(state.kubernetes)})


def _approval(state: State) -> Iterator[Edge]:
    world = _open(state)
    run = Run(world, world.settings)
    held = {hold.hash: hold.keys for hold in run.plan().holds}
    if held:
        for each in held:
            run.approve(each)
        yield Edge("a person approves", _close(world, state, let={**state.let, **held}, past=None))


# The whole.


@dataclass
class Found:
    """What was found up to a depth."""

    states: int = 0
    edges: int = 0
    by_depth: list[int] = field(default_factory=list)
    """How many states were new at each depth."""
    wrong: list[str] = field(default_factory=list)
    """Ways to harm, and to a state that does not come to rest in time."""
    to_rest: Counter[int] = field(default_factory=Counter)
    """Undisturbed passes to rest → states."""


Edges = Callable[[State], Sequence[Edge]]
ForEach = Callable[[Edges, Sequence[State]], Iterable[Sequence[Edge]]]
"""``map``, on one core or on several."""


def explore(depth: int, for_each: ForEach = map) -> Found:
    """Every state up to this depth, each with all its edges; and of each whether it comes to rest and stays there."""
    found, first = Found(), start()
    ways: dict[str, tuple[str, ...]] = {first.key: ()}
    follows: dict[str, tuple[str, int]] = {}
    frontier = [first]
    for _ in range(depth):
        found.by_depth.append(len(frontier))
        new: list[State] = []
        for state, leaving in zip(frontier, for_each(expanded, frontier), strict=True):
            found.edges += len(leaving)
            new += _take(state.key, leaving, ways, follows, found)
        frontier = new
    found.by_depth.append(len(frontier))
    found.states = len(ways)
    while frontier:  # passes alone, until all have come to rest
        new = []
        for state, leaving in zip(frontier, for_each(settled, frontier), strict=True):
            new += _take(state.key, leaving, ways, follows, found)
        frontier = new
    for key in [*ways][: found.states]:
        _rests(key, ways, follows, found)
    return found


def _take(
    key: str,
    leaving: Sequence[Edge],
    ways: dict[str, tuple[str, ...]],
    follows: dict[str, tuple[str, int]],
    found: Found,
) -> Iterator[State]:
    """The states that are new."""
    for edge in leaving:
        to = edge.state.key
        way = (*ways[key], edge.action)
        found.wrong += [f"{' / '.join(way)}: {each}" for each in edge.harm]
        if edge.action == "pass":
            follows[key] = to, edge.writes
        if to not in ways:
            ways[to] = way
            yield edge.state


def _rests(key: str, ways: Mapping[str, tuple[str, ...]], follows: Mapping[str, tuple[str, int]], found: Found) -> None:
    """Count the passes to rest: to one that writes nothing and leads back to where it began."""
    here, passes = key, 0
    while follows[here] != (here, 0):
        if passes > MOST_PASSES:
            break
        here, passes = follows[here][0], passes + 1
    found.to_rest[passes] += 1
    if passes > REST:
        found.wrong.append(f"{' / '.join(ways[key])}: comes to rest after {passes} passes")
