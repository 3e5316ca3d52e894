"""What a cluster costs, by Hetzner's price list (``GET /v1/pricing``)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from saying import one_line

_HOURS_A_MONTH = 730


@dataclass(frozen=True, slots=True)
class Item:
    """So many of something that is paid by the hour. ``each`` is gross; None when no price is known."""

    count: int
    what: str
    each: Decimal | None


def items(pricing: Mapping[str, Any], *, servers: int, server_type: str, location: str) -> tuple[Item, ...]:
    """What so many servers cost, each with its IPv4 address."""
    return (
        Item(servers, f"server {server_type} in {location}", _hourly(pricing, "server_types", server_type, location)),
        Item(servers, "IPv4 address", _hourly(pricing, "primary_ips", "ipv4", location)),
    )


def bill(pricing: Mapping[str, Any], bought: Sequence[Item], location: str) -> list[str]:
    """Lines for a person: each item, the sum, and what may come on top."""
    currency = one_line(str(pricing.get("currency", "EUR")))
    lines = [f"    {item.count} x {item.what}: {_shown(item.each, currency)} an hour each" for item in bought]
    known = [item.count * item.each for item in bought if item.each is not None]
    total = sum(known, Decimal(0))
    partly = "" if len(known) == len(bought) else ", without what is unknown"
    lines.append(
        f"together {_shown(total, currency)} an hour, {total * _HOURS_A_MONTH:.2f} {currency} a month if it stays"
        f"{partly} (gross); a started hour is paid whole, and a server that is off as one that runs"
    )
    balancer = _shown(_hourly(pricing, "load_balancer_types", "lb11", location), currency)
    lines.append(f"each Service of type LoadBalancer adds a load balancer, lb11 by default: {balancer} an hour")
    return lines


def _hourly(pricing: Mapping[str, Any], kind: str, name: str, location: str) -> Decimal | None:
    """The gross price of an hour; None when the list has none that can be read. Primary IPs go by ``type``, all others
    by ``name``."""
    try:
        for entry in pricing.get(kind, ()):
            if name in (entry.get("name"), entry.get("type")):
                for price in entry.get("prices", ()):
                    if price.get("location") == location:
                        gross = Decimal(price["price_hourly"]["gross"])
                        return gross if gross.is_finite() else None
    except (AttributeError, KeyError, TypeError, ValueError, InvalidOperation):
        return None
    return None


def _shown(price: Decimal | None, currency: str) -> str:
    return "an unknown price" if price is None else f"{price:.4f} {currency}"
