"""Type of a load balancer: the desired one, whether it can be had, and what it holds."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from desired.annotations.options import DEFAULT_TYPE, Options
from desired.model.load_balancer import BalancerType, CloudBalancer
from desired.model.service import Service
from desired.model.serving import Serving
from desired.model.snapshot import Snapshot
from desired.rules import load_balancers as rows
from desired.rules.rule import Reason
from desired.section import Unknown, Unmanaged
from desired.syntax.bounds import counted


class Demand(NamedTuple):
    """Numbers of listeners, targets and certificates that a load balancer has to hold, or that its type takes."""

    services: int
    targets: int
    certificates: int = 0

    @classmethod
    def at_most(cls, size: BalancerType) -> "Demand":
        """The limits of a type."""
        return cls(size.max_services, size.max_targets, size.max_certificates)

    def fits(self, size: BalancerType) -> bool:
        """Whether a type takes all of it."""
        return all(needed <= limit for needed, limit in zip(self, Demand.at_most(size), strict=True))


@dataclass(frozen=True, slots=True)
class Size:
    """The type that it should have; and, if it is not the one that was asked for, why not."""

    type: BalancerType | None
    """None when no type can be had: then nothing is created."""
    problem: Reason | None = None


def fitting_size(
    options: Options, present: CloudBalancer | None, demand: Demand, snapshot: Snapshot, location: str | None = None
) -> Size:
    """The type for this load balancer. One that is there keeps its type when the wanted one cannot be had.

    Whether a type can still be ordered matters only when it is ordered: a load balancer on a type that is out of sale
    is managed as any other. ``location`` is where a new one goes, None when Hetzner chooses it.
    """
    wanted = DEFAULT_TYPE if isinstance(options.type, Unmanaged) else options.type
    if present is not None and (isinstance(options.type, Unmanaged) or wanted == present.type.name):
        return _deprecated(present.type)
    kept = present.type if present else None
    instead = f"{kept.name} kept" if kept else "none created"
    types = snapshot.balancer_types
    if isinstance(types, Unknown):
        return Size(kept, rows.TYPE_NOT_READ.because(wanted=wanted, cause=types.why, instead=instead))
    found = types.get(wanted)
    if found is None:
        near = ", ".join(sorted(get_close_matches(wanted, sorted(types), n=3, cutoff=0.0)))
        such_as = near and f", such as {near}"
        return Size(kept, rows.TYPE_MISSING.because(wanted=wanted, near=such_as, instead=instead))
    if found.unavailable_after is not None and found.unavailable_after <= snapshot.taken_at:
        since = f"{found.unavailable_after:%Y-%m-%d}"
        return Size(kept, rows.TYPE_NOT_SOLD.because(wanted=wanted, since=since, instead=instead))
    if present is None and location is not None and found.locations and location not in found.locations:
        there = ", ".join(sorted(found.locations))
        reason = rows.TYPE_NOT_THERE.because(location=location, wanted=wanted, locations=there, instead=instead)
        return Size(None, reason)
    lacking = _lacking(found, demand, kept)
    if lacking is not None:
        holds, needed = lacking
        larger = larger_type(demand, snapshot)
        small = rows.TYPE_TOO_SMALL.because(wanted=wanted, holds=holds, needed=needed, instead=instead, larger=larger)
        return Size(kept, small)
    return _deprecated(found)


def takes_less(size: BalancerType, than: BalancerType) -> bool:
    """Whether a type takes fewer targets, ports or certificates."""
    return not Demand.at_most(than).fits(size)


def larger_type(demand: Demand, snapshot: Snapshot) -> str:
    """``a larger type, such as lb21``: the smallest one on sale that holds all of it, where there is one and the types
    could be looked up."""
    types = snapshot.balancer_types
    fitting = (
        found
        for found in (() if isinstance(types, Unknown) else types.values())
        if demand.fits(found) and (found.unavailable_after is None or found.unavailable_after > snapshot.taken_at)
    )
    least = min(fitting, key=lambda found: (found.max_targets, found.max_services, found.name), default=None)
    return "a larger type" if least is None else f"a larger type, such as {least.name}"


def _deprecated(found: BalancerType) -> Size:
    """The type, with a note when Hetzner stops, or has stopped, selling it: an existing load balancer keeps it."""
    if found.unavailable_after is None:
        return Size(found)
    return Size(found, rows.TYPE_DEPRECATED.because(type=found.name, until=f"{found.unavailable_after:%Y-%m-%d}"))


def _lacking(found: BalancerType, demand: Demand, kept: BalancerType | None) -> tuple[str, int] | None:
    """What the type takes of something, and how many are needed; None when it holds all that it has to.

    A new load balancer may begin with fewer targets than there are Nodes. One that is there, of type ``kept``, may stay
    short of what is needed, but not lose any of it by the change.
    """
    limits, held = Demand.at_most(found), Demand.at_most(kept) if kept is not None else demand._replace(targets=0)
    for of, word in (("services", "port"), ("certificates", "certificate"), ("targets", "target")):
        needed, holds = getattr(demand, of), getattr(limits, of)
        if holds < min(needed, getattr(held, of)):
            return counted(holds, word), needed
    return None


def wanted_types(
    services: Iterable[Service], balancers: Iterable[CloudBalancer], serving: Serving, defaults: Options
) -> frozenset[str]:
    """Names of the types that something has to be known of: those that are asked for by annotation or environment, and
    the default one when a load balancer may have to be created without any of that."""
    served = {balancer.owner.uid for balancer in balancers}
    names: set[str] = set()
    for service in filter(serving.wants, services):
        asked = service.claim.requested(defaults).options
        if not isinstance(asked.type, Unmanaged):
            names.add(asked.type)
        elif service.uid not in served:
            names.add(DEFAULT_TYPE)
    return frozenset(names)
