"""Annotations of ours that other documents than Services carry: where they are found, and what is not judged."""

import json
import time

import pytest

from desired.model.serving import Serving
from reconciler.observe.manifests import FoundAnnotations, FoundService, read_manifests
from reconciler.observe.yaml_documents import NotManifests
from tests.support.rows import rows

P = "load-balancer.hetzner.cloud/"
LOCATION = f"{P}location"


def read(text: str) -> list[FoundAnnotations]:
    """What is found in a text that has no Service to judge."""
    found = list(read_manifests(text.encode(), Serving()))
    assert not any(isinstance(each, FoundService) for each in found)
    return [each for each in found if isinstance(each, FoundAnnotations)]


def not_judged(text: str) -> list[str]:
    """What is said of it, and that nothing else is found."""
    found = read(text)
    assert not any(each.carried.annotations or each.carried.malformed for each in found)
    return [note.text for each in found for note in each.carried.not_judged]


HELM_RELEASE = f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: ingress, namespace: edge}}
spec: {{values: {{controller: {{service: {{annotations: {{{LOCATION}: fsn1}}}}}}}}}}
"""
HELM_CHART_CONFIG = f"""\
apiVersion: helm.cattle.io/v1
kind: HelmChartConfig
metadata: {{name: traefik, namespace: kube-system}}
spec:
  valuesContent: |-
    service:
      annotations:
        {LOCATION}: fsn1
"""
HELM_CHART_SET = """\
kind: HelmChart
metadata: {name: traefik}
spec: {set: {'service.annotations.load-balancer\\.hetzner\\.cloud/location': fsn1}}
"""
ENVOY_PROXY = f"""\
kind: EnvoyProxy
metadata: {{name: proxy}}
spec: {{provider: {{kubernetes: {{envoyService: {{annotations: {{{LOCATION}: fsn1}}}}}}}}}}
"""
GATEWAY = f"""\
kind: Gateway
metadata: {{name: eg, namespace: edge}}
spec: {{infrastructure: {{annotations: {{{LOCATION}: fsn1}}}}}}
"""
OPENSHIFT = f"""\
kind: IngressController
metadata: {{name: default}}
spec: {{endpointPublishingStrategy: {{loadBalancer: {{annotations: {{{LOCATION}: fsn1}}}}}}}}
"""
KUSTOMIZATION = f"""\
kind: Kustomization
commonAnnotations: {{{LOCATION}: fsn1}}
"""
STRATEGIC_MERGE = f"""\
kind: Kustomization
patches:
- patch: |
    apiVersion: v1
    kind: Service
    metadata:
      name: web
      annotations:
        {LOCATION}: fsn1
"""
JSON_6902 = """\
kind: Kustomization
patches:
- target: {kind: Service}
  patch: |
    - {op: remove, path: /metadata/annotations/load-balancer.hetzner.cloud~1type}
    - {op: add, path: /metadata/annotations/load-balancer.hetzner.cloud~1location, value: fsn1}
"""
JSON_IN_A_TEXT = """\
kind: Kustomization
patchesJson6902:
- patch: '[{"op": "add", "path": "/metadata/annotations", "value": {"load-balancer.hetzner.cloud/location": "fsn1"}}]'
"""
PATCH_OF_A_SERVICE = f"""\
apiVersion: v1
kind: Service
metadata: {{name: web, annotations: {{{LOCATION}: fsn1}}}}
"""
CONFIG_MAP = f"""\
kind: ConfigMap
metadata: {{name: values}}
data:
  values.yaml: |
    service:
      annotations:
        {LOCATION}: fsn1
"""
ARGO_VALUES = f"""\
kind: Application
metadata: {{name: ingress}}
spec:
  source:
    helm:
      values: |
        controller: {{service: {{annotations: {{{LOCATION}: fsn1}}}}}}
"""
ARGO_OBJECT = f"""\
kind: Application
metadata: {{name: ingress}}
spec: {{source: {{helm: {{valuesObject: {{service: {{annotations: {{{LOCATION}: fsn1}}}}}}}}}}}}
"""
ARGO_PARAMETERS = """\
kind: Application
metadata: {name: ingress}
spec:
  source:
    helm:
      parameters:
      - {name: replicas, value: "2"}
      - name: controller.service.annotations.load-balancer\\.hetzner\\.cloud/location
        value: fsn1
        forceString: true
"""
TEXT_IN_A_TEXT = f"""\
kind: ConfigMap
metadata: {{name: chart}}
data:
  chart.yaml: |
    kind: HelmChartConfig
    spec:
      valuesContent: |
        service:
          annotations:
            {LOCATION}: fsn1
