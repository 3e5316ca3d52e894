"""What defaults of load balancers have set, place by place, and whether it is still theirs.

A default that came by mistake may be gone before all that follows from it was done. What was done by then is remembered
(``desired.model.former_settings``), and taken back with it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from desired.annotations.options import ON_LISTENERS, OPTIONS, TAKEN_BACK, Options, defaults_of
from desired.annotations.reading import Origin
from desired.load_balancers.desired import DesiredLoadBalancer, DesiredServices
from desired.load_balancers.in_use import of_balancer, of_listener
from desired.model.former_settings import Given, plain_default
from desired.model.load_balancer import Listener, LoadBalancer
from desired.model.settings import WHOLE
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, State
from desired.plan.kinds import ChangeKind


def given_by(done: Iterable[Change], defaults: Options, desired: DesiredServices) -> tuple[Given, ...]:
    """The values that changes which were ``done`` took from these defaults, where a place had another one before. What
    is Hetzner's own default as well is no mark of ours. Of a load balancer that was created and is not seen yet nothing
    is known."""
    found: dict[str, set[tuple[int, int]]] = {}
    for change in done:
        lb = desired.get(change.owner.name)
        if not isinstance(lb, DesiredLoadBalancer):
            continue
        number = change.cloud_id or (lb.present.id if lb.present else None)
        for variable, option in TAKEN_BACK.items():
            default = getattr(defaults, option)
            if number is not None and default != OPTIONS[option].usual:
                before, after = (_values(option, change.kind, side) for side in (change.before, change.after))
                got = {port for port, value in after.items() if value == default != before.get(port)}
                got = {port for port in got if lb.requested.of_port(port).origin(option) is Origin.ENVIRONMENT}
                found.setdefault(variable, set()).update((number, port) for port in got)
    return tuple(
        Given(variable, plain_default(getattr(defaults, TAKEN_BACK[variable])), frozenset(places))
        for variable, places in found.items()
        if places
    )


def _values(option: str, kind: ChangeKind, side: State | None) -> Mapping[int, object]:
    """Port, or WHOLE → value of the option on one side of a change; empty where the change is not about it."""
    match side:
        case LoadBalancer() if option in ON_LISTENERS:
            return {port: of_listener(option, listener) for port, listener in side.listeners.items()}
        case LoadBalancer():
            whole = {"disable_public_network": side.public_interface is False, "algorithm_type": side.algorithm}
            return {WHOLE: whole[option]}
        case Listener() if option in ON_LISTENERS:
            return {side.port: of_listener(option, side)}
        case bool() if kind is ChangeKind.LB_PUBLIC_INTERFACE and option == "disable_public_network":
            return {WHOLE: not side}
        case str() if kind is ChangeKind.LB_ALGORITHM and option == "algorithm_type":
            return {WHOLE: side}
    return {}


def still_given(given: Collection[Given], snapshot: Snapshot, desired: DesiredServices) -> tuple[Given, ...]:
    """What of it stands where it was set, at a load balancer of a Service that does not ask for it: the rest was taken
    back, or is a person's by now."""
    if not given:
        return ()
    served = {lb.present.id: lb for lb in desired.values() if isinstance(lb, DesiredLoadBalancer) and lb.present}
    return tuple(
        replace(each, places=places)
        for each in given
        if (places := frozenset(place for place in each.places if _is_there(each, place, snapshot, served)))
    )


def _is_there(
    given: Given, place: tuple[int, int], snapshot: Snapshot, served: Mapping[int, DesiredLoadBalancer]
) -> bool:
    number, port = place
    balancers, option = snapshot.load_balancers, TAKEN_BACK[given.variable]
    balancer = None if balancers is None else balancers.items.get(number)
    if balancer is None:
        return balancers is None or not balancers.is_whole
    lb, value = served.get(number), getattr(defaults_of({given.variable: given.value}), option)
    if lb is None:
        return snapshot.services is None or not snapshot.services.is_whole
    if lb.requested.of_port(port).origin(option) is Origin.ANNOTATION:
        return False
    if port == WHOLE:
        return value in of_balancer(option, balancer)
    listener = balancer.spec.listeners.get(port)
    return listener is not None and of_listener(option, listener) == value
