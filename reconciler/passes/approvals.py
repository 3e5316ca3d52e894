"""Approvals in a pass: used before the changes that they let pass, noted after them, and struck at its end."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from actuators.http.errors import ApiError
from actuators.outcome import Applied, Failed
from desired.guards.guard import owner_in, read_name
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.model.key import ObjectKind
from desired.model.settings import Controller
from desired.plan.change import Change, GuardName
from desired.plan.grants import Grant, Here, Source
from reconciler.passes.attempts import Attempts
from reconciler.passes.context import ApplyContext, PlanContext
from reconciler.passes.judging import JudgedPlan
from reconciler.telemetry.logs import pairs

_log = logging.getLogger("hcloud-reconciler.approvals")


def use_up(judged: JudgedPlan, acting: ApplyContext, attempts: Attempts) -> None:
    """Mark as used what lets changes of this round pass. If that fails, or has to wait, the pass leaves them."""
    todo, promised, snapshot = attempts.todo(judged.plan), list[Change](), judged.facts.snapshot
    for hold in judged.plan.holds:
        grants = [grant for grant in judged.granted.get(hold.hash, ()) if grant.is_stored]
        held = [change for change in todo if change.key in hold.keys]
        if not grants or not held:
            continue
        why = ""
        if kept_back := next((change for change in held if acting.under_way.keeps_back(change)), None):
            why = f"{kept_back.owner} is still being changed; its approval is kept"
        elif not acting.have_room(held, promised, snapshot):
            why = "the call budget has no room for it yet; its approval is kept"
        else:
            try:
                acting.approvals.use_up(grants, Here.of(snapshot), hold.names)
                promised += held
            except ApiError as error:
                why = f"its approval could not be marked as used: {error}"
        for change in held if why else ():
            attempts.withdraw(change, why)


@dataclass(slots=True)
class ApprovedChanges:
    """The changes and differences that approvals have let pass in one pass."""

    changes: dict[GuardName, list[Change]] = field(default_factory=dict)
    """Rule → the changes of its approved holds that were made, or tried."""
    names: frozenset[str] = frozenset()
    """The names of the differences."""

    def note(self, judged: JudgedPlan, attempts: Attempts) -> None:
        """Add a round with this plan, after which the pass has made these ``attempts``."""
        self.names |= _names_left(judged)
        holds = [hold for hold in judged.plan.holds if hold.approved]
        tried = attempts.tried() if holds else ()
        ended = [line.change for line in tried if isinstance(line.outcome, Applied | Failed)]
        for hold in holds:
            self.changes.setdefault(hold.rule, []).extend(change for change in ended if change.key in hold.keys)


def _names_left(judged: JudgedPlan) -> frozenset[str]:
    """The names of the differences that approvals go on to let pass."""
    return frozenset(name for grants in judged.granted.values() for grant in grants for name in grant.left)


def grants_for_the_pass(judged: JudgedPlan) -> Iterable[Grant]:
    """Grants of all differences of approved holds: a round that makes some of them lets the pass make the others."""
    names = {name for hold in judged.plan.holds if hold.approved for name in hold.names}
    return (Grant(Source.ANSWER, name) for name in sorted(names))


def strike(approved: ApprovedChanges, judged: JudgedPlan, context: PlanContext, acting: ApplyContext) -> None:
    """Strike approved differences that this reading shows done: of the network, or of a Node or Service that is there
    and could be planned whole."""
    snapshot, services = judged.facts.snapshot, judged.facts.desired.services
    held = {read_name(name)[0] for hold in judged.whole.holds for name in hold.names}
    # A removal that the policy leaves out is never held, and no name of it lets anything pass.
    left_out = {str(c.owner) for c in judged.facts.left_out if c.decision.rule is not GuardName.POLICY}

    def is_done(name: str) -> bool:
        kind, _, owner = owner_in(name).partition("/")
        if context.settings.controllers.isdisjoint(_CONTROLLERS.get(kind, _OF_ROUTES)):
            return False  # another process plans that
        is_there, lb = True, services.get(owner)
        if kind == ObjectKind.SERVICE:
            is_there = isinstance(lb, DesiredLoadBalancer) and lb.wanted is not None and not lb.problems
        elif kind == ObjectKind.NODE:
            is_there = owner in snapshot.nodes.items
        return is_there and owner_in(name) not in left_out and read_name(name)[0] not in held

    try:
        acting.approvals.strike(
            approved.names | _names_left(judged), is_done, Here.of(snapshot), looks=context.records.lasts
        )
    except ApiError as error:
        _log.warning("approvals are not struck %s", pairs(why=str(error)))


_OF_ROUTES = frozenset({Controller.ROUTE})
_CONTROLLERS: Mapping[str, frozenset[Controller]] = {
    ObjectKind.NODE: frozenset({Controller.NODE, Controller.LIFECYCLE}),
    **dict.fromkeys((ObjectKind.SERVICE, ObjectKind.LOAD_BALANCER), frozenset({Controller.SERVICE})),
}
"""Kind of an owner → the controllers that plan its changes; all others are of routes."""
