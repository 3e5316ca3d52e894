"""Kubernetes Services, as far as the rules look at them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from desired.annotations.claims import Claim
from desired.model.key import Key, ObjectKind
from desired.names import FINALIZER_BALANCER, FINALIZER_OWN_CLASS

TYPE_LOAD_BALANCER = "LoadBalancer"


@dataclass(frozen=True, slots=True)
class Ingress:
    """One entry of ``status.loadBalancer.ingress``. None is a field that is not there."""

    ip: str | None = None
    """As the API server has it: what another client wrote need not be an address that we would write."""
    hostname: str | None = None
    ip_mode: str | None = None
    """``VIP`` or ``Proxy`` (Kubernetes core/v1 LoadBalancerIngress)."""
    has_ports: bool = False
    """Whether another client published ports with it, which we never do: it is then another entry than ours."""


@dataclass(frozen=True, slots=True)
class ServiceCondition:
    """One of a Service's conditions (Kubernetes meta/v1 Condition)."""

    type: str
    status: str
    """``True``, ``False`` or ``Unknown``; "" for one that is to be taken away."""
    reason: str = ""
    message: str = ""
    since: datetime | None = field(default=None, compare=False)
    """``lastTransitionTime``; None when there is none."""


@dataclass(frozen=True, slots=True)
class Service:
    """A Kubernetes Service, of whatever type."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    created_at: datetime
    type: str = "ClusterIP"
    load_balancer_class: str | None = None
    """``spec.loadBalancerClass`` (Kubernetes core/v1 ServiceSpec); "" is a class as well, None is unset."""
    claim: Claim = field(default_factory=Claim)
    """Annotations, ports and what else the spec says of a load balancer."""
    finalizers: tuple[str, ...] = ()
    ingress: tuple[Ingress, ...] = ()
    conditions: tuple[ServiceCondition, ...] = ()
    deleted_at: datetime | None = None
    """``metadata.deletionTimestamp``; None unless the Service is being deleted."""
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    status_writers: tuple[str, ...] = field(default=(), compare=False)
    """Managers other than this product that wrote ``ingress`` last, by ``metadata.managedFields``: names that any
    client may choose. No news by themselves; empty where it is not told."""

    @property
    def asks_for_balancer(self) -> bool:
        """Whether it asks for a load balancer, in whatever class. A Service that is being deleted does not."""
        return self.type == TYPE_LOAD_BALANCER and self.deleted_at is None

    @property
    def is_claimed(self) -> bool:
        """Whether it has a finalizer that waits for a load balancer, whoever has set it."""
        return any(name == FINALIZER_BALANCER or is_of_a_class(name) for name in self.finalizers)

    @property
    def id(self) -> str:
        """``NAMESPACE/NAME``, the key in the snapshot."""
        return f"{self.namespace}/{self.name}"

    @property
    def key(self) -> Key:
        """The Service's key in plans, and the owner of all its changes."""
        return Key(ObjectKind.SERVICE, self.id)

    @property
    def balancer_key(self) -> Key:
        """The key of its load balancer in plans."""
        return Key(ObjectKind.LOAD_BALANCER, self.id)

    @property
    def certificate_key(self) -> Key:
        """The key of its managed certificate in plans."""
        return Key(ObjectKind.CERTIFICATE, self.id)

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys of the Service and of what is made for it."""
        return (self.key, self.balancer_key, self.certificate_key)


def is_of_a_class(finalizer: str) -> bool:
    """Whether a process of ours that serves a class sets this finalizer."""
    return finalizer.partition(".")[0] == FINALIZER_OWN_CLASS
