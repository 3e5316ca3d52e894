"""Published settings: when they are written, the cost of that, and whole passes that meet changed ones."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from actuators.http.errors import ApiError, Denied, Transient
from actuators.outcome import Applied, Outcome
from desired.annotations.options import OPTIONS, Options
from desired.model.clocks import shown_moment
from desired.model.published_settings import PublishedSettings, texts_of
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Snapshot
from desired.names import CONFIG_MAP, LABEL_EXCLUDE_FROM_BALANCERS
from desired.plan.change import Change, GuardName
from desired.plan.grants import Grant
from desired.plan.notes import NoteKind
from desired.section import Present, Unknown
from reconciler.observe.approvals import observe_approvals
from reconciler.passes.records import Records, StatusPublication
from reconciler.report.published import STATUS
from reconciler.result import Report, Result
from tests.balancers import IN_NETWORK
from tests.builders import CLUSTER_UID, NOW, a_network, a_server, a_settled_node, a_snapshot
from tests.support.passes import NAMESPACE, Run, a_balanced_run, load_balancer_service, published, records_in
from tests.support.simulators import Simulation
from tests.support.stored import Stored

Simulate = Callable[..., Simulation]
WORLD = a_snapshot([a_settled_node()], [a_server()], network=Present(a_network(4)))
BEFORE, NOW_SET = Settings(network="old"), Settings(network="new")
SAID = f"HCLOUD_NETWORK old -> new, since {shown_moment(NOW)}"


class Kept(Stored):
    """With what is of interest in it."""

    @property
    def known(self) -> PublishedSettings | None:
        found = STATUS.read((self.data or {}).get(STATUS.key), CLUSTER_UID)
        return None if found is None else found.settings


def a_pass(
    stored: Kept, settings: Settings = NOW_SET, world: Snapshot = WORLD, *, writes: bool = True, plans: bool = False
) -> str:
    """What a pass of a new process tells of the settings, which it then publishes."""
    return again(StatusPublication(stored.config_map(writes=writes), settings), world, plans=plans)


def again(status: StatusPublication, world: Snapshot = WORLD, *, plans: bool = False) -> str:
    said = status.changed_settings(world, is_planning=plans)
    status.keep(Report(snapshot=world))
    return said


def _before() -> Kept:
    stored = Kept()
    a_pass(stored, BEFORE)
    stored.asked.clear()
    return stored


def test_the_first_pass_publishes_and_later_ones_ask_nothing() -> None:
    stored = Kept()
    status = StatusPublication(stored.config_map(), NOW_SET)
    assert again(status) == ""
    assert stored.known == PublishedSettings(texts_of(NOW_SET))
    assert again(status) == ""
    assert stored.asked == ["read", "read", "write"]
    assert a_pass(stored) == ""
    assert stored.asked == ["read", "read", "write", "read"]


def test_a_dry_run_looks_when_something_is_planned_and_writes_nothing() -> None:
    stored = _before()
    assert a_pass(stored, writes=False) == ""
    assert stored.asked == []
    assert a_pass(stored, writes=False, plans=True) == SAID
    assert stored.asked == ["read"]


def test_a_run_of_a_part_publishes_nothing() -> None:
    stored = _before()
    records = Records(stored.config_map(), replace(NOW_SET, only=("node/web-1",)))
    assert records.status.changed_settings(WORLD, is_planning=True) == SAID
    records.status.keep(Report(snapshot=WORLD))
    assert stored.known == PublishedSettings(texts_of(BEFORE))


def test_a_change_is_told_for_a_day_by_each_process() -> None:
    stored = _before()
    assert a_pass(stored) == SAID
    day = timedelta(days=1)
    assert a_pass(stored, world=replace(WORLD, taken_at=NOW + day)) == SAID
    assert a_pass(stored, world=replace(WORLD, taken_at=NOW + day + timedelta(hours=1))) == ""
    assert stored.known == PublishedSettings(texts_of(NOW_SET))


@pytest.mark.parametrize("error", [Transient("503"), Denied("403")])
def test_settings_that_cannot_be_read_tell_nothing(error: ApiError) -> None:
    broken = Kept(trouble=error)
    status = StatusPublication(broken.config_map(), NOW_SET)
    assert status.changed_settings(WORLD, is_planning=True) == ""
    nobody = replace(WORLD, cluster_uid=Unknown("403"))
    assert status.changed_settings(nobody, is_planning=True) == ""
    assert broken.asked == ["read"]


PRIVATE = replace(IN_NETWORK, balancer_defaults=Options(location="fsn1", use_private_ip=True))
CLOSED = replace(PRIVATE, balancer_defaults=replace(PRIVATE.balancer_defaults, disable_public_network=True))


def a_cluster(simulate: Simulate, *names: str, settings: Settings = PRIVATE) -> Run:
    """Services that are served with the settings that people want, and these are remembered."""
    run = a_balanced_run(simulate, *map(load_balancer_service, names or ("web", "db")), settings=settings)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CONFIG_MAP, "namespace": NAMESPACE}}
    run.sim.kubernetes_writer().create(f"/api/v1/namespaces/{NAMESPACE}/configmaps", body)
    run = under(run, settings)
    run.converge()
    assert run.converge().result is Result.NO_CHANGES
    return run


class Publishing(Run):
    """Passes that are followed by the publication of the status, as the command has them."""

    def converge(self) -> Report:
        report = super().converge()
        assert self.records is not None
        self.records.status.keep(report)
        return report


def under(run: Run, settings: Settings, **overrides: Any) -> Run:
    return Publishing(run.sim, settings, records=records_in(run.sim, settings), **overrides)


def are_public(run: Run) -> list[bool]:
    return [found["public_net"]["enabled"] for found in run.sim.balancers()]


def notes(report: Report) -> list[str]:
    return [note.text for note in report.notes if note.kind is NoteKind.SETTINGS]


DIFFERENCE = "changed settings: HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK (unset) -> true"


def test_a_setting_for_all_is_approved_once_for_all(simulate: Simulate) -> None:
    run = a_cluster(simulate)
    changed = under(run, CLOSED)
    report = changed.converge()
    assert report.result is Result.BLOCKED
    assert [note.partition(", since")[0] for note in notes(report)] == [DIFFERENCE]
    (hold,) = report.holds
    assert (hold.rule, hold.value, hold.limit) == (GuardName.BY_DEFAULT, "2", "0")
    assert are_public(run) == [True, True]
    assert ("kube-system", "SettingsChanged") in {(e.subject.name, e.reason) for e in changed.ears.events}

    changed.approve(hold.hash)
    report = changed.converge()
    assert (report.result, report.holds) == (Result.NO_CHANGES, ())
    assert are_public(run) == [False, False]
    assert under(run, CLOSED).converge().result is Result.NO_CHANGES


def test_what_a_setting_did_stays_when_it_is_unset(simulate: Simulate) -> None:
    """Unset keeps. An approved mistake is undone by the opposite value, and a second approval."""
    run = a_cluster(simulate)
    approve_all(under(run, CLOSED))
    report = under(run, PRIVATE).converge()
    assert (report.result, report.holds, are_public(run)) == (Result.NO_CHANGES, (), [False, False])

    opposite = under(
        run, replace(PRIVATE, balancer_defaults=replace(PRIVATE.balancer_defaults, disable_public_network=False))
    )
    report = opposite.converge()
    assert [(hold.rule, hold.value) for hold in report.holds] == [(GuardName.BY_DEFAULT, "2")]
    assert are_public(run) == [False, False]
    approve_all(opposite)
    assert are_public(run) == [True, True]


def approve_all(run: Run) -> None:
    for hold in run.converge().holds:
        run.approve(hold.hash)
    report = run.converge()
    assert (report.result, report.holds) == (Result.NO_CHANGES, ())


def test_a_default_that_is_taken_back_leaves_nothing(simulate: Simulate) -> None:
    run = a_cluster(simulate)
    under(run, CLOSED).converge()
    report = under(run, PRIVATE).converge()
    assert (report.result, report.holds) == (Result.NO_CHANGES, ())
    assert are_public(run) == [True, True]


APPROVALS = f"/api/v1/namespaces/{NAMESPACE}/configmaps/hcloud-reconciler"
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
    """What it named and is not done yet is done by the next process, and is struck then."""
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
    assert [grant.left for grant in stored(run)] == [()]


def stored(run: Run) -> tuple[Grant, ...]:
    return observe_approvals(run.readers.kubernetes, NAMESPACE).grants


def test_an_approval_passes_no_service_that_it_did_not_name(simulate: Simulate) -> None:
    """One that is in doubt later, and weeks later the same ones again."""
    run = a_cluster(simulate, "web", "db", "mail")
    annotate(run, "mail", disable_public_network="false")
    changed = under(run, CLOSED)
    (hold,) = changed.converge().holds
    changed.approve(hold.hash)
    changed.converge()
    assert sorted(are_public(run)) == [False, False, True]

    annotate(run, "mail", disable_public_network=None)
    report = under(run, CLOSED).converge()
    assert [each.value for each in report.holds] == ["1"]
    assert sorted(are_public(run)) == [False, False, True]


def test_a_difference_that_was_done_is_held_when_it_comes_back(simulate: Simulate) -> None:
    """The approval still has time left."""
    run = a_cluster(simulate)
    approve_all(under(run, CLOSED))
    for name in ("web", "db"):
        annotate(run, name, disable_public_network="false")
    assert under(run, CLOSED).converge().result is Result.NO_CHANGES
    assert are_public(run) == [True, True]
    for name in ("web", "db"):
        annotate(run, name, disable_public_network=None)
    report = under(run, CLOSED).converge()
    assert ([hold.rule for hold in report.holds], are_public(run)) == ([GuardName.BY_DEFAULT], [True, True])


def test_what_the_policy_leaves_out_keeps_no_name_alive(simulate: Simulate) -> None:
    """A target of an excluded Node stays for ever under upsert; a difference of the same Service is struck all the
    same."""
    upsert, headers = replace(PRIVATE, policy=Policy.UPSERT), replace(PROXIED, policy=Policy.UPSERT)
    headers = replace(headers, balancer_defaults=replace(PRIVATE.balancer_defaults, uses_proxyprotocol=True))
    run = a_cluster(simulate, settings=upsert)
    excluded = {"metadata": {"labels": {LABEL_EXCLUDE_FROM_BALANCERS: ""}}}
    run.sim.kubernetes_writer().patch("/api/v1/nodes/web-1", excluded)
    changed = under(run, headers)
    (hold,) = changed.converge().holds
    changed.approve(hold.hash)
    changed.converge()
    assert have_headers(run) == [True, True]
    for name in ("web", "db"):
        annotate(run, name, uses_proxyprotocol="false")
    changed.converge()
    for name in ("web", "db"):
        annotate(run, name, uses_proxyprotocol=None)
    report = changed.converge()
    assert ([each.rule for each in report.holds], have_headers(run)) == ([GuardName.BY_DEFAULT], [False, False])


def test_an_approval_that_was_not_struck_is_struck_by_the_next_process(simulate: Simulate) -> None:
    """It died before that, and the next one finds nothing held. Later a person changes a load balancer back."""
    run = a_cluster(simulate)
    changed = under(run, CLOSED)
    (hold,) = changed.converge().holds
    changed.approve(hold.hash)
    run.sim.spoil_kubernetes("status", method="PATCH", path=APPROVALS, code=503, body={}, skip=1, count=None)
    changed.converge()
    run.sim.kubernetes_proxy.clear_faults()
    assert (are_public(run), [len(grant.left) for grant in stored(run)]) == ([False, False], [2])

    after = under(run, CLOSED)
    after.keep(lasts=True)
    assert after.converge().result is Result.NO_CHANGES
    assert [grant.left for grant in stored(run)] == [()]
    for name in ("web", "db"):
        annotate(run, name, disable_public_network="false")
    after.converge()
    for name in ("web", "db"):
        annotate(run, name, disable_public_network=None)
    assert [held.rule for held in after.converge().holds] == [GuardName.BY_DEFAULT]


def test_nothing_is_struck_while_a_service_cannot_be_planned(simulate: Simulate) -> None:
    """A write was refused, and an annotation is wrong for a moment: the approval goes on to count."""
    run = a_cluster(simulate, settings=CLOSED)
    changed = under(run, PROXIED)
    (hold,) = changed.converge().holds
    changed.approve(hold.hash)
    run.sim.hetzner_proxy.set_faults([REFUSED])
    changed.converge()
    run.sim.hetzner_proxy.clear_faults()
    assert sorted(have_headers(run)) == [False, True]
    for value in ("maybe", None):
        for name in ("web", "db"):
            annotate(run, name, uses_proxyprotocol=value)
        run.sim.clock.advance(120)
        assert changed.converge().holds == ()
    assert have_headers(run) == [True, True]


def test_defaults_are_held_beside_a_service_that_is_left_alone(simulate: Simulate) -> None:
    """Nothing follows from the default while annotations are wrong, and later it is held."""
    run = a_cluster(simulate)
    for name in ("web", "db"):
        annotate(run, name, health_check_interval="soon")
    under(run, CLOSED).converge()
    for name in ("web", "db"):
        annotate(run, name, health_check_interval=None)
    report = under(run, CLOSED).converge()
    assert [hold.rule for hold in report.holds] == [GuardName.BY_DEFAULT]
    assert are_public(run) == [True, True]


def test_the_rest_goes_on_while_a_setting_waits(simulate: Simulate) -> None:
    run = a_cluster(simulate)
    run.sim.kubernetes_writer().create("/api/v1/namespaces/default/services", load_balancer_service("new"))
    changed = under(run, CLOSED)
    report = changed.converge()
    assert report.result is Result.BLOCKED
    assert sorted(are_public(run)) == [False, True, True]
    assert published(changed, "new") != []


def test_twenty_load_balancers_are_switched_by_one_approval(simulate: Simulate) -> None:
    """Target by target, in passes that are stopped and processes that follow."""
    public = replace(IN_NETWORK, balancer_defaults=Options(location="fsn1"))
    run = a_cluster(simulate, *(f"web-{number}" for number in range(20)), settings=public)
    (hold,) = under(run, PRIVATE).converge().holds
    assert (hold.value, len(hold.names), ways(run)) == ("20", 20, {False})

    run.approve(hold.hash)
    stop_after_a_change(under(run, PRIVATE))
    assert ways(run) == {False, True}
    assert under(run, PRIVATE).converge().holds == ()
    report = under(run, PRIVATE).converge()
    assert (report.result, report.holds, ways(run)) == (Result.NO_CHANGES, (), {True})


def ways(run: Run) -> set[bool]:
    return {target["use_private_ip"] for found in run.sim.balancers() for target in found["targets"]}


def test_a_cluster_without_records_is_held_alike(simulate: Simulate) -> None:
    run = a_balanced_run(simulate, load_balancer_service("web"), load_balancer_service("db"), settings=PRIVATE)
    run.converge()
    report = under(run, CLOSED).converge()
    assert [hold.rule for hold in report.holds] == [GuardName.BY_DEFAULT]
    assert are_public(run) == [True, True]
