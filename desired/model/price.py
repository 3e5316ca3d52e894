"""Prices as values: what something costs, and what changes make of it. Amounts are exact; who shows them rounds."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Price:
    """A list price in the project's currency, without traffic; or a sum of such prices, or the difference of two."""

    gross: Decimal
    """A month, with VAT."""
    net: Decimal | None = None
    hourly_gross: Decimal | None = None
    hourly_net: Decimal | None = None
    """None where the API did not say, and in a sum of which one is not known."""

    def __add__(self, other: "Price") -> "Price":
        return Price(
            self.gross + other.gross,
            _sum(self.net, other.net),
            _sum(self.hourly_gross, other.hourly_gross),
            _sum(self.hourly_net, other.hourly_net),
        )

    def __neg__(self) -> "Price":
        amounts = (self.net, self.hourly_gross, self.hourly_net)
        return Price(-self.gross, *(None if amount is None else -amount for amount in amounts))

    def __sub__(self, other: "Price") -> "Price":
        return self + -other


def _sum(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    return None if one is None or other is None else one + other


FREE = Price(Decimal(0), Decimal(0), Decimal(0), Decimal(0))
"""The price of what is not there."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The price of some load balancers before and after changes. Costs add up; ``Cost()`` is that of none."""

    before: Price = FREE
    after: Price = FREE
    """Where Hetzner chooses the location: that of the cheapest one."""
    most: Price = FREE
    """The same at the dearest one."""
    is_before_known: bool = True
    is_after_known: bool = True
    """Whether the price of each is in the sum; else it is at least that much."""

    @classmethod
    def of(cls, before: Price | None, after: Price | None, most: Price | None = None) -> "Cost":
        """That of one change; None for a price that is not known, ``most`` only where it differs from ``after``."""
        most = most or after or FREE
        return cls(before or FREE, after or FREE, most, before is not None, after is not None)

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.before + other.before,
            self.after + other.after,
            self.most + other.most,
            self.is_before_known and other.is_before_known,
            self.is_after_known and other.is_after_known,
        )

    @property
    def is_known(self) -> bool:
        """Whether all prices are."""
        return self.is_before_known and self.is_after_known

    @property
    def delta(self) -> Price:
        """By how much the price grows, at the cheapest location; less than nothing where it falls."""
        return self.after - self.before

    @property
    def most_delta(self) -> Price:
        """The same at the dearest one."""
        return self.most - self.before
