"""What is there against what should be there: changes and notes, the same for every order of the input."""

from desired.change import Change, Plan
from desired.kinds import Verb
from desired.nodes import JoiningNode, current_identity
from desired.settings import Settings
from desired.snapshot import Node, Snapshot
from desired.state import DesiredState, compute_desired


def diff(snapshot: Snapshot, desired: DesiredState) -> Plan:
    """The plan that would make the world of ``snapshot`` the ``desired`` one. No verdicts yet: guards come after."""
    return Plan(
        tuple(_initialise(snapshot.nodes.items[name], joining) for name, joining in desired.nodes.items()),
        desired.notes,
    )


def compute_plan(snapshot: Snapshot, settings: Settings) -> Plan:
    """Desired state and difference in one step."""
    return diff(snapshot, compute_desired(snapshot, settings))


def _initialise(node: Node, joining: JoiningNode) -> Change:
    return Change(
        key=node.key,
        kind="node.initialise",
        verb=Verb.ADD,
        before=current_identity(node),
        after=joining.identity,
        reason=f"joins as server {joining.server.id}, recognised by its {joining.matched_by}",
        owner=node.key,
        consequences=joining.consequences,
    )
