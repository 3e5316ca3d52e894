"""Options that depend on each other, a row each: what no load balancer can be made of, and what has no effect.

Nothing is concluded from an option that cannot be read. What nothing reads stops nothing, however wrong it is, so that
idle options are asked for before a wrong value becomes an error. A value that has an effect stays an error.
"""

from collections.abc import Callable, Collection, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from desired.annotations.choices import CertificateType, Protocol
from desired.annotations.options import CHECK, HTTP, HTTP_CHECK, OPTIONS, SETTING, BadAnnotation, Options
from desired.annotations.reading import Requested
from desired.section import UNMANAGED, Unmanaged


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What decides, beside the options, whether an option is read, and whether one is missing."""

    is_created: bool = True
    """Whether the load balancer has to be created; an existing one keeps what it has."""
    has_network: bool = True
    """Whether ``HCLOUD_NETWORK`` is set."""
    is_settled: bool = False
    """Whether there is a load balancer, and it is not going to be attached to a network, as it is where it should be.
    """
    is_local: bool = False
    """Whether ``spec.externalTrafficPolicy`` is Local."""
    kept_check: Protocol | None = None
    """The protocol of a port's health check, if it is kept; None if options decide."""


class _But:
    """All values but these."""

    def __init__(self, *values: object) -> None:
        self._values = values

    def __contains__(self, value: object) -> bool:
        return value not in self._values


_SET = _But(UNMANAGED)


@dataclass(frozen=True, slots=True)
class Combination:
    """A row: options that are together, in these circumstances."""

    option: str
    """The one that a person would change first; the one that has no effect."""
    when: Mapping[str, Container[object]]
    """Name of an option → values with which the row applies."""
    says: str
    """What is wrong and what to do, or why there is no effect; ``{name}`` stands for the option ``name``,
    ``{name.key}`` for its annotation."""
    also: Callable[[Options, Circumstances], bool] = lambda _options, _around: True
    """Whether it applies, beside that."""
    reads: tuple[str, ...] = ()
    """Names of the options that ``also`` depends on."""
    is_ordinary: bool = False
    """Whether a good value without effect is nothing to warn of: it is kept for other times, or stands beside what wins
    over it."""

    def applies(self, options: Options, around: Circumstances) -> bool:
        """Whether the options are together in these circumstances."""
        are_together = all(getattr(options, name) in values for name, values in self.when.items())
        return are_together and self.also(options, around)

    def text(self, requested: Requested) -> str:
        """``says``, with what the Service asks for, or one of its ports."""
        options = requested.options
        return self.says.format_map({name: _Named(getattr(options, name), requested.key(name)) for name in OPTIONS})


@dataclass(frozen=True, slots=True)
class _Named:
    """An option as a sentence shows it."""

    value: Any
    key: str

    def __str__(self) -> str:
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


def bad_combinations(requested: Requested, silent: Collection[str], around: Circumstances) -> Iterator[BadAnnotation]:
    """What no load balancer can have together, or lacks, or no port. Nothing is said that depends on an option in
    ``silent``: one that cannot be read, or that nothing reads."""
    options = requested.options
    for row in _BAD:
        names = {row.option, *row.when}
        if names.isdisjoint(silent) and row.applies(options, around):
            # What a port only takes over from the Service is wrong there.
            by = replace(requested, port=None) if names.isdisjoint(requested.own) else requested
            option, key, value = OPTIONS[row.option], by.key(row.option), getattr(options, row.option)
            named = key + (f" (or {option.variable})" if option.variable else "")
            state = "is not set" if value is UNMANAGED else f"is {_Named(value, '')}"
            yield BadAnnotation(key, f"{named} {state}: {row.text(by)}", by.port)


def idle_options(options: Options, unreadable: Collection[str], around: Circumstances) -> Mapping[str, Combination]:
    """Name of an option → the row by which it has no effect, whatever its value is. Nothing is concluded from an
    option in ``unreadable``, unless that is idle itself."""
    found: dict[str, Combination] = {}
    for row in _IDLE:
        is_known = all(name in found or name not in unreadable for name in (*row.when, *row.reads))
        if row.option not in found and is_known and row.applies(options, around):
            found[row.option] = row
    return found


def _is_outside_its_range(options: Options, _around: Circumstances) -> bool:
    address, network = options.private_ipv4, options.private_subnet_ip_range
    return not isinstance(address, Unmanaged) and not isinstance(network, Unmanaged) and address not in network


def _is_created(_options: Options, around: Circumstances) -> bool:
    return around.is_created


def _has_no_network(_options: Options, around: Circumstances) -> bool:
    return not around.has_network


def _checks_no_http(options: Options, around: Circumstances) -> bool:
    if options.asks_kube_proxy and around.is_local:
        return False
    if around.kept_check is not None:
        return around.kept_check is Protocol.TCP
    protocol = options.protocol if options.health_check_protocol is UNMANAGED else options.health_check_protocol
    return not options.checks_health or protocol is Protocol.TCP


def _checks_something_else(options: Options, _around: Circumstances) -> bool:
    return options.health_check_port is not UNMANAGED or options.health_check_protocol not in (UNMANAGED, Protocol.HTTP)


