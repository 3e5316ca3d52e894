"""Which load balancer belongs to which Service, case by case."""

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from desired.load_balancers.matching import (
    Adoptable,
    BalancerMatch,
    Contested,
    Foreign,
    Missing,
    Owned,
    Undecided,
    match_balancers,
)
from desired.load_balancers.ownership import Ownership, ownership
from desired.model.load_balancer import CloudBalancer
from desired.model.service import Service
from desired.names import (
    FINALIZER_BALANCER,
    LABEL_CLUSTER_UID,
    LABEL_DELETE_AFTER,
    LABEL_FORMER,
    LABEL_SERVICE_UID,
)
from desired.rules.load_balancers import (
    BALANCER_MAYBE_ANOTHERS,
    BALANCER_OF_CLUSTER,
    BALANCER_OF_SERVICE,
    BALANCER_UNKNOWN,
    NAME_CONTESTED,
    NAME_KEPT,
    SEVERAL_BALANCERS,
)
from desired.rules.rule import Reason
from desired.section import Present, Section, Unknown
from tests.balancers import DEFAULT_NAME, SERVICE_UID, a_balancer, a_claim, a_service, a_world, annotated
from tests.builders import CLUSTER_UID, NOW, incomplete

ELSEWHERE = "99999999-8888-7777-6666-555555555555"
"""The UID of another cluster."""
DEAD = "dddddddd-0000-0000-0000-000000000000"
"""The UID of a Service that is gone."""
SHOP_UID = "aaaaaaaa-0000-0000-0000-000000000000"
SHOP_NAME = "aaaaaaaaa00000000000000000000000"
CLAIMED = (FINALIZER_BALANCER,)


def named(name: str, service: str = "web", **overrides: Any) -> Service:
    """A Service that asks for a load balancer of this name."""
    return a_service(service, claim=a_claim(annotations=annotated(name=name)), **overrides)


def called(
    name: str, balancer_id: int = 42, *, service: str | None = None, cluster: str | None = None
) -> CloudBalancer:
    """A load balancer of this name, whose labels name this Service and this cluster."""
    return a_balancer(balancer_id, service_uid=service, cluster_uid=cluster, spec={"name": name})


def matches(
    services: Sequence[Service], balancers: Sequence[CloudBalancer] = (), **world: Any
) -> dict[str, BalancerMatch]:
    """Name of each Service → its match, in whatever order the APIs answered."""
    first, *others = (
        match_balancers(a_world(one, other, **world))
        for one in permutations(services)
        for other in permutations(balancers)
    )
    assert all(other == first for other in others)
    return {key.removeprefix("default/"): found for key, found in first.items()}


def match(service: Service, *balancers: CloudBalancer, **world: Any) -> BalancerMatch:
    """What is said of a Service that is alone."""
    return matches([service], balancers, **world)[service.name]


OWN = a_balancer()
HCCMS = a_balancer(cluster_uid=None)
THEIRS = a_balancer(cluster_uid=ELSEWHERE)
LABELLED_THEIRS = called("x", service=SERVICE_UID, cluster=ELSEWHERE)


def of_elsewhere(balancer: CloudBalancer) -> Foreign:
    """The match with what another cluster has, whatever the way out."""
    return Foreign(balancer, BALANCER_OF_CLUSTER.because(balancer=42, name=balancer.spec.name, cluster=ELSEWHERE))


def unknown(cause: str) -> Undecided:
    """The match of a Service of which too little is known."""
    return Undecided(BALANCER_UNKNOWN.because(cause=cause))


