"""A stage on which there is something to do of every sort, and passes that do all of it."""

from hcloud_sandbox.exchange import Exchange
from reconciler.cli.approve import approve
from reconciler.config.options import FLAGS
from tests.support.apiserver import ApiServer
from tests.support.in_process import ONCE_AT_ANY_AGE, one_pass
from tests.support.objects import (
    ROUTED,
    a_route_to,
    a_server_of,
    a_service,
    ago,
    ingress,
    joining_node,
    pods_of,
    private_ip,
    said_of,
    settled_node,
)
from tests.support.permissions import shipped
from tests.support.stage import Stage

OUT_OF_SERVICE = FLAGS["--out-of-service"].variable


def made_eventful(stage: Stage) -> Stage:
    """The stage with a Node that joins and one that has to go; Services that want a load balancer, that may take over
    one when a person says so, and that ask for what they cannot have; routes that are missing, lead elsewhere or
    nowhere. Every right to read is made use of: of VolumeAttachments as well, for the Node that has to go."""
    stage.environment[OUT_OF_SERVICE] = "deleted"
    stray = {"protocol": "tcp", "listen_port": 9000, "destination_port": 9000}
    stage.have_pods(
        3, a_route_to(2, 1), a_route_to(9), load_balancers=[{"id": 70, "name": "shop", "services": [stray]}]
    )
    world = stage.project.world()["hetzner"]
    stage.project.replace_world({**world, "servers": [*world["servers"], a_server_of(4)]})
    stage.register(joining_node("web-4"), settled_node("lost", 9, "Unknown", since=ago(minutes=5)))
    stage.have_services(
        a_service(), a_service("shop", name="shop", deletion_policy="delete"), a_service("bad", type="lb99")
    )
    return stage


def have_record(stage: Stage) -> None:
    """The ConfigMap of the record is there: no role may make one."""
    stage.cluster.request("POST", "/api/v1/namespaces/kube-system/configmaps", shipped("configmap.yaml")[0])


def act_as(stage: Stage, cluster: ApiServer, token: str) -> None:
    """Let whatever runs on the stage use this token, through the stage's proxy."""
    stage.environment["KUBECONFIG"] = str(cluster.kubeconfig(token, server=stage.proxy.url))


def everything(stage: Stage, cluster: ApiServer) -> list[Exchange]:
    """What passes on an eventful stage sent: Services served, adopted, changed and released, Nodes initialized, routed
    and deleted, an approval used up, and an event that is said once more. That all of it was done is asserted here."""
    first = one_pass(stage, ONCE_AT_ANY_AGE)
    sent = stage.proxy.journal.entries()
    (hold,) = first["holds"]
    assert stage.routes() == {pods_of(number): private_ip(number) for number in (1, 2, 3)}
    assert stage.all_say() == {**dict.fromkeys(("web-1", "web-2", "web-3"), ROUTED), "web-4": None}
    assert approve((hold["hash"],), {"--unseen": "true", "--kubeconfig": str(cluster.kubeconfig())}, {}) == 0
    stage.forget()

    stage.annotate(use_private_ip="true", disable_public_network="true")
    for _ in range(3):  # one target goes first, and the rest once it answers
        one_pass(stage, ONCE_AT_ANY_AGE)
    assert sorted(stage.nodes()) == ["web-1", "web-2", "web-3", "web-4"]
    assert [len(ingress(stage.service(name))) for name in ("web", "shop", "bad")] == [1, 3, 0]
    assert said_of(stage.service("bad"))["LoadBalancerInSync"][0] == "False"

    for name in ("web", "shop", "bad"):
        stage.delete_service(name)
    one_pass(stage, ONCE_AT_ANY_AGE)
    assert (stage.services(), stage.balancers()) == ({}, [])
    return [*sent, *stage.proxy.journal.entries()]
