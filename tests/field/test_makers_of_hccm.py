"""``migrate`` names the tool that made HCCM, and the occasion on which it undoes a scale-down."""

from collections.abc import Callable, Mapping

import pytest

from reconciler.migration.found import FoundController
from reconciler.migration.owners import Target, Tool, owner_of, switch
from tests.support.stage import Stage

NAME = "hcloud-cloud-controller-manager"
IMAGE = f"docker.io/hetznercloud/{NAME}:v1.30.1"


@pytest.mark.parametrize(
    ("name", "made_by", "undone"),
    [
        ("45-maker-kops", "kOps addon", "# kOps applies its addons again"),
        ("45-maker-kubeone", "KubeOne addon", "# the next 'kubeone apply' undoes it"),
        ("45-maker-talos", "Talos machine configuration", "# 'talosctl upgrade-k8s' undoes it"),
    ],
)
def test_a_known_maker(field: Callable[[str], Stage], name: str, made_by: str, undone: str) -> None:
    """45: by label or field manager, and not as a plain manifest."""
    said = field(name).reconcile("migrate").stdout
    assert f"  made by: {made_by} kube-system/{NAME}\n" in said
    assert undone in said


ADDON = "k3s.cattle.io/v1, Kind=Addon"


@pytest.mark.parametrize(
    ("labels", "annotations", "managers", "tool"),
    [
        pytest.param({"app.kubernetes.io/managed-by": "kops"}, {}, ["kops"], Tool.KOPS, id="kops by manager"),
        pytest.param({}, {"objectset.rio.cattle.io/owner-gvk": ADDON}, ["deploy@cp-1"], Tool.K3S_ADDON, id="k3s file"),
        pytest.param({"k0s.k0sproject.io/stack": "ccm"}, {}, ["k0s"], Tool.K0S, id="k0s"),
        pytest.param({"resources.gardener.cloud/managed-by": "gardener"}, {}, [], Tool.GARDENER, id="Gardener"),
        pytest.param({"addonmanager.kubernetes.io/mode": "Reconcile"}, {}, [], Tool.ADDON_MANAGER, id="addon-manager"),
        pytest.param({}, {}, ["pulumi-kubernetes-1a2b"], Tool.PULUMI, id="Pulumi"),
        pytest.param({}, {}, ["kubectl-client-side-apply", "kubectl-scale"], Tool.MANIFEST, id="kubectl"),
        pytest.param({}, {}, ["kubectl", "manager"], Tool.UNKNOWN, id="ClusterResourceSet"),
        pytest.param({}, {}, ["kubermatic"], Tool.UNKNOWN, id="unknown writer"),
    ],
)
def test_makers(labels: Mapping[str, str], annotations: Mapping[str, str], managers: list[str], tool: Tool) -> None:
    """45: an unknown writer is named, and nothing is claimed of it."""
    found = FoundController(
        "Deployment", "kube-system", NAME, IMAGE, labels=labels, annotations=annotations, managers=frozenset(managers)
    )
    owner = owner_of(found)
    assert owner.tool is tool
    hint, *commands = switch(found, owner, Target(), "", "image").to[1:]
    assert hint.startswith("#")
    assert any("scale deployment" in command for command in commands)
    if tool is Tool.UNKNOWN:
        assert owner.name in hint
        assert "is unknown here" in hint
