"""Observation of both APIs: a snapshot for the first pass of a chain, and what is read again for each other one."""

from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from actuators.http.connection import ClockBounds
from actuators.http.errors import ApiError
from actuators.http.hetzner import HetznerReader
from actuators.http.kubernetes import KubernetesReader
from actuators.http.robot import RobotLogin
from actuators.unlisted import UnlistedBalancers
from actuators.wire.certificate import CERTIFICATES
from actuators.wire.load_balancer import BALANCERS
from actuators.wire.node import NODES
from actuators.wire.service import SERVICES
from desired.load_balancers.certificates import uses_certificates
from desired.load_balancers.matching import BalancerMatch, match_balancers
from desired.load_balancers.ownership import matters
from desired.load_balancers.primary_ips import asked_primary_ips
from desired.load_balancers.size import wanted_types
from desired.model.clocks import NO_OTHER_CLOCKS, Clocks
from desired.model.key import ObjectKind
from desired.model.load_balancer import BalancerType, CloudBalancer
from desired.model.route import Route
from desired.model.service import Service
from desired.model.settings import Controller, Settings
from desired.model.snapshot import REGISTERED_AGAIN, Node, Readiness, Snapshot
from desired.nodes.matching import nodes_of
from desired.nodes.out_of_service import needs_attachments
from desired.plan.kinds import KINDS
from desired.routes.owners import asks_for_members
from desired.section import Absent, Present, Section, Unknown
from desired.syntax.provider_id import Provider
from desired.unselected import servers_beyond_selector
from reconciler.observe.caches import Catalogue, Currency, LeftBehind
from reconciler.observe.kubernetes import (
    look_up_memory,
    observe_cluster_uid,
    observe_controllers,
    observe_volume_attachments,
)
from reconciler.observe.networks import FoundNetwork, observe_members, observe_network
from reconciler.observe.primary_ips import PrimaryIps
from reconciler.observe.robot import RobotCache
from reconciler.observe.servers_by_id import Confirmer, observe_servers, read_by_id

_PARALLEL = 7
"""Everything that does not wait for the Services, and then what does."""


@dataclass(frozen=True, slots=True)
class Robot:
    """The readers of the Robot account."""

    cache: RobotCache
    confirmer: Confirmer

    def use_login(self, login: RobotLogin) -> None:
        """Use other credentials from the next call on, and forget what was said to the last ones: the account may be
        another one. May be called from any thread."""
        self.cache.use_login(login)
        self.confirmer.forget()


@dataclass(frozen=True, slots=True)
class Readers:
    """The readers of a pass."""

    kubernetes: KubernetesReader
    hetzner: HetznerReader
    confirmer: Confirmer
    unlisted: UnlistedBalancers = field(default_factory=UnlistedBalancers)
    catalogue: Catalogue = field(default_factory=Catalogue)
    currency: Currency = field(default_factory=Currency)
    primary_ips: PrimaryIps = field(default_factory=PrimaryIps)
    left: LeftBehind = field(default_factory=LeftBehind)
    robot: Robot | None = None
    """None when Robot is not enabled, or has no credentials."""
    wall: Callable[[], float] | None = None
    """This machine's clock, in seconds since the epoch; None where it is irrelevant, as with a file."""

    def begin(self) -> None:
        """A reading begins: what clocks show is compared within it."""
        self.kubernetes.dates.begin()
        self.hetzner.dates.begin()

    @property
    def clocks(self) -> Clocks:
        """The differences of the clocks, by the answers of this reading."""
        base, other = self.kubernetes.dates.seen, self.hetzner.dates.seen
        if base is None:
            return NO_OTHER_CLOCKS
        shown = None if self.wall is None else self.wall() - self.kubernetes.dates.now
        return Clocks(
            None if other is None else timedelta(seconds=other.ahead_of_s(base)),
            None if shown is None else timedelta(seconds=ClockBounds(shown, shown).ahead_of_s(base)),
            timedelta(seconds=base.jump_s),
        )


