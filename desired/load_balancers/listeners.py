"""Listeners of a load balancer: values that the ports of a Service ask for, completed by present values or the API's
defaults.

| Function | Result |
|---|---|
| ``desired_listeners`` | the listener of each port, by annotations and spec; UNMANAGED is not asked for |
| ``possible_listeners`` | those that the type of the load balancer has room for, and that have their certificate |
| ``filled`` | a listener without open fields: equal to the present one if it needs no change |
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.annotations.options import CHECK, HTTP, HTTP_CHECK, LISTENER, OPTIONS, SETTING, Options
from desired.annotations.reading import Requested, Spoken
from desired.load_balancers.certificates import DesiredCertificates
from desired.model.load_balancer import (
    CloudBalancer,
    HealthCheck,
    HttpCheck,
    HttpOptions,
    KnownAfterApply,
    Listener,
)
from desired.model.service import Service
from desired.plan.notes import Note
from desired.rules.load_balancers import PORT_KEEPS_CERTIFICATE, PORT_LACKS_CERTIFICATE, PORT_OVER_LIMIT
from desired.section import UNMANAGED, Unmanaged
from desired.syntax.bounds import counted

_Part = TypeVar("_Part", Listener, HealthCheck, HttpOptions, HttpCheck)


def filled(wanted: Listener, present: Listener | None) -> Listener:
    """``wanted`` with open fields taken from ``present``; None is a listener that has to be added.

    The API fills in open fields of a new listener, and of a part that the listener does not have yet, as when TCP
    becomes HTTP: such a part stays UNMANAGED. ``filled(wanted, present) == present`` means that no change is needed.
    """
    if present is None:
        return wanted
    found = _completed(wanted, present)
    return replace(
        found,
        health_check=_health_check(wanted.health_check, present.health_check),
        http=_http(found, present),
    )


def api_defaults(listener: Listener) -> Listener:
    """A listener of the same ports and protocols with everything else as the API makes it (Hetzner Cloud API,
    ``add_service``)."""
    check = listener.health_check
    return replace(
        listener,
        **_USUAL[LISTENER],
        health_check=replace(check, **_USUAL[CHECK], http=None if check.protocol is Protocol.TCP else PLAIN_CHECK),
        http=None if listener.protocol is Protocol.TCP else HttpOptions(**_USUAL[HTTP]),
    )


_USUAL: Mapping[str, dict[str, Any]] = {
    part: {field: OPTIONS[name].usual for field, name in names.items() if OPTIONS[name].usual is not None}
    for part, names in SETTING.items()
}
"""Part of a listener → field of it → default of the API, if that does not depend on other values."""
PLAIN_CHECK = HttpCheck(response="", **_USUAL[HTTP_CHECK])
"""The request of a health check over HTTP without options."""


def _http(wanted: Listener, present: Listener) -> HttpOptions | None:
    if wanted.http is None or present.http is None:
        return wanted.http
    if present.protocol is wanted.protocol:
        return _completed(wanted.http, present.http)
    # Values that only https has are removed, as http may be refused with them, or are not there.
    of_https = {"certificates": (), "redirect_http": False} if present.protocol is Protocol.HTTPS else _UNKNOWN
    return _completed(wanted.http, replace(present.http, **of_https))


_UNKNOWN: Mapping[str, Any] = {"certificates": UNMANAGED, "redirect_http": UNMANAGED}


def _health_check(wanted: HealthCheck, present: HealthCheck) -> HealthCheck:
    http = wanted.http
    if http is not None and present.http is not None:
        http = _with_present_order(_completed(http, present.http), present.http)
    return replace(_completed(wanted, present), http=http)


def _with_present_order(wanted: HttpCheck, present: HttpCheck) -> HttpCheck:
    """``wanted`` with its status codes in the order of ``present`` if they are the same ones: their order means
    nothing."""
    codes, there = wanted.status_codes, present.status_codes
    is_same = isinstance(codes, tuple) and isinstance(there, tuple) and set(codes) == set(there)
    return replace(wanted, status_codes=there) if is_same else wanted


def _completed(wanted: _Part, source: _Part) -> _Part:
    """``wanted`` with each field that it leaves open taken from ``source``."""
    names = [field.name for field in fields(wanted) if getattr(wanted, field.name) is UNMANAGED]
    known: dict[str, Any] = {name: getattr(source, name) for name in names}
    return replace(wanted, **known)


_KUBE_PROXY_PATH = "/healthz"


def desired_health_check(
    way: Requested,
    node_port: int,
    kube_proxy_port: int = 0,
    there: Listener | None = None,
    *,
    is_answered: bool = True,
) -> HealthCheck:
    """The health check of the listener that leads to ``node_port``; values that are not asked for are UNMANAGED.

    A new one without options speaks TCP to the node port; with any option it speaks the requested protocol of the
    listener, unless it has one of its own. One that is ``there`` keeps protocol and port, and its port follows the node
    port if both were equal. ``kube_proxy_port`` is the healthCheckNodePort of ``externalTrafficPolicy: Local``, 0
    without: if the option is set, health checks ask kube-proxy there whether the Node has a pod, instead of the pods.
    ``is_answered`` says whether some target may pass the check that is there.
    """
    options = way.options
    http = HttpCheck(**_asked(options, HTTP_CHECK))
    if options.asks_kube_proxy and kube_proxy_port:
        # Kube-proxy speaks plain HTTP, whatever the listener speaks: TLS of an earlier check must not stay.
        path, tls = http.path, http.tls
        http = replace(
            http, path=_KUBE_PROXY_PATH if path is UNMANAGED else path, tls=False if tls is UNMANAGED else tls
        )
        return HealthCheck(
            **{**_asked(options, CHECK), "protocol": Protocol.HTTP, "port": kube_proxy_port, "http": http}
        )
    was = there.health_check if there else None
    ends = was is not None and _ends_with_kube_proxy(way, was, node_port, kube_proxy_port, is_answered=is_answered)
    if ends and http.path is UNMANAGED:
        http = replace(http, path=_USUAL[HTTP_CHECK]["path"])
    port: int | Unmanaged = options.health_check_port
    if isinstance(port, Unmanaged) and (there is None or ends or there.health_check.port == there.destination_port):
        port = node_port
    asked: Protocol | Unmanaged = UNMANAGED
    if way.decides_on_check:
        asked = options.protocol if options.health_check_protocol is UNMANAGED else options.health_check_protocol
    elif was is None or ends:
        asked = Protocol.TCP
    if http.tls is UNMANAGED and asked is Protocol.HTTPS:
        http = replace(http, tls=True)  # unless an annotation says otherwise: pods behind https may speak plain HTTP
    speaks_tcp = asked is Protocol.TCP or (asked is UNMANAGED and (was is None or was.http is None))
    decided = {
        "protocol": Protocol.HTTP if asked is Protocol.HTTPS else asked,
        "port": port,
        "http": None if speaks_tcp else http,
    }
    return HealthCheck(**{**_asked(options, CHECK), **decided})


def _ends_with_kube_proxy(
    way: Requested, was: HealthCheck, node_port: int, kube_proxy_port: int, *, is_answered: bool
) -> bool:
    """Whether the check that is there asks kube-proxy, and is not to any more: the annotation says so, or the port is
    gone and either the annotation is still there or no target passes."""
    path, asks = way.options.health_check_http_path, way.options.health_check_node_port
    is_asked = way.options.health_check_port is not UNMANAGED
    if is_asked or was.http is None or was.port == node_port or was.http.path not in (_KUBE_PROXY_PATH, path):
        return False
    if was.port == kube_proxy_port:
        return way.decides("health_check_node_port")
    return asks or (was.http.path == _KUBE_PROXY_PATH and not is_answered)


def _asked(options: Options, part: str) -> dict[str, Any]:
    """Field of this part of a listener → requested value, or UNMANAGED."""
    return {field: getattr(options, name) for field, name in SETTING[part].items()}


def desired_listeners(
    service: Service, requested: Requested, certificates: DesiredCertificates, present: CloudBalancer | None = None
) -> Mapping[int, Listener]:
    """Port → listener, one for each TCP port that leads to a port on the Nodes; UNMANAGED is not asked for.

    Other protocols are left out, as Hetzner balances TCP only, and so are ports that wait for a node port.
    ``certificates`` are those of https ports. Ports of a load balancer that is ``present`` keep their protocols, which
    ``requested`` has.
    """
    kube_proxy = service.claim.health_check_node_port if service.claim.is_local else 0
    ports = [port for port in service.claim.tcp_ports if port.node_port > 0]
    redirected = _redirected([port.port for port in ports], requested)

    def listener(port: ClaimedPort) -> Listener:
        way, there = requested.of_port(port.port), present.spec.listeners.get(port.port) if present else None
        options, may_redirect = way.options, redirected in (None, port.port)
        is_answered = present is None or (bool(present.targets) and port.port not in present.unanswered)
        check = desired_health_check(way, port.node_port, kube_proxy, there, is_answered=is_answered)
        found = Listener(
            port=port.port,
            destination_port=port.node_port,
            **_asked(options, LISTENER),
            health_check=check,
            http=_http_options(options, certificates.of_port(port.port).ids, may_redirect=may_redirect),
        )
        return found if there is None or way.decides("protocol") else replace(found, protocol=UNMANAGED)

    return {port.port: listener(port) for port in ports}


def _redirected(ports: Sequence[int], requested: Requested) -> int | None:
    """The one of these ports that http is redirected to; None when no redirect is asked for. A redirect takes port 80,
    so that the API refuses a second one: the port that asks for it itself has it, else 443, or else the first."""
    asking = [port for port in ports if requested.of_port(port).redirects]
    own = [port for port in asking if "http_redirect_http" in requested.of_port(port).own]
    return next(iter(own or [port for port in asking if port == 443] or asking), None)


def ports_without_node_port(service: Service) -> tuple[int, ...]:
    """The TCP ports, sorted, that have no port on the Nodes to lead to: the API server has still to choose one, or
    never will (``allocateLoadBalancerNodePorts: false``)."""
    return tuple(sorted(port.port for port in service.claim.tcp_ports if port.node_port == 0))


def spoken_by(listener: Listener) -> Spoken:
    """The protocols of a listener that exists, as annotations name them: a check over TLS is https."""
    check = listener.health_check
    is_secure = check.http is not None and check.http.tls is True
    protocols = listener.protocol, Protocol.HTTPS if is_secure else check.protocol
    return Spoken(*(Protocol.TCP if isinstance(each, Unmanaged) else each for each in protocols))


def _http_options(
    options: Options, certificates: tuple[int, ...] | Unmanaged | KnownAfterApply, *, may_redirect: bool
) -> HttpOptions | None:
    """The HTTP options; None with TCP. Certificates and the redirect exist only with https."""
    if options.protocol is Protocol.TCP:
        return None
    over_tls, redirect = options.protocol is Protocol.HTTPS, options.http_redirect_http if may_redirect else False
    decided = {
        "certificates": certificates if over_tls else UNMANAGED,
        "redirect_http": redirect if over_tls else UNMANAGED,
    }
    return HttpOptions(**{**_asked(options, HTTP), **decided})


def possible_listeners(
    service: Service,
    wanted: Mapping[int, Listener],
    present: Mapping[int, Listener],
    limit: int,
    certificates: DesiredCertificates,
    larger: str,
    held_back: Collection[int] = (),
) -> tuple[Mapping[int, Listener], tuple[Note, ...]]:
    """Port → listener, at most ``limit`` of them, and notes on those that are left out or wait. ``larger`` is which
    type takes more of them (``larger_type``). Ports that are ``held_back``, and not among ``wanted``,
    stay as they are.

    Present ones come before new ones, then the order of the Service's ports decides. None of the ``present`` listeners
    goes only because a value of it is not known yet.
    """
    stay = {*ports_without_node_port(service), *held_back}
    listeners: dict[int, Listener] = {port: there for port, there in present.items() if port in stay}
    notes: list[Note] = []
    order = {port.port: place for place, port in reversed([*enumerate(service.claim.ports)])}
    for port in sorted(wanted, key=lambda port: (port not in present, order[port])):
        listener, there = wanted[port], present.get(port)
        used = there.certificate_ids if there is not None and there.protocol is Protocol.HTTPS else ()
        if used and listener.http is not None and listener.waits_for_certificate:
            # Everything else changes at once: a new port on the Nodes must not wait for the CA.
            listener = replace(listener, http=replace(listener.http, certificates=used))
            cause = "; ".join(why.says for why in certificates.of_port(port).pending)
            notes.append(PORT_KEEPS_CERTIFICATE.note(service.key, port=port, cause=cause))
        is_missing = not (listener.certificate_ids or listener.waits_for_certificate)
        if listener.protocol is Protocol.HTTPS and is_missing:  # the API would refuse it
            if there is not None:
                listeners[port] = there
            if not certificates.of_port(port).notes:
                notes.append(PORT_LACKS_CERTIFICATE.note(service.key, port=port))
        elif len(listeners) < limit:
            listeners[port] = listener
        else:
            holds = counted(limit, "port")
            notes.append(PORT_OVER_LIMIT.note(service.key, port=port, holds=holds, larger=larger))
    return listeners, tuple(notes)
