"""A load balancer whose label somebody took off: found again by its published address, held, or named."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from desired.annotations.claims import ClaimedPort
from desired.load_balancers.matching import (
    Adoptable,
    BalancerMatch,
    Contested,
    Missing,
    Owned,
    Undecided,
    match_balancers,
)
from desired.load_balancers.orphans import unlabelled
from desired.model.load_balancer import Attachment, CloudBalancer, IpTarget, Owner, SelectorTarget, ServerTarget
from desired.model.service import Ingress, Service
from desired.model.snapshot import Snapshot
from desired.names import (
    LABEL_CLASS,
    LABEL_CLUSTER_UID,
    LABEL_DELETE_AFTER,
    LABEL_FORMER,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
)
from desired.plan.change import Plan, Verdict
from desired.plan.notes import NoteKind
from desired.planner import compute_plan
from desired.section import Present, Section, Unknown
from tests.balancers import (
    DEFAULT_NAME,
    LB11,
    LOCATED,
    NETWORK,
    a_balancer,
    a_claim,
    a_listener,
    a_price,
    a_served_service,
    a_service,
    a_world,
    annotated,
)
from tests.builders import CLUSTER_UID, NOW, a_settled_node, incomplete
from tests.support.judging import judge
from tests.support.rows import rows

ELSEWHERE, DEAD = "99999999-8888-7777-6666-555555555555", "dddddddd-0000-0000-0000-000000000000"
SERVED = a_served_service()
OURS, THEIRS = ServerTarget(1, use_private_ip=False), ServerTarget(7, use_private_ip=False)
PRIVATE = IPv4Address("10.0.0.9")
LB, STATUS, RETAIN = "load_balancer/default/web", "service/default/web/status", "load_balancer/default/web/retain"


def bare(number: int = 42, *, labels: dict[str, str] | None = None, name: str = "web", **parts: Any) -> CloudBalancer:
    return a_balancer(number, spec={"name": name, "labels": labels or {}}, **parts)


def elsewhere(number: int = 43, **parts: Any) -> CloudBalancer:
    addresses = {"ipv4": IPv4Address("203.0.113.77"), "ipv6": IPv6Address("2001:db8::77")}
    return a_balancer(number, **addresses | parts)


def found(snapshot: Snapshot) -> BalancerMatch:
    """The match of the Service ``web``."""
    return match_balancers(snapshot)["default/web"]


def judged(snapshot: Snapshot) -> Plan:
    return judge(compute_plan(snapshot, LOCATED), snapshot, LOCATED)


def test_it_is_taken_up_again_by_its_published_address() -> None:
    """Nobody is asked, no second one is made, and nothing else is published; it outlives its Service from then on, as
    nothing tells any more that it was made for it."""
    plan = judged(a_world([SERVED], [bare()]))
    assert found(a_world([SERVED], [bare()])) == Adoptable(bare(), "address", is_made_for_it=False)
    (adopt,) = plan.changes
    assert (adopt.kind, adopt.cloud_id, adopt.decision.verdict) == ("lb.adopt", 42, Verdict.ALLOWED)
    assert isinstance(adopt.after, Owner)
    assert (adopt.after.service_uid, adopt.after.adopted) == (SERVED.uid, "true")


@rows("service balancer world", {
    "a stranger's target": ({}, bare(targets=(THEIRS,)), {}),
    "a stranger's target beside ours": ({}, bare(targets=(OURS, THEIRS)), {}),
    "a label selector": ({}, bare(targets=(SelectorTarget("a=b", False),)), {}),
    "an address of no Node": ({}, bare(targets=(IpTarget("198.51.100.7"),)), {}),
    "no target": ({}, bare(targets=()), {}),
    "no port": ({}, bare(listeners=()), {}),
    "a port of another Service": ({}, bare(listeners=(a_listener(80, 31999),)), {}),
    "a port of a host beside": ({}, bare(listeners=(a_listener(), a_listener(81, 80))), {}),
    "no node ports": ({"claim": a_claim(ClaimedPort(80, "TCP"), allocates_node_ports=False)}, bare(), {}),
    "all Nodes are foreign": ({}, bare(), {"nodes": [a_settled_node(provider_id="other://1")]}),
    "no Nodes": ({}, bare(), {"nodes": []}),
    "our cluster's, of strangers": ({}, bare(labels={LABEL_CLUSTER_UID: CLUSTER_UID}, targets=(THEIRS,)), {}),
})  # fmt: skip
def test_one_that_may_be_a_strangers_is_held(
    service: dict[str, Any], balancer: CloudBalancer, world: dict[str, Any]
) -> None:
    """The status of a Service is written by whoever may: it moves nothing that serves, or may serve, anybody else. What
    it publishes stays published meanwhile, and no other one is made."""
    plan = judged(a_world([replace(SERVED, **service)], [balancer], **world))
    assert [change for change in plan.allowed if change.kind != "node.identity"] == []
    assert "lb.create" not in {change.kind for change in plan.changes}
    if not service:
        assert "adoption" in {hold.rule for hold in plan.holds}


RELEASED = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_RELEASED: "20260601T120000Z"}
GONE = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_SERVICE_UID: DEAD}
WAITING = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_FORMER: "a.b", LABEL_DELETE_AFTER: "20990101T000000Z"}
SHOP = a_service("shop", uid="shop", claim=a_claim(annotations=annotated(name="shop")))


@rows("balancers others", {
    "of a Service that is gone": ([bare(labels=GONE)], []),
    "of one of no known cluster": ([bare(labels={LABEL_SERVICE_UID: DEAD})], []),
    "released with another": ([bare(labels=RELEASED | {LABEL_FORMER: "default.shop"})], []),
    "released with another by an earlier version": ([bare(labels=WAITING)], []),
    "another Service asks for its name": ([bare(name="shop")], [SHOP]),
    "two have published addresses": ([bare(), replace(bare(44), ipv4=None)], []),
})  # fmt: skip
def test_a_trace_of_somebody_else_holds_what_would_replace_it(
    balancers: list[CloudBalancer], others: list[Service]
) -> None:
    """It is not taken up, and its address is not replaced before a person has said so."""
    plan = judged(a_world([SERVED, *others], balancers))
    create = plan.by_key[LB]
    assert (create.kind, create.decision.verdict, create.decision.rule) == ("lb.create", Verdict.HELD, "ip-loss")
    assert plan.by_key[STATUS].decision.verdict is Verdict.WAITING


@rows("balancer others", {
    "another cluster's": (bare(labels={LABEL_CLUSTER_UID: ELSEWHERE}), []),
    "another class's": (bare(labels={LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_CLASS: "example.com..internal"}), []),
    "of a Service that lives": (bare(labels={LABEL_SERVICE_UID: "shop"}), [a_service("shop", uid="shop")]),
    "that serves nobody": (bare(listeners=(), targets=()), []),
    "with other addresses": (elsewhere(spec={"name": "web", "labels": {}}), []),
    "of another network": (replace(bare(attachments=(Attachment(6, PRIVATE),)), ipv4=None, ipv6=None), []),
})  # fmt: skip
def test_who_writes_an_address_of_others_into_a_status_holds_nothing(
    balancer: CloudBalancer, others: list[Service]
) -> None:
    """A label of an owner that exists says that the address is not the Service's: the creation asks nobody, and what
    was published is put right."""
    service = replace(SERVED, ingress=(*SERVED.ingress, Ingress(str(PRIVATE))))
    snapshot = a_world([service, *others], [balancer], network=Present(NETWORK))
    assert found(snapshot) == Missing()
    assert judged(snapshot).by_key[LB].decision.verdict is Verdict.ALLOWED


@rows("network address", {
    "private": (Present(NETWORK), PRIVATE),
    "private, and the network cannot be read": (Unknown("timed out"), PRIVATE),
    "by IPv6 alone": (Present(None), IPv6Address("2001:db8::200")),
})  # fmt: skip
def test_any_published_address_finds_it(network: Any, address: IPv4Address | IPv6Address) -> None:
    """However it is written."""
    published = f"{address.exploded}".upper()
    balancer = bare(attachments=(Attachment(7, PRIVATE),))
    match = found(a_world([replace(SERVED, ingress=(Ingress(published),))], [balancer], network=network))
    assert isinstance(match, Adoptable)


@rows("labels verdict", {
    "without a label": ({}, Verdict.HELD),
    "of a Service that is gone": (GONE, Verdict.HELD),
    "of another cluster": ({LABEL_CLUSTER_UID: ELSEWHERE}, Verdict.ALLOWED),
})  # fmt: skip
def test_another_one_with_the_label_does_not_replace_what_serves(labels: dict[str, str], verdict: Verdict) -> None:
    """A second one was made, or labelled by hand: its parts are kept in sync, and its address waits for a person."""
    plan = judged(a_world([SERVED], [bare(labels=labels), elsewhere(targets=())]))
    assert plan.by_key[STATUS].decision.verdict is verdict
    assert plan.by_key[f"{LB}/target/server:1"].decision.verdict is Verdict.ALLOWED


def test_what_the_service_has_itself_is_not_compared() -> None:
    """An address beside its own, which another controller wrote, is taken away as ever."""
    service = replace(SERVED, ingress=(*SERVED.ingress, Ingress("203.0.113.77")))
    other = elsewhere(spec={"name": "hand", "labels": {}})
    snapshot = a_world([service], [a_balancer(), other])
    assert found(snapshot) == Owned(a_balancer())
    assert judged(snapshot).by_key[STATUS].decision.verdict is Verdict.ALLOWED


def test_gaps_are_no_absence() -> None:
    """While load balancers may be missing nothing is matched, and while Services may be, nothing is taken up."""
    world = a_world([SERVED], [bare()])
    services, balancers = world.services or Section({}), world.load_balancers or Section({})
    assert isinstance(found(replace(world, load_balancers=incomplete(balancers))), Undecided)
    assert isinstance(found(replace(world, services=incomplete(services))), Undecided)


def test_rivals_for_a_name_are_settled_first() -> None:
    """Nothing is made for either, so that nothing is replaced."""
    claim = a_claim(annotations=annotated(name="shared"))
    rival = a_service("shop", uid="shop", claim=claim)
    assert isinstance(found(a_world([replace(SERVED, claim=claim), rival], [bare()])), Contested)


GOING = replace(SERVED, deleted_at=NOW)
PRICED = replace(LB11, prices={"fsn1": a_price("5.39")})


@rows("balancer service", {
    "by its default name": (bare(name=DEFAULT_NAME, targets=(THEIRS,)), GOING),
    "by that, and nothing is published": (bare(name=DEFAULT_NAME), replace(GOING, ingress=())),
    "of another type by now": (bare(name=DEFAULT_NAME), replace(SERVED, type="ClusterIP")),
    "by its address, and it leads here": (bare(), GOING),
    "with our cluster's label": (bare(labels={LABEL_CLUSTER_UID: CLUSTER_UID}), GOING),
})  # fmt: skip
def test_at_the_end_of_its_service_it_is_released_and_named(balancer: CloudBalancer, service: Service) -> None:
    """Nothing is deleted without a label; its new labels say whose it was, so that it is an orphan with a price."""
    plan = judged(a_world([service], [replace(balancer, type=PRICED)]))

    retain = plan.by_key[RETAIN]
    assert isinstance(retain.after, Owner)
    assert (retain.after.cluster_uid, retain.after.former) == (CLUSTER_UID, "default.web")
    assert retain.after.released is not None
    assert f"load balancer 42 {balancer.spec.name} (lb11, 5.39 a month) has lost its label" in retain.reason
    assert retain.reason.endswith("to delete it: reconcile orphans --delete 42")
    assert {change.decision.verdict for change in plan.changes} == {Verdict.ALLOWED}
    assert "lb.delete" not in {change.kind for change in plan.changes}


@rows("balancer others is_told", {
    "in use by strangers": (bare(targets=(THEIRS,)), [], True),
    "empty": (bare(listeners=(), targets=()), [], True),
    "released, and an orphan": (bare(labels=RELEASED), [], False),
    "another cluster's": (bare(labels={LABEL_CLUSTER_UID: ELSEWHERE}), [], False),
    "another's": (bare(labels={LABEL_SERVICE_UID: "shop"}), [a_service("shop", uid="shop")], False),
    "asked for by another": (bare(name="shop"), [SHOP], False),
})  # fmt: skip
def test_at_the_end_of_its_service_a_published_one_is_only_told(
    balancer: CloudBalancer, others: list[Service], is_told: bool
) -> None:
    """A status may be forged: nothing is written on what nothing else gives to the Service, which goes all the same."""
    snapshot = a_world([GOING, *others], [replace(balancer, type=PRICED)])
    plan = judged(snapshot)

    notes = [note.text for note in plan.notes if note.kind is NoteKind.ORPHAN and note.key == GOING.key]
    assert [change.kind for change in plan.changes if change.owner == GOING.key] == ["service.release"]
    assert bool(notes) is is_told
    assert all("load balancer 42" in text and "(lb11, 5.39 a month)" in text for text in notes)
    assert plan.by_key["service/default/web/release"].consequences == tuple(notes)
    listed = [each.balancer.id for each in unlabelled(snapshot, match_balancers(snapshot))]
    assert listed == ([42] if is_told else [])


OTHER_NAME = "a" + "0123456789abcdef" * 2


@rows("balancer services is_listed", {
    "of a Service that is gone": (bare(name=OTHER_NAME[:32]), [], True),
    "of one that wants none": (bare(name=DEFAULT_NAME), [a_service(type="ClusterIP")], True),
    "of one that has another": (bare(name=DEFAULT_NAME), [elsewhere()], True),
    "about to be taken over": (bare(name=DEFAULT_NAME), [a_service()], False),
    "made by hand": (bare(name="web"), [], False),
    "of another length": (bare(name=OTHER_NAME[:31]), [], False),
    "labelled": (bare(name=OTHER_NAME[:32], labels={LABEL_CLUSTER_UID: ELSEWHERE}), [], False),
    "of HCCM": (bare(name=OTHER_NAME[:32], labels={LABEL_SERVICE_UID: DEAD}), [], False),
    "of a former Service": (bare(name=OTHER_NAME[:32], labels={LABEL_FORMER: "default.old"}), [], False),
})  # fmt: skip
def test_what_orphans_lists_without_a_label(
    balancer: CloudBalancer, services: list[Service | CloudBalancer], is_listed: bool
) -> None:
    """The name alone tells that a controller made it for a Service; it is listed, and never deleted here."""
    more = [each for each in services if isinstance(each, CloudBalancer)]
    wanting = [each for each in services if isinstance(each, Service)] or [a_service()] * len(more)
    snapshot = a_world(wanting, [balancer, *more])

    listed = unlabelled(snapshot, match_balancers(snapshot))

    assert [each.balancer.id for each in listed] == ([42] if is_listed else [])
    assert all("no label names its owner" in (each.kept or "") for each in listed)
    gap = replace(snapshot, services=incomplete(snapshot.services or Section({})))
    assert unlabelled(gap, match_balancers(gap)) == ()
