"""Whether a kubelet's word still counts: Ready stays True for ever where nobody is left to take it back."""

from datetime import timedelta

from desired.snapshot import Node, Readiness, Snapshot

STALE_AFTER = timedelta(minutes=100)
"""Longer than what lies between two heartbeats of a kubelet that reports once an hour: nodeStatusReportFrequency, and
half of it once more, by chance, after each change of the status. By default it is 5 minutes; a backup is mostly older.
"""


def readiness_heard(node: Node, snapshot: Snapshot) -> Readiness:
    """What Ready proves of the kubelet: what it says, but Unknown where the heartbeat is older than STALE_AFTER.

    Without a heartbeat what is said is believed, and so it is while the clocks differ: what hangs on that waits
    (``silent_cluster``).
    """
    if node.heartbeat is None or snapshot.clocks.differ:
        return node.ready
    return Readiness.UNKNOWN if node.unheard_for(snapshot.taken_at) > STALE_AFTER else node.ready
