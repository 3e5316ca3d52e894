"""Construction of a run: the only module that knows the concrete classes, and that decides whether a run may write.

In a dry run no object that is able to write is ever constructed, and both connections refuse every method but GET.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from socket import gethostname

from actuators.apply import Actuator
from actuators.approvals import ApprovalUses
from actuators.concurrency import THREADS, Concurrency
from actuators.config_maps import ConfigMap
from actuators.http import hetzner, kubernetes
from actuators.http.actions import Actions
from actuators.http.errors import Broken
from actuators.http.kubeconfig import ConnectionProblem
from actuators.http.lists import page_of
from actuators.http.retry import NO_PATIENCE, Patience, Retry, RetryBudget
from actuators.http.robot import Refusals, RobotReader
from actuators.lanes import UnderWay
from actuators.nodes import NODE_ACTUATORS, NodeTask, write_sync_condition
from actuators.routes import ROUTE_ACTUATORS, RouteTask
from actuators.services import SERVICE_ACTUATORS, ServiceTask, write_conditions
from actuators.unlisted import UnlistedBalancers
from actuators.wire.lease import Leases
from actuators.wire.server import SERVERS, selector_text
from actuators.writers import Writers
from desired.model.remembered import RefusedLogin
from desired.model.settings import Policy
from desired.model.snapshot import Snapshot
from desired.names import APPLICATION
from desired.plan.change import Change
from desired.plan.grants import Grant, Source
from desired.section import Unknown
from reconciler import __version__
from reconciler.config.config import Config, Mode
from reconciler.leader_election.elector import Elector
from reconciler.leader_election.leadership import Leadership, NoElection
from reconciler.observe.caches import LeftBehind
from reconciler.observe.robot import RobotCache
from reconciler.observe.servers_by_id import Confirmer
from reconciler.observe.world import Readers, Robot
from reconciler.passes.context import ApplyContext, PlanContext, Progress
from reconciler.passes.records import Records, unkept
from reconciler.permissions import missing_permissions, needed
from reconciler.result import Report
from reconciler.telemetry.conditions import ConditionSink, NodeConditionSink
from reconciler.telemetry.events import EventSink, NullRecorder

_USER_AGENT = f"{APPLICATION}/{__version__}"


@dataclass(frozen=True, slots=True)
class Connections:
    """The parts of a run that may write. ``events`` has to be closed at the end, and then ``leader``."""

    apply_context: ApplyContext
    events: EventSink
    leader: Leadership
    cluster: kubernetes.KubernetesConnection
    cloud: hetzner.HetznerConnection
    permission_gaps: Callable[[threading.Event], Iterator[str]]
    """A line for each permission that is missing, as it is found out. Raises an ApiError."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts of a run. ``connections`` are what a run writes with; None in a dry run."""

    plan_context: PlanContext
    connections: Connections | None = None
    concurrency: Concurrency = THREADS


