"""The undo window: what is released with its Service, comes back to it, and is deleted when its time has come (D26)."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.annotations.options import OPTIONS
from desired.explain import why_no_service
from desired.load_balancers.lifecycle import due_of, window_of
from desired.load_balancers.matching import Adoptable, Foreign, Missing, match_balancers
from desired.load_balancers.ownership import former_of
from desired.model.clocks import Clocks
from desired.model.load_balancer import CloudBalancer, LoadBalancer, Owner
from desired.model.service import Service
from desired.names import (
    LABEL_ADOPTED,
    LABEL_CLUSTER_UID,
    LABEL_DELETE_AFTER,
    LABEL_FORMER,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
)
from desired.plan.change import Plan, Verdict
from desired.plan.notes import NoteKind
from desired.planner import compute_plan
from desired.rules.guards import BALANCER_RESERVED, BALANCER_RESERVED_UNTIL, RETURNED_ADDRESSES_LOST
from desired.rules.load_balancers import BALANCER_GOES_BACK
from desired.section import Section, Unknown
from tests.balancers import (
    LOCATED,
    SERVICE_UID,
    a_balancer,
    a_claim,
    a_listener,
    a_served_service,
    a_service,
    a_world,
    annotated,
)
from tests.builders import CLUSTER_UID, NOW, incomplete
from tests.support.judging import judge

UNDO = OPTIONS["undo_window"].full_key
MINUTES = replace(LOCATED, undo_window=timedelta(minutes=10))
LATER, EARLIER = "20260701T121000Z", "20260701T115959Z"
"""Ten minutes after the snapshot is taken, and a second before."""
KEY = "load_balancer/#42"


def leaving(**options: str) -> Service:
    """A Service that is being deleted and is served."""
    return a_served_service(deleted_at=NOW, claim=a_claim(annotations=annotated(**options)))


def left(at: str | None = LATER, balancer_id: int = 42, /, **parts: Any) -> CloudBalancer:
    """A load balancer that was released when Service ``web`` went. ``labels`` are further ones; None takes one off."""
    labels = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_FORMER: "default.web", LABEL_DELETE_AFTER: at}
    labels |= parts.pop("labels", {})
    spec = {"name": f"was-{balancer_id}", "labels": {key: text for key, text in labels.items() if text is not None}}
    return a_balancer(balancer_id, **{"spec": spec | parts.pop("spec", {})} | parts)


def planned(*services: Service, there: tuple[CloudBalancer, ...], **world: Any) -> Plan:
    """The judged plan."""
    snapshot = replace(a_world(services, there), **world)
    return judge(compute_plan(snapshot, MINUTES), snapshot, MINUTES)


def verdicts(plan: Plan) -> dict[str, tuple[str, Verdict, str | None]]:
    """Key → kind, verdict and rule."""
    return {change.key: (change.kind, change.decision.verdict, change.decision.rule) for change in plan.changes}


@pytest.mark.parametrize(
    ("flag_s", "options", "expected_s"),
    [
        pytest.param(0, {}, 0, id="nothing said"),
        pytest.param(600, {}, 600, id="the flag"),
        pytest.param(600, {"undo_window": "1h"}, 3600, id="the annotation beats the flag"),
        pytest.param(0, {"undo_window": "1h"}, 3600, id="the annotation alone"),
        pytest.param(600, {"undo_window": "0s"}, 0, id="none for this one"),
        pytest.param(600, {"undo_window": ""}, 600, id="empty"),
        pytest.param(300, {"undo_window": "ten minutes"}, 300, id="no duration"),
        pytest.param(300, {"undo_window": "-1s"}, 300, id="below zero"),
        pytest.param(300, {"undo_window": "169h"}, 300, id="longer than a week"),
        pytest.param(0, {"undo_window": "ten minutes"}, 600, id="no duration, and no flag: never none"),
        pytest.param(300, {"undo_window": "1h", "protocol": "gopher"}, 3600, id="beside what cannot be read"),
    ],
)
def test_how_long(flag_s: int, options: dict[str, str], expected_s: int) -> None:
    """The annotation decides, else the flag; a text that is no duration never makes it shorter than that."""
    settings = replace(LOCATED, undo_window=timedelta(seconds=flag_s))

    assert window_of(leaving(**options), settings) == timedelta(seconds=expected_s)


def test_what_is_wrong_is_said() -> None:
    """While the Service goes, with what is done instead."""
    plan = planned(leaving(undo_window="soon"), there=(a_balancer(),))

    (note,) = plan.notes
    assert (note.key, note.kind) == ("service/default/web", NoteKind.MALFORMED)
    assert note.text.startswith(f"{UNDO} is 'soon': expect a duration")
    assert note.text.endswith("; its load balancer is deleted 600s after the Service")


def test_it_is_let_go_first() -> None:
    """The Service is free at once; the labels say whose it was and how long it waits."""
    plan = planned(leaving(), there=(a_balancer(),))

    assert verdicts(plan) == {
        "load_balancer/default/web/retain": ("lb.retain", Verdict.ALLOWED, None),
        "service/default/web/release": ("service.release", Verdict.ALLOWED, None),
    }
    change = plan.changes[0]
    assert change.after == Owner(CLUSTER_UID, None, former="default.web")
    assert isinstance(change.after, Owner)
    assert (change.after.delete_after, change.after.released) == (LATER, None)
    assert change.reason.endswith("its load balancer is released now, and deleted after 2026-07-01 12:10:00 UTC")


@pytest.mark.parametrize(
    ("options", "balancer"),
    [
        pytest.param({"deletion_policy": "retain"}, a_balancer(), id="retained"),
        pytest.param({}, a_balancer(is_protected=True), id="protected"),
        pytest.param(
            {},
            a_balancer(
                spec={"labels": {LABEL_SERVICE_UID: SERVICE_UID, LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_ADOPTED: "true"}}
            ),
            id="nobody's before",
        ),
    ],
)
def test_what_stays_for_good(options: dict[str, str], balancer: CloudBalancer) -> None:
    """Whatever keeps it beats the window: there is no time at which it goes."""
    change = planned(leaving(**options), there=(balancer,)).changes[0]

    assert isinstance(change.after, Owner)
    assert (change.kind, change.after.released is None, change.after.delete_after) == ("lb.retain", False, None)


@pytest.mark.parametrize(
    ("at", "verdict"),
    [
        pytest.param(LATER, (Verdict.WAITING, "undo-window"), id="in the window"),
        pytest.param("20260701T120000Z", (Verdict.ALLOWED, None), id="just over"),
        pytest.param(EARLIER, (Verdict.ALLOWED, None), id="over"),
    ],
)
@pytest.mark.parametrize(("is_protected", "kind"), [(False, "lb.delete"), (True, "lb.retain")])
def test_its_end(at: str, verdict: tuple[Verdict, str | None], is_protected: bool, kind: str) -> None:
    """It is deleted once its time has come, or released for good where somebody has protected it."""
    (change,) = planned(there=(left(at, is_protected=is_protected),)).changes

    assert (change.kind, change.owner) == (kind, KEY)
    assert (change.decision.verdict, change.decision.rule) == verdict
    assert not is_protected or (isinstance(change.after, Owner) and change.after.former == "default.web")
    assert change.decision.due_in_s == (600 if verdict[0] is Verdict.WAITING else None)
    assert "Service default/web is gone" in change.reason


NOT_DELETED = [
    pytest.param(left("soon"), id="no time"),
    pytest.param(left("2020-01-01T00:00:00Z"), id="another way to write a time"),
    pytest.param(left("20201301T000000Z"), id="a month that is none"),
    pytest.param(left("20200101T000000Z\n"), id="something behind it"),
    pytest.param(left(None), id="no time at all"),
    pytest.param(left(EARLIER, labels={LABEL_FORMER: None}), id="nobody's before"),
    pytest.param(left(EARLIER, labels={LABEL_CLUSTER_UID: "x"}), id="another cluster's"),
    pytest.param(left(EARLIER, labels={LABEL_CLUSTER_UID: None}), id="no cluster's"),
    pytest.param(left(EARLIER, labels={LABEL_RELEASED: EARLIER}), id="released for good"),
]


@pytest.mark.parametrize("balancer", NOT_DELETED)
def test_what_is_never_deleted(balancer: CloudBalancer) -> None:
    """Only what has exactly the labels that were written, whatever time a foreign hand puts on it."""
    assert planned(there=(balancer,)).changes == ()


@pytest.mark.parametrize("at", ["soon", None])
def test_a_time_that_is_lost_is_noted(at: str | None) -> None:
    """It waits for a person, or for its Service."""
    (note,) = planned(there=(left(at),)).notes

    assert (note.key, note.kind) == (KEY, NoteKind.ORPHAN)
    assert LABEL_DELETE_AFTER in note.text
    assert "it is never deleted by itself" in note.text


def test_a_living_service_keeps_its_own() -> None:
    """A time on what a Service owns counts for nothing."""
    labels = {LABEL_SERVICE_UID: SERVICE_UID, LABEL_FORMER: None}
    kept = planned(a_served_service(), there=(left(EARLIER, labels=labels),))

    assert [change.kind for change in kept.changes if change.kind.startswith("lb.")] == []


@pytest.mark.parametrize(
    "world",
    [
        pytest.param({"services": incomplete(Section({}))}, id="Services with a gap"),
        pytest.param({"load_balancers": incomplete(Section({42: left(EARLIER)}))}, id="load balancers with a gap"),
        pytest.param({"services": Section({}, unreadable={"default/web": "no uid"})}, id="an unreadable Service"),
    ],
)
def test_what_is_unknown_deletes_nothing(world: dict[str, Any]) -> None:
    """A Service that was not read may be the one that wants it back."""
    (change,) = planned(there=(left(EARLIER),), **world).changes

    assert change.decision.verdict is Verdict.WAITING


def test_without_an_identity_nothing_is_anybodys() -> None:
    """While this cluster does not know its UID it cannot say that a load balancer is its own."""
    assert planned(there=(left(EARLIER),), cluster_uid=Unknown("403")).changes == ()


@pytest.mark.parametrize("at", [LATER, EARLIER, None, "soon"])
def test_it_goes_back(at: str | None) -> None:
    """To a Service of the same namespace and name, whatever became of the time, as long as it is there. What the new
    one does not ask for goes without a word: it was this Service's own."""
    there = left(at, listeners=(a_listener(), a_listener(8080, 31000)))
    plan = planned(a_service(), there=(there,))

    adopt = plan.by_key["load_balancer/default/web"]
    assert (adopt.kind, adopt.after) == ("lb.adopt", Owner(CLUSTER_UID, SERVICE_UID, balancer_id=42))
    assert plan.allowed == plan.changes
    assert "load_balancer/default/web/listener/8080" in plan.by_key
    assert KEY not in plan.by_key


