"""Types of load balancers, in the catalog or in a load balancer, with their prices."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated

import msgspec

from actuators.http.decoding import decoder
from actuators.wire.pages import Codec
from desired.model.load_balancer import NO_LIMIT, BalancerType

_AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,20})?")
_SHARED = 16
"""Texts of prices that are remembered from one reading to the next."""

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time that can be compared with a snapshot's."""


class _Amount(msgspec.Struct, gc=False):
    gross: str | None = None


class _Price(msgspec.Struct, gc=False):
    location: str | None = None
    price_monthly: _Amount | None = None


class _Sold(msgspec.Struct, gc=False):
    location: str = ""


class _Deprecation(msgspec.Struct, gc=False):
    unavailable_after: Moment


class TypeShape(msgspec.Struct, gc=False):
    """A type, in the catalog or in a load balancer. Its prices are for people: unreadable ones are left out."""

    id: int
    name: str
    max_services: float
    max_targets: float
    max_assigned_certificates: float
    deprecation: _Deprecation | None = None
    deprecated: Moment | None = None
    """What ``deprecation`` was until July 2026."""
    prices: msgspec.Raw = msgspec.Raw(b"[]")


def type_of(found: TypeShape) -> BalancerType:
    """The type as a value of the snapshot."""
    return BalancerType(
        name=found.name,
        max_services=_limit(found.max_services),
        max_targets=_limit(found.max_targets),
        max_certificates=_limit(found.max_assigned_certificates),
        unavailable_after=found.deprecation.unavailable_after if found.deprecation else found.deprecated,
        prices=_prices(bytes(found.prices)),
        locations=_locations(bytes(found.prices)),
    )


@lru_cache(maxsize=_SHARED)
def _prices(said: bytes) -> Mapping[str, Decimal]:
    """Location → price; nothing of prices of which one cannot be read. Hundreds of load balancers say the same."""
    try:
        prices = decoder(list[_Price]).decode(said)
    except ValueError:
        return {}
    found = {each.location: _price(each) for each in prices if each.location}
    return MappingProxyType({location: price for location, price in found.items() if price is not None})


@lru_cache(maxsize=_SHARED)
def _locations(said: bytes) -> frozenset[str]:
    """The locations in a list of prices; none where one of them is not said."""
    try:
        named = [each.location for each in decoder(list[_Sold]).decode(said)]
    except ValueError:
        return frozenset()
    return frozenset() if "" in named else frozenset(named)


def _limit(said: float) -> int:
    """A limit of a type; NO_LIMIT for an impossible one: none, below one, a fraction, or more than is for sale."""
    return int(said) if 1 <= said < NO_LIMIT and said.is_integer() else NO_LIMIT


def _price(said: _Price) -> Decimal | None:
    """A price a month; None if it is not said, or is an impossible one, as less than nothing."""
    text = said.price_monthly.gross if said.price_monthly else None
    return Decimal(text) if text is not None and _AMOUNT.fullmatch(text) else None


@dataclass(frozen=True, slots=True)
class ListedType:
    """A type in the catalog, which is listed by its id."""

    id: int
    type: BalancerType


TYPES = Codec(
    "/load_balancer_types", "load balancer type", TypeShape, lambda found: ListedType(found.id, type_of(found))
)
