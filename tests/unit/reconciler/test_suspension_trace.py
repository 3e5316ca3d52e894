"""What a controller has suspended is written down for dry runs: when, and what that costs."""

from dataclasses import replace
from datetime import timedelta

import pytest

from actuators.outcome import Applied, Failed
from desired.model.clocks import Clocks
from desired.plan.change import Change, GuardDecision, GuardName, Verdict
from desired.plan.notes import NoteKind
from desired.plan.suspended import SUSPENDED, trace_in
from desired.section import Section, Unknown
from reconciler.passes.history import History
from reconciler.passes.records import SuspensionTrace
from reconciler.result import Line, Report, Result
from tests.builders import CLUSTER_UID, NOW, a_change, a_snapshot, an_identity
from tests.support.passes import NAMESPACE, Run
from tests.support.stored import Stored

CHANGE = a_change()


class Kept(Stored):
    """With what is of interest in it."""

    def named(self, minutes: float = 0) -> list[str]:
        """Keys of the changes that a dry run would tell of, so long after the beginning."""
        text = (self.data or {}).get(SUSPENDED.key)
        return sorted(trace_in(text, CLUSTER_UID, NOW + timedelta(minutes=minutes)).changes)


def a_trace(stored: Kept) -> SuspensionTrace:
    """That of a loop."""
    return SuspensionTrace(stored.config_map())


def waits(rule: GuardName = GuardName.FLAPPING, due_in_s: float = 3600.0, change: Change = CHANGE) -> Line:
    """A change that was not tried, because of this rule."""
    return Line(change.ruled(GuardDecision(Verdict.WAITING, rule, "somebody undoes it", due_in_s)))


def a_pass(*lines: Line, minutes: float = 0) -> Report:
    """A pass that left these lines, so long after the beginning."""
    return Report(snapshot=replace(a_snapshot(), taken_at=NOW + timedelta(minutes=minutes)), lines=lines)


FAILS = Line(CHANGE, Failed("422 invalid input"))


def test_from_the_suspension_to_its_end() -> None:
    """It is written when it begins, again after half an hour, and taken away at its end; other passes send nothing."""
    stored = Kept()
    trace = a_trace(stored)
    seen = []
    for minutes in range(62):
        suspended = 1 <= minutes < 61
        trace.keep(a_pass(*([waits(due_in_s=60.0 * (61 - minutes))] if suspended else []), minutes=minutes))
        seen.append(stored.named(minutes) != [])

    assert stored.asked == ["read", "write", "write", "take away"]
    assert seen == [1 <= minutes < 61 for minutes in range(62)]


@pytest.mark.parametrize("first", [FAILS, waits(GuardName.QUOTA, 60.0)], ids=["fails", "waits-for-a-quota"])
def test_what_fails_is_written_down_when_it_lasts(first: Line) -> None:
    """Not what goes by itself within a minute, and not anew with each try."""
    stored = Kept({})
    trace = a_trace(stored)
    trace.keep(a_pass(first))
    trace.keep(a_pass(waits(GuardName.BACK_OFF, 1.0), minutes=0.1))
    assert (stored.asked, stored.data) == (["read"], {})

    for seconds in range(60, 600, 20):
        line = FAILS if seconds % 60 == 0 else waits(GuardName.BACK_OFF, 20.0)
        trace.keep(a_pass(line, minutes=seconds / 60))
    assert (stored.asked, stored.named(10)) == (["read", "write"], [CHANGE.key])

    trace.keep(a_pass(Line(CHANGE, Applied()), minutes=11))
    assert (stored.asked, stored.data) == (["read", "write", "take away"], {})


def test_another_change_of_the_key_begins_anew() -> None:
    stored = Kept()
    trace = a_trace(stored)
    for minutes, line in enumerate([FAILS, Line(a_change(after=an_identity(labels={})), Failed("no")), FAILS]):
        trace.keep(a_pass(line, minutes=minutes))
    assert stored.named(2) == []


