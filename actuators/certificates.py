"""Creation of managed certificates."""

from actuators.load_balancers import service_of
from actuators.outcome import unexpected_change
from actuators.wire.certificate import CERTIFICATES, creation_body
from actuators.writers import Writers
from desired.model.load_balancer import ManagedCertificate
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
    query = {"name": wanted.name, "label_selector": f"{LABEL_SERVICE_UID}={service.uid}"}
    writers.send_once(CERTIFICATES.path, creation_body(wanted), lambda: bool(CERTIFICATES.found(writers.reader, query)))
