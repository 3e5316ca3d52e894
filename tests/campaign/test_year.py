"""A sample of the year: some days of whole controllers with faults; ``scripts/campaign year`` has all of it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.campaign.shell import Cluster, Replica
from tests.campaign.year import ENVIRONMENT, FAULTS, LEASE_S, Year, harm
from tests.support.objects import a_service, pods_of, private_ip
from tests.support.sampling import SEED

ROOT = Path(__file__).parents[2]
DAYS = 2
ELSEWHERE = """
import socket
socket.gethostname = lambda: "elsewhere"
from tests.campaign.year import Year
print(Year({seed}).pass_days(1).digest)
"""


def test_days_with_faults() -> None:
    """One process writes at a time, nothing is taken that is needed, and in the end all is in order."""
    told = Year(SEED).pass_days(DAYS)
    assert [*told.differences, *(told.log[-40:] if told.differences else ())] == []
    assert len(told.faults.keys() & FAULTS.keys()) >= DAYS


def test_a_seed_decides_everything() -> None:
    """Each request, answer, event and moment, in this process and in one that hashes otherwise, on a machine of another
    name; not those of another seed."""
    environment = os.environ | {"PYTHONHASHSEED": "77", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", ELSEWHERE.format(seed=5)]
    with subprocess.Popen(command, env=environment, cwd=ROOT, text=True, stdout=subprocess.PIPE) as other:
        first, again, differently = (Year(seed, keeps=None).pass_days(1) for seed in (5, 5, 6))
        elsewhere, _ = other.communicate()
    assert first.log == again.log
    assert first.digest == elsewhere.strip()
    assert [line.split()[1:] for line in first.log[:40]] != [line.split()[1:] for line in differently.log[:40]]


def test_a_leader_that_stands_still_in_a_pass() -> None:
    """It has read the world, and goes on when another process leads: it writes nothing of what it has planned."""
    cluster = Cluster(1, ENVIRONMENT)
    cluster.world.settle(3)
    replicas = [Replica(cluster, name) for name in ("one", "other")]
    for replica in replicas:
        replica.start()
    cluster.scheduler.sleep(600.0)
    first, paused = cluster.holder(), list[str]()

    def meets(replica: Replica, api: str, method: str, _path: str) -> str:
        if (api, method, paused) == ("hetzner", "GET", []):
            paused.append(replica.identity)
            replica.stand_still(3 * LEASE_S)
        return ""

    cluster.meets = meets
    cluster.world.have_services(a_service())
    cluster.scheduler.sleep(6 * LEASE_S)
    balancers, leader, wrongs = cluster.world.balancers(), cluster.holder(), cluster.wrongs
    cluster.close()

    assert paused == [first]
    assert leader != first
    assert (len(balancers), wrongs) == (1, [])


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Three Nodes in order, and a Service."""
    made = Cluster(1, {**ENVIRONMENT, "RECONCILER_LEADER_ELECT": "false"})
    made.world.settle(3)
    made.world.have_services(a_service())
    yield made
    made.close()


def test_two_that_write_are_told_of(cluster: Cluster) -> None:
    """Processes that take no Lease: the first law would say so."""
    replica = Replica(cluster, "replica")
    replica.start()
    cluster.scheduler.sleep(60.0)
    assert "while no process leads" in cluster.wrongs[0]


@pytest.mark.parametrize(
    ("method", "path", "body", "why"),
    [
        ("DELETE", "/api/v1/nodes/web-1", {}, "deletes a Node whose server is there"),
        ("DELETE", "/v1/load_balancers/{balancer}", {}, "deletes the load balancer of a Service"),
        (
            "POST",
            "/v1/networks/7/actions/delete_route",
            {"destination": pods_of(1), "gateway": private_ip(1)},
            "deletes the route of a Node",
        ),
        (
            "POST",
            "/v1/load_balancers/{balancer}/actions/remove_target",
            {"type": "server", "server": {"id": 1}},
            "removes a target that serves",
        ),
        ("PATCH", "/api/v1/nodes/web-1", {}, ""),
        ("DELETE", "/api/v1/nodes/web-9", {}, ""),
    ],
)
def test_harm_is_told_of(cluster: Cluster, method: str, path: str, body: Mapping[str, Any], why: str) -> None:
    """In a world in which all is in order."""
    replica = Replica(cluster, "replica")
    replica.start()
    cluster.scheduler.sleep(60.0)
    (balancer,) = cluster.world.balancers()
    assert harm(cluster, "", method, path.format(balancer=balancer["id"]), json.dumps(body).encode()) == why