@dataclass(frozen=True, slots=True)
class Observation:
    """A snapshot, and for each part that could not be read as it should be, why."""

    snapshot: Snapshot
    failures: Mapping[str, ApiError] = field(default_factory=dict)
    """Part (``servers``, ``network``, ``members``, ``services``, ``load_balancers``, ``certificates``,
    ``load_balancer_types``, ``robot``) → the error behind it."""
    matches: Mapping[str, BalancerMatch] | None = None
    """Id of a Service → which load balancer is its (``match_balancers``); None where that was not decided yet."""


def look(readers: Readers, settings: Settings, namespace: str | None = None) -> Observation:
    """Everything that a chain's first pass plans from. Other controllers are looked for in ``namespace``, that of the
    Lease; None: not at all. Raises an ApiError when the Nodes cannot be listed."""
    return _with_details(readers, settings, observe_world(readers, settings, namespace))


def look_again(readers: Readers, before: Observation, settings: Settings, kinds: frozenset[str]) -> Observation:
    """The same after a pass with changes of these ``kinds``. Raises an ApiError when Nodes cannot be read."""
    return _with_details(readers, settings, observe_again(readers, before, settings, kinds))


def observe_world(readers: Readers, settings: Settings, lease_namespace: str | None = None) -> Observation:
    """Read everything, once. Raises an ApiError when the Nodes cannot be listed: nothing can be decided without them.

    It is no error here that Hetzner is unreachable: its sections are incomplete, and the guards know what depends on
    that. Nor is a list of Services that cannot be read: Nodes can do without, and what depends on Services waits. Other
    controllers are looked for in ``lease_namespace``; None: not at all.
    """
    services: Section[str, Service] | None = None
    error: ApiError | None = None
    readers.begin()
    with readers.hetzner.concurrency.pool(_PARALLEL, "observe") as pool:
        nodes = pool.submit(NODES.observe, readers.kubernetes)
        uid = pool.submit(observe_cluster_uid, readers.kubernetes)
        servers = pool.submit(observe_servers, readers.hetzner, settings.server_selector)
        network = pool.submit(observe_network, readers.hetzner, settings.network)
        robot = pool.submit(readers.robot.cache.read) if readers.robot else None
        others = pool.submit(observe_controllers, readers.kubernetes, lease_namespace) if lease_namespace else None
        is_on = Controller.SERVICE in settings.controllers
        # To report those that wait in vain. The permission is not needed for that.
        unserved = None if is_on else pool.submit(_services, readers)
        if is_on:
            services, error, _ = _services(readers)
        reads = _begin(pool, readers, services, settings)
    node_section, taken_at = nodes.result()
    server_section, servers_error = servers.result()
    found, cluster_uid = network.result(), uid.result()
    in_vain, unread, _ = unserved.result() if unserved else (None, None, None)
    if isinstance(found.network, Absent) and lease_namespace:
        found = _as_remembered(found, readers, lease_namespace, cluster_uid)
    snapshot = Snapshot(
        taken_at,
        cluster_uid,
        node_section,
        server_section,
        found.network,
        routes=_of_interest(found.routes, settings),
        services=services,
        serving=settings.serving,
        unserved=None if unread else in_vain,
        robot=robot.result().account if robot else None,
        controllers=others.result() if others else None,
        clocks=readers.clocks,
    )
    of_robot = robot.result().error if robot else None
    errors = {"servers": servers_error, "network": found.error, "services": error, "robot": of_robot}
    failures = _failures({}, errors)
    observed = _with_members(readers, settings, _finish(readers, settings, Observation(snapshot, failures), reads))
    if not _needs_balancers(readers, services, settings):  # listed for what is left behind, and there is nothing
        observed = replace(observed, snapshot=replace(observed.snapshot, load_balancers=None))
    return observed


