"""Parsing of the annotations of a Service into Options, and the rules on options that conflict with each other.

``parse_options`` reads the table of annotations and the defaults of the environment. The rules name combinations that
Hetzner or HCCM would refuse for certain, in three lists, because two of them depend on more than the options:

- ``conflicts``: always
- ``missing_for_creation``: only if the load balancer has to be created
- ``missing_without_network``: only without a network
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from desired.annotations.choices import CertificateType, DeletionPolicy, Protocol
from desired.annotations.options import BadAnnotation, Defaults, Options
from desired.annotations.table import BY_FIELD
from desired.section import UNMANAGED, Unmanaged
from desired.syntax.bounds import shown_text


@dataclass(frozen=True, slots=True)
class _Rule:
    """A combination of options that is an error."""

    field: str
    """The option that a person would change first."""
    others: tuple[str, ...]
    """The other options that the rule depends on."""
    broken: Callable[[Options], bool]
    remedy: str
    """What is wrong and what to do; ``{name}`` stands for the option ``name``, ``{name.key}`` for its annotation."""


def conflicts(options: Options, unreadable: Collection[str] = ()) -> tuple[BadAnnotation, ...]:
    """The combinations that no load balancer can have. Nothing is said that depends on an option in ``unreadable``:
    one that cannot be read, or that nothing reads."""
    return tuple(_broken(_ALWAYS, options, unreadable))


def missing_for_creation(options: Options, unreadable: Collection[str] = ()) -> tuple[BadAnnotation, ...]:
    """The options that a load balancer, or its https port, needs when it has to be created; an existing one keeps what
    it has."""
    return tuple(_broken(_TO_CREATE, options, unreadable))


def missing_without_network(options: Options, unreadable: Collection[str] = ()) -> tuple[BadAnnotation, ...]:
    """The options that need a network, where ``HCLOUD_NETWORK`` is not set."""
    return tuple(_broken(_WITHOUT_NETWORK, options, unreadable))


def _broken(rules: Iterable[_Rule], options: Options, unreadable: Collection[str]) -> Iterable[BadAnnotation]:
    for rule in rules:
        if not {rule.field, *rule.others} & set(unreadable) and rule.broken(options):
            row = BY_FIELD[rule.field]
            named = row.full_key + (f" (or {row.variable})" if row.variable else "")
            value = getattr(options, rule.field)
            state = "is not set" if value is UNMANAGED else f"is {_shown(value)}"
            texts = {field: _Named(getattr(options, field), BY_FIELD[field].full_key) for field in rule.others}
            yield BadAnnotation(row.full_key, f"{named} {state}: {rule.remedy.format_map(texts)}")


@dataclass(frozen=True, slots=True)
class _Named:
    """An option as a remedy shows it."""

    value: Any
    key: str

    def __str__(self) -> str:
        return _shown(self.value)


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _outside_its_range(options: Options) -> bool:
    address, network = options.private_ipv4, options.private_subnet_ip_range
    return not isinstance(address, Unmanaged) and not isinstance(network, Unmanaged) and address not in network


def _needs_public_interface(field: str) -> _Rule:
    return _Rule(
        field,
        ("disable_public_network",),
        lambda options: options.disable_public_network is True and getattr(options, field) is not UNMANAGED,
        "a Primary IP needs the public interface; set {disable_public_network.key} to false, or remove this",
    )


_ALWAYS = (
    _Rule(
        "private_ipv4",
        ("private_subnet_ip_range",),
        _outside_its_range,
        "it is outside {private_subnet_ip_range}, the range of the subnet; choose an address inside, or correct"
        " {private_subnet_ip_range.key}",
    ),
    _Rule(
        "http_redirect_http",
        ("protocol",),
        lambda options: options.http_redirect_http is True and options.protocol is Protocol.HTTP,
        "only https can be redirected to, and the protocol is {protocol}; set {protocol.key} to https, or remove this",
    ),
    _Rule(
        "http_managed_certificate_domains",
        ("protocol", "certificate_type"),
        lambda options: (
            options.protocol is Protocol.HTTPS
            and options.certificate_type is CertificateType.MANAGED
            and options.http_managed_certificate_domains is UNMANAGED
        ),
        "a managed certificate needs domains, such as example.com,*.example.com; name them, or remove"
        " {certificate_type.key}",
    ),
)
_TO_CREATE = (
    _needs_public_interface("public_net_ipv4"),
    _needs_public_interface("public_net_ipv6"),
    _Rule(
        "location",
        ("network_zone",),
        lambda options: options.location is UNMANAGED and options.network_zone is UNMANAGED,
        "a load balancer that has to be created needs a location, such as fsn1, or a zone in {network_zone.key}, such"
        " as eu-central; set one of the two",
    ),
    _Rule(
        "http_certificates",
        ("protocol", "certificate_type"),
        lambda options: (
            options.protocol is Protocol.HTTPS
            and options.certificate_type is CertificateType.UPLOADED
            and options.http_certificates is UNMANAGED
        ),
        "protocol https needs a certificate; name one that was uploaded, or set {certificate_type.key} to managed",
    ),
)
_WITHOUT_NETWORK = (
    _Rule(
        "use_private_ip",
        (),
        lambda options: options.use_private_ip,
        "there are no private addresses without a network; set HCLOUD_NETWORK, or this to false",
    ),
    _Rule(
        "disable_public_network",
        (),
        lambda options: options.disable_public_network is True,
        "nothing could reach a load balancer that has no network either; set HCLOUD_NETWORK, or this to false",
    ),
)


class Origin(StrEnum):
    """Origin of the value of an option."""

    ANNOTATION = "annotation"
    ENVIRONMENT = "environment"
    UNSET = "unset"


def parse_options(annotations: Mapping[str, str], defaults: Defaults) -> Options | tuple[BadAnnotation, ...]:
    """The options that a Service with these annotations asks for; or all errors, in the order of the table.

    An annotation wins over the environment, and a default that it overrules is not looked at. Never raises.
    """
    options, bad = with_defaults(read_annotations(annotations), defaults)
    problems = (*bad.values(), *conflicts(options, bad))
    return problems or options


@dataclass(frozen=True, slots=True)
class ReadAnnotations:
    """The annotations of one Service, each read once; what the environment says comes later (``with_defaults``)."""

    values: Mapping[str, Any]
    """Field of ``Options`` → value."""
    bad: Mapping[str, BadAnnotation]
    """Field → the reason why its annotation cannot be read."""
    unset: frozenset[str]
    """Fields whose annotation is there and empty, which beats the environment."""

    @property
    def deletion_policy(self) -> DeletionPolicy:
        """The deletion policy of the Service. Other annotations may be malformed: deletion does not depend on them.

        A policy that cannot be understood means ``retain``: what was kept by mistake can be deleted later, not the
        other way round.
        """
        if "deletion_policy" in self.bad:
            return DeletionPolicy.RETAIN
        return DeletionPolicy(self.values.get("deletion_policy", DeletionPolicy.DELETE))

    @property
    def asks_for_deletion(self) -> bool:
        """Whether the load balancer is said to go with the Service, which is more than saying nothing."""
        return self.values.get("deletion_policy") is DeletionPolicy.DELETE


def read_annotations(annotations: Mapping[str, str]) -> ReadAnnotations:
    """The annotations of the table with their values, or why they have none. Never raises."""
    values: dict[str, Any] = {}
    bad: dict[str, BadAnnotation] = {}
    unset: set[str] = set()
    for field, row in BY_FIELD.items():
        text = annotations.get(row.full_key)
        if text is None:
            continue
        if row.empty_unsets and not text:
            unset.add(field)
            continue
        try:
            values[field] = row.grammar.parse(text)
        except ValueError as error:
            why = f"{error}; correct it, or remove it"
            bad[field] = BadAnnotation(row.full_key, f"{row.full_key} is {shown_text(text)}: {why}")
    return ReadAnnotations(values, bad, frozenset(unset))


def with_defaults(read: ReadAnnotations, defaults: Defaults) -> tuple[Options, Mapping[str, BadAnnotation]]:
    """The options that can be read, the others as if nobody had set them; and field → why it cannot be read."""
    values: dict[str, Any] = {}
    bad: dict[str, BadAnnotation] = {}
    for field, row in BY_FIELD.items():
        match origin_of(field, read, defaults):
            case Origin.ANNOTATION if field in read.bad:
                bad[field] = read.bad[field]
            case Origin.ANNOTATION:
                values[field] = read.values[field]
            case Origin.ENVIRONMENT if row.variable is not None:
                value = getattr(defaults, field)
                try:
                    row.grammar.check(value)
                    values[field] = value
                except ValueError as error:
                    remedy = f"correct it, or set {row.full_key}"
                    bad[field] = BadAnnotation(row.variable, f"{row.variable} is {value}: {error}; {remedy}")
    if "location" in values:
        values.pop("network_zone", None)  # the location takes precedence
    return Options(**values), bad


def origin_of(field: str, read: ReadAnnotations, defaults: Defaults) -> Origin:
    """The origin of the value of this field of ``Options``: an annotation, even an empty one, beats the environment."""
    if field in read.values or field in read.bad:
        return Origin.ANNOTATION
    is_set = BY_FIELD[field].variable is not None and getattr(defaults, field) is not UNMANAGED
    return Origin.ENVIRONMENT if is_set and field not in read.unset else Origin.UNSET
