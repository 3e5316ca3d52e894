"""TLS, a redirect and a health check that were made in Hetzner's console, at a Service that says nothing of them."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.support.in_process import one_pass
from tests.support.objects import by_key, ingress, said_of
from tests.support.stage import Stage

WORLD = "02-tls-made-in-console"
PORT = "load_balancer/default/ingress/listener/443"
PREFIX = "load-balancer.hetzner.cloud/"
KEPT = (
    "load balancer keeps protocol=https (default tcp), http-redirect-http=true (default false),"
    " health-check-protocol=http (default tcp), health-check-port=31080 (default the node port),"
    " health-check-http-path=/ping (default /), set by no annotation or variable"
)
REDIRECTED = (
    "port 80 is left out: the load balancer redirects it to port 443, set by no annotation; set"
    f" {PREFIX}http-redirect-http to false, or remove port 80 from the Service"
)


def listeners(stage: Stage, name: str = "ingress-lb") -> Mapping[int, Any]:
    """Port → listener of the load balancer with this name."""
    found = next(each for each in stage.balancers() if each["name"] == name)
    return {each["listen_port"]: each for each in found["services"]}


def texts(report: Mapping[str, Any]) -> list[str]:
    """What notes on the Service say."""
    return [note["text"] for note in report["notes"] if note["key"] == "service/default/ingress"]


def at_node_port(number: int) -> dict[str, Any]:
    """The port of the Service that its listener is for."""
    return {"name": "websecure", "port": 443, "nodePort": number, "protocol": "TCP"}


def test_what_nothing_asks_for_stays(field: Callable[[str], Stage]) -> None:
    """02: the port stays as it is without a hold, notes name what is kept, and the second pass says the same."""
    stage = field(WORLD)
    made = listeners(stage)[443]
    first, second = one_pass(stage), one_pass(stage)

    assert listeners(stage) == {443: made}
    assert (first["holds"], second["holds"], second["changes"]) == ([], [], [])
    assert [text.startswith(KEPT) for text in texts(second)].count(True) == 1
    assert REDIRECTED in texts(second)
    assert ingress(stage.service("ingress"))


def test_annotations_keep_what_was_made(field: Callable[[str], Stage]) -> None:
    """02: with what the note names the Service asks for all of it, and the plan is empty."""
    stage = field(WORLD)
    made = listeners(stage)[443]
    stage.annotate(
        "ingress",
        protocol="https",
        http_certificates="77",
        http_redirect_http="true",
        health_check_protocol="http",
        health_check_port="31080",
        health_check_http_path="/ping",
    )
    stage.listen("ingress", at_node_port(31443))
    report = one_pass(stage)

    assert [change for change in report["changes"] if change["key"].startswith("load_balancer/")] == []
    assert (report["holds"], listeners(stage)) == ([], {443: made})
    after = one_pass(stage)
    assert (after["changes"], [text for text in texts(after) if "keeps" in text]) == ([], [])
    assert said_of(stage.service("ingress"))["LoadBalancerInSync"] == ("True", "InSync")


def test_an_annotation_is_a_word(field: Callable[[str], Stage]) -> None:
    """02: a Service that says tcp, and a check of its own, gets both at once, and port 80 with them."""
    stage = field(WORLD)
    stage.annotate("ingress", protocol="tcp", health_check_port="31443", health_check_protocol="tcp")
    report = one_pass(stage)

    changed = by_key(report)[PORT]
    assert (report["holds"], changed["verdict"], changed["outcome"]) == ([], "allowed", {"state": "applied"})
    assert {port: each["protocol"] for port, each in listeners(stage).items()} == {80: "tcp", 443: "tcp"}
    assert listeners(stage)[443]["health_check"]["protocol"] == "tcp"
    assert one_pass(stage)["changes"] == []


def test_a_new_node_port_is_followed(field: Callable[[str], Stage]) -> None:
    """02: kube-proxy closes the old node port, so that the port leads to the new one at once, and keeps the rest."""
    stage = field(WORLD)
    made = listeners(stage)[443]
    stage.listen("ingress", at_node_port(31555))
    report = one_pass(stage)

    assert report["holds"] == []
    assert listeners(stage)[443] == {**made, "destination_port": 31555}


def test_a_certificate_beside_ours(field: Callable[[str], Stage]) -> None:
    """02: a certificate that a person added beside the one of the Service is not taken off without a word."""
    stage = field(WORLD)
    stage.annotate("ingress", protocol="https", http_certificates="77", http_redirect_http="true")
    (balancer,) = stage.balancers()
    (listener,) = balancer["services"]
    secure = {**listener, "http": {**listener["http"], "certificates": [77, 78]}}
    certificates = [{"id": 77, "name": "site"}, {"id": 78, "name": "added"}]
    stage.change_project(certificates=certificates, load_balancers=[{**balancer, "services": [secure]}])

    change = by_key(one_pass(stage, {"--dry-run": "true"}))[PORT]

    assert change["consequences"] == [
        f"port 443 loses certificate 78; if that is not intended, name it in {PREFIX}http-certificates"
    ]
