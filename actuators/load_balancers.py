"""Writes to load balancers: one function for each kind of change, and an ``Action`` for each action of the API.

What a load balancer is at the moment of a write is looked up before everything that could harm another owner: before
deletion, adoption and release, before what is sent once more, and before what is put back.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any
from urllib.parse import urlencode

from actuators.http.errors import ApiError, Broken, Conflict, Exhausted, Invalid, NotFound, Outdated, one_line
from actuators.http.hetzner import HetznerReader
from actuators.http.kubernetes import ApiAnswer, KubernetesReader, segment
from actuators.outcome import unexpected_change
from actuators.wire.load_balancer import (
    BALANCERS,
    attachment_body,
    creation_body,
    holds,
    listener_body,
    listener_changes,
    named_target,
    target_body,
)
from actuators.wire.server import SERVERS
from actuators.wire.service import SERVICES
from actuators.writers import Writers, put_back_by
from desired.annotations.choices import Algorithm
from desired.load_balancers.matching import is_in_use
from desired.load_balancers.ownership import (
    Ownership,
    asked_name,
    former_of,
    is_of_another_class,
    is_of_another_cluster,
    ownership,
)
from desired.load_balancers.published import rests_on_absence
from desired.model.load_balancer import (
    Attachment,
    CloudBalancer,
    Identity,
    IpTarget,
    Listener,
    LoadBalancer,
    Owner,
    SelectorTarget,
    ServerTarget,
    Target,
    is_private,
    labels_with,
    spoken,
)
from desired.model.service import Service
from desired.model.snapshot import ServerStatus, Snapshot
from desired.names import LABEL_CLUSTER_UID, LABEL_FORMER
from desired.plan.change import Change
from desired.plan.kinds import ChangeKind
from desired.section import UNMANAGED, Present

_log = logging.getLogger("hcloud-reconciler.actuators")


def service_of(change: Change, snapshot: Snapshot) -> Service:
    """The Service that the change serves. Raises KeyError for a change that was planned from another snapshot."""
    service = snapshot.service(change.owner)
    if service is None:
        raise KeyError(change.owner)
    return service


def balancer_of(change: Change, snapshot: Snapshot) -> CloudBalancer:
    """The load balancer that the change names, as it was observed.

    Raises KeyError for a change that was planned from another snapshot, and for one of a load balancer that was another
    cluster's: no plan has such a change, and not every write reads the load balancer before.
    """
    if change.cloud_id is None or snapshot.load_balancers is None:
        raise KeyError(f"load balancer of {change.key}")
    found = snapshot.load_balancers.items[change.cloud_id]
    if _is_not_ours(found.owner, snapshot):
        raise KeyError(f"{name_of(found)} has the label of another cluster")
    return found


def name_of(balancer: CloudBalancer) -> str:
    """The name of a load balancer in messages."""
    return f"load balancer {balancer.id} {balancer.spec.name}"


def remaining(reader: HetznerReader, balancer: CloudBalancer) -> CloudBalancer:
    """A load balancer that has to exist, as it is at this moment. Raises Conflict when it is gone, and an ApiError when
    that cannot be told."""
    with _expected(balancer):
        return BALANCERS.one(reader, balancer.id)


def require_own(now: CloudBalancer, change: Change, snapshot: Snapshot) -> None:
    """Raises Conflict when the load balancer is not that of the Service that the change serves, or when the process
    that serves another class has taken it over since it was observed."""
    service, observed = service_of(change, snapshot), balancer_of(change, snapshot)
    is_taken = is_of_another_class(now.owner, snapshot) and not is_of_another_class(observed.owner, snapshot)
    if now.owner.uid != service.uid or _is_not_ours(now.owner, snapshot) or is_taken:
        raise Conflict(f"{name_of(now)} does not have the labels of Service {service.id} any more")


def require_absent(writers: Writers, change: Change, snapshot: Snapshot, former: str | None = None) -> None:
    """Prove that the Service has no load balancer that the list lacks, if the change rests on that; ``former`` has the
    label of one that was released with it. Labels and name are asked for, and by id the load balancers of the record.

    Raises Outdated if there is one, which the next pass sees, Conflict if one has changed, and another ApiError if it
    cannot be told.
    """
    service, is_needed = service_of(change, snapshot), rests_on_absence(change, snapshot)
    queries = [_with_label(snapshot.serving.label, service.uid)] if is_needed else []
    queries += [{"name": asked_name(service)}] if is_needed else []
    queries += [_with_label(LABEL_FORMER, former)] if former is not None else []
    for query in queries:
        for found in BALANCERS.found(writers.reader, query):
            _require_as_listed(found, change, writers, snapshot)
    for found in writers.unlisted.recorded(writers.reader, snapshot) if is_needed else ():
        _require_as_listed(found, change, writers, snapshot)


def _require_as_listed(found: CloudBalancer, change: Change, writers: Writers, snapshot: Snapshot) -> None:
    before = snapshot.load_balancers.items.get(found.id) if snapshot.load_balancers is not None else None
    if before is None:
        writers.unlisted.found(found.id)
        raise Outdated(f"the list of load balancers lacks {name_of(found)}, but a lookup finds it")
    is_its_own = found.id == change.cloud_id
    if not is_its_own and (before.owner, before.spec.name) != (found.owner, found.spec.name):
        raise Conflict(f"{name_of(found)} now has another name or other owner labels")


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


def _is_not_ours(owner: Owner, snapshot: Snapshot) -> bool:
    """Whether the labels name a cluster that is not known to be this one, and has not released it."""
    is_unknown = ownership(owner.cluster_uid, snapshot) is Ownership.UNKNOWN
    return is_unknown or is_of_another_cluster(owner, snapshot)


@contextmanager
def _expected(balancer: CloudBalancer) -> Iterator[None]:
    """Raises Conflict where Hetzner says inside the block that the load balancer is not there."""
    try:
        yield
    except NotFound as error:
        raise Conflict(f"{name_of(balancer)} is gone") from error


def _with_label(label: str, value: str) -> Mapping[str, str]:
    return {"label_selector": f"{label}={value}"}


_ABOUT_TARGETS = frozenset(
    {
        "cloud_resource_ip_not_allowed",
        "ip_not_assigned_to_server",
        "ip_not_in_vswitch_subnet",
        "ip_not_owned",
        "load_balancer_not_attached_to_network",
        "load_balancer_public_interface_disabled",
        "missing_ipv4",
        "network_has_no_vswitch_subnet",
        "resolve_cloud_private_targets_error",
        "resolve_cloud_public_targets_error",
        "server_not_attached_to_network",
        "target_already_defined",
    }
)
"""Error codes with which Hetzner refuses a creation because of one of its targets, old names included: without them
nothing else is tried."""
_ABOUT_PRIMARY_IPS = frozenset(
    {"primary_ip_assigned", "primary_ip_blocked", "primary_ip_location_mismatch", "primary_ip_version_mismatch"}
)
"""Error codes with which Hetzner refuses a Primary IP: it is asked for, so nothing is created without it."""
_ABOUT_THE_NETWORK = frozenset({"ip_not_available", "no_subnet_available"})
"""Error codes with which Hetzner refuses an attachment: the load balancer is attached by itself, or fails by itself."""
_PORT_IN_USE = "source_port_already_used"
_LIMIT = "resource_limit_exceeded"
_OF_THE_PROJECT = ("load balancer limit", "load_balancer_limit")
"""Words of a limit that any load balancer would exceed."""
_OF_THE_WHOLE = ("location", "load balancer type", "network")
"""Things without which there is no load balancer, where one of them is not found."""
_OF_PARTS = ("server", "target", "service", "certificate")
_REMEDY = (
    "ask Hetzner for a higher limit, or delete load balancers: `reconcile orphans` lists those of this cluster "
    "that no Service wants"
)


def create(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Create the load balancer of ``after`` and wait until that is done. Raises an ApiError.

    When it is refused it is tried once without its targets, and once without its services, whatever the code, unless
    that is known to be about something else; and without its network where that is refused. What can be added is added
    one by one in the next round; what is refused again fails by itself, and does not keep the Service from its address.

    If it is not known whether a request was carried out, it is sent once more only when no load balancer has the
    Service's label; nor is a lesser one sent where there is one. For a Service that may have had a load balancer
    before, or for which a released one may exist, its absence is proven first (``require_absent``).
    """
    match change.before, change.after:
        case None, LoadBalancer() as wanted:
            service = service_of(change, snapshot)
        case _:
            raise unexpected_change(change)
    body = creation_body(wanted)
    require_absent(writers, change, snapshot, wanted.former)
    what = f"creation of load balancer {wanted.name}"

    def happened() -> bool:
        return bool(BALANCERS.found(writers.reader, _with_label(snapshot.serving.label, service.uid)))

    while (part := _refused_part(writers, body, what, happened)) is not None and not happened():
        body = {name: value for name, value in body.items() if name != part}


