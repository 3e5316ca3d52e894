"""Money as people and machines read it: the one place that rounds."""

from decimal import ROUND_HALF_UP, Decimal

from desired.model.price import Cost
from reconciler.result import MonthlyCost

CENT = Decimal("0.01")
UNKNOWN = "price not known"
LIST_PRICE = "gross list price, without traffic"
"""The meaning of every amount, said once in a text."""


def money(amount: Decimal, *, is_signed: bool = False) -> str:
    """An amount to the cent, half a cent up; with a sign if it is a difference of anything."""
    rounded = amount.quantize(CENT, ROUND_HALF_UP) + 0  # no negative zero
    return f"{rounded:+}" if is_signed and rounded else str(rounded)


def a_month(amount: str, currency: str | None) -> str:
    """``5.39 EUR a month``; without the currency if it is not known."""
    return f"{amount} {currency} a month" if currency else f"{amount} a month"


def shown_cost(cost: Cost, currency: str | None) -> str:
    """The difference of one change, a fold of them, or all: ``+5.39 EUR a month``."""
    return UNKNOWN if cost.gross is None else a_month(money(cost.gross, is_signed=True), currency)


def shown_total(cost: MonthlyCost) -> str:
    """``+5.39 EUR a month, gross list price, without traffic``; "" if no change has a cost."""
    if cost.changes is None:
        return ""
    shown = shown_cost(cost.changes, cost.currency)
    return shown if shown == UNKNOWN else f"{shown}, {LIST_PRICE}"
