"""``reconcile migrate`` on a real API server, beside HCCM as its chart makes it, and our chart with the values."""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
import yaml

from tests.support.apiserver import ApiServer
from tests.support.chart import Object, complaints, container_in, pod_in, rendered
from tests.support.hccm import ALONE, ARGUMENTS, NAME, NETWORK, OF_ROBOT, ROUTES, TOKEN, literal, of_helm, raw_hccm
from tests.support.in_process import one_pass
from tests.support.objects import CIDR, IN_NETWORK, a_service
from tests.support.stage import Stage, wait_for

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


pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(900)]
"""The first test may have to build helm."""

NAMESPACE = "hccm"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
HCCM = f"/apis/apps/v1/namespaces/kube-system/deployments/{NAME}"
PRIVATE = {"id": 7, "name": "private", "ip_range": "10.0.0.0/8"}
SETTINGS = {"HCLOUD_LOAD_BALANCERS_LOCATION": "fsn1", "HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP": "true"}


@pytest.fixture
def beside(stage: Stage, api_server: ApiServer) -> Iterator[Stage]:
    """A stage with a namespace for HCCM, and its Secret there."""
    api_server.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    texts = {"token": stage.environment["HCLOUD_TOKEN"], "network": "private"}
    status, _ = api_server.request("POST", SECRETS, {"metadata": {"name": "hcloud"}, "stringData": texts})
    assert status in (201, 409)
    stage.project.replace_world({"networks": [PRIVATE]})
    yield stage
    for path in (DEPLOYMENTS, SECRETS):
        api_server.request("DELETE", path)


def deploy(api_server: ApiServer, workload: Mapping[str, Any]) -> None:
    """Create it. Nothing runs here, so that it never gets ready."""
    status, answer = api_server.request("POST", DEPLOYMENTS, workload)
    assert status == 201, answer


def test_values_and_plan_of_hccm(beside: Stage, api_server: ApiServer) -> None:
    """As kube-hetzner's values make it: the token is read from HCCM's own Secret, the plan is empty, and our chart
    takes the values and gives its container the same settings. The cluster does not know k3s' kinds."""
    env = [TOKEN, NETWORK, *OF_ROBOT, *literal(**SETTINGS)]
    arguments = (*ARGUMENTS, *ROUTES, "--secure-port=10288")
    deploy(
        api_server,
        raw_hccm(
            *arguments,
            env=env,
            namespace=NAMESPACE,
            pod={"hostNetwork": True},
            metadata=of_helm() | {"namespace": NAMESPACE},
        ),
    )

    told = beside.reconcile("migrate", "-o", "json", "--detailed-exitcode", HCLOUD_TOKEN=None)
    alone = beside.reconcile("migrate", "-o", "values", HCLOUD_TOKEN=None)

    assert (told.code, told.report["errors"]) == (0, [])
    assert told.report["plan"]["result"] == "no_changes"
    assert told.report["workload"]["namespace"] == NAMESPACE
    assert {each["name"]: each["fate"] for each in told.report["settings"]}["--secure-port"] == "renamed"
    values = yaml.safe_load(alone.stdout)
    assert values == told.report["values"]
    objects = rendered(values)
    container = container_in(objects)
    variables = {each["name"]: each for each in container["env"]}
    assert {name: variables[name]["value"] for name in SETTINGS} == SETTINGS
    assert [variables["HCLOUD_TOKEN"], variables["HCLOUD_NETWORK"]] == [TOKEN, NETWORK]
    assert "--cluster-cidr=10.244.0.0/16" in container["args"]
    assert "--health-address=127.0.0.1:10288" in container["args"]
    assert pod_in(objects)["spec"]["hostNetwork"] is True
    assert {entry.method for entry in beside.proxy.journal.entries()} == {"GET"}


OF_KUBE_HETZNER = {
    "networking": {"enabled": True, "clusterCIDR": "10.244.0.0/16"},
    "args": {"secure-port": "10288"},
    "env": {name: {"value": text} for name, text in SETTINGS.items()},
}
"""Values of HCCM's chart in the HelmChart, as kube-hetzner writes them."""
SAME = ("workload", "owner", "settings", "values", "switch")
"""What of the report is the same after the way there and back."""


