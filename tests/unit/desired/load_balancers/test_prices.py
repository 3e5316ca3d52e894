"""What changes make of the price a month, and what the cluster's load balancers cost."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from desired.load_balancers.prices import cost_of, cost_of_cluster, price_of, standing, with_costs
from desired.model.load_balancer import BalancerType, CloudBalancer
from desired.model.price import FREE, Cost, Price
from desired.model.snapshot import Snapshot
from desired.names import LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from desired.plan.change import Change
from desired.plan.kinds import ChangeKind, Verb
from desired.section import Section, Unknown
from tests.balancers import LB11, LB21, SERVICE_UID, a_balancer, a_price, a_service, a_world
from tests.builders import CLUSTER_UID, a_change, a_server
from tests.support.rows import rows

CHEAP = replace(LB11, prices={"fsn1": a_price("5.39"), "hel1": a_price("5.99"), "ash": a_price("6.41")})
DEAR = replace(LB21, prices={"fsn1": a_price("16.40"), "hel1": a_price("15.00")})
TYPES = {"lb11": CHEAP, "lb21": DEAR}
PRESENT = a_balancer(type=CHEAP)


def world(*balancers: CloudBalancer, **overrides: Any) -> Snapshot:
    """A cluster with these load balancers, and servers in two zones."""
    servers = [a_server(1, location="fsn1", zone="eu-central"), a_server(2, "b", location="ash", zone="us-east")]
    return replace(a_world([a_service()], balancers, servers=servers), **{"balancer_types": TYPES, **overrides})


def creation(**spec: Any) -> Change:
    """A new load balancer."""
    wanted = replace(PRESENT.spec, **{"location": None, "zone": None, **spec})
    return a_change("load_balancer/default/web", ChangeKind.LB_CREATE, verb=Verb.ADD, after=wanted)


def retyping(to: str = "lb21", cloud_id: int = 42) -> Change:
    """Another type of an existing load balancer."""
    change = a_change("load_balancer/default/web/type", ChangeKind.LB_TYPE, before="lb31", after=to)
    return replace(change, cloud_id=cloud_id)


DELETION = replace(
    a_change("load_balancer/default/web", ChangeKind.LB_DELETE, verb=Verb.REMOVE, before=PRESENT.spec), cloud_id=42
)
RETAINING = replace(
    a_change("load_balancer/default/web/retain", ChangeKind.LB_RETAIN, before="a", after="b"), cloud_id=42
)


def cost(before: str | None, after: str | None, most: str | None = None) -> Cost:
    return Cost.of(
        *(FREE if text == "0" else None if text is None else a_price(text) for text in (before, after, most))
    )


@rows("change expected", {
    "a creation": (creation(location="fsn1"), cost("0", "5.39")),
    "of another type elsewhere": (creation(location="hel1", type="lb21"), cost("0", "15.00")),
    "without a price there": (creation(location="sin"), cost("0", None)),
    "of a type that is not known": (creation(location="fsn1", type="lb99"), cost("0", None)),
    "in a zone, one place of it not known": (creation(zone="eu-central"), cost("0", "5.39", "5.99")),
    "in another zone": (creation(zone="us-east"), cost("0", "5.99", "6.41")),
    "in a zone, without any price": (creation(type="lb99", zone="us-east"), cost("0", None)),
    "another type": (retyping(), cost("5.39", "16.40")),
    "to a type that is not known": (retyping("lb99"), cost("5.39", None)),
    "of what is not there": (retyping(cloud_id=7), cost(None, None)),
    "a deletion": (DELETION, cost("5.39", "0")),
    "a deletion of who knows what": (replace(DELETION, cloud_id=None), cost(None, "0")),
    "a release": (RETAINING, cost("5.39", "5.39")),
    "a Node": (a_change(), None),
    "a Node that goes": (a_change("node/web-1", ChangeKind.NODE_DELETE, verb=Verb.REMOVE, before="x"), None),
})  # fmt: skip
def test_the_cost_of_a_change(change: Change, expected: Cost | None) -> None:
    """By its kind; the server of a Node that goes is gone, so that nothing is saved."""
    assert cost_of(change, world(PRESENT)) == expected
    assert next(iter(with_costs([change], world(PRESENT)))).cost == expected


def test_types_that_could_not_be_read() -> None:
    """Then no price of a new load balancer is known; those of existing ones are, as each says its own."""
    unread = world(PRESENT, balancer_types=Unknown("503"))
    assert cost_of(creation(location="fsn1"), unread) == cost("0", None)
    assert cost_of(DELETION, unread) == cost("5.39", "0")


def test_a_price_makes_no_other_plan() -> None:
    """A change is the same whatever Hetzner asks for it."""
    assert next(iter(with_costs([DELETION], world(PRESENT)))) == DELETION


def labeled(number: int, labels: Mapping[str, str], kind: BalancerType = DEAR) -> CloudBalancer:
    return a_balancer(number, type=kind, spec={"labels": labels})


@rows("other expected", {
    "ours": ({LABEL_CLUSTER_UID: CLUSTER_UID}, "21.79"),
    "of our Service, made by HCCM": ({LABEL_SERVICE_UID: SERVICE_UID}, "21.79"),
    "of a Service that is not there": ({LABEL_SERVICE_UID: "another"}, "5.39"),
    "of another cluster": ({LABEL_CLUSTER_UID: "another", LABEL_SERVICE_UID: SERVICE_UID}, "5.39"),
    "nobody's": ({}, "5.39"),
})  # fmt: skip
def test_whose_load_balancers_are_paid_for(other: dict[str, str], expected: str) -> None:
    """Those of the cluster, and no others of its project."""
    found = cost_of_cluster([], world(PRESENT, labeled(43, other)))
    assert (found.before.gross, found.after.gross, found.is_known) == (Decimal(expected), Decimal(expected), True)


def test_the_sum() -> None:
    """What stays is in both sums, what changes is in each with its own price, though its label is not ours yet."""
    here = world(PRESENT, labeled(43, {}), labeled(44, {LABEL_CLUSTER_UID: CLUSTER_UID}))
    changes = tuple(with_costs([creation(location="hel1"), replace(retyping("lb11"), cloud_id=43)], here))
    found = cost_of_cluster(changes, here)
    assert (found.before.gross, found.after.gross) == (Decimal("38.19"), Decimal("33.17"))
    assert found.is_known


@rows("gap", {
    "a price": world(PRESENT, a_balancer(43)),
    "whose they are": world(PRESENT, cluster_uid=Unknown("403")),
    "all of them": world(load_balancers=Section.missing("503")),
    "one": world(load_balancers=replace(world(PRESENT).load_balancers or Section(), unreadable={43: "no"})),
})  # fmt: skip
def test_what_is_not_known_is_not_nothing(gap: Snapshot) -> None:
    """Sums are then known to be no more than a part."""
    assert not cost_of_cluster([], gap).is_known


def test_prices_of_other_parts_add_up_as_well() -> None:
    """A part that is not known of one is not known of the sum."""
    whole = Price(*map(Decimal, ("5.39", "4.53", "0.01", "0.008")))
    part = Price(Decimal("5.39"), Decimal("4.53"))
    assert standing([whole, part]).after == Price(Decimal("10.78"), Decimal("9.06"))
    assert standing([whole, whole]).after == Price(*map(Decimal, ("10.78", "9.06", "0.02", "0.016")))
    assert Cost.of(whole, FREE).delta == Price(*map(Decimal, ("-5.39", "-4.53", "-0.01", "-0.008")))


def test_the_price_of_one() -> None:
    """That of its type at its own location."""
    assert price_of(PRESENT) == a_price("5.39")
    assert price_of(replace(PRESENT, spec=replace(PRESENT.spec, location="sin"))) is None
    assert price_of(replace(PRESENT, spec=replace(PRESENT.spec, location=None))) is None
