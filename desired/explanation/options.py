"""Every annotation that a Service may have: its value, where that comes from, and what the load balancer has."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from desired.annotations.claims import judge_claim
from desired.annotations.parsing import Origin, deletion_policy, origin_of, read_options
from desired.annotations.table import BY_FIELD, Annotation
from desired.annotations.warnings import Remark
from desired.explanation.in_use import in_use, shown
from desired.load_balancers.desired import Serving
from desired.load_balancers.release import Leaving
from desired.model.load_balancer import CloudBalancer
from desired.model.settings import Settings
from desired.section import UNMANAGED


@dataclass(frozen=True, slots=True)
class OptionFact:
    """One row of the table of annotations, as it holds for one Service."""

    key: str
    """In full."""
    origin: Origin
    value: str | None
    """As it was understood; None when nobody set it, or it cannot be understood."""
    variable: str | None
    """The environment variable behind ``Origin.ENVIRONMENT``; None with another origin."""
    otherwise: str
    """What holds when nobody sets it."""
    in_use: str | None = None
    """What the load balancer has of it now; None where there is none, or that cannot be told."""
    problems: tuple[str, ...] = ()
    """Why it cannot be as it is set."""
    remark: str | None = None
    """What is odd about it though nothing hangs on that."""


def explain_options(
    wish: Serving | Leaving | None, balancer: CloudBalancer | None, settings: Settings
) -> tuple[OptionFact, ...]:
    """What holds for the Service, in the order of the table; nothing where none of it counts.

    A Service that is going has one row left: nothing else that it asks for matters any more (W-15).
    """
    match wish:
        case Serving():
            remarks = {remark.key: remark.text for remark in _remarks(wish, settings)}
            _, bad = read_options(wish.service.claim.annotations, settings.balancer_defaults)
            return tuple(
                _option(field, row, wish, balancer, settings, is_readable=field not in bad, remarks=remarks)
                for field, row in BY_FIELD.items()
            )
        case Leaving():
            return (_deletion_policy(wish, settings),)
    return ()


def explain_remarks(wish: Serving | Leaving | None, settings: Settings) -> tuple[Remark, ...]:
    """What is odd about the Service and is not about an annotation of the table: annotations that nobody knows, and
    fields that ask for what Hetzner cannot do."""
    known = {row.full_key for row in BY_FIELD.values()}
    return tuple(remark for remark in _remarks(wish, settings) if remark.key not in known)


def _remarks(wish: Serving | Leaving | None, settings: Settings) -> Collection[Remark]:
    if not isinstance(wish, Serving):
        return ()
    has_network = settings.network is not None
    return judge_claim(wish.service.claim, settings.balancer_defaults, has_network=has_network).remarks


def _option(
    field: str,
    row: Annotation,
    wish: Serving,
    balancer: CloudBalancer | None,
    settings: Settings,
    *,
    is_readable: bool,
    remarks: Mapping[str, str],
) -> OptionFact:
    origin = origin_of(row, wish.service.claim.annotations, settings.balancer_defaults)
    value = getattr(wish.options, field) if is_readable and origin is not Origin.UNSET else UNMANAGED
    return OptionFact(
        key=row.full_key,
        origin=origin,
        value=None if value is UNMANAGED else shown(field, value),
        variable=row.variable if origin is Origin.ENVIRONMENT else None,
        otherwise=_plain(row),
        in_use=in_use(field, balancer) if balancer else None,
        problems=tuple(problem.text for problem in wish.problems if problem.key in (row.full_key, row.variable)),
        remark=remarks.get(row.full_key),
    )


def _deletion_policy(wish: Leaving, settings: Settings) -> OptionFact:
    row, annotations, defaults = BY_FIELD["deletion_policy"], wish.service.claim.annotations, settings.balancer_defaults
    origin = origin_of(row, annotations, defaults)
    problem = read_options(annotations, defaults)[1].get("deletion_policy")
    return OptionFact(
        key=row.full_key,
        origin=origin,
        value=None if origin is Origin.UNSET else deletion_policy(annotations).value,
        variable=None,
        otherwise=_plain(row),
        problems=(problem.text,) if problem else (),
    )


def _plain(row: Annotation) -> str:
    """What holds when nobody sets it, without the page's marks."""
    return row.unset.replace("`", "")
