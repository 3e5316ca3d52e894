"""What is odd about annotations and stops nothing."""

from collections.abc import Mapping
from typing import Any

from desired.annotations.combinations import Circumstances, idle_options
from desired.annotations.options import OPTIONS, Options
from desired.annotations.reading import read_annotations, with_defaults
from desired.annotations.warnings import AnnotationWarning, warnings_on
from tests.balancers import annotated
from tests.support.options import parse_options
from tests.support.rows import rows

P = "load-balancer.hetzner.cloud/"
NO_HTTPS = f"has no effect: the protocol is not https; {P}protocol decides"
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


@rows("annotations defaults said", {
    "unknown": ({"colour": "x"}, {}, "colour is unknown, and ignored: no annotation has this name"),
    "under-the-other-prefix": ({"deletion-policy": "retain"}, {},
        "deletion-policy is unknown, and ignored: did you mean hcloud-reconciler/deletion-policy?"),
    "reserved": ({"ipv4": "1.2.3.4"}, {}, f"ipv4 is reserved: it is neither read nor written; set {P}public-net-ipv4"),
    "decided-elsewhere": ({"network": "138627"}, {},
        "network is unknown, and ignored: the network is the controller's: HCLOUD_NETWORK"),
    "done-by-nothing": ({"firewall": "x"}, {},
        "firewall is unknown, and ignored: Hetzner's load balancers have no firewall"),
    "meaning-before-spelling": ({"private-ip": "true"}, {},
        f"private-ip is unknown, and ignored: did you mean {P}use-private-ip?"),
    "managed-misspelt": ({"certificate-type": "Managed"}, {},
        "certificate-type is 'Managed', which counts as uploaded: write managed or uploaded"),
    "staging-misspelt": ({**MANAGED, "protocol": "https", "http-managed-certificate-acme-staging": "yes"}, {},
        "http-managed-certificate-acme-staging is 'yes', which counts as false: expect one of 1, t, T, TRUE, true,"),
    "no-hostname": (
        {"hostname": ""},
        {},
        "hostname is empty: the Service's status will show neither an address nor a name",
    ),
    "the-environments-location-wins": ({"network-zone": "z"}, {"location": "nbg1"},
        "network-zone has no effect: HCLOUD_LOAD_BALANCERS_LOCATION is nbg1, and a location wins; set"),
    "location-wins": ({"network-zone": "z", "location": "fsn1"}, {"location": "nbg1"},
        f"network-zone has no effect: {P}location is fsn1, and a location wins; remove one of the two"),
    "nodes-of-another-zone": ({"node-selector": "topology.kubernetes.io/region in (fsn1,nbg1),a=b", "location": "ash"},
        {}, "node-selector chooses Nodes in fsn1, nbg1 (network zone eu-central), and the load balancer is requested"),
    "nodes-of-another-zone-than-the-default": (
        {"node-selector": "topology.kubernetes.io/region=ash"},
        {"network_zone": "eu-central"},
        "node-selector chooses Nodes in ash (network zone us-east), and the load balancer is requested",
    ),
    "managed-without-https": (MANAGED, {}, f"certificate-type {NO_HTTPS}"),
    "both-kinds-of-certificates": ({**MANAGED, "protocol": "https", "http-certificates": "1"}, {},
        f"http-certificates has no effect: a managed certificate takes their place; {P}certificate-type decides"),
    "only-a-path": ({"health-check-http-path": "/x"}, {}, f"health-check-http-path {NO_CHECKS}"),
    "http-alone-configures-no-check": ({"health-check-http-domain": "x", "protocol": "http"}, {},
        f"health-check-http-domain {NO_CHECKS}"),
    "checks-of-tcp-with-http": ({"health-check-http-validate-certificate": "true", "health-check-protocol": "tcp",
        "protocol": "http"}, {}, f"health-check-http-validate-certificate {NO_CHECKS}"),
})  # fmt: skip
def test_remarks(annotations: Mapping[str, str], defaults: Mapping[str, Any], said: str) -> None:
    (remark,) = said_of(annotations, **defaults)
    assert remark.startswith(said)
    whole = {f"{P}{key}": text for key, text in annotations.items()}
    assert isinstance(parse_options(whole, Options(**defaults)), Options)


@rows("annotations defaults", {
    "the-environments-was-cleared": ({"network-zone": "z", "location": ""}, {"location": "nbg1"}),
    "some-are-of-its-zone": ({"node-selector": f"{REGION} in (fsn1,ash)", "location": "ash"}, {}),
    "nodes-of-an-unknown-place": ({"node-selector": f"{REGION}=new1", "location": "ash"}, {}),
    "an-unknown-place": ({"node-selector": f"{REGION}=fsn1", "location": "new1"}, {}),
    "nodes-that-are-left-out": ({"node-selector": f"{REGION}!=fsn1", "location": "fsn1"}, {}),
    "a-location-over-a-default-zone": ({"location": "fsn1"}, {"network_zone": "z"}),
    "path-with-http-checks": ({"health-check-http-path": "/x", "health-check-protocol": "http"}, {}),
    "a-protocol-that-cannot-be-read": ({"http-cookie-name": "x", "protocol": "htp"}, {}),
    "a-value-that-cannot-be-read": ({"http-cookie-lifetime": "5", "protocol": "http"}, {}),
    "what-matters-without-a-hostname": ({"hostname": "a.b", "ipv6-disabled": "true"}, {}),
})  # fmt: skip
def test_nothing_to_remark(annotations: Mapping[str, str], defaults: Mapping[str, Any]) -> None:
    assert said_of(annotations, **defaults) == []


KUBE_PROXY = OPTIONS["health_check_node_port"].full_key


def test_own_and_foreign_keys() -> None:
    """Keys below our own domain are known as well; others are none of our business."""
    own = "hcloud-reconciler/deletion-polcy"
    foreign = {"example.com/location": "x", "csi.hetzner.cloud/type": "x"}
    (remark,) = warned_of({own: "retain", **foreign}, Options())
    assert remark.text == f"{own} is unknown, and ignored: did you mean hcloud-reconciler/deletion-policy?"
    assert warned_of({OPTIONS["deletion_policy"].full_key: "retain"}, Options()) == ()


@rows("beside said", {
    "another-port": ({"health_check_port": "8080"}, [KUBE_PROXY]),
    "a-port-that-cannot-be-read": ({"health_check_port": "0"}, []),
})  # fmt: skip
def test_asking_kube_proxy(beside: Mapping[str, str], said: list[str]) -> None:
    found = warned_of({KUBE_PROXY: "true", **annotated(**beside)}, Options())
    assert [remark.key for remark in found] == said
    why = f"{P}health-check-port, or {P}health-check-protocol other than http, wins over it"
    assert all(remark.text == f"{KUBE_PROXY} has no effect: {why}" for remark in found)


@rows(
    "count said",
    {"eleven": (11, "1 more unknown key that begins with"), "twelve": (12, "2 more unknown keys that begin with")},
)
def test_of_many_unknown_keys_ten_are_told(count: int, said: str) -> None:
    found = warned_of({f"{P}unknown-{number:02}": "x" for number in range(count)}, Options())
    assert len(found) == 11
    assert f"metadata.annotations has {said}" in found[-1].text
