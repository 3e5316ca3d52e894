"""Services that want a load balancer at this moment, whatever was observed before."""

from collections.abc import Iterator
from datetime import datetime
from urllib.parse import urlencode

import msgspec

from actuators.http.decoding import decoder
from actuators.http.errors import Broken, Conflict, one_line
from actuators.http.kubernetes import KubernetesReader, segment
from actuators.load_balancers.lookup import name_of
from desired.load_balancers.ownership import former_of, wants_balancer
from desired.model.load_balancer import CloudBalancer
from desired.model.service import Service
from desired.model.snapshot import Snapshot
from desired.plan.change import Change

_ALL = "/api/v1/services"


class _Metadata(msgspec.Struct, rename="camel"):
    namespace: str
    name: str
    uid: str
    resource_version: str
    creation_timestamp: datetime
    deletion_timestamp: datetime | None = None


class _Spec(msgspec.Struct, rename="camel"):
    type: str
    load_balancer_class: str | None = None


class _Service(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec


class _Services(msgspec.Struct):
    items: list[_Service]


def require_unclaimed(cluster: KubernetesReader, change: Change, balancer: CloudBalancer, snapshot: Snapshot) -> None:
    """Check that no Service wants the load balancer that is about to be deleted: its own, or the one of its namespace
    and name that would get it back. Between the observation and the deletion lie queues, retries and other changes.

    A Service that was observed to want one is no obstacle: the guards have judged the deletion beside it. Raises
    Conflict when another one wants it, and an ApiError when it cannot be told.
    """
    known = snapshot.services.items if snapshot.services is not None else {}
    for service in filter(wants_balancer, _candidates(cluster, change, balancer)):
        before = known.get(service.id)
        if before is None or before.uid != service.uid or not wants_balancer(before):
            raise Conflict(f"Service {service.id} now wants {name_of(balancer)}")


def _candidates(cluster: KubernetesReader, change: Change, balancer: CloudBalancer) -> Iterator[Service]:
    """The Services that the load balancer may be of. All Services are listed only where no label has the name of one:
    it was too long for a label, or the Service vanished."""
    owner = balancer.owner
    namespace, dot, name = (owner.former or "").partition(".")
    if not change.is_of_no_service:
        namespace, dot, name = change.owner.name.partition("/")
    if dot:
        query = urlencode({"fieldSelector": f"metadata.name={name}"})  # roles allow to list Services, and no GET of one
        return iter(_decoded(cluster.get(f"/api/v1/namespaces/{segment(namespace)}/services?{query}").body))
    return (each for each in services_now(cluster) if each.uid == owner.service_uid or former_of(each) == owner.former)


def services_now(cluster: KubernetesReader) -> Iterator[Service]:
    """All Services, as far as they are looked at here. Raises an ApiError."""
    for page in cluster.list_pages(_ALL, lambda answer: _decoded(answer.body)):
        yield from page


def _decoded(body: bytes) -> tuple[Service, ...]:
    try:
        listed = decoder(_Services).decode(body).items
    except ValueError as error:
        raise Broken(f"the API server's Services could not be read: {one_line(error)}") from error
    return tuple(
        Service(
            meta.namespace,
            meta.name,
            meta.uid,
            meta.resource_version,
            meta.creation_timestamp,
            type=spec.type,
            load_balancer_class=spec.load_balancer_class,
            deleted_at=meta.deletion_timestamp,
        )
        for meta, spec in ((each.metadata, each.spec) for each in listed)
    )
