"""HCCM's settings as values of our chart, what becomes of each, and the commands for the tool that made it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from desired.model.to_builtins import to_builtins
from reconciler.migration.carrying import CHART_NETWORK, CHART_VARIABLES, carry_over
from reconciler.migration.found import FoundChart, FoundController, FoundVariable
from reconciler.migration.owners import Target, owner_of, switch
from tests.support.assets import ROOT
from tests.support.hccm import ALONE, ARGUMENTS, IMAGE, NAME, ROUTES, TOLERATIONS
from tests.support.rendering import golden

CHART = yaml.safe_load((ROOT / "deploy/helm/hcloud-reconciler/values.yaml").read_text())
EVICTING = {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoExecute"}
USUAL = {"dnsPolicy": "Default", "priorityClassName": "system-cluster-critical", "tolerations": TOLERATIONS}
HOST = {**USUAL, "hostNetwork": True}
NETWORK = FoundVariable(CHART_NETWORK)


def found(
    *arguments: str, kind: str = "Deployment", pod: Mapping[str, Any] = USUAL, **variables: str | FoundVariable
) -> FoundController:
    given = {
        name: FoundVariable({"value": each}, each) if isinstance(each, str) else each
        for name, each in variables.items()
    }
    token = FoundVariable(CHART_VARIABLES["HCLOUD_TOKEN"])
    return FoundController(
        kind,
        "kube-system",
        NAME,
        IMAGE,
        ready=1,
        arguments=arguments,
        variables={"HCLOUD_TOKEN": token, **given},
        pod=pod,
        selector={"app": NAME},
    )


def test_the_chart_has_these_defaults() -> None:
    assert CHART["env"] == CHART_VARIABLES
    assert CHART["networking"]["network"] == CHART_NETWORK
    assert (CHART["health"]["port"], CHART["monitoring"]["port"]) == (10258, 8233)
    assert not CHART["networking"]["enabled"]
    assert (CHART["dnsPolicy"], CHART["priorityClassName"]) == ("Default", USUAL["priorityClassName"])


def pod(**fields: Any) -> FoundController:
    return found(pod={**USUAL, **fields})


def container(**fields: Any) -> FoundController:
    return found(pod={"containers": [{"image": IMAGE, **fields}]})


FOUND: Mapping[str, FoundController] = {
    "HCCM's chart as it is": found(*ARGUMENTS, ALONE),
    "with networking": found(*ARGUMENTS, *ROUTES, pod=HOST, HCLOUD_NETWORK=NETWORK),
    "network by its name": found(*ROUTES, pod=HOST, HCLOUD_NETWORK="private"),
    "an empty network is none": found("--cluster-cidr=10.244.0.0/16", HCLOUD_NETWORK=""),
    "network without routes": found(pod=HOST, HCLOUD_NETWORK=NETWORK),
    "value behind a blank": found("--cluster-cidr", "10.42.0.0/16"),
    "not in the Nodes' network": found(*ROUTES, HCLOUD_NETWORK=NETWORK),
    "another port beside k3s": found("--secure-port=10288"),
    "port that it has anyway": found("--secure-port=10258"),
    "controllers": found("--controllers=*,-route"),
    "flag without effect": found("--cloud-provider=hcloud"),
    "verbosity": found("--v", "4"),
    "unknown flag": found("--novel=1"),
    "variable": found(HCLOUD_LOAD_BALANCERS_LOCATION="fsn1"),
    "the chart fills in templates": found(HCLOUD_LOAD_BALANCERS_TYPE="{{lb}}"),
    "without metrics": found(HCLOUD_METRICS_ENABLED="false"),
    "port of metrics": found(HCLOUD_METRICS_ADDRESS=":9100"),
    "address of metrics": found(HCLOUD_METRICS_ADDRESS="127.0.0.1:9100"),
    "Robot without credentials": found(ROBOT_ENABLED="1"),
    "proxy": found(https_proxy="http://p:1"),
    "password in an address": found(https_proxy="http://u:p@p:1"),
    "cache": found(HCLOUD_SERVER_CACHE_MAX_AGE="1s"),
    "former variable": found(HCLOUD_SERVER_CACHE_TTL="1s"),
    "misspelt": found(HCLOUD_LOAD_BALANCERS_SIZE="a"),
    "variables of others": found(HCLOUD_SERVER_CACHE_MODE="off", GOMAXPROCS="2"),
    "token in the workload": found(HCLOUD_TOKEN="a-very-secret"),
    "DaemonSet": found(kind="DaemonSet"),
    "where it runs": pod(nodeSelector={"a": "b"}, tolerations=[*TOLERATIONS, {"key": "mine"}]),
    "of an effect that the chart's pod does not tolerate": pod(tolerations=[*TOLERATIONS, EVICTING]),
    "fields of the pod": pod(hostAliases=[], schedulerName="own", imagePullSecrets=[1]),
    "of its user and its end": pod(securityContext={"runAsUser": 7}, terminationGracePeriodSeconds=90),
    "probe and user of the container": container(livenessProbe={"a": 1}, securityContext={"a": 1}),
    "hooks and resources of the container": container(lifecycle={"a": 1}, workingDir={"a": 1}, resources={"a": 1}),
}
"""What is found → the workload."""


def test_values_and_fates_of_settings() -> None:
    """Values with the same meaning, without those that the chart has by itself; each setting is told of once, and none
    with a secret. Set UPDATE_GOLDEN to write the file anew, and read it."""
    carried = {name: carry_over(controller) for name, controller in FOUND.items()}
    text = yaml.safe_dump(
        {
            name: {"values": to_builtins(each.values), **{s.name: f"{s.fate}: {s.becomes}" for s in each.settings}}
            for name, each in carried.items()
        },
        sort_keys=False,
        width=200,
    )

    assert text == golden("carried.yaml", text)
    assert "a-very-secret" not in text
    assert all(len({row.name for row in each.settings}) == len(each.settings) for each in carried.values())


HELM = {"meta.helm.sh/release-name": "hccm", "meta.helm.sh/release-namespace": "infra"}
OF_KUBE_HETZNER = [{"provisioner": "terraform", "engine": "k3s", "cluster": "c"}]
OF_HETZNER_K3S = [{"cluster": "c", "role": "master"}]
FLUX = {"helm.toolkit.fluxcd.io/name": "hccm", "helm.toolkit.fluxcd.io/namespace": "flux-system"}
KUSTOMIZED = {"kustomize.toolkit.fluxcd.io/name": "infra", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}


def made(
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    chart: FoundChart | None = None,
    manager: str = "kubectl",
    kind: str = "Deployment",
) -> FoundController:
    return FoundController(
        kind,
        "kube-system",
        NAME,
        IMAGE,
        ready=1,
        selector={"app": NAME},
        labels=labels or {},
        annotations=annotations or {},
        chart=chart,
        managers=frozenset({manager}),
    )


K3S = FoundChart("kube-system", "hccm")


MADE: Mapping[str, tuple[FoundController, Sequence[Mapping[str, str]]]] = {
    "Helm": (made(annotations=HELM), []),
    "Terraform's helm_release": (made(annotations=HELM, manager="terraform-provider-helm_v3.0.2"), []),
    "k3s": (made(annotations=HELM, chart=K3S), [{"mine": "yes"}]),
    "k3s with a HelmChartConfig": (made(annotations=HELM, chart=replace(K3S, has_config=True)), []),
    "kube-hetzner": (made(annotations=HELM, chart=K3S), OF_KUBE_HETZNER),
    "kube-hetzner without Helm": (made(), OF_KUBE_HETZNER),
    "hetzner-k3s": (made(), OF_HETZNER_K3S),
    "Argo CD": (made(annotations={"argocd.argoproj.io/tracking-id": "ccm:apps/Deployment:kube-system/x"}), []),
    "DaemonSet of Argo CD": (made({"argocd.argoproj.io/instance": "ccm"}, kind="DaemonSet"), []),
    "Argo CD by its label": (made({"app.kubernetes.io/instance": "ccm"}), []),
    "Flux HelmRelease": (made(FLUX, HELM), []),
    "Flux Kustomization": (made(KUSTOMIZED), []),
    "plain DaemonSet": (made(kind="DaemonSet"), []),
}
"""What has made it → the workload, and labels of the project's servers."""


