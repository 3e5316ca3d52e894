"""Explanation of the parts of a load balancer: its ports, the certificates of its https ports, and its targets."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from desired.annotations.choices import Protocol
from desired.annotations.warnings import AnnotationWarning
from desired.explain.fact import if_withheld
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.matching import Contested, Foreign
from desired.load_balancers.membership import Membership, NodeTarget
from desired.load_balancers.release import LoadBalancerRelease
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    Certificate,
    CloudBalancer,
    Health,
    Listener,
    ServerTarget,
    Target,
)
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.foresight import after_all
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.notes import Note
from desired.rules.load_balancers import (
    PORT_AS_ASKED,
    PORT_NOT_PLANNED,
    PORT_STAYS,
    PORT_WITHOUT_CERTIFICATE,
    PORT_WITHOUT_NODE_PORT,
)
from desired.rules.rule import Reason
from desired.section import UNMANAGED, Present
from desired.syntax.provider_id import Provider, ServerKey, server_key

_GOES, _STAYS = "goes with the load balancer", "stays with the load balancer, which is released"


@dataclass(frozen=True, slots=True)
class CertificateFact:
    """One certificate."""

    id: int | None
    """None for one that is to be created."""
    name: str | None
    """None for one that the project does not seem to have."""
    domains: tuple[str, ...]
    state: str
    """``uploaded``, how far the issuance of a managed one is, ``to be created`` or ``not read``."""
    ports: tuple[int, ...]
    """The listeners that use it now."""
    asked_for: bool
    """Whether the Service asks for it."""
    error: str | None = None
    """Why it was not issued or renewed; None when nothing went wrong."""


def explain_certificates(
    lb: DesiredLoadBalancer | LoadBalancerRelease | None,
    balancer: CloudBalancer | None,
    changes: Sequence[Change],
    snapshot: Snapshot,
) -> tuple[CertificateFact, ...]:
    """Every certificate that the Service uses or asks for, by id, and the one to create last."""
    used: dict[int, tuple[int, ...]] = {}
    for port, listener in sorted(balancer.spec.listeners.items()) if balancer else ():
        for number in listener.certificate_ids:
            used[number] = (*used.get(number, ()), port)
    known: Mapping[int, Certificate] = snapshot.certificates.items if snapshot.certificates else {}
    asked = lb.certificates.asked if isinstance(lb, DesiredLoadBalancer) else frozenset()
    facts = [
        _certificate(number, known.get(number), used.get(number, ()), asked=number in asked)
        for number in sorted(asked | used.keys())
    ]
    coming = (found for found in after_all(snapshot, changes).certificates or () if found.id < 0)
    return (*facts, *(CertificateFact(None, c.name, c.domains, "to be created", (), asked_for=True) for c in coming))


def _certificate(number: int, found: Certificate | None, ports: tuple[int, ...], *, asked: bool) -> CertificateFact:
    if found is None:
        return CertificateFact(number, None, (), "not read", ports, asked)
    state = "uploaded" if found.issuance is None else f"managed, {found.issuance.value}"
    error = str(found.error) if found.error else None
    return CertificateFact(number, found.name, found.domains, state, ports, asked, error)


@dataclass(frozen=True, slots=True)
class ListenerFact:
    """One port."""

    port: int
    protocol: str
    """As the Service has it, ``UDP``; TCP for what only the load balancer has."""
    value: str | None
    """What the load balancer does there, ``https to node port 30443, certificate 5``; None when nothing."""
    wanted: str | None
    """The same once the planned changes are made."""
    planned: Verb | None
    """What is planned of it. Both sides may read alike all the same: the changes tell every field."""
    why: str


def explain_listeners(
    lb: DesiredLoadBalancer | LoadBalancerRelease | None,
    balancer: CloudBalancer | None,
    then: CloudBalancer | None,
    changes: Collection[Change],
    remarks: Collection[AnnotationWarning],
    notes: Collection[Note],
) -> tuple[ListenerFact, ...]:
    """Each port that the Service or its load balancer has, by number. ``then`` is the load balancer once the changes
    are made; ``remarks`` and ``notes`` are on the Service."""
    there = balancer.spec.listeners if balancer else {}
    later = then.spec.listeners if then else {}
    facts: list[ListenerFact] = []
    match lb:
        case DesiredLoadBalancer():
            planned = {change.key: change for change in changes}
            create = next((change for change in changes if change.kind is ChangeKind.LB_CREATE), None)
            said = {note.port: note.text for note in reversed([*notes]) if note.port and note.lack is None}
            tcp = {port.port for port in lb.service.claim.ports if port.protocol == "TCP"}
            for port in tcp | there.keys():
                key = lb.service.balancer_key.part("listener", port)
                own, first = planned.get(key), planned.get(key.part("asked"))
                change = own or (create if port in later else None)
                why = own.reason if own else "comes with the load balancer"
                why = why + if_withheld(change) if change else said.get(port) or _why_nothing(lb, port, there).text
                if change and first and first.key in change.depends_on and isinstance(first.after, Listener):
                    why += f"; before that {shown_listener(first.after)}{if_withheld(first)}"
                facts.append(_listener(port, there.get(port), later.get(port), change.verb if change else None, why))
            warned = {remark.key: remark.text for remark in remarks}
            for index, claimed in enumerate(lb.service.claim.ports):
                if unbalanced := warned.get(f"spec.ports[{index}].protocol"):
                    facts.append(ListenerFact(claimed.port, claimed.protocol, None, None, None, unbalanced))
        case LoadBalancerRelease() if then is None:
            facts = [_listener(port, found, None, Verb.REMOVE, _GOES) for port, found in there.items()]
        case LoadBalancerRelease():
            facts = [_listener(port, found, found, None, _STAYS) for port, found in there.items()]
    return tuple(sorted(facts, key=lambda fact: (fact.port, fact.protocol)))


def _listener(port: int, before: Listener | None, after: Listener | None, verb: Verb | None, why: str) -> ListenerFact:
    value, wanted = (None if side is None else shown_listener(side) for side in (before, after))
    return ListenerFact(port, "TCP", value, wanted, verb, why)


def _why_nothing(lb: DesiredLoadBalancer, port: int, there: Mapping[int, Listener]) -> Reason:
    """Why nothing is planned for a port of which no note tells."""
    before = there.get(port)
    if lb.wanted is None or lb.problems or isinstance(lb.match, Foreign | Contested):
        return (PORT_STAYS if before else PORT_NOT_PLANNED).because()
    if port in lb.without_node_port:
        return PORT_WITHOUT_NODE_PORT.because()
    if lb.options.protocol is Protocol.HTTPS and (before is None or before.protocol is not Protocol.HTTPS):
        return PORT_WITHOUT_CERTIFICATE.because(cause="; ".join(note.text for note in lb.certificates.notes))
    return (PORT_AS_ASKED if before else PORT_NOT_PLANNED).because()


def shown_listener(listener: Listener) -> str:
    """A listener in short."""
    text = f"{listener.protocol} to node port {listener.destination_port}"
    certificates = listener.http.certificates if listener.http else UNMANAGED
    if certificates is KNOWN_AFTER_APPLY:
        return f"{text}, with a certificate that is to come"
    if not listener.certificate_ids:
        return text
    ids = ", ".join(map(str, listener.certificate_ids))
    return f"{text}, certificate{'' if len(listener.certificate_ids) == 1 else 's'} {ids}"


@dataclass(frozen=True, slots=True)
class TargetFact:
    """One Node, or one target that is no Node's."""

    subject: str
    """The Node's name; else what the target is called in plans, ``server:7``."""
    membership: Membership | None
    """None for what is no Node's, and once nobody asks who should be a target."""
    server_id: int | None
    """Of a Robot server its number."""
    value: str | None
    """The address by which it gets traffic now, or both; what it is called, where the address is not known. None: it
    gets none."""
    wanted: str | None
    """The same once the planned changes are made."""
    health: Health | None
    """What the load balancer says of it; None where it is no target."""
    why: str
    provider: Provider | None = None
    """Of the server; None where there is none."""


