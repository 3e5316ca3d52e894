"""Which tool made HCCM, and so who undoes what is changed without it: told by labels, annotations and the writers of
fields; and the commands that stop and start HCCM by that tool.
"""

import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import msgspec

from desired.model.workload import IMAGE, Container
from reconciler.migration.found import FoundController


class Tool(StrEnum):
    """What made the workload, in words for people."""

    FLUX_HELM = "Flux HelmRelease"
    FLUX = "Flux Kustomization"
    ARGO_CD = "Argo CD Application"
    KUBE_HETZNER = "kube-hetzner (Terraform)"
    HETZNER_K3S = "hetzner-k3s"
    K3S = "k3s HelmChart"
    TERRAFORM = "Terraform"
    HELM = "Helm release"
    KOPS = "kOps addon"
    KUBEONE = "KubeOne addon"
    TALOS = "Talos machine configuration"
    K3S_ADDON = "k3s or RKE2 manifest"
    K0S = "k0s stack"
    FLEET = "Rancher Fleet bundle"
    GARDENER = "Gardener ManagedResource"
    SVELTOS = "Sveltos profile"
    ADDON_MANAGER = "kube-addon-manager"
    PULUMI = "Pulumi"
    KAPP = "kapp app"
    MANIFEST = "plain manifest"
    UNKNOWN = "unknown tool"


@dataclass(frozen=True, slots=True)
class Owner:
    """The tool, and what it calls HCCM."""

    tool: Tool
    namespace: str
    name: str

    @property
    def title(self) -> str:
        """``Helm release kube-system/hccm``."""
        return f"{self.tool} {self.namespace}/{self.name}" if self.namespace else f"{self.tool} {self.name}"


@dataclass(frozen=True, slots=True)
class Target:
    """The cluster that commands have to name, as the run did; "" names none."""

    kubeconfig: str = ""
    context: str = ""

    def of(self, program: str, flag: str = "--context") -> str:
        """The program with the flags that reach the same cluster."""
        given = {"--kubeconfig": self.kubeconfig, flag: self.context}
        return " ".join((program, *(f"{name} {shlex.quote(text)}" for name, text in given.items() if text)))


@dataclass(frozen=True, slots=True)
class Switch:
    """What a person types, line by line; a line that begins with ``#`` is done by hand, or says why."""

    to: tuple[str, ...] = ()
    back: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Maker:
    """A tool that no release and no server tells of."""

    tool: Tool
    undone: str
    """The occasion on which it undoes a scale-down, and the place where it is told not to."""
    keys: tuple[str, ...] = ()
    """Labels or annotations that it alone sets."""
    manager: str = ""
    """The beginning of the name with which it writes fields."""

    def made(self, found: FoundController) -> bool:
        """Whether it made the workload."""
        has_key = any(key in given for key in self.keys for given in (found.labels, found.annotations))
        return has_key or (self.manager != "" and any(each.lower().startswith(self.manager) for each in found.managers))


_MAKERS = (
    _Maker(
        Tool.KOPS,
        "kOps applies its addons again when one changes ('kops update cluster', an upgrade): see to it after each",
        ("addon.kops.k8s.io/name",),
        "kops",
    ),
    _Maker(
        Tool.KUBEONE,
        "the next 'kubeone apply' undoes it: override or remove its addon in the KubeOneCluster",
        ("kubeone.io/addon",),
        "kubeone",
    ),
    _Maker(
        Tool.TALOS,
        "'talosctl upgrade-k8s' undoes it: take HCCM out of inlineManifests and extraManifests (machine config)",
        manager="talos",
    ),
    _Maker(
        Tool.FLEET, "Fleet undoes it where it corrects drift: change the bundle in Git", ("fleet.cattle.io/bundle-id",)
    ),
    _Maker(
        Tool.K3S_ADDON,
        "a restart of a k3s or RKE2 server undoes it: set replicas: 0 in its file in server/manifests of each",
        ("objectset.rio.cattle.io/owner-gvk",),
        "deploy@",
    ),
    _Maker(
        Tool.K0S,
        "k0s undoes it: set replicas: 0 in its file in /var/lib/k0s/manifests of each controller",
        ("k0s.k0sproject.io/stack",),
        "k0s",
    ),
    _Maker(
        Tool.GARDENER,
        "gardener-resource-manager undoes it: its extension has to leave it out",
        ("resources.gardener.cloud/managed-by", "resources.gardener.cloud/origin"),
        "gardener",
    ),
    _Maker(
        Tool.SVELTOS,
        "Sveltos undoes it where it corrects drift: change the profile",
        ("projectsveltos.io/reference-name", "projectsveltos.io/owner-name"),
    ),
    _Maker(
        Tool.ADDON_MANAGER,
        "kube-addon-manager undoes it within a minute: remove its file from the addons of each control plane",
        ("addonmanager.kubernetes.io/mode",),
    ),
    _Maker(Tool.PULUMI, "the next 'pulumi up' undoes it: set replicas to 0 there", manager="pulumi"),
    _Maker(Tool.KAPP, "the next 'kapp deploy' undoes it: set replicas to 0 there", ("kapp.k14s.io/app",), "kapp"),
)
_BY_HAND = ("kubectl", "kube-controller-manager", "k9s", "lens", "helm")
"""Writers of which none applies a manifest again by itself: ``kubectl-client-side-apply``, ``kubectl-scale``."""
RELEASE = "meta.helm.sh/release-name"
RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"
_FLUX_HELM, _FLUX = "helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io"
_TRACKING = "argocd.argoproj.io/tracking-id"
_INSTANCES = ("argocd.argoproj.io/instance", "app.kubernetes.io/instance")
_NONE = "hcloud-reconciler/none"
"""A label that no Node has: a DaemonSet that selects it has no pods."""
_VERSION = re.compile(r":v?([0-9]+\.[0-9]+\.[0-9]+[^@\s]*)(?:@\S+)?$", re.ASCII)
_CHART = "hcloud-cloud-controller-manager --repo https://charts.hetzner.cloud"
_OFF = "kind: Deployment, replicaCount: 0"
_KUBE_TF = "hetzner_ccm_use_helm = true, and replicaCount: 0 in hetzner_ccm_values"
OURS = "hcloud-reconciler"


