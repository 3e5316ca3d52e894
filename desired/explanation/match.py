"""Which server a Node was matched to and on what, or which ones come near and why they are not it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from desired.model.snapshot import Node, Server, Snapshot
from desired.nodes.matching import Ambiguous, Foreign, Gone, Malformed, Match, Matched, Miss, Unmatched, Unsupported
from desired.section import Absent, Unknown
from desired.syntax.provider_id import CloudID, parse_provider_id


@dataclass(frozen=True, slots=True)
class Candidate:
    """A server that comes near, and why it is not the Node's."""

    server_id: int
    name: str
    why_not: str


@dataclass(frozen=True, slots=True)
class ServerMatch:
    """The server behind a Node. ``server`` is None exactly when ``why`` says why there is none."""

    by: str
    """What decides: ``providerID`` when the Node has one, else ``name``."""
    provider_id: str | None
    server: Server | None = None
    why: str = ""
    candidates: tuple[Candidate, ...] = ()
    """Nearest first."""


def explain_match(node: Node, match: Match, snapshot: Snapshot, disowned: str | None = None) -> ServerMatch:
    """``match`` for people. ``disowned`` says why nobody asks for the Node's server, if so: then it has none."""
    by = "name" if node.provider_id is None else "providerID"
    if disowned is not None:
        why_not = f"it would be the one, but {disowned}"
        near = (Candidate(match.server.id, match.server.name, why_not),) if isinstance(match, Matched) else ()
        return ServerMatch(by, node.provider_id, None, disowned, near)
    if isinstance(match, Matched):
        return ServerMatch(by, node.provider_id, match.server)
    names = match.candidates if isinstance(match, Unmatched) else (node.name,) if isinstance(match, Gone) else ()
    candidates = tuple(candidate for name in names for candidate in _candidates(name, node, snapshot))
    return ServerMatch(by, node.provider_id, None, _why_none(match, snapshot), candidates)


def _why_none(miss: Miss, snapshot: Snapshot) -> str:
    match miss:
        case Gone(server_id):
            return f"no server of the project has the id {server_id}{_confirmed(server_id, snapshot)}"
        case Unmatched(why) | Ambiguous(why) | Unsupported(why) | Foreign(why) | Malformed(why) | Unknown(why):
            return why
        case _:
            assert_never(miss)


def _confirmed(server_id: int, snapshot: Snapshot) -> str:
    """What a GET by the id has added to the word of the list."""
    match snapshot.confirmations.get(server_id):
        case Absent():
            return ", and asking for it alone says the same"
        case Unknown(why):
            return f"; asking for it alone failed: {why}"
    return ""


def _candidates(name: str, node: Node, snapshot: Snapshot) -> Iterator[Candidate]:
    """The servers of this name: it is not exactly the Node's, or the Node's id is another one's."""
    for server in snapshot.servers:
        if server.name != name:
            continue
        owners = sorted(other.name for other in snapshot.nodes if _claims(other, server.id))
        why = "the Node's providerID has another id" if name == node.name else "its name is not the Node's"
        yield Candidate(
            server.id, name, why + (f", and it is the server of node {', '.join(owners)}" if owners else "")
        )


def _claims(node: Node, server_id: int) -> bool:
    return parse_provider_id(node.provider_id or "") == CloudID(server_id)
