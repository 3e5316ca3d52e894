"""Evidence that a Node's server is gone. What it lacks for a proof is decided in ``desired.guards.absence``."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from desired.model.snapshot import Node, Readiness
from desired.syntax.provider_id import Provider, ServerKey

FRESH = timedelta(minutes=2)
"""The age up to which a list of Robot servers proves an absence. Robot allows 200 requests an hour, so that none can be
read for each pass while a deletion waits for approval."""


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


def proof_of_absence(node: Node, server: ServerKey) -> AbsenceProof:
    """The evidence about ``node`` as it is."""
    return AbsenceProof(server.id, node.uid, node.created_at, node.ready_since, server.provider)


def is_going_away(node: Node) -> bool:
    """Whether a Node without a server is to be deleted: not while its kubelet reports, nor twice."""
    return node.ready is not Readiness.TRUE and node.deleted_at is None
