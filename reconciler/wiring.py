"""Builds everything once: the only place that knows the concrete classes, and that decides whether a run may write.

In a dry run no object that is able to write is ever constructed, and both connections refuse everything but GET.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from actuators.apply import Actuator
from actuators.approvals import use_up
from actuators.certificates import create as create_certificate
from actuators.clients import hetzner, kubernetes
from actuators.clients.hetzner_actions import Actions
from actuators.hands import Hands
from actuators.load_balancers import BALANCER_ACTUATORS
from actuators.nodes import (
    delete,
    initialise,
    write_addresses,
    write_labels,
    write_network_condition,
    write_shutdown_taint,
)
from actuators.retry import Patience
from actuators.routes import ROUTE_ACTUATORS
from actuators.services import claim, release, write_conditions, write_status
from reconciler import __version__
from reconciler.config import Config, Mode
from reconciler.cycle import Looking
from reconciler.observe.confirm import Confirmer
from reconciler.observe.world import Eyes
from reconciler.rounds import Acting, Progress
from reconciler.telemetry.conditions import ConditionSink
from reconciler.telemetry.events import EventSink

APPLICATION = "hcloud-reconciler"
_USER_AGENT = f"{APPLICATION}/{__version__}"


@dataclass(frozen=True, slots=True)
class Wired:
    """The parts of a run. ``acting`` is None in a dry run; ``events`` has to be closed at the end."""

    looking: Looking
    acting: Acting | None
    events: EventSink | None


def wire(config: Config, stop: threading.Event, progress: Progress) -> Wired:
    """The parts of a run as configured. Raises ConnectionProblem when the cluster cannot be addressed."""
    read_only = config.mode is Mode.DRY_RUN
    cluster = open_cluster(config, stop, read_only=read_only)
    cloud = open_cloud(config, stop, read_only=read_only)
    cluster_reader, cloud_reader = kubernetes.KubernetesReader(cluster), hetzner.HetznerReader(cloud)
    eyes = Eyes(cluster_reader, cloud_reader, Confirmer(cloud_reader))
    looking = Looking(eyes, config.settings, config.lease_namespace, config.approved, config.approve_flags)
    if read_only:
        return Wired(looking, None, None)
    writer = kubernetes.KubernetesWriter(cluster)
    hands = Hands(cloud_reader, hetzner.HetznerWriter(cloud), Actions(cloud_reader, stop))
    events = EventSink(writer)
    actuators = actuators_with(writer, cluster_reader, hands)
    conditions = ConditionSink(partial(write_conditions, writer))
    acting = Acting(actuators, partial(use_up, writer, config.lease_namespace), events, progress, stop, conditions)
    return Wired(looking, acting, events)


def open_cluster(config: Config, stop: threading.Event, *, read_only: bool) -> kubernetes.KubernetesConnection:
    """The connection to the cluster alone. Raises ConnectionProblem."""
    return kubernetes.connect(
        config.kubeconfig,
        user_agent=_USER_AGENT,
        stop=stop,
        timeout_s=config.request_timeout_s,
        read_only=read_only,
        patience=_patience(config),
    )


def open_cloud(config: Config, stop: threading.Event, *, read_only: bool) -> hetzner.HetznerConnection:
    """The connection to the project alone."""
    return hetzner.connect(
        config.token,
        config.endpoint,
        application=(APPLICATION, __version__),
        stop=stop,
        timeout_s=config.request_timeout_s,
        read_only=read_only,
        patience=_patience(config),
    )


def _patience(config: Config) -> Patience:
    """A call with all its retries may take as long as two answers that never come."""
    return Patience(deadline_s=2 * config.request_timeout_s)


def actuators_with(
    writer: kubernetes.KubernetesWriter, cluster: kubernetes.KubernetesReader, hands: Hands
) -> Mapping[str, Actuator]:
    """Kind of change → what carries it out."""
    return {
        "node.initialise": partial(initialise, writer),
        "node.labels": partial(write_labels, writer),
        "node.addresses": partial(write_addresses, writer),
        "node.shutdown_taint": partial(write_shutdown_taint, writer),
        "node.network_condition": partial(write_network_condition, writer),
        "node.delete": partial(delete, writer, cluster, hands.reader),
        "service.claim": partial(claim, writer),
        "service.status": partial(write_status, writer),
        "service.release": partial(release, writer, hands.reader),
        "certificate.create": partial(create_certificate, hands),
        **{kind: partial(actuator, hands) for kind, actuator in {**BALANCER_ACTUATORS, **ROUTE_ACTUATORS}.items()},
    }
