"""All that is to be said of a Service's claim, without asking the API."""

from dataclasses import replace

import pytest

from desired.annotations.claims import (
    Claim,
    ClaimCheck,
    ClaimedPort,
    check_annotations,
    check_claim,
    without_nodes_addresses,
)
from desired.annotations.options import Options

P = "load-balancer.hetzner.cloud/"
NODE_PORT = "hcloud-reconciler/health-check-node-port"
WEB = ClaimedPort(443)
FINE = Claim({f"{P}location": "fsn1"}, (WEB,))
HTTPS = {f"{P}location": "fsn1", f"{P}protocol": "https", f"{P}http-certificates": "1"}


def said_of(claim: Claim) -> tuple[list[str], list[str]]:
    """Texts of problems and remarks."""
    check = check_claim(claim, Options(), has_network=False)
    assert all(bad.text.startswith(bad.key) for bad in check.problems)
    assert all(remark.text.startswith(remark.key) for remark in check.remarks)
    return [bad.text for bad in check.problems], [remark.text for remark in check.remarks]


def test_nothing_to_say() -> None:
    """Most claims are fine."""
    assert check_claim(FINE, Options(), has_network=False) == ClaimCheck()
    assert check_claim(Claim(ports=(WEB,)), Options(location="fsn1"), has_network=False) == ClaimCheck()


def test_everything_at_once() -> None:
    """Values, contradictions, what is missing, ports and remarks come together."""
    redirected = {f"{P}http-redirect-http": "true", f"{P}protocol": "http"}
    annotations = {f"{P}health-check-port": "0", **redirected, f"{P}use-private-ip": "true"}
    check = check_claim(
        Claim({**annotations, f"{P}hostnam": "x"}, (WEB,), allocates_node_ports=False), Options(), has_network=False
    )

    assert [bad.key.removeprefix(P) for bad in check.problems] == [
        "health-check-port",
        "http-redirect-http",
        "location",
        "use-private-ip",
        "spec.ports[0].nodePort",
    ]
    assert [remark.key.removeprefix(P) for remark in check.remarks] == ["hostnam", "spec.ports[0].port"]


def test_with_a_network() -> None:
    """Private targets need nothing but a network."""
    claim = replace(FINE, annotations={**FINE.annotations, f"{P}use-private-ip": "true"})

    assert len(check_claim(claim, Options(), has_network=False).problems) == 1
    assert check_claim(claim, Options(), has_network=True) == ClaimCheck()


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        pytest.param(
            replace(FINE, allocates_node_ports=False),
            "spec.ports[0].nodePort is not set: port 443 has no port on the Nodes to lead to; set it, or remove"
            " spec.allocateLoadBalancerNodePorts",
            id="no-node-port",
        ),
        pytest.param(
            Claim({**HTTPS, f"{P}http-redirect-http": "true"}, (WEB, ClaimedPort(80))),
            f"{P}http-redirect-http is true: it takes port 80, which the Service has as well; remove that port, or the"
            " redirect",
            id="redirect-and-port-80",
        ),
    ],
)
def test_problems_of_ports(claim: Claim, problem: str) -> None:
    """What the API would refuse of ports."""
    assert said_of(claim) == ([problem], [])


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(
            replace(FINE, ports=(ClaimedPort(443, node_port=30443),), allocates_node_ports=False), id="chosen"
        ),
        pytest.param(Claim({**HTTPS, f"{P}http-redirect-http": "true"}, (WEB,)), id="redirect"),
        pytest.param(Claim(HTTPS, (WEB, ClaimedPort(8080))), id="another-port"),
    ],
)
def test_ports_that_are_fine(claim: Claim) -> None:
    """Node ports that somebody chose, and a redirect that has port 80 for itself."""
    assert said_of(claim) == ([], [])


