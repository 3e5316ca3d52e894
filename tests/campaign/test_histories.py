"""What took clusters of other controllers down, or left them wrong, does not happen here."""

import pytest

from hcloud_sandbox.exchange import Request, Response
from reconciler.result import Result
from tests.campaign.fields import without
from tests.campaign.running import in_order
from tests.campaign.workloads import LONG_SILENT
from tests.support.harm_stage import a_stage
from tests.support.harm_start import EMPTY, HOME
from tests.support.harm_truth import CLUSTER_LABEL, SERVICE_LABEL, target_servers
from tests.support.lines import Handle
from tests.support.objects import ingress, pods_of, settled_node


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


@pytest.mark.parametrize("provider_id", ["aws:///eu-central-1a/i-1", "digitalocean://1234567"])
def test_a_node_of_another_cloud_stays(provider_id: str) -> None:
    """It has been silent for hours, and no server of the project is its own."""
    world = in_order()
    world.register({**settled_node("foreign", 1), "spec": {"providerID": provider_id}})
    world.set_ready("foreign", ready="Unknown", since=LONG_SILENT)
    world.advance(600)
    world.converge()
    assert "foreign" in world.nodes()


def test_what_is_switched_off_is_not_gone() -> None:
    """Its Node and its target stay."""
    stage = a_stage(nodes=8)
    stage.power(1, on=False)
    stage.advance(150)
    stage.run()
    assert "n1" in stage.nodes()
    assert 1 in target_servers(stage.balancer())


def test_an_empty_load_balancer_of_another_cluster_is_left_alone() -> None:
    """Its name is what a Service asks for."""
    stage = a_stage(services=())
    stage.home.change_labels(EMPTY, {SERVICE_LABEL: "dead-beef", CLUSTER_LABEL: "somebody-else"})
    stage.make_service("web", {"name": "empty"})
    stage.run()


@pytest.mark.parametrize("is_renamed", [False, True])
def test_a_second_service_takes_no_load_balancer_by_its_name(*, is_renamed: bool) -> None:
    """The first Service has it, and goes on to have it, also where somebody has just renamed it."""
    stage = a_stage()
    there = stage.balancer()
    name = "renamed" if is_renamed else there["name"]
    stage.home.to_project("PUT", f"/load_balancers/{there['id']}", {"name": name})
    stage.make_service("mail", {"name": name})
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


def test_no_server_is_gone_whose_kubelet_reports() -> None:
    """Hetzner denies a server that serves, in its list and by its id."""
    world = in_order()
    world.hetzner.set_faults([{"kind": "list_lacks", "path": "/v1/servers", "ids": [3], "count": None}])
    denied = {"error": {"code": "not_found", "message": "server not found"}}
    world.hetzner_line.trouble = lambda _, path: (404, denied) if path == "/v1/servers/3" else None
    targets = [len(each["targets"]) for each in world.balancers()]
    world.converge()
    assert [len(each["targets"]) for each in world.balancers()] == targets
    assert pods_of(3) in world.routes()


def test_what_went_for_an_action_that_fails_comes_back() -> None:
    """A load balancer is to get another address in its network, for which it leaves it with all its targets, and
    Hetzner does not give it that one."""
    world = in_order()
    usual = world.hetzner_line.between
    failed = {"id": 1, "command": "attach_to_network", "status": "error", "error": {"code": "action_failed"}}

    def fails(request: Request, handle: Handle) -> Response:
        is_asked = request.path.endswith("attach_to_network") and b"10.0.0.77" in request.body
        return Response(201, {"action": failed}) if is_asked else usual(request, handle)

    world.hetzner_line.between = fails
    world.annotate("db", private_ipv4="10.0.0.77")
    world.converge()
    world.approve()
    world.converge()
    assert world.reports[-1].result is Result.ERROR
    assert [len(each["targets"]) for each in world.balancers()] == [3, 3]


def test_an_approval_that_an_unread_service_asks_for_lets_nothing_go() -> None:
    """A person approves what is held while one Service arrives without its spec. Later it is deleted, and another
    controller has taken its finalizer away: no person has said that its load balancer may go."""
    world = in_order()
    there = [each["id"] for each in world.balancers()]
    line = world.kubernetes_line
    usual = line.between

    def unread(request: Request, handle: Handle) -> Response:
        answer = usual(request, handle)
        return without(answer, "spec") if request.path == "/api/v1/services" else answer

    line.between = unread
    world.converge()
    world.approve()
    line.between = usual
    world.converge()
    world.patch_service({"metadata": {"finalizers": []}}, "db")
    world.delete_service("db")
    world.converge()
    assert [each["id"] for each in world.balancers()] == there


def test_a_service_stays_until_its_load_balancer_has_gone() -> None:
    """Hetzner refuses the deletion for now; without the Service nobody would try again."""
    world = in_order()
    unavailable = {"error": {"code": "unavailable", "message": "try again"}}
    world.hetzner_line.trouble = lambda method, _: (503, unavailable) if method == "DELETE" else None
    world.delete_service("db")
    world.converge()
    assert "db" in world.services()
