"""Law of foresight: after each change that is applied, the observed world is the foreseen one.

It checks foresight, actuators, what is read, and the order of changes at once, over the simulators of all APIs. What
Hetzner chooses is known after apply: where the foreseen world has nothing to say, any value is right.
"""

import threading
from collections import Counter
from functools import reduce

import pytest
from hypothesis import HealthCheck, given, seed, settings

from actuators.apply import apply
from actuators.http.actions import Actions
from actuators.outcome import Applied
from actuators.writers import Writers
from desired.guards.guard import GuardInput
from desired.guards.judge import judge
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, Plan
from desired.plan.foresight import after_all
from desired.plan.kinds import KINDS
from desired.plan.ordering import bridged, in_order
from desired.plan.setbacks import NO_SETBACKS
from desired.planner import compute_desired, diff
from reconciler.observe.world import observe_world
from reconciler.passes.chain import Chain
from reconciler.runtime import actuators_with
from tests.property.plan_worlds import PlanWorld, plan_worlds
from tests.property.test_plan_truth import WORLDS, a_run
from tests.support.sampling import SEED
from tests.support.simulators import PassingTime
from tests.support.values import differences

MOST_STEPS = 12


def after(world: Snapshot, change: Change) -> Snapshot:
    """The world once one change is applied."""
    return after_all(world, (change,))


class _Steps:
    """One change after another, each planned from what is there by then."""

    def __init__(self, world: PlanWorld) -> None:
        self.run = a_run(world)
        clock, reader = self.run.sim.clock, self.run.readers.hetzner
        actions = Actions(reader, PassingTime(clock), clock=clock.timestamp)
        self._actuators = actuators_with(
            self.run.sim.kubernetes_writer(),
            Writers(reader, self.run.writer, actions, self.run.readers.kubernetes),
            self.run.sim.robot_reader(),
        )
        self._chain = Chain()

    def look(self) -> Snapshot:
        """The world, read whole."""
        return observe_world(self.run.readers, self.run.settings).snapshot

    def plan(self, snapshot: Snapshot) -> Plan:
        desired = compute_desired(snapshot, self.run.settings)
        facts = GuardInput(
            diff(snapshot, desired, self.run.settings), snapshot, self.run.settings, desired, NO_SETBACKS
        )
        return judge(facts, [hold.hash for hold in judge(facts).holds])

    def ready(self, plan: Plan) -> list[Change]:
        """The changes that a pass would begin with, whatever its chain has tried before. One that comes after another
        of them is planned from what that one leaves."""
        todo = bridged(self._chain.todo(plan), plan)
        waiting = {change.key for change in todo}
        return [change for change in todo if waiting.isdisjoint((*change.depends_on, *change.follows))]

    def make(self, change: Change, snapshot: Snapshot) -> bool:
        """Apply one change. Returns whether it is done."""
        outcome = apply([change], snapshot, self._actuators, stop=threading.Event())[change.key]
        self._chain.add(change, outcome)
        return isinstance(outcome, Applied)


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
    assert len(seen) >= (len(KINDS) if WORLDS >= 1000 else 7), seen
