"""Which load balancer belongs to which Service, case by case."""

from collections.abc import Sequence
from dataclasses import replace
from ipaddress import IPv4Address
from itertools import permutations
from typing import Any

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
from desired.load_balancers.notes import notes_on_match
from desired.model.load_balancer import CloudBalancer
from desired.model.service import Ingress, Service, ServiceCondition
from desired.model.serving import Serving
from desired.names import (
    CONDITION_IN_SYNC,
    FINALIZER_BALANCER,
    FINALIZER_OWN_CLASS,
    LABEL_CLASS,
    LABEL_CLUSTER_UID,
    LABEL_DELETE_AFTER,
    LABEL_FORMER,
    LABEL_OWN_CLASS_UID,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
    OWN_CLASS,
)
from desired.plan.notes import NoteKind
from desired.rules import load_balancers as rules
from desired.rules.rule import Reason, Rule
from desired.section import Section, Unknown
from tests.balancers import DEFAULT_NAME, SERVICE_UID, a_balancer, a_claim, a_listener, a_service, a_world, annotated
from tests.builders import CLUSTER_UID, NOW, incomplete
from tests.support.rows import rows

ELSEWHERE = "99999999-8888-7777-6666-555555555555"
"""The UID of another cluster."""
DEAD = "dddddddd-0000-0000-0000-000000000000"
"""The UID of a Service that is gone."""
SHOP_UID = "aaaaaaaa-0000-0000-0000-000000000000"
SHOP_NAME = "aaaaaaaaa00000000000000000000000"
CLAIMED = (FINALIZER_BALANCER,)
LEAVING: dict[str, Any] = {"deleted_at": NOW, "finalizers": CLAIMED}
AT = "20260601T120000Z"


def named(name: str, service: str = "web", **overrides: Any) -> Service:
    return a_service(service, claim=a_claim(annotations=annotated(name=name)), **overrides)


def called(name: str, number: int = 42, service: str | None = None, cluster: str | None = None) -> CloudBalancer:
    return a_balancer(number, service_uid=service, cluster_uid=cluster, spec={"name": name})


def labelled(**labels: str) -> CloudBalancer:
    names = {"released": LABEL_RELEASED, "former": LABEL_FORMER, "after": LABEL_DELETE_AFTER, "uid": LABEL_SERVICE_UID}
    ours = {names[key]: text for key, text in labels.items()}
    return a_balancer(spec={"name": "shared", "labels": {LABEL_CLUSTER_UID: ELSEWHERE, **ours}})


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
    return matches([service], balancers, **world)[service.name]


def kind_of(found: BalancerMatch) -> str:
    is_strangers = isinstance(found, Adoptable) and (found.doubt or "").startswith("labeled with unknown Service UID")
    return "stranger" if is_strangers else type(found).__name__.lower()


def rule_of(found: BalancerMatch) -> Rule | None:
    return found.reason.rule if isinstance(found, Foreign | Contested | Undecided) else None


OWN, HCCMS, THEIRS = a_balancer(), a_balancer(cluster_uid=None), a_balancer(cluster_uid=ELSEWHERE)
LABELLED_THEIRS = called("x", service=SERVICE_UID, cluster=ELSEWHERE)
SHARED = called("shared")
IN_USE = "in use (1 listener and 1 target), without an owner label"
OF_A = called("shared", service=SERVICE_UID, cluster=CLUSTER_UID)