@pytest.mark.parametrize(
    ("balancers", "expected"),
    [
        pytest.param([], Missing(), id="none"),
        pytest.param([OWN], Owned(OWN), id="labelled as ours"),
        pytest.param([HCCMS], Owned(HCCMS), id="labelled by HCCM, without a cluster"),
        pytest.param([called("x", service=SERVICE_UID)], Owned(called("x", service=SERVICE_UID)), id="by any name"),
        pytest.param([THEIRS], of_elsewhere(THEIRS), id="one Service UID in two clusters"),
        pytest.param([THEIRS, a_balancer(43)], Owned(a_balancer(43)), id="theirs and ours with one Service UID"),
        pytest.param(
            [LABELLED_THEIRS],
            of_elsewhere(LABELLED_THEIRS),
            id="theirs by any name",
        ),
        pytest.param(
            [LABELLED_THEIRS, called(DEFAULT_NAME, 43)],
            of_elsewhere(LABELLED_THEIRS),
            id="theirs by label and nobody's by name",
        ),
        pytest.param(
            [called(DEFAULT_NAME, 7, service=DEAD), a_balancer(9, spec={"name": "x"})],
            Owned(a_balancer(9, spec={"name": "x"})),
            id="the label beats the name",
        ),
        pytest.param(
            [a_balancer(9), a_balancer(7, cluster_uid=None)],
            Undecided(SEVERAL_BALANCERS.because(balancers="7, 9")),
            id="two with the label",
        ),
        pytest.param([called("someone-elses")], Missing(), id="another name"),
        pytest.param([called("x", service=DEAD)], Missing(), id="another Service's, by another name"),
    ],
)
def test_by_label(balancers: list[CloudBalancer], expected: BalancerMatch) -> None:
    """The Service's label says it, unless another cluster's is beside it."""
    assert match(a_service(), *balancers) == expected


def test_labels_of_a_cluster_that_is_not_known() -> None:
    """While our own identity is unknown the Service's label is believed, as nothing is written to Hetzner anyway."""
    unknown = {"cluster_uid": Unknown("403")}

    assert match(a_service(), OWN, **unknown) == Owned(OWN)
    assert match(a_service(), HCCMS, **unknown) == Owned(HCCMS)


def test_duplicates_in_a_cluster_that_is_not_known() -> None:
    """Nobody is told to remove labels which may rightly be another cluster's."""
    found = match(a_service(), OWN, a_balancer(43, cluster_uid=ELSEWHERE), cluster_uid=Unknown("403"))

    assert found == unknown("several have its label, and 403")


@pytest.mark.parametrize(
    ("balancer", "expected"),
    [
        pytest.param(called(DEFAULT_NAME), "adoptable", id="by the default name"),
        pytest.param(called(DEFAULT_NAME, cluster=CLUSTER_UID), "adoptable", id="by the default name, released once"),
        pytest.param(called(DEFAULT_NAME, service=DEAD), "stranger", id="by the default name, of a dead Service"),
        pytest.param(called(DEFAULT_NAME, cluster=ELSEWHERE), "foreign", id="by the default name, of another cluster"),
    ],
)
def test_by_default_name(balancer: CloudBalancer, expected: str) -> None:
    """A load balancer that lost its label is found by the name that follows from the Service's UID."""
    assert kind_of(match(a_service(), balancer)) == expected


@pytest.mark.parametrize(
    ("balancer", "expected"),
    [
        pytest.param(called("shared"), "adoptable", id="nobody's"),
        pytest.param(called("shared", cluster=CLUSTER_UID), "adoptable", id="released by this cluster"),
        pytest.param(called("shared", cluster=CLUSTER_UID, service=DEAD), "adoptable", id="a dead Service's of ours"),
        pytest.param(called("shared", service=DEAD), "stranger", id="a dead Service's of nobody knows where"),
        pytest.param(called("shared", cluster=ELSEWHERE), "foreign", id="released by another cluster"),
        pytest.param(called("shared", cluster=ELSEWHERE, service=DEAD), "foreign", id="of another cluster"),
        pytest.param(called("shared", service=""), "stranger", id="an empty label is an owner"),
        pytest.param(called("Shared"), "missing", id="names are exact"),
    ],
)
def test_by_annotation(balancer: CloudBalancer, expected: str) -> None:
    """Whoever is named is taken over only from nobody, or from one of this cluster's that is gone."""
    assert kind_of(match(named("shared"), balancer)) == expected


def kind_of(found: BalancerMatch) -> str:
    """One word for a match."""
    is_stranger = isinstance(found, Adoptable) and found.is_stranger
    return "stranger" if is_stranger else type(found).__name__.lower()


OWNERS = [
    pytest.param(a_service("shop", uid=SHOP_UID), id="that has one"),
    pytest.param(a_service("shop", uid=SHOP_UID, type="ClusterIP"), id="of another type"),
    pytest.param(a_service("shop", uid=SHOP_UID, load_balancer_class="other"), id="of another class"),
    pytest.param(a_service("shop", uid=SHOP_UID, deleted_at=NOW), id="that is being deleted"),
    pytest.param(a_service("shop", uid=SHOP_UID, deleted_at=NOW, finalizers=CLAIMED), id="that is releasing"),
    pytest.param(a_service("web", uid=SHOP_UID, namespace="other"), id="of the same name elsewhere"),
]


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("cluster", [None, CLUSTER_UID])
def test_a_living_service_keeps_its_own(owner: Service, cluster: str | None) -> None:
    """Nobody takes a load balancer from a Service that lives, whatever has become of that one."""
    balancer = called("shared", service=SHOP_UID, cluster=cluster)

    found = matches([named("shared"), owner], [balancer])["web"]

    assert found == Foreign(balancer, BALANCER_OF_SERVICE.because(balancer=42, name="shared", service=owner.id))