_HTTPS = (Protocol.HTTPS,)
_MANAGED = (CertificateType.MANAGED,)
_PRIMARY_IP = "a Primary IP needs the public interface; set {disable_public_network.key} to false, or remove this"
_BAD = (
    Combination(
        "private_ipv4",
        {"private_subnet_ip_range": _SET},
        "it is outside {private_subnet_ip_range}, the range of the subnet; choose an address inside, or correct"
        " {private_subnet_ip_range.key}",
        _is_outside_its_range,
    ),
    Combination(
        "http_redirect_http",
        {"http_redirect_http": (True,), "protocol": (Protocol.HTTP,)},
        "only https can be redirected to, and the protocol is {protocol}; set {protocol.key} to https, or remove this",
    ),
    Combination(
        "http_managed_certificate_domains",
        {"http_managed_certificate_domains": (UNMANAGED,), "protocol": _HTTPS, "certificate_type": _MANAGED},
        "a managed certificate needs domains, such as example.com,*.example.com; name them, or remove"
        " {certificate_type.key}",
    ),
    Combination(
        "public_net_ipv4", {"public_net_ipv4": _SET, "disable_public_network": (True,)}, _PRIMARY_IP, _is_created
    ),
    Combination(
        "public_net_ipv6", {"public_net_ipv6": _SET, "disable_public_network": (True,)}, _PRIMARY_IP, _is_created
    ),
    Combination(
        "location",
        {"location": (UNMANAGED,), "network_zone": (UNMANAGED,)},
        "a load balancer that has to be created needs a location, such as fsn1, or a zone in {network_zone.key}, such"
        " as eu-central; set one of the two",
        _is_created,
    ),
    Combination(
        "http_certificates",
        {"http_certificates": (UNMANAGED,), "protocol": _HTTPS, "certificate_type": (CertificateType.UPLOADED,)},
        "protocol https needs a certificate; name one that was uploaded, or set {certificate_type.key} to managed",
        _is_created,
    ),
    Combination(
        "use_private_ip",
        {"use_private_ip": (True,)},
        "there are no private addresses without a network; set HCLOUD_NETWORK, or this to false",
        _has_no_network,
    ),
    Combination(
        "disable_public_network",
        {"disable_public_network": (True,)},
        "nothing could reach a load balancer that has no network either; set HCLOUD_NETWORK, or this to false",
        _has_no_network,
    ),
)

_NO_HTTP = "the protocol is tcp; {protocol.key} decides"
_NO_HTTPS = "the protocol is not https; {protocol.key} decides"
_NOT_MANAGED = "no managed certificate is requested; {certificate_type.key} decides"
_NO_NETWORK = "there is no network; HCLOUD_NETWORK decides"
_NAMED = "no address is published beside {hostname.key}"
_NO_CHECKS = (
    "health checks speak tcp unless {health_check_protocol.key} is set, or another option of health checks beside"
    " protocol http or https"
)
_OF_CERTIFICATE = tuple(name for name in OPTIONS if name.startswith("http_managed_certificate_"))
_ON_CHECKS = ("protocol", "health_check_node_port", *SETTING[CHECK].values())
_IDLE = (
    Combination(
        "health_check_node_port",
        {},
        "{health_check_port.key}, or {health_check_protocol.key} other than http, wins over it",
        _checks_something_else,
        reads=("health_check_port", "health_check_protocol"),
    ),
    Combination(
        "health_check_node_port",
        {},
        "spec.externalTrafficPolicy is Cluster, kube-proxy is asked only with Local",
        lambda _options, around: not around.is_local,
    ),
    Combination("disable_private_ingress", {"hostname": _SET}, _NAMED, is_ordinary=True),
    Combination("ipv6_disabled", {"hostname": _SET}, _NAMED, is_ordinary=True),
    Combination("private_ipv4", {}, _NO_NETWORK, _has_no_network),
    Combination("private_subnet_ip_range", {}, _NO_NETWORK, _has_no_network),
    Combination(
        "private_subnet_ip_range",
        {},
        "it is read only when the load balancer is attached to a network",
        lambda _options, around: around.is_settled,
        reads=("private_ipv4",),
        is_ordinary=True,
    ),
    Combination("http_certificates", {"protocol": _But(Protocol.HTTPS)}, _NO_HTTPS),
    *(Combination(name, {"protocol": (Protocol.TCP,)}, _NO_HTTP) for name in SETTING[HTTP].values()),
    Combination("certificate_type", {"certificate_type": _MANAGED, "protocol": _But(Protocol.HTTPS)}, _NO_HTTPS),
    Combination(
        "http_certificates",
        {"certificate_type": _MANAGED},
        "a managed certificate takes their place; {certificate_type.key} decides",
        reads=("protocol",),
    ),
    *(Combination(name, {"certificate_type": _But(CertificateType.MANAGED)}, _NOT_MANAGED) for name in _OF_CERTIFICATE),
    *(Combination(name, {"protocol": _But(Protocol.HTTPS)}, _NO_HTTPS, is_ordinary=True) for name in _OF_CERTIFICATE),
    *(Combination(name, {}, _NO_CHECKS, _checks_no_http, reads=_ON_CHECKS) for name in SETTING[HTTP_CHECK].values()),
)
"""The first row of an option that applies says why."""
