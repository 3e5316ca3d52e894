"""All that is to be said of a Service's claim, without asking the API."""

from dataclasses import replace
from typing import Any

from desired.annotations.claims import (
    Claim,
    ClaimCheck,
    ClaimedPort,
    check_annotations,
    check_claim,
    without_nodes_addresses,
    without_robot_account,
)
from desired.annotations.options import Options
from tests.support.rows import rows

P = "load-balancer.hetzner.cloud/"
NODE_PORT = "hcloud-reconciler/health-check-node-port"
WEB = ClaimedPort(443)
FINE = Claim({f"{P}location": "fsn1"}, (WEB,))
HTTPS = {f"{P}location": "fsn1", f"{P}protocol": "https", f"{P}http-certificates": "1"}


def said_of(claim: Claim) -> tuple[list[str], list[str]]:
    check = check_claim(claim, Options(), has_network=False)
    assert all(bad.text.startswith(bad.key) for bad in check.problems)
    assert all(remark.text.startswith(remark.key) for remark in check.remarks)
    return [bad.text for bad in check.problems], [remark.text for remark in check.remarks]


def test_nothing_to_say() -> None:
    assert check_claim(FINE, Options(), has_network=False) == ClaimCheck()
    assert check_claim(Claim(ports=(WEB,)), Options(location="fsn1"), has_network=False) == ClaimCheck()


REDIRECT = {**HTTPS, f"{P}http-redirect-http": "true"}


@rows("claim key said", {
    "no-node-port": (replace(FINE, allocates_node_ports=False), "spec.ports[0].nodePort", "port 443 has no port on"),
    "redirect-and-port-80": (Claim(REDIRECT, (WEB, ClaimedPort(80))), f"{P}http-redirect-http", "takes port 80"),
})  # fmt: skip
def test_problems_of_ports(claim: Claim, key: str, said: str) -> None:
    (problem,), remarks = said_of(claim)
    assert (problem.split()[0], said in problem, remarks) == (key, True, [])


@rows("protocol port said", {
    "https-on-80": ("https", ClaimedPort(80), f"plain http on it fails; remove the port and set {P}http-redirect-http"),
    "http-on-443": ("http", ClaimedPort(443), "TLS on it fails; set port-443.hcloud-reconciler/protocol to https"),
    "grpc": ("https", ClaimedPort(8443, app_protocol="grpc"), "grpc needs HTTP/2 up to the pod"),
    "no-http-at-all": ("http", ClaimedPort(5432), "clients of this port speak PostgreSQL; set port-5432.hcloud-recon"),
    "tcp-carries-all": ("tcp", ClaimedPort(443), None),
})  # fmt: skip
def test_one_protocol_for_all_ports(protocol: str, port: ClaimedPort, said: str | None) -> None:
    claim = Claim({**HTTPS, f"{P}protocol": protocol}, (port,))
    told = [text for text in said_of(claim)[1] if text.startswith("spec.ports[0].port is")]
    begin = f"spec.ports[0].port is {port.port}, and {P}protocol is {protocol} for all ports: "
    assert [text.startswith(f"{begin}{said}") for text in told] == [True] * (said is not None)


@rows("fields remark", {
    "sctp-on-the-number-of-a-tcp-port": ({"ports": (ClaimedPort(443, "SCTP"), WEB)},
        "spec.ports[0].protocol is SCTP: Hetzner balances TCP only, so port 443 is left out"),
    "no-ports": ({"ports": ()}, "spec.ports has no TCP port: the load balancer will listen on nothing"),
    "source-ranges": ({"source_ranges": ("10.0.0.0/8",)}, "spec.loadBalancerSourceRanges has no effect: "),
    "session-affinity": ({"session_affinity": "ClientIP"}, "spec.sessionAffinity has no effect on the load balancer: "),
    "load-balancer-ip-of-ipv6": ({"load_balancer_ip": "2001:db8::1"},
        f"spec.loadBalancerIP has no effect: for '2001:db8::1' name its Primary IP in {P}public-net-ipv6, or set"),
    "external-ips": ({"external_ips": ("203.0.113.1",)}, "spec.externalIPs has no effect on the load balancer"),
    "local-traffic-only": ({"external_traffic_policy": "Local"},
        "spec.externalTrafficPolicy is Local: Nodes without a pod stay targets, and only health checks"),
})  # fmt: skip
def test_wishes_that_hetzner_cannot_meet(fields: dict[str, Any], remark: str) -> None:
    problems, (text,) = said_of(replace(FINE, **fields))
    assert (problems, text.startswith(remark)) == ([], True)


