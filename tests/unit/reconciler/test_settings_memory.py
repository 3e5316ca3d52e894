"""The settings are remembered: when they are written, what it costs, and whole passes that meet changed ones."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from actuators.http.errors import Denied, Transient
from actuators.outcome import Applied, Outcome
from desired.annotations.options import OPTIONS, Options
from desired.guards.guard import GuardInput, SettingsChange
from desired.model.clocks import Clocks
from desired.model.former_settings import SETTINGS, FormerSettings, values_of
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.names import STATUS_CONFIG_MAP
from desired.plan.change import Change, GuardName, Plan
from desired.plan.notes import NoteKind
from desired.section import Present, Unknown
from reconciler.passes.records import Records, SettingsMemory
from reconciler.result import Report, Result
from tests.balancers import IN_NETWORK
from tests.builders import CLUSTER_UID, NOW, a_change, a_network, a_server, a_settled_node, a_snapshot
from tests.support.judging import facts_of
from tests.support.passes import (
    NAMESPACE,
    Run,
    a_balanced_run,
    load_balancer_service,
    published,
    records_in,
    written,
)
from tests.support.simulators import Simulation
from tests.support.stored import Stored

Simulate = Callable[..., Simulation]
WORLD = a_snapshot([a_settled_node()], [a_server()], network=Present(a_network(4)))
BEFORE, NOW_SET = Settings(network="old"), Settings(network="new")
OPEN = SettingsChange("HCLOUD_NETWORK old -> new", (a_change(),))


class Kept(Stored):
    """With what is of interest in it."""

    @property
    def known(self) -> FormerSettings | None:
        """What it says."""
        return SETTINGS.read((self.data or {}).get(SETTINGS.key), CLUSTER_UID)


def a_memory(stored: Kept, settings: Settings = NOW_SET, *, writes: bool = True) -> SettingsMemory:
    """That of a run that acts, unless told otherwise."""
    return SettingsMemory(stored.config_map(writes=writes), settings)


def that_ended(change: SettingsChange | None = None, world: Snapshot = WORLD) -> GuardInput:
    """A pass with this reading, after which this still follows from changed settings."""
    return replace(facts_of(Plan(), world, NOW_SET), settings_change=change)


def a_pass(
    memory: SettingsMemory, change: SettingsChange | None = None, world: Snapshot = WORLD, *, whole: bool = True
) -> FormerSettings | Unknown | None:
    """What a pass recalls, and then lets be remembered."""
    former = memory.recall(world, is_planning=change is not None)
    memory.keep(that_ended(change, world), is_whole=whole, is_sound=True)
    return former


def is_settled(stored: Kept, settings: Settings) -> bool:
    """Whether these are remembered, and nothing differs from them."""
    known = stored.known
    return known is not None and known.values == values_of(settings) and known.change is None


def test_the_first_pass_remembers_and_later_ones_ask_nothing() -> None:
    """One look and one write; with the same settings another process looks once, and writes nothing."""
    stored = Kept()
    memory = a_memory(stored)
    assert a_pass(memory) is None
    assert stored.known == FormerSettings(values_of(NOW_SET), 4, stored.known.tool_version)  # type: ignore[union-attr]
    a_pass(memory)
    assert stored.asked == ["read", "write"]
    assert a_pass(a_memory(stored)) == stored.known
    assert stored.asked == ["read", "write", "read"]


def test_a_dry_run_looks_when_something_is_planned_and_writes_nothing() -> None:
    stored = Kept()
    memory = a_memory(stored, writes=False)
    a_pass(memory)
    assert stored.asked == []
    a_pass(memory, OPEN)
    assert stored.asked == ["read"]


def _before(**data: str) -> Kept:
    stored = Kept(data)
    a_pass(a_memory(stored, BEFORE))
    stored.asked.clear()
    return stored


@pytest.mark.parametrize("change", [None, replace(OPEN, follows=())])
def test_a_difference_that_leads_to_nothing_is_remembered_at_once(change: SettingsChange | None) -> None:
    stored = _before(status="x")
    a_pass(a_memory(stored), change)
    assert stored.known is not None
    assert is_settled(stored, NOW_SET)
    assert stored.data is not None
    assert stored.data["status"] == "x"


def test_a_difference_that_waits_is_noted_once() -> None:
    """Since when it is there, also for the next process, and the settings stay those of the last good end."""
    stored, later = _before(), replace(WORLD, taken_at=NOW.replace(hour=NOW.hour + 1))
    memory = a_memory(stored)
    a_pass(memory, OPEN)
    a_pass(memory, OPEN, later)
    a_pass(a_memory(stored), OPEN, later)
    assert stored.asked == ["read", "write", "read"]
    assert stored.known is not None
    assert stored.known.values == values_of(BEFORE)
    assert stored.known.change is not None
    assert (stored.known.change.since, stored.known.change.accepted) == (NOW, False)
    a_pass(a_memory(stored, BEFORE), None, later)
    assert is_settled(stored, BEFORE)


def test_what_was_accepted_is_known_to_the_next_process() -> None:
    """An approval is used once, and what it let through may take several passes."""
    stored = _before()
    memory = a_memory(stored)
    memory.recall(WORLD)
    memory.accept()
    recalled = memory.recall(WORLD)
    assert isinstance(recalled, FormerSettings)
    assert recalled.change is not None
    assert recalled.change.accepted
    memory.keep(that_ended(OPEN), is_whole=False, is_sound=False)
    assert stored.known is not None
    assert stored.known.change is not None
    assert stored.known.change.accepted
    a_pass(a_memory(stored), OPEN)
    assert stored.known.change.accepted
    a_pass(a_memory(stored), None)
    assert is_settled(stored, NOW_SET)


@pytest.mark.parametrize(
    ("world", "whole", "asked"),
    [
        pytest.param(replace(WORLD, cluster_uid=Unknown("403")), True, [], id="no-identity"),
        pytest.param(replace(WORLD, clocks=Clocks(timedelta(hours=1))), True, ["read"], id="clocks-differ"),
        pytest.param(WORLD, False, ["read", "write"], id="incomplete-notes-the-difference-alone"),
    ],
)
def test_too_little_is_known(world: Snapshot, asked: list[str], *, whole: bool) -> None:
    """The settings of a pass that did not end well are none to go by."""
    stored = _before()
    a_pass(a_memory(stored), None, world, whole=whole)
    assert stored.asked == asked
    assert stored.known is not None
    assert stored.known.values == values_of(BEFORE)


def test_what_cannot_be_read_is_unknown_and_what_may_not_be_is_not_there() -> None:
    broken = Kept(trouble=Transient("503"))
    assert a_pass(a_memory(broken), OPEN) == Unknown("503")
    assert broken.asked == ["read"]
    assert a_pass(a_memory(Kept(trouble=Denied("403"))), OPEN) is None


def test_a_refused_write_is_not_repeated_each_minute() -> None:
    stored = Kept()
    memory = a_memory(stored)
    memory.recall(WORLD)
    stored.trouble = Denied("403")
    a_pass(memory)
    a_pass(memory)
    assert stored.asked == ["read", "write"]
    missing = Kept(None)
    a_pass(a_memory(missing))
    assert missing.asked == ["read"]


def test_what_was_accepted_stays_so_while_it_cannot_be_written() -> None:
    """For hours: it was approved once, and is not asked again. Who leads after another looks anew all the same."""
    stored = _before()
    memory = a_memory(stored)
    memory.recall(WORLD)
    memory.accept()
    stored.trouble = Denied("403")
    for hours in (0, 2, 4):
        later = replace(WORLD, taken_at=NOW + timedelta(hours=hours))
        memory.keep(that_ended(OPEN, later), is_whole=False, is_sound=False)
    recalled = memory.recall(replace(WORLD, taken_at=NOW + timedelta(hours=4, minutes=1)))
    assert isinstance(recalled, FormerSettings)
    assert recalled.change is not None
    assert recalled.change.accepted
    memory.forget()
    stored.trouble = None
    assert memory.recall(WORLD) == stored.known


def test_the_status_shares_its_look() -> None:
    """Who publishes it need not read what the memory has found."""
    stored = Kept({"a": "b"})
    records = Records(stored.config_map(), stored.config_map(), NOW_SET)
    records.settings.recall(WORLD)
    records.status.keep(Report(snapshot=WORLD))
    assert stored.asked == ["read", "write"]


PRIVATE = replace(IN_NETWORK, balancer_defaults=Options(location="fsn1", use_private_ip=True))
CLOSED = replace(PRIVATE, balancer_defaults=replace(PRIVATE.balancer_defaults, disable_public_network=True))


def a_cluster(simulate: Simulate, *names: str, settings: Settings = PRIVATE) -> Run:
    """Services that are served with the settings that people want, and these are remembered."""
    run = a_balanced_run(simulate, *map(load_balancer_service, names or ("web", "db")), settings=settings)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": STATUS_CONFIG_MAP, "namespace": NAMESPACE}}
    run.sim.kubernetes_writer().create(f"/api/v1/namespaces/{NAMESPACE}/configmaps", body)
    run = under(run, settings)
    run.converge()
    assert run.converge().result is Result.NO_CHANGES
    return run


def under(run: Run, settings: Settings, **overrides: Any) -> Run:
    """Another process with these settings."""
    return Run(run.sim, settings, records=records_in(run.sim, settings), **overrides)


def are_public(run: Run) -> list[bool]:
    """Whether each load balancer has a public interface."""
    return [found["public_net"]["enabled"] for found in run.sim.balancers()]


def notes(report: Report) -> list[str]:
    """Those on settings."""
    return [note.text for note in report.notes if note.kind is NoteKind.SETTINGS]


DIFFERENCE = "changed settings: HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK (unset) -> true"


def test_a_setting_for_all_is_approved_once_for_all(simulate: Simulate) -> None:
    """Nothing is closed before that; then all is, and the settings are those to compare with."""
    run = a_cluster(simulate)
    changed = under(run, CLOSED)
    report = changed.converge()
    assert report.result is Result.REFUSED
    assert notes(report) == [DIFFERENCE]
    (hold,) = report.holds
    assert (hold.rule, hold.value, hold.limit) == (GuardName.SETTINGS_BLAST_RADIUS, "2", "1")
    assert are_public(run) == [True, True]
    assert ("kube-system", "SettingsChanged") in {(e.subject.name, e.reason) for e in changed.ears.events}

    changed.approve(hold.hash)
    report = changed.converge()
    assert (report.result, report.holds) == (Result.NO_CHANGES, ())
    assert are_public(run) == [False, False]
    again = under(run, CLOSED).converge()
    assert (again.result, notes(again)) == (Result.NO_CHANGES, [])


def test_what_a_setting_did_stays_when_it_is_unset(simulate: Simulate) -> None:
    """Unset keeps. An approved mistake is undone by the opposite value, and a second approval."""
    run = a_cluster(simulate)
    under(run, PRIVATE).converge()
    approve_all(under(run, CLOSED))
    report = under(run, PRIVATE).converge()
    assert (report.result, report.holds, are_public(run)) == (Result.NO_CHANGES, (), [False, False])

    opposite = under(
        run, replace(PRIVATE, balancer_defaults=replace(PRIVATE.balancer_defaults, disable_public_network=False))
    )
    report = opposite.converge()
    assert [(hold.rule, hold.value) for hold in report.holds] == [(GuardName.SETTINGS_BLAST_RADIUS, "2")]
    assert are_public(run) == [False, False]
    approve_all(opposite)
    assert are_public(run) == [True, True]


def approve_all(run: Run) -> None:
    """A person approves all that is held, and a pass does it."""
    for hold in run.converge().holds:
        run.approve(hold.hash)
    report = run.converge()
    assert (report.result, report.holds) == (Result.NO_CHANGES, ())


def test_what_was_not_approved_and_is_taken_back_was_never_there(simulate: Simulate) -> None:
    run = a_cluster(simulate)
    before = written(run)
    under(run, CLOSED).converge()
    report = under(run, PRIVATE).converge()
    assert (report.result, report.holds, notes(report)) == (Result.NO_CHANGES, (), [])
    assert (written(run), are_public(run)) == (before, [True, True])


PROXIED = replace(CLOSED, balancer_defaults=replace(CLOSED.balancer_defaults, uses_proxyprotocol=True))
"""A header for all, which people mean."""
REFUSED = {
    "kind": "status",
    "code": 422,
    "method": "POST",
    "path": "/v1/load_balancers/1/actions/update_service",
    "count": None,
}
"""Each change of a port of the first load balancer."""


def have_headers(run: Run) -> list[bool]:
    """Whether each load balancer sends PROXY protocol headers."""
    return [found["services"][0]["proxyprotocol"] for found in run.sim.balancers()]


def annotate(run: Run, name: str = "web", **options: str | None) -> None:
    """Somebody gives a Service annotations; None takes one away."""
    keys = {OPTIONS[option].full_key: text for option, text in options.items()}
    body = {"metadata": {"annotations": keys}}
    run.sim.kubernetes_writer().patch(f"/api/v1/namespaces/default/services/{name}", body)


def stop_after_a_change(run: Run) -> None:
    """A pass that is stopped as soon as one of its changes was made."""

    def stop(change: Change, outcome: Outcome) -> None:
        if isinstance(outcome, Applied):
            run.stop.set()

    run.ears.done = stop  # type: ignore[method-assign]
    run.converge()


def test_an_approval_outlives_a_pass_that_is_stopped(simulate: Simulate) -> None:
    """It was asked for again, with half of what it let through done."""
    run = a_cluster(simulate, settings=CLOSED)
    changed = under(run, PROXIED)
    (hold,) = changed.converge().holds
    changed.approve(hold.hash)
    run.sim.hetzner_proxy.set_faults([REFUSED])
    stop_after_a_change(changed)
    run.sim.hetzner_proxy.clear_faults()
    assert have_headers(run) == [False, True]
    report = under(run, PROXIED).converge()
    assert (report.result, report.holds, have_headers(run)) == (Result.NO_CHANGES, (), [True, True])


def test_settings_are_not_accepted_while_a_service_is_left_alone(simulate: Simulate) -> None:
    """Nothing can be planned for one with a wrong annotation. Once it was mended, both were closed without a hold, as
    the setting had been accepted while nothing followed from it."""
    run = a_cluster(simulate)
    for name in ("web", "db"):
        annotate(run, name, health_check_interval="soon")
    under(run, CLOSED).converge()
    for name in ("web", "db"):
        annotate(run, name, health_check_interval=None)
    report = under(run, CLOSED).converge()
    assert [hold.rule for hold in report.holds] == [GuardName.SETTINGS_BLAST_RADIUS]
    assert are_public(run) == [True, True]


def test_the_rest_goes_on_while_a_setting_waits(simulate: Simulate) -> None:
    """A new Service gets its load balancer, which is made as the settings have it."""
    run = a_cluster(simulate)
    run.sim.kubernetes_writer().create("/api/v1/namespaces/default/services", load_balancer_service("new"))
    changed = under(run, CLOSED)
    report = changed.converge()
    assert report.result is Result.REFUSED
    assert sorted(are_public(run)) == [False, True, True]
    assert published(changed, "new") != []


def test_a_cluster_that_remembers_nothing_is_asked_nothing(simulate: Simulate) -> None:
    run = a_balanced_run(simulate, load_balancer_service("web"), load_balancer_service("db"), settings=PRIVATE)
    run.converge()
    report = under(run, CLOSED).converge()
    assert (report.result, report.holds) == (Result.NO_CHANGES, ())
    assert are_public(run) == [False, False]
