"""What a Service's spec asks of a load balancer, whether the API server says it or a person wrote it."""

from collections.abc import Mapping

import msgspec

from desired.annotations.claims import Claim, ClaimedPort


class Port(msgspec.Struct, rename="camel", gc=False):
    """One entry of ``spec.ports``."""

    port: int
    protocol: str | None = None
    node_port: int | None = None


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


def claim_of(spec: ClaimSpec, annotations: Mapping[str, str]) -> Claim:
    """The claim that a Service with these annotations makes (defaults: Kubernetes core/v1 ServiceSpec)."""
    return Claim(
        annotations=annotations,
        ports=tuple(ClaimedPort(port.port, port.protocol or "TCP", port.node_port or 0) for port in spec.ports or ()),
        allocates_node_ports=spec.allocate_load_balancer_node_ports is not False,
        source_ranges=tuple(spec.load_balancer_source_ranges or ()),
        external_ips=tuple(spec.external_ips or ()),
        load_balancer_ip=spec.load_balancer_ip or "",
        session_affinity=spec.session_affinity or "None",
        external_traffic_policy=spec.external_traffic_policy or "Cluster",
        health_check_node_port=spec.health_check_node_port or 0,
    )
