"""Parts of an existing load balancer, each changed by one action that is waited for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from actuators.http.errors import Invalid, NotFound
from actuators.load_balancers.lookup import balancer_now, balancer_of, look_for, name_of, path_of
from actuators.outcome import unexpected_change
from actuators.wire.load_balancer import holds, listener_body, listener_changes
from actuators.writers import Writers
from desired.annotations.choices import Algorithm
from desired.model.load_balancer import CloudBalancer, Listener
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.kinds import ChangeKind, Verb


@dataclass(frozen=True, slots=True)
class _Action:
    """What the API is asked for, and how a look at the load balancer tells that it was done."""

    name: str
    """In the API."""
    body: Mapping[str, Any] | None
    what: str
    """In messages."""
    happened: Callable[[CloudBalancer], bool]


def write_part(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Give the type, the algorithm, a reverse DNS name, the public interface or a listener the value of ``after``.

    Of a listener that changes only what differs is sent, so that what was not asked for stays; one that is added is not
    sent twice, nor to what another owner has by now; and the removal of one that is not there any more is done. Raises
    an ApiError.
    """
    balancer = balancer_of(change, snapshot)
    action = _action_of(change, balancer)
    is_listener = change.kind == ChangeKind.LB_LISTENER
    is_added = is_listener and change.verb is Verb.ADD

    own = look_for(writers.reader, change, snapshot)

    def happened() -> bool:
        return action.happened(own() if is_added else balancer_now(writers.reader, balancer))

    path, what = path_of(balancer, action.name), f"{action.what} of {name_of(balancer)}"
    try:
        if is_added:
            writers.act_once(path, action.body or {}, what, happened)
        else:
            writers.act(path, action.body, what, happened)
    except (NotFound, Invalid) as error:  # also out of an action, which knows no class of errors
        if not is_listener or change.verb is not Verb.REMOVE or error.code != "not_found":
            raise


def _action_of(change: Change, balancer: CloudBalancer) -> _Action:
    """Raises TypeError for sides that are not of the change's kind."""
    match change.kind, change.before, change.after:
        case ChangeKind.LB_ALGORITHM, _, Algorithm() as algorithm:
            return _Action(
                "change_algorithm",
                {"type": algorithm.value},
                "change of the algorithm",
                lambda now: now.spec.algorithm is algorithm,
            )
        case ChangeKind.LB_TYPE, _, str() as name if not isinstance(name, Algorithm):
            return _Action(
                "change_type", {"load_balancer_type": name}, "change of the type", lambda now: now.spec.type == name
            )
        case ChangeKind.LB_PUBLIC_INTERFACE, _, bool() as is_on:
            name = "enable_public_interface" if is_on else "disable_public_interface"
            return _Action(name, None, name.replace("_", " "), lambda now: now.spec.public_interface is is_on)
        case ChangeKind.LB_RDNS, _, str() | None as pointer:  # None resets it to Hetzner's default
            is_ipv4 = change.key.parts[-1] == "ipv4"
            ip = str(balancer.ipv4 if is_ipv4 else balancer.ipv6)
            return _Action(
                "change_dns_ptr",
                {"ip": ip, "dns_ptr": pointer},
                f"change of the reverse name of {ip}",
                lambda now: pointer == (now.spec.ipv4_rdns if is_ipv4 else now.spec.ipv6_rdns),
            )
        case ChangeKind.LB_LISTENER, None, Listener(port=port) as after:
            return _Action(
                "add_service", listener_body(after), f"addition of port {port}", lambda now: port in now.spec.listeners
            )
        case ChangeKind.LB_LISTENER, Listener() as before, Listener(port=port) as after if before.port == port:
            changes = listener_changes(before, after)
            return _Action("update_service", changes, f"change of port {port}", lambda now: _holds(now, port, changes))
        case ChangeKind.LB_LISTENER, Listener(port=port), None:
            return _Action(
                "delete_service",
                {"listen_port": port},
                f"removal of port {port}",
                lambda now: port not in now.spec.listeners,
            )
    raise unexpected_change(change)


def _holds(now: CloudBalancer, port: int, changes: Mapping[str, Any]) -> bool:
    found = now.spec.listeners.get(port)
    return found is not None and holds(found, changes)
