"""The settings are remembered: when they are written, what it costs, and whole passes that meet changed ones."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from actuators.http.errors import Denied, Transient
from actuators.outcome import Applied, Outcome
from desired.annotations.choices import Algorithm
from desired.annotations.options import OPTIONS, Options
from desired.guards.guard import GuardInput, SettingsChange
from desired.model.clocks import Clocks
from desired.model.former_settings import SETTINGS, FormerSettings, Given, values_of
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Snapshot
from desired.names import STATUS_CONFIG_MAP
from desired.plan.change import Change, GuardName, Plan
from desired.plan.kinds import ChangeKind
from desired.plan.notes import NoteKind
from desired.planner import compute_plan
from desired.section import Present, Unknown
from reconciler.passes.keeper import ConfigMap
from reconciler.passes.records import Ended, Records, SettingsMemory
from reconciler.result import Line, Report, Result
from tests.balancers import IN_NETWORK, a_balancer, a_listener, a_served_service, a_world, annotated
from tests.builders import CLUSTER_UID, NOW, a_change, a_network, a_server, a_settled_node, a_snapshot
from tests.support.judging import facts_of
from tests.support.passes import (
    BALANCER,
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


def test_what_a_setting_did_is_undone_when_it_is_taken_back(simulate: Simulate) -> None:
    """Nothing becomes public unasked; once that is done, unset keeps again. What a Service asks for itself stays."""
    run = a_cluster(simulate)
    own = {"metadata": {"annotations": annotated(disable_public_network="true")}}
    run.sim.kubernetes_writer().create("/api/v1/namespaces/default/services", load_balancer_service("own"))
    run.sim.kubernetes_writer().patch("/api/v1/namespaces/default/services/own", own)
    under(run, PRIVATE).converge()
    approve_all(under(run, CLOSED))
    assert are_public(run) == [False, False, False]

    back = under(run, PRIVATE)
    report = back.converge()
    assert notes(report) == ["changed settings: HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK true -> (unset)"]
    assert [(hold.rule, hold.value) for hold in report.holds] == [(GuardName.SETTINGS_BLAST_RADIUS, "2")]
    assert are_public(run) == [False, False, False]
    approve_all(back)
    assert sorted(are_public(run)) == [False, True, True]
    assert published(back, "web") != []

    by_hand = {"metadata": {"annotations": annotated(disable_public_network="true")}}
    taken = {"metadata": {"annotations": dict.fromkeys(annotated(disable_public_network="true"))}}
    for body in (by_hand, taken):
        run.sim.kubernetes_writer().patch("/api/v1/namespaces/default/services/web", body)
        report = under(run, PRIVATE).converge()
    assert (report.result, report.holds) == (Result.NO_CHANGES, ())
    assert sorted(are_public(run)) == [False, False, True]


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


MISTAKEN = replace(PRIVATE, balancer_defaults=replace(PRIVATE.balancer_defaults, uses_proxyprotocol=True))
"""Beside ``CLOSED``: PROXY protocol headers that nobody wants, and a public interface, which is held."""
OTHERWISE = replace(
    MISTAKEN, balancer_defaults=replace(MISTAKEN.balancer_defaults, algorithm_type=Algorithm.LEAST_CONNECTIONS)
)
"""One more mistake beside these."""
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
PROXY = "HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL"


def have_headers(run: Run) -> list[bool]:
    """Whether each load balancer sends PROXY protocol headers."""
    return [found["services"][0]["proxyprotocol"] for found in run.sim.balancers()]


def balancer_of(run: Run) -> int:
    """The id of the only load balancer."""
    (found,) = run.sim.balancers()
    number: int = found["id"]
    return number


def switch_on(run: Run, balancer: int) -> None:
    """A person switches the headers of a load balancer on."""
    assert run.sim.change_listener(balancer, 80, proxyprotocol=True)
    run.sim.clock.advance(60)


def a_mistaken_pass(simulate: Simulate) -> Run:
    """One load balancer gets a header, and to open it is held."""
    run = a_cluster(simulate, "web", settings=CLOSED)
    report = under(run, MISTAKEN).converge()
    assert report.result is Result.REFUSED
    assert (have_headers(run), are_public(run)) == ([True], [False])
    return run


def remembered(run: Run) -> FormerSettings:
    """The settings with which a pass last ended well, and what came of others."""
    data = run.sim.objects("configmaps")[STATUS_CONFIG_MAP]["data"]
    found = SETTINGS.read(data[SETTINGS.key], run.sim.objects("namespaces")["kube-system"]["metadata"]["uid"])
    assert found is not None
    return found


def is_as_before(run: Run, settings: Settings) -> bool:
    """Whether these settings are remembered, and nothing else."""
    known = remembered(run)
    return (known.values, known.change, known.given) == (values_of(settings), None, ())


def test_what_a_mistaken_default_did_in_part_is_taken_back(simulate: Simulate) -> None:
    """The header stayed for good, with a note. A dry run tells the same; afterwards a person may switch it on."""
    run = a_mistaken_pass(simulate)
    assert remembered(run).given == (Given(PROXY, value=True, places=frozenset({(balancer_of(run), 80)})),)
    back = under(run, CLOSED)
    planned = replace(back, records=records_in(run.sim, CLOSED)).plan()
    assert f"{BALANCER}/listener/80" in {line.change.key for line in planned.lines}
    report = back.converge()
    assert notes(planned) == [f"changed settings: {PROXY} true -> (unset)"]
    assert (report.result, have_headers(run)) == (Result.NO_CHANGES, [False])
    assert is_as_before(run, CLOSED)

    switch_on(run, balancer_of(run))
    assert under(run, CLOSED).converge().result is Result.NO_CHANGES
    assert have_headers(run) == [True]


def test_what_several_got_from_a_mistaken_default_is_asked_about_once(simulate: Simulate) -> None:
    """One was made meanwhile. What the approval let through may take several passes, and be refused in part."""
    run = a_mistaken_pass(simulate)
    run.sim.have_services(load_balancer_service("new"))
    under(run, MISTAKEN).converge()
    assert have_headers(run) == [True, True]
    back = under(run, CLOSED)
    (hold,) = back.converge().holds
    assert hold.rule is GuardName.SETTINGS_BLAST_RADIUS
    assert have_headers(run) == [True, True]
    back.approve(hold.hash)
    run.sim.hetzner_proxy.set_faults([REFUSED])
    assert back.converge().holds == ()
    assert have_headers(run) == [True, False]
    run.sim.hetzner_proxy.clear_faults()
    report = under(run, CLOSED).converge()
    assert (report.result, report.holds) == (Result.NO_CHANGES, ())
    assert (have_headers(run), are_public(run)) == ([False, False], [False, False])
    assert is_as_before(run, CLOSED)


def test_what_a_mistaken_default_did_not_do_is_not_taken_back(simulate: Simulate) -> None:
    """A header that a person switched on stays: from before, and from while all that follows from the mistake is
    held."""
    run = a_cluster(simulate, "web", "db", settings=CLOSED)
    first, second = (each["id"] for each in run.sim.balancers())
    switch_on(run, first)
    assert under(run, MISTAKEN).converge().result is Result.REFUSED
    assert have_headers(run) == [True, False]
    switch_on(run, second)
    for settings in (MISTAKEN, CLOSED):
        under(run, settings).converge()
        assert have_headers(run) == [True, True]
    assert is_as_before(run, CLOSED)


def test_what_a_stopped_pass_had_only_planned_is_not_its_doing(simulate: Simulate) -> None:
    """It was stopped after the algorithm, and before the header, which a person switches on three days later: that was
    switched off again, without a word."""
    run = a_cluster(simulate, "web", settings=CLOSED)
    stop_after_a_change(under(run, OTHERWISE))
    assert {each.variable for each in remembered(run).given} == {"HCLOUD_LOAD_BALANCERS_ALGORITHM_TYPE"}
    assert have_headers(run) == [False]
    switch_on(run, balancer_of(run))
    under(run, CLOSED).converge()
    assert have_headers(run) == [True]


def test_a_mistake_that_cannot_be_taken_back_yet_is_remembered(simulate: Simulate) -> None:
    """Nothing may be planned for a Service with a wrong annotation, whose header stayed for good then; and what one of
    its own asks for by now is no mistake any more."""
    run = a_mistaken_pass(simulate)
    annotate(run, health_check_interval="soon")
    under(run, CLOSED).converge()
    assert have_headers(run) == [True]
    annotate(run, health_check_interval=None)
    under(run, CLOSED).converge()
    assert have_headers(run) == [False]
    assert is_as_before(run, CLOSED)

    under(run, MISTAKEN).converge()
    annotate(run, uses_proxyprotocol="true")
    under(run, CLOSED).converge()
    annotate(run, uses_proxyprotocol=None)
    under(run, CLOSED).converge()
    assert have_headers(run) == [True]


def annotate(run: Run, name: str = "web", **options: str | None) -> None:
    """Somebody gives a Service annotations; None takes one away."""
    keys = {OPTIONS[option].full_key: text for option, text in options.items()}
    body = {"metadata": {"annotations": keys}}
    run.sim.kubernetes_writer().patch(f"/api/v1/namespaces/default/services/{name}", body)


def test_each_port_is_set_back_from_what_it_got(simulate: Simulate) -> None:
    """A second default reached one port, and was refused at the other one, which has what the first one had given."""
    first, second = (
        replace(CLOSED, balancer_defaults=replace(CLOSED.balancer_defaults, health_check_interval=seconds))
        for seconds in (20, 30)
    )
    run = a_cluster(simulate, "web", settings=first)
    port = {"name": "https", "port": 443, "targetPort": 8443, "protocol": "TCP", "nodePort": 30443}
    ports = [*load_balancer_service()["spec"]["ports"], port]
    run.sim.kubernetes_writer().patch("/api/v1/namespaces/default/services/web", {"spec": {"ports": ports}})
    under(run, first).converge()
    assert intervals(run) == {80: 20, 443: 20}
    run.sim.hetzner_proxy.set_faults([{**REFUSED, "count": 1}])
    under(run, second).converge()
    run.sim.hetzner_proxy.clear_faults()
    assert sorted(intervals(run).values()) == [20, 30]
    under(run, CLOSED).converge()
    assert intervals(run) == {80: 15, 443: 15}
    assert is_as_before(run, CLOSED)


def intervals(run: Run) -> dict[int, int]:
    """Port → seconds between two health checks."""
    (found,) = run.sim.balancers()
    return {port["listen_port"]: port["health_check"]["interval"] for port in found["services"]}


def test_what_could_not_be_written_down_is_written_later() -> None:
    """The ConfigMap could not be written in the very pass that did it: it was forgotten for good."""
    stored = Kept()
    a_pass(a_memory(stored, CLOSED))
    memory = SettingsMemory(stored.config_map(), MISTAKEN)
    memory.recall(WORLD)
    facts, changes = a_change_by(MISTAKEN)
    memory.note(facts, [Line(change, Applied()) for change in changes], is_blind=True)
    stored.trouble = Denied("403")
    memory.keep(that_ended(OPEN), is_whole=True, is_sound=True)
    stored.trouble = None
    hours_later = replace(WORLD, taken_at=NOW + timedelta(hours=2))
    memory.keep(that_ended(OPEN, hours_later), is_whole=True, is_sound=True)
    assert stored.known is not None
    assert stored.known.given == (Given(PROXY, value=True, places=frozenset({(42, 80)})),)


def a_change_by(settings: Settings) -> tuple[GuardInput, list[Change]]:
    """A pass that has switched a header on, as these settings ask for."""
    world = a_world([a_served_service()], [a_balancer(listeners=(a_listener(),))])
    plan = compute_plan(world, settings)
    facts = facts_of(plan, world, settings)
    return facts, [change for change in plan.changes if change.kind is ChangeKind.LB_LISTENER]


def test_what_ended_before_a_pass_that_read_nothing_is_noted_with_the_next() -> None:
    """A change that was left running ended, and then the API server gave no answer: it is told of once."""
    stored = Kept()
    a_pass(a_memory(stored, CLOSED))
    records = Records(ConfigMap("main"), stored.config_map(), MISTAKEN)
    records.settings.recall(WORLD)
    _, changes = a_change_by(MISTAKEN)
    records.defer([Line(change, Applied()) for change in changes])
    world = a_world([a_served_service()], [a_balancer(listeners=(a_listener(proxyprotocol=True),))])
    seen = facts_of(Plan(), world, MISTAKEN)
    report = Report(snapshot=world)
    records.keep(Ended(report, report, (), (), {}, replace(seen, settings_change=OPEN), is_partial=False))
    assert stored.known is not None
    assert stored.known.given == (Given(PROXY, value=True, places=frozenset({(42, 80)})),)


def stop_after_a_change(run: Run) -> None:
    """A pass that is stopped as soon as one of its changes was made."""

    def stop(change: Change, outcome: Outcome) -> None:
        if isinstance(outcome, Applied):
            run.stop.set()

    run.ears.done = stop  # type: ignore[method-assign]
    run.converge()


def test_a_stopped_pass_remembers_what_it_has_set_back(simulate: Simulate) -> None:
    """A person switches the header on afterwards, and it was switched off again."""
    run = a_mistaken_pass(simulate)
    stop_after_a_change(under(run, CLOSED))
    assert have_headers(run) == [False]
    switch_on(run, balancer_of(run))
    under(run, CLOSED).converge()
    assert have_headers(run) == [True]


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
    the setting had been accepted while nothing followed from it; and one that is unset stayed for good."""
    run = a_cluster(simulate)
    for name in ("web", "db"):
        annotate(run, name, health_check_interval="soon")
    under(run, CLOSED).converge()
    for name in ("web", "db"):
        annotate(run, name, health_check_interval=None)
    report = under(run, CLOSED).converge()
    assert [hold.rule for hold in report.holds] == [GuardName.SETTINGS_BLAST_RADIUS]
    assert are_public(run) == [True, True]
    approve_all(under(run, CLOSED))

    approve_all(under(run, PROXIED))
    annotate(run, health_check_interval="soon")
    under(run, CLOSED).converge()
    assert sorted(have_headers(run)) == [False, True]
    annotate(run, health_check_interval=None)
    under(run, CLOSED).converge()
    assert have_headers(run) == [False, False]
    assert is_as_before(run, CLOSED)


