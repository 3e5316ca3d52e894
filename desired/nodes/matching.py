"""Matching of Nodes to servers, by providerID or by name, and whose a Node is: only what is ours is ever changed.

A Node without a server has a reason and its nearest candidates."""

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeVar

from desired.model.settings import Settings
from desired.model.snapshot import Node, Server, Snapshot
from desired.section import Absent, Present, Section, Unknown
from desired.syntax.bounds import NOBODY, several, shown_text
from desired.syntax.provider_id import CloudID, ForeignID, RobotID, parse_provider_id


def is_ignored(node: Node, settings: Settings) -> bool:
    """Whether ``--ignore-nodes`` excludes the Node: no change concerns it, no guard counts it."""
    return settings.ignore_nodes is not None and settings.ignore_nodes.matches(node.labels)


def cloud_nodes(snapshot: Snapshot, settings: Settings) -> Iterator[tuple[Node, int]]:
    """Our Nodes of Hetzner Cloud with the ids of their servers, whether or not these exist; in the order of names."""
    for node in snapshot.nodes:
        provider_id = parse_provider_id(node.provider_id or "")
        if isinstance(provider_id, CloudID) and not is_ignored(node, settings):
            yield node, provider_id.server_id


K = TypeVar("K")
V = TypeVar("V")

_CANDIDATES = 3
_MOST_COMPARISONS = 20_000
"""Number of pairs of names that are compared in searches through all names of a snapshot. Similarity costs twenty
microseconds a pair, and thousands of Nodes may have no match at once."""
_NEIGHBOURS = 16
"""After that, how far to each side of a missed name the search goes, in alphabetical order."""


@dataclass(frozen=True, slots=True)
class Matched:
    """The one server behind the Node, and what the two were matched on."""

    server: Server
    by: Literal["providerID", "name"]


@dataclass(frozen=True, slots=True)
class Unmatched:
    """No server is the Node's. ``candidates`` are the nearest names, best first, at most three."""

    why: str
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gone:
    """The Node's providerID names a server that a complete list lacks."""

    server_id: int
    namesake: int | None = None
    """Id of another server with the Node's very name, as when a machine was made anew; None when there is none."""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """More than one match: nothing is done until a person has decided."""

    why: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The Node is Hetzner's, of a kind that this version does not read."""

    why: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """The Node belongs to another cloud."""

    why: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """The Node's providerID has our prefix and names no server. The API server lets nobody correct it in place."""

    why: str


Miss = Unmatched | Gone | Ambiguous | Foreign | Unsupported | Malformed | Unknown
Match = Matched | Miss


class Matcher:
    """Matches the Nodes of one snapshot to its servers; holds the indexes that make each look-up constant."""

    def __init__(self, nodes: Section[str, Node], servers: Section[int, Server]) -> None:
        self._servers = servers
        self._by_name = _grouped((server.name, server) for server in servers)
        self._unreadable = _grouped((servers.unreadable_names.get(key), key) for key in servers.unreadable)
        self._names = sorted(self._by_name)
        self._searches_left = max(1, _MOST_COMPARISONS // (len(self._names) or 1))
        claims = ((parse_provider_id(node.provider_id), node) for node in nodes if node.provider_id)
        # Ignored Nodes claim their servers too: no other Node may become one of these.
        self._claimed = _grouped((claim.server_id, node) for claim, node in claims if isinstance(claim, CloudID))
        self._claimants = {key: several([node.name for node in found]) for key, found in self._claimed.items()}

    def match(self, node: Node) -> Match:
        """The server of ``node``: by providerID when it has one, else by exact name.

        A name decides only in a complete list of servers, where "exactly one" can be said; a providerID decides in any
        list that has its server. A renamed server keeps its Node, as the id is its identity.
        """
        if node.provider_id is None:
            return self._by_node_name(node)
        shown = shown_text(node.provider_id)
        match parse_provider_id(node.provider_id):
            case CloudID(server_id):
                return self._by_server_id(node, server_id, shown)
            case RobotID():
                return Unsupported(f"providerID {shown} is a Robot server, and Robot servers are not read")
            case ForeignID():
                return Foreign(f"providerID {shown} belongs to another cloud")
            case malformed:
                return Malformed(malformed.why)

    def _by_server_id(self, node: Node, server_id: int, shown: str) -> Match:
        rivals = self._claimants.get(server_id, NOBODY).besides(node.name)
        match self._servers.find(server_id):
            case Present() if rivals:
                return Ambiguous(f"providerID {shown} is also that of node {rivals}")
            case Present(server):
                return Matched(server, "providerID")
            case Absent():
                namesakes = self._by_name.get(node.name, ())
                return Gone(server_id, namesakes[0].id if namesakes else None)
            case unknown:
                return unknown

    def _by_node_name(self, node: Node) -> Match:
        if not self._servers.complete:
            return Unknown("the list of servers is incomplete, and a name decides only in a whole list")
        doubtful = self._unreadable.get(node.name, ()) + self._unreadable.get(None, ())
        if doubtful:
            ids = ", ".join(str(server_id) for server_id in sorted(doubtful))
            return Unknown(f"server {ids} could not be read and may be the one")
        named = self._by_name.get(node.name, ())
        if not self._servers:
            return Unmatched("the token's project has no servers at all")
        if not named:
            return Unmatched(f"no server of the project is named {node.name!r}", self._nearest(node.name))
        if len(named) > 1:
            ids = ", ".join(str(server.id) for server in named)
            return Ambiguous(f"servers {ids} are all named {node.name!r}")
        server = named[0]
        owners = self._claimed.get(server.id, ())
        if owners:
            return Ambiguous(f"server {server.id} is named {node.name!r} but is the server of node {owners[0].name}")
        return Matched(server, "name")

    def _nearest(self, name: str) -> tuple[str, ...]:
        """The names that look most like ``name``: a prefix, a domain or a typing error is the usual cause of a miss."""
        host = name.split(".", 1)[0]
        self._searches_left -= 1
        if self._searches_left >= 0:
            near, related = self._names, [n for n in self._names if _are_related(host, n)]
        else:
            place = bisect(self._names, host)
            near, related = self._names[max(0, place - _NEIGHBOURS) : place + _NEIGHBOURS], []
        close = get_close_matches(host, near, n=_CANDIDATES, cutoff=0.6)
        return tuple(dict.fromkeys([*sorted(related, key=len, reverse=True), *close]))[:_CANDIDATES]


def _are_related(host: str, name: str) -> bool:
    """Whether one is the other with a prefix, or with a domain."""
    return name.endswith(host) or host.endswith(name) or name.startswith(f"{host}.")


def _grouped(pairs: Iterable[tuple[K, V]]) -> Mapping[K, tuple[V, ...]]:
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in groups.items()}
