"""Options of one load balancer: each annotation is declared once, as a field of ``Options``.

Reading, the environment's defaults, what is idle, what a listener should be and keeps, and the pages
``docs/reference/annotations.md`` and ``docs/configuration.md`` follow from the declaration.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from ipaddress import IPv4Address, IPv4Network
from typing import Any, Generic, TypeAlias, TypedDict, TypeVar, Unpack, overload

from desired.annotations.choices import Algorithm, CertificateType, DeletionPolicy, Protocol
from desired.annotations.grammars import (
    ADDRESS,
    BOOL,
    CERTIFICATE_TYPE,
    CERTIFICATES,
    CHECK_DOMAIN,
    DNS_NAME,
    DOMAINS,
    HOST,
    LENIENT_BOOL,
    NAME,
    PATH,
    PRIMARY_IP,
    RANGE,
    RESERVED,
    SELECTOR,
    STATUS_CODES,
    WORD,
    Grammar,
    integer,
    one_of,
    seconds,
    text,
)
from desired.section import UNMANAGED, Unmanaged
from desired.syntax.selector import Selector

T = TypeVar("T")
Asked: TypeAlias = T | Unmanaged
"""The value of an option that a load balancer keeps while nothing sets it, which is UNMANAGED."""

PREFIX = "load-balancer.hetzner.cloud/"
"""Prefix of every annotation that HCCM knows."""
OWN_PREFIX = "hcloud-reconciler/"
"""Prefix of annotations that only this product knows."""
DEFAULT_TYPE = "lb11"
"""The type that is created when neither annotation nor environment names one, as with HCCM."""

LISTENER = "listeners"
HTTP = "listeners.http"
CHECK = "listeners.health_check"
HTTP_CHECK = "listeners.health_check.http"
"""Parts of a ``LoadBalancer``, of each port, in which options set fields."""

_LB = "HCLOUD_LOAD_BALANCERS_"
_LONGEST_S = 1e9
"""Seconds in which an overlong default of the environment ends up; no range allows them."""
_NAME = "`a` and the Service's UID, cut to 32 characters"
_MANAGED = "an address that Hetzner manages, and that goes with the load balancer"
_BY_PUBLIC = "targets by public address"
_SPOKEN = "`tcp` at creation; as `protocol` if that and another setting of health checks are set"
_BY_API = "the API's default"
_DELETED = "deleted with the Service, if it was made for it"
_PORTS, _CHECKS, _STATUS = "all ports change", "all health checks change", "the status changes"
_PROXY = f"{_PORTS}, and the status"
_LATER, _IDLE = "no effect after creation", "no effect once attached"
_NOTED, _WITH_REMEDY = f"a note: {_LATER}", "a note, with the remedy"
_AT_DELETION = "what happens at deletion"
_KEPT, _KEEPS_ADDRESS = "the load balancer keeps it", "the load balancer keeps its address"


@dataclass(frozen=True, slots=True)
class Option:
    """One annotation, as it is declared in ``Options``."""

    name: str
    """Of its field in ``Options``."""
    grammar: Grammar[Any]
    default: Any = UNMANAGED
    """Its value while nothing sets it."""
    usual: Any = None
    """What Hetzner makes of it at creation while nothing sets it; None where that is not known."""
    unset: str = ""
    """For people: what holds while neither annotation nor environment sets it. Follows from the two above."""
    change: str = ""
    """The effect of another value on an existing load balancer. Follows from ``sets`` for what ports have."""
    removal: str = _KEPT
    """The effect of removing the annotation, when the environment has no default."""
    env: bool | str = False
    """Whether a variable has the default for all Services; its name where that is not the annotation's."""
    sets: str = ""
    """The field of a ``LoadBalancer`` that it decides on: ``algorithm``, or of each port ``listeners.protocol``.
    ``status`` for what the Service's status says of it; "" where it is none of these."""
    clears: bool = False
    """Whether an empty value means that nothing is set, whatever the environment says."""
    prefix: str = PREFIX

    @property
    def key(self) -> str:
        """Without its prefix."""
        return self.name.replace("_", "-")

    @property
    def full_key(self) -> str:
        """As it stands in a manifest."""
        return self.prefix + self.key

    @property
    def variable(self) -> str | None:
        """The environment variable with the default for all Services; None where there is none."""
        return _LB + (self.env if isinstance(self.env, str) else self.name.upper()) if self.env else None

    @property
    def part(self) -> str:
        """The part of a load balancer in which it sets a field; "" for the whole."""
        return self.sets.rpartition(".")[0]

    @property
    def when_unset(self) -> str:
        """``unset``, or what follows from the value."""
        value = _written(self.default if self.usual is None else self.usual)
        return self.unset or (value if self.name in ON_LISTENERS or self.usual is None else f"{value} at creation")

    @property
    def when_changed(self) -> str:
        """``change``, or what follows from the part of a port that is set."""
        return self.change or (_CHECKS if self.part in (CHECK, HTTP_CHECK) else _PORTS)


