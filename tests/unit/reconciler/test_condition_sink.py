"""Conditions on their way: side by side, each for itself, lost without harm."""

import threading

import pytest

from actuators.http.errors import ApiError, Conflict, Denied, Transient
from desired.model.service import Service, ServiceCondition
from reconciler.telemetry.conditions import ConditionSink
from tests.balancers import a_service

HELD = (ServiceCondition("LoadBalancerInSync", "False", "Held", "a person has to approve"),)


class Api:
    """Notes what it is given; refuses the Services that it is told to refuse."""

    def __init__(self, **refuses: Exception) -> None:
        self._refuses = refuses
        self.written: dict[str, tuple[ServiceCondition, ...]] = {}

    def write(self, service: Service, conditions: tuple[ServiceCondition, ...]) -> None:
        """One write."""
        if service.name in self._refuses:
            raise self._refuses[service.name]
        self.written[service.name] = conditions


def test_nothing_to_write() -> None:
    """Where nothing is due nothing is done, and no thread is started."""
    before = threading.active_count()

    ConditionSink(Api().write).write([])

    assert threading.active_count() == before


def test_all_are_written_when_it_returns() -> None:
    api = Api()
    names = [f"web-{number}" for number in range(50)]

    ConditionSink(api.write).write([(a_service(name), HELD) for name in names])

    assert api.written == dict.fromkeys(names, HELD)


@pytest.mark.parametrize("error", [Conflict("moved on"), Denied("forbidden"), Transient("503")])
def test_one_that_is_lost(error: ApiError) -> None:
    """A Service that cannot be written to keeps none of the others from being."""
    api = Api(b=error)

    ConditionSink(api.write).write([(a_service(name), HELD) for name in ("a", "b", "c")])

    assert sorted(api.written) == ["a", "c"]


def test_a_bug_is_not_hidden() -> None:
    with pytest.raises(KeyError):
        ConditionSink(Api(a=KeyError("a")).write).write([(a_service("a"), HELD)])
