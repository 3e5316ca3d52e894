"""Which events follow from Nodes that should get traffic and get none: said on the Node, as HCCM does (load-balancers
12), as far as there are few. Of many the first few are told, and the Service says how many they are.
"""

from collections.abc import Iterator, Mapping
from itertools import islice, product

from desired.change import NoteKind, Plan
from desired.joining import is_joining
from desired.load_balancers.serving import Serving
from desired.load_balancers.targets import Membership, NodeTarget
from desired.section import Absent
from desired.settings import Settings
from desired.snapshot import Snapshot
from desired.state import DesiredState, compute_desired
from reconciler.telemetry.events import Event, EventType, subject_of

_REASONS: Mapping[Membership, str] = {
    Membership.OVER_LIMIT: "MaxTargetsReached",
    Membership.UNUSABLE: "UnusableTarget",
}
_NODES = 5
"""Nodes of one Service and with one trouble that are told: a type without room may leave out thousands."""
_SHOWN = 3
"""Services that a message names."""


def warnings_on_targets(
    plan: Plan, snapshot: Snapshot, settings: Settings, desired: DesiredState | None = None
) -> Iterator[Event]:
    """A warning for each of the first Nodes that should get traffic and can be no target of some Service's load
    balancer; and one for the Service when there are more. (Of a type that is full its note says that already.)

    Not for one that joins or whose server is gone: it is on its way, and has events of its own. ``desired`` is what the
    plan was made from; None: it is computed anew.
    """
    if not any(note.kind in (NoteKind.LIMIT, NoteKind.UNUSABLE_TARGET) for note in plan.notes):
        return  # what should be there is not computed anew only to say that all is well
    desired = compute_desired(snapshot, settings) if desired is None else desired
    serving = [wish for _, wish in sorted(desired.services.items()) if isinstance(wish, Serving)]
    services: dict[tuple[str, Membership, str], list[str]] = {}
    for wish, membership in product(serving, _REASONS):
        for why, members in wish.targets.by_why(membership).items():
            worth = (member.node for member in members if _is_worth_a_word(member, snapshot))
            for name in islice(worth, _NODES):
                services.setdefault((name, membership, why), []).append(wish.service.id)
            if membership is Membership.UNUSABLE and next(worth, None) is not None:
                text = f"{len(members)} Nodes are no target: {why}"
                yield Event(subject_of(wish.service), EventType.WARNING, _REASONS[membership], text)
    for (name, membership, why), names in sorted(services.items()):
        node = snapshot.nodes.items[name]
        text = f"no target of the load balancer of {_shown(names)}: {why}"
        yield Event(subject_of(node), EventType.WARNING, _REASONS[membership], text)


def _is_worth_a_word(member: NodeTarget, snapshot: Snapshot) -> bool:
    node = snapshot.nodes.items.get(member.node)
    if node is None or is_joining(node):
        return False
    return member.server_id is None or not isinstance(snapshot.servers.find(member.server_id), Absent)


def _shown(names: list[str]) -> str:
    """``Services a, b, c and 4 more``."""
    rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"Service{'s' if len(names) > 1 else ''} {', '.join(names[:_SHOWN])}{rest}"