def _written(value: object) -> str:
    match value:
        case bool():
            return "on" if value else "off"
        case int():
            return f"{value}s"
        case tuple():
            return f"`{','.join(value)}`" if value else "none"
    return f"`{value}`"


class _Row(TypedDict, Generic[T], total=False):
    """What is declared of an option besides its grammar: fields of ``Option``."""

    usual: T
    unset: str
    change: str
    removal: str
    env: bool | str
    sets: str
    clears: bool
    prefix: str


@overload
def option(grammar: Grammar[T], **row: Unpack[_Row[T]]) -> Asked[T]: ...
@overload
def option(grammar: Grammar[T], default: T, **row: Unpack[_Row[T]]) -> T: ...
def option(grammar: Grammar[Any], default: Any = UNMANAGED, **row: Any) -> Any:
    """A field of ``Options``. One without ``default`` is UNMANAGED while nothing sets it."""
    return field(default=default, metadata={"row": partial(Option, grammar=grammar, default=default, **row)})


@dataclass(frozen=True, slots=True)
class Options:
    """What is asked of a load balancer, in the order in which people read about it; names are keys with underscores.

    A load balancer that is there keeps what is UNMANAGED; one that is created gets what the declaration says.
    The environment's defaults are Options as well. Their ranges are not checked, but where a Service would get the
    value, as its annotation may overrule it.
    """

    name: Asked[str] = option(
        NAME, unset=_NAME, change="renamed", removal="it keeps its name", sets="name", clears=True
    )
    type: Asked[str] = option(WORD, usual=DEFAULT_TYPE, change="the type changes", env=True, sets="type", clears=True)
    location: Asked[str] = option(
        WORD, unset="`network-zone` decides", change=_LATER, removal="no effect", env=True, sets="location", clears=True
    )
    network_zone: Asked[str] = option(
        WORD, unset="`location` decides", change=_LATER, removal="no effect", env=True, sets="zone", clears=True
    )
    """UNMANAGED whenever there is a location, which takes precedence."""
    algorithm_type: Asked[Algorithm] = option(
        one_of(Algorithm, blanks=True),
        usual=Algorithm.ROUND_ROBIN,
        change="the algorithm changes",
        env=True,
        sets="algorithm",
    )
    disable_public_network: Asked[bool] = option(
        BOOL,
        usual=False,
        unset="public at creation",
        change="the public interface goes or comes",
        env=True,
        sets="public_interface",
    )
    public_net_ipv4: Asked[int | str] = option(
        PRIMARY_IP, unset=_MANAGED, change=_NOTED, removal=_KEEPS_ADDRESS, sets="primary_ipv4"
    )
    public_net_ipv6: Asked[int | str] = option(
        PRIMARY_IP, unset=_MANAGED, change=_NOTED, removal=_KEEPS_ADDRESS, sets="primary_ipv6"
    )
    """Primary IPs, read at creation only: a number is an id, a text a name."""
    disable_private_ingress: bool = option(
        BOOL,
        default=False,
        unset="private addresses are in the status",
        change=_STATUS,
        removal="they come back",
        env=True,
        sets="status",
    )
    ipv6_disabled: bool = option(
        BOOL,
        default=False,
        unset="the IPv6 address is in the status",
        change=f"{_STATUS}, the address stays",
        removal="it comes back",
        env="DISABLE_IPV6",
        sets="status",
    )
    use_private_ip: Asked[bool] = option(
        BOOL,
        usual=False,
        unset=f"{_BY_PUBLIC} at creation",
        change="targets are replaced one by one",
        removal="targets stay reached as they are",
        env=True,
        sets="targets.use_private_ip",
    )
    private_ipv4: Asked[IPv4Address] = option(
        ADDRESS,
        unset="any free address of the network",
        change="detached and attached anew",
        sets="attachment.ip",
        clears=True,
    )
    private_subnet_ip_range: Asked[IPv4Network] = option(
        RANGE, unset="any subnet of the network", change=_IDLE, removal=_IDLE, env=True, sets="attachment.ip_range"
    )
    ipv4_rdns: Asked[str] = option(HOST, unset="not managed", change="the pointer changes", sets="ipv4_rdns")
    ipv6_rdns: Asked[str] = option(HOST, unset="not managed", change="the pointer changes", sets="ipv6_rdns")
    """Of both: "" asks for no pointer at all, which is not the default of Hetzner."""
    hostname: Asked[str] = option(
        DNS_NAME, unset="addresses are in the status", change=_STATUS, removal="addresses return", sets="status"
    )
    """"" is a value: the status then has one entry with nothing in it."""
    node_selector: Asked[Selector] = option(
        SELECTOR, unset="all eligible Nodes", change="targets change", removal="all eligible Nodes", sets="targets"
    )
    protocol: Protocol = option(
        one_of(Protocol), default=Protocol.TCP, unset="`tcp` at creation", sets="listeners.protocol"
    )
    uses_proxyprotocol: Asked[bool] = option(
        BOOL, usual=False, unset="off at creation", change=_PROXY, env=True, sets="listeners.proxyprotocol"
    )
    http_cookie_name: Asked[str] = option(text(1, 100), usual="HCLBSTICKY", sets="listeners.http.cookie_name")
    http_cookie_lifetime: Asked[int] = option(seconds(30, 86400), usual=300, sets="listeners.http.cookie_lifetime_s")
    http_timeout_idle: Asked[int] = option(seconds(30, 300), usual=50, sets="listeners.http.timeout_idle_s")
    http_redirect_http: Asked[bool] = option(BOOL, usual=False, sets="listeners.http.redirect_http")
    http_sticky_sessions: Asked[bool] = option(BOOL, usual=False, sets="listeners.http.sticky_sessions")
    http_certificates: Asked[tuple[int | str, ...]] = option(
        CERTIFICATES, usual=(), change="exactly these are used", sets="listeners.http.certificates"
    )
    """A number is an id, a text a name."""
    certificate_type: CertificateType = option(
        CERTIFICATE_TYPE, default=CertificateType.UPLOADED, unset="uploaded", removal="uploaded"
    )
    http_managed_certificate_name: Asked[str] = option(
        NAME,
        unset="`ccm-managed-certificate-` and the Service's UID",
        change=_WITH_REMEDY,
        removal=_WITH_REMEDY,
        clears=True,
    )
    http_managed_certificate_domains: Asked[tuple[str, ...]] = option(
        DOMAINS, unset="an error when managed", change=_WITH_REMEDY, removal="an error when managed"
    )
    http_managed_certificate_acme_staging: bool = option(
        LENIENT_BOOL, default=False, change="no effect once created", removal="no effect"
    )
    health_check_protocol: Asked[Protocol] = option(
        one_of(Protocol), unset=_SPOKEN, sets="listeners.health_check.protocol"
    )
    health_check_port: Asked[int] = option(
        integer(1, 65535), unset="the node port at creation", sets="listeners.health_check.port"
    )
    health_check_node_port: bool = option(
        BOOL,
        default=False,
        unset="the node port is probed at creation",
        change=_CHECKS,
        prefix=OWN_PREFIX,
    )
    """Whether kube-proxy is to be asked where ``externalTrafficPolicy`` is Local; see ``asks_kube_proxy``."""
    health_check_interval: Asked[int] = option(
        seconds(3, 60), usual=15, unset=_BY_API, env=True, sets="listeners.health_check.interval_s"
    )
    health_check_timeout: Asked[int] = option(
        seconds(1, 60), usual=10, unset=_BY_API, env=True, sets="listeners.health_check.timeout_s"
    )
    health_check_retries: Asked[int] = option(
        integer(1, 5), usual=3, unset=_BY_API, env=True, sets="listeners.health_check.retries"
    )
    health_check_http_domain: Asked[str] = option(
        CHECK_DOMAIN, usual="", unset="no host header", sets="listeners.health_check.http.domain"
    )
    """"" asks for no host header."""
    health_check_http_path: Asked[str] = option(PATH, usual="/", sets="listeners.health_check.http.path")
    health_check_http_validate_certificate: Asked[bool] = option(
        BOOL, usual=False, sets="listeners.health_check.http.tls"
    )
    http_status_codes: Asked[tuple[str, ...]] = option(
        STATUS_CODES, usual=("2??", "3??"), sets="listeners.health_check.http.status_codes"
    )
    deletion_policy: DeletionPolicy = option(
        one_of(DeletionPolicy),
        default=DeletionPolicy.DELETE,
        unset=_DELETED,
        change=_AT_DELETION,
        removal=_DELETED,
        env=True,
        clears=True,
        prefix=OWN_PREFIX,
    )

    @property
    def checks_health(self) -> bool:
        """Whether anything is said of health checks, so that they are more than the API's default."""
        return any(getattr(self, name) is not UNMANAGED for name in SETTING[CHECK].values())

    @property
    def asks_kube_proxy(self) -> bool:
        """Whether health checks are to go to the Service's healthCheckNodePort, if it has one. A port that is given
        wins over it, and so does a protocol that kube-proxy does not speak there."""
        return (
            self.health_check_node_port
            and self.health_check_port is UNMANAGED
            and self.health_check_protocol in (UNMANAGED, Protocol.HTTP)
        )


