"""TLS, a redirect and a health check that were made in Hetzner's console, at a Service that says nothing of them."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.support.in_process import one_pass
from tests.support.stage import Stage

WORLD = "02-tls-made-in-console"
SERVICES = "/api/v1/namespaces/default/services"
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
    found = next(each for each in stage.project.world()["hetzner"]["load_balancers"] if each["name"] == name)
    return {each["listen_port"]: each for each in found["services"]}


def condition(stage: Stage) -> tuple[str, str]:
    """Status and reason of ``LoadBalancerInSync``."""
    _, service = stage.cluster.request("GET", f"{SERVICES}/ingress")
    found = next(each for each in service["status"]["conditions"] if each["type"].endswith("LoadBalancerInSync"))
    return found["status"], found["reason"]


def by_key(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """Key → change."""
    return {change["key"]: change for change in report["changes"]}


def texts(report: Mapping[str, Any]) -> list[str]:
    """What notes on the Service say."""
    return [note["text"] for note in report["notes"] if note["key"] == "service/default/ingress"]


def say(stage: Stage, **annotations: str) -> None:
    """A person annotates the Service."""
    said = {f"{PREFIX}{key.replace('_', '-')}": text for key, text in annotations.items()}
    assert stage.cluster.request("PATCH", f"{SERVICES}/ingress", {"metadata": {"annotations": said}})[0] == 200


def test_what_nothing_asks_for_stays(field: Callable[[str], Stage]) -> None:
    """02: the port stays as it is without a hold, notes name what is kept, and the second pass says the same."""
    stage = field(WORLD)
    made = listeners(stage)[443]
    first, second = one_pass(stage), one_pass(stage)

    assert listeners(stage) == {443: made}
    assert (first["holds"], second["holds"], second["changes"]) == ([], [], [])
    assert [text.startswith(KEPT) for text in texts(second)].count(True) == 1
    assert REDIRECTED in texts(second)
    _, service = stage.cluster.request("GET", f"{SERVICES}/ingress")
    assert service["status"]["loadBalancer"]["ingress"]


def test_annotations_keep_what_was_made(field: Callable[[str], Stage]) -> None:
    """02: with what the note names the Service asks for all of it, and the plan is empty."""
    stage = field(WORLD)
    made = listeners(stage)[443]
    say(
        stage,
        protocol="https",
        http_certificates="77",
        http_redirect_http="true",
        health_check_protocol="http",
        health_check_port="31080",
        health_check_http_path="/ping",
    )
    ports = [{"name": "websecure", "port": 443, "nodePort": 31443, "protocol": "TCP"}]
    assert stage.cluster.request("PATCH", f"{SERVICES}/ingress", {"spec": {"ports": ports}})[0] == 200
    report = one_pass(stage)

    assert [change for change in report["changes"] if change["key"].startswith("load_balancer/")] == []
    assert (report["holds"], listeners(stage)) == ([], {443: made})
    after = one_pass(stage)
    assert (after["changes"], [text for text in texts(after) if "keeps" in text]) == ([], [])
    assert condition(stage) == ("True", "InSync")


def test_an_annotation_is_a_word(field: Callable[[str], Stage]) -> None:
    """02: a Service that says tcp, and a check of its own, gets both at once, and port 80 with them."""
    stage = field(WORLD)
    say(stage, protocol="tcp", health_check_port="31443", health_check_protocol="tcp")
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
    ports = [{"name": "websecure", "port": 443, "nodePort": 31555, "protocol": "TCP"}]
    assert stage.cluster.request("PATCH", f"{SERVICES}/ingress", {"spec": {"ports": ports}})[0] == 200
    report = one_pass(stage)

    assert report["holds"] == []
    assert listeners(stage)[443] == {**made, "destination_port": 31555}
