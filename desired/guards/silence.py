"""Guard ``silent-cluster``: whether any kubelet reports to this cluster. A copy of a cluster, such as a restored backup
of etcd, has its Nodes but no kubelets.

The copy has the UID of the original and finds the original's servers by their ids: to every other rule the project is
its own. Its Nodes are not Ready, except perhaps for a few new ones, or it has none. Therefore it must neither change
nor remove what the original cluster uses, nor add anything for Nodes that do not report.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import timedelta

from desired.guards.evidence import roughly
from desired.guards.guard import GuardInput, GuardResult
from desired.model.clocks import LOOK_AGAIN_S, NO_OTHER_CLOCKS
from desired.model.load_balancer import IpTarget, ServerTarget, Target
from desired.model.settings import Settings
from desired.model.snapshot import Node, Readiness, ServerStatus, Snapshot
from desired.nodes.matching import cloud_nodes, is_ignored
from desired.nodes.node import is_uninitialized
from desired.plan.change import Change, HoldEnd
from desired.plan.kinds import ChangeKind, Verb
from desired.routes.actions import RouteAction
from desired.rules import guards as rows
from desired.rules.rule import Rule
from desired.section import Absent, Present
from desired.syntax.bounds import counted

STALE_AFTER = timedelta(minutes=100)
"""Longer than what lies between two heartbeats of a kubelet that reports once an hour: nodeStatusReportFrequency, and
half of it once more, by chance, after each change of the status. By default it is 5 minutes; a backup is mostly older.
"""
_STALE = f"{STALE_AFTER.total_seconds() / 60:g} minutes"


@dataclass(frozen=True, slots=True)
class Silence:
    """The state in which servers run, and no Node is Ready, or most do not report, or there is no Node."""

    nodes: int
    running: int
    """Those of our Nodes whose servers run, as far as is known: others than Hetzner Cloud's, if load balancers lead
    to their addresses."""
    is_total: bool
    """Whether every Node says that Ready is Unknown: False, or no word at all, comes of a kubelet that reports, or of a
    Node that is just being born. An old heartbeat is not enough: kubelets may be set to report but once an hour."""
    not_reporting: int = 0
    """If some Node is Ready: the number of those that run and do not report, those without a Node included."""
    counted: int = 0
    """If some Node is Ready: Nodes that are, of any provider, or whose servers run, and servers without a Node."""
    without_node: int = 0
    """Running servers to which load balancers of this cluster's Services lead, and that are no Nodes of it."""
    stale: int = 0
    """Number of those that do not report and whose condition Ready is True all the same."""
    some_report: bool = False
    """Whether no Node is Ready, and yet kubelets of half of them say so themselves, or have not reported yet: a cluster
    that is being born, or whose network of pods is broken. It keeps what it has, and may change it."""


def readiness_heard(node: Node, snapshot: Snapshot) -> Readiness:
    """What Ready proves of the kubelet: its status, but Unknown if the heartbeat is older than STALE_AFTER.

    Without a heartbeat the status is believed, and so it is while the clocks differ: what depends on that waits.
    """
    if node.heartbeat is None or snapshot.clocks.differ:
        return node.ready
    return Readiness.UNKNOWN if node.unheard_for(snapshot.taken_at) > STALE_AFTER else node.ready


def silence_of(snapshot: Snapshot, settings: Settings) -> Silence | None:
    """The silence of the cluster's Nodes; None while no machine of theirs is known to run, or some Node is Ready and no
    more than half of those that count are silent; half is enough if servers without a Node are among them.

    One Ready Node proves little, as a copy may have machines of its own, and its old Nodes may be deleted. What says
    False reports: a network of pods that is broken is no silence.
    """
    heard = {node.key: readiness_heard(node, snapshot) for node in snapshot.nodes if not is_ignored(node, settings)}
    ready = {key for key, said in heard.items() if said is Readiness.TRUE}
    stale = {node.key for node in snapshot.nodes if node.ready is Readiness.TRUE} & heard.keys() - ready
    led_to = _led_to(snapshot)
    cloud = {node.key: server_id for node, server_id in cloud_nodes(snapshot, settings)}
    outside = heard.keys() - cloud.keys()
    others = (node for node in snapshot.nodes if node.key in outside)
    reached = {node.key for node in others if any(IpTarget(each.address) in led_to for each in node.addresses)}
    running = {key for key, server_id in cloud.items() if _runs(snapshot, server_id)} | reached
    without_node = len(_without_node(snapshot, settings, led_to))
    if not running and not without_node:
        return None
    ours = cloud.keys() | reached
    if not ready:
        said = [node.ready for node in snapshot.nodes if node.key in ours]
        is_total = bool(running) and all(each is Readiness.UNKNOWN for each in said)
        silent = sum(heard[key] is Readiness.UNKNOWN for key in ours)
        some_report = not without_node and 2 * silent <= len(ours)
        return Silence(
            len(ours), len(running), is_total, without_node=without_node, stale=len(stale), some_report=some_report
        )
    not_reporting = sum(heard[key] is Readiness.UNKNOWN for key in running) + without_node
    counted = len(ready | running) + without_node
    if 2 * not_reporting + bool(without_node) <= counted:
        return None
    return Silence(len(ours), len(running), False, not_reporting, counted, without_node, len(stale & running))