OPTIONS: Mapping[str, Option] = {found.name: found.metadata["row"](found.name) for found in fields(Options)}
"""Field of ``Options`` → its declaration."""
_RESERVED = tuple(
    Option(name, RESERVED, unset="neither read nor written", change="nothing", removal="nothing")
    for name in ("ipv4", "ipv6", "id")
)
ANNOTATIONS: Mapping[str, Option] = {row.full_key: row for row in (*OPTIONS.values(), *_RESERVED)}
"""Full key → declaration, in the order in which people read about them, of those that are reserved as well."""
SETTING: Mapping[str, Mapping[str, str]] = {
    part: {row.sets.rpartition(".")[2]: name for name, row in OPTIONS.items() if row.sets and row.part == part}
    for part in (LISTENER, HTTP, CHECK, HTTP_CHECK)
}
"""Part of a port → field of it → the option that sets it."""
ON_LISTENERS, ON_TARGETS, ON_STATUS = (
    tuple(name for name, row in OPTIONS.items() if row.sets.partition(".")[0] == part)
    for part in (LISTENER, "targets", "status")
)
"""Options that decide on ports; on who gets traffic, and by which address; on what the Service's status says."""
OF_PORTS = tuple(name for name in OPTIONS if name in {*ON_LISTENERS, "certificate_type", "health_check_node_port"})
"""Options that a single port may have of its own (``desired.annotations.port_keys``). Names and domains of the managed
certificate are none of them: a Service has one, for all of its ports."""
VARIABLES: Mapping[str, Option] = {row.variable: row for row in OPTIONS.values() if row.variable is not None}
"""Variable with a default for all Services → the option."""


