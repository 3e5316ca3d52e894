"""Servers that a Node without one is likely on, by its name, its addresses or the number in its providerID; and what
sets the providerIDs that are not Hetzner's.

Nothing is joined by that, as a kubelet chooses its name and reports the addresses that it likes. People are told what
fits, on the Node and on a silent one whose server it is, and the way out.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from types import MappingProxyType

from desired.model.snapshot import AddressType, Node, Readiness, Server
from desired.section import Section
from desired.syntax.address import parse_ip
from desired.syntax.bounds import ADDRESSES, shown_text
from desired.syntax.provider_id import Provider, ServerKey, provider_id_of, server_key

_NUMBER = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
_PREFIX = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,39}):", re.ASCII)
_SERVERS = 3
"""Servers that a sentence names."""
_REPORTED = (AddressType.INTERNAL_IP, AddressType.EXTERNAL_IP)
_ADDRESSES = 16
"""Addresses of a Node that are looked up: a kubelet may report thousands."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What sets providerIDs of one form."""

    who: str
    """To go on after ``was set by``."""
    way_out: str
    """What has to be done before the Node registers anew."""


_EXTERNAL = "start the kubelet with --cloud-provider=external"
_ORIGINS: Mapping[str, Origin] = MappingProxyType(
    {
        "k3s": Origin(
            "the built-in cloud controller of k3s",
            "start the k3s servers with --disable-cloud-controller and every k3s with"
            " --kubelet-arg=cloud-provider=external",
        ),
        "rke2": Origin(
            "the built-in cloud controller of rke2",
            "start the rke2 servers with --disable-cloud-controller and every rke2 with"
            " --kubelet-arg=cloud-provider=external",
        ),
        "k0s-cloud-provider": Origin(
            "the built-in cloud provider of k0s",
            "start the k0s controllers without --enable-k0s-cloud-provider, and the workers with"
            " --enable-cloud-provider",
        ),
        "talos": Origin(
            "the cloud controller of Talos",
            "uninstall it, and set cloud-provider: external in the extraArgs of machine.kubelet",
        ),
        "kind": Origin("kind", _EXTERNAL),
    }
)
"""Prefix → origin: distributions that set one on whatever machine."""
_BARE = Origin("the kubelet's --provider-id or an old kubelet, without the prefix hcloud://", _EXTERNAL)


def origin_of(provider_id: str) -> Origin | None:
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
    servers: tuple[Server, ...] = ()
    clues: tuple[tuple[str, str], ...] = ()
    """What fits, in the order of the servers: ``its --node-ip 10.0.0.3 is the address of server 2 prod-w-1``, and the
    same with the Node's name."""
    owner: Node | None = None
    """The Node of the only server; None where there are several, or it has none."""

    def __bool__(self) -> bool:
        return bool(self.servers)

    @property
    def said(self) -> str:
        """What fits, as the Node's own note has it: one clause for each server."""
        clues = [own for own, _ in self.clues[:_SERVERS]]
        more = len(self.clues) - _SERVERS
        owned = f", and that is the server of Node {self.owner.name}, {_heard(self.owner)}" if self.owner else ""
        return " and ".join(clues) + owned + (f", and there are {more} more" if more > 0 else "")

    @property
    def remedy(self) -> str:
        """What joins the Node; "" where there is no server."""
        if len(self.servers) != 1:
            return "delete the Node and start the kubelet with the --provider-id of the right one" if self else ""
        server = self.servers[0]
        start = f"start the kubelet with --provider-id={provider_id_of(server.key)}"
        if self.owner is None:
            return f"give the machine the host name {server.name}, or delete the Node and {start}"
        if self.owner.ready is not Readiness.UNKNOWN:
            return "correct the kubelet's --node-ip, or delete the Node of the two that is stale"
        return (
            "the machine seems to have another host name now; give it back, or delete Node"
            f" {self.owner.name} and {start}, which counts once this Node is deleted too"
        )

    @property
    def told_to_owner(self) -> str:
        """The note on the silent Node whose server this is; "" where there is none, or its kubelet speaks."""
        if self.owner is None or self.owner.ready is not Readiness.UNKNOWN:
            return ""
        ((_, clue),) = self.clues
        return (
            f"{_heard(self.owner)}, and {clue}, the server of this Node: the machine seems to have another host name"
            " now; give it back, or delete both Nodes and start the kubelet with"
            f" --provider-id={provider_id_of(self.servers[0].key)}"
        )