@pytest.mark.parametrize(
    ("service", "there", "expected"),
    [
        pytest.param(a_service(namespace="other"), (left(),), None, id="another namespace"),
        pytest.param(a_service("api"), (left(),), None, id="another name"),
        pytest.param(a_service(), (left(labels={LABEL_RELEASED: EARLIER}),), None, id="released for good"),
        pytest.param(a_service(), (left(labels={LABEL_CLUSTER_UID: "x"}),), None, id="of another cluster"),
        pytest.param(a_service(), (left(LATER), left(EARLIER, 7)), 42, id="of two the one that went last"),
        pytest.param(a_service(), (left(EARLIER), left(LATER, 7)), 7, id="of two the one that went last, likewise"),
        pytest.param(
            a_service(claim=a_claim(annotations=annotated(name="was-42"))), (left(),), 42, id="named as it is"
        ),
        pytest.param(a_service(claim=a_claim(annotations=annotated(name="new"))), (left(),), 42, id="with a new name"),
    ],
)
def test_who_gets_it_back(service: Service, there: tuple[CloudBalancer, ...], expected: int | None) -> None:
    """By what its label remembers, and by nothing else."""
    (found,) = match_balancers(a_world([service], there)).values()

    assert (found.balancer.id if isinstance(found, Adoptable) and found.returns else None) == expected
    assert expected is not None or found == Missing()


