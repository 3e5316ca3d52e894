"""Targets of a load balancer: adding, removing, and switching a server to its other address."""

import logging
from dataclasses import replace

from actuators.http.errors import ApiError, Invalid, NotFound
from actuators.load_balancers.lookup import Look, balancer_now, balancer_of, look_for, name_of, path_of
from actuators.outcome import unexpected_change
from actuators.wire.load_balancer import named_target, target_body
from actuators.writers import Writers, put_back_by
from desired.model.load_balancer import CloudBalancer, IpTarget, SelectorTarget, ServerTarget, Target, spoken
from desired.model.snapshot import Snapshot
from desired.plan.change import Change

_log = logging.getLogger("hcloud-reconciler.actuators")


def write_target(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Add or remove a target, or switch a server to its other address. Raises an ApiError.

    An addition of a target that exists is done, and so is a removal of one that does not. Targets that others have
    added are planned only where a move in a network takes them away, or brings them back.
    """
    look = look_for(writers.reader, change, snapshot)
    match change.before, change.after:
        case None, (ServerTarget() | IpTarget() | SelectorTarget()) as after:
            add_target(writers, balancer_of(change, snapshot), after, look)
        case (ServerTarget() | IpTarget() | SelectorTarget()) as before, None:
            remove_target(writers, balancer_of(change, snapshot), before, snapshot)
        case ServerTarget() as before, ServerTarget() as after if before.server_id == after.server_id:
            _exchange(writers, balancer_of(change, snapshot), before, after, snapshot, look)
        case IpTarget() as before, IpTarget() as after:
            _swap(writers, balancer_of(change, snapshot), before, after, look)
        case _:
            raise unexpected_change(change)


def remove_target(writers: Writers, balancer: CloudBalancer, target: Target, snapshot: Snapshot) -> None:
    """Remove one target; a server that is two targets keeps the other. Raises an ApiError."""
    is_twin = isinstance(target, ServerTarget) and _twin(target) in balancer.targets
    _remove(writers, balancer, target, _address(target, balancer, snapshot) if is_twin else None)


def _exchange(
    writers: Writers, balancer: CloudBalancer, before: ServerTarget, after: ServerTarget, snapshot: Snapshot, look: Look
) -> None:
    """Switch a server to its other address.

    Hetzner's documentation does not say whether a server may be two targets for a moment. It is tried only where the
    load balancer would otherwise be without any target. A removal names the server and neither address, so that the
    load balancer is looked at before, and what is there by then decides: what another process has switched is not
    interrupted once more, what others have left as the only target does not go first, and what has another owner by
    now is left alone.
    """
    now = look().targets
    if before not in now:
        if after not in now:
            add_target(writers, balancer, after, look)
        return
    address = _address(before, balancer, snapshot)
    beside = after in now or (len(now) == 1 and add_target(writers, balancer, after, look))
    if beside and address is not None:
        _remove(writers, balancer, before, address)
        return
    _swap(writers, balancer, before, after, look)


def _swap(writers: Writers, balancer: CloudBalancer, before: Target, after: Target, look: Look) -> None:
    """Remove one target and add another: what was there comes back when the new one is refused."""
    _remove(writers, balancer, before)
    with put_back_by(lambda: put_back(writers, balancer, before, look)):
        add_target(writers, balancer, after, look)


def put_back(writers: Writers, balancer: CloudBalancer, target: Target, look: Look) -> None:
    """Add a target again that was removed for the sake of what was then refused, unless another owner has the load
    balancer by now; a failure is logged, as the next plan sees that it is missing."""
    try:
        look()
        add_target(writers, balancer, target, look)
    except ApiError as error:
        _log.warning("%s is no target of %s for now: %s", _shown(target), name_of(balancer), error)


def add_target(writers: Writers, balancer: CloudBalancer, target: Target, look: Look) -> bool:
    """Add a target. Returns False when the API says that it, or the server by another address, is one already. Raises
    an ApiError.

    ``look`` reads the load balancer before it is tried once more.
    """

    def happened() -> bool:
        return target in look().targets

    try:
        what = f"addition of target {target.name} to {name_of(balancer)}"
        writers.act_once(path_of(balancer, "add_target"), target_body(target), what, happened)
    except Invalid as error:
        if error.code != "target_already_defined":
            raise
        return False
    return True


def _remove(writers: Writers, balancer: CloudBalancer, target: Target, address: str | None = None) -> None:
    """Remove a target; a server is named by ``address`` where one is given."""

    def happened() -> bool:
        return target not in balancer_now(writers.reader, balancer).targets

    try:
        what = f"removal of target {target.name} from {name_of(balancer)}"
        writers.act(path_of(balancer, "remove_target"), named_target(target, address), what, happened)
    except (NotFound, Invalid) as error:  # also out of an action, which knows no class of errors
        if error.code != "not_found":
            raise


def _shown(target: Target) -> str:
    return target.ip if isinstance(target, IpTarget) else spoken(target)


def _twin(target: ServerTarget) -> ServerTarget:
    return replace(target, use_private_ip=not target.use_private_ip)


def _address(target: Target, balancer: CloudBalancer, snapshot: Snapshot) -> str | None:
    """The address by which a target reaches its server; None when it is not known."""
    server = snapshot.servers.items.get(target.server_id) if isinstance(target, ServerTarget) else None
    if server is None or not isinstance(target, ServerTarget):
        return None
    networks = {place.network_id for place in balancer.attachments}
    private = (ip for network, ip in server.private_ips if network in networks)
    address = next(private, None) if target.use_private_ip else target.ipv6 or server.ipv4
    return None if address is None else str(address)
