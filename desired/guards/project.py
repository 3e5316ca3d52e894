"""Guard ``project-anchor``: what is derived from a project or account waits until that is known to be the cluster's.

What tells it is in ``anchor``.
"""

from collections.abc import Collection, Iterator

from desired.guards.anchor import Anchor, AnchorState, is_served_elsewhere
from desired.guards.blast_radius import provider_behind
from desired.guards.guard import GuardInput, GuardResult
from desired.model.key import Key, ObjectKind
from desired.model.load_balancer import IpTarget
from desired.model.remembered import Remembered
from desired.model.settings import Controller
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.notes import Note
from desired.rules import guards as rows
from desired.rules.rule import Plain
from desired.section import Unknown
from desired.syntax.bounds import counted
from desired.syntax.provider_id import Provider


def project_anchor(view: GuardInput) -> Iterator[GuardResult]:
    """Writes derived from a provider are held while it seems to be that of another cluster, each by its own Nodes."""
    yield from _cloud_anchor(view)
    yield from _robot_anchor(view)


def _cloud_anchor(view: GuardInput) -> Iterator[GuardResult]:
    """Writes derived from Hetzner Cloud are held while fewer than half of the Ready Nodes are found in the project;
    and, with none Ready and none of our Nodes found, while there is no witness either. Removals always need a witness;
    so does everything where Services publish addresses that are not in the project, and no Node identifies it."""
    anchor = view.anchor
    derived = [change for change in view.plan.changes if _provider(change, view.snapshot) is Provider.CLOUD]
    keys, removals = [c.key for c in derived], [c.key for c in derived if c.verb is Verb.REMOVE]
    if anchor.unreadable and not anchor.is_certain:
        yield GuardResult.of(rows.REMOVALS_UNVERIFIED, removals, {"nodes": counted(anchor.unreadable, "Node")})
    match anchor.state:
        case AnchorState.VIOLATED:
            held = GuardResult.of(rows.PROJECT_MISMATCH, keys, _found(anchor), value=anchor.found, limit=anchor.needed)
            yield held.leaving(anchor.found, of="project")
        case AnchorState.UNDETERMINED:
            yield _unverified(anchor, keys, "the project of HCLOUD_TOKEN")
        case AnchorState.UNFOUND if not view.witnesses:
            remembered = view.snapshot.remembered
            if anchor.hidden:
                yield _unverified(anchor, keys, "the project of HCLOUD_TOKEN")
            elif isinstance(remembered, Unknown):
                yield GuardResult.of(rows.PROJECT_IDS_UNREAD, keys, {"error": remembered.why})
            else:
                yield GuardResult.of(rows.PROJECT_UNKNOWN, keys, _found(anchor), value=0, limit=1)
        case AnchorState.NONE if not view.witnesses and is_served_elsewhere(view.snapshot):
            yield GuardResult.of(rows.SERVED_ELSEWHERE, keys, value=0, limit=1)
        case AnchorState.NONE if removals and not view.witnesses:
            yield GuardResult.of(rows.PROJECT_EMPTY, removals, value=0, limit=1)


def _robot_anchor(view: GuardInput) -> Iterator[GuardResult]:
    """Writes derived from Robot are held while fewer than half of its Ready Nodes are found in the account and, with
    none Ready, while none of its Nodes is: nothing but a server tells whose account it is. Without credentials nothing
    is derived from it: addresses of targets are those that Nodes report."""
    if view.snapshot.robot is None:
        return
    anchor = view.robot_anchor
    keys = [change.key for change in view.plan.changes if _depends_on_robot(change, view.snapshot)]
    if _is_mismatch(anchor):
        held = GuardResult.of(rows.ROBOT_MISMATCH, keys, _found(anchor), value=anchor.found, limit=anchor.needed or 1)
        yield held.leaving(anchor.found, of="account")
    elif anchor.state in (AnchorState.UNDETERMINED, AnchorState.UNFOUND):
        yield _unverified(anchor, keys, "the account of ROBOT_USER")


def _unverified(anchor: Anchor, keys: Collection[str], project: str) -> GuardResult:
    unread = anchor.unknown or anchor.hidden
    facts: dict[str, Plain] = {
        "project": project,
        "found": anchor.found,
        "needed": anchor.needed or 1,
        "unread": unread,
    }
    return GuardResult.of(rows.PROJECT_UNVERIFIED, keys, facts)


def _is_mismatch(anchor: Anchor) -> bool:
    """Whether so many servers were read that too few of them are there, whatever the others are."""
    return anchor.state is AnchorState.VIOLATED or (anchor.state is AnchorState.UNFOUND and not anchor.hidden)


def _found(anchor: Anchor) -> dict[str, Plain]:
    return {"found": anchor.found, "most": anchor.total or anchor.nodes, "needed": anchor.needed or 1}


def _depends_on_robot(change: Change, snapshot: Snapshot) -> bool:
    """Whether a change is derived from Robot: of a Node there, or of a target that is an address. What comes back after
    a move in a network was a target before, whatever is said of it."""
    sides = (change.before, change.after) if change.kind == ChangeKind.LB_TARGET else ()
    is_address = any(isinstance(side, IpTarget) for side in sides)
    return (is_address and not _comes_back(change, snapshot)) or _provider(change, snapshot) is Provider.ROBOT


def _comes_back(change: Change, snapshot: Snapshot) -> bool:
    present = snapshot.load_balancers and snapshot.load_balancers.items.get(change.cloud_id or 0)
    return bool(present and change.before is None and change.after in present.targets)


def _provider(change: Change, snapshot: Snapshot) -> Provider | None:
    """The provider from whose data a change is derived; None for one that depends on no cloud.

    Changes of a Service, its finalizer and status included, follow from load balancers, and a Node's condition about
    its routes, whether or not it has a providerID yet, from the network: both are Hetzner Cloud's.
    """
    if change.row.writes_cloud or change.row.controller in (Controller.SERVICE, Controller.ROUTE):
        return Provider.CLOUD
    return provider_behind(change, snapshot)


def anchor_notes(
    anchor: Anchor, witnesses: Collection[str] = (), remembered: Remembered | Unknown | None = None
) -> tuple[Note, ...]:
    """The note that the project seems to be another one, even when nothing is held: the anchor is violated, or nothing
    of the cluster was found and the reading is complete. Says what could not be read. Empty otherwise."""
    project = Key(ObjectKind.PROJECT, "cloud")
    if anchor.state is AnchorState.VIOLATED:
        return (rows.PROJECT_MISMATCH.note(project, **_found(anchor)),)
    if witnesses or not _is_mismatch(anchor):
        return ()
    if isinstance(remembered, Unknown):
        return (rows.PROJECT_IDS_UNREAD.note(project, error=remembered.why),)
    return (rows.PROJECT_UNKNOWN.note(project, **_found(anchor)),)


def robot_anchor_notes(anchor: Anchor) -> tuple[Note, ...]:
    """The note that the Robot account seems to be another one, even when nothing is held; empty otherwise."""
    return (
        (rows.ROBOT_MISMATCH.note(Key(ObjectKind.PROJECT, "robot"), **_found(anchor)),) if _is_mismatch(anchor) else ()
    )
