"""Desired load balancer of each Service that wants one, put together from the rules of the other modules.

An existing load balancer keeps values that no option decides. A wrong annotation stops its own options alone.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from desired.annotations.choices import Protocol
from desired.annotations.claims import check_claim
from desired.annotations.options import OPTIONS, BadAnnotation, Options
from desired.annotations.port_keys import is_of_port
from desired.annotations.reading import Requested
from desired.annotations.warnings import AnnotationWarning
from desired.load_balancers.certificates import DesiredCertificates, desired_certificates
from desired.load_balancers.in_use import kept
from desired.load_balancers.lifecycle import LoadBalancerRelease, may_be_released, release
from desired.load_balancers.listeners import (
    desired_listeners,
    filled,
    ports_without_node_port,
    possible_listeners,
    spoken_by,
)
from desired.load_balancers.matching import (
    Adoptable,
    BalancerMatch,
    Contested,
    Foreign,
    Missing,
    Owned,
    Undecided,
    match_balancers,
)
from desired.load_balancers.network import (
    attachment_problems,
    is_settled,
    network_id,
    notes_on_subnet,
    notes_out_of_reach,
    wanted_attachment,
    way_network,
    why_out_of_reach,
    zone_of,
    zones_of_locations,
)
from desired.load_balancers.notes import (
    name_problems,
    notes_on_hidden_targets,
    notes_on_kept,
    notes_on_marks,
    notes_on_match,
    notes_on_name,
    notes_on_place,
    notes_on_problems,
    notes_on_public_interface,
    notes_on_targets,
)
from desired.load_balancers.orphans import Orphan, left_certificates, orphans
from desired.load_balancers.ownership import (
    asked_name,
    former_of,
    owner_here,
)
from desired.load_balancers.primary_ips import (
    AT_CREATION,
    NO_CHOICE,
    PrimaryIpChoice,
    chosen_primary_ips,
    notes_on_choice,
    notes_on_primary_ips,
)
from desired.load_balancers.size import Demand, Size, fitting_size, larger_type
from desired.load_balancers.targets import (
    DesiredTargets,
    TargetCache,
    TargetCandidates,
    count_targets,
)
from desired.model.key import Key, ObjectKind
from desired.model.load_balancer import (
    Attachment,
    CloudBalancer,
    IpTarget,
    Listener,
    LoadBalancer,
    ServerTarget,
    Target,
    is_private,
    labels_with,
)
from desired.model.service import Service
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.nodes.node import DesiredNode
from desired.plan.notes import Note, NoteKind
from desired.rules import load_balancers as rows
from desired.rules.rule import Reason
from desired.section import UNMANAGED, Unmanaged
from desired.syntax.bounds import NO_NAMES, Several, several


@dataclass(frozen=True, slots=True)
class DesiredLoadBalancer:
    """A Service that wants a load balancer, and everything that was decided on it."""

    service: Service
    requested: Requested
    options: Options
    """The same without wrong ones, for a load balancer that is there."""
    match: BalancerMatch
    wanted: LoadBalancer | None
    """None when nothing may be planned: too little is known, or what is asked for cannot be made."""
    size: Size
    certificates: DesiredCertificates
    targets: DesiredTargets
    problems: tuple[BadAnnotation, ...] = ()
    """The mistakes: no load balancer is created or adopted, and one that is there keeps their options."""
    unclear: frozenset[str] = frozenset()
    """Fields of the options that cannot be read, or cannot be had."""
    remarks: tuple[AnnotationWarning, ...] = ()
    """Warnings about the Service: values without effect, unknown annotations, what Hetzner cannot do."""
    notes: tuple[Note, ...] = ()
    primary_ips: PrimaryIpChoice = NO_CHOICE
    """The public addresses with which it is created."""
    held_back: frozenset[int] = frozenset()
    """Ports that stay as they are, there or not: an annotation names a port that the Service lacks, and may mean them.
    """
    name: str | None = None
    """By which it is looked for, and created; None when the annotation cannot be read."""
    without_node_port: tuple[int, ...] = ()
    """TCP ports that have still to get a port on the Nodes."""
    failed: frozenset[str] = frozenset()
    """Keys of changes, of whatever object, that failed and are not due yet."""
    switched: Mapping[Target, ServerTarget | IpTarget] = field(default_factory=dict)
    """Target that is there → the same server by the way that a default asks for."""

    @property
    def present(self) -> CloudBalancer | None:
        """The load balancer that is compared with ``wanted``; None when one has to be created, or none is known."""
        return None if isinstance(self.match, Missing | Undecided) else self.match.balancer

    @property
    def ends_private(self) -> bool:
        """Whether its own targets are all reached by private addresses in the end."""
        return self.options.use_private_ip is True or any(map(is_private, self.switched.values()))

    def why_unchanged(self, port: int, there: Listener | None) -> Reason:
        """Why nothing is planned for a port of which no note tells. ``there`` is what its load balancer does there."""
        stays = (rows.PORT_NOT_PLANNED if there is None else rows.PORT_STAYS).because()
        if self.wanted is None or port in self.held_back or isinstance(self.match, Foreign | Contested):
            return stays
        if port in self.without_node_port:
            allocates = self.service.claim.allocates_node_ports
            return (rows.PORT_AWAITS_NODE_PORT if allocates else rows.PORT_WITHOUT_NODE_PORT).because()
        protocol = self.requested.of_port(port).options.protocol
        if protocol is Protocol.HTTPS and (there is None or there.protocol is not Protocol.HTTPS):
            cause = "; ".join(note.text for note in self.certificates.of_port(port).notes)
            return rows.PORT_WITHOUT_CERTIFICATE.because(cause=cause)
        return stays if there is None else rows.PORT_AS_ASKED.because()


def desired_load_balancer(
    service: Service,
    match: BalancerMatch,
    snapshot: Snapshot,
    settings: Settings,
    cache: TargetCache,
    zones: Mapping[str, str],
    rivals: Several = NO_NAMES,
    failed: frozenset[str] = frozenset(),
) -> DesiredLoadBalancer:
    """The desired load balancer of ``service``. ``match`` has its own load balancer, ``rivals`` the other Services that
    ask for the same private address. ``zones`` are network zones by locations, ``failed`` keys of changes that are not
    due yet."""
    defaults = settings.balancer_defaults
    present = None if isinstance(match, Missing | Undecided) else match.balancer
    requested = service.claim.requested(defaults)
    options, bad = requested.options, requested.bad
    there = {port: spoken_by(listener) for port, listener in present.spec.listeners.items()} if present else {}
    is_created = present is None and not isinstance(match, Undecided)
    chosen = chosen_primary_ips(options, snapshot) if is_created else NO_CHOICE
    zone = zone_of(options, chosen.location, present, zones)
    out_of_reach = why_out_of_reach(present, snapshot, zone)
    check = check_claim(
        service.claim,
        defaults,
        has_network=settings.network is not None,
        is_created=is_created,
        is_settled=is_settled(options, present, snapshot),
        there=there,
    )
    problems = [
        *(problem for problem in check.problems if is_created or problem.key not in AT_CREATION),
        *chosen.problems,
        *attachment_problems(options, present, snapshot, rivals, out_of_reach),
        *name_problems(options, snapshot),
    ]
    wrong = {problem.key for problem in problems}
    unclear = frozenset(field for field, row in OPTIONS.items() if wrong & {row.full_key, row.variable})
    keeps_way = present is not None and _keeps_way(requested, unclear, present, snapshot)
    if present is None:
        effective, options = requested, replace(options, use_private_ip=options.use_private_ip is True)
    else:
        effective = _usable(requested, wrong).beside(there, {port.port for port in service.claim.tcp_ports})
        if keeps_way:
            members = cache.candidates(service, effective.options, present, zone)
            effective = _reached_as_most(effective, present, members, snapshot)
        options = effective.options
    certificates = desired_certificates(service, effective, snapshot)
    members = cache.candidates(service, options, present, zone)
    held_back = _held_back(requested, problems, service, present)
    asked_for = desired_listeners(service, effective, certificates, present).items()
    ports = {port: listener for port, listener in asked_for if port not in held_back}
    demand = Demand(len(ports), count_targets(members, present), certificates.needed)
    place = chosen.location if isinstance(options.location, Unmanaged) else options.location
    size, larger = fitting_size(options, present, demand, snapshot, place), larger_type(demand, snapshot)
    most = size.type.max_targets if size.type else None
    targets = cache.desired(members, present, most, _without_room(service, larger))
    switched: Mapping[Target, ServerTarget | IpTarget] = {}
    if present is not None and requested.is_by_default("use_private_ip") and "use_private_ip" not in unclear:
        asked = requested.options.use_private_ip is True
        others = cache.candidates(service, replace(options, use_private_ip=asked), present, zone)
        switched = _switched(members, others, present, private=asked)
    serving = DesiredLoadBalancer(
        service,
        requested,
        options,
        match,
        None,
        size,
        certificates,
        targets,
        tuple(problems),
        unclear,
        check.remarks,
        primary_ips=chosen,
        held_back=held_back,
        name=None if "name" in unclear else asked_name(service),
        without_node_port=ports_without_node_port(service),
        failed=failed,
        switched=switched,
    )
    plan = _Planned(serving, ports, snapshot, larger, is_out=out_of_reach is not None, keeps_way=keeps_way)
    wanted: LoadBalancer | None = None
    why: tuple[Note, ...] = ()
    if present is None:
        wanted, why = plan.to_create(place)
    elif isinstance(match, Owned) or not problems:
        wanted, why = plan.to_change(present)
    stay = present is not None and bool(present.targets) and wanted is not None and wanted.targets is UNMANAGED
    on_targets = notes_on_targets(service, options, targets, present, snapshot) if size.type else ()
    notes = (
        *(Note(service.key, NoteKind.UNSUPPORTED, each.text, each.port, each.lack) for each in check.remarks),
        *notes_on_problems(service, problems, match.balancer.spec.listeners if isinstance(match, Owned) else ()),
        *((size.problem.note(service.key),) if size.problem else ()),
        *certificates.notes,
        *notes_on_match(service, match),
        *notes_out_of_reach(service, options, present, out_of_reach),
        *(
            notes_on_choice(service, chosen)
            if present is None
            else notes_on_primary_ips(service, options, bad, present, snapshot)
        ),
        *why,
        *(note for note in on_targets if not (stay and note.kind is NoteKind.NO_TARGETS)),
    )
    return replace(serving, wanted=wanted, notes=notes)


def _without_room(service: Service, larger: str) -> str:
    """The remedy if the type takes fewer targets than there are Nodes."""
    remedy = f"choose {larger}, or Nodes by {OPTIONS['node_selector'].full_key}"
    is_partial = "; with externalTrafficPolicy Local, pods on Nodes without a target get no traffic"
    return remedy + is_partial if service.claim.is_local else remedy


def _keeps_way(requested: Requested, unclear: Collection[str], present: CloudBalancer, snapshot: Snapshot) -> bool:
    """Whether newcomers are reached as most targets are: no annotation decides, or it asks for a network in which the
    load balancer is not yet, as HCLOUD_NETWORK alone moves it there."""
    if "use_private_ip" in unclear or not requested.is_annotated("use_private_ip"):
        return True
    places, network = {place.network_id for place in present.attachments}, network_id(snapshot)
    is_asked = requested.options.use_private_ip is True
    return is_asked and bool(places) and network is not None and network not in places


def _usable(requested: Requested, wrong: Collection[str]) -> Requested:
    """What counts at a load balancer that is there, while these annotations and variables are wrong: the same as if
    nothing set what they do. A redirect may be at one port alone, so that none is moved while one is wrong."""
    redirects = {way.key("http_redirect_http") for way in (requested, *requested.ways)}
    usable = requested.without({*wrong, *redirects} if redirects & set(wrong) else wrong)
    return replace(usable, options=replace(usable.options, use_private_ip=usable.options.use_private_ip is True))


def _reached_as_most(
    requested: Requested, present: CloudBalancer, members: TargetCandidates, snapshot: Snapshot
) -> Requested:
    """The same with the way of most targets: of Nodes that stay and answer, else of those that stay, else of all.
    Without any it is private if there is no other way, and unchanged if nothing tells. ``members`` say which stay, by
    either way: if those that go counted, their removal could turn the way."""
    own: list[Target] = [target for target in present.targets if isinstance(target, ServerTarget)]
    if addresses := [target for target in present.targets if isinstance(target, IpTarget)]:
        of_nodes = snapshot.node_addresses  # those of others say nothing of the way
        own += [target for target in addresses if target.ip in of_nodes]
    staying = members.existing(present.targets).staying
    own = [target for target in own if target in staying] or own
    own = [target for target in own if present.answers(target)] or own
    if not own and not (present.attachments and present.spec.public_interface is False):
        return requested
    private = not own or 2 * sum(map(is_private, own)) > len(own)
    return replace(requested, options=replace(requested.options, use_private_ip=private))


def _switched(
    found: TargetCandidates, asked: TargetCandidates, present: CloudBalancer, *, private: bool
) -> Mapping[Target, ServerTarget | IpTarget]:
    """Target that is there → the same server by the way that is ``asked``, of those that are reached otherwise."""
    servers = found.existing(present.targets).servers.items()
    others = {
        target: asked.usable[key]
        for target, key in servers
        if is_private(target) is not private and key in asked.usable
    }
    return {target: other for target, other in others.items() if is_private(other) is private}


def _held_back(
    requested: Requested, problems: Collection[BadAnnotation], service: Service, present: CloudBalancer | None
) -> frozenset[int]:
    """The ports that stay as they are, there or not. A new one waits while it is not known what clients are to speak,
    or while an annotation of a port that the Service lacks may mean it. A listener at such a port stays."""
    ports, there = {port.port for port in service.claim.tcp_ports}, present.spec.listeners if present else {}
    new, wrong = ports - there.keys(), {problem.key for problem in problems}
    lacking = {problem.port for problem in problems if problem.port is not None} - ports
    if lacking or any(problem.port is None and is_of_port(problem.key) for problem in problems):
        return frozenset(lacking | new)
    ways = {port: requested.of_port(port) for port in new}
    return frozenset(
        port for port, way in ways.items() if any(not way.keys(name).isdisjoint(wrong) for name in _ON_CLIENTS)
    )


@dataclass(frozen=True)
class _Planned:
    """What ``wanted`` of a load balancer follows from."""

    serving: DesiredLoadBalancer
    ports: Mapping[int, Listener]
    snapshot: Snapshot
    larger: str
    """Which type takes more."""
    is_out: bool
    """Whether it cannot be attached to the network."""
    keeps_way: bool
    """Whether targets that are there stay as they are reached: no annotation of the Service alone asks for another way.
    """

    def to_create(self, place: str | None) -> tuple[LoadBalancer | None, tuple[Note, ...]]:
        """The load balancer to create; None when that would go wrong, or may not be (``match``)."""
        serving, size, chosen = self.serving, self.serving.size.type, self.serving.primary_ips
        service, options = serving.service, serving.options
        if serving.problems or chosen.unknown or size is None or isinstance(serving.match, Undecided):
            return None, ()
        certificates, holds = serving.certificates, size.max_services
        listeners, notes = possible_listeners(service, self.ports, {}, holds, certificates, self.larger)
        hidden = tuple(notes_on_hidden_targets(service, options, None, public=self._public))
        no_targets = hidden or (self.is_out and options.use_private_ip)
        return LoadBalancer(
            name=asked_name(service),
            labels=labels_with({}, owner_here(service, self.snapshot)),
            type=size.name,
            location=place,
            zone=None if chosen.location or isinstance(options.network_zone, Unmanaged) else options.network_zone,
            algorithm=options.algorithm_type,
            public_interface=self._public,
            primary_ipv4=chosen.ipv4.id if chosen.ipv4 else UNMANAGED,
            primary_ipv6=chosen.ipv6.id if chosen.ipv6 else UNMANAGED,
            attachment=self._attachment,
            ipv4_rdns=options.ipv4_rdns,
            ipv6_rdns=options.ipv6_rdns,
            listeners=listeners,
            targets=frozenset() if no_targets else self._targets,
            former=former_of(service) if may_be_released(serving.requested) else None,
        ), (*notes, *hidden)

    def to_change(self, present: CloudBalancer) -> tuple[LoadBalancer, tuple[Note, ...]]:
        """The desired state of an existing load balancer; what is not asked for stays as it is, and so do targets while
        the network through which they are asked for is one that it is not in, and does not join."""
        serving, spec, size = self.serving, present.spec, self.serving.size.type or present.type
        service, options, match = serving.service, serving.options, serving.match
        complete = {port: filled(wanted, spec.listeners.get(port)) for port, wanted in self.ports.items()}
        certificates, holds = serving.certificates, size.max_services
        listeners, notes = possible_listeners(
            service, complete, spec.listeners, holds, certificates, self.larger, serving.held_back
        )
        listeners, hindered = _beside_kept_redirect(service, listeners, spec.listeners)
        is_outside = not present.attachments and not isinstance(self._attachment, Attachment)
        targets = UNMANAGED if is_outside and options.use_private_ip else self._targets
        if self.keeps_way and not isinstance(targets, Unmanaged):
            targets = self._joined(targets, present)
        taken = tuple(notes_on_name(service, options, present, self.snapshot))
        stays = bool(taken) or (isinstance(match, Owned) and match.why_not_renamed is not None)
        # Those that go need it until then, where nothing says that others are reached without it.
        there = targets if targets is UNMANAGED or options.use_private_ip else {*targets, *present.targets}
        if serving.ends_private and not isinstance(there, Unmanaged):
            there, options = there - serving.switched.keys(), replace(options, use_private_ip=True)
        needed = tuple(notes_on_public_interface(service, options, present, there))
        public = UNMANAGED if needed else self._public
        ends_as = spec.public_interface if isinstance(public, Unmanaged) else public
        hidden = tuple(notes_on_hidden_targets(service, options, present, public=ends_as))
        unasked = (
            kept(serving.requested, options, present, self.ports, listeners)
            if isinstance(match, Owned | Adoptable)
            else ()
        )
        return LoadBalancer(
            name=spec.name if isinstance(options.name, Unmanaged) or stays else options.name,
            labels=labels_with(spec.labels, owner_here(service, self.snapshot, present.owner)),
            type=size.name,
            location=spec.location,
            zone=spec.zone,
            algorithm=options.algorithm_type,
            public_interface=public,
            attachment=self._attachment,
            ipv4_rdns=options.ipv4_rdns,
            ipv6_rdns=options.ipv6_rdns,
            listeners=listeners,
            targets=UNMANAGED if hidden else targets,
        ), (
            *notes,
            *hindered,
            *taken,
            *hidden,
            *(() if targets is UNMANAGED else needed),
            *notes_on_place(service, options, present),
            *notes_on_subnet(service, options, present, self.snapshot),
            *notes_on_kept(service, unasked),
        )

    def _joined(self, wanted: frozenset[Target], present: CloudBalancer) -> frozenset[Target]:
        """The targets while no annotation says how they are to be reached: ``wanted`` by the way of most, and servers
        that are reached otherwise as they are, but for what is to go however it is reached."""
        candidates, private = self.serving.targets.candidates, self.serving.options.use_private_ip
        otherwise = [t for t in candidates.existing(present.targets).staying if is_private(t) is not private]
        if not otherwise:
            return wanted
        server_of, there = candidates.server_of, frozenset(present.targets)
        twice = set() if self.serving.switched else set(map(server_of, there & wanted))
        kept = {target for target in otherwise if server_of(target) not in twice}
        served = set(map(server_of, kept))
        return frozenset(kept | {target for target in wanted if target in there or server_of(target) not in served})

    @property
    def _public(self) -> bool | Unmanaged:
        disabled = self.serving.options.disable_public_network
        return UNMANAGED if isinstance(disabled, Unmanaged) else not disabled

    @property
    def _attachment(self) -> Attachment | Unmanaged | None:
        is_kept = self.is_out or not self.serving.unclear.isdisjoint(_ON_PLACE)
        wanted = UNMANAGED if is_kept else wanted_attachment(self.serving.options, self.snapshot)
        return UNMANAGED if wanted is None and self.serving.present is not None else wanted

    @property
    def _targets(self) -> frozenset[Target] | Unmanaged:
        """UNMANAGED for targets by private address while the network cannot be read."""
        is_unread = self.serving.options.use_private_ip and way_network(self.serving.present, self.snapshot) is None
        return UNMANAGED if is_unread else self.serving.targets.targets


def _beside_kept_redirect(
    service: Service, wanted: Mapping[int, Listener], present: Mapping[int, Listener]
) -> tuple[Mapping[int, Listener], tuple[Note, ...]]:
    """The listeners without a new port 80 that a redirect takes: Hetzner has that port once. A redirect that is asked
    for beside port 80 is a problem of the annotations, so this one is kept."""
    redirects = next((port for port, each in wanted.items() if each.http and each.http.redirect_http is True), None)
    if 80 not in wanted or 80 in present or redirects is None:
        return wanted, ()
    others = {port: listener for port, listener in wanted.items() if port != 80}
    return others, (rows.PORT_TAKEN_BY_REDIRECT.note(service.key, port=80, secure=redirects),)


_ON_CLIENTS = (
    "protocol",
    "uses_proxyprotocol",
    "http_redirect_http",
    "http_certificates",
    "certificate_type",
    "http_managed_certificate_name",
    "http_managed_certificate_domains",
)
"""Options that decide what clients and pods of a port have to speak."""
_ON_PLACE = ("use_private_ip", "disable_public_network", "private_ipv4", "private_subnet_ip_range")
"""Options that need a network, or choose an address in it: the load balancer stays where it is while one is wrong."""

DesiredServices = Mapping[str, DesiredLoadBalancer | LoadBalancerRelease]
"""Id of a Service → what was decided on its load balancer, or on its release."""


@dataclass(frozen=True, slots=True)
class DesiredBalancers:
    """Everything that was decided on load balancers."""

    matches: Mapping[str, BalancerMatch] = field(default_factory=dict)
    """Id of each Service that wants a load balancer, or has to release one → the match."""
    services: DesiredServices = field(default_factory=dict)
    """Id of each of these → its desired load balancer or release."""
    orphans: tuple[Orphan, ...] = ()
    """Load balancers of this cluster that no Service wants, vanished ones among them."""
    notes: tuple[Note, ...] = ()
    """On what is left alone."""


def desired_load_balancers(
    snapshot: Snapshot,
    settings: Settings,
    nodes: Mapping[str, DesiredNode],
    matches: Mapping[str, BalancerMatch] | None = None,
    failed: frozenset[str] = frozenset(),
) -> DesiredBalancers:
    """What was decided on the load balancers of all Services, and on those that no Service wants.

    ``nodes`` is what the Nodes will be: a target is planned from the providerID that a Node will have. ``matches`` are
    those of this snapshot; None: they are made here. ``failed`` are keys of changes that are not due yet.
    """
    if snapshot.services is None:
        return DesiredBalancers()
    desired: dict[str, DesiredLoadBalancer | LoadBalancerRelease] = {}
    unreadable = snapshot.services.unreadable
    notes = [Note(Key(ObjectKind.SERVICE, key), NoteKind.UNREADABLE, why) for key, why in unreadable.items()]
    if matches is None:
        matches = match_balancers(snapshot)
    notes += notes_on_marks(snapshot, matches)
    asked = _private_addresses(snapshot.services, settings)
    zones, cache = zones_of_locations(snapshot), TargetCache(snapshot, nodes, settings)
    for key, match in matches.items():
        service = snapshot.services.items[key]
        if snapshot.serving.wants(service):
            rivals = asked.get(key, NO_NAMES).besides(key)
            desired[key] = desired_load_balancer(service, match, snapshot, settings, cache, zones, rivals, failed)
        else:
            desired[key] = release(service, match, settings)
        notes += desired[key].notes
    found = orphans(snapshot, matches, settings.balancer_defaults)
    for orphan in found:
        balancer = orphan.balancer
        if orphan.is_vanished or orphan.is_of_another_class:
            continue
        cause = orphan.reason.text
        notes.append(rows.ORPHANED.note(balancer.key, balancer=balancer.id, name=balancer.spec.name, cause=cause))
    for left in left_certificates(snapshot):
        key = Key(ObjectKind.CERTIFICATE, f"#{left.id}")
        notes.append(rows.CERTIFICATE_LEFT.note(key, certificate=left.id, name=left.name))
    return DesiredBalancers(matches, desired, found, tuple(notes))


def _private_addresses(services: Iterable[Service], settings: Settings) -> Mapping[str, Several]:
    """Id of each Service that asks for a private address → all who ask for that one."""
    asked: dict[object, list[str]] = {}
    for service in services:
        if settings.serving.wants(service):
            address = service.claim.requested(settings.balancer_defaults).options.private_ipv4
            if not isinstance(address, Unmanaged):
                asked.setdefault(address, []).append(service.id)
    together = map(several, asked.values())
    return {key: asking for asking in together for key in asking.names}
