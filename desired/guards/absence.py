"""Guards on the end of a Node: ``absence-proof``, whether the servers are gone whose absence a change rests on, and
which of them to ask for; and ``volume-detach``, whether the volumes of a Node are still to be detached.

A list that lacks a server is not enough: pages shift while others delete, and a Node may be younger than what the list
knows.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from desired.guards.evidence import doubts_of
from desired.guards.guard import GuardInput, GuardResult
from desired.model.key import ObjectKind, is_below
from desired.model.load_balancer import ServerTarget
from desired.model.settings import Settings, Waits
from desired.model.snapshot import Snapshot
from desired.nodes.disruption import disruption_of
from desired.nodes.node import OrphanedNode
from desired.nodes.out_of_service import DETACH_WAIT
from desired.plan.change import Change, LostNode, Plan
from desired.plan.evidence import FRESH, AbsenceProof, AddressFree, Age, Evidence, ServerGone
from desired.plan.kinds import ChangeKind
from desired.rules import guards as rows
from desired.section import Absent, Present, Unknown
from desired.syntax.bounds import counted
from desired.syntax.provider_id import Provider, ServerKey


def absence_proof(view: GuardInput) -> Iterator[GuardResult]:
    """Removals because a server is gone, of a Node, a target or a route, wait until its absence is proven. A failed
    lookup is told first, then the wait of a Node, then a doubt that time alone does not end."""
    for change in view.plan.changes:
        if change.kind == ChangeKind.NODE_DELETE and not isinstance(change.before, LostNode):
            yield GuardResult.of(rows.ABSENCE_UNPROVEN, (change.key,))
    for change, doubts in doubts_of(view.plan, lambda evidence: doubt_about(evidence, view.snapshot, view.settings)):
        yield replace(min(doubts, key=_urgency), keys=(change.key,))


def _urgency(doubt: GuardResult) -> tuple[bool, bool, bool]:
    """The least is said."""
    is_wait = doubt.row in (rows.NODE_TOO_YOUNG, rows.NOT_READY_TOO_SHORT)
    return doubt.row is not rows.LOOKUP_FAILED, not is_wait, doubt.due_in_s is not None


def doubt_about(evidence: Evidence, snapshot: Snapshot, settings: Settings) -> GuardResult | None:
    """The doubt about an age or an absence, without keys; None without doubt, and for other evidence."""
    match evidence:
        case Age(proof):
            return wait_for(proof, snapshot.taken_at, settings.waits)
        case AddressFree() if snapshot.servers.why_incomplete:
            return GuardResult.of(rows.SERVERS_INCOMPLETE, (), {"error": snapshot.servers.why_incomplete})
        case ServerGone(server):
            return _doubt_about_server(server, snapshot)
    return None


_NEXT_QUESTION_S = 5.0
"""The next ten questions are no reason for a pass more often than every five seconds."""


def _doubt_about_server(server: ServerKey, snapshot: Snapshot) -> GuardResult | None:
    """Of Robot the list has to be FRESH: it is kept for minutes, in which a server may have come. A GET by id that was
    not made yet is due soon: only ten are made at a time."""
    named = {"server": server.name}
    match snapshot.find(server):
        case Present():
            return GuardResult.of(rows.SERVER_EXISTS, (), named)
        case Unknown(why):
            return GuardResult.of(rows.SERVER_UNKNOWN, (), named | {"error": why})
    asked = snapshot.confirmation(server)
    if isinstance(asked, Unknown):
        return GuardResult.of(rows.LOOKUP_FAILED, (), named | {"error": asked.why})
    if asked is None:
        return GuardResult.of(rows.LOOKUP_PENDING, (), named, due_in_s=_NEXT_QUESTION_S)
    if server.provider is Provider.ROBOT and snapshot.robot is not None and snapshot.robot.age > FRESH:
        return GuardResult.of(rows.LIST_TOO_OLD, (), named, due_in_s=_NEXT_QUESTION_S)
    return None


def wait_for(proof: AbsenceProof, now: datetime, waits: Waits) -> GuardResult | None:
    """The one of a Node's two waits that takes longer; None if both are over."""
    both = (
        (waits.age - (now - proof.created_at), waits.age, rows.NODE_TOO_YOUNG),
        (waits.not_ready_for - (now - proof.not_ready_since), waits.not_ready_for, rows.NOT_READY_TOO_SHORT),
    )
    left, wait, row = max(both, key=lambda each: each[0])
    if left <= timedelta(0):
        return None
    return GuardResult.of(row, (), {"wait": f"{wait.total_seconds():g} s"}, due_in_s=left.total_seconds())


