"""What is nearly right is told with what it nearly is: keys, health check ports, addresses of Nodes."""

from collections.abc import Callable
from typing import Any

import pytest

from desired.annotations.claims import Claim, ClaimedPort, check_claim
from desired.annotations.options import Options
from desired.model.serving import Serving
from reconciler.observe.manifests import FoundService, read_manifests
from tests.field.conftest import FOLDER
from tests.support.in_process import one_pass
from tests.support.stage import Stage

P = "load-balancer.hetzner.cloud/"
WEB, TLS = ClaimedPort(80, node_port=31080), ClaimedPort(443, node_port=31443)


def said(claim: Claim) -> list[str]:
    return [remark.text for remark in check_claim(claim, Options(), has_network=True).remarks]


def of_keys(**annotations: str) -> list[str]:
    return said(Claim({f"{P}location": "fsn1", **annotations}, (WEB, TLS)))


def remarks_of(file: str) -> list[str]:
    (found,) = read_manifests((FOLDER / f"{file}.yaml").read_bytes(), Serving())
    assert isinstance(found, FoundService)
    assert found.claim is not None
    return said(found.claim)


def test_misspelt_prefixes() -> None:
    """37: each key with its right one."""
    assert remarks_of("37-misspelt-prefix") == [
        f"load-balancer.hetzner.com/use-private-ip is unknown, and ignored: did you mean {P}use-private-ip?",
        f"loadbalancer.hetzner.cloud/location is unknown, and ignored: did you mean {P}location?",
        f"loadbalancer.hetzner.cloud/type is unknown, and ignored: did you mean {P}type?",
    ]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("load-balancers.hetzner.cloud/type", f"{P}type"),
        ("lb.hetzner.cloud/use-private-ip", f"{P}use-private-ip"),
        ("load-balancer.hetzer.cloud/name", f"{P}name"),
        ("load-balancer.hcloud.io/protocol", f"{P}protocol"),
        ("Load-Balancer.Hetzner.Cloud/type", f"{P}type"),
        ("hcloud-reconciler.io/deletion-policy", "hcloud-reconciler/deletion-policy"),
        (f"{P}health-check-http-status-codes", f"{P}http-status-codes"),
        (f"{P}proxyprotocol", f"{P}uses-proxyprotocol"),
    ],
)
def test_a_key_that_is_nearly_ours(key: str, meant: str) -> None:
    """37: neighbours, in the prefix or with a word too many or too few."""
    assert of_keys(**{key: "true"}) == [f"{key} is unknown, and ignored: did you mean {meant}?"]


@pytest.mark.parametrize(
    "key",
    [
        "csi.hetzner.cloud/location",
        "external-dns.alpha.kubernetes.io/hostname",
        "external-dns.hetzner.example/hostname",
        "load-balancer.hetzner.com/colour",
        "metallb.io/ipv4",
        "service.beta.kubernetes.io/type",
    ],
)
def test_keys_of_others(key: str) -> None:
    """37: another program's key, or a name that is none of ours."""
    assert of_keys(**{key: "x"}) == []


def test_names_of_forks() -> None:
    """A word more is another thing: no suggestion that would do something else."""
    (ports,) = of_keys(**{f"{P}http-certificates-ports": "443"})
    own = "port-443.hcloud-reconciler/http-certificates"
    assert ports.endswith(f"ignored: single ports have annotations of their own, as {own}")
    (other,) = of_keys(**{f"{P}node-selector-exclude": "a=b"})
    assert other.endswith("ignored: no annotation has this name")


ELSEWHERE = "no node port of the Service: every Node has to answer there itself; remove it to check the node ports"


def test_a_health_check_port_that_is_not_opened() -> None:
    """41: 9000 is a pod's port, and no node port."""
    assert remarks_of("41-health-check-port") == [f"{P}health-check-port is 9000, {ELSEWHERE}"]


@pytest.mark.parametrize(
    ("asked", "ports", "fields", "is_told"),
    [
        pytest.param("31443", (WEB, TLS), {}, False, id="a node port"),
        pytest.param("443", (WEB, TLS), {}, True, id="a port of the Service"),
        pytest.param("10256", (WEB,), {}, False, id="kube-proxy's"),
        pytest.param("32000", (WEB,), {"health_check_node_port": 32000}, False, id="Local's"),
        pytest.param("32000", (ClaimedPort(80),), {}, False, id="perhaps the one to come"),
        pytest.param("9000", (ClaimedPort(80),), {}, True, id="none to come"),
    ],
)
def test_other_health_check_ports(asked: str, ports: tuple[ClaimedPort, ...], fields: Any, is_told: bool) -> None:
    """41: neighbours."""
    claim = Claim({f"{P}health-check-port": asked}, ports, **fields)
    assert [text for text in said(claim) if "health-check-port" in text] == (
        [f"{P}health-check-port is {asked}, {ELSEWHERE}"] if is_told else []
    )


def test_one_http_check_for_all_ports() -> None:
    """41: ports that speak something else fail it."""
    ports = (WEB, TLS, ClaimedPort(9090, node_port=31090, app_protocol="grpc"), ClaimedPort(22, node_port=31022))
    told = said(Claim({f"{P}health-check-protocol": "http"}, ports))
    assert [text.partition("fail it; set ")[2] for text in told] == [
        f"port-{port}.hcloud-reconciler/health-check-protocol to tcp" for port in (443, 9090, 22)
    ]
    assert said(Claim({f"{P}health-check-protocol": "tcp"}, ports)) == []


@pytest.mark.parametrize(
    ("address", "network", "why"),
    [
        (
            "172.16.0.12",
            "cluster",
            "172.16.0.12 is the address of server 2 in network 4712, and HCLOUD_NETWORK is cluster (4711); correct it,",
        ),
        (
            "10.0.0.99",
            "cluster",
            "10.0.0.99 is an alias address of server 2 in network 4711; set it to the server's main address there",
        ),
        ("198.18.0.9", "cluster", "198.18.0.9 is an address of server 9, and the Node is server 2; correct it, or if"),
        ("10.0.0.200", "cluster", "10.0.0.200 is none of the server's addresses"),
    ],
    ids=["another network", "alias", "another server", "nobody's"],
)
def test_a_node_ip(field: Callable[[str], Stage], address: str, network: str, why: str) -> None:
    """43: the address is told for what it is."""
    stage = field("43-node-ip-of-another-network")
    (server,) = stage.servers()
    private = [
        {**each, "alias_ips": ["10.0.0.99"] if each["network"] == 4711 else []} for each in server["private_net"]
    ]
    stage.change_servers(2, private_net=private)
    stage.add_servers({"id": 9, "name": "other", "public_net": {"ipv4": {"ip": "198.18.0.9"}, "ipv6": None}})
    annotations = {"alpha.kubernetes.io/provided-node-ip": address}
    stage.patch_node("w-2", {"metadata": {"annotations": annotations}})
    report = one_pass(stage, {"--dry-run": "true"}, HCLOUD_NETWORK=network)
    (text,) = [note["text"] for note in report["notes"] if note["kind"] == "unusable-node-ip"]
    assert text.startswith(f"addresses are not written: the kubelet's --node-ip {why}")
