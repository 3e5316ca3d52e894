"""Rows of one Service: its load balancer and labels, published addresses, conditions, ports, targets, annotations."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from ipaddress import ip_address

from desired.annotations.options import ON_LISTENERS, OPTIONS, Option
from desired.annotations.reading import Origin, Requested
from desired.explain.rows import Explanation, Part, Row, View, if_withheld
from desired.health.state import ObjectState
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.in_use import in_use, of_listener, shown
from desired.load_balancers.lifecycle import LoadBalancerRelease
from desired.load_balancers.matching import Adoptable, Contested, Foreign, FoundBy, Owned, Undecided
from desired.load_balancers.membership import Membership
from desired.load_balancers.ownership import said_by_labels
from desired.load_balancers.published import source_of
from desired.model.clocks import shown_moment
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    NO_LIMIT,
    CloudBalancer,
    Listener,
    ServerTarget,
    Target,
    worst_of,
)
from desired.model.service import TYPE_LOAD_BALANCER, Service
from desired.model.serving import Serving
from desired.model.snapshot import Snapshot
from desired.names import CONDITIONS, LABEL_CLUSTER_UID
from desired.plan.change import Verdict
from desired.plan.foresight import after_all, balancer_after_all, service_after
from desired.plan.kinds import ChangeKind
from desired.plan.ordering import in_order
from desired.rules import explanations as rules
from desired.rules import load_balancers as rows
from desired.rules.rule import Reason, Rule
from desired.section import UNMANAGED, Present, Unmanaged, grouped
from desired.syntax.provider_id import Provider, ServerKey, server_key


@dataclass(frozen=True)
class ServiceView(View):
    """A Service with a load balancer to have or to release, and the decisions on it."""

    service: Service
    lb: DesiredLoadBalancer | LoadBalancerRelease
    health: ObjectState | None

    @cached_property
    def balancer(self) -> CloudBalancer | None:
        """The load balancer that is its own, or that it is about to adopt; None without one."""
        return self.lb.match.balancer if isinstance(self.lb.match, Owned | Adoptable) else None

    @cached_property
    def then(self) -> CloudBalancer | None:
        """The same once its changes are made."""
        return balancer_after_all(self.balancer, self.changes, self.facts.snapshot)


def explain_service(of: View, service: Service, health: ObjectState | None) -> Explanation:
    """The explanation of a Service. Of one on which nothing was decided, that it is another's, or needs nothing."""
    lb = of.facts.desired.services.get(service.id)
    if lb is None:
        found = [_left_alone(service, of.facts.snapshot.serving), *_addresses(of, service, None)]
        return of.explanation(found, service.keys, Provider.CLOUD)
    view = ServiceView(of.key, of.plan, of.facts, of.results, service, lb, health)
    found = [
        *_match(view),
        *_finalizers(view),
        *_owner(view),
        *_addresses(view, service, view.balancer),
        *_conditions(view),
        *_ports(view),
        *(_targets(view, lb) if isinstance(lb, DesiredLoadBalancer) else _targets_left(view)),
        *_certificates(view),
        *_annotations(view),
    ]
    return view.explanation(found, service.keys, Provider.CLOUD)


def _left_alone(service: Service, serving: Serving) -> Row:
    state, said = "foreign", rows.OF_NO_CLASS.because()
    if service.load_balancer_class not in (None, serving.balancer_class):
        said = rows.OF_ANOTHER_CONTROLLER.because(cls=str(service.load_balancer_class))
    elif service.type != TYPE_LOAD_BALANCER:
        state, said = "unclaimed", rows.WANTS_NONE.because(type=service.type)
    elif service.load_balancer_class == serving.balancer_class:
        state, said = "unclaimed", rows.NEVER_CLAIMED.because()
    return Row.of(Part.LOAD_BALANCER, "match", None, None, said, state=state)


