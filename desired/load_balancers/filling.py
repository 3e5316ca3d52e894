"""What becomes of the parts of a listener that nobody asked for: they keep their value, or get the API's default (W-3).

Once a wish is filled up with what is there, the two differ exactly when something has to be done.
"""

from dataclasses import fields, replace
from typing import Any, TypeVar

from desired.annotations.choices import Protocol
from desired.load_balancer import HealthCheck, HttpCheck, HttpOptions, Listener
from desired.section import UNMANAGED

Part = TypeVar("Part", Listener, HealthCheck, HttpOptions, HttpCheck)


def filled(wanted: Listener, present: Listener | None, *, reset: bool) -> Listener:
    """``wanted`` with what it leaves open taken from ``present``, or from the API's defaults where ``reset`` says so.

    None is a listener that has to be added: the API fills in what is left open. So it does for a part that the listener
    does not have yet, as when TCP becomes HTTP; such a part stays UNMANAGED without ``reset``. Certificates are never
    reset, because https cannot be without. ``filled(wanted, present) == present`` means that nothing has to be done.
    """
    if present is None:
        return wanted
    source = api_defaults(wanted) if reset else present
    return replace(
        _completed(wanted, source),
        health_check=_health_check(wanted.health_check, source.health_check, present.health_check),
        http=_http(wanted, present, source),
    )


def api_defaults(listener: Listener) -> Listener:
    """A listener of the same ports and protocols of which nothing else is said, as the API makes it (hetzner-api 8)."""
    check = listener.health_check
    over_http = HttpCheck(domain="", path="/", response="", status_codes=("2??", "3??"), tls=False)
    http = HttpOptions("HCLBSTICKY", 300, 50, certificates=(), redirect_http=False, sticky_sessions=False)
    return Listener(
        port=listener.port,
        destination_port=listener.destination_port,
        protocol=listener.protocol,
        health_check=HealthCheck(
            protocol=check.protocol,
            port=check.port,
            interval_s=15,
            timeout_s=10,
            retries=3,
            http=None if check.protocol is Protocol.TCP else over_http,
        ),
        proxyprotocol=False,
        http=None if listener.protocol is Protocol.TCP else http,
    )


def _http(wanted: Listener, present: Listener, source: Listener) -> HttpOptions | None:
    if wanted.http is None or source.http is None:
        return wanted.http
    kept = present.http if present.protocol is wanted.protocol else None
    known = replace(source.http, certificates=kept.certificates if kept else UNMANAGED)
    if source is present and kept is None:
        # What only https has does not pass from one protocol to another; http would be refused with it.
        known = replace(known, redirect_http=UNMANAGED)
    return _completed(wanted.http, known)


def _health_check(wanted: HealthCheck, source: HealthCheck, present: HealthCheck) -> HealthCheck:
    http = wanted.http
    if http is not None and source.http is not None:
        http = _with_present_order(_completed(http, source.http), present.http)
    return replace(_completed(wanted, source), http=http)


def _with_present_order(wanted: HttpCheck, present: HttpCheck | None) -> HttpCheck:
    """The order of status codes means nothing: the same ones are no difference."""
    codes, there = wanted.status_codes, present.status_codes if present else UNMANAGED
    is_same = isinstance(codes, tuple) and isinstance(there, tuple) and set(codes) == set(there)
    return replace(wanted, status_codes=there) if is_same else wanted


def _completed(wanted: Part, source: Part) -> Part:
    """``wanted`` with each field that it leaves open taken from ``source``."""
    names = [field.name for field in fields(wanted) if getattr(wanted, field.name) is UNMANAGED]
    known: dict[str, Any] = {name: getattr(source, name) for name in names}
    return replace(wanted, **known)
