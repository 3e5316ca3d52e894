"""Law of foresight: after each change that is applied, the observed world is the foreseen one.

It checks foresight, actuators, what is read, and the order of changes at once, over the simulators of all APIs. What
Hetzner chooses is known after apply: where the foreseen world has nothing to say, any value is right.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import reduce
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings

from actuators.apply import apply
from actuators.http.hetzner_actions import Actions
from actuators.outcome import Applied
from actuators.writers import Writers
from desired.guards.guard import GuardInput
from desired.guards.judge import judge
from desired.model.load_balancer import CloudBalancer, Listener
from desired.model.route import CONDITION_NETWORK, Route
from desired.model.snapshot import Node, Snapshot
from desired.plan.change import Change, Plan
from desired.plan.foresight import after, after_all
from desired.plan.kinds import KINDS
from desired.plan.ordering import bridged, in_order
from desired.plan.setbacks import NO_SETBACKS
from desired.planner import compute_desired, diff
from desired.section import UNMANAGED
from reconciler.observe.world import observe_world
from reconciler.passes.attempts import Attempts
from reconciler.runtime import actuators_with
from tests.property.plan_worlds import PlanWorld, plan_worlds
from tests.property.strategies import SEED
from tests.property.test_plan_truth import WORLDS, a_run
from tests.support.balancer_stage import PassingTime

MOST_STEPS = 12


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


class _Steps:
    """One change after another, each planned from what is there by then."""

    def __init__(self, world: PlanWorld) -> None:
        self.run = a_run(world)
        clock, reader = self.run.sim.clock, self.run.readers.hetzner
        actions = Actions(reader, PassingTime(clock), clock=clock.timestamp)
        self._actuators = actuators_with(
            self.run.sim.kubernetes_writer(),
            self.run.readers.kubernetes,
            Writers(reader, self.run.writer, actions),
            self.run.sim.robot_reader(),
        )
        self._attempts = Attempts()

    def look(self) -> Snapshot:
        """The world, read whole."""
        return observe_world(self.run.readers, self.run.settings).snapshot

    def plan(self, snapshot: Snapshot) -> Plan:
        """The plan, with all that a person could approve."""
        desired = compute_desired(snapshot, self.run.settings)
        facts = GuardInput(
            diff(snapshot, desired, self.run.settings), snapshot, self.run.settings, desired, NO_SETBACKS
        )
        return judge(facts, [hold.hash for hold in judge(facts).holds])

    def ready(self, plan: Plan) -> list[Change]:
        """The changes that a round would begin with, whatever it has tried before. One that comes after another of them
        is planned from what that one leaves."""
        todo = bridged(self._attempts.todo(plan), plan)
        waiting = {change.key for change in todo}
        return [change for change in todo if waiting.isdisjoint((*change.depends_on, *change.follows))]

    def make(self, change: Change, snapshot: Snapshot) -> bool:
        """Apply one change. Returns whether it is done."""
        outcome = apply([change], snapshot, self._actuators, stop=threading.Event())[change.key]
        self._attempts.add(change, outcome)
        return isinstance(outcome, Applied)


@pytest.mark.passes
@pytest.mark.timeout(3600)
def test_what_is_seen_after_a_change_was_foreseen() -> None:
    """See the module. Kinds are counted: the whole run covers all of them."""
    seen: Counter[str] = Counter()

    @seed(SEED)
    @settings(max_examples=WORLDS, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))
    @given(plan_worlds())
    def law(world: PlanWorld) -> None:
        steps = _Steps(world)
        before = steps.look()
        for _ in range(MOST_STEPS):
            plan = steps.plan(before)
            assert after_all(before, plan.changes) == reduce(after, in_order(plan.changes), before)
            ready = steps.ready(plan)
            if not ready:
                break
            change = min(ready, key=lambda change: (seen[change.kind], change.order))
            is_done = steps.make(change, before)
            now = steps.look()
            if is_done:
                assert [*differences(after(before, change), now)] == [], (change.key, change.before, change.after)
                seen[change.kind] += 1
            before = now

    law()
    assert len(seen) >= (len(KINDS) if WORLDS >= 1000 else 12), seen
