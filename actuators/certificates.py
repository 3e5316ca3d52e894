"""Creation of managed certificates."""

from actuators.http.errors import Transient
from actuators.load_balancers import service_of
from actuators.outcome import unexpected_change
from actuators.wire.certificate import CERTIFICATES, creation_body
from actuators.writers import Writers
from desired.model.load_balancer import ManagedCertificate
from desired.model.service import Service
from desired.model.snapshot import Snapshot
from desired.names import LABEL_SERVICE_UID
from desired.plan.change import Change


def create(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Request the managed certificate of ``after``; its issuance takes minutes and is not waited for. Raises an
    ApiError, Conflict when its name is taken.

    If it is not known whether the request was carried out, it is sent once more only when the Service has no
    certificate of that name: Let's Encrypt limits how often the same certificate is issued.
    """
    match change.before, change.after:
        case None, ManagedCertificate() as wanted:
            service = service_of(change, snapshot)
        case _:
            raise unexpected_change(change)
    body = creation_body(wanted)
    try:
        writers.writer.post("/certificates", body)
    except Transient:
        if writers.actions.is_stopped:
            raise
        if not _is_there(writers, service, wanted):
            writers.writer.post("/certificates", body)


def _is_there(writers: Writers, service: Service, wanted: ManagedCertificate) -> bool:
    query = {"name": wanted.name, "label_selector": f"{LABEL_SERVICE_UID}={service.uid}"}
    return bool(CERTIFICATES.found(writers.reader, query))
