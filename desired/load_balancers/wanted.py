"""Needs of each Service: a load balancer, its cleanup, certificates, and load balancer types to look up.

A ``loadBalancerClass`` makes a Service another controller's; a load balancer that it had here is released all the same.
"""

from collections.abc import Iterable

from desired.annotations.choices import Protocol
from desired.annotations.options import DEFAULT_TYPE, Options
from desired.model.load_balancer import CloudBalancer
from desired.model.service import TYPE_LOAD_BALANCER, Service
from desired.names import CONDITION_IN_SYNC, FINALIZER_BALANCER, LABEL_SERVICE_UID
from desired.section import Unmanaged


def wants_balancer(service: Service) -> bool:
    """Whether the Service should have a load balancer of ours: one that is being deleted never does."""
    return service.type == TYPE_LOAD_BALANCER and service.load_balancer_class is None and service.deleted_at is None


def needs_cleanup(service: Service, *, is_labelled: bool = False) -> bool:
    """Whether the Service has to release what it had here: it is being deleted, or of another type or class by now,
    whatever it was in between. ``is_labelled`` is whether a load balancer has its label, and no other cluster's.

    Without one the finalizer tells, and of a Service of another class only beside our condition: other controllers
    share the finalizer's name (Kubernetes' cloud-provider), and it may be theirs.
    """
    if wants_balancer(service) or is_labelled:
        return not wants_balancer(service)
    is_claimed = FINALIZER_BALANCER in service.finalizers
    return is_claimed and (service.load_balancer_class is None or has_our_conditions(service))


def has_our_conditions(service: Service) -> bool:
    """Whether the Service's status has what this product says of its load balancer."""
    return any(found.type == CONDITION_IN_SYNC for found in service.conditions)


def matters(service: Service) -> bool:
    """Whether anything may have to be decided on a load balancer of the Service: without such a Service none are read.
    For one of another class that has the finalizer only its label tells."""
    return wants_balancer(service) or FINALIZER_BALANCER in service.finalizers


def uses_certificates(service: Service, defaults: Options) -> bool:
    """Whether the Service's load balancer needs certificates: its ports speak HTTPS."""
    return wants_balancer(service) and service.claim.requested(defaults).options.protocol is Protocol.HTTPS


def wanted_types(services: Iterable[Service], balancers: Iterable[CloudBalancer], defaults: Options) -> frozenset[str]:
    """Names of the types that something has to be known of: those that are asked for by annotation or environment, and
    the default one when a load balancer may have to be created without any of that."""
    served = {balancer.spec.labels.get(LABEL_SERVICE_UID) for balancer in balancers}
    names: set[str] = set()
    for service in filter(wants_balancer, services):
        asked = service.claim.requested(defaults).options
        if not isinstance(asked.type, Unmanaged):
            names.add(asked.type)
        elif service.uid not in served:
            names.add(DEFAULT_TYPE)
    return frozenset(names)
