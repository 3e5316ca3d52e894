"""The ports on which a load balancer listens, from the ports and the options of its Service."""

from dataclasses import replace
from typing import Any

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.annotations.options import Options
from desired.annotations.reading import Requested
from desired.load_balancers.certificates import DesiredCertificates
from desired.load_balancers.listeners import desired_listeners, ports_without_node_port
from desired.model.load_balancer import KNOWN_AFTER_APPLY, HealthCheck, HttpOptions, KnownAfterApply, Listener
from desired.model.service import Service
from desired.section import UNMANAGED, Unmanaged
from tests.balancers import a_claim, a_service
from tests.support.rows import rows

TCP, HTTP, HTTPS = Protocol.TCP, Protocol.HTTP, Protocol.HTTPS
COOKIES: dict[str, Any] = {
    "http_cookie_name": "MINE",
    "http_cookie_lifetime": 600,
    "http_timeout_idle": 60,
    "http_sticky_sessions": True,
}
OVER_HTTP = HttpOptions(cookie_name="MINE", cookie_lifetime_s=600, timeout_idle_s=60, sticky_sessions=True)


def with_ports(*ports: ClaimedPort, **claim: Any) -> Service:
    return a_service(claim=a_claim(*ports, **claim))


def plain(port: int, node_port: int) -> Listener:
    return Listener(port, node_port, TCP, HealthCheck(TCP, node_port))


WEB = ClaimedPort(80, "TCP", 30080)
TLS = ClaimedPort(443, "TCP", 30443)


@rows("service expected", {
    "one": (with_ports(WEB), [plain(80, 30080)]),
    "several": (with_ports(TLS, WEB), [plain(80, 30080), plain(443, 30443)]),
    "udp": (with_ports(ClaimedPort(53, "UDP", 30053)), []),
    "sctp-beside-tcp": (with_ports(ClaimedPort(53, "SCTP", 30053), WEB), [plain(80, 30080)]),
    "udp-and-tcp-of-one-number": (with_ports(ClaimedPort(53, "UDP", 30001), ClaimedPort(53, "TCP", 30002)),
        [plain(53, 30002)]),
    "tcp-and-udp-of-one-number": (with_ports(ClaimedPort(53, "TCP", 30002), ClaimedPort(53, "UDP", 30001)),
        [plain(53, 30002)]),
    "no-node-port-yet": (with_ports(ClaimedPort(80), TLS), [plain(443, 30443)]),
    "two-with-one-destination": (with_ports(WEB, ClaimedPort(8080, "TCP", 30080)),
        [plain(80, 30080), plain(8080, 30080)]),
    "local-traffic-policy": (with_ports(WEB, external_traffic_policy="Local"), [plain(80, 30080)]),
})  # fmt: skip
def test_which_ports(service: Service, expected: list[Listener]) -> None:
    """Every TCP port that has a node port, and nothing else."""
    listeners = desired_listeners(service, Requested(Options()), DesiredCertificates(UNMANAGED))
    assert listeners == {listener.port: listener for listener in expected}


LOCAL: dict[str, Any] = {"external_traffic_policy": "Local", "health_check_node_port": 32000}


@rows("claim asks ports", {
    "local": (LOCAL, True, [32000, 32000]),
    "nobody-asks-for-it": (LOCAL, False, [30080, 30443]),
    "cluster": ({**LOCAL, "external_traffic_policy": "Cluster"}, True, [30080, 30443]),
    "without-a-port": ({**LOCAL, "health_check_node_port": 0}, True, [30080, 30443]),
})  # fmt: skip
def test_where_health_is_checked(claim: dict[str, Any], asks: bool, ports: list[int]) -> None:
    """With ``externalTrafficPolicy: Local`` all listeners ask kube-proxy, if that is wanted; traffic stays."""
    listeners = desired_listeners(
        with_ports(WEB, TLS, **claim), Requested(Options(health_check_node_port=asks)), DesiredCertificates(UNMANAGED)
    )
    assert [listener.health_check.port for listener in listeners.values()] == ports
    assert [listener.destination_port for listener in listeners.values()] == [30080, 30443]


@rows("service expected", {
    "none": (with_ports(WEB, TLS), ()),
    "all": (with_ports(ClaimedPort(443), ClaimedPort(80)), (80, 443)),
    "some": (with_ports(ClaimedPort(443), WEB), (443,)),
    "never-chosen": (with_ports(ClaimedPort(80), allocates_node_ports=False), (80,)),
    "udp": (with_ports(ClaimedPort(53, "UDP"), WEB), ()),
})  # fmt: skip
def test_ports_that_lead_nowhere(service: Service, expected: tuple[int, ...]) -> None:
    """TCP ports without a node port, whether they will get one or not."""
    assert ports_without_node_port(service) == expected


@rows("options certificates expected", {
    "tcp": (Options(), UNMANAGED, None),
    "tcp-has-no-options": (Options(**COOKIES, http_redirect_http=True), (5,), None),
    "http": (Options(protocol=HTTP), UNMANAGED, HttpOptions()),
    "http-with-cookies": (Options(protocol=HTTP, **COOKIES), UNMANAGED, OVER_HTTP),
    "http-has-nothing-of-https": (Options(protocol=HTTP, http_redirect_http=False), (5,), HttpOptions()),
    "https-keeps-its-certificates": (Options(protocol=HTTPS), UNMANAGED, HttpOptions()),
    "https-with-certificates": (Options(protocol=HTTPS), (5, 7), HttpOptions(certificates=(5, 7))),
    "https-waits-for-its-certificate": (Options(protocol=HTTPS), KNOWN_AFTER_APPLY,
        HttpOptions(certificates=KNOWN_AFTER_APPLY)),
    "https-with-everything": (Options(protocol=HTTPS, **COOKIES, http_redirect_http=True), (5,),
        replace(OVER_HTTP, certificates=(5,), redirect_http=True)),
})  # fmt: skip
def test_options_of_http(
    options: Options, certificates: tuple[int, ...] | Unmanaged | KnownAfterApply, expected: HttpOptions | None
) -> None:
    """What the protocol knows of what is asked for; the rest is UNMANAGED."""
    listeners = desired_listeners(with_ports(WEB), Requested(options), DesiredCertificates(certificates))
    assert listeners == {80: Listener(80, 30080, options.protocol, HealthCheck(TCP, 30080), http=expected)}


@rows("said", {"on": True, "off": False, "unset": UNMANAGED})
def test_the_proxy_protocol(said: bool | Unmanaged) -> None:
    """Unset is not off."""
    listeners = desired_listeners(
        with_ports(WEB), Requested(Options(uses_proxyprotocol=said)), DesiredCertificates(UNMANAGED)
    )
    assert [listener.proxyprotocol for listener in listeners.values()] == [said]


def test_all_ports_are_alike() -> None:
    """One set of options, and each port is probed at its own node port."""
    options = Options(protocol=HTTPS, uses_proxyprotocol=True, health_check_protocol=TCP, health_check_retries=2)

    listeners = desired_listeners(with_ports(WEB, TLS), Requested(options), DesiredCertificates((5,)))

    assert list(listeners.values()) == [
        Listener(
            port.port,
            port.node_port,
            HTTPS,
            HealthCheck(TCP, port.node_port, retries=2),
            proxyprotocol=True,
            http=HttpOptions(certificates=(5,)),
        )
        for port in (WEB, TLS)
    ]
