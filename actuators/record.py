"""Reads and writes of the controller's record."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from actuators.config_maps import ConfigMap, Data, Values
from actuators.http.errors import Broken, Denied, Invalid
from desired.model.record import Stamp
from desired.plan.controller_record import RECORD, ControllerRecord, FoundRecord, cluster_in, record_in
from desired.section import Present, Unknown


@dataclass(frozen=True, slots=True)
class RecordStore:
    """The record in the ConfigMap of the controller."""

    config_map: ConfigMap

    @property
    def is_writable(self) -> bool:
        """Whether this process may write."""
        return self.config_map.change is not None

    def read(self, cluster: Present[str] | Unknown | None = None) -> FoundRecord:
        """The record of the cluster with this UID; None: of whichever it is. Raises an ApiError."""
        return record_in(self.config_map.read() or {}, cluster)

    def change(
        self,
        choose: Callable[[ControllerRecord], ControllerRecord],
        cluster: Present[str] | Unknown | None,
        now: datetime,
        *,
        creates: bool = False,
    ) -> ControllerRecord:
        """Write the record that ``choose`` makes of the stored one, and return it; a record that stays is not written.
        ``cluster`` None: it goes on to be of the cluster of which it is.

        Raises Broken for a record that cannot be read, or while the cluster's UID is unknown, Invalid for one that
        would be too long, what ``choose`` raises, and other ApiErrors.
        """
        if self.config_map.change is None:
            raise Denied("the record is only read here")
        if isinstance(cluster, Unknown):
            raise Broken(f"the cluster's identity is not known: {cluster.why}")
        chosen: list[ControllerRecord] = []

        def write(data: Data) -> Values:
            found = record_in(data, cluster)
            if isinstance(found, Unknown):
                raise Broken(found.why)
            chosen[:] = [choose(found.value)]
            if chosen[0] == found.value:
                return {}
            uid = cluster.value if cluster is not None else cluster_in(data)
            text = RECORD.write(chosen[0], Stamp(uid, self.config_map.by, now))
            if len(text) > RECORD.longest:
                raise Invalid(f"the record would have {len(text)} characters, more than {RECORD.longest}")
            return {RECORD.key: text}

        self.config_map.change(write, creates=creates)
        return chosen[0]