@rows("policy text remarks", {
    "true-with-local": ("Local", "true", []),
    "true-without-local": ("Cluster", "true",
        [f"{NODE_PORT} has no effect: spec.externalTrafficPolicy is Cluster, kube-proxy is asked only with Local"]),
    "false-without-local": ("Cluster", "false", []),
})  # fmt: skip
def test_health_checks_by_kube_proxy(policy: str, text: str, remarks: list[str]) -> None:
    claim = replace(FINE, annotations={**FINE.annotations, NODE_PORT: text}, external_traffic_policy=policy)
    assert said_of(claim) == ([], remarks)


@rows("families known is_warned", {
    "not said": ((), {4, 6}, False),
    "IPv6": (("IPv6",), {6}, True),
    "one that nobody knows": (("IPv7",), {4, 6}, False),
})  # fmt: skip
def test_families(families: tuple[str, ...], known: set[int], is_warned: bool) -> None:
    claim = Claim(ip_families=families)
    assert claim.families == known
    warnings = [warning.text for warning in without_nodes_addresses(claim)]
    assert len(warnings) == is_warned
    assert all("set ipFamilyPolicy: PreferDualStack" in text for text in warnings)


@rows("annotations problems remarks", {
    "a-certificate-may-come-from-elsewhere": ({"protocol": "https"}, [], []),
    "the-protocol-may-come-from-elsewhere": ({"http-redirect-http": "true"}, [], []),
    "one-that-is-not": ({"protocol": "tcp", "http-timeout-idle": "5"}, [], ["http-timeout-idle"]),
    "both-unset": ({"location": "", "network-zone": ""}, ["location"], []),
})  # fmt: skip
def test_annotations_without_their_service(
    annotations: dict[str, str], problems: list[str], remarks: list[str]
) -> None:
    check = check_annotations({f"{P}{key}": text for key, text in annotations.items()}, has_network=False)
    assert [bad.key.removeprefix(P) for bad in check.problems] == problems
    assert [remark.key.removeprefix(P) for remark in check.remarks] == remarks


@rows("annotations unknown", {
    "location": ({}, "location"),
    "certificate-type": ({f"{P}location": "fsn1", f"{P}protocol": "https"}, "certificate_type"),
    "protocol": ({f"{P}location": "fsn1", f"{P}http-redirect-http": "true"}, "protocol"),
})  # fmt: skip
def test_annotations_that_are_filled_in_later(annotations: dict[str, str], unknown: str) -> None:
    claim = Claim(annotations, (WEB,))
    assert check_claim(claim, Options(), has_network=False) != ClaimCheck()
    assert check_claim(claim, Options(), has_network=False, unknown={unknown}) == ClaimCheck()


@rows("text default warns", {
    "not-said": (None, False, True),
    "public": ("false", True, True),
    "private-by-default": (None, True, False),
    "unreadable": ("yes", False, False),
})  # fmt: skip
def test_robot_servers_without_an_account(text: str | None, default: bool, warns: bool) -> None:
    """Servers of Robot that are reached by public addresses get no traffic then; a value that cannot be read is told
    by itself."""
    claim = Claim({} if text is None else {f"{P}use-private-ip": text}, (WEB,))
    found = [warning.key for warning in without_robot_account(claim, Options(use_private_ip=default))]
    assert found == [f"{P}use-private-ip"] * warns


@rows("annotations", {
    "redirect-with-tcp": {f"{P}location": "fsn1", f"{P}http-redirect-http": "true"},
    "redirect-that-is-off": {**HTTPS, f"{P}http-redirect-http": "false"},
})  # fmt: skip
def test_port_80_is_free_without_a_redirect(annotations: dict[str, str]) -> None:
    assert said_of(Claim(annotations, (WEB, ClaimedPort(80))))[0] == []
