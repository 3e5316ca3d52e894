"""Values to compare measurements with: budgets, aims, and hcloud-cloud-controller-manager."""

from collections.abc import Mapping
from typing import Any

from scenarios import name_of_creation, name_of_joining

BUDGETS: Mapping[str, Any] = {"nodes": 5000, "cpu_s": 1.5, "peak_mib": 120 * 10**6 / 2**20}
"""Of one pass at 5,000 Nodes."""

HCCM: tuple[Mapping[str, Any], ...] = (
    {"what": "join", "nodes": 20, "wall_s": 1.7, "peak_mib": "58-71"},
    {"what": "join", "nodes": 100, "wall_s": 13.7, "peak_mib": "58-71"},
    {"what": "2 new Services", "nodes": 5, "wall_s": 11.8, "hetzner_requests": 49},
    {"what": "10 new Services", "nodes": 20, "wall_s": 148.0, "hetzner_requests": 541, "peak_mib": "63"},
    {"what": "20 new Services", "nodes": 100, "wall_s": 1459.0, "hetzner_requests": 4479, "peak_mib": "72"},
    {"what": "join with routes", "nodes": 20, "wall_s": 36.0, "hetzner_requests": 126, "refused": 63},
    {"what": "join with routes", "nodes": 100, "wall_s": 81.0, "hetzner_requests": 846, "refused": 503},
)
"""hcloud-cloud-controller-manager as it was measured under the default conditions, at another time than this run."""


def _aim(name: str, nodes: int, wall_s: float, requests: int, peak_mib: int | None = None) -> dict[str, Any]:
    return {"name": name, "nodes": nodes, "wall_s": wall_s, "hetzner_requests": requests, "peak_mib": peak_mib}


def _creation(
    nodes: int, services: int, wall_s: float, requests: int, peak_mib: int, *, network: bool
) -> dict[str, Any]:
    return _aim(name_of_creation(services, network=network), nodes, wall_s, requests, peak_mib)


AIMS: Mapping[str, Any] = {
    "conditions": {"latency_ms": 50, "action_ms": 300},
    "loop": {"first_request_s": 0.5, "peak_mib": 62, "page_mib": 2},
    "answers": {"--help": 0.1, "plan --help": 0.2, "plan": 0.5},
    "rows": (
        _creation(20, 10, 6.0, 28, 63, network=True),
        _creation(100, 20, 11.0, 50, 72, network=True),
        _creation(20, 10, 3.0, 16, 63, network=False),
        _creation(100, 20, 6.0, 30, 72, network=False),
        _aim(name_of_joining(), 20, 12.0, 45),
        _aim(name_of_joining(), 100, 50.0, 210),
    ),
}
"""From Services created to all statuses published, or from Nodes registered to all conditions written, and under which
conditions; no more memory than HCCM's, where that is known, a loop's at 20 Nodes, and what a page that is not asked for
adds to it. In a network creations and routes wait for each other, as each locks it."""
