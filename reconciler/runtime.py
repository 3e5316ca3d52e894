"""Construction of a run: the only module that knows the concrete classes, and that decides whether a run may write.

In a dry run no object that is able to write is ever constructed, and both connections refuse every method but GET.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from socket import gethostname

from actuators.apply import Actuator
from actuators.approvals import note_refused_logins, remember, trace_suspended, use_up
from actuators.certificates import create as create_certificate
from actuators.config_maps import put
from actuators.http import hetzner, kubernetes
from actuators.http.errors import Broken
from actuators.http.hetzner_actions import Actions
from actuators.http.kubeconfig import ConnectionProblem
from actuators.http.retry import NO_PATIENCE, Patience, Retry, RetryBudget
from actuators.http.robot import RobotReader
from actuators.http.robot_refusals import Refusals
from actuators.lease import Leases
from actuators.load_balancers import BALANCER_ACTUATORS
from actuators.nodes import (
    delete,
    initialise,
    write_addresses,
    write_labels,
    write_network_condition,
    write_shutdown_taint,
)
from actuators.routes import ROUTE_ACTUATORS
from actuators.services import claim, release, require_alive, write_conditions, write_status
from actuators.writers import Writers
from desired.model.settings import Policy
from desired.model.snapshot import Snapshot
from desired.names import APPLICATION, STATUS_CONFIG_MAP
from desired.plan.change import Change
from desired.plan.kinds import ChangeKind
from reconciler import __version__
from reconciler.capture.offline import readers_of
from reconciler.capture.world_file import read_world
from reconciler.config.config import Config, Mode
from reconciler.leader_election.elector import Elector
from reconciler.leader_election.leadership import Leadership, NoElection
from reconciler.observe.kubernetes import observe_config_map, observe_remembered
from reconciler.observe.load_balancers import LeftBehind
from reconciler.observe.robot import RobotCache
from reconciler.observe.servers_by_id import Confirmer
from reconciler.observe.world import Readers, Robot
from reconciler.passes.converge import PlanContext
from reconciler.passes.peak_memory import PeakMemory
from reconciler.passes.project_memory import Memory
from reconciler.passes.rounds import ApplyContext, Progress
from reconciler.passes.settings_memory import SettingsMemory, SharedLook
from reconciler.passes.status_publication import StatusPublication
from reconciler.passes.suspension_trace import SuspensionTrace
from reconciler.permissions import missing_permissions, needed
from reconciler.result import Report
from reconciler.telemetry.conditions import ConditionSink
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
    publish: Callable[[Report, float | None], None] = lambda _report, _seconds: None
    """Publishes the pass with this report, which took so many seconds, for who looks at holds."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts of a run. ``connections`` are what a run writes with; None in a dry run."""

    plan_context: PlanContext
    connections: Connections | None = None


