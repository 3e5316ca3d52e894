"""More than one pass: a certificate that is being issued, and lists that lag behind."""

from collections.abc import Callable

import pytest

from tests.support.in_process import one_pass
from tests.support.objects import IN_NETWORK, a_service, addresses, by_key, ingress, seen
from tests.support.stage import Stage, killed_at_the_end, wait_for


def test_a_port_waits_for_its_certificate_and_nothing_else_does(a_stage: Callable[..., Stage]) -> None:
    """The load balancer is created and published while the certificate is being issued; the https port follows, and
    the certificate is asked for once."""
    stage = a_stage(action_s=0.0, action_s_by_command={"create_certificate": 3600.0})
    stage.environment |= IN_NETWORK
    stage.have_nodes(1)
    domains = {"certificate_type": "managed", "http_managed_certificate_domains": "www.example.com"}
    stage.have_services(a_service("web", 443, protocol="https", **domains))

    first = one_pass(stage)
    waiting = by_key(first)["load_balancer/default/web/listener/443"]
    assert (first["result"], waiting["verdict"], waiting["rule"]) == ("changes", "waiting", "certificate-issuance")
    assert (seen(stage.balancers()[0])["ports"], len(ingress(stage.service()))) == ({}, 3)
    assert sorted(stage.asked_of_hetzner()) == ["POST certificates", "POST load_balancers"]

    stage.clock.advance(3600.0)
    stage.forget()
    assert one_pass(stage)["result"] == "no_changes"
    assert one_pass(stage)["changes"] == []
    assert stage.asked_of_hetzner() == ["POST add_service"]
    assert list(seen(stage.balancers()[0])["ports"]) == [443]


@pytest.mark.parametrize("options", [{}, {"name": "shop"}], ids=["unnamed", "named"])
def test_one_that_lists_do_not_show_yet_is_not_created_twice(
    a_stage: Callable[..., Stage], options: dict[str, str]
) -> None:
    """Another run finds that the name is taken, and waits; as soon as the list has it, it is published."""
    stage = a_stage(action_s=0.0, visible_late_s=3600.0)
    stage.environment |= IN_NETWORK
    stage.have_nodes(1)
    stage.have_services(a_service("web", **options))

    results = [one_pass(stage)["result"] for _ in range(2)]
    stage.clock.advance(3600.0)
    results.append(one_pass(stage)["result"])

    assert results == ["partial", "partial", "no_changes"]
    (balancer,) = stage.balancers()
    assert [entry["ip"] for entry in ingress(stage.service())] == addresses(balancer)
    assert one_pass(stage)["changes"] == []


def test_one_that_lists_do_not_show_yet_is_not_forgotten_when_its_service_goes(a_stage: Callable[..., Stage]) -> None:
    """The Service is deleted while its load balancer is created, and no list shows one: it is held until one does, for
    without it nobody would look for load balancers any more."""
    stage = a_stage(action_s=0.0, visible_late_s=3600.0)
    stage.environment |= IN_NETWORK
    stage.have_nodes(1)
    stage.have_services(a_service())
    stage.hetzner_proxy.set_faults([{"kind": "hang", "method": "POST"}])

    with killed_at_the_end(stage.start("--once", "--request-timeout", "500ms")) as process:
        wait_for(lambda: "POST load_balancers" in stage.asked_of_hetzner(), "the first try of the creation")
        stage.delete_service()
        process.communicate(timeout=30)
    assert (len(stage.balancers()), len(stage.services())) == (1, 1)

    stage.clock.advance(3600.0)
    one_pass(stage)
    assert (stage.balancers(), stage.services(), process.returncode) == ([], {}, 0)
