"""``reconcile migrate`` on a real API server, beside HCCM as its chart makes it, and our chart with the values."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from tests.support.apiserver import ApiServer
from tests.support.chart import container_in, pod_in, rendered
from tests.support.hccm import ARGUMENTS, NETWORK, OF_ROBOT, ROUTES, TOKEN, literal, of_helm, raw_hccm
from tests.support.stage import Stage

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(900)]
"""The first test may have to build helm."""

NAMESPACE = "hccm"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
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
