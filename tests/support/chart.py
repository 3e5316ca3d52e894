"""The chart and the manifests as real tools render them: helm and kustomize."""

import json
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.support.apiserver import ApiServer
from tests.support.assets import ROOT, needed

Object = dict[str, Any]

DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "hcloud-reconciler"
RELEASE = "hcloud-reconciler"
NAMESPACE = "kube-system"

_PLURALS = {"NetworkPolicy": "networkpolicies"}
_OF_THE_CLUSTER = ("ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition")


class RefusedError(Exception):
    """What the tool says of values that it does not take."""


def helm(*arguments: str, values: Mapping[str, Any] | None = None) -> str:
    """What helm prints; ``values`` are those of a values file. Raises RefusedError with its complaint."""
    given = () if values is None else ("--values", "-")
    text = "" if values is None else json.dumps(values)
    return _run(needed("helm") / "helm", *arguments, *given, text=text)


def template(values: Mapping[str, Any] | None = None, *arguments: str) -> str:
    return _template(json.dumps(values), arguments)


@cache
def _template(values: str, arguments: tuple[str, ...]) -> str:
    return helm("template", RELEASE, str(CHART), "--namespace", NAMESPACE, *arguments, values=json.loads(values))


def rendered(values: Mapping[str, Any] | None = None, *arguments: str) -> list[Object]:
    """The chart's objects with these values. Raises RefusedError."""
    return objects_in(template(values, *arguments))


def kustomized(folder: str) -> list[Object]:
    return objects_in(_run(needed("helm") / "kustomize", "build", str(DEPLOY / "kustomize" / folder)))


def objects_in(text: str) -> list[Object]:
    return [found for found in yaml.load_all(text, yaml.CSafeLoader) if found]


def by_kind(objects: Iterable[Object]) -> dict[str, list[Object]]:
    found: dict[str, list[Object]] = {}
    for each in objects:
        found.setdefault(each["kind"], []).append(each)
    return found


def pod_in(objects: Iterable[Object]) -> Object:
    (workload,) = (each for each in objects if each["kind"] in ("Deployment", "DaemonSet", "CronJob"))
    spec = workload["spec"].get("jobTemplate", workload)["spec"]
    template_of_pods: Object = spec["template"]
    return template_of_pods


def container_in(objects: Iterable[Object]) -> Object:
    (container,) = pod_in(objects)["spec"]["containers"]
    found: Object = container
    return found


def complaints(server: ApiServer, objects: Iterable[Object]) -> dict[str, str]:
    """``KIND/NAME`` → what the API server has against creating it, unknown fields included; nothing is created."""
    found = {}
    for each in objects:
        status, answer = server.request("POST", f"{collection(each)}?dryRun=All&fieldValidation=Strict", each)
        if status not in (201, 409):
            found[f"{each['kind']}/{each['metadata']['name']}"] = f"{status}: {answer}"
    return found


def collection(of: Object) -> str:
    """The path to which such an object is posted."""
    version, kind = of["apiVersion"], of["kind"]
    plural = _PLURALS.get(kind, f"{kind.lower()}s")
    root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    return (
        f"{root}/{plural}" if kind in _OF_THE_CLUSTER else f"{root}/namespaces/{of['metadata']['namespace']}/{plural}"
    )


def _run(program: Path, *arguments: str, text: str = "") -> str:
    done = subprocess.run([str(program), *arguments], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RefusedError(done.stderr)
    return done.stdout
