"""Values that a load balancer has of the options of annotations, in the words in which annotations are written.

| Function | Result |
|---|---|
| ``in_use`` | the present value of one option |
| ``options_taken_back``, ``ports_taken_back`` | what is asked for, without what only a former default had set |
| ``kept`` | the values that nothing asks for any more, with the defaults that they differ from |
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from desired.annotations.choices import Algorithm, Protocol
from desired.annotations.options import Defaults, Options
from desired.annotations.table import BY_FIELD
from desired.load_balancers.listeners import api_defaults
from desired.load_balancers.size import DEFAULT_TYPE
from desired.model.load_balancer import CloudBalancer, Listener, ServerTarget
from desired.section import UNMANAGED
from desired.syntax.selector import Selector


def in_use(field: str, balancer: CloudBalancer) -> str | None:
    """The present value of the option ``field`` of the load balancer; several values where its ports or targets differ.
    None where it has none, where it cannot be told, and where the option is not about it."""
    if field in _OF_BALANCERS:
        found = _OF_BALANCERS[field](balancer)
    elif field in _OF_LISTENERS:
        read = _OF_LISTENERS[field]
        found = [read(listener) for _, listener in sorted(balancer.spec.listeners.items())]
    else:
        return None
    said = dict.fromkeys(shown(field, value) for value in found if value is not None and value is not UNMANAGED)
    return ", ".join(said) if said else None


def shown(field: str, value: object) -> str:
    """A value of the option ``field`` as an annotation has it."""
    match value:
        case bool():
            return str(value).lower()
        case int():
            return f"{value}s" if BY_FIELD[field].grammar.is_duration else str(value)
        case tuple():
            return ", ".join(str(item) for item in value)
        case Selector():
            return value.text
        case str() | IPv4Address() | IPv4Network():
            return str(value)
    raise TypeError(f"{field} has a value that no annotation has")


_OF_BALANCERS: Mapping[str, Callable[[CloudBalancer], Iterable[Any]]] = {
    "name": lambda it: [it.spec.name],
    "type": lambda it: [it.spec.type],
    "location": lambda it: [it.spec.location],
    "network_zone": lambda it: [it.spec.zone],
    "algorithm_type": lambda it: [it.spec.algorithm],
    "disable_public_network": lambda it: [it.spec.public_interface is False],
    "public_net_ipv4": lambda it: [it.spec.primary_ipv4],
    "public_net_ipv6": lambda it: [it.spec.primary_ipv6],
    "use_private_ip": lambda it: [target.use_private_ip for target in it.targets if isinstance(target, ServerTarget)],
    "private_ipv4": lambda it: [place.ip for place in it.attachments],
    "ipv4_rdns": lambda it: [it.spec.ipv4_rdns],
    "ipv6_rdns": lambda it: [it.spec.ipv6_rdns],
}
"""Field of ``Options`` → what the whole load balancer has of it."""


def _http(name: str) -> Callable[[Listener], Any]:
    def read(listener: Listener) -> object:
        return None if listener.http is None else getattr(listener.http, name)

    return read


def _check(name: str) -> Callable[[Listener], Any]:
    return lambda listener: getattr(listener.health_check, name)


def _http_check(name: str) -> Callable[[Listener], Any]:
    def read(listener: Listener) -> object:
        http = listener.health_check.http
        return None if http is None else getattr(http, name)

    return read


def _check_protocol(listener: Listener) -> Protocol:
    """The protocol of the health check as annotations have it: HTTP over TLS is https."""
    http = listener.health_check.http
    return Protocol.HTTPS if http is not None and http.tls is True else listener.health_check.protocol


_OF_LISTENERS: Mapping[str, Callable[[Listener], Any]] = {
    "protocol": lambda it: it.protocol,
    "uses_proxyprotocol": lambda it: it.proxyprotocol,
    "http_cookie_name": _http("cookie_name"),
    "http_cookie_lifetime": _http("cookie_lifetime_s"),
    "http_timeout_idle": _http("timeout_idle_s"),
    "http_redirect_http": _http("redirect_http"),
    "http_sticky_sessions": _http("sticky_sessions"),
    "http_certificates": _http("certificates"),
    "health_check_protocol": _check_protocol,
    "health_check_port": _check("port"),
    "health_check_interval": _check("interval_s"),
    "health_check_timeout": _check("timeout_s"),
    "health_check_retries": _check("retries"),
    "health_check_http_domain": _http_check("domain"),
    "health_check_http_path": _http_check("path"),
    "health_check_http_validate_certificate": _http_check("tls"),
    "http_status_codes": _http_check("status_codes"),
}
"""Field of ``Options`` → what one listener has of it."""

_DEFAULTS: Mapping[str, object] = {
    "type": DEFAULT_TYPE,
    "algorithm_type": Algorithm.ROUND_ROBIN,
    "disable_public_network": False,
}
"""Field of ``Options`` that a load balancer keeps when nothing sets it → what it is created with (Hetzner Cloud API;
HCCM for the type). Of those of a port ``api_defaults`` has it."""


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
    options: Options, balancer: CloudBalancer, asked: Mapping[int, Listener], wanted: Mapping[int, Listener]
) -> Iterator[Kept]:
    """The values of a load balancer that no annotation or variable asks for and that are not the default, in the order
    of the table. ``asked`` are its listeners as they are asked for, UNMANAGED where nothing does; ``wanted`` the same,
    filled up with what stays.

    Nobody remembers who has set them: an annotation that is gone, a variable, or a person in the console.
    """
    both = sorted(wanted.keys() & asked.keys())
    ports = [(port, asked[port], wanted[port], api_defaults(wanted[port])) for port in both]
    for field in BY_FIELD:
        if field in _DEFAULTS and getattr(options, field) is UNMANAGED:
            default = _DEFAULTS[field]
            yield from (
                Kept(field, shown(field, value), shown(field, default))
                for value in _OF_BALANCERS[field](balancer)
                if value != default
            )
        elif field in _OF_LISTENERS:
            yield from _kept_of_ports(field, ports)


def _kept_of_ports(field: str, ports: Collection[tuple[int, Listener, Listener, Listener]]) -> Iterator[Kept]:
    """The values of one option; ``ports`` are numbers, each with what is asked, what will be, and the default."""
    read = _OF_LISTENERS[field]
    found: dict[tuple[str, str], list[int]] = {}
    for port, asked, wanted, usual in ports:
        if read(asked) is not UNMANAGED:
            continue
        value, default = read(wanted), read(usual)
        has_both = not {None, UNMANAGED, ()} & {value, default}  # https cannot be without a certificate
        if has_both and _plain(value) != _plain(default):
            found.setdefault((shown(field, value), shown(field, default)), []).append(port)
    for (value, default), those in found.items():
        yield Kept(field, value, default, () if len(those) == len(ports) else tuple(those))


def options_taken_back(options: Options, former: Defaults, balancer: CloudBalancer) -> Options:
    """``options`` with the API's default in place of what nothing asks for any more, where the load balancer has
    exactly what a former default of all Services has set. The type stays, as a smaller one may not hold what is there,
    and so does what has another value than that default had: a person has set it."""
    found: dict[str, Any] = {
        field: _DEFAULTS[field]
        for field in ("algorithm_type", "disable_public_network")
        if getattr(options, field) is UNMANAGED
        and [getattr(former, field)] == list(_OF_BALANCERS[field](balancer)) != [_DEFAULTS[field]]
    }
    return replace(options, **found)


def ports_taken_back(
    ports: Mapping[int, Listener], former: Defaults, balancer: CloudBalancer
) -> Mapping[int, Listener]:
    """The same of listeners, as they are asked for: each has values of its own."""
    there = balancer.spec.listeners
    return {
        port: _listener_taken_back(asked, former, there[port]) if port in there else asked
        for port, asked in ports.items()
    }


_OF_CHECKS = {
    "health_check_interval": "interval_s",
    "health_check_timeout": "timeout_s",
    "health_check_retries": "retries",
}
"""Option with a default for all Services → field of the health check."""


def _listener_taken_back(asked: Listener, former: Defaults, present: Listener) -> Listener:
    usual, check = api_defaults(asked), asked.health_check
    if asked.proxyprotocol is UNMANAGED and present.proxyprotocol is True and former.uses_proxyprotocol is True:
        asked = replace(asked, proxyprotocol=usual.proxyprotocol)
    found: dict[str, Any] = {
        name: getattr(usual.health_check, name)
        for field, name in _OF_CHECKS.items()
        if getattr(check, name) is UNMANAGED and getattr(former, field) == getattr(present.health_check, name)
    }
    return replace(asked, health_check=replace(check, **found))


def _plain(value: object) -> object:
    """Without what means nothing: the order of several."""
    return frozenset(value) if isinstance(value, tuple) else value
