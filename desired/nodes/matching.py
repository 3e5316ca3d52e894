"""Matching of Nodes to servers, by providerID or by name, and whose a Node is: only what is ours is ever changed.

A Node without a server has a reason and its nearest candidates."""

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal, TypeVar

from desired.model.settings import Settings
from desired.model.snapshot import ROBOT_NOT_READ, Node, RobotAccount, Server, Snapshot
from desired.nodes.likely import LikelyServers, ServerFinder, why_foreign
from desired.section import Absent, Present, Section, Unknown
from desired.syntax.bounds import NOBODY, several, shown_text
from desired.syntax.provider_id import (
    CloudID,
    ForeignID,
    Provider,
    RobotID,
    ServerKey,
    parse_provider_id,
    server_key,
)


def is_ignored(node: Node, settings: Settings) -> bool:
    """Whether ``--ignore-nodes`` excludes the Node: no change concerns it, no guard counts it."""
    return settings.ignore_nodes is not None and settings.ignore_nodes.matches(node.labels)


def nodes_of(provider: Provider, snapshot: Snapshot, settings: Settings) -> Iterator[tuple[Node, ServerKey]]:
    """Our Nodes of a provider with the keys of their servers, whether or not these exist; in the order of names."""
    for node in snapshot.nodes:
        key = server_key(node.provider_id)
        if key is not None and key.provider is provider and not is_ignored(node, settings):
            yield node, key


def cloud_nodes(snapshot: Snapshot, settings: Settings) -> Iterator[tuple[Node, int]]:
    """Our Nodes of Hetzner Cloud with the ids of their servers, whether or not these exist; in the order of names."""
    return ((node, key.id) for node, key in nodes_of(Provider.CLOUD, snapshot, settings))


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
    likely: LikelyServers | None = None
    """The servers that have an address of the Node; None when none has."""


@dataclass(frozen=True, slots=True)
class Gone:
    """The Node's providerID names a server that a complete list lacks."""

    server: ServerKey
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
    """The Node's providerID is not Hetzner's."""

    why: str
    way_out: str = ""
    """How the Node is managed from here; "" where it is another cloud's and no server has anything of it."""
    likely: LikelyServers | None = None
    """The servers that the Node is likely on; None when none is."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """The Node's providerID has our prefix and names no server. The API server lets nobody correct it in place."""

    why: str


Miss = Unmatched | Gone | Ambiguous | Foreign | Unsupported | Malformed | Unknown
Match = Matched | Miss