@pytest.mark.parametrize(
    ("flag_s", "options", "expected"),
    [
        pytest.param(600, {}, "default.web", id="the flag"),
        pytest.param(0, {"undo_window": "1h"}, "default.web", id="the annotation"),
        pytest.param(600, {"undo_window": "0s"}, None, id="none for this one"),
        pytest.param(0, {}, None, id="nothing said"),
    ],
)
def test_what_is_looked_for_before_a_creation(flag_s: int, options: dict[str, str], expected: str | None) -> None:
    """What an undo window may have left, by the label that names the Service; nothing where there is no window."""
    snapshot = a_world([a_service(claim=a_claim(annotations=annotated(**options)))])
    plan = compute_plan(snapshot, replace(LOCATED, undo_window=timedelta(seconds=flag_s)))

    wish = plan.by_key["load_balancer/default/web"].after
    assert isinstance(wish, LoadBalancer)
    assert wish.former == expected


@pytest.mark.parametrize(
    ("at", "options", "verdict"),
    [
        pytest.param(EARLIER, {}, (Verdict.HELD, "ip-loss"), id="over"),
        pytest.param(EARLIER, {"name": "was-42"}, (Verdict.HELD, "ip-loss"), id="over, and named as it is"),
        pytest.param(EARLIER, {"name": "x" * 200}, (Verdict.HELD, "ip-loss"), id="over, and named as nobody can be"),
        pytest.param(EARLIER, {"name": "new"}, (Verdict.ALLOWED, None), id="over, and another one is named"),
        pytest.param(LATER, {}, (Verdict.WAITING, "undo-window"), id="in the window"),
    ],
)
def test_the_address_of_a_service_that_has_come_back_is_not_deleted(
    at: str, options: dict[str, str], verdict: tuple[Verdict, str | None]
) -> None:
    """A list lacked what was released, so that the Service that came back got another one: a person decides."""
    service = a_served_service(claim=a_claim(annotations=annotated(**options)))

    plan = planned(service, there=(left(at), a_balancer(43)))

    assert verdicts(plan)[KEY] == ("lb.delete", *verdict)
    assert [hold.said for hold in plan.holds] in ([], [RETURNED_ADDRESSES_LOST.text(service="default/web")])


