"""Tables, as ``kubectl get`` shows them: the columns of each kind, and the rows of objects.

Known differences from the real server: columns have no descriptions, and every event of a watch repeats them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubernetes_double.patch import copied
from kubernetes_double.resources import (
    CONFIG_MAPS,
    DAEMON_SETS,
    DEPLOYMENTS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    SERVICES,
    Resource,
)

Object = dict[str, Any]
Cell = Callable[[Object, datetime], str | int]
"""What a column shows of an object now."""

_API_VERSION = "meta.k8s.io/v1"
_NONE = "<none>"
_UNKNOWN = "<unknown>"
_ROLE = "node-role.kubernetes.io/"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3_600, 86_400, 365 * 86_400


@dataclass(frozen=True, slots=True)
class Column:
    """One column. ``wide`` ones are shown by ``-o wide`` alone."""

    name: str
    cell: Cell
    wide: bool = False
    type: str = "string"
    """What the API calls the type. As in the real one, some columns of strings have numbers."""
    format: str = ""

    def definition(self) -> Object:
        """The column as the API describes it."""
        shown = {"name": self.name, "type": self.type, "format": self.format, "description": ""}
        return {**shown, "priority": int(self.wide)}


def table(
    resource: Resource, metadata: Object, objects: Iterable[Object], now: datetime, include: str = "Metadata"
) -> Object:
    """The table of these objects; ``include`` says what of each object a row has: Metadata, Object or None."""
    columns = _COLUMNS[resource]
    rows = []
    for found in objects:
        row: Object = {"cells": [column.cell(found, now) for column in columns]}
        if include == "Object":
            row["object"] = {"kind": resource.kind, "apiVersion": resource.api_version, **copied(found)}
        elif include != "None":
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": _API_VERSION,
                "metadata": copied(found["metadata"]),
            }
        rows.append(row)
    definitions = [column.definition() for column in columns]
    kind = {"kind": "Table", "apiVersion": _API_VERSION, "metadata": metadata}
    return {**kind, "columnDefinitions": definitions, "rows": rows}


def age(since: str | None, now: datetime) -> str:
    """How long ago a time was, in one or two units; of the larger unit only where the smaller one says little."""
    if not since:
        return _UNKNOWN
    seconds = int((now - datetime.fromisoformat(since)).total_seconds())
    if seconds < -1:
        return "<invalid>"
    for limit, unit, name, smaller, smaller_name in (
        (2 * _MINUTE, 1, "s", 0, ""),
        (10 * _MINUTE, _MINUTE, "m", 1, "s"),
        (3 * _HOUR, _MINUTE, "m", 0, ""),
        (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
        (2 * _DAY, _HOUR, "h", 0, ""),
        (8 * _DAY, _DAY, "d", _HOUR, "h"),
        (2 * _YEAR, _DAY, "d", 0, ""),
        (8 * _YEAR, _YEAR, "y", _DAY, "d"),
    ):
        if seconds < limit:
            whole, rest = divmod(max(seconds, 0), unit)
            left = rest // smaller if smaller else 0
            return f"{whole}{name}{left}{smaller_name}" if left else f"{whole}{name}"
    return f"{seconds // _YEAR}y"


def _at(found: Object, path: str) -> Any:
    """The value at a path such as ``spec.type``; None when something on the way is not there."""
    value: Any = found
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _value(path: str, missing: str | int = "") -> Cell:
    return lambda found, _now: _at(found, path) or missing


def _age(path: str) -> Cell:
    return lambda found, now: age(_at(found, path), now)


def _pairs(path: str) -> Cell:
    """A map of strings as a selector is written."""
    return lambda found, _now: ",".join(f"{k}={v}" for k, v in sorted((_at(found, path) or {}).items())) or _NONE


def _address(kind: str) -> Cell:
    return lambda found, _now: next(
        (entry.get("address", "") for entry in _at(found, "status.addresses") or () if entry.get("type") == kind), _NONE
    )


def _node_status(node: Object, _now: datetime) -> str:
    conditions = _at(node, "status.conditions") or ()
    ready = next((entry.get("status") for entry in conditions if entry.get("type") == "Ready"), None)
    shown = {None: "Unknown", "True": "Ready"}.get(ready, "NotReady")
    return f"{shown},SchedulingDisabled" if _at(node, "spec.unschedulable") else shown


def _roles(node: Object, _now: datetime) -> str:
    labels = _at(node, "metadata.labels") or {}
    named = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE)}
    return ",".join(sorted(filter(None, {*named, labels.get("kubernetes.io/role", "")}))) or _NONE


def _kernel(node: Object, _now: datetime) -> str:
    kernel, machine = _at(node, "status.nodeInfo.kernelVersion") or _UNKNOWN, _at(node, "status.nodeInfo.architecture")
    return f"{kernel} ({machine})" if machine else kernel


def _external_ip(service: Object, _now: datetime) -> str:
    kind, addresses = _at(service, "spec.type"), list(_at(service, "spec.externalIPs") or ())
    if kind == "ExternalName":
        return str(_at(service, "spec.externalName"))
    if kind != "LoadBalancer":
        return ",".join(addresses) or _NONE
    ingress = _at(service, "status.loadBalancer.ingress") or ()
    published = sorted({entry.get("ip") or entry.get("hostname") for entry in ingress} - {None, ""})
    return ",".join([*published, *addresses]) or "<pending>"


def _ports(service: Object, _now: datetime) -> str:
    def shown(port: Object) -> str:
        node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
        return f"{port['port']}{node_port}/{port['protocol']}"

    return ",".join(map(shown, _at(service, "spec.ports") or ())) or _NONE


def _cluster_ip(service: Object, _now: datetime) -> str:
    return next(iter(_at(service, "spec.clusterIPs") or ()), _NONE)


def _event_object(event: Object, _now: datetime) -> str:
    return f"{(_at(event, 'involvedObject.kind') or '').lower()}/{_at(event, 'involvedObject.name') or ''}"


def _first_seen(event: Object, now: datetime) -> str:
    return age(event.get("firstTimestamp") or event.get("eventTime"), now)


def _last_seen(event: Object, now: datetime) -> str:
    last = _at(event, "series.lastObservedTime") or event.get("lastTimestamp")
    return age(last, now) if last else _first_seen(event, now)


def _event_source(event: Object, _now: datetime) -> str:
    component = _at(event, "source.component") or event.get("reportingComponent") or ""
    host = _at(event, "source.host") or event.get("reportingInstance")
    return f"{component}, {host}" if host else component


def _event_count(event: Object, _now: datetime) -> int:
    return int(_at(event, "series.count") or event.get("count") or 1)


def _data(config_map: Object, _now: datetime) -> int:
    return len(config_map.get("data") or {}) + len(config_map.get("binaryData") or {})


def _ready_replicas(deployment: Object, _now: datetime) -> str:
    return f"{_at(deployment, 'status.readyReplicas') or 0}/{_at(deployment, 'spec.replicas') or 0}"


def _containers(field: str) -> Cell:
    return lambda found, _now: ",".join(
        entry.get(field) or "" for entry in _at(found, "spec.template.spec.containers") or ()
    )


_NAME = Column("Name", _value("metadata.name"), format="name")
_AGE = Column("Age", _age("metadata.creationTimestamp"))
_TEMPLATE = (
    Column("Containers", _containers("name"), wide=True),
    Column("Images", _containers("image"), wide=True),
    Column("Selector", _pairs("spec.selector.matchLabels"), wide=True),
)


def _number(name: str, field: str) -> Column:
    return Column(name, _value(f"status.{field}", 0), type="integer")


_COLUMNS: Mapping[Resource, tuple[Column, ...]] = {
    NODES: (
        _NAME,
        Column("Status", _node_status),
        Column("Roles", _roles),
        _AGE,
        Column("Version", _value("status.nodeInfo.kubeletVersion")),
        Column("Internal-IP", _address("InternalIP"), wide=True),
        Column("External-IP", _address("ExternalIP"), wide=True),
        Column("OS-Image", _value("status.nodeInfo.osImage", _UNKNOWN), wide=True),
        Column("Kernel-Version", _kernel, wide=True),
        Column("Container-Runtime", _value("status.nodeInfo.containerRuntimeVersion", _UNKNOWN), wide=True),
    ),
    SERVICES: (
        _NAME,
        Column("Type", _value("spec.type")),
        Column("Cluster-IP", _cluster_ip),
        Column("External-IP", _external_ip),
        Column("Port(s)", _ports),
        _AGE,
        Column("Selector", _pairs("spec.selector"), wide=True),
    ),
    NAMESPACES: (_NAME, Column("Status", _value("status.phase")), _AGE),
    EVENTS: (
        Column("Last Seen", _last_seen),
        Column("Type", _value("type")),
        Column("Reason", _value("reason")),
        Column("Object", _event_object),
        Column("Subobject", _value("involvedObject.fieldPath"), wide=True),
        Column("Source", _event_source, wide=True),
        Column("Message", lambda event, _now: str(event.get("message") or "").strip()),
        Column("First Seen", _first_seen, wide=True),
        Column("Count", _event_count, wide=True),
        Column("Name", _value("metadata.name"), wide=True, format="name"),
    ),
    CONFIG_MAPS: (_NAME, Column("Data", _data), _AGE),
    LEASES: (_NAME, Column("Holder", _value("spec.holderIdentity")), _AGE),
    PODS: (
        _NAME,
        Column("Ready", _value("status.ready")),
        Column("Status", _value("status.phase")),
        Column("Restarts", _value("status.restarts")),
        _AGE,
        Column("IP", _value("status.podIP"), wide=True),
        Column("Node", _value("spec.nodeName"), wide=True),
        Column("Nominated Node", _value("status.nominatedNodeName"), wide=True),
        Column("Readiness Gates", _value("spec.readinessGates"), wide=True),
    ),
    DEPLOYMENTS: (
        _NAME,
        Column("Ready", _ready_replicas),
        Column("Up-to-date", _value("status.updatedReplicas", 0)),
        Column("Available", _value("status.availableReplicas", 0)),
        _AGE,
        *_TEMPLATE,
    ),
    DAEMON_SETS: (
        _NAME,
        _number("Desired", "desiredNumberScheduled"),
        _number("Current", "currentNumberScheduled"),
        _number("Ready", "numberReady"),
        _number("Up-to-date", "updatedNumberScheduled"),
        _number("Available", "numberAvailable"),
        Column("Node Selector", _pairs("spec.template.spec.nodeSelector")),
        _AGE,
        *_TEMPLATE,
    ),
}
"""Kind → its columns, in order."""