@pytest.fixture
def k3s(a_stage: Callable[..., Stage], api_server: ApiServer) -> Iterator[Stage]:
    """Nodes with routes, and a Service, with all done that HCCM does; its Secret; and k3s' kinds, of which nothing is
    there."""
    stage = a_stage(action_s=0.0)
    settings = {**IN_NETWORK, **CIDR, **SETTINGS}
    stage.environment |= settings
    stage.have_pods(3)
    stage.have_services(a_service())
    assert one_pass(stage)["result"] == one_pass(stage)["result"] == "no_changes"
    for name in settings:
        del stage.environment[name]
    system = "/api/v1/namespaces/kube-system/secrets"
    texts = {"token": stage.environment["HCLOUD_TOKEN"], "network": "private"}
    assert api_server.request("POST", system, {"metadata": {"name": "hcloud"}, "stringData": texts})[0] == 201
    controller = HelmController(api_server)
    controller.install()
    yield stage
    controller.uninstall()
    for path in (f"{system}/hcloud", HCCM):
        api_server.request("DELETE", path)


def test_there_and_back_with_a_helm_chart_of_k3s(k3s: Stage, api_server: ApiServer) -> None:
    """The HelmChart is told as the owner, the plan beside HCCM is empty, and the printed commands stop HCCM and start
    it again by way of k3s' helm controller. With the values our chart goes on from there and has nothing to do, nor
    would HCCM afterwards."""
    controller = HelmController(api_server)
    controller.has(OF_KUBE_HETZNER, "kube-system")
    controller.upgrade()

    before = _migrate(k3s)
    _carry_out(api_server, before["switch"]["to"])
    controller.upgrade()
    assert _replicas(api_server) == 0

    objects = rendered(before["values"])
    assert complaints(api_server, objects) == {}
    ran = k3s.reconcile(*_flags(objects), "--once", "-o", "json", **_variables(objects, k3s))
    assert ran.code == 0, ran.stderr
    assert (ran.report["result"], ran.report["changes"]) == ("no_changes", [])
    assert k3s.written_to_hetzner() == []

    stopped = _migrate(k3s)
    assert (stopped["workload"]["replicas"], stopped["values"]) == (0, before["values"])
    assert stopped["switch"]["to"][2].endswith(f"edit helmchartconfig {NAME}"), "there is one by now"
    _carry_out(api_server, before["switch"]["back"])
    controller.upgrade()
    assert _replicas(api_server) == 1
    after = _migrate(k3s)
    assert {name: after[name] for name in SAME} == {name: before[name] for name in SAME}


def _migrate(stage: Stage) -> dict[str, Any]:
    """The report, which has an empty plan, and for which nothing was written."""
    stage.forget()
    ran = stage.reconcile("migrate", "-o", "json", "--detailed-exitcode", HCLOUD_TOKEN=None)
    report = ran.report
    assert {entry.method for entry in (*stage.proxy.journal.entries(), *stage.hetzner_proxy.journal.entries())} == {
        "GET"
    }
    assert (ran.code, report["errors"]) == (0, [])
    assert (report["plan"]["result"], report["plan"]["changes"]) == ("no_changes", [])
    assert report["owner"] == {"tool": "k3s HelmChart", "namespace": "kube-system", "name": NAME}
    return report


def _carry_out(api_server: ApiServer, commands: Sequence[str]) -> None:
    """What kubectl would do for those of these commands that are about a HelmChartConfig. Raises AssertionError when
    there is not one."""
    (command,) = (shlex.split(line) for line in commands if "helmchartconfig" in line.lower())
    path = HelmController(api_server).path(CONFIGS)
    if command[0] == "echo":
        status, answer = api_server.request("POST", path, json.loads(command[1]))
    else:
        assert command[-3:-1] == ["delete", "helmchartconfig"]
        status, answer = api_server.request("DELETE", f"{path}/{command[-1]}")
    assert status < 300, answer


def _replicas(api_server: ApiServer) -> int:
    """How many pods of HCCM are asked for."""
    wanted: int = api_server.request("GET", HCCM)[1]["spec"]["replicas"]
    return wanted


def _flags(objects: Sequence[Object]) -> list[str]:
    """With which the container runs, but for the port, which another test may have."""
    return [word for word in container_in(objects)["args"][1:] if not word.startswith("--health-address")]


def _variables(objects: Sequence[Object], stage: Stage) -> dict[str, str]:
    """Of the container, with what the Secret has."""
    texts = {"token": stage.environment["HCLOUD_TOKEN"], "network": "private"}
    return {
        each["name"]: each["value"] if "value" in each else texts[each["valueFrom"]["secretKeyRef"]["key"]]
        for each in container_in(objects)["env"]
        if "value" in each or each["valueFrom"]["secretKeyRef"]["key"] in texts
    }
