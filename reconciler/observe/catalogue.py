"""Catalog of load balancer types, read at most once an hour, and the currency of their prices."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from actuators.http.decoding import decoder
from actuators.http.errors import ApiError
from actuators.http.hetzner import HetznerReader
from desired.model.load_balancer import NO_LIMIT, BalancerType
from desired.section import Section, Unknown
from reconciler.observe.hetzner import PagesOf

_PRICE = re.compile(r"[0-9]{1,12}(\.[0-9]{1,20})?", re.ASCII)
MAX_AGE = timedelta(hours=1)
"""How long the catalog is used, in the time of snapshots."""

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time that can be compared with a snapshot's."""


class _Amount(msgspec.Struct, gc=False):
    gross: str | None = None


class _Price(msgspec.Struct, gc=False):
    location: str | None = None
    price_monthly: _Amount | None = None


class _Deprecation(msgspec.Struct, gc=False):
    unavailable_after: Moment


class TypeShape(msgspec.Struct, gc=False):
    """A type, in the catalog or in a load balancer. Prices are for people: without any it is the same type."""

    id: int
    name: str
    max_services: float
    max_targets: float
    max_assigned_certificates: float
    deprecation: _Deprecation | None = None
    deprecated: Moment | None = None
    """What ``deprecation`` was until July 2026."""
    prices: list[_Price] | None = None


def type_of(found: TypeShape) -> BalancerType:
    """The type as a value of the snapshot."""
    return BalancerType(
        name=found.name,
        max_services=_limit(found.max_services),
        max_targets=_limit(found.max_targets),
        max_certificates=_limit(found.max_assigned_certificates),
        unavailable_after=found.deprecation.unavailable_after if found.deprecation else found.deprecated,
        monthly_prices={
            price.location: gross
            for price in found.prices or ()
            if price.location and (gross := _price(price.price_monthly)) is not None
        },
    )


def _limit(said: float) -> int:
    """A limit of a type; NO_LIMIT for an impossible number: none at all, less than that, a fraction, or more than
    anybody sells."""
    return int(said) if 1 <= said < NO_LIMIT and said.is_integer() else NO_LIMIT


def _price(amount: _Amount | None) -> str | None:
    """A monthly price; None for an impossible one, as less than nothing."""
    gross = amount.gross if amount else None
    return gross if gross is not None and _PRICE.fullmatch(gross) else None


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


def observe_currency(reader: HetznerReader) -> str | None:
    """Its code, ``EUR``; None when the API does not say, whatever why: an amount without it is better than none."""
    try:
        return decoder(_PricingAnswer).decode(reader.get("/pricing")).pricing.currency or None
    except (ApiError, ValueError):
        return None
