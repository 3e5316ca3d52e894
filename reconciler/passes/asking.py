"""What a plan needs to know and no list tells, asked for after a reading: Primary IPs that Services name, servers by
their ids, and what the cluster remembers of its project.

Each question is asked for the sake of a change that is planned, and a few at a time.
"""

from collections.abc import Collection
from dataclasses import replace

from desired.guards.absence import servers_to_confirm
from desired.guards.anchor import AnchorState, anchor_of, asks_for_memory, is_own_project, witnesses
from desired.load_balancers.matching import match_balancers
from desired.load_balancers.primary_ips import asked_primary_ips
from desired.model.settings import Settings
from desired.model.snapshot import RobotAccount, Snapshot
from desired.nodes.out_of_service import needs_attachments
from desired.plan.change import Plan
from desired.plan.evidence import FRESH
from desired.plan.grants import Here
from desired.syntax.provider_id import Provider
from reconciler.observe.kubernetes import look_up_memory, observe_identity, observe_volume_attachments
from reconciler.observe.servers_by_id import MOST_AT_ONCE, Confirmer
from reconciler.observe.world import (
    Observation,
    Readers,
    Robot,
    observe_again,
    observe_world,
    silent_robot_servers,
)
from reconciler.passes.agreement import Agreement


def look(readers: Readers, settings: Settings, namespace: str | None = None) -> Observation:
    """Everything that a pass plans from. Other controllers are looked for in ``namespace``, that of the Lease; None:
    not at all. Raises an ApiError when the Nodes cannot be listed."""
    return _with_details(readers, settings, observe_world(readers, settings, namespace))


def look_again(readers: Readers, before: Observation, settings: Settings, kinds: Collection[str]) -> Observation:
    """The same after a round with changes of these ``kinds``. What the round has written is no witness of whose project
    it is. Raises an ApiError when Nodes cannot be read."""
    if before.snapshot.at_first is None:
        known = frozenset(witnesses(before.snapshot, settings))
        before = replace(before, snapshot=replace(before.snapshot, at_first=known))
    return _with_details(readers, settings, observe_again(readers, before, settings, frozenset(kinds)))


def with_memory(readers: Readers, settings: Settings, snapshot: Snapshot, namespace: str) -> Snapshot:
    """``snapshot`` with what the cluster remembers of its project, where nothing else identifies the project; else as
    it is, without a request."""
    if not asks_for_memory(snapshot, settings):
        return snapshot
    return replace(snapshot, remembered=look_up_memory(readers.kubernetes, namespace, snapshot.cluster_uid))


def why_void(agreement: Agreement, readers: Readers) -> str | None:
    """The reason why this cluster is not the one, or this not the time, for which a plan was saved, by one request;
    None when it seems to be, or none is applied. A pass looks again. Raises an ApiError."""
    if agreement.grant.cluster is None:
        return None
    uid, now = observe_identity(readers.kubernetes)
    return agreement.why_void(Here(now, uid))


def confirmed(
    confirmer: Confirmer, plan: Plan, snapshot: Snapshot, settings: Settings, most: int = MOST_AT_ONCE
) -> Snapshot:
    """``snapshot`` with what is known by id of the servers on whose absence ``plan`` rests; ``most`` of them are asked
    for. What was said by another project counts for nothing."""
    wanted = servers_to_confirm(plan, snapshot, settings, confirmer.provider)
    is_own = bool(wanted) and _is_own(confirmer, snapshot, settings)
    return confirmer.confirm(snapshot, wanted, most, in_own_project=is_own)


def _is_own(confirmer: Confirmer, snapshot: Snapshot, settings: Settings) -> bool:
    """Whether the project, or the account, may be this cluster's."""
    anchor = anchor_of(confirmer.provider, snapshot, settings)
    if confirmer.provider is Provider.CLOUD:
        return is_own_project(anchor, witnesses(snapshot, settings))
    return anchor.state in (AnchorState.HOLDS, AnchorState.NONE)


def without_answers(snapshot: Snapshot) -> Snapshot:
    """``snapshot`` without what is known of servers by id."""
    robot = snapshot.robot and replace(snapshot.robot, confirmations={})
    return replace(snapshot, confirmations={}, robot=robot)


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


def read_anew(robot: Robot, snapshot: Snapshot, settings: Settings) -> RobotAccount:
    """The account by a FRESH list. No further server is asked whether it is on: that was done in this pass."""
    account, silent = robot.cache.read(FRESH).account, silent_robot_servers(snapshot, settings)
    return robot.cache.with_power(account, silent, most=0)
