"""Differences that a default of the cluster alone asks for on a load balancer that exists. Guard ``by-default`` holds
them.

The origin of a value decides, and nothing is remembered. An annotation of the Service passes, and so does a harmless
change. The rest of a listener, or of a status, does not wait: a default is a change of its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import ne
from typing import Any

from desired.annotations.options import CHECK, LISTENER, OPTIONS, SETTING
from desired.annotations.reading import Requested
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.in_use import of_listener
from desired.load_balancers.published import PRIVATE, kind_of, kinds_of
from desired.model.load_balancer import CloudBalancer, HealthCheck, Listener
from desired.model.service import Ingress
from desired.plan.change import Difference


def _difference(
    lb: DesiredLoadBalancer, name: str, before: object, after: object, port: int | None = None
) -> Difference:
    """The difference that the variable of an option makes, in words of annotations."""
    row = OPTIONS[name]
    return Difference(lb.service.key, row.key, _shown(before), _shown(after), row.variable or row.full_key, port)


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def differences(lb: DesiredLoadBalancer, name: str, before: object, after: object) -> tuple[Difference, ...]:
    """The difference of the whole load balancer, if the variable of an option alone asks for it."""
    return (_difference(lb, name, before, after),) if lb.requested.is_by_default(name) else ()


def _becomes_less(was: object, now: object) -> bool:
    return isinstance(was, int) and isinstance(now, int) and now < was


_INTERRUPTS: Mapping[str, Callable[[object, object], bool]] = {
    "uses_proxyprotocol": ne,
    "health_check_timeout": _becomes_less,
    "health_check_retries": _becomes_less,
}
"""Option of a port → whether traffic is interrupted from one value to another. Other options interrupt nothing."""


def listener_differences(
    lb: DesiredLoadBalancer, before: Listener, after: Listener
) -> tuple[Listener, tuple[Difference, ...]]:
    """The listener as annotations ask for it, and the differences by which defaults alone would interrupt."""
    way, was, now = lb.requested.of_port(after.port), before.health_check, after.health_check
    options = filter(way.is_by_default, _INTERRUPTS)
    values = {name: (of_listener(name, before), of_listener(name, after)) for name in options}
    kept = {name: sides for name, sides in values.items() if _INTERRUPTS[name](*sides)}
    found = [_difference(lb, name, *sides, after.port) for name, sides in kept.items()]

    def unchanged(part: str, there: Listener | HealthCheck) -> dict[str, Any]:
        return {field: getattr(there, field) for field, name in SETTING[part].items() if name in kept}

    check = replace(now, **unchanged(CHECK, was))
    if spoken := _speaks_by_default(way, before, after):
        found.append(_difference(lb, spoken, was.protocol, now.protocol, after.port))
        check = replace(check, protocol=was.protocol, http=was.http)
    return replace(after, health_check=check, **unchanged(LISTENER, before)), tuple(found)


def _speaks_by_default(way: Requested, before: Listener, after: Listener) -> str:
    """The option with the variable that alone makes a health check speak as its listener; "" if none does."""
    if before.protocol is not after.protocol or before.health_check.protocol is after.health_check.protocol:
        return ""
    names = SETTING[CHECK].values()
    if any(map(way.is_annotated, names)):
        return ""
    return next(filter(way.is_by_default, names), "")


def status_differences(
    lb: DesiredLoadBalancer, published: tuple[Ingress, ...], balancer: CloudBalancer
) -> tuple[Requested, tuple[Difference, ...]]:
    """What a Service asks for without the kinds of addresses that defaults alone take away, or put beside public ones;
    and these, also if a variable is lost. A Service that publishes no address gets them all."""
    was, has, kept = {*map(kind_of, published)} - {""}, kinds_of(balancer), lb.requested.options
    if not was:
        return lb.requested, ()
    found = []
    if not lb.requested.is_annotated("ipv6_disabled") and kept.ipv6_disabled and "ipv6" in was:
        found.append(_difference(lb, "ipv6_disabled", False, True))
        kept = replace(kept, ipv6_disabled=False)
    hides, name = kept.disable_private_ingress, "disable_private_ingress"
    chosen = ("private_ipv4", "private_subnet_ip_range")
    is_chosen = any(map(lb.requested.is_annotated, chosen))
    comes_beside = not hides and PRIVATE not in was and len(has) > 1 and not is_chosen
    if not lb.requested.is_annotated(name) and PRIVATE in has and (comes_beside or (hides and PRIVATE in was)):
        found.append(_difference(lb, name, not hides, hides))
        kept = replace(kept, disable_private_ingress=not hides)
    return replace(lb.requested, options=kept), tuple(found)