@rows("balancers expected number", {
    "none": ([], "missing", None),
    "labelled as ours": ([OWN], "owned", 42),
    "labelled by HCCM, without a cluster": ([HCCMS], "owned", 42),
    "by any name": ([called("x", service=SERVICE_UID)], "owned", 42),
    "one Service UID in two clusters": ([THEIRS], "foreign", 42),
    "theirs and ours with one Service UID": ([THEIRS, a_balancer(43)], "owned", 43),
    "theirs by any name": ([LABELLED_THEIRS], "foreign", 42),
    "theirs by label and nobody's by name": ([LABELLED_THEIRS, called(DEFAULT_NAME, 43)], "foreign", 42),
    "the label beats the name": ([called(DEFAULT_NAME, 7, DEAD), a_balancer(9, spec={"name": "x"})], "owned", 9),
    "another name": ([called("someone-elses")], "missing", None),
    "another Service's, by another name": ([called("x", service=DEAD)], "missing", None),
    "its default name": ([called(DEFAULT_NAME)], "adoptable", 42),
    "its default name, released once": ([called(DEFAULT_NAME, cluster=CLUSTER_UID)], "adoptable", 42),
    "its default name, of a dead Service": ([called(DEFAULT_NAME, service=DEAD)], "stranger", 42),
    "its default name, of another cluster": ([called(DEFAULT_NAME, cluster=ELSEWHERE)], "foreign", 42),
    "the default name of who had its name before": ([called("aold", 42, DEAD, CLUSTER_UID)], "missing", None),
})  # fmt: skip
def test_a_service_that_names_none(balancers: list[CloudBalancer], expected: str, number: int | None) -> None:
    """The Service's label says it, unless another cluster's is beside it; then the name that follows from its UID."""
    found = match(a_service(), *balancers)
    assert (kind_of(found), getattr(getattr(found, "balancer", None), "id", None)) == (expected, number)
    assert rule_of(found) is (rules.BALANCER_OF_CLUSTER if expected == "foreign" else None)


@rows("balancer expected", {
    "nobody's": (SHARED, "adoptable"),
    "released by this cluster": (called("shared", cluster=CLUSTER_UID), "adoptable"),
    "a dead Service's of ours": (called("shared", 42, DEAD, CLUSTER_UID), "adoptable"),
    "a dead Service's of nobody knows where": (called("shared", service=DEAD), "stranger"),
    "released by another cluster": (called("shared", cluster=ELSEWHERE), "foreign"),
    "of another cluster": (called("shared", 42, DEAD, ELSEWHERE), "foreign"),
    "an empty label is an owner": (called("shared", service=""), "stranger"),
    "names are exact": (called("Shared"), "missing"),
})  # fmt: skip
def test_by_annotation(balancer: CloudBalancer, expected: str) -> None:
    """Whoever is named is taken over only from nobody, or from one of this cluster's that is gone."""
    assert kind_of(match(named("shared"), balancer)) == expected


@rows("balancers expected", {
    "ours": ([OWN], Owned(OWN)),
    "of HCCM": ([HCCMS], Owned(HCCMS)),
    "two": ([OWN, a_balancer(43, cluster_uid=ELSEWHERE)], Undecided(rules.BALANCERS_UNCLEAR.because(cause="403"))),
})  # fmt: skip
def test_while_the_cluster_is_not_known(balancers: list[CloudBalancer], expected: BalancerMatch) -> None:
    """The Service's label is believed, as nothing is written to Hetzner anyway; and nobody is told to remove labels
    which may rightly be another cluster's."""
    assert match(a_service(), *balancers, cluster_uid=Unknown("403")) == expected


def at(number: int, *ports: int) -> CloudBalancer:
    """A load balancer with the Service's label, this number in its address, and listeners that lead to these ports."""
    listeners = [a_listener(80 + place, port) for place, port in enumerate(ports)]
    return a_balancer(number, ipv4=IPv4Address(f"203.0.113.{number}"), ipv6=None, listeners=listeners)