class Matcher:
    """Matches the Nodes of one snapshot to its servers; holds the indexes that make each look-up constant."""

    def __init__(
        self,
        nodes: Section[str, Node],
        servers: Section[int, Server],
        robot: RobotAccount | None = None,
        network_id: int | None = None,
    ) -> None:
        """``robot`` is None where Robot servers are not read, ``network_id`` where the Nodes' network is not known."""
        self._cloud = _Servers(servers, "server", "the token's project")
        self._robot = None if robot is None else _Servers(robot.servers, "Robot server", "the Robot account")
        self._last_names = frozenset[str]() if robot is None else robot.last_names
        self._finder = ServerFinder(nodes, (servers, *(() if robot is None else (robot.servers,))), network_id)
        claims = ((server_key(node.provider_id), node) for node in nodes)
        # Ignored Nodes claim their servers too: no other Node may become one of these.
        self._claimed = _grouped((key, node) for key, node in claims if key is not None)
        self._claimants = {key: several([node.name for node in found]) for key, found in self._claimed.items()}

    def match(self, node: Node) -> Match:
        """The server of ``node``: by providerID when it has one, else by exact name.

        A name decides only in a complete list of servers, where "exactly one" can be said; a providerID decides in any
        list that has its server. A renamed server keeps its Node, as the id is its identity.
        """
        if node.provider_id is None:
            found = self._by_node_name(node)
            return replace(found, likely=self.likely(node)) if isinstance(found, Unmatched) else found
        shown = shown_text(node.provider_id)
        match parse_provider_id(node.provider_id):
            case CloudID(server_id):
                return self._by_key(node, self._cloud, ServerKey(Provider.CLOUD, server_id), shown)
            case RobotID(number) if self._robot is not None:
                return self._by_key(node, self._robot, ServerKey(Provider.ROBOT, number), shown)
            case RobotID():
                return Unsupported(f"providerID {shown} is a Robot server, and {ROBOT_NOT_READ}")
            case ForeignID():
                likely = self._finder.likely(node)
                return Foreign(*why_foreign(node.provider_id, likely), likely or None)
            case malformed:
                return Malformed(malformed.why)

    def likely(self, node: Node) -> LikelyServers | None:
        """The servers that a Node without one is likely on; None when none is."""
        return self._finder.likely(node) or None

    def _by_key(self, node: Node, servers: "_Servers", key: ServerKey, shown: str) -> Match:
        rivals = self._claimants.get(key, NOBODY).besides(node.name)
        match servers.section.find(key.id):
            case Present() if rivals:
                return Ambiguous(f"providerID {shown} is also that of node {rivals}")
            case Present(server):
                return Matched(server, "providerID")
            case Absent():
                namesakes = servers.by_name.get(node.name, ())
                return Gone(key, namesakes[0].id if namesakes else None)
            case unknown:
                return unknown

    def _by_node_name(self, node: Node) -> Match:
        """A server of either provider. While nothing is known of Robot's, a server of Hetzner Cloud is the one, unless
        Robot had one of that name before: an outage there keeps nobody else from joining here."""
        cloud = self._of_this_name(node, self._cloud)
        if self._robot is None or isinstance(cloud, Ambiguous | Unknown):
            return cloud
        robot = self._of_this_name(node, self._robot)
        match cloud, robot:
            case Matched(server), Matched() | Ambiguous():
                both = f"{server.key.name} of Hetzner Cloud and a Robot server are both named {node.name!r}"
                return Ambiguous(both)
            case Matched(), Unknown() if node.name in self._robot.unreadable:
                return robot
            case Matched(server), _ if node.name in self._last_names:
                had = f"{server.key.name} is named {node.name!r}, and so was a Robot server when these were last read"
                return Unknown(f"{had}; now the list is incomplete")
            case Matched(), _:
                return cloud
            case Unmatched(why, near), Unmatched(_, related):
                return Unmatched(f"{why}, nor of the Robot account", (*near, *related)[:_CANDIDATES])
        return robot

    def _of_this_name(self, node: Node, servers: "_Servers") -> Matched | Unmatched | Ambiguous | Unknown:
        """The one server of a provider with the Node's name that is no other Node's."""
        if not servers.section.complete:
            return Unknown(f"the list of {servers.word}s is incomplete, and a name decides only in a whole list")
        doubtful = servers.unreadable.get(node.name, ()) + servers.unreadable.get(None, ())
        if doubtful:
            ids = ", ".join(str(server_id) for server_id in sorted(doubtful))
            return Unknown(f"{servers.word} {ids} could not be read and may be the one")
        named = servers.by_name.get(node.name, ())
        if not servers.section:
            return Unmatched(f"{servers.place} has no servers at all")
        if not named:
            return Unmatched(f"no server of the project is named {node.name!r}", servers.nearest(node.name))
        if len(named) > 1:
            ids = ", ".join(str(server.id) for server in named)
            return Ambiguous(f"{servers.word}s {ids} are all named {node.name!r}")
        server = named[0]
        owners = self._claimed.get(server.key, ())
        if owners:
            return Ambiguous(f"{server.key.name} is named {node.name!r} but is the server of node {owners[0].name}")
        return Matched(server, "name")


def matcher_of(snapshot: Snapshot) -> Matcher:
    """The matcher over everything that was read."""
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    return Matcher(snapshot.nodes, snapshot.servers, snapshot.robot, network.id if network else None)


class _Servers:
    """The servers of one provider, by name."""

    def __init__(self, section: Section[int, Server], word: str, place: str) -> None:
        self.section = section
        self.word, self.place = word, place
        self.by_name = _grouped((server.name, server) for server in section if server.name)
        self.unreadable = _grouped((section.unreadable_names.get(key), key) for key in section.unreadable)
        self._names = sorted(self.by_name)
        self._searches_left = max(1, _MOST_COMPARISONS // (len(self._names) or 1))

    def nearest(self, name: str) -> tuple[str, ...]:
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
