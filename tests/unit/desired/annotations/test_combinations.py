"""Options that depend on each other: what cannot be together or is missing, and what nothing reads."""

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network, ip_network
from typing import Any

from desired.annotations.choices import CertificateType, Protocol
from desired.annotations.claims import ClaimCheck, ClaimedPort, check_claim
from desired.annotations.combinations import Circumstances, bad_combinations
from desired.annotations.options import OPTIONS, Options
from desired.annotations.reading import Requested
from tests.balancers import a_claim, annotated
from tests.support.rows import rows

P = "load-balancer.hetzner.cloud/"
RANGE = IPv4Network("10.0.0.0/24")
ALWAYS, TO_CREATE = Circumstances(is_created=False), Circumstances()
WITHOUT_NETWORK = Circumstances(is_created=False, has_network=False)
MISPLACED = {"private_ipv4": IPv4Address("10.0.1.5"), "private_subnet_ip_range": RANGE}
UNNAMED = {"certificate_type": CertificateType.MANAGED, "protocol": Protocol.HTTPS}
PRIMARY_IP = {"location": "fsn1", "disable_public_network": True, "public_net_ipv4": 7}


@rows("around options begin remedy", {
    "address-outside-its-range": (ALWAYS, MISPLACED, "private-ipv4 is 10.0.1.5: it is outside 10.0.0.0/24,", "inside"),
    "redirect-without-https": (ALWAYS, {"http_redirect_http": True, "protocol": Protocol.HTTP},
        "http-redirect-http is true: only https can be redirected to, and the protocol is http;",
        f"set {P}protocol to https"),
    "managed-without-domains": (ALWAYS, UNNAMED,
        "http-managed-certificate-domains is not set: a managed certificate needs domains,",
        f"remove {P}certificate-type"),
    "primary-ip-without-the-interface": (TO_CREATE, PRIMARY_IP, "public-net-ipv4 is 7: a Primary IP needs", "false"),
    "neither-location-nor-zone": (TO_CREATE, {},
        "location (or HCLOUD_LOAD_BALANCERS_LOCATION) is not set: a load balancer that has to be created needs",
        "set one of the two"),
    "https-without-certificate": (TO_CREATE, {"location": "fsn1", "protocol": Protocol.HTTPS},
        "http-certificates is not set: protocol https needs a certificate;", f"set {P}certificate-type to managed"),
    "private-targets-without-network": (WITHOUT_NETWORK, {"use_private_ip": True},
        "use-private-ip (or HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP) is true: there are no private addresses",
        "set HCLOUD_NETWORK, or this to false"),
    "not-public-without-network": (WITHOUT_NETWORK, {"disable_public_network": True},
        "disable-public-network (or HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK) is true: nothing could reach",
        "set HCLOUD_NETWORK, or this to false"),
})  # fmt: skip
def test_refused(around: Circumstances, options: dict[str, Any], begin: str, remedy: str) -> None:
    """One sentence with key, value, reason and remedy; none when one of the options could not be read."""
    (bad,) = bad_combinations(Requested(Options(**options)), (), around)
    assert bad.key == P + begin.split(" ", 1)[0]
    assert bad.text.startswith(P + begin)
    assert remedy in bad.text.rpartition(";")[2]
    for field in options:
        assert [*bad_combinations(Requested(Options(**options)), {field}, around)] == [] or field == "location"


HTTPS = {"protocol": "https", "http_certificates": "1"}
MANAGED = {"protocol": "https", "certificate_type": "managed", "http_managed_certificate_domains": "example.com"}
CHECKED = {"health_check_protocol": "http"}
SETTLED, OUTSIDE = {"is_settled": True}, {"has_network": False}
LOCAL = {"external_traffic_policy": "Local"}
NEW: dict[str, Any] = {}
OUT_OF_RANGE = {"private_ipv4": "10.0.1.5", "private_subnet_ip_range": "10.0.0.0/24"}


