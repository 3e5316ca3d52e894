"""When a server counts as gone: the proof that the deletion of a Node hangs on (design section 6, ``absence-proof``).

A list that lacks a server is not enough: pages shift while others delete, caches lag, and a Node may be younger than
what the list knows (nodes-and-routes W-1 to W-4).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from desired.announced import is_announced
from desired.ownership import cloud_nodes
from desired.section import Absent, Unknown
from desired.settings import Controller, Settings, Waits
from desired.snapshot import Node, Readiness, Snapshot

_NEXT_QUESTION_S = 5.0
"""A pass for ten questions is no reason to read both clouds more often than every five seconds (design section 11)."""


@dataclass(frozen=True, slots=True)
class AbsenceProof:
    """What is known of a Node whose server a complete list lacks. Compared by value: another Node under the same name,
    or one that was Ready in between, is another proof."""

    server_id: int
    node_uid: str
    created_at: datetime
    not_ready_since: datetime


@dataclass(frozen=True, slots=True)
class Doubt:
    """What a proof lacks, in one sentence, and the seconds until time alone has mended that; None when more is missing
    than time."""

    why: str
    due_in_s: float | None


def proof_of_absence(node: Node, server_id: int) -> AbsenceProof:
    """What is known of ``node`` as it stands."""
    return AbsenceProof(server_id, node.uid, node.created_at, node.ready_since)


def doubt_about(proof: AbsenceProof, snapshot: Snapshot, waits: Waits) -> Doubt | None:
    """What keeps ``proof`` from being whole; None when nothing does.

    A GET by id that was not made yet is due soon: only ten are made a pass.
    """
    wait = _wait_for(proof, snapshot.taken_at, waits)
    asked = snapshot.confirmations.get(proof.server_id)
    if isinstance(asked, Unknown):
        return Doubt(f"the list of servers lacks {proof.server_id}, and asking for it alone failed: {asked.why}", None)
    if wait is not None:
        return wait
    if asked is None:
        return Doubt(f"server {proof.server_id} has not been asked for by its id yet", _NEXT_QUESTION_S)
    return None


def servers_to_confirm(snapshot: Snapshot, settings: Settings) -> tuple[int, ...]:
    """Ids of servers to ask for one by one: those on whose absence alone the deletion of a Node hangs.

    Those that ``--only`` names come first, then those that were announced, as these may go without a person's word;
    among them the ones that were the first to stop being Ready.
    """
    if Controller.LIFECYCLE not in settings.controllers:
        return ()
    only, given_up_after = settings.only, settings.waits.given_up_after
    wanted = (
        (
            node.key not in only,
            not is_announced(node, snapshot, given_up_after),
            node.ready_since,
            server_id,
        )
        for node, server_id in cloud_nodes(snapshot, settings)
        if is_departing(node)
        and isinstance(snapshot.servers.find(server_id), Absent)
        and _wait_for(proof_of_absence(node, server_id), snapshot.taken_at, settings.waits) is None
    )
    return tuple(dict.fromkeys(server_id for *_, server_id in sorted(wanted)))


def is_departing(node: Node) -> bool:
    """Whether a Node without a server is to be deleted: not while its kubelet reports, nor twice."""
    return node.ready is not Readiness.TRUE and node.deleted_at is None


def _wait_for(proof: AbsenceProof, now: datetime, waits: Waits) -> Doubt | None:
    """The one of the two waits that takes longer; None when both are over. What is said to begin later begins now."""
    clocks = (
        (
            waits.not_ready_for - max(timedelta(0), now - proof.not_ready_since),
            f"not Ready for {_seconds(waits.not_ready_for)}",
        ),
        (waits.age - max(timedelta(0), now - proof.created_at), f"older than {_seconds(waits.age)}"),
    )
    left, what = max(clocks)
    return Doubt(f"the Node has to be {what}", left.total_seconds()) if left > timedelta(0) else None


def _seconds(wait: timedelta) -> str:
    return f"{wait.total_seconds():g} s"