def _refused_part(writers: Writers, body: Mapping[str, Any], what: str, happened: Callable[[], bool]) -> str | None:
    """Send the creation and wait until it is done: None. The part of it to leave out when it was refused with that; any
    other error is raised."""
    try:
        writers.act(BALANCERS.path, body, what, happened, is_once=True)
    except (Invalid, NotFound) as refusal:
        part = _part_in_the_way(refusal, body)
        if part is None:
            raise _for_people(refusal) from None
        _log.info("%s is refused with its %s, and tried without: %s", what, part, refusal)
        return part
    return None


def _part_in_the_way(refusal: ApiError, body: Mapping[str, Any]) -> str | None:
    """The part of the request without which it may be accepted, first the one that the refusal is about; None when it
    would be refused as well, and when it was accepted and failed later.

    Hetzner's documentation names hardly any code of targets and services, and it grows: whatever is not known to be
    about something else is tried without either.
    """
    if refusal.status is None or (isinstance(refusal, Exhausted) and refusal.code != _LIMIT):
        return None
    if refusal.code in _ABOUT_PRIMARY_IPS or _is_about_all_of_it(refusal):
        return None
    if refusal.code in _ABOUT_THE_NETWORK or (refusal.code == _LIMIT and "network" in refusal.said):
        parts: tuple[str, ...] = ("network",)
    elif refusal.code in _ABOUT_TARGETS or "target" in refusal.said:
        parts = ("targets",)
    elif refusal.code == _PORT_IN_USE or any(word in refusal.said for word in _OF_PARTS[2:]):
        parts = ("services", "targets")
    else:
        parts = ("targets", "services")
    # With its public interface off, it could be reached by nothing without the network.
    needed = {"network"} if body.get("public_interface") is False else set()
    return next((part for part in parts if body.get(part) and part not in needed), None)


