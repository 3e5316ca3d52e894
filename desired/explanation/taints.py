"""The taints and conditions of a Node, each with the rule behind it. What should be there is the desired state's, and
not decided again here."""

from desired.explanation.fact import NOT_OURS, Fact, Rule
from desired.explanation.stage import Stage, why_left
from desired.model.settings import Controller, Settings, Waits
from desired.model.snapshot import Condition, Node, Readiness, Taint
from desired.names import TAINT_UNINITIALIZED
from desired.nodes.desired import DesiredNode, JoiningNode, SettledNode, has_shutdown_taint, with_shutdown_taint
from desired.nodes.disruption import is_announcing
from desired.section import Unmanaged


def explain_taints(node: Node, wanted: DesiredNode | None, stage: Stage, settings: Settings) -> tuple[Fact, ...]:
    """Every taint that the Node has or should have, in its order."""
    after = _taints_after(node, wanted)
    coming = tuple(taint for taint in after if taint not in node.taints)
    return tuple(
        Fact(
            taint.key,
            _shown(taint) if taint in node.taints else None,
            _shown(taint) if taint in after else None,
            *_why_taint(taint, wanted, stage, settings),
        )
        for taint in (*node.taints, *coming)
    )


def _taints_after(node: Node, wanted: DesiredNode | None) -> tuple[Taint, ...]:
    match wanted:
        case JoiningNode():
            return wanted.identity.taints
        case SettledNode(shut_down=bool() as shut_down) if shut_down is not has_shutdown_taint(node.taints):
            return with_shutdown_taint(node.taints, wanted=shut_down)
    return node.taints


def _shown(taint: Taint) -> str:
    """Value and effect as kubectl shows them behind the key."""
    return f"{taint.value}:{taint.effect}" if taint.value else taint.effect


def _why_taint(taint: Taint, wanted: DesiredNode | None, stage: Stage, settings: Settings) -> tuple[Rule, str]:
    if taint.key == TAINT_UNINITIALIZED:
        if isinstance(wanted, JoiningNode):
            return Rule.UNINITIALISED, "goes away as the Node is initialised"
        return Rule.UNINITIALISED, f"keeps pods away: {why_left(stage, Controller.NODE, settings)}"
    if has_shutdown_taint((taint,)):
        return Rule.SHUTDOWN, _why_shutdown(wanted, stage, settings)
    if is_announcing(taint):
        return Rule.ANNOUNCING, "announces that the Node goes away"
    return Rule.FOREIGN, NOT_OURS


def _why_shutdown(wanted: DesiredNode | None, stage: Stage, settings: Settings) -> str:
    if not isinstance(wanted, SettledNode) or Controller.LIFECYCLE not in settings.controllers:
        return f"stays as it is: {why_left(stage, Controller.LIFECYCLE, settings)}"
    state = f"server {wanted.server.id} is {wanted.server.status}"
    return f"stays as it is: {state}" if isinstance(wanted.shut_down, Unmanaged) else state


def explain_conditions(node: Node, waits: Waits, *, deletable: bool, network: Fact | None = None) -> tuple[Fact, ...]:
    """Every condition of the Node in its order, and Ready in any case. ``deletable`` tells whether a Node like this one
    is ever deleted: that hangs on Ready. ``network`` is the one that routes decide on; None when they do not."""
    hanging = _what_hangs_on_ready(node, waits) if deletable else "nothing that is done here hangs on it"
    told = {network.subject: network} if network else {}
    facts = tuple(
        told.pop(found.type) if found.type in told else _condition(found, node, hanging) for found in node.conditions
    )
    facts = (*facts, *told.values())
    if node.ready is Readiness.MISSING:
        why = f"not written yet, which counts as not Ready since the Node's creation; {hanging}"
        return (Fact("Ready", None, None, Rule.READY, why), *facts)
    return facts


def _condition(condition: Condition, node: Node, hanging: str) -> Fact:
    rule, source = Rule.FOREIGN, NOT_OURS
    if condition.type == "Ready":
        heard = f", last heard of {node.heartbeat:%Y-%m-%d %H:%M:%S} UTC" if node.heartbeat else ""
        rule, source = Rule.READY, f"since {node.ready_since:%Y-%m-%d %H:%M:%S} UTC{heard}; {hanging}"
    return Fact(condition.type, condition.status, condition.status, rule, source)


def _what_hangs_on_ready(node: Node, waits: Waits) -> str:
    if node.ready is Readiness.TRUE:
        return "the Node is not deleted while it says so"
    gone, given_up = waits.not_ready_for.total_seconds(), waits.given_up_after.total_seconds() / 60
    easing = f"after {given_up:g} min of silence it counts as announced"
    return f"without a server the Node is deleted after {gone:g} s of it; {easing}"
