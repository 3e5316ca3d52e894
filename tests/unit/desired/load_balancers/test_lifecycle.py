"""What becomes of a load balancer when its Service goes: deleted, or released (D26)."""

from dataclasses import replace
from typing import Any

import pytest

from desired.annotations.choices import DeletionPolicy
from desired.annotations.options import ANNOTATIONS, OPTIONS
from desired.explain import why_no_service
from desired.load_balancers.lifecycle import LoadBalancerRelease, release, release_changes
from desired.load_balancers.matching import Adoptable, Foreign, Missing, Owned, Undecided, match_balancers
from desired.model.load_balancer import CloudBalancer, LoadBalancer, Owner
from desired.model.service import Ingress, Service, ServiceCondition
from desired.model.serving import Serving
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Snapshot
from desired.names import (
    CONDITION_IN_SYNC,
    FINALIZER_BALANCER,
    LABEL_ADOPTED,
    LABEL_CLUSTER_UID,
    LABEL_DELETE_AFTER,
    LABEL_FORMER,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
    OWN_CLASS,
)
from desired.plan.change import Change, Claimed, Plan, Verdict
from desired.planner import compute_plan
from desired.rules import guards
from desired.rules import load_balancers as rules
from desired.rules.rule import Rule
from desired.section import Present, Section, Unknown
from tests.balancers import (
    DEFAULT_NAME,
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
from tests.support.keys import key_of
from tests.support.rows import rows
from tests.support.rules import saying

POLICY = OPTIONS["deletion_policy"].full_key
ELSEWHERE = "99999999-8888-7777-6666-555555555555"
WEB, SERVICE, KEY = "load_balancer/default/web", "service/default/web", "load_balancer/#42"
RETAIN, RELEASE = f"{WEB}/retain", f"{SERVICE}/release"
RETAIN_ALL = replace(LOCATED.balancer_defaults, deletion_policy=DeletionPolicy.RETAIN)
BY_DEFAULT = replace(LOCATED, balancer_defaults=RETAIN_ALL)
SINCE, EARLIER = "20260701T120000Z", "20260701T115959Z"
"""When the snapshot is taken, and a second before."""
ALLOWED, WAITING, HELD = Verdict.ALLOWED, Verdict.WAITING, Verdict.HELD
ADOPTED = a_balancer(
    spec={"labels": {LABEL_SERVICE_UID: SERVICE_UID, LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_ADOPTED: "true"}}
)


def leaving(overrides: Any = None, **options: str) -> Service:
    going: dict[str, Any] = {"deleted_at": NOW, "claim": a_claim(annotations=annotated(**options))}
    return a_served_service(**going | (overrides or {}))


def left(at: str | None = SINCE, number: int = 42, /, labels: Any = None, **parts: Any) -> CloudBalancer:
    """A load balancer that was released when Service ``web`` went. ``labels`` are further ones; None takes one off."""
    found = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_FORMER: "default.web", LABEL_RELEASED: at} | (labels or {})
    spec = {"name": f"was-{number}", "labels": {key: text for key, text in found.items() if text is not None}}
    return a_balancer(number, spec=spec, **parts)


def planned(
    *services: Service, there: tuple[CloudBalancer, ...] = (), settings: Settings = LOCATED, **world: Any
) -> Plan:
    snapshot = replace(a_world(services, there), **world)
    return judge(compute_plan(snapshot, settings), snapshot, settings)


def verdicts(plan: Plan) -> dict[str, tuple[str, Verdict, str | None]]:
    return {change.key: (change.kind, change.decision.verdict, change.decision.rule) for change in plan.changes}


def kinds(plan: Plan) -> set[str]:
    return {change.kind for change in plan.changes}


def owner_after(change: Change) -> Owner:
    """The labels that are left."""
    assert isinstance(change.after, Owner)
    return change.after


def labels_after(lb: LoadBalancerRelease, world: Snapshot) -> Owner | None:
    """The labels of its load balancer once that is released; None if it is deleted."""
    change = release_changes(lb, world)[0]
    return owner_after(change) if change.kind == "lb.retain" else None