def _is_about_all_of_it(refusal: ApiError) -> bool:
    """Whether it says that it would be the same for any load balancer of the project, or of this type and place."""
    if isinstance(refusal, NotFound):
        return any(word in refusal.said for word in _OF_THE_WHOLE) and not any(
            word in refusal.said for word in _OF_PARTS
        )
    return refusal.code == _LIMIT and any(word in refusal.said for word in _OF_THE_PROJECT)


def _for_people(refusal: ApiError) -> ApiError:
    """The refusal, of the project's limit with what a person can do. The limit of what one load balancer may have is no
    end of the project's allowance: others may be created."""
    if refusal.code != _LIMIT:
        return refusal
    if any(part in refusal.said for part in (*_OF_PARTS[1:], "network")):
        return Invalid(str(refusal), status=refusal.status, code=refusal.code)
    return Exhausted(f"{refusal}; {_REMEDY}", status=refusal.status, code=refusal.code)


def adopt(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Label the load balancer as the Service's own.

    Raises Conflict when its owner is not that of ``before``, or when another client has begun to use what was empty and
    unowned, or if the published load balancer exists although the list lacks it.
    """
    match change.before, change.after:
        case Owner() as before, Owner() as after if after.uid is not None:
            balancer = balancer_of(change, snapshot)
        case _:
            raise unexpected_change(change)
    now = _unchanged(writers, balancer, before)
    if _is_not_ours(now.owner, snapshot):
        raise Conflict(f"{name_of(balancer)} now has the label of another cluster")
    if after.adopted is not None and is_in_use(now) and not is_in_use(balancer):
        raise Conflict(f"{name_of(balancer)} is now in use")
    require_absent(writers, change, snapshot)
    _write(writers, balancer, {"labels": labels_with(now.spec.labels, after)})


def write_identity(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Give the load balancer the name of ``after`` and the labels that it adds, and remove those that it lacks. A name
    that does not differ is not written. Raises Conflict when it is not the Service's own any more, or when another one
    has the name."""
    match change.before, change.after:
        case Identity() as before, Identity() as after:
            balancer = balancer_of(change, snapshot)
        case _:
            raise unexpected_change(change)
    now = remaining(writers.reader, balancer)
    require_own(now, change, snapshot)
    added = {key: value for key, value in after.labels.items() if before.labels.get(key) != value}
    kept = {key: value for key, value in now.spec.labels.items() if key in after.labels or key not in before.labels}
    name = {"name": after.name} if after.name != before.name else {}
    uid = snapshot.cluster_uid
    cluster = {LABEL_CLUSTER_UID: uid.value} if isinstance(uid, Present) else {}
    _write(writers, balancer, {**name, "labels": {**kept, **added, **cluster}})


def retain(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Release the load balancer with its addresses: it is the Service's no more, and its labels say since when, and
    whose it was.

    Raises Conflict when its owner is not that of ``before``.
    """
    match change.before, change.after:
        case Owner() as before, Owner(uid=None) as after if after.released:
            balancer = balancer_of(change, snapshot)
        case _:
            raise unexpected_change(change)
    now = _unchanged(writers, balancer, before)
    _write(writers, balancer, {"labels": labels_with(now.spec.labels, after)})


def _unchanged(writers: Writers, balancer: CloudBalancer, before: Owner) -> CloudBalancer:
    """The load balancer, whose labels still name the owner that they named when it was observed."""
    now = remaining(writers.reader, balancer)
    if now.owner != replace(before, balancer_id=None):
        raise Conflict(f"{name_of(balancer)} now has other owner labels")
    return now


def _write(writers: Writers, balancer: CloudBalancer, body: Mapping[str, object]) -> None:
    """Write name or labels. Raises Conflict when the load balancer is gone by now, and other ApiErrors."""
    with _expected(balancer):
        writers.writer.put(f"{BALANCERS.path}/{balancer.id}", body)


def delete(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Delete the load balancer and wait until it is gone; done when it is gone already.

    Raises Conflict when it is not the Service's own any more, or is now protected against deletion; for one that was
    released before, when it is not released in the same way any more; when a Service wants it by now. The Service is
    looked at last: once the addresses are gone nothing brings them back.
    """
    match change.before, change.after:
        case LoadBalancer(), None:
            balancer = balancer_of(change, snapshot)
        case _:
            raise unexpected_change(change)
    try:
        now = BALANCERS.one(writers.reader, balancer.id)
    except NotFound:
        return
    if change.is_of_no_service:
        _require_as_observed(now, balancer)
    else:
        require_own(now, change, snapshot)
    if now.is_protected:
        raise Conflict(f"{name_of(balancer)} is now protected against deletion")
    _require_unclaimed(writers.cluster, change, balancer, snapshot)
    try:
        writers.actions.wait(
            writers.writer.delete(f"{BALANCERS.path}/{balancer.id}"), f"deletion of {name_of(balancer)}"
        )
    except NotFound:
        return
    except Invalid as error:
        if error.code == "protected":
            raise Conflict(str(error), status=error.status, code=error.code) from error
        raise


def _require_as_observed(now: CloudBalancer, balancer: CloudBalancer) -> None:
    """Raises Conflict when the labels name another owner than when it was observed, or another time of release."""
    if (now.owner, now.owner.released) != (balancer.owner, balancer.owner.released):
        raise Conflict(f"{name_of(balancer)} now has other owner labels")


def _require_unclaimed(cluster: KubernetesReader, change: Change, balancer: CloudBalancer, snapshot: Snapshot) -> None:
    """Check that no Service wants the load balancer that is about to be deleted: its own, or the one of its namespace
    and name that would get it back. Between the observation and the deletion lie queues, retries and other changes.

    A Service that was observed to want one is no obstacle: the guards have judged the deletion beside it. Raises
    Conflict when another one wants it, of whatever class if it is no Service's, and an ApiError when it cannot be told.
    """
    known = snapshot.services.items if snapshot.services is not None else {}
    wants: Callable[[Service], bool] = (
        attrgetter("asks_for_balancer") if change.is_of_no_service else snapshot.serving.wants
    )
    for service in filter(wants, _candidates(cluster, change, balancer)):
        before = known.get(service.id)
        if before is None or before.uid != service.uid or not wants(before):
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
    return (each for each in services_now(cluster) if each.uid == owner.uid or former_of(each) == owner.former)


@dataclass(frozen=True, slots=True)
class _Action:
    """What is asked of the API, and how a look at the load balancer tells that it was done."""

    name: str
    """In the API."""
    body: Mapping[str, Any] | None
    what: str
    """In messages."""
    happened: Callable[[CloudBalancer], bool]
    is_once: bool = False
    """Whether it must not be done twice."""
    done: str = ""
    """The code of a refusal which says that there is nothing to do; "" for none."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """The load balancer of which a change writes a part, as it was observed."""

    writers: Writers
    change: Change
    snapshot: Snapshot
    observed: CloudBalancer

    @property
    def name(self) -> str:
        return name_of(self.observed)

    def look(self) -> CloudBalancer:
        """The load balancer as it is at this moment. Raises an ApiError: Conflict when it is not the Service's own any
        more, NotFound when it is gone."""
        now = BALANCERS.one(self.writers.reader, self.observed.id)
        require_own(now, self.change, self.snapshot)
        return now

    def do(self, action: _Action) -> bool:
        """Have the action done and wait for its end. Returns False when the API says that there is nothing to do.
        Raises an ApiError."""
        path = f"{BALANCERS.path}/{self.observed.id}/actions/{action.name}"

        def happened() -> bool:
            return action.happened(self.look())

        try:
            self.writers.act(path, action.body, action.what, happened, is_once=action.is_once)
        except (NotFound, Invalid) as error:  # also out of an action, which knows no class of errors
            if not action.done or error.code != action.done:
                raise
            return False
        return True


def write_part(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Give the type, the algorithm, a reverse DNS name, the public interface or a listener the value of ``after``.

    Of a listener that changes only what differs is sent, so that what was not asked for stays; one that is added is not
    sent twice, nor to what another owner has by now; and the removal of one that is not there any more is done. Raises
    an ApiError.
    """
    balancer = balancer_of(change, snapshot)
    _Subject(writers, change, snapshot, balancer).do(_action_of(change, balancer))


def _action_of(change: Change, balancer: CloudBalancer) -> _Action:
    """The one action that a part takes. Raises TypeError for sides that are not of the change's kind."""
    of = f"of {name_of(balancer)}"
    match change.kind, change.before, change.after:
        case ChangeKind.LB_ALGORITHM, _, Algorithm() as algorithm:
            return _Action(
                "change_algorithm",
                {"type": algorithm.value},
                f"change of the algorithm {of}",
                lambda now: now.spec.algorithm is algorithm,
            )
        case ChangeKind.LB_TYPE, _, str() as name if not isinstance(name, Algorithm):
            return _Action(
                "change_type",
                {"load_balancer_type": name},
                f"change of the type {of}",
                lambda now: now.spec.type == name,
            )
        case ChangeKind.LB_PUBLIC_INTERFACE, _, bool() as is_on:
            name = "enable_public_interface" if is_on else "disable_public_interface"
            return _Action(name, None, f"{name.replace('_', ' ')} {of}", lambda now: now.spec.public_interface is is_on)
        case ChangeKind.LB_RDNS, _, str() | None as pointer:  # None resets it to Hetzner's default
            is_ipv4 = change.key.parts[-1] == "ipv4"
            ip = str(balancer.ipv4 if is_ipv4 else balancer.ipv6)
            return _Action(
                "change_dns_ptr",
                {"ip": ip, "dns_ptr": pointer},
                f"change of the reverse name of {ip} {of}",
                lambda now: pointer == (now.spec.ipv4_rdns if is_ipv4 else now.spec.ipv6_rdns),
            )
        case ChangeKind.LB_LISTENER, None, Listener(port=port) as after:
            return _Action(
                "add_service",
                listener_body(after),
                f"addition of port {port} {of}",
                lambda now: port in now.spec.listeners,
                is_once=True,
            )
        case ChangeKind.LB_LISTENER, Listener() as before, Listener(port=port) as after if before.port == port:
            changes = listener_changes(before, after)
            return _Action(
                "update_service",
                changes,
                f"change of port {port} {of}",
                lambda now: port in now.spec.listeners and holds(now.spec.listeners[port], changes),
            )
        case ChangeKind.LB_LISTENER, Listener(port=port), None:
            return _Action(
                "delete_service",
                {"listen_port": port},
                f"removal of port {port} {of}",
                lambda now: port not in now.spec.listeners,
                done="not_found",
            )
    raise unexpected_change(change)


def write_target(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Add or remove a target, or switch a server to its other address. Raises an ApiError.

    An addition of a target that exists is done, and so is a removal of one that does not. Targets that others have
    added are planned only where a move in a network takes them away, or brings them back.
    """
    subject = _Subject(writers, change, snapshot, balancer_of(change, snapshot))
    match change.before, change.after:
        case None, (ServerTarget() | IpTarget() | SelectorTarget()) as after:
            _add(subject, after)
        case (ServerTarget() | IpTarget() | SelectorTarget()) as before, None:
            _take(subject, before)
        case ServerTarget() as before, ServerTarget() as after if before.server_id == after.server_id:
            _exchange(subject, before, after)
        case IpTarget() as before, IpTarget() as after:
            _swap(subject, before, after)
        case _:
            raise unexpected_change(change)


def _exchange(subject: _Subject, before: ServerTarget, after: ServerTarget) -> None:
    """Switch a server to its other address.

    Hetzner's documentation does not say whether a server may be two targets for a moment. It is tried only where the
    load balancer would otherwise be without any target. A removal names the server and neither address, so that the
    load balancer is looked at before, and what is there by then decides: what another process has switched is not
    interrupted once more, what others have left as the only target does not go first, and what has another owner by
    now is left alone.
    """
    now = subject.look().targets
    if before not in now:
        if after not in now:
            _add(subject, after)
        return
    address = _address(subject, before)
    beside = after in now or (len(now) == 1 and _add(subject, after))
    if beside and address is not None:
        _remove(subject, before, address)
        return
    _swap(subject, before, after)


def _swap(subject: _Subject, before: Target, after: Target) -> None:
    """Remove one target and add another: what was there comes back when the new one is refused."""
    _remove(subject, before)
    with put_back_by(lambda: _put_back(subject, before)):
        _add(subject, after)


def _take(subject: _Subject, target: Target) -> None:
    """Remove one target; a server that is two targets keeps the other."""
    is_twin = isinstance(target, ServerTarget) and _twin(target) in subject.observed.targets
    _remove(subject, target, _address(subject, target) if is_twin else None)


def _put_back(subject: _Subject, target: Target) -> None:
    """Add a target again that was removed for the sake of what was then refused, unless another owner has the load
    balancer by now; a failure is logged, as the next plan sees that it is missing."""
    try:
        subject.look()
        _add(subject, target)
    except ApiError as error:
        shown = target.ip if isinstance(target, IpTarget) else spoken(target)
        _log.warning("%s is no target of %s for now: %s", shown, subject.name, error)


def _add(subject: _Subject, target: Target) -> bool:
    """Add a target. Returns False when the API says that it, or the server by another address, is one already. Raises
    Outdated when its server has gone since it was listed."""
    what = f"addition of target {target.name} to {subject.name}"
    action = _Action(
        "add_target",
        target_body(target),
        what,
        lambda now: target in now.targets,
        is_once=True,
        done="target_already_defined",
    )
    try:
        return subject.do(action)
    except Exhausted:
        raise
    except (NotFound, Invalid) as error:  # of a server that is gone the code is that of any bad input
        if isinstance(target, ServerTarget) and _is_gone(subject, target):
            raise Outdated(f"server {target.server_id} is gone, and is no target of {subject.name}") from error
        raise


def _is_gone(subject: _Subject, target: ServerTarget) -> bool:
    """Whether Hetzner says by now that the server of the target does not exist, or is being deleted."""
    try:
        return SERVERS.one(subject.writers.reader, target.server_id).status is ServerStatus.DELETING
    except NotFound:
        return True
    except ApiError:  # that is not known, and the refusal is
        return False


def _remove(subject: _Subject, target: Target, address: str | None = None) -> None:
    """Remove a target, unless it is gone; a server is named by ``address`` where one is given."""
    what = f"removal of target {target.name} from {subject.name}"
    action = _Action(
        "remove_target",
        named_target(target, address),
        what,
        lambda now: target not in now.targets,
        done="not_found",
    )
    try:
        subject.do(action)
    except Exhausted:
        raise
    except Invalid:  # a server takes its targets along, and which code that has is not documented
        if not _is_removed(subject, target):
            raise


def _is_removed(subject: _Subject, target: Target) -> bool:
    """Whether Hetzner says by now that the load balancer does not have the target."""
    try:
        return target not in subject.look().targets
    except ApiError:  # that is not known, and the refusal is
        return False


def _twin(target: ServerTarget) -> ServerTarget:
    return replace(target, use_private_ip=not target.use_private_ip)


def _address(subject: _Subject, target: Target) -> str | None:
    """The address by which a target reaches its server; None when it is not known."""
    server = subject.snapshot.servers.items.get(target.server_id) if isinstance(target, ServerTarget) else None
    if server is None or not isinstance(target, ServerTarget):
        return None
    networks = {place.network_id for place in subject.observed.attachments}
    private = (ip for network, ip in server.private_ips if network in networks)
    address = next(private, None) if target.use_private_ip else target.ipv6 or server.ipv4
    return None if address is None else str(address)


def write_attachment(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Attach the load balancer to a network, detach it, or give it another address there. Raises an ApiError.

    For another address it is detached and attached again. Targets that are reached through the network are removed
    before it is detached, whichever client added them: Hetzner would refuse, or drop them. The changes that follow add
    again what is to stay. When the detachment is refused, what was removed for it is added again at once; when the new
    address is refused, the load balancer gets its old address back, and so do its targets. Before anything is sent once
    more, or put back, the owner of the load balancer is checked.
    """
    subject = _Subject(writers, change, snapshot, balancer_of(change, snapshot))
    match change.before, change.after:
        case None, Attachment() as after:
            _attach(subject, after)
        case Attachment() as before, None:
            _leave(_as_it_is(subject), before)
        case Attachment() as before, Attachment() as after if before.network_id == after.network_id:
            _move(_as_it_is(subject), before, after)
        case _:
            raise unexpected_change(change)


def _as_it_is(subject: _Subject) -> _Subject:
    """The load balancer with its present targets: changes before this one may have given some of them another address.
    Raises Conflict when another client has added a target meanwhile that would be lost without approval."""
    now, observed = subject.look(), subject.observed
    news = next((target for target in _reached(now.targets) if target not in observed.targets), None)
    if news is not None:
        raise Conflict(f"{subject.name} now has {spoken(news)} as a target, which would be lost")
    return replace(subject, observed=replace(observed, targets=now.targets))


def _move(subject: _Subject, before: Attachment, after: Attachment) -> None:
    _leave(subject, before)
    with put_back_by(lambda: _come_back(subject, before)):
        # Reads have shown it attached for a while after that.
        subject.writers.actions.wait_until(lambda: _has_left(subject.look(), before), _departure(subject, before))
        _attach(subject, after)


def _come_back(subject: _Subject, place: Attachment) -> None:
    try:
        subject.look()
        _attach(subject, place)
    except ApiError as error:
        _log.warning("%s is not in network %s for now: %s", subject.name, place.network_id, error)
        return
    _put_all_back(subject)


def _put_all_back(subject: _Subject) -> None:
    for target in _reached(subject.observed.targets):
        _put_back(subject, target)


def _attach(subject: _Subject, place: Attachment) -> None:
    """Attach; done when it is in that network with that address already, a Conflict when it is in another network
    (Hetzner allows one)."""
    what = f"attachment of {subject.name} to network {place.network_id}"
    is_new = subject.do(
        _Action(
            "attach_to_network",
            attachment_body(place),
            what,
            lambda now: _is_in(now, place),
            is_once=True,
            done="load_balancer_already_attached",
        )
    )
    if is_new:
        return
    now = subject.look()
    if not now.attachments:
        raise Conflict(f"{subject.name}: Hetzner reports it as attached, but it is not visible yet")
    if not _is_in(now, place):
        raise Conflict(f"{subject.name} is now in another network, or has another address there")


def _leave(subject: _Subject, place: Attachment) -> None:
    """Remove what is reached through the network, and detach; done when it is detached already."""
    with put_back_by(lambda: _put_all_back(subject)):
        for target in _reached(subject.observed.targets):
            _take(subject, target)
        try:
            subject.do(
                _Action(
                    "detach_from_network",
                    {"network": place.network_id},
                    _departure(subject, place),
                    lambda now: _has_left(now, place),
                )
            )
        except NotFound:
            if not _has_left(subject.look(), place):
                raise


def _reached(targets: Iterable[Target]) -> tuple[Target, ...]:
    """Those that are reached through the network, selectors and addresses that others have added included."""
    return tuple(sorted(filter(is_private, targets), key=str))


def _has_left(now: CloudBalancer, place: Attachment) -> bool:
    return not _is_in(now, Attachment(place.network_id))


def _departure(subject: _Subject, place: Attachment) -> str:
    return f"detachment of {subject.name} from network {place.network_id}"


def _is_in(now: CloudBalancer, place: Attachment) -> bool:
    return any(there.network_id == place.network_id and place.ip in (UNMANAGED, there.ip) for there in now.attachments)


BALANCER_ACTUATORS: Mapping[str, Callable[[Writers, Change, Snapshot], None]] = {
    ChangeKind.LB_CREATE: create,
    ChangeKind.LB_ADOPT: adopt,
    ChangeKind.LB_IDENTITY: write_identity,
    ChangeKind.LB_TYPE: write_part,
    ChangeKind.LB_ALGORITHM: write_part,
    ChangeKind.LB_RDNS: write_part,
    ChangeKind.LB_NETWORK: write_attachment,
    ChangeKind.LB_PUBLIC_INTERFACE: write_part,
    ChangeKind.LB_LISTENER: write_part,
    ChangeKind.LB_TARGET: write_target,
    ChangeKind.LB_RETAIN: retain,
    ChangeKind.LB_DELETE: delete,
}
"""Kind → its actuator, in the order of the table of kinds. Each raises an ApiError when it could not, TypeError for
sides that are not of its kind, and KeyError for a load balancer that was not observed."""