@pytest.mark.parametrize(
    ("name", "balancer", "expected"),
    [
        pytest.param(None, called("aold", service=DEAD, cluster=CLUSTER_UID), "missing", id="by the old default name"),
        pytest.param("shared", called("shared", service=DEAD, cluster=CLUSTER_UID), "adoptable", id="by annotation"),
        pytest.param("shared", called("shared", service=DEAD), "stranger", id="by annotation, of no cluster"),
    ],
)
def test_a_service_that_was_created_anew(name: str | None, balancer: CloudBalancer, expected: str) -> None:
    """Under the same name with another UID a Service is another one, and finds its load balancer by name."""
    service = a_service() if name is None else named(name)

    assert kind_of(match(service, balancer)) == expected


A, B, C = named("shared"), named("shared", "shop", uid=SHOP_UID), named("shared", "zoo", uid=DEAD)
OF_A = called("shared", service=SERVICE_UID, cluster=CLUSTER_UID)


@pytest.mark.parametrize(
    ("services", "balancers", "expected"),
    [
        pytest.param([A, B], [], {"web": None, "shop": None}, id="none there"),
        pytest.param([A, B], [called("shared")], dict.fromkeys(("web", "shop"), 42), id="nobody's there"),
        pytest.param([A, B], [OF_A], {}, id="one of them has it"),
        pytest.param(
            [A, B, C], [called("x", service=SERVICE_UID)], dict.fromkeys(("shop", "zoo")), id="one has another"
        ),
        pytest.param([A, B], [OF_A, called("x", 7, service=SHOP_UID)], {}, id="both have one"),
        pytest.param([A, B, C], [], dict.fromkeys(("web", "shop", "zoo")), id="three"),
        pytest.param([A, B], [called("shared", cluster=ELSEWHERE)], {}, id="another cluster's"),
        pytest.param(
            [named(SHOP_NAME), a_service("shop", uid=SHOP_UID)],
            [],
            {"web": None},
            id="one names the default of another",
        ),
        pytest.param(
            [named(SHOP_NAME), a_service("shop", uid=SHOP_UID)],
            [called(SHOP_NAME)],
            {"web": 42},
            id="one names the default of another, which is there",
        ),
        pytest.param(
            [a_service(uid=f"{SERVICE_UID[:-1]}{digit}", name=f"s{digit}") for digit in "12"],
            [],
            {"s1": None, "s2": None},
            id="one default name by chance",
        ),
        pytest.param([A, B], [OF_A, replace(OF_A, id=7)], {}, id="one of them has two"),
    ],
)
def test_rivals(services: list[Service], balancers: list[CloudBalancer], expected: dict[str, int | None]) -> None:
    """D8: where several ask for one name that none of them has, none gets it, but whose default name it is."""
    found = matches(services, balancers)

    contested = {key: each.balancer for key, each in found.items() if isinstance(each, Contested)}
    assert {key: balancer.id if balancer else None for key, balancer in contested.items()} == expected


@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param("shared", None, id="that name"),
        pytest.param(
            "old",
            NAME_KEPT.because(balancer=42, present="old", name="shared", services="Service default/shop"),
            id="another name",
        ),
    ],
)
def test_the_owner_among_rivals(name: str, why: Reason | None) -> None:
    """Who has a load balancer keeps it, in sync, and the name that it has; it gets no name that others ask for."""
    has = called(name, service=SERVICE_UID, cluster=CLUSTER_UID)

    assert matches([A, B], [has])["web"] == Owned(has, why)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        pytest.param("shared", True, id="that name"),
        pytest.param("old", False, id="another name, which is not changed for a contested one"),
    ],
)
def test_who_comes_back_among_rivals(name: str, kept: bool) -> None:
    """Nobody keeps a Service from what was released with it by asking for its name meanwhile."""
    labels = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_FORMER: "default.web", LABEL_DELETE_AFTER: "20990601T120000Z"}
    left = a_balancer(spec={"name": name, "labels": labels})

    found = matches([A, B], [left])

    assert isinstance(found["web"], Adoptable) is kept
    assert type(found["shop"]) is (Foreign if kept else Contested)