def observe_again(readers: Readers, before: Observation, settings: Settings, kinds: frozenset[str]) -> Observation:
    """``before`` with all that changes of these ``kinds`` touch read anew. Raises an ApiError when Nodes cannot be.

    Nodes and Services that have appeared since are left for the next chain: the rest was read before there were any of
    them. Nor are servers read anew, which takes a request for 50 of them: what is changed in a network is in the
    network; nor are other controllers looked for. The time is that of the newest reading of the cluster, and the list
    of Robot servers is as old as it is by now.
    """
    old = before.snapshot
    touched = frozenset(KINDS[kind].object for kind in kinds)
    node_section, services, error = old.nodes, old.services, before.failures.get("services")
    moments: list[datetime] = []
    readers.begin()
    with readers.hetzner.concurrency.pool(_PARALLEL, "observe") as pool:
        nodes = pool.submit(NODES.observe, readers.kubernetes) if ObjectKind.NODE in touched else None
        is_rerouted = ObjectKind.ROUTE in touched
        network = pool.submit(observe_network, readers.hetzner, _named(old, settings)) if is_rerouted else None
        # What is read again in any case does not wait for what the Services want by now.
        reads = dict(_begin(pool, readers, None, settings, before=old, touched=touched))
        if ObjectKind.SERVICE in touched and services is not None:
            found, error, read_at = _services(readers)
            services = _without_latecomers(services, found)
            moments += [read_at] if read_at else []
        reads |= _begin(pool, readers, services, settings, before=old)
    if nodes is not None:
        found_nodes, read_at = nodes.result()
        node_section = _with_returned(node_section, _without_latecomers(node_section, found_nodes), found_nodes)
        moments.append(read_at)
    taken_at = max(moments, default=old.taken_at)
    # Clocks that differed once differ for the whole chain: what was read by a wrong one may still stand.
    clocks = old.clocks if old.clocks.differ else readers.clocks
    robot = readers.robot.cache.aged(old.robot) if readers.robot and old.robot else old.robot
    snapshot = replace(old, nodes=node_section, services=services, robot=robot, taken_at=taken_at, clocks=clocks)
    failures = _failures(before.failures, {"services": error})
    if network is None:
        return _finish(readers, settings, Observation(snapshot, failures), reads)
    found_network = network.result()
    routes = _of_interest(found_network.routes, settings)
    snapshot = replace(snapshot, network=found_network.network, routes=routes)
    observation = Observation(snapshot, _failures(failures, {"network": found_network.error}))
    return _with_members(readers, settings, _finish(readers, settings, observation, reads))


def _with_details(readers: Readers, settings: Settings, observation: Observation) -> Observation:
    """``observation`` with the Primary IPs that Services ask for, whether the Robot servers of silent Nodes are on,
    and the VolumeAttachments where a Node may be out of service."""
    snapshot, matches = observation.snapshot, match_balancers(observation.snapshot)
    if "load_balancers" not in observation.failures:  # an API that has just failed is not asked for more
        asked = asked_primary_ips(snapshot, settings, matches)
        snapshot = replace(snapshot, primary_ips=readers.primary_ips.look_up(readers.hetzner, snapshot, asked))
    if readers.robot is not None and snapshot.robot is not None:
        silent = silent_robot_servers(snapshot, settings)
        snapshot = replace(snapshot, robot=readers.robot.cache.with_power(snapshot.robot, silent))
    attached = observe_volume_attachments(readers.kubernetes) if needs_attachments(snapshot, settings) else None
    snapshot = replace(snapshot, volume_attachments=attached)
    return replace(observation, snapshot=snapshot, matches=matches)


def _as_remembered(
    found: FoundNetwork, readers: Readers, namespace: str, cluster_uid: Present[str] | Unknown
) -> FoundNetwork:
    """The network whose id the cluster remembers, if HCLOUD_NETWORK has another name; ``found`` if there is none."""
    memory = look_up_memory(readers.kubernetes, namespace, cluster_uid)
    if isinstance(memory, Unknown) or memory.network is None:
        return found
    remembered = observe_network(readers.hetzner, str(memory.network))
    return remembered if isinstance(remembered.network, Present) else found


