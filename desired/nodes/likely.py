"""Servers that a Node without one is likely on, by its name, its addresses or the number in its providerID; and what
sets the providerIDs that are not Hetzner's.

Nothing is joined by that, as a kubelet chooses its name and reports the addresses that it likes. People are told what
fits, on the Node and on a silent one whose server it is, and the way out.
"""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from itertools import chain
from types import MappingProxyType

from desired.model.clocks import shown_moment
from desired.model.snapshot import AddressType, Node, Readiness, Server
from desired.rules import nodes as rules
from desired.rules.rule import Decided
from desired.section import Section
from desired.syntax.address import parse_ip
from desired.syntax.bounds import LONGEST_ADDRESSES
from desired.syntax.provider_id import Provider, ServerKey, provider_id_of, server_key

_NUMBER = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
_PREFIX = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,39}):", re.ASCII)
_SERVERS = 3
"""Servers that a sentence names."""
_REPORTED = (AddressType.INTERNAL_IP, AddressType.EXTERNAL_IP)
_ADDRESSES = 16
"""Addresses of a Node that are looked up: a kubelet may report thousands."""


@dataclass(frozen=True, slots=True)
class ProviderIDOrigin:
    """What sets providerIDs of one form."""

    setter: str
    """To go on after ``was set by``."""
    way: str
    """What has to be done before the Node registers anew."""


EXTERNAL = "start the kubelet with --cloud-provider=external"
_ORIGINS: Mapping[str, ProviderIDOrigin] = MappingProxyType(
    {
        "k3s": ProviderIDOrigin(
            "the built-in cloud controller of k3s",
            "start the k3s servers with --disable-cloud-controller and every k3s with"
            " --kubelet-arg=cloud-provider=external",
        ),
        "rke2": ProviderIDOrigin(
            "the built-in cloud controller of rke2",
            "start the rke2 servers with --disable-cloud-controller and every rke2 with"
            " --kubelet-arg=cloud-provider=external",
        ),
        "k0s-cloud-provider": ProviderIDOrigin(
            "the built-in cloud provider of k0s",
            "start the k0s controllers without --enable-k0s-cloud-provider, and the workers with"
            " --enable-cloud-provider",
        ),
        "talos": ProviderIDOrigin(
            "the cloud controller of Talos",
            "uninstall it, and set cloud-provider: external in the extraArgs of machine.kubelet",
        ),
        "kind": ProviderIDOrigin("kind", EXTERNAL),
    }
)
"""Prefix → origin: distributions that set one on whatever machine."""
_BARE = ProviderIDOrigin("the kubelet's --provider-id or an old kubelet, without the prefix hcloud://", EXTERNAL)


def origin_of(provider_id: str) -> ProviderIDOrigin | None:
    """What sets such a providerID on machines of any cloud; None for one of another cloud."""
    if _NUMBER.fullmatch(provider_id):
        return _BARE
    found = _PREFIX.match(provider_id)
    return _ORIGINS.get(found[1].lower()) if found else None


@dataclass(frozen=True, slots=True)
class LikelyServers:
    """The servers that a Node is likely on; at most one of them is right."""

    node: str
    """Name of the Node."""
    clues: Mapping[ServerKey, tuple[Server, str]]
    """Server → what of the Node fits it: ``name``, ``--node-ip 10.0.0.3``."""
    is_all: bool = True
    """Whether no other server can fit; not where a selector has narrowed the list."""
    owner: Node | None = None
    """The Node of the only server; None where there are several or may be, or it has none."""

    def __str__(self) -> str:
        """``server 2 prod-w-1 (by --node-ip 10.0.0.3)``; the first few of many."""
        shown = [f"{called(server)} (by {clue})" for server, clue in self.clues.values()]
        more = f" and {len(shown) - _SERVERS} more" if len(shown) > _SERVERS else ""
        return ", ".join(shown[:_SERVERS]) + more

    @property
    def only(self) -> Server | None:
        """The server, where it is known that one alone fits."""
        return next(iter(self.clues.values()))[0] if self.is_all and len(self.clues) == 1 else None

    @property
    def for_owner(self) -> Decided[Node] | None:
        """What is told on the silent Node whose server this is; None where there is none, or its kubelet reports."""
        if self.owner is None or self.owner.ready is not Readiness.UNKNOWN:
            return None
        ((server, clue),) = self.clues.values()
        facts = {"node": self.node, "clue": clue, "server": called(server), "heard": heard(self.owner)}
        return Decided(self.owner, rules.SERVER_LIKELY_OF_OTHER, {**facts, "provider_id": provider_id_of(server.key)})


