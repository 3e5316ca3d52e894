"""Writes to load balancers: one function for each kind of change and its sides."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from ipaddress import IPv4Address
from operator import attrgetter
from typing import Any
from urllib.parse import urlencode

from actuators.balancer_task import BalancerTask, is_not_ours, services_now, whole_page, with_label
from actuators.http.errors import ApiError, Conflict, Exhausted, Invalid, NotFound, Outdated
from actuators.http.kubernetes import segment
from actuators.sides import by_sides, expect
from actuators.wire.certificate import CERTIFICATES
from actuators.wire.certificate import creation_body as certificate_body
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
from actuators.writers import put_back_by
from desired.annotations.choices import Algorithm
from desired.load_balancers.matching import is_in_use
from desired.load_balancers.ownership import former_of
from desired.model.load_balancer import (
    Attachment,
    CloudBalancer,
    Identity,
    IpTarget,
    Listener,
    LoadBalancer,
    ManagedCertificate,
    Owner,
    ServerTarget,
    Target,
    is_private,
    labels_with,
    spoken,
)
from desired.model.service import Service
from desired.model.snapshot import ServerStatus
from desired.names import LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from desired.plan.kinds import ChangeKind
from desired.section import UNMANAGED, Present, Unmanaged

_log = logging.getLogger("hcloud-reconciler.actuators")

_LIMIT = "resource_limit_exceeded"
_TRIED_WITHOUT: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("primary_ip_assigned", "primary_ip_blocked", "primary_ip_location_mismatch", "primary_ip_version_mismatch"), ()
    ),
    **dict.fromkeys(("ip_not_available", "no_subnet_available"), ("network",)),
    **dict.fromkeys(
        (
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
            "target",
        ),
        ("targets",),
    ),
    **dict.fromkeys(("source_port_already_used", "service", "certificate"), ("services", "targets")),
    "": ("targets", "services"),
}
"""Code of a refused creation, old names included, or a word of it → the parts that it may be about, without which it is
tried; the first row that fits. A Primary IP is asked for, so nothing is created without it; what is left out joins or
fails by itself in the next pass. Hetzner's documentation names hardly any code of targets and services, and it grows,
so that whatever is not known to be about something else is tried without either."""
_OF_THE_PROJECT = ("load balancer limit", "load_balancer_limit")
"""Words of a limit that any load balancer would exceed."""
_OF_THE_WHOLE = ("location", "load balancer type", "network")
"""Things without which there is no load balancer, where one of them is not found."""
_OF_PARTS = ("target", "service", "certificate")
_REMEDY = (
    "ask Hetzner for a higher limit, or delete load balancers: `reconcile orphans` lists those of this cluster "
    "that no Service wants"
)


def create(task: BalancerTask, _before: None, wanted: LoadBalancer) -> None:
    """Create the load balancer of ``wanted`` and wait until that is done. Raises an ApiError.

    When it is refused it is tried once without its targets, and once without its services, whatever the code, unless
    that is known to be about something else; and without its network where that is refused. What can be added is added
    one by one in the next pass; what is refused again fails by itself, and does not keep the Service from its address.

    If it is not known whether a request was carried out, it is sent once more only when no load balancer has the
    Service's label; nor is a lesser one sent where there is one. For a Service that may have had a load balancer
    before, or for which a released one may exist, its absence is proven first (``require_absent``).
    """
    reader, label, body = task.writers.reader, task.own_label, creation_body(wanted)
    task.require_absent(wanted.former)
    what = f"creation of load balancer {wanted.name}"

    def happened() -> bool:
        return bool(BALANCERS.found(reader, label))

    while True:
        try:
            task.writers.act(BALANCERS.path, body, what, happened, is_once=True)
        except (Invalid, NotFound) as refusal:
            part = _part_in_the_way(refusal, body)
            if part is None:
                raise _for_people(refusal) from None
            _log.info("%s is refused with its %s, and tried without: %s", what, part, refusal)
        else:
            return
        if happened():
            return
        del body[part]


def _part_in_the_way(refusal: ApiError, body: Mapping[str, Any]) -> str | None:
    """The part of the request without which it may be accepted, first the one that the refusal is about; None if it
    would be refused as well, and if it was accepted and failed later."""
    code, said = refusal.code or "", refusal.said
    is_limit = code == _LIMIT
    if refusal.status is None or (isinstance(refusal, Exhausted) and not is_limit):
        return None
    if is_limit and _says(said, _OF_THE_PROJECT):
        return None
    if isinstance(refusal, NotFound) and _says(said, _OF_THE_WHOLE) and not _says(said, ("server", *_OF_PARTS)):
        return None
    about = (parts for word, parts in _TRIED_WITHOUT.items() if word == code or word in said)
    parts = ("network",) if is_limit and "network" in said else next(about)
    # With its public interface off, it could be reached by nothing without the network.
    needed = {"network"} if body.get("public_interface") is False else set()
    return next((part for part in parts if body.get(part) and part not in needed), None)


def _says(said: str, words: Iterable[str]) -> bool:
    return any(word in said for word in words)


def _for_people(refusal: ApiError) -> ApiError:
    """The refusal, of the project's limit with what a person can do. The limit of what one load balancer may have is no
    end of the project's allowance: others may be created."""
    if refusal.code != _LIMIT:
        return refusal
    if _says(refusal.said, (*_OF_PARTS, "network")):
        return Invalid(str(refusal), status=refusal.status, code=refusal.code)
    return Exhausted(f"{refusal}; {_REMEDY}", status=refusal.status, code=refusal.code)


