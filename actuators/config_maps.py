"""The ConfigMaps beside the Lease, and the record in the controller's: read whole, written key by key, by several
processes and people at once.

Each write follows from the data that was read, and is sent with its resourceVersion (``compare_and_set``).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final, Protocol

import msgspec

from actuators.http.decoding import decoder
from actuators.http.errors import Broken, Conflict, Denied, Invalid, NotFound
from actuators.http.kubernetes import KubernetesReader, KubernetesWriter, segment
from desired.model.record import Stamp
from desired.names import CONFIG_MAP
from desired.plan.controller_record import RECORD, ControllerRecord, FoundRecord, cluster_in, record_in
from desired.section import Present, Unknown

Data = Mapping[str, str]
Values = Mapping[str, str | None]
"""Key → what is to stand there; None takes the key away. Other keys stay."""
TRIES: Final = 5
"""How often a decision is taken anew because another process was faster. Uses and approvals are rare."""


class _Meta(msgspec.Struct):
    version: str = msgspec.field(default="", name="resourceVersion")


class _ConfigMap(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    data: dict[str, str] | None = None


class CompareAndSet(Protocol):
    """``compare_and_set`` of one ConfigMap."""

    def __call__(self, choose: Callable[[Data], Values], *, creates: bool = False) -> None:
        """Write what ``choose`` decides."""


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """The controller's ConfigMap and the record in it, as this process reads and writes them."""

    read: Callable[[], Data | None] = lambda: None
    """Returns its data, None if it is not there; may raise an ApiError."""
    change: CompareAndSet | None = None
    """None if nothing may be written."""
    by: str = ""
    """The name under which this process writes."""

    @classmethod
    def of(
        cls, reader: KubernetesReader, namespace: str, writer: KubernetesWriter | None = None, by: str = ""
    ) -> "ConfigMap":
        """That of the namespace; without ``writer`` it is only read."""
        change = None if writer is None else partial(compare_and_set, reader, writer, namespace)
        return cls(partial(read_data, reader, namespace), change, by)

    def read_record(self, cluster: Present[str] | Unknown | None = None) -> FoundRecord:
        """The record of the cluster with this UID; None: of whichever it is. Raises an ApiError."""
        return record_in(self.read() or {}, cluster)

    def change_record(
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
        if self.change is None:
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
            text = RECORD.write(chosen[0], Stamp(uid, self.by, now))
            if len(text) > RECORD.longest:
                raise Invalid(f"the record would have {len(text)} characters, more than {RECORD.longest}")
            return {RECORD.key: text}

        self.change(write, creates=creates)
        return chosen[0]


def read_data(reader: KubernetesReader, namespace: str, name: str = CONFIG_MAP) -> Data | None:
    """The data of the ConfigMap; None when it is not there. Raises an ApiError."""
    found = _read(reader, namespace, name)
    return None if found is None else found.data or {}


def _read(reader: KubernetesReader, namespace: str, name: str) -> _ConfigMap | None:
    try:
        return decoder(_ConfigMap).decode(reader.get(_path(namespace, name)).body)
    except NotFound:
        return None
    except ValueError as error:
        raise Broken(f"ConfigMap {namespace}/{name} could not be read: {error}") from error


def compare_and_set(
    reader: KubernetesReader,
    writer: KubernetesWriter,
    namespace: str,
    choose: Callable[[Data], Values],
    name: str = CONFIG_MAP,
    *,
    creates: bool = False,
) -> None:
    """Write what ``choose`` decides by the data of the ConfigMap; nothing is written when that is empty. When another
    process was faster it is read, and decided, again.

    ``creates``: make a ConfigMap that is not there; else that is a NotFound. Raises what ``choose`` raises, Conflict
    after ``TRIES`` tries, Denied with the remedy for who may not create one, and other ApiErrors.
    """
    for _ in range(TRIES):
        found = _read(reader, namespace, name)
        if found is None and not creates:
            raise NotFound(f"ConfigMap {namespace}/{name} is not there: {_remedy(namespace, name)}")
        values = choose({} if found is None else found.data or {})
        try:
            if values and found is None:
                _create(writer, namespace, name, values)
            elif values and found is not None:
                body = {"metadata": {"resourceVersion": found.metadata.version}, "data": values}
                writer.patch(_path(namespace, name), body)
        except Conflict:
            continue
        return
    raise Conflict(f"ConfigMap {namespace}/{name} was changed by others {TRIES} times meanwhile: try again")


def _create(writer: KubernetesWriter, namespace: str, name: str, values: Values) -> None:
    data = {key: value for key, value in values.items() if value is not None}
    meta = {"name": name, "namespace": namespace}
    body: Mapping[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
    try:
        writer.create(f"/api/v1/namespaces/{segment(namespace)}/configmaps", body)
    except Denied as error:
        raise Denied(
            f"ConfigMap {namespace}/{name} is not there, and you may not create it: have it made once,"
            f" {_remedy(namespace, name)}, and try again",
            status=error.status,
            code=error.code,
        ) from error


def _remedy(namespace: str, name: str) -> str:
    return f"kubectl -n {namespace} create configmap {name}"


def _path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{segment(namespace)}/configmaps/{name}"
