"""TLS, a redirect and a health check that were made in Hetzner's console, at a Service that says nothing of them."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.support.in_process import ONCE, one_pass
from tests.support.stage import Stage

WORLD = "02-tls-made-in-console"
SERVICES = "/api/v1/namespaces/default/services"
PORT = "load_balancer/default/ingress/listener/443"
PREFIX = "load-balancer.hetzner.cloud/"
NO_TLS = (
    "clients of port 443 get no TLS from the load balancer any more, certificate 77 is removed, http is not"
    " redirected to port 443 any more"
)
CHECKED = "targets of port 443 are checked by tcp on port 31443 instead of http '/ping' on port 31080"


def listeners(stage: Stage, name: str = "ingress-lb") -> Mapping[int, Any]:
    """Port → listener of the load balancer with this name."""
    found = next(each for each in stage.project.world()["hetzner"]["load_balancers"] if each["name"] == name)
    return {each["listen_port"]: each for each in found["services"]}


def events(stage: Stage, reason: str) -> list[tuple[str, str]]:
    """Object and message of each Event with this reason."""
    _, found = stage.cluster.request("GET", "/api/v1/namespaces/default/events")
    return [(e["involvedObject"]["name"], e["message"]) for e in found["items"] if e["reason"] == reason]


def condition(stage: Stage) -> tuple[str, str]:
    """Status and reason of ``LoadBalancerInSync``."""
    _, service = stage.cluster.request("GET", f"{SERVICES}/ingress")
    found = next(each for each in service["status"]["conditions"] if each["type"].endswith("LoadBalancerInSync"))
    return found["status"], found["reason"]


def by_key(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """Key → change."""
    return {change["key"]: change for change in report["changes"]}


def test_what_clients_would_lose_is_held(field: Callable[[str], Stage]) -> None:
    """02: the port stays as it is, everything else goes on, and the second pass says the same."""
    stage = field(WORLD)
    made = listeners(stage)[443]
    other = {
        "metadata": {"name": "other", "namespace": "default", "annotations": {f"{PREFIX}location": "fsn1"}},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 22, "nodePort": 31022, "protocol": "TCP"}]},
    }
    assert stage.cluster.request("POST", SERVICES, other)[0] == 201

    first = one_pass(stage)
    told = events(stage, "ChangeHeld")
    second = one_pass(stage)

    assert listeners(stage) == {443: made}
    held = by_key(first)[PORT]
    assert (first["result"], held["verdict"], held["rule"]) == ("refused", "held", "listener-loss")
    assert [text.partition("; to keep it: ")[0] for text in held["consequences"]] == [NO_TLS, CHECKED]
    assert by_key(second)[PORT] == held
    assert [change["key"] for change in second["changes"] if change["verdict"] == "allowed"] == []
    assert {name for name, _ in events(stage, "EnsuredLoadBalancer")} >= {"other"}
    _, service = stage.cluster.request("GET", f"{SERVICES}/ingress")
    assert service["status"]["loadBalancer"]["ingress"]
    assert condition(stage) == ("False", "Held")
    (hold,) = second["holds"]
    ((name, message),) = told
    assert name == "ingress"
    assert NO_TLS in message
    assert f'{PREFIX}http-certificates: "77"' in message
    assert hold["hash"] in message
    assert events(stage, "ChangeHeld") == told
    assert events(stage, "ListenerChanged") == []


def test_an_approval_puts_exactly_this_back(field: Callable[[str], Stage]) -> None:
    """02: once approved the port is as the Service asks, the one that waited for it is there, and an Event says what
    has ended; nothing is left to be done."""
    stage = field(WORLD)
    (hold,) = one_pass(stage)["holds"]

    report = one_pass(stage, {**ONCE, "--approve": hold["hash"]})
    after = one_pass(stage)

    there = listeners(stage)
    assert by_key(report)[PORT]["outcome"] == {"state": "applied"}
    assert {port: (each["protocol"], each["destination_port"]) for port, each in there.items()} == {
        80: ("tcp", 31080),
        443: ("tcp", 31443),
    }
    assert there[443]["health_check"]["protocol"] == "tcp"
    assert events(stage, "ListenerChanged") == [("ingress", f"Changed port 443: {NO_TLS}; {CHECKED}")]
    assert (after["result"], after["changes"]) == ("no_changes", [])
    assert condition(stage) == ("True", "InSync")


def test_annotations_keep_what_was_made(field: Callable[[str], Stage]) -> None:
    """02: with what the consequences name the Service asks for all of it, and the plan is empty."""
    stage = field(WORLD)
    made = listeners(stage)[443]
    held = by_key(one_pass(stage))[PORT]
    remedies = " ".join(text.partition("; to keep it: ")[2] for text in held["consequences"])
    keep = {
        "protocol": "https",
        "http-certificates": "77",
        "http-redirect-http": "true",
        "health-check-protocol": "http",
        "health-check-port": "31080",
        "health-check-http-path": "/ping",
    }
    assert all(f"{PREFIX}{key}: " in remedies for key in keep)
    assert "and remove port 80 from the Service" in remedies

    body = {
        "metadata": {"annotations": {f"{PREFIX}{key}": value for key, value in keep.items()}},
        "spec": {"ports": [{"name": "websecure", "port": 443, "nodePort": 31443, "protocol": "TCP"}]},
    }
    assert stage.cluster.request("PATCH", f"{SERVICES}/ingress", body)[0] == 200
    report = one_pass(stage)

    assert [change for change in report["changes"] if change["key"].startswith("load_balancer/")] == []
    assert (report["holds"], listeners(stage)) == ([], {443: made})
    assert one_pass(stage)["changes"] == []
    assert condition(stage) == ("True", "InSync")


def test_an_annotation_is_a_word_and_its_event_says_what_ended(field: Callable[[str], Stage]) -> None:
    """02: a Service that says tcp, and a check of its own, needs no approval."""
    stage = field(WORLD)
    said = {f"{PREFIX}protocol": "tcp", f"{PREFIX}health-check-port": "31443"}
    body = {"metadata": {"annotations": said}}
    assert stage.cluster.request("PATCH", f"{SERVICES}/ingress", body)[0] == 200

    report = one_pass(stage)

    changed = by_key(report)[PORT]
    assert (report["holds"], changed["verdict"], changed["outcome"]) == ([], "allowed", {"state": "applied"})
    assert changed["consequences"][0] == NO_TLS
    assert {port: each["protocol"] for port, each in listeners(stage).items()} == {80: "tcp", 443: "tcp"}
    assert events(stage, "ListenerChanged") == [("ingress", f"Changed port 443: {NO_TLS}; {CHECKED}")]


def test_a_new_node_port_does_not_wait_for_a_word_on_tls(field: Callable[[str], Stage]) -> None:
    """02 with two causes at once: kube-proxy closes the old node port, so that the port leads to the new one at once;
    an approval of the rest is the same before and after."""
    stage = field(WORLD)
    ports = [{"name": "websecure", "port": 443, "nodePort": 31555, "protocol": "TCP"}]
    assert stage.cluster.request("PATCH", f"{SERVICES}/ingress", {"spec": {"ports": ports}})[0] == 200
    planned = stage.reconcile("plan", "-o", "json").report

    report = one_pass(stage)
    there = listeners(stage)[443]

    assert by_key(planned)[f"{PORT}/asked"]["verdict"] == "allowed"
    assert by_key(planned)[PORT]["verdict"] == by_key(report)[PORT]["verdict"] == "held"
    assert (there["protocol"], there["http"]["certificates"], there["destination_port"]) == ("https", [77], 31555)
    assert [hold["hash"] for hold in report["holds"]] == [hold["hash"] for hold in planned["holds"]]

    one_pass(stage, {**ONCE, "--approve": planned["holds"][0]["hash"]})

    assert (listeners(stage)[443]["protocol"], listeners(stage)[443]["destination_port"]) == ("tcp", 31555)


def test_an_approval_is_of_what_was_shown(field: Callable[[str], Stage]) -> None:
    """02: it lets nothing pass once the console has other settings there; the port is held anew."""
    stage = field(WORLD)
    (hold,) = one_pass(stage)["holds"]
    world = stage.project.world()
    (balancer,) = world["hetzner"]["load_balancers"]
    balancer["services"][0]["http"]["redirect_http"] = False
    stage.project.replace_world(world)

    report = one_pass(stage, {**ONCE, "--approve": hold["hash"]})

    assert by_key(report)[PORT]["verdict"] == "held"
    assert [found["hash"] for found in report["holds"]] != [hold["hash"]]
    assert listeners(stage)[443]["protocol"] == "https"


def test_a_check_that_nothing_passes_is_put_back_at_once(field: Callable[[str], Stage]) -> None:
    """02 with a check whose port is closed by now: traffic is back in the first pass, and TLS is held as before."""
    stage = field(WORLD)
    stage.project.set_faults([{"kind": "no_answer", "ranges": ["0.0.0.0/0"], "ports": [443]}])

    report = one_pass(stage)
    stage.project.clear_faults()
    after = one_pass(stage)

    there = listeners(stage)[443]
    assert by_key(report)[f"{PORT}/asked"]["outcome"] == {"state": "applied"}
    assert (there["health_check"]["protocol"], there["health_check"]["port"]) == ("tcp", 31443)
    assert (there["protocol"], there["http"]["certificates"], there["http"]["redirect_http"]) == ("https", [77], True)
    assert events(stage, "ListenerChanged") == [("ingress", f"Changed port 443: {CHECKED}")]
    assert [by_key(each)[PORT]["verdict"] for each in (report, after)] == ["held", "held"]
    assert [hold["hash"] for hold in after["holds"]] == [hold["hash"] for hold in report["holds"]]
