"""Conditions of Services that are written on their own: merged with others', and only into what was observed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from actuators.http.errors import Conflict
from actuators.services import write_conditions
from actuators.wire.service import SERVICES
from desired.model.service import Service, ServiceCondition
from tests.support.simulators import START, Simulation

FOREIGN: dict[str, Any] = {
    "type": "example.com/Audited",
    "status": "True",
    "observedGeneration": 3,
    "lastTransitionTime": "2027-01-01T00:00:00Z",
    "reason": "Checked",
    "message": "by somebody",
}
SPEC = {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30080}]}
STATUS: dict[str, Any] = {
    "loadBalancer": {"ingress": [{"ip": "203.0.113.200", "ipMode": "VIP"}]},
    "conditions": [FOREIGN],
}
READY = ServiceCondition("LoadBalancerReady", "True", "AddressPublished", "published 203.0.113.200", START)
IN_SYNC = ServiceCondition("LoadBalancerInSync", "False", "Held", "a person has to approve", START)


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    """A cluster with one Service that has an address, and a condition of somebody else's."""
    sim = simulate()
    service = {"metadata": {"name": "web", "namespace": "default"}, "spec": SPEC, "status": STATUS}
    sim.kubernetes.replace_world({"services": [service]})
    return sim


def observed(sim: Simulation) -> Service:
    """The Service as a pass reads it."""
    (service,) = SERVICES.observe(sim.kubernetes_reader())[0]
    return service


def status(sim: Simulation) -> Any:
    """The status of the Service, as it truly is."""
    return sim.objects("services")["web"]["status"]


def shown(condition: ServiceCondition, since: str = "2027-01-15T08:00:00Z") -> dict[str, str]:
    """The condition as the API server has it."""
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": since,
    }


def by_type(conditions: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Type → condition; no type is there twice."""
    found = {condition["type"]: condition for condition in conditions}
    assert len(found) == len(conditions)
    return found


def test_what_is_written(sim: Simulation) -> None:
    """Ours come to those that are there; everything else of the Service is as it was."""
    before = sim.objects("services")["web"]

    write_conditions(sim.kubernetes_writer(), observed(sim), (READY, IN_SYNC))

    after = sim.objects("services")["web"]
    assert by_type(after["status"]["conditions"]) == by_type([FOREIGN, shown(READY), shown(IN_SYNC)])
    assert after["status"]["loadBalancer"] == before["status"]["loadBalancer"]
    assert (after["spec"], after["metadata"]["uid"]) == (before["spec"], before["metadata"]["uid"])


def test_what_was_written_is_replaced(sim: Simulation) -> None:
    """A condition that is there gets what it says now, with its own time."""
    write_conditions(sim.kubernetes_writer(), observed(sim), (READY, IN_SYNC))
    better = replace(IN_SYNC, status="True", reason="InSync", since=START.replace(hour=9))

    write_conditions(sim.kubernetes_writer(), observed(sim), (READY, better))

    wanted = [FOREIGN, shown(READY), shown(better, "2027-01-15T09:00:00Z")]
    assert by_type(status(sim)["conditions"]) == by_type(wanted)


def test_a_service_that_has_moved_on(sim: Simulation) -> None:
    """Somebody wrote since it was observed: what was concluded may be wrong by now."""
    before = observed(sim)
    sim.kubernetes_writer().patch("/api/v1/namespaces/default/services/web", {"metadata": {"labels": {"a": "b"}}})

    with pytest.raises(Conflict):
        write_conditions(sim.kubernetes_writer(), before, (IN_SYNC,))

    assert status(sim)["conditions"] == [FOREIGN]


def test_a_condition_without_a_time(sim: Simulation) -> None:
    """A condition that does not say since when it holds is a bug of ours, and is not sent."""
    service = observed(sim)

    with pytest.raises(ValueError, match="LoadBalancerInSync"):
        write_conditions(sim.kubernetes_writer(), service, (replace(IN_SYNC, since=None),))

    assert status(sim)["conditions"] == [FOREIGN]