def of_another_cluster(**labels: str) -> CloudBalancer:
    """What a cluster elsewhere has labeled so, named as Service web asks."""
    ours = {f"hcloud-reconciler/{key.replace('_', '-')}": text for key, text in labels.items()}
    return a_balancer(spec={"name": "shared", "labels": {LABEL_CLUSTER_UID: ELSEWHERE, **ours}})


AT = "20260601T120000Z"


@pytest.mark.parametrize("former", ["default.shop", "default.web"])
def test_what_another_cluster_has_released(former: str) -> None:
    """It can be adopted by its name, also where the Services of both clusters are called the same."""
    found = match(named("shared"), of_another_cluster(released=AT, service=former))

    assert isinstance(found, Adoptable)
    assert (found.is_nobodys, found.is_anothers, found.is_awaited, found.returns) == (True, True, False, False)
    assert found.outlives_its_service


@pytest.mark.parametrize(
    ("balancer", "remedy"),
    [
        pytest.param(of_another_cluster(), "to have it released there, kubectl annotate", id="not released"),
        pytest.param(
            of_another_cluster(service="default.web", delete_after=AT),
            "its Service is gone, and it is deleted there when its undo window ends. To have it here: hcloud"
            " load-balancer remove-label 42 hcloud-reconciler/cluster-uid",
            id="in its undo window",
        ),
        pytest.param(
            called("shared", service=DEAD, cluster=ELSEWHERE),
            "to have it released there, kubectl annotate",
            id="owned there",
        ),
    ],
)
def test_what_another_cluster_has_not_released(balancer: CloudBalancer, remedy: str) -> None:
    """The label of another cluster counts as long as that one may still want it."""
    found = match(named("shared"), balancer)

    assert isinstance(found, Foreign)
    assert found.balancer == balancer
    assert remedy in found.reason.advice


def test_a_release_that_was_taken_back_in_part() -> None:
    """A label that says released, beside one that names a Service of that cluster, releases nothing."""
    there = of_another_cluster(released=AT)
    owned = replace(there, spec=replace(there.spec, labels={**there.spec.labels, LABEL_SERVICE_UID: DEAD}))

    assert match(named("shared"), owned) == of_elsewhere(owned)


def test_rivals_are_named() -> None:
    """Each is told of all the others."""
    one = NAME_CONTESTED.because(name="shared", services="Service default/shop")
    two = NAME_CONTESTED.because(name="shared", services="Services default/web, default/zoo")

    assert matches([A, B, a_service("alone", uid=DEAD)])["web"] == Contested(None, one)
    assert matches([A, B, C])["shop"] == Contested(None, two)


def test_of_many_rivals_a_few_are_named() -> None:
    """Thousands of Services with one name are told in proportion to their number: each of a few of the others."""
    crowd = [replace(A, name=f"web-{number:03}", uid=f"uid-{number}") for number in range(200)]
    found = match_balancers(a_world(crowd, ()))

    def told(name: str) -> str:
        match = found[f"default/{name}"]
        assert isinstance(match, Contested)
        return str(match.reason.facts["services"])

    assert told("web-000") == "Services default/web-001, default/web-002, default/web-003 and 196 more"
    assert told("web-002") == "Services default/web-000, default/web-001, default/web-003 and 196 more"
    assert told("web-199") == "Services default/web-000, default/web-001, default/web-002 and 196 more"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"deleted_at": NOW}, id="being deleted"),
        pytest.param({"type": "ClusterIP"}, id="of another type"),
        pytest.param({"load_balancer_class": "other"}, id="of another class"),
        pytest.param({"claim": a_claim(annotations=annotated(name=" shared"))}, id="with a name that cannot be read"),
        pytest.param({"claim": a_claim(annotations=annotated(name=""))}, id="with an empty name"),
        pytest.param({"claim": a_claim(annotations=annotated(name="SHARED"))}, id="with another name"),
    ],
)
def test_no_rival(other: dict[str, Any]) -> None:
    """Only who can get a load balancer of that name is a rival."""
    found = matches([A, replace(B, **other)], [called("shared")])

    assert found["web"] == Adoptable(called("shared"), is_nobodys=True)