_NEXT_ATTACHMENTS_S = 15.0
"""Volumes have followed their pods by then, as a rule, and that the Node itself goes is not urgent."""


def volume_detach(view: GuardInput) -> Iterator[GuardResult]:
    """The deletion of a Node with our out-of-service taint waits for its volumes to be detached, at most for two
    minutes since the taint."""
    now, wait = view.snapshot.taken_at, f"{DETACH_WAIT.total_seconds():g} s"
    for change in view.plan.changes:
        wanted = view.desired.nodes.get(change.owner.name)
        found = wanted.detachment if isinstance(wanted, OrphanedNode) else None
        if change.kind is not ChangeKind.NODE_DELETE or found is None or found.left(now) <= timedelta(0):
            continue
        due_in_s = min(found.left(now).total_seconds(), _NEXT_ATTACHMENTS_S)
        if isinstance(found.attached, Unknown):
            row, facts = rows.VOLUMES_UNREAD, {"wait": wait, "error": found.attached.why}
        else:
            row, facts = rows.VOLUMES_ATTACHED, {"wait": wait, "volumes": counted(found.attached, "volume")}
        yield GuardResult.of(row, (change.key,), facts, due_in_s=due_in_s)


def servers_to_confirm(plan: Plan, snapshot: Snapshot, settings: Settings, provider: Provider) -> tuple[int, ...]:
    """Ids of a provider's servers to ask for one by one: those whose absence this plan rests on, each once.

    Those that ``--only`` names come first, then those of Nodes with a planned disruption, as these may go without
    approval, then those of targets and routes; among Nodes the ones that were the first to stop being Ready. So Nodes
    that wait for approval never keep targets and routes from having their turn.
    """
    if not snapshot.servers_of(provider).complete:
        return ()
    turns = sorted(
        (*_turn(change, snapshot, settings), evidence.server.id)
        for change in plan.changes
        for evidence in change.rests_on
        if isinstance(evidence, ServerGone)
        and evidence.server.provider is provider
        and isinstance(snapshot.find(evidence.server), Absent)
        and not _has_to_wait(change, snapshot, settings)
    )
    return tuple(dict.fromkeys(server_id for *_, server_id in turns))


_ANNOUNCED, _OF_CHANGES, _OTHERS = range(3)


def _turn(change: Change, snapshot: Snapshot, settings: Settings) -> tuple[bool, int, datetime]:
    """The turn of a server that is asked for the sake of this change, the least first."""
    is_unnamed = not (change.owner in settings.only or is_below(change.key, settings.only))
    node = snapshot.node(change.owner) if change.row.object is ObjectKind.NODE else None
    if node is None:
        return is_unnamed, _OF_CHANGES, snapshot.taken_at
    is_announced = disruption_of(node, snapshot, settings) is not None
    return is_unnamed, _ANNOUNCED if is_announced else _OTHERS, node.ready_since


def _has_to_wait(change: Change, snapshot: Snapshot, settings: Settings) -> bool:
    """Whether it is too early for it, whatever the answer is: a Node's deletion, and the taint before that."""
    return any(
        wait_for(evidence.proof, snapshot.taken_at, settings.waits) is not None
        for evidence in change.rests_on
        if isinstance(evidence, Age)
    )


def missing_servers(snapshot: Snapshot) -> tuple[int, ...]:
    """Ids of all servers that a load balancer or the network names and the list lacks, sorted. Whatever the settings,
    no removal presumes another server gone, except for removals of Nodes."""
    targets = (target for balancer in snapshot.load_balancers or () for target in balancer.targets)
    named = {target.server_id for target in targets if isinstance(target, ServerTarget)}
    if isinstance(snapshot.network, Present) and snapshot.network.value is not None:
        named |= snapshot.network.value.server_ids
    return tuple(sorted(key for key in named if isinstance(snapshot.servers.find(key), Absent)))