def _match(of: ServiceView) -> Iterator[Row]:
    """The match by which the Service has its load balancer, or none; then facts of it, or of one that is another's."""
    lb, label = of.lb, of.facts.snapshot.serving.label
    match lb.match:
        case Foreign(reason=said) | Contested(reason=said) | Undecided(said):
            state = "ambiguous" if said.rule is rows.SEVERAL_BALANCERS else type(lb.match).__name__.lower()
        case Adoptable(by=by):
            state, said = "adoptable", _FOUND_BY[by].because()
        case Owned():
            state, said = "owned", rules.OWN_BY_LABEL.because()
        case _:
            state, said = "missing", rules.NONE_LABELLED.because(label=label)
            if isinstance(lb, DesiredLoadBalancer) and lb.name is not None:
                said = rules.NONE_NAMED.because(label=label, name=lb.name)
    there, then = ({} if side is None else _described(side) for side in (of.balancer, of.then))
    change = of.first(ChangeKind.LB_CREATE, ChangeKind.LB_DELETE)
    yield Row.of(Part.LOAD_BALANCER, "match", there.get("id"), then.get("id"), said, change, state)
    if isinstance(lb, LoadBalancerRelease) and of.balancer:
        state, said = ("released", lb.why_retained) if lb.why_retained else ("deleted", rules.DELETED_WITH.because())
        yield Row.of(Part.LOAD_BALANCER, "end", None, None, said, state=state)
    if isinstance(lb.match, Foreign | Contested) and lb.match.balancer:
        there = then = _described(lb.match.balancer)
        yield Row.fact(Part.LOAD_BALANCER, "nearest", there["id"], there["id"])
    for name in dict.fromkeys((*there, *then)):
        if name != "id":
            yield Row.fact(Part.LOAD_BALANCER, name, there.get(name), then.get(name))


_FOUND_BY: Mapping[FoundBy, Rule] = {
    "label": rules.FOUND_BY_FORMER,
    "name": rules.FOUND_BY_NAME,
    "address": rules.FOUND_BY_ADDRESS,
}


def _described(balancer: CloudBalancer) -> Mapping[str, str]:
    """Field → the present value, of what a person knows a load balancer by."""
    spec, kind, off = balancer.spec, balancer.type, "" if balancer.spec.public_interface else " (switched off)"
    addresses = [f"{address}{off}" for address in (balancer.ipv4, balancer.ipv6) if address]
    places = [place for place in balancer.attachments if not isinstance(place.ip, Unmanaged)]
    addresses += [f"{place.ip} in network {place.network_id}" for place in places]
    return {
        "id": str(balancer.id) if balancer.id > 0 else KNOWN_AFTER_APPLY.value,
        "name": spec.name,
        "type": f"{kind.name} in {spec.location or spec.zone}",
        "ports": _out_of(len(spec.listeners), kind.max_services),
        "targets": _out_of(len(balancer.targets), kind.max_targets),
        **({"addresses": ", ".join(addresses)} if addresses else {}),
        **({"protection": "against deletion"} if balancer.is_protected else {}),
    }


def _out_of(number: int, limit: int) -> str:
    return f"{number}" if limit == NO_LIMIT else f"{number} of {limit}"


def _finalizers(of: ServiceView) -> Iterator[Row]:
    """The finalizers that a Service which goes waits for; of one with a class, the class and ours."""
    service, serving = of.service, of.facts.snapshot.serving
    if serving.balancer_class is not None:
        given, ours = service.load_balancer_class, serving.finalizer
        yield Row.of(Part.LOAD_BALANCER, "spec.loadBalancerClass", given, given, rules.CLASS_SERVED.because())
        there = ours if ours in service.finalizers else None
        yield Row.of(Part.LOAD_BALANCER, "metadata.finalizers", there, ours, rules.FINALIZER_OF_CLASS.because())
    others = ", ".join(name for name in service.finalizers if name != serving.finalizer)
    if others and service.deleted_at is not None:
        yield Row.of(Part.LOAD_BALANCER, "other finalizers", others, others, rules.FINALIZERS.because())


