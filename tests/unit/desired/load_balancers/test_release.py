"""What becomes of the load balancer of a Service that goes."""

from dataclasses import replace
from typing import Any

import pytest

from desired.annotations.options import ANNOTATIONS, OPTIONS
from desired.load_balancers.lifecycle import LoadBalancerRelease, release
from desired.load_balancers.matching import Adoptable, Foreign, Missing, Owned, Undecided
from desired.model.load_balancer import CloudBalancer, Owner
from desired.model.service import Ingress, Service, ServiceCondition
from desired.model.settings import Policy
from desired.model.snapshot import Snapshot
from desired.names import CONDITION_IN_SYNC, LABEL_ADOPTED, LABEL_CLUSTER_UID, LABEL_RELEASED, LABEL_SERVICE_UID
from desired.plan.change import Change, Claimed, Plan, Verdict
from desired.plan.notes import Note, NoteKind
from desired.planner import compute_plan
from desired.rules.load_balancers import BALANCER_UNKNOWN
from desired.section import Section, Unknown
from tests.balancers import LOCATED, SERVICE_UID, a_balancer, a_claim, a_served_service, a_world, annotated
from tests.builders import CLUSTER_UID, NOW, incomplete
from tests.support.judging import judge
from tests.support.keys import key_of
from tests.support.rules import saying

POLICY, UNDO = (OPTIONS[field].full_key for field in ("deletion_policy", "undo_window"))
ELSEWHERE = "99999999-8888-7777-6666-555555555555"
BALANCER, RETAIN, RELEASE = (
    "load_balancer/default/web",
    "load_balancer/default/web/retain",
    "service/default/web/release",
)
RELEASED = "20260701T120000Z"
PROTECTED = "it is protected against deletion"


def leaving(policy: str | None = None, **overrides: Any) -> Service:
    """A Service that is being deleted and is served."""
    claim = a_claim(annotations={} if policy is None else {POLICY: policy})
    going: dict[str, Any] = {"deleted_at": NOW, "claim": claim}
    return a_served_service(**going | overrides)


def judged(snapshot: Snapshot, policy: Policy = Policy.SYNC) -> Plan:
    """The plan of the whole world, with verdicts."""
    settings = replace(LOCATED, policy=policy)
    return judge(compute_plan(snapshot, settings), snapshot, settings)


def planned(service: Service, *balancers: CloudBalancer, **world: Any) -> dict[str, Change]:
    """Key → change of what is planned."""
    return dict(judged(a_world([service], balancers, **world)).by_key)


def kinds(changes: dict[str, Change]) -> set[str]:
    """Kinds of the changes."""
    return {change.kind for change in changes.values()}


def test_it_is_deleted_and_then_the_service_is_let_go() -> None:
    """The finalizer and the addresses stay until the load balancer is gone."""
    service, balancer = leaving(), a_balancer()

    found = planned(service, balancer)

    assert found.keys() == {BALANCER, RELEASE}
    assert (found[BALANCER].kind, found[BALANCER].before, found[BALANCER].after) == ("lb.delete", balancer.spec, None)
    assert found[BALANCER].consequences == ("its public addresses 203.0.113.200 and 2001:db8::200 are lost for good",)
    assert found[RELEASE].depends_on == (BALANCER,)
    assert found[RELEASE].before == Claimed(finalizer=True, ingress=service.ingress)
    assert {change.decision.verdict for change in found.values()} == {Verdict.ALLOWED}


@pytest.mark.parametrize(
    "going",
    [
        pytest.param({"type": "ClusterIP", "deleted_at": None}, id="of another type now"),
        pytest.param({"type": "NodePort"}, id="of another type, and being deleted"),
    ],
)
def test_who_no_longer_wants_one(going: dict[str, Any]) -> None:
    """Another type deletes the load balancer as a deletion does."""
    assert kinds(planned(leaving(**going), a_balancer())) == {"lb.delete", "service.release"}


def test_without_a_load_balancer() -> None:
    """The Service is released at once, whatever it publishes."""
    found = planned(leaving())

    assert found.keys() == {RELEASE}
    assert found[RELEASE].depends_on == ()
    assert found[RELEASE].decision.verdict is Verdict.ALLOWED


@pytest.mark.parametrize(
    "balancer",
    [
        pytest.param(a_balancer(cluster_uid=ELSEWHERE), id="another cluster's, with the same Service UID"),
        pytest.param(
            a_balancer(
                service_uid=None, spec={"labels": {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_RELEASED: "20260101T000000Z"}}
            ),
            id="released before",
        ),
        pytest.param(a_balancer(service_uid="another"), id="another Service's"),
    ],
)
def test_what_is_not_its_own_stays(balancer: CloudBalancer) -> None:
    """Only the label counts at deletion."""
    changes = planned(leaving(), balancer)
    assert {key for key, change in changes.items() if change.decision.verdict is Verdict.ALLOWED} == {RELEASE}


