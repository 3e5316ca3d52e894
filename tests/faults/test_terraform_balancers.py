"""kube-hetzner's load balancer of the ingress controller, which Terraform declares and a Service uses: made, changed
and destroyed by the real provider while the controller runs. ``TERRAFORM_MIRROR`` names a folder with that one."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desired.names import LABEL_ADOPTED, LABEL_CLUSTER_UID
from hcloud_sandbox.hetzner import HetznerOptions
from tests.support.objects import LOCATED, a_service, condition, ingress, joining_node
from tests.support.stage import Cluster, Stage, clean_environment, killed_at_the_end, wait_for

_MIRROR = os.environ.get("TERRAFORM_MIRROR")
pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        _MIRROR is None or not shutil.which("terraform"), reason="TERRAFORM_MIRROR names no folder of providers"
    ),
]
_DECLARED = Path(__file__).parent / "kube_hetzner"
_LABELS = {"provisioner": "terraform", "engine": "k3s", "cluster": "k3s"}
_MARKS = {LABEL_ADOPTED, LABEL_CLUSTER_UID}
"""The labels of ours that kube-hetzner's module does not ignore."""
_OF_THE_SERVICE = {"PUT", "add_service", "update_service", "delete_service", "add_target", "remove_target"}
"""What the controller may write to the load balancer: labels, ports and servers."""


class Terraform:
    """The real one, in a folder with what kube-hetzner declares. It has a way of its own to the project, so that what
    passes the stage's proxy is the product's alone."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self._folder = shutil.copytree(_DECLARED, folder / "infra")
        configuration = folder / "terraformrc"
        configuration.write_text(
            f'provider_installation {{\n  filesystem_mirror {{\n    path = "{_MIRROR}"\n  }}\n}}\n'
        )
        self._environment = {
            **{name: text for name, text in clean_environment().items() if not name.startswith("TF_")},
            "HCLOUD_TOKEN": stage.environment["HCLOUD_TOKEN"],
            "HCLOUD_ENDPOINT": f"{stage.hetzner.url}/v1",
            "TF_CLI_CONFIG_FILE": str(configuration),
            "TF_IN_AUTOMATION": "1",
            "CHECKPOINT_DISABLE": "1",
        }
        self._run("init")

    def apply(self, **variables: str) -> None:
        self._run("apply", "-auto-approve", **variables)

    def destroy(self) -> None:
        self._run("destroy", "-auto-approve")

    def differs(self, **variables: str) -> dict[str, Any]:
        """What an apply would change: address → attribute → (before, after)."""
        self._run("plan", "-out=plan", **variables)
        changes = json.loads(self._run("show", "-json", "plan")).get("resource_changes", ())
        return {
            each["address"]: {
                name: (before[name], after.get(name)) for name in before if before[name] != after.get(name)
            }
            for each in changes
            if each["change"]["actions"] != ["no-op"]
            for before, after in [(each["change"]["before"] or {}, each["change"]["after"] or {})]
        }

    def _run(self, command: str, *words: str, **variables: str) -> str:
        done = subprocess.run(
            ["terraform", f"-chdir={self._folder}", command, *words, *(() if command == "show" else ("-no-color",))],
            env={**self._environment, **{f"TF_VAR_{name}": text for name, text in variables.items()}},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def stage(cluster: Cluster, tmp_path: Path) -> Iterator[Stage]:
    """An empty project, whose actions take a moment."""
    stage = Stage(cluster, tmp_path, None, HetznerOptions(action_s=0.05))
    stage.environment |= {**LOCATED, "HCLOUD_NETWORK": "k3s"}
    yield stage
    stage.close()


def _ingress(**options: str) -> dict[str, Any]:
    """The Service of the ingress controller with the annotations of the module's values, but for type and algorithm,
    and told to leave the load balancer when it goes."""
    asked = {
        "name": "k3s-traefik",
        "use_private_ip": "true",
        "disable_private_ingress": "true",
        "uses_proxyprotocol": "true",
        "deletion_policy": "retain",
    }
    return a_service("web", 80, 443, **asked | options)


def _register(stage: Stage, number: int) -> None:
    """What a kubelet does on the server of this number."""
    (address,) = (
        each["private_net"][0]["ip"]
        for each in stage.project.world()["hetzner"]["servers"]
        if each["name"] == f"k3s-agent-{number}"
    )
    node = joining_node(f"k3s-agent-{number}")
    node["status"]["addresses"].append({"type": "InternalIP", "address": address})
    node["status"]["conditions"] = [condition("Ready", "True")]
    stage.register(node)


def _targets(stage: Stage) -> int:
    """How many servers the load balancer has, beside Terraform's selector."""
    (balancer,) = stage.balancers()
    kinds = [each["type"] for each in balancer["targets"]]
    assert kinds.count("label_selector") == 1
    return kinds.count("server")


