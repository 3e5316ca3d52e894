"""Guards on whether anything may be written: ``incomplete-snapshot``, ``project-anchor``, ``other-controller`` and
``clock-skew``."""

from collections.abc import Collection, Iterator

from desired.guards.anchor import Anchor, AnchorState, is_served_elsewhere
from desired.guards.facts import Facts, GuardResult
from desired.guards.nodes import provider_behind
from desired.model.clocks import LOOK_AGAIN_S, explain_clocks
from desired.model.key import PLAN, Key, ObjectKind
from desired.model.load_balancer import IpTarget, Owner
from desired.model.remembered import Remembered
from desired.model.settings import Controller
from desired.model.snapshot import IMAGE, Snapshot, Workload, is_another_controller
from desired.plan.change import Change, GuardName, LostNode, Verdict
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.notes import Note, NoteKind
from desired.section import Unknown
from desired.syntax.bounds import counted
from desired.syntax.provider_id import Provider


def incomplete_snapshot(facts: Facts) -> Iterator[GuardResult]:
    """Removals, creations in the cloud and finalizer releases wait for complete sections; cloud writes wait for the
    cluster's UID."""
    sections = facts.snapshot.sections()
    for change in facts.plan.changes:
        if change.row.writes_cloud and isinstance(facts.snapshot.cluster_uid, Unknown):
            why = f"the cluster's identity could not be read: {facts.snapshot.cluster_uid.why}"
            yield GuardResult(GuardName.INCOMPLETE_SNAPSHOT, Verdict.WAITING, (change.key,), why)
        if change.verb is not Verb.REMOVE and not change.row.creates_in_cloud:
            continue
        for name in (*change.row.decided_from, *_of_addresses(change)):
            section = sections.get(name)
            is_needed = name in change.row.decided_from
            gap = section.why_incomplete if section is not None else "it was not read" if is_needed else None
            if gap:
                why = f"the list of {name.replace('_', ' ')} is incomplete: {gap}"
                yield GuardResult(GuardName.INCOMPLETE_SNAPSHOT, Verdict.WAITING, (change.key,), why)


def _of_addresses(change: Change) -> tuple[str, ...]:
    """Sections that have to be whole where they are read: without the Node of a dedicated server nobody knows that the
    targets that lead to its addresses were its own."""
    is_metal = isinstance(change.before, LostNode) and change.before.proof.provider is Provider.ROBOT
    return ("services", "load_balancers") if is_metal else ()


def project_anchor(facts: Facts) -> Iterator[GuardResult]:
    """Writes derived from a provider are held while it seems to be that of another cluster, each by its own Nodes."""
    yield from _cloud_anchor(facts)
    yield from _robot_anchor(facts)


def _robot_anchor(facts: Facts) -> Iterator[GuardResult]:
    """Writes derived from Robot are held while fewer than half of its Ready Nodes are found in the account and, with
    none Ready, while none of its Nodes is: nothing but a server tells whose account it is. Without credentials nothing
    is derived from it: addresses of targets are those that Nodes report."""
    if facts.snapshot.robot is None:
        return
    anchor = facts.robot_anchor
    derived = tuple(c.key for c in facts.plan.changes if _depends_on_robot(c, facts.snapshot))
    match anchor.state:
        case AnchorState.VIOLATED:
            why = explain_robot_violation(anchor)
            measured = str(anchor.found), str(anchor.needed)
            yield GuardResult(GuardName.PROJECT_ANCHOR, Verdict.HELD, derived, why, *measured)
        case AnchorState.UNFOUND if not anchor.hidden:
            yield GuardResult(
                GuardName.PROJECT_ANCHOR, Verdict.HELD, derived, explain_robot_violation(anchor), "0", "1"
            )
        case AnchorState.UNDETERMINED | AnchorState.UNFOUND:
            why = "too few Robot servers could be read to tell whether this is the cluster's account"
            yield GuardResult(GuardName.INCOMPLETE_SNAPSHOT, Verdict.WAITING, derived, why)