@pytest.mark.parametrize(
    ("service", "balancers"),
    [
        pytest.param(leaving(finalizers=()), (), id="released already"),
        pytest.param(leaving(finalizers=("example.com/mine",)), (), id="held by somebody else"),
        pytest.param(leaving(load_balancer_class="other"), (), id="of another class"),
        pytest.param(
            leaving(load_balancer_class="other"), (a_balancer(cluster_uid=ELSEWHERE),), id="another cluster has its UID"
        ),
        pytest.param(
            leaving(load_balancer_class="other"), (a_balancer(service_uid="another"),), id="another Service's"
        ),
        pytest.param(
            leaving(load_balancer_class="other"), (a_balancer(service_uid=None, cluster_uid=None),), id="by name alone"
        ),
    ],
)
def test_who_is_left_alone(service: Service, balancers: tuple[CloudBalancer, ...]) -> None:
    """Without our finalizer, and for another class, only the label makes something ours to do."""
    assert [change for change in planned(service, *balancers).values() if change.owner == service.key] == []


OURS = (ServiceCondition(CONDITION_IN_SYNC, "True"),)
THEIRS = (Ingress("198.51.100.9"),)


@pytest.mark.parametrize(
    ("service", "goes"),
    [
        pytest.param(leaving(load_balancer_class="other"), (True, 2), id="deleted"),
        pytest.param(leaving(load_balancer_class="other", deleted_at=None), (True, 2), id="lives"),
        pytest.param(leaving(load_balancer_class="", deleted_at=None), (True, 2), id="of an empty class"),
        pytest.param(
            leaving(load_balancer_class="other", ingress=THEIRS), (True, 0), id="its controller has published by now"
        ),
        pytest.param(
            leaving(load_balancer_class="other", ingress=THEIRS, finalizers=()), None, id="nothing of ours on it"
        ),
        pytest.param(
            leaving(load_balancer_class="other", ingress=THEIRS, finalizers=(), conditions=OURS),
            (False, 0),
            id="nothing of ours on it but conditions",
        ),
        pytest.param(leaving(type="ExternalName", finalizers=(), ingress=()), None, id="of another type, unclaimed"),
        pytest.param(leaving(type="ClusterIP", ingress=THEIRS), (True, 1), id="of another type, published by others"),
    ],
)
def test_it_is_released_whatever_the_service_has_become(service: Service, goes: tuple[bool, int] | None) -> None:
    """By its label, whichever steps between no pass has seen. What the other class's controller publishes stays."""
    found = planned(service, a_balancer())

    assert found[BALANCER].kind == "lb.delete"
    assert {change.decision.verdict for change in found.values()} == {Verdict.ALLOWED}
    claimed = found[RELEASE].before if RELEASE in found else None
    assert (None if claimed is None else (claimed.finalizer, len(claimed.ingress))) == goes  # type: ignore[union-attr]


def test_a_finalizer_that_was_left_on_another_class_goes() -> None:
    """A pass ended between the deletion and the release: our condition tells that the finalizer is ours."""
    service = leaving(load_balancer_class="other", conditions=OURS, ingress=THEIRS)

    found = planned(service)

    assert set(found) == {RELEASE}
    assert found[RELEASE].before == Claimed(finalizer=True, ingress=())


@pytest.mark.parametrize(
    "balancers",
    [
        pytest.param({"load_balancers": incomplete(Section({}))}, id="a page is missing"),
        pytest.param({"load_balancers": Section({}, unreadable={9: "no"})}, id="one cannot be read"),
        pytest.param({"load_balancers": Section({n: a_balancer(n) for n in (42, 43)})}, id="two have the label"),
    ],
)
def test_a_change_of_class_waits_for_the_whole_list(balancers: dict[str, Any]) -> None:
    """What was not found may be there all the same, and of two none is taken."""
    assert planned(leaving(load_balancer_class="other", conditions=OURS), **balancers) == {}


POLICIES = [
    pytest.param(None, False, None, id="nothing said"),
    pytest.param("", False, None, id="empty"),
    pytest.param("delete", False, None, id="delete"),
    pytest.param("Delete", False, None, id="delete in capitals"),
    pytest.param("retain", False, "the Service's deletion policy is to retain it", id="retain"),
    pytest.param("RETAIN", False, "the Service's deletion policy is to retain it", id="retain in capitals"),
    pytest.param("keep", False, f"{POLICY} is 'keep', which is neither delete nor retain", id="what nobody knows"),
    pytest.param("x" * 99, False, f"{POLICY} is {'x' * 80 + '...'!r}, which is neither delete nor retain", id="long"),
    pytest.param(None, True, PROTECTED, id="protected"),
    pytest.param("delete", True, PROTECTED, id="protected, delete"),
    pytest.param("keep", True, PROTECTED, id="protected, what nobody knows"),
]


