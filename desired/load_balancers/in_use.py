"""Values that a load balancer has of the options of annotations, in the words in which annotations are written.

| Function | Result |
|---|---|
| ``in_use`` | the present value of one option, in words |
| ``of_balancer``, ``of_listener`` | the same, of the whole load balancer or of a port, as options have it |
| ``kept`` | the values that nothing asks for any more, with the defaults that they differ from |
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from desired.annotations.choices import Protocol
from desired.annotations.grammars import ValueKind
from desired.annotations.options import ON_LISTENERS, ON_STATUS, ON_TARGETS, OPTIONS, Options
from desired.annotations.reading import Origin, Requested
from desired.load_balancers.listeners import api_defaults
from desired.model.load_balancer import CloudBalancer, Listener, ServerTarget
from desired.section import UNMANAGED
from desired.syntax.selector import Selector


def in_use(name: str, balancer: CloudBalancer) -> str | None:
    """The present value of the option ``name`` of the load balancer; several values where its ports or targets differ.
    None where it has none, where it cannot be told, and where the option is not about it."""
    if name in ON_LISTENERS:
        found: Sequence[Any] = [of_listener(name, listener) for _, listener in sorted(balancer.spec.listeners.items())]
    else:
        found = of_balancer(name, balancer)
    said = dict.fromkeys(shown(name, value) for value in found if value is not None and value is not UNMANAGED)
    return ", ".join(said) if said else None


def shown(field: str, value: object) -> str:
    """A value of the option ``field`` as an annotation has it."""
    match value:
        case bool():
            return str(value).lower()
        case int():
            return f"{value}s" if OPTIONS[field].grammar.kind is ValueKind.DURATION else str(value)
        case tuple():
            return ", ".join(str(item) for item in value)
        case Selector():
            return value.text
        case str() | IPv4Address() | IPv4Network():
            return str(value)
    raise TypeError(f"{field} has a value that no annotation has")


def of_balancer(name: str, balancer: CloudBalancer) -> Sequence[Any]:
    """What the whole load balancer has of the option; nothing where that cannot be told."""
    match OPTIONS[name].sets.split("."):
        case ["public_interface"]:
            return [balancer.spec.public_interface is False]
        case ["targets", field]:
            return [getattr(target, field) for target in balancer.targets if isinstance(target, ServerTarget)]
        case ["attachment", field]:
            return [getattr(place, field) for place in balancer.attachments]
        case [field] if field and name not in {*ON_STATUS, *ON_TARGETS}:
            return [getattr(balancer.spec, field)]
    return []


def of_listener(name: str, listener: Listener) -> Any:
    """What a listener has of the option; None where it lacks that part."""
    http = listener.health_check.http
    if name == "health_check_protocol" and http is not None and http.tls is True:
        return Protocol.HTTPS  # in the words of annotations
    value: Any = listener
    for field in OPTIONS[name].sets.split(".")[1:]:
        value = None if value is None else getattr(value, field)
    return value


@dataclass(frozen=True, slots=True)
class Kept:
    """A value that nothing asks for."""

    field: str
    """Of ``Options``."""
    value: str
    default: str
    """Both as an annotation has them."""
    ports: tuple[int, ...] = ()
    """The ports that have it; empty when it is of the whole load balancer, or of all of its ports."""


def kept(
    requested: Requested,
    options: Options,
    balancer: CloudBalancer,
    asked: Mapping[int, Listener],
    wanted: Mapping[int, Listener],
) -> Iterator[Kept]:
    """The values of a load balancer that no annotation or variable asks for and that are not the default, in the order
    of the table. ``asked`` are its listeners as they are asked for, UNMANAGED where nothing does; ``wanted`` the same,
    filled up with what stays. Targets are reached as ``options`` say, if nothing is ``requested``.

    It is not remembered who has set them: an annotation that is gone, a variable, or a person in the console.
    """
    both = sorted(wanted.keys() & asked.keys())
    ports = [(port, asked[port], wanted[port], api_defaults(wanted[port])) for port in both]
    for name, row in OPTIONS.items():
        if name in ON_LISTENERS:
            yield from _kept_of_ports(name, ports)
        elif name == "use_private_ip":
            if options.use_private_ip is True and requested.origin(name) is Origin.UNSET:
                yield Kept(name, shown(name, True), shown(name, row.usual))
        elif row.usual is not None and getattr(options, name) is UNMANAGED:
            yield from (
                Kept(name, shown(name, value), shown(name, row.usual))
                for value in of_balancer(name, balancer)
                if value != row.usual
            )


_DEFAULTS: Mapping[str, Any] = {
    "protocol": Protocol.TCP,
    "health_check_protocol": Protocol.TCP,
    "health_check_port": "the node port",
}
"""Option of a port → its value at creation, of those that do not follow from the protocols."""


def _kept_of_ports(field: str, ports: Collection[tuple[int, Listener, Listener, Listener]]) -> Iterator[Kept]:
    """The values of one option; ``ports`` are numbers, each with what is asked, what will be, and the default."""
    read = partial(of_listener, field)
    found: dict[tuple[str, str], list[int]] = {}
    for port, asked, wanted, usual in ports:
        if read(asked) is not UNMANAGED:
            continue
        value, default = read(wanted), _DEFAULTS.get(field, read(usual))
        if field == "health_check_port" and value == wanted.destination_port:
            continue
        has_both = not {None, UNMANAGED, ()} & {value, default}  # https cannot be without a certificate
        if has_both and _plain(value) != _plain(default):
            found.setdefault((shown(field, value), shown(field, default)), []).append(port)
    for (value, default), those in found.items():
        yield Kept(field, value, default, () if len(those) == len(ports) else tuple(those))


def _plain(value: object) -> object:
    """Without what means nothing: the order of several."""
    return frozenset(value) if isinstance(value, tuple) else value
