"""Clients that others wrote work with the simulator as with the real API server."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config

from tests.contract.kubernetes_api import EVENTS, NAMESPACES, NODES, SERVICES, KubernetesApi

Kubectl = Callable[..., str]


@pytest.fixture
def kubectl(api: KubernetesApi, tmp_path: Path) -> Kubectl:
    """Runs kubectl and answers what it printed; fails with what it complained about."""
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip("there is no kubectl here")

    def run(*arguments: str, stdin: str = "") -> str:
        command = [program, "--kubeconfig", str(api.kubeconfig()), "--cache-dir", str(tmp_path), *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def core(api: KubernetesApi) -> Iterator[Any]:
    """A ``CoreV1Api``, the typed client of the kubernetes package; all its fields are optional to a type checker."""
    with config.new_client_from_config(config_file=str(api.kubeconfig())) as connection:
        yield client.CoreV1Api(connection)


def test_kubectl_labels_taints_and_deletes_a_node(api: KubernetesApi, kubectl: Kubectl, name: str) -> None:
    """Each with the kind of patch that kubectl chose for it."""
    api.create(NODES, {"metadata": {"name": name}})
    assert kubectl("label", "node", name, "a=b") == f"node/{name} labeled\n"
    assert kubectl("annotate", "node", name, "c=d") == f"node/{name} annotated\n"
    assert kubectl("taint", "node", name, "e=f:NoExecute") == f"node/{name} tainted\n"
    assert kubectl("taint", "node", name, "node.kubernetes.io/not-ready-") == f"node/{name} untainted\n"
    assert kubectl("cordon", name) == f"node/{name} cordoned\n"
    shown = json.loads(kubectl("get", "node", name, "-o", "json"))
    assert (shown["kind"], shown["metadata"]["labels"]) == ("Node", {"a": "b"})
    assert shown["metadata"]["annotations"] == {"c": "d"}
    taints = {(taint["key"], taint["effect"]) for taint in shown["spec"]["taints"]}
    assert ("e", "NoExecute") in taints
    assert ("node.kubernetes.io/not-ready", "NoSchedule") not in taints
    assert kubectl("label", "node", name, "a-") == f"node/{name} unlabeled\n"
    assert "deleted" in kubectl("delete", "node", name)
    assert api.get(f"{NODES}/{name}").status == 404


def test_kubectl_gets_and_lists(api: KubernetesApi, kubectl: Kubectl, name: str) -> None:
    """Whatever the columns: the first has the name, and the last the age."""
    api.create(SERVICES, {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}})
    heading, row = (line.split() for line in kubectl("get", "service", name).splitlines())
    assert (heading[0], heading[-1], row[0]) == ("NAME", "AGE", name)
    listed = json.loads(kubectl("get", "svc", "-A", "--field-selector", f"metadata.name={name}", "-o", "json"))
    assert [item["kind"] for item in listed["items"]] == ["Service"]


def test_kubectl_describes_a_node_with_its_events(api: KubernetesApi, kubectl: Kubectl, name: str) -> None:
    """That reads Pods, Leases and Events as well."""
    addresses = {"addresses": [{"type": "InternalIP", "address": "10.0.0.7"}]}
    uid = api.create(NODES, {"metadata": {"name": name}, "status": addresses})["metadata"]["uid"]
    about = {"kind": "Node", "name": name, "uid": uid}
    # kubectl before 1.33 looks for events by the Node's name in place of its uid
    for number, value in enumerate((uid, name)):
        body = {"metadata": {"name": f"{name}-{number}"}, "involvedObject": {**about, "uid": value}}
        api.create(EVENTS, {**body, "reason": "Tested", "message": "it works", "type": "Normal"})
    described = kubectl("describe", "node", name)
    assert "10.0.0.7" in described
    assert "it works" in described


def test_kubectl_applies_twice_and_deletes(api: KubernetesApi, kubectl: Kubectl, name: str) -> None:
    """The second time with a three-way strategic patch."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"type": "LoadBalancer", "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 443}]},
    }
    apply = ("apply", "-f", "-")
    assert kubectl(*apply, stdin=json.dumps(service)) == f"service/{name} created\n"
    first = api.get(f"{SERVICES}/{name}").good()["spec"]
    service["spec"] = {"type": "LoadBalancer", "ports": [{"name": "b", "port": 443}, {"name": "c", "port": 8080}]}
    assert kubectl(*apply, stdin=json.dumps(service)) == f"service/{name} configured\n"
    second = api.get(f"{SERVICES}/{name}").good()["spec"]
    assert [port["name"] for port in second["ports"]] == ["b", "c"]
    assert second["ports"][0] == first["ports"][1]
    assert kubectl(*apply, stdin=json.dumps(service)) == f"service/{name} unchanged\n"
    assert "deleted" in kubectl("delete", "service", name)


def test_the_typed_client_lists_patches_and_reads(api: KubernetesApi, core: Any, name: str) -> None:
    """Its models accept what is answered, page by page."""
    api.create(NAMESPACES, {"metadata": {"name": name}})
    for number in range(3):
        api.create(f"{NAMESPACES}/{name}/configmaps", {"metadata": {"name": f"c{number}"}})
    first = core.list_namespaced_config_map(name, limit=2)
    rest = core.list_namespaced_config_map(name, limit=2, _continue=first.metadata._continue)
    assert [found.metadata.name for found in (*first.items, *rest.items)] == ["c0", "c1", "c2"]
    addresses = [{"type": "Hostname", "address": "x"}]
    api.create(NODES, {"metadata": {"name": name, "labels": {"c": "d"}}, "status": {"addresses": addresses}})
    patched = core.patch_node(name, {"metadata": {"labels": {"a": "b", "c": None}}})
    assert patched.metadata.labels == {"a": "b"}
    assert patched.status.addresses[0].address == "x"
    assert core.read_namespace("kube-system").metadata.uid
    core.delete_node(name)
    with pytest.raises(client.ApiException) as caught:
        core.read_node(name)
    assert caught.value.status == 404
