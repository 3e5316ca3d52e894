"""Every row of the table of annotations on the simulators: set at creation, changed, removed, invalid."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from desired.annotations.options import ANNOTATIONS, OPTIONS, Options
from desired.model.settings import Settings
from desired.names import FINALIZER_BALANCER
from desired.plan.notes import NoteKind
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from kubernetes_double import KubernetesSimulator
from reconciler.result import Report
from tests.balancers import DEFAULT_NAME, SERVICE_UID, annotated
from tests.support.direct import DirectSimulation
from tests.support.objects import server, settled_node
from tests.support.passes import Run
from tests.support.simulators import START

NETWORK = {
    "id": 7,
    "name": "private",
    "ip_range": "10.0.0.0/16",
    "subnets": [
        {"type": "cloud", "ip_range": "10.0.0.0/24", "network_zone": "eu-central"},
        {"type": "cloud", "ip_range": "10.0.1.0/24", "network_zone": "eu-central"},
    ],
}
CERTIFICATES = [{"id": 5, "name": "shop", "type": "uploaded"}, {"id": 6, "name": "blog", "type": "uploaded"}]
PRIMARY_IPS = [{"id": 7, "name": "four"}, {"id": 8, "name": "six", "type": "ipv6"}]
HTTP = {"protocol": "http"}
HTTPS = {"protocol": "https", "http_certificates": "shop"}
MANAGED = {"protocol": "https", "certificate_type": "managed", "http_managed_certificate_domains": "a.example.com"}
HTTP_CHECK = {"health_check_protocol": "http"}
LOCAL = {"externalTrafficPolicy": "Local", "healthCheckNodePort": 32000}


@dataclass
class Seen:
    """What there is after a pass."""

    balancer: Mapping[str, Any] | None
    service: Mapping[str, Any]
    certificates: list[Mapping[str, Any]]
    report: Report

    @property
    def port(self) -> Any:
        assert self.balancer is not None
        return self.balancer["services"][0]

    @property
    def published(self) -> list[Any]:
        """What the status says: addresses or names."""
        found = self.service["status"].get("loadBalancer", {}).get("ingress") or []
        return [entry.get("ip") or entry.get("hostname") for entry in found]


@dataclass
class Stage:
    """A cluster of two Nodes and one Service, and what is done to its annotations."""

    spec: Mapping[str, Any] = field(default_factory=dict)
    """Of the Service, beside its port."""
    run: Run[DirectSimulation] = field(init=False)

    def __post_init__(self) -> None:
        clock = SimulatedClock(source=START.timestamp)
        machines = [
            server(i, f"n{i}", private_net=[{"network": 7, "ip": f"10.0.0.{10 + i}"}], labels={}) for i in (1, 2)
        ]
        project = {"servers": machines, "networks": [NETWORK], "certificates": CERTIFICATES, "primary_ips": PRIMARY_IPS}
        nodes = [settled_node(f"n{i}", i, zone="ab"[i - 1]) for i in (1, 2)]
        for i, node in enumerate(nodes, 1):
            node["status"]["addresses"].append({"type": "InternalIP", "address": f"10.0.0.{10 + i}"})
        hetzner = HetznerSimulator(clock, HetznerOptions(rate_limit=1_000_000), world=project)
        kubernetes = KubernetesSimulator(clock, world={"nodes": nodes, "services": [a_service({}, self.spec)]})
        settings = Settings(network="7", balancer_defaults=Options(location="fsn1"))
        self.run = Run(DirectSimulation(hetzner, kubernetes, clock), settings)

    def with_annotations(self, annotations: Mapping[str, str]) -> Seen:
        world = self.run.sim.kubernetes.world()["kubernetes"]
        service = next(found for found in world["services"] if found["metadata"]["name"] == "web")
        service["metadata"]["annotations"] = dict(annotations)
        self.run.sim.kubernetes.replace_world(world)
        report = self.run.converge()
        assert report.errors == ()
        project = self.run.sim.hetzner.world()["hetzner"]
        found = self.run.sim.kubernetes.world()["kubernetes"]["services"]
        after = next(each for each in found if each["metadata"]["name"] == "web")
        return Seen(next(iter(project["load_balancers"]), None), after, project["certificates"], report)


def a_service(annotations: Mapping[str, str], spec: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "metadata": {"name": "web", "namespace": "default", "uid": SERVICE_UID, "annotations": dict(annotations)},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 443, "nodePort": 30443, "protocol": "TCP"}], **spec},
    }


@dataclass(frozen=True)
class Row:
    """One annotation's life: texts, and what is seen of it at each stage."""

    first: str
    then: str
    seen: Callable[[Seen], Any] | str
    """What shows it: something to call, or its path in the load balancer."""
    shows: tuple[Any, Any, Any] | None = None
    """With the first text, with the second, and without the annotation; None where the second one stays."""
    bad: str | None = None
    """A text that is refused; None where every text is accepted."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Options that make the row matter."""
    spec: Mapping[str, Any] = field(default_factory=dict)
    """What the Service's spec has to have for that."""