def build_runtime(config: Config, stop: threading.Event, progress: Progress) -> Runtime:
    """The parts of a run as configured. Raises ConnectionProblem when the cluster, or a file, cannot be used."""
    read_only = config.mode is Mode.DRY_RUN
    if config.captured is not None:
        return Runtime(_plan_context(readers_of(read_world(config.captured)), config))
    leader = NoElection() if read_only else leadership(config)
    cluster = open_cluster(config, stop, read_only=read_only, gate=leader.may_write)
    cloud = open_cloud(config, stop, read_only=read_only, gate=leader.may_write)
    cluster_reader, cloud_reader = kubernetes.KubernetesReader(cluster), hetzner.HetznerReader(cloud)
    # A run of ``--once``, which may come every minute, lists load balancers for Services or an undo window alone.
    left = LeftBehind(looks_first=config.mode is not Mode.ONCE or config.asks or bool(config.approved))
    note_refused = None
    if not read_only and config.settings.policy is not Policy.OBSERVE:
        note_refused = partial(note_refused_logins, kubernetes.KubernetesWriter(cluster), config.lease_namespace)
    account = open_robot(config, stop, cluster_reader, note_refused)
    robot = robot_readers(config, account)
    readers = Readers(cluster_reader, cloud_reader, Confirmer(cloud_reader), left=left, robot=robot, wall=time.time)
    look = SharedLook(partial(observe_config_map, cluster_reader, config.lease_namespace, STATUS_CONFIG_MAP))
    plan_context = replace(_plan_context(readers, config), settings_memory=SettingsMemory(config.settings, look.first))
    look_at_peaks = partial(observe_config_map, cluster_reader, config.lease_namespace)
    if read_only:
        return Runtime(replace(plan_context, peaks=PeakMemory(look_at_peaks, config.settings).peaks))
    writer = kubernetes.KubernetesWriter(cluster)
    writers = Writers(cloud_reader, hetzner.HetznerWriter(cloud), Actions(cloud_reader, stop))
    events = EventSink(writer)
    actuators = actuators_with(writer, cluster_reader, writers, account)
    conditions = ConditionSink(partial(write_conditions, writer))
    use = partial(use_up, cluster_reader, writer, config.lease_namespace)
    put_peaks = None if config.settings.policy is Policy.OBSERVE else partial(put, writer, config.lease_namespace)
    peaks = PeakMemory(look_at_peaks, config.settings, put_peaks, lasts=config.mode is Mode.LOOP)
    leader.when_lost(peaks.forget)
    plan_context = replace(plan_context, peaks=peaks.peaks)
    apply_context = ApplyContext(actuators, use, events, progress, stop, conditions, peaks=peaks)
    if config.settings.policy is Policy.OBSERVE:
        apply_context = replace(apply_context, events=NullRecorder(), conditions=None)
    else:
        memory = memory_of(config, cluster_reader, writer)
        leader.when_lost(memory.forget)
        apply_context = replace(apply_context, remember=memory.keep)
        if config.mode is Mode.LOOP:  # nothing else remembers from pass to pass
            trace = trace_of(config, cluster_reader, writer)
            leader.when_lost(trace.forget)
            apply_context = replace(apply_context, trace_suspended=trace.keep)
    connections = Connections(apply_context, events, leader, cluster, cloud)
    if config.settings.policy is not Policy.OBSERVE and not config.settings.only:
        publication = publication_of(config, look, writer)
        leader.when_lost(publication.forget)
        connections = replace(connections, publish=publication.keep)
        put_status = partial(put, writer, config.lease_namespace, name=STATUS_CONFIG_MAP)
        settings_memory = SettingsMemory(config.settings, look.first, put_status, looks_first=True)
        leader.when_lost(settings_memory.forget)
        plan_context = replace(plan_context, settings_memory=settings_memory)
    return Runtime(plan_context, connections)


def memory_of(config: Config, reader: kubernetes.KubernetesReader, writer: kubernetes.KubernetesWriter) -> Memory:
    """The memory of the cluster's project, beside the Lease."""
    return Memory(
        partial(observe_remembered, reader, config.lease_namespace),
        partial(remember, writer, config.lease_namespace),
        config.settings,
        after_changes_only=config.mode is not Mode.LOOP,
    )


def trace_of(
    config: Config, reader: kubernetes.KubernetesReader, writer: kubernetes.KubernetesWriter
) -> SuspensionTrace:
    """The trace of what this process suspends, beside the Lease."""
    return SuspensionTrace(
        partial(observe_config_map, reader, config.lease_namespace),
        partial(trace_suspended, writer, config.lease_namespace),
        gethostname(),
    )


def publication_of(config: Config, look: SharedLook, writer: kubernetes.KubernetesWriter) -> StatusPublication:
    """The publication of what this process does, beside the Lease. ``look`` is at its ConfigMap."""
    return StatusPublication(
        look.second,
        partial(put, writer, config.lease_namespace, name=STATUS_CONFIG_MAP),
        gethostname(),
    )


def leadership(config: Config) -> Leadership:
    """Leadership: by the Lease, over a connection of its own that waits for nothing. Raises ConnectionProblem."""
    if not config.takes_lease:
        return NoElection()
    own = open_beside(config)
    leases = Leases(
        kubernetes.KubernetesReader(own),
        kubernetes.KubernetesWriter(own),
        config.lease_namespace,
        config.lease_name,
    )
    return Elector(leases, config.timings)


def open_beside(config: Config) -> kubernetes.KubernetesConnection:
    """A connection to the cluster for what no Lease decides on, and what must not wait. Raises ConnectionProblem."""
    return kubernetes.connect(
        config.kubeconfig,
        config.context,
        user_agent=_USER_AGENT,
        retry=Retry(threading.Event(), NO_PATIENCE),
        timeout_s=config.timings.call_timeout_s,
        read_only=False,
    )


