"""What took clusters of other controllers down, or left them wrong, does not happen here."""

import pytest

from tests.campaign.running import in_order
from tests.campaign.workloads import LONG_SILENT
from tests.support.harm_stage import a_stage
from tests.support.harm_start import EMPTY, HOME
from tests.support.harm_truth import CLUSTER_LABEL, SERVICE_LABEL
from tests.support.objects import ingress, settled_node

pytestmark = pytest.mark.passes


def test_labels_follow_a_server_that_is_resized() -> None:
    """HCCM writes them once."""
    world = in_order()
    world.change_servers(3, server_type="cpx42")
    world.converge()
    assert world.nodes()["web-3"]["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "cpx42"


def test_a_status_that_was_emptied_comes_back() -> None:
    """Kubernetes' service controller never restores one, and external-dns deletes the records."""
    world = in_order()
    before = ingress(world.service())
    world.patch_service({"status": {"loadBalancer": None}}, "web/status")
    world.converge()
    assert ingress(world.service()) == before


def test_what_is_to_be_retained_outlives_its_service() -> None:
    """With its address."""
    stage = a_stage()
    there = stage.balancer()["id"]
    stage.retain("web", "retain")
    stage.delete_service()
    stage.run()
    assert there in stage.truth.seen().balancers[HOME]


def test_a_node_of_another_cloud_stays() -> None:
    """It has been silent for hours, and no server of the project is its own."""
    world = in_order()
    foreign = settled_node("aws-1", 1)
    world.register({**foreign, "spec": {"providerID": "aws:///eu-central-1a/i-1"}})
    world.set_ready("aws-1", ready="Unknown", since=LONG_SILENT)
    world.converge()
    assert "aws-1" in world.nodes()


def test_an_empty_load_balancer_of_another_cluster_is_left_alone() -> None:
    """Its name is what a Service asks for."""
    stage = a_stage(services=())
    stage.home.change_labels(EMPTY, {SERVICE_LABEL: "dead-beef", CLUSTER_LABEL: "somebody-else"})
    stage.make_service("web", {"name": "empty"})
    stage.run()


def test_a_second_service_takes_no_load_balancer_by_its_name() -> None:
    """The first Service has it, and goes on to have it."""
    stage = a_stage()
    there = stage.balancer()
    stage.make_service("mail", {"name": there["name"]})
    stage.run()
    assert stage.balancer()["id"] == there["id"]


def test_who_is_throttled_proves_nothing() -> None:
    """One list lacks the server of a silent Node, and the question by its id is refused with 429."""
    world = in_order()
    world.set_ready("web-3", ready="Unknown", since=LONG_SILENT)
    world.hetzner.set_faults([{"kind": "list_lacks", "path": "/v1/servers", "ids": [3], "count": None}])
    throttled = {"error": {"code": "rate_limit_exceeded", "message": "try again later"}}
    world.hetzner_line.trouble = lambda _, path: (429, throttled) if path == "/v1/servers/3" else None
    targets = [len(each["targets"]) for each in world.balancers()]
    world.converge()
    assert [len(each["targets"]) for each in world.balancers()] == targets


def test_a_service_stays_until_its_load_balancer_has_gone() -> None:
    """Hetzner refuses the deletion for now; without the Service nobody would try again."""
    world = in_order()
    unavailable = {"error": {"code": "unavailable", "message": "try again"}}
    world.hetzner_line.trouble = lambda method, _: (503, unavailable) if method == "DELETE" else None
    world.delete_service("db")
    world.converge()
    assert "db" in world.services()
