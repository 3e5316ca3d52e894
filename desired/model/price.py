"""The difference that changes make to the price. Amounts are exact; texts round them."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Cost:
    """A difference of list prices, gross, a month, in the project's currency, without traffic. Costs add up; ``Cost()``
    is that of nothing."""

    gross: Decimal | None = Decimal(0)
    """None: not known, as the price of one change is not."""

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(None if self.gross is None or other.gross is None else self.gross + other.gross)
