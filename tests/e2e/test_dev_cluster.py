"""What scripts/dev writes into a real cluster, where the simulated one of its rehearsal has no such objects."""

from base64 import b64decode
from collections.abc import Iterator

import pytest
import yaml
from cluster import Cluster

from tests.support.apiserver import ApiServer
from tests.support.assets import ROOT
from tests.support.chart import by_kind, rendered

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(900)]
"""The first test may have to build helm."""

_SECRET = "/api/v1/namespaces/kube-system/secrets/hcloud"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/kube-system/deployments"


@pytest.fixture
def api(api_server: ApiServer) -> Iterator[ApiServer]:
    """A cluster without these objects, before and after."""
    _empty(api_server)
    yield api_server
    _empty(api_server)


def _empty(api: ApiServer) -> None:
    for path in (_SECRET, _DEPLOYMENTS):
        api.request("DELETE", path)


def _cluster(api: ApiServer, token: str = "a-token") -> Cluster:
    return Cluster(api.kubeconfig(), endpoint="", token=token, network_id="4711", location="hel1")


def test_the_secret_is_written_and_renewed(api: ApiServer) -> None:
    """With another token a further ``up`` changes it; the chart's values find all their keys in it."""
    _cluster(api).put_secret()
    _cluster(api, "another-token").put_secret()

    _, secret = api.request("GET", _SECRET)
    found = {name: b64decode(value).decode() for name, value in secret["data"].items()}
    assert found == {"token": "another-token", "network": "4711", "location": "hel1"}
    (deployment,) = by_kind(_rendered())["Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    asked = [each["valueFrom"]["secretKeyRef"] for each in container["env"] if "valueFrom" in each]
    assert {each["key"] for each in asked if not each.get("optional")} == found.keys()


def test_the_controller_in_the_cluster_gives_way(api: ApiServer) -> None:
    """Only that one, and only where there is one."""
    (controller,) = by_kind(_rendered())["Deployment"]
    other = {**controller, "metadata": {**controller["metadata"], "name": "another"}}
    _cluster(api).stop_controller()
    for each in (controller, other):
        status, answer = api.request("POST", _DEPLOYMENTS, each)
        assert status == 201, answer

    _cluster(api).stop_controller()

    _, listed = api.request("GET", _DEPLOYMENTS)
    replicas = {each["metadata"]["name"]: each["spec"]["replicas"] for each in listed["items"]}
    assert replicas == {controller["metadata"]["name"]: 0, "another": 1}


def test_the_registry_is_a_deployment(api: ApiServer) -> None:
    """A real API server takes what k3s will apply."""
    registry = yaml.safe_load((ROOT / "deploy" / "dev" / "infra" / "registry.yaml").read_text("utf-8"))

    status, answer = api.request("POST", f"{_DEPLOYMENTS}?dryRun=All&fieldValidation=Strict", registry)

    assert status == 201, answer


def _rendered() -> list[dict[str, object]]:
    """The chart with the values of the development cluster."""
    return rendered(yaml.safe_load((ROOT / "deploy" / "dev" / "hcloud-reconciler.yaml").read_text("utf-8")))