def adopt(task: BalancerTask, before: Owner, after: Owner) -> None:
    """Label the load balancer as the Service's own.

    Raises Conflict if its owner is not that of ``before``, or if another client has begun to use what was empty and
    unowned, or if the published load balancer exists although the list lacks it.
    """
    expect(task.change, fits=after.uid is not None)
    now = _unchanged(task, before)
    if is_not_ours(now.owner, task.snapshot):
        raise Conflict(f"{task.name} now has the label of another cluster")
    if after.adopted is not None and is_in_use(now) and not is_in_use(task.observed):
        raise Conflict(f"{task.name} is now in use")
    task.require_absent()
    task.write({"labels": labels_with(now.spec.labels, after)})


def write_identity(task: BalancerTask, before: Identity, after: Identity) -> None:
    """Give the load balancer the name of ``after`` and the labels that it adds, and remove those that it lacks. A name
    that does not differ is not written. Raises Conflict if it is not the Service's own any more, or if another one has
    the name."""
    now = task.remaining()
    task.require_own(now)
    added = {key: value for key, value in after.labels.items() if before.labels.get(key) != value}
    kept = {key: value for key, value in now.spec.labels.items() if key in after.labels or key not in before.labels}
    name = {"name": after.name} if after.name != before.name else {}
    uid = task.snapshot.cluster_uid
    cluster = {LABEL_CLUSTER_UID: uid.value} if isinstance(uid, Present) else {}
    task.write({**name, "labels": {**kept, **added, **cluster}})


def retain(task: BalancerTask, before: Owner, after: Owner) -> None:
    """Release the load balancer with its addresses: it is the Service's no more, and its labels say since when, and
    whose it was. Raises Conflict if its owner is not that of ``before``."""
    expect(task.change, fits=after.uid is None and bool(after.released))
    now = _unchanged(task, before)
    task.write({"labels": labels_with(now.spec.labels, after)})


def _unchanged(task: BalancerTask, before: Owner) -> CloudBalancer:
    """The load balancer, whose labels still name the owner that they named when it was observed."""
    now = task.remaining()
    if now.owner != replace(before, balancer_id=None):
        raise Conflict(f"{task.name} now has other owner labels")
    return now