def _owner(of: ServiceView) -> Iterator[Row]:
    """The labels that name the owner, with their meaning."""
    balancer, world = of.balancer, of.facts.snapshot
    if isinstance(of.lb.match, Foreign | Contested):
        balancer = of.lb.match.balancer
    if balancer is None:
        return
    then = balancer_after_all(balancer, of.changes, world) or balancer  # it keeps its labels until it is deleted
    change = of.first(ChangeKind.LB_ADOPT, ChangeKind.LB_RETAIN, ChangeKind.LB_IDENTITY)
    there, later = balancer.spec.labels, then.spec.labels
    says, will_say = (said_by_labels(side, of.service, world) for side in (there, later))
    for key, now in says.items():
        value, wanted = there.get(key), later.get(key)
        if value != wanted:
            said = now if wanted is None else will_say[key]
            yield Row.of(Part.LABELS, key, value, wanted, said, change)
        elif value is not None or key in (world.serving.label, LABEL_CLUSTER_UID):
            yield Row.of(Part.LABELS, key, value, wanted, now)


def _addresses(of: View, service: Service, balancer: CloudBalancer | None) -> Iterator[Row]:
    """The published addresses in their order, and after these the ones that come."""
    there, wanted = service.ingress, reduce(service_after, in_order(of.changes), service).ingress
    change = of.first(ChangeKind.SERVICE_STATUS, ChangeKind.SERVICE_RELEASE)
    for entry in dict.fromkeys((*there, *wanted)):
        mode, ports = f" ({entry.ip_mode})" if entry.ip_mode else "", ", with ports" if entry.has_ports else ""
        text, kind = f"{entry.ip or entry.hostname or ''}{mode}{ports}", "Hostname" if entry.ip is None else "IP"
        value, later = (text if entry in side else None for side in (there, wanted))
        yield Row.of(Part.ADDRESSES, kind, value, later, source_of(entry, balancer), None if value == later else change)
    if change and change.after is KNOWN_AFTER_APPLY:
        yield Row.planned(Part.ADDRESSES, "IP", None, KNOWN_AFTER_APPLY.value, change)


def _conditions(of: ServiceView) -> Iterator[Row]:
    """The conditions in their order, then those that a planned write takes along."""
    carriers = [each for each in of.changes if each.is_known and each.decision.verdict is Verdict.ALLOWED]
    coming = {condition.type: condition for each in carriers for condition in each.conditions}
    there = {condition.type: condition for condition in of.service.conditions}
    for kind in dict.fromkeys((*there, *coming)):
        found, due = there.get(kind), coming.get(kind, there.get(kind))
        value, wanted = (f"{side.status} {side.reason}".rstrip() if side else None for side in (found, due))
        if kind not in CONDITIONS:
            yield Row.of(Part.CONDITIONS, kind, value, wanted, rules.LEFT_ALONE.because())
            continue
        since = f", since {shown_moment(found.since)}" if found and found.since and value == wanted else ""
        yield Row.fact(Part.CONDITIONS, kind, value, wanted, (due.message if due else "") + since)


def _ports(of: ServiceView) -> Iterator[Row]:
    """Each port that the Service or its load balancer has, by number; then those that are not balanced."""
    lb, planned, notes = of.lb, {each.key: each for each in of.changes}, of.notes_on(of.service.keys)
    there, later = (side.spec.listeners if side else {} for side in (of.balancer, of.then))
    create = of.first(ChangeKind.LB_CREATE)
    told = {note.port: note for note in reversed(notes) if note.port and note.lack is None}
    lacking = {note.port: note for note in notes if note.lack}
    health = {each.port: f"{each.healthy}/{each.targets} healthy" for each in (of.health.ports if of.health else ())}
    claimed = set() if isinstance(lb, LoadBalancerRelease) else {port.port for port in lb.service.claim.tcp_ports}
    for number in sorted(claimed | there.keys()):
        name, state, key = str(number), health.get(number), lb.service.balancer_key.part("listener", number)
        value, wanted = (shown_listener(side[number]) if number in side else None for side in (there, later))
        if change := planned.get(key):
            shown_wanted = f"{wanted}, otherwise" if value == wanted else wanted
            yield Row.planned(Part.PORTS, name, value, shown_wanted, change, state)
        elif create and wanted:
            yield Row.of(Part.PORTS, name, value, wanted, rules.COMES_WITH.because(), create)
        elif note := told.get(number):
            yield Row(Part.PORTS, name, value, wanted, note.kind, note.text, state=state)
        else:
            yield Row.of(Part.PORTS, name, value, wanted, _unchanged(of, number, there), state=state)
    for port in lb.service.claim.ports if claimed else ():
        if port.protocol != "TCP" and (note := lacking.get(port.port)):
            yield Row(Part.PORTS, f"{port.port}/{port.protocol}", None, None, note.kind, note.text)


