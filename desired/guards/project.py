"""Guards on whether the snapshot can be relied on: ``incomplete-snapshot`` and ``project-anchor``."""

from collections.abc import Collection, Iterator

from desired.guards.anchor import Anchor, AnchorState, is_served_elsewhere
from desired.guards.facts import Facts, GuardResult
from desired.model.key import Key, ObjectKind
from desired.model.remembered import Remembered
from desired.model.settings import Controller
from desired.model.snapshot import Snapshot
from desired.nodes.ownership import Provider, provider_of
from desired.plan.change import Change, GuardName, NodeIdentity, Note, NoteKind, Verdict
from desired.plan.kinds import Verb
from desired.section import Unknown


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
        for name in change.row.decided_from:
            section = sections.get(name)
            gap = "it was not read" if section is None else section.why_incomplete
            if gap:
                why = f"the list of {name.replace('_', ' ')} is incomplete: {gap}"
                yield GuardResult(GuardName.INCOMPLETE_SNAPSHOT, Verdict.WAITING, (change.key,), why)


def project_anchor(facts: Facts) -> Iterator[GuardResult]:
    """Writes derived from Hetzner Cloud are held while fewer than half of the Ready Nodes are found in the project;
    and, with none Ready and none of our Nodes found, while there is no witness either. Removals always need a witness;
    so does everything where Services publish addresses that are not in the project, and no Node identifies it."""
    anchor = facts.anchor
    derived = tuple(change for change in facts.plan.changes if _provider(change, facts.snapshot) is Provider.CLOUD)
    removals = tuple(change.key for change in derived if change.verb is Verb.REMOVE)
    if anchor.unreadable and not anchor.is_certain:
        why = (
            f"{anchor.unreadable} Nodes could not be read, so that it is not certain that this is the cluster's project"
        )
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
                why = f"the servers of {anchor.hidden} Nodes could not be read to tell whether this is the cluster's"
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
            why = "no Node is Ready and nothing of this cluster was found in the project that the token belongs to"
            yield GuardResult(GuardName.PROJECT_ANCHOR, Verdict.HELD, removals, why, "0", "1")


def explain_violation(anchor: Anchor) -> str:
    """Text: what a violated anchor means, and what to do."""
    found = "none" if anchor.found == 0 else f"only {anchor.found}"
    verb = "is" if anchor.found < 2 else "are"
    nodes = "the 1 Ready Node" if anchor.total == 1 else f"the {anchor.total} Ready Nodes"
    return (
        f"{found} of the servers behind {nodes} {verb} in the project that HCLOUD_TOKEN belongs to: it seems to be the"
        " token of another project. Nothing that is derived from Hetzner Cloud is written. Check the token"
    )


def explain_unfound(anchor: Anchor) -> str:
    """Text: what it means that nothing at all of a cluster was found, and what to do."""
    behind = "behind the only Node" if anchor.nodes == 1 else f"behind {anchor.nodes} Nodes"
    return (
        f"no Node is Ready, no server {behind} is in the project that HCLOUD_TOKEN belongs to, and nor is anything else"
        " that this cluster is known by. Nothing that is derived from Hetzner Cloud is written. Check the token, and"
        " approve this if all servers were replaced"
    )


def explain_elsewhere() -> str:
    """Text: what it means that only published addresses of Services identify the project, and that they are in another
    one."""
    return (
        "no Node tells whose project this is, and no load balancer in it belongs to any Service that publishes an"
        " address or a name: HCLOUD_TOKEN seems to be the token of another project. Nothing that is derived from"
        " Hetzner Cloud is written. Check the token, and approve this if the load balancers were deleted"
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


def _explain_unremembered(remembered: Unknown) -> str:
    return f"what this cluster remembers of its project could not be read: {remembered.why}"


def _provider(change: Change, snapshot: Snapshot) -> Provider | None:
    """The provider from whose data a change is derived; None for one that depends on no cloud.

    Changes of a Service, its finalizer and status included, follow from load balancers, and a Node's condition about
    its routes, whether or not it has a providerID yet, from the network: both are Hetzner Cloud's.
    """
    if change.row.writes_cloud or change.row.controller in (Controller.SERVICE, Controller.ROUTE):
        return Provider.CLOUD
    for side in (change.after, change.before):
        if isinstance(side, NodeIdentity):
            return provider_of(side.provider_id)
    node = snapshot.node(change.owner)
    return provider_of(node.provider_id) if node else None
