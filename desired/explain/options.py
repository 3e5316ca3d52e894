"""Explanation of the options of a Service: each annotation of the table with its value, its origin, and what the load
balancer has now, in the words in which annotations are written."""

from collections.abc import Iterator

from desired.annotations.choices import DeletionPolicy
from desired.annotations.options import ON_LISTENERS, OPTIONS, Option
from desired.annotations.reading import Origin, Requested
from desired.annotations.warnings import AnnotationWarning
from desired.explain.document import OptionFact
from desired.explain.load_balancer import Decision
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.in_use import in_use, of_listener, shown
from desired.load_balancers.lifecycle import LoadBalancerRelease
from desired.model.load_balancer import CloudBalancer
from desired.section import UNMANAGED


def explain_options(lb: Decision | None, balancer: CloudBalancer | None) -> tuple[OptionFact, ...]:
    """The options of the Service, in the order of the table; nothing where none of it counts. Of a Service that goes
    the deletion policy is left: no other annotation matters then."""
    match lb:
        case DesiredLoadBalancer():
            ways = lb.requested.ports.values()
            ports = (
                _of_port(row, lb, way, balancer) for way in ways for row in OPTIONS.values() if row.name in way.own
            )
            return (*(_option(row, lb, balancer) for row in OPTIONS.values()), *ports)
        case LoadBalancerRelease():
            row, asked = OPTIONS["deletion_policy"], lb.requested
            origin, problem = asked.origin(row.name), asked.bad.get(row.name)
            policy = DeletionPolicy.RETAIN if problem else asked.options.deletion_policy
            fact = OptionFact(
                key=row.full_key,
                origin=origin,
                variable=row.variable if origin is Origin.ENVIRONMENT else None,
                value=None if origin is Origin.UNSET else policy.value,
                otherwise=_default(row),
                problems=(problem.text,) if problem else (),
            )
            return (fact,)
    return ()


def _option(row: Option, lb: DesiredLoadBalancer, balancer: CloudBalancer | None) -> OptionFact:
    asked, origin = lb.requested, lb.requested.origin(row.name)
    value = getattr(asked.options, row.name) if origin is not Origin.UNSET and row.name not in asked.bad else UNMANAGED
    return OptionFact(
        key=row.full_key,
        origin=origin,
        variable=row.variable if origin is Origin.ENVIRONMENT else None,
        value=None if value is UNMANAGED else shown(row.name, value),
        otherwise=_default(row),
        in_use=in_use(row.name, balancer) if balancer else None,
        problems=tuple(problem.text for problem in lb.problems if problem.key in (row.full_key, row.variable)),
        remark=next((remark.text for remark in reversed(lb.remarks) if remark.key == row.full_key), None),
    )


def _of_port(row: Option, lb: DesiredLoadBalancer, way: Requested, balancer: CloudBalancer | None) -> OptionFact:
    """An option that a port has of its own; otherwise it has the Service's value, or the default."""
    key, value = way.key(row.name), getattr(way.options, row.name)
    service = getattr(lb.requested.options, row.name)
    is_set = lb.requested.origin(row.name) is not Origin.UNSET and service is not UNMANAGED
    listener = balancer.spec.listeners.get(way.port) if balancer and way.port and row.name in ON_LISTENERS else None
    there = of_listener(row.name, listener) if listener else None
    return OptionFact(
        key=key,
        origin=Origin.ANNOTATION,
        variable=None,
        value=None if value is UNMANAGED or row.name in way.bad else shown(row.name, value),
        otherwise=shown(row.name, service) if is_set else _default(row),
        in_use=None if there is None or there is UNMANAGED else shown(row.name, there),
        problems=tuple(problem.text for problem in lb.problems if problem.key == key),
        remark=next((remark.text for remark in reversed(lb.remarks) if remark.key == key), None),
    )


def explain_remarks(lb: Decision | None) -> Iterator[AnnotationWarning]:
    """Warnings about the Service that are not about an option: unknown annotations, and what Hetzner cannot do."""
    if isinstance(lb, DesiredLoadBalancer):
        own = (way.key(name) for way in lb.requested.ports.values() for name in way.own)
        known = {*(row.full_key for row in OPTIONS.values()), *own}
        yield from (remark for remark in lb.remarks if remark.key not in known)


def _default(row: Option) -> str:
    """The default of an option, without the page's markup."""
    return row.when_unset.replace("`", "")
