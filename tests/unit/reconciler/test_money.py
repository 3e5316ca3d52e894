"""Money as it is shown: signs, cents, ranges, and what is not known."""

from decimal import Decimal

import pytest

from desired.model.price import FREE, Cost, Price
from reconciler.report.documents import CostDocument, MonthlyCostDocument, to_json
from reconciler.report.money import money, shown_cost, shown_delta, shown_total
from reconciler.result import MonthlyCost
from tests.support.rows import rows


def cost(before: str | None, after: str | None, most: str | None = None) -> Cost:
    """A cost by its gross prices."""
    return Cost.of(*(None if text is None else Price(Decimal(text)) for text in (before, after, most)))


CREATION, UNKNOWN_CREATION = cost("0", "5.39"), cost("0", None)


@pytest.mark.parametrize(
    ("amount", "plain", "signed"),
    [
        ("5.39", "5.39", "+5.39"),
        ("5.394999", "5.39", "+5.39"),
        ("5.395", "5.40", "+5.40"),
        ("-5.395", "-5.40", "-5.40"),
        ("0", "0.00", "0.00"),
        ("-0.004", "0.00", "0.00"),
        ("1234567", "1234567.00", "+1234567.00"),
    ],
)
def test_cents(amount: str, plain: str, signed: str) -> None:
    assert (money(Decimal(amount)), money(Decimal(amount), is_signed=True)) == (plain, signed)


@pytest.mark.parametrize(
    ("of", "shown"),
    [
        pytest.param(CREATION, "+5.39 EUR a month", id="a creation"),
        pytest.param(cost("0", "5.39", "6.41"), "+5.39 to +6.41 EUR a month", id="in a zone"),
        pytest.param(cost("5.39", "16.40"), "5.39 -> 16.40 EUR a month (+11.01)", id="a larger type"),
        pytest.param(cost("16.40", "5.39"), "16.40 -> 5.39 EUR a month (-11.01)", id="a smaller type"),
        pytest.param(cost("5.39", "0"), "-5.39 EUR a month", id="a deletion"),
        pytest.param(cost("5.39", "5.39"), "0.00 EUR a month, 5.39 stay", id="a release"),
        pytest.param(cost("0", "0"), "0.00 EUR a month", id="for nothing"),
        pytest.param(UNKNOWN_CREATION, "price not known", id="a creation at an unknown price"),
        pytest.param(cost(None, "0"), "price not known", id="a deletion of unknown price"),
        pytest.param(cost("5.39", None), "price not known", id="to an unknown price"),
        pytest.param(cost(None, "5.39"), "price not known", id="from an unknown price"),
        pytest.param(sum([CREATION] * 20, Cost()), "+107.80 EUR a month", id="many"),
        pytest.param(sum([cost("0", "0.004")] * 3, Cost()), "+0.01 EUR a month", id="summed up, then rounded"),
        pytest.param(CREATION + UNKNOWN_CREATION, "at least +5.39 EUR a month", id="many, one of them unknown"),
    ],
)
def test_the_cost_of_changes(of: Cost, shown: str) -> None:
    assert shown_cost(of, "EUR") == shown
    assert shown_cost(of, None) == shown.replace(" EUR", "")


STAYS = cost("5.39", "5.39")


@rows(
    "changes cluster total delta",
    {
        "one more": (CREATION, CREATION + STAYS, "5.39 -> 10.78 EUR a month (+5.39), ", "+5.39"),
        "one more in a zone": (
            cost("0", "5.39", "6.41"),
            cost("0", "5.39", "6.41") + STAYS,
            "5.39 -> 10.78 to 11.80 EUR a month (+5.39 to +6.41), ",
            "+5.39 to +6.41",
        ),
        "beside one of unknown price": (
            CREATION,
            CREATION + STAYS + cost(None, None),
            "at least 5.39 -> 10.78 EUR a month (+5.39), ",
            "+5.39",
        ),
        "one of unknown price": (
            CREATION + UNKNOWN_CREATION,
            CREATION + UNKNOWN_CREATION + STAYS,
            "at least 5.39 -> 10.78 EUR a month, ",
            "price not known",
        ),
        "nothing is known": (UNKNOWN_CREATION, UNKNOWN_CREATION, "price not known", "price not known"),
        "what stays": (STAYS, STAYS, "5.39 -> 5.39 EUR a month (0.00), ", ""),
        "no change has a cost": (None, STAYS, "", ""),
    },
)
def test_the_total(changes: Cost | None, cluster: Cost, total: str, delta: str) -> None:
    """The old sum, the new one and the difference; at least that much where a price is not known."""
    found = MonthlyCost("EUR", changes, cluster)

    assert shown_total(found) == total + "gross list price, without traffic" * total.endswith(", ")
    assert shown_delta(found).removesuffix(" EUR a month") == delta


def test_documents() -> None:
    """Machines get all of an amount as text, and null for what is not known."""
    price = Price(*map(Decimal, ("5.3907", "4.5300000000", "0.0086", "0.00726")))
    shown = {"net": "4.53", "gross": "5.3907", "hourly_net": "0.00726", "hourly_gross": "0.0086"}
    free = dict.fromkeys(("net", "gross", "hourly_net", "hourly_gross"), "0.00")
    creation = Cost.of(FREE, price)

    assert to_json(CostDocument.of(creation)) == {"before": free, "after": shown}
    assert to_json(CostDocument.of(UNKNOWN_CREATION))["after"] is None
    most = to_json(CostDocument.of(cost("0", "5", "6")))["after_most"]
    assert most == {"net": None, "gross": "6.00", "hourly_net": None, "hourly_gross": None}
    assert MonthlyCostDocument.of(MonthlyCost("EUR")) is None
    assert to_json(MonthlyCostDocument.of(MonthlyCost("EUR", creation, creation))) == {
        "currency": "EUR",
        "before": free,
        "after": shown,
        "delta": shown,
        "complete": True,
    }
    partly = MonthlyCost(None, UNKNOWN_CREATION, UNKNOWN_CREATION + CREATION)
    document = to_json(MonthlyCostDocument.of(partly))
    assert (document["currency"], document["delta"], document["complete"]) == (None, None, False)
    assert document["after"]["gross"] == "5.39"
