"""Money as it is shown: signs, cents, and what is not known."""

from decimal import Decimal

import pytest

from desired.model.price import Cost
from reconciler.report.documents import MonthlyCostDocument, to_json
from reconciler.report.money import money, shown_cost, shown_total
from reconciler.result import MonthlyCost


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
    ("amounts", "shown"),
    [
        pytest.param(["5.39"], "+5.39 EUR a month", id="a creation"),
        pytest.param(["-5.39"], "-5.39 EUR a month", id="a deletion"),
        pytest.param(["0"], "0.00 EUR a month", id="for nothing"),
        pytest.param([None], "price not known", id="of unknown price"),
        pytest.param(["5.39"] * 20, "+107.80 EUR a month", id="many"),
        pytest.param(["0.004"] * 3, "+0.01 EUR a month", id="summed up, then rounded"),
        pytest.param(["5.39", None], "price not known", id="many, one of them unknown"),
    ],
)
def test_a_cost(amounts: list[str | None], shown: str) -> None:
    found = sum((Cost(None if each is None else Decimal(each)) for each in amounts), Cost())
    note = "" if shown == "price not known" else ", gross list price, without traffic"

    assert shown_cost(found, "EUR") == shown
    assert shown_cost(found, None) == shown.replace(" EUR", "")
    assert shown_total(MonthlyCost("EUR", found)) == shown + note
    assert shown_total(MonthlyCost("EUR")) == ""


def test_documents() -> None:
    assert MonthlyCostDocument.of(MonthlyCost("EUR")) is None
    for gross, shown in ((Decimal("5.3907"), "5.3907"), (Decimal("-5.3900"), "-5.39"), (None, None)):
        document = to_json(MonthlyCostDocument.of(MonthlyCost("EUR", Cost(gross))))
        assert document == {"currency": "EUR", "gross": shown}
