"""Needs of each Service: a load balancer, its cleanup, certificates, and load balancer types to look up.

A ``loadBalancerClass`` makes a Service another controller's, whatever else is on it.
"""

from collections.abc import Iterable

from desired.annotations.choices import Protocol
from desired.annotations.options import Defaults
from desired.load_balancers.size import DEFAULT_TYPE
from desired.model.load_balancer import CloudBalancer
from desired.model.service import TYPE_LOAD_BALANCER, Service
from desired.names import FINALIZER_BALANCER, LABEL_SERVICE_UID
from desired.section import Unmanaged


def wants_balancer(service: Service) -> bool:
    """Whether the Service should have a load balancer of ours: one that is being deleted never does."""
    return service.type == TYPE_LOAD_BALANCER and service.load_balancer_class is None and service.deleted_at is None


def needs_cleanup(service: Service) -> bool:
    """Whether the Service may have a load balancer of ours that has to go: it has our finalizer, and is being deleted
    or has become another type. One of another class is never released by us."""
    if service.load_balancer_class is not None or FINALIZER_BALANCER not in service.finalizers:
        return False
    return service.deleted_at is not None or service.type != TYPE_LOAD_BALANCER


def matters(service: Service) -> bool:
    """Whether anything is to be decided on a load balancer of the Service: without such a Service none are read."""
    return wants_balancer(service) or needs_cleanup(service)


def uses_certificates(service: Service, defaults: Defaults) -> bool:
    """Whether the Service's load balancer needs certificates: its ports speak HTTPS."""
    return wants_balancer(service) and service.claim.options(defaults)[0].protocol is Protocol.HTTPS


def wanted_types(services: Iterable[Service], balancers: Iterable[CloudBalancer], defaults: Defaults) -> frozenset[str]:
    """Names of the types that something has to be known of: those that are asked for by annotation or environment, and
    the default one when a load balancer may have to be created without any of that."""
    served = {balancer.spec.labels.get(LABEL_SERVICE_UID) for balancer in balancers}
    names: set[str] = set()
    for service in filter(wants_balancer, services):
        asked, _ = service.claim.options(defaults)
        if not isinstance(asked.type, Unmanaged):
            names.add(asked.type)
        elif service.uid not in served:
            names.add(DEFAULT_TYPE)
    return frozenset(names)