def explain_targets(
    lb: DesiredLoadBalancer | LoadBalancerRelease | None,
    balancer: CloudBalancer | None,
    then: CloudBalancer | None,
    changes: Collection[Change],
    snapshot: Snapshot,
) -> tuple[TargetFact, ...]:
    """Each Node in the order of names, then the targets of ``balancer`` that are no Node's. ``then`` is the load
    balancer once the changes are made."""
    world = _World(balancer, snapshot)
    match lb:
        case DesiredLoadBalancer():
            planned = _Planned(lb, then, changes)
            nodes = tuple(_of_node(member, planned, world) for member in lb.targets.members)
            return (*nodes, *_of_others(planned, world))
        case LoadBalancerRelease():
            names = {server_key(node.provider_id): node.name for node in snapshot.nodes}
            return tuple(
                world.fact(
                    names.get(_server(targets[0]), name),
                    _server(targets[0]),
                    targets,
                    targets if then else (),
                    _STAYS if then else _GOES,
                )
                for name, targets in world.by_name.items()
            )
    return ()


_Targets = tuple[Target, ...]
"""Those of one name: a server may be a target twice, by its public and by its private address."""


def _server(target: Target) -> ServerKey | None:
    return ServerKey(Provider.CLOUD, target.server_id) if isinstance(target, ServerTarget) else None


