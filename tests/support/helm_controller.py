"""k3s' helm controller as far as a move from HCCM meets it: its two kinds, and the release that it makes of HCCM."""

from collections.abc import Mapping
from typing import Any

import yaml

from tests.support.apiserver import ApiServer
from tests.support.hccm import ALONE, ARGUMENTS, NAME, NETWORK, OF_ROBOT, TOKEN, literal, of_helm, raw_hccm
from tests.support.stage import wait_for

CHARTS, CONFIGS = "helmcharts", "helmchartconfigs"
_GROUP = "helm.cattle.io"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_TEXTS = {
    "HelmChart": ("chart", "repo", "version", "targetNamespace", "valuesContent"),
    "HelmChartConfig": ("valuesContent",),
}
"""Kind → the texts in its spec, of those that matter here."""
_OF_THE_CHART = {
    "kind": "Deployment",
    "replicaCount": 1,
    "args": dict(each.removeprefix("--").partition("=")[::2] for each in ARGUMENTS),
    "networking": {"enabled": False, "clusterCIDR": "10.244.0.0/16"},
    "env": {},
}
"""The values of HCCM's chart that the ones here may change."""


class HelmController:
    """Upgrades the release of HCCM when it is told to, as the real one does once a HelmChart or its HelmChartConfig has
    changed; nothing else is noticed."""

    def __init__(self, api_server: ApiServer) -> None:
        self._api_server = api_server

    def install(self) -> None:
        """Make its kinds known."""
        for kind, texts in _TEXTS.items():
            definition = _definition(kind, {name: {"type": "string"} for name in texts})
            self._request("POST", _DEFINITIONS, definition)
        self._wait_for(200)

    def uninstall(self) -> None:
        """Nothing of them is left, as in a cluster that has never had k3s."""
        for plural in (CHARTS, CONFIGS):
            self._api_server.request("DELETE", f"{_DEFINITIONS}/{plural}.{_GROUP}")
        self._wait_for(404)

    def path(self, plural: str, name: str = "") -> str:
        return f"/apis/{_GROUP}/v1/namespaces/kube-system/{plural}" + (f"/{name}" if name else "")

    def has(self, values: Mapping[str, Any], target: str) -> None:
        """A HelmChart of HCCM with these values."""
        spec = {"chart": NAME, "targetNamespace": target, "valuesContent": yaml.safe_dump(dict(values))}
        body = {"apiVersion": f"{_GROUP}/v1", "kind": "HelmChart", "metadata": {"name": NAME}, "spec": spec}
        self._request("POST", self.path(CHARTS), body)

    def upgrade(self) -> None:
        """``helm upgrade --install`` with the values of the HelmChart, and over them those of the HelmChartConfig."""
        chart = self._request("GET", self.path(CHARTS, NAME))["spec"]
        status, config = self._api_server.request("GET", self.path(CONFIGS, NAME))
        texts = [chart["valuesContent"], *([config["spec"]["valuesContent"]] if status == 200 else [])]
        values: dict[str, Any] = dict(_OF_THE_CHART)
        for text in texts:
            values = _merged(values, yaml.safe_load(text))
        self._deploy(_release(values, chart["targetNamespace"]))

    def _deploy(self, workload: dict[str, Any]) -> None:
        path = f"/apis/apps/v1/namespaces/{workload['metadata']['namespace']}/deployments"
        status, _ = self._api_server.request("PATCH", f"{path}/{NAME}?fieldManager=helm", workload)
        if status == 404:
            self._request("POST", f"{path}?fieldManager=helm", workload)
        # What kube-controller-manager and a kubelet would say once its pods run.
        count = workload["spec"]["replicas"]
        ready = {"status": {"replicas": count, "readyReplicas": count}}
        self._request("PATCH", f"{path}/{NAME}/status", ready)

    def _wait_for(self, status: int) -> None:
        """Until both kinds are answered so."""
        paths = [self.path(plural) for plural in (CHARTS, CONFIGS)]
        wait_for(lambda: {self._api_server.request("GET", path)[0] for path in paths} == {status}, "k3s' kinds")

    def _request(self, method: str, path: str, body: Any = None) -> Any:
        status, answer = self._api_server.request(method, path, body)
        assert status < 300, answer
        return answer


def _definition(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{_GROUP}"},
        "spec": {"group": _GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """As Helm merges files of values: maps key by key, anything else as a whole."""
    both = {key: _merged(below[key], above[key]) for key in below.keys() & above.keys() if isinstance(above[key], dict)}
    return {**below, **above, **both}


def _release(values: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    """The Deployment that HCCM's chart makes of its values."""
    arguments = [f"--{name}={text}" if text else f"--{name}" for name, text in values["args"].items()]
    env = [TOKEN, *OF_ROBOT, *literal(**{name: each["value"] for name, each in values["env"].items()})]
    is_networked = values["networking"]["enabled"]
    if is_networked:
        arguments += ["--allocate-node-cidrs=true", f"--cluster-cidr={values['networking']['clusterCIDR']}"]
        env.append(NETWORK)
    if values["replicaCount"] == 1:
        arguments.append(ALONE)
    pod = {"hostNetwork": True} if is_networked else {}
    metadata = {"name": NAME, "namespace": namespace, **of_helm(NAME, namespace)}
    workload = raw_hccm(*arguments, env=env, namespace=namespace, metadata=metadata, pod=pod)
    workload["spec"]["replicas"] = values["replicaCount"]
    return workload