def test_it_is_deleted_and_then_the_service_is_let_go() -> None:
    """The finalizer and the addresses stay until the load balancer is gone."""
    service, balancer = leaving(), a_balancer()
    found = planned(service, there=(balancer,))
    assert verdicts(found) == {WEB: ("lb.delete", ALLOWED, None), RELEASE: ("service.release", ALLOWED, None)}
    deletion, going = found.by_key[WEB], found.by_key[RELEASE]
    assert (deletion.before, deletion.after) == (balancer.spec, None)
    assert deletion.consequences == ("loses its public addresses 203.0.113.200 and 2001:db8::200 for good",)
    assert (going.depends_on, going.before) == ((WEB,), Claimed(FINALIZER_BALANCER, service.ingress))


OTHER: dict[str, Any] = {"load_balancer_class": "other"}
STAYS: dict[str, Any] = {"deleted_at": None}
FREE: dict[str, Any] = {"finalizers": ()}
OURS = (ServiceCondition(CONDITION_IN_SYNC, "True"),)
THEIRS: dict[str, Any] = {"ingress": (Ingress("198.51.100.9"),)}


@rows("overrides claimed", {
    "of another type now": ({"type": "ClusterIP"} | STAYS, (True, 2)),
    "of another type, and being deleted": ({"type": "NodePort"}, (True, 2)),
    "of another class, deleted": (OTHER, (True, 2)),
    "of another class, lives": (OTHER | STAYS, (True, 2)),
    "of an empty class": ({"load_balancer_class": ""} | STAYS, (True, 2)),
    "its controller has published by now": (OTHER | THEIRS, (True, 0)),
    "nothing of ours on it": (OTHER | THEIRS | FREE, None),
    "nothing of ours on it but conditions": (OTHER | THEIRS | FREE | {"conditions": OURS}, (False, 0)),
    "of another type, unclaimed": ({"type": "ExternalName", "ingress": ()} | FREE, None),
    "of another type, published by others": ({"type": "ClusterIP"} | THEIRS, (True, 1)),
})  # fmt: skip
def test_it_is_released_whatever_the_service_has_become(
    overrides: dict[str, Any], claimed: tuple[bool, int] | None
) -> None:
    """By its label, whichever steps between no pass has seen; without its finalizer a person is asked. What the other
    class's controller publishes stays."""
    service = leaving(overrides)
    found = planned(service, there=(a_balancer(),))
    assert found.by_key[WEB].kind == "lb.delete"
    assert found.allowed == (found.changes if service.finalizers else ())
    assert [hold.rule for hold in found.holds] == [] if service.finalizers else ["ip-loss"]
    before = found.by_key[RELEASE].before if RELEASE in found.by_key else None
    released = (before.finalizer is not None, len(before.ingress)) if isinstance(before, Claimed) else None
    assert released == claimed


RELEASED_BEFORE = a_balancer(
    service_uid=None, spec={"labels": {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_RELEASED: "20260101T000000Z"}}
)


@rows("overrides there expected", {
    "without a load balancer": ({}, (), {RELEASE}),
    "another cluster's, with the same Service UID": ({}, (a_balancer(cluster_uid=ELSEWHERE),), {RELEASE}),
    "released before": ({}, (RELEASED_BEFORE,), {RELEASE}),
    "another Service's": ({}, (a_balancer(service_uid="another"),), {RELEASE}),
    "of a class, and our condition tells whose the finalizer is": (OTHER | {"conditions": OURS}, (), {RELEASE}),
    "let go already": (FREE, (), set()),
    "held by somebody else": ({"finalizers": ("example.com/mine",)}, (), set()),
    "of another class": (OTHER, (), set()),
    "of another class, another cluster has its UID": (OTHER, (a_balancer(cluster_uid=ELSEWHERE),), set()),
    "of another class, another Service's": (OTHER, (a_balancer(service_uid="another"),), set()),
    "of another class, by name alone": (OTHER, (a_balancer(service_uid=None, cluster_uid=None),), set()),
})  # fmt: skip
def test_what_is_not_its_own_stays(
    overrides: dict[str, Any], there: tuple[CloudBalancer, ...], expected: set[str]
) -> None:
    """Only the label counts at deletion; without our finalizer, and for another class, nothing else is ours to do."""
    found = planned(leaving(overrides), there=there)
    assert {change.key for change in found.allowed if change.owner == key_of(SERVICE)} == expected


