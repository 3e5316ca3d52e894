"""The difference that changes make of the price a month."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from desired.load_balancers.prices import cost_of, with_costs
from desired.model.load_balancer import CloudBalancer
from desired.model.price import Cost
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.kinds import ChangeKind, Verb
from desired.section import Unknown
from tests.balancers import LB11, LB21, a_balancer, a_price, a_service, a_world
from tests.builders import a_change, a_server
from tests.support.rows import rows

CHEAP = replace(LB11, prices={"fsn1": a_price("5.39"), "hel1": a_price("5.99"), "ash": a_price("6.41")})
DEAR = replace(LB21, prices={"fsn1": a_price("16.40"), "hel1": a_price("15.00")})
UNSAID = replace(CHEAP, name="lb31", locations=frozenset({*CHEAP.prices, "sin"}))
TYPES = {"lb11": CHEAP, "lb21": DEAR, "lb31": UNSAID}
PRESENT = a_balancer(type=CHEAP)


def world(*balancers: CloudBalancer, **overrides: Any) -> Snapshot:
    """A cluster with these load balancers, and servers in two zones."""
    servers = [a_server(1, location="fsn1", zone="eu-central"), a_server(2, "b", location="ash", zone="us-east")]
    return replace(a_world([a_service()], balancers, servers=servers), **{"balancer_types": TYPES, **overrides})


def creation(**spec: Any) -> Change:
    wanted = replace(PRESENT.spec, **{"location": None, "zone": None, **spec})
    return a_change("load_balancer/default/web", ChangeKind.LB_CREATE, verb=Verb.ADD, after=wanted)


def retyping(to: str = "lb21", cloud_id: int = 42) -> Change:
    change = a_change("load_balancer/default/web/type", ChangeKind.LB_TYPE, before="lb31", after=to)
    return replace(change, cloud_id=cloud_id)


DELETION = replace(
    a_change("load_balancer/default/web", ChangeKind.LB_DELETE, verb=Verb.REMOVE, before=PRESENT.spec), cloud_id=42
)


def cost(difference: str | None) -> Cost:
    return Cost(None if difference is None else Decimal(difference))


@rows("change expected", {
    "a creation": (creation(location="fsn1"), cost("5.39")),
    "in a zone, at the dearest location": (creation(zone="eu-central"), cost("6.41")),
    "in a zone, with a location of which no price is told": (creation(zone="us-east", type="lb31"), cost(None)),
    "another type": (retyping(), cost("11.01")),
    "of what is not there": (retyping(cloud_id=7), cost(None)),
    "a deletion": (DELETION, cost("-5.39")),
    "a deletion of who knows what": (replace(DELETION, cloud_id=None), cost(None)),
})  # fmt: skip
def test_the_cost_of_a_change(change: Change, expected: Cost | None) -> None:
    """By its kind; the server of a Node that goes is gone, so that nothing is saved."""
    assert next(iter(with_costs([change], world(PRESENT)))).cost == expected


def test_types_that_could_not_be_read() -> None:
    """Then no price of a new load balancer is known; those of existing ones are, as each says its own."""
    unread = world(PRESENT, balancer_types=Unknown("503"))
    assert cost_of(creation(location="fsn1"), unread) == cost(None)
    assert cost_of(DELETION, unread) == cost("-5.39")
