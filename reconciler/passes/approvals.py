"""Approvals in a chain of passes: used before the changes that they let pass, and struck at its end."""

import logging
from collections.abc import Mapping

from actuators.http.errors import ApiError
from actuators.outcome import Skipped
from desired.guards.guard import owner_in, read_name
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.model.key import ObjectKind
from desired.model.settings import Controller
from desired.plan.change import Change, GuardName
from desired.plan.grants import Here
from reconciler.passes.chain import Chain
from reconciler.passes.context import ApplyContext, PlanContext
from reconciler.passes.judging import JudgedPlan
from reconciler.telemetry.logs import pairs

_log = logging.getLogger("hcloud-reconciler.approvals")


def use_up(judged: JudgedPlan, acting: ApplyContext, chain: Chain) -> None:
    """Mark as used what lets changes of this pass go ahead. If that fails, or has to wait, the chain leaves them."""
    todo, promised, snapshot = chain.todo(judged.plan), list[Change](), judged.facts.snapshot
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
            chain.add(change, Skipped(why, is_final=True))


def strike(chain: Chain, judged: JudgedPlan, context: PlanContext, acting: ApplyContext) -> None:
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
            chain.names | judged.names_left, is_done, Here.of(snapshot), looks=context.records.lasts
        )
    except ApiError as error:
        _log.warning("approvals are not struck %s", pairs(why=str(error)))


_OF_ROUTES = frozenset({Controller.ROUTE})
_CONTROLLERS: Mapping[str, frozenset[Controller]] = {
    ObjectKind.NODE: frozenset({Controller.NODE, Controller.LIFECYCLE}),
    **dict.fromkeys((ObjectKind.SERVICE, ObjectKind.LOAD_BALANCER), frozenset({Controller.SERVICE})),
}
"""Kind of an owner → the controllers that plan its changes; all others are of routes."""