@pytest.mark.parametrize(
    ("balancers", "expected"),
    [
        pytest.param([OWN], "owned", id="its own"),
        pytest.param([called("shared"), called(DEFAULT_NAME, 43)], "missing", id="nobody is found without a name"),
        pytest.param([THEIRS], "missing", id="another cluster's"),
    ],
)
def test_a_name_that_cannot_be_read(balancers: list[CloudBalancer], expected: str) -> None:
    """Only the label says whose it is then: nothing is found, nor taken over, by the default name in its place."""
    service = a_service(claim=a_claim(annotations=annotated(name=" web")))

    assert kind_of(match(service, *balancers)) == expected


def test_names_that_cannot_be_read() -> None:
    """Two mistakes are not one name."""
    claim = a_claim(annotations=annotated(name=" shared"))

    assert matches([replace(A, claim=claim), replace(B, claim=claim)]) == {"web": Missing(), "shop": Missing()}


LEAVING: dict[str, Any] = {"deleted_at": NOW, "finalizers": CLAIMED}


@pytest.mark.parametrize("leaving", [LEAVING, {"type": "ClusterIP", "finalizers": CLAIMED}])
@pytest.mark.parametrize(
    ("balancers", "expected"),
    [
        pytest.param([OWN], "owned", id="ours"),
        pytest.param([HCCMS], "owned", id="of HCCM"),
        pytest.param([THEIRS], "missing", id="another cluster's with the same Service UID"),
        pytest.param([called(DEFAULT_NAME)], "adoptable", id="of its default name, without its label"),
        pytest.param([called("shared")], "missing", id="of the name that it asks for, without its label"),
        pytest.param([called("shared", service=DEAD, cluster=CLUSTER_UID)], "missing", id="of another Service"),
        pytest.param([OWN, replace(OWN, id=43)], "undecided", id="two"),
    ],
)
def test_deletion_goes_by_the_label_alone(
    leaving: dict[str, Any], balancers: list[CloudBalancer], expected: str
) -> None:
    """What never had the Service's label, or has another cluster's, is not its to delete; ``test_release.py`` says what
    becomes of one that has its default name."""
    assert kind_of(match(named("shared", **leaving), *balancers)) == expected


def test_who_lets_go_is_no_rival() -> None:
    """A Service that is being deleted keeps what it has until that is gone; then the next one may have the name."""
    leaving, next_one = named("shared", **LEAVING), replace(B, claim=A.claim)

    assert matches([leaving, next_one], [OF_A]) == {
        "web": Owned(OF_A),
        "shop": Foreign(OF_A, BALANCER_OF_SERVICE.because(balancer=42, name="shared", service="default/web")),
    }
    assert matches([leaving, next_one]) == {"web": Missing(), "shop": Missing()}


def test_who_is_left_out() -> None:
    """Services that neither want nor have to release a load balancer have no match."""
    others = [
        a_service(type="ClusterIP"),
        a_service("shop", uid=SHOP_UID, load_balancer_class="", finalizers=CLAIMED, deleted_at=NOW),
        a_service("zoo", uid=DEAD, deleted_at=NOW),
    ]

    assert matches(others) == {}
    assert matches(others, [OWN]) == {"web": Owned(OWN)}


def test_services_that_were_not_read() -> None:
    """Nothing is said while the part that looks after Services is switched off."""
    assert match_balancers(replace(a_world([], [OWN]), services=None)) == {}


GAP = "page 2 timed out"


