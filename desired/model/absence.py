"""Proof of absence of a server, which each removal because of it needs (guard ``absence-proof``).

A list that lacks a server is not enough, whether a Node, a target or a route is to go with it: pages shift while others
delete, and a Node may be younger than what the list knows. Which servers a change presumes gone is decided in
``desired.guards.absence_proof``.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from desired.model.settings import Waits
from desired.model.snapshot import Node, Readiness, Snapshot
from desired.section import Present, Unknown
from desired.syntax.provider_id import Provider, ServerKey

FRESH = timedelta(minutes=2)
"""The age up to which a list of Robot servers proves an absence. Robot allows 200 requests an hour, so that none can be
read for each pass while a deletion waits for approval."""
_NEXT_QUESTION_S = 5.0
"""The next ten questions are no reason for a pass more often than every five seconds."""


@dataclass(frozen=True, slots=True)
class AbsenceProof:
    """Evidence about a Node whose server a complete list lacks. Compared by value: another Node under the same name, or
    one that was Ready in between, is another proof."""

    server_id: int
    node_uid: str
    created_at: datetime
    not_ready_since: datetime
    provider: Provider = Provider.CLOUD

    @property
    def server(self) -> ServerKey:
        """The server that is to be gone."""
        return ServerKey(self.provider, self.server_id)


@dataclass(frozen=True, slots=True)
class Doubt:
    """What a proof lacks, in one sentence, and the seconds until time alone has fixed that; None when more is missing
    than time."""

    why: str
    due_in_s: float | None


def proof_of_absence(node: Node, server: ServerKey) -> AbsenceProof:
    """The evidence about ``node`` as it is."""
    return AbsenceProof(server.id, node.uid, node.created_at, node.ready_since, server.provider)


def doubt_about_server(server: ServerKey, snapshot: Snapshot) -> Doubt | None:
    """What keeps a server from being proven gone; None when nothing does: a complete list lacks it, and a GET by its id
    was answered with ``not_found``. The same for whatever goes with it. Of Robot the list has to be FRESH: it is kept
    for minutes, in which a server may have come.

    A GET by id that was not made yet is due soon: only ten are made at a time.
    """
    match snapshot.find(server):
        case Present():
            return Doubt(f"{server.name} is there", None)
        case Unknown(why):
            return Doubt(f"it is not known whether {server.name} is there: {why}", None)
    asked = snapshot.confirmation(server)
    if isinstance(asked, Unknown):
        return Doubt(f"the list of servers lacks {server.id}, and asking for it alone failed: {asked.why}", None)
    if asked is None:
        return Doubt(f"{server.name} has not been asked for by its id yet", _NEXT_QUESTION_S)
    if server.provider is Provider.ROBOT and snapshot.robot is not None and snapshot.robot.age > FRESH:
        return Doubt(f"the list of Robot servers that lacks {server.id} is too old for that", _NEXT_QUESTION_S)
    return None


def doubt_about(proof: AbsenceProof, snapshot: Snapshot, waits: Waits) -> Doubt | None:
    """What is missing for ``proof``; None when nothing is: the server is gone, and its Node has been silent, and is
    old, enough."""
    wait = wait_for(proof, snapshot.taken_at, waits)
    failed = isinstance(snapshot.confirmation(proof.server), Unknown)
    return doubt_about_server(proof.server, snapshot) if wait is None or failed else wait


def is_going_away(node: Node) -> bool:
    """Whether a Node without a server is to be deleted: not while its kubelet reports, nor twice."""
    return node.ready is not Readiness.TRUE and node.deleted_at is None


def wait_for(proof: AbsenceProof, now: datetime, waits: Waits) -> Doubt | None:
    """The one of a Node's two waits that takes longer; None when both are over. What is said to begin later is waited
    for first."""
    clocks = (
        (waits.not_ready_for - (now - proof.not_ready_since), f"not Ready for {_seconds(waits.not_ready_for)}"),
        (waits.age - (now - proof.created_at), f"older than {_seconds(waits.age)}"),
    )
    left, what = max(clocks)
    return Doubt(f"the Node has to be {what}", left.total_seconds()) if left > timedelta(0) else None


def _seconds(wait: timedelta) -> str:
    return f"{wait.total_seconds():g} s"
