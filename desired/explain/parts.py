"""Explanation of the parts of a load balancer: its ports, the certificates of its https ports, and its targets."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from desired.annotations.choices import CertificateType, Protocol
from desired.annotations.claims import ClaimedPort
from desired.annotations.options import Options
from desired.annotations.warnings import AnnotationWarning
from desired.explain.fact import if_withheld
from desired.load_balancers.attachment import network_id
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.listeners import ports_without_node_port
from desired.load_balancers.matching import Contested, Foreign
from desired.load_balancers.membership import Membership, NodeTarget
from desired.load_balancers.release import LoadBalancerRelease
from desired.load_balancers.targets import TargetCandidates
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    Certificate,
    CloudBalancer,
    Health,
    Listener,
    ServerTarget,
    Target,
)
from desired.model.service import Service
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.names import LABEL_SERVICE_UID
from desired.nodes.matching import nodes_of
from desired.plan.change import Change
from desired.plan.foresight import after_all
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.notes import Note
from desired.section import UNMANAGED
from desired.syntax.provider_id import Provider, ServerKey


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
    used = _used(balancer)
    known: Mapping[int, Certificate] = snapshot.certificates.items if snapshot.certificates else {}
    asked: set[int] = set()
    if isinstance(lb, DesiredLoadBalancer):
        asked = {found.id for found in known.values() if _is_asked_for(found, lb.service, lb.options)}
    facts = tuple(
        _fact(number, known.get(number), used.get(number, ()), asked=number in asked)
        for number in sorted(asked | used.keys())
    )
    coming = (found for found in after_all(snapshot, changes).certificates or () if found.id < 0)
    return (*facts, *(CertificateFact(None, c.name, c.domains, "to be created", (), asked_for=True) for c in coming))


def _used(balancer: CloudBalancer | None) -> Mapping[int, tuple[int, ...]]:
    """Id of a certificate → the ports that use it."""
    used: dict[int, tuple[int, ...]] = {}
    for port, listener in sorted(balancer.spec.listeners.items()) if balancer else ():
        certificates = listener.http.certificates if listener.http else ()
        for number in certificates if isinstance(certificates, tuple) else ():
            used[number] = (*used.get(number, ()), port)
    return used


def _is_asked_for(certificate: Certificate, service: Service, options: Options) -> bool:
    if options.protocol is not Protocol.HTTPS:
        return False
    if options.certificate_type is CertificateType.MANAGED:
        return certificate.labels.get(LABEL_SERVICE_UID) == service.uid
    references = options.http_certificates
    return isinstance(references, tuple) and (certificate.id in references or certificate.name in references)


def _fact(number: int, found: Certificate | None, ports: tuple[int, ...], *, asked: bool) -> CertificateFact:
    if found is None:
        return CertificateFact(number, None, (), "not read", ports, asked)
    state = "uploaded" if found.issuance is None else f"managed, {found.issuance.value}"
    return CertificateFact(
        number, found.name, found.domains, state, ports, asked, str(found.error) if found.error else None
    )


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
    facts: list[ListenerFact] = []
    match lb:
        case DesiredLoadBalancer():
            ports = lb.service.claim.ports
            tcp = {port.port for port in ports if port.protocol == "TCP"}
            rows = _Listeners(lb, there, then.spec.listeners if then else {}, changes, notes)
            facts = [*(rows.of(port) for port in tcp | there.keys()), *_unbalanced(ports, remarks)]
        case LoadBalancerRelease():
            facts = [_going(listener, goes=then is None) for listener in there.values()]
    return tuple(sorted(facts, key=lambda fact: (fact.port, fact.protocol)))


def shown_listener(listener: Listener) -> str:
    """A listener in short."""
    text = f"{listener.protocol} to node port {listener.destination_port}"
    certificates = listener.http.certificates if listener.http else UNMANAGED
    if certificates is KNOWN_AFTER_APPLY:
        return f"{text}, with a certificate that is to come"
    if not isinstance(certificates, tuple) or not certificates:
        return text
    ids = ", ".join(str(certificate_id) for certificate_id in certificates)
    return f"{text}, certificate{'' if len(certificates) == 1 else 's'} {ids}"


@dataclass(frozen=True, slots=True)
class _Listeners:
    """Present listeners, those that there are then, and planned changes of them."""

    lb: DesiredLoadBalancer
    there: Mapping[int, Listener]
    then: Mapping[int, Listener]
    changes: Collection[Change]
    notes: Collection[Note]

    def of(self, port: int) -> ListenerFact:
        before, after = self.there.get(port), self.then.get(port)
        value, wanted = (None if side is None else shown_listener(side) for side in (before, after))
        change = self._planned(port)
        if change is None:
            return ListenerFact(port, "TCP", value, wanted, None, self._why_nothing(port, before))
        why = change.reason if change.kind == ChangeKind.LB_LISTENER else "comes with the load balancer"
        why += if_withheld(change) + self._meanwhile(change)
        return ListenerFact(port, "TCP", value, wanted, change.verb, why)

    def _meanwhile(self, change: Change) -> str:
        """What is made of a port before what is held of it."""
        for first in self.changes:
            after = first.after
            is_of_port = first.key.parts[:2] == change.key.parts[:2] and first.key in change.depends_on
            if is_of_port and isinstance(after, Listener):
                return f"; before that {shown_listener(after)}{if_withheld(first)}"
        return ""

    def _planned(self, port: int) -> Change | None:
        """The change that makes or changes the port: its own, or the load balancer's creation."""
        key = self.lb.service.balancer_key.part("listener", port)
        own = next((change for change in self.changes if change.key == key), None)
        return own or (_created(self.changes) if port in self.then else None)

    def _why_nothing(self, port: int, before: Listener | None) -> str:
        said = next((note.text for note in self.notes if note.port == port and note.lack is None), None)
        if said is not None:
            return said
        as_is = "stays as it is" if before else "nothing is planned for it as things are"
        if self.lb.wanted is None or self.lb.problems or isinstance(self.lb.match, Foreign | Contested):
            return as_is
        if port in ports_without_node_port(self.lb.service):
            return "waits for its node port, which the API server has still to choose"
        if self.lb.options.protocol is Protocol.HTTPS and (before is None or before.protocol is not Protocol.HTTPS):
            return f"waits for a certificate: {'; '.join(note.text for note in self.lb.certificates.notes)}"
        return "as the Service asks" if before else as_is