def _depends_on_robot(change: Change, snapshot: Snapshot) -> bool:
    """Whether a change is derived from Robot: of a Node there, or of a target that is an address. What comes back after
    a move in a network was a target before, whoever says what."""
    sides = (change.before, change.after) if change.kind == ChangeKind.LB_TARGET else ()
    is_address = any(isinstance(side, IpTarget) for side in sides)
    return (is_address and not _comes_back(change, snapshot)) or _provider(change, snapshot) is Provider.ROBOT


def _comes_back(change: Change, snapshot: Snapshot) -> bool:
    present = snapshot.load_balancers and snapshot.load_balancers.items.get(change.cloud_id or 0)
    return bool(present and change.before is None and change.after in present.targets)


def _cloud_anchor(facts: Facts) -> Iterator[GuardResult]:
    """Writes derived from Hetzner Cloud are held while fewer than half of the Ready Nodes are found in the project;
    and, with none Ready and none of our Nodes found, while there is no witness either. Removals always need a witness;
    so does everything where Services publish addresses that are not in the project, and no Node identifies it."""
    anchor = facts.anchor
    derived = tuple(change for change in facts.plan.changes if _provider(change, facts.snapshot) is Provider.CLOUD)
    removals = tuple(change.key for change in derived if change.verb is Verb.REMOVE)
    if anchor.unreadable and not anchor.is_certain:
        nodes = counted(anchor.unreadable, "Node")
        why = f"{nodes} could not be read, so that it is not certain that this is the cluster's project"
        yield GuardResult(GuardName.INCOMPLETE_SNAPSHOT, Verdict.WAITING, removals, why)
    match anchor.state:
        case AnchorState.VIOLATED:
            yield GuardResult(
                GuardName.PROJECT_ANCHOR,
                Verdict.HELD,
                tuple(change.key for change in derived),
                explain_violation(anchor),
                str(anchor.found),
                str(anchor.needed),
            )
        case AnchorState.UNDETERMINED:
            why = f"too few servers could be read to tell whether this is the cluster's project ({anchor.found} of the"
            why += f" {anchor.needed} needed were found)"
            yield GuardResult(
                GuardName.INCOMPLETE_SNAPSHOT, Verdict.WAITING, tuple(change.key for change in derived), why
            )
        case AnchorState.UNFOUND if not facts.witnesses:
            keys = tuple(change.key for change in derived)
            remembered = facts.snapshot.remembered
            if anchor.hidden:
                servers = "server of 1 Node" if anchor.hidden == 1 else f"servers of {anchor.hidden} Nodes"
                why = f"the {servers} could not be read to tell whether this is the cluster's"
                yield GuardResult(GuardName.INCOMPLETE_SNAPSHOT, Verdict.WAITING, keys, f"{why} project")
            elif isinstance(remembered, Unknown):
                yield GuardResult(
                    GuardName.INCOMPLETE_SNAPSHOT, Verdict.WAITING, keys, _explain_unremembered(remembered)
                )
            else:
                yield GuardResult(GuardName.PROJECT_ANCHOR, Verdict.HELD, keys, explain_unfound(anchor), "0", "1")
        case AnchorState.NONE if not facts.witnesses and is_served_elsewhere(facts.snapshot):
            keys = tuple(change.key for change in derived)
            yield GuardResult(GuardName.PROJECT_ANCHOR, Verdict.HELD, keys, explain_elsewhere(), "0", "1")
        case AnchorState.NONE if removals and not facts.witnesses:
            why = (
                "no Node is Ready and nothing of this cluster was found in the project that HCLOUD_TOKEN belongs to: it"
                " seems to be the token of another project, or all of the cluster's was deleted there. Check the token,"
                " and approve this if it was deleted"
            )
            yield GuardResult(GuardName.PROJECT_ANCHOR, Verdict.HELD, removals, why, "0", "1")


