"""Which of the listeners that a Service asks for its load balancer can have: https needs a certificate, a type has room
for so many, and a port leads to a port on the Nodes."""

from collections.abc import Mapping
from dataclasses import replace

from desired.annotations.choices import Protocol
from desired.annotations.table import BY_FIELD
from desired.change import Note, NoteKind
from desired.load_balancer import KNOWN_AFTER_APPLY, Listener
from desired.load_balancers.certificates import CertificateWish
from desired.load_balancers.listeners import ports_without_node_port
from desired.section import UNMANAGED
from desired.service import Service


def possible_listeners(
    service: Service,
    wanted: Mapping[int, Listener],
    present: Mapping[int, Listener],
    limit: int,
    certificates: CertificateWish,
) -> tuple[Mapping[int, Listener], tuple[Note, ...]]:
    """Port → listener, at most ``limit`` of them, and notes on those that are left out or wait.

    What is there goes before what is new, then the order of the Service's ports decides. ``present`` are the listeners
    that are there: none of them goes only because something of it is not known yet.
    """
    listeners: dict[int, Listener] = {
        port: present[port] for port in ports_without_node_port(service) if port in present
    }
    notes: list[Note] = []
    order = {port.port: place for place, port in reversed([*enumerate(service.claim.ports)])}
    for port in sorted(wanted, key=lambda port: (port not in present, order[port])):
        listener = wanted[port]
        if _waits(listener) and port in present and _has_certificates(present[port]):
            listener = _with_certificates_of(present[port], listener)
            notes.append(_note(service, f"port {port} keeps its certificate for now: {certificates.pending}"))
        if _lacks_certificate(listener):
            if port in present:
                listeners[port] = present[port]
            if not certificates.notes:
                notes.append(_note(service, f"port {port} waits for a certificate: {_REMEDY}"))
        elif len(listeners) < limit:
            listeners[port] = listener
        else:
            text = f"port {port} is left out: the load balancer's type takes {limit} ports; choose a larger type"
            notes.append(Note(service.key, NoteKind.LIMIT, text))
    return listeners, tuple(notes)


_REMEDY = f"name one in {BY_FIELD['http_certificates'].full_key}, or set {BY_FIELD['certificate_type'].full_key}"


def _note(service: Service, text: str) -> Note:
    return Note(service.key, NoteKind.CERTIFICATE, text)


def _waits(listener: Listener) -> bool:
    return listener.http is not None and listener.http.certificates is KNOWN_AFTER_APPLY


def _lacks_certificate(listener: Listener) -> bool:
    """Whether the listener is none that the API would take: https without a certificate, and none to come."""
    if listener.protocol is not Protocol.HTTPS:
        return False
    return listener.http is None or listener.http.certificates in (UNMANAGED, ())


def _has_certificates(listener: Listener) -> bool:
    return listener.protocol is Protocol.HTTPS and not _lacks_certificate(listener)


def _with_certificates_of(present: Listener, wanted: Listener) -> Listener:
    """All else changes at once: a new port on the Nodes must not wait for the CA."""
    if present.http is None or wanted.http is None:
        return wanted
    return replace(wanted, http=replace(wanted.http, certificates=present.http.certificates))
