"""Options without an effect: what nothing reads stops nothing, however wrong it is.

``idle_options`` is asked for before a wrong value becomes an error. A value that has an effect stays an error.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from desired.annotations.choices import CertificateType, Protocol
from desired.annotations.options import Options
from desired.annotations.table import BY_FIELD
from desired.section import UNMANAGED


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What decides, beside the options, whether an option is read."""

    has_network: bool = True
    """Whether ``HCLOUD_NETWORK`` is set."""
    is_settled: bool = False
    """Whether there is a load balancer, and it is not going to be attached to a network, as it is where it should be.
    """
    is_local: bool = False
    """Whether ``spec.externalTrafficPolicy`` is Local."""


@dataclass(frozen=True, slots=True)
class Idle:
    """The reason why an option has no effect."""

    why: str
    """In words that follow "has no effect: "."""
    is_ordinary: bool = False
    """Whether a good value is nothing to warn of: it is kept for other times, or stands beside what wins over it."""


def idle_options(options: Options, unreadable: Collection[str], around: Circumstances) -> Mapping[str, Idle]:
    """Field of ``Options`` → why it has no effect, whatever its value is. Nothing is concluded from a field in
    ``unreadable``, unless that is idle itself."""
    found: dict[str, Idle] = {}
    for rule in _RULES:
        known = all(other in found or other not in unreadable for other in rule.others)
        if rule.field not in found and known and rule.applies(options, around):
            found[rule.field] = rule.idle
    return found


@dataclass(frozen=True, slots=True)
class _Rule:
    """A case in which an option has no effect."""

    field: str
    others: tuple[str, ...]
    """The other options that this depends on."""
    applies: Callable[[Options, Circumstances], bool]
    idle: Idle


def _no_http(options: Options, _around: Circumstances) -> bool:
    return options.protocol is Protocol.TCP


def _no_https(options: Options, _around: Circumstances) -> bool:
    return options.protocol is not Protocol.HTTPS


def _not_managed(options: Options, _around: Circumstances) -> bool:
    return options.certificate_type is not CertificateType.MANAGED


def _no_network(_options: Options, around: Circumstances) -> bool:
    return not around.has_network


def _no_http_checks(options: Options, around: Circumstances) -> bool:
    if options.asks_kube_proxy and around.is_local:
        return False
    protocol = options.protocol if options.health_check_protocol is UNMANAGED else options.health_check_protocol
    return not options.checks_health or protocol is Protocol.TCP


def _other_check(options: Options, _around: Circumstances) -> bool:
    speaks_http = options.health_check_protocol in (UNMANAGED, Protocol.HTTP)
    return options.health_check_port is not UNMANAGED or not speaks_http


def _is_named(options: Options, _around: Circumstances) -> bool:
    return options.hostname is not UNMANAGED


_KEY = {field: row.full_key for field, row in BY_FIELD.items()}
_HTTP = Idle(f"the protocol is tcp; {_KEY['protocol']} decides")
_HTTPS = Idle(f"the protocol is not https; {_KEY['protocol']} decides")
_MANAGED = Idle(f"no managed certificate is asked for; {_KEY['certificate_type']} decides")
_NETWORK = Idle("there is no network; HCLOUD_NETWORK decides")
_HOSTNAME = Idle(f"no address is published beside {_KEY['hostname']}", is_ordinary=True)
_CHECKS = Idle(
    f"health checks speak tcp unless {_KEY['health_check_protocol']} is set, or another option of health checks beside"
    " protocol http or https"
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

_RULES = (
    _Rule(
        "health_check_node_port",
        ("health_check_port", "health_check_protocol"),
        _other_check,
        Idle(f"{_KEY['health_check_port']}, or {_KEY['health_check_protocol']} other than http, wins over it"),
    ),
    _Rule(
        "health_check_node_port",
        (),
        lambda _options, around: not around.is_local,
        Idle("spec.externalTrafficPolicy is Cluster, kube-proxy is asked only with Local"),
    ),
    _Rule("disable_private_ingress", ("hostname",), _is_named, _HOSTNAME),
    _Rule("ipv6_disabled", ("hostname",), _is_named, _HOSTNAME),
    _Rule("private_ipv4", (), _no_network, _NETWORK),
    _Rule("private_subnet_ip_range", (), _no_network, _NETWORK),
    _Rule(
        "private_subnet_ip_range",
        ("private_ipv4",),
        lambda _options, around: around.is_settled,
        Idle("it is read only when the load balancer is attached to a network", is_ordinary=True),
    ),
    _Rule("http_cookie_name", ("protocol",), _no_http, _HTTP),
    _Rule("http_cookie_lifetime", ("protocol",), _no_http, _HTTP),
    _Rule("http_timeout_idle", ("protocol",), _no_http, _HTTP),
    _Rule("http_redirect_http", ("protocol",), _no_http, _HTTP),
    _Rule("http_sticky_sessions", ("protocol",), _no_http, _HTTP),
    _Rule("http_certificates", ("protocol",), _no_https, _HTTPS),
    _Rule(
        "certificate_type",
        ("protocol",),
        lambda options, around: _no_https(options, around) and not _not_managed(options, around),
        _HTTPS,
    ),
    _Rule(
        "http_certificates",
        ("protocol", "certificate_type"),
        lambda options, around: not _not_managed(options, around),
        Idle(f"a managed certificate takes their place; {_KEY['certificate_type']} decides"),
    ),
    *(
        rule
        for field in (
            "http_managed_certificate_name",
            "http_managed_certificate_domains",
            "http_managed_certificate_acme_staging",
        )
        for rule in (
            _Rule(field, ("certificate_type",), _not_managed, _MANAGED),
            _Rule(field, ("protocol",), _no_https, Idle(_HTTPS.why, is_ordinary=True)),
        )
    ),
    *(
        _Rule(field, _OF_CHECKS, _no_http_checks, _CHECKS)
        for field in (
            "health_check_http_domain",
            "health_check_http_path",
            "health_check_http_validate_certificate",
            "http_status_codes",
        )
    ),
)
"""The first rule of a field that applies says why."""
