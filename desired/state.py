"""What should exist, assembled from the rules of each kind of object."""

from collections.abc import Mapping
from dataclasses import dataclass

from desired.change import Note
from desired.nodes import JoiningNode, desired_nodes
from desired.settings import Controller, Settings
from desired.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class DesiredState:
    """Everything that should be there, by name, and what a person should know of what is left alone."""

    nodes: Mapping[str, JoiningNode]
    notes: tuple[Note, ...] = ()


def compute_desired(snapshot: Snapshot, settings: Settings) -> DesiredState:
    """The desired state of the whole world. Pure: the snapshot and the settings decide alone."""
    if Controller.NODE not in settings.controllers:
        return DesiredState({})
    nodes, notes = desired_nodes(snapshot, settings)
    return DesiredState(nodes, notes)