@pytest.mark.parametrize(
    ("protocol", "port", "said"),
    [
        pytest.param(
            "https",
            ClaimedPort(80),
            f"plain http on it fails; remove the port and set {P}http-redirect-http to true, or use a second Service",
            id="https-on-80",
        ),
        pytest.param(
            "http",
            ClaimedPort(443),
            f"TLS on it fails; set {P}protocol to https with certificates, or to tcp where pods end TLS",
            id="http-on-443",
        ),
        pytest.param(
            "https",
            ClaimedPort(8443, app_protocol="grpc"),
            f"grpc needs HTTP/2 up to the pod; set {P}protocol to tcp, or use a second Service",
            id="grpc",
        ),
        pytest.param(
            "http",
            ClaimedPort(5432),
            "clients of this port speak PostgreSQL; use a second Service for it",
            id="no-http-at-all",
        ),
        pytest.param("tcp", ClaimedPort(443), None, id="tcp-carries-all"),
        pytest.param("http", ClaimedPort(80), None, id="http-on-80"),
        pytest.param("https", ClaimedPort(8443, app_protocol="https"), None, id="https-by-name"),
    ],
)
def test_one_protocol_for_all_ports(protocol: str, port: ClaimedPort, said: str | None) -> None:
    """A port on which that protocol is surely not meant is told, with the number that clients use."""
    claim = Claim({**HTTPS, f"{P}protocol": protocol}, (port,))

    told = [text for text in said_of(claim)[1] if text.startswith("spec.ports")]

    expected = f"spec.ports[0].port is {port.port}, and {P}protocol is {protocol} for all ports: {said}"
    assert told == ([expected] if said else [])


@pytest.mark.parametrize(
    ("claim", "remark"),
    [
        pytest.param(
            replace(FINE, ports=(WEB, ClaimedPort(53, "UDP"))),
            "spec.ports[1].protocol is UDP: Hetzner balances TCP only, so port 53 is left out",
            id="udp",
        ),
        pytest.param(
            replace(FINE, ports=(ClaimedPort(443, "SCTP"), WEB), allocates_node_ports=True),
            "spec.ports[0].protocol is SCTP: Hetzner balances TCP only, so port 443 is left out",
            id="sctp-on-the-number-of-a-tcp-port",
        ),
        pytest.param(
            replace(FINE, ports=()),
            "spec.ports has no TCP port: the load balancer will listen on nothing",
            id="no-ports",
        ),
        pytest.param(
            replace(FINE, source_ranges=("10.0.0.0/8",)),
            "spec.loadBalancerSourceRanges has no effect: Hetzner's load balancers have no firewall, everybody can"
            " connect",
            id="source-ranges",
        ),
        pytest.param(
            replace(FINE, session_affinity="ClientIP"),
            "spec.sessionAffinity has no effect on the load balancer: with http and https there is"
            f" {P}http-sticky-sessions",
            id="session-affinity",
        ),
        pytest.param(
            replace(FINE, load_balancer_ip="203.0.113.1"),
            f"spec.loadBalancerIP has no effect: for '203.0.113.1' name its Primary IP in {P}public-net-ipv4, or set"
            f" {P}private-ipv4 for an address of the private network",
            id="load-balancer-ip",
        ),
        pytest.param(
            replace(FINE, load_balancer_ip="2001:db8::1"),
            f"spec.loadBalancerIP has no effect: for '2001:db8::1' name its Primary IP in {P}public-net-ipv6, or set"
            f" {P}private-ipv4 for an address of the private network",
            id="load-balancer-ip-of-ipv6",
        ),
        pytest.param(
            replace(FINE, external_ips=("203.0.113.1",)),
            "spec.externalIPs has no effect on the load balancer",
            id="external-ips",
        ),
        pytest.param(
            replace(FINE, external_traffic_policy="Local"),
            "spec.externalTrafficPolicy is Local: Nodes without a pod stay targets, and only health checks keep traffic"
            f" from them; set {NODE_PORT} to true, and they ask whether there is a pod",
            id="local-traffic-only",
        ),
    ],
)
def test_what_hetzner_cannot_do(claim: Claim, remark: str) -> None:
    """It is said, and stops nothing."""
    assert said_of(claim) == ([], [remark])


@pytest.mark.parametrize(
    ("policy", "text", "remarks"),
    [
        pytest.param("Local", "true", [], id="true-with-local"),
        pytest.param(
            "Cluster",
            "true",
            [f"{NODE_PORT} has no effect: spec.externalTrafficPolicy is Cluster, kube-proxy is asked only with Local"],
            id="true-without-local",
        ),
        pytest.param("Cluster", "false", [], id="false-without-local"),
    ],
)
def test_whom_health_checks_ask(policy: str, text: str, remarks: list[str]) -> None:
    """What is asked for in vain is said, and Local is nothing to worry about once kube-proxy is asked."""
    claim = replace(FINE, annotations={**FINE.annotations, NODE_PORT: text}, external_traffic_policy=policy)

    assert said_of(claim) == ([], remarks)


