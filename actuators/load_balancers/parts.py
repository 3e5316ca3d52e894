"""Parts of an existing load balancer, each changed by one action that is waited for. All raise ApiErrors."""

from collections.abc import Mapping
from typing import Any

from actuators.http.errors import Invalid, NotFound
from actuators.load_balancers.lookup import balancer_now, balancer_of, name_of, own_now, path_of
from actuators.outcome import unexpected_change
from actuators.wire.load_balancer import holds, listener_body, listener_changes
from actuators.writers import Writers
from desired.annotations.choices import Algorithm
from desired.model.load_balancer import CloudBalancer, Listener
from desired.model.snapshot import Snapshot
from desired.plan.change import Change


def change_type(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Give the load balancer the type of ``after``, by name."""
    match change.after:
        case Algorithm():
            raise unexpected_change(change)
        case str() as name:
            balancer = balancer_of(change, snapshot)
        case _:
            raise unexpected_change(change)

    def happened() -> bool:
        return balancer_now(writers.reader, balancer).spec.type == name

    what = _named("change of the type", balancer)
    writers.act(path_of(balancer, "change_type"), {"load_balancer_type": name}, what, happened)


def change_algorithm(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Give the load balancer the algorithm of ``after``."""
    match change.after:
        case Algorithm() as algorithm:
            balancer = balancer_of(change, snapshot)
        case _:
            raise unexpected_change(change)

    def happened() -> bool:
        return balancer_now(writers.reader, balancer).spec.algorithm is algorithm

    what = _named("change of the algorithm", balancer)
    writers.act(path_of(balancer, "change_algorithm"), {"type": algorithm.value}, what, happened)


def change_rdns(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Give the address of the family that ends the change's key the reverse DNS name of ``after``; None resets it to
    Hetzner's default."""
    match change.after:
        case str() | None as pointer:
            balancer = balancer_of(change, snapshot)
        case _:
            raise unexpected_change(change)
    is_ipv4 = change.key.parts[-1] == "ipv4"
    ip = str(balancer.ipv4 if is_ipv4 else balancer.ipv6)

    def happened() -> bool:
        now = balancer_now(writers.reader, balancer).spec
        return pointer is not None and pointer == (now.ipv4_rdns if is_ipv4 else now.ipv6_rdns)

    what = _named(f"change of the reverse name of {ip}", balancer)
    writers.act(path_of(balancer, "change_dns_ptr"), {"ip": ip, "dns_ptr": pointer}, what, happened)


def switch_public_interface(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Switch the public interface on or off."""
    match change.after:
        case bool() as enabled:
            balancer = balancer_of(change, snapshot)
        case _:
            raise unexpected_change(change)

    def happened() -> bool:
        return balancer_now(writers.reader, balancer).spec.public_interface is enabled

    action = "enable_public_interface" if enabled else "disable_public_interface"
    writers.act(path_of(balancer, action), None, _named(action.replace("_", " "), balancer), happened)


def write_listener(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Add, change or remove a listener.

    For a change only what differs is sent, so that what was not asked for stays. A removal of one that is not there any
    more is done.
    """
    match change.before, change.after:
        case None, Listener() as after:
            _add(writers, change, snapshot, after)
        case Listener() as before, Listener() as after if before.port == after.port:
            _update(writers, balancer_of(change, snapshot), after.port, listener_changes(before, after))
        case Listener() as before, None:
            _remove(writers, balancer_of(change, snapshot), before.port)
        case _:
            raise unexpected_change(change)


def _add(writers: Writers, change: Change, snapshot: Snapshot, listener: Listener) -> None:
    balancer = balancer_of(change, snapshot)

    def happened() -> bool:
        return listener.port in own_now(writers.reader, change, balancer, snapshot).spec.listeners

    what = _named(f"addition of port {listener.port}", balancer)
    writers.act_once(path_of(balancer, "add_service"), listener_body(listener), what, happened)


def _update(writers: Writers, balancer: CloudBalancer, port: int, changes: Mapping[str, Any]) -> None:
    def happened() -> bool:
        now = balancer_now(writers.reader, balancer).spec.listeners.get(port)
        return now is not None and holds(now, changes)

    what = _named(f"change of port {port}", balancer)
    writers.act(path_of(balancer, "update_service"), changes, what, happened)


def _remove(writers: Writers, balancer: CloudBalancer, port: int) -> None:
    def happened() -> bool:
        return port not in balancer_now(writers.reader, balancer).spec.listeners

    try:
        what = _named(f"removal of port {port}", balancer)
        writers.act(path_of(balancer, "delete_service"), {"listen_port": port}, what, happened)
    except (NotFound, Invalid) as error:  # also out of an action, which knows no class of errors
        if error.code != "not_found":
            raise


def _named(what: str, balancer: CloudBalancer) -> str:
    return f"{what} of {name_of(balancer)}"
