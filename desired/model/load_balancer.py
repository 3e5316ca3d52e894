"""Load balancers and certificates as values: one shape for observed and desired state, part by part.

A desired part may be UNMANAGED: it was not asked for. An observed one never is. Ranges and defaults come from the
Hetzner Cloud API (load balancers).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from types import MappingProxyType
from typing import Final

from desired.annotations.choices import Algorithm, Protocol
from desired.model.key import Key, ObjectKind
from desired.names import (
    LABEL_ADOPTED,
    LABEL_CLASS,
    LABEL_CLUSTER_UID,
    LABEL_DELETE_AFTER,
    LABEL_FORMER,
    LABEL_OWN_CLASS_UID,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
)
from desired.section import UNMANAGED, Unmanaged


class KnownAfterApply(Enum):
    """What stands for a value that exists only after another change."""

    KNOWN_AFTER_APPLY = "(known after apply)"


KNOWN_AFTER_APPLY: Final = KnownAfterApply.KNOWN_AFTER_APPLY
"""A value that exists only after another change. Legal in a Service's status and in a listener's certificates."""


@dataclass(frozen=True, slots=True)
class HttpCheck:
    """The request and the expected answer of a health check over HTTP."""

    domain: str | Unmanaged = UNMANAGED
    """"" for none."""
    path: str | Unmanaged = UNMANAGED
    response: str | Unmanaged = UNMANAGED
    """No annotation asks for one."""
    status_codes: tuple[str, ...] | Unmanaged = UNMANAGED
    tls: bool | Unmanaged = UNMANAGED


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """A health check of a listener."""

    protocol: Protocol | Unmanaged
    """TCP or HTTP; the API knows no HTTPS here."""
    port: int | Unmanaged
    interval_s: int | Unmanaged = UNMANAGED
    timeout_s: int | Unmanaged = UNMANAGED
    retries: int | Unmanaged = UNMANAGED
    http: HttpCheck | None = None
    """None with TCP."""


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Options of a listener that speaks HTTP or HTTPS."""

    cookie_name: str | Unmanaged = UNMANAGED
    cookie_lifetime_s: int | Unmanaged = UNMANAGED
    timeout_idle_s: int | Unmanaged = UNMANAGED
    certificates: tuple[int, ...] | Unmanaged | KnownAfterApply = UNMANAGED
    """Ids, sorted. KNOWN_AFTER_APPLY while the managed certificate is still to be created or issued."""
    redirect_http: bool | Unmanaged = UNMANAGED
    sticky_sessions: bool | Unmanaged = UNMANAGED


@dataclass(frozen=True, slots=True)
class Listener:
    """One of a load balancer's services, as Hetzner calls them: a port on which it listens."""

    port: int
    destination_port: int
    protocol: Protocol | Unmanaged
    health_check: HealthCheck
    proxyprotocol: bool | Unmanaged = UNMANAGED
    http: HttpOptions | None = None
    """None with TCP."""

    @property
    def certificate_ids(self) -> tuple[int, ...]:
        """The ids of its certificates; none with TCP, and for what is not known."""
        known = self.http.certificates if self.http is not None else ()
        return known if isinstance(known, tuple) else ()

    @property
    def waits_for_certificate(self) -> bool:
        """Whether its certificate is still to be created or issued."""
        return self.http is not None and self.http.certificates is KNOWN_AFTER_APPLY


@dataclass(frozen=True, slots=True, order=True)
class ServerTarget:
    """A server that gets traffic."""

    server_id: int
    use_private_ip: bool
    ipv6: str | None = field(default=None, compare=False)
    """By which address a server without public IPv4 is reached from outside, or an existing target is reached; None
    with public IPv4. It makes no other target: an address that was chosen stays."""

    @property
    def name(self) -> str:
        """Its name in keys and messages."""
        return f"server:{self.server_id}"


