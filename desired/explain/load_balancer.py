"""Explanation of what a Service has at Hetzner, and of what it publishes: its load balancer with labels, ports,
certificates and targets, its addresses and conditions."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from ipaddress import ip_address

from desired.explain.document import (
    BalancerFact,
    CertificateFact,
    Fact,
    FoundBalancer,
    ListenerFact,
    PrivateAddress,
    TargetFact,
)
from desired.explain.view import View, if_withheld
from desired.guards.statuses import conditions_of
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.lifecycle import LoadBalancerRelease
from desired.load_balancers.matching import Adoptable, Contested, Foreign, FoundBy, Owned, Undecided
from desired.load_balancers.membership import Membership
from desired.load_balancers.ownership import said_by_labels
from desired.load_balancers.published import source_of
from desired.model.clocks import shown_moment
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    NO_LIMIT,
    Certificate,
    CloudBalancer,
    Health,
    Listener,
    ServerTarget,
    Target,
)
from desired.model.service import Service
from desired.model.snapshot import Snapshot
from desired.names import CONDITIONS, LABEL_CLUSTER_UID
from desired.plan.change import Verdict
from desired.plan.foresight import after_all, balancer_after_all, service_after
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.notes import Note
from desired.plan.ordering import in_order
from desired.rules import explanations as rules
from desired.rules.load_balancers import PORT_NOT_PLANNED
from desired.rules.rule import Basis
from desired.section import UNMANAGED, Present, Unmanaged
from desired.syntax.provider_id import Provider, ServerKey, server_key

Decision = DesiredLoadBalancer | LoadBalancerRelease
"""What was decided on a Service that has to do with a load balancer."""


@dataclass(frozen=True)
class ServiceView(View):
    """A Service, with its load balancer."""

    service: Service

    @property
    def lb(self) -> Decision | None:
        """What was decided on it; None where nothing was."""
        return self.facts.desired.services.get(self.service.id)

    @property
    def label(self) -> str:
        """The label that names the Service on its load balancer."""
        return self.facts.snapshot.serving.label

    @property
    def balancer(self) -> CloudBalancer | None:
        """The load balancer that is its own, or that it is about to adopt; None without one."""
        return self.lb.match.balancer if self.lb and isinstance(self.lb.match, Owned | Adoptable) else None

    @cached_property
    def then(self) -> CloudBalancer | None:
        """The same once its changes are made."""
        return balancer_after_all(self.balancer, self.changes, self.facts.snapshot)


def explain_balancer(of: ServiceView, lb: Decision) -> FoundBalancer:
    """How the load balancer was found that serves the Service or is about to, or why none was."""
    asked, match, balancer = lb.name if isinstance(lb, DesiredLoadBalancer) else None, lb.match, of.balancer
    other = match.balancer if isinstance(match, Foreign | Contested) else None
    seen = balancer or other
    why = match.why if isinstance(match, Foreign | Contested | Undecided) else None
    if seen is None:
        row = rules.NONE_LABELLED if asked is None else rules.NONE_NAMED
        none = row.text(label=of.label, name=asked or "")
        return FoundBalancer(asked, why=why or none)
    by: FoundBy = "label" if seen.owner.uid == of.service.uid else "name"
    if isinstance(match, Adoptable):
        by = match.by
    owner = tuple(_labels(of, seen))
    return FoundBalancer(asked, by, _balancer(balancer), _balancer(other), why, owner)


def _balancer(balancer: CloudBalancer | None) -> BalancerFact | None:
    if balancer is None:
        return None
    spec, kind = balancer.spec, balancer.type
    return BalancerFact(
        id=balancer.id,
        name=spec.name,
        type=kind.name,
        location=spec.location,
        network_zone=spec.zone,
        ipv4=balancer.ipv4,
        ipv6=balancer.ipv6,
        public=spec.public_interface is True,
        private=tuple(
            PrivateAddress(place.network_id, place.ip)
            for place in balancer.attachments
            if not isinstance(place.ip, Unmanaged)
        ),
        protected=balancer.is_protected,
        ports=len(spec.listeners),
        max_ports=None if kind.max_services == NO_LIMIT else kind.max_services,
        targets=len(balancer.targets),
        max_targets=None if kind.max_targets == NO_LIMIT else kind.max_targets,
    )


def _labels(of: ServiceView, balancer: CloudBalancer) -> Iterator[Fact]:
    """The labels that name the owner, whom they name, and whom they will name; of a Service of a class that and its
    finalizer first."""
    serving = of.facts.snapshot.serving
    if serving.balancer_class is not None:
        finalizer, given = serving.finalizer, of.service.load_balancer_class
        there_now = finalizer if finalizer in of.service.finalizers else None
        yield Fact.of("spec.loadBalancerClass", given, given, rules.CLASS_SERVED.because())
        yield Fact.of("metadata.finalizers", there_now, finalizer, rules.FINALIZER_OF_CLASS.because())
    # What goes keeps its labels until then.
    then = balancer_after_all(balancer, of.changes, of.facts.snapshot) or balancer
    there, later = balancer.spec.labels, then.spec.labels
    withheld = of.withheld(ChangeKind.LB_ADOPT, ChangeKind.LB_RETAIN, ChangeKind.LB_IDENTITY)
    says, will_say = (said_by_labels(side, of.service, of.facts.snapshot) for side in (there, later))
    for key, now in says.items():
        value, wanted = there.get(key), later.get(key)
        if value != wanted:
            row = rules.BECOMES if value is None else rules.GOES if wanted is None else rules.BECOMES_INSTEAD
            source = row.text(value=now.text, wanted=will_say[key].text)
            yield Fact(key, value, wanted, Basis.OWNER, source + withheld)
        elif value is not None or key in (of.label, LABEL_CLUSTER_UID):
            yield Fact.of(key, value, wanted, will_say[key])


def explain_status(of: ServiceView) -> Iterator[Fact]:
    """The Service's addresses in their order, those that go away among them, and after these the ones that come."""
    there, wanted = of.service.ingress, reduce(service_after, in_order(of.changes), of.service).ingress
    withheld = of.withheld(ChangeKind.SERVICE_STATUS, ChangeKind.SERVICE_RELEASE)
    for entry in dict.fromkeys((*there, *wanted)):
        mode, ports = f" ({entry.ip_mode})" if entry.ip_mode else "", ", with ports" if entry.has_ports else ""
        shown, source = f"{entry.ip or entry.hostname or ''}{mode}{ports}", source_of(entry, of.balancer)
        value, later = (shown if entry in side else None for side in (there, wanted))
        why = source.text if later else rules.ADDRESS_GOES.text(source=source.text)
        kind, basis = "Hostname" if entry.ip is None else "IP", source.rule.basis or Basis.BALANCER
        yield Fact(kind, value, later, basis, why if value == later else why + withheld)
    for change in of.changes:
        if change.kind is ChangeKind.SERVICE_STATUS and change.after is KNOWN_AFTER_APPLY:
            yield Fact("IP", None, KNOWN_AFTER_APPLY.value, Basis.BALANCER, change.reason + withheld)