def explain_violation(anchor: Anchor) -> str:
    """Text: what a violated anchor means, and what to do."""
    found = "none" if anchor.found == 0 else f"only {anchor.found}"
    verb = "is" if anchor.found < 2 else "are"
    nodes = f"the {counted(anchor.total, 'Ready Node')}"
    return (
        f"{found} of the servers behind {nodes} {verb} in the project that HCLOUD_TOKEN belongs to: it seems to be the"
        " token of another project, or the servers were deleted. Nothing that is derived from Hetzner Cloud is written."
        " Check the token, and approve this if the servers were deleted"
    )


def explain_robot_violation(anchor: Anchor) -> str:
    """Text: what it means that the Nodes' Robot servers are not in the account, and what to do."""
    nodes = anchor.total or anchor.nodes
    found = "none" if anchor.found == 0 else f"only {anchor.found}"
    behind = "the 1 Node" if nodes == 1 else f"the {nodes} Nodes"
    return (
        f"{found} of the Robot servers behind {behind} {'is' if anchor.found < 2 else 'are'} in the account of"
        " ROBOT_USER: it seems to be another account, or the servers were given back. Nothing that is derived from"
        " Robot is written. Check ROBOT_USER, and approve this if the servers were given back"
    )


def explain_unfound(anchor: Anchor) -> str:
    """Text: what it means that nothing at all of a cluster was found, and what to do."""
    behind = "behind the only Node" if anchor.nodes == 1 else f"behind {anchor.nodes} Nodes"
    return (
        f"no Node is Ready, no server {behind} is in the project that HCLOUD_TOKEN belongs to, and nor is anything else"
        " that this cluster is known by: it seems to be the token of another project, or all servers were deleted."
        " Nothing that is derived from Hetzner Cloud is written. Check the token, and approve this if all servers were"
        " deleted or replaced"
    )


def explain_elsewhere() -> str:
    """Text: what it means that only published addresses of Services identify the project, and that they are in another
    one."""
    return (
        "no Node tells whose project this is, and no load balancer in it belongs to any Service that publishes an"
        " address or a name: HCLOUD_TOKEN seems to be the token of another project, or the load balancers were deleted."
        " Nothing that is derived from Hetzner Cloud is written. Check the token, and approve this if the load"
        " balancers were deleted"
    )


def anchor_notes(
    anchor: Anchor, witnesses: Collection[str] = (), remembered: Remembered | Unknown | None = None
) -> tuple[Note, ...]:
    """The note that the project seems to be another one, even when nothing is held: the anchor is violated, or nothing
    of the cluster was found and the reading is complete. Says what could not be read. Empty otherwise."""
    if anchor.state is AnchorState.VIOLATED:
        return (Note(Key(ObjectKind.PROJECT, "cloud"), NoteKind.ANCHOR, explain_violation(anchor)),)
    if anchor.state is AnchorState.UNFOUND and not anchor.hidden and not witnesses:
        if isinstance(remembered, Unknown):
            return (Note(Key(ObjectKind.PROJECT, "cloud"), NoteKind.UNKNOWN, _explain_unremembered(remembered)),)
        return (Note(Key(ObjectKind.PROJECT, "cloud"), NoteKind.ANCHOR, explain_unfound(anchor)),)
    return ()


def robot_anchor_notes(anchor: Anchor) -> tuple[Note, ...]:
    """The note that the Robot account seems to be another one, even when nothing is held; empty otherwise."""
    is_strange = anchor.state is AnchorState.VIOLATED or (anchor.state is AnchorState.UNFOUND and not anchor.hidden)
    key = Key(ObjectKind.PROJECT, "robot")
    return (Note(key, NoteKind.ANCHOR, explain_robot_violation(anchor)),) if is_strange else ()


def _explain_unremembered(remembered: Unknown) -> str:
    return f"what this cluster remembers of its project could not be read: {remembered.why}"