@rows("published balancers expected", {
    "one is published": ([9], [at(7, 30080), at(9)], 9),
    "one is published, whatever leads to the Service": ([9], [at(7, 30080), at(9, 31000)], 9),
    "one of three": ([8], [at(7), at(8), at(9, 30080)], 8),
    "both are published, and one leads to the Service": ([7, 9], [at(7, 30080), at(9)], 7),
    "both are published, and both lead to the Service": ([7, 9], [at(7, 30080), at(9, 30080)], None),
    "nothing is published, and one leads to the Service": ([], [at(7), at(9, 30080)], 9),
    "nothing is published, and both lead to the Service": ([], [at(7, 30080), at(9, 30080)], None),
    "nothing is published, and one leads elsewhere as well": ([], [at(7), at(9, 30080, 31000)], None),
    "nothing is published, and none leads to the Service": ([], [at(7), at(9)], None),
    "the published one is in no list, and one leads to the Service": ([1], [at(7), at(9, 30080)], 9),
    "the published one is in no list, and none leads to the Service": ([1], [at(7), at(9)], None),
})  # fmt: skip
def test_several_with_the_label(published: list[int], balancers: list[CloudBalancer], expected: int | None) -> None:
    """The published one is the Service's, else the only one that leads to its node ports, and the others are told."""
    service = a_service(ingress=tuple(Ingress(f"203.0.113.{number}") for number in published))
    found = match(service, *balancers)
    if expected is None:
        numbers = ", ".join(str(each.id) for each in balancers)
        assert found == Undecided(rules.SEVERAL_BALANCERS.because(balancers=numbers))
        return
    assert isinstance(found, Owned)
    assert (found.balancer.id, [each.id for each in found.others]) == (
        expected,
        [each.id for each in balancers if each.id != expected],
    )
    assert [note.kind for note in notes_on_match(service, found)] == [NoteKind.SEVERAL_BALANCERS]


@rows("labels", {"of another cluster": {"cluster_uid": ELSEWHERE}, "of another Service": {"service_uid": DEAD}})
def test_a_label_of_another_owner_is_none_of_several(labels: dict[str, Any]) -> None:
    assert match(a_service(), OWN, a_balancer(7, **labels)) == Owned(OWN)


@rows("overrides", {
    "that has one": {},
    "of another type": {"type": "ClusterIP"},
    "of another class": {"load_balancer_class": "other"},
    "that is being deleted": {"deleted_at": NOW},
    "that is releasing": LEAVING,
    "of the same name elsewhere": {"name": "web", "namespace": "other"},
})  # fmt: skip
def test_a_living_service_keeps_its_own(overrides: dict[str, Any]) -> None:
    """Nobody takes a load balancer from a Service that lives, whatever has become of that one."""
    owner = a_service(**{"name": "shop", "uid": SHOP_UID} | overrides)
    for cluster in (None, CLUSTER_UID):
        balancer = called("shared", service=SHOP_UID, cluster=cluster)
        why = rules.BALANCER_OF_SERVICE.because(balancer=42, name="shared", service=owner.id)
        assert matches([named("shared"), owner], [balancer])["web"] == Foreign(balancer, why)


A, B, C = named("shared"), named("shared", "shop", uid=SHOP_UID), named("shared", "zoo", uid=DEAD)
SHOP = a_service("shop", uid=SHOP_UID)
TWINS = [a_service(uid=f"{SERVICE_UID[:-1]}{digit}", name=f"s{digit}") for digit in "12"]


@rows("services balancers expected", {
    "none there": ([A, B], [], {"web": None, "shop": None}),
    "nobody's there": ([A, B], [SHARED], {"web": 42, "shop": 42}),
    "one of them has it": ([A, B], [OF_A], {}),
    "one has another": ([A, B, C], [called("x", service=SERVICE_UID)], {"shop": None, "zoo": None}),
    "both have one": ([A, B], [OF_A, called("x", 7, SHOP_UID)], {}),
    "three": ([A, B, C], [], {"web": None, "shop": None, "zoo": None}),
    "another cluster's": ([A, B], [called("shared", cluster=ELSEWHERE)], {}),
    "one names the default of another": ([named(SHOP_NAME), SHOP], [], {"web": None}),
    "one names the default of another, which is there": ([named(SHOP_NAME), SHOP], [called(SHOP_NAME)], {"web": 42}),
    "one default name by chance": (TWINS, [], {"s1": None, "s2": None}),
    "one of them has two": ([A, B], [OF_A, replace(OF_A, id=7)], {}),
})  # fmt: skip
def test_rivals(services: list[Service], balancers: list[CloudBalancer], expected: dict[str, int | None]) -> None:
    """D8: where several ask for one name that none of them has, none gets it, but whose default name it is."""
    found = {key: each.balancer for key, each in matches(services, balancers).items() if isinstance(each, Contested)}
    assert {key: balancer.id if balancer else None for key, balancer in found.items()} == expected


