"""The Lease of the election, by the product's own client: both APIs understand it, and agree on what comes of it."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from actuators.http.errors import Conflict
from actuators.http.kubernetes import KubernetesReader, KubernetesWriter
from actuators.wire.lease import NOBODY, LeaseClaim, Leases
from reconciler.leader_election.elector import Elector
from reconciler.leader_election.leadership import LeadershipStatus, LeadResult, Timings
from tests.contract.kubernetes_api import LEASES, KubernetesApi, connected

MOMENT = "2027-01-15T08:00:00.000000Z"
OURS = LeaseClaim("me", 15, MOMENT, MOMENT, 0)


@pytest.fixture
def leases(api: KubernetesApi, name: str) -> Iterator[Leases]:
    """A Lease of this test's own, that is not there yet."""
    yield leases_of(api, name)
    api.request("DELETE", f"{LEASES}/{name}")


def leases_of(api: KubernetesApi, name: str) -> Leases:
    """A Lease over the product's connection."""
    connection = connected(api)
    return Leases(KubernetesReader(connection), KubernetesWriter(connection), "default", name)


def spec_of(api: KubernetesApi, name: str) -> Any:
    return api.get(f"{LEASES}/{name}").good()["spec"]


def test_the_life_of_a_lease(api: KubernetesApi, leases: Leases, name: str) -> None:
    """Made, renewed, given back; each write follows from the answer to the one before."""
    assert leases.read() is None
    made = leases.create(OURS)
    assert (made.claim, leases.read()) == (OURS, made)
    renewed = leases.update(made, replace(OURS, renewed="2027-01-15T08:00:02.000001Z"))
    assert renewed.claim.renewed == "2027-01-15T08:00:02.000001Z"
    given_back = leases.update(renewed, replace(OURS, holder=NOBODY, duration_s=1))
    assert given_back.claim == LeaseClaim(NOBODY, 1, MOMENT, MOMENT, 0)
    assert spec_of(api, name) == {
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "acquireTime": MOMENT,
        "renewTime": MOMENT,
        "leaseTransitions": 0,
    }


def test_of_two_writers_one_loses(api: KubernetesApi, leases: Leases, name: str) -> None:
    """The second creation loses, and a write from a version that was replaced or deleted."""
    made = leases.create(OURS)
    with pytest.raises(Conflict):
        leases.create(OURS)
    leases.update(made, replace(OURS, holder="other"))
    with pytest.raises(Conflict):
        leases.update(made, OURS)
    api.request("DELETE", f"{LEASES}/{name}").good()
    with pytest.raises(Conflict):
        leases.update(made, OURS)


def test_one_after_the_other(api: KubernetesApi, leases: Leases, name: str) -> None:
    """Two processes, as they are shipped: the second one has the lead as soon as the first one gives it back."""
    stop = threading.Event()
    first, second = (Elector(leases_of(api, name), Timings(), identity=identity) for identity in ("one", "two"))
    try:
        assert first.wait(stop)
        assert spec_of(api, name)["holderIdentity"] == "one"
        first.close()
        assert not first.is_leader()
        assert second.wait_until_leader(stop) == LeadResult(LeadershipStatus.LEADING)
        found = spec_of(api, name)
        assert (found["holderIdentity"], found["leaseTransitions"], found["leaseDurationSeconds"]) == ("two", 1, 15)
    finally:
        first.close()
        second.close()
    assert spec_of(api, name)["holderIdentity"] == ""
