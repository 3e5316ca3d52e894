"""What a former default has set goes when the default does; what anybody else has set stays."""

from dataclasses import replace
from typing import Any

import pytest

from desired.annotations.choices import Algorithm
from desired.annotations.options import Options
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.model.load_balancer import Listener, LoadBalancer
from desired.planner import compute_desired
from desired.section import UNMANAGED
from tests.balancers import LOCATED, a_balancer, a_claim, a_listener, a_served_service, a_world, annotated

CLOSED, LEAST = {"public_interface": False}, {"algorithm": Algorithm.LEAST_CONNECTIONS}


def checked(**overrides: Any) -> Listener:
    """A listener with other values of its health check."""
    listener = a_listener()
    return replace(listener, health_check=replace(listener.health_check, **overrides))


def wanted(
    former: Options | None, spec: dict[str, Any], listener: Listener, annotations: dict[str, str]
) -> LoadBalancer:
    """What a load balancer should be that has this."""
    service = a_served_service(claim=a_claim(annotations=annotations))
    world = a_world([service], [a_balancer(spec=spec, listeners=(listener,))])
    lb = compute_desired(world, replace(LOCATED, former_defaults=former)).services[service.id]
    assert isinstance(lb, DesiredLoadBalancer)
    assert lb.wanted is not None
    return lb.wanted


@pytest.mark.parametrize(
    ("former", "spec", "annotations", "expected"),
    [
        pytest.param(Options(disable_public_network=True), CLOSED, {}, (UNMANAGED, True), id="opened"),
        pytest.param(
            Options(disable_public_network=True),
            CLOSED,
            annotated(disable_public_network="true", use_private_ip="false"),
            (UNMANAGED, UNMANAGED),
            id="an-annotation-asks-for-it",
        ),
        pytest.param(None, CLOSED, {}, (UNMANAGED, UNMANAGED), id="no-default-before"),
        pytest.param(Options(algorithm_type=Algorithm.ROUND_ROBIN), LEAST, {}, (UNMANAGED, UNMANAGED), id="by-hand"),
        pytest.param(
            Options(algorithm_type=Algorithm.LEAST_CONNECTIONS), LEAST, {}, (Algorithm.ROUND_ROBIN, UNMANAGED), id="rr"
        ),
        pytest.param(Options(type="lb11"), {}, {}, (UNMANAGED, UNMANAGED), id="the-type-stays"),
    ],
)
def test_what_the_whole_load_balancer_has(
    former: Options | None, spec: dict[str, Any], annotations: dict[str, str], expected: tuple[object, object]
) -> None:
    """Algorithm and public interface."""
    found = wanted(former, spec, a_listener(), annotations)
    assert (found.algorithm, found.public_interface) == expected
    assert found.type == "lb11"


@pytest.mark.parametrize(
    ("former", "listener", "expected"),
    [
        pytest.param(Options(uses_proxyprotocol=True), a_listener(proxyprotocol=True), a_listener(), id="proxy"),
        pytest.param(Options(), a_listener(proxyprotocol=True), a_listener(proxyprotocol=True), id="proxy-by-hand"),
        pytest.param(Options(health_check_interval=30), checked(interval_s=30), a_listener(), id="interval"),
        pytest.param(Options(health_check_interval=30), checked(interval_s=20), checked(interval_s=20), id="by-hand"),
        pytest.param(
            Options(health_check_timeout=5, health_check_retries=2),
            checked(timeout_s=5, retries=4),
            checked(retries=4),
            id="each-by-itself",
        ),
    ],
)
def test_what_a_listener_has(former: Options, listener: Listener, expected: Listener) -> None:
    """PROXY protocol and health checks, port by port."""
    assert wanted(former, {}, listener, {}).listeners == {80: expected}