def _named(before: Snapshot, settings: Settings) -> str | None:
    """The network by which a chain goes on: that of its first reading, whatever its name."""
    network = before.network.value if isinstance(before.network, Present) else None
    return (
        settings.network if network is None or settings.network in (network.name, str(network.id)) else str(network.id)
    )


def _services(readers: Readers) -> tuple[Section[str, Service], ApiError | None, datetime | None]:
    """The Services, the error that kept them from being read, and the API server's time when they were."""
    try:
        section, read_at = SERVICES.observe(readers.kubernetes)
    except ApiError as error:
        return Section.missing(str(error)), error, None
    return section, None, read_at


def _begin(
    pool: Executor,
    readers: Readers,
    services: Section[str, Service] | None,
    settings: Settings,
    *,
    before: Snapshot | None = None,
    touched: Collection[ObjectKind] = (),
) -> Mapping[str, Future[Any]]:
    """Part → its reading: of what some Service needs, and of what was read ``before`` and changes have touched."""
    found, defaults = tuple(services or ()), settings.balancer_defaults
    reads: dict[str, Future[Any]] = {}
    needs_balancers = _needs_balancers(readers, services, settings)
    # What was not read yet is read when it is needed, and what was when it is no longer true.
    old_balancers, old_certificates = (before.load_balancers, before.certificates) if before else (None, None)
    is_due = needs_balancers if old_balancers is None else ObjectKind.LOAD_BALANCER in touched
    if is_due:
        reads["load_balancers"] = pool.submit(_balancers, readers, old_balancers)
    used = any(uses_certificates(service, settings.serving, defaults) for service in found)
    is_due = used if old_certificates is None else ObjectKind.CERTIFICATE in touched
    if is_due:
        reads["certificates"] = pool.submit(CERTIFICATES.observe, readers.hetzner)
    return reads


def _balancers(
    readers: Readers, before: Section[int, CloudBalancer] | None
) -> tuple[Section[int, CloudBalancer], ApiError | None]:
    """All load balancers, with those that a look before a write has found, and the error that made the list
    incomplete."""
    listed, error = BALANCERS.observe(readers.hetzner)
    return readers.unlisted.joined(readers.hetzner, listed, before), error


def _needs_balancers(readers: Readers, services: Iterable[Service] | None, settings: Settings) -> bool:
    """Whether something depends on load balancers: a Service, or that some may be left behind."""
    found = tuple(services or ())
    may_be_left = services is not None and readers.left.may_be
    return may_be_left or any(matters(service, settings.serving) for service in found)


def _of_interest(routes: Section[str, Route] | None, settings: Settings) -> Section[str, Route] | None:
    """The routes where routes are managed: otherwise nothing depends on them, and they are no gap."""
    return routes if settings.routed_range is not None else None


def _finish(
    readers: Readers, settings: Settings, observation: Observation, reads: Mapping[str, Future[Any]]
) -> Observation:
    """``observation`` with what was read for the sake of Services, and the types that they ask for."""
    results = {part: read.result() for part, read in reads.items()}
    sections: dict[str, Any] = {part: section for part, (section, _) in results.items()}
    snapshot = replace(observation.snapshot, **sections)
    readers.left.saw(snapshot)
    failures = _failures(observation.failures, {part: error for part, (_, error) in results.items()})
    gap = failures.get("load_balancers")
    types, error = _types(readers, settings, snapshot, gap)
    observed = Observation(replace(snapshot, balancer_types=types), _failures(failures, {"load_balancer_types": error}))
    return _beyond_selector(readers, settings, observed)


