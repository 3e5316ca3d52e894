"""What should exist, assembled from the rules of each kind of object."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from desired.change import Note, NoteKind
from desired.load_balancers.leaving import Leaving
from desired.load_balancers.services import desired_services
from desired.load_balancers.serving import Serving
from desired.load_balancers.stuck import notes_on_stuck_services
from desired.load_balancers.undo import Parting
from desired.nodes import DesiredNode, desired_nodes
from desired.routes.network import DesiredRoutes, desired_routes
from desired.section import Present
from desired.settings import Controller, Settings
from desired.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class DesiredState:
    """Everything that should be there, by name, and what a person should know of what is left alone."""

    nodes: Mapping[str, DesiredNode]
    services: Mapping[str, Serving | Leaving] = field(default_factory=dict)
    """By ``NAMESPACE/NAME``: those that want a load balancer, and those that have to let go of one."""
    partings: tuple[Parting, ...] = ()
    """Load balancers in their undo window, and past it, that no Service wants back."""
    routes: DesiredRoutes = field(default_factory=DesiredRoutes)
    notes: tuple[Note, ...] = ()


def compute_desired(snapshot: Snapshot, settings: Settings) -> DesiredState:
    """The desired state of the whole world. Pure: the snapshot and the settings decide alone."""
    notes = _notes_on_identity(snapshot)
    nodes: Mapping[str, DesiredNode] = {}
    if not settings.controllers.isdisjoint({Controller.NODE, Controller.LIFECYCLE}):
        nodes, why = desired_nodes(snapshot, settings)
        notes = (*notes, *why)
    services, partings, of_services = desired_services(snapshot, settings, nodes)
    routes, of_routes = desired_routes(snapshot, settings, nodes)
    stuck = notes_on_stuck_services(snapshot)
    return DesiredState(nodes, services, partings, routes, (*notes, *of_services, *stuck, *of_routes))


def _notes_on_identity(snapshot: Snapshot) -> tuple[Note, ...]:
    """A cluster without a known identity may own nothing in the cloud: worth a word before it matters."""
    if isinstance(snapshot.cluster_uid, Present):
        return ()
    why = f"the cluster's identity could not be read, so nothing is written to Hetzner: {snapshot.cluster_uid.why}"
    return (Note("cluster", NoteKind.UNKNOWN, why),)