KEPT = rules.NAME_KEPT.because(balancer=42, present="old", name="shared", services="Service default/shop")


@rows("name why", {"that name": ("shared", None), "another name": ("old", KEPT)})
def test_the_owner_among_rivals(name: str, why: Reason | None) -> None:
    """Who has a load balancer keeps it, in sync, and the name that it has; it gets no name that others ask for."""
    has = called(name, service=SERVICE_UID, cluster=CLUSTER_UID)
    assert matches([A, B], [has])["web"] == Owned(has, why_not_renamed=why)


@rows("name is_kept", {"that name": ("shared", True), "another name, not changed for a contested one": ("old", False)})
def test_who_comes_back_among_rivals(name: str, is_kept: bool) -> None:
    """Nobody keeps a Service from what was released with it by asking for its name meanwhile."""
    labels = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_FORMER: "default.web", LABEL_RELEASED: AT}
    found = matches([A, B], [a_balancer(spec={"name": name, "labels": labels})])
    assert isinstance(found["web"], Adoptable) is is_kept
    assert type(found["shop"]) is (Foreign if is_kept else Contested)


@rows("labels former is_held", {
    "another cluster": ({LABEL_CLUSTER_UID: ELSEWHERE}, "default.shop", True),
    "another cluster, of a Service of this name": ({LABEL_CLUSTER_UID: ELSEWHERE}, "default.web", True),
    "another class": ({LABEL_CLASS: "internal"}, "default.shop", True),
    "another class, of a Service of this name": ({LABEL_CLASS: "internal"}, "default.web", False),
})  # fmt: skip
def test_what_another_owner_has_released(labels: dict[str, str], former: str, is_held: bool) -> None:
    """It can be adopted by its name, and goes with no Service: its former owner meant it to stay."""
    labels = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_RELEASED: AT, LABEL_FORMER: former} | labels
    found = match(named("shared"), a_balancer(spec={"name": "shared", "labels": labels}))
    assert isinstance(found, Adoptable)
    assert (found.by, found.is_made_for_it, found.doubt is not None) == ("name", False, is_held)


@rows("cluster is_held", {"another cluster": (ELSEWHERE, True), "this cluster": (CLUSTER_UID, False)})  # fmt: skip
def test_a_released_one_of_its_default_name(cluster: str, is_held: bool) -> None:
    """A restored cluster has the UIDs, and so the default names, of the one that was saved."""
    labels = {LABEL_CLUSTER_UID: cluster, LABEL_RELEASED: AT, LABEL_FORMER: "default.shop"}
    found = match(a_service(), a_balancer(spec={"name": DEFAULT_NAME, "labels": labels}))
    assert isinstance(found, Adoptable)
    assert (found.is_made_for_it, found.doubt is not None) == (False, is_held)


@rows("balancer rule", {
    "not released": (labelled(), rules.BALANCER_OF_CLUSTER),
    "owned there": (labelled(uid=DEAD), rules.BALANCER_OF_CLUSTER),
    "released, and that taken back in part": (labelled(uid=DEAD, released=AT), rules.BALANCER_OF_CLUSTER),
})  # fmt: skip
def test_what_another_cluster_has_not_released(balancer: CloudBalancer, rule: Rule) -> None:
    """The label of another cluster counts as long as that one may still want it."""
    assert match(named("shared"), balancer) == Foreign(
        balancer, rule.because(balancer=42, name="shared", cluster=ELSEWHERE)
    )


INSIDE = {LABEL_OWN_CLASS_UID: DEAD, LABEL_CLASS: "example.com..internal"}
LONG = f"sha256-{'0' * 40}"


