"""What readings remember of Hetzner: the catalog of types and the currency of prices, each read at most once an hour,
and whether load balancers of vanished Services may be left behind."""

import re
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

import msgspec

from actuators.http.decoding import decoder
from actuators.http.errors import ApiError
from actuators.http.hetzner import HetznerReader
from actuators.wire.catalogue import TYPES, ListedType
from desired.load_balancers.ownership import may_stay_behind
from desired.model.load_balancer import BalancerType
from desired.model.snapshot import Snapshot
from desired.section import Section, Unknown

_CURRENCY = re.compile(r"[A-Z]{3}")
MAX_AGE = timedelta(hours=1)
"""How long the catalog and the currency are used, in the time of snapshots."""
QUICK_S = 3.0
"""How long an answer is waited for that only makes a report nicer."""


class Catalogue:
    """Remembers the types that can be ordered, and those that no longer can."""

    def __init__(self) -> None:
        self._section: Section[int, ListedType] | None = None
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
            section, error = TYPES.observe(reader)
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


class LeftBehind:
    """Whether load balancers have to be listed though no Service has or wants one: the Service of one may have vanished
    since it was listed. A list once at the start of a process, and after each time that another one led, finds it."""

    def __init__(self, *, looks_first: bool = False) -> None:
        """``looks_first``: whether nothing is known at first, so that one list is worth its call."""
        self._looks_first = looks_first
        self.may_be = looks_first
        """Whether there may be any."""

    def saw(self, snapshot: Snapshot) -> None:
        """Take note of a reading. What was not read, or is incomplete, says nothing."""
        balancers = snapshot.load_balancers
        if balancers is None:
            return
        if may_stay_behind(snapshot):
            self.may_be = True
        elif balancers.is_whole:
            self.may_be = False

    def forget(self) -> None:
        """Another process was leading meanwhile, and may have released some."""
        self.may_be = self._looks_first
