"""A change of a load balancer that is being carried out, and its preconditions.

What a load balancer is at the moment of a write is looked up before everything that could harm another owner: before
deletion, adoption and release, before what is sent once more, and before what is put back.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from actuators.http.errors import Broken, Conflict, Invalid, NotFound, Outdated, one_line
from actuators.http.kubernetes import ApiAnswer, KubernetesReader
from actuators.wire.load_balancer import BALANCERS
from actuators.wire.service import SERVICES
from actuators.writers import Writers
from desired.load_balancers.ownership import (
    Ownership,
    asked_name,
    is_of_another_class,
    is_of_another_cluster,
    ownership,
)
from desired.load_balancers.published import rests_on_absence
from desired.model.load_balancer import CloudBalancer, Owner
from desired.model.service import Service
from desired.model.snapshot import Snapshot
from desired.names import LABEL_FORMER
from desired.plan.change import Change


def balancer_of(change: Change, snapshot: Snapshot) -> CloudBalancer:
    """The load balancer that the change names, as it was observed.

    Raises KeyError for a change that was planned from another snapshot, and for one of a load balancer that was another
    cluster's: no plan has such a change, and not every write reads the load balancer before.
    """
    if change.cloud_id is None or snapshot.load_balancers is None:
        raise KeyError(f"load balancer of {change.key}")
    found = snapshot.load_balancers.items[change.cloud_id]
    if is_not_ours(found.owner, snapshot):
        raise KeyError(f"{name_of(found)} has the label of another cluster")
    return found


def name_of(balancer: CloudBalancer) -> str:
    """The name of a load balancer in messages."""
    return f"load balancer {balancer.id} {balancer.spec.name}"


def is_not_ours(owner: Owner, snapshot: Snapshot) -> bool:
    """Whether the labels name a cluster that is not known to be this one, and has not released it."""
    is_unknown = ownership(owner.cluster_uid, snapshot) is Ownership.UNKNOWN
    return is_unknown or is_of_another_cluster(owner, snapshot)


@dataclass(frozen=True, slots=True)
class BalancerTask:
    """A change of a load balancer, or of what its Service says of it, that is being carried out.

    Properties raise KeyError for a change that was planned from another snapshot.
    """

    writers: Writers
    change: Change
    snapshot: Snapshot

    @property
    def service(self) -> Service:
        """The Service that the change serves."""
        service = self.snapshot.service(self.change.owner)
        if service is None:
            raise KeyError(self.change.owner)
        return service

    @property
    def observed(self) -> CloudBalancer:
        """The load balancer as it was observed."""
        return balancer_of(self.change, self.snapshot)

    @property
    def name(self) -> str:
        """The name of the load balancer in messages."""
        return name_of(self.observed)

    def look(self) -> CloudBalancer:
        """The load balancer now. Raises an ApiError: Conflict if it is not the Service's, NotFound if it is gone."""
        now = BALANCERS.one(self.writers.reader, self.observed.id)
        self.require_own(now)
        return now

    def remaining(self) -> CloudBalancer:
        """The load balancer now, whoever owns it. Raises an ApiError: Conflict if it is gone."""
        with self._expected():
            return BALANCERS.one(self.writers.reader, self.observed.id)

    def write(self, body: Mapping[str, object]) -> None:
        """Write name or labels. Raises Conflict if the load balancer is gone by now, and other ApiErrors."""
        with self._expected():
            self.writers.writer.put(f"{BALANCERS.path}/{self.observed.id}", body)

    def act(
        self,
        name: str,
        body: Mapping[str, Any] | None,
        what: str,
        happened: Callable[[CloudBalancer], bool],
        *,
        is_once: bool = False,
        done: str = "",
    ) -> bool:
        """Have an action of the API done and wait for its end. Returns False if the API says that there is nothing to
        do, by the code ``done``. Raises an ApiError.

        ``what`` names it in messages, and ``happened`` tells from a look whether it was done. ``is_once``: it must not
        be done twice.
        """
        path = f"{BALANCERS.path}/{self.observed.id}/actions/{name}"
        try:
            self.writers.act(path, body, what, lambda: happened(self.look()), is_once=is_once)
        except (NotFound, Invalid) as error:  # also out of an action, which knows no class of errors
            if not done or error.code != done:
                raise
            return False
        return True

    def require_own(self, now: CloudBalancer) -> None:
        """Raise Conflict if the load balancer is not that of the Service that the change serves, or if the process that
        serves another class has taken it over since it was observed."""
        service, snapshot = self.service, self.snapshot
        is_taken = is_of_another_class(now.owner, snapshot) and not is_of_another_class(self.observed.owner, snapshot)
        if now.owner.uid != service.uid or is_not_ours(now.owner, snapshot) or is_taken:
            raise Conflict(f"{name_of(now)} does not have the labels of Service {service.id} any more")

    def require_absent(self, former: str | None = None) -> None:
        """Prove that the Service has no load balancer that the list lacks, if the change rests on that; ``former`` has
        the label of one that was released with it. Labels and name are asked for, and by id those of the record.

        Raises Outdated if there is one, which the next pass sees, Conflict if one has changed, and another ApiError if
        it cannot be told.
        """
        reader, is_needed = self.writers.reader, rests_on_absence(self.change, self.snapshot)
        queries = [self.own_label, {"name": asked_name(self.service)}] if is_needed else []
        queries += [with_label(LABEL_FORMER, former)] if former is not None else []
        for query in queries:
            for found in BALANCERS.found(reader, query):
                self._require_as_listed(found)
        for found in self.writers.unlisted.recorded(reader, self.snapshot) if is_needed else ():
            self._require_as_listed(found)

    @property
    def own_label(self) -> Mapping[str, str]:
        """The query for load balancers with the label of the Service."""
        return with_label(self.snapshot.serving.label, self.service.uid)

    def _require_as_listed(self, found: CloudBalancer) -> None:
        listed = self.snapshot.load_balancers
        before = listed.items.get(found.id) if listed is not None else None
        if before is None:
            self.writers.unlisted.found(found.id)
            raise Outdated(f"the list of load balancers lacks {name_of(found)}, but a lookup finds it")
        is_its_own = found.id == self.change.cloud_id
        if not is_its_own and (before.owner, before.spec.name) != (found.owner, found.spec.name):
            raise Conflict(f"{name_of(found)} now has another name or other owner labels")

    @contextmanager
    def _expected(self) -> Iterator[None]:
        """Raise Conflict if Hetzner says inside the block that the load balancer is not there."""
        try:
            yield
        except NotFound as error:
            raise Conflict(f"{self.name} is gone") from error


def with_label(label: str, value: str) -> Mapping[str, str]:
    """The query for objects with this label."""
    return {"label_selector": f"{label}={value}"}


def services_now(cluster: KubernetesReader) -> Iterator[Service]:
    """All Services. Raises an ApiError, Broken if one of them cannot be read: it may want that load balancer."""
    for page in cluster.list_pages(SERVICES.path, whole_page):
        yield from page


def whole_page(answer: ApiAnswer) -> Collection[Service]:
    page = SERVICES.decode(answer.body)
    if page.nameless or page.unreadable:
        why = next(iter(page.unreadable.values()), "not even the name of one")
        raise Broken(f"the API server's Services could not be read: {one_line(why)}")
    return page.items.values()