RETAINED, UNREADABLE, PROTECTED = rules.RETAINED_AS_ASKED, rules.RETAINED_UNREADABLE, rules.RETAINED_PROTECTED
KEPT = a_balancer(is_protected=True)
POLICIES: dict[str, tuple[str | None, CloudBalancer, Rule | None]] = {
    "nothing said": (None, a_balancer(), None),
    "empty": ("", a_balancer(), None),
    "delete": ("delete", a_balancer(), None),
    "delete in capitals": ("Delete", a_balancer(), None),
    "retain": ("retain", a_balancer(), RETAINED),
    "retain in capitals": ("RETAIN", a_balancer(), RETAINED),
    "what nobody knows": ("keep", a_balancer(), UNREADABLE),
    "protected": (None, KEPT, PROTECTED),
    "protected, delete": ("delete", KEPT, PROTECTED),
    "protected, what nobody knows": ("keep", KEPT, PROTECTED),
    "nobody's before": (None, ADOPTED, rules.RETAINED_ADOPTED),
    "nobody's before, empty": ("", ADOPTED, rules.RETAINED_ADOPTED),
    "nobody's before, delete": ("delete", ADOPTED, None),
    "nobody's before, retain": ("retain", ADOPTED, RETAINED),
    "nobody's before, protected": ("delete", replace(ADOPTED, is_protected=True), PROTECTED),
}
NONSENSE = {key: "\x00 no such thing {}" for key in ANNOTATIONS if key != POLICY}


@rows("others", {"": {}, "every other annotation is wrong": NONSENSE})
@rows("policy balancer row", POLICIES)
def test_what_is_kept(policy: str | None, balancer: CloudBalancer, row: Rule | None, others: dict[str, str]) -> None:
    """What is protected, to be kept, or was nobody's loses its label only; in doubt it is kept. No other annotation
    keeps a Service from going."""
    claim = a_claim(annotations=others | ({} if policy is None else {POLICY: policy}))
    service = leaving({"claim": claim})

    wish = release(service, Owned(balancer), LOCATED)
    plan = planned(service, there=(balancer,))

    assert (wish.why_retained and wish.why_retained.rule) == row
    retained = labels_after(wish, a_world([service], [balancer]))
    assert retained == (Owner(CLUSTER_UID, None, former="default.web") if row else None)
    assert retained is None or retained.released == SINCE
    assert kinds(plan) == {"lb.retain" if row else "lb.delete", "service.release"}
    assert (plan.allowed, plan.notes) == (plan.changes, ())


@rows("policy balancer row", {
    "nothing said": (None, a_balancer(), rules.RETAINED_BY_DEFAULT),
    "empty, which beats the variable": ("", a_balancer(), None),
    "delete": ("delete", a_balancer(), None),
    "retain": ("retain", a_balancer(), RETAINED),
    "what nobody knows": ("keep", a_balancer(), UNREADABLE),
    "nobody's before": (None, ADOPTED, rules.RETAINED_BY_DEFAULT),
    "nobody's before, delete": ("delete", ADOPTED, None),
})  # fmt: skip
def test_the_variable_decides_for_services_that_say_nothing(
    policy: str | None, balancer: CloudBalancer, row: Rule | None
) -> None:
    service = leaving({"claim": a_claim(annotations={} if policy is None else {POLICY: policy})})
    wish = release(service, Owned(balancer), BY_DEFAULT)
    assert (wish.why_retained and wish.why_retained.rule) == row
    assert kinds(planned(service, there=(balancer,), settings=BY_DEFAULT)) == {
        "lb.retain" if row else "lb.delete",
        "service.release",
    }


@pytest.mark.parametrize("balancer", [a_balancer(), ADOPTED])
def test_a_variable_of_delete_is_as_none(balancer: CloudBalancer) -> None:
    """An adopted load balancer goes by its Service's own annotation alone."""
    options = replace(LOCATED.balancer_defaults, deletion_policy=DeletionPolicy.DELETE)
    with_variable = replace(LOCATED, balancer_defaults=options)
    assert planned(leaving(), there=(balancer,), settings=with_variable) == planned(leaving(), there=(balancer,))