def test_what_was_so_before_a_mistake_is_not_its_own(simulate: Simulate) -> None:
    """A person's header, beside an algorithm that the mistake did change."""
    run = a_cluster(simulate, "web", settings=CLOSED)
    switch_on(run, balancer_of(run))
    under(run, OTHERWISE).converge()
    assert [each.variable for each in remembered(run).given] == ["HCLOUD_LOAD_BALANCERS_ALGORITHM_TYPE"]
    under(run, CLOSED).converge()
    (found,) = run.sim.balancers()
    assert (found["algorithm"]["type"], have_headers(run)) == ("round_robin", [True])
    assert is_as_before(run, CLOSED)


def test_what_came_of_a_mistake_outlives_the_next_one(simulate: Simulate) -> None:
    """One more mistake, and a part that is off: it is taken back when its default is gone, and the part is on."""
    run = a_mistaken_pass(simulate)
    (given,) = remembered(run).given
    for settings in (replace(CLOSED, controllers=frozenset({Controller.NODE})), OTHERWISE):
        under(run, settings).converge()
        assert given in remembered(run).given
        assert have_headers(run) == [True]
    assert under(run, CLOSED).converge().result is Result.NO_CHANGES
    assert have_headers(run) == [False]
    assert is_as_before(run, CLOSED)


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
