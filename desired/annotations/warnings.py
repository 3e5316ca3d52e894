"""Warnings about the annotations of a Service: misspelt keys, and values without effect. They stop nothing."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from heapq import nsmallest

from desired.annotations.choices import CertificateType, Protocol
from desired.annotations.options import Defaults, Options
from desired.annotations.parsing import ReadAnnotations, with_defaults
from desired.annotations.table import ANNOTATIONS, BY_FIELD, OWN_PREFIX, PREFIX
from desired.section import UNMANAGED
from desired.syntax.bounds import LABEL_KEY, shown_text
from desired.syntax.go import parse_bool


class Lack(StrEnum):
    """What a Service's spec asks for, and Hetzner's load balancers cannot do."""

    PORT = "port"
    """A port of another protocol than TCP."""
    EVERY_PORT = "every port"
    SOURCE_RANGES = "source ranges"


@dataclass(frozen=True, slots=True, order=True)
class AnnotationWarning:
    """Something that a person should know about a Service though nothing depends on it."""

    key: str
    """Of the annotation, or the path of the Service's field."""
    text: str
    """One sentence, which names the key."""
    lack: Lack | None = field(default=None, compare=False)
    """What the Service does not get; None when it lacks nothing, and something only has no effect."""
    port: int | None = field(default=None, compare=False)
    """The port that it is about; None when it is about no single one."""


def warnings_on(
    annotations: Mapping[str, str], read: ReadAnnotations, defaults: Defaults
) -> tuple[AnnotationWarning, ...]:
    """Every warning on these annotations, which were ``read`` before, by key."""
    options, bad = with_defaults(read, defaults)
    found = [*_keys(annotations), *_values(annotations)]
    for row in _IDLE:
        key = BY_FIELD[row.field].full_key
        if key in annotations and not {row.field, *row.others} & bad.keys() and row.idle(options):
            found.append(AnnotationWarning(key, f"{key} has no effect: {row.why}"))
    found += _zone(annotations, options, defaults)
    return tuple(sorted(found))


def _keys(annotations: Mapping[str, str]) -> Iterator[AnnotationWarning]:
    """Keys that look like ours and are not, and those that nobody reads. Of thousands that are unknown only the first
    few are compared with what might have been meant."""
    unknown = [key for key in annotations if key.startswith((PREFIX, OWN_PREFIX)) and key not in ANNOTATIONS]
    told = nsmallest(_TOLD, unknown)
    for key in told:
        name = key.rpartition("/")[2]
        near = [] if LABEL_KEY.is_exceeded(key) else get_close_matches(name, _KNOWN, n=1, cutoff=0.7)
        meant = f"did you mean {_KNOWN[near[0]]}?" if near else "no annotation has this name"
        shown = shown_text(key) if LABEL_KEY.is_exceeded(key) else key
        yield AnnotationWarning(key, f"{shown} is unknown, and ignored: {meant}")
    if len(unknown) > len(told):
        where = "metadata.annotations"
        more = len(unknown) - len(told)
        yield AnnotationWarning(where, f"{where} has {more} more unknown keys that begin with {PREFIX} or {OWN_PREFIX}")
    for key, row in ANNOTATIONS.items():
        if row.field is None and key in annotations:
            yield AnnotationWarning(key, f"{key} is reserved: it is neither read nor written")


def _values(annotations: Mapping[str, str]) -> Iterator[AnnotationWarning]:
    """Values that are accepted and hardly meant."""
    key = BY_FIELD["certificate_type"].full_key
    if key in annotations and annotations[key] not in list(CertificateType):
        shown = shown_text(annotations[key])
        yield AnnotationWarning(key, f"{key} is {shown}, which counts as uploaded: write managed or uploaded")
    key = BY_FIELD["http_managed_certificate_acme_staging"].full_key
    if key in annotations:
        try:
            parse_bool(annotations[key])
        except ValueError as error:
            yield AnnotationWarning(key, f"{key} is {shown_text(annotations[key])}, which counts as false: {error}")
    key = BY_FIELD["hostname"].full_key
    if annotations.get(key) == "":
        yield AnnotationWarning(key, f"{key} is empty: the Service's status will show neither an address nor a name")


