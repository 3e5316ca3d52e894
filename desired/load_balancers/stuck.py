"""Services that nobody lets go of: they are being deleted, and the part that looks after Services is switched off."""

from collections.abc import Iterator

from desired.change import Note, NoteKind
from desired.load_balancers.wanted import needs_cleanup
from desired.names import FINALIZER_BALANCER
from desired.service import Service
from desired.snapshot import Snapshot
from desired.workload import is_another_controller


def notes_on_stuck_services(snapshot: Snapshot) -> Iterator[Note]:
    """A note with the remedy on each Service that waits in vain for its finalizer to be taken off.

    Where hcloud-cloud-controller-manager is seen at work, it waits for that one: so one migrates, and so one goes back.
    """
    if snapshot.unserved is None or any(map(is_another_controller, snapshot.controllers or ())):
        return
    for service in snapshot.unserved:
        if is_stuck(service):
            yield Note(service.key, NoteKind.STUCK, _remedy(service))


def is_stuck(service: Service) -> bool:
    """Whether the Service goes once the finalizer is off by which its load balancer is waited for."""
    return service.deleted_at is not None and needs_cleanup(service)


def _remedy(service: Service) -> str:
    """Whoever is to let go of it; and what it takes, and what it leaks, when nobody is there who could."""
    place = f"/metadata/finalizers/{service.finalizers.index(FINALIZER_BALANCER)}"
    patch = f'[{{"op":"test","path":"{place}","value":"{FINALIZER_BALANCER}"}},{{"op":"remove","path":"{place}"}}]'
    return (
        f"it is being deleted, and its finalizer {FINALIZER_BALANCER} waits for somebody to delete its load balancer,"
        " while load balancers are switched off here: switch them on until it is gone (HCLOUD_LOAD_BALANCERS_ENABLED,"
        " --controllers), or let hcloud-cloud-controller-manager do it; as the last resort take the finalizer off, and"
        " then delete the load balancer in Hetzner's console, as nobody else will, and it costs money:"
        f" kubectl patch service {service.name} -n {service.namespace} --type=json -p '{patch}'"
    )
