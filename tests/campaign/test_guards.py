"""What each guard keeps from happening, where no other one would: these sequences notice that it is missing."""

import pytest

from desired.names import LABEL_CLUSTER_UID
from hcloud_sandbox.exchange import Request, Response
from reconciler.passes.history import History
from tests.campaign.running import in_order
from tests.campaign.workloads import LONG_SILENT
from tests.support.harm_stage import Stage, a_stage
from tests.support.harm_start import HOME, NETWORK, private_address
from tests.support.harm_truth import target_servers
from tests.support.lines import Handle, Refusal
from tests.support.objects import CONTROL_PLANE, a_service, pods_of


def test_nothing_is_made_for_a_cluster_that_is_not_known() -> None:
    """``incomplete-snapshot``: its UID may not be read, and without it a load balancer is nobody's."""
    world = in_order()
    forbidden = {"kind": "Status", "reason": "Forbidden", "message": "may not get namespaces"}
    world.kubernetes_line.trouble = lambda _, path: (
        (403, forbidden) if path == "/api/v1/namespaces/kube-system" else None
    )
    world.have_services(a_service("api"))
    world.converge()
    assert all(LABEL_CLUSTER_UID in each["labels"] for each in world.balancers())


def test_no_server_is_gone_before_it_was_asked_for() -> None:
    """``absence-proof``: ten drained servers are gone, which are asked for first; two more are in no list."""
    stage = a_stage(nodes=24, network=None)
    for number in range(1, 11):
        stage.cordon(number)
        stage.kill(number)
    stage.silence("a", 11, 12, minutes=5)
    hidden = {"kind": "list_lacks", "path": "/v1/servers", "ids": [11, 12], "count": None}
    stage.truth.projects[HOME].set_faults([hidden])
    stage.make_service("db")
    stage.run()
    assert target_servers(stage.balancer()) >= {11, 12}


def test_a_node_that_was_silent_for_a_moment_stays() -> None:
    """``absence-proof``: its server is gone, and it may be on its way to another one."""
    stage = a_stage()
    stage.kill(1)
    stage.advance(5)
    stage.run()
    assert "n1" in stage.nodes()


def test_no_route_goes_while_its_server_cannot_be_asked_for() -> None:
    """``absence-proof``: the server has left the network, the list lacks it, and the question by its id fails."""
    world = in_order()
    world.leave_network(3, world.network()["id"])
    world.set_ready("web-3", ready="Unknown", since=LONG_SILENT)
    world.hetzner.set_faults([{"kind": "list_lacks", "path": "/v1/servers", "ids": [3], "count": None}])
    unavailable = {"error": {"code": "unavailable", "message": "try again"}}
    world.hetzner_line.trouble = lambda _, path: (503, unavailable) if path == "/v1/servers/3" else None
    world.converge()
    assert pods_of(3) in world.routes()


def test_no_clock_makes_a_node_old_enough() -> None:
    """``clock-skew``: a server is gone since five seconds, and one API server says that it is an hour later."""
    stage = a_stage()
    stage.kill(1)
    stage.advance(5)
    stage.run("a", "clock")
    assert "n1" in stage.nodes()


def test_no_more_nodes_go_than_a_quarter() -> None:
    """``node-blast-radius``: five of eight servers are gone at once, and nobody has announced that."""
    stage = a_stage(nodes=8)
    for number in range(4, 9):
        stage.kill(number)
    stage.advance(150)
    stage.run()
    assert len(stage.nodes()) == 8


def test_a_node_that_cannot_be_read_may_be_lost_as_well() -> None:
    """``node-blast-radius``: of three servers two are gone, and one of their Nodes arrives without its UID."""
    world = in_order()
    for number in (2, 3):
        world.delete_server(number)
        world.set_ready(f"web-{number}", ready="Unknown", since=f"{world.clock.now():%Y-%m-%dT%H:%M:%SZ}")
    world.advance(300)

    def spoil(request: Request, handle: Handle) -> Response:
        answer = handle(request)
        if request.path == "/api/v1/nodes":
            (spoiled,) = (each for each in answer.body["items"] if each["metadata"]["name"] == "web-3")
            del spoiled["metadata"]["uid"]
        return answer

    world.kubernetes_line.between = spoil
    world.converge()
    assert world.nodes().keys() == {"web-1", "web-2", "web-3"}


def test_the_last_node_of_the_control_plane_stays() -> None:
    """``node-blast-radius``: its server is gone, and its end was announced."""
    stage = a_stage(nodes=8)
    stage.label(1, {CONTROL_PLANE: ""})
    stage.cordon(1)
    stage.kill(1)
    stage.advance(150)
    stage.run()
    assert "n1" in stage.nodes()