@pytest.mark.parametrize(("policy", "is_protected", "why"), POLICIES)
def test_what_is_kept(policy: str | None, is_protected: bool, why: str | None) -> None:
    """What is protected or to be kept loses its label only; in doubt it is kept."""
    balancer = a_balancer(is_protected=is_protected)
    service = leaving(policy)

    wish = release(service, Owned(balancer), a_world([service], [balancer]), LOCATED)

    assert (wish.why_retained and wish.why_retained.text, wish.retained is not None) == (why, why is not None)
    assert kinds(planned(service, balancer)) == {"lb.retain" if why else "lb.delete", "service.release"}


@pytest.mark.parametrize(
    ("policy", "is_protected", "why"),
    [
        pytest.param(None, False, f"it was not made for a Service, and {POLICY} is not delete", id="nothing said"),
        pytest.param("", False, f"it was not made for a Service, and {POLICY} is not delete", id="empty"),
        pytest.param("delete", False, None, id="delete"),
        pytest.param("retain", False, "the Service's deletion policy is to retain it", id="retain"),
        pytest.param("delete", True, PROTECTED, id="protected, delete"),
    ],
)
def test_what_was_nobodys_before(policy: str | None, is_protected: bool, why: str | None) -> None:
    """What a Service took over from nobody goes with it only where that was asked for; else it is nobody's again."""
    labels = {LABEL_SERVICE_UID: SERVICE_UID, LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_ADOPTED: "true"}
    balancer = a_balancer(is_protected=is_protected, spec={"labels": labels})
    service = leaving(policy)

    wish = release(service, Owned(balancer), a_world([service], [balancer]), LOCATED)

    assert (wish.why_retained and wish.why_retained.text) == why
    assert wish.retained == (Owner(CLUSTER_UID, None, former="default.web") if why else None)
    assert kinds(planned(service, balancer)) == {"lb.retain" if why else "lb.delete", "service.release"}


@pytest.mark.parametrize(
    ("cluster_uid", "known", "expected"),
    [
        pytest.param(CLUSTER_UID, True, CLUSTER_UID, id="labelled"),
        pytest.param(None, True, CLUSTER_UID, id="not labelled yet"),
        pytest.param(CLUSTER_UID, False, CLUSTER_UID, id="labelled, identity unknown"),
        pytest.param(None, False, None, id="not labelled, identity unknown"),
    ],
)
def test_labels_of_what_is_kept(cluster_uid: str | None, known: bool, expected: str | None) -> None:
    """The Service's label goes, the cluster's stays or comes, and others say since when and
    whose it was."""
    service, balancer = leaving("retain"), a_balancer(cluster_uid=cluster_uid)
    world = a_world([service], [balancer])
    snapshot = world if known else replace(world, cluster_uid=Unknown("403"))

    owner = release(service, Owned(balancer), snapshot, LOCATED).retained

    assert owner == Owner(expected, None, former="default.web")
    assert owner is not None
    assert owner.released == RELEASED


def test_how_it_is_kept() -> None:
    """The Service is released only after the load balancer has lost its label, and a person is told what stays."""
    found = planned(leaving("retain"), a_balancer())

    after = Owner(CLUSTER_UID, None, former="default.web")
    assert (found[RETAIN].before, found[RETAIN].after) == (Owner(CLUSTER_UID, SERVICE_UID), after)
    assert found[RETAIN].reason == (
        "the Service is being deleted, and the Service's deletion policy is to retain it: its label goes, and another"
        " says when it was released"
    )
    assert found[RELEASE].depends_on == (RETAIN,)
    assert {change.decision.verdict for change in found.values()} == {Verdict.ALLOWED}


NONSENSE = {key: "\x00 no such thing {}" for key in ANNOTATIONS if key not in (POLICY, UNDO)}


@pytest.mark.parametrize(("policy", "is_protected", "why"), POLICIES)
def test_deletion_needs_no_valid_annotation(policy: str | None, is_protected: bool, why: str | None) -> None:
    """A Service of which every annotation is wrong goes as any other does."""
    annotations = NONSENSE if policy is None else NONSENSE | {POLICY: policy}
    snapshot = a_world([leaving(claim=a_claim(annotations=annotations))], [a_balancer(is_protected=is_protected)])

    found = judged(snapshot)

    assert {change.kind for change in found.allowed} == {"lb.retain" if why else "lb.delete", "service.release"}
    assert found.changes == found.allowed
    assert found.notes == ()


