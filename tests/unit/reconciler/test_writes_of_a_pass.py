"""Writes of one pass: which changes of a plan it carries out, in which order, and which approvals it uses up."""

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import pytest

from actuators.http.errors import Denied, Invalid
from actuators.outcome import Applied, Failed, Skipped
from desired.guards.guard import GuardInput
from desired.model.load_balancer import KNOWN_AFTER_APPLY
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, GuardName, Hold, Plan
from desired.plan.controller_record import FoundRecord
from desired.plan.grants import Grant, Here, Source
from desired.plan.setbacks import NO_SETBACKS
from desired.planner import DesiredState
from reconciler.observe.world import Observation
from reconciler.passes import one_pass
from reconciler.passes.chain import PASSES, Chain
from reconciler.passes.context import ApplyContext
from reconciler.passes.judging import JudgedPlan
from reconciler.passes.one_pass import write
from tests.builders import NOW, a_change, a_snapshot
from tests.support.passes import Ears

HASH = "sha256:0000000000000000"
OWNER = "service/ns/web"
UNKNOWN = a_change(f"{OWNER}/status", "service.status", owner=OWNER, before=(), after=KNOWN_AFTER_APPLY)


@dataclass
class Stage:
    """Everything that a pass acts with, and what it did."""

    refused: Collection[str] = ()
    """Keys of changes that fail."""
    error: Denied | None = None
    """What the attempt to use an approval up fails with."""
    done: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    chain: Chain = field(default_factory=Chain)
    is_called: bool = False
    """Whether something else has come up."""

    def run(self, *changes: Change, held: Collection[str] = (), is_last: bool = False) -> frozenset[str]:
        """The kinds that were tried in a pass with these changes; those ``held`` go ahead by an approval."""
        self.chain.writes = PASSES - 2 if is_last else 0
        return write(self.judged(*changes, held=held), self.chain, self.acting(*changes))

    def judged(self, *changes: Change, held: Collection[str] = ()) -> JudgedPlan:
        hold = Hold(HASH, GuardName.ADOPTION, "2", "1", tuple(held), "too many", approved=True)
        approvals = {HASH: (Grant(Source.CLUSTER, HASH, "somebody", NOW),)}
        plan = Plan(changes, holds=(hold,) if held else ())
        facts = GuardInput(plan, a_snapshot(), Settings(), DesiredState({}), NO_SETBACKS)
        return JudgedPlan(Observation(facts.snapshot), plan, facts, plan, granted=approvals)

    def acting(self, *changes: Change) -> ApplyContext:
        ears = Ears()
        actuators = {str(change.kind): self._carry_out for change in changes}
        stop = threading.Event()
        return ApplyContext(actuators, self, ears, ears, stop, is_called=lambda: self.is_called)

    def _carry_out(self, change: Change, _snapshot: Snapshot) -> None:
        if change.key in self.refused:
            raise Invalid("no")
        self.done.append(change.key)

    def known(self, found: FoundRecord, here: Here) -> FoundRecord:  # noqa: ARG002
        return found

    def use_up(self, approvals: Collection[Grant], here: Here, names: Collection[str] = ()) -> None:  # noqa: ARG002
        if self.error is not None:
            raise self.error
        self.used += [approval.of for approval in approvals]

    def strike(
        self, begun: Collection[str], is_done: Callable[[str], bool], here: Here, *, looks: bool = False
    ) -> None:
        """Nothing is struck in a write."""


def test_what_was_tried() -> None:
    stage = Stage(refused=("node/b",))

    kinds = stage.run(
        a_change("node/a"),
        a_change("node/b", "node.labels"),
        a_change("node/c", "node.addresses", depends_on=("node/b",)),
        UNKNOWN,
    )

    assert kinds == {"node.initialise", "node.labels"}
    assert {key: lines[-1].outcome for key, lines in stage.chain.tried.items()} == {
        "node/a": Applied(),
        "node/b": Failed("no"),
        "node/c": Skipped("blocked by node/b (not applied)"),
    }


