"""What should exist, assembled from the rules of each kind of object."""

from collections.abc import Mapping
from dataclasses import dataclass

from desired.change import Note, NoteKind
from desired.nodes import DesiredNode, desired_nodes
from desired.section import Present
from desired.settings import Controller, Settings
from desired.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class DesiredState:
    """Everything that should be there, by name, and what a person should know of what is left alone."""

    nodes: Mapping[str, DesiredNode]
    notes: tuple[Note, ...] = ()


def compute_desired(snapshot: Snapshot, settings: Settings) -> DesiredState:
    """The desired state of the whole world. Pure: the snapshot and the settings decide alone."""
    notes = _notes_on_identity(snapshot)
    if settings.controllers.isdisjoint({Controller.NODE, Controller.LIFECYCLE}):
        return DesiredState({}, notes)
    nodes, node_notes = desired_nodes(snapshot, settings)
    return DesiredState(nodes, (*notes, *node_notes))


def _notes_on_identity(snapshot: Snapshot) -> tuple[Note, ...]:
    """A cluster without a known identity may own nothing in the cloud: worth a word before it matters."""
    if isinstance(snapshot.cluster_uid, Present):
        return ()
    why = f"the cluster's identity could not be read, so nothing is written to Hetzner: {snapshot.cluster_uid.why}"
    return (Note("cluster", NoteKind.UNKNOWN, why),)
