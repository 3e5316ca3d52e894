"""Which type a load balancer gets, and why not the one that was asked for."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from desired.annotations.options import DEFAULT_TYPE, OPTIONS, Options
from desired.load_balancers.size import Demand, Size, fitting_size, larger_type
from desired.model.load_balancer import BalancerType, CloudBalancer
from desired.plan.notes import NoteKind
from desired.rules.rule import Reason, Rule
from desired.section import Unknown
from tests.balancers import LB11, LB21, TYPES, a_balancer, a_world
from tests.builders import NOW

UNSET, ASKS_11, ASKS_21 = Options(), Options(type="lb11"), Options(type="lb21")
ON_11, ON_21 = a_balancer(), a_balancer(type=LB21, spec={"type": "lb21"})
LITTLE = Demand(services=1, targets=1)
KEY = f"{OPTIONS['type'].full_key} (or HCLOUD_LOAD_BALANCERS_TYPE)"
SECOND = timedelta(seconds=1)


def sold_until(until_s: float, kind: BalancerType = LB21) -> BalancerType:
    """A type that is sold until so many seconds from now."""
    limits = (kind.max_services, kind.max_targets, kind.max_certificates)
    return BalancerType(kind.name, *limits, unavailable_after=NOW + until_s * SECOND)


def size(
    options: Options,
    present: CloudBalancer | None = None,
    demand: Demand = LITTLE,
    types: Mapping[str, BalancerType] | Unknown = TYPES,
) -> Size:
    """What comes of it in a world with these types."""
    return worded(fitting_size(options, present, demand, a_world(balancer_types=types)))


def worded(found: Size) -> Size:
    """The size, whose problem is no more than its sentence and kind."""
    problem = found.problem
    return found if problem is None else with_problem(found.type, problem.text, problem.rule.of)


def with_problem(kept: BalancerType | None, text: str, kind: object = NoteKind.MALFORMED) -> Size:
    """A size with a problem."""
    assert isinstance(kind, NoteKind)
    return Size(kept, Reason(Rule("said", "{text}", of=kind), {"text": text}))


@pytest.mark.parametrize(
    ("options", "present", "expected"),
    [
        pytest.param(UNSET, None, LB11, id="new, nothing asked for"),
        pytest.param(ASKS_21, None, LB21, id="new, as asked"),
        pytest.param(UNSET, ON_21, LB21, id="there, nothing asked for: never downgraded"),
        pytest.param(ASKS_21, ON_21, LB21, id="there, as asked"),
        pytest.param(ASKS_21, ON_11, LB21, id="there, up"),
        pytest.param(ASKS_11, ON_21, LB11, id="there, down"),
    ],
)
def test_type(options: Options, present: CloudBalancer | None, expected: BalancerType) -> None:
    """Annotation, else what is there, else the default."""
    assert size(options, present) == Size(expected)


@pytest.mark.parametrize(
    ("location", "present", "sold_in", "why"),
    [
        pytest.param("ash", None, {"fsn1", "ash"}, None, id="sold there"),
        pytest.param(None, None, {"fsn1"}, None, id="Hetzner chooses the place"),
        pytest.param("moon", None, set(), None, id="nothing is known of places"),
        pytest.param("moon", ON_11, {"fsn1"}, None, id="it is there already"),
        pytest.param("moon", None, {"fsn1", "ash"}, "Hetzner sells lb11 in ash, fsn1 only", id="not sold there"),
    ],
)
def test_a_location_without_the_type(
    location: str | None, present: CloudBalancer | None, sold_in: set[str], why: str | None
) -> None:
    """A new load balancer would be refused: a location that does not exist is one of those."""
    types = {"lb11": replace(LB11, locations=frozenset(sold_in))}
    found = fitting_size(UNSET, present, LITTLE, a_world(balancer_types=types), location)

    key = f"{OPTIONS['location'].full_key} (or HCLOUD_LOAD_BALANCERS_LOCATION)"
    problem = None if why is None else f"{key} is moon: {why}; nothing is created; choose one of them"
    assert (found.problem and found.problem.text, found.type is None) == (problem, why is not None)


def test_default_type() -> None:
    """The type that HCCM creates where nobody says anything."""
    assert DEFAULT_TYPE == "lb11"


@pytest.mark.parametrize("until_s", [0, -1, -86400])
@pytest.mark.parametrize(
    ("present", "kept", "ends"),
    [
        pytest.param(None, None, "nothing is created", id="new"),
        pytest.param(ON_11, LB11, "it stays lb11", id="there"),
    ],
)
def test_type_that_is_no_longer_sold(
    until_s: float, present: CloudBalancer | None, kept: BalancerType | None, ends: str
) -> None:
    """It cannot be ordered, and the sentence says since when."""
    found = sold_until(until_s)
    since = f"{found.unavailable_after:%Y-%m-%d}"

    why = f"{KEY} is lb21: Hetzner has not sold it since {since}; {ends}; choose another type"
    assert size(ASKS_21, present, types={"lb11": LB11, "lb21": found}) == with_problem(kept, why)


def in_time(found: BalancerType) -> Size:
    """The type, with a word on its end."""
    until = f"{found.unavailable_after:%Y-%m-%d}"
    text = f"Hetzner sells type lb21 until {until} only; choose another type in time"
    return with_problem(found, text, NoteKind.DEPRECATED)


def test_type_that_is_still_sold() -> None:
    """A deprecated type can be ordered until its last second, and whoever has it is told in time."""
    assert size(ASKS_21, types={"lb21": sold_until(1)}) == in_time(sold_until(1))


@pytest.mark.parametrize("options", [UNSET, ASKS_21])
@pytest.mark.parametrize("types", [{"lb21": sold_until(-9)}, {}, Unknown("429")])
def test_the_type_that_it_has_needs_no_catalogue(options: Options, types: Mapping[str, BalancerType] | Unknown) -> None:
    """A load balancer on a type that is out of sale, or that nobody looked up, is looked after as any other."""
    there = a_balancer(type=sold_until(-9), spec={"type": "lb21"})

    assert size(options, there, types=types) == in_time(there.type)


@pytest.mark.parametrize(
    ("types", "hint"),
    [
        pytest.param(TYPES, ", such as lb11, lb21", id="the nearest"),
        pytest.param({**TYPES, "lb31": LB21, "other": LB21}, ", such as lb11, lb21, lb31", id="at most three"),
        pytest.param({"lb21": LB21, "lb11": LB11}, ", such as lb11, lb21", id="in the order of names"),
        pytest.param({}, "", id="none at all"),
    ],
)
@pytest.mark.parametrize(
    ("present", "kept", "ends"),
    [
        pytest.param(None, None, "nothing is created", id="new"),
        pytest.param(ON_21, LB21, "it stays lb21", id="there"),
    ],
)
def test_type_that_nobody_knows(
    types: Mapping[str, BalancerType],
    hint: str,
    present: CloudBalancer | None,
    kept: BalancerType | None,
    ends: str,
) -> None:
    """A typing error names what there is."""
    expected = with_problem(kept, f"{KEY} is lb22: Hetzner has no such type; {ends}; choose another type{hint}")

    assert size(Options(type="lb22"), present, types=types) == expected


@pytest.mark.parametrize(
    ("present", "kept", "ends"),
    [
        pytest.param(None, None, "nothing is created", id="new"),
        pytest.param(ON_11, LB11, "it stays lb11", id="there"),
    ],
)
def test_types_that_could_not_be_read(present: CloudBalancer | None, kept: BalancerType | None, ends: str) -> None:
    """What could not be looked up is no mistake of the Service."""
    why = f"type lb21 could not be looked up: 429; {ends}"

    assert size(ASKS_21, present, types=Unknown("429")) == with_problem(kept, why, NoteKind.UNKNOWN)


def test_default_that_cannot_be_had() -> None:
    """Nobody is told that an annotation says what it does not say."""
    why = f"{KEY} is not set, which means lb11: Hetzner has no such type; nothing is created"
    why += "; choose another type, such as lb21"

    assert size(UNSET, types={"lb21": LB21}) == with_problem(None, why)


def such_as(demand: Demand) -> str:
    """The next type, where lb21 holds it all: 15 ports, 75 targets and 25 certificates."""
    fits = demand.services <= 15 and demand.targets <= 75 and demand.certificates <= 25
    return ", such as lb21" if fits else ""


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        pytest.param(TYPES, "a larger type, such as lb21", id="the smallest that holds it"),
        pytest.param({"lb11": LB11}, "a larger type", id="none"),
        pytest.param(Unknown("why"), "a larger type", id="types could not be looked up"),
        pytest.param({"lb21": sold_until(0)}, "a larger type", id="out of sale"),
    ],
)
def test_the_next_type(types: Mapping[str, BalancerType] | Unknown, expected: str) -> None:
    """A person who has to choose a larger one need not look it up."""
    assert larger_type(Demand(2, 26), a_world(balancer_types=types)) == expected


@pytest.mark.parametrize(
    ("demand", "lacking"),
    [
        pytest.param(Demand(5, 25, 10), None, id="all that it holds"),
        pytest.param(Demand(6, 0), "it takes 5 ports, and 6 are needed", id="ports"),
        pytest.param(Demand(1, 0, 11), "it takes 10 certificates, and 11 are needed", id="certificates"),
        pytest.param(Demand(6, 99, 11), "it takes 5 ports, and 6 are needed", id="one reason is enough"),
        pytest.param(Demand(1, 26), None, id="targets come until it is full"),
        pytest.param(Demand(0, 0), None, id="nothing"),
    ],
)
def test_new_on_a_type_that_is_too_small(demand: Demand, lacking: str | None) -> None:
    """A new load balancer serves every port that is asked for, or is not created; targets may be left out."""
    why = f"{KEY} is lb11, which is too small: {lacking}; nothing is created; choose a larger type{such_as(demand)}"

    assert size(ASKS_11, None, demand) == (with_problem(None, why, NoteKind.LIMIT) if lacking else Size(LB11))


@pytest.mark.parametrize(
    ("demand", "lacking"),
    [
        pytest.param(Demand(5, 25, 10), None, id="all that it holds"),
        pytest.param(Demand(6, 1), "it takes 5 ports, and 6 are needed", id="ports"),
        pytest.param(Demand(1, 1, 11), "it takes 10 certificates, and 11 are needed", id="certificates"),
        pytest.param(Demand(1, 26), "it takes 25 targets, and 26 are needed", id="targets"),
        pytest.param(Demand(99, 1), "it takes 5 ports, and 99 are needed", id="more than either"),
    ],
)
def test_down_to_a_type_that_is_too_small(demand: Demand, lacking: str | None) -> None:
    """A load balancer that is there loses no port, certificate or target by another type: it stays what it is."""
    why = f"{KEY} is lb11, which is too small: {lacking}; it stays lb21; choose a larger type{such_as(demand)}"

    assert size(ASKS_11, ON_21, demand) == (with_problem(LB21, why, NoteKind.LIMIT) if lacking else Size(LB11))


@pytest.mark.parametrize("demand", [Demand(16, 1), Demand(1, 76), Demand(1, 1, 26), Demand(99, 999, 99)])
def test_up_to_a_type_that_does_not_hold_everything(demand: Demand) -> None:
    """A larger type is better than none: what it lacks the smaller one lacks as well."""
    assert size(ASKS_21, ON_11, demand) == Size(LB21)


def test_a_type_that_is_larger_in_one_way_only() -> None:
    """Each limit counts alone: what shrinks has to hold what is needed."""
    wide = BalancerType("wide", max_services=50, max_targets=10, max_certificates=10)
    types = {**TYPES, "wide": wide}

    assert size(Options(type="wide"), ON_11, Demand(9, 10), types) == Size(wide)
    assert size(Options(type="wide"), ON_11, Demand(9, 11), types).type == LB11
