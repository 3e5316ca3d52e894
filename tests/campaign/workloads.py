"""Workloads of the campaign: what happens to a cluster that is in order, one step after the other.

In the beginning there are three Nodes with their routes, and the Services ``web`` and ``db`` with a load balancer each,
``db`` by private addresses; the Service ``idle`` has none. A step happens between passes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType

from desired.names import CONFIG_MAP, LABEL_CLUSTER_UID, OWN_CLASS
from hcloud_sandbox.hetzner import HetznerSimulator
from hcloud_sandbox.robot import RobotSimulator
from sandbox_support.certificates import CERTIFICATE, PRIVATE_KEY
from tests.campaign.cluster import NEW_TOKEN, OTHER_TOKEN, Cluster, Step
from tests.support.dedicated import COUPLED, dedicated, robot_node
from tests.support.objects import AUTOSCALER, a_server_of, a_service, joining_node, pods_of, port, private_ip
from tests.support.simulators import START
from tests.support.workloads import raw_workload
from tests.support.world import CONFIG_MAPS, World

EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"
LONG_SILENT = (START - timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
IDLE = {"id": 80, "name": "idle", "load_balancer_type": "lb11", "location": "fsn1", "labels": {"made-by": "terraform"}}
"""A load balancer that belongs to no Service and leads nowhere."""


@dataclass(frozen=True)
class Workload:
    """What happens, and to which world."""

    name: str
    steps: tuple[Step, ...]
    before: tuple[Step, ...] = ()
    """What is so in the beginning, and carried out before anything is counted."""
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    every_s: float = 30.0
    """Between two passes of a loop that is called or has something left to do."""


def join(number: int) -> Step:
    def step(world: World) -> None:
        world.add_servers(a_server_of(number))
        _register(world, number)

    return step


def _register(world: World, number: int) -> None:
    node = joining_node(f"web-{number}")
    node["spec"] |= {"podCIDR": pods_of(number), "podCIDRs": [pods_of(number)]}
    world.register(node)


def _in_turn(*steps: Step) -> Step:
    def step(cluster: Cluster) -> None:
        for each in steps:
            each(cluster)

    return step


def lose(number: int) -> Step:
    """A server is gone, and its kubelet has been silent for two hours."""

    def step(world: World) -> None:
        world.delete_server(number)
        world.set_ready(f"web-{number}", ready="Unknown", since=LONG_SILENT)

    return step


def bring_back(number: int) -> Step:
    """The server is there again, and its kubelet reports, and registers its Node where that is gone."""

    def step(world: World) -> None:
        world.add_servers(a_server_of(number))
        if f"web-{number}" not in world.nodes():
            _register(world, number)
        world.set_ready(f"web-{number}", ready="True", since=LONG_SILENT)

    return step


def _attach(world: World) -> None:
    world.attach_volume("web-3")


def _detach(world: World) -> None:
    world.detach_volume("web-3")


def _annotate(service: str = "web", **options: str | None) -> Step:
    return lambda world: world.annotate(service, **options)


def _expose(service: str, /, *ports: int, **options: str) -> Step:
    return lambda world: world.have_services(a_service(service, *ports, **options))


def of_class(service: str, load_balancer_class: str | None) -> Step:
    """A Service that is there becomes one of this class, by way of another type, as the API server demands."""
    return _in_turn(
        lambda world: world.turn(service, "ClusterIP"),
        lambda world: world.turn(service, "LoadBalancer", load_balancer_class),
    )


def _expose_own(service: str, /, *ports: int, **options: str) -> Step:
    """A Service of the class comes."""
    made = a_service(service, *ports, **options)
    made["spec"]["loadBalancerClass"] = OWN_CLASS
    return lambda world: world.have_services(made)


def _delete(name: str) -> Step:
    return lambda world: world.delete_service(name)


def _resize(world: World) -> None:
    world.change_servers(3, server_type="cpx42")


def _select(*numbers: int) -> Step:
    """Servers of these numbers alone have the label of ``SELECTED``."""
    return lambda world: world.change_servers(*numbers, labels={"cluster": "ours"})


def _drain(world: World) -> None:
    world.cordon("web-3")
    world.taint("web-3", key=AUTOSCALER)


def _relabel(world: World) -> None:
    world.change_labels(next(each["id"] for each in world.balancers() if each["labels"]), {})


def _later(seconds: float) -> Step:
    return lambda world: world.advance(seconds)


def _strange_route(world: World) -> None:
    world.have_routes(*({"destination": pods_of(n), "gateway": private_ip(n % 3 + 1)} for n in (1, 2, 3)))


def have_idle(world: World) -> None:
    world.have_balancers(*world.balancers(), IDLE)


def _join_server(world: World) -> None:
    world.add_servers(a_server_of(4))


def _listen(*ports: int) -> Step:
    return lambda world: world.listen("web", *map(port, ports))


def _retain(world: World) -> None:
    world.annotate("db", deletion_policy="retain")


def _delete_balancer(world: World) -> None:
    web = world.service()["metadata"]["uid"]
    (found,) = (each for each in world.balancers() if web in each["labels"].values())
    world.delete_balancer(found["id"])


def _exclude(world: World) -> None:
    world.label("web-3", labels={EXCLUDED: ""})


def _include(world: World) -> None:
    world.label("web-3", labels={EXCLUDED: None})


def _grow(cluster: Cluster) -> None:
    """Six Nodes, all of them at work."""
    for number in (4, 5, 6):
        join(number)(cluster)
        cluster.set_ready(f"web-{number}", ready="True", since=LONG_SILENT)


def _other_pods(world: World) -> None:
    """A Node is registered again, by which it gets other pods."""
    world.register_again(world.a_pod_node(3, pods_of(33)))


def install(cluster: Cluster) -> None:
    """The product is installed with its ConfigMap, and begins."""
    cluster.to_cluster("POST", CONFIG_MAPS, {"metadata": {"name": CONFIG_MAP}, "data": {}})
    cluster.start()


def _configure(**variables: str | None) -> Step:
    return lambda cluster: cluster.configure(**variables)


def use_token(token: str) -> Step:
    """The file of the token has this one."""
    return lambda cluster: cluster.change_token(token)


def _once_it_has_a_balancer(name: str, step: Step) -> Step:
    def has_one(cluster: Cluster) -> bool:
        uid = cluster.service(name)["metadata"]["uid"]
        return any(uid in balancer["labels"].values() for balancer in cluster.balancers())

    return lambda cluster: cluster.once(has_one, step)


def upload(*names: str) -> Step:
    """Certificates of these names are in the project."""

    def step(world: World) -> None:
        for name in names:
            body = {"name": name, "type": "uploaded", "certificate": CERTIFICATE, "private_key": PRIVATE_KEY}
            world.to_project("POST", "/certificates", body)

    return step


def _have_dedicated_servers(cluster: Cluster) -> None:
    """Two of those in the account are Nodes."""
    cluster.change_network(ip_range=COUPLED["ip_range"], subnets=COUPLED["subnets"])
    cluster.register(robot_node(1), robot_node(2))


def _join_dedicated(world: World) -> None:
    node = joining_node("db-3")
    node["status"]["addresses"].append({"type": "InternalIP", "address": "10.1.0.3"})
    world.register(node)


def _give_back(cluster: Cluster) -> None:
    """A dedicated server leaves the account, and its kubelet has been silent for two hours."""
    assert cluster.robot is not None
    cluster.robot.replace_world({"servers": [dedicated(1), dedicated(3)]})
    cluster.set_ready("db-2", ready="Unknown", since=LONG_SILENT)


def _maintain(cluster: Cluster) -> None:
    assert cluster.robot is not None
    cluster.robot.set_faults([{"kind": "maintenance", "count": None}])


def _end_maintenance(cluster: Cluster) -> None:
    assert cluster.robot is not None
    cluster.robot.clear_faults()


def _as_hccm_left_it(cluster: Cluster) -> None:
    """Nothing is there that HCCM does not write, and the product is new to the cluster."""
    for balancer in cluster.balancers():
        labels = {key: text for key, text in balancer["labels"].items() if key != LABEL_CLUSTER_UID}
        cluster.change_labels(balancer["id"], labels)
    for name in cluster.services():
        cluster.patch_service({"status": {"conditions": None}}, f"{name}/status")
    cluster.kubernetes.replace_world({**cluster.kubernetes.world()["kubernetes"], "configmaps": []})
    cluster.start()


def _run_hccm(replicas: int) -> Step:
    def step(cluster: Cluster) -> None:
        image = "hetznercloud/hcloud-cloud-controller-manager:v1.30.1"
        hccm = raw_workload("hcloud-cloud-controller-manager", image, readyReplicas=replicas)
        cluster.kubernetes.replace_world({**cluster.kubernetes.world()["kubernetes"], "deployments": [hccm]})

    return step


LISTED_AGAIN_S = 330.0
"""A list of dedicated servers is good for five minutes."""
APPROVED = (Cluster.approve, Cluster.approve)
"""An approval counts once: one that was marked as used when the process died has to be given again."""
ADOPT_IDLE: tuple[Step, ...] = (_delete("web"), have_idle, _expose("web", name="idle"))
"""``web`` gives its load balancer back, and takes one that somebody made."""
SECURE = {"protocol": "https", "certificate_type": "managed", "http_managed_certificate_domains": "shop.example.com"}
NAMED = {"protocol": "https", "http_certificates": "one"}
ELECTED = {"RECONCILER_LEADER_ELECT": "true"}
SELECTED = {"RECONCILER_SERVER_SELECTOR": "cluster=ours"}
VOLUMES_FOLLOW = {"RECONCILER_OUT_OF_SERVICE": "deleted"}
OWN_ALONE = {"RECONCILER_LOAD_BALANCER_CLASS": OWN_CLASS}
DEDICATED = {
    "ROBOT_ENABLED": "true",
    "ROBOT_USER": RobotSimulator.USER,
    "ROBOT_PASSWORD": RobotSimulator.PASSWORD,
    "HCLOUD_NETWORK_ROUTES_ENABLED": "false",
}


WORKLOADS: Mapping[str, Workload] = {
    workload.name: workload
    for workload in (
        Workload("a Node joins", (join(4),)),
        Workload("three Nodes join", (_in_turn(join(4), join(5), join(6)),)),
        Workload("a Node joins before its server", (lambda world: world.register(joining_node("web-4")), _join_server)),
        Workload("a server is resized", (_resize,)),
        Workload("a Node is drained and deleted", (_drain, lose(3))),
        Workload("a server is lost", (lose(3),)),
        *(
            Workload(f"{name} that is not selected", steps, (_select(*numbers),), SELECTED)
            for name, numbers, steps in (
                ("a server is lost beside one", (2, 3), (_in_turn(_drain, lose(3)),)),
                ("a server is lost", (1, 2), (_in_turn(_drain, lose(3)),)),
                ("a Node joins on a server", (1, 2, 3), (_in_turn(_expose("api"), join(4)),)),
            )
        ),
        *(
            Workload(name, steps, (_attach,), VOLUMES_FOLLOW)
            for name, steps in {
                "a server with a volume is lost": (lose(3), _detach),
                "a server with a volume is lost that stays attached": (lose(3), _later(120)),
                "a server with a volume is lost and comes back": (
                    lose(3),
                    _in_turn(bring_back(3), _detach),
                    _later(60),
                ),
            }.items()
        ),
        Workload("a Node is deleted", (lambda world: world.delete_node("web-3"), *APPROVED)),
        Workload("a Service comes", (_expose("api", 80, 443),)),
        Workload("two Services come", (_in_turn(_expose("api"), _expose("mail", 25, use_private_ip="true")),)),
        Workload("two Services ask for one name", (_expose("api", name="one"), _expose("mail", name="one"))),
        Workload("ports change", (lambda world: world.listen("web", port(8080), port(443)),)),
        Workload("a port is added and taken back", (_listen(80, 443), _listen(80))),
        Workload("a Service goes private", (_annotate(use_private_ip="true"),)),
        Workload("a Service goes public", (_annotate("db", use_private_ip="false"),)),
        Workload("a private address is chosen", (_annotate("db", private_ipv4="10.0.0.77"), *APPROVED)),
        Workload("the public interface is closed", (_annotate("db", disable_public_network="true"),)),
        Workload("type and algorithm change", (_annotate(type="lb21", algorithm_type="least_connections"),)),
        Workload("an idle load balancer is adopted", (_expose("api", name="idle"),), before=(have_idle,)),
        Workload("a Service is renamed at Hetzner", (_annotate(name="shop"),)),
        Workload("a Service goes", (_delete("db"),)),
        Workload("a Service goes and its load balancer is retained", (_delete("db"),), (_retain,)),
        Workload(
            "a deletion is undone",
            (_delete("db"), _expose("db", use_private_ip="true")),
            environment={"HCLOUD_LOAD_BALANCERS_DELETION_POLICY": "retain"},
        ),
        Workload("a Service turns into another type", (lambda world: world.turn("db", "ClusterIP"),)),
        Workload("a Service of the class comes", (_expose_own("api", 80, 443),), (_configure(**OWN_ALONE),)),
        Workload("a Service of the class goes", (_delete("api"),), (_configure(**OWN_ALONE), _expose_own("api"))),
        Workload("a Service leaves the class", (of_class("api", None),), (_configure(**OWN_ALONE), _expose_own("api"))),
        Workload("a Service leaves for a class", (of_class("db", OWN_CLASS),)),
        Workload("a Service gets the class that is served next", (of_class("db", OWN_CLASS), _configure(**OWN_ALONE))),
        Workload("a load balancer loses its label", (_relabel,)),
        Workload("a load balancer is deleted at the console", (_delete_balancer,)),
        Workload("routes are led elsewhere", (_strange_route,)),
        Workload("Nodes are excluded and return", (_exclude, _include)),
        Workload("a server leaves the network", (lambda world: world.leave_network(3, 7),)),
        Workload("a server is switched off", (lambda world: world.power(3, on=False),)),
        Workload("Nodes come and go", (_in_turn(join(4), join(5)), _drain, _in_turn(lose(3), join(6)))),
        Workload("two of six Nodes go", (_in_turn(lose(5), lose(6)),), before=(_grow,)),
        Workload("a Node returns with other pods", (_other_pods,)),
        Workload(
            "a Service goes while its load balancer is made",
            (_in_turn(_expose("api"), _once_it_has_a_balancer("api", _delete("api"))),),
        ),
        Workload("a Service with a managed certificate comes", (_expose("shop", 443, **SECURE),)),
        Workload(
            "domains of a managed certificate change",
            (
                _annotate("shop", http_managed_certificate_domains="shop.example.com,www.example.com"),
                _annotate("shop", http_managed_certificate_name="second"),
            ),
            before=(_expose("shop", 443, **SECURE),),
        ),
        Workload(
            "a Service with a managed certificate goes", (_delete("shop"),), before=(_expose("shop", 443, **SECURE),)
        ),
        Workload(
            "a certificate is replaced by another one",
            (_annotate("shop", http_certificates="two"),),
            before=(upload("one", "two"), _expose("shop", 443, **NAMED)),
        ),
        Workload("a certificate comes after its Service", (_expose("shop", 443, **NAMED), upload("one"))),
        Workload("the token is replaced", (_in_turn(use_token(NEW_TOKEN), join(4)),)),
        Workload("the token is revoked", (Cluster.revoke_token, _in_turn(use_token(NEW_TOKEN), join(4)))),
        Workload(
            "the token is of another project",
            (_in_turn(join(4), use_token(OTHER_TOKEN)), use_token(HetznerSimulator.TOKEN)),
        ),
        Workload("another process leads", (_in_turn(Cluster.take_over, join(4)),), environment=ELECTED),
        Workload(
            "the lead is lost within a pass", (_in_turn(join(4), _expose("api"), Cluster.stall),), environment=ELECTED
        ),
        *(
            Workload(name, steps, (_have_dedicated_servers,), DEDICATED, LISTED_AGAIN_S)
            for name, steps in {
                "a dedicated server joins": (_join_dedicated,),
                "a dedicated server is given back": (_give_back,),
                "a dedicated server joins while Robot is in maintenance": (
                    _in_turn(_maintain, _join_dedicated, join(4)),
                    _in_turn(_end_maintenance, _later(LISTED_AGAIN_S)),
                ),
            }.items()
        ),
        Workload("a cluster of HCCM is taken over", (_as_hccm_left_it, join(4))),
        Workload("a cluster of HCCM has drifted", (_in_turn(_as_hccm_left_it, _resize, _delete_balancer),)),
        Workload("HCCM ends", (_in_turn(_as_hccm_left_it, _run_hccm(1), join(4)), _run_hccm(0))),
        Workload("a saved plan is applied", (_in_turn(join(4), _delete("db"), Cluster.save_plan), Cluster.leave_plan)),
        Workload(
            "a saved plan is applied to more than it has",
            (_in_turn(join(4), Cluster.save_plan, _expose("api")), Cluster.leave_plan),
        ),
        Workload(
            "an exact plan is applied to more than it has",
            (_in_turn(join(4), lambda cluster: cluster.save_plan(is_exact=True), _expose("api")), Cluster.leave_plan),
        ),
        *(
            Workload(name, (_configure(**variables), *APPROVED), (install, *before))
            for name, variables, before in (
                (
                    "settings close the public interface",
                    {"HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK": "true"},
                    (_expose("api", use_private_ip="true"),),
                ),
                (
                    "settings publish no private addresses",
                    {"HCLOUD_LOAD_BALANCERS_DISABLE_PRIVATE_INGRESS": "true"},
                    (),
                ),
                (
                    "settings have all targets private",
                    {"HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP": "true"},
                    (_expose("api"),),
                ),
                (
                    "settings leave Services without a class to HCCM",
                    OWN_ALONE,
                    (_expose_own("api"),),
                ),
                ("settings lack the network", {"HCLOUD_NETWORK": None}, ()),
                ("settings switch routes off", {"HCLOUD_NETWORK_ROUTES_ENABLED": "false"}, ()),
            )
        ),
    )
}