def delete(task: BalancerTask, _before: LoadBalancer, _after: None) -> None:
    """Delete the load balancer and wait until it is gone; done if it is gone already.

    Raises Conflict if it is not the Service's own any more, or is now protected against deletion; for one that was
    released before, if it is not released in the same way any more; if a Service wants it by now. The Service is
    looked at last: once the addresses are gone nothing brings them back.
    """
    writers, observed = task.writers, task.observed
    path = f"{BALANCERS.path}/{observed.id}"
    try:
        now = BALANCERS.one(writers.reader, observed.id)
    except NotFound:
        return
    if not task.change.is_of_no_service:
        task.require_own(now)
    elif (now.owner, now.owner.released) != (observed.owner, observed.owner.released):
        raise Conflict(f"{task.name} now has other owner labels")
    if now.is_protected:
        raise Conflict(f"{task.name} is now protected against deletion")
    _require_unclaimed(task)
    try:
        writers.actions.wait(writers.writer.delete(path), f"deletion of {task.name}")
    except NotFound:
        return
    except Invalid as error:
        if error.code == "protected":
            raise Conflict(str(error), status=error.status, code=error.code) from error
        raise


def _require_unclaimed(task: BalancerTask) -> None:
    """Check that no Service wants the load balancer that is about to be deleted: its own, or the one of its namespace
    and name that would get it back. Between the observation and the deletion lie queues, retries and other changes.

    A Service that was observed to want one is no obstacle: the guards have judged the deletion beside it. Raises
    Conflict if another one wants it, of whatever class if it is no Service's, and an ApiError if it cannot be told.
    """
    snapshot, is_of_no_service = task.snapshot, task.change.is_of_no_service
    known = snapshot.services.items if snapshot.services is not None else {}
    wants: Callable[[Service], bool] = attrgetter("asks_for_balancer") if is_of_no_service else snapshot.serving.wants
    for service in filter(wants, _candidates(task)):
        before = known.get(service.id)
        if before is None or before.uid != service.uid or not wants(before):
            raise Conflict(f"Service {service.id} now wants {task.name}")


def _candidates(task: BalancerTask) -> Iterator[Service]:
    """The Services that the load balancer may be of. All Services are listed only where no label has the name of one:
    it was too long for a label, or the Service vanished."""
    cluster, owner = task.writers.cluster, task.observed.owner
    namespace, dot, name = (owner.former or "").partition(".")
    if not task.change.is_of_no_service:
        namespace, dot, name = task.change.owner.name.partition("/")
    if dot:
        query = urlencode({"fieldSelector": f"metadata.name={name}"})  # roles allow to list Services, and no GET of one
        return iter(whole_page(cluster.get(f"/api/v1/namespaces/{segment(namespace)}/services?{query}")))
    return (each for each in services_now(cluster) if each.uid == owner.uid or former_of(each) == owner.former)


def change_type(task: BalancerTask, _before: object, after: str) -> None:
    """Change the type. Raises an ApiError, as all that follow."""
    expect(task.change, fits=not isinstance(after, Algorithm))
    body, what = {"load_balancer_type": after}, f"change of the type of {task.name}"
    task.act("change_type", body, what, lambda now: now.spec.type == after)


def change_algorithm(task: BalancerTask, _before: object, after: Algorithm) -> None:
    """Change the algorithm."""
    body, what = {"type": after.value}, f"change of the algorithm of {task.name}"
    task.act("change_algorithm", body, what, lambda now: now.spec.algorithm is after)


def change_reverse_name(task: BalancerTask, _before: object, after: str | None) -> None:
    """Change the reverse DNS name of one address; None resets it to Hetzner's default."""
    is_ipv4 = task.change.key.parts[-1] == "ipv4"
    ip = str(task.observed.ipv4 if is_ipv4 else task.observed.ipv6)
    task.act(
        "change_dns_ptr",
        {"ip": ip, "dns_ptr": after},
        f"change of the reverse name of {ip} of {task.name}",
        lambda now: after == (now.spec.ipv4_rdns if is_ipv4 else now.spec.ipv6_rdns),
    )