@rows("labels rule which", {
    "served there": (INSIDE, rules.BALANCER_OF_CLASS, "of loadBalancerClass 'example.com/internal'"),
    "served there, by a long name": (INSIDE | {LABEL_CLASS: LONG}, rules.BALANCER_OF_CLASS,
        f"of loadBalancerClass '{LONG}'"),
    "by HCCM": ({LABEL_SERVICE_UID: DEAD}, rules.BALANCER_OF_CLASS, "without a loadBalancerClass"),
    "by HCCM, of no cluster": ({LABEL_SERVICE_UID: DEAD, LABEL_CLUSTER_UID: None}, rules.BALANCER_OF_CLASS,
        "without a loadBalancerClass"),
    "of a class, and no Service's": ({LABEL_CLASS: "example.com..internal"}, rules.BALANCER_FOR_CLASS,
        "of loadBalancerClass 'example.com/internal'"),
    "of no class, and no Service's": ({}, rules.BALANCER_FOR_CLASS, "without a loadBalancerClass"),
    "its class is lost": ({LABEL_OWN_CLASS_UID: DEAD}, rules.BALANCER_OF_CLASS,
        "of a loadBalancerClass without its label"),
})  # fmt: skip
def test_what_another_class_has(labels: dict[str, str | None], rule: Rule, which: str) -> None:
    """The class is told as people write it, and a way that there is: a Service that is gone releases nothing."""
    found_on = {LABEL_CLUSTER_UID: CLUSTER_UID} | labels
    there = a_balancer(spec={"name": "shared", "labels": {key: text for key, text in found_on.items() if text}})
    service = named("shared", load_balancer_class=OWN_CLASS)
    found = match(service, there, serving=Serving(OWN_CLASS))
    command = f"add-label --overwrite 42 {LABEL_CLASS}=hcloud-reconciler..load-balancer"
    assert found == Foreign(there, rule.because(balancer=42, name="shared", which=which, command=command))


CLASSLESS = a_balancer(spec={"labels": {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_OWN_CLASS_UID: A.uid}})


@rows("overrides rule", {
    "lives": ({"load_balancer_class": OWN_CLASS, "finalizers": (FINALIZER_OWN_CLASS,)}, None),
    "lives, of another class before": ({"load_balancer_class": OWN_CLASS, "finalizers": (f"{FINALIZER_OWN_CLASS}.x",)},
        rules.BALANCER_OF_FORMER_CLASS),
    "is deleted": ({"load_balancer_class": OWN_CLASS, "finalizers": (FINALIZER_OWN_CLASS,), "deleted_at": NOW},
        rules.CLASS_LOST),
    "has another type": ({"load_balancer_class": None, "type": "NodePort", "finalizers": (FINALIZER_OWN_CLASS,)},
        rules.CLASS_LOST),
})  # fmt: skip
def test_a_load_balancer_that_has_lost_its_class(overrides: dict[str, Any], rule: Rule | None) -> None:
    """A living Service of the class has it still; at its end nothing is done, and the way out is told."""
    found = match(replace(A, **overrides), CLASSLESS, serving=Serving(OWN_CLASS))
    assert found == Owned(CLASSLESS) if rule is None else isinstance(found, Undecided | Foreign)
    assert rule is None or (isinstance(found, Undecided | Foreign) and found.reason.rule is rule)


def test_a_living_service_of_a_class_leaves_nothing_to_the_process_without_one() -> None:
    """HCCM's finalizer and our condition stayed on it, and its load balancer has lost its labels."""
    conditions = (ServiceCondition(CONDITION_IN_SYNC, "True"),)
    living = replace(A, load_balancer_class="x", finalizers=(FINALIZER_BALANCER,), conditions=conditions)
    assert match(living, a_balancer(cluster_uid=None, service_uid=None)) == Missing()


RELEASED = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_RELEASED: AT, LABEL_FORMER: "default.web"}
NO_CLUSTER = {LABEL_CLUSTER_UID: None}
UNDO: dict[str, str | None] = {LABEL_RELEASED: None, LABEL_DELETE_AFTER: AT}