def _declared(stage: Stage) -> dict[str, Any]:
    """What Terraform says of the load balancer, as it is."""
    (found,) = stage.balancers()
    return {
        "id": found["id"],
        "type": found["load_balancer_type"]["name"],
        "algorithm": found["algorithm"]["type"],
        "labels": found["labels"].items() >= _LABELS.items(),
        "network": [each["ip"] for each in found["private_net"]],
        "public": found["public_net"]["enabled"],
        "selectors": [each["label_selector"]["selector"] for each in found["targets"] if "label_selector" in each],
    }


def _passes(stage: Stage) -> None:
    """Wait until the controller has read the servers three times more, as it does in each pass."""
    before = stage.asked_hetzner().count("/v1/servers")
    wait_for(lambda: stage.asked_hetzner().count("/v1/servers") >= before + 3, "three passes")


def _touched(stage: Stage) -> set[str]:
    """What the controller has written to the project: ``PUT`` for a load balancer's own fields, else the action."""
    found = set()
    for each in stage.written_to_hetzner():
        what = each.path.rpartition("/")[2]
        found.add(each.method if what.isdigit() or each.method == "DELETE" else what)
        if each.method == "PUT":
            assert set(each.body) == {"labels"}
            assert each.body["labels"].items() >= _LABELS.items()
        if what == "remove_target":
            assert each.body["type"] == "server"
    return found


@pytest.mark.parametrize("number", range(20))
def test_made_changed_and_destroyed(stage: Stage, tmp_path: Path, number: int) -> None:
    """The Service takes up the load balancer with its ports and servers. What Terraform declares is never written by
    the controller, but for what an annotation asks for as well. The Service leaves it to Terraform, which destroys all
    of it, and nothing comes back: whether the Service goes first, or the controller."""
    is_annotated, goes_first = number % 2 == 0, ("Service", "controller")[number // 2 % 2]
    options = {"type": "lb11", "algorithm_type": "round_robin"} if is_annotated else {}
    terraform = Terraform(stage, tmp_path)
    terraform.apply()
    for agent in range(2):
        _register(stage, agent)
    made = _declared(stage)

    with killed_at_the_end(stage.start("run", "--interval", "100ms")) as controller:
        stage.have_services(_ingress(**options))
        wait_for(lambda: ingress(stage.service()) and _targets(stage) == 2, "the published load balancer")
        _passes(stage)
        assert _declared(stage) == made
        drift = terraform.differs()
        assert drift.keys() == {"hcloud_load_balancer.cluster"}
        ((before, after),) = drift["hcloud_load_balancer.cluster"].values()
        assert before.keys() - after.keys() == _MARKS

        wanted = {"load_balancer_type": "lb21", "algorithm": "least_connections"}
        terraform.apply(**wanted, agents="3")
        _register(stage, 2)
        if is_annotated:
            stage.annotate(type="lb21", algorithm_type="least_connections")
        changed = made | {"type": "lb21", "algorithm": "least_connections"}
        wait_for(lambda: _declared(stage) == changed and _targets(stage) == 3, "what was changed")
        _passes(stage)
        assert _declared(stage) == changed
        assert terraform.differs(**wanted, agents="3") == {}

        if goes_first == "Service":
            stage.delete_service()
            wait_for(lambda: not stage.services(), "the Service's end")
            assert _declared(stage) == changed
        else:
            controller.terminate()
            controller.wait()
        terraform.destroy()
        if goes_first == "Service":
            _passes(stage)

    world = stage.project.world()["hetzner"]
    assert [world.get(kind, []) for kind in ("load_balancers", "servers", "networks")] == [[], [], []]
    assert _touched(stage) <= _OF_THE_SERVICE | ({"change_type", "change_algorithm"} if is_annotated else set())
