"""Money as people and machines read it: the one place that rounds, and that knows what to say of what is not known."""

from decimal import ROUND_HALF_UP, Decimal

from desired.model.price import Cost
from reconciler.result import MonthlyCost

CENT = Decimal("0.01")
UNKNOWN = "price not known"
LIST_PRICE = "gross list price, without traffic"
"""What every amount is, said once in a text."""


def money(amount: Decimal, *, is_signed: bool = False) -> str:
    """An amount to the cent, half a cent up; with a sign if it is a difference of anything."""
    rounded = amount.quantize(CENT, ROUND_HALF_UP) + 0  # no negative zero
    return f"{rounded:+}" if is_signed and rounded else str(rounded)


def a_month(amount: str, currency: str | None) -> str:
    """``5.39 EUR a month``; without the currency where it is not known."""
    return f"{amount} {currency} a month" if currency else f"{amount} a month"


def shown_cost(cost: Cost, currency: str | None) -> str:
    """What one change, or a fold of them, makes of the price: ``+5.39 EUR a month``, ``5.39 -> 16.40 EUR a month
    (+11.01)`` or ``0.00 EUR a month, 5.39 stay``."""
    is_new = cost.is_before_known and not cost.before.gross
    if not cost.is_known:
        least = a_month(_difference(cost), currency)
        return f"at least {least}" if is_new and cost.after.gross else UNKNOWN
    if is_new or not cost.most.gross:
        return a_month(_difference(cost), currency)
    if cost.before == cost.after == cost.most:
        return f"{a_month(money(Decimal(0)), currency)}, {money(cost.after.gross)} stay"
    return f"{a_month(_sides(cost), currency)} ({_difference(cost)})"


def shown_total(cost: MonthlyCost) -> str:
    """What all load balancers of the cluster cost before and after, and the difference: ``5.39 -> 10.78 EUR a month
    (+5.39), gross list price, without traffic``; "" where no change has a cost."""
    if cost.changes is None:
        return ""
    whole = cost.cluster
    if not whole.is_known and not whole.before.gross and not whole.most.gross:
        return UNKNOWN
    least = "" if whole.is_known else "at least "
    difference = f" ({_difference(cost.changes)})" if cost.changes.is_known else ""
    return f"{least}{a_month(_sides(whole), cost.currency)}{difference}, {LIST_PRICE}"


def shown_delta(cost: MonthlyCost) -> str:
    """The difference alone, ``+5.39 EUR a month``, for a heading; "" where there is none."""
    changes = cost.changes
    if changes is None or not changes.is_known:
        return "" if changes is None else UNKNOWN
    difference = _difference(changes)
    return "" if difference == money(Decimal(0)) else a_month(difference, cost.currency)


def _sides(cost: Cost) -> str:
    after = _from_to(money(cost.after.gross), money(cost.most.gross))
    return f"{money(cost.before.gross)} -> {after}"


def _difference(cost: Cost) -> str:
    least, most = (money(each.gross, is_signed=True) for each in (cost.delta, cost.most_delta))
    return _from_to(least, most)


def _from_to(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"