def _unchanged(of: ServiceView, port: int, there: Mapping[int, Listener]) -> Reason:
    """Why a port has no change of its own."""
    if isinstance(of.lb, LoadBalancerRelease):
        return (rules.STAYS_WITH if of.then else rules.GOES_WITH).because()
    is_left_out = of.lb.service.balancer_key.part("listener", port) in of.facts.planned
    return rows.PORT_NOT_PLANNED.because() if is_left_out else of.lb.why_unchanged(port, there.get(port))


def shown_listener(listener: Listener) -> str:
    """A listener in short."""
    text = f"{listener.protocol} to node port {listener.destination_port}"
    if listener.http and listener.http.certificates is KNOWN_AFTER_APPLY:
        return f"{text}, with a certificate that is to come"
    ids = ", ".join(map(str, listener.certificate_ids))
    return f"{text}, certificate{'' if len(listener.certificate_ids) == 1 else 's'} {ids}" if ids else text


def _targets(of: ServiceView, lb: DesiredLoadBalancer) -> Iterator[Row]:
    """Each Node in the order of names, then the targets of the load balancer that are no Node's."""
    there, server_of = of.balancer.targets if of.balancer else (), lb.targets.candidates.server_of
    planned = {each.key.parts[-1]: each for each in of.changes if each.kind is ChangeKind.LB_TARGET}
    led_to, create = {target.name: server_of(target) for target in there}, of.first(ChangeKind.LB_CREATE)
    for member in lb.targets.members:
        names = {member.target.name} if member.target else set()
        names |= {name for name, server in led_to.items() if server is not None and server == member.server}
        change = next((planned[name] for name in sorted(names) if name in planned), create)
        said, remedy = member.told or member.reason, member.told.advice if member.told else member.remedy
        row = Row(Part.TARGETS, member.node, None, None, said.rule.name, said.says + if_withheld(change), remedy)
        yield _reached(of, row, names, member.membership)
    claimed = {member.server for member in lb.targets.members}
    for name in dict.fromkeys(target.name for target in there):
        server = led_to[name]
        if server is not None and server in claimed:
            continue
        left = rules.TARGET_LEFT.because(server=server.name) if server else rules.LEFT_ALONE.because()
        row = Row.of(Part.TARGETS, name, None, None, left)
        if change := planned.get(name):
            row = Row.planned(Part.TARGETS, name, None, None, change)
        yield _reached(of, row, {name})


def _targets_left(of: ServiceView) -> Iterator[Row]:
    """The targets of a load balancer that is released or deleted, by their Nodes."""
    said = (rules.STAYS_WITH if of.then else rules.GOES_WITH).because()
    nodes = {server_key(node.provider_id): node.name for node in of.facts.snapshot.nodes}
    for target in of.balancer.targets if of.balancer else ():
        server = ServerKey(Provider.CLOUD, target.server_id) if isinstance(target, ServerTarget) else None
        subject = nodes.get(server, target.name) if server else target.name
        yield _reached(of, Row.of(Part.TARGETS, subject, None, None, said), {target.name})


def _reached(of: ServiceView, row: Row, names: Collection[str], membership: Membership | None = None) -> Row:
    """The row with the addresses of the targets of these names, now and then, and with their health."""
    there, later = (side.targets if side else () for side in (of.balancer, of.then))
    before, after = ([target for target in side if target.name in names] for side in (there, later))
    value, wanted = (", ".join(_address(each, of.facts.snapshot) for each in side) for side in (before, after))
    return replace(row, value=value or None, wanted=wanted or None, state=_health(of.balancer, before) or membership)


def _health(balancer: CloudBalancer | None, targets: list[Target]) -> str | None:
    """The worst that the load balancer says of these; None if it says nothing."""
    checks = balancer.checks if balancer else {}
    worst = worst_of({health for target in targets for health in checks.get(target, {}).values()})
    return worst.value if worst else None


