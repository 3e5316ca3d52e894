"""The door to values: a world that was read once, and passes that ask no API."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from desired.annotations.choices import Algorithm
from desired.model.load_balancer import CloudBalancer, Listener
from desired.model.route import CONDITION_NETWORK, Route
from desired.model.settings import Settings
from desired.model.snapshot import Node, Snapshot
from desired.plan.change import Change, Plan
from desired.plan.foresight import after_all
from desired.planner import compute_plan
from desired.section import UNMANAGED
from reconciler.observe.world import observe_world
from tests.support.judging import judge
from tests.support.simulators import Simulated


@dataclass
class Values:
    """A snapshot, and what passes make of it: what a plan allows is folded into it by foresight, one pass after the
    other."""

    snapshot: Snapshot
    settings: Settings

    @classmethod
    def of(cls, world: Simulated) -> "Values":
        """What a pass reads of a world now."""
        return cls(observe_world(world.readers(), world.settings).snapshot, world.settings)

    def plan(self, approved: Collection[str] = ()) -> Plan:
        return judge(compute_plan(self.snapshot, self.settings), self.snapshot, self.settings, approved)

    def converge(self, approved: Collection[str] = ()) -> Plan:
        """The plan of a pass, which is carried out."""
        plan = self.plan(approved)
        self.snapshot = _as_made(after_all(self.snapshot, plan.allowed))
        return plan

    def settle(self) -> None:
        """Passes until none has anything left, or the same as the one before: what Hetzner alone can know."""
        left: Sequence[Change] = ()
        plan = self.converge()
        while plan.allowed and plan.allowed != left:
            left, plan = plan.allowed, self.converge()


def _as_made(world: Snapshot) -> Snapshot:
    """The world with what Hetzner gives a new load balancer of which nobody asked for more."""
    if world.load_balancers is None:
        return world
    made: dict[int, CloudBalancer] = {}
    for number, balancer in world.load_balancers.items.items():
        spec = balancer.spec
        algorithm = Algorithm.ROUND_ROBIN if spec.algorithm is UNMANAGED else spec.algorithm
        public = True if spec.public_interface is UNMANAGED else spec.public_interface
        made[number] = replace(balancer, spec=replace(spec, algorithm=algorithm, public_interface=public))
    return replace(world, load_balancers=replace(world.load_balancers, items=made))


def differences(foreseen: Snapshot, seen: Snapshot) -> Iterator[str]:
    """What is otherwise than it was foreseen."""
    yield from _different("nodes", _by_name(foreseen), _by_name(seen))
    for kind, told, found in (
        ("routes", foreseen.routes, seen.routes),
        ("services", foreseen.services, seen.services),
        ("certificates", foreseen.certificates, seen.certificates),
        ("load_balancers", foreseen.load_balancers, seen.load_balancers),
    ):
        if told is None or found is None:
            continue  # read only where something depends on it
        unborn: dict[Any, Any] = dict(told.items)
        known: dict[Any, Any] = dict(found.items)
        for number in [number for number in unborn if isinstance(number, int) and number < 0]:
            born = next((each for each in known if each not in unborn), None)
            if born is not None:
                unborn[born] = replace(unborn.pop(number), id=born)
        yield from _different(kind, {k: _told(v) for k, v in unborn.items()}, {k: _told(v) for k, v in known.items()})


def _by_name(world: Snapshot) -> Mapping[str, object]:
    return {node.name: _of_node(node) for node in world.nodes}


def _of_node(node: Node) -> Mapping[str, object]:
    said = node.condition(CONDITION_NETWORK)
    return {
        "provider_id": node.provider_id,
        "labels": dict(node.labels),
        "taints": {(taint.key, taint.effect, taint.value) for taint in node.taints},
        "addresses": node.addresses,
        "network": None if said is None else (said.status, said.reason),
    }


def _told(value: Any) -> object:
    """What changes of ours may make of an object, and what has to stay as it is."""
    if isinstance(value, Route):
        return value
    if not isinstance(value, CloudBalancer):
        return {
            name: set(found) if name == "finalizers" else found
            for name in ("finalizers", "ingress", "name", "domains", "labels", "type")
            if (found := getattr(value, name, None)) is not None
        }
    return {
        "spec": replace(value.spec, targets=UNMANAGED, location=None, zone=None, former=None),
        "targets": set(value.targets),
        "attachments": {place.network_id: place.ip for place in value.attachments},
        "type": value.type.name,
    }


def _different(where: str, told: object, seen: object) -> Iterator[str]:
    """Where the seen value is not what was told; UNMANAGED, and what is known after apply, tell nothing."""
    if told is UNMANAGED or str(told).startswith("KnownAfterApply") or told == seen:
        return
    if isinstance(told, Mapping) and isinstance(seen, Mapping):
        for key in told.keys() | seen.keys():
            if key in told and key in seen:
                yield from _different(f"{where}.{key}", told[key], seen[key])
            else:
                yield f"{where}.{key}: {'foreseen' if key in told else 'seen'} alone"
    elif is_dataclass(told) and type(told) is type(seen):
        for each in fields(told):
            if each.compare and not (isinstance(told, Listener) and each.name == "http" and told.http is None):
                yield from _different(f"{where}.{each.name}", getattr(told, each.name), getattr(seen, each.name))
    elif not where.endswith(("_rdns", "primary_ipv4", "primary_ipv6")) or told is not None:
        yield f"{where}: foreseen {told}, seen {seen}"
