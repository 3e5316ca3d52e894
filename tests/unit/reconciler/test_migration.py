"""HCCM's settings as values of our chart, what becomes of each, and the commands for the tool that made it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import yaml

from reconciler.migration.carrying import CHART_NETWORK, CHART_VARIABLES, Fate, carry_over
from reconciler.migration.found import FoundChart, FoundController, FoundVariable
from reconciler.migration.owners import Owner, Target, Tool, owner_of, switch
from tests.support.assets import ROOT
from tests.support.hccm import ALONE, ARGUMENTS, IMAGE, NAME, ROUTES, TOLERATIONS

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


@pytest.mark.parametrize(
    ("controller", "values"),
    [
        pytest.param(found(*ARGUMENTS, ALONE), {}, id="HCCM's chart as it is"),
        pytest.param(
            found(*ARGUMENTS, *ROUTES, pod=HOST, HCLOUD_NETWORK=NETWORK),
            {"networking": {"enabled": True, "clusterCIDR": "10.244.0.0/16"}},
            id="with networking",
        ),
        pytest.param(
            found(*ROUTES, pod=HOST, HCLOUD_NETWORK="private"),
            {"networking": {"enabled": True, "clusterCIDR": "10.244.0.0/16", "network": {"value": "private"}}},
            id="network by its name",
        ),
        pytest.param(
            found("--cluster-cidr=10.244.0.0/16", HCLOUD_NETWORK=""),
            {"args": {"cluster-cidr": "10.244.0.0/16"}, "env": {"HCLOUD_NETWORK": {"value": ""}}},
            id="an empty network is none",
        ),
        pytest.param(
            found(pod=HOST, HCLOUD_NETWORK=NETWORK),
            {"env": {"HCLOUD_NETWORK": CHART_NETWORK}, "hostNetwork": True},
            id="network without routes",
        ),
        pytest.param(
            found("--cluster-cidr", "10.42.0.0/16"),
            {"args": {"cluster-cidr": "10.42.0.0/16"}},
            id="value behind a blank",
        ),
        pytest.param(
            found(*ROUTES, HCLOUD_NETWORK=NETWORK),
            {"networking": {"enabled": True, "clusterCIDR": "10.244.0.0/16"}, "hostNetwork": False},
            id="not in the Nodes' network",
        ),
        pytest.param(found("--secure-port=10288"), {"health": {"port": 10288}}, id="another port beside k3s"),
        pytest.param(found("--controllers=*,-route"), {"args": {"controllers": "*,-route"}}, id="controllers"),
        pytest.param(
            found(HCLOUD_LOAD_BALANCERS_LOCATION="fsn1"),
            {"env": {"HCLOUD_LOAD_BALANCERS_LOCATION": {"value": "fsn1"}}},
            id="variable",
        ),
        pytest.param(
            found(HCLOUD_LOAD_BALANCERS_TYPE="{{lb}}"),
            {"env": {"HCLOUD_LOAD_BALANCERS_TYPE": {"value": '{{ "{{" }}lb}}'}}},
            id="the chart fills in templates",
        ),
        pytest.param(found(HCLOUD_METRICS_ENABLED="false"), {"monitoring": {"enabled": False}}, id="without metrics"),
        pytest.param(found(HCLOUD_METRICS_ADDRESS=":9100"), {"monitoring": {"port": 9100}}, id="port of metrics"),
        pytest.param(
            found(HCLOUD_METRICS_ADDRESS="127.0.0.1:9100"),
            {"env": {"HCLOUD_METRICS_ADDRESS": {"value": "127.0.0.1:9100"}}},
            id="address of metrics",
        ),
        pytest.param(
            found(ROBOT_ENABLED="1"),
            {"env": {"ROBOT_USER": None, "ROBOT_PASSWORD": None}, "robot": {"enabled": True}},
            id="Robot without credentials",
        ),
        pytest.param(found(kind="DaemonSet"), {"kind": "DaemonSet"}, id="DaemonSet"),
        pytest.param(
            found(pod={**USUAL, "nodeSelector": {"a": "b"}, "tolerations": [*TOLERATIONS, {"key": "mine"}]}),
            {"nodeSelector": {"a": "b"}, "additionalTolerations": [{"key": "mine"}]},
            id="where it runs",
        ),
        pytest.param(
            found(pod={**USUAL, "tolerations": [*TOLERATIONS, EVICTING]}),
            {"additionalTolerations": [EVICTING]},
            id="of an effect that the chart's pod does not tolerate",
        ),
        pytest.param(found(HCLOUD_TOKEN="secret-itself"), {}, id="a token in the workload is not shown"),
        pytest.param(found(HCLOUD_SERVER_CACHE_MODE="off", GOMAXPROCS="2"), {}, id="what nothing reads"),
    ],
)
def test_values(controller: FoundController, values: Mapping[str, Any]) -> None:
    assert carry_over(controller).values == values


@pytest.mark.parametrize(
    ("controller", "name", "fate"),
    [
        pytest.param(found("--cluster-cidr=10.244.0.0/16"), "--cluster-cidr", Fate.SAME, id="flag"),
        pytest.param(found("--secure-port=10288"), "--secure-port", Fate.RENAMED, id="flag under another name"),
        pytest.param(found("--secure-port=10258"), "--secure-port", Fate.DROPPED, id="port that it has anyway"),
        pytest.param(found("--cloud-provider=hcloud"), "--cloud-provider", Fate.DROPPED, id="flag without effect"),
        pytest.param(found("--v", "4"), "--v", Fate.DROPPED, id="verbosity"),
        pytest.param(found(ALONE), "--leader-elect", Fate.DROPPED, id="election"),
        pytest.param(found("--novel=1"), "--novel", Fate.UNKNOWN, id="unknown flag"),
        pytest.param(found(HCLOUD_DEBUG="1"), "HCLOUD_DEBUG", Fate.SAME, id="variable"),
        pytest.param(found(https_proxy="http://p:1"), "https_proxy", Fate.SAME, id="proxy"),
        pytest.param(found(https_proxy="http://u:p@p:1"), "https_proxy", Fate.UNKNOWN, id="password in an address"),
        pytest.param(found(ROBOT_ENABLED="true"), "ROBOT_ENABLED", Fate.RENAMED, id="variable with a value of its own"),
        pytest.param(found(HCLOUD_SERVER_CACHE_MAX_AGE="1s"), "HCLOUD_SERVER_CACHE_MAX_AGE", Fate.DROPPED, id="cache"),
        pytest.param(
            found(HCLOUD_SERVER_CACHE_TTL="1s"), "HCLOUD_SERVER_CACHE_TTL", Fate.DROPPED, id="former variable"
        ),
        pytest.param(found(HCLOUD_LOAD_BALANCERS_SIZE="a"), "HCLOUD_LOAD_BALANCERS_SIZE", Fate.UNKNOWN, id="misspelt"),
        pytest.param(found(GODEBUG="a"), "GODEBUG", Fate.UNKNOWN, id="another's variable"),
        pytest.param(found(HCLOUD_TOKEN="a-very-secret"), "HCLOUD_TOKEN", Fate.UNKNOWN, id="token in the workload"),
        pytest.param(found(pod={**USUAL, "hostAliases": []}), "pod hostAliases", Fate.UNKNOWN, id="field of the pod"),
        pytest.param(found(pod={"imagePullSecrets": [1]}), "pod imagePullSecrets", Fate.DROPPED, id="pull secret"),
        pytest.param(found(pod={"schedulerName": "own"}), "pod schedulerName", Fate.UNKNOWN, id="scheduler"),
        pytest.param(
            found(pod={"securityContext": {"runAsUser": 7}}), "pod securityContext", Fate.DROPPED, id="user of the pod"
        ),
        pytest.param(
            found(pod={"terminationGracePeriodSeconds": 90}),
            "pod terminationGracePeriodSeconds",
            Fate.DROPPED,
            id="time to end",
        ),
        *(
            pytest.param(
                found(pod={"containers": [{"image": IMAGE, name: {"a": 1}}]}), f"container {name}", fate, id=name
            )
            for name, fate in (
                ("livenessProbe", Fate.DROPPED),
                ("securityContext", Fate.DROPPED),
                ("lifecycle", Fate.UNKNOWN),
                ("workingDir", Fate.UNKNOWN),
                ("resources", Fate.DROPPED),
            )
        ),
    ],
)
def test_what_becomes_of_a_setting(controller: FoundController, name: str, fate: Fate) -> None:
    rows = carry_over(controller).settings

    assert [each.fate for each in rows if each.name == name] == [fate]
    assert "a-very-secret" not in repr(rows)


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


@pytest.mark.parametrize(
    ("controller", "servers", "owner", "stops", "starts"),
    [
        pytest.param(
            made(annotations=HELM),
            [],
            Owner(Tool.HELM, "infra", "hccm"),
            "helm upgrade hccm hcloud-cloud-controller-manager --repo https://charts.hetzner.cloud --version=1.33.0"
            " -n infra --reuse-values --set kind=Deployment,replicaCount=0",
            "helm rollback hccm -n infra",
            id="Helm",
        ),
        pytest.param(
            made(annotations=HELM, manager="terraform-provider-helm_v3.0.2"),
            [],
            Owner(Tool.TERRAFORM, "infra", "hccm"),
            "terraform apply",
            "terraform apply",
            id="Terraform's helm_release",
        ),
        pytest.param(
            made(annotations=HELM, chart=K3S),
            [{"mine": "yes"}],
            Owner(Tool.K3S, "kube-system", "hccm"),
            """"name":"hccm"},"spec":{"valuesContent":"{kind: Deployment, replicaCount: 0}"}}' | kubectl apply -f -""",
            "kubectl -n kube-system delete helmchartconfig hccm",
            id="k3s",
        ),
        pytest.param(
            made(annotations=HELM, chart=FoundChart("kube-system", "hccm", has_config=True)),
            [],
            Owner(Tool.K3S, "kube-system", "hccm"),
            "kubectl -n kube-system edit helmchartconfig hccm",
            "kubectl -n kube-system edit helmchartconfig hccm",
            id="k3s with a HelmChartConfig",
        ),
        pytest.param(
            made(annotations=HELM, chart=K3S),
            OF_KUBE_HETZNER,
            Owner(Tool.KUBE_HETZNER, "kube-system", "hccm"),
            "| kubectl apply -f -",
            "kubectl -n kube-system delete helmchartconfig hccm",
            id="kube-hetzner",
        ),
        pytest.param(
            made(),
            OF_KUBE_HETZNER,
            Owner(Tool.KUBE_HETZNER, "kube-system", NAME),
            f"kubectl -n kube-system scale deployment {NAME} --replicas=0",
            f"kubectl -n kube-system scale deployment {NAME} --replicas=1",
            id="kube-hetzner without Helm",
        ),
        pytest.param(
            made(),
            OF_HETZNER_K3S,
            Owner(Tool.HETZNER_K3S, "kube-system", NAME),
            f"kubectl -n kube-system scale deployment {NAME} --replicas=0",
            f"kubectl -n kube-system scale deployment {NAME} --replicas=1",
            id="hetzner-k3s",
        ),
        pytest.param(
            made(annotations={"argocd.argoproj.io/tracking-id": "ccm:apps/Deployment:kube-system/x"}),
            [],
            Owner(Tool.ARGO_CD, "", "ccm"),
            "argocd app sync ccm",
            "argocd app sync ccm",
            id="Argo CD",
        ),
        pytest.param(
            made({"argocd.argoproj.io/instance": "ccm"}, kind="DaemonSet"),
            [],
            Owner(Tool.ARGO_CD, "", "ccm"),
            f"argocd app sync ccm --prune --resource apps:DaemonSet:kube-system/{NAME}",
            "argocd app sync ccm",
            id="DaemonSet of Argo CD",
        ),
        pytest.param(
            made({"app.kubernetes.io/instance": "ccm"}),
            [],
            Owner(Tool.ARGO_CD, "", "ccm"),
            "argocd app sync ccm",
            "argocd app sync ccm",
            id="Argo CD by its label",
        ),
        pytest.param(
            made(FLUX, HELM),
            [],
            Owner(Tool.FLUX_HELM, "flux-system", "hccm"),
            "flux reconcile helmrelease hccm -n flux-system --with-source",
            "flux reconcile helmrelease hccm -n flux-system --with-source",
            id="Flux HelmRelease",
        ),
        pytest.param(
            made(KUSTOMIZED),
            [],
            Owner(Tool.FLUX, "flux-system", "infra"),
            "flux reconcile kustomization infra -n flux-system --with-source",
            "flux reconcile kustomization infra -n flux-system --with-source",
            id="Flux Kustomization",
        ),
        pytest.param(
            made(kind="DaemonSet"),
            [],
            Owner(Tool.MANIFEST, "kube-system", NAME),
            f"kubectl -n kube-system patch daemonset {NAME} -p"
            """ '{"spec":{"template":{"spec":{"nodeSelector":{"hcloud-reconciler/none":"true"}}}}}'""",
            f"kubectl -n kube-system patch daemonset {NAME} -p"
            """ '{"spec":{"template":{"spec":{"nodeSelector":{"hcloud-reconciler/none":null}}}}}'""",
            id="plain DaemonSet",
        ),
    ],
)
def test_who_made_it(
    controller: FoundController, servers: list[Mapping[str, str]], owner: Owner, stops: str, starts: str
) -> None:
    """The tool is told by its traces, and stops and starts HCCM itself: HCCM stops before we start, and the other way
    round on the way back."""
    told = switch(controller, owner_of(controller, servers), Target(), "", "r.example.com/i")

    assert owner_of(controller, servers) == owner
    stopped = next(place for place, line in enumerate(told.to) if line.endswith(stops))
    installed = next(place for place, line in enumerate(told.to) if line.startswith("helm upgrade --install"))
    assert stopped < installed
    assert told.back[0] == (
        "helm uninstall hcloud-reconciler -n kube-system"
        if controller.kind == "DaemonSet"
        else "kubectl -n kube-system scale deployment hcloud-reconciler --replicas=0"
    )
    assert told.back[-1] == starts


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
