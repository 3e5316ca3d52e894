"""Annotations of single ports: which keys are some, what a port asks for, and all that may be wrong with them."""

from desired.annotations.choices import Protocol
from desired.annotations.claims import Claim, ClaimedPort, check_claim
from desired.annotations.options import OF_PORTS, ON_LISTENERS, Options
from desired.annotations.port_keys import is_ours, option_of, port_key
from desired.annotations.reading import Origin, Requested
from tests.balancers import annotated
from tests.support.rows import rows

P, OWN = "load-balancer.hetzner.cloud/", ".hcloud-reconciler/"
AT = f"port-443{OWN}"
WEB, TLS, DNS = ClaimedPort(80), ClaimedPort(443), ClaimedPort(53, "UDP")
MQTT = ClaimedPort(8883)
LOCATED = Options(location="fsn1")


def asking(*ports: ClaimedPort, **annotations: str) -> Requested:
    """What a Service asks for: ``port_443_protocol="http"`` is of a port, ``protocol`` of the Service."""
    return Claim(annotated(**annotations), ports).requested(LOCATED)


def said(annotations: dict[str, str], *ports: ClaimedPort) -> tuple[list[tuple[str, int | None]], list[str]]:
    """Texts of problems with their ports, and of warnings, but for what is said of all such Services."""
    check = check_claim(Claim(annotations, ports or (WEB, TLS)), LOCATED, has_network=False)
    remarks = [remark.text for remark in check.remarks if remark.key != "metadata.annotations"]
    return [(problem.text, problem.port) for problem in check.problems], remarks


def test_every_option_of_ports_may_be_one_of_a_port() -> None:
    """What listeners have, and what decides on it; the managed certificate itself is the Service's."""
    assert set(OF_PORTS) == {*ON_LISTENERS, "certificate_type", "health_check_node_port"}
    assert [option_of(port_key(443, name)) for name in OF_PORTS] == [*OF_PORTS]
    assert port_key(443, "uses_proxyprotocol") == "port-443.hcloud-reconciler/uses-proxyprotocol"
    assert port_key(443, "health_check_node_port") == "port-443.hcloud-reconciler/health-check-node-port"


@rows("key ours", {
    "of-a-port": (f"{AT}protocol", True),
    "capitals": ("Port-443.Hcloud-Reconciler/protocol", True),
    "something-else-below": (f"node{OWN}protocol", True),
    "no-port": ("port-443/protocol", False),
    "in-the-name": (f"example.com/port-443{OWN[:-1]}", False),
})  # fmt: skip
def test_keys_of_ours(key: str, ours: bool) -> None:
    """Captures keep them, and validate finds them in charts."""
    assert is_ours(key) is ours


def test_port_before_service_before_default() -> None:
    defaults = Options(location="fsn1", health_check_retries=2, uses_proxyprotocol=True)
    annotations = annotated(protocol="http", port_443_protocol="tcp", port_443_uses_proxyprotocol="false")
    found = Claim(annotations, (WEB, TLS)).requested(defaults)
    plain, tls = found.of_port(80), found.of_port(443)
    assert (plain.options.protocol, tls.options.protocol) == (Protocol.HTTP, Protocol.TCP)
    assert (plain.options.uses_proxyprotocol, tls.options.uses_proxyprotocol) == (True, False)
    assert (plain.options.health_check_retries, tls.options.health_check_retries) == (2, 2)
    assert [way.origin("uses_proxyprotocol") for way in (plain, tls)] == [Origin.ENVIRONMENT, Origin.ANNOTATION]
    assert tls.own == {"protocol", "uses_proxyprotocol"}
    assert (plain.key("protocol"), tls.key("protocol")) == (f"{P}protocol", f"{AT}protocol")
    assert tls.key("location") == f"{P}location"


@rows("ports ways", {
    "none-of-its-own": ((WEB, MQTT), [None]),
    "some": ((WEB, TLS), [None, 443]),
    "the-same-number-twice": ((TLS, ClaimedPort(443, "UDP")), [443]),
    "none-at-all": ((DNS,), [None]),
})  # fmt: skip
def test_all_that_ports_ask_for(ports: tuple[ClaimedPort, ...], ways: list[int | None]) -> None:
    assert [way.port for way in asking(*ports, port_443_protocol="http").ways] == ways


WRONG = "write its number after port-, 1 to 65535"


@rows("key begin port", {
    "leading-zero": (f"port-080{OWN}protocol", f"port-080{OWN}protocol names no port; {WRONG}", None),
    "too-large": (f"port-65536{OWN}protocol", f"port-65536{OWN}protocol names no port; {WRONG}", None),
    "other-digits": (f"port-\uff14{OWN}protocol", f"port-\uff14{OWN}protocol names no port; {WRONG}", None),
    "two-ports": (f"port-80.port-443{OWN}protocol", f"port-80.port-443{OWN}protocol names no port; {WRONG}", None),
    "capitals": (f"Port-443{OWN}protocol", f"Port-443{OWN}protocol has capitals before the slash", None),
    "unknown-key": (f"{AT}uses-proxy-protocol", (f"{AT}uses-proxy-protocol is unknown: did you mean "
        f"{AT}uses-proxyprotocol?; correct it, or remove it"), 443),
    "of-the-whole": (f"{AT}type", (f"{AT}type is no option of a port, but of the whole load balancer; "
        f"set {P}type, and remove it"), 443),
    "a-port-that-is-not-there": (f"port-8443{OWN}protocol", (f"port-8443{OWN}protocol is of port 8443, which the"
        " Service does not have; correct the number, or remove it"), 8443),
    "udp": (f"port-53{OWN}protocol", f"port-53{OWN}protocol is of a port of UDP, and Hetzner balances TCP only", 53),
    "value": (f"{AT}protocol", f"{AT}protocol is 'http,': expect one of tcp, http, https; correct", 443),
})  # fmt: skip
def test_keys_that_are_no_option_of_a_port(key: str, begin: str, port: int | None) -> None:
    """One error that names the key and the remedy, and the port that it is about; None holds all of them back."""
    ((text, found),) = said({key: "http,"}, WEB, TLS, DNS)[0]
    assert text.startswith(begin[:250]) or begin.startswith(text)
    assert found == port