def _zone(annotations: Mapping[str, str], options: Options, defaults: Defaults) -> Iterator[AnnotationWarning]:
    """A zone that a location overrules. Only an annotation is worth a warning: it is what a person just wrote."""
    zone, location = BY_FIELD["network_zone"], BY_FIELD["location"]
    if annotations.get(zone.full_key) and options.location is not UNMANAGED:
        by_default = location.full_key not in annotations
        other = location.variable if by_default else location.full_key
        remedy = f'set {location.full_key} to ""' if by_default else "remove one of the two"
        overruled = defaults.location if by_default else options.location
        yield AnnotationWarning(
            zone.full_key,
            f"{zone.full_key} has no effect: {other} is {overruled}, and a location wins; {remedy}",
        )


@dataclass(frozen=True, slots=True)
class _Idle:
    """An annotation that may be without effect."""

    field: str
    others: tuple[str, ...]
    """The other options that this depends on."""
    idle: Callable[[Options], bool]
    why: str


def _no_http(options: Options) -> bool:
    return options.protocol is Protocol.TCP


def _no_https(options: Options) -> bool:
    return options.protocol is not Protocol.HTTPS


def _not_managed(options: Options) -> bool:
    return options.certificate_type is not CertificateType.MANAGED


def _no_http_checks(options: Options) -> bool:
    if options.asks_kube_proxy:
        return False
    protocol = options.protocol if options.health_check_protocol is UNMANAGED else options.health_check_protocol
    return not options.checks_health or protocol is Protocol.TCP


_TOLD = 10
"""Unknown keys of one Service that are told one by one."""
_KNOWN = {row.key: row.full_key for row in BY_FIELD.values()}
"""Key without its prefix → the whole of it, of what can be meant."""
_PROTOCOL_KEY = BY_FIELD["protocol"].full_key
_TYPE_KEY = BY_FIELD["certificate_type"].full_key
_HTTP = f"the protocol is tcp; {_PROTOCOL_KEY} decides"
_HTTPS = f"the protocol is not https; {_PROTOCOL_KEY} decides"
_MANAGED = f"no managed certificate is asked for; {_TYPE_KEY} decides"
_CHECKS = (
    f"health checks speak tcp unless {BY_FIELD['health_check_protocol'].full_key} is set, or another option of health"
    " checks beside protocol http or https"
)
_OF_CHECKS = (
    "protocol",
    "health_check_protocol",
    "health_check_port",
    "health_check_node_port",
    "health_check_interval",
    "health_check_timeout",
    "health_check_retries",
)

_IDLE = (
    _Idle(
        "health_check_node_port",
        (),
        lambda it: it.health_check_node_port and not it.asks_kube_proxy,
        f"{BY_FIELD['health_check_port'].full_key}, or {BY_FIELD['health_check_protocol'].full_key} other than http,"
        " wins over it",
    ),
    _Idle("http_cookie_name", ("protocol",), _no_http, _HTTP),
    _Idle("http_cookie_lifetime", ("protocol",), _no_http, _HTTP),
    _Idle("http_timeout_idle", ("protocol",), _no_http, _HTTP),
    _Idle("http_certificates", ("protocol",), _no_https, _HTTPS),
    _Idle("certificate_type", ("protocol",), lambda it: _no_https(it) and not _not_managed(it), _HTTPS),
    _Idle(
        "http_certificates",
        ("protocol", "certificate_type"),
        lambda it: not _no_https(it) and not _not_managed(it),
        f"a managed certificate takes their place; {_TYPE_KEY} decides",
    ),
    _Idle("http_managed_certificate_name", ("certificate_type",), _not_managed, _MANAGED),
    _Idle("http_managed_certificate_domains", ("certificate_type",), _not_managed, _MANAGED),
    _Idle("http_managed_certificate_acme_staging", ("certificate_type",), _not_managed, _MANAGED),
    _Idle("health_check_http_domain", _OF_CHECKS, _no_http_checks, _CHECKS),
    _Idle("health_check_http_path", _OF_CHECKS, _no_http_checks, _CHECKS),
    _Idle("health_check_http_validate_certificate", _OF_CHECKS, _no_http_checks, _CHECKS),
    _Idle("http_status_codes", _OF_CHECKS, _no_http_checks, _CHECKS),
)
