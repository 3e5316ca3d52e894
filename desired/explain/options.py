"""Explanation of the options of a load balancer: each annotation of the table with its value, its origin, and what the
load balancer has now, in the words in which annotations are written."""

from dataclasses import dataclass

from desired.annotations.options import OPTIONS, Option
from desired.annotations.reading import Origin
from desired.annotations.warnings import AnnotationWarning
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.in_use import in_use, shown
from desired.load_balancers.release import LoadBalancerRelease
from desired.model.load_balancer import CloudBalancer
from desired.section import UNMANAGED


@dataclass(frozen=True, slots=True)
class OptionFact:
    """One row of the table of annotations, as it holds for one Service."""

    key: str
    """In full."""
    origin: Origin
    variable: str | None
    """The environment variable behind the origin ``environment``; None with another origin."""
    value: str | None
    """As it was understood; None when nobody set it, or it cannot be understood."""
    otherwise: str
    """The default."""
    in_use: str | None = None
    """The load balancer's present value; None where there is none, or that cannot be told."""
    problems: tuple[str, ...] = ()
    """Why the value that is set cannot be used."""
    remark: str | None = None
    """A warning about it; nothing depends on that."""


def explain_options(
    lb: DesiredLoadBalancer | LoadBalancerRelease | None, balancer: CloudBalancer | None
) -> tuple[OptionFact, ...]:
    """The options of the Service, in the order of the table; nothing where none of it counts.

    A Service that is being deleted has one row left, the deletion policy: no other annotation matters then.
    """
    match lb:
        case DesiredLoadBalancer():
            remarks = {remark.key: remark.text for remark in lb.remarks}
            return tuple(_option(row, lb, balancer, remarks.get(row.full_key)) for row in OPTIONS.values())
        case LoadBalancerRelease():
            return (_deletion_policy(lb),)
    return ()


def explain_remarks(lb: DesiredLoadBalancer | LoadBalancerRelease | None) -> tuple[AnnotationWarning, ...]:
    """Warnings about the Service that are not about an annotation of the table: unknown annotations, and fields that
    ask for what Hetzner cannot do."""
    known = {row.full_key for row in OPTIONS.values()}
    remarks = lb.remarks if isinstance(lb, DesiredLoadBalancer) else ()
    return tuple(remark for remark in remarks if remark.key not in known)


def _option(row: Option, lb: DesiredLoadBalancer, balancer: CloudBalancer | None, remark: str | None) -> OptionFact:
    asked, origin = lb.requested, lb.requested.origin(row.name)
    value = getattr(lb.options, row.name) if origin is not Origin.UNSET and row.name not in asked.bad else UNMANAGED
    return OptionFact(
        key=row.full_key,
        origin=origin,
        value=None if value is UNMANAGED else shown(row.name, value),
        variable=row.variable if origin is Origin.ENVIRONMENT else None,
        otherwise=_plain(row),
        in_use=in_use(row.name, balancer) if balancer else None,
        problems=tuple(problem.text for problem in lb.problems if problem.key in (row.full_key, row.variable)),
        remark=remark,
    )


def _deletion_policy(lb: LoadBalancerRelease) -> OptionFact:
    row, read = OPTIONS["deletion_policy"], lb.service.claim.read
    problem = read.bad.get(row.name)
    is_said = problem is not None or row.name in read.values
    return OptionFact(
        key=row.full_key,
        origin=Origin.ANNOTATION if is_said else Origin.UNSET,
        value=read.deletion_policy.value if is_said else None,
        variable=None,
        otherwise=_plain(row),
        problems=(problem.text,) if problem else (),
    )


def _plain(row: Option) -> str:
    """The default of an annotation, without the page's markup."""
    return row.when_unset.replace("`", "")
