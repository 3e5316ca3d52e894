"""Matching of Nodes to servers, by providerID or by name, and whose a Node is: only what is ours is ever changed.

A Node without a server has a reason and its nearest candidates."""

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Literal

from desired.model.clocks import shown_moment
from desired.model.settings import Settings
from desired.model.snapshot import Node, Readiness, Server, Snapshot
from desired.rules import nodes as rules
from desired.rules.nodes import Stage
from desired.rules.rule import Decided, Plain, Reason, Rule
from desired.section import Absent, Present, Section, grouped
from desired.syntax.bounds import LONGEST_PROVIDER_ID, NO_NAMES, measured_text, named, several, shown_text
from desired.syntax.provider_id import (
    CloudID,
    ForeignID,
    Provider,
    RobotID,
    ServerKey,
    parse_provider_id,
    provider_id_of,
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


_CANDIDATES = 3
_MOST_COMPARISONS = 20_000
"""Number of pairs of names that are compared in searches through all names of a snapshot. Similarity costs twenty
microseconds a pair, and thousands of Nodes may have no match at once."""
_NEIGHBOURS = 16
"""After that, how far to each side of a missed name the search goes, in alphabetical order."""

_OTHER_NAME = (rules.OTHER_NAME, rules.OTHER_NAME_OWNED)
_OTHER_ID = (rules.OTHER_ID, rules.OTHER_ID_OWNED)
_BY_CLUE = (rules.BY_CLUE, rules.BY_CLUE_OWNED)

_EXTERNAL = "start the kubelet with --cloud-provider=external"
_BARE = "the kubelet's --provider-id or an old kubelet, without the prefix hcloud://"
_DISTRIBUTIONS = ("k3s", "rke2")
"""Distributions whose built-in cloud controller sets a providerID on machines of any cloud."""

NearServer = Decided[Server]
"""A server that is a near match; the rule says why it is not the Node's."""


@dataclass(frozen=True, slots=True)
class Matched:
    """The one server behind the Node, and what the two were matched on."""

    server: Server
    by: Literal["providerID", "name"]


@dataclass(frozen=True, slots=True)
class Missed:
    """No server is the Node's, and nothing is done about it."""

    why: Decided[Stage]
    near: tuple[NearServer, ...] = ()
    """Best first."""


@dataclass(frozen=True, slots=True)
class Gone:
    """The Node's providerID names a server that a complete list lacks."""

    server: ServerKey
    near: tuple[NearServer, ...] = ()
    """Other servers with the Node's very name, as when a machine was made anew."""

    @property
    def why(self) -> Reason:
        """That the list lacks it."""
        place = "the project" if self.server.provider is Provider.CLOUD else "the Robot account"
        return rules.SERVER_GONE.because(place=place, server=self.server.name)


Match = Matched | Missed | Gone


@dataclass(frozen=True, slots=True)
class _Likely:
    """The one server with the name or an address of a Node that has none. Nothing is joined by that, as a kubelet
    chooses both."""

    server: Server
    clue: str
    """``name``, ``address 10.0.0.3``."""
    owner: Node | None
    """The silent Node whose providerID names the server."""

    @property
    def facts(self) -> Mapping[str, Plain]:
        """``server 2 prod-w-1 (by address 10.0.0.3)``, with the silent Node; and what makes the server the Node's."""
        server, owner = self.server, self.owner
        said = f"{server.key.name} {server.name}".rstrip() + f" (by {self.clue})"
        if owner is not None:
            said += f", the server of Node {owner.name} (silent since {shown_moment(owner.ready_since)})"
        return {"server": said, "host": server.name, "provider_id": provider_id_of(server.key)}


class Matcher:
    """Matches the Nodes of one snapshot to its servers; holds the indexes that make each look-up constant."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot, robot = snapshot, snapshot.robot
        self._cloud = _Servers(snapshot.servers, "server", "the project")
        self._robot = None if robot is None else _Servers(robot.servers, "Robot server", "the Robot account")
        self._all = [self._cloud, *([] if self._robot is None else [self._robot])]
        self._last_names = frozenset[str]() if robot is None else robot.last_names
        claims = ((server_key(node.provider_id), node) for node in snapshot.nodes)
        # Ignored Nodes claim their servers too: no other Node may become one of these.
        claimed = grouped((key, node.name) for key, node in claims if key is not None)
        self._claimants = {key: several(names) for key, names in claimed.items()}

    def match(self, node: Node) -> Match:
        """The server of ``node``: by providerID when it has one, else by exact name.

        A name decides only in a complete list of servers, where "exactly one" can be said; a providerID decides in any
        list that has its server. A renamed server keeps its Node, as the id is its identity.
        """
        if node.provider_id is None:
            return self._by_node_name(node)
        provider_id = {"provider_id": shown_text(node.provider_id)}
        match parse_provider_id(node.provider_id):
            case CloudID(server_id):
                return self._by_key(node, self._cloud, ServerKey(Provider.CLOUD, server_id))
            case RobotID(number) if self._robot is not None:
                return self._by_key(node, self._robot, ServerKey(Provider.ROBOT, number))
            case RobotID():
                return Missed(Decided(Stage.UNSUPPORTED, rules.NODE_ON_ROBOT, provider_id))
            case ForeignID():
                return self._foreign(node, node.provider_id)
            case malformed:
                shown = measured_text(malformed.text, LONGEST_PROVIDER_ID)
                return Missed(Decided(Stage.MALFORMED, rules.PROVIDER_ID_MALFORMED, {"provider_id": shown}))

    def unclaimed(self, node: Node) -> Missed:
        """The miss of a Node that belongs to no cloud."""
        likely = self._likely(node)
        if likely is None:
            return Missed(Decided(Stage.UNCLAIMED, rules.UNCLAIMED))
        return Missed(Decided(Stage.UNCLAIMED, rules.UNCLAIMED_LIKELY, likely.facts), self._near(likely))

    def _by_key(self, node: Node, servers: "_Servers", key: ServerKey) -> Match:
        rivals = self._claimants.get(key, NO_NAMES).besides(node.name)
        match servers.section.find(key.id):
            case Present() if rivals:
                facts = {"provider_id": shown_text(node.provider_id or ""), "nodes": named("Node", rivals)}
                return Missed(Decided(Stage.AMBIGUOUS, rules.SERVER_OF_TWO_NODES, facts))
            case Present(server):
                return Matched(server, "providerID")
            case Absent():
                namesakes = servers.by_name.get(node.name, ())
                return Gone(key, tuple(self._candidate(each, _OTHER_ID) for each in namesakes))
            case unknown:
                return Missed(Decided(Stage.UNKNOWN, rules.NODE_SERVER_UNKNOWN, {"cause": unknown.why}))

    def _by_node_name(self, node: Node) -> Matched | Missed:
        """A server of either provider. While nothing is known of Robot's, a server of Hetzner Cloud is the one, unless
        Robot had one of that name before: an outage there keeps no other Node from joining here."""
        cloud = self._of_this_name(node, self._cloud)
        if self._robot is None or (isinstance(cloud, Missed) and cloud.why.value is not Stage.UNMATCHED):
            return self._unmatched(node, cloud)
        robot = self._of_this_name(node, self._robot)
        if isinstance(cloud, Missed):
            return self._unmatched(node, robot)
        facts = {"server": cloud.server.key.name, "name": node.name}
        if isinstance(robot, Matched) or robot.why.value is Stage.AMBIGUOUS:
            return Missed(Decided(Stage.AMBIGUOUS, rules.NAME_AT_BOTH_PROVIDERS, facts))
        if robot.why.value is Stage.UNKNOWN and node.name in self._robot.unreadable:
            return robot
        if node.name in self._last_names:
            return Missed(Decided(Stage.UNKNOWN, rules.NAME_WAS_AT_ROBOT, facts))
        return cloud

    def _of_this_name(self, node: Node, servers: "_Servers") -> Matched | Missed:
        """The one server of a provider with the Node's name that is no other Node's."""
        facts = {"servers": f"{servers.word}s", "name": node.name}
        if not servers.section.complete:
            return Missed(Decided(Stage.UNKNOWN, rules.NODE_SERVERS_INCOMPLETE, facts))
        doubtful = servers.unreadable.get(node.name, ()) + servers.unreadable.get(None, ())
        if doubtful:
            facts["servers"] = _named(servers.word, doubtful)
            return Missed(Decided(Stage.UNKNOWN, rules.SERVER_UNREADABLE, facts))
        named = servers.by_name.get(node.name, ())
        if not named:
            return Missed(Decided(Stage.UNMATCHED, rules.NO_SERVER_OF_NAME))
        if len(named) > 1:
            facts["servers"] = _named(servers.word, [server.id for server in named])
            return Missed(Decided(Stage.AMBIGUOUS, rules.NAME_OF_SERVERS, facts))
        server = named[0]
        owners = self._claimants.get(server.key, NO_NAMES)
        if owners:
            facts |= {"server": server.key.name, "node": owners.first[0]}
            return Missed(Decided(Stage.AMBIGUOUS, rules.NAME_OF_OTHERS_SERVER, facts))
        return Matched(server, "name")

    def _unmatched(self, node: Node, found: Matched | Missed) -> Matched | Missed:
        """The same; if nothing has the Node's name, with the servers that come near, or that the Node is likely on."""
        if isinstance(found, Matched) or found.why.value is not Stage.UNMATCHED:
            return found
        place = " or ".join(servers.place for servers in self._all)
        facts: dict[str, Plain] = {"place": place, "name": node.name}
        if not any(servers.section for servers in self._all):
            return Missed(Decided(Stage.UNMATCHED, rules.NO_SERVERS, facts))
        nearest = [name for servers in self._all for name in servers.nearest(node.name)][:_CANDIDATES]
        named = [each for name in nearest for servers in self._all for each in servers.by_name.get(name, ())]
        near = tuple(self._candidate(server, _OTHER_NAME) for server in {each.key: each for each in named}.values())
        likely = self._likely(node)
        if likely is None:
            row = rules.NO_SERVER_NEAR if nearest else rules.NO_SERVER_OF_NAME
            return Missed(Decided(Stage.UNMATCHED, row, {**facts, "nearest": ", ".join(nearest)}), near)
        others = tuple(each for each in near if each.value.key != likely.server.key)
        row = rules.LIKELY_SERVER if likely.owner is None else rules.LIKELY_RENAMED
        return Missed(Decided(Stage.UNMATCHED, row, {**facts, **likely.facts}), (*self._near(likely), *others))

    def _foreign(self, node: Node, provider_id: str) -> Missed:
        """The miss of a providerID that is not Hetzner's, with the way out, if the Node may be on a server."""
        likely, (setter, way) = self._likely(node), _origin_of(provider_id)
        facts: dict[str, Plain] = {"provider_id": shown_text(provider_id), "setter": setter, "way": way}
        facts["kubelet"] = "its kubelet"
        if likely is None:
            return Missed(Decided(Stage.FOREIGN, rules.FOREIGN_SETTER if setter else rules.FOREIGN, facts))
        if likely.server.name != node.name:
            facts["kubelet"] = f"its kubelet with --provider-id={provider_id_of(likely.server.key)}"
        row = rules.FOREIGN_SETTER_LIKELY if setter else rules.FOREIGN_LIKELY
        return Missed(Decided(Stage.FOREIGN, row, {**likely.facts, **facts}), self._near(likely))

    def _likely(self, node: Node) -> _Likely | None:
        """The one server with the name, else with an address, of ``node``; None while a list has a gap, as another
        server could have it too, and if the server is that of a Node whose kubelet reports.

        Private addresses of another cloud's Node say nothing, as many networks are alike. Neither do those in a list
        that a selector has narrowed: a server that is left out may have the same in another network.
        """
        sections = [servers.section for servers in self._all]
        if any(each.why_incomplete or each.unreadable for each in sections):
            return None
        named = (server for servers in self._all for server in servers.by_name.get(node.name, ()))
        found = {server.key: (server, "name") for server in named}
        if not found:
            is_elsewhere = node.provider_id is not None and not _origin_of(node.provider_id)[0]
            is_public = is_elsewhere or any(each.read_by_key is not None for each in sections)
            addresses = [*(node.provided_node_ip or "").split(","), *(each.address for each in node.addresses)]
            having = ((ip, server) for ip in addresses for server in self._by_address.get(ip, ()))
            having = ((ip, server) for ip, server in having if ip == str(server.ipv4) or not is_public)
            found = {server.key: (server, f"address {ip}") for ip, server in having}
        if len(found) != 1:
            return None
        ((key, (server, clue)),) = found.items()
        owners = [self._snapshot.nodes.items[name] for name in self._claimants.get(key, NO_NAMES).first]
        if any(owner.ready is not Readiness.UNKNOWN for owner in owners):
            return None
        return _Likely(server, clue, owners[0] if owners else None)

    @cached_property
    def _by_address(self) -> Mapping[str, tuple[Server, ...]]:
        """IPv4 address → the servers that have it: publicly, or in the Nodes' network if that is known."""
        network = self._snapshot.network.value if isinstance(self._snapshot.network, Present) else None
        servers = [server for each in self._all for server in each.section]
        public = ((str(server.ipv4), server) for server in servers if server.ipv4 is not None)
        private = (
            (str(ip), server)
            for server in servers
            for attached, ip in (*server.private_ips, *server.alias_ips)
            if network is None or network.id == attached
        )
        return grouped((*public, *private))

    def _near(self, likely: _Likely) -> tuple[NearServer, ...]:
        return (self._candidate(likely.server, _BY_CLUE, likely.clue),)

    def _candidate(self, server: Server, rows: tuple[Rule, Rule], clue: str = "") -> NearServer:
        """``rows`` are those for a server that is no Node's, and for one that is."""
        owners = self._claimants.get(server.key, NO_NAMES)
        return Decided(server, rows[bool(owners)], {"clue": clue, "nodes": named("Node", owners)})


def _origin_of(provider_id: str) -> tuple[str, str]:
    """The setter of such a providerID on machines of any cloud, "" for one of another cloud; and the remedy before the
    Node registers anew."""
    distribution = provider_id.partition("://")[0]
    if distribution in _DISTRIBUTIONS:
        setter = f"the built-in cloud controller of {distribution}"
        way = f"start the {distribution} servers with --disable-cloud-controller and every {distribution} with"
        return setter, f"{way} --kubelet-arg=cloud-provider=external"
    return _BARE if provider_id.isdecimal() else "", _EXTERNAL


class _Servers:
    """The servers of one provider, by name."""

    def __init__(self, section: Section[int, Server], word: str, place: str) -> None:
        self.section = section
        self.word, self.place = word, place
        self.by_name = grouped((server.name, server) for server in section if server.name)
        self.unreadable = grouped((section.unreadable_names.get(key), key) for key in section.unreadable)
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


def _named(word: str, ids: Iterable[int]) -> str:
    """``servers 1, 3``."""
    texts = [str(each) for each in sorted(ids)]
    return f"{word}{'s' if len(texts) > 1 else ''} {', '.join(texts)}"