def owner_of(found: FoundController, server_labels: Collection[Mapping[str, str]] = ()) -> Owner:
    """The tool that would undo what another changes. ``server_labels`` are those of the cluster's servers in the
    project, by which kube-hetzner and hetzner-k3s are told from others who apply the same objects."""
    labels, annotations, chart = found.labels, found.annotations, found.chart
    for tool, prefix in ((Tool.FLUX_HELM, _FLUX_HELM), (Tool.FLUX, _FLUX)):
        if name := labels.get(f"{prefix}/name"):
            return Owner(tool, labels.get(f"{prefix}/namespace", ""), name)
    release, namespace = annotations.get(RELEASE, ""), annotations.get(RELEASE_NAMESPACE, found.namespace)
    if tracked := annotations.get(_TRACKING):
        return Owner(Tool.ARGO_CD, "", tracked.partition(":")[0])
    instances = [labels[key] for key in _INSTANCES if key in labels]
    if instances and not release:
        return Owner(Tool.ARGO_CD, "", instances[0])
    maker = next(filter(None, map(_maker, server_labels)), None)
    if chart is not None:
        return Owner(Tool.KUBE_HETZNER if maker is Tool.KUBE_HETZNER else Tool.K3S, chart.namespace, chart.name)
    if any(writer.lower().startswith("terraform") for writer in found.managers):
        return Owner(Tool.TERRAFORM, namespace, release or found.name)
    if release:
        return Owner(Tool.HELM, namespace, release)
    known = maker or next((each.tool for each in _MAKERS if each.made(found)), None)
    if known is None and (writers := sorted(each for each in found.managers if not each.lower().startswith(_BY_HAND))):
        return Owner(Tool.UNKNOWN, "", ", ".join(writers))
    return Owner(known or Tool.MANIFEST, found.namespace, found.name)


def _maker(labels: Mapping[str, str]) -> Tool | None:
    """What made a server, by the labels that it gives to each; None where nothing is known of it."""
    if labels.get("provisioner") == "terraform" and "engine" in labels:
        return Tool.KUBE_HETZNER
    is_of_hetzner_k3s = labels.keys() == {"cluster", "role"} and labels["role"] in ("master", "worker")
    return Tool.HETZNER_K3S if is_of_hetzner_k3s else None


def switch(found: FoundController, owner: Owner, target: Target, flags: str, image: str) -> Switch:
    """How to go over to us, and back again. ``flags`` are those with which ``reconcile`` reaches the cluster. The names
    of an owner are annotations, which may say anything."""
    owner = replace(owner, name=shlex.quote(owner.name), namespace=owner.namespace and shlex.quote(owner.namespace))
    stop, start = _stopped_and_started(found, owner, target)
    kubectl, helm = target.of("kubectl"), target.of("helm", "--kube-context")
    selector = ",".join(f"{key}={text}" for key, text in sorted(found.selector.items()))
    gone = f"{kubectl} -n {found.namespace} wait --for=delete pod -l {shlex.quote(selector)} --timeout=3m"
    install = f"{helm} upgrade --install {OURS} deploy/helm/{OURS} -n {found.namespace} -f values.yaml"
    ours = (
        f"{helm} uninstall {OURS} -n {found.namespace}"
        if found.kind == "DaemonSet"
        else f"{kubectl} -n {found.namespace} scale deployment {OURS} --replicas=0"
    )
    return Switch(
        (
            f"reconcile migrate -o values {flags}".rstrip() + " > values.yaml",
            *stop,
            *([gone] if selector else ()),
            f"{install} --set image.repository={image}",
            f"reconcile status {flags}".rstrip(),
        ),
        (ours, *start),
    )


