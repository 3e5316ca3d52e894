"""Asking for a managed certificate: once, without waiting for its issuance."""

import json
from typing import Any

import pytest

from actuators.http.errors import Conflict
from desired.model.load_balancer import ManagedCertificate
from desired.names import LABEL_CLUSTER_UID, LABEL_SERVICE_UID, LABEL_STAGING_CA
from tests.balancers import SERVICE_UID
from tests.builders import CLUSTER_UID
from tests.support.balancer_changes import a_difference
from tests.support.balancer_stage import Stage, a_stage
from tests.support.rows import rows
from tests.support.simulators import Simulate

LABELS = {LABEL_SERVICE_UID: SERVICE_UID, LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_STAGING_CA: "true"}
NAME = f"ccm-managed-certificate-{SERVICE_UID}"
WISH = ManagedCertificate(NAME, ("a.example.com", "b.example.com"), LABELS)
CHANGE = a_difference("certificate/default/web", "certificate.create", None, WISH, "a test wants it")


@pytest.fixture
def stage(simulate: Simulate) -> Stage:
    return a_stage(simulate)


def carry_out(stage: Stage) -> None:
    stage.carry_out(CHANGE)


def certificates(stage: Stage) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(stage.sim.hetzner_reader().get("/certificates"))["certificates"]
    return listed


def add_certificate(stage: Stage, **fields: Any) -> None:
    world = stage.sim.hetzner.world()["hetzner"]
    stage.sim.hetzner.replace_world({**world, "certificates": [{"id": 1, "type": "managed", **fields}]})


def test_a_certificate_is_asked_for(stage: Stage) -> None:
    carry_out(stage)
    body = {"name": NAME, "type": "managed", "domain_names": ["a.example.com", "b.example.com"], "labels": LABELS}
    assert stage.sent() == [("POST", "/certificates", body)]
    assert stage.polls() == 0
    (found,) = certificates(stage)
    assert found["domain_names"] == ["a.example.com", "b.example.com"]
    assert found["status"]["issuance"] == "pending"


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_name_that_is_taken(stage: Stage, *, is_lost: bool) -> None:
    """Whose it is, is for the next plan to find out; it is not taken for ours after a request that was lost."""
    add_certificate(stage, name=NAME, labels={LABEL_SERVICE_UID: "another"})
    if is_lost:
        stage.sim.spoil_hetzner("reset", method="POST")
    with pytest.raises(Conflict, match="name is already used"):
        carry_out(stage)
    assert len(certificates(stage)) == 1


@rows(
    "other",
    {
        "of another name": {"name": "other", "labels": LABELS},
        "of another Service": {"name": "other", "labels": {LABEL_SERVICE_UID: "another"}},
    },
)
def test_a_request_that_was_not_carried_out(stage: Stage, other: dict[str, Any]) -> None:
    add_certificate(stage, **other)
    stage.sim.spoil_hetzner("reset", method="POST")
    carry_out(stage)
    assert [method for method, _, _ in stage.sent()] == ["POST", "GET", "POST"]
    assert {found["name"] for found in certificates(stage)} == {"other", NAME}
