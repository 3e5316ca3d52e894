"""A run that dies at any single write for a load balancer is finished by the next one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from desired.names import FINALIZER_BALANCER
from tests.support.crashing import Operation, crashes, dies_at, wrote_as_expected
from tests.support.in_process import one_pass
from tests.support.objects import IN_NETWORK, a_service, addresses, finalizers, ingress, port, said_of, seen
from tests.support.stage import Stage, killed_at_the_end, wait_for
from tests.support.world import SERVICES

STATUS = f"PATCH {SERVICES}/web/status"


def _hetzner(call: str) -> str:
    """The pattern of an action of the load balancer."""
    return f"POST /v1/load_balancers/[0-9]+/actions/{call}"


def _another_port(stage: Stage) -> None:
    stage.patch_service({"spec": {"ports": [port(80), port(8080)]}})


@dataclass(frozen=True, slots=True)
class ServiceOperation(Operation):
    """What happens to a Service."""

    begins_with: dict[str, Any] | None
    """The Service that has its load balancer by then; None when there is none."""


_SERVED = a_service("web", 80, 443)
_EXCHANGED = (_hetzner("remove_target"), _hetzner("add_target"))
OPERATIONS = {
    "create": ServiceOperation(
        lambda stage: stage.have_services(_SERVED), (STATUS, "POST /v1/load_balancers", STATUS), begins_with=None
    ),
    "create at a private address": ServiceOperation(
        lambda stage: stage.have_services(a_service(private_ipv4="10.0.0.99", use_private_ip="true")),
        (
            STATUS,
            "POST /v1/load_balancers",
            _hetzner("attach_to_network"),
            *[_hetzner("add_target")] * 3,
            STATUS,
        ),
        begins_with=None,
    ),
    "change type": ServiceOperation(
        lambda stage: stage.annotate(type="lb21"), (_hetzner("change_type"),), begins_with=_SERVED
    ),
    "switch to private IP": ServiceOperation(
        lambda stage: stage.annotate(use_private_ip="true"),
        _EXCHANGED * 3,
        begins_with=_SERVED,
    ),
    "add and remove a port": ServiceOperation(
        _another_port, (_hetzner("add_service"), _hetzner("delete_service")), begins_with=_SERVED
    ),
    "delete": ServiceOperation(Stage.delete_service, ("DELETE /v1/load_balancers/[0-9]+", STATUS), begins_with=_SERVED),
}
REFUSED = {
    "create without services": ServiceOperation(
        lambda stage: stage.have_services(_SERVED),
        (STATUS, *["POST /v1/load_balancers"] * 2, *[_hetzner("add_service")] * 2, STATUS),
        begins_with=None,
    ),
}
"""In a project that refuses services in a creation."""


def _begin(stage: Stage, operation: ServiceOperation) -> None:
    """The world before the operation, and then what happens."""
    stage.remove_services()
    stage.have_balancers()
    if operation.begins_with is not None:
        stage.have_services(operation.begins_with)
        one_pass(stage)
    operation.happens(stage)
    stage.forget()


def _undisturbed(stage: Stage, operation: ServiceOperation) -> Any:
    """How the operation ends when nothing goes wrong. Its writes are those that it is said to have."""
    _begin(stage, operation)
    one_pass(stage)
    assert wrote_as_expected(stage, operation)
    return _end_state(stage)


def _end_state(stage: Stage) -> Any:
    """Everything on both sides that does not differ from run to run: not what a UID is in, nor node ports and public
    addresses, of which it only counts that they agree."""
    found, served = stage.balancers(), stage.services().values()
    listening = [{port["port"]: port["nodePort"] for port in service["spec"]["ports"]} for service in served]
    published = [[entry["ip"] for entry in ingress(service)] for service in served]
    assert published == [addresses(balancer) for balancer in found]
    assert listening == [seen(balancer)["ports"] for balancer in found]
    shown = [seen(balancer) | dict.fromkeys(("name", "labels", "ports", "reverse")) for balancer in found]
    return shown, [list(ports) for ports in listening], [(finalizers(service), said_of(service)) for service in served]


@pytest.mark.parametrize(("name", "number", "fault"), [*crashes(OPERATIONS)])
def test_kill_9_at_a_write_then_once_ends_in_the_same_state(
    balanced: Stage, name: str, number: int, fault: str
) -> None:
    """Killed at its n-th write, carried out or not, a run leaves what the next one brings to the end that an
    undisturbed run has: no second load balancer, none that nobody wants, nothing left to do."""
    _ends_as_undisturbed(balanced, OPERATIONS[name], number, fault)


@pytest.mark.parametrize(("name", "number", "fault"), [*crashes(REFUSED, ("create without services", 2, "half_open"))])
def test_kill_9_where_a_creation_takes_no_services(
    a_stage: Callable[..., Stage], name: str, number: int, fault: str
) -> None:
    """Between the refusal, the lesser creation and each port that is added after it."""
    stage = a_stage(action_s=0.0, services_at_creation="refused")
    stage.environment |= IN_NETWORK
    stage.have_nodes(3)
    _ends_as_undisturbed(stage, REFUSED[name], number, fault)


def _ends_as_undisturbed(stage: Stage, operation: ServiceOperation, number: int, fault: str) -> None:
    """Assert that a run which dies at this write leaves nothing that the next one does not bring to the same end."""
    undisturbed = _undisturbed(stage, operation)
    _begin(stage, operation)
    dies_at(stage, operation, number, fault)
    again = one_pass(stage)

    assert (again["result"], again["notes"]) == ("no_changes", [])
    assert _end_state(stage) == undisturbed
    assert one_pass(stage)["changes"] == []


@pytest.mark.parametrize(("happens", "left"), [(_another_port, [{80, 8080}]), (Stage.delete_service, [])])
def test_the_next_run_begins_while_what_the_killed_one_began_still_goes_on(
    a_stage: Callable[..., Stage], happens: Callable[[Stage], None], left: list[set[int]]
) -> None:
    """A load balancer that is being created is locked: another run leaves it at that, and a later one goes on."""
    stage = a_stage(action_s=0.0, action_s_by_command={"create_load_balancer": 3600.0})
    stage.environment |= IN_NETWORK
    stage.have_nodes(3)
    stage.have_services(_SERVED)
    with killed_at_the_end(stage.start("--once")):
        wait_for(lambda: any(entry.status == 201 for entry in stage.written_to_hetzner()), "the creation")

    happens(stage)
    early = one_pass(stage)
    stage.clock.advance(3600.0)
    later = one_pass(stage)

    assert (early["result"], early["summary"]["failed"], later["result"]) == ("partial", 0, "no_changes")
    assert [seen(balancer)["ports"].keys() for balancer in stage.balancers()] == left
    assert [finalizers(service) for service in stage.services().values()] == [{FINALIZER_BALANCER}] * len(left)
    assert one_pass(stage)["changes"] == []
