"""The catalogue of load balancer types: read when it is needed, and then believed for an hour."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from actuators.http.errors import ApiError
from actuators.http.hetzner import HetznerReader
from desired.model.load_balancer import NO_LIMIT, BalancerType
from desired.section import Unknown
from reconciler.observe.caches import Catalogue, Currency
from tests.support.rows import rows
from tests.support.simulators import START, Simulation
from tests.support.trouble import HETZNER_TROUBLE


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    return simulate()


@pytest.fixture
def reader(sim: Simulation) -> HetznerReader:
    return sim.hetzner_reader()


def names(catalogue: Catalogue, reader: HetznerReader, *wanted: str, later: timedelta = timedelta()) -> list[str]:
    found, error = catalogue.look_up(reader, wanted, START + later)
    assert error is None
    assert not isinstance(found, Unknown)
    assert all(name == known.name for name, known in found.items())
    return sorted(found)


def test_all_types_in_one_request(sim: Simulation, reader: HetznerReader) -> None:
    found, error = Catalogue().look_up(reader, {"lb21"}, START)

    assert error is None
    assert not isinstance(found, Unknown)
    assert sorted(found) == ["lb11", "lb21", "lb31"]
    assert (found["lb21"].max_services, found["lb21"].max_targets, found["lb21"].max_certificates) == (15, 75, 25)
    assert found["lb11"].prices["fsn1"] == Decimal("5.39")
    assert found["lb11"].unavailable_after is None
    assert [entry.path for entry in sim.sent_to_hetzner()] == ["/v1/load_balancer_types"]


@pytest.mark.parametrize(
    ("later", "requests"),
    [
        pytest.param(timedelta(), 1, id="the same pass"),
        pytest.param(timedelta(minutes=59, seconds=59), 1, id="within the hour"),
        pytest.param(timedelta(seconds=-2), 1, id="another API server's clock"),
        pytest.param(timedelta(hours=1), 2, id="after an hour"),
        pytest.param(timedelta(days=-1), 2, id="a clock that was put right"),
    ],
)
def test_an_hour(sim: Simulation, reader: HetznerReader, later: timedelta, requests: int) -> None:
    catalogue = Catalogue()
    names(catalogue, reader, "lb21")

    assert names(catalogue, reader, "lb31", later=later) == ["lb11", "lb21", "lb31"]
    assert len(sim.sent_to_hetzner()) == requests


def test_a_name_that_there_is_not(sim: Simulation, reader: HetznerReader) -> None:
    catalogue = Catalogue()

    for minutes in range(3):
        assert "lb99" not in names(catalogue, reader, "lb99", later=timedelta(minutes=minutes))

    assert len(sim.sent_to_hetzner()) == 1


@pytest.mark.parametrize(("fault", "expected"), HETZNER_TROUBLE)
def test_trouble(sim: Simulation, reader: HetznerReader, fault: dict[str, Any], expected: type[ApiError]) -> None:
    catalogue = Catalogue()
    sim.spoil_hetzner("status", **fault, count=None)

    found, error = catalogue.look_up(reader, {"lb21"}, START)

    assert isinstance(found, Unknown)
    assert type(error) is expected
    assert found.why == str(error)

    sim.hetzner_proxy.clear_faults()
    assert "lb21" in names(catalogue, reader, "lb21")


def test_trouble_after_an_hour(sim: Simulation, reader: HetznerReader) -> None:
    catalogue = Catalogue()
    names(catalogue, reader, "lb21")
    sim.spoil_hetzner("status", code=500, body="<html>", count=None)

    found, _ = catalogue.look_up(reader, {"lb21"}, START + timedelta(hours=2))

    assert isinstance(found, Unknown)


def listed(type_id: int, **changes: Any) -> dict[str, Any]:
    limits = {"max_services": 5, "max_targets": 25, "max_assigned_certificates": 10}
    found = {"id": type_id, "name": f"lb{type_id}", **limits, **changes}
    return {name: value for name, value in found.items() if value is not None}


@pytest.mark.parametrize(
    ("second", "wanted", "is_known"),
    [
        pytest.param(listed(2, max_targets="many"), "lb1", True, id="another one is unreadable"),
        pytest.param(listed(2, name=None), "lb1", True, id="another one has no name"),
        pytest.param(listed(2, max_targets="many"), "lb2", False, id="it is unreadable"),
        pytest.param(listed(2, max_targets=None), "lb2", False, id="a limit is missing"),
        pytest.param(listed(2, max_targets="many"), "lb3", True, id="there is none, and a name was read"),
        pytest.param(listed(2, name=None), "lb3", False, id="it may be the one without a name"),
    ],
)
def test_unreadable_types(
    sim: Simulation, reader: HetznerReader, second: dict[str, Any], wanted: str, is_known: bool
) -> None:
    body = {"load_balancer_types": [listed(1), second], "meta": {"pagination": {"last_page": 1, "total_entries": 2}}}
    sim.spoil_hetzner("status", code=200, body=body, count=None)
    catalogue = Catalogue()

    for _ in range(2):
        found, error = catalogue.look_up(reader, {wanted}, START)

        assert error is None
        assert isinstance(found, Unknown) is not is_known
    assert len(sim.sent_to_hetzner()) == 1


def test_a_type_out_of_sale(sim: Simulation, reader: HetznerReader) -> None:
    end = {"announced": "2026-01-01T00:00:00Z", "unavailable_after": "2026-06-01T00:00:00Z"}
    body = {
        "load_balancer_types": [listed(1, deprecation=end)],
        "meta": {"pagination": {"last_page": 1, "total_entries": 1}},
    }
    sim.spoil_hetzner("status", code=200, body=body)

    found, _ = Catalogue().look_up(reader, {"lb1"}, START)

    assert not isinstance(found, Unknown)
    assert found["lb1"].unavailable_after == datetime(2026, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "known"),
    [
        pytest.param(5, 5, id="a limit"),
        pytest.param(1, 1, id="the smallest one"),
        pytest.param(0, NO_LIMIT, id="none at all"),
        pytest.param(-1, NO_LIMIT, id="less than none"),
        pytest.param(2.5, NO_LIMIT, id="a part of one"),
        pytest.param(10**18, NO_LIMIT, id="more than anybody sells"),
    ],
)
def test_limits_that_cannot_be(sim: Simulation, reader: HetznerReader, said: float, known: int) -> None:
    """A number that cannot be is unknown, and no limit: nothing is refused or removed for it."""
    limits = {"max_services": said, "max_targets": said, "max_assigned_certificates": said}
    pagination = {"last_page": 1, "total_entries": 1}
    body = {"load_balancer_types": [listed(1, **limits)], "meta": {"pagination": pagination}}
    sim.spoil_hetzner("status", code=200, body=body)

    types, _ = Catalogue().look_up(reader, {"lb1"}, START)

    assert not isinstance(types, Unknown)
    assert types["lb1"] == BalancerType("lb1", known, known, known)


NOT_AMOUNTS = [
    pytest.param("-7.14", id="less than nothing"),
    pytest.param("a lot", id="no number"),
    pytest.param("NaN", id="not a number"),
    pytest.param("1e9", id="an exponent"),
    pytest.param("५", id="digits of another script"),
    pytest.param("7.14\n", id="a line break"),
    pytest.param("9" * 60_000, id="more than there is"),
    pytest.param("0." + "9" * 60_000, id="more exact than there is"),
]


def priced(sim: Simulation, reader: HetznerReader, **amounts: Any) -> Mapping[str, Decimal]:
    """Location → price of a type of which the API says these amounts of fsn1."""
    body = {
        "load_balancer_types": [listed(1, prices=[{"location": "fsn1", **amounts}])],
        "meta": {"pagination": {"last_page": 1, "total_entries": 1}},
    }
    sim.spoil_hetzner("status", code=200, body=body)
    types, _ = Catalogue().look_up(reader, {"lb1"}, START)
    assert not isinstance(types, Unknown)
    return types["lb1"].prices


@pytest.mark.parametrize("amount", NOT_AMOUNTS)
def test_prices_that_cannot_be(sim: Simulation, reader: HetznerReader, amount: str) -> None:
    """Prices are for people, and an amount that nobody may ask for is not known."""
    fine = {"gross": "7.1400", "net": "6"}

    assert priced(sim, reader, price_monthly={**fine, "gross": amount}) == {}
    assert priced(sim, reader, price_monthly={**fine, "net": amount}) == {"fsn1": Decimal("7.14")}
    assert priced(sim, reader, price_monthly=fine, price_hourly=amount) == {"fsn1": Decimal("7.14")}


@pytest.mark.parametrize("amounts", [{"net": "6", "gross": 7.14}, "7.14", ["7.14"]], ids=["number", "text", "list"])
def test_prices_that_nobody_can_read(sim: Simulation, reader: HetznerReader, amounts: Any) -> None:
    assert priced(sim, reader, price_monthly=amounts) == {}


def test_a_price_of_nothing(sim: Simulation, reader: HetznerReader) -> None:
    assert priced(sim, reader, price_monthly={"gross": "0"}) == {"fsn1": Decimal(0)}


@pytest.mark.parametrize(
    ("later", "requests"),
    [
        pytest.param(timedelta(minutes=59, seconds=59), 1, id="within the hour"),
        pytest.param(timedelta(hours=1), 2, id="after an hour"),
        pytest.param(timedelta(days=-1), 2, id="a clock that was put right"),
    ],
)
@pytest.mark.parametrize("fault", [None, {"code": 503}, {"code": 403}], ids=["answered", "failed", "denied"])
def test_the_currency(
    sim: Simulation, reader: HetznerReader, later: timedelta, requests: int, fault: dict[str, int] | None
) -> None:
    if fault:
        sim.spoil_hetzner("status", **fault, path="/v1/pricing", count=None)
    currency, expected = Currency(), None if fault else "EUR"

    assert [currency.look_up(reader, START + at) for at in (timedelta(), later)] == [expected, expected]
    assert len(sim.sent_to_hetzner()) == requests


@rows(
    "said",
    {
        "an escape": {"pricing": {"currency": "\x1b[31mEUR"}},
        "a line break": {"pricing": {"currency": "EUR\n"}},
        "long": {"pricing": {"currency": "EURO" * 9999}},
        "empty": {"pricing": {"currency": ""}},
        "a number": {"pricing": {"currency": 7}},
        "nothing": {"pricing": None},
        "a list": [],
    },
)
def test_currencies_that_cannot_be(sim: Simulation, reader: HetznerReader, said: Any) -> None:
    sim.spoil_hetzner("status", code=200, path="/v1/pricing", body=said)

    assert Currency().look_up(reader, START) is None


def test_no_currency_without_an_allowance(sim: Simulation, reader: HetznerReader) -> None:
    """A report is not worth a wait, and what was not asked is asked later."""
    used_up = {"RateLimit-Limit": "3600", "RateLimit-Remaining": "0"}
    sim.spoil_hetzner("status", code=500, headers=used_up, path="/v1/servers", count=1)
    with pytest.raises(ApiError):
        reader.get_once("/servers", 1.0)
    currency = Currency()

    assert currency.look_up(reader, START) is None
    assert [entry.path for entry in sim.sent_to_hetzner()] == ["/v1/servers"]
    reader.get("/locations")
    assert currency.look_up(reader, START) == "EUR"
