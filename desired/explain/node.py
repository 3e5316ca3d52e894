"""Explanation of one Node, as plain values: its server, its fields, its changes, and the decisions of guards.

Nothing is decided here. The desired state comes from the same functions that a plan is made with, so that an
explanation cannot differ from what a pass does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce

from desired.explain.fact import NOT_OURS, Fact
from desired.explain.guards import (
    AnchorFact,
    GuardFact,
    LossFact,
    explain_anchor,
    explain_guards,
    explain_guards_on_deletion,
    explain_losses,
)
from desired.explain.routes import NodeRoutes, explain_network_condition, explain_routes
from desired.explain.stage import ServerMatch, Stage, explain_match, stage_of, why_in, why_left
from desired.guards.filters import restrict
from desired.guards.guard import GuardInput, SettingsChange
from desired.model.settings import Controller, Settings, Waits
from desired.model.snapshot import (
    Condition,
    Node,
    NodeAddress,
    Readiness,
    Snapshot,
    Taint,
    has_shutdown_taint,
)
from desired.names import TAINT_UNINITIALIZED
from desired.nodes.addresses import DesiredAddresses
from desired.nodes.desired import (
    DesiredNode,
    InitializedNode,
    UninitializedNode,
    power_of,
    wanted_shutdown_taint,
)
from desired.nodes.disruption import announces_disruption, planned_disruption
from desired.nodes.labels import Labels, is_owned_label
from desired.nodes.matching import Matched, is_ignored, matcher_of
from desired.plan.change import Change, Plan
from desired.plan.foresight import node_after
from desired.plan.kinds import ChangeKind
from desired.plan.notes import Note, NoteKind
from desired.plan.ordering import in_order
from desired.plan.setbacks import NO_SETBACKS
from desired.planner import DesiredState
from desired.rules.rule import Basis, Decided
from desired.section import Unmanaged
from desired.syntax.provider_id import Provider, ServerKey, provider_of, server_key


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


def explain_node(
    node: Node,
    snapshot: Snapshot,
    settings: Settings,
    plan: Plan,
    desired: DesiredState,
    changed: SettingsChange | None = None,
) -> NodeExplanation:
    """Explain ``node``, which is of ``snapshot``. ``plan`` is the judged plan of the same snapshot, made from
    ``desired``; ``changed`` is what follows from changed settings."""
    found = matcher_of(snapshot).match(node)
    stage = stage_of(node, found, settings)
    disowned = why_left(stage, Controller.NODE, settings) if stage in (Stage.IGNORED, Stage.UNCLAIMED) else None
    match = explain_match(node, found, snapshot, disowned)
    wanted = desired.nodes.get(node.name)
    left = why_left(stage, Controller.NODE, settings)
    changes = tuple(change for change in plan.changes if change.owner == node.key)
    then = reduce(node_after, in_order(changes), node)
    network = explain_network_condition(node, then, desired.routes, plan, stage, snapshot, settings)
    part = restrict(plan, (node.key,))
    gone = _deletable_as(node, snapshot, settings)
    supposed: tuple[GuardFact, ...] = ()
    if gone is not None and all(change.kind != ChangeKind.NODE_DELETE for change in changes):
        supposed = explain_guards_on_deletion(node, gone, snapshot, settings)
    facts = GuardInput(plan, snapshot, settings, desired, NO_SETBACKS, changed)
    provider = found.server.provider if isinstance(found, Matched) else provider_of(node.provider_id)
    provider = provider or Provider.CLOUD
    return NodeExplanation(
        stage=stage,
        why=why_in(stage, node, match, changes, [note for note in part.notes if note.key == node.key], settings),
        match=match,
        labels=explain_labels(node, then, wanted, settings, left),
        addresses=explain_addresses(node, wanted, left),
        routes=explain_routes(node, desired.routes, plan, snapshot, settings),
        taints=explain_taints(node, then, wanted, stage, settings),
        conditions=explain_conditions(node, settings.waits, deletable=gone is not None, network=network),
        changes=changes,
        guards=(
            *explain_guards(node.key, facts, part.holds, provider=provider),
            *supposed,
        ),
        announced=planned_disruption(node, snapshot, settings.waits.given_up_after),
        anchor=explain_anchor(snapshot, settings, provider),
        losses=explain_losses(snapshot, settings, provider),
        notes=tuple(note for note in part.notes if note.kind is not NoteKind.PARTIAL),
    )


def _deletable_as(node: Node, snapshot: Snapshot, settings: Settings) -> ServerKey | None:
    """The server on whose absence the Node's deletion depends; None for a Node that is never deleted from
    here, or whose deletion was asked for."""
    if Controller.LIFECYCLE not in settings.controllers or is_ignored(node, settings) or node.deleted_at is not None:
        return None
    key = server_key(node.provider_id)
    return None if key and key.provider is Provider.ROBOT and snapshot.robot is None else key


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


def explain_addresses(node: Node, wanted: DesiredNode | None, left: str) -> tuple[Fact, ...]:
    """The Node's addresses in their order, those that go away among them, and after these the ones that come.

    ``left`` says why nothing is wanted, where the Node itself is the reason.
    """
    match wanted:
        case UninitializedNode(addresses=decided) | InitializedNode(addresses=DesiredAddresses() as decided):
            return tuple(_addresses(node, decided))
        case InitializedNode(addresses=Decided() as undecided):
            return tuple(_fact(address, undecided) for address in node.addresses)
    source = f"stays as it is: {left}"
    return tuple(Fact(a.type, a.address, a.address, Basis.UNTOUCHED, source) for a in node.addresses)


def _addresses(node: Node, decided: DesiredAddresses) -> Iterator[Fact]:
    coming, gone = [each.value for each in decided.wanted], iter(decided.gone)
    why = {each.value: each for each in decided.wanted}
    for address in node.addresses:
        if address in coming:
            coming.remove(address)
            yield _fact(address, why[address])
        else:
            yield _fact(address, next(gone), stays=False)
    yield from (_fact(address, why[address], is_there=False) for address in coming)


def _fact(address: NodeAddress, decided: Decided[object], *, is_there: bool = True, stays: bool = True) -> Fact:
    text = address.address
    return Fact(address.type, text if is_there else None, text if stays else None, *_why(decided))


def _why(decided: Decided[object]) -> tuple[Basis, str]:
    return decided.rule.basis or Basis.UNTOUCHED, decided.text


def explain_labels(
    node: Node, then: Node, wanted: DesiredNode | None, settings: Settings, left: str
) -> tuple[Fact, ...]:
    """Every label that the Node has or should have, by key. ``then`` is the Node once its changes are made; ``left``
    says why nothing is wanted, where that is so."""
    decided: Labels = {}
    stays: tuple[Basis, str] = (Basis.UNTOUCHED, f"stays as it is: {left}")
    match wanted:
        case InitializedNode(labels=Decided() as off):
            stays = _why(off)
        case UninitializedNode(labels=labels) | InitializedNode(labels=Mapping() as labels):
            decided = labels
    return tuple(
        Fact(key, node.labels.get(key), then.labels.get(key), *_why_label(key, decided.get(key), settings, stays))
        for key in sorted({*node.labels, *then.labels})
    )


def _why_label(
    key: str, decided: Decided[str | None] | None, settings: Settings, stays: tuple[Basis, str]
) -> tuple[Basis, str]:
    if decided is not None:
        return _why(decided)
    return stays if is_owned_label(key, settings) else (Basis.FOREIGN, NOT_OURS)


def explain_taints(
    node: Node, then: Node, wanted: DesiredNode | None, stage: Stage, settings: Settings
) -> tuple[Fact, ...]:
    """Every taint that the Node has or should have, in its order. ``then`` is the Node once its changes are made."""
    coming = tuple(taint for taint in then.taints if taint not in node.taints)
    return tuple(
        Fact(
            taint.key,
            _shown(taint) if taint in node.taints else None,
            _shown(taint) if taint in then.taints else None,
            *_why_taint(taint, node, wanted, stage, settings),
        )
        for taint in (*node.taints, *coming)
    )


def _shown(taint: Taint) -> str:
    """Value and effect as kubectl shows them behind the key."""
    return f"{taint.value}:{taint.effect}" if taint.value else taint.effect


def _why_taint(
    taint: Taint, node: Node, wanted: DesiredNode | None, stage: Stage, settings: Settings
) -> tuple[Basis, str]:
    if taint.key == TAINT_UNINITIALIZED:
        if isinstance(wanted, UninitializedNode):
            return Basis.UNINITIALISED, "goes away as the Node is initialized"
        return Basis.UNINITIALISED, f"keeps pods away: {why_left(stage, Controller.NODE, settings)}"
    if has_shutdown_taint((taint,)):
        return Basis.SHUTDOWN, _why_shutdown(node, wanted, stage, settings)
    if announces_disruption(taint):
        return Basis.ANNOUNCING, "announces that the Node goes away"
    return Basis.FOREIGN, NOT_OURS


def _why_shutdown(node: Node, wanted: DesiredNode | None, stage: Stage, settings: Settings) -> str:
    if not isinstance(wanted, UninitializedNode | InitializedNode) or Controller.LIFECYCLE not in settings.controllers:
        return f"stays as it is: {why_left(stage, Controller.LIFECYCLE, settings)}"
    shut_down = wanted_shutdown_taint(wanted.server, node, settings)
    state = power_of(wanted.server, shut_down=shut_down)
    return f"stays as it is: {state}" if isinstance(shut_down, Unmanaged) else state


def explain_conditions(node: Node, waits: Waits, *, deletable: bool, network: Fact | None = None) -> tuple[Fact, ...]:
    """Every condition of the Node in its order, and Ready in any case. ``deletable`` tells whether a Node like this one
    is ever deleted, which depends on Ready. ``network`` is the condition that routes decide on; None when they do not.
    """
    depending = _what_depends_on_ready(node, waits) if deletable else "nothing that is done here depends on it"
    told = {network.subject: network} if network else {}
    facts = tuple(
        told.pop(found.type) if found.type in told else _condition(found, node, depending) for found in node.conditions
    )
    facts = (*facts, *told.values())
    if node.ready is Readiness.MISSING:
        why = f"not written yet, which counts as not Ready since the Node's creation; {depending}"
        return (Fact("Ready", None, None, Basis.READY, why), *facts)
    return facts


def _condition(condition: Condition, node: Node, depending: str) -> Fact:
    rule, source = Basis.FOREIGN, NOT_OURS
    if condition.type == "Ready":
        heard = f", last heard of {node.heartbeat:%Y-%m-%d %H:%M:%S} UTC" if node.heartbeat else ""
        rule, source = Basis.READY, f"since {node.ready_since:%Y-%m-%d %H:%M:%S} UTC{heard}; {depending}"
    return Fact(condition.type, condition.status, condition.status, rule, source)


def _what_depends_on_ready(node: Node, waits: Waits) -> str:
    if node.ready is Readiness.TRUE:
        return "the Node is not deleted while it says so"
    gone, given_up = waits.not_ready_for.total_seconds(), waits.given_up_after.total_seconds() / 60
    easing = f"after {given_up:g} min of silence it counts as announced"
    return f"without a server the Node is deleted after {gone:g} s of it; {easing}"
