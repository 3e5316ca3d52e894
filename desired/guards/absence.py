"""Guard ``absence-proof``: the servers whose absence a change presumes, what their proof lacks, and those to ask for.

One removal is as much an outage as another: a Node that is deleted, a target that is removed, and a route that is
removed or replaced because nobody has its gateway all need the same proof for each server. A list that lacks a server
is not enough: pages shift while others delete, and a Node may be younger than what the list knows.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv4Network
from types import MappingProxyType

from desired.guards.guard import GuardInput, GuardResult
from desired.model.absence import FRESH, AbsenceProof, is_going_away, proof_of_absence
from desired.model.key import is_below
from desired.model.load_balancer import ServerTarget
from desired.model.route import Route
from desired.model.settings import Controller, Settings, Waits
from desired.model.snapshot import Snapshot
from desired.nodes.disruption import is_planned_disruption
from desired.nodes.matching import nodes_of
from desired.plan.change import Change, LostNode
from desired.plan.kinds import ChangeKind
from desired.planner import compute_plan
from desired.routes.owners import Gateways
from desired.rules import guards as rows
from desired.rules.rule import Plain, Rule
from desired.section import Absent, Present, Unknown
from desired.syntax.provider_id import Provider, ServerKey

_ROUTES = frozenset({ChangeKind.ROUTE_DELETE, ChangeKind.ROUTE_REPLACE})


def servers_presumed_gone(change: Change, snapshot: Snapshot, gateways: Gateways) -> tuple[ServerKey, ...]:
    """The servers whose absence the change presumes, sorted; empty for one that would be right if all existed.

    For a Node's deletion it is the Node's server. For a target it is the server that the list lacks, whether a Node
    claims it or not. For a route it is whichever server is known to have had the gateway, as long as no list shows any
    with it.
    """
    if isinstance(change.before, LostNode):
        return (change.before.proof.server,)
    if change.server is not None and change.before is not None:
        return (change.server,) if isinstance(snapshot.find(change.server), Absent) else ()
    ends = _ends_of(change)
    holders = gateways.last_holders(*ends) if ends else ()
    return tuple(ServerKey(Provider.CLOUD, server_id) for server_id in holders)


@dataclass(frozen=True, slots=True)
class Doubt:
    """What a proof lacks, as a row with its facts."""

    row: Rule
    facts: Mapping[str, Plain] = field(default_factory=lambda: MappingProxyType({}))
    due_in_s: float | None = None
    """Seconds until time alone has fixed that; None when more is missing than time."""


_NEXT_QUESTION_S = 5.0
"""The next ten questions are no reason for a pass more often than every five seconds."""


def doubt_about_server(server: ServerKey, snapshot: Snapshot) -> Doubt | None:
    """What keeps a server from being proven gone; None when nothing does: a complete list lacks it, and a GET by its id
    was answered with ``not_found``. The same for whatever goes with it. Of Robot the list has to be FRESH: it is kept
    for minutes, in which a server may have come.

    A GET by id that was not made yet is due soon: only ten are made at a time.
    """
    named: dict[str, Plain] = {"server": server.name}
    match snapshot.find(server):
        case Present():
            return Doubt(rows.SERVER_EXISTS, named)
        case Unknown(why):
            return Doubt(rows.SERVER_UNKNOWN, named | {"error": why})
    asked = snapshot.confirmation(server)
    if isinstance(asked, Unknown):
        return Doubt(rows.LOOKUP_FAILED, named | {"error": asked.why})
    if asked is None:
        return Doubt(rows.LOOKUP_PENDING, named, _NEXT_QUESTION_S)
    if server.provider is Provider.ROBOT and snapshot.robot is not None and snapshot.robot.age > FRESH:
        return Doubt(rows.LIST_TOO_OLD, named, _NEXT_QUESTION_S)
    return None


def doubt_about(proof: AbsenceProof, snapshot: Snapshot, waits: Waits) -> Doubt | None:
    """What is missing for ``proof``; None when nothing is: the server is gone, and its Node has been silent, and is
    old, enough."""
    wait = wait_for(proof, snapshot.taken_at, waits)
    failed = isinstance(snapshot.confirmation(proof.server), Unknown)
    return doubt_about_server(proof.server, snapshot) if wait is None or failed else wait


def wait_for(proof: AbsenceProof, now: datetime, waits: Waits) -> Doubt | None:
    """The one of a Node's two waits that takes longer; None when both are over. What is said to begin later is waited
    for first."""
    both = (
        (waits.age - (now - proof.created_at), waits.age, rows.NODE_TOO_YOUNG),
        (waits.not_ready_for - (now - proof.not_ready_since), waits.not_ready_for, rows.NOT_READY_TOO_SHORT),
    )
    left, wait, row = max(both, key=lambda each: each[0])
    return Doubt(row, {"wait": f"{wait.total_seconds():g} s"}, left.total_seconds()) if left > timedelta(0) else None


def doubt_about_change(change: Change, snapshot: Snapshot, settings: Settings, gateways: Gateways) -> Doubt | None:
    """What is missing for the proof that every server is gone that the change presumes gone; None when nothing is. What
    time alone does not fix comes first."""
    if change.kind == ChangeKind.NODE_DELETE:
        if not isinstance(change.before, LostNode):
            return Doubt(rows.ABSENCE_UNPROVEN)
        return doubt_about(change.before.proof, snapshot, settings.waits)
    ends = _ends_of(change)
    if ends and snapshot.servers.why_incomplete and not gateways.is_held(ends[0]):
        return Doubt(rows.SERVERS_INCOMPLETE, {"error": snapshot.servers.why_incomplete})
    presumed = servers_presumed_gone(change, snapshot, gateways)
    doubts = [doubt for key in presumed if (doubt := doubt_about_server(key, snapshot)) is not None]
    return min(doubts, key=lambda doubt: doubt.due_in_s is not None, default=None)


def servers_to_confirm(snapshot: Snapshot, settings: Settings, provider: Provider = Provider.CLOUD) -> tuple[int, ...]:
    """Ids of a provider's servers to ask for one by one: those on whose absence alone a removal depends, each once.
    None in a snapshot in which nothing is missing.

    Those that ``--only`` names come first, then those of Nodes with a planned disruption, as these may go without
    approval, then those of targets and routes; among Nodes the ones that were the first to stop being Ready. So Nodes
    that wait for approval never keep targets and routes from having their turn.
    """
    if not snapshot.servers_of(provider).complete:
        return ()
    found = [*_of_nodes(snapshot, settings, provider), *_of_changes(snapshot, settings, provider)]
    return tuple(dict.fromkeys(server_id for *_, server_id in sorted(found)))


_Row = tuple[bool, int, datetime, int]
_ANNOUNCED, _OF_CHANGES, _OTHERS = range(3)


def _of_nodes(snapshot: Snapshot, settings: Settings, provider: Provider) -> Iterator[_Row]:
    if Controller.LIFECYCLE not in settings.controllers:
        return
    now, given_up_after = snapshot.taken_at, settings.waits.given_up_after
    for node, server in nodes_of(provider, snapshot, settings):
        if (
            is_going_away(node)
            and isinstance(snapshot.find(server), Absent)
            and wait_for(proof_of_absence(node, server), now, settings.waits) is None
        ):
            rank = _ANNOUNCED if is_planned_disruption(node, snapshot, given_up_after) else _OTHERS
            yield node.key not in settings.only, rank, node.ready_since, server.id


def _of_changes(snapshot: Snapshot, settings: Settings, provider: Provider) -> Iterator[_Row]:
    """Servers of targets and routes, from the plan as it would be if none had been asked for yet: answers must not
    decide which servers are still of interest."""
    if not _may_lack(snapshot, settings, provider):
        return
    unasked = replace(snapshot, confirmations={})
    if unasked.robot is not None:
        unasked = replace(unasked, robot=replace(unasked.robot, confirmations={}))
    gateways = Gateways(unasked)
    for change in compute_plan(unasked, settings).changes:
        if isinstance(change.before, LostNode):
            continue
        for server in servers_presumed_gone(change, unasked, gateways):
            if server.provider is provider and isinstance(snapshot.find(server), Absent):
                yield not _is_named(change, settings.only), _OF_CHANGES, snapshot.taken_at, server.id


def missing_servers(snapshot: Snapshot) -> tuple[int, ...]:
    """Ids of all servers that a load balancer or the network names and the list lacks, sorted. Whatever the settings,
    no removal presumes another server gone, except for removals of Nodes."""
    named = {target.server_id for target in _targets(snapshot)}
    if isinstance(snapshot.network, Present) and snapshot.network.value is not None:
        named |= snapshot.network.value.server_ids
    return tuple(sorted(key for key in named if isinstance(snapshot.servers.find(key), Absent)))


def _may_lack(snapshot: Snapshot, settings: Settings, provider: Provider) -> bool:
    """Whether a target or a gateway is one that no list shows, so that a plan is worth making."""
    if provider is Provider.ROBOT:
        lost = (isinstance(snapshot.find(key), Absent) for _, key in nodes_of(provider, snapshot, settings))
        return bool(snapshot.load_balancers) and any(lost)
    if snapshot.members is not None:  # asked for only where a route leads to an address that no list shows
        return True
    return any(isinstance(snapshot.servers.find(target.server_id), Absent) for target in _targets(snapshot))


def _targets(snapshot: Snapshot) -> Iterator[ServerTarget]:
    for balancer in snapshot.load_balancers or ():
        yield from (target for target in balancer.targets if isinstance(target, ServerTarget))


def _is_named(change: Change, only: Collection[str]) -> bool:
    return change.owner in only or is_below(change.key, only)


def _ends_of(change: Change) -> tuple[IPv4Address, IPv4Network] | None:
    """The gateway that the change of a route gives up, and the destination; None for any other change."""
    return (change.before.gateway, change.before.destination) if isinstance(change.before, Route) else None


def absence_proof(view: GuardInput) -> Iterator[GuardResult]:
    """Removals because a server is gone, of a Node, a target or a route, wait until its absence is proven."""
    for change in view.plan.changes:
        doubt = doubt_about_change(change, view.snapshot, view.settings, view.gateways)
        if doubt is not None:
            yield GuardResult.of(doubt.row, (change.key,), doubt.facts, due_in_s=doubt.due_in_s)