def switch_public_interface(task: BalancerTask, _before: object, after: bool) -> None:
    """Enable or disable the public interface."""
    name = "enable_public_interface" if after else "disable_public_interface"
    what = f"{name.replace('_', ' ')} of {task.name}"
    task.act(name, None, what, lambda now: now.spec.public_interface is after)


def add_listener(task: BalancerTask, _before: None, after: Listener) -> None:
    """Add a listener: not twice, nor to what another owner has by now."""
    what, body = f"addition of port {after.port} of {task.name}", listener_body(after)
    task.act("add_service", body, what, lambda now: after.port in now.spec.listeners, is_once=True)


def change_listener(task: BalancerTask, before: Listener, after: Listener) -> None:
    """Change a listener: only fields that differ are sent, so that others stay."""
    port, changes = after.port, listener_changes(before, after)
    expect(task.change, fits=before.port == port)
    task.act(
        "update_service",
        changes,
        f"change of port {port} of {task.name}",
        lambda now: port in now.spec.listeners and holds(now.spec.listeners[port], changes),
    )


def remove_listener(task: BalancerTask, before: Listener, _after: None) -> None:
    """Remove a listener; done if it is not there any more."""
    what, body = f"removal of port {before.port} of {task.name}", {"listen_port": before.port}
    task.act("delete_service", body, what, lambda now: before.port not in now.spec.listeners, done="not_found")


def add_target(task: BalancerTask, _before: None, after: Target) -> bool:
    """Add a target. Returns False if the API says that it, or the server by another address, is one already. Raises an
    ApiError, Outdated if its server has gone since it was listed."""
    what, body = f"addition of target {after.name} to {task.name}", target_body(after)
    try:
        return task.act(
            "add_target", body, what, lambda now: after in now.targets, is_once=True, done="target_already_defined"
        )
    except Exhausted:
        raise
    except (NotFound, Invalid) as error:  # of a server that is gone the code is that of any bad input
        if isinstance(after, ServerTarget) and _is_gone(task, after):
            raise Outdated(f"server {after.server_id} is gone, and is no target of {task.name}") from error
        raise


def remove_target(task: BalancerTask, before: Target, _after: None) -> None:
    """Remove a target; done if it is gone. Raises an ApiError.

    Targets that others have added are planned only where a move in a network takes them away, or brings them back.
    """
    _take(task, before, task.observed.targets)


def _take(task: BalancerTask, target: Target, targets: Collection[Target]) -> None:
    """Remove one of these targets; a server that is two of them keeps the other."""
    address = None
    if isinstance(target, ServerTarget) and replace(target, use_private_ip=not target.use_private_ip) in targets:
        address = _address(task, target)
    _remove(task, target, address)


def _remove(task: BalancerTask, target: Target, address: str | None = None) -> None:
    """Remove a target, unless it is gone; a server is named by ``address`` if one is given."""
    what, body = f"removal of target {target.name} from {task.name}", named_target(target, address)
    try:
        task.act("remove_target", body, what, lambda now: target not in now.targets, done="not_found")
    except Exhausted:
        raise
    except Invalid:  # a server takes its targets along, and which code that has is not documented
        if not _is_removed(task, target):
            raise


def switch_target(task: BalancerTask, before: ServerTarget, after: ServerTarget) -> None:
    """Switch a server to its other address. Raises an ApiError.

    Hetzner's documentation does not say whether a server may be two targets for a moment. It is tried only where the
    load balancer would otherwise be without any target. A removal names the server and neither address, so that the
    load balancer is looked at before, and what is there by then decides: what another process has switched is not
    interrupted once more, what others have left as the only target does not go first, and what has another owner by
    now is left alone.
    """
    expect(task.change, fits=before.server_id == after.server_id)
    now = task.look().targets
    if before not in now:
        if after not in now:
            add_target(task, None, after)
        return
    address = _address(task, before)
    beside = after in now or (len(now) == 1 and add_target(task, None, after))
    if beside and address is not None:
        _remove(task, before, address)
        return
    _swap(task, before, after)


