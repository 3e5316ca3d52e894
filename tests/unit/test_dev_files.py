"""deploy/dev, as far as it can be judged without a cloud: what Terraform, cloud-init, k3s, Cilium and Skaffold take.

``TERRAFORM_MIRROR`` may name a folder that Terraform finds its providers in, so that the real one judges as well.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from home import Record
from infrastructure import variables_of
from machine import REGISTRY

_ROOT = Path(__file__).resolve().parents[2]
_DEV = _ROOT / "deploy" / "dev"
_INFRA = _DEV / "infra"
_CHART = _ROOT / "deploy" / "helm" / "hcloud-reconciler"

_OF_BOTH = {"node-name", "node-ip", "token", "kubelet-arg"}
_OF_THE_SERVER = {
    *("advertise-address", "disable-cloud-controller", "disable", "flannel-backend", "disable-network-policy"),
    *("cluster-cidr", "service-cidr"),
}
"""Keys of k3s' config.yaml. An agent that is given one of a server does not start."""
_PODS = "10.244.0.0/16"
_TERRAFORM = shutil.which("terraform") or shutil.which("tofu")
_RECORD = Record.new("dev", "", "terraform")


@pytest.mark.skipif(_TERRAFORM is None, reason="neither terraform nor tofu is on the PATH")
def test_terraform_is_formatted() -> None:
    """As ``terraform fmt`` writes it."""
    done = subprocess.run([str(_TERRAFORM), "fmt", "-check", "-diff", str(_INFRA)], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.skipif(
    _TERRAFORM is None or "TERRAFORM_MIRROR" not in os.environ, reason="TERRAFORM_MIRROR names no providers"
)
def test_terraform_is_valid(tmp_path: Path) -> None:
    """By the word of the provider."""
    shutil.copytree(_INFRA, tmp_path / "infra")
    for command in (["init", f"-plugin-dir={os.environ['TERRAFORM_MIRROR']}"], ["validate"]):
        done = subprocess.run(
            [str(_TERRAFORM), f"-chdir={tmp_path}/infra", *command, "-no-color"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_scripts_dev_gives_each_variable() -> None:
    """Terraform would ask for one that is missing, where nobody answers."""
    declared = set(re.findall(r'^variable "(\w+)"', (_INFRA / "variables.tf").read_text("utf-8"), re.MULTILINE))

    assert variables_of(_RECORD, "eu-central", 1).keys() == declared


@pytest.mark.parametrize("template", ["control-plane.yaml.tftpl", "worker.yaml.tftpl"])
def test_templates_get_what_they_name(template: str) -> None:
    """No more and no less. They hold names alone, so that the tests can fill them in."""
    text = (_INFRA / template).read_text("utf-8")
    (call,) = re.findall(rf'templatefile\("\$\{{path.module\}}/{template}", \{{(.*?)\n  \}}\)', _main(), re.DOTALL)

    assert set(re.findall(r"^\s*(\w+)\s*=", call, re.MULTILINE)) == set(re.findall(r"\$\{(\w+)\}", text))
    assert "%{" not in text
    assert re.sub(r"\$\{\w+\}", "", text).count("${") == 0


@pytest.mark.parametrize(
    ("template", "keys", "files"),
    [
        ("control-plane.yaml.tftpl", _OF_BOTH | _OF_THE_SERVER, {"cilium", "registry", "registries", "start_k3s"}),
        ("worker.yaml.tftpl", _OF_BOTH | {"server"}, {"registries", "start_k3s"}),
    ],
)
def test_k3s_gets_keys_that_it_knows(template: str, keys: set[str], files: set[str]) -> None:
    """The kubelet waits for a cloud controller; of a control plane also: nothing of k3s' own is in the way."""
    config = _rendered(template)
    by_path = {file["path"]: file["content"] for file in config["write_files"]}
    k3s = yaml.safe_load(by_path["/etc/rancher/k3s/config.yaml"])

    assert k3s.keys() == keys
    assert k3s["kubelet-arg"] == ["cloud-provider=external"]
    if "disable" in keys:
        assert "servicelb" in k3s["disable"]
        assert (k3s["disable-cloud-controller"], k3s["disable-network-policy"]) == (True, True)
        assert (k3s["flannel-backend"], k3s["cluster-cidr"]) == ("none", _PODS)
    assert {content for content in by_path.values() if content.startswith("the ")} == {f"the {name}" for name in files}


@pytest.mark.parametrize("template", ["control-plane.yaml.tftpl", "worker.yaml.tftpl"])
def test_cloud_init_takes_it(template: str, tmp_path: Path) -> None:
    """By its own schema, where it is at hand; and Hetzner takes 32 KiB."""
    contents = {name: (_INFRA / file).read_bytes() for name, file in _FILES.items()}
    room = sum(4 * len(content) / 3 for content in contents.values())
    file = tmp_path / "user-data"
    file.write_text(_filled_in(template), "utf-8")
    assert file.stat().st_size + room < 32 * 2**10
    if shutil.which("cloud-init") is None:
        pytest.skip("cloud-init is not installed")

    done = subprocess.run(
        ["cloud-init", "schema", "--config-file", str(file)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_scripts_of_the_machine_are_shell() -> None:
    """``sh -n``."""
    assert subprocess.run(["sh", "-n", str(_INFRA / "start-k3s.sh")], check=False).returncode == 0


def test_cilium_is_told_what_the_network_needs() -> None:
    """Routes lead to the pods' range of each Node, and its operator runs before a controller has initialized any."""
    (chart,) = yaml.safe_load_all((_INFRA / "cilium.yaml").read_text("utf-8"))
    values = yaml.safe_load(chart["spec"]["valuesContent"])

    assert (values["routingMode"], values["ipam"]["mode"], values["ipv4NativeRoutingCIDR"]) == (
        "native",
        "kubernetes",
        _PODS,
    )
    assert (chart["spec"]["bootstrap"], values["operator"]["tolerations"]) == (True, [{"operator": "Exists"}])


def test_the_registry_is_one() -> None:
    """Pushed to, pulled from and mirrored under one name and at one address."""
    port = REGISTRY.rpartition(":")[2]
    mirrors = yaml.safe_load((_INFRA / "registries.yaml").read_text("utf-8"))["mirrors"]
    registry = yaml.safe_load((_INFRA / "registry.yaml").read_text("utf-8"))
    container = registry["spec"]["template"]["spec"]["containers"][0]
    (address,) = [each["value"] for each in container["env"] if each["name"] == "REGISTRY_HTTP_ADDR"]
    host, _, listens = address.partition(":")

    assert mirrors == {f"localhost:{port}": {"endpoint": [f"http://{address}"]}}
    assert _skaffold()["build"]["insecureRegistries"] == [f"localhost:{port}"]
    assert (container["readinessProbe"]["httpGet"]["host"], container["readinessProbe"]["httpGet"]["port"]) == (
        host,
        int(listens),
    )
    assert f'control_plane = "{host}"' in _main()


def test_skaffold_names_files_that_exist() -> None:
    """Paths are relative to its file, that of the Dockerfile to the context."""
    skaffold = _skaffold()
    (artifact,) = skaffold["build"]["artifacts"]
    (release,) = skaffold["deploy"]["helm"]["releases"]
    context = (_DEV / artifact["context"]).resolve()

    assert context == _ROOT
    assert (context / artifact["docker"]["dockerfile"]).is_file()
    assert (_DEV / release["chartPath"]).resolve() == _CHART
    assert all((_DEV / file).is_file() for file in release["valuesFiles"])
    names = set(re.findall(r"\{\{\.IMAGE_(?:REPO|TAG|DIGEST)_(\w+)\}\}", str(release["setValueTemplates"])))
    assert names == {re.sub(r"[-./]", "_", artifact["image"])}


def test_the_chart_takes_the_values() -> None:
    """Those of the file and those that Skaffold sets, by the chart's schema."""
    schema = json.loads((_CHART / "values.schema.json").read_text("utf-8"))
    values = yaml.safe_load((_DEV / "hcloud-reconciler.yaml").read_text("utf-8"))
    (release,) = _skaffold()["deploy"]["helm"]["releases"]
    for path, value in release["setValueTemplates"].items():
        group, name = path.split(".")
        values.setdefault(group, {})[name] = value

    jsonschema.validate(values, schema)

    assert values["networking"]["clusterCIDR"] == _PODS


_FILES = {
    "start_k3s": "start-k3s.sh",
    "cilium": "cilium.yaml",
    "registry": "registry.yaml",
    "registries": "registries.yaml",
}


def _filled_in(template: str) -> str:
    """The template as Terraform fills it in, with a sign instead of the content of files."""
    values = {name: f"the {name}" for name in _FILES} | {"address": "10.0.0.2", "control_plane": "10.0.0.2"}
    text = (_INFRA / template).read_text("utf-8")
    return re.sub(r"\$\{(\w+)\}", lambda found: values.get(found[1], found[1]), text)


def _rendered(template: str) -> Any:
    text = _filled_in(template)
    assert text.startswith("#cloud-config\n")
    return yaml.safe_load(text)


def _main() -> str:
    return (_INFRA / "main.tf").read_text("utf-8")


def _skaffold() -> Any:
    return yaml.safe_load((_DEV / "skaffold.yaml").read_text("utf-8"))
