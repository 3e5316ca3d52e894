"""The currency in which Hetzner prices what a project has."""

import msgspec

from actuators.http.decoding import decoder
from actuators.http.errors import ApiError
from actuators.http.hetzner import HetznerReader


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