def test_a_hundred_wrong_keys() -> None:
    """The first ones are told, and how many more there are: an object made to fill plans does not."""
    wrong = {f"port-x{number:03}{OWN}protocol": "http" for number in range(100)}
    unknown = {f"port-{number}{OWN}protocol": "http" for number in range(1000, 1100)}
    problems = said(wrong | unknown)[0]
    assert len(problems) == 22
    assert [text for text, port in problems if text.startswith("metadata.annotations has 90 more wrong keys")] != []


CERTIFIED = {"port_443_protocol": "https", "port_443_http_certificates": "1"}


@rows("annotations ports problem port", {
    "managed-without-domains": ({"port_443_protocol": "https", "port_443_certificate_type": "managed"}, (WEB, TLS),
        (f"{P}http-managed-certificate-domains is not set: a managed certificate needs domains, such as"
        f" example.com,*.example.com; name them, or remove {AT}certificate-type"), 443),
    "redirect-beside-port-80": ({**CERTIFIED, "port_443_http_redirect_http": "true"}, (WEB, TLS),
        (f"{AT}http-redirect-http is true: it takes port 80, which the Service has as well; remove that port, or"
        " the redirect"), None),
    "two-redirects": ({**CERTIFIED, "port_443_http_redirect_http": "true", "port_8883_protocol": "https",
        "port_8883_http_certificates": "2", "port_8883_http_redirect_http": "true"}, (TLS, MQTT),
        (f"{AT}http-redirect-http is true, and so is port-8883{OWN}http-redirect-http: a redirect takes port 80,"
        " of one port; keep one"), None),
    "fine-on-each": ({**CERTIFIED, "port_80_protocol": "http", "port_8883_uses_proxyprotocol": "true"},
        (WEB, TLS, MQTT), None, None),
})  # fmt: skip
def test_options_that_ports_cannot_have(
    annotations: dict[str, str], ports: tuple[ClaimedPort, ...], problem: str | None, port: int | None
) -> None:
    """One clear error, at the port's own annotations where they make it, else at the Service's."""
    assert said(annotated(**annotations), *ports)[0] == ([] if problem is None else [(problem, port)])


TCP_DECIDES = f"{AT}protocol decides"


@rows("annotations ports remarks", {
    "read-at-one-port": ({"http_cookie_name": "C", "port_443_protocol": "http"}, (WEB, TLS), []),
    "read-at-no-port": ({"http_cookie_name": "C", "port_443_http_timeout_idle": "60s", "port_443_protocol": "http",
        "port_443_http_cookie_name": "D"}, (WEB, TLS),
        [f"{P}http-cookie-name has no effect: the protocol is tcp; {P}protocol decides"]),
    "overruled-at-each-port": ({"uses_proxyprotocol": "true", "port_443_uses_proxyprotocol": "false"}, (TLS,),
        [f"{P}uses-proxyprotocol has no effect: each port has an annotation of its own for it"]),
    "wrong-and-idle": ({"port_443_http_cookie_name": ""}, (WEB, TLS), [(f"{AT}http-cookie-name is '': expect 1 to"
        f" 100 characters; correct it, or remove it; for now it has no effect: the protocol is tcp; {TCP_DECIDES}")]),
    "some-speak-proxy": ({"port_443_uses_proxyprotocol": "true"}, (WEB, TLS), [(f"{AT}uses-proxyprotocol is true:"
        " the status has ipMode Proxy for all ports, so that pods reach the others through the load balancer"
        " as well")]),
    "all-but-one-speak-proxy": ({"uses_proxyprotocol": "true", "port_443_uses_proxyprotocol": "false"}, (WEB, TLS),
        [(f"{P}uses-proxyprotocol is true: the status has ipMode Proxy for all ports, so that pods reach the others"
        " through the load balancer as well")]),
})  # fmt: skip
def test_idle_options(annotations: dict[str, str], ports: tuple[ClaimedPort, ...], remarks: list[str]) -> None:
    assert said(annotated(**annotations), *ports) == ([], remarks)


def test_going_back_is_told() -> None:
    claim = Claim(annotated(port_443_protocol="tcp", port_80_protocol="http"), (WEB, TLS))
    check = check_claim(claim, LOCATED, has_network=False)
    assert [remark.text for remark in check.remarks] == [
        (
            f"metadata.annotations has {AT}protocol and 1 more option of ports: hcloud-cloud-controller-manager"
            " ignores that, and would make all ports alike"
        )
    ]