@dataclass(frozen=True, slots=True, order=True)
class IpTarget:
    """An address that gets traffic: of a dedicated server, or of a vSwitch."""

    ip: str

    @property
    def name(self) -> str:
        """Its name in keys and messages."""
        return f"ip:{self.ip}"


@dataclass(frozen=True, slots=True, order=True)
class SelectorTarget:
    """All servers with these labels. Never ours to change."""

    selector: str
    use_private_ip: bool

    @property
    def name(self) -> str:
        """Its name in notes."""
        return f"selector:{self.selector}"


Target = ServerTarget | IpTarget | SelectorTarget


def spoken(target: Target) -> str:
    """The name of a target in sentences: ``server 7``, ``address 10.0.0.9``, ``label selector role=worker``."""
    match target:
        case ServerTarget(server_id=server_id):
            return f"server {server_id}"
        case IpTarget(ip=ip):
            return f"address {ip}"
        case SelectorTarget(selector=selector):
            return f"label selector {selector}"


def ipv6_of(targets: Iterable[Target]) -> tuple[str | None, ...]:
    """The IPv6 address by which each target is reached from outside, None for any other: equal targets may differ in
    it, so that who shares what was decided on equal ones has to look at it as well."""
    return tuple(target.ipv6 if isinstance(target, ServerTarget) else None for target in targets)


PRIVATE_RANGES = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
"""What networks of Hetzner Cloud are made of, and the destinations of routes but for the default one (Hetzner Cloud
API, networks)."""


def is_private(target: Target) -> bool:
    """Whether the target is reached through the load balancer's network, and lost with it."""
    if not isinstance(target, IpTarget):
        return target.use_private_ip
    return is_private_address(ip_address(target.ip))


def is_private_address(address: IPv4Address | IPv6Address) -> bool:
    """Whether it is one that Hetzner's private networks may have."""
    return any(address in network for network in PRIVATE_RANGES)


@dataclass(frozen=True, slots=True)
class Attachment:
    """The attachment of a load balancer to a private network."""

    network_id: int
    ip: IPv4Address | Unmanaged = UNMANAGED
    ip_range: IPv4Network | Unmanaged = UNMANAGED
    """Read only when attaching; the API does not say it of an attachment that is there, so it is UNMANAGED there."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner that the labels of a load balancer name. None where there is no such label."""

    cluster_uid: str | None
    service_uid: str | None
    """By HCCM's label."""
    released: str | None = field(default=None, compare=False)
    """When it was released with its addresses; "" if its labels do not say when, None if it was not released. Never
    compared: a hold would be another one in each pass."""
    balancer_id: int | None = None
    """Which load balancer a person approves the adoption of; None where no labels are taken over."""
    adopted: str | None = None
    """The value of the label that says that it was unowned when a Service adopted it."""
    former: str | None = None
    """Whose it was when it was released; None where it was not."""
    own_class_uid: str | None = None
    """The Service by the label that those of a class have, which HCCM does not know."""
    balancer_class: str | None = None
    """The class whose Services it is for, as in ``Serving.class_label``."""

    @property
    def uid(self) -> str | None:
        """The UID of the Service; None where neither label names one. Where both do, ours counts: HCCM may have found
        the load balancer by its name."""
        return self.service_uid if self.own_class_uid is None else self.own_class_uid

    @property
    def is_released(self) -> bool:
        """Whether its owner has no claim to it any more."""
        return self.released is not None and self.uid is None


NO_OWNER = Owner(None, None)


def owner_of(labels: Mapping[str, str]) -> Owner:
    """The owner that these labels name. The former Service, or the end of a window that earlier versions wrote, says as
    well that it was released."""
    is_released = LABEL_FORMER in labels or LABEL_DELETE_AFTER in labels
    return Owner(
        labels.get(LABEL_CLUSTER_UID),
        labels.get(LABEL_SERVICE_UID),
        labels.get(LABEL_RELEASED, "" if is_released else None),
        adopted=labels.get(LABEL_ADOPTED),
        former=labels.get(LABEL_FORMER),
        own_class_uid=labels.get(LABEL_OWN_CLASS_UID),
        balancer_class=labels.get(LABEL_CLASS),
    )