@rows("labels is_held", {
    "released": ({}, False),
    "released, its cluster taken off": (NO_CLUSTER, True),
    "released with another": ({LABEL_FORMER: "default.api"}, True),
    "released with another, of no cluster": ({LABEL_FORMER: "default.api"} | NO_CLUSTER, True),
    "in an undo window": (UNDO, False),
    "in the undo window of another": (UNDO | {LABEL_FORMER: "default.api"}, True),
})  # fmt: skip
def test_a_released_one_outlives_the_service_that_names_it(labels: dict[str, str | None], is_held: bool) -> None:
    """Whomever it was made for."""
    there = a_balancer(spec={"name": "shared", "labels": {k: v for k, v in (RELEASED | labels).items() if v}})
    found = match(A, there)
    assert isinstance(found, Adoptable)
    assert (found.is_made_for_it, found.doubt is not None) == (False, is_held)


def test_of_many_rivals_a_few_are_named() -> None:
    """Thousands of Services with one name are told in proportion to their number: each of a few of the others."""
    crowd = [replace(A, name=f"web-{number:03}", uid=f"uid-{number}") for number in range(200)]
    for services, name, told in (
        ([A, B, a_service("alone", uid=DEAD)], "web", "Service default/shop"),
        ([A, B, C], "shop", "Services default/web, default/zoo"),
        (crowd, "web-000", "Services default/web-001, default/web-002, default/web-003 and 196 more"),
        (crowd, "web-002", "Services default/web-000, default/web-001, default/web-003 and 196 more"),
        (crowd, "web-199", "Services default/web-000, default/web-001, default/web-002 and 196 more"),
    ):
        found = match_balancers(a_world(services, ()))[f"default/{name}"]
        assert found == Contested(None, rules.NAME_CONTESTED.because(name="shared", services=told))


@rows("other", {
    "being deleted": {"deleted_at": NOW},
    "of another type": {"type": "ClusterIP"},
    "of another class": {"load_balancer_class": "other"},
    "with a name that cannot be read": {"claim": named(" shared").claim},
    "with an empty name": {"claim": named("").claim},
    "with another name": {"claim": named("SHARED").claim},
})  # fmt: skip
def test_no_rival(other: dict[str, Any]) -> None:
    """Only who can get a load balancer of that name is a rival."""
    assert matches([A, replace(B, **other)], [SHARED])["web"] == Adoptable(SHARED, is_made_for_it=False, doubt=IN_USE)


@rows("balancers expected", {
    "its own": ([OWN], "owned"),
    "nobody is found without a name": ([SHARED, called(DEFAULT_NAME, 43)], "missing"),
    "another cluster's": ([THEIRS], "missing"),
})  # fmt: skip
def test_a_name_that_cannot_be_read(balancers: list[CloudBalancer], expected: str) -> None:
    """Only the label says whose it is then; and two mistakes are not one name."""
    found = matches([named(" web"), named(" web", "shop", uid=SHOP_UID)], balancers)
    assert {key: kind_of(each) for key, each in found.items()} == {"web": expected, "shop": "missing"}


@rows("balancers expected", {
    "ours": ([OWN], "owned"),
    "of HCCM": ([HCCMS], "owned"),
    "another cluster's with the same Service UID": ([THEIRS], "missing"),
    "of its default name, without its label": ([called(DEFAULT_NAME)], "adoptable"),
    "of the name that it asks for, without its label": ([SHARED], "missing"),
    "of another Service": ([called("shared", 42, DEAD, CLUSTER_UID)], "missing"),
    "two": ([OWN, replace(OWN, id=43)], "undecided"),
})  # fmt: skip
def test_deletion_goes_by_the_label_alone(balancers: list[CloudBalancer], expected: str) -> None:
    """What never had the Service's label, or has another cluster's, is not its to delete; ``test_lifecycle.py`` says
    what becomes of one that has its default name."""
    for leaving in (LEAVING, {"type": "ClusterIP", "finalizers": CLAIMED}):
        assert kind_of(match(named("shared", **leaving), *balancers)) == expected


