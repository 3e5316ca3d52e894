"""What a plan needs to know and no list tells, asked for after a reading: servers by their ids, the account that has
dedicated ones, and what the cluster remembers of its project.

Each question is asked for the sake of a change that may be planned, and a few at a time.
"""

from collections.abc import Collection
from dataclasses import replace

from desired.guards.absence import servers_to_confirm
from desired.guards.anchor import AnchorState, anchor_of, asks_for_memory, is_own_project, witnesses
from desired.load_balancers.matching import match_balancers
from desired.load_balancers.primary_ips import asked_primary_ips
from desired.model.absence import FRESH
from desired.model.settings import Settings
from desired.model.snapshot import RobotAccount, Snapshot
from desired.plan.grants import Here
from desired.syntax.provider_id import Provider
from reconciler.observe.kubernetes import look_up_memory, observe_identity
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
    """Everything that a pass plans from. Other controllers, and what the cluster remembers of its project where that is
    needed, are looked for in ``namespace``, that of the Lease; None: not at all. Raises an ApiError when the Nodes
    cannot be listed."""
    observation = _asked(readers, settings, observe_world(readers, settings, namespace), MOST_AT_ONCE)
    if namespace is None:
        return observation
    return replace(observation, snapshot=with_memory(readers, settings, observation.snapshot, namespace))


def look_again(
    readers: Readers, before: Observation, settings: Settings, kinds: Collection[str], *, is_last: bool = False
) -> Observation:
    """The same after a round with changes of these ``kinds``. What the round has written is no witness of whose project
    it is. After the last round of a pass, ``is_last``, no further server is asked for: nothing would come of it. Raises
    an ApiError when Nodes cannot be read."""
    if before.snapshot.at_first is None:
        known = frozenset(witnesses(before.snapshot, settings))
        before = replace(before, snapshot=replace(before.snapshot, at_first=known))
    observation = observe_again(readers, before, settings, frozenset(kinds))
    return _asked(readers, settings, observation, 0 if is_last else MOST_AT_ONCE)


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


def confirmed(confirmer: Confirmer, snapshot: Snapshot, settings: Settings, most: int = MOST_AT_ONCE) -> Snapshot:
    """``snapshot`` with what is known by id of the servers on whose absence removals depend; ``most`` of them are asked
    for. What was said by another project counts for nothing."""
    wanted = servers_to_confirm(snapshot, settings, confirmer.provider)
    return confirmer.confirm(
        snapshot, wanted, most, in_own_project=bool(wanted) and _is_own(confirmer, snapshot, settings)
    )


def _is_own(confirmer: Confirmer, snapshot: Snapshot, settings: Settings) -> bool:
    """Whether the project, or the account, may be this cluster's."""
    anchor = anchor_of(confirmer.provider, snapshot, settings)
    if confirmer.provider is Provider.CLOUD:
        return is_own_project(anchor, witnesses(snapshot, settings))
    return anchor.state in (AnchorState.HOLDS, AnchorState.NONE)


def _asked(readers: Readers, settings: Settings, observation: Observation, most: int) -> Observation:
    """``observation`` with the Primary IPs that Services ask for, and what is known by id of servers that the list
    lacks. None of these is asked for twice in a pass, and what there was no room for at first is asked for after each
    round."""
    snapshot, matches = observation.snapshot, match_balancers(observation.snapshot)
    if "load_balancers" not in observation.failures:  # an API that has just failed is not asked for more
        asked = asked_primary_ips(snapshot, settings, matches)
        snapshot = replace(snapshot, primary_ips=readers.primary_ips.look_up(readers.hetzner, snapshot, asked))
    snapshot = confirmed(readers.confirmer, snapshot, settings, most)
    if readers.robot is not None and snapshot.robot is not None:
        snapshot = _with_robot(readers.robot, snapshot, snapshot.robot, settings, most)
    return replace(observation, snapshot=snapshot, matches=matches)


def _with_robot(robot: Robot, snapshot: Snapshot, account: RobotAccount, settings: Settings, most: int) -> Snapshot:
    """``snapshot`` with what Robot says of single servers: a fresh list and an answer by number where a deletion
    depends on an absence, and whether the servers of silent Nodes are on."""
    if account.age > FRESH and servers_to_confirm(snapshot, settings, Provider.ROBOT):
        account = robot.cache.read(FRESH).account
    account = robot.cache.with_power(account, silent_robot_servers(snapshot, settings))
    return confirmed(robot.confirmer, replace(snapshot, robot=account), settings, most)
