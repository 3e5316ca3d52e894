"""Evidence: facts without which a change would be wrong. The change states them, and guards judge them.

| Evidence | Judged by |
|---|---|
| ``Identified``, ``NetworkRead``, ``WholeList`` | ``incomplete-snapshot`` |
| ``Age`` | ``absence-proof``, ``clock-skew`` |
| ``ServerGone``, ``AddressFree`` | ``absence-proof`` |
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address

from desired.model.snapshot import Node
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

    @classmethod
    def of(cls, node: Node, server: ServerKey) -> "AbsenceProof":
        """The proof that ``node`` as it is gives for this server."""
        return cls(server.id, node.uid, node.created_at, node.ready_since, server.provider)

    @property
    def server(self) -> ServerKey:
        """The server that is to be gone."""
        return ServerKey(self.provider, self.server_id)


@dataclass(frozen=True, slots=True)
class Identified:
    """The UID of the cluster was read."""


@dataclass(frozen=True, slots=True)
class NetworkRead:
    """The network of the settings was read, or they name none."""


@dataclass(frozen=True, slots=True)
class WholeList:
    """This section of the snapshot is complete."""

    section: str
    if_read: bool = False
    """Whether a section that was not read at all will do."""
    each: bool = False
    """Whether each object in it has to be readable as well."""


@dataclass(frozen=True, slots=True)
class Age:
    """A Node is old enough by Kubernetes' clock."""

    proof: AbsenceProof
    """Its age, and how long it is not Ready."""


@dataclass(frozen=True, slots=True)
class AddressFree:
    """No server that is listed has the address."""

    address: IPv4Address


@dataclass(frozen=True, slots=True)
class ServerGone:
    """The server is gone: a complete list lacks it, and a GET by its id finds none."""

    server: ServerKey


Evidence = Identified | NetworkRead | WholeList | Age | AddressFree | ServerGone
