"""The Lease as it is on the wire: what is made of whatever is there, and what is written back."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from actuators.http.errors import Broken, Conflict
from actuators.http.kubernetes import KubernetesReader, KubernetesWriter
from actuators.wire.lease import NOBODY, LeaseClaim, Leases, micro_time
from tests.support.rows import rows
from tests.support.simulators import Simulate, Simulation

PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
NAME = "kube-system/ccm"
MOMENT = "2027-01-15T08:00:00.000000Z"
OURS = LeaseClaim("me", 15, MOMENT, MOMENT, 0)
THEIRS = {
    "holderIdentity": "them",
    "leaseDurationSeconds": 30,
    "acquireTime": MOMENT,
    "renewTime": MOMENT,
    "leaseTransitions": 2,
}


@pytest.fixture
def sim(simulate: Simulate) -> Simulation:
    return simulate()


def leases_of(sim: Simulation, name: str = "ccm") -> Leases:
    """The Lease of that name, over a connection that tries once."""
    connection = sim.kubernetes_connection(attempts=1)
    return Leases(KubernetesReader(connection), KubernetesWriter(connection), "kube-system", name)


def answered(sim: Simulation, body: Any) -> Leases:
    sim.spoil_kubernetes("status", code=200, body=body, count=None)
    return leases_of(sim)


def a_lease(spec: Any) -> dict[str, Any]:
    return {"kind": "Lease", "metadata": {"name": "ccm", "resourceVersion": "7"}, "spec": spec}


@rows(
    "changes expected",
    {
        "all there": ({}, LeaseClaim("them", 30, MOMENT, MOMENT, 2)),
        "given back": ({"holderIdentity": ""}, LeaseClaim(NOBODY, 30, MOMENT, MOMENT, 2)),
        "a number for a holder": ({"holderIdentity": 5}, LeaseClaim(None, 30, MOMENT, MOMENT, 2)),
        "no duration": ({"leaseDurationSeconds": None}, LeaseClaim("them", None, MOMENT, MOMENT, 2)),
        "a text for a duration": ({"leaseDurationSeconds": "30"}, LeaseClaim("them", None, MOMENT, MOMENT, 2)),
        "no time at all": ({"leaseDurationSeconds": 0}, LeaseClaim("them", None, MOMENT, MOMENT, 2)),
        "a boolean": ({"leaseDurationSeconds": True}, LeaseClaim("them", None, MOMENT, MOMENT, 2)),
        "a time that is none": ({"renewTime": "yesterday"}, LeaseClaim("them", 30, MOMENT, "yesterday", 2)),
        "a map for a time": ({"renewTime": {"a": 1}}, LeaseClaim("them", 30, MOMENT, "{'a': 1}", 2)),
        "a text for a number": ({"leaseTransitions": "many"}, LeaseClaim("them", 30, MOMENT, MOMENT, 0)),
        "too large a number": ({"leaseTransitions": 2**40}, LeaseClaim("them", 30, MOMENT, MOMENT, 0)),
    },
)
def test_fields_that_make_no_sense(sim: Simulation, changes: dict[str, Any], expected: LeaseClaim) -> None:
    """Each for itself, and none of them makes a Lease free."""
    lease = answered(sim, a_lease({**THEIRS, **changes})).read()
    assert lease is not None
    assert lease.claim == expected


@pytest.mark.parametrize(
    ("spec", "holder"), [(None, NOBODY), ({}, NOBODY), ("x", None), ([], None), (5, None)], ids=repr
)
def test_specs_that_are_none(sim: Simulation, spec: Any, holder: str | None) -> None:
    """Without one nobody holds it; with anything but one, somebody does."""
    lease = answered(sim, a_lease(spec)).read()
    assert lease is not None
    assert lease.claim.holder == holder


OF_A_NUMBER = {"kind": "Lease", "metadata": {"resourceVersion": 7}}
OF_LEASES = {"kind": "LeaseList", "metadata": {"resourceVersion": "7"}}


@pytest.mark.parametrize("body", ["<html>", [], OF_LEASES, {"kind": "Lease", "metadata": 5}, OF_A_NUMBER], ids=repr)
def test_answers_that_are_no_lease(sim: Simulation, body: Any) -> None:
    with pytest.raises(Broken, match=f"Lease {NAME}"):
        answered(sim, body).read()


def test_another_holder_than_was_written(sim: Simulation) -> None:
    """An answer that does not fit the write says nothing of it."""
    with pytest.raises(Broken, match=f"Lease {NAME}"):
        answered(sim, a_lease(THEIRS)).create(OURS)


def test_a_lease_that_is_not_there(sim: Simulation) -> None:
    leases = leases_of(sim)
    assert leases.read() is None
    created = leases.create(OURS)
    assert leases.read() == created
    assert (leases.name, created.claim) == (NAME, OURS)
    assert sim.objects("leases")["ccm"]["spec"]["renewTime"] == MOMENT
    with pytest.raises(Conflict):
        leases.create(OURS)


def test_parts_of_others_are_kept(sim: Simulation) -> None:
    spec = {**THEIRS, "preferredHolder": "them", "strategy": "x"}
    metadata = {"name": "ccm", "namespace": "kube-system", "labels": {"a": "b"}, "annotations": {"c": "d"}}
    sim.kubernetes.replace_world({"leases": [{"metadata": metadata, "spec": spec}]})
    leases = leases_of(sim)
    lease = leases.read()
    assert lease is not None
    lease.body["metadata"]["managedFields"] = [{"manager": "x"}]

    leases.update(lease, OURS)

    (sent,) = sim.sent_to_kubernetes("PUT")
    assert "managedFields" not in sent.body["metadata"]
    found = sim.objects("leases")["ccm"]
    assert (found["metadata"]["labels"], found["metadata"]["annotations"]) == ({"a": "b"}, {"c": "d"})
    assert found["spec"] == {**spec, "holderIdentity": "me", "leaseDurationSeconds": 15, "leaseTransitions": 0}


def test_of_two_writes_one_is_a_conflict(sim: Simulation) -> None:
    leases = leases_of(sim)
    read = leases.create(OURS)
    leases.update(read, replace(OURS, transitions=1))
    with pytest.raises(Conflict):
        leases.update(read, replace(OURS, transitions=2))
    assert sim.objects("leases")["ccm"]["spec"]["leaseTransitions"] == 1


def test_names_are_quoted(sim: Simulation) -> None:
    leases_of(sim, "a?b#c").read()
    assert [(entry.path, entry.query) for entry in sim.sent_to_kubernetes()] == [(f"{PATH}/a?b#c", "")]


IN_BERLIN = datetime(2027, 1, 15, 8, tzinfo=timezone(timedelta(hours=1)))


@rows(
    "moment text",
    {
        "six digits": (datetime(2027, 1, 15, 8, tzinfo=UTC), MOMENT),
        "a fraction": (datetime(2027, 1, 15, 8, 0, 0, 5, tzinfo=UTC), "2027-01-15T08:00:00.000005Z"),
        "another zone": (IN_BERLIN, "2027-01-15T07:00:00.000000Z"),
    },
)
def test_times(moment: datetime, text: str) -> None:
    assert micro_time(moment) == text