def test_no_more_nodes_lose_their_addresses_than_a_quarter() -> None:
    """``address-blast-radius``: servers are taken out of the network, all settings stay as they were."""
    stage = a_stage(nodes=8, services=(), routes=False)
    for number in range(4, 9):
        stage.leave_network(number)
    stage.run()
    for number in range(1, 9):
        said = stage.nodes()[f"n{number}"]["status"]["addresses"]
        assert {"type": "InternalIP", "address": private_address(number)} in said


def test_of_two_services_that_ask_for_one_name_at_once_neither_gets_it() -> None:
    """``foreign-owner``: nothing tells whose it should be."""
    stage = a_stage(services=())
    stage.make_service("db", {"name": "one"})
    stage.make_service("web", {"name": "one"})
    stage.run()
    assert "one" not in {each["name"] for each in stage.truth.seen().balancers[HOME].values()}


def test_the_older_service_gets_the_address_that_two_name() -> None:
    """``address-in-use``: the younger one is earlier in the alphabet."""
    stage = a_stage(services=())
    project = stage.truth.projects[HOME]
    address = {"id": 700, "name": "four", "ip": "198.51.100.7"}
    project.replace_world({**project.world()["hetzner"], "primary_ips": [address]})
    stage.truth.changed()
    stage.make_service("web", {"public-net-ipv4": "700"})
    stage.advance(60)
    stage.make_service("db", {"public-net-ipv4": "700"})
    stage.run()
    assert stage.balancer("web")["public_net"]["ipv4"]["ip"] == "198.51.100.7"


def test_a_cidr_of_others_takes_no_route_of_theirs() -> None:
    """``cluster-cidr``: it is mistyped, and covers a route to an address that nobody has at the moment."""
    stage = a_stage(services=())
    stage.route("10.99.1.0/24", "10.0.0.99")
    stage.configure(__cluster_cidr="10.99.0.0/16")
    stage.run()
    assert stage.truth.seen().routes(HOME)[NETWORK, "10.99.1.0/24"] == "10.0.0.99"


HCCM = {
    "metadata": {"name": "hcloud-cloud-controller-manager", "namespace": "kube-system"},
    "spec": {
        "selector": {"matchLabels": {"app": "hccm"}},
        "template": {
            "spec": {"containers": [{"name": "a", "image": "hetznercloud/hcloud-cloud-controller-manager:v1.30.0"}]}
        },
    },
    "status": {"readyReplicas": 1},
}


def test_nothing_is_written_beside_another_controller() -> None:
    """``other-controller``."""
    stage = a_stage(services=())
    kubernetes = stage.truth.clusters["a"].kubernetes
    kubernetes.replace_world({**kubernetes.world()["kubernetes"], "deployments": [HCCM]})
    stage.truth.changed()
    stage.make_service("web")
    stage.run()
    with pytest.raises(LookupError):
        stage.balancer("web")


@pytest.mark.parametrize("policy", ["observe", "upsert"])
def test_a_policy_without_removals_removes_nothing(policy: str) -> None:
    """``policy``."""
    stage = a_stage()
    there = stage.balancer()["id"]
    stage.configure(__policy=policy)
    stage.delete_service()
    stage.run()
    assert there in stage.truth.seen().balancers[HOME]


def test_two_who_undo_each_other_come_to_an_end() -> None:
    """``flapping``: somebody takes a target out each time that it was added."""
    stage = a_stage()
    there = stage.balancer()["id"]
    for _ in range(5):
        stage.drop(there, 1)
        stage.run(loop=True)
        stage.advance(30)
    assert target_servers(stage.balancer()) == {2, 3, 4, 5}


def _writes(stage: Stage, passes: int, pause_s: float) -> int:
    """How often a loop wrote to Hetzner in so many passes."""
    count = 0
    for _ in range(passes):
        stage.run(loop=True)
        count += stage._lenses["a"][0].writes
        stage.advance(pause_s)
    return count


def test_what_fails_again_is_tried_less_often() -> None:
    """``back-off``: an action fails for ever, and watches call for a pass each second."""
    stage = a_stage()
    stage.truth.projects[HOME].set_faults([{"kind": "action_fails", "command": "change_algorithm", "count": None}])
    stage.annotate("web", {"algorithm-type": "least_connections"})
    assert _writes(stage, passes=30, pause_s=1.0) <= 6


def test_a_limit_of_the_project_costs_one_try_a_minute() -> None:
    """``quota``: Hetzner takes no load balancer more, and five Services ask for one."""
    world, tries = in_order(), list[str]()

    def refuse(method: str, path: str) -> Refusal | None:
        if (method, path) != ("POST", "/v1/load_balancers"):
            return None
        tries.append(path)
        return 403, {"error": {"code": "resource_limit_exceeded", "message": "load balancer limit exceeded"}}

    world.hetzner_line.trouble = refuse
    world.have_services(*(a_service(f"api-{number}") for number in range(5)))
    world._process.history = History(world.clock.timestamp, lambda: 0.5)
    for _ in range(20):
        world.converge()
        world.advance(15)
    assert len(tries) <= 7