def silence_by_any_clock(snapshot: Snapshot, settings: Settings) -> Silence | None:
    """The silence that there may be while the clocks differ: by heartbeats at the latest time that any of them tells.
    None while they agree, and if it is none by that time either."""
    if not snapshot.clocks.differ:
        return None
    latest = replace(snapshot, taken_at=snapshot.taken_at + snapshot.clocks.ahead, clocks=NO_OTHER_CLOCKS)
    return silence_of(latest, settings)


def _led_to(snapshot: Snapshot) -> frozenset[Target]:
    """The targets of load balancers of this cluster's Services."""
    uids = {service.uid for service in snapshot.services or ()}
    found = (each for each in snapshot.load_balancers or () if each.owner.uid in uids)
    return frozenset(target for each in found for target in each.targets)


def _without_node(snapshot: Snapshot, settings: Settings, led_to: Iterable[Target]) -> set[int]:
    """The running servers among these that are no Node's, ignored or not: they are Nodes of another cluster. One that
    has the name of a Node which waits to be initialized is that Node's: a target may come before the providerID."""
    known = {server_id for _, server_id in cloud_nodes(snapshot, replace(settings, ignore_nodes=None))}
    joining = {node.name for node in snapshot.nodes if node.provider_id is None and is_uninitialized(node)}
    ids = {target.server_id for target in led_to if isinstance(target, ServerTarget)} - known
    return {server_id for server_id in ids if _runs(snapshot, server_id, other_than=joining)}


def _runs(snapshot: Snapshot, server_id: int, other_than: Collection[str] = ()) -> bool:
    """Whether it is there and runs, and has none of these names."""
    found = snapshot.servers.find(server_id)
    return (
        isinstance(found, Present) and found.value.status is ServerStatus.RUNNING and found.value.name not in other_than
    )


_END = HoldEnd("once a Node is Ready and most kubelets report")


def silent_cluster(view: GuardInput) -> Iterator[GuardResult]:
    """Changes and removals in the cloud are held while no Node is Ready, or most do not report, though their servers
    run; only removals, if kubelets report that they are not Ready. Additions wait as long as no kubelet reports: an
    outage needs new machines, and leaving things as they are costs little. What leads to servers that are gone may be
    removed. What would be held if another clock was right waits until clocks agree and cannot be approved."""
    changes = [change for change in view.plan.changes if change.row.writes_cloud]
    silence = silence_of(view.snapshot, view.settings) if changes else None
    if not changes or not (silence or silence_by_any_clock(view.snapshot, view.settings)):
        return
    kept = {Verb.REMOVE} if silence and silence.some_report else set(Verb) - {Verb.ADD}
    held = [change.key for change in changes if change.verb in kept and not _is_dead(change, view)]
    if silence is None:
        apart = roughly(view.snapshot.clocks.ahead)
        yield GuardResult.of(rows.HEARTBEATS_UNCERTAIN, held, {"apart": apart}, due_in_s=LOOK_AGAIN_S)
        return
    report, enough = silence.counted - silence.not_reporting, (silence.counted + 1 + bool(silence.without_node)) // 2
    value, limit = (report, enough) if silence.not_reporting else (0, 1)
    targets = counted(silence.without_node, "running target")
    numbers = asdict(silence) | {"age": _STALE, "targets": targets, "enough": enough}
    yield GuardResult.of(row_of(silence), held, numbers, value=value, limit=limit, end=_END).leaving(
        value, of="kubelets"
    )
    if silence.is_total:
        yield GuardResult.of(
            rows.ADDITIONS_WAIT, [c.key for c in changes if c.key not in held], {"nodes": silence.nodes}
        )


def row_of(silence: Silence) -> Rule:
    """The row on a silence."""
    if silence.without_node:
        return rows.TARGETS_WITHOUT_NODES if silence.not_reporting else rows.ONLY_TARGETS_RUN
    if silence.not_reporting:
        return rows.HEARTBEATS_STALE if silence.stale else rows.NOT_REPORTING
    return rows.NONE_FRESH if silence.stale else rows.NONE_READY


def _is_dead(change: Change, view: GuardInput) -> bool:
    """Whether the removed target or route leads nowhere: its server, or the owner of its gateway, is gone."""
    if change.kind == ChangeKind.LB_TARGET:
        target = change.before
        return isinstance(target, ServerTarget) and isinstance(view.snapshot.servers.find(target.server_id), Absent)
    if change.kind == ChangeKind.ROUTE_DELETE:
        decided = view.desired.routes.by_key.get(change.key)
        return decided is not None and decided.action is RouteAction.DEAD
    return False
