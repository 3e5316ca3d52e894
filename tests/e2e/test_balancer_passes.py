"""What takes more than one pass: a certificate that is being issued, lists that lag behind, a loop that goes on."""

import signal
from collections.abc import Callable

import pytest

from tests.support.balancer_cluster import (
    IN_NETWORK,
    a_service,
    addresses,
    asked_of_hetzner,
    balancers,
    delete_service,
    have_nodes,
    have_services,
    ingress,
    patch_service,
    port,
    seen,
    service_in,
    services,
)
from tests.support.in_process import one_pass
from tests.support.lifecycle import by_key
from tests.support.stage import Stage, killed_at_the_end, wait_for


def test_a_port_waits_for_its_certificate_and_nothing_else_does(a_stage: Callable[..., Stage]) -> None:
    """The load balancer is created and published while the certificate is being issued; the https port follows, and
    the certificate is asked for once."""
    stage = a_stage(action_s=0.0, action_s_by_command={"create_certificate": 3600.0})
    stage.environment |= IN_NETWORK
    have_nodes(stage, 1)
    domains = {"certificate_type": "managed", "http_managed_certificate_domains": "www.example.com"}
    have_services(stage, a_service("web", 443, protocol="https", **domains))

    first = one_pass(stage)
    waiting = by_key(first)["load_balancer/default/web/listener/443"]
    assert (first["result"], waiting["verdict"], waiting["rule"]) == ("changes", "waiting", "certificate-issuance")
    assert (seen(balancers(stage)[0])["ports"], len(ingress(service_in(stage)))) == ({}, 3)
    assert sorted(asked_of_hetzner(stage)) == ["POST certificates", "POST load_balancers"]

    stage.clock.advance(3600.0)
    stage.forget()
    assert one_pass(stage)["result"] == "no_changes"
    assert one_pass(stage)["changes"] == []
    assert asked_of_hetzner(stage) == ["POST add_service"]
    assert list(seen(balancers(stage)[0])["ports"]) == [443]


@pytest.mark.parametrize("options", [{}, {"name": "shop"}], ids=["unnamed", "named"])
def test_one_that_lists_do_not_show_yet_is_not_created_twice(
    a_stage: Callable[..., Stage], options: dict[str, str]
) -> None:
    """Another run finds that the name is taken, and waits; as soon as the list has it, it is published."""
    stage = a_stage(action_s=0.0, visible_late_s=3600.0)
    stage.environment |= IN_NETWORK
    have_nodes(stage, 1)
    have_services(stage, a_service("web", **options))

    results = [one_pass(stage)["result"] for _ in range(2)]
    stage.clock.advance(3600.0)
    results.append(one_pass(stage)["result"])

    assert results == ["partial", "partial", "no_changes"]
    (balancer,) = balancers(stage)
    assert [entry["ip"] for entry in ingress(service_in(stage))] == addresses(balancer)
    assert one_pass(stage)["changes"] == []


def test_one_that_lists_do_not_show_yet_is_not_forgotten_when_its_service_goes(a_stage: Callable[..., Stage]) -> None:
    """The Service is deleted while its load balancer is created, and no list shows one: it is held until one does, for
    without it nobody would look for load balancers any more."""
    stage = a_stage(action_s=0.0, visible_late_s=3600.0)
    stage.environment |= IN_NETWORK
    have_nodes(stage, 1)
    have_services(stage, a_service())
    stage.hetzner_proxy.set_faults([{"kind": "hang", "method": "POST"}])

    with killed_at_the_end(stage.start("--once", "--request-timeout", "500ms")) as process:
        wait_for(lambda: "POST load_balancers" in asked_of_hetzner(stage), "the first try of the creation")
        delete_service(stage)
        process.communicate(timeout=30)
    assert (len(balancers(stage)), len(services(stage))) == (1, 1)

    stage.clock.advance(3600.0)
    one_pass(stage)
    assert (balancers(stage), services(stage), process.returncode) == ([], {}, 0)


def test_the_loop_serves_what_comes_and_lets_go_of_what_goes(balanced: Stage) -> None:
    """A Service that appears while the loop runs is published, follows its ports, and takes its load balancer along
    when it is deleted; SIGTERM ends the loop."""
    with killed_at_the_end(balanced.start("--interval", "100ms")) as process:
        have_services(balanced, a_service())
        wait_for(lambda: bool(ingress(service_in(balanced))), "its addresses")
        patch_service(balanced, {"spec": {"ports": [port(80), port(443)]}})
        wait_for(lambda: "POST add_service" in asked_of_hetzner(balanced), "the second port")
        delete_service(balanced)
        wait_for(lambda: not services(balanced), "the Service to go")
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=30)

    assert (process.returncode, balancers(balanced), "Traceback" in stderr) == (0, [], False)
    assert sorted(asked_of_hetzner(balanced)) == ["DELETE 1", "POST add_service", "POST load_balancers"]
