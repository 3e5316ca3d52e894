"""The ports on which a load balancer should listen, and what each of them does (PORT-1 to PORT-5)."""

from collections.abc import Iterator, Mapping

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.annotations.options import Options
from desired.load_balancer import HttpOptions, KnownAfterApply, Listener
from desired.load_balancers.health_checks import desired_health_check
from desired.section import UNMANAGED, Unmanaged
from desired.service import Service


def desired_listeners(
    service: Service, options: Options, certificates: tuple[int, ...] | Unmanaged | KnownAfterApply
) -> Mapping[int, Listener]:
    """Port → listener, one for each TCP port that leads to a port on the Nodes; what nobody asks for is UNMANAGED.

    The options hold for all ports alike (PORT-1), but that only one port can be redirected to: 443, or else the first.
    Other protocols are left out, as Hetzner balances TCP only (PORT-2), and so is what only waits for a node port.
    ``certificates`` are those of https ports.
    """
    kube_proxy = service.claim.health_check_node_port if service.claim.is_local else 0
    ports = [port for port in _tcp_ports(service) if port.node_port > 0]
    redirected = next((port for port in ports if port.port == 443), ports[0] if ports else None)
    return {
        port.port: Listener(
            port=port.port,
            destination_port=port.node_port,
            protocol=options.protocol,
            health_check=desired_health_check(options, port.node_port, kube_proxy),
            proxyprotocol=options.uses_proxyprotocol,
            http=_http_options(options, certificates, is_redirected=port is redirected),
        )
        for port in ports
    }


def ports_without_node_port(service: Service) -> tuple[int, ...]:
    """The TCP ports, sorted, that have no port on the Nodes to lead to: the API server has still to choose one, or
    never will (``allocateLoadBalancerNodePorts: false``, PORT-3)."""
    return tuple(sorted(port.port for port in _tcp_ports(service) if port.node_port == 0))


def _tcp_ports(service: Service) -> Iterator[ClaimedPort]:
    return (port for port in service.claim.ports if port.protocol == "TCP")


def _http_options(
    options: Options, certificates: tuple[int, ...] | Unmanaged | KnownAfterApply, *, is_redirected: bool
) -> HttpOptions | None:
    """None with TCP. Certificates and the redirect are nothing that http could have (PORT-9). A redirect takes port 80,
    so that the API refuses a second one."""
    if options.protocol is Protocol.TCP:
        return None
    over_tls = options.protocol is Protocol.HTTPS
    redirect = options.http_redirect_http
    if redirect is True and not is_redirected:
        redirect = False
    return HttpOptions(
        cookie_name=options.http_cookie_name,
        cookie_lifetime_s=options.http_cookie_lifetime,
        timeout_idle_s=options.http_timeout_idle,
        certificates=certificates if over_tls else UNMANAGED,
        redirect_http=redirect if over_tls else UNMANAGED,
        sticky_sessions=options.http_sticky_sessions,
    )
