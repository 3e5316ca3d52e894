"""Annotations of ours in documents that are no Services: the places, and the forms that are told and not judged."""

import json
import tracemalloc

import pytest

from desired.model.serving import Serving
from reconciler.observe.manifests import FoundAnnotations, FoundService, read_manifests
from reconciler.observe.yaml_documents import NotManifests
from tests.support.rows import rows

P = "load-balancer.hetzner.cloud/"
LOCATION = f"{P}location"
SET = f"{{{LOCATION}: fsn1}}"
ESCAPED = "service.annotations.load-balancer\\.hetzner\\.cloud/location"
BROKEN = "cannot be read as YAML: line 1, column 30: expected the node content, but found '<stream end>'"
LONG = f"ingress-nginx.controller.service.internal.{ESCAPED}"
OUTSIDE = "names an annotation in another form than a mapping of keys to values"


def read(text: str) -> list[FoundAnnotations]:
    """The findings in a text without a Service to judge."""
    found = list(read_manifests(text.encode(), Serving()))
    assert not any(isinstance(each, FoundService) for each in found)
    return [each for each in found if isinstance(each, FoundAnnotations)]


@rows("text kind name path", {
    "Helm's values": (f"a: {{annotations: {SET}}}", None, None, "a.annotations"),
    "annotations alone": (f"{LOCATION}: fsn1", None, None, ""),
    "keys and numbers": (f"a.b: [{{1: {{c: {SET}}}}}]", None, None, '["a.b"][0]["int"].c'),
    "Flux": (f"kind: HelmRelease\nmetadata: {{name: x}}\nspec: {{values: {{annotations: {SET}}}}}",
        "HelmRelease", "x", "spec.values.annotations"),
    "k3s": (f"kind: HelmChartConfig\nspec:\n  valuesContent: |-\n    service:\n      annotations: {SET}",
        "HelmChartConfig", None, "spec.valuesContent: service.annotations"),
    "JSON in a text": (f"kind: Kustomization\npatch: '[{{\"op\": \"add\", \"value\": {{\"{LOCATION}\": \"fsn1\"}}}}]'",
        "Kustomization", None, "patch: [0].value"),
    "a patch of a Service": (f"kind: Service\nmetadata: {{name: web, annotations: {SET}}}",
        "Service", "web", "metadata.annotations"),
    "a ConfigMap": (f"kind: ConfigMap\ndata:\n  values.yaml: |\n    metadata: {{annotations: {SET}}}",
        "ConfigMap", None, 'data["values.yaml"]: metadata.annotations'),
    "compact JSON": (f"a: '{{\"{LOCATION}\":\"fsn1\"}}'", None, None, "a"),
    "a text in a text": (f"a: |\n  b: |\n    c: {SET}", None, None, "a: b: c"),
    "a document of a text": (f"a: |\n  b: 1\n  ---\n  c: {SET}", None, None, "a: c"),
})  # fmt: skip
def test_places(text: str, kind: str | None, name: str | None, path: str) -> None:
    (found,) = read(text)

    assert (found.kind, found.name, found.path) == (kind, name, path)
    assert (found.annotations, found.malformed, found.not_judged) == ({LOCATION: "fsn1"}, (), ())
    assert found.unread is None


def test_places_keep_their_order() -> None:
    """Documents, items of lists, and places in them; Services among them are judged as such."""
    service = {
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
    }
    text = f"a: {{{P}type: lb11}}\nb: {{{P}type: lb21}}\n---\nkind: List\nitems: [{service}, {{c: {{{P}type: lb31}}}}]"
    found = list(read_manifests(text.encode(), Serving()))

    assert [(each.document, each.item) for each in found] == [(1, None), (1, None), (2, 1), (2, 2)]
    assert [type(each) for each in found] == [FoundAnnotations, FoundAnnotations, FoundService, FoundAnnotations]


