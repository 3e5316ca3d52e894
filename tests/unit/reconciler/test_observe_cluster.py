"""Single objects of the API server: the cluster's identity, the product's ConfigMap; and what trouble makes of each."""

from collections.abc import Callable
from typing import Any

import pytest

from actuators.config_maps import read_data
from actuators.http.errors import Broken, Denied
from desired.section import Present, Unknown
from reconciler.observe.kubernetes import observe_cluster_uid
from tests.support.simulators import Simulation


def test_the_clusters_identity(simulate: Callable[..., Simulation]) -> None:
    sim = simulate()

    uid = observe_cluster_uid(sim.kubernetes_reader())

    assert uid == Present(sim.objects("namespaces")["kube-system"]["metadata"]["uid"])


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "status", "code": 403, "body": {"kind": "Status", "reason": "Forbidden", "message": "no"}},
        {"kind": "status", "code": 404, "body": {"kind": "Status", "reason": "NotFound", "message": "no"}},
        {"kind": "status", "code": 200, "body": "<html>"},
        {"kind": "status", "code": 200, "body": {"metadata": {}}},
        {"kind": "reset"},
    ],
    ids=lambda fault: f"{fault['kind']} {fault.get('code', '')}",
)
def test_an_identity_that_cannot_be_read(simulate: Callable[..., Simulation], fault: dict[str, Any]) -> None:
    sim = simulate()
    sim.spoil_kubernetes(**fault, count=None)

    assert isinstance(observe_cluster_uid(sim.kubernetes_reader()), Unknown)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"code": 200, "body": "<html>"}, Broken),
        ({"code": 200, "body": {"data": ["x"]}}, Broken),
        ({"code": 403, "body": {"kind": "Status", "message": "no"}}, Denied),
        ({"code": 404, "body": "<html>"}, Broken),
    ],
)
def test_a_config_map_that_cannot_be_read(
    simulate: Callable[..., Simulation], fault: dict[str, Any], expected: type[Exception]
) -> None:
    """Only the API server's own word says that there is no ConfigMap; anything else is an error."""
    sim = simulate()
    sim.spoil_kubernetes("status", **fault)

    with pytest.raises(expected):
        read_data(sim.kubernetes_reader(), "kube-system")


@pytest.mark.parametrize("body", [{}, {"data": None}, {"data": {}}])
def test_a_config_map_without_data(simulate: Callable[..., Simulation], body: Any) -> None:
    sim = simulate()
    assert read_data(sim.kubernetes_reader(), "kube-system") is None

    sim.spoil_kubernetes("status", code=200, body=body)
    assert read_data(sim.kubernetes_reader(), "kube-system") == {}
