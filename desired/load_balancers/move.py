"""Move of a load balancer to another private network: the targets that it loses, and those that it gets back.

Everything that is reached through the network is lost: the servers of Nodes, and targets that others have added, which
no Node accounts for. Labels of the load balancer say which of the latter come back, so that they are not forgotten when
a run ends half way.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Collection, Iterator, Mapping, Sequence
from ipaddress import IPv4Address, ip_address

from desired.load_balancers.targets import TargetCandidates
from desired.model.load_balancer import (
    Attachment,
    CloudBalancer,
    IpTarget,
    SelectorTarget,
    ServerTarget,
    Target,
    is_private,
)
from desired.model.snapshot import Snapshot
from desired.names import LABEL_RETURNING
from desired.section import Absent, Present, Unmanaged

MOST_LABELS = 40
"""How many labels the memory of a move may take: more than enough for the longest selector that Hetzner takes."""
_PIECE = 60
_LONGEST_SELECTOR = 1000
_LONGEST_ID = 16


def may_return(
    target: Target, place: Attachment | Unmanaged | None, present: CloudBalancer, snapshot: Snapshot
) -> bool:
    """Whether the load balancer can reach ``target`` again from its next place in a network."""
    if not isinstance(place, Attachment) or is_dead(target, snapshot):
        return False
    stays = any(there.network_id == place.network_id for there in present.attachments)
    match target:
        case ServerTarget(server_id=server_id):
            server = snapshot.servers.items.get(server_id)
            return server is None or any(network == place.network_id for network, _ in server.private_ips)
        case SelectorTarget():
            return True
        case IpTarget(ip=ip):
            network = snapshot.network.value if isinstance(snapshot.network, Present) else None
            address = ip_address(ip)
            return stays or (network is not None and any(address in subnet for subnet in network.subnets))


def unknown_to_nodes(targets: Collection[Target], node_targets: TargetCandidates) -> tuple[Target, ...]:
    """The targets that no later pass would add because of a Node."""
    of_nodes = set(node_targets.candidates.values())
    return tuple(target for target in targets if target not in of_nodes)


def is_dead(target: Target, snapshot: Snapshot) -> bool:
    """Whether nothing is lost with the target: its server is gone."""
    return isinstance(target, ServerTarget) and isinstance(snapshot.servers.find(target.server_id), Absent)


def spoken(target: Target) -> str:
    """The name of a target in sentences: ``server 7``, ``address 10.0.0.9``, ``label selector role=worker``."""
    match target:
        case ServerTarget(server_id=server_id):
            return f"server {server_id}"
        case IpTarget(ip=ip):
            return f"address {ip}"
        case SelectorTarget(selector=selector):
            return f"label selector {selector}"


def remembered(labels: Mapping[str, str]) -> tuple[Target, ...]:
    """The targets that the labels of a load balancer say it gets back. What cannot be read counts for nothing."""
    pieces: list[str] = []
    while len(pieces) < MOST_LABELS and (piece := labels.get(f"{LABEL_RETURNING}{len(pieces)}")) is not None:
        pieces.append(piece[1:-1])
    text = "".join(pieces)
    try:
        lines = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().split("\n")
    except (Error, ValueError):
        return ()
    return tuple(target for line in lines for target in _target(line))


def labels_for(targets: Sequence[Target]) -> Mapping[str, str] | None:
    """The labels that say which targets come back; None when it does not fit into them."""
    if not targets:
        return {}
    text = urlsafe_b64encode("\n".join(sorted(map(_name, targets))).encode()).decode().rstrip("=")
    pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    # A label begins and ends with a letter or a digit, which such a text need not.
    labels = {f"{LABEL_RETURNING}{number}": f"x{piece}x" for number, piece in enumerate(pieces)}
    return labels if len(labels) <= MOST_LABELS else None


def memory_in(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Those of the labels that say what comes back."""
    return {key: value for key, value in labels.items() if key.startswith(LABEL_RETURNING)}


def _target(line: str) -> Iterator[Target]:
    """The private target that has this name; nothing for what is never remembered."""
    kind, _, name = line.partition(":")
    match kind:
        case "server" if name.isascii() and name.isdigit() and len(name) < _LONGEST_ID:
            yield ServerTarget(int(name), use_private_ip=True)
        case "selector" if 0 < len(name) <= _LONGEST_SELECTOR:
            yield SelectorTarget(name, use_private_ip=True)
        case "ip":
            try:
                target = IpTarget(str(IPv4Address(name)))
            except ValueError:
                return
            if is_private(target):
                yield target


def _name(target: Target) -> str:
    """As in its key: ``server:7``."""
    return target.name
