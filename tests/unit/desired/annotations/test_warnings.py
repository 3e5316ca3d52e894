"""What is odd about annotations and stops nothing."""

from collections.abc import Mapping
from typing import Any

import pytest

from desired.annotations.combinations import Circumstances, idle_options
from desired.annotations.options import OPTIONS, Options
from desired.annotations.reading import read_annotations, with_defaults
from desired.annotations.warnings import AnnotationWarning, warnings_on
from tests.balancers import annotated
from tests.support.options import parse_options

P = "load-balancer.hetzner.cloud/"
TCP = f"has no effect: the protocol is tcp; {P}protocol decides"
NO_HTTPS = f"has no effect: the protocol is not https; {P}protocol decides"
NOT_MANAGED = f"has no effect: no managed certificate is asked for; {P}certificate-type decides"
NO_CHECKS = (
    f"has no effect: health checks speak tcp unless {P}health-check-protocol is set, or another option of health checks"
    " beside protocol http or https"
)
MANAGED = {"certificate-type": "managed", "http-managed-certificate-domains": "example.com"}


def warned_of(annotations: Mapping[str, str], defaults: Options) -> tuple[AnnotationWarning, ...]:
    """The warnings on annotations that are read for the first time, of a Service with the policy Local."""
    read = with_defaults(read_annotations(annotations), defaults)
    idle = idle_options(read.options, read.bad, Circumstances(is_local=True))
    return warnings_on(annotations, read, idle)


REGION = "topology.kubernetes.io/region"


def said_of(annotations: Mapping[str, str], **defaults: Any) -> list[str]:
    """The remarks on annotations, which are given without their prefix."""
    return [
        remark.text.removeprefix(P)
        for remark in warned_of({f"{P}{key}": text for key, text in annotations.items()}, Options(**defaults))
    ]