def test_what_is_protected_and_due_stays_though_its_service_has_come_back() -> None:
    """Nothing is lost by that, so that nobody is asked."""
    plan = planned(a_served_service(), there=(left(EARLIER, is_protected=True), a_balancer(43)))

    assert verdicts(plan)[f"{KEY}/retain"] == ("lb.retain", Verdict.ALLOWED, None)


def test_who_asks_for_another_one_gets_that() -> None:
    """A Service that comes back and names another load balancer wants that: the old one goes at its time."""
    service = a_service(claim=a_claim(annotations=annotated(name="other")))
    other = a_balancer(9, service_uid=None, cluster_uid=None, targets=(), listeners=(), spec={"name": "other"})
    plan = planned(service, there=(left(EARLIER), other))

    assert verdicts(plan)[KEY] == ("lb.delete", Verdict.ALLOWED, None)
    assert plan.by_key["load_balancer/default/web"].after == Owner(
        CLUSTER_UID, SERVICE_UID, balancer_id=9, adopted="true"
    )


def test_nobody_takes_it_from_who_gets_it_back() -> None:
    """Another Service that asks for its name meanwhile is refused; where nobody gets it back it may have it."""
    thief = a_service("api", uid="uid-api", claim=a_claim(annotations=annotated(name="was-42")))

    both = match_balancers(a_world([thief, a_service()], [left()]))
    alone = match_balancers(a_world([thief], [left()]))

    goes_back = BALANCER_GOES_BACK.because(balancer=42, name="was-42", service="default/web")
    assert both["default/api"] == Foreign(left(), goes_back)
    assert both["default/web"] == Adoptable(left(), returns=True)
    assert isinstance(alone["default/api"], Adoptable)


