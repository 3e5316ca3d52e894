"""Differences that a default of the cluster alone asks for on a load balancer that exists. Guard ``by-default`` holds
them.

The origin of a value decides, and nothing is remembered. An annotation of the Service passes, and so does a harmless
change. The rest of a listener, or of a status, does not wait: a default is a change of its own.
"""

from collections.abc import Collection
from dataclasses import replace

from desired.annotations.options import CHECK, OPTIONS, SETTING
from desired.annotations.reading import Requested
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.published import PRIVATE, kind_of, kinds_of
from desired.model.load_balancer import Attachment, BalancerType, CloudBalancer, Listener
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


def interface_differences(lb: DesiredLoadBalancer, *, closes: bool) -> tuple[Difference, ...]:
    """The difference if a variable closes a load balancer, or opens it."""
    name = "disable_public_network"
    return (_difference(lb, name, not closes, closes),) if lb.requested.is_by_default(name) else ()


def network_differences(lb: DesiredLoadBalancer, here: Collection[int], place: Attachment) -> tuple[Difference, ...]:
    """The difference if a load balancer leaves the networks in which it is."""
    return tuple(
        Difference(lb.service.key, "network", str(network), str(place.network_id), "HCLOUD_NETWORK") for network in here
    )


def way_differences(lb: DesiredLoadBalancer, *, private: bool) -> tuple[Difference, ...]:
    """The difference if a variable has targets reached otherwise: the same until the last one is."""
    return (_difference(lb, "use_private_ip", not private, private),)


def type_differences(lb: DesiredLoadBalancer, present: BalancerType) -> tuple[Difference, ...]:
    """The difference if a variable asks for a type that takes less than the present one."""
    limits, wanted = ("max_targets", "max_services", "max_certificates"), lb.size.type
    if wanted is None or not lb.requested.is_by_default("type"):
        return ()
    is_smaller = any(getattr(wanted, name) < getattr(present, name) for name in limits)
    return (_difference(lb, "type", present.name, wanted.name),) if is_smaller else ()


def listener_differences(
    lb: DesiredLoadBalancer, before: Listener, after: Listener
) -> tuple[Listener, tuple[Difference, ...]]:
    """The listener as annotations ask for it, and the differences by which defaults alone would interrupt."""
    way, was, now = lb.requested.of_port(after.port), before.health_check, after.health_check
    asked, check, found = after, now, list[Difference]()
    if before.proxyprotocol != after.proxyprotocol and way.is_by_default("uses_proxyprotocol"):
        found.append(_difference(lb, "uses_proxyprotocol", before.proxyprotocol, after.proxyprotocol, after.port))
        asked = replace(after, proxyprotocol=before.proxyprotocol)
    if _is_less(now.timeout_s, was.timeout_s) and way.is_by_default("health_check_timeout"):
        found.append(_difference(lb, "health_check_timeout", was.timeout_s, now.timeout_s, after.port))
        check = replace(check, timeout_s=was.timeout_s)
    if _is_less(now.retries, was.retries) and way.is_by_default("health_check_retries"):
        found.append(_difference(lb, "health_check_retries", was.retries, now.retries, after.port))
        check = replace(check, retries=was.retries)
    if spoken := _speaks_by_default(way, before, after):
        found.append(_difference(lb, spoken, was.protocol, now.protocol, after.port))
        check = replace(check, protocol=was.protocol, http=was.http)
    return replace(asked, health_check=check), tuple(found)


def _is_less(value: object, than: object) -> bool:
    return isinstance(value, int) and isinstance(than, int) and value < than


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
