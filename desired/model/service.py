"""Kubernetes Services, as far as the rules look at them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from hashlib import sha256
from types import MappingProxyType
from typing import Annotated

from desired.annotations.claims import Claim
from desired.model.key import Key, ObjectKind
from desired.model.set_by import Admits
from desired.names import (
    CLEANUP_FINALIZERS,
    FINALIZER_BALANCER,
    FINALIZER_OWN_CLASS,
    LABEL_OWN_CLASS_UID,
    LABEL_SERVICE_UID,
    OWN_CLASS,
)
from desired.syntax.bounds import LONGEST_LABEL_VALUE

TYPE_LOAD_BALANCER = "LoadBalancer"


class Marks(Enum):
    """The marks of ownership by which a Service is served: its finalizer, and the label of its load balancer."""

    HCCM = (FINALIZER_BALANCER, LABEL_SERVICE_UID)
    """HCCM's, of Services without a class: either takes over from the other without a change."""
    OWN_CLASS = (FINALIZER_OWN_CLASS, LABEL_OWN_CLASS_UID)
    """Of Services of our class. HCCM cleans up by its own marks whatever the class is, and does not know these."""

    @property
    def finalizer(self) -> str:
        """The finalizer of the Service."""
        return self.value[0]

    @property
    def label(self) -> str:
        """Key of the label whose value is the Service's UID."""
        return self.value[1]

    @property
    def other(self) -> "Marks":
        """The marks that give way to these."""
        return Marks.HCCM if self is Marks.OWN_CLASS else Marks.OWN_CLASS


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
    marks: Marks | None = Marks.HCCM
    """By which marks this process serves a Service of this class once it is of type LoadBalancer, decided when it is
    read (``Classes.marked``); None: another controller does."""
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
    def is_claimed(self) -> bool:
        """Whether it has a finalizer that waits for a load balancer, whoever has set it."""
        return any(name in self.finalizers for name in CLEANUP_FINALIZERS)

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


@dataclass(frozen=True, slots=True)
class Classes:
    """The Services that this process serves, of all Services of the cluster."""

    own: Annotated[str, Admits("--load-balancer-class")] = OWN_CLASS
    """``--load-balancer-class``: Services of this class are served."""
    serves_classless: Annotated[bool, Admits("--default-load-balancer")] = True
    """``--default-load-balancer``: so are Services without one."""

    @property
    def label(self) -> str:
        """Our class as the value of a label: ``example.com/a`` is ``example.com..a``, as a label takes no slash; a
        digest where that is too long, or means another class."""
        value = self.own.replace("/", "..")
        if ".." in self.own or LONGEST_LABEL_VALUE.is_exceeded(value):
            return f"sha256-{sha256(self.own.encode()).hexdigest()[:40]}"
        return value

    @staticmethod
    def of_label(label: str) -> str:
        """The class that a ``label`` means, as people write it; the label itself where that is a digest."""
        return label.replace("..", "/")

    def marks_of(self, service: Service) -> Marks | None:
        """By which marks the Service is served here; None: not here."""
        if service.load_balancer_class is None:
            return Marks.HCCM if self.serves_classless else None
        return Marks.OWN_CLASS if service.load_balancer_class == self.own else None

    def marked(self, service: Service) -> Service:
        """The Service with its marks."""
        marks = self.marks_of(service)
        return service if service.marks is marks else replace(service, marks=marks)

    def leaves(self, service: Service) -> bool:
        """Whether the Service is left to whatever controller serves those without a class: also when it goes, and
        whatever marks of ours it has."""
        is_classless = service.type == TYPE_LOAD_BALANCER and service.load_balancer_class is None
        return is_classless and not self.serves_classless

    def finalizers_to_remove(self, service: Service) -> tuple[str, ...]:
        """The finalizers that it has and that a release takes off. Kubernetes' own stays where other controllers may
        serve by it: on what is not of our class, while Services without a class are not served here."""
        if self.leaves(service):
            return ()
        serves_by_both = self.serves_classless or service.marks is Marks.OWN_CLASS
        removable = CLEANUP_FINALIZERS if serves_by_both else (FINALIZER_OWN_CLASS,)
        return tuple(name for name in removable if name in service.finalizers)