def test_a_chain_keeps_its_order_around_what_has_to_wait() -> None:
    """What comes after a change that waits for a later pass still comes after what that one comes after."""
    waiting = a_change(UNKNOWN.key, UNKNOWN.kind, owner=OWNER, before=(), after=KNOWN_AFTER_APPLY, follows=("node/z",))
    stage = Stage()

    stage.run(a_change("node/a", follows=(UNKNOWN.key,)), waiting, a_change("node/z"))

    assert stage.done == ["node/z", "node/a"]
    assert stage.chain.tried["node/a"][0].change.follows == (UNKNOWN.key,)


@pytest.mark.parametrize(
    ("held", "used"),
    [
        pytest.param(["node/a"], [HASH], id="of what is tried"),
        pytest.param(["node/a", UNKNOWN.key], [HASH], id="of more than is tried"),
        pytest.param([UNKNOWN.key], [], id="of what has to wait for another pass"),
    ],
)
def test_approvals_that_are_used(held: list[str], used: list[str]) -> None:
    stage = Stage()

    stage.run(a_change("node/a"), UNKNOWN, held=held)

    assert (stage.used, stage.done) == (used, ["node/a"])


def test_an_approval_that_cannot_be_used() -> None:
    stage = Stage(error=Denied("403"))

    kinds = stage.run(
        a_change("node/a"),
        a_change("node/b", "node.labels", depends_on=("node/a",)),
        a_change("node/c"),
        held=["node/a"],
    )

    assert (stage.done, kinds) == (["node/c"], frozenset({"node.initialise"}))
    assert stage.chain.tried["node/a"][0].outcome == Skipped(
        "its approval could not be marked as used: 403", is_final=True
    )
    assert "node/b" not in stage.chain.tried


ROUTES = tuple(
    a_change(f"route/7/10.244.{number}.0/24", "route.create", owner=f"node/web-{number}") for number in range(4)
)


@pytest.mark.parametrize(
    ("others", "is_called", "is_last", "done"),
    [
        pytest.param((), False, False, 4, id="nothing else to do: all of them"),
        pytest.param((), True, False, 1, id="called for elsewhere"),
        pytest.param((), True, True, 1, id="called for elsewhere in the last pass that writes"),
        pytest.param((UNKNOWN,), False, False, 1, id="another pass is waited for"),
        pytest.param((UNKNOWN,), False, True, 4, id="no other pass writes"),
    ],
)
def test_how_far_a_series_of_routes_goes(others: tuple[Change, ...], is_called: bool, is_last: bool, done: int) -> None:
    """A status that is known only in the next pass is not kept from Services by a hundred routes."""
    stage = Stage(is_called=is_called)

    stage.run(*others, *ROUTES, is_last=is_last)

    assert stage.done == [route.key for route in ROUTES[:done]]
    assert stage.chain.todo(Plan(ROUTES)) == ROUTES[done:]


@pytest.mark.parametrize(
    ("is_called", "writes", "left", "goes_on"),
    [
        pytest.param(False, 1, ROUTES, True, id="routes are left, and nobody calls"),
        pytest.param(True, 0, ROUTES, True, id="the first pass always writes"),
        pytest.param(True, 1, ROUTES, False, id="called for elsewhere"),
        pytest.param(True, 1, (*ROUTES, a_change()), True, id="what is urgent goes on"),
        pytest.param(False, 1, (), False, id="nothing is left"),
        pytest.param(False, PASSES - 1, ROUTES, False, id="the last pass only looks"),
    ],
)
def test_when_a_chain_is_over(is_called: bool, writes: int, left: tuple[Change, ...], goes_on: bool) -> None:
    """Called for elsewhere, a chain leaves routes to the next one."""
    stage = Stage(chain=Chain(writes=writes), is_called=is_called)

    assert one_pass.goes_on(stage.judged(*left), stage.chain, stage.acting()) is goes_on
