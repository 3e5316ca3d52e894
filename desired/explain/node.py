"""Explanation of one Node, as plain values: what was decided on its server and on each of its fields, its changes, and
the decisions of guards. Nothing is decided here."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce
from typing import Literal

from desired.explain.fact import Fact, becomes, planned
from desired.explain.guards import AnchorFact, GuardFact, LossFact
from desired.explain.routes import NodeRoutes, explain_network_condition, explain_routes
from desired.model.settings import Settings, Waits
from desired.model.snapshot import (
    Condition,
    Node,
    Readiness,
    ServerStatus,
    Snapshot,
    Taint,
    has_shutdown_taint,
)
from desired.names import TAINT_UNINITIALIZED, TAINTS_OF_AUTOSCALERS
from desired.nodes.addresses import DesiredAddresses
from desired.nodes.labels import Labels
from desired.nodes.matching import Matched
from desired.nodes.node import DesiredNode
from desired.plan.change import Change, Plan
from desired.plan.foresight import node_after
from desired.plan.notes import Note, NoteKind
from desired.plan.ordering import in_order
from desired.routes.desired import DesiredRoutes
from desired.rules import nodes as rules
from desired.rules.nodes import Stage
from desired.rules.rule import Basis
from desired.syntax.provider_id import Provider, ServerKey


@dataclass(frozen=True, slots=True)
class Candidate:
    """A server that is a near match, and why it is not the Node's."""

    id: int
    name: str
    why_not: str
    provider: Provider = Provider.CLOUD


@dataclass(frozen=True, slots=True)
class ServerFact:
    """One server."""

    id: int
    name: str
    status: ServerStatus
    """Of Robot ``unknown`` while the Node is Ready: then nobody asks."""
    type: str
    location: str
    """"" when the API sent none."""
    provider: Provider = Provider.CLOUD

    @property
    def called(self) -> str:
        """In sentences, ``server 42``."""
        return ServerKey(self.provider, self.id).name


@dataclass(frozen=True, slots=True)
class ServerMatch:
    """The server behind a Node."""

    by: Literal["providerID", "name"]
    """What decides: ``providerID`` when the Node has one, else ``name``."""
    provider_id: str | None
    server: ServerFact | None = None
    why: str | None = None
    """Why there is no server; None when there is one."""
    candidates: tuple[Candidate, ...] = ()
    """Nearest first."""


@dataclass(frozen=True, slots=True)
class NodeExplanation:
    """Explanation of one Node."""

    stage: Stage
    why: str
    """Why it is in this stage and what comes next, one sentence."""
    match: ServerMatch
    labels: tuple[Fact, ...]
    addresses: tuple[Fact, ...]
    routes: NodeRoutes | None
    """None while routes are switched off, and the Node has no condition that says otherwise."""
    taints: tuple[Fact, ...]
    conditions: tuple[Fact, ...]
    changes: tuple[Change, ...]
    """As in the judged plan."""
    guards: tuple[GuardFact, ...]
    """On these changes, if there are any; then on the Node's deletion, unless it is never deleted from here, or its
    deletion is among the changes or was asked for."""
    announced: str | None
    """How the Node's disruption was announced (a planned disruption); None when it was not."""
    anchor: AnchorFact
    losses: LossFact
    notes: tuple[Note, ...]
    """On this Node, and those that explain verdicts wherever they stand."""


@dataclass(frozen=True, slots=True)
class NodeGuards:
    """What guards say of a Node, and the notes on it and on verdicts."""

    guards: tuple[GuardFact, ...]
    anchor: AnchorFact
    losses: LossFact
    notes: tuple[Note, ...]


def explain_node(
    node: Node,
    wanted: DesiredNode,
    routes: DesiredRoutes,
    plan: Plan,
    snapshot: Snapshot,
    settings: Settings,
    judged: NodeGuards,
) -> NodeExplanation:
    """Explain ``node``, which is of ``snapshot``, from what was decided on it and the judged plan."""
    changes = tuple(change for change in plan.changes if change.owner == node.key)
    then = reduce(node_after, in_order(changes), node)
    network = explain_network_condition(node, then, wanted, routes, plan)
    return NodeExplanation(
        stage=wanted.stage.value,
        why=_why(wanted, changes),
        match=explain_match(node, wanted),
        labels=explain_labels(node, wanted.labels),
        addresses=explain_addresses(node, wanted.addresses),
        routes=explain_routes(node, routes, plan, snapshot, settings),
        taints=explain_taints(node, then, wanted),
        conditions=explain_conditions(node, settings.waits, deletable=wanted.deletable is not None, network=network),
        changes=changes,
        guards=judged.guards,
        announced=wanted.announced.text if wanted.announced else None,
        anchor=judged.anchor,
        losses=judged.losses,
        notes=tuple(note for note in judged.notes if note.kind is not NoteKind.PARTIAL),
    )


def why_no_node(name: str, snapshot: Snapshot) -> str:
    """The reason why there is no Node of this name to explain, and which ones come near."""
    if name in snapshot.nodes.unreadable:
        return f"Node {name!r} cannot be explained: {snapshot.nodes.unreadable[name]}"
    gap = f", but {snapshot.nodes.why_incomplete}" if snapshot.nodes.why_incomplete else ""
    near = get_close_matches(name, sorted(snapshot.nodes.items), n=3)
    hint = f"; nearest: {', '.join(near)}" if near else ""
    servers = (*snapshot.servers, *(snapshot.robot.servers if snapshot.robot else ()))
    named = [server.key.name for server in servers if server.name == name]
    server = f"; {', '.join(named)} has the name: its kubelet has not registered here" if named else ""
    return f"the cluster has no Node {name!r}{gap}{hint}{server}"