@pytest.mark.parametrize(
    ("annotations", "defaults", "said"),
    [
        pytest.param(
            {"locaton": "x"}, {}, f"locaton is unknown, and ignored: did you mean {P}location?", id="misspelt"
        ),
        pytest.param({"colour": "x"}, {}, "colour is unknown, and ignored: no annotation has this name", id="unknown"),
        pytest.param(
            {"deletion-policy": "retain"},
            {},
            "deletion-policy is unknown, and ignored: did you mean hcloud-reconciler/deletion-policy?",
            id="under-the-other-prefix",
        ),
        pytest.param(
            {"ipv4": "1.2.3.4"},
            {},
            f"ipv4 is reserved: it is neither read nor written; set {P}public-net-ipv4",
            id="reserved",
        ),
        pytest.param({"id": "7"}, {}, f"id is reserved: it is neither read nor written; set {P}name", id="reserved-id"),
        pytest.param(
            {"network": "138627"},
            {},
            "network is unknown, and ignored: the network is the controller's: HCLOUD_NETWORK",
            id="decided-elsewhere",
        ),
        pytest.param(
            {"firewall": "x"},
            {},
            "firewall is unknown, and ignored: Hetzner's load balancers have no firewall",
            id="done-by-nothing",
        ),
        pytest.param(
            {"private-ip": "true"},
            {},
            f"private-ip is unknown, and ignored: did you mean {P}use-private-ip?",
            id="meaning-before-spelling",
        ),
        pytest.param(
            {"certificate-type": "Managed"},
            {},
            "certificate-type is 'Managed', which counts as uploaded: write managed or uploaded",
            id="managed-misspelt",
        ),
        pytest.param(
            {**MANAGED, "protocol": "https", "http-managed-certificate-acme-staging": "yes"},
            {},
            "http-managed-certificate-acme-staging is 'yes', which counts as false: expect one of 1, t, T, TRUE, true,"
            " True, 0, f, F, FALSE, false, False",
            id="staging-misspelt",
        ),
        pytest.param(
            {"hostname": ""},
            {},
            "hostname is empty: the Service's status will show neither an address nor a name",
            id="no-hostname",
        ),
        pytest.param(
            {"network-zone": "z"},
            {"location": "nbg1"},
            "network-zone has no effect: HCLOUD_LOAD_BALANCERS_LOCATION is nbg1, and a location wins; set"
            f' {P}location to ""',
            id="the-environments-location-wins",
        ),
        pytest.param(
            {"network-zone": "z", "location": "fsn1"},
            {"location": "nbg1"},
            f"network-zone has no effect: {P}location is fsn1, and a location wins; remove one of the two",
            id="location-wins",
        ),
        pytest.param(
            {"node-selector": "topology.kubernetes.io/region in (fsn1,nbg1),a=b", "location": "ash"},
            {},
            "node-selector chooses Nodes in fsn1, nbg1 (network zone eu-central), and the load balancer is asked for in"
            f" ash (us-east): Hetzner takes servers of its own zone only; set {P}location to one of theirs",
            id="nodes-of-another-zone",
        ),
        pytest.param(
            {"node-selector": "topology.kubernetes.io/region=ash"},
            {"network_zone": "eu-central"},
            "node-selector chooses Nodes in ash (network zone us-east), and the load balancer is asked for in"
            f" eu-central (eu-central): Hetzner takes servers of its own zone only; set {P}location to one of theirs",
            id="nodes-of-another-zone-than-the-default",
        ),
        pytest.param({"http-cookie-name": "x"}, {}, f"http-cookie-name {TCP}", id="cookie-name"),
        pytest.param({"http-cookie-lifetime": "30s"}, {}, f"http-cookie-lifetime {TCP}", id="cookie-lifetime"),
        pytest.param({"http-timeout-idle": "30s"}, {}, f"http-timeout-idle {TCP}", id="timeout-idle"),
        pytest.param({"http-redirect-http": "true"}, {}, f"http-redirect-http {TCP}", id="redirect"),
        pytest.param({"http-sticky-sessions": "true"}, {}, f"http-sticky-sessions {TCP}", id="sessions"),
        pytest.param(
            {"http-certificates": "1", "protocol": "http"}, {}, f"http-certificates {NO_HTTPS}", id="certificates"
        ),
        pytest.param(MANAGED, {}, f"certificate-type {NO_HTTPS}", id="managed-without-https"),
        pytest.param(
            {**MANAGED, "protocol": "https", "http-certificates": "1"},
            {},
            f"http-certificates has no effect: a managed certificate takes their place; {P}certificate-type decides",
            id="both-kinds-of-certificates",
        ),
        pytest.param(
            {"http-managed-certificate-name": "x"}, {}, f"http-managed-certificate-name {NOT_MANAGED}", id="name"
        ),
        pytest.param(
            {"http-managed-certificate-domains": "example.com"},
            {},
            f"http-managed-certificate-domains {NOT_MANAGED}",
            id="domains",
        ),
        pytest.param(
            {"http-managed-certificate-acme-staging": "true"},
            {},
            f"http-managed-certificate-acme-staging {NOT_MANAGED}",
            id="staging",
        ),
        pytest.param({"health-check-http-path": "/x"}, {}, f"health-check-http-path {NO_CHECKS}", id="only-a-path"),
        pytest.param(
            {"health-check-http-domain": "x", "protocol": "http"},
            {},
            f"health-check-http-domain {NO_CHECKS}",
            id="http-alone-configures-no-check",
        ),
        pytest.param(
            {"http-status-codes": "200"},
            {"health_check_interval": 5},
            f"http-status-codes {NO_CHECKS}",
            id="checks-of-tcp",
        ),
        pytest.param(
            {"health-check-http-validate-certificate": "true", "health-check-protocol": "tcp", "protocol": "http"},
            {},
            f"health-check-http-validate-certificate {NO_CHECKS}",
            id="checks-of-tcp-with-http",
        ),
    ],
)
def test_remarks(annotations: Mapping[str, str], defaults: Mapping[str, Any], said: str) -> None:
    """One sentence each, and none of these stops a load balancer."""
    assert said_of(annotations, **defaults) == [said]
    whole = {f"{P}{key}": text for key, text in annotations.items()}
    assert isinstance(parse_options(whole, Options(**defaults)), Options)