def test_owners_and_their_commands() -> None:
    """The tool is told by its traces, and stops and starts HCCM itself: HCCM stops before we start, and the other way
    round on the way back. Set UPDATE_GOLDEN to write the file anew, and read it."""
    sections = []
    for name, (controller, servers) in MADE.items():
        owner = owner_of(controller, servers)
        told = switch(controller, owner, Target(), "", "r.example.com/i")
        sections += [f"=== {name}: {owner}", *told.to, "--- back", *told.back, ""]
    text = "\n".join(sections)

    assert text == golden("switch.txt", text)


def test_commands_have_nothing_that_a_shell_would_run() -> None:
    """Names of owners are annotations, and an image may be named by its digest as well."""
    hostile = made(annotations={**HELM, "meta.helm.sh/release-name": "hccm; touch x #"})
    pinned = replace(hostile, image="example.com/hccm:v1.30.1@sha256:aaaa")

    first = switch(pinned, owner_of(pinned), Target("", ""), "", "i").to[1]

    assert first.startswith("helm upgrade 'hccm; touch x #' hcloud-cloud-controller-manager ")
    assert " --version=1.30.1 " in first


def test_commands_reach_the_same_cluster() -> None:
    controller = made(annotations=HELM)
    target, flags = Target("k 1", "staging"), "--kubeconfig 'k 1' --context staging"

    told = switch(controller, owner_of(controller), target, flags, "i")

    lines = (*told.to, *told.back)
    assert all("'k 1'" in line and "staging" in line for line in lines)
    assert all("--kube-context" in line for line in lines if line.startswith("helm"))