@rows("text", {
    "an image": "image: registry.example.com/hcloud-reconciler/controller:v1",
    "a comment in a text": f"data: {{a: '# {LOCATION}: fsn1'}}",
    "prose": f"description: set {LOCATION} to choose a place",
    "writers of fields": f"managedFields: [{{fieldsV1: {{'f:{LOCATION}': {{}}}}}}]",
    "our own labels": "metadata: {labels: {hcloud-reconciler/cluster-uid: x}}",
    "the memory of kubectl": f'kubectl.kubernetes.io/last-applied-configuration: \'{{"{LOCATION}": "fsn1"}}\'',
})  # fmt: skip
def test_passed_over(text: str) -> None:
    assert read(text) == []


@rows("text said", {
    "a value of Helm": (f"a: {{{LOCATION}: '{{{{ .x }}}}'}}", f"{LOCATION} is filled in later: '{{{{ .x }}}}'"),
    "a value of Flux": (f"a: {{{LOCATION}: '${{X}}'}}", f"{LOCATION} is filled in later: '${{X}}'"),
    "a value of SOPS": (f"a: {{{LOCATION}: 'ENC[x]'}}", f"{LOCATION} is filled in later: 'ENC[x]'"),
    "without a value": (f"a: {{{LOCATION}: }}", f"{LOCATION} has nothing as its value, and is not set"),
    "a schema": (f"a: {{{LOCATION}: {{type: string}}}}", f"{LOCATION} has a mapping as its value, and is not set"),
    "a template": (f"a: |\n  {{{{- if .x }}}}\n  {LOCATION}: x", "a is a template that is not rendered"),
    "a broken text": ("a: |\n  port-1.hcloud-reconciler/x: [", f"a {BROKEN}"),
    "a long path of Helm": (f"set: {{'{LONG}': {{a: 1}}}}", f'set["{LONG[:80]}"] {OUTSIDE}'),
    "our key in a path": ("- {path: /annotations/hcloud-reconciler~1deletion-policy}", f"[0].path {OUTSIDE}"),
    "our key in a script": ("run: kubectl annotate service a hcloud-reconciler/deletion-policy=keep", f"run {OUTSIDE}"),
    "our key in a parameter": ("a: [{name: s.annotations.hcloud-reconciler/deletion-policy}]", f"a[0].name {OUTSIDE}"),
    "a path of Helm": (f"set: {{'{ESCAPED}': fsn1}}", f'set["{ESCAPED}"] {OUTSIDE}'),
    "a parameter": (f"a: [{{name: '{ESCAPED}', value: fsn1}}]", f"a[0].name {OUTSIDE}"),
    "a path of a patch": ("- {op: add, path: /annotations/load-balancer.hetzner.cloud~1type}", f"[0].path {OUTSIDE}"),
    "a script": (f"run: kubectl annotate service web {LOCATION}=fsn1", f"run {OUTSIDE}"),
    "too long": (f"a: |\n  {LOCATION}: fsn1\n  b: {'x' * 2**20}", "a is too long"),
})  # fmt: skip
def test_not_judged(text: str, said: str) -> None:
    """Each is told, and counts as a note."""
    (found,) = read(text)

    assert (found.annotations, found.malformed) == ({}, ())
    assert [note.text for note in found.not_judged] == [f"not checked: {said}"]


def test_documents_before_a_broken_one() -> None:
    """They are judged, and the rest is told."""
    first, second = read(f"a: |\n  {LOCATION}: fsn1\n  ---\n  b: [")
    assert [note.text.partition(":")[0] for note in first.not_judged] == ["not checked"]
    assert second.annotations == {LOCATION: "fsn1"}


def test_a_null_on_a_service_is_wrong() -> None:
    """The API server takes texts alone."""
    annotations = f"{{{LOCATION}: }}"
    text = f"kind: Service\nmetadata: {{annotations: {annotations}}}\nspec: {{type: LoadBalancer, ports: []}}"
    (found,) = read_manifests(text.encode(), Serving())
    assert isinstance(found, FoundService)
    assert [bad.key for bad in found.malformed] == [LOCATION]


def test_deep_documents_keep_no_path_for_each_part() -> None:
    """300 levels of long keys around many numbers: 145 kB took more than a gigabyte."""
    nested: object = [0] * 60_000
    for number in range(300):
        nested = {f"{number:080}": nested}
    text = json.dumps(nested).encode()
    tracemalloc.start()
    try:
        assert list(read_manifests(text, Serving())) == []
        assert tracemalloc.get_traced_memory()[1] < 100 * len(text)
    finally:
        tracemalloc.stop()