class _Planned:
    """What is planned of the targets of a load balancer."""

    def __init__(self, lb: DesiredLoadBalancer, then: CloudBalancer | None, changes: Collection[Change]) -> None:
        self.led_to: Callable[[Target], ServerKey | None] = lb.targets.node_targets.led_to
        self.claimed = {member.server for member in lb.targets.members}
        self.changes = {change.key.parts[-1]: change for change in changes if change.kind is ChangeKind.LB_TARGET}
        self._create = next((change for change in changes if change.kind is ChangeKind.LB_CREATE), None)
        self._then = _by_name(then.targets if then else ())

    def after(self, names: Iterable[str]) -> tuple[_Targets, str]:
        """The future targets of these names, and what withholds that, in words."""
        ordered = sorted(set(names))
        change = next((self.changes[name] for name in ordered if name in self.changes), self._create)
        found = (target for name, targets in self._then.items() if name in ordered for target in targets)
        return tuple(found), if_withheld(change) if change else ""


class _World:
    """The present targets of a load balancer, and the servers that they lead to."""

    def __init__(self, balancer: CloudBalancer | None, snapshot: Snapshot) -> None:
        self.targets = balancer.targets if balancer else ()
        self.by_name = _by_name(self.targets)
        self._checks = balancer.checks if balancer else {}
        self._servers = snapshot.servers.items
        network = snapshot.network.value if isinstance(snapshot.network, Present) else None
        self._network = network.id if network else None

    def fact(
        self,
        subject: str,
        server: ServerKey | None,
        before: _Targets,
        after: _Targets,
        why: str,
        membership: Membership | None = None,
    ) -> TargetFact:
        """The line of a Node or target."""
        said = {health for target in before for health in self._checks.get(target, {}).values()}
        worst = next((health for health in (Health.UNHEALTHY, Health.UNKNOWN, Health.HEALTHY) if health in said), None)
        value, wanted = (", ".join(map(self._address, side)) or None for side in (before, after))
        number, provider = (server.id, server.provider) if server else (None, None)
        return TargetFact(subject, membership, number, value, wanted, worst, why, provider)

    def _address(self, target: Target) -> str:
        """The address of a target; what it is called, where that is not known."""
        if not isinstance(target, ServerTarget):
            return target.name
        server, kind = self._servers.get(target.server_id), "private" if target.use_private_ip else "public"
        if server is not None and target.use_private_ip:
            address = next((ip for network, ip in server.private_ips if network == self._network), None)
            return str(address or f"its {kind} address")
        outside = ip_address(target.ipv6) if target.ipv6 else server.ipv4 if server else None
        return str(outside or f"its {kind} address")


def _by_name(targets: Iterable[Target]) -> Mapping[str, _Targets]:
    found: dict[str, _Targets] = {}
    for target in targets:
        found[target.name] = (*found.get(target.name, ()), target)
    return found


def _of_node(member: NodeTarget, planned: _Planned, world: _World) -> TargetFact:
    before = tuple(t for t in world.targets if member.server and planned.led_to(t) == member.server)
    asked = () if member.target is None else (member.target.name,)
    after, withheld = planned.after((*asked, *(target.name for target in before)))
    if member.membership is Membership.TARGET and before == after == ():
        withheld = "; nothing is planned as things are"
    why = (member.note or member.why) + withheld
    return world.fact(member.node, member.server, before, after, why, member.membership)


def _of_others(planned: _Planned, world: _World) -> Iterator[TargetFact]:
    for name, before in world.by_name.items():
        server = planned.led_to(before[0])
        if server is not None and server in planned.claimed:
            continue
        after, withheld = planned.after((name,))
        change = planned.changes.get(name)
        left = "not ours, left as it is" if server is None else f"no Node is {server.name}; left as it is"
        yield world.fact(name, server, before, after, left if change is None else change.reason + withheld)