def _plan_context(readers: Readers, config: Config) -> PlanContext:
    return PlanContext(
        readers,
        config.settings,
        config.lease_namespace,
        config.approved,
        config.approve_flags,
        detail=config.detail,
        next_step=config.next_step,
    )


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
    config: Config, stop: threading.Event, *, read_only: bool, gate: Callable[[], None] = lambda: None
) -> kubernetes.KubernetesConnection:
    """The connection to the cluster alone; ``gate`` is asked before each write. Raises ConnectionProblem."""
    return kubernetes.connect(
        config.kubeconfig,
        config.context,
        user_agent=_USER_AGENT,
        retry=_retry(config, stop),
        timeout_s=config.request_timeout_s,
        read_only=read_only,
        gate=gate,
    )


def open_cloud(
    config: Config, stop: threading.Event, *, read_only: bool, gate: Callable[[], None] = lambda: None
) -> hetzner.HetznerConnection:
    """The connection to the project alone; ``gate`` is asked before each write."""
    return hetzner.connect(
        config.token,
        config.endpoint,
        application=(APPLICATION, __version__),
        retry=_retry(config, stop),
        timeout_s=config.request_timeout_s,
        read_only=read_only,
        gate=gate,
    )


def open_robot(
    config: Config,
    stop: threading.Event,
    cluster: kubernetes.KubernetesReader,
    note_refused: Callable[[str], None] | None = None,
) -> RobotReader | None:
    """The reader of the Robot account; None where Robot is not enabled, or has no credentials. ``note_refused`` writes
    down which log-ins were refused, None: nobody does."""
    if config.robot_login is None:
        return None
    read = partial(observe_config_map, cluster, config.lease_namespace)
    return RobotReader(
        config.robot_login,
        endpoint=config.robot_endpoint,
        user_agent=_USER_AGENT,
        retry=Retry(stop, Patience(attempts=2, deadline_s=config.request_timeout_s)),
        timeout_s=config.request_timeout_s,
        pause_s=config.robot_pause_s,
        refusals=Refusals(read, note_refused, partial(datetime.now, UTC)),
    )


def robot_readers(config: Config, account: RobotReader | None) -> Robot | None:
    """What a pass reads the account with; None where there is none."""
    return Robot(RobotCache(account, config.robot_max_age), Confirmer(account)) if account else None


def _retry(config: Config, stop: threading.Event) -> Retry:
    """The retries of calls to one API. A call with all its tries may take as long as two answers that never come; a
    loop, which begins anew by itself, tries less while nothing goes through."""
    budget = RetryBudget() if config.mode is Mode.LOOP else None
    return Retry(stop, Patience(deadline_s=2 * config.request_timeout_s), budget)


def actuators_with(
    writer: kubernetes.KubernetesWriter,
    cluster: kubernetes.KubernetesReader,
    writers: Writers,
    robot: RobotReader | None,
) -> Mapping[str, Actuator]:
    """Kind of change → its actuator."""
    return {
        ChangeKind.NODE_INITIALISE: partial(initialise, writer),
        ChangeKind.NODE_LABELS: partial(write_labels, writer),
        ChangeKind.NODE_ADDRESSES: partial(write_addresses, writer),
        ChangeKind.NODE_SHUTDOWN_TAINT: partial(write_shutdown_taint, writer),
        ChangeKind.NODE_NETWORK_CONDITION: partial(write_network_condition, writer),
        ChangeKind.NODE_DELETE: partial(delete, writer, cluster, writers.reader, robot),
        ChangeKind.SERVICE_CLAIM: partial(claim, writer),
        ChangeKind.SERVICE_STATUS: partial(write_status, writer, writers.reader),
        ChangeKind.SERVICE_RELEASE: partial(release, writer, writers.reader),
        ChangeKind.CERTIFICATE_CREATE: partial(create_certificate, writers),
        **{kind: partial(actuator, writers) for kind, actuator in {**BALANCER_ACTUATORS, **ROUTE_ACTUATORS}.items()},
        ChangeKind.LB_ADOPT: partial(_adopt, writer, cluster, writers),
    }


def _adopt(
    writer: kubernetes.KubernetesWriter,
    cluster: kubernetes.KubernetesReader,
    writers: Writers,
    change: Change,
    snapshot: Snapshot,
) -> None:
    require_alive(writer, cluster, change, snapshot)
    BALANCER_ACTUATORS[ChangeKind.LB_ADOPT](writers, change, snapshot)