def test_an_idle_pass_asks_nothing() -> None:
    """Not even for what a predecessor left: without a plan it misleads nobody."""
    stored = Kept({SUSPENDED.key: "a predecessor's"})
    trace = a_trace(stored)
    for minutes in range(90):
        trace.keep(a_pass(minutes=minutes))
    assert stored.asked == []


def test_what_a_predecessor_left_goes_with_the_first_plan() -> None:
    """Its memory is gone with it; other data is left as it is, which the write sees to."""
    stored = Kept({SUSPENDED.key: "a predecessor's"})
    trace = a_trace(stored)
    trace.keep(a_pass(Line(CHANGE, Applied())))
    trace.keep(a_pass(Line(CHANGE, Applied()), minutes=1))
    assert (stored.asked, stored.data) == (["read", "take away"], {})


def test_a_process_that_has_lost_the_lead_asks_again() -> None:
    """Another one may have written meanwhile. What is as it left it is not written anew."""
    stored = Kept()
    trace = a_trace(stored)
    trace.keep(a_pass(waits()))
    SuspensionTrace(stored.config_map("ccm-1")).keep(a_pass(Line(CHANGE, Applied())))
    assert stored.named() == []
    trace.forget()
    trace.keep(a_pass(waits(), minutes=1))
    assert stored.named(1) == [CHANGE.key]
    trace.forget()
    trace.keep(a_pass(waits(), minutes=2))
    assert stored.asked == ["read", "write", "read", "take away", "read", "write", "read"]


def test_what_could_not_be_read_is_still_suspended() -> None:
    stored = Kept()
    trace = a_trace(stored)
    trace.keep(a_pass(waits()))
    gap = replace(a_snapshot(), servers=Section.missing("500"))
    for report in (Report(), Report(snapshot=gap), Report(snapshot=a_snapshot(), errors=("401",))):
        trace.keep(report)
    assert (stored.asked, stored.named()) == (["read", "write"], [CHANGE.key])


@pytest.mark.parametrize(
    "unsure",
    [
        pytest.param(replace(a_snapshot(), cluster_uid=Unknown("403")), id="which-cluster-is-not-known"),
        pytest.param(replace(a_snapshot(), clocks=Clocks(hetzner=timedelta(hours=1))), id="what-time-it-is"),
    ],
)
def test_nothing_is_written_of_what_nobody_could_read(unsure: object) -> None:
    """Then no dry run could tell whose it is, or how old."""
    stored = Kept()
    a_trace(stored).keep(Report(snapshot=unsure, lines=(waits(),)))  # type: ignore[arg-type]
    assert stored.asked == []


def test_a_dry_run_beside_the_controller(joining: Run) -> None:
    """It says what the controller has suspended, with one request more, and for as long as that lasts."""
    sim = joining.sim
    body = {"metadata": {"name": "hcloud-reconciler"}, "data": {"other": "x"}}
    sim.kubernetes_writer().create(f"/api/v1/namespaces/{NAMESPACE}/configmaps", body)
    joining.history = History(sim.clock.timestamp, lambda: 0.0)
    joining.keep(lasts=True)
    sim.spoil_kubernetes("status", method="PATCH", path=".*/web-1.*", code=403, body={"message": "may not"}, count=None)

    def notes() -> list[tuple[str, str]]:
        beside = Run(sim, joining.settings)
        return [(note.key, note.text) for note in beside.plan().notes if note.kind is NoteKind.SUSPENDED]

    joining.converge()
    assert notes() == []
    began = sim.clock.now()
    sim.clock.advance(70)
    joining.converge()
    ((key, text),) = notes()
    assert key == "node/web-1"
    since = f"{began:%Y-%m-%d %H:%M} UTC"
    assert text.startswith(f"suspended by the running controller (ccm-0) since {since}: back-off, failed: ")
    assert Run(sim, joining.settings).plan().result is Result.CHANGES

    sim.kubernetes_proxy.clear_faults()
    sim.clock.advance(70)
    joining.converge()
    assert notes() == []
    assert sim.objects("configmaps")["hcloud-reconciler"]["data"] == {"other": "x"}