def test_what_nobody_knows_is_shown_in_part() -> None:
    """A value may be long."""
    wish = release(leaving(deletion_policy="x" * 99), Owned(a_balancer()), LOCATED)
    assert wish.why_retained == UNREADABLE.because(value=repr("x" * 80 + "..."))


@rows("of_class cluster_uid is_known expected", {
    "labelled": (None, CLUSTER_UID, True, Owner(CLUSTER_UID, None)),
    "not labelled yet": (None, None, True, Owner(CLUSTER_UID, None)),
    "labelled, identity unknown": (None, CLUSTER_UID, False, Owner(CLUSTER_UID, None)),
    "not labelled, identity unknown": (None, None, False, Owner(None, None)),
    "of a class": (OWN_CLASS, CLUSTER_UID, True,
        Owner(CLUSTER_UID, None, balancer_class="hcloud-reconciler..load-balancer")),
})  # fmt: skip
def test_labels_of_what_is_kept(of_class: str | None, cluster_uid: str | None, is_known: bool, expected: Owner) -> None:
    """The Service's label goes, those of the cluster and of the class stay or come."""
    uid = Present(CLUSTER_UID) if is_known else Unknown("403")
    world = a_world(serving=Serving(of_class), cluster_uid=uid)
    service = leaving({"load_balancer_class": of_class}, deletion_policy="retain")
    wish = release(service, Owned(a_balancer(cluster_uid=cluster_uid)), LOCATED)
    assert labels_after(wish, world) == replace(expected, former="default.web")


def test_how_it_is_kept() -> None:
    """The Service is released only after the load balancer has lost its label; each Service goes by itself."""
    shop = leaving({"uid": "shop", "name": "shop"})
    there = (a_balancer(), a_balancer(43, service_uid="shop", spec={"name": "shop"}))
    found = planned(leaving(deletion_policy="retain"), shop, there=there)
    assert found.by_key[RETAIN].before == Owner(CLUSTER_UID, SERVICE_UID)
    assert found.by_key[RELEASE].depends_on == (RETAIN,)
    others = {"load_balancer/default/shop", "service/default/shop/release"}
    assert {change.key for change in found.allowed} == {RETAIN, RELEASE, *others}


TWO = Section({7: a_balancer(7), 9: a_balancer(9)})


@rows("overrides", {"": {}, "of another class": OTHER | {"conditions": OURS}})
@rows("section row", {
    "not read": (None, rules.BALANCER_UNKNOWN),
    "a gap": (incomplete(Section({})), rules.BALANCER_UNKNOWN),
    "an unreadable one": (Section({}, unreadable={9: "odd"}), rules.BALANCER_UNKNOWN),
    "two": (TWO, rules.SEVERAL_BALANCERS),
})  # fmt: skip
def test_while_it_is_not_known(section: Section[int, CloudBalancer] | None, row: Rule, overrides: Any) -> None:
    """Nothing is released on what is unknown: the Service stays, with a note."""
    found = planned(leaving(overrides), load_balancers=section)
    assert found.changes == ()
    assert [(note.key, note.kind) for note in found.notes] == [(SERVICE, row.of)]


@rows("world", {
    "load balancers with a gap": {"load_balancers": incomplete(Section({42: a_balancer()}))},
    "Services with a gap": {"services": incomplete(Section({"default/web": leaving()}))},
    "an identity that is not known": {"cluster_uid": Unknown("403")},
})  # fmt: skip
def test_deletion_waits_for_whole_lists(world: dict[str, Any]) -> None:
    """Neither the deletion nor the release is made on a list with a gap, and no cloud is written to by nobody."""
    found = planned(leaving(), there=(a_balancer(),), **world)
    assert {each[1:] for each in verdicts(found).values()} == {(WAITING, "incomplete-snapshot")}


@rows("policy options waiting", {
    "upsert": (Policy.UPSERT, {}, {WEB, RELEASE}),
    "upsert, to be kept": (Policy.UPSERT, {"deletion_policy": "retain"}, {RELEASE}),
    "observe": (Policy.OBSERVE, {"deletion_policy": "retain"}, {RETAIN, RELEASE}),
})  # fmt: skip
def test_policies(policy: Policy, options: dict[str, str], waiting: set[str]) -> None:
    """What the operator's policy leaves undone keeps the Service."""
    found = planned(leaving(**options), there=(a_balancer(),), settings=replace(LOCATED, policy=policy))
    assert {change.key for change in found.with_verdict(WAITING)} == waiting


