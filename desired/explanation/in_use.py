"""What a load balancer has now of what an annotation may ask for, in the words in which annotations are written."""

from collections.abc import Callable, Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from desired.annotations.choices import Protocol
from desired.annotations.table import BY_FIELD
from desired.model.load_balancer import CloudBalancer, Listener, ServerTarget
from desired.section import UNMANAGED
from desired.syntax.selector import Selector


def in_use(field: str, balancer: CloudBalancer) -> str | None:
    """What the load balancer has where the option ``field`` asks for something; several values where its ports or
    targets differ. None where it has nothing, where nobody can tell, and where the option is not about it."""
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
            return f"{value}s" if BY_FIELD[field].grammar.name.startswith("duration") else str(value)
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
    """HTTP over TLS is what annotations call https (W-13)."""
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
