"""Manifests as people write them: which Services are ours to judge, and what is said of what cannot be read."""

import json
from typing import Any

import pytest

from desired.annotations.claims import Claim, ClaimedPort
from desired.model.serving import Serving
from reconciler.observe.manifests import FoundService, read_manifests
from reconciler.observe.yaml_documents import NotManifests
from tests.support.rows import rows


def a_service(name: str = "web", **spec: Any) -> dict[str, Any]:
    """A manifest as ``kubectl create`` takes it."""
    whole = {"type": "LoadBalancer", "ports": [{"port": 80, "targetPort": "http"}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": whole}


def read(*documents: Any) -> list[FoundService]:
    return services("\n---\n".join(map(json.dumps, documents)).encode())


def services(text: bytes) -> list[FoundService]:
    return [found for found in read_manifests(text, Serving()) if isinstance(found, FoundService)]


WHOLE = """\
# a comment
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  annotations:
    load-balancer.hetzner.cloud/location: fsn1
spec:
  type: LoadBalancer
  allocateLoadBalancerNodePorts: false
  loadBalancerSourceRanges: [10.0.0.0/8]
  loadBalancerIP: 203.0.113.1
  externalIPs: [203.0.113.2]
  sessionAffinity: ClientIP
  externalTrafficPolicy: Local
  healthCheckNodePort: 32000
  selector: {app: web}
  ports:
  - port: 80
    targetPort: http
  - {name: dns, port: 53, protocol: UDP, nodePort: 30053}
"""


def test_a_whole_service() -> None:
    assert services(WHOLE.encode()) == [
        FoundService(
            1,
            None,
            "shop",
            "web",
            Claim(
                annotations={"load-balancer.hetzner.cloud/location": "fsn1"},
                ports=(ClaimedPort(80), ClaimedPort(53, "UDP", 30053)),
                allocates_node_ports=False,
                source_ranges=("10.0.0.0/8",),
                external_ips=("203.0.113.2",),
                load_balancer_ip="203.0.113.1",
                session_affinity="ClientIP",
                external_traffic_policy="Local",
                health_check_node_port=32000,
            ),
        )
    ]


def test_yaml_and_json_mean_the_same() -> None:
    manifest = a_service(sessionAffinity="None")
    (as_json,) = services(json.dumps(manifest, indent="\t").encode())

    assert [as_json] == read(manifest)
    assert as_json.claim == Claim(ports=(ClaimedPort(80),))


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(None, id="empty-document"),
        pytest.param("text", id="a-text"),
        pytest.param([1], id="a-sequence"),
        pytest.param({"kind": "Deployment", "spec": {"type": "LoadBalancer"}}, id="another-kind"),
        pytest.param({**a_service(), "apiVersion": "serving.knative.dev/v1"}, id="somebody-elses-service"),
        pytest.param(a_service(type="ClusterIP"), id="another-type"),
        pytest.param(a_service(type="ClusterIP", ports=7), id="another-type-however-malformed"),
        pytest.param(a_service(loadBalancerClass="example.com/x"), id="another-class"),
        pytest.param(a_service(loadBalancerClass=""), id="an-empty-class"),
        pytest.param({**a_service(), "spec": "x"}, id="without-spec"),
        pytest.param({"kind": "List", "items": "x"}, id="a-list-that-is-none"),
    ],
)
def test_passed_over(manifest: Any) -> None:
    assert [found.document for found in read(manifest, a_service())] == [2]


def test_class_null_is_no_class() -> None:
    """An explicit null is what the API server takes for unset."""
    assert len(read(a_service(loadBalancerClass=None))) == 1


@rows(
    "listed places",
    {
        "list": ({"kind": "List", "items": [{"kind": "x"}, a_service("b")]}, [(2, "b")]),
        "list-of-services-without-kinds": (
            {"kind": "ServiceList", "items": [{**a_service("a"), "kind": "Service"}, {"spec": a_service()["spec"]}, 7]},
            [(1, "a"), (2, "(no name)")],
        ),
        "list-in-a-list": (
            {"kind": "List", "items": [{"kind": "List", "items": [a_service("a"), a_service("b")]}]},
            [(1, "a"), (1, "b")],
        ),
    },
)
def test_lists(listed: Any, places: list[tuple[int, str]]) -> None:
    assert [(found.item, found.name) for found in read(listed)] == places