def _unbalanced(ports: Collection[ClaimedPort], remarks: Collection[AnnotationWarning]) -> Iterator[ListenerFact]:
    """Ports of protocols that Hetzner does not balance."""
    said = {remark.key: remark.text for remark in remarks}
    for index, port in enumerate(ports):
        why = said.get(f"spec.ports[{index}].protocol")
        if why is not None:
            yield ListenerFact(port.port, port.protocol, None, None, None, why)


def _going(listener: Listener, *, goes: bool) -> ListenerFact:
    shown = shown_listener(listener)
    if goes:
        return ListenerFact(listener.port, "TCP", shown, None, Verb.REMOVE, "goes with the load balancer")
    why = "stays with the load balancer, which is released"
    return ListenerFact(listener.port, "TCP", shown, shown, None, why)


_Targets = tuple[Target, ...]
"""Those of one name: a server may be a target twice, by its public and by its private address."""


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
    settings: Settings,
) -> tuple[TargetFact, ...]:
    """Each Node in the order of names, then the targets of ``balancer`` that are no Node's. ``then`` is the load
    balancer once the changes are made."""
    candidates = lb.targets.node_targets if isinstance(lb, DesiredLoadBalancer) else TargetCandidates(())
    named = tuple((target.name, target) for target in then.targets) if then else ()
    present = _PresentTargets(balancer, named, _by_name(changes), _created(changes), snapshot, candidates)
    match lb:
        case DesiredLoadBalancer():
            nodes = tuple(present.of_node(member) for member in lb.targets.members)
            claimed = {member.server for member in lb.targets.members}
            return (*nodes, *present.of_nobody(claimed))
        case LoadBalancerRelease():
            names = {key: node.name for provider in Provider for node, key in nodes_of(provider, snapshot, settings)}
            return tuple(present.that_go(names))
    return ()