def _heard(node: Node) -> str:
    """``silent since 25 Nov 03:40 UTC``."""
    if node.ready is Readiness.TRUE:
        return "which reports Ready"
    said = "silent" if node.ready is Readiness.UNKNOWN else "not Ready"
    return f"{said} since {node.ready_since:%d %b %H:%M} UTC"


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

    def likely(self, node: Node) -> LikelyServers:
        """The servers that ``node``, which has none, is likely on; none while a list is not whole: another server could
        fit as well.

        The addresses of another cloud's private networks say nothing, as many have the same.
        """
        if not all(each.is_whole for each in self._lists):
            return LikelyServers(node.name)
        is_elsewhere = node.provider_id is not None and origin_of(node.provider_id) is None
        found: dict[ServerKey, tuple[str, str]] = {}
        for server, before, after in self._clues(node, is_elsewhere=is_elsewhere):
            found.setdefault(server.key, (f"{before}its {after}", f"{before}Node {node.name}'s {after}"))
        servers = tuple(self._by_key[key] for key in found)
        owner = self._owners.get(servers[0].key) if len(servers) == 1 else None
        return LikelyServers(node.name, servers, tuple(found.values()), owner)

    def _clues(self, node: Node, *, is_elsewhere: bool) -> Iterator[tuple[Server, str, str]]:
        """Servers, and a clause about each without whose it is that fits: its beginning and end."""
        for server in self._by_name.get(node.name, ()):
            yield server, f"{server.key.name} has ", "name"
        number = node.provider_id if node.provider_id and _NUMBER.fullmatch(node.provider_id) else None
        if number is not None and (by_id := self._by_key.get(ServerKey(Provider.CLOUD, int(number)))):
            yield by_id, f"{_called(by_id)} has the id in ", "providerID"
        for what, address in _addresses(node):
            if is_elsewhere and not address.is_global:
                continue
            for server, how in self._having(address):
                yield server, "", f"{what} {address} {how} {_called(server)}"

    def _having(self, address: IPv4Address | IPv6Address) -> Iterator[tuple[Server, str]]:
        """The servers that have the address, and as what."""
        if isinstance(address, IPv6Address):
            for server in self._by_network.get(IPv6Network((address, 64), strict=False), ()):
                yield server, "is in the IPv6 network of"
            return
        yield from self._by_address.get(address, ())

    @cached_property
    def _by_key(self) -> Mapping[ServerKey, Server]:
        return {server.key: server for each in self._lists for server in each}

    @cached_property
    def _by_name(self) -> Mapping[str, list[Server]]:
        found: dict[str, list[Server]] = defaultdict(list)
        for server in self._by_key.values():
            if server.name != "":
                found[server.name].append(server)
        return found

    @cached_property
    def _by_network(self) -> Mapping[IPv6Network, list[Server]]:
        found: dict[IPv6Network, list[Server]] = defaultdict(list)
        for server in self._by_key.values():
            if server.ipv6 is not None:
                found[server.ipv6].append(server)
        return found

    @cached_property
    def _by_address(self) -> Mapping[IPv4Address, list[tuple[Server, str]]]:
        found: dict[IPv4Address, list[tuple[Server, str]]] = defaultdict(list)
        for server in self._by_key.values():
            if server.ipv4 is not None:
                found[server.ipv4].append((server, "is the public address of"))
            for private, how in (
                (server.private_ips, "is the address of"),
                (server.alias_ips, "is an alias address of"),
            ):
                for network, ip in private:
                    if self._network_id in (None, network):
                        found[ip].append((server, how))
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


def _called(server: Server) -> str:
    """``server 2 prod-w-1``."""
    return f"{server.key.name} {server.name}".rstrip()


def _addresses(node: Node) -> Iterator[tuple[str, IPv4Address | IPv6Address]]:
    """The addresses of a Node and what each is called: those that its kubelet was given, then what it reports."""
    text = node.provided_node_ip or ""
    parts = [] if ADDRESSES.is_exceeded(text) else text.split(",")[:_ADDRESSES]
    given = [ip for ip in map(parse_ip, parts) if ip is not None]
    for ip in given:
        yield "--node-ip", ip
    for address in node.addresses[:_ADDRESSES]:
        reported = parse_ip(address.address) if address.type in _REPORTED else None
        if reported is not None and reported not in given:
            yield address.type, reported


def why_foreign(provider_id: str, likely: LikelyServers) -> tuple[str, str]:
    """Why a providerID that is not Hetzner's has no server, and the way out; that is "" for another cloud's Node, of
    which no server has anything."""
    shown, origin = shown_text(provider_id), origin_of(provider_id)
    if origin is None and not likely:
        return f"providerID {shown} belongs to another cloud", ""
    why = (
        f"providerID {shown} belongs to another cloud"
        if origin is None
        else f"providerID {shown} was set by {origin.who}"
    )
    if likely:
        why += f"; {likely.said}"
    way = _EXTERNAL if origin is None else origin.way_out
    condition = "if the Node is that server" if origin is None else "to have the Node managed"
    is_named = len(likely.servers) != 1 or likely.servers[0].name == likely.node
    needed = "" if is_named else f" with --provider-id={provider_id_of(likely.servers[0].key)}"
    return why, f"{condition}: {way}, delete the Node and restart its kubelet{needed}"