def explain_conditions(of: ServiceView) -> Iterator[Fact]:
    """The Service's conditions in their order, then those of ours that are not there.

    They are written together with other changes of the Service: only if one of these is planned it is certain that they
    change. What such a write takes along was decided with it.
    """
    carriers = [change for change in of.changes if change.conditions]
    wanted = carriers[0].conditions if carriers else ()
    if isinstance(of.lb, DesiredLoadBalancer) and not carriers and not of.facts.settings.only:
        wanted = conditions_of(of.key, of.changes, of.facts)
    ours, there = ({condition.type: condition for condition in found} for found in (wanted, of.service.conditions))
    is_written = any(each.is_known and each.decision.verdict is Verdict.ALLOWED for each in carriers)
    for kind in dict.fromkeys((*there, *ours)):
        found, due = there.get(kind), ours.get(kind)
        value, coming = (f"{side.status} {side.reason}".rstrip() if side else None for side in (found, due))
        if found and kind not in CONDITIONS:
            yield Fact.foreign(kind, value or "")
            continue
        since = f", since {shown_moment(found.since)}" if found and found.since else ""
        present = found.message if found else rules.CONDITION_LACKING.text()
        if due is None or value == coming:
            yield Fact(kind, value, value, Basis.BALANCER, (due.message if due else present) + since)
        elif is_written:
            yield Fact(kind, value, coming, Basis.BALANCER, due.message)
        else:
            why = rules.CONDITION_DUE.text(present=present + since, wanted=coming or "", cause=due.message)
            yield Fact(kind, value, value, Basis.BALANCER, why)


