"""Stage of a Node in its life, and the server that it was matched to, or the nearest candidates and why they do not
match."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, assert_never

from desired.explain.fact import becomes, planned
from desired.model.absence import is_going_away
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Node, Server, ServerStatus, Snapshot
from desired.nodes.desired import asked_to_go, is_uninitialized
from desired.nodes.likely import LikelyServers
from desired.nodes.matching import (
    Ambiguous,
    Foreign,
    Gone,
    Malformed,
    Match,
    Matched,
    Miss,
    Unmatched,
    Unsupported,
    is_ignored,
)
from desired.plan.change import Change
from desired.plan.notes import Note, NoteKind
from desired.section import Absent, Unknown
from desired.syntax.provider_id import Provider, ServerKey, server_key


@dataclass(frozen=True, slots=True)
class Candidate:
    """A server that is a near match, and why it is not the Node's."""

    id: int
    name: str
    why_not: str
    provider: Provider = Provider.CLOUD


@dataclass(frozen=True, slots=True)
class ServerFact:
    """One server."""

    id: int
    name: str
    status: ServerStatus
    """Of Robot ``unknown`` while the Node is Ready: then nobody asks."""
    type: str
    location: str
    """"" when the API sent none."""
    provider: Provider = Provider.CLOUD

    @property
    def called(self) -> str:
        """In sentences, ``server 42``."""
        return ServerKey(self.provider, self.id).name


@dataclass(frozen=True, slots=True)
class ServerMatch:
    """The server behind a Node."""

    by: Literal["providerID", "name"]
    """What decides: ``providerID`` when the Node has one, else ``name``."""
    provider_id: str | None
    server: ServerFact | None = None
    why: str | None = None
    """Why there is no server; None when there is one."""
    candidates: tuple[Candidate, ...] = ()
    """Nearest first."""


def explain_match(node: Node, match: Match, snapshot: Snapshot, disowned: str | None = None) -> ServerMatch:
    """Explain ``match``. ``disowned`` says why the Node's server is not looked up, if so: then it has none."""
    by: Literal["providerID", "name"] = "name" if node.provider_id is None else "providerID"
    if disowned is not None:
        why_not = f"it would be the one, but {disowned}"
        near = (
            (_candidate(match.server, why_not),)
            if isinstance(match, Matched)
            else tuple(_likely(match, node, snapshot))
        )
        return ServerMatch(by, node.provider_id, None, disowned, near)
    if isinstance(match, Matched):
        server = match.server
        fact = ServerFact(server.id, server.name, server.status, server.type, server.location, server.provider)
        return ServerMatch(by, node.provider_id, fact)
    names = match.candidates if isinstance(match, Unmatched) else (node.name,) if isinstance(match, Gone) else ()
    near = tuple(_likely(match, node, snapshot))
    told = {(each.provider, each.id) for each in near}
    named = (candidate for name in names for candidate in _candidates(name, node, snapshot))
    others = tuple(each for each in named if (each.provider, each.id) not in told)
    return ServerMatch(by, node.provider_id, None, _why_none(match, snapshot), (*near, *others))


def _likely(match: Miss, node: Node, snapshot: Snapshot) -> Iterator[Candidate]:
    """The servers that have a name or an address of the Node: nothing is joined by that."""
    found = match.likely if isinstance(match, Unmatched | Foreign) else None
    for server, (clue, _) in zip(found.servers, found.clues, strict=True) if found else ():
        owners = sorted(other.name for other in snapshot.nodes if server_key(other.provider_id) == server.key)
        whose = f", and it is the server of node {', '.join(owners)}" if owners else ""
        why = "the Node's providerID is not Hetzner's" if node.provider_id else "its name is not the Node's"
        yield _candidate(server, f"{why}{whose}; {clue}")


def _why_none(miss: Miss, snapshot: Snapshot) -> str:
    match miss:
        case Gone(server):
            return f"{server.is_missing}{_confirmed(server, snapshot)}"
        case Unmatched(why, likely=LikelyServers() as likely):
            return f"{why}; {likely.said}"
        case Unmatched(why) | Ambiguous(why) | Unsupported(why) | Foreign(why) | Malformed(why) | Unknown(why):
            return why
        case _:
            assert_never(miss)


def _confirmed(server: ServerKey, snapshot: Snapshot) -> str:
    """Text: the result of a GET by the id, beside the list."""
    match snapshot.confirmation(server):
        case Absent():
            return ", and asking for it alone says the same"
        case Unknown(why):
            return f"; asking for it alone failed: {why}"
    return ""


def _candidates(name: str, node: Node, snapshot: Snapshot) -> Iterator[Candidate]:
    """The servers of this name: it is not exactly the Node's, or the Node's id is another one's."""
    for server in (*snapshot.servers, *(snapshot.robot.servers if snapshot.robot else ())):
        if server.name != name:
            continue
        owners = sorted(other.name for other in snapshot.nodes if server_key(other.provider_id) == server.key)
        why = "the Node's providerID has another id" if name == node.name else "its name is not the Node's"
        yield _candidate(server, why + (f", and it is the server of node {', '.join(owners)}" if owners else ""))


def _candidate(server: Server, why_not: str) -> Candidate:
    return Candidate(server.id, server.name, why_not, server.provider)


