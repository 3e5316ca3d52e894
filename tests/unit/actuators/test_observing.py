"""Watching the requests of both connections: each try, with its end, whatever that is; and the ids of Hetzner's."""

from collections.abc import Callable
from typing import Any

import pytest

from actuators.http.connection import RequestEnded, tracing
from actuators.http.errors import ApiError
from tests.support.simulators import Simulation

Seen = list[tuple[str, str, int | None]]


def noted_in(seen: Seen) -> Callable[[str, str], RequestEnded]:
    """Notes method, path and status of each request that has ended."""

    def began(method: str, path: str) -> RequestEnded:
        return lambda status: seen.append((method, path, status))

    return began


@pytest.mark.parametrize(
    ("faults", "statuses"),
    [
        pytest.param([], [200], id="answered"),
        pytest.param([{"kind": "status", "code": 503, "count": 2}], [503, 503, 200], id="each try"),
        pytest.param([{"kind": "reset", "count": 1}], [None, 200], id="no answer"),
        pytest.param([{"kind": "status", "code": 403}], [403], id="refused"),
    ],
)
def test_each_try_is_seen(
    simulate: Callable[..., Simulation], faults: list[dict[str, Any]], statuses: list[Any]
) -> None:
    """On both connections alike."""
    sim = simulate()
    sim.kubernetes_proxy.set_faults(faults)
    sim.hetzner_proxy.set_faults(faults)
    cluster, cloud = sim.kubernetes_connection(), sim.hetzner_connection()
    of_cluster: Seen = []
    of_cloud: Seen = []
    cluster.observe, cloud.observe = noted_in(of_cluster), noted_in(of_cloud)

    for ask in (
        lambda: cluster.send("GET", "/api/v1/nodes?limit=1"),
        lambda: cloud.send("GET", "/servers?page=1", repeatable=True),
    ):
        try:
            ask()
        except ApiError:
            assert statuses[-1] != 200

    assert of_cluster == [("GET", "/api/v1/nodes?limit=1", status) for status in statuses]
    assert of_cloud == [("GET", "/servers?page=1", status) for status in statuses]


def test_ids_of_refusals_are_kept(simulate: Callable[..., Simulation]) -> None:
    """What is refused has a correlation id, by which Hetzner's support finds it; where nobody collects, nothing is."""
    sim = simulate()
    writer = sim.hetzner_writer()

    with tracing() as trace, pytest.raises(ApiError):
        writer.delete("/load_balancers/1")
    with pytest.raises(ApiError):
        writer.delete("/load_balancers/1")

    assert len(trace.correlations) == 1
    assert trace.actions == []