@pytest.mark.parametrize(
    ("annotations", "defaults"),
    [
        pytest.param({}, {"location": "nbg1", "network_zone": "z"}, id="nothing"),
        pytest.param({"network-zone": "z", "location": ""}, {"location": "nbg1"}, id="the-environments-was-cleared"),
        pytest.param({"node-selector": f"{REGION}=fsn1", "location": "hel1"}, {}, id="nodes-of-its-zone"),
        pytest.param({"node-selector": f"{REGION} in (fsn1,ash)", "location": "ash"}, {}, id="some-are-of-its-zone"),
        pytest.param({"node-selector": f"{REGION}=new1", "location": "ash"}, {}, id="nodes-of-an-unknown-place"),
        pytest.param({"node-selector": f"{REGION}=fsn1", "location": "new1"}, {}, id="an-unknown-place"),
        pytest.param({"node-selector": f"{REGION}!=fsn1", "location": "fsn1"}, {}, id="nodes-that-are-left-out"),
        pytest.param({"node-selector": "a=fsn1", "location": "ash"}, {}, id="another-label"),
        pytest.param({"network-zone": ""}, {"location": "nbg1"}, id="zone-cleared"),
        pytest.param({"location": "fsn1"}, {"network_zone": "z"}, id="a-location-over-a-default-zone"),
        pytest.param({"http-cookie-name": "x", "protocol": "http"}, {}, id="cookies-with-http"),
        pytest.param({"http-certificates": "1", "protocol": "https"}, {}, id="certificates-with-https"),
        pytest.param({**MANAGED, "protocol": "https"}, {}, id="managed-with-https"),
        pytest.param({"certificate-type": "uploaded"}, {}, id="uploaded"),
        pytest.param({"health-check-http-path": "/x", "health-check-protocol": "http"}, {}, id="path-with-http-checks"),
        pytest.param(
            {"health-check-http-path": "/x", "protocol": "https"}, {"health_check_interval": 5}, id="checks-by-default"
        ),
        pytest.param({"hostname": "www.example.com"}, {}, id="hostname"),
        pytest.param({"http-cookie-name": "x", "protocol": "htp"}, {}, id="a-protocol-that-cannot-be-read"),
        pytest.param({"http-cookie-lifetime": "5", "protocol": "http"}, {}, id="a-value-that-cannot-be-read"),
        pytest.param({"http-redirect-http": "false", "http-sticky-sessions": "false"}, {}, id="nothing-is-asked-for"),
        pytest.param({"hostname": "a.b", "ipv6-disabled": "true"}, {}, id="what-matters-without-a-hostname"),
    ],
)
def test_nothing_to_remark(annotations: Mapping[str, str], defaults: Mapping[str, Any]) -> None:
    """What has its effect, and what is an error anyway, is not remarked upon."""
    assert said_of(annotations, **defaults) == []


def test_own_and_foreign_keys() -> None:
    """Keys below our own domain are known as well; others are none of our business."""
    own = "hcloud-reconciler/deletion-polcy"
    foreign = {"example.com/location": "x", "load-balancer.hetzner.com/type": "x"}
    (remark,) = warned_of({own: "retain", **foreign}, Options())

    assert remark.text == f"{own} is unknown, and ignored: did you mean hcloud-reconciler/deletion-policy?"
    assert warned_of({OPTIONS["deletion_policy"].full_key: "retain"}, Options()) == ()


KUBE_PROXY = OPTIONS["health_check_node_port"].full_key


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        pytest.param({}, [], id="alone"),
        pytest.param({"health_check_http_path": "/x", "http_status_codes": "200"}, [], id="http-options-count"),
        pytest.param({"health_check_protocol": "http", "health_check_interval": "5s"}, [], id="http"),
        pytest.param({"health_check_port": "8080"}, [KUBE_PROXY], id="another-port"),
        pytest.param({"health_check_protocol": "tcp"}, [KUBE_PROXY], id="tcp"),
        pytest.param({"health_check_protocol": "https"}, [KUBE_PROXY], id="https"),
        pytest.param({"health_check_port": "0"}, [], id="a-port-that-cannot-be-read"),
    ],
)
def test_asking_kube_proxy(beside: Mapping[str, str], said: list[str]) -> None:
    """What is set besides may win over it."""
    found = warned_of({KUBE_PROXY: "true", **annotated(**beside)}, Options())

    assert [remark.key for remark in found] == said
    why = f"{P}health-check-port, or {P}health-check-protocol other than http, wins over it"
    assert all(remark.text == f"{KUBE_PROXY} has no effect: {why}" for remark in found)


def test_kube_proxy_that_cannot_be_read() -> None:
    """Nothing is concluded from it of the options of HTTP."""
    assert warned_of({KUBE_PROXY: "yes", **annotated(health_check_http_path="/x")}, Options()) == ()