@rows("match present is_settled", {
    "its own": (Owned(a_balancer()), a_balancer(), True),
    "none": (Missing(), None, True),
    "not known": (Undecided(rules.BALANCER_UNKNOWN.because(cause="odd")), None, False),
    "another's": (Foreign(a_balancer(), saying("theirs")), None, False),
    "without its label": (Adoptable(a_balancer()), a_balancer(), True),
})  # fmt: skip
def test_what_is_settled(match: Any, present: CloudBalancer | None, is_settled: bool) -> None:
    """Only its own load balancer goes, and the Service only when it is known that there is no other."""
    wish = release(leaving(), match, LOCATED)
    assert (wish.present, bool(release_changes(wish, a_world()))) == (present, is_settled)


@rows("settings options expected", {
    "nothing said": (LOCATED, {}, None),
    "delete": (BY_DEFAULT, {"deletion_policy": "delete"}, None),
    "retain": (LOCATED, {"deletion_policy": "retain"}, "default.web"),
    "retain for all": (BY_DEFAULT, {}, "default.web"),
})  # fmt: skip
def test_a_policy_that_may_have_released_one_has_it_looked_for(
    settings: Settings, options: dict[str, str], expected: str | None
) -> None:
    service = a_service(claim=a_claim(annotations=annotated(**options)))
    wish = compute_plan(a_world([service]), settings).by_key[WEB]
    assert isinstance(wish.after, LoadBalancer)
    assert wish.after.former == expected


WINDOW = {LABEL_RELEASED: None, LABEL_DELETE_AFTER: EARLIER}
"""Labels of an undo window of earlier versions, which has ended."""


@rows("balancer", {
    "released": left(),
    "released long ago": left("20200101T000000Z"),
    "its window has ended": left(labels=WINDOW),
    "without a time": left(None),
    "no time": left("soon"),
    "nobody's before": left(labels={LABEL_FORMER: None}),
    "another cluster's": left(labels={LABEL_CLUSTER_UID: "x"}),
    "no cluster's": left(labels={LABEL_CLUSTER_UID: None}),
    "of a Service that lives": left(labels={LABEL_SERVICE_UID: SERVICE_UID, LABEL_FORMER: None}),
})  # fmt: skip
@pytest.mark.parametrize("is_protected", [False, True])
def test_a_released_one_stays(balancer: CloudBalancer, is_protected: bool) -> None:
    """Whatever times its labels have."""
    services = (a_served_service(),) if balancer.owner.service_uid else ()
    plan = planned(*services, there=(replace(balancer, is_protected=is_protected),))
    assert not {"lb.delete", "lb.retain"} & kinds(plan)


@rows("labels", {
    "released": {},
    "in an undo window": WINDOW,
    "its time is taken off": {LABEL_RELEASED: None},
    "adopted before": {LABEL_ADOPTED: "true"},
})  # fmt: skip
def test_it_goes_back(labels: dict[str, str | None]) -> None:
    """A Service of the same namespace and name adopts it, and so leaves it behind when it goes."""
    plan = planned(a_service(), there=(left(labels=labels),))
    adopt = plan.by_key[WEB]
    assert (adopt.kind, adopt.after) == ("lb.adopt", Owner(CLUSTER_UID, SERVICE_UID, balancer_id=42, adopted="true"))
    assert adopt.reason.endswith("kept after it")
    assert plan.allowed == plan.changes


def test_it_goes_back_by_the_default_name_as_well() -> None:
    """The same Service, which had another type for a while."""
    there = left()
    there = replace(there, spec=replace(there.spec, name=DEFAULT_NAME))
    after = planned(a_service(), there=(there,)).by_key[WEB].after
    assert after == Owner(CLUSTER_UID, SERVICE_UID, balancer_id=42, adopted="true")


def test_what_its_service_takes_away_is_asked_for() -> None:
    """It may have got another use meanwhile."""
    there = left(listeners=(a_listener(), a_listener(8080, 31000)))
    plan = planned(a_service(), there=(there,))
    assert [(hold.rule, hold.keys) for hold in plan.holds] == [("adoption", (WEB, f"{WEB}/listener/8080"))]


