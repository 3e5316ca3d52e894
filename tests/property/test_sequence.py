"""Laws of the order in which one load balancer changes: the API accepts each step, and traffic goes on.

The API's rules stand here once more, in a model of one load balancer, so that the order is not judged
by the code that makes it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any, TypeVar

from hypothesis import given
from hypothesis import strategies as st

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.model.load_balancer import (
    Attachment,
    BalancerType,
    CloudBalancer,
    HealthCheck,
    HttpOptions,
    Identity,
    Listener,
    SelectorTarget,
    ServerTarget,
    Target,
)
from desired.model.service import Service
from desired.model.settings import Settings
from desired.model.snapshot import Network, Snapshot
from desired.plan.change import Change
from desired.plan.kinds import Verb
from desired.plan.ordering import in_order
from desired.planner import compute_plan
from desired.section import UNMANAGED, Present
from tests.balancers import (
    LOCATED,
    a_balancer,
    a_certificate,
    a_claim,
    a_listener,
    a_served_service,
    a_world,
    annotated,
)
from tests.builders import a_server, a_settled_node
from tests.property.strategies import law, some
from tests.support.balancer_changes import BALANCER
from tests.support.balancer_plans import part_of
from tests.support.premises import premise

TYPES = {"lb11": BalancerType("lb11", 3, 4, 10), "lb21": BalancerType("lb21", 4, 7, 10)}
NETWORKS = {7: Network(7, "a", (IPv4Network("10.7.0.0/24"),)), 8: Network(8, "b", (IPv4Network("10.8.0.0/24"),))}
SELECTOR = SelectorTarget("pool=web", use_private_ip=False)
INSIDE = SelectorTarget("pool=api", use_private_ip=True)
SERVERS = range(1, 9)
FULL = "resource_limit_exceeded"
S = TypeVar("S", Listener, HealthCheck, HttpOptions)


class Refused(Exception):
    """What the API does not do."""


@dataclass
class Model:
    """One load balancer, and who is alive."""

    type: BalancerType
    public: bool
    networks: dict[int, Attachment]
    listeners: dict[int, Listener]
    targets: list[Target]
    alive: frozenset[int]
    labels: dict[str, str] = field(default_factory=dict)
    """Those that others than its owner's say something by."""
    fewest: int = field(init=False)
    """Living targets, at the worst moment."""

    def __post_init__(self) -> None:
        self.fewest = self.living

    @property
    def living(self) -> int:
        """How many servers that are alive get traffic."""
        return len({target.server_id for target in self.targets if isinstance(target, ServerTarget)} & self.alive)

    def apply(self, change: Change) -> None:
        match change.kind, change.before, change.after:
            case "lb.type", _, str(name):
                self._change_type(TYPES[name])
            case "lb.public_interface", _, bool(enabled):
                self._switch(enabled=enabled)
            case "lb.network", before, after:
                self._move(before, after)
            case "lb.listener", before, after:
                self._listen(before, after)
            case "lb.target", before, after:
                self._lead(before, after)
            case "lb.identity", Identity(labels=before), Identity(labels=after):
                self.labels = {key: value for key, value in self.labels.items() if key not in before} | dict(after)
            case other:
                raise AssertionError(f"no rule for {other}")

    def _change_type(self, wanted: BalancerType) -> None:
        if len(self.targets) > wanted.max_targets or len(self.listeners) > wanted.max_services:
            raise Refused("invalid_load_balancer_type")
        self.type = wanted

    def _switch(self, *, enabled: bool) -> None:
        if not enabled and not self.networks:
            raise Refused("load_balancer_not_attached_to_network")
        if not enabled and not all(is_private(target) for target in self.targets):
            raise Refused("targets_without_use_private_ip")
        self.public = enabled

    def _move(self, before: object, after: object) -> None:
        """Leaving takes along what is reached through the network: the actuator removes it first."""
        if isinstance(before, Attachment):
            del self.networks[before.network_id]
            self._have([target for target in self.targets if not is_private(target)])
        if isinstance(after, Attachment):
            if self.networks:
                raise Refused("load_balancer_already_attached")
            ip = IPv4Address(f"10.{after.network_id}.0.200") if after.ip is UNMANAGED else after.ip
            self.networks[after.network_id] = Attachment(after.network_id, ip)

    def _listen(self, before: object, after: object) -> None:
        others = dict(self.listeners)
        there = others.pop(before.port) if isinstance(before, Listener) else None
        if isinstance(after, Listener):
            if any(taken(other) & taken(after) for other in others.values()):
                raise Refused("source_port_already_used")
            if len(others) >= self.type.max_services:
                raise Refused(FULL)
            others[after.port] = as_answered(after, there)
        self.listeners = others

    def _lead(self, before: object, after: object) -> None:
        if isinstance(before, ServerTarget | SelectorTarget):
            self._have([target for target in self.targets if target != before])
        if isinstance(after, SelectorTarget):
            self._select(after)
        if isinstance(after, ServerTarget):
            if any(isinstance(other, ServerTarget) and other.server_id == after.server_id for other in self.targets):
                raise Refused("target_already_defined")
            if len(self.targets) >= self.type.max_targets:
                raise Refused(FULL)
            if after.use_private_ip and not self.networks:
                raise Refused("load_balancer_not_attached_to_network")
            if not after.use_private_ip and not self.public:
                raise Refused("load_balancer_public_interface_disabled")
            self._have([*self.targets, after])

    def _select(self, after: SelectorTarget) -> None:
        """One by private address, that has gone with the network."""
        if after in self.targets:
            raise Refused("target_already_defined")
        if len(self.targets) >= self.type.max_targets:
            raise Refused(FULL)
        if not self.networks:
            raise Refused("load_balancer_not_attached_to_network")
        self._have([*self.targets, after])

    def _have(self, targets: list[Target]) -> None:
        self.targets = targets
        self.fewest = min(self.fewest, self.living)

    def observed(self) -> CloudBalancer:
        """What a reading makes of it."""
        return a_balancer(
            targets=self.targets,
            listeners=self.listeners.values(),
            attachments=tuple(self.networks.values()),
            type=self.type,
            spec={
                "type": self.type.name,
                "public_interface": self.public,
                "labels": {**a_balancer().spec.labels, **self.labels},
            },
        )


