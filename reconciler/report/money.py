"""Money as people and machines read it: the one place that rounds, and that knows what to say of what is not known."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from desired.model.price import Cost, Price
from reconciler.result import MonthlyCost

_CENT = Decimal("0.01")
UNKNOWN = "price not known"
LIST_PRICE = "gross list price, without traffic"
"""What every amount is, said once in a text."""


def money(amount: Decimal, *, is_signed: bool = False) -> str:
    """An amount to the cent, half a cent up; with a sign if it is a difference of anything."""
    rounded = amount.quantize(_CENT, ROUND_HALF_UP) + 0  # no negative zero
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


Amount = Annotated[str, Meta(pattern=r"^-?[0-9]+\.[0-9]{2,}$")]
"""An exact amount; text, so that nothing rounds it."""


class PriceDocument(Struct, frozen=True):
    """A list price in the currency of the project, without traffic."""

    net: Amount | None
    """A month. None where the API did not say."""
    gross: Amount
    hourly_net: Amount | None
    hourly_gross: Amount | None

    @classmethod
    def of(cls, price: Price) -> "PriceDocument":
        """A price, or a difference of two."""
        return cls(_exact(price.net), exact(price.gross), _exact(price.hourly_net), _exact(price.hourly_gross))


class CostDocument(Struct, frozen=True):
    """The price before and after a change. Where there is no load balancer it is nothing, 0.00."""

    before: PriceDocument | None
    after: PriceDocument | None
    """None where the price is not known. Where Hetzner chooses the location: that of the cheapest one."""
    after_most: PriceDocument | UnsetType = UNSET
    """That of the dearest location; only there where it differs."""

    @classmethod
    def of(cls, cost: Cost) -> "CostDocument":
        """The cost of one change."""
        before = PriceDocument.of(cost.before) if cost.is_before_known else None
        after = PriceDocument.of(cost.after) if cost.is_after_known else None
        return cls(before, after, _most(cost))


class MonthlyCostDocument(Struct, frozen=True):
    """The price of all load balancers of the cluster before and after the changes that would be, or were, made."""

    currency: str | None
    """Its code; None when it is not known."""
    before: PriceDocument
    after: PriceDocument
    delta: PriceDocument | None
    """None where the price of a changed load balancer is not known."""
    complete: bool
    """Whether all prices are known. Otherwise it is at least that much."""
    after_most: PriceDocument | UnsetType = UNSET
    """What it comes to where Hetzner chooses the dearest location; only there where that differs."""

    @classmethod
    def of(cls, cost: MonthlyCost) -> "MonthlyCostDocument | None":
        """That of a report; None where no change has a cost."""
        changes, whole = cost.changes, cost.cluster
        if changes is None:
            return None
        delta = PriceDocument.of(changes.delta) if changes.is_known else None
        sides = PriceDocument.of(whole.before), PriceDocument.of(whole.after)
        return cls(cost.currency, *sides, delta, whole.is_known, _most(whole))


def _most(cost: Cost) -> PriceDocument | UnsetType:
    return UNSET if cost.most == cost.after else PriceDocument.of(cost.most)


def exact(amount: Decimal) -> str:
    """All of an amount, with two decimals at least."""
    return f"{amount.normalize():f}" if amount != amount.quantize(_CENT) else f"{amount.quantize(_CENT) + 0:f}"


def _exact(amount: Decimal | None) -> str | None:
    return None if amount is None else exact(amount)