def naming(name: str, service: str = "web", **overrides: Any) -> Service:
    return a_service(service, claim=a_claim(annotations=annotated(name=name)), **overrides)


@rows("service there expected", {
    "another namespace": (a_service(namespace="other"), (left(),), None),
    "another name": (a_service("api"), (left(),), None),
    "of another cluster": (a_service(), (left(labels={LABEL_CLUSTER_UID: "x"}),), None),
    "of two the one that went last": (a_service(), (left(SINCE), left(EARLIER, 7)), 42),
    "of two the one that went last, likewise": (a_service(), (left(EARLIER), left(SINCE, 7)), 7),
    "named as it is": (naming("was-42"), (left(),), 42),
    "with a new name": (naming("new"), (left(),), 42),
})  # fmt: skip
def test_who_gets_it_back(service: Service, there: tuple[CloudBalancer, ...], expected: int | None) -> None:
    """By what its label remembers, and by nothing else."""
    (found,) = match_balancers(a_world([service], there)).values()
    assert (found.balancer.id if isinstance(found, Adoptable) and found.by == "label" else None) == expected
    assert expected is not None or found == Missing()


def test_who_asks_for_another_one_gets_that() -> None:
    """A Service that comes back and names another load balancer wants that: the old one stays, for who names it."""
    other = a_balancer(9, service_uid=None, cluster_uid=None, targets=(), listeners=(), spec={"name": "other"})
    plan = planned(naming("other"), there=(left(), other))
    assert KEY not in plan.by_key
    assert plan.by_key[WEB].after == Owner(CLUSTER_UID, SERVICE_UID, balancer_id=9, adopted="true")
    also = match_balancers(a_world([naming("other"), naming("was-42", "api", uid="uid-api")], [left(), other]))
    assert also["default/api"] == Adoptable(
        left(), is_made_for_it=False, doubt="in use (1 listener and 1 target), released with Service default/web"
    )


def test_of_two_that_were_its_own_it_may_name_either() -> None:
    """Both were released by a Service of this name."""
    plan = planned(naming("was-42"), there=(left(EARLIER), left(SINCE, 7)))
    assert verdicts(plan)[WEB] == ("lb.adopt", ALLOWED, None)
    assert plan.by_key[WEB].after == Owner(CLUSTER_UID, SERVICE_UID, balancer_id=42, adopted="true")


def test_nobody_takes_it_from_who_gets_it_back() -> None:
    """Another Service that asks for its name meanwhile is refused; where nobody gets it back, or who would
    has another one by now, it may have it."""
    thief = naming("was-42", "api", uid="uid-api")
    both = match_balancers(a_world([thief, a_service()], [left()]))
    why = rules.BALANCER_GOES_BACK.because(balancer=42, name="was-42", service="default/web")
    assert both == {
        "default/api": Foreign(left(), why),
        "default/web": Adoptable(left(), "label", is_made_for_it=False),
    }
    for others in ([], [a_service()]):
        there = [left(), *(a_balancer(43) for _ in others)]
        assert isinstance(match_balancers(a_world([thief, *others], there))["default/api"], Adoptable)


@rows("there is_held", {"in use": (left(), True), "empty": (left(listeners=(), targets=()), False)})
def test_another_namespace_does_not_take_what_is_in_use_without_a_word(there: CloudBalancer, is_held: bool) -> None:
    """Who names what was released with another Service may have it once a person says so."""
    plan = planned(naming("was-42", namespace="tenant"), there=(there,))
    doubt = "in use (1 listener and 1 target), released with Service default/web"
    why = guards.ADOPTION_IN_DOUBT.text(balancer="load balancer 42 was-42", doubt=doubt)
    expected = [("adoption", ("load_balancer/tenant/web",), why)] if is_held else []
    assert [(hold.rule, hold.keys, hold.said) for hold in plan.holds] == expected


def test_who_explains_a_service_that_is_gone_says_what_waits_for_it() -> None:
    there = a_world([], [left()])
    found = why_no_service("default/web", there, LOCATED)
    assert found.endswith("load balancer 42 was-42 is returned to it when it is created again")
    assert why_no_service("default/api", there, LOCATED) == "the cluster has no Service 'default/api'"
