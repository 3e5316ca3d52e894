"""Options of one load balancer: the typed values of annotations and environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import Any

from desired.annotations.choices import Algorithm, CertificateType, DeletionPolicy, Protocol
from desired.annotations.table import BY_FIELD
from desired.section import UNMANAGED, Unmanaged
from desired.syntax.selector import Selector

_LONGEST_S = 1e9
"""Seconds in which an overlong default of the environment ends up; no range allows them."""


@dataclass(frozen=True, slots=True)
class Options:
    """One field for each annotation of the table, of the same name. UNMANAGED is what nobody set.

    A load balancer that is there keeps what is UNMANAGED; one that is created gets what the table says.
    """

    name: str | Unmanaged = UNMANAGED
    type: str | Unmanaged = UNMANAGED
    location: str | Unmanaged = UNMANAGED
    network_zone: str | Unmanaged = UNMANAGED
    """UNMANAGED whenever there is a location, which takes precedence."""
    algorithm_type: Algorithm | Unmanaged = UNMANAGED
    disable_public_network: bool | Unmanaged = UNMANAGED
    public_net_ipv4: int | str | Unmanaged = UNMANAGED
    public_net_ipv6: int | str | Unmanaged = UNMANAGED
    """Primary IPs, read at creation only: a number is an id, a text a name."""
    disable_private_ingress: bool = False
    ipv6_disabled: bool = False
    use_private_ip: bool = False
    private_ipv4: IPv4Address | Unmanaged = UNMANAGED
    private_subnet_ip_range: IPv4Network | Unmanaged = UNMANAGED
    ipv4_rdns: str | Unmanaged = UNMANAGED
    ipv6_rdns: str | Unmanaged = UNMANAGED
    """Of both: "" asks for no pointer at all, which is not the default of Hetzner."""
    hostname: str | Unmanaged = UNMANAGED
    """"" is a value: the status then has one entry with nothing in it."""
    node_selector: Selector | Unmanaged = UNMANAGED
    protocol: Protocol = Protocol.TCP
    uses_proxyprotocol: bool | Unmanaged = UNMANAGED
    http_cookie_name: str | Unmanaged = UNMANAGED
    http_cookie_lifetime: int | Unmanaged = UNMANAGED
    http_timeout_idle: int | Unmanaged = UNMANAGED
    """Both in seconds."""
    http_redirect_http: bool | Unmanaged = UNMANAGED
    http_sticky_sessions: bool | Unmanaged = UNMANAGED
    http_certificates: tuple[int | str, ...] | Unmanaged = UNMANAGED
    """A number is an id, a text a name."""
    certificate_type: CertificateType = CertificateType.UPLOADED
    http_managed_certificate_name: str | Unmanaged = UNMANAGED
    http_managed_certificate_domains: tuple[str, ...] | Unmanaged = UNMANAGED
    http_managed_certificate_acme_staging: bool = False
    health_check_protocol: Protocol | Unmanaged = UNMANAGED
    health_check_port: int | Unmanaged = UNMANAGED
    health_check_node_port: bool = False
    """Whether kube-proxy is to be asked where ``externalTrafficPolicy`` is Local; see ``asks_kube_proxy``."""
    health_check_interval: int | Unmanaged = UNMANAGED
    health_check_timeout: int | Unmanaged = UNMANAGED
    """Both in seconds."""
    health_check_retries: int | Unmanaged = UNMANAGED
    health_check_http_domain: str | Unmanaged = UNMANAGED
    """"" asks for no host header."""
    health_check_http_path: str | Unmanaged = UNMANAGED
    health_check_http_validate_certificate: bool | Unmanaged = UNMANAGED
    http_status_codes: tuple[str, ...] | Unmanaged = UNMANAGED
    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE
    undo_window: int | Unmanaged = UNMANAGED
    """In seconds; 0 asks for none, whatever the operator's flag says."""

    @property
    def checks_health(self) -> bool:
        """Whether anything is said of health checks, so that they are more than the API's default."""
        return any(
            value is not UNMANAGED
            for value in (
                self.health_check_protocol,
                self.health_check_port,
                self.health_check_interval,
                self.health_check_timeout,
                self.health_check_retries,
            )
        )

    @property
    def asks_kube_proxy(self) -> bool:
        """Whether health checks are to go to the Service's healthCheckNodePort, if it has one. A port that is given
        wins over it, and so does a protocol that kube-proxy does not speak there."""
        return (
            self.health_check_node_port
            and self.health_check_port is UNMANAGED
            and self.health_check_protocol in (UNMANAGED, Protocol.HTTP)
        )


@dataclass(frozen=True, slots=True)
class Defaults:
    """Defaults for all Services from the environment's ``HCLOUD_LOAD_BALANCERS_*``: fields as in ``Options``.

    Ranges are not checked here but where a Service would get the value, as an annotation may overrule it.
    """

    type: str | Unmanaged = UNMANAGED
    location: str | Unmanaged = UNMANAGED
    network_zone: str | Unmanaged = UNMANAGED
    algorithm_type: Algorithm | Unmanaged = UNMANAGED
    disable_public_network: bool | Unmanaged = UNMANAGED
    disable_private_ingress: bool | Unmanaged = UNMANAGED
    ipv6_disabled: bool | Unmanaged = UNMANAGED
    use_private_ip: bool | Unmanaged = UNMANAGED
    private_subnet_ip_range: IPv4Network | IPv6Network | Unmanaged = UNMANAGED
    uses_proxyprotocol: bool | Unmanaged = UNMANAGED
    health_check_interval: int | Unmanaged = UNMANAGED
    health_check_timeout: int | Unmanaged = UNMANAGED
    health_check_retries: int | Unmanaged = UNMANAGED


@dataclass(frozen=True, slots=True, order=True)
class BadAnnotation:
    """A value of an annotation, or a default, with which no load balancer can be made."""

    key: str
    """Of the annotation, or of the environment variable that stands in for it."""
    text: str
    """One sentence for people, which names the key, its value, what is expected and what to do."""


def defaults_of(variables: Mapping[str, Any]) -> Defaults:
    """The defaults among parsed environment variables, name → value. None, "" and a zero number are unset."""
    values: dict[str, Any] = {}
    for field, row in BY_FIELD.items():
        value = variables.get(row.variable) if row.variable else None
        if isinstance(value, str):
            value = row.grammar.read(value) if value else None
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = int(max(-_LONGEST_S, min(_LONGEST_S, value))) if value else None
        if value is not None and value != getattr(_NOTHING_SET, field):
            values[field] = value
    return Defaults(**values)


_NOTHING_SET = Options()
