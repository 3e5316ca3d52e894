"""Explanation of the options of a load balancer: each annotation of the table with its value, its origin, and what the
load balancer has now, in the words in which annotations are written."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from desired.annotations.choices import Protocol
from desired.annotations.options import Defaults
from desired.annotations.parsing import Origin, origin_of
from desired.annotations.table import BY_FIELD, Annotation
from desired.annotations.warnings import AnnotationWarning
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.release import LoadBalancerRelease
from desired.model.load_balancer import CloudBalancer, Listener, ServerTarget
from desired.model.settings import Settings
from desired.section import UNMANAGED
from desired.syntax.selector import Selector


def in_use(field: str, balancer: CloudBalancer) -> str | None:
    """The present value of the option ``field`` of the load balancer; several values where its ports or targets differ.
    None where it has none, where it cannot be told, and where the option is not about it."""
    if field in _OF_BALANCERS:
        found = _OF_BALANCERS[field](balancer)
    elif field in _OF_LISTENERS:
        read = _OF_LISTENERS[field]
        found = [read(listener) for _, listener in sorted(balancer.spec.listeners.items())]
    else:
        return None
    said = dict.fromkeys(shown(field, value) for value in found if value is not None and value is not UNMANAGED)
    return ", ".join(said) if said else None


def shown(field: str, value: object) -> str:
    """A value of the option ``field`` as an annotation has it."""
    match value:
        case bool():
            return str(value).lower()
        case int():
            return f"{value}s" if BY_FIELD[field].grammar.name.startswith("duration") else str(value)
        case tuple():
            return ", ".join(str(item) for item in value)
        case Selector():
            return value.text
        case str() | IPv4Address() | IPv4Network():
            return str(value)
    raise TypeError(f"{field} has a value that no annotation has")


_OF_BALANCERS: Mapping[str, Callable[[CloudBalancer], Iterable[Any]]] = {
    "name": lambda it: [it.spec.name],
    "type": lambda it: [it.spec.type],
    "location": lambda it: [it.spec.location],
    "network_zone": lambda it: [it.spec.zone],
    "algorithm_type": lambda it: [it.spec.algorithm],
    "disable_public_network": lambda it: [it.spec.public_interface is False],
    "public_net_ipv4": lambda it: [it.spec.primary_ipv4],
    "public_net_ipv6": lambda it: [it.spec.primary_ipv6],
    "use_private_ip": lambda it: [target.use_private_ip for target in it.targets if isinstance(target, ServerTarget)],
    "private_ipv4": lambda it: [place.ip for place in it.attachments],
    "ipv4_rdns": lambda it: [it.spec.ipv4_rdns],
    "ipv6_rdns": lambda it: [it.spec.ipv6_rdns],
}
"""Field of ``Options`` → what the whole load balancer has of it."""


def _http(name: str) -> Callable[[Listener], Any]:
    def read(listener: Listener) -> object:
        return None if listener.http is None else getattr(listener.http, name)

    return read


def _check(name: str) -> Callable[[Listener], Any]:
    return lambda listener: getattr(listener.health_check, name)


def _http_check(name: str) -> Callable[[Listener], Any]:
    def read(listener: Listener) -> object:
        http = listener.health_check.http
        return None if http is None else getattr(http, name)

    return read


def _check_protocol(listener: Listener) -> Protocol:
    """The protocol of the health check as annotations have it: HTTP over TLS is https."""
    http = listener.health_check.http
    return Protocol.HTTPS if http is not None and http.tls is True else listener.health_check.protocol


_OF_LISTENERS: Mapping[str, Callable[[Listener], Any]] = {
    "protocol": lambda it: it.protocol,
    "uses_proxyprotocol": lambda it: it.proxyprotocol,
    "http_cookie_name": _http("cookie_name"),
    "http_cookie_lifetime": _http("cookie_lifetime_s"),
    "http_timeout_idle": _http("timeout_idle_s"),
    "http_redirect_http": _http("redirect_http"),
    "http_sticky_sessions": _http("sticky_sessions"),
    "http_certificates": _http("certificates"),
    "health_check_protocol": _check_protocol,
    "health_check_port": _check("port"),
    "health_check_interval": _check("interval_s"),
    "health_check_timeout": _check("timeout_s"),
    "health_check_retries": _check("retries"),
    "health_check_http_domain": _http_check("domain"),
    "health_check_http_path": _http_check("path"),
    "health_check_http_validate_certificate": _http_check("tls"),
    "http_status_codes": _http_check("status_codes"),
}
"""Field of ``Options`` → what one listener has of it."""


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
