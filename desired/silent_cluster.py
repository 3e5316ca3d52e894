"""Does a kubelet speak for this cluster? A copy of it, as a restored backup of etcd, has its Nodes but no kubelets.

The copy has the UID of the original and finds the original's servers by their ids: to every other rule the project is
its own. Its Nodes are not Ready, but for a few new ones perhaps, or it has none; and so it must neither change nor take
away what the living cluster uses, nor add what nobody speaks for.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from desired.change import Change, Verdict
from desired.finding import Facts, Finding
from desired.heartbeats import readiness_heard
from desired.kinds import Verb
from desired.load_balancer import ServerTarget
from desired.names import LABEL_SERVICE_UID
from desired.ownership import cloud_nodes, is_ignored
from desired.routes.fates import Fate
from desired.section import Absent, Present
from desired.settings import Settings
from desired.snapshot import Readiness, ServerStatus, Snapshot

RULE = "silent-cluster"


@dataclass(frozen=True, slots=True)
class Silence:
    """Servers of Nodes run, and no Node is Ready, or most are silent, or there is none."""

    nodes: int
    running: int
    """Those of our Nodes of Hetzner Cloud whose servers run; where there are none, servers that Services lead to."""
    is_total: bool
    """Whether every Node says that Ready is Unknown: False, or no word at all, comes of a kubelet that speaks, or of a
    Node that is just being born. An old heartbeat is not enough: kubelets may be set to report but once an hour."""
    mute: int = 0
    """Where some Node is Ready: of how many whose servers run nothing is heard."""
    counted: int = 0
    """Where some Node is Ready: Nodes that are, of any provider, or whose servers run."""


def silence_of(snapshot: Snapshot, settings: Settings) -> Silence | None:
    """The silence of the cluster's Nodes; None while no server of theirs is known to run, or some Node is Ready and no
    more than half of those that count are silent.

    One Ready Node proves little, as a copy may have a machine of its own. What says False speaks: a network of pods
    that is broken is no silence.
    """
    cloud = {node.key: server_id for node, server_id in cloud_nodes(snapshot, settings)}
    heard = {node.key: readiness_heard(node, snapshot) for node in snapshot.nodes if not is_ignored(node, settings)}
    ready = {key for key, said in heard.items() if said is Readiness.TRUE}
    running = {key for key, server_id in cloud.items() if _runs(snapshot, server_id)}
    if not cloud and not ready and (serving := _serving(snapshot)):
        return Silence(0, len(serving), is_total=False)
    if not running:
        return None
    if not ready:
        said = (node.ready for node, _ in cloud_nodes(snapshot, settings))
        return Silence(len(cloud), len(running), all(ready is Readiness.UNKNOWN for ready in said))
    mute, counted = sum(heard[key] is Readiness.UNKNOWN for key in running), len(ready | running)
    return Silence(len(cloud), len(running), False, mute, counted) if 2 * mute > counted else None


def _serving(snapshot: Snapshot) -> set[int]:
    """The running servers to which load balancers of this cluster's Services lead: they are somebody's Nodes."""
    uids = {service.uid for service in snapshot.services or ()}
    found = (each for each in snapshot.load_balancers or () if each.spec.labels.get(LABEL_SERVICE_UID) in uids)
    ids = {target.server_id for each in found for target in each.targets if isinstance(target, ServerTarget)}
    return {server_id for server_id in ids if _runs(snapshot, server_id)}


def _runs(snapshot: Snapshot, server_id: int) -> bool:
    found = snapshot.servers.find(server_id)
    return isinstance(found, Present) and found.value.status is ServerStatus.RUNNING


def silent_cluster(facts: Facts) -> Iterator[Finding]:
    """While no Node is Ready, or most are silent, though their servers run, what is not an addition in the cloud is
    held, and what adds waits as long as no kubelet speaks at all: an outage needs new machines, and what it leaves as
    it is costs little. What leads to nobody may go: nobody living loses it."""
    changes = [change for change in facts.plan.changes if change.row.writes_cloud]
    silence = silence_of(facts.snapshot, facts.settings) if changes else None
    if silence is None:
        return
    held = tuple(change.key for change in changes if change.verb is not Verb.ADD and not _is_dead(change, facts))
    value, limit = (silence.counted - silence.mute, (silence.counted + 1) // 2) if silence.mute else (0, 1)
    yield Finding(RULE, Verdict.HELD, held, explain_silence(silence), str(value), str(limit))
    if silence.is_total:
        others = tuple(change.key for change in changes if change.key not in held)
        why = f"no kubelet reports to this cluster while {_servers(silence)}: it may be a copy (a restored backup)"
        yield Finding(RULE, Verdict.WAITING, others, why)


def explain_silence(silence: Silence) -> str:
    """What silence means while servers run, and what to do."""
    return (
        f"{who_is_silent(silence)}. This may be a copy of the cluster (a restored backup), and what it changes or takes"
        " away would be the living cluster's; or Nodes are down. Approve this if no other cluster runs on these servers"
    )


def who_is_silent(silence: Silence) -> str:
    """In numbers."""
    if silence.mute:
        return f"nothing is heard of {silence.mute} of {silence.counted} Nodes while their servers run"
    if not silence.nodes:
        return f"the cluster has no Node, while {silence.running} servers run to which its load balancers lead"
    return f"no Node is Ready while {_servers(silence)}"


def _servers(silence: Silence) -> str:
    if silence.running == 1:
        return "the server of one of them runs" if silence.nodes > 1 else "its server runs"
    return f"{silence.running} of their servers run"


def _is_dead(change: Change, facts: Facts) -> bool:
    """Whether what goes leads to nobody: the target's server, or whoever had the route's gateway, is gone."""
    if change.kind == "lb.target":
        target = change.before
        return isinstance(target, ServerTarget) and isinstance(facts.snapshot.servers.find(target.server_id), Absent)
    if change.kind == "route.delete":
        decided = facts.desired.routes.by_key.get(change.key)
        return decided is not None and decided.fate is Fate.DEAD
    return False
