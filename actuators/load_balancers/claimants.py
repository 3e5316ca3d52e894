"""Services that want a load balancer at this moment, whatever was observed before."""

from collections.abc import Collection, Iterator
from urllib.parse import urlencode

from actuators.http.errors import Broken, Conflict, one_line
from actuators.http.kubernetes import ApiAnswer, KubernetesReader, segment
from actuators.load_balancers.lookup import name_of
from actuators.wire.service import SERVICES
from desired.load_balancers.ownership import former_of, wants_balancer
from desired.model.load_balancer import CloudBalancer
from desired.model.service import Service
from desired.model.snapshot import Snapshot
from desired.plan.change import Change


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
        return iter(_whole(cluster.get(f"/api/v1/namespaces/{segment(namespace)}/services?{query}")))
    return (each for each in services_now(cluster) if each.uid == owner.service_uid or former_of(each) == owner.former)


def services_now(cluster: KubernetesReader) -> Iterator[Service]:
    """All Services. Raises an ApiError, Broken when one of them cannot be read: it may want what is asked about."""
    for page in cluster.list_pages(SERVICES.path, _whole):
        yield from page


def _whole(answer: ApiAnswer) -> Collection[Service]:
    page = SERVICES.decode(answer.body)
    if page.nameless or page.unreadable:
        why = next(iter(page.unreadable.values()), "not even the name of one")
        raise Broken(f"the API server's Services could not be read: {one_line(why)}")
    return page.items.values()
