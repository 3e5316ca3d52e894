"""Load balancers that exist although a list lacks them, found by a look before a write. They join the next passes,
until a list has them."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from actuators.http.errors import ApiError, Denied, NotFound
from actuators.http.hetzner import HetznerReader
from actuators.wire.load_balancer import BALANCERS
from desired.model.load_balancer import CloudBalancer
from desired.model.snapshot import Snapshot
from desired.plan.controller_record import ControllerRecord, FoundRecord
from desired.section import Present, Section, Unknown


class UnlistedBalancers:
    """Ids found without a list, and ids that are gone: these are asked for once, as Hetzner gives no id twice."""

    def __init__(
        self, record: Callable[[Present[str] | Unknown], FoundRecord] = lambda _: Present(ControllerRecord())
    ) -> None:
        """``record`` reads the controller's record, of the cluster with this UID, and may raise an ApiError."""
        self._record = record
        self._found: set[int] = set()
        self._gone: set[int] = set()

    def forget(self) -> None:
        """Forget all answers: another token may be of another project. May be called from any thread."""
        self._found, self._gone = set(), set()

    def found(self, balancer_id: int) -> None:
        """A look has found this one."""
        self._found.add(balancer_id)

    def recorded(self, reader: HetznerReader, snapshot: Snapshot) -> Iterator[CloudBalancer]:
        """The load balancers of the record that exist although the list lacks them, each by a GET.

        Raises an ApiError if one of them, or the record, cannot be read.
        """
        listed = snapshot.load_balancers
        known = self._gone if listed is None else self._gone | listed.items.keys() | listed.unreadable.keys()
        try:
            record = self._record(snapshot.cluster_uid)
        except Denied as error:  # of Kubernetes, and not to be taken for a refusal of Hetzner's
            raise ApiError(f"the record of load balancers cannot be read: {error}") from error
        if isinstance(record, Unknown):
            raise ApiError(record.why)
        for number in sorted({*record.value.project.load_balancers} - known):
            try:
                yield BALANCERS.one(reader, number)
            except NotFound:
                self._gone.add(number)

    def joined(
        self, reader: HetznerReader, listed: Section[int, CloudBalancer], before: Section[int, CloudBalancer] | None
    ) -> Section[int, CloudBalancer]:
        """The list with the load balancers that were found and that it lacks, each by a GET. After a write these are
        those that the chain had ``before``, as its first plan did not show the others; None: a chain begins."""
        if not listed.complete:
            return listed
        self._found -= listed.items.keys()
        items, unreadable = {**listed.items}, {**listed.unreadable}
        for number in sorted(self._found if before is None else self._found & before.items.keys()):
            try:
                items[number] = BALANCERS.one(reader, number)
            except NotFound:
                self._found.discard(number)
                self._gone.add(number)
            except ApiError as error:
                unreadable[number] = str(error)
        return replace(listed, items=items, unreadable=unreadable)
