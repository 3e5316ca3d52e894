"""The addresses of a Node, each with the rule behind it. What should be there is the desired state's, and not decided
again here."""

from collections.abc import Iterator
from dataclasses import dataclass

from desired.explanation.fact import Fact, Rule
from desired.model.settings import AddressFamily, Controller, Settings
from desired.model.snapshot import AddressType, Network, Node, NodeAddress, Server, Snapshot
from desired.nodes.addresses import UnusableNodeIP, addresses_with_origins, parse_node_ips
from desired.nodes.contested import ContestedAddress, Others, choose_hostname
from desired.nodes.desired import DesiredNode, JoiningNode, SettledNode, desired_addresses
from desired.section import Present, Unknown, Unmanaged


def explain_addresses(
    node: Node, wanted: DesiredNode | None, snapshot: Snapshot, settings: Settings, left: str
) -> tuple[Fact, ...]:
    """The Node's addresses in their order, those that go away among them, and after these the ones that come.

    ``left`` says why nothing is wanted, where the Node itself is the reason.
    """
    match wanted:
        case JoiningNode():
            hostname = choose_hostname(node, wanted.server, Others(snapshot), joins=True)
            stated = wanted.identity.addresses
            return tuple(_Addresses.of(node, wanted.server, snapshot, settings, stated, hostname.why).facts())
        case SettledNode(server, addresses=addresses) if not isinstance(addresses, Unmanaged):
            hostname = choose_hostname(node, server, Others(snapshot), joins=False)
            return tuple(_Addresses.of(node, server, snapshot, settings, addresses, hostname.why).facts())
        case SettledNode(server) if Controller.NODE in settings.controllers:
            left = _why_unknown(node, server, snapshot, settings)
    source = f"stays as it is: {left}"
    return tuple(Fact(a.type, a.address, a.address, Rule.UNTOUCHED, source) for a in node.addresses)


def _why_unknown(node: Node, server: Server, snapshot: Snapshot, settings: Settings) -> str:
    """Why it cannot be told which addresses the Node should have; "" when it can."""
    found = desired_addresses(node, server, snapshot, settings, Others(snapshot), joins=False)
    return found.why if isinstance(found, UnusableNodeIP | ContestedAddress | Unknown) else ""


@dataclass(frozen=True, slots=True)
class _Addresses:
    """A Node's addresses as they stand and as they should be, and what the reasons for both hang on."""

    current: tuple[NodeAddress, ...]
    wanted: tuple[NodeAddress, ...]
    server: Server
    network: Network | None
    settings: Settings
    named: frozenset[str]
    """Those of the kubelet's ``--node-ip``."""
    why_called: str
    """Why the Node's Hostname is not the server's name; "" when it is."""

    @classmethod
    def of(
        cls,
        node: Node,
        server: Server,
        snapshot: Snapshot,
        settings: Settings,
        wanted: tuple[NodeAddress, ...],
        why_called: str,
    ) -> "_Addresses":
        network = snapshot.network.value if isinstance(snapshot.network, Present) else None
        ips = () if node.provided_node_ip is None else parse_node_ips(node.provided_node_ip)
        named = frozenset(str(ip) for ip in ips) if not isinstance(ips, UnusableNodeIP) else frozenset()
        return cls(node.addresses, wanted, server, network, settings, named, why_called)

    def facts(self) -> Iterator[Fact]:
        missing = list(self.wanted)
        for address in self.current:
            if address in missing:
                missing.remove(address)
                yield Fact(address.type, address.address, address.address, *self._why(address))
            else:
                yield Fact(address.type, address.address, None, *self._why_not(address))
        for address in missing:
            yield Fact(address.type, None, address.address, *self._why(address))

    def _why(self, address: NodeAddress) -> tuple[Rule, str]:
        """Where an address that should be there comes from."""
        if address.type == AddressType.HOSTNAME and self.why_called:
            return Rule.KEPT, self.why_called
        origin = dict(addresses_with_origins(self.server, self.settings.address_family, self.network)).get(address)
        rule, source = Rule.SERVER, str(origin)
        if origin is None and address.type == AddressType.INTERNAL_IP:
            rule, source = Rule.KEPT, "the kubelet reported it, and --keep-internal-ips keeps it"
        elif origin is None:
            source = "a host of the server's IPv6 network"
        if self._is_named(address):
            return Rule.NODE_IP, f"{source}; it is the kubelet's --node-ip, so no other {address.type} counts"
        return rule, source

    def _why_not(self, address: NodeAddress) -> tuple[Rule, str]:
        """Why an address that is there should not be."""
        others = [other.type for other in self.wanted if other.address == address.address]
        chosen = [other.address for other in self.wanted if other.type == address.type and self._is_named(other)]
        offered = dict(addresses_with_origins(self.server, AddressFamily.DUALSTACK, self.network))
        if address.type == AddressType.HOSTNAME and self.why_called:
            return Rule.SERVER, "goes away: it is another Node's name, or that of another Node's server"
        if others:
            why = "is listed twice" if address.type in others else f"is the Node's {others[0]}"
            return Rule.SERVER, f"goes away: {why}"
        if chosen:
            why = f"the kubelet's --node-ip makes {chosen[0]} the only {address.type}"
            return Rule.NODE_IP, f"goes away: {why}"
        if address in offered:
            return Rule.SERVER, f"goes away: HCLOUD_INSTANCES_ADDRESS_FAMILY is {self.settings.address_family}"
        if address.type == AddressType.INTERNAL_IP and self.network is None:
            return Rule.SERVER, "goes away: HCLOUD_NETWORK is not set, so the cloud knows no private address"
        return Rule.SERVER, f"goes away: not {_what(address)} of server {self.server.id}"

    def _is_named(self, address: NodeAddress) -> bool:
        return address.type != AddressType.HOSTNAME and address.address in self.named


def _what(address: NodeAddress) -> str:
    return "the name" if address.type == AddressType.HOSTNAME else "an address"