def called(server: Server) -> str:
    """``server 2 prod-w-1``."""
    return f"{server.key.name} {server.name}".rstrip()


def heard(node: Node) -> str:
    """``silent since 2026-11-25 03:40 UTC``."""
    if node.ready is Readiness.TRUE:
        return "Ready"
    said = "silent" if node.ready is Readiness.UNKNOWN else "not Ready"
    return f"{said} since {shown_moment(node.ready_since)}"


class ServerFinder:
    """Finds the likely servers of Nodes; its indexes are made when they are first needed."""

    def __init__(
        self, nodes: Section[str, Node], lists: Iterable[Section[int, Server]], network_id: int | None = None
    ) -> None:
        """``network_id`` is the Nodes' network: the same private address in another one says nothing. None where it is
        not known."""
        self._nodes = nodes
        self._lists = tuple(lists)
        self._network_id = network_id
        self._is_narrowed = any(each.read_by_key is not None for each in self._lists)

    def likely(self, node: Node) -> LikelyServers | None:
        """The servers that ``node``, which has none, is likely on. None when nothing fits, and while a list has a gap:
        another server could fit as well.

        The addresses of another cloud's private networks say nothing, as many have the same. In a list that a selector
        has narrowed, no address does, as a server that is left out may have the same in another network: only names and
        ids are looked up there, unique in a project as they are (Hetzner Cloud API), and none is known to fit alone.
        """
        if any(each.why_incomplete or each.unreadable for each in self._lists):
            return None
        is_elsewhere = node.provider_id is not None and origin_of(node.provider_id) is None
        clues: dict[ServerKey, tuple[Server, str]] = {}
        for server, clue in self._clues(node, is_elsewhere=is_elsewhere):
            clues.setdefault(server.key, (server, clue))
        owner = self._owners.get(next(iter(clues))) if len(clues) == 1 and not self._is_narrowed else None
        return LikelyServers(node.name, clues, not self._is_narrowed, owner) if clues else None

    def _clues(self, node: Node, *, is_elsewhere: bool) -> Iterator[tuple[Server, str]]:
        """Servers, and what of the Node fits each."""
        yield from ((server, "name") for server in self._by_clue.get(node.name, ()))
        if node.provider_id and _NUMBER.fullmatch(node.provider_id):
            by_id = self._by_clue.get(ServerKey(Provider.CLOUD, int(node.provider_id)), ())
            yield from ((server, "the id in its providerID") for server in by_id)
        if self._is_narrowed:
            return
        for what, ip in _addresses(node):
            if ip.is_global or not is_elsewhere:
                place = ip if isinstance(ip, IPv4Address) else IPv6Network((ip, 64), strict=False)
                yield from ((server, f"{what} {ip}") for server in self._by_clue.get(place, ()))

    @cached_property
    def _by_clue(self) -> Mapping[Hashable, list[Server]]:
        """Key, name, address or IPv6 network → the servers that have it."""
        found: dict[Hashable, list[Server]] = defaultdict(list)
        for server in chain.from_iterable(self._lists):
            attached = (*server.private_ips, *server.alias_ips)
            private = (ip for network, ip in attached if self._network_id in (None, network))
            for clue in (server.key, server.name, server.ipv4, server.ipv6, *private):
                if clue not in (None, ""):
                    found[clue].append(server)
        return found

    @cached_property
    def _owners(self) -> Mapping[ServerKey, Node]:
        """Server → the first Node whose providerID names it."""
        owners: dict[ServerKey, Node] = {}
        for node in self._nodes:
            key = server_key(node.provider_id)
            if key is not None:
                owners.setdefault(key, node)
        return owners


def _addresses(node: Node) -> Iterator[tuple[str, IPv4Address | IPv6Address]]:
    """The addresses of a Node and what each is called: those that its kubelet was given, then what it reports."""
    text = node.provided_node_ip or ""
    parts = [] if LONGEST_ADDRESSES.is_exceeded(text) else text.split(",")[:_ADDRESSES]
    given = [ip for ip in map(parse_ip, parts) if ip is not None]
    for ip in given:
        yield "--node-ip", ip
    for address in node.addresses[:_ADDRESSES]:
        reported = parse_ip(address.address) if address.type in _REPORTED else None
        if reported is not None and reported not in given:
            yield address.type, reported