RESERVED = {"balancer": "load balancer 42 was-42", "former": "Service default/web"}
AWAITED = BALANCER_RESERVED_UNTIL.text(**RESERVED, time="2026-07-01 12:10:00 UTC")


@pytest.mark.parametrize(
    ("parts", "at", "why"),
    [
        pytest.param({}, LATER, AWAITED, id="in use"),
        pytest.param({"listeners": (), "targets": ()}, LATER, AWAITED, id="empty"),
        pytest.param({}, None, BALANCER_RESERVED.text(**RESERVED), id="for a time that is lost"),
    ],
)
def test_another_namespace_does_not_take_it_without_a_word(parts: dict[str, Any], at: str | None, why: str) -> None:
    """Who names what waits for its Service's return may have it once a person says so: it could be deleted then."""
    tenant = a_service("web", namespace="tenant", claim=a_claim(annotations=annotated(name="was-42")))
    snapshot = a_world([tenant], [left(at, **parts)])
    plan = judge(compute_plan(snapshot, MINUTES), snapshot, MINUTES)

    (hold,) = plan.holds
    assert (hold.rule, hold.keys, hold.said) == ("adoption", ("load_balancer/tenant/web",), why)
    assert plan.allowed == ()
    assert judge(compute_plan(snapshot, MINUTES), snapshot, MINUTES, {hold.hash}).allowed


def test_what_was_nobodys_before_stays_so() -> None:
    """A load balancer that outlives its Service still does when it comes back."""
    plan = planned(a_service(), there=(left(labels={LABEL_ADOPTED: "true"}),))

    after = plan.by_key["load_balancer/default/web"].after
    assert isinstance(after, Owner)
    assert after.adopted == "true"


@pytest.mark.parametrize(
    ("namespace", "name", "expected"),
    [
        pytest.param("default", "web", "default.web", id="short"),
        pytest.param("n" * 31, "s" * 31, f"{'n' * 31}.{'s' * 31}", id="as long as a label's value may be"),
        pytest.param("n" * 32, "s" * 31, "sha256-", id="too long"),
        pytest.param("n" * 63, "s" * 63, "sha256-", id="as long as can be"),
    ],
)
def test_how_it_is_remembered(namespace: str, name: str, expected: str) -> None:
    """As a value that Hetzner's labels may have, and no two Services share."""
    found = former_of(a_service(name, namespace=namespace))

    assert found.startswith(expected)
    assert len(found) <= 63
    assert found != former_of(a_service(f"{name[:-1]}x", namespace=namespace))


def test_a_time_survives_its_label() -> None:
    """What is written is what is read."""
    assert due_of(Owner(None, None, delete_after=LATER)) == NOW + timedelta(minutes=10)


def test_no_note_says_what_the_plan_says() -> None:
    """What waits for its end is a change, and no orphan besides."""
    assert planned(there=(left(),)).notes == ()


def test_who_explains_a_service_that_is_gone_says_what_waits_for_it() -> None:
    """With its time, as far as there is one."""
    there, lost = a_world([], [left()]), a_world([], [left("soon")])
    beginning = (
        "the cluster has no Service 'default/web'; load balancer 42 was-42 goes back to it when it is created again"
    )

    assert why_no_service("default/web", there, LOCATED) == f"{beginning}, and is deleted after 2026-07-01 12:10:00 UTC"
    assert why_no_service("default/web", lost, LOCATED) == beginning
    assert "goes back" not in why_no_service("default/api", there, LOCATED)


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(([leaving()], (a_balancer(),)), id="its beginning"),
        pytest.param(([], (left(EARLIER),)), id="its end"),
    ],
)
def test_a_clock_that_nobody_believes(world: tuple[list[Service], tuple[CloudBalancer, ...]]) -> None:
    """An API server that is an hour ahead ends no window, and one that is behind begins none that is over."""
    services, there = world
    plan = planned(*services, there=there, clocks=Clocks(hetzner=timedelta(hours=1)))

    assert {change.decision.rule for change in plan.changes} == {"clock-skew"}