def build_runtime(
    config: Config,
    stop: threading.Event,
    progress: Progress,
    concurrency: Concurrency = THREADS,
    *,
    host: str | None = None,
) -> Runtime:
    """The parts of a run as configured, on a machine of this name; None: as it is called. Raises ConnectionProblem when
    the cluster, or a file, cannot be used."""
    read_only = config.mode is Mode.DRY_RUN
    if config.captured is not None:
        from reconciler.capture.offline import readers_of  # noqa: PLC0415 - a controller need not pay for it
        from reconciler.capture.world_file import read_world  # noqa: PLC0415

        context = _plan_context(readers_of(read_world(config.captured)), config)
        return Runtime(replace(context, records=unkept(config.settings)))
    leader = NoElection() if read_only else leadership(config, concurrency)
    cloud = open_cloud(config, stop, concurrency, read_only=read_only, gate=leader.may_write)
    cloud_reader = hetzner.HetznerReader(cloud)
    if read_only:  # to import the client of the cluster takes longer than the answer; others wait for the lead first
        cloud_reader.read_ahead(page_of(SERVERS.path, selector=selector_text(config.settings.server_selector)))
    cluster = open_cluster(config, stop, concurrency, read_only=read_only, gate=leader.may_write)
    cluster_reader = kubernetes.KubernetesReader(cluster)
    # A run of ``--once``, which may come every minute, lists load balancers for Services alone.
    left = LeftBehind(looks_first=config.mode is not Mode.ONCE or config.asks or bool(config.approved))
    acts = not read_only and config.settings.policy is not Policy.OBSERVE
    put_by = kubernetes.KubernetesWriter(cluster) if acts else None
    own = config_map(config, cluster_reader, put_by, host)
    account = open_robot(config, stop, own, concurrency)
    robot = robot_readers(config, account)
    wall = concurrency.wall_clock
    unlisted = UnlistedBalancers(own.read_record)
    readers = Readers(
        cluster_reader, cloud_reader, Confirmer(cloud_reader), unlisted, left=left, robot=robot, wall=wall
    )
    records = Records(own, config.settings, lasts=config.mode is Mode.LOOP)
    plan_context = replace(_plan_context(readers, config, cluster.context), records=records)
    if read_only:
        return Runtime(plan_context, concurrency=concurrency)
    leader.when_lost(records.forget)
    writer = kubernetes.KubernetesWriter(cluster)
    actions = Actions(cloud_reader, stop)
    writers = Writers(cloud_reader, hetzner.HetznerWriter(cloud), actions, cluster_reader, unlisted)
    events = EventSink(writer, concurrency)
    actuators = actuators_with(writer, writers, account)
    is_outside = bool(cluster.context)  # a person's kubeconfig may make ConfigMaps, and no role of ours may
    uses = ApprovalUses(own, cluster_reader, config.lease_namespace, creates=is_outside)
    leader.when_lost(uses.forget)
    conditions = ConditionSink(partial(write_conditions, writer), concurrency, tells_health=config.health_conditions)
    write_node = partial(write_sync_condition, writer)
    apply_context = ApplyContext(
        actuators,
        uses,
        events if acts else NullRecorder(),
        progress,
        stop,
        conditions,
        node_conditions=NodeConditionSink(write_node, concurrency, tells_sync=config.node_conditions),
        under_way=UnderWay(concurrency, may_leave=False),
    )
    connections = Connections(apply_context, events, leader, cluster, cloud, partial(permission_gaps, config))
    return Runtime(plan_context, connections, concurrency)


def config_map(
    config: Config,
    reader: kubernetes.KubernetesReader,
    writer: kubernetes.KubernetesWriter | None = None,
    host: str | None = None,
) -> ConfigMap:
    """The controller's ConfigMap, beside the Lease; without ``writer`` it is only read. Writes are signed with
    ``host``, None: with the machine's name."""
    return ConfigMap.of(reader, config.lease_namespace, writer, gethostname() if host is None else host)


def leadership(config: Config, concurrency: Concurrency = THREADS) -> Leadership:
    """Leadership: by the Lease, over a connection of its own that waits for nothing. Raises ConnectionProblem."""
    if not config.takes_lease:
        return NoElection()
    own = open_beside(config, concurrency)
    leases = Leases(
        kubernetes.KubernetesReader(own),
        kubernetes.KubernetesWriter(own),
        config.lease_namespace,
        config.lease_name,
    )
    return Elector(
        leases,
        config.timings,
        clock=concurrency.boot_clock,
        wall_clock=concurrency.now,
        beside=concurrency.start,
        closing=concurrency.event(),
    )


def open_beside(config: Config, concurrency: Concurrency = THREADS) -> kubernetes.KubernetesConnection:
    """A connection to the cluster for what no Lease decides on, and what must not wait. Raises ConnectionProblem."""
    return kubernetes.connect(
        config.kubeconfig,
        config.context,
        user_agent=_USER_AGENT,
        retry=Retry(concurrency.event(), NO_PATIENCE, concurrency=concurrency),
        timeout_s=config.timings.call_timeout_s,
        read_only=False,
    )


def _plan_context(readers: Readers, config: Config, context: str = "") -> PlanContext:
    flagged = tuple(Grant(Source.FLAG, hold_hash) for hold_hash in config.approved)
    told = Report(context=context, approve_flags=config.approve_flags, detail=config.detail, next_step=config.next_step)
    return PlanContext(readers, config.settings, config.lease_namespace, flagged, blank=told)


def permission_gaps(config: Config, stop: threading.Event) -> Iterator[str]:
    """A line for each permission that a controller needs and lacks, as it is found out, until ``stop`` is set. Raises
    an ApiError when that cannot be asked for."""
    acts = config.settings.policy is not Policy.OBSERVE
    lease = config.lease_name if config.takes_lease else None
    rights = needed(config.settings, acts=acts, watches=True, lease=lease)
    try:
        writer = kubernetes.KubernetesWriter(open_beside(config))
    except ConnectionProblem as error:
        raise Broken(str(error)) from error
    yield from missing_permissions(writer, rights, config.lease_namespace, stop)