def is_private(target: object) -> bool:
    """Whether a target is reached through a network."""
    return isinstance(target, ServerTarget | SelectorTarget) and target.use_private_ip


def taken(listener: Listener) -> set[int]:
    """The ports that a listener takes: a redirect takes port 80 as well."""
    redirects = listener.http is not None and listener.http.redirect_http is True
    return {listener.port, *({80} if redirects else ())}


def as_answered(asked: Listener, there: Listener | None) -> Listener:
    """The listener with all that was left open: what it had, or the API's defaults."""
    default = a_listener(asked.port)
    http = HttpOptions("HCLBSTICKY", 300, 50, (), redirect_http=False, sticky_sessions=False)
    had = there.http if there is not None and there.http is not None else http
    return replace(
        completed(asked, there or default),
        health_check=completed(asked.health_check, (there or default).health_check),
        http=None if asked.http is None else completed(asked.http, had),
    )


def completed(asked: S, there: S) -> S:
    """``asked`` with what it leaves open as it is there."""
    left = {item.name: getattr(there, item.name) for item in fields(asked) if getattr(asked, item.name) is UNMANAGED}
    return replace(asked, **left)


@dataclass(frozen=True)
class World:
    """One Service, and what there is for it."""

    service: Service
    present: CloudBalancer
    settings: Settings
    rest: Mapping[str, Any]

    def with_balancer(self, balancer: CloudBalancer) -> Snapshot:
        """The reading that finds this load balancer."""
        return a_world([self.service], [balancer], balancer_types=TYPES, certificates=[a_certificate(5)], **self.rest)

    def changes(self, balancer: CloudBalancer) -> list[Change]:
        """The changes of its parts, in the order in which they are carried out."""
        plan = compute_plan(self.with_balancer(balancer), self.settings)
        return [change for change in in_order(plan.changes) if change.key.startswith(f"{BALANCER}/")]

    def model(self) -> Model:
        """The load balancer, before anything is done."""
        there = self.present
        return Model(
            there.type,
            there.spec.public_interface is True,
            {place.network_id: place for place in there.attachments},
            dict(there.spec.listeners),
            list(there.targets),
            frozenset(server.id for server in self.rest["servers"]),
        )


PORTS = some((80,), (443,), (80, 443), (443, 8443), (22, 8443), (22, 80, 443), (81, 82, 83), (81, 82, 83, 84))
members = st.lists(some(*SERVERS), unique=True, max_size=7)


@st.composite
def listeners(draw: st.DrawFn, limit: int) -> list[Listener]:
    """Listeners of any protocol that do not collide; one of them may redirect."""
    found: list[Listener] = []
    for port in draw(PORTS)[:limit]:
        listener = a_listener(port, 30000 + port)
        if draw(some(False, False, True)):
            redirects = draw(some(False, True)) and not any(80 in taken(other) for other in found) and port != 80
            http = HttpOptions("HCLBSTICKY", 300, 50, (5,), redirect_http=redirects, sticky_sessions=False)
            listener = replace(listener, protocol=Protocol.HTTPS, http=http)
        if not any(taken(other) & taken(listener) for other in found):
            found.append(listener)
    return found