"""


@rows(
    "text kind name path",
    {
        "helm-values": (f"a: {{annotations: {{{LOCATION}: fsn1}}}}", None, None, "a.annotations"),
        "annotations-alone": (f"{LOCATION}: fsn1", None, None, ""),
        "keys-and-numbers": (f"a.b: [{{c: {{{LOCATION}: fsn1}}}}]", None, None, '["a.b"][0].c'),
        "flux": (HELM_RELEASE, "HelmRelease", "ingress", "spec.values.controller.service.annotations"),
        "k3s": (HELM_CHART_CONFIG, "HelmChartConfig", "traefik", "spec.valuesContent: service.annotations"),
        "k3s-set": (HELM_CHART_SET, "HelmChart", "traefik", "spec.set: service.annotations"),
        "envoy-gateway": (ENVOY_PROXY, "EnvoyProxy", "proxy", "spec.provider.kubernetes.envoyService.annotations"),
        "gateway": (GATEWAY, "Gateway", "eg", "spec.infrastructure.annotations"),
        "openshift": (
            OPENSHIFT,
            "IngressController",
            "default",
            "spec.endpointPublishingStrategy.loadBalancer.annotations",
        ),
        "kustomize-common": (KUSTOMIZATION, "Kustomization", None, "commonAnnotations"),
        "strategic-merge": (STRATEGIC_MERGE, "Kustomization", None, "patches[0].patch: metadata.annotations"),
        "json-6902": (JSON_6902, "Kustomization", None, "patches[0].patch: /metadata/annotations"),
        "json-in-a-text": (JSON_IN_A_TEXT, "Kustomization", None, "patchesJson6902[0].patch: [0].value"),
        "the-text-alone": (f"kind: Secret\nstringData: {{a: '{LOCATION}: fsn1'}}", "Secret", None, "stringData.a"),
        "patch-of-a-service": (PATCH_OF_A_SERVICE, "Service", "web", "metadata.annotations"),
        "config-map": (CONFIG_MAP, "ConfigMap", "values", 'data["values.yaml"]: service.annotations'),
        "argo-values": (
            ARGO_VALUES,
            "Application",
            "ingress",
            "spec.source.helm.values: controller.service.annotations",
        ),
        "argo-object": (ARGO_OBJECT, "Application", "ingress", "spec.source.helm.valuesObject.service.annotations"),
        "argo-parameters": (
            ARGO_PARAMETERS,
            "Application",
            "ingress",
            "spec.source.helm.parameters: controller.service.annotations",
        ),
        "text-in-a-text": (
            TEXT_IN_A_TEXT,
            "ConfigMap",
            "chart",
            'data["chart.yaml"]: spec.valuesContent: service.annotations',
        ),
    },
)
def test_where_annotations_are_found(text: str, kind: str | None, name: str | None, path: str) -> None:
    """In whatever document, each with its object and the path in it."""
    (found,) = read(text)

    assert (found.kind, found.name, found.carried.path) == (kind, name, path)
    assert (found.carried.annotations, found.unread) == ({LOCATION: "fsn1"}, None)
    assert (found.carried.malformed, found.carried.not_judged) == ((), ())


def test_every_place_is_found() -> None:
    """Documents, items of lists and places in them, in their order; Services among them are judged as such."""
    service = {
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
    }
    text = f"a: {{{P}type: lb11}}\nb: {{{P}type: lb21}}\n---\nkind: List\nitems: [{service}, {{c: {{{P}type: lb31}}}}]"
    found = list(read_manifests(text.encode(), Serving()))

    assert [(each.document, each.item) for each in found] == [(1, None), (1, None), (2, 1), (2, 2)]
    assert [type(each) for each in found] == [FoundAnnotations, FoundAnnotations, FoundService, FoundAnnotations]


@rows(
    "text",
    {
        "an-image": "image: registry.example.com/hcloud-reconciler/controller:v1",
        "prose": f"description: set {LOCATION} to choose where",
        "a-list-of-keys": f"allowed: [{LOCATION}, {P}type]",
        "a-comment-in-a-text": f"data: {{a: '# {LOCATION}: fsn1'}}",
        "our-own-labels": "metadata: {labels: {hcloud-reconciler/cluster-uid: x}}",
        "what-kubectl-remembers": f'kubectl.kubernetes.io/last-applied-configuration: \'{{"{LOCATION}": "fsn1"}}\'',
    },
)
def test_passed_over(text: str) -> None:
    assert read(text) == []


@rows(
    "text said",
    {
        "helm": (
            f"a: {{{LOCATION}: '{{{{ .Values.location }}}}'}}",
            f"{LOCATION} is '{{{{ .Values.location }}}}', which is filled in later",
        ),
        "flux": (f"a: {{{LOCATION}: '${{LOCATION}}'}}", f"{LOCATION} is '${{LOCATION}}', which is filled in later"),
        "sops": (
            f"a: {{{LOCATION}: 'ENC[AES256_GCM,data:eA==]'}}",
            f"{LOCATION} is 'ENC[AES256_GCM,data:eA==]', which is filled in later",
        ),
        "a-key-of-a-template": (f"a: {{'{P}{{{{ $key }}}}': x}}", f"'{P}{{{{ $key }}}}' is filled in later"),
        "a-text-of-a-template": (
            f"spec:\n  valuesContent: |\n    {{{{- if .Values.x }}}}\n    {LOCATION}: fsn1\n    {{{{- end }}}}",
            f"spec.valuesContent sets {LOCATION}, and is a template that is not rendered",
        ),
        "a-broken-text": (
            f"data:\n  a: |\n    {LOCATION}: [",
            (
                f"data.a sets {LOCATION}, and cannot be read as YAML: line 1, column 40: expected the node content, but"
                " found '<stream end>'"
            ),
        ),
        "a-script": (
            "run: helm upgrade --set 'a.annotations.load-balancer\\.hetzner\\.cloud/location'=fsn1",
            f"run sets {LOCATION}, and is not YAML, as a script",
        ),
        "a-port-in-a-script": (
            "run: helm upgrade --set 'a.annotations.port-443\\.hcloud-reconciler/protocol'=http",
            "run sets port-443.hcloud-reconciler/protocol, and is not YAML, as a script",
        ),
        "a-port-from-elsewhere": (
            "valuesFrom: [{kind: ConfigMap, targetPath: 'a.annotations.port-443\\.hcloud-reconciler/protocol'}]",
            "valuesFrom[0].targetPath leads to port-443.hcloud-reconciler/protocol, whose value is elsewhere",
        ),
        "a-longer-script": (
            f"run: |\n  kubectl annotate service web {LOCATION}=fsn1\n  echo: [",
            f"run sets {LOCATION}, and cannot be read as YAML: line 2, column 5: mapping values are not allowed here",
        ),
        "a-value-from-elsewhere": (
            "valuesFrom: [{kind: ConfigMap, targetPath: 'a.annotations.load-balancer\\.hetzner\\.cloud/location'}]",
            f"valuesFrom[0].targetPath leads to {LOCATION}, whose value is elsewhere",
        ),
        "no-value": (
            f"a: {{{LOCATION}: }}",
            f"{LOCATION} has no value: it is removed where values are merged, as by Helm and patches",
        ),
        "a-schema": (f"properties: {{{LOCATION}: {{type: string}}}}", f"{LOCATION} is a mapping here, and not set"),
        "labels": (
            f"metadata: {{labels: {{{LOCATION}: fsn1}}}}",
            f"{LOCATION} is a label here, and read as an annotation alone",
        ),
    },
)
def test_what_is_not_judged(text: str, said: str) -> None:
    assert not_judged(text) == [f"not checked: {said}"]


@rows("text", {
    "mapping": "a: {port-443.hcloud-reconciler/protocol: http}",
    "set": "spec: {set: {'a.port-443\\.hcloud-reconciler/protocol': http}}",
    "patch": "- {op: add, path: /metadata/annotations/port-443.hcloud-reconciler~1protocol, value: http}",
    "parameter": "a: [{name: 'a.port-443\\.hcloud-reconciler/protocol', value: http}]",
})  # fmt: skip
def test_annotations_of_ports(text: str) -> None:
    """Are found with the whole of their prefix."""
    (found,) = read(text)
    assert found.carried.annotations == {"port-443.hcloud-reconciler/protocol": "http"}


def test_values_that_are_no_texts() -> None:
    """Are as wrong as on a Service, and judged as if they were in quotes."""
    (found,) = read(f"a: {{{P}use-private-ip: true}}")

    assert found.carried.annotations == {f"{P}use-private-ip": "true"}
    assert [bad.text for bad in found.carried.malformed] == [
        f'{P}use-private-ip is a boolean and no text: put it in quotes, as in "true"'
    ]


@rows(
    "head said",
    {
        "ingress": (
            "kind: Ingress",
            "metadata.annotations has no effect: the object is of kind Ingress, and those of Services alone are read",
        ),
        "another-type": (
            "kind: Service\nspec: {type: ClusterIP}",
            "metadata.annotations has no effect: spec.type is 'ClusterIP', and only LoadBalancer has a load balancer",
        ),
        "another-class": (
            "kind: Service\nspec: {type: LoadBalancer, loadBalancerClass: example.com/x}",
            "metadata.annotations has no effect here: spec.loadBalancerClass is 'example.com/x', another controller's",
        ),
        "an-operator-may-read-it": ("kind: Gateway", None),
        "a-patch": ("kind: Service\nspec: {ports: []}", None),
    },
)
def test_what_nothing_reads(head: str, said: str | None) -> None:
    """Annotations where no Service gets them are told, whatever their values."""
    (found,) = read(f"{head}\nmetadata: {{name: web, annotations: {{{P}health-check-interval: '5'}}}}")

    assert (found.unread and found.unread.text) == said


def test_pods_are_no_services() -> None:
    """Neither those of a Deployment nor those of its pods are read; a ConfigMap may carry some all the same."""
    template = f"spec: {{template: {{metadata: {{annotations: {{{P}type: lb11}}}}}}}}"
    (found,) = read(f"kind: Deployment\n{template}")
    assert found.unread is not None
    assert found.unread.key == "spec.template.metadata.annotations"

    (found,) = read(CONFIG_MAP.replace("service:", "metadata:"))
    assert (found.carried.path, found.unread) == ('data["values.yaml"]: metadata.annotations', None)


LAUGHS = "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40))])
MERGES = "\n".join(["a0: &a0 {k0: y}", *(f"a{n}: &a{n} {{<<: *a{n - 1}, k{n}: y}}" for n in range(1, 700))])
"""Each copies all that came before, and no entry is copied twice into one: PyYAML leaves that out since 6.0.4."""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{LAUGHS}\nb: {{{LOCATION}: fsn1}}", id="aliases"),
        pytest.param(f"b: {{{LOCATION}: fsn1}}\nc: &c [*c, {{d: *c}}]", id="a-cycle"),
        pytest.param(f"b: &b {{{LOCATION}: fsn1}}\nc: [{', '.join(['*b'] * 1000)}]", id="one-place-by-many-names"),
        pytest.param(f"kind: List\nitems: &i [{{b: {{{LOCATION}: fsn1}}}}, {{kind: List, items: *i}}]", id="a-list"),
    ],
)
def test_aliases_are_followed_once(text: str) -> None:
    """However often a part of the document is named, it is looked at once."""
    assert [found.carried.annotations for found in read(text)] == [{LOCATION: "fsn1"}]


def test_merge_keys_end() -> None:
    """Entries that are copied over and over are an error, where a sensible number of them is none."""
    first, second = read(f"b: &b {{{LOCATION}: fsn1}}\nc: {{<<: [*b, *b], {P}type: lb11}}")
    assert [len(found.carried.annotations) for found in (first, second)] == [1, 2]
    with pytest.raises(NotManifests, match="its merge keys"):
        read(MERGES)


def test_names_and_values_that_grow() -> None:
    """Nothing that grows by aliases is written out, wherever a text belongs."""
    text = f"{LAUGHS}\nkind: Service\nmetadata: {{name: *a39, annotations: {{x: *a39}}}}\nspec: {{type: LoadBalancer}}"
    (found,) = read_manifests(text.encode(), Serving())

    assert isinstance(found, FoundService)
    assert [bad.key for bad in found.malformed] == ["manifest"]


def test_numbers_of_many_digits() -> None:
    """A number that Python does not write out is no text, as any other."""
    (found,) = read(f"? 0x{'f' * 5000}\n: {{a: {{{P}type: 0x{'f' * 5000}}}}}")

    assert found.carried.path == "[int].a"
    assert [bad.text for bad in found.carried.malformed] == [f"{P}type is a number and no text: put it in quotes"]


def test_long_texts_end() -> None:
    """Texts that are too long, or too deep in each other, are not read; nor is a text read twice by an alias."""
    long = f"a: {'x' * 2**20}\n{LOCATION}: fsn1\n".replace("\n", "\n  ")
    assert not_judged(f"b: |\n  {long}") == [
        f"not checked: b sets {LOCATION}, and is too long, or too deep in other texts"
    ]
    nested = f"{LOCATION}: fsn1"
    for _ in range(5):
        nested = "a: |\n  " + nested.replace("\n", "\n  ")
    assert not_judged(nested) == [
        f"not checked: a: a: a: a sets {LOCATION}, and is too long, or too deep in other texts"
    ]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("\n", id="empty-lines"),
        pytest.param(".hcloud-reconciler/", id="keys"),
        pytest.param("hcloud-reconciler/\\", id="backslashes"),
        pytest.param("load-balancer\\\\\\", id="half-of-a-key"),
        pytest.param(" hcloud-reconciler/a' ", id="no-values"),
    ],
)
def test_no_text_keeps_it_busy(line: str) -> None:
    """Time grows with the length of a text, and no faster."""
    begin = time.perf_counter()
    list(read_manifests(json.dumps({"a": f"hcloud-reconciler/x [{line * 20_000}"}).encode(), Serving()))
    assert time.perf_counter() - begin < 20