def _by_name(changes: Collection[Change]) -> Mapping[str, Change]:
    """Name of a target → its change."""
    return {change.key.parts[-1]: change for change in changes if change.kind == ChangeKind.LB_TARGET}


def _created(changes: Collection[Change]) -> Change | None:
    return next((change for change in changes if change.kind == ChangeKind.LB_CREATE), None)


@dataclass(frozen=True, slots=True)
class _PresentTargets:
    """Present targets, those that there are then, and planned changes of them."""

    balancer: CloudBalancer | None
    then: tuple[tuple[str, Target], ...]
    """With their names."""
    changes: Mapping[str, Change]
    create: Change | None
    snapshot: Snapshot
    candidates: TargetCandidates

    def of_node(self, member: NodeTarget) -> TargetFact:
        before = tuple(t for t in self._there() if member.server and self.candidates.led_to(t) == member.server)
        asked = () if member.target is None else (member.target.name,)
        after, withheld = self._after({*asked, *(target.name for target in before)})
        if member.membership is Membership.TARGET and before == after == ():
            withheld = "; nothing is planned as things are"
        return self._fact(member.node, member, before, after, (member.note or member.why) + withheld)

    def of_nobody(self, claimed: Collection[ServerKey | None]) -> Iterator[TargetFact]:
        for name in dict.fromkeys(target.name for target in self._there()):
            before = tuple(target for target in self._there() if target.name == name)
            server = self.candidates.led_to(before[0])
            if server is not None and server in claimed:
                continue
            after, withheld = self._after({name})
            change = self.changes.get(name)
            left = "not ours, left as it is" if server is None else f"no Node is {server.name}; left as it is"
            why = left if change is None else change.reason + withheld
            yield self._fact(name, None, before, after, why)

    def that_go(self, names: Mapping[ServerKey, str]) -> Iterator[TargetFact]:
        goes = not self.then
        why = "goes with the load balancer" if goes else "stays with the load balancer, which is released"
        for name in dict.fromkeys(target.name for target in self._there()):
            before = tuple(target for target in self._there() if target.name == name)
            server = self.candidates.led_to(before[0])
            shown = names.get(server, name) if server else name
            yield self._fact(shown, None, before, () if goes else before, why)

    def _fact(self, subject: str, member: NodeTarget | None, before: _Targets, after: _Targets, why: str) -> TargetFact:
        server = member.server if member else next(filter(None, map(self.candidates.led_to, before)), None)
        return TargetFact(
            subject=subject,
            membership=member.membership if member else None,
            server_id=server.id if server else None,
            value=self._shown(before),
            wanted=self._shown(after),
            health=self._health(before),
            why=why,
            provider=server.provider if server else None,
        )

    def _there(self) -> tuple[Target, ...]:
        return self.balancer.targets if self.balancer else ()

    def _after(self, names: Collection[str]) -> tuple[_Targets, str]:
        """The future targets of these names, and what withholds that, in words."""
        change = next((self.changes[name] for name in sorted(names) if name in self.changes), self.create)
        after = tuple(target for name, target in self.then if name in names)
        return after, if_withheld(change) if change else ""

    def _shown(self, targets: _Targets) -> str | None:
        return ", ".join(map(self._address, targets)) or None

    def _address(self, target: Target) -> str:
        """The address of a target; what it is called, where that is not known."""
        if not isinstance(target, ServerTarget):
            return target.name
        server = self.snapshot.servers.items.get(target.server_id)
        address: IPv4Address | IPv6Address | None = None
        if server is not None and target.use_private_ip:
            place = network_id(self.snapshot)
            address = next((ip for network, ip in server.private_ips if network == place), None)
        elif server is not None:
            address = ip_address(target.ipv6) if target.ipv6 else server.ipv4
        kind = "private" if target.use_private_ip else "public"
        return f"its {kind} address" if address is None else str(address)

    def _health(self, targets: _Targets) -> Health | None:
        """The worst that is said of them by any listener; None when nothing is."""
        checks = self.balancer.checks if self.balancer else {}
        said = {health for target in targets for health in checks.get(target, {}).values()}
        return next((health for health in (Health.UNHEALTHY, Health.UNKNOWN, Health.HEALTHY) if health in said), None)
