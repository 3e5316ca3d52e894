"""Explanation of the options of a load balancer: each annotation of the table with its value, its origin, and what the
load balancer has now, in the words in which annotations are written."""

from collections.abc import Mapping
from dataclasses import dataclass

from desired.annotations.options import Defaults
from desired.annotations.parsing import Origin, origin_of
from desired.annotations.table import BY_FIELD, Annotation
from desired.annotations.warnings import AnnotationWarning
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.in_use import in_use, shown
from desired.load_balancers.release import LoadBalancerRelease
from desired.model.load_balancer import CloudBalancer
from desired.model.settings import Settings
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
    lb: DesiredLoadBalancer | LoadBalancerRelease | None, balancer: CloudBalancer | None, settings: Settings
) -> tuple[OptionFact, ...]:
    """The options of the Service, in the order of the table; nothing where none of it counts.

    A Service that is being deleted has one row left, the deletion policy: no other annotation matters then.
    """
    match lb:
        case DesiredLoadBalancer():
            remarks = {remark.key: remark.text for remark in lb.remarks}
            _, bad = lb.service.claim.options(settings.balancer_defaults)
            return tuple(
                _option(field, row, lb, balancer, settings, is_readable=field not in bad, remarks=remarks)
                for field, row in BY_FIELD.items()
            )
        case LoadBalancerRelease():
            return (_deletion_policy(lb, settings.balancer_defaults),)
    return ()


def explain_remarks(lb: DesiredLoadBalancer | LoadBalancerRelease | None) -> tuple[AnnotationWarning, ...]:
    """Warnings about the Service that are not about an annotation of the table: unknown annotations, and fields that
    ask for what Hetzner cannot do."""
    known = {row.full_key for row in BY_FIELD.values()}
    remarks = lb.remarks if isinstance(lb, DesiredLoadBalancer) else ()
    return tuple(remark for remark in remarks if remark.key not in known)


def _option(
    field: str,
    row: Annotation,
    lb: DesiredLoadBalancer,
    balancer: CloudBalancer | None,
    settings: Settings,
    *,
    is_readable: bool,
    remarks: Mapping[str, str],
) -> OptionFact:
    origin = origin_of(field, lb.service.claim.read, settings.balancer_defaults)
    value = getattr(lb.options, field) if is_readable and origin is not Origin.UNSET else UNMANAGED
    return OptionFact(
        key=row.full_key,
        origin=origin,
        value=None if value is UNMANAGED else shown(field, value),
        variable=row.variable if origin is Origin.ENVIRONMENT else None,
        otherwise=_plain(row),
        in_use=in_use(field, balancer) if balancer else None,
        problems=tuple(problem.text for problem in lb.problems if problem.key in (row.full_key, row.variable)),
        remark=remarks.get(row.full_key),
    )


def _deletion_policy(lb: LoadBalancerRelease, defaults: Defaults) -> OptionFact:
    row, read = BY_FIELD["deletion_policy"], lb.service.claim.read
    origin = origin_of("deletion_policy", read, defaults)
    problem = read.bad.get("deletion_policy")
    return OptionFact(
        key=row.full_key,
        origin=origin,
        value=None if origin is Origin.UNSET else read.deletion_policy.value,
        variable=None,
        otherwise=_plain(row),
        problems=(problem.text,) if problem else (),
    )


def _plain(row: Annotation) -> str:
    """The default of an annotation, without the page's markup."""
    return row.unset.replace("`", "")
