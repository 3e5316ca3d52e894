"""The Services that a process serves, and the marks by which it knows its own: finalizer, label and class."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated

from desired.model.load_balancer import Owner
from desired.model.service import TYPE_LOAD_BALANCER, Service
from desired.model.set_by import Admits
from desired.names import (
    FINALIZER_BALANCER,
    FINALIZER_OWN_CLASS,
    LABEL_OWN_CLASS_UID,
    LABEL_SERVICE_UID,
    OWN_CLASS,
)
from desired.syntax.bounds import LONGEST_LABEL_VALUE


@dataclass(frozen=True, slots=True)
class Serving:
    """The Services of this process: those of one class, or those without a class."""

    balancer_class: Annotated[str | None, Admits("--load-balancer-class")] = None
    """``--load-balancer-class``; None: Services without a class."""

    @property
    def label(self) -> str:
        """Key of the label with the Service's UID. HCCM cleans up by its own, and does not know that of a class."""
        return LABEL_SERVICE_UID if self.balancer_class is None else LABEL_OWN_CLASS_UID

    @property
    def class_label(self) -> str | None:
        """The class as the value of a label: ``example.com/a`` is ``example.com..a``. None without a class."""
        return None if self.balancer_class is None else _shown_in("", self.balancer_class)

    @property
    def finalizer(self) -> str:
        """One for each class: a process never takes off that of another. The first class has it without its name."""
        if self.balancer_class is None:
            return FINALIZER_BALANCER
        if self.balancer_class == OWN_CLASS:
            return FINALIZER_OWN_CLASS
        domain, slash, name = FINALIZER_OWN_CLASS.partition("/")
        return domain + slash + _shown_in(f"{name}.", self.balancer_class)

    def serves(self, service: Service) -> bool:
        """Whether it is a Service of this process as it is, until it goes."""
        return service.type == TYPE_LOAD_BALANCER and service.load_balancer_class == self.balancer_class

    def wants(self, service: Service) -> bool:
        """Whether the Service gets a load balancer here. A Service that is being deleted never does."""
        return self.serves(service) and service.deleted_at is None

    def has(self, owner: Owner) -> bool:
        """Whether label and class of a load balancer are of this process; without a Service its class alone tells."""
        label = LABEL_SERVICE_UID if owner.own_class_uid is None else LABEL_OWN_CLASS_UID
        return owner.balancer_class == self.class_label and (owner.uid is None or label == self.label)

    def may_restore(self, owner: Owner) -> bool:
        """Whether the label of a class is all that a load balancer lacks: a living Service tells which one it was."""
        return self.balancer_class is not None and owner.own_class_uid is not None and owner.balancer_class is None


def _shown_in(prefix: str, balancer_class: str) -> str:
    """The prefix and the class, without the slash that labels do not take; a digest if that is too long or means
    another class."""
    value = prefix + balancer_class.replace("/", "..")
    if ".." not in balancer_class and not LONGEST_LABEL_VALUE.is_exceeded(value):
        return value
    return f"{prefix}sha256-{sha256(balancer_class.encode()).hexdigest()[:32]}"


def class_of(label: str) -> str:
    """The class that a label means, as people write it; the label itself if that is a digest."""
    return label.replace("..", "/")