def _address(target: Target, snapshot: Snapshot) -> str:
    """The address of a target; its name if that is not known."""
    if not isinstance(target, ServerTarget):
        return target.name
    server = snapshot.servers.items.get(target.server_id)
    if target.use_private_ip:
        network = snapshot.network.value if isinstance(snapshot.network, Present) else None
        places = dict(server.private_ips) if server else {}
        return str((places.get(network.id) if network else None) or "its private address")
    outside = ip_address(target.ipv6) if target.ipv6 else server.ipv4 if server else None
    return str(outside or "its public address")


def _certificates(of: ServiceView) -> Iterator[Row]:
    """Every certificate that the Service uses or asks for, by id, and the one to create last."""
    snapshot, listeners = of.facts.snapshot, sorted(of.balancer.spec.listeners.items()) if of.balancer else ()
    used = grouped((number, str(port)) for port, listener in listeners for number in listener.certificate_ids)
    asked = of.lb.certificates.asked if isinstance(of.lb, DesiredLoadBalancer) else frozenset()
    for number in sorted(asked | used.keys()):
        found = snapshot.certificates.items.get(number) if snapshot.certificates else None
        state = "not read" if found is None else f"managed, {found.issuance.value}" if found.issuance else "uploaded"
        name, error = (found.name, f"{found.error}; " if found.error else "") if found else (None, "")
        use = f"used by port {', '.join(used[number])}" if number in used else "not used"
        why = f"{error}{use}{'' if number in asked else ', not requested'}"
        yield Row(Part.CERTIFICATES, str(number), name, name, None, why, state=state)
    for coming in after_all(snapshot, of.changes).certificates or ():
        if coming.id < 0:
            why = f"for {', '.join(coming.domains)}"
            yield Row(Part.CERTIFICATES, "new", None, coming.name, ChangeKind.CERTIFICATE_CREATE, why)


def _annotations(of: ServiceView) -> Iterator[Row]:
    """Each option in the order of the table, then those of single ports. Of a Service that goes the deletion policy."""
    asked, balancer = of.lb.requested, of.balancer
    if isinstance(of.lb, LoadBalancerRelease):
        yield _annotation(of, OPTIONS["deletion_policy"], asked, None)
        return
    for row in OPTIONS.values():
        yield _annotation(of, row, asked, in_use(row.name, balancer) if balancer else None)
    for way in asked.ports.values():
        listener = balancer.spec.listeners.get(way.port) if balancer and way.port else None
        for row in (OPTIONS[name] for name in OPTIONS if name in way.own):
            there = of_listener(row.name, listener) if listener and row.name in ON_LISTENERS else UNMANAGED
            yield _annotation(of, row, way, None if there in (None, UNMANAGED) else shown(row.name, there))


def _annotation(of: ServiceView, row: Option, asked: Requested, there: str | None) -> Row:
    """One option: its value, the annotation or variable behind it, else its default; what is wrong with it; and the
    value that the load balancer has, if it differs."""
    is_of_port = row.name in asked.own
    key = asked.key(row.name) if is_of_port else row.full_key
    origin = Origin.ANNOTATION if is_of_port else asked.origin(row.name)
    understood = origin is not Origin.UNSET and row.name not in asked.bad
    value: object = getattr(asked.options, row.name) if understood else UNMANAGED
    text = None if value is UNMANAGED else shown(row.name, value)
    said: Reason = rules.OPTION_ASKED.because()
    if origin is Origin.UNSET:
        said = rules.OPTION_UNSET.because(default=row.when_unset.replace("`", ""))
    elif origin is Origin.ENVIRONMENT:
        said = rules.OPTION_BY_VARIABLE.because(variable=str(row.variable))
    lb, keys = of.lb, asked.keys(row.name)
    problems = lb.problems if isinstance(lb, DesiredLoadBalancer) else tuple(asked.bad.values())
    remarks = lb.remarks if isinstance(lb, DesiredLoadBalancer) else ()
    wrong = [problem.text for problem in problems if problem.key in keys]
    odd = [remark.text for remark in remarks if remark.key == key]
    has = [f"the load balancer has {there or repr('')}"] if there is not None and there != text else []
    why = "; ".join([*(wrong or [said.says]), *odd, *has])
    return Row(Part.ANNOTATIONS, key, text, text, said.rule.name, why, state="wrong" if wrong else origin)
