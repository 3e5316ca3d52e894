"""How a load balancer finds out which targets are well (PORT-6, PORT-7, W-13, W-20)."""

from dataclasses import replace

from desired.annotations.choices import Protocol
from desired.annotations.options import Options
from desired.load_balancer import HealthCheck, HttpCheck
from desired.section import UNMANAGED, Unmanaged

_KUBE_PROXY_PATH = "/healthz"


def desired_health_check(options: Options, node_port: int, kube_proxy_port: int = 0) -> HealthCheck:
    """The health check of the listener that leads to ``node_port``; what nobody asks for is UNMANAGED.

    As long as nothing is said of health checks they speak TCP, whatever the listener speaks (PORT-6). Once something is
    said they speak what the listener speaks, unless they have a protocol of their own. The options of HTTP count only
    with HTTP (PORT-7). ``kube_proxy_port`` is the healthCheckNodePort of ``externalTrafficPolicy: Local``, 0 without:
    who wants it has kube-proxy asked there whether the Node has a pod, instead of the pods (W-20).
    """
    if kube_proxy_port > 0 and options.asks_kube_proxy:
        return _asking_kube_proxy(options, kube_proxy_port)
    asked = _protocol(options)
    speaks_http = asked is not Protocol.TCP
    return HealthCheck(
        protocol=Protocol.HTTP if speaks_http else Protocol.TCP,
        port=node_port if options.health_check_port is UNMANAGED else options.health_check_port,
        interval_s=options.health_check_interval,
        timeout_s=options.health_check_timeout,
        retries=options.health_check_retries,
        http=_http_check(options, asked) if speaks_http else None,
    )


def _asking_kube_proxy(options: Options, port: int) -> HealthCheck:
    """kube-proxy speaks plain HTTP, whatever the listener speaks: a TLS that an earlier check had must not stay."""
    http = _http_check(options, Protocol.HTTP)
    return HealthCheck(
        protocol=Protocol.HTTP,
        port=port,
        interval_s=options.health_check_interval,
        timeout_s=options.health_check_timeout,
        retries=options.health_check_retries,
        http=replace(
            http,
            path=_KUBE_PROXY_PATH if http.path is UNMANAGED else http.path,
            tls=False if http.tls is UNMANAGED else http.tls,
        ),
    )


def _protocol(options: Options) -> Protocol:
    """What is asked for, HTTPS included, which the API writes as HTTP over TLS (W-13)."""
    if not options.checks_health:
        return Protocol.TCP
    return options.protocol if options.health_check_protocol is UNMANAGED else options.health_check_protocol


def _http_check(options: Options, asked: Protocol) -> HttpCheck:
    return HttpCheck(
        domain=options.health_check_http_domain,
        path=options.health_check_http_path,
        status_codes=options.http_status_codes,
        tls=_tls(options.health_check_http_validate_certificate, asked),
    )


def _tls(said: bool | Unmanaged, asked: Protocol) -> bool | Unmanaged:
    """HTTPS means TLS unless somebody says otherwise: pods behind an https listener may well speak plain HTTP."""
    return True if said is UNMANAGED and asked is Protocol.HTTPS else said