def swap_targets(task: BalancerTask, before: IpTarget, after: IpTarget) -> None:
    """Switch a dedicated server to its other address. Raises an ApiError."""
    _swap(task, before, after)


def _swap(task: BalancerTask, before: Target, after: Target) -> None:
    """Remove one target and add another. The old one is added again if the new one is refused."""
    _remove(task, before)
    with put_back_by(lambda: _put_back(task, before)):
        add_target(task, None, after)


def _put_back(task: BalancerTask, target: Target) -> None:
    """Add a target again that was removed for the sake of what was then refused, unless another owner has the load
    balancer by now; a failure is logged, as the next plan sees that it is missing."""
    try:
        task.look()
        add_target(task, None, target)
    except ApiError as error:
        shown = target.ip if isinstance(target, IpTarget) else spoken(target)
        _log.warning("%s is no target of %s for now: %s", shown, task.name, error)


def _is_gone(task: BalancerTask, target: ServerTarget) -> bool:
    """Whether Hetzner says by now that the server of the target does not exist, or is being deleted."""
    try:
        return SERVERS.one(task.writers.reader, target.server_id).status is ServerStatus.DELETING
    except NotFound:
        return True
    except ApiError:  # that is not known, and the refusal is
        return False


def _is_removed(task: BalancerTask, target: Target) -> bool:
    """Whether Hetzner says by now that the load balancer does not have the target."""
    try:
        return target not in task.look().targets
    except ApiError:  # that is not known, and the refusal is
        return False


def _address(task: BalancerTask, target: ServerTarget) -> str | None:
    """The address by which a target reaches its server; None when it is not known."""
    server = task.snapshot.servers.items.get(target.server_id)
    if server is None:
        return None
    networks = {place.network_id for place in task.observed.attachments}
    private = (ip for network, ip in server.private_ips if network in networks)
    address = next(private, None) if target.use_private_ip else target.ipv6 or server.ipv4
    return None if address is None else str(address)


def attach(task: BalancerTask, _before: None, after: Attachment) -> None:
    """Attach to a network. Raises an ApiError.

    Done if it is in that network with that address already, a Conflict if it is in another one: Hetzner allows one.
    """
    is_new = task.act(
        "attach_to_network",
        attachment_body(after),
        f"attachment of {task.name} to network {after.network_id}",
        lambda now: _is_in(now, after.network_id, after.ip),
        is_once=True,
        done="load_balancer_already_attached",
    )
    if is_new:
        return
    now = task.look()
    if not now.attachments:
        raise Conflict(f"{task.name}: Hetzner reports it as attached, but it is not visible yet")
    if not _is_in(now, after.network_id, after.ip):
        raise Conflict(f"{task.name} is now in another network, or has another address there")


def detach(task: BalancerTask, before: Attachment, _after: None) -> None:
    """Detach from a network; done if it is detached already. Raises an ApiError.

    Targets that are reached through the network are removed before, whichever client added them: Hetzner would refuse,
    or drop them. If the detachment is refused, what was removed for it is added again at once.
    """
    _leave(task, before, _present_targets(task))


def move(task: BalancerTask, before: Attachment, after: Attachment) -> None:
    """Give the load balancer another address in its network: it is detached and attached again. Raises an ApiError.

    Targets go as in ``detach``, and the changes that follow add again which are to stay. If the new address is refused,
    the load balancer gets its old address back, and so do its targets. Before anything is sent once more, or put back,
    the owner of the load balancer is checked.
    """
    expect(task.change, fits=before.network_id == after.network_id)
    targets = _present_targets(task)
    _leave(task, before, targets)
    with put_back_by(lambda: _come_back(task, before, targets)):
        # Reads have shown it attached for a while after that.
        task.writers.actions.wait_until(lambda: not _is_in(task.look(), before.network_id), _departure(task, before))
        attach(task, None, after)