def _at(path: str) -> Callable[[Seen], Any]:
    def look(seen: Seen) -> Any:
        value: Any = {"listener": seen.port} if path.startswith("listener.") else seen.balancer
        for part in path.split("."):
            value = value[part]
        return value

    return look


def _targets(seen: Seen) -> list[tuple[int, bool]]:
    assert seen.balancer is not None
    return sorted((target["server"]["id"], target["use_private_ip"]) for target in seen.balancer["targets"])


def _private_ip(seen: Seen) -> str:
    assert seen.balancer is not None
    return str(seen.balancer["private_net"][0]["ip"])


def _managed(seen: Seen) -> list[tuple[str, str]]:
    return [(c["name"], ",".join(c["domain_names"])) for c in seen.certificates if c["type"] == "managed"]


def _staging(seen: Seen) -> list[bool]:
    return ["HC-Use-Staging-CA" in c["labels"] for c in seen.certificates if c["type"] == "managed"]


def _kinds(seen: Seen) -> list[str]:
    return sorted({address.split(".")[0] if "." in address else "v6" for address in seen.published})


CCM_NAME = f"ccm-managed-certificate-{SERVICE_UID}"
BOTH, FIRST, SECOND = [(1, False), (2, False)], [(1, False)], [(2, False)]
ROWS: Mapping[str, Row] = {
    "name": Row("one", "two", "name", bad=" x "),
    "type": Row("lb21", "lb31", "load_balancer_type.name", bad="lb99"),
    "location": Row("nbg1", "hel1", "location.name", ("nbg1", "nbg1", "nbg1")),
    "network_zone": Row("eu-central", "us-east", "location.name", ("fsn1", "fsn1", "fsn1"), beside={"location": ""}),
    "algorithm_type": Row("least_connections", "round_robin", "algorithm.type", bad="fastest"),
    "disable_public_network": Row(
        "true", "false", "public_net.enabled", (False, True, True), "yes", {"use_private_ip": "true"}
    ),
    "public_net_ipv4": Row("7", "9", "public_net.ipv4.id", (7, 7, 7)),
    "public_net_ipv6": Row("six", "seven", "public_net.ipv6.id", (8, 8, 8)),
    "disable_private_ingress": Row("true", "false", lambda seen: "10" in _kinds(seen), (False, True, True), "yes"),
    "ipv6_disabled": Row("true", "false", lambda seen: "v6" in _kinds(seen), (False, True, True), "yes"),
    "use_private_ip": Row("true", "false", _targets, ([(1, True), (2, True)], BOTH, BOTH), "yes"),
    "private_ipv4": Row("10.0.0.200", "10.0.1.200", _private_ip, bad="10.9.9.9"),
    "private_subnet_ip_range": Row(
        "10.0.1.0/24", "10.0.0.0/24", lambda seen: _private_ip(seen)[:6], ("10.0.1", "10.0.1", "10.0.1"), "10.0.1"
    ),
    "ipv4_rdns": Row("a.example.com", "b.example.com", "public_net.ipv4.dns_ptr", bad="a b"),
    "ipv6_rdns": Row("a.example.com", "b.example.com", "public_net.ipv6.dns_ptr", bad="a b"),
    "hostname": Row(
        "a.example.com",
        "b.example.com",
        lambda seen: seen.published if len(seen.published) == 1 else "addresses",
        (["a.example.com"], ["b.example.com"], "addresses"),
        "a b",
    ),
    "node_selector": Row("zone=a", "zone=b", _targets, (FIRST, SECOND, BOTH), "zone in"),
    "protocol": Row("http", "tcp", "listener.protocol", bad="udp"),
    "uses_proxyprotocol": Row("true", "false", "listener.proxyprotocol", (True, False, False), "yes"),
    "http_cookie_name": Row("one", "two", "listener.http.cookie_name", bad="", beside=HTTP),
    "http_cookie_lifetime": Row("60s", "90s", "listener.http.cookie_lifetime", (60, 90, 90), "10", HTTP),
    "http_timeout_idle": Row("60s", "90s", "listener.http.timeout_idle", (60, 90, 90), "500s", HTTP),
    "http_redirect_http": Row("true", "false", "listener.http.redirect_http", (True, False, False), "yes", HTTPS),
    "http_sticky_sessions": Row("true", "false", "listener.http.sticky_sessions", (True, False, False), "yes", HTTP),
    "http_certificates": Row(
        "shop", "6,shop", "listener.http.certificates", ([5], [5, 6], [5, 6]), "", {"protocol": "https"}
    ),
    "certificate_type": Row(
        "managed",
        "uploaded",
        _managed,
        ([(CCM_NAME, "a.example.com")],) * 3,
        beside={"protocol": "https", "http_managed_certificate_domains": "a.example.com", "http_certificates": "shop"},
    ),
    "http_managed_certificate_name": Row("one", "two", _managed, ([("one", "a.example.com")],) * 3, " x ", MANAGED),
    "http_managed_certificate_domains": Row(
        "a.example.com",
        "b.example.com",
        _managed,
        ([(CCM_NAME, "a.example.com")],) * 3,
        "a b",
        {"protocol": "https", "certificate_type": "managed"},
    ),
    "http_managed_certificate_acme_staging": Row("true", "false", _staging, ([True],) * 3, beside=MANAGED),
    "health_check_protocol": Row("http", "tcp", "listener.health_check.protocol", bad="udp"),
    "health_check_port": Row("8080", "8081", "listener.health_check.port", (8080, 8081, 8081), "0"),
    "health_check_node_port": Row(
        "true", "false", "listener.health_check.port", (32000, 30443, 30443), "yes", spec=LOCAL
    ),
    "health_check_interval": Row("5s", "7s", "listener.health_check.interval", (5, 7, 7), "10"),
    "health_check_timeout": Row("5s", "7s", "listener.health_check.timeout", (5, 7, 7), "61s"),
    "health_check_retries": Row("1", "2", "listener.health_check.retries", (1, 2, 2), "9"),
    "health_check_http_domain": Row(
        "a.example.com", "b.example.com", "listener.health_check.http.domain", bad="a" * 200, beside=HTTP_CHECK
    ),
    "health_check_http_path": Row("/a", "/b", "listener.health_check.http.path", bad="a" * 300, beside=HTTP_CHECK),
    "health_check_http_validate_certificate": Row(
        "true", "false", "listener.health_check.http.tls", (True, False, False), "yes", HTTP_CHECK
    ),
    "http_status_codes": Row(
        "200",
        "2??,404",
        "listener.health_check.http.status_codes",
        (["200"], ["2??", "404"], ["2??", "404"]),
        "abc",
        HTTP_CHECK,
    ),
    "deletion_policy": Row("retain", "delete", "name", (DEFAULT_NAME,) * 3, "keep"),
}


