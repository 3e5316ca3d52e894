"""What a report excuses in the law of harm, and what not."""

import pytest

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from kubernetes_double import KubernetesSimulator
from tests.support.direct import DirectSimulation
from tests.support.harm_excuses import excuses
from tests.support.harm_settling import Undone, What
from tests.support.objects import LOCATED, a_service
from tests.support.passes import Run
from tests.support.simulators import START


@pytest.mark.parametrize(
    ("option", "value", "excused_by"),
    [("node_selector", "a in", ["malformed"]), ("health_check_interval", "soon", []), ("algorithm_type", "best", [])],
)
def test_a_target_is_excused_by_what_decides_on_targets(option: str, value: str, excused_by: list[str]) -> None:
    """Another annotation of its Service that cannot be read is no reason: targets are updated all the same."""
    clock = SimulatedClock(source=START.timestamp)
    hetzner = HetznerSimulator(clock, HetznerOptions(action_s=0.0))
    world = DirectSimulation(hetzner, KubernetesSimulator(clock), clock)
    world.environment |= LOCATED
    world.have_nodes(2)
    world.have_services(a_service())
    Run(world, world.settings).converge()
    world.annotate("web", **{option: value})

    report = Run(world, world.settings).converge()

    target = Undone("a", "load_balancer/default/web/target/server:1", What.TARGET, "is there or missing")
    assert [each.by for each in excuses(target, report)] == excused_by
