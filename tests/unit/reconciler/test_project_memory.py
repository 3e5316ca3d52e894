"""A cluster remembers its project: when that is written, and what it costs."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from actuators.http.errors import Transient
from desired.model.clocks import Clocks
from desired.model.record import Stamp
from desired.model.remembered import NOTHING, Remembered
from desired.model.settings import Settings
from desired.model.snapshot import Readiness, Snapshot
from desired.plan.controller_record import RECORD, ControllerRecord, Use
from desired.section import Present, Section, Unknown
from reconciler.passes.records import ProjectMemory
from tests.balancers import a_balancer, a_served_service, a_world
from tests.builders import CLUSTER_UID, NOW, a_lost_node, a_network, a_server, a_settled_node, a_snapshot
from tests.support.rows import rows
from tests.support.stored import Stored

NETWORK = Present(a_network(4))
WORLD = a_snapshot([a_settled_node()], [a_server()], network=NETWORK)
KNOWN = Remembered(4)


class Kept(Stored):
    """With what is of interest in it."""

    @property
    def value(self) -> Remembered | None:
        """What a cluster remembers; None when it was never written."""
        found = RECORD.read((self.data or {}).get(RECORD.key), CLUSTER_UID)
        return None if found is None else found.project

    @classmethod
    def of(cls, value: Remembered, **record: Any) -> "Kept":
        text = RECORD.write(ControllerRecord(project=value, **record), Stamp(CLUSTER_UID, "ccm-9", NOW))
        return cls({RECORD.key: text})


def a_memory(stored: Kept, *, after_changes_only: bool = False) -> ProjectMemory:
    return ProjectMemory(stored.config_map(), Settings(network="private"), after_changes_only=after_changes_only)


@rows(
    "world value asked",
    {
        "new": (WORLD, NOTHING, ["read", "write"]),
        "known": (WORLD, KNOWN, ["read"]),
        "no-config-map": (WORLD, None, ["read"]),
        "nothing-to-remember": (replace(WORLD, network=Present(None)), NOTHING, []),
        "violated": (replace(WORLD, servers=Section()), NOTHING, []),
        "undetermined": (replace(WORLD, servers=Section.missing("401")), NOTHING, []),
        "which-cluster-is-not-known": (replace(WORLD, cluster_uid=Unknown("403")), NOTHING, []),
        "a-witness-alone": (a_snapshot([a_lost_node()], [a_server()], network=NETWORK), NOTHING, []),
        "unfound": (a_world([a_served_service()], [a_balancer()], nodes=[a_lost_node()], servers=[]), NOTHING, []),
        "being-born": (a_snapshot(network=NETWORK), NOTHING, []),
    },
)
def test_what_is_written(world: Snapshot, value: Remembered | None, asked: list[str]) -> None:
    """Only where Ready Nodes of ours were found, and only what differs from what is there."""
    stored = Kept.of(value) if value else Kept(None)
    memory = a_memory(stored)
    for _ in range(3):
        memory.keep(world, has_changed=True)
    assert stored.asked == asked


def test_a_loop_asks_once_and_writes_what_differs() -> None:
    stored = Kept()
    memory = a_memory(stored)
    for network_id in (4, 4, 9, 9):
        memory.keep(replace(WORLD, network=Present(a_network(network_id))), has_changed=False)
    assert (stored.asked, stored.value) == (["read", "write"] * 2, Remembered(9))


def test_what_was_not_read_is_not_forgotten() -> None:
    """A process that looks at no Services keeps the load balancers that another has remembered."""
    stored = Kept.of(Remembered(3, (42,)))
    a_memory(stored).keep(WORLD, has_changed=False)
    assert stored.value == Remembered(4, (42,))


def test_ids_are_written_again_after_somebody_has_removed_them() -> None:
    """A loop looks each half hour."""
    stored = Kept()
    memory = a_memory(stored)
    memory.keep(WORLD, has_changed=False)
    stored.data = {}
    for minutes, value in ((29, None), (30, KNOWN)):
        memory.keep(replace(WORLD, taken_at=NOW + timedelta(minutes=minutes)), has_changed=False)
        assert stored.value == value


def test_uses_stay_beside_the_project() -> None:
    use = Use("sha256:0123456789abcdef", None, NOW, "ccm-9", NOW)
    stored = Kept.of(NOTHING, begun_at=NOW, uses=(use,))
    a_memory(stored).keep(WORLD, has_changed=False)
    found = RECORD.read((stored.data or {})[RECORD.key], CLUSTER_UID)
    assert found == ControllerRecord(NOW, (use,), KNOWN)


def test_a_damaged_record_is_not_written_over() -> None:
    """It may have uses of approvals in it."""
    stored = Kept({RECORD.key: "{"})
    a_memory(stored).keep(WORLD, has_changed=False)
    assert (stored.asked, stored.data) == (["read"], {RECORD.key: "{"})


def test_a_single_run_that_has_changed_nothing_asks_nothing() -> None:
    stored = Kept()
    memory = a_memory(stored, after_changes_only=True)
    memory.keep(WORLD, has_changed=False)
    assert stored.asked == []
    memory.keep(WORLD, has_changed=True)
    assert (stored.asked, stored.value) == (["read", "write"], KNOWN)


def test_a_clock_that_was_ahead_does_not_put_it_off_for_days() -> None:
    """What failed then is tried again at once after the clock was set; while clocks differ nothing is asked."""
    stored = Kept(trouble=Transient("500"))
    memory = a_memory(stored)
    ahead = replace(WORLD, taken_at=NOW + timedelta(days=2))
    memory.keep(replace(ahead, clocks=Clocks(hetzner=timedelta(days=-2))), has_changed=False)
    assert stored.asked == []
    memory.keep(ahead, has_changed=False)
    stored.trouble = None
    memory.keep(WORLD, has_changed=False)
    assert (stored.asked, stored.value) == (["read", "read", "write"], KNOWN)


def test_a_node_that_is_not_ready_does_not_vouch() -> None:
    for node in (a_settled_node(ready=Readiness.FALSE), a_settled_node(unschedulable=True)):
        stored = Kept()
        a_memory(stored).keep(a_snapshot([node], [a_server()], network=NETWORK), has_changed=True)
        assert stored.asked == []