@dataclass(frozen=True, slots=True, order=True)
class BadAnnotation:
    """A value of an annotation, or a default, with which no load balancer can be made."""

    key: str
    """Of the annotation, or of the environment variable that stands in for it."""
    text: str
    """One sentence for people, which names the key, its value, what is expected and what to do."""
    port: int | None = field(default=None, compare=False)
    """The port that alone stays as it is for it; None when the whole Service does."""


def defaults_of(variables: Mapping[str, Any]) -> Options:
    """The defaults among parsed environment variables, name → value. None, "" and a zero number are unset."""
    values: dict[str, Any] = {}
    for variable, row in VARIABLES.items():
        value = variables.get(variable)
        if isinstance(value, str):
            value = row.grammar.read(value) if value else None
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = int(max(-_LONGEST_S, min(_LONGEST_S, value))) if value else None
        if value is not None:
            values[row.name] = value
    return Options(**values)


def is_set(options: Options, name: str) -> bool:
    """Whether the option of this name has another value than while nothing sets it."""
    return bool(getattr(options, name) != OPTIONS[name].default)


def variables_of(defaults: Options) -> Mapping[str, Any]:
    """Each variable of the environment → the default that it sets; UNMANAGED for one that is not set, or is as if."""
    return {
        variable: getattr(defaults, row.name) if is_set(defaults, row.name) else UNMANAGED
        for variable, row in VARIABLES.items()
    }
