"""What takes more than one pass: a certificate that is being issued, lists that lag behind, a loop that goes on; and a
list with an object that no pass can decode."""

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.in_process import one_pass
from tests.support.objects import IN_NETWORK, a_service, addresses, by_key, ingress, port, seen
from tests.support.stage import Stage, killed_at_the_end, wait_for
from tests.support.world import SERVICES


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


def test_the_loop_serves_what_comes_and_lets_go_of_what_goes(balanced: Stage) -> None:
    """A Service that appears while the loop runs is published, follows its ports, and takes its load balancer along
    when it is deleted; SIGTERM ends the loop."""
    with killed_at_the_end(balanced.start("run", "--interval", "100ms")) as process:
        balanced.have_services(a_service())
        wait_for(lambda: bool(ingress(balanced.service())), "its addresses")
        balanced.patch_service({"spec": {"ports": [port(80), port(443)]}})
        wait_for(lambda: "POST add_service" in balanced.asked_of_hetzner(), "the second port")
        balanced.delete_service()
        wait_for(lambda: not balanced.services(), "the Service to go")
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=30)

    assert (process.returncode, balanced.balancers(), "Traceback" in stderr) == (0, [], False)
    assert sorted(balanced.asked_of_hetzner()) == ["DELETE 1", "POST add_service", "POST load_balancers"]


DEEP = 5_000
"""Levels: API servers take ten thousand."""
_HERE = "so deep"


def test_an_object_that_is_nested_without_end_costs_itself_alone(balanced: Stage) -> None:
    """Whoever may write one Service may give it ten thousand levels of managed fields: no list of Services could be
    decoded with it, and each pass ended in a traceback."""
    balanced.have_services(a_service("good"))
    deep = '{"f:metadata":' * DEEP + "{}" + "}" * DEEP
    poisoned = json.dumps(_with_managed_fields(a_service("poisoned"), _HERE)).replace(f'"{_HERE}"', deep)
    status, answer = balanced.cluster.request("POST", SERVICES, poisoned.encode())
    assert status == 201, answer

    ran = balanced.reconcile("--once", "--output=json", "--detailed-exitcode")

    assert ran.code == 0, ran.stderr
    assert ingress(balanced.service("good"))
    assert ingress(balanced.service("poisoned"))


def _with_managed_fields(service: dict[str, Any], fields: str) -> dict[str, Any]:
    entry = {"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
    service["metadata"]["managedFields"] = [{**entry, "time": "2026-01-01T00:00:00Z"}]
    return service