def _stopped_and_started(
    found: FoundController, owner: Owner, target: Target
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How to stop HCCM so that its owner leaves it stopped, and how to start it again."""
    kubectl = target.of("kubectl")
    stop, start = _by_hand(found, kubectl)
    match owner.tool:
        case Tool.HELM | Tool.K3S if Container(found.image, found.arguments).sign not in ("", IMAGE):  # a fork's chart
            return (f"# set its replicas to 0 in the values of {owner.title}, or the next upgrade undoes it", stop), (
                start,
            )
        case Tool.HELM:
            version = _VERSION.search(found.image)
            chart = f"{_CHART}{f' --version={version[1]}' if version else ''}"
            helm, values = target.of("helm", "--kube-context"), "--reuse-values --set kind=Deployment,replicaCount=0"
            stopped = f"{helm} upgrade {owner.name} {chart} -n {owner.namespace} {values}"
            return (stopped,), (f"{helm} rollback {owner.name} -n {owner.namespace}",)
        case Tool.TERRAFORM:
            return (
                f"# in the resource that makes it: the values {_OFF}; scaled by hand, the next apply undoes it",
                "terraform apply",
            ), ("# take both out again", "terraform apply")
        case Tool.KUBE_HETZNER if found.chart is None:
            return (f"# the next apply undoes it: in kube.tf, {_KUBE_TF}", stop), (start,)
        case Tool.K3S | Tool.KUBE_HETZNER:
            return _by_chart_config(found, owner, kubectl)
        case Tool.HETZNER_K3S:
            file = "# in the file of the cluster, as 'hetzner-k3s create' applies HCCM again"
            setting = "addons.cloud_controller_manager.enabled"
            return (f"{file}: {setting}: false", stop), (f"# {setting}: true", start)
        case Tool.ARGO_CD | Tool.FLUX_HELM | Tool.FLUX:
            off = "replicas: 0, or remove the DaemonSet" if owner.tool is Tool.FLUX else _OFF
            return (f"# commit {off} for {owner.title}: scaled by hand, a sync undoes it",), ("# revert that commit",)
        case Tool.MANIFEST:
            return ("# whatever applies the manifest again, such as a pipeline, undoes it: switch that off", stop), (
                start,
            )
        case Tool.UNKNOWN:
            unknown = f"# {owner.name} wrote it and is unknown here: see whether it applies it again, which undoes this"
            return (unknown, stop), (start,)
        case tool:
            return (f"# {next(each.undone for each in _MAKERS if each.tool is tool)}", stop), (start,)


def _by_hand(found: FoundController, kubectl: str) -> tuple[str, str]:
    """How to stop and start a workload of which nobody undoes a change."""
    if found.kind == "Deployment":
        scale = f"{kubectl} -n {found.namespace} scale deployment {found.name} --replicas="
        return f"{scale}0", f"{scale}{found.replicas or 1}"

    def patch(text: str | None) -> str:
        body = {"spec": {"template": {"spec": {"nodeSelector": {_NONE: text}}}}}
        said = shlex.quote(msgspec.json.encode(body).decode())
        return f"{kubectl} -n {found.namespace} patch daemonset {found.name} -p {said}"

    return patch("true"), patch(None)


def _by_chart_config(found: FoundController, owner: Owner, kubectl: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """By a HelmChartConfig, which wins over the HelmChart and which nobody who applies that takes away."""
    if found.chart is not None and found.chart.has_config:
        edit = f"{kubectl} -n {owner.namespace} edit helmchartconfig {owner.name}"
        return (f"# add to its valuesContent: {_OFF}", edit), ("# take both out again", edit)
    body = {
        "apiVersion": "helm.cattle.io/v1",
        "kind": "HelmChartConfig",
        "metadata": {"namespace": owner.namespace, "name": owner.name},
        "spec": {"valuesContent": f"{{{_OFF}}}"},
    }
    said = shlex.quote(msgspec.json.encode(body).decode())
    return (f"echo {said} | {kubectl} apply -f -",), (
        f"{kubectl} -n {owner.namespace} delete helmchartconfig {owner.name}",
    )
