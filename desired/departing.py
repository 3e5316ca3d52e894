"""What becomes of a Node whose server is gone: it is deleted, once that is proven (nodes-and-routes 5.2, W-1, W-23)."""

from dataclasses import dataclass

from desired.absence import is_departing, proof_of_absence
from desired.change import LostNode, Note, NoteKind
from desired.joining import current_identity
from desired.matching import Gone
from desired.settings import Settings
from desired.snapshot import Node


@dataclass(frozen=True, slots=True)
class DepartingNode:
    """A Node that should not be there any more."""

    lost: LostNode


def departing_node(node: Node, gone: Gone, settings: Settings) -> tuple[DepartingNode | None, tuple[Note, ...]]:
    """The Node as one to be deleted; None, with a note that says why, while it is not to be."""
    if is_departing(node):
        return DepartingNode(LostNode(current_identity(node, settings), proof_of_absence(node, gone.server_id))), ()
    missing = f"no server of the project has the id {gone.server_id}"
    if node.deleted_at is None:
        why = f"{missing}, and its kubelet reports Ready: nothing is done while it does"
        if gone.namesake is not None:
            why += f"; server {gone.namesake} has its name: delete the Node, so that the kubelet there registers anew"
        return None, (Note(node.key, NoteKind.UNMATCHED, why),)
    return None, (Note(node.key, NoteKind.DELETING, f"{missing}; the Node {asked_to_go(node)}"),)


def asked_to_go(node: Node) -> str:
    """Since when a Node that is being deleted is on its way, and who holds it."""
    holders = f"finalizers {', '.join(node.finalizers)}" if node.finalizers else "the API server"
    return f"is being deleted since {node.deleted_at:%Y-%m-%d %H:%M} UTC and waits for {holders}"