def test_every_row_of_the_table_has_its_life_here() -> None:
    """No annotation is forgotten; the reserved ones have no effect to be seen."""
    assert ROWS.keys() == OPTIONS.keys()
    assert len(ANNOTATIONS) - len(ROWS) == 3


@pytest.mark.parametrize("name", ROWS)
def test_an_annotation_is_set_changed_and_removed(name: str) -> None:
    row = ROWS[name]
    stage = Stage(row.spec)
    key = OPTIONS[name].full_key
    beside = annotated(**row.beside)
    lives = [{**beside, key: row.first}, {**beside, key: row.then}, beside]
    look = _at(row.seen) if isinstance(row.seen, str) else row.seen
    shows = row.shows or (row.first, row.then, row.then)
    assert tuple(look(stage.with_annotations(annotations)) for annotations in lives) == shows


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.bad is not None])
def test_a_bad_text_creates_nothing_and_changes_nothing(name: str) -> None:
    """Nothing is made of a bad annotation, and what is there stays as it is; a note names the key. The range of the
    subnet is read no more once there is a load balancer in the network, which is no trouble. A bad selector removes
    nothing, and all Nodes join."""
    row = ROWS[name]
    key = OPTIONS[name].full_key
    bad = {**annotated(**row.beside), key: str(row.bad)}

    new = Stage(row.spec).with_annotations(bad)
    stage = Stage(row.spec)
    good = stage.with_annotations({**annotated(**row.beside), key: row.first})
    spoilt = stage.with_annotations(bad)

    if name != "deletion_policy":
        assert new.balancer is None
        assert FINALIZER_BALANCER not in new.service["metadata"].get("finalizers", [])
    there, before = ({**(each.balancer or {}), "targets": []} for each in (spoilt, good))
    assert there == before
    servers, few = (
        {found["server"]["id"] for found in (each.balancer or {"targets": []})["targets"]} for each in (spoilt, good)
    )
    assert servers > few if name == "node_selector" else servers == few
    read = NoteKind.UNSUPPORTED if name == "private_subnet_ip_range" else NoteKind.MALFORMED
    for seen, kind in ((new, NoteKind.MALFORMED), (spoilt, read)):
        assert any(key in note.text for note in seen.report.notes if note.kind is kind)
