"""The shutdown taint."""

from collections.abc import Mapping

import pytest

from desired.model.settings import Settings
from desired.model.snapshot import Node, Server, ServerStatus, Taint, has_shutdown_taint, with_shutdown_taint
from desired.nodes.node import shut_down
from desired.section import UNMANAGED, Unmanaged
from tests.builders import UNINITIALIZED, a_lost_node, a_robot_server, a_server, a_settled_node

KEY = "node.cloudprovider.kubernetes.io/shutdown"
SHUTDOWN = Taint(KEY, "NoSchedule")
WITH_A_VALUE = Taint(KEY, "NoSchedule", "true", "2026-07-01T00:00:00Z")
OTHER_EFFECT = Taint(KEY, "NoExecute", "", "2026-07-01T00:00:00Z")
TEAM = Taint("team", "NoSchedule", "", "2026-06-30T23:59:59Z")

STATES: Mapping[ServerStatus, bool | Unmanaged] = {
    ServerStatus.RUNNING: False,
    ServerStatus.INITIALIZING: UNMANAGED,
    ServerStatus.STARTING: UNMANAGED,
    ServerStatus.STOPPING: UNMANAGED,
    ServerStatus.OFF: True,
    ServerStatus.DELETING: UNMANAGED,
    ServerStatus.REBUILDING: UNMANAGED,
    ServerStatus.MIGRATING: UNMANAGED,
    ServerStatus.UNKNOWN: UNMANAGED,
    ServerStatus.OTHER: UNMANAGED,
}


@pytest.mark.parametrize("status", ServerStatus)
def test_shut_down(status: ServerStatus) -> None:
    """Off wants the taint, running wants it away, and any state in between leaves it as it is."""
    for node in (a_settled_node(), a_lost_node()):
        assert shut_down(a_server(status=status), node, Settings()).value is STATES[status]


@pytest.mark.parametrize("status", ServerStatus)
def test_a_robot_server_is_shut_down(status: ServerStatus) -> None:
    """Robot is asked only while the kubelet is silent: whoever reports Ready is on."""
    assert shut_down(a_robot_server(status=status), a_settled_node(), Settings()).value is False
    assert shut_down(a_robot_server(status=status), a_lost_node(), Settings()).value is STATES[status]


@pytest.mark.parametrize(
    ("server", "node", "said"),
    [
        (a_server(status=ServerStatus.OFF), a_settled_node(), "server 1 is off"),
        (a_server(status=ServerStatus.STARTING), a_settled_node(), "stays as it is: server 1 is starting"),
        (a_robot_server(status=ServerStatus.OFF), a_lost_node(), "Robot server 321 is off"),
        (a_robot_server(), a_settled_node(), "Robot server 321 is on, as its Node is Ready"),
        (a_robot_server(), a_lost_node(), "stays as it is: Robot server 321 is unknown"),
    ],
)
def test_what_is_known_of_it(server: Server, node: Node, said: str) -> None:
    """In the words of plans and explanations."""
    assert shut_down(server, node, Settings()).text == said


@pytest.mark.parametrize(
    ("taints", "expected"),
    [
        pytest.param((), False, id="no-taints"),
        pytest.param((SHUTDOWN,), True, id="as-HCCM-writes-it"),
        pytest.param((WITH_A_VALUE,), True, id="with-a-value"),
        pytest.param((OTHER_EFFECT,), False, id="another-effect-is-somebody-elses"),
        pytest.param((OTHER_EFFECT, SHUTDOWN), True, id="both-effects"),
        pytest.param((TEAM, UNINITIALIZED), False, id="others-only"),
        pytest.param((Taint("x", "NoSchedule", KEY),), False, id="the-key-as-a-value"),
    ],
)
def test_has_shutdown_taint(taints: tuple[Taint, ...], expected: bool) -> None:
    """Key and effect together make the taint."""
    assert has_shutdown_taint(taints) is expected


@pytest.mark.parametrize(
    ("taints", "wanted", "expected"),
    [
        pytest.param((), True, (SHUTDOWN,), id="added-to-none"),
        pytest.param((TEAM, OTHER_EFFECT), True, (TEAM, OTHER_EFFECT, SHUTDOWN), id="added-behind-the-others"),
        pytest.param((WITH_A_VALUE, TEAM), True, (TEAM, SHUTDOWN), id="one-with-a-value-is-replaced"),
        pytest.param((SHUTDOWN,), False, (), id="the-only-one-removed"),
        pytest.param((WITH_A_VALUE,), False, (), id="removed-whatever-its-value"),
        pytest.param(
            (TEAM, SHUTDOWN, OTHER_EFFECT, UNINITIALIZED),
            False,
            (TEAM, OTHER_EFFECT, UNINITIALIZED),
            id="removed-from-between-others",
        ),
        pytest.param((TEAM,), False, (TEAM,), id="nothing-to-remove"),
    ],
)
def test_with_shutdown_taint(taints: tuple[Taint, ...], wanted: bool, expected: tuple[Taint, ...]) -> None:
    """The other taints keep their order, values and times."""
    assert with_shutdown_taint(taints, wanted=wanted) == expected
