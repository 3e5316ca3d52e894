"""A loop that serves load balancers, and a list with an object that no pass can decode."""

import json
import signal
from typing import Any

from tests.support.objects import a_service, ingress, port
from tests.support.stage import Stage, killed_at_the_end, wait_for
from tests.support.world import SERVICES


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