def explain_listeners(of: ServiceView, notes: Collection[Note]) -> tuple[ListenerFact, ...]:
    """Each port that the Service or its load balancer has, by number. ``notes`` are on the Service."""
    lb, then, changes, due = of.lb, of.then, of.changes, of.facts.planned
    there = of.balancer.spec.listeners if of.balancer else {}
    later = then.spec.listeners if then else {}

    def port(number: int, verb: Verb | None, why: str) -> ListenerFact:
        value, wanted = (shown_listener(side[number]) if number in side else None for side in (there, later))
        return ListenerFact(number, "TCP", value, wanted, verb, why)

    if isinstance(lb, LoadBalancerRelease):
        verb, row = (Verb.REMOVE, rules.GOES_WITH) if then is None else (None, rules.STAYS_WITH)
        return tuple(port(number, verb, row.text()) for number in sorted(there))
    if lb is None:
        return ()
    planned = {change.key: change for change in changes}
    create = of.first(ChangeKind.LB_CREATE)
    said = {note.port: note.text for note in reversed([*notes]) if note.port and note.lack is None}
    facts: list[ListenerFact] = []
    for number in {claimed.port for claimed in lb.service.claim.ports if claimed.protocol == "TCP"} | there.keys():
        key = lb.service.balancer_key.part("listener", number)
        own = planned.get(key)
        change = own or (create if number in later else None)
        if change is None:
            why = (PORT_NOT_PLANNED.because() if key in due else lb.why_unchanged(number, there.get(number))).text
            facts.append(port(number, None, said.get(number) or why))
            continue
        why = (own.reason if own else rules.COMES_WITH.text()) + if_withheld(change)
        facts.append(port(number, change.verb, why))
    warned = {remark.key: remark.text for remark in lb.remarks}
    for index, claimed in enumerate(lb.service.claim.ports):
        if unbalanced := warned.get(f"spec.ports[{index}].protocol"):
            facts.append(ListenerFact(claimed.port, claimed.protocol, None, None, None, unbalanced))
    return tuple(sorted(facts, key=lambda fact: (fact.port, fact.protocol)))


def shown_listener(listener: Listener) -> str:
    """A listener in short."""
    text = f"{listener.protocol} to node port {listener.destination_port}"
    certificates = listener.http.certificates if listener.http else UNMANAGED
    if certificates is KNOWN_AFTER_APPLY:
        return f"{text}, with a certificate that is to come"
    ids = ", ".join(map(str, listener.certificate_ids))
    return f"{text}, certificate{'' if len(listener.certificate_ids) == 1 else 's'} {ids}" if ids else text


def explain_certificates(of: ServiceView) -> Iterator[CertificateFact]:
    """Every certificate that the Service uses or asks for, by id, and the one to create last."""
    lb, snapshot = of.lb, of.facts.snapshot
    used: dict[int, tuple[int, ...]] = {}
    for port, listener in sorted(of.balancer.spec.listeners.items()) if of.balancer else ():
        for number in listener.certificate_ids:
            used[number] = (*used.get(number, ()), port)
    known: Mapping[int, Certificate] = snapshot.certificates.items if snapshot.certificates else {}
    asked = lb.certificates.asked if isinstance(lb, DesiredLoadBalancer) else frozenset()
    for number in sorted(asked | used.keys()):
        ports, is_asked, found = used.get(number, ()), number in asked, known.get(number)
        if found is None:
            yield CertificateFact(number, None, (), "not read", ports, is_asked)
            continue
        state = "uploaded" if found.issuance is None else f"managed, {found.issuance.value}"
        error = str(found.error) if found.error else None
        yield CertificateFact(number, found.name, found.domains, state, ports, is_asked, error)
    for coming in after_all(snapshot, of.changes).certificates or ():
        if coming.id < 0:
            yield CertificateFact(None, coming.name, coming.domains, "to be created", (), asked_for=True)


