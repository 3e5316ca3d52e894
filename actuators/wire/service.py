"""Services of all namespaces, and the claim on a load balancer in a Service's spec, also in that of a manifest."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from actuators.http.decoding import decoder
from actuators.wire.objects import ListMeta, ListOf, NamespacedName
from desired.annotations.claims import Claim, ClaimedPort
from desired.model.service import TYPE_LOAD_BALANCER, Ingress, Service, ServiceCondition
from desired.names import APPLICATION


class Port(msgspec.Struct, rename="camel", gc=False):
    """One entry of ``spec.ports``."""

    port: int
    protocol: str | None = None
    node_port: int | None = None
    app_protocol: str | None = None


class ClaimSpec(msgspec.Struct, rename="camel", gc=False):
    """The part of ``spec`` that a claim is made of. What is not there, or null, has Kubernetes' default."""

    ports: list[Port] | None = None
    allocate_load_balancer_node_ports: bool | None = None
    load_balancer_source_ranges: list[str] | None = None
    load_balancer_ip: str | None = msgspec.field(default=None, name="loadBalancerIP")
    external_ips: list[str] | None = msgspec.field(default=None, name="externalIPs")
    session_affinity: str | None = None
    external_traffic_policy: str | None = None
    health_check_node_port: int | None = None
    ip_families: list[str] | None = None


def claim_of(spec: ClaimSpec, annotations: Mapping[str, str]) -> Claim:
    """The claim that a Service with these annotations makes (defaults: Kubernetes core/v1 ServiceSpec)."""
    return Claim(
        annotations=annotations,
        ports=tuple(
            ClaimedPort(port.port, port.protocol or "TCP", port.node_port or 0, port.app_protocol or "")
            for port in spec.ports or ()
        ),
        allocates_node_ports=spec.allocate_load_balancer_node_ports is not False,
        source_ranges=tuple(spec.load_balancer_source_ranges or ()),
        external_ips=tuple(spec.external_ips or ()),
        load_balancer_ip=spec.load_balancer_ip or "",
        session_affinity=spec.session_affinity or "None",
        external_traffic_policy=spec.external_traffic_policy or "Cluster",
        health_check_node_port=spec.health_check_node_port or 0,
        ip_families=tuple(spec.ip_families or ()),
    )


class _Meta(ListMeta, kw_only=True, gc=False):
    namespace: str
    managed_fields: msgspec.Raw = msgspec.Raw()
    """Looked at of Services that publish something alone: it is the longest part of many."""


class _Spec(ClaimSpec, kw_only=True, gc=False):
    type: str
    """Needed, for all that it is defaulted: a Service of which it is not known may not lose its load balancer."""
    load_balancer_class: str | None = None


class _Ingress(msgspec.Struct, rename="camel", gc=False):
    ip: str | None = None
    hostname: str | None = None
    ip_mode: str | None = None
    ports: list[Any] | None = None


class _Published(msgspec.Struct, gc=False):
    ingress: list[_Ingress] | None = None


class _Condition(msgspec.Struct, rename="camel", gc=False):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class _Status(msgspec.Struct, rename="camel", gc=False):
    load_balancer: _Published = msgspec.field(default_factory=_Published)
    conditions: list[_Condition] | None = None


class _BalancerFields(msgspec.Struct):
    ingress: Any = msgspec.field(default=msgspec.UNSET, name="f:ingress")


class _StatusFields(msgspec.Struct):
    load_balancer: _BalancerFields = msgspec.field(default_factory=_BalancerFields, name="f:loadBalancer")


class _Fields(msgspec.Struct):
    status: _StatusFields = msgspec.field(default_factory=_StatusFields, name="f:status")


class Manager(msgspec.Struct, rename="camel"):
    """One entry of ``metadata.managedFields`` (Kubernetes meta/v1 ManagedFieldsEntry)."""

    manager: str = ""
    fields: _Fields = msgspec.field(default_factory=_Fields, name="fieldsV1")


class _Service(msgspec.Struct, gc=False):
    metadata: _Meta
    spec: _Spec
    status: _Status = msgspec.field(default_factory=_Status)


def _service(service: _Service) -> Service:
    meta, spec = service.metadata, service.spec
    if spec.type == TYPE_LOAD_BALANCER and not spec.ports:  # the API server lets no such Service be
        raise ValueError("it is of type LoadBalancer and has no ports")
    ingress = service.status.load_balancer.ingress or ()
    return Service(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        created_at=meta.creation_timestamp,
        type=spec.type,
        load_balancer_class=spec.load_balancer_class,
        claim=claim_of(spec, meta.annotations or {}),
        finalizers=tuple(meta.finalizers or ()),
        ingress=tuple(
            Ingress(entry.ip or None, entry.hostname or None, entry.ip_mode, bool(entry.ports)) for entry in ingress
        ),
        conditions=tuple(
            ServiceCondition(found.type, found.status, found.reason, found.message, found.last_transition_time)
            for found in service.status.conditions or ()
        ),
        deleted_at=meta.deletion_timestamp,
        labels=meta.labels or {},
        status_writers=_status_writers(meta.managed_fields) if ingress else (),
    )


def _status_writers(managed_fields: msgspec.Raw) -> tuple[str, ...]:
    """Managers of ``status.loadBalancer.ingress`` but this product; empty when malformed: nothing depends on it."""
    text = bytes(managed_fields)
    if b'"f:ingress"' not in text:
        return ()
    try:
        entries = decoder(list[Manager]).decode(text)
    except ValueError:
        return ()
    found = {entry.manager for entry in entries if entry.fields.status.load_balancer.ingress is not msgspec.UNSET}
    return tuple(sorted(found - {APPLICATION, ""}))


SERVICES = ListOf(
    "/api/v1/services", "Service", _Service, _service, identity=NamespacedName, key=lambda service: service.id
)


def ingress_body(entry: Ingress) -> dict[str, str]:
    """One entry of ``status.loadBalancer.ingress``."""
    members = {"ip": entry.ip, "hostname": entry.hostname, "ipMode": entry.ip_mode}
    return {name: text for name, text in members.items() if text is not None}


def condition_body(condition: ServiceCondition) -> dict[str, str]:
    """A condition of a Service: the API server demands every field (Kubernetes meta/v1 Condition). One without a status
    is taken away. Raises ValueError for one that does not say since when it holds."""
    if not condition.status:
        return {"$patch": "delete", "type": condition.type}
    if condition.since is None:
        raise ValueError(f"condition {condition.type} does not say since when it holds")
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": f"{condition.since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
    }
