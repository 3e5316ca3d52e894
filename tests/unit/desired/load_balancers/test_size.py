"""The type of a load balancer: the desired one, or why it cannot be had."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from desired.annotations.options import Options
from desired.load_balancers.size import Demand, Size, fitting_size, larger_type, wanted_types
from desired.model.load_balancer import BalancerType, CloudBalancer
from desired.model.service import Service
from desired.model.serving import Serving
from desired.names import FINALIZER_BALANCER
from desired.rules import load_balancers as rules
from desired.section import Unknown
from tests.balancers import LB11, LB21, SERVICE_UID, TYPES, a_balancer, a_claim, a_service, a_world, annotated
from tests.builders import NOW
from tests.support.rows import rows

UNSET, ASKS_11, ASKS_21 = Options(), Options(type="lb11"), Options(type="lb21")
ON_11, ON_21 = a_balancer(), a_balancer(type=LB21, spec={"type": "lb21"})
LITTLE = Demand(services=1, targets=1)
NOTHING = "none created"
Types = Mapping[str, BalancerType] | Unknown


def sold_until(until_s: float) -> BalancerType:
    return replace(LB21, unavailable_after=NOW + timedelta(seconds=until_s))


def size(options: Options, present: CloudBalancer | None = None, demand: Demand = LITTLE, types: Types = TYPES) -> Size:
    return fitting_size(options, present, demand, a_world(balancer_types=types))


@rows("options present expected", {
    "there, nothing asked for: never downgraded": (UNSET, ON_21, LB21),
    "there, down": (ASKS_11, ON_21, LB11),
})  # fmt: skip
def test_type(options: Options, present: CloudBalancer | None, expected: BalancerType) -> None:
    assert size(options, present) == Size(expected)


@rows("location present sold_in is_sold", {
    "it is there already": ("moon", ON_11, {"fsn1"}, True),
    "not sold there": ("moon", None, {"fsn1", "ash"}, False),
})  # fmt: skip
def test_a_location_without_the_type(
    location: str | None, present: CloudBalancer | None, sold_in: set[str], is_sold: bool
) -> None:
    """A new load balancer would be refused: a location that does not exist is one of those."""
    type_ = replace(LB11, locations=frozenset(sold_in))
    found = fitting_size(UNSET, present, LITTLE, a_world(balancer_types={"lb11": type_}), location)
    row, there = rules.TYPE_NOT_THERE, "ash, fsn1"
    missing = Size(None, row.because(location=location or "", wanted="lb11", locations=there, instead=NOTHING))
    assert found == (Size(LB11 if present else type_) if is_sold else missing)


KEPT = {"new": (None, None, NOTHING), "there": (ON_11, LB11, "lb11 kept")}


@rows("present kept instead", KEPT)
def test_types_that_cannot_be_had(present: CloudBalancer | None, kept: BalancerType | None, instead: str) -> None:
    """One that is no longer sold cannot be ordered; what could not be looked up is no mistake of the Service."""
    for until_s in (0, -1, -86400):
        found = sold_until(until_s)
        since = f"{found.unavailable_after:%Y-%m-%d}"
        ended = rules.TYPE_NOT_SOLD.because(wanted="lb21", since=since, instead=instead)
        assert size(ASKS_21, present, types={**TYPES, "lb21": found}) == Size(kept, ended)
    unread = rules.TYPE_NOT_READ.because(wanted="lb21", cause="429", instead=instead)
    assert size(ASKS_21, present, types=Unknown("429")) == Size(kept, unread)


def in_time(found: BalancerType) -> Size:
    return Size(found, rules.TYPE_DEPRECATED.because(type="lb21", until=f"{found.unavailable_after:%Y-%m-%d}"))


@pytest.mark.parametrize("options", [UNSET, ASKS_21])
@pytest.mark.parametrize("types", [{"lb21": sold_until(-9)}, {}, Unknown("429")])
def test_a_type_that_goes_out_of_sale(options: Options, types: Types) -> None:
    """It can be ordered until its last second, and whoever has it is told in time. A load balancer on one, or on one
    that was not looked up, is looked after as any other."""
    assert size(ASKS_21, types={"lb21": sold_until(1)}) == in_time(sold_until(1))
    there = a_balancer(type=sold_until(-9), spec={"type": "lb21"})
    assert size(options, there, types=types) == in_time(there.type)


@rows("types near", {
    "at most three": ({**TYPES, "lb31": LB21, "other": LB21}, ", such as lb11, lb21, lb31"),
    "none at all": ({}, ""),
})  # fmt: skip
@rows("present kept instead", KEPT)
def test_a_type_that_does_not_exist(
    types: Types, near: str, present: CloudBalancer | None, kept: BalancerType | None, instead: str
) -> None:
    missing = rules.TYPE_MISSING.because(wanted="lb22", near=near, instead=instead)
    assert size(Options(type="lb22"), present, types=types) == Size(kept, missing)
    default = rules.TYPE_MISSING.because(wanted="lb11", near=", such as lb21", instead=NOTHING)
    assert size(UNSET, types={"lb21": LB21}) == Size(None, default)


@rows("types expected", {
    "the smallest that holds it": (TYPES, "a larger type, such as lb21"),
    "none": ({"lb11": LB11}, "a larger type"),
    "out of sale": ({"lb21": sold_until(0)}, "a larger type"),
})  # fmt: skip
def test_the_next_type(types: Types, expected: str) -> None:
    assert larger_type(Demand(2, 26), a_world(balancer_types=types)) == expected


def small(kept: BalancerType | None, holds: str, needed: int, larger: str = "a larger type, such as lb21") -> Size:
    instead = "lb21 kept" if kept else NOTHING
    row = rules.TYPE_TOO_SMALL
    return Size(kept, row.because(wanted="lb11", holds=holds, needed=needed, instead=instead, larger=larger))


@rows("present demand expected", {
    "ports": (None, Demand(6, 0), small(None, "5 ports", 6)),
    "certificates": (None, Demand(1, 0, 11), small(None, "10 certificates", 11)),
    "one reason is enough": (None, Demand(6, 99, 11), small(None, "5 ports", 6, "a larger type")),
    "targets come until it is full": (None, Demand(1, 26), Size(LB11)),
    "down to all that it holds": (ON_21, Demand(5, 25, 10), Size(LB11)),
    "down with targets": (ON_21, Demand(1, 26), small(LB21, "25 targets", 26)),
    "down with more than either": (ON_21, Demand(99, 1), small(LB21, "5 ports", 99, "a larger type")),
})  # fmt: skip
def test_a_type_that_is_too_small(present: CloudBalancer | None, demand: Demand, expected: Size) -> None:
    """A new load balancer serves every port that is asked for, or is not created; targets may be left out. One that is
    there loses no port, certificate or target by another type: it stays what it is."""
    assert size(ASKS_11, present, demand) == expected


@pytest.mark.parametrize("demand", [Demand(16, 1), Demand(1, 76), Demand(1, 1, 26), Demand(99, 999, 99)])
def test_up_to_a_type_that_does_not_hold_everything(demand: Demand) -> None:
    """A larger type is better than none: what it lacks the smaller one lacks as well. Each limit counts alone: what
    shrinks has to hold what is needed."""
    assert size(ASKS_21, ON_11, demand) == Size(LB21)
    wide = BalancerType("wide", max_services=50, max_targets=10, max_certificates=10)
    types = {**TYPES, "wide": wide}
    assert size(Options(type="wide"), ON_11, Demand(9, 10), types) == Size(wide)
    assert size(Options(type="wide"), ON_11, Demand(9, 11), types).type == LB11


def asking(service: str = "web", uid: str = SERVICE_UID, **options: str) -> Service:
    return a_service(service, uid=uid, claim=a_claim(annotations=annotated(**options)))


LARGE = Options(type="lb31")


@rows("services balancers defaults types", {
    "there, and keeps its type": ([a_service()], [a_balancer()], Options(), set()),
    "another one's is there": ([asking(uid="other")], [a_balancer()], Options(), {"lb11"}),
    "of the environment": ([a_service()], [a_balancer()], LARGE, {"lb31"}),
    "the annotation wins": ([asking(type="lb21")], [], LARGE, {"lb21"}),
    "releasing": ([a_service(finalizers=(FINALIZER_BALANCER,), deleted_at=NOW)], [], LARGE, set()),
})  # fmt: skip
def test_types(services: list[Service], balancers: list[CloudBalancer], defaults: Options, types: set[str]) -> None:
    assert wanted_types(services, balancers, Serving(), defaults) == types
