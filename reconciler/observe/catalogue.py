"""Catalog of load balancer types, and the currency of their prices, each read at most once an hour."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated

import msgspec

from actuators.http.decoding import decoder
from actuators.http.errors import ApiError
from actuators.http.hetzner import HetznerReader
from desired.model.load_balancer import NO_LIMIT, BalancerType
from desired.model.price import Price
from desired.section import Section, Unknown
from reconciler.observe.hetzner import PagesOf

_AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,20})?")
_CURRENCY = re.compile(r"[A-Z]{3}")
MAX_AGE = timedelta(hours=1)
"""How long the catalog and the currency are used, in the time of snapshots."""
QUICK_S = 3.0
"""How long an answer is waited for that only makes a report nicer."""
_SHARED = 16
"""Texts of prices that are remembered from one reading to the next."""

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time that can be compared with a snapshot's."""


class _Amount(msgspec.Struct, gc=False):
    net: str | None = None
    gross: str | None = None


class _Price(msgspec.Struct, gc=False):
    location: str | None = None
    price_hourly: _Amount | None = None
    price_monthly: _Amount | None = None


class _Sold(msgspec.Struct, gc=False):
    location: str = ""


class _Deprecation(msgspec.Struct, gc=False):
    unavailable_after: Moment


class TypeShape(msgspec.Struct, gc=False):
    """A type, in the catalog or in a load balancer. Prices are for people: without any, and with such as no person can
    read, it is the same type."""

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
def _prices(said: bytes) -> Mapping[str, Price]:
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
    """A limit of a type; NO_LIMIT for an impossible number: none at all, less than that, a fraction, or more than
    is for sale."""
    return int(said) if 1 <= said < NO_LIMIT and said.is_integer() else NO_LIMIT


def _price(said: _Price) -> Price | None:
    """A price; None where that of a month is not said, or is an impossible one, as less than nothing."""
    monthly, hourly = said.price_monthly or _Amount(), said.price_hourly or _Amount()
    gross = _amount(monthly.gross)
    return None if gross is None else Price(gross, _amount(monthly.net), _amount(hourly.gross), _amount(hourly.net))


def _amount(text: str | None) -> Decimal | None:
    return Decimal(text) if text is not None and _AMOUNT.fullmatch(text) else None


@dataclass(frozen=True, slots=True)
class _Listed:
    id: int
    type: BalancerType


_TYPES = PagesOf(
    "/load_balancer_types", "load balancer type", TypeShape, lambda found: _Listed(found.id, type_of(found))
)


class Catalogue:
    """Remembers the types that can be ordered, and those that no longer can."""

    def __init__(self) -> None:
        self._section: Section[int, _Listed] | None = None
        self._read_at: datetime | None = None

    def look_up(
        self, reader: HetznerReader, names: Collection[str], now: datetime
    ) -> tuple[Mapping[str, BalancerType] | Unknown, ApiError | None]:
        """All types by name, one request unless they were read less than an hour before ``now``, a snapshot's time.

        Unknown, with the error if there was one, when they could not be read, or one of ``names`` could not. A name
        that is not in the catalog is no reason to ask again.
        """
        section = self._section
        if section is None or self._read_at is None or abs(now - self._read_at) >= MAX_AGE:
            section, error = _TYPES.observe(reader)
            if not section.complete:
                return Unknown(section.why_incomplete or "the types of load balancers could not be read"), error
            self._section, self._read_at = section, now
        types = {listed.type.name: listed.type for listed in section}
        missing = set(names) - types.keys()
        for key, why in section.unreadable.items():
            if missing and section.unreadable_names.get(key) in {None, *missing}:
                return Unknown(why), None
        return types, None


class _Pricing(msgspec.Struct):
    currency: str


class _PricingAnswer(msgspec.Struct):
    pricing: _Pricing


class Currency:
    """Remembers the currency of the project's prices."""

    def __init__(self) -> None:
        self._code: str | None = None
        self._asked_at: datetime | None = None

    def look_up(self, reader: HetznerReader, now: datetime, *, may_ask: bool = True) -> str | None:
        """Its code, ``EUR``; None when the API does not say, whatever why: an amount without it is better than none.

        One short request, unless there was one less than an hour before ``now``, a snapshot's time. It is not repeated,
        whatever came of it, and sent neither while nothing is left of the allowance nor unless it ``may_ask``.
        """
        limit = reader.rate_limit
        if self._asked_at is not None and abs(now - self._asked_at) < MAX_AGE:
            return self._code
        if not may_ask or (limit is not None and limit.remaining <= 0):
            return None
        self._code, self._asked_at = _currency(reader), now
        return self._code


def _currency(reader: HetznerReader) -> str | None:
    try:
        code = decoder(_PricingAnswer).decode(reader.get_once("/pricing", QUICK_S)).pricing.currency
    except (ApiError, ValueError):
        return None
    return code if _CURRENCY.fullmatch(code) else None
