"""A fork of HCCM, under its own image and name, writes the same objects."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.in_process import one_pass
from tests.support.stage import SimulatedCluster, Stage

FORK = "Deployment kube-system/ccm-ccm-hetzner"
TOKEN = {"name": "HCLOUD_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hcloud", "key": "token"}}}
LOCATED = {"name": "HCLOUD_LOAD_BALANCERS_LOCATION", "value": "fsn1"}


@pytest.fixture
def beside(field: Callable[[str], Stage]) -> Callable[..., Stage]:
    """The cluster, with these fields of the fork's container."""

    def put(**container: Any) -> Stage:
        stage = field("35-fork-of-hccm-beside")
        assert isinstance(stage.cluster, SimulatedCluster)
        world = stage.cluster.simulator.world()["kubernetes"]
        world["deployments"][0]["spec"]["template"]["spec"]["containers"][0].update(container)
        stage.cluster.simulator.replace_world(world)
        return stage

    return put


@pytest.mark.parametrize(
    ("container", "sign"),
    [
        pytest.param({}, "hetzner-cloud-controller-manager", id="as it is"),
        pytest.param({"image": "r.example.com/ccm:1"}, "hetzner-cloud-controller-manager", id="command"),
        pytest.param(
            {"image": "r.example.com/ccm:1", "command": None, "args": ["--cloud-provider=hcloud"]},
            "--cloud-provider=hcloud",
            id="flag",
        ),
        pytest.param(
            {
                "image": "r.example.com/ccm:1",
                "command": None,
                "env": [TOKEN, {"name": "HCLOUD_LOAD_BALANCERS_LOCATION", "value": "fsn1"}],
            },
            "HCLOUD_LOAD_BALANCERS_LOCATION",
            id="variable",
        ),
    ],
)
def test_it_holds_all_writes(beside: Callable[..., Stage], container: dict[str, Any], sign: str) -> None:
    """35: one hold names the workload and its sign."""
    stage = beside(**container)
    (hold,) = one_pass(stage, HCLOUD_NETWORK="cluster")["holds"]
    assert hold["rule"] == "other-controller"
    assert hold["why"].startswith(f"another cloud controller ({sign}) is running: {FORK}")
    assert stage.written_to_hetzner() == []


@pytest.mark.parametrize(
    "container",
    [
        {"image": "docker.io/hetznercloud/hcloud-csi-driver:v2.13.0", "command": ["/bin/hcloud-csi-driver-controller"]},
        {
            "image": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.0",
            "command": ["./cluster-autoscaler", "--cloud-provider=hetzner"],
        },
        {"image": "r.example.com/mirror/hcloud-reconciler:1.0", "command": None, "args": ["--cloud-provider=hcloud"]},
        {"image": "r.example.com/ours:1", "command": ["python", "-B", "-m", "reconciler", "run"], "env": [LOCATED]},
        {"image": "r.example.com/ours:1", "command": ["sh", "-c", "exec reconcile run"], "env": [LOCATED]},
        {
            "image": "r.example.com/kured:1",
            "command": ["/kured"],
            "args": ["--pods=app=hcloud-cloud-controller-manager"],
        },
        {"image": "r.example.com/hcloud-ccm-exporter:1", "command": None},
        {"image": "r.example.com/ours:1", "command": None, "env": [LOCATED, {"name": "RECONCILER_INTERVAL"}]},
    ],
    ids=["CSI driver", "autoscaler", "our image", "our module", "our shell", "kured", "an exporter", "our variables"],
)
def test_a_token_is_no_sign(beside: Callable[..., Stage], container: dict[str, Any]) -> None:
    """35: the CSI driver and the cluster autoscaler share HCLOUD_TOKEN and HCLOUD_NETWORK."""
    stage = beside(**{"env": [TOKEN, {"name": "HCLOUD_NETWORK", "value": "cluster"}]} | container)
    report = one_pass(stage, HCLOUD_NETWORK="cluster")
    assert report["holds"] == []
    assert [note for note in report["notes"] if note["kind"] == "other-controller"] == []
    assert stage.written_to_hetzner() != []


@pytest.mark.parametrize(
    "container",
    [
        {"image": "hetznercloud/hcloud-cloud-controller-manager:v1.24", "name": "hcloud-reconciler"},
        {"image": "r.example.com/hcloud-reconciler/hcloud-cloud-controller-manager:v1.24", "command": None},
        {
            "image": "hetznercloud/hcloud-cloud-controller-manager:v1.24",
            "env": [TOKEN, {"name": "RECONCILER_INTERVAL"}],
        },
        {"image": "r.example.com/x:1", "command": ["/bin/hcloud-cloud-controller-manager", "--x", "reconcile"]},
    ],
    ids=["in our container", "in our mirror", "with our variable", "with our word"],
)
def test_hccm_is_never_taken_for_ours(beside: Callable[..., Stage], container: dict[str, Any]) -> None:
    """A way back by kubectl leaves names of ours at HCCM's image."""
    (hold,) = one_pass(beside(**container), HCLOUD_NETWORK="cluster")["holds"]
    assert hold["rule"] == "other-controller"


def test_migrate_takes_it_for_hccm(beside: Callable[..., Stage]) -> None:
    """35: settings are carried over, an unknown one is named, and its chart is not replaced by Hetzner's."""
    variables = [TOKEN, {"name": "HCLOUD_USE_HROBOT_PROVIDER_ID_FOR_BAREMETAL", "value": "true"}]
    ran = beside(env=variables).reconcile("migrate")
    assert ran.stdout.startswith(f"{FORK}, 1 ready of 1\n  image: ghcr.io/syself/hetzner-cloud-controller-manager")
    assert "HCLOUD_USE_HROBOT_PROVIDER_ID_FOR_BAREMETAL" in ran.stdout
    assert "charts.hetzner.cloud" not in ran.stdout
    assert "kubectl -n kube-system scale deployment ccm-ccm-hetzner --replicas=0" in ran.stdout