def labels_with(there: Mapping[str, str], owner: Owner) -> dict[str, str]:
    """The labels that are there, with ours as ``owner`` has them. A cluster that is not known is not taken away."""
    ours = {
        LABEL_SERVICE_UID: owner.service_uid,
        LABEL_RELEASED: owner.released,
        LABEL_ADOPTED: owner.adopted,
        LABEL_FORMER: owner.former,
        LABEL_DELETE_AFTER: None,
        LABEL_OWN_CLASS_UID: owner.own_class_uid,
        LABEL_CLASS: owner.balancer_class,
    }
    others = {key: text for key, text in there.items() if key not in ours}
    ours[LABEL_CLUSTER_UID] = owner.cluster_uid
    return {**others, **{key: text for key, text in ours.items() if text is not None}}


@dataclass(frozen=True, slots=True)
class Identity:
    """Name and labels of a load balancer."""

    name: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LoadBalancer:
    """Everything that can be asked of a load balancer. Parts that are UNMANAGED keep what they have, or get the API's
    default at creation."""

    name: str
    labels: Mapping[str, str]
    type: str
    location: str | None = None
    zone: str | None = None
    """Of the two exactly one at creation; what was observed has both."""
    algorithm: Algorithm | Unmanaged = UNMANAGED
    public_interface: bool | Unmanaged = UNMANAGED
    primary_ipv4: int | Unmanaged | None = UNMANAGED
    primary_ipv6: int | Unmanaged | None = UNMANAGED
    """Ids of the Primary IPs that are its public addresses. They can only be chosen at creation, and are never compared
    afterwards; None of what was observed: Hetzner manages the address, which goes with the load balancer."""
    attachment: Attachment | Unmanaged | None = UNMANAGED
    """None: it shall be in no network."""
    ipv4_rdns: str | Unmanaged | None = UNMANAGED
    ipv6_rdns: str | Unmanaged | None = UNMANAGED
    """None as a desired value resets it to what the API gives."""
    listeners: Mapping[int, Listener] = field(default_factory=lambda: MappingProxyType({}))
    """Port → listener."""
    targets: frozenset[Target] | Unmanaged = frozenset()
    former: str | None = field(default=None, compare=False)
    """The label of a released one, which is looked for before another one is created; None unless the deletion policy
    may have left one. No part of it, so it is never compared."""

    @property
    def primary_ips(self) -> tuple[int, ...]:
        """Ids of the Primary IPs among its public addresses."""
        return tuple(held for held in (self.primary_ipv4, self.primary_ipv6) if isinstance(held, int))


class Health(Enum):
    """Health of a target, by the health check of one listener."""

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"


def worst_of(said: Collection[Health]) -> Health | None:
    """The worst of these results; None without one."""
    return next((each for each in (Health.UNHEALTHY, Health.UNKNOWN, Health.HEALTHY) if each in said), None)


NO_LIMIT: Final = 1_000_000
"""The limit of a type whose limit is not known: nothing is refused or removed for a number that cannot be right, as
Hetzner itself refuses what it does not accept."""


@dataclass(frozen=True, slots=True)
class BalancerType:
    """A type of load balancers, with its limits and prices. A limit is NO_LIMIT where the API gives none, or an
    impossible one."""

    name: str
    max_services: int
    max_targets: int
    max_certificates: int
    unavailable_after: datetime | None = None
    """None unless it is deprecated."""
    prices: Mapping[str, Decimal] = field(default_factory=lambda: MappingProxyType({}))
    """Location → its gross price a month. A price that the API does not say, or that cannot be, is not among them."""
    locations: frozenset[str] = frozenset()
    """Where it is sold: all of which the API names a price, be it unreadable; empty when it did not say."""