def _present_targets(task: BalancerTask) -> tuple[Target, ...]:
    """The targets at this moment: changes before this one may have given some of them another address. Raises Conflict
    if another client has added one that would be lost without approval."""
    targets = task.look().targets
    news = next((target for target in _reached(targets) if target not in task.observed.targets), None)
    if news is not None:
        raise Conflict(f"{task.name} now has {spoken(news)} as a target, which would be lost")
    return targets


def _reached(targets: Iterable[Target]) -> tuple[Target, ...]:
    """Those that are reached through the network, selectors and addresses that others have added included."""
    return tuple(sorted(filter(is_private, targets), key=str))


def _leave(task: BalancerTask, place: Attachment, targets: Collection[Target]) -> None:
    """Remove targets that are reached through the network, and detach. Done if it is detached already."""
    with put_back_by(lambda: _put_all_back(task, targets)):
        for target in _reached(targets):
            _take(task, target, targets)
        body, what = {"network": place.network_id}, _departure(task, place)
        try:
            task.act("detach_from_network", body, what, lambda now: not _is_in(now, place.network_id))
        except NotFound:
            if _is_in(task.look(), place.network_id):
                raise


def _come_back(task: BalancerTask, place: Attachment, targets: Collection[Target]) -> None:
    try:
        task.look()
        attach(task, None, place)
    except ApiError as error:
        _log.warning("%s is not in network %s for now: %s", task.name, place.network_id, error)
        return
    _put_all_back(task, targets)


def _put_all_back(task: BalancerTask, targets: Collection[Target]) -> None:
    for target in _reached(targets):
        _put_back(task, target)


def _departure(task: BalancerTask, place: Attachment) -> str:
    return f"detachment of {task.name} from network {place.network_id}"


def _is_in(now: CloudBalancer, network_id: int, ip: IPv4Address | Unmanaged = UNMANAGED) -> bool:
    return any(there.network_id == network_id and ip in (UNMANAGED, there.ip) for there in now.attachments)


def create_certificate(task: BalancerTask, _before: None, wanted: ManagedCertificate) -> None:
    """Request a managed certificate; its issuance takes minutes and is not waited for. Raises an ApiError, Conflict if
    its name is taken.

    If it is not known whether the request was carried out, it is sent once more only if the Service has no certificate
    of that name: Let's Encrypt limits how often the same certificate is issued.
    """
    reader, query = task.writers.reader, {"name": wanted.name, **with_label(LABEL_SERVICE_UID, task.service.uid)}
    body = certificate_body(wanted)
    task.writers.send_once(CERTIFICATES.path, body, lambda: bool(CERTIFICATES.found(reader, query)))


BALANCER_ACTUATORS: Mapping[str, Callable[[BalancerTask], None]] = {
    ChangeKind.LB_CREATE: by_sides(create),
    ChangeKind.LB_ADOPT: by_sides(adopt),
    ChangeKind.LB_IDENTITY: by_sides(write_identity),
    ChangeKind.LB_TYPE: by_sides(change_type),
    ChangeKind.LB_ALGORITHM: by_sides(change_algorithm),
    ChangeKind.LB_RDNS: by_sides(change_reverse_name),
    ChangeKind.LB_NETWORK: by_sides(attach, detach, move),
    ChangeKind.LB_PUBLIC_INTERFACE: by_sides(switch_public_interface),
    ChangeKind.LB_LISTENER: by_sides(add_listener, change_listener, remove_listener),
    ChangeKind.LB_TARGET: by_sides(add_target, remove_target, switch_target, swap_targets),
    ChangeKind.LB_RETAIN: by_sides(retain),
    ChangeKind.LB_DELETE: by_sides(delete),
    ChangeKind.CERTIFICATE_CREATE: by_sides(create_certificate),
}
"""Kind → its actuator. Each raises an ApiError when it could not, TypeError for sides that are not of its kind, and
KeyError for a load balancer that was not observed."""