def open_cluster(
    config: Config,
    stop: threading.Event,
    concurrency: Concurrency = THREADS,
    *,
    read_only: bool,
    gate: Callable[[], None] = lambda: None,
) -> kubernetes.KubernetesConnection:
    """The connection to the cluster alone; ``gate`` is asked before each write. Raises ConnectionProblem."""
    return kubernetes.connect(
        config.kubeconfig,
        config.context,
        user_agent=_USER_AGENT,
        retry=_retry(config, stop, concurrency),
        timeout_s=config.request_timeout_s,
        read_only=read_only,
        gate=gate,
    )


def open_cloud(
    config: Config,
    stop: threading.Event,
    concurrency: Concurrency = THREADS,
    *,
    read_only: bool,
    gate: Callable[[], None] = lambda: None,
) -> hetzner.HetznerConnection:
    """The connection to the project alone; ``gate`` is asked before each write."""
    return hetzner.connect(
        config.token,
        config.endpoint,
        application=(APPLICATION, __version__),
        retry=_retry(config, stop, concurrency),
        timeout_s=config.request_timeout_s,
        read_only=read_only,
        gate=gate,
    )


def open_robot(
    config: Config,
    stop: threading.Event,
    own: ConfigMap,
    concurrency: Concurrency = THREADS,
) -> RobotReader | None:
    """The reader of the Robot account; None where Robot is not enabled, or has no credentials. ``own`` has the
    log-ins that were refused."""
    if config.robot_login is None:
        return None
    return RobotReader(
        config.robot_login,
        endpoint=config.robot_endpoint,
        user_agent=_USER_AGENT,
        retry=Retry(stop, Patience(attempts=2, deadline_s=config.request_timeout_s), concurrency=concurrency),
        timeout_s=config.request_timeout_s,
        pause_s=config.robot_pause_s,
        refusals=refusals_in(own, concurrency.now),
    )


def refusals_in(own: ConfigMap, now: Callable[[], datetime]) -> Refusals:
    """The refused log-ins of the record, of whichever cluster: its UID is not known yet."""

    def read() -> Iterable[RefusedLogin]:
        found = own.read_record()
        if isinstance(found, Unknown):
            raise Broken(found.why)
        return found.value.refused

    def note(login: RefusedLogin) -> None:
        own.change_record(lambda record: record.refusing(login), None, now())

    return Refusals(read, note if own.change is not None else None, now)


def robot_readers(config: Config, account: RobotReader | None) -> Robot | None:
    """What a pass reads the account with; None where there is none."""
    if account is None:
        return None
    return Robot(RobotCache(account, config.robot_max_age, account.concurrency.clock), Confirmer(account))


def _retry(config: Config, stop: threading.Event, concurrency: Concurrency) -> Retry:
    """The retries of calls to one API. A call with all its tries may take as long as two answers that never come; a
    loop, which begins anew by itself, tries less while nothing goes through."""
    budget = RetryBudget() if config.mode is Mode.LOOP else None
    return Retry(stop, Patience(deadline_s=2 * config.request_timeout_s), budget, concurrency=concurrency)


def actuators_with(
    writer: kubernetes.KubernetesWriter, writers: Writers, robot: RobotReader | None
) -> Mapping[str, Actuator]:
    """Kind of change → its actuator."""
    cluster, cloud = writers.cluster, writers.reader

    def of_node(change: Change, snapshot: Snapshot) -> None:
        NODE_ACTUATORS[change.kind](NodeTask(writer, cluster, cloud, robot, change, snapshot))

    def of_service(change: Change, snapshot: Snapshot) -> None:
        SERVICE_ACTUATORS[change.kind](ServiceTask(writers, change, snapshot, writer))

    def of_route(change: Change, _snapshot: Snapshot) -> None:
        ROUTE_ACTUATORS[change.kind](RouteTask(writers, change))

    return {
        **dict.fromkeys(NODE_ACTUATORS, of_node),
        **dict.fromkeys(SERVICE_ACTUATORS, of_service),
        **dict.fromkeys(ROUTE_ACTUATORS, of_route),
    }