@dataclass(frozen=True, slots=True)
class PrimaryIp:
    """A Primary IP of the project: a public address that exists on its own (Hetzner Cloud API, Primary IPs)."""

    id: int
    name: str
    version: int
    """4 or 6."""
    network: IPv4Network | IPv6Network
    """The address; of IPv6 the range in which it is."""
    location: str | None = None
    zone: str | None = None
    """Where it is bound to; None when the API did not say."""
    assignee_id: int | None = None
    """Id of what has it; None when nothing has."""
    assignee_type: str = ""
    """``server``, ``load_balancer``, or a word that this version does not know."""
    is_blocked: bool = False
    auto_delete: bool = False
    """Whether Hetzner deletes it together with what has it."""

    @property
    def shown(self) -> str:
        """Its name in messages."""
        address = self.network if self.version == 6 else self.network.network_address
        return f"Primary IP {self.id} {self.name} ({address})"


@dataclass(frozen=True, slots=True)
class CloudBalancer:
    """A load balancer of the project, as it was observed."""

    id: int
    spec: LoadBalancer
    """Its properties. Only what the API never says is UNMANAGED: ``attachment.ip_range``."""
    type: BalancerType
    created_at: datetime
    ipv4: IPv4Address | None = None
    ipv6: IPv6Address | None = None
    """Public addresses. They stay its own while the public interface is off."""
    attachments: tuple[Attachment, ...] = ()
    """All of them; ``spec.attachment`` is the first, None when there is none."""
    targets: tuple[Target, ...] = ()
    """In the order of the API; a server may be in it twice, by its public and by its private address."""
    is_protected: bool = False
    """Against deletion."""
    checks: Mapping[Target, Mapping[int, Health]] = field(default_factory=lambda: MappingProxyType({}))
    """Target → port → the result of that listener's health check. Ports are judged one by one: one that never answers
    says nothing of the traffic of the others."""
    unanswered: frozenset[int] = frozenset()
    """Ports of the listeners whose health check nothing passes: every target is known to fail it, and every server that
    a selector has found. All of them where there is no target."""

    def answering(self, target: Target) -> frozenset[int]:
        """The ports at which the target answers its health checks."""
        return frozenset(port for port, said in self.checks.get(target, {}).items() if said is Health.HEALTHY)

    def answers(self, target: Target) -> bool:
        """Whether the target answers any of its health checks."""
        return Health.HEALTHY in self.checks.get(target, {}).values()

    def is_unchecked(self, target: Target) -> bool:
        """Whether the target may well get traffic, as nothing is known yet: it is new, or its checks were edited."""
        said = self.checks.get(target, {}).values()
        return Health.UNKNOWN in said and Health.HEALTHY not in said

    @property
    def owner(self) -> Owner:
        """Whom its labels name."""
        return owner_of(self.spec.labels)

    @property
    def key(self) -> Key:
        """Its key where it belongs to no Service."""
        return Key(ObjectKind.LOAD_BALANCER, f"#{self.id}")


class Issuance(Enum):
    """The state of a managed certificate's issuance."""

    PENDING = "pending"
    COMPLETED = "completed"
    FAILED = "failed"
    OTHER = "other"
    """A word of the API that this version does not know."""


@dataclass(frozen=True, slots=True)
class ManagedCertificate:
    """A certificate to be issued through Hetzner."""

    name: str
    domains: tuple[str, ...]
    """Sorted."""
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class IssuanceError:
    """The reason why a managed certificate was not issued or renewed; "" for what the API did not say."""

    code: str
    message: str

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.code, self.message))) or "unknown_error"


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate of the project."""

    id: int
    name: str
    is_managed: bool
    created_at: datetime
    domains: tuple[str, ...] = ()
    """Sorted."""
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    issuance: Issuance | None = None
    """None for one that was uploaded."""
    error: IssuanceError | None = None
    """Why it was not issued or renewed; None when nothing went wrong."""