GAP = "page 2 timed out"


UNKNOWN = "cannot determine its load balancer: "


@pytest.mark.parametrize(
    ("section", "kind", "why"),
    [
        pytest.param(None, NoteKind.UNKNOWN, f"{UNKNOWN}the load balancers were not read", id="not read"),
        pytest.param(incomplete(Section({})), NoteKind.UNKNOWN, UNKNOWN + GAP, id="a gap"),
        pytest.param(Section({}, unreadable={9: "odd"}), NoteKind.UNKNOWN, f"{UNKNOWN}odd", id="an unreadable one"),
        pytest.param(
            Section({7: a_balancer(7), 9: a_balancer(9)}),
            NoteKind.AMBIGUOUS,
            "load balancers 7, 9 all have the label of this Service; remove the label from those that are not its",
            id="two",
        ),
    ],
)
def test_while_it_is_not_known(section: Section[int, CloudBalancer] | None, kind: NoteKind, why: str) -> None:
    """Nothing is released on what is unknown: the Service stays, with a note."""
    found = judged(replace(a_world([leaving()]), load_balancers=section))

    assert found.changes == ()
    assert found.notes == (Note(key_of("service/default/web"), kind, why),)


@pytest.mark.parametrize(
    "world",
    [
        pytest.param({"load_balancers": incomplete(Section({42: a_balancer()}))}, id="load balancers with a gap"),
        pytest.param({"services": incomplete(Section({"default/web": leaving()}))}, id="Services with a gap"),
        pytest.param({"cluster_uid": Unknown("403")}, id="an identity that is not known"),
    ],
)
def test_deletion_waits_for_whole_lists(world: dict[str, Any]) -> None:
    """Neither the deletion nor the release is made on a list with a gap, and no cloud is written to by nobody."""
    found = judged(replace(a_world([leaving()], [a_balancer()]), **world)).by_key

    assert {key: (change.decision.verdict, change.decision.rule) for key, change in found.items()} == dict.fromkeys(
        (BALANCER, RELEASE), (Verdict.WAITING, "incomplete-snapshot")
    )


@pytest.mark.parametrize(
    ("policy", "retain", "waiting"),
    [
        pytest.param(Policy.UPSERT, None, {BALANCER, RELEASE}, id="upsert"),
        pytest.param(Policy.UPSERT, "retain", {RELEASE}, id="upsert, to be kept"),
        pytest.param(Policy.OBSERVE, "retain", {RETAIN, RELEASE}, id="observe"),
    ],
)
def test_policies(policy: Policy, retain: str | None, waiting: set[str]) -> None:
    """What the operator's policy leaves undone keeps the Service."""
    found = judged(a_world([leaving(retain)], [a_balancer()]), policy)

    assert {change.key for change in found.with_verdict(Verdict.WAITING)} == waiting


@pytest.mark.parametrize(
    ("match", "present", "is_settled"),
    [
        pytest.param(Owned(a_balancer()), a_balancer(), True, id="its own"),
        pytest.param(Missing(), None, True, id="none"),
        pytest.param(Undecided(BALANCER_UNKNOWN.because(cause="odd")), None, False, id="not known"),
        pytest.param(Foreign(a_balancer(), saying("theirs")), None, False, id="another's"),
        pytest.param(Adoptable(a_balancer()), a_balancer(), True, id="without its label"),
    ],
)
def test_what_is_settled(match: Any, present: CloudBalancer | None, is_settled: bool) -> None:
    """Only its own load balancer goes, and the Service only when it is known that there is no other."""
    wish: LoadBalancerRelease = release(leaving(), match, a_world(), LOCATED)

    assert (wish.present, wish.is_settled) == (present, is_settled)


def test_two_at_once() -> None:
    """Each Service goes by itself."""
    shop = leaving("retain", uid="shop", name="shop")
    balancers = [a_balancer(), a_balancer(43, service_uid="shop", spec={"name": "shop"})]

    found = judged(a_world([leaving(), shop], balancers))

    assert {change.key for change in found.allowed} == {
        BALANCER,
        RELEASE,
        "load_balancer/default/shop/retain",
        "service/default/shop/release",
    }


def test_annotations_of_the_claim_are_not_read() -> None:
    """What is asked for no longer matters, good or bad."""
    claim = a_claim(annotations=annotated(name="elsewhere", private_ipv4="10.0.0.9", type="lb99"))

    assert kinds(planned(leaving(claim=claim), a_balancer())) == {"lb.delete", "service.release"}