@pytest.mark.parametrize("text", ["false", "yes"])
def test_local_without_kube_proxy(text: str) -> None:
    """Whoever does not ask kube-proxy, or not so that it can be understood, is told of it."""
    claim = replace(FINE, annotations={**FINE.annotations, NODE_PORT: text}, external_traffic_policy="Local")
    (remark,) = said_of(claim)[1]

    assert remark.startswith("spec.externalTrafficPolicy is Local")


def test_kube_proxy_is_in_vain_for_two_reasons() -> None:
    """One of them is said, about one annotation."""
    asked = {NODE_PORT: "true", f"{P}health-check-port": "8080"}
    (remark,) = said_of(replace(FINE, annotations={**FINE.annotations, **asked}))[1]

    assert remark.startswith(f"{NODE_PORT} has no effect: {P}health-check-port")


@pytest.mark.parametrize(
    ("families", "known", "is_warned"),
    [
        pytest.param((), {4, 6}, False, id="not said"),
        pytest.param(("IPv4",), {4}, False, id="IPv4"),
        pytest.param(("IPv6",), {6}, True, id="IPv6"),
        pytest.param(("IPv6", "IPv4"), {4, 6}, False, id="both"),
        pytest.param(("IPv7",), {4, 6}, False, id="one that nobody knows"),
    ],
)
def test_families(families: tuple[str, ...], known: set[int], is_warned: bool) -> None:
    """By which versions of IP Nodes take the traffic, and the warning where nothing is known of Nodes."""
    claim = Claim(ip_families=families)
    assert claim.families == known
    warnings = [warning.text for warning in without_nodes_addresses(claim)]
    assert len(warnings) == is_warned
    assert all("set ipFamilyPolicy: PreferDualStack" in text for text in warnings)


@pytest.mark.parametrize(
    ("annotations", "problems", "remarks"),
    [
        pytest.param({}, [], [], id="nothing"),
        pytest.param({"health-check-interval": "5"}, ["health-check-interval"], [], id="a-bad-value"),
        pytest.param({"locaton": "fsn1"}, [], ["locaton"], id="an-unknown-key"),
        pytest.param({"use-private-ip": "true"}, ["use-private-ip"], [], id="without-a-network"),
        pytest.param({"protocol": "https"}, [], [], id="a-certificate-may-come-from-elsewhere"),
        pytest.param({"http-redirect-http": "true"}, [], [], id="the-protocol-may-come-from-elsewhere"),
        pytest.param({"http-timeout-idle": "5"}, ["http-timeout-idle"], [], id="a-bad-value-that-may-be-read"),
        pytest.param({"protocol": "tcp", "http-timeout-idle": "5"}, [], ["http-timeout-idle"], id="one-that-is-not"),
        pytest.param(
            {"protocol": "http", "http-redirect-http": "true"}, ["http-redirect-http"], [], id="a-contradiction"
        ),
        pytest.param(
            {"location": "fsn1", "network-zone": "eu-central"}, [], ["network-zone"], id="one-wins-over-the-other"
        ),
        pytest.param({"location": "", "network-zone": ""}, ["location"], [], id="both-unset"),
    ],
)
def test_annotations_without_their_service(
    annotations: dict[str, str], problems: list[str], remarks: list[str]
) -> None:
    """Nothing is concluded from what is not among them."""
    check = check_annotations({f"{P}{key}": text for key, text in annotations.items()}, has_network=False)

    assert [bad.key.removeprefix(P) for bad in check.problems] == problems
    assert [remark.key.removeprefix(P) for remark in check.remarks] == remarks


@pytest.mark.parametrize(
    ("annotations", "unknown"),
    [
        pytest.param({}, "location", id="location"),
        pytest.param({f"{P}location": "fsn1", f"{P}protocol": "https"}, "http_certificates", id="certificates"),
        pytest.param({f"{P}location": "fsn1", f"{P}protocol": "https"}, "certificate_type", id="certificate-type"),
        pytest.param({f"{P}location": "fsn1", f"{P}http-redirect-http": "true"}, "protocol", id="protocol"),
    ],
)
def test_annotations_that_are_filled_in_later(annotations: dict[str, str], unknown: str) -> None:
    """What depends on one of them is neither missing nor in vain."""
    claim = Claim(annotations, (WEB,))

    assert check_claim(claim, Options(), has_network=False) != ClaimCheck()
    assert check_claim(claim, Options(), has_network=False, unknown={unknown}) == ClaimCheck()