class Stage(StrEnum):
    """A stage of a Node's life, as this product sees it."""

    JOINING = "joining"
    """It has registered, and waits to be initialized from its server."""
    SETTLED = "settled"
    """It is initialized, and kept in sync with its server."""
    DEPARTING = "departing"
    """Its server is gone, and its kubelet does not report."""
    DELETING = "deleting"
    """Its deletion was asked for, and it is still there."""
    UNMATCHED = "unmatched"
    """It has no server."""
    AMBIGUOUS = "ambiguous"
    """More than one Node claims its server, or more than one server its name."""
    MALFORMED = "malformed"
    """Its providerID has our prefix and names no server."""
    UNSUPPORTED = "unsupported"
    """It is Hetzner's, of a kind that this version does not read."""
    UNKNOWN = "unknown"
    """Too little could be read to tell which server it is."""
    FOREIGN = "foreign"
    """It is another cloud's."""
    IGNORED = "ignored"
    """The operator has excluded it from everything."""
    UNCLAIMED = "unclaimed"
    """It belongs to no cloud."""


_OF_A_MISS: Mapping[type[Match], Stage] = {
    Unmatched: Stage.UNMATCHED,
    Ambiguous: Stage.AMBIGUOUS,
    Malformed: Stage.MALFORMED,
    Unsupported: Stage.UNSUPPORTED,
    Unknown: Stage.UNKNOWN,
}
_NOTES: Mapping[Stage, tuple[NoteKind, ...]] = {
    Stage.UNMATCHED: (NoteKind.UNMATCHED,),
    Stage.AMBIGUOUS: (NoteKind.AMBIGUOUS,),
    Stage.MALFORMED: (NoteKind.MALFORMED,),
    Stage.UNSUPPORTED: (NoteKind.UNSUPPORTED,),
    Stage.UNKNOWN: (NoteKind.UNKNOWN,),
    Stage.FOREIGN: (NoteKind.FOREIGN, NoteKind.LIKELY_SERVER),
    Stage.IGNORED: (NoteKind.IGNORED,),
    Stage.UNCLAIMED: (NoteKind.FOREIGN, NoteKind.LIKELY_SERVER),
}
"""Stage → the kinds of notes that say why, where the plan has one."""
_LEFT: Mapping[Stage, str] = {
    Stage.JOINING: "the Node is not initialized yet",
    Stage.DEPARTING: "the Node has lost its server",
    Stage.DELETING: "the Node is being deleted",
    Stage.UNMATCHED: "the Node has no server",
    Stage.AMBIGUOUS: "it is not clear which server is the Node's",
    Stage.MALFORMED: "the Node's providerID names no server",
    Stage.UNSUPPORTED: "the Node's server is not read",
    Stage.UNKNOWN: "the Node's server is not known",
    Stage.FOREIGN: "the Node is another cloud's",
    Stage.IGNORED: "the Node is ignored",
    Stage.UNCLAIMED: "the Node asks for no cloud controller",
}

_OURS = frozenset({Stage.JOINING, Stage.SETTLED, Stage.DEPARTING, Stage.DELETING})
"""Stages in which something is wanted of the Node."""


def stage_of(node: Node, match: Match, settings: Settings) -> Stage:
    """The Node's stage: whose it is comes first, then whether it goes, then what it has or waits for."""
    if is_ignored(node, settings):
        return Stage.IGNORED
    if node.provider_id is None and not is_uninitialized(node):
        return Stage.UNCLAIMED
    if node.deleted_at is not None and not isinstance(match, Foreign):
        return Stage.DELETING
    match match:
        case Foreign():
            return Stage.FOREIGN
        case Matched():
            return Stage.JOINING if is_uninitialized(node) else Stage.SETTLED
        case Gone():
            return Stage.DEPARTING if is_going_away(node) else Stage.UNMATCHED
    return _OF_A_MISS[type(match)]


def why_left(stage: Stage, controller: Controller, settings: Settings) -> str:
    """The reason why nothing is written that ``controller`` would write; "" when the Node's stage is no reason."""
    if stage in _OURS and controller not in settings.controllers:
        return f"--controllers leaves {controller} out"
    return _LEFT.get(stage, "")


def why_in(
    stage: Stage,
    node: Node,
    match: ServerMatch,
    changes: Collection[Change],
    notes: Collection[Note],
    settings: Settings,
) -> str:
    """One sentence on why the Node is in its stage and what comes next. ``notes`` are those on this Node."""
    said = {note.kind: note.text for note in notes}
    server = match.server.called if match.server else ""
    match stage:
        case Stage.JOINING:
            doubts = (NoteKind.UNUSABLE_NODE_IP, NoteKind.AMBIGUOUS, NoteKind.UNKNOWN)
            doubt = next((said[kind] for kind in doubts if kind in said), None)
            left = doubt or why_left(stage, Controller.NODE, settings)
            return f"waits to be initialized as {server}; {becomes(changes, 'the next pass does it', 'that') or left}"
        case Stage.SETTLED:
            return f"is {server}; {planned(changes)}"
        case Stage.DEPARTING:
            deletion = becomes(changes, "the next pass deletes the Node", "the Node's deletion")
            return f"{match.why}; {deletion or why_left(stage, Controller.LIFECYCLE, settings)}"
        case Stage.DELETING:
            return said.get(NoteKind.DELETING) or asked_to_go(node)
    return next((said[kind] for kind in _NOTES[stage] if kind in said), None) or match.why or ""