@rows("text annotations malformed", {
    "a boolean": ("true", "true", 'is a boolean and no text: put it in quotes, as in "true"'),
    "a number of many digits": (f"0x{'f' * 5000}", None, "is a number and no text: put it in quotes"),
})  # fmt: skip
def test_values_that_are_no_texts(text: str, annotations: str | None, malformed: str) -> None:
    """Values are as wrong as on a Service."""
    (found,) = read(f"port: {{port-443.hcloud-reconciler/protocol: {text}}}")
    key = "port-443.hcloud-reconciler/protocol"

    assert found.annotations == ({} if annotations is None else {key: annotations})
    assert [bad.text for bad in found.malformed] == [f"{key} {malformed}"]


NOT_OF_SERVICES = "and those of Services alone are read"


@rows("head place said", {
    "an Ingress": ("kind: Ingress", "annotations", f"has no effect: the object is of kind Ingress, {NOT_OF_SERVICES}"),
    "another type": ("kind: Service\nspec: {type: ClusterIP}", "annotations",
        "has no effect: spec.type is 'ClusterIP', and only LoadBalancer has a load balancer"),
    "another class": ("kind: Service\nspec: {type: LoadBalancer, loadBalancerClass: example.com/x}", "annotations",
        "has no effect here: spec.loadBalancerClass is 'example.com/x', another controller's"),
    "labels": ("kind: Gateway", "labels", "has no effect: annotations alone are read, not labels"),
    "an operator may read it": ("kind: Gateway", "annotations", None),
    "a patch": ("kind: Service\nspec: {ports: []}", "annotations", None),
})  # fmt: skip
def test_annotations_without_a_reader(head: str, place: str, said: str | None) -> None:
    """They are told, whatever their values."""
    (found,) = read(f"{head}\nmetadata: {{name: web, {place}: {{{P}health-check-interval: '5'}}}}")

    assert (found.unread and found.unread.text) == (said and f"metadata.{place} {said}")


def test_pods_of_a_deployment_are_not_services() -> None:
    (found,) = read(f"kind: Deployment\nspec: {{template: {{metadata: {{annotations: {SET}}}}}}}")
    assert found.unread is not None
    assert found.unread.key == "spec.template.metadata.annotations"


LAUGHS = "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40))])
MERGES = "\n".join(["a0: &a0 {k0: y}", *(f"a{n}: &a{n} {{<<: *a{n - 1}, k{n}: y}}" for n in range(1, 700))])
"""Each copies all before it. PyYAML copies an entry once since 6.0.4."""


@rows("text", {
    "aliases": f"{LAUGHS}\nb: {SET}",
    "a cycle": f"b: {SET}\nc: &c [*c, {{d: *c}}]",
    "one place by many names": f"b: &b {SET}\nc: [{', '.join(['*b'] * 1000)}]",
    "a list": f"kind: List\nitems: &i [{{b: {SET}}}, {{kind: List, items: *i}}]",
})  # fmt: skip
def test_aliases_are_followed_once(text: str) -> None:
    """A part of a document is entered once, however many names it has."""
    assert [found.annotations for found in read(text)] == [{LOCATION: "fsn1"}]


def test_merge_keys_end() -> None:
    """A sensible number of merged entries is taken, and an explosion is an error."""
    first, second = read(f"b: &b {SET}\nc: {{<<: [*b, *b], {P}type: lb11}}")
    assert [len(found.annotations) for found in (first, second)] == [1, 2]
    with pytest.raises(NotManifests, match="its merge keys"):
        read(MERGES)


def test_names_that_grow_by_aliases() -> None:
    """They are not written out."""
    text = f"{LAUGHS}\nkind: Service\nmetadata: {{name: *a39, annotations: {{x: *a39}}}}\nspec: {{type: LoadBalancer}}"
    (found,) = read_manifests(text.encode(), Serving())

    assert isinstance(found, FoundService)
    assert [bad.key for bad in found.malformed] == ["manifest"]