def explain_targets(of: ServiceView) -> Iterator[TargetFact]:
    """Each Node in the order of names, then the targets of the load balancer that are no Node's."""
    lb, balancer, then, snapshot = of.lb, of.balancer, of.then, of.facts.snapshot
    there, later = balancer.targets if balancer else (), then.targets if then else ()
    first = {target.name: target for target in reversed(there)}
    planned = {change.key.parts[-1]: change for change in of.changes if change.kind is ChangeKind.LB_TARGET}
    create = of.first(ChangeKind.LB_CREATE)

    def line(
        subject: str, server: ServerKey | None, names: Collection[str], why: str, membership: Membership | None = None
    ) -> TargetFact:
        before, after = ([target for target in side if target.name in names] for side in (there, later))
        if membership is Membership.TARGET and not before and not after:
            why = rules.TARGET_UNPLANNED.text(target=why)
        value, wanted = (", ".join(_address(target, snapshot) for target in side) or None for side in (before, after))
        number, provider = (server.id, server.provider) if server else (None, None)
        return TargetFact(subject, membership, number, value, wanted, _health(balancer, before), why, provider)

    if isinstance(lb, LoadBalancerRelease):
        nodes = {server_key(node.provider_id): node.name for node in snapshot.nodes}
        why = (rules.STAYS_WITH if then else rules.GOES_WITH).text()
        for name in dict.fromkeys(target.name for target in there):
            target = first[name]
            server = ServerKey(Provider.CLOUD, target.server_id) if isinstance(target, ServerTarget) else None
            yield line(nodes.get(server, name), server, (name,), why)
    elif lb is not None:
        led_to = {name: lb.targets.candidates.server_of(target) for name, target in first.items()}
        for member in lb.targets.members:
            names = {member.target.name} if member.target else set()
            names |= {name for name, server in led_to.items() if server is not None and server == member.server}
            change = next((planned[name] for name in sorted(names) if name in planned), create)
            why = (member.told.text if member.told else member.why) + if_withheld(change)
            yield line(member.node, member.server, names, why, member.membership)
        claimed = {member.server for member in lb.targets.members}
        for name in dict.fromkeys(target.name for target in there):
            server = led_to[name]
            if server is not None and server in claimed:
                continue
            change = planned.get(name)
            left = rules.TARGET_LEFT.text(server=server.name) if server else rules.LEFT_ALONE.text()
            yield line(name, server, (name,), change.reason + if_withheld(change) if change else left)


def _health(balancer: CloudBalancer | None, targets: Iterable[Target]) -> Health | None:
    """The worst that the load balancer says of these; None where it says nothing."""
    checks = balancer.checks if balancer else {}
    said = {health for target in targets for health in checks.get(target, {}).values()}
    return next((health for health in (Health.UNHEALTHY, Health.UNKNOWN, Health.HEALTHY) if health in said), None)


def _address(target: Target, snapshot: Snapshot) -> str:
    """The address of a target; what it is called, where that is not known."""
    if not isinstance(target, ServerTarget):
        return target.name
    server = snapshot.servers.items.get(target.server_id)
    if target.use_private_ip:
        network = snapshot.network.value if isinstance(snapshot.network, Present) else None
        places = dict(server.private_ips) if server else {}
        return str((places.get(network.id) if network else None) or "its private address")
    outside = ip_address(target.ipv6) if target.ipv6 else server.ipv4 if server else None
    return str(outside or "its public address")