@pytest.mark.parametrize(
    ("service", "section", "expected"),
    [
        pytest.param(a_service(), None, unknown("the load balancers were not read"), id="not read"),
        pytest.param(a_service(), incomplete(Section({42: OWN})), Owned(OWN), id="its own, in a list with a gap"),
        pytest.param(a_service(), incomplete(Section({})), unknown(GAP), id="nothing, in a list with a gap"),
        pytest.param(
            a_service(), Section({}, unreadable={7: "odd"}), unknown("odd"), id="nothing, beside an unreadable one"
        ),
        pytest.param(
            a_service(),
            Section({}, unreadable={9: "b", 7: "c", 8: "a"}),
            unknown("a"),
            id="nothing, beside unreadable ones",
        ),
        pytest.param(
            a_service(), Section({42: OWN}, unreadable={7: "odd"}), Owned(OWN), id="its own, beside an unreadable one"
        ),
        pytest.param(
            named("shared"),
            incomplete(Section({42: called("shared")})),
            unknown(GAP),
            id="by name, as another one may have the label",
        ),
        pytest.param(a_service(), incomplete(Section({42: THEIRS})), unknown(GAP), id="theirs, and ours perhaps"),
        pytest.param(a_service(**LEAVING), None, unknown("the load balancers were not read"), id="leaving, not read"),
        pytest.param(a_service(**LEAVING), incomplete(Section({})), unknown(GAP), id="leaving, with a gap"),
        pytest.param(
            a_service(**LEAVING), Section({}, unreadable={7: "odd"}), unknown("odd"), id="leaving, unreadable"
        ),
        pytest.param(a_service(**LEAVING), incomplete(Section({42: OWN})), Owned(OWN), id="leaving, and it is there"),
    ],
)
def test_load_balancers_that_were_not_all_read(
    service: Service, section: Section[int, CloudBalancer] | None, expected: BalancerMatch
) -> None:
    """What was not found is not there only in a whole list: neither the label nor the name is proven absent else."""
    snapshot = replace(a_world([service]), load_balancers=section)

    assert match_balancers(snapshot) == {service.id: expected}


@pytest.mark.parametrize(
    ("section", "why"),
    [
        pytest.param(incomplete(Section({"default/web": A})), GAP, id="a gap"),
        pytest.param(Section({"default/web": A}, unreadable={"default/b": "odd"}), "odd", id="one is unreadable"),
    ],
)
@pytest.mark.parametrize(
    "balancer",
    [
        pytest.param(called("shared", service=SHOP_UID), id="an owner that was not read"),
        pytest.param(called("shared", service=SHOP_UID, cluster=CLUSTER_UID), id="an owner of this cluster"),
        pytest.param(called("shared"), id="nobody's, and a rival that was not read"),
    ],
)
def test_services_that_were_not_all_read(section: Section[str, Service], why: str, balancer: CloudBalancer) -> None:
    """Nobody is known to be dead, or alone in asking for a name, while a Service was not read."""
    snapshot = replace(a_world([], [balancer]), services=section)

    assert match_balancers(snapshot) == {
        "default/web": Undecided(BALANCER_MAYBE_ANOTHERS.because(balancer=42, name="shared", cause=why))
    }


@pytest.mark.parametrize(
    ("balancers", "expected"),
    [
        pytest.param([OF_A], "owned", id="its own"),
        pytest.param([], "missing", id="none: the guards wait"),
        pytest.param([called("shared", cluster=ELSEWHERE)], "foreign", id="another cluster's"),
    ],
)
def test_what_needs_no_other_service(balancers: list[CloudBalancer], expected: str) -> None:
    """A gap in the list of Services says nothing of what needs none of them to be told."""
    snapshot = replace(a_world([], balancers), services=incomplete(Section({"default/web": A})))

    assert kind_of(match_balancers(snapshot)["default/web"]) == expected


@pytest.mark.parametrize(
    ("label", "ours", "expected"),
    [
        pytest.param(CLUSTER_UID, Present(CLUSTER_UID), Ownership.OURS, id="ours"),
        pytest.param(ELSEWHERE, Present(CLUSTER_UID), Ownership.OTHER_CLUSTER, id="another one's"),
        pytest.param(None, Present(CLUSTER_UID), Ownership.UNCLAIMED, id="nobody's"),
        pytest.param(CLUSTER_UID, Unknown("forbidden"), Ownership.UNKNOWN, id="ours is not known"),
        pytest.param(None, Unknown("forbidden"), Ownership.UNCLAIMED, id="nobody's, ours is not known"),
    ],
)
def test_the_label_of_the_cluster(label: str | None, ours: Present[str] | Unknown, expected: Ownership) -> None:
    """One answer for each label, also while our own UID is not known."""
    assert ownership(label, a_world(cluster_uid=ours)) is expected


def test_nobody_else_compares_the_label_of_the_cluster() -> None:
    """Five places decided it once, and one differed."""
    root = Path(__file__).resolve().parents[4]
    comparing = {
        str(path.relative_to(root))
        for top in ("desired", "actuators", "reconciler")
        for path in (root / top).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Compare)
        and not isinstance(node.ops[0], ast.Is | ast.IsNot)
        and any(re.search(r"cluster_uid(\.value)?$", ast.unparse(side)) for side in (node.left, *node.comparators))
    }
    assert comparing == {"desired/load_balancers/ownership.py"}