def _provider(change: Change, snapshot: Snapshot) -> Provider | None:
    """The provider from whose data a change is derived; None for one that depends on no cloud.

    Changes of a Service, its finalizer and status included, follow from load balancers, and a Node's condition about
    its routes, whether or not it has a providerID yet, from the network: both are Hetzner Cloud's.
    """
    if change.row.writes_cloud or change.row.controller in (Controller.SERVICE, Controller.ROUTE):
        return Provider.CLOUD
    return provider_behind(change, snapshot)


_UNTOLD = "whether another cloud controller is at work could not be told"


def other_controller(facts: Facts) -> Iterator[GuardResult]:
    """Writes are held while another cloud controller runs, and wait while that will be known in a moment; where
    permission to look is missing, only a note says so."""
    found, others = facts.snapshot.controllers, other_controllers(facts.snapshot)
    keys = tuple(change.key for change in facts.plan.changes)
    if others:
        yield GuardResult(GuardName.OTHER_CONTROLLER, Verdict.HELD, keys, explain_others(others), str(len(others)), "0")
    elif found is not None and found.why_incomplete is not None:
        yield GuardResult(GuardName.OTHER_CONTROLLER, Verdict.WAITING, keys, f"{_UNTOLD}: {found.why_incomplete}")


def other_controllers(snapshot: Snapshot) -> tuple[Workload, ...]:
    """The other cloud controllers that have ready pods, in the order of their keys; empty where nobody looked."""
    return tuple(filter(is_another_controller, snapshot.controllers or ()))


def explain_others(others: Collection[Workload]) -> str:
    """Text: what it means that other controllers run, and what to do about it."""
    named = ", ".join(f"{other.kind} {other.namespace}/{other.name}" for other in others)
    has, it, goes = ("has", "it", "its") if len(others) == 1 else ("have", "them", "their")
    return (
        f"{named} {has} ready pods, and {goes} image is {IMAGE}: two cloud controllers would undo each other's work."
        f" Scale {it} to 0 or delete {it} first"
    )


def controller_notes(snapshot: Snapshot) -> tuple[Note, ...]:
    """A note on each other controller, as an empty plan holds nothing; and why it could not be told whether there is
    one."""
    found = snapshot.controllers
    if found is None:
        return ()
    others = other_controllers(snapshot)
    seen = tuple(Note(other.key, NoteKind.OTHER_CONTROLLER, explain_others([other])) for other in others)
    gap = found.why_incomplete or next(iter(found.unreadable.values()), None)
    return seen if gap is None else (*seen, Note(PLAN, NoteKind.OTHER_CONTROLLER, f"{_UNTOLD}: {gap}"))


_BY_AGE = frozenset({ChangeKind.NODE_DELETE})
"""Kinds of changes that are planned, or allowed, because something is old enough."""


def clock_skew(facts: Facts) -> Iterator[GuardResult]:
    """Changes that depend on an age wait while Kubernetes' clock disagrees with the others. They cannot be approved."""
    if facts.snapshot.clocks.differ:
        keys = tuple(change.key for change in facts.plan.changes if depends_on_age(change))
        why = explain_clocks(facts.snapshot.clocks) or ""
        yield GuardResult(GuardName.CLOCK_SKEW, Verdict.WAITING, keys, why, due_in_s=LOOK_AGAIN_S)


def depends_on_age(change: Change) -> bool:
    """Whether a wrong clock alone could let this change pass, or is what it writes down."""
    ends_a_window = change.owner.kind is ObjectKind.LOAD_BALANCER
    begins_one = isinstance(change.after, Owner) and change.after.delete_after is not None
    return change.kind in _BY_AGE or ends_a_window or begins_one


def clock_notes(snapshot: Snapshot) -> tuple[Note, ...]:
    """Notes on the clocks that are off, also where nothing waits for them; empty when all agree."""
    why = explain_clocks(snapshot.clocks)
    return () if why is None else (Note(PLAN, NoteKind.CLOCK_SKEW, why),)