def _beyond_selector(readers: Readers, settings: Settings, observation: Observation) -> Observation:
    """``observation`` with those servers that a selector has left out of the list and on which something depends; else
    as it is, without a request."""
    snapshot, reader = observation.snapshot, readers.hetzner
    while snapshot.servers.read_by_key is not None and snapshot.servers.complete:
        lacking = servers_beyond_selector(snapshot, settings)
        if lacking is None:
            servers, error = observe_servers(reader, None)
            failures = _failures(observation.failures, {"servers": error})
            return replace(observation, snapshot=replace(snapshot, servers=servers), failures=failures)
        if not lacking:
            break
        snapshot = replace(snapshot, servers=read_by_id(reader, snapshot.servers, sorted(lacking)))
    return replace(observation, snapshot=snapshot)


def silent_robot_servers(snapshot: Snapshot, settings: Settings) -> frozenset[int]:
    """Numbers of the Robot servers of which something depends on whether they are on: their Nodes are not Ready."""
    if Controller.LIFECYCLE not in settings.controllers:
        return frozenset()
    nodes = nodes_of(Provider.ROBOT, snapshot, settings)
    return frozenset(key.id for node, key in nodes if node.ready is not Readiness.TRUE)


def _with_members(readers: Readers, settings: Settings, observation: Observation) -> Observation:
    """``observation`` with the members of the network, as far as something depends on them; else as it is.

    They are read anew each time, as the removal of a route has no other proof that its gateway has no owner.
    """
    snapshot, failures = observation.snapshot, observation.failures
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    if network is None or not asks_for_members(snapshot, settings):
        return observation
    if "servers" in failures:  # an API that has just failed is not asked for more
        return replace(observation, snapshot=replace(snapshot, members=Section.missing(str(failures["servers"]))))
    members, error = observe_members(readers.hetzner, network.id)
    failures = _failures(failures, {"members": error})
    return replace(observation, snapshot=replace(snapshot, members=members), failures=failures)


def _types(
    readers: Readers, settings: Settings, snapshot: Snapshot, gap: ApiError | None
) -> tuple[Mapping[str, BalancerType] | Unknown, ApiError | None]:
    """The load balancer types that are needed: the catalog is read only for one that no load balancer has."""
    services, balancers = snapshot.services, snapshot.load_balancers
    if services is None or balancers is None:
        return {}, None
    present = {balancer.type.name: balancer.type for balancer in balancers}
    wanted = wanted_types(services, balancers, settings.serving, settings.balancer_defaults) - present.keys()
    if not wanted:
        return present, None
    if gap is not None:  # an API that has just failed is not asked for more
        return Unknown(str(gap)), None
    found, error = readers.catalogue.look_up(readers.hetzner, wanted, snapshot.taken_at)
    return (found if isinstance(found, Unknown) else {**found, **present}), error


class _Identified(Protocol):
    @property
    def uid(self) -> str: ...


V = TypeVar("V", bound=_Identified)


def _without_latecomers(first: Section[str, V], now: Section[str, V]) -> Section[str, V]:
    """``now`` without what was not there when the chain began. What could not be read then, or may have been missed,
    is still not known to be absent."""
    known = {item.uid for item in first}
    names = first.items.keys() | first.unreadable.keys()
    items = {key: item for key, item in now.items.items() if item.uid in known or key in first.unreadable}
    unreadable = {key: why for key, why in now.unreadable.items() if key in names}
    why = now.why_incomplete or first.why_incomplete
    return replace(now, items=items, unreadable=unreadable, complete=why is None, why_incomplete=why)


def _with_returned(first: Section[str, Node], left: Section[str, Node], now: Section[str, Node]) -> Section[str, Node]:
    """``left``, to which each Node is unknown that registered again ``now`` under its name: were it absent, its server
    would be that of no Node, and its target would go."""
    again = now.items.keys() & first.items.keys() - left.items.keys()
    return replace(left, unreadable={**left.unreadable, **dict.fromkeys(again, REGISTERED_AGAIN)})


def _failures(before: Mapping[str, ApiError], now: Mapping[str, ApiError | None]) -> Mapping[str, ApiError]:
    """``before`` with what is known of the parts that were read ``now``."""
    kept = {part: error for part, error in before.items() if part not in now}
    return kept | {part: error for part, error in now.items() if error is not None}