def test_lists_of_lists_end() -> None:
    """A list that contains itself, or grows by aliases, ends all the same."""
    assert list(read_manifests(b"&a\nkind: List\nitems: [*a]", Serving())) == []


@pytest.mark.parametrize(
    ("value", "text", "said"),
    [
        pytest.param("true", "true", 'x is a boolean and no text: put it in quotes, as in "true"', id="bool"),
        pytest.param("10", "10", 'x is a number and no text: put it in quotes, as in "10"', id="number"),
        pytest.param("", None, 'x is nothing and no text: put it in quotes, as in ""', id="nothing"),
        pytest.param("[a]", None, "x is a list and no text: write one text in quotes", id="list"),
    ],
)
def test_values_that_are_no_texts(value: str, text: str | None, said: str) -> None:
    (found,) = services(WHOLE.replace("load-balancer.hetzner.cloud/location: fsn1", f"x: {value}").encode())

    assert found.claim is not None
    assert [bad.text for bad in found.malformed] == [said]
    assert found.claim.annotations == ({} if text is None else {"x": text})


@rows(
    "manifest said",
    {
        "annotations": (
            {**a_service(), "metadata": {"name": "web", "annotations": [1]}},
            "metadata.annotations is no mapping of keys to texts",
        ),
        "port": (
            a_service(ports=[{"port": "http"}]),
            "the manifest is no Service: Expected a whole number, got text - at $.spec.ports[0].port",
        ),
        "metadata": (
            {**a_service(), "metadata": 7},
            "the manifest is no Service: Expected an object, got a whole number - at $.metadata",
        ),
    },
)
def test_malformed_services(manifest: Any, said: str) -> None:
    found, _ = read(manifest, a_service())

    assert [bad.text for bad in found.malformed] == [said]


def test_without_metadata() -> None:
    manifest = a_service()
    del manifest["metadata"]

    assert [(found.name, found.malformed) for found in read(manifest)] == [("(no name)", ())]


@rows(
    "text document said",
    {
        "open": (b"a: [", 1, "cannot be read as YAML: line 1, column 5: expected the node content"),
        "a-template": (
            b"{{ template }}",
            1,
            "cannot be read as YAML: line 1, column 2: a key is a list or a mapping, as in a template that is not",
        ),
        "a-template-of-helm": (
            b"{{- if .x }}\na: b",
            1,
            "cannot be read as YAML: line 1, column 3: expected the node content, but found '-'; render the template",
        ),
        "no-text": (b"a: 1\n---\n\xff", 1, "cannot be read as YAML: it has bytes or characters that"),
        "no-number": (b"a: !!int b", 1, "cannot be read as YAML: a value is not what its tag says"),
        "alias": (b"a: 1\n---\nb: *x", 2, "cannot be read as YAML: line 3, column 4: found undefined alias"),
        "no-date": (b"a: 2026-13-45", 1, "cannot be read as YAML: month must be in 1..12"),
        "tag": (b"a: !!python/object:os.system {}", 1, "cannot be read as YAML: line 1, column 4: could"),
        "two-jsons": (b'{"a": 1} {"b": 2}', 2, "cannot be read as YAML: line 1, column 10: expected"),
    },
)
def test_no_manifests(text: bytes, document: int, said: str) -> None:
    with pytest.raises(NotManifests) as raised:
        list(read_manifests(text, Serving()))

    assert str(raised.value).startswith(said)
    assert raised.value.document == document


@pytest.mark.parametrize("text", [b"[" * 100_000, b"- " * 5_000, b'{"a":' * 100_000])
def test_no_depth_is_too_much(text: bytes) -> None:
    """A text that is nothing but depth is an error, and never the end of the process."""
    with pytest.raises(NotManifests, match="nested too deeply"):
        list(read_manifests(text, Serving()))


def test_what_comes_before_an_error_is_read() -> None:
    found = read_manifests(f"{WHOLE}---\n[".encode(), Serving())

    assert isinstance(next(found), FoundService)
    with pytest.raises(NotManifests):
        next(found)