def _why(wanted: DesiredNode, changes: Collection[Change]) -> str:
    """One sentence on why the Node is in its stage and what comes next."""
    left = wanted.left.text if wanted.left else ""
    match wanted.stage.value:
        case Stage.JOINING:
            return f"{wanted.stage.text}; {becomes(changes, 'the next pass does it', 'that') or left}"
        case Stage.SETTLED:
            return f"{wanted.stage.text}; {planned(changes)}"
        case Stage.DEPARTING:
            deletion = becomes(changes, "the next pass deletes the Node", "the Node's deletion")
            return f"{wanted.stage.text}; {deletion or left}"
    return wanted.stage.text


def explain_match(node: Node, wanted: DesiredNode) -> ServerMatch:
    """The server that the Node was matched to, or why there is none and which ones come near."""
    by: Literal["providerID", "name"] = "name" if node.provider_id is None else "providerID"
    if isinstance(wanted.match, Matched):
        server = wanted.match.server
        fact = ServerFact(server.id, server.name, server.status, server.type, server.location, server.provider)
        return ServerMatch(by, node.provider_id, fact)
    if wanted.match is None:
        return ServerMatch(by, node.provider_id, None, wanted.stage.says)
    near = (Candidate(each.value.id, each.value.name, each.text, each.value.provider) for each in wanted.match.near)
    return ServerMatch(by, node.provider_id, None, wanted.match.why.says, tuple(near))


def explain_labels(node: Node, labels: Labels) -> tuple[Fact, ...]:
    """Every label that the Node has or should have, by key."""
    coming = (key for key, decided in labels.items() if decided.value is not None)
    return tuple(
        Fact.of(key, node.labels.get(key), labels[key].value, labels[key])
        if key in labels
        else Fact.foreign(key, node.labels[key])
        for key in sorted({*node.labels, *coming})
    )


def explain_addresses(node: Node, addresses: DesiredAddresses) -> tuple[Fact, ...]:
    """The Node's addresses in their order, those that go away among them, and after these the ones that come."""
    return tuple(_addresses(node, addresses))


def _addresses(node: Node, addresses: DesiredAddresses) -> Iterator[Fact]:
    why, gone = {each.value: each for each in addresses.wanted}, iter(addresses.gone)
    coming = list(addresses.values)
    for address in node.addresses:
        if address in coming:
            coming.remove(address)
            yield Fact.of(address.type, address.address, address.address, why[address])
        else:
            yield Fact.of(address.type, address.address, None, next(gone))
    yield from (Fact.of(address.type, None, address.address, why[address]) for address in coming)


def explain_taints(node: Node, then: Node, wanted: DesiredNode) -> tuple[Fact, ...]:
    """Every taint that the Node has or should have, in its order. ``then`` is the Node once its changes are made."""
    coming = tuple(taint for taint in then.taints if taint not in node.taints)
    return tuple(_taint(taint, node, then, wanted) for taint in (*node.taints, *coming))


def _taint(taint: Taint, node: Node, then: Node, wanted: DesiredNode) -> Fact:
    shown = f"{taint.value}:{taint.effect}" if taint.value else str(taint.effect)  # as kubectl shows them
    sides = (shown if taint in node.taints else None, shown if taint in then.taints else None)
    if taint.key == TAINT_UNINITIALIZED:
        why = wanted.left.text if wanted.left else rules.TAINT_GOES.text()
        return Fact(taint.key, *sides, Basis.UNINITIALISED, why)
    if has_shutdown_taint((taint,)):
        return Fact(taint.key, *sides, Basis.SHUTDOWN, wanted.shut_down.text)
    if taint.key in TAINTS_OF_AUTOSCALERS:
        return Fact(taint.key, *sides, Basis.ANNOUNCING, rules.ANNOUNCES.text())
    return Fact.foreign(taint.key, shown)


def explain_conditions(node: Node, waits: Waits, *, deletable: bool, network: Fact | None = None) -> tuple[Fact, ...]:
    """Every condition of the Node in its order, and Ready in any case. ``deletable`` tells whether a Node like this one
    is ever deleted, which depends on Ready. ``network`` is the condition that routes decide on; None when they do not.
    """
    told = {network.subject: network} if network else {}
    facts = tuple(
        told.pop(found.type) if found.type in told else _condition(found, node, waits, deletable=deletable)
        for found in node.conditions
    )
    facts = (*facts, *told.values())
    if node.ready is Readiness.MISSING:
        since = "the Node's creation, as none is written yet"
        return (Fact("Ready", None, None, Basis.READY, _ready(node, waits, since, deletable=deletable)), *facts)
    return facts


def _condition(condition: Condition, node: Node, waits: Waits, *, deletable: bool) -> Fact:
    if condition.type != "Ready":
        return Fact.foreign(condition.type, condition.status)
    heard = f", last heard of {node.heartbeat:%Y-%m-%d %H:%M:%S} UTC" if node.heartbeat else ""
    why = _ready(node, waits, f"{node.ready_since:%Y-%m-%d %H:%M:%S} UTC{heard}", deletable=deletable)
    return Fact("Ready", condition.status, condition.status, Basis.READY, why)


def _ready(node: Node, waits: Waits, since: str, *, deletable: bool) -> str:
    """Since when the Node is as Ready as it is, and what depends on that."""
    if not deletable:
        return rules.READY_IDLE.text(since=since)
    if node.ready is Readiness.TRUE:
        return rules.READY_KEEPS.text(since=since)
    silence = f"{waits.given_up_after.total_seconds() / 60:g} min"
    return rules.READY_COUNTS.text(since=since, wait=f"{waits.not_ready_for.total_seconds():g} s", silence=silence)
