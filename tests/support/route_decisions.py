"""What is decided on routes, by keys that are short to write: what their tests share."""

from collections.abc import Collection, Mapping

from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, Plan
from desired.plan.notes import Note, NoteKind
from desired.plan.setbacks import Setbacks
from desired.planner import compute_desired, compute_plan
from desired.routes.actions import RouteDecision
from desired.routes.claims import RouteClaim
from desired.routes.desired import DesiredRoutes
from tests.routes import ROUTING
from tests.support.judging import judge


def routing(snapshot: Snapshot, settings: Settings = ROUTING, *refused: str) -> DesiredRoutes:
    """The routes that should be there, after changes with these keys were refused."""
    return compute_desired(snapshot, settings, Setbacks(frozenset(refused))).routes


def decided(snapshot: Snapshot, settings: Settings = ROUTING) -> Mapping[str, RouteDecision]:
    """Destination → what becomes of the route to it."""
    return {str(destination): found for destination, found in routing(snapshot, settings).decided.items()}


def claimed(snapshot: Snapshot, settings: Settings = ROUTING) -> Mapping[tuple[str, str], RouteClaim]:
    return {(claim.endpoint.node.name, str(claim.destination)): claim for claim in routing(snapshot, settings).claims}


def planned(snapshot: Snapshot, settings: Settings = ROUTING) -> Mapping[str, Change]:
    return compute_plan(snapshot, settings).by_key


def kinds_of(snapshot: Snapshot, settings: Settings = ROUTING) -> Mapping[str, str]:
    """Key → kind of its change."""
    return {key: change.kind for key, change in planned(snapshot, settings).items()}


def judged(snapshot: Snapshot, settings: Settings = ROUTING, approved: Collection[str] = ()) -> Plan:
    return judge(compute_plan(snapshot, settings), snapshot, settings, approved)


def noted(snapshot: Snapshot, settings: Settings = ROUTING) -> Collection[tuple[str, NoteKind, str]]:
    """Every note: key, kind and text."""
    return [_parts(note) for note in compute_plan(snapshot, settings).notes]


def _parts(note: Note) -> tuple[str, NoteKind, str]:
    return note.key, note.kind, note.text