@st.composite
def targets(draw: st.DrawFn, limit: int, *, attached: bool, public: bool) -> list[Target]:
    ways = [*([True] if attached else []), *([False] if public else [])]
    found: list[Target] = (
        [ServerTarget(number, draw(st.sampled_from(ways))) for number in draw(members)] if ways else []
    )
    selectors = [*([SELECTOR] if public else []), *([INSIDE] if attached else [])]
    return [*(selector for selector in selectors if draw(some(False, False, True))), *found][:limit]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A load balancer that differs in anything from what is asked for."""
    there = TYPES[draw(some("lb11", "lb21"))]
    place = draw(some(None, 7, 8))
    public = place is None or draw(some(True, True, False))
    present = Model(
        there,
        public,
        {place: Attachment(place, IPv4Address(f"10.{place}.0.200"))} if place else {},
        {listener.port: listener for listener in draw(listeners(there.max_services))},
        draw(targets(there.max_targets, attached=place is not None, public=public)),
        frozenset(),
    ).observed()
    network = draw(some(None, 7, 7, 8))
    options = draw(some({}, {"type": "lb11"}, {"type": "lb21"}))
    https = {"protocol": "https", "http_certificates": "5"}
    options = options | draw(some({}, https, https | {"http_redirect_http": "true"}))
    if network is not None:
        inside = {"use_private_ip": "true"}
        options = options | draw(some({}, inside, inside | {"disable_public_network": "true"}))
        options = options | draw(some({}, {}, {"private_ipv4": f"10.{network}.0.99"}))
    if "disable_public_network" not in options:
        options = options | {"disable_public_network": "false"}
    ports = [ClaimedPort(port, "TCP", 30000 + port) for port in draw(PORTS)]
    private = tuple((number, IPv4Address(f"10.{number}.0.9")) for number in NETWORKS)
    names = draw(members)
    return World(
        a_served_service(claim=a_claim(*ports, annotations=annotated(**options))),
        present,
        replace(LOCATED, network=None if network is None else str(network)),
        {
            "network": Present(None if network is None else NETWORKS[network]),
            "nodes": [a_settled_node(f"web-{number}", number) for number in names],
            "servers": [
                a_server(number, f"web-{number}", private_ips=private if draw(some(True, True, False)) else ())
                for number in {*names, *draw(members)} - set(draw(members)[:2])
            ],
        },
    )


def executed(model: Model, changes: Iterable[Change]) -> None:
    for change in changes:
        model.apply(change)


def refusals_of(model: Model, change: Change) -> Iterator[str]:
    """Why the API does not carry out the change, if it does not."""
    try:
        model.apply(change)
    except Refused as refusal:
        yield str(refusal)


@law({"several steps": 0.5})
@given(worlds())
def test_the_api_accepts_each_step(world: World) -> None:
    """Whatever has to change; and what a step took along is mended in the next two passes."""
    model = world.model()
    premise("several steps", is_met=len(world.changes(world.present)) > 1)
    for _ in range(3):
        executed(model, world.changes(model.observed()))
    assert world.changes(model.observed()) == []


@law({"two living targets, and targets change": 0.1})
@given(worlds())
def test_traffic_goes_on(world: World) -> None:
    """D32: at no moment more than one target is missing of those that were there, or will be."""
    model = world.model()
    before, changes = model.living, world.changes(world.present)
    premise(
        "two living targets, and targets change",
        is_met=before > 1 and any(change.kind == "lb.target" for change in changes),
    )
    is_dropped = any(is_private(target) for target in model.targets)
    executed(model, changes)
    if not is_dropped or not any(change.kind == "lb.network" and change.before for change in changes):
        assert model.fewest >= min(before, model.living) - 1


@law({"a removal is withheld, and something else is done": 0.2})
@given(st.data(), worlds())
def test_who_may_not_go_stays(data: st.DataObject, world: World) -> None:
    """Where the removal of a target is withheld nothing else takes it away. What is refused then is for want of
    room."""
    model, changes = world.model(), world.changes(world.present)
    removals = [change for change in changes if change.kind == "lb.target" and change.verb is Verb.REMOVE]
    held = [change for change in removals if data.draw(st.booleans(), label=part_of(change))]
    withheld, refusals = {change.key for change in held}, set[str]()
    premise("a removal is withheld, and something else is done", is_met=bool(held) and len(held) < len(changes))
    for change in changes:
        if withheld.intersection((change.key, *change.depends_on)):
            withheld.add(change.key)
            continue
        refusals.update(refusals_of(model, change))
    assert {change.before for change in held} <= set(model.targets)
    assert refusals <= {FULL}
