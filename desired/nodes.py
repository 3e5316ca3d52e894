"""What each Node should be, whatever part of its life it is in: joining, settled, or without its server."""

from collections.abc import Mapping

from desired.change import Note, NoteKind
from desired.departing import DepartingNode, departing_node
from desired.joining import JoiningNode, is_joining, joining_node, note_on_miss
from desired.matching import Gone, Matched, Matcher
from desired.others import Others
from desired.ownership import is_ignored
from desired.settings import Controller, Settings
from desired.settled import SettledNode, note_on_unclaimed, notes_on_unmanaged, settled_node
from desired.snapshot import Node, Snapshot

DesiredNode = JoiningNode | SettledNode | DepartingNode


def desired_nodes(snapshot: Snapshot, settings: Settings) -> tuple[Mapping[str, DesiredNode], tuple[Note, ...]]:
    """Name of each Node that something is wanted of → what it should be; and notes on what is left alone."""
    desired: dict[str, DesiredNode] = {}
    notes = [Note(f"node/{name}", NoteKind.UNREADABLE, why) for name, why in snapshot.nodes.unreadable.items()]
    matcher, others = Matcher(snapshot.nodes, snapshot.servers), Others(snapshot)
    for node in snapshot.nodes:
        wanted, why = _desired_node(node, matcher, others, snapshot, settings)
        notes += why
        if wanted is not None:
            desired[node.name] = wanted
    return desired, tuple(notes)


def _desired_node(
    node: Node, matcher: Matcher, others: Others, snapshot: Snapshot, settings: Settings
) -> tuple[DesiredNode | None, tuple[Note, ...]]:
    if settings.ignore_nodes is not None and is_ignored(node, settings):
        return None, (Note(node.key, NoteKind.IGNORED, f"ignored: matches {settings.ignore_nodes.text}"),)
    joining = is_joining(node)
    if node.provider_id is None and not joining:
        return None, (note_on_unclaimed(node),)
    match = matcher.match(node)
    if isinstance(match, Gone) and Controller.LIFECYCLE in settings.controllers:
        return departing_node(node, match, settings)
    if joining and Controller.NODE not in settings.controllers:
        return None, ()
    if isinstance(match, Matched):
        if joining:
            return joining_node(node, match, snapshot, settings, others)
        return settled_node(node, match.server, snapshot, settings, others)
    return None, (note_on_miss(node, match),) if joining else notes_on_unmanaged(
        node, match, list_of_servers_is_whole=snapshot.servers.complete
    )
