"""What others do between a plan and its writes ends as if they had done it before the plan: nothing is created,
deleted, attached or detached that is not then, and nothing else is left.

An actuator asks once more, or its request says what it expects to find. A row is what calls for a pass, and what
happens in between.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from desired.names import (
    APPROVALS_CONFIG_MAP,
    CONFIG_MAP,
    FINALIZER_BALANCER,
    LABEL_CLUSTER_UID,
    LABEL_SERVICE_UID,
    OWN_CLASS,
)
from desired.plan.approvals import writes_of_revocation
from hcloud_sandbox.exchange import Request, Response
from tests.campaign.cluster import Cluster, Step
from tests.campaign.probe import Probe
from tests.campaign.running import MOST_PASSES, begun, found_in
from tests.campaign.workloads import EXCLUDED, Workload, have_idle, join, lose
from tests.support.lines import Between as Passed
from tests.support.lines import Handle, Line, Refusal
from tests.support.objects import UNROUTED, a_server_of, a_service, joining_node, network_condition, pods_of, private_ip
from tests.support.world import CONFIG_MAPS, Raw, World

OF_ANOTHER_CLUSTER = {LABEL_CLUSTER_UID: "somebody-else", LABEL_SERVICE_UID: "dead-beef"}


@dataclass(frozen=True)
class Between:
    name: str
    step: Step
    """What calls for a pass."""
    others: Step
    before: tuple[Step, ...] = ()
    """What is so in the beginning."""
    first: Step | None = None
    """What a pass has seen before that."""
    at: str | None = None
    """Not before all writes, but right before the first one to a path that ends like this: what a look before it does
    not see any more, the API has to refuse."""
    approves: bool = False
    """Whether a person approves what is held at first."""
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Ended:
    """What a run left, and what it did to things on its way."""

    found: Mapping[str, Any]
    effects: Counter[str]


def differing(row: Between) -> list[str]:
    """What is otherwise than if it had happened before, in words."""
    wanted, found = ended(row, is_between=False), ended(row, is_between=True)
    more = found.effects - wanted.effects
    return [
        *(f"{effect}: {count} times more" for effect, count in sorted(more.items())),
        *(
            f"{part}: {found.found[part]}, not {left}"
            for part, left in wanted.found.items()
            if found.found[part] != left
        ),
    ]


def ended(row: Between, *, is_between: bool) -> Ended:
    """Passes until nothing is left to do. Others act between the first plan and its writes, or before it."""
    cluster = begun(Workload(row.name, (), row.before, row.environment))
    probe = Probe(cluster)
    cluster.start()
    if row.first is not None:
        row.first(cluster)
        cluster.converge()
    row.step(cluster)
    if row.approves:
        probe.is_paused = True
        cluster.converge()
        cluster.approve()
        probe.is_paused = False
    if not is_between:
        row.others(cluster)
    elif row.at is None:
        cluster.once_planned(row.others)
    else:
        _right_before(row.at, cluster, row.others)
    idle = 0
    for _ in range(MOST_PASSES):
        writes = probe.writes
        cluster.converge()
        idle = idle + 1 if probe.writes == writes else 0
        if idle == 2:  # after a Conflict nothing may have been written
            return Ended(found_in(cluster), probe.effects)
        cluster.advance(30)
    raise AssertionError("the world does not come to rest")


def _right_before(path: str, world: Cluster, others: Step) -> None:
    todo = [others]
    for line in world.lines().values():
        usual = line.between

        def exchange(request: Request, handle: Handle, usual: Passed = usual) -> Response:
            if request.method != "GET" and request.path.endswith(path):
                while todo:
                    todo.pop()(world)
            return usual(request, handle)

        line.between = exchange


def meet_once(world: Cluster, action: str, answer: Refusal, others: Step = lambda _: None) -> None:
    """Let others act right before the next such action, which is answered like this and not carried out."""

    def trouble(_: str, path: str) -> Refusal | None:
        if not path.endswith(f"/actions/{action}"):
            return None
        world.hetzner_line.trouble = Line.trouble
        others(world)
        return answer

    world.hetzner_line.trouble = trouble


def _of_another_cloud(name: str) -> Raw:
    """A Node of another cloud that has taken the name of ours."""
    return {**joining_node(name, taints=()), "spec": {"providerID": f"aws:///eu-central-1a/{name}"}}


def _apart(world: World) -> None:
    """Nothing leads to the third Node."""
    network = world.network()["id"]
    world.label("web-3", labels={EXCLUDED: ""})
    world.delete_route(network, pods_of(3), private_ip(3))
    world.leave_network(3, network)


def its_own(world: World, name: str) -> int:
    """The id of the load balancer of a Service."""
    uid = world.service(name)["metadata"]["uid"]
    return next(int(each["id"]) for each in world.balancers() if each["labels"].get(LABEL_SERVICE_UID) == uid)


def relabelled(name: str, labels: Mapping[str, str]) -> Step:
    """Somebody gives the load balancer of a Service these labels alone."""
    return lambda world: world.change_labels(its_own(world, name), labels)


def _ask_for_idle(world: World) -> None:
    """By a Service that has its finalizer: it stays where nothing is adopted, and goes with the Service."""
    asking = a_service("api", name="idle")
    asking["metadata"]["finalizers"] = [FINALIZER_BALANCER]
    world.have_services(asking)


def _led(destination: int, gateway: int) -> Step:
    """Somebody leads the pods of a Node elsewhere."""

    def step(world: World) -> None:
        network, there = world.network()["id"], world.routes()[pods_of(destination)]
        world.delete_route(network, pods_of(destination), there)
        world.add_route(network, pods_of(destination), private_ip(gateway))

    return step


def _choose_address(world: World) -> None:
    """For another one in its network a load balancer leaves that, which has to be approved."""
    world.annotate("db", private_ipv4="10.0.0.77")


def _revoke(world: Cluster) -> None:
    """Somebody takes back what was approved."""
    data = world.to_cluster("GET", f"{CONFIG_MAPS}/{APPROVALS_CONFIG_MAP}")[1]["data"]
    for hold in world.reports[-1].holds:
        written = writes_of_revocation(hold.hash, world.clock.now(), "somebody", "", data)
        world.patch_config_map(APPROVALS_CONFIG_MAP, **written)


def _unlisted(step: Step) -> Step:
    """Meanwhile the list lacks all load balancers."""

    def hide(world: Cluster) -> None:
        step(world)
        world.hetzner.set_faults([{"kind": "list_lacks", "path": "/v1/load_balancers", "count": None}])

    return hide


def _listed(world: Cluster) -> None:
    world.hetzner.clear_faults()


def _lack_a_target(world: Cluster) -> None:
    """Somebody takes out a target, of which the first addition is not answered."""
    world.remove_target(its_own(world, "db"), 3)
    meet_once(world, "add_target", (504, {}))


_GUEST = {"type": "server", "server": {"id": 81}, "use_private_ip": True}


def _a_stranger(world: World) -> None:
    """A server in the network that is no Node."""
    world.add_servers({**a_server_of(81), "name": "guest"})


def _superfluous(world: World) -> None:
    world.add_route(world.network()["id"], pods_of(77), private_ip(2))


def _again(name: str, **other: Any) -> Step:
    """A Service is deleted by force, and another one has its name."""

    def step(world: World) -> None:
        world.patch_service({"metadata": {"finalizers": []}}, name)
        world.delete_service(name)
        service = a_service(name)
        world.have_services({**service, "spec": {**service["spec"], **other}})

    return step


def _to_a_class(world: World) -> None:
    """A Service gets a class, by way of another type, which no pass sees."""
    world.turn("web", "NodePort")
    world.turn("web", "LoadBalancer", OWN_CLASS)


RETAIN = {"HCLOUD_LOAD_BALANCERS_DELETION_POLICY": "retain"}
ELSEWHERE = {"loadBalancerClass": "io.cilium/l2-announcer"}

ROWS = (
    Between(
        "the server of a Node that is to go exists again",
        lose(3),
        lambda world: world.add_servers({**a_server_of(3), "private_net": []}),
        before=(_apart,),
    ),
    Between(
        "a Node that is to go reports again",
        lose(3),
        lambda world: world.set_ready("web-3", ready="True"),
        before=(_apart,),
    ),
    Between(
        "another Node has the name of one that is to go",
        lose(3),
        lambda world: world.register_again(_of_another_cloud("web-3")),
        at="/nodes/web-3",
    ),
    Between("somebody taints a Node that joins", join(4), lambda world: world.taint("web-4", key="example.com/mine")),
    Between(
        "another cloud's Node has the name of one that was resized",
        lambda world: world.change_servers(3, server_type="cpx42"),
        lambda world: world.register_again(_of_another_cloud("web-3")),
    ),
    Between(
        "another cloud's Node has the name of one that is opened to pods",
        lambda world: world.set_condition("web-3", network_condition(*UNROUTED)),
        lambda world: world.register_again(_of_another_cloud("web-3")),
    ),
    Between(
        "another cluster has got the load balancer of a Service that goes",
        lambda world: world.delete_service("db"),
        relabelled("db", OF_ANOTHER_CLUSTER),
    ),
    Between(
        "another Service has got the load balancer that is to be released",
        lambda world: world.delete_service("db"),
        relabelled("db", OF_ANOTHER_CLUSTER),
        environment=RETAIN,
    ),
    Between(
        "another cluster has got the load balancer that is to be renamed",
        lambda world: world.annotate("web", name="shop"),
        relabelled("web", OF_ANOTHER_CLUSTER),
    ),
    Between(
        "another Service has got the load balancer that is to be adopted",
        _ask_for_idle,
        lambda world: world.change_labels(80, {LABEL_SERVICE_UID: world.service("web")["metadata"]["uid"]}),
        before=(have_idle,),
    ),
    Between(
        "somebody uses the load balancer that is to be adopted",
        _ask_for_idle,
        lambda world: world.add_target(80, {"type": "server", "server": {"id": 1}}),
        before=(have_idle,),
    ),
    Between(
        "a Service that is to be claimed is another class's",
        lambda world: world.have_services(a_service("api")),
        _again("api", **ELSEWHERE),
    ),
    Between(
        "a Service of which the status is to be written is another class's",
        lambda world: world.patch_service({"status": None}, "web/status"),
        _again("web", **ELSEWHERE),
    ),
    Between(
        "a Service of which the status is to be written is of a class",
        lambda world: world.patch_service({"status": None}, "web/status"),
        _to_a_class,
    ),
    Between(
        "a Service that is to be let go wants its load balancer again",
        lambda world: world.turn("db", "ClusterIP"),
        lambda world: world.turn("db", "LoadBalancer"),
    ),
    Between("a route that is to go leads to a stranger", _superfluous, _led(77, 81), before=(_a_stranger,)),
    Between("a route that is to be replaced leads to a stranger", _led(3, 2), _led(3, 81), before=(_a_stranger,)),
    Between(
        "somebody has led a load balancer that moves to a machine",
        _choose_address,
        lambda world: world.add_target(its_own(world, "db"), _GUEST),
        before=(_a_stranger,),
        approves=True,
    ),
    Between(
        "somebody takes a target out of a load balancer that moves",
        _choose_address,
        lambda world: world.remove_target(its_own(world, "db"), 3),
        at="/actions/remove_target",
        approves=True,
    ),
    Between(
        "an approval is taken back while it is used",
        _choose_address,
        _revoke,
        at=f"/configmaps/{CONFIG_MAP}",
        approves=True,
    ),
    Between(
        "a list lacked the load balancer of a Service that asks for another name",
        _unlisted(lambda world: world.annotate("web", name="shop")),
        _listed,
    ),
    Between(
        "a list lacked the load balancer that was released with a Service, which asks for another name",
        _unlisted(lambda world: world.have_services(a_service("db", 80, 443, use_private_ip="true", name="shop"))),
        _listed,
        first=lambda world: world.delete_service("db"),
        environment=RETAIN,
    ),
    Between(
        "a list lacked the load balancer that a Service leaves behind",
        _unlisted(lambda world: world.delete_service("db")),
        _listed,
        before=(lambda world: world.annotate("db", deletion_policy="retain"),),
    ),
    Between(
        "another cluster has got the load balancer to which a target has to be added once more",
        _lack_a_target,
        relabelled("db", OF_ANOTHER_CLUSTER),
    ),
    Between(
        "another cluster has got the load balancer of which targets are to be switched",
        lambda world: world.annotate("db", use_private_ip="false"),
        relabelled("db", OF_ANOTHER_CLUSTER),
    ),
)