def test_who_lets_go_is_no_rival() -> None:
    """A Service that is being deleted keeps what it has until that is gone; then the next one may have the name."""
    services = [named("shared", **LEAVING), B]
    why = rules.BALANCER_OF_SERVICE.because(balancer=42, name="shared", service="default/web")
    assert matches(services, [OF_A]) == {"web": Owned(OF_A), "shop": Foreign(OF_A, why)}
    assert matches(services) == {"web": Missing(), "shop": Missing()}


def test_who_is_left_out() -> None:
    """Services that neither want nor have to release a load balancer have no match, nor those that were not read."""
    others = [
        a_service(type="ClusterIP"),
        a_service("shop", uid=SHOP_UID, load_balancer_class="", finalizers=CLAIMED, deleted_at=NOW),
        a_service("zoo", uid=DEAD, deleted_at=NOW),
    ]
    assert matches(others) == {}
    assert matches(others, [OWN]) == {"web": Owned(OWN)}
    assert match_balancers(replace(a_world([], [OWN]), services=None)) == {}


GAP, UNREAD = "page 2 timed out", "the load balancers were not read"
GOING = a_service(**LEAVING)
NONE: Section[int, CloudBalancer] = Section({})


@rows("service section cause", {
    "not read": (a_service(), None, UNREAD),
    "its own, in a list with a gap": (a_service(), incomplete(Section({42: OWN})), None),
    "nothing, in a list with a gap": (a_service(), incomplete(NONE), GAP),
    "nothing, beside unreadable ones": (a_service(), Section({}, unreadable={9: "b", 7: "c", 8: "a"}), "a"),
    "its own, beside an unreadable one": (a_service(), Section({42: OWN}, unreadable={7: "odd"}), None),
    "by name, as another one may have the label": (A, incomplete(Section({42: SHARED})), GAP),
    "theirs, and ours perhaps": (a_service(), incomplete(Section({42: THEIRS})), GAP),
    "leaving, not read": (GOING, None, UNREAD),
    "leaving, with a gap": (GOING, incomplete(NONE), GAP),
    "leaving, unreadable": (GOING, Section({}, unreadable={7: "odd"}), "odd"),
    "leaving, and it is there": (GOING, incomplete(Section({42: OWN})), None),
})  # fmt: skip
def test_load_balancers_that_were_not_all_read(
    service: Service, section: Section[int, CloudBalancer] | None, cause: str | None
) -> None:
    """What was not found is not there only in a whole list: neither the label nor the name is proven absent else."""
    expected = Undecided(rules.BALANCER_UNKNOWN.because(cause=cause)) if cause else Owned(OWN)
    assert match_balancers(replace(a_world([service]), load_balancers=section)) == {service.id: expected}


@rows("service balancer expected", {
    "an owner that was not read": (A, called("shared", service=SHOP_UID), "undecided"),
    "an owner of this cluster": (A, called("shared", 42, SHOP_UID, CLUSTER_UID), "undecided"),
    "nobody's, and a rival that was not read": (A, SHARED, "undecided"),
    "its own": (A, OF_A, "owned"),
    "none: the guards wait": (A, called("x"), "missing"),
    "another cluster's": (A, called("shared", cluster=ELSEWHERE), "foreign"),
    "leaving, and its own": (GOING, OWN, "owned"),
    "leaving, and nobody's of its default name": (GOING, called(DEFAULT_NAME), "missing"),
})  # fmt: skip
def test_services_that_were_not_all_read(service: Service, balancer: CloudBalancer, expected: str) -> None:
    """Nobody is known to be dead, or alone in asking for a name; what needs no other Service is told all the same."""
    there = {"default/web": service}
    for section, why in ((incomplete(Section(there)), GAP), (Section(there, unreadable={"default/b": "odd"}), "odd")):
        found = match_balancers(replace(a_world([], [balancer]), services=section))["default/web"]
        maybe = Undecided(rules.BALANCER_MAYBE_ANOTHERS.because(balancer=42, name="shared", cause=why))
        assert found == maybe if expected == "undecided" else kind_of(found) == expected