def checked(annotations: Mapping[str, str], given: Mapping[str, Any], **defaults: Any) -> ClaimCheck:
    """The check of a claim in a network, where ``given`` says nothing else; a policy is the Service's."""
    around = {"has_network": True, **{key: value for key, value in given.items() if key != "external_traffic_policy"}}
    policy = str(given.get("external_traffic_policy", "Cluster"))
    claim = a_claim(ClaimedPort(443), annotations=annotated(**annotations), external_traffic_policy=policy)
    return check_claim(claim, Options(location="fsn1", **defaults), **around)


KUBE_PROXY, HTTP = {"health_check_node_port": "true"}, {"protocol": "http"}


@rows("field text unread given read otherwise", {
    "path-of-checks-of-tcp": ("health_check_http_path", "", {}, NEW, CHECKED, NEW),
    "status-codes-without-kube-proxy": ("http_status_codes", "abc", KUBE_PROXY, NEW, KUBE_PROXY, LOCAL),
    "kube-proxy-without-local": ("health_check_node_port", "yes", {}, NEW, {}, LOCAL),
    "kube-proxy-or-a-port": ("health_check_node_port", "yes", {"health_check_port": "80"}, LOCAL, {}, LOCAL),
    "redirect-with-tcp": ("http_redirect_http", "yes", {}, NEW, HTTP, NEW),
    "no-https": ("http_certificates", "", HTTP, NEW, {"protocol": "https"}, NEW),
    "name-of-uploaded": ("http_managed_certificate_name", " x", HTTPS, NEW, MANAGED, NEW),
    "address-of-what-is-attached": ("private_ipv4", "10.0.0", {}, OUTSIDE, {}, SETTLED),
    "range-of-what-is-attached": ("private_subnet_ip_range", "", {}, SETTLED, {}, NEW),
    "ipv6-beside-a-hostname": ("ipv6_disabled", "", {"hostname": "a.b"}, NEW, {}, NEW),
})  # fmt: skip
def test_a_wrong_value(
    field: str,
    text: str,
    unread: Mapping[str, str],
    given: Mapping[str, Any],
    read: Mapping[str, str],
    otherwise: Mapping[str, Any],
) -> None:
    """A warning with the error and the reason beside ``unread``, where nothing reads it; an error beside ``read``."""
    key = OPTIONS[field].full_key
    idle, wrong = checked({**unread, field: text}, given), checked({**read, field: text}, otherwise)
    (bad,) = (problem for problem in wrong.problems if problem.key == key)
    (said,) = (remark.text for remark in idle.remarks if remark.key == key)
    assert idle.problems == ()
    assert said.startswith(f"{bad.text}; for now it has no effect: ")


@rows("annotations given problems", {
    "without-a-network": (OUT_OF_RANGE, OUTSIDE, 0),
    "where-it-is-attached": (OUT_OF_RANGE, SETTLED, 0),
    "redirect-with-tcp": ({"http_redirect_http": "true"}, NEW, 0),
    "managed-with-tcp": ({"certificate_type": "managed"}, NEW, 0),
    "nobody-knows-whether-it-is-read": ({"http_cookie_name": "", "protocol": "htp"}, NEW, 2),
})  # fmt: skip
def test_good_values_together(annotations: Mapping[str, str], given: Mapping[str, Any], problems: int) -> None:
    assert len(checked(annotations, given).problems) == problems


@rows("given problems", {"in-a-network": (NEW, 1), "without-one": (OUTSIDE, 0)})
def test_a_wrong_default(given: Mapping[str, Any], problems: int) -> None:
    """The environment's values are treated alike, and named by their variable."""
    check = checked({}, given, private_subnet_ip_range=ip_network("fd00::/64"))
    assert len(check.problems) == problems
    assert [remark.key for remark in check.remarks] == ["HCLOUD_LOAD_BALANCERS_PRIVATE_SUBNET_IP_RANGE"][problems:]
