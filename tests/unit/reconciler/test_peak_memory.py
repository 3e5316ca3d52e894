"""What runs that no loop remembers know of the most targets within the last hour."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from actuators.http.errors import Denied, Transient
from desired.model.load_balancer import Health
from desired.model.record import Stamp
from desired.model.snapshot import Snapshot
from desired.plan.setbacks import PEAKS, Peak
from reconciler.passes.keeper import ConfigMap
from reconciler.passes.records import PeakMemory
from tests.balancers import LOCATED, a_balancer, a_served_service, a_world
from tests.builders import CLUSTER_UID, NOW
from tests.support.balancer_plans import fleet, public
from tests.support.stored import Stored

PORT_80 = "42/answering/port 80"
SOME = {PORT_80: Peak(frozenset({"server:1", "server:2"}), NOW)}
ORIGIN = Stamp(CLUSTER_UID, "ccm-0", NOW)
WRITTEN = PEAKS.write(SOME, ORIGIN)
OTHER = "99999999-2222-3333-4444-555555555555"


def world(*numbers: int, minutes: int = 0) -> Snapshot:
    """Load balancer 42 leads to these servers."""
    found = a_world(
        [a_served_service()],
        [a_balancer(targets=public(*numbers), health=dict.fromkeys(public(*numbers), Health.HEALTHY))],
        **fleet(*numbers),
    )
    return replace(found, taken_at=NOW + timedelta(minutes=minutes))


def test_what_is_stored_is_read_again() -> None:
    assert PEAKS.read(WRITTEN, CLUSTER_UID) == SOME
    assert PEAKS.read(WRITTEN, OTHER) is None


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "[]",
        "{" * 100_000,
        " " * 300_000,
        '{"version": 2, "cluster": "11111111-2222-3333-4444-555555555555", "peaks": {}}',
        WRITTEN.replace("+00:00", ""),
        WRITTEN.replace('"server:1"', "7"),
        WRITTEN.replace('["server:1", "server:2"]', "null"),
    ],
)
def test_what_we_would_not_write_tells_of_nothing(text: str | None) -> None:
    """Malformed, too long, of another version, without a zone, no names."""
    assert PEAKS.read(text, CLUSTER_UID) is None


def test_a_run_after_another_knows_what_there_was() -> None:
    """One look and one write for each run that takes some; none for one that takes nothing."""
    stored = Stored()
    first = PeakMemory(stored.config_map(), LOCATED)
    first.peaks(world(1, 2, 3, 4))
    first.peaks(world(1, 2, 3))
    first.keep(world(1, 2, 3), has_taken=True)
    assert stored.asked == ["read", "write"]

    second = PeakMemory(stored.config_map(), LOCATED)
    assert len(second.peaks(world(1, 2, 3, minutes=20))[PORT_80]) == 4
    second.keep(world(1, 2, 3, minutes=20))
    assert stored.asked == ["read", "write", "read"]

    late = PeakMemory(stored.config_map(), LOCATED)
    assert len(late.peaks(world(1, 2, 3, minutes=70))[PORT_80]) == 3
    assert stored.asked == ["read", "write", "read", "read"]

    PeakMemory(stored.config_map(), LOCATED).keep(world(1, 2, 3))
    assert stored.asked == ["read", "write", "read", "read"]


def test_a_loop_looks_once_and_has_it_in_memory() -> None:
    """What its passes see counts, whether or not their plans take targets, beside what the process before it stored; it
    looks again when another process may have written."""
    stored = Stored()
    stored.write(
        {PEAKS.key: PEAKS.write({PORT_80: Peak(frozenset({"server:1", "server:2", "server:3"}), NOW)}, ORIGIN)}
    )
    loop = PeakMemory(stored.config_map(), LOCATED, lasts=True)
    loop.keep(world(1, 2, minutes=10))
    loop.keep(world(1, minutes=20))
    assert stored.asked == ["write"]

    assert len(loop.peaks(world(1, minutes=30))[PORT_80]) == 3
    assert len(loop.peaks(world(1, minutes=40))[PORT_80]) == 3
    assert stored.asked == ["write", "read"]
    assert len(loop.peaks(world(1, minutes=70))[PORT_80]) == 1

    loop.forget()
    loop.peaks(world(1, minutes=71))
    assert stored.asked == ["write", "read", "read"]


def test_what_a_loop_saw_outlives_what_is_stored() -> None:
    stored = Stored()
    stored.write(
        {PEAKS.key: PEAKS.write({PORT_80: Peak(frozenset({"server:1", "server:2", "server:3"}), NOW)}, ORIGIN)}
    )
    loop = PeakMemory(stored.config_map(), LOCATED, lasts=True)
    loop.keep(world(1, 2, minutes=40))
    assert len(loop.peaks(world(1, minutes=70))[PORT_80]) == 2


def test_what_a_person_let_go_of_is_not_remembered() -> None:
    """The load balancers from which an approved hold took targets start anew, others do not."""
    stored = Stored()
    first = PeakMemory(stored.config_map(), LOCATED)
    first.peaks(world(1, 2, 3, 4))
    first.keep(world(1), {4}, has_taken=True)
    assert len(PeakMemory(stored.config_map(writes=False), LOCATED).peaks(world(1))[PORT_80]) == 4
    first.keep(world(1), {42}, has_taken=True)
    assert len(PeakMemory(stored.config_map(writes=False), LOCATED).peaks(world(1))[PORT_80]) == 1


def test_what_a_person_let_go_of_is_not_read_again_where_it_cannot_be_written() -> None:
    """A refused write is no reason to go back to what was stored before."""
    stored = Stored()
    PeakMemory(stored.config_map(), LOCATED).keep(world(1, 2, 3, 4), has_taken=True)
    memory = PeakMemory(stored.config_map(), LOCATED)
    memory.peaks(world(1, 2, 3, 4))
    stored.trouble = Transient("503")
    memory.keep(world(1), {42}, has_taken=True)
    stored.trouble = None
    assert len(memory.peaks(world(1))[PORT_80]) == 1


def of_eight() -> Stored:
    """Eight answered, of which a run took four."""
    stored = Stored()
    first = PeakMemory(stored.config_map(), LOCATED)
    first.peaks(world(*range(1, 9)))
    first.keep(world(1, 2, 3, 4), has_taken=True)
    return stored


def test_it_is_read_again_after_trouble() -> None:
    stored = of_eight()
    loop = PeakMemory(stored.config_map(), LOCATED, lasts=True)
    stored.trouble = Transient("503")
    assert len(loop.peaks(world(1, 2, 3, 4, minutes=5))[PORT_80]) == 4
    assert loop.unread == "503"

    stored.trouble = None
    assert [len(loop.peaks(world(1, 2, 3, 4, minutes=each))[PORT_80]) for each in (6, 7)] == [8, 8]
    assert loop.unread == ""
    assert stored.asked[-2:] == ["read", "read"]


def test_it_is_not_overwritten_unread() -> None:
    """What another process stored is looked at before, and known afterwards."""
    stored = of_eight()
    run = PeakMemory(stored.config_map(), LOCATED)
    stored.trouble = Transient("503")
    run.peaks(world(1, 2, 3, 4, minutes=5))
    stored.trouble = None

    run.keep(world(1, 2, minutes=5), has_taken=True)
    found = PEAKS.read((stored.data or {})[PEAKS.key], CLUSTER_UID)
    assert found is not None
    assert (len(found[PORT_80].members), found[PORT_80].at) == (8, NOW)
    assert len(run.peaks(world(1, 2, minutes=6))[PORT_80]) == 8
    assert run.unread == ""


def test_where_there_is_no_config_map_nothing_is_unread() -> None:
    stored = Stored(data=None, trouble=Transient("503"))
    run = PeakMemory(stored.config_map(), LOCATED)
    run.peaks(world(1, 2))
    stored.trouble = None
    run.keep(world(1), has_taken=True)
    run.peaks(world(1))
    assert (run.unread, stored.asked) == ("", ["read", "read"])


def test_what_a_person_let_go_of_is_void_unread_as_well() -> None:
    stored = of_eight()
    run = PeakMemory(stored.config_map(), LOCATED)
    run.keep(world(1, 2, minutes=5), {42}, has_taken=True)
    assert len(run.peaks(world(1, 2, minutes=6))[PORT_80]) == 2


def test_who_may_not_read_it_has_never_written_it() -> None:
    stored = of_eight()
    run = PeakMemory(stored.config_map(), LOCATED)
    stored.trouble = Denied("403")
    assert len(run.peaks(world(1, 2, 3, 4, minutes=5))[PORT_80]) == 4
    assert run.unread == ""


def test_an_api_in_trouble_ends_no_run() -> None:
    """What a single run has seen itself it knows, and that there may have been more."""

    def fail(*_: object) -> Any:
        raise Transient("timeout")

    memory = PeakMemory(ConfigMap("hcloud-reconciler", fail, fail), LOCATED)
    assert len(memory.peaks(world(1, 2))[PORT_80]) == 2
    assert memory.unread == "timeout"
    memory.keep(world(1), has_taken=True)
