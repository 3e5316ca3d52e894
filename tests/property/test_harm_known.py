"""Sequences that once did harm, on the stage and before the judge of the law of harm: each is as short as it gets."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import pytest

from tests.support.harm_metal import METAL, METAL_LIES, inside
from tests.support.harm_script import Row, Script, do
from tests.support.harm_settling import What
from tests.support.harm_stage import Stage, a_stage
from tests.support.harm_start import (
    ELSEWHERE,
    EMPTY,
    FREE_IP,
    GUEST,
    GUEST_IP,
    HOME,
    NAT,
    NETWORK,
    OTHER_NETWORK,
    RACK_IP,
    SHOP,
    Start,
    pods,
    private_address,
)
from tests.support.harm_truth import target_addresses, target_servers
from tests.support.rows import rows

LB = "HCLOUD_LOAD_BALANCERS_"
INTERNAL = ((f"{LB}USE_PRIVATE_IP", "true"), (f"{LB}DISABLE_PUBLIC_NETWORK", "true"))
"""Settings of clusters whose load balancers nobody reaches from outside."""
LOST_TOGETHER = ("HCLOUD_NETWORK=", *(f"{name}=" for name, _ in INTERNAL))
PRIVATE, MOVED = {"use-private-ip": "true"}, {"private-ipv4": FREE_IP}
EXCLUDED = {"node.kubernetes.io/exclude-from-external-load-balancers": ""}
AUTOSCALER = "ToBeDeletedByClusterAutoscaler"
IN_THE_RACK = {"type": "ip", "ip": {"ip": RACK_IP}}
NAMED = (("web", {"hostname": "web.example.com"}),)


def _passes(stage: Stage, *lies: str, count: int = 3, loop: bool = False) -> None:
    do.passes(*lies, count=count, loop=loop)(stage)


def test_a_load_balancer_of_this_run_does_not_vouch_for_its_project() -> None:
    """All Nodes are silent for half an hour, and the token is that of an empty project with a network of the same
    name: the first pass creates a load balancer there, and it is no witness of the second."""
    stage = a_stage(network="private")
    stage.silence(minutes=31)
    stage.run("a", "token")


def test_an_empty_list_of_servers_empties_no_load_balancer() -> None:
    """The Nodes have been silent for some seconds, and one list of servers is empty."""
    stage = a_stage()
    stage.silence(minutes=0.2)
    stage.run("a", "servers:all")


def test_a_list_that_was_seen_to_lack_a_server_takes_no_route() -> None:
    """The server of a Node is gone, and a stranger's has got its address. The lists lack that one, and the server of
    another Node, which a question by its id finds."""
    stage = a_stage(services=())
    stage.kill(3)
    stage.home.move_server(GUEST, private_address(3))
    stage.truth.changed()
    stage.silence("a", 5, minutes=5)
    lacks = {"kind": "list_lacks", "path": "/v1/servers", "ids": [5, GUEST], "count": None}
    stage.truth.projects[HOME].set_faults([lacks])
    stage.run("a", "members:all")


def test_a_load_balancer_in_use_is_not_taken_over_by_its_name() -> None:
    """A stranger's load balancer has what the Service asks for, but for one setting: nothing is removed by its
    adoption, and still it is the stranger's."""
    stage = a_stage(services=())
    stage.drop(SHOP, GUEST)
    for number in range(1, 6):
        stage.lead(SHOP, {"type": "server", "server": {"id": number}})
    stage.make_service("web", {"name": "shop"})
    stage.run()


def test_what_was_adopted_from_nobody_is_not_deleted_with_its_service() -> None:
    """An empty load balancer was adopted by its name, and its Service goes."""
    stage = a_stage(services=())
    stage.make_service("web", {"name": "empty"})
    stage.run()
    assert stage.balancer("web")["id"] == EMPTY
    stage.delete_service("web")
    stage.run()


def test_a_copy_of_the_cluster_takes_no_target_away() -> None:
    """A copy of the etcd is restored; afterwards a Node joins the cluster, of which the copy knows nothing."""
    stage = a_stage()
    stage.restore()
    stage.join()
    stage.run("a")
    stage.advance(300)
    stage.run("copy")


def test_a_route_to_a_strangers_server_is_not_led_back() -> None:
    """Somebody leads the pods of a Node by a server that is no Node: that server lives."""
    stage = a_stage()
    stage.route(pods(3), GUEST_IP)
    stage.run()


def test_what_others_led_a_load_balancer_to_comes_back_after_a_move() -> None:
    """A person has approved the move: only what the Service leads to would be added in a later pass."""
    stage = a_stage(services=(("web", {"use-private-ip": "true"}),))
    stage.lead(stage.balancer()["id"], {"type": "ip", "ip": {"ip": RACK_IP}})
    stage.annotate("web", {"private-ipv4": FREE_IP})
    stage.run()
    stage.approve()
    stage.run()
    assert stage.balancer()["private_net"][0]["ip"] == FREE_IP
    assert target_addresses(stage.balancer()) == {RACK_IP}


def test_no_more_targets_switch_to_another_address_than_answer_by_it() -> None:
    """Nothing answers through the network, of which nothing but health checks know."""
    stage = a_stage()
    stage.truth.projects[HOME].set_faults([{"kind": "no_answer", "ranges": ["10.0.0.0/24"], "count": None}])
    stage.annotate("web", {"use-private-ip": "true"})
    _passes(stage, loop=True)
    assert [target["use_private_ip"] for target in stage.balancer()["targets"]].count(False) == 4


def test_a_clock_that_is_an_hour_ahead_gives_no_node_up() -> None:
    """Eight Nodes; the servers of five are deleted while their kubelets fell silent a minute ago, past what may go at
    once. One API server says that it is an hour later: then they would count as given up."""
    stage = a_stage(nodes=8)
    for number in range(4, 9):
        stage.kill(number)
    stage.advance(60)
    report = stage.run("a", "clock")
    assert len(stage.nodes()) == 8
    assert report.holds or any(line.change.kind == "node.delete" for line in report.lines)


def test_a_clock_that_is_an_hour_ahead_gives_no_target_up() -> None:
    """Four kubelets of eight have been silent for minutes, and five Nodes are excluded, past what may go at once."""
    stage = a_stage(nodes=8)
    stage.silence("a", 1, 2, 3, 4, minutes=5)
    for number in range(1, 6):
        stage.label(number, EXCLUDED)
    stage.run("a", "clock")


def test_servers_whose_names_were_swapped_keep_their_nodes_names() -> None:
    """Each Node goes on to publish its own name."""
    stage = a_stage()
    stage.swap(2, 3)
    stage.run()


def test_a_move_that_is_held_keeps_no_node_from_its_traffic() -> None:
    """While a person thinks about another address of the load balancer, one of its Nodes is replaced."""
    stage = a_stage(services=(("web", {"use-private-ip": "true"}),))
    stage.annotate("web", {"private-ipv4": FREE_IP})
    made = stage.join()
    stage.kill(1)
    stage.settle()
    assert target_servers(stage.balancer()) == {2, 3, 4, 5, made}


def test_a_list_of_an_earlier_time_publishes_no_address_of_the_past() -> None:
    """A load balancer was deleted by hand and made anew. The list of load balancers is of the time before."""
    stage = a_stage()
    stage.delete_balancer(stage.balancer()["id"])
    stage.run()
    stage.run("a", "load_balancers:stale")
    stage.settle()


def test_a_list_that_lacks_what_was_released_does_not_end_its_address() -> None:
    """A Service comes back, the list is of an earlier time, and it gets another load balancer."""
    stage = a_stage(retained=True)
    old = stage.balancer()["id"]
    stage.delete_service()
    stage.run()
    stage.make_service()
    stage.run("a", "load_balancers:stale")
    stage.settle()
    assert stage.balancer()["id"] != old
    assert old in stage.truth.seen().balancers[HOME]


@pytest.mark.parametrize("loop", [True, False])
def test_a_stale_list_of_services_takes_no_load_balancer_back_for_the_dead(loop: bool) -> None:
    """A Service came back and got its load balancer back; then one list of Services is of the time
    before, and the Service that is gone asks for it by its default name."""
    stage = a_stage(retained=True)
    there = stage.balancer()["id"]
    stage.delete_service()
    stage.run(loop=loop)
    stage.make_service()
    stage.run(loop=loop)
    stage.advance(20)
    stage.run("a", "services:stale", loop=loop)
    stage.settle()
    assert stage.balancer()["id"] == there


@pytest.mark.parametrize("loop", [False, True], ids=["once", "loop"])
@pytest.mark.parametrize("remembers", [True, False], ids=["remembered", "forgotten"])
@pytest.mark.parametrize("alive", [True, False], ids=["with-servers", "without-servers"])
def test_a_project_of_the_same_template_is_another_one(*, alive: bool, remembers: bool, loop: bool) -> None:
    """The token of staging in production: servers have the same names and private addresses, routes lead to the same
    pods, and ``HCLOUD_NETWORK`` is the name of both networks. All Nodes are silent, and one joins. What is remembered
    says no; without it, servers that have the gateways and the addresses that Services publish."""
    stage = a_stage(network="private")
    stage.make_sibling(alive=alive)
    if not remembers:
        stage.forget()
    stage.join()
    stage.silence(minutes=31)
    for _ in range(2):
        stage.run("a", "token", loop=loop)
        stage.advance(10)
    stage.settle()


def _tainted(stage: Stage, number: int) -> bool:
    taints = stage.nodes()[f"n{number}"]["spec"].get("taints", [])
    return "hcloud-server-deleted" in [each.get("value") for each in taints]


def test_a_server_that_comes_back_keeps_its_node_and_loses_the_taint() -> None:
    """Its Node waits for a volume meanwhile, and the mode is switched off before the server is there again."""
    stage = a_stage(variables=(("--out-of-service", "deleted"),))
    stage.attach(3)
    stage.kill(3)
    stage.advance(600)
    stage.run()
    assert _tainted(stage, 3)

    stage.bring_back(3)
    stage.configure(**{"--out-of-service": None})
    stage.advance(30)
    stage.run()
    stage.detach(3)
    stage.advance(60)
    stage.run()
    assert not _tainted(stage, 3)


@pytest.mark.parametrize("lie", ["servers:all", "servers:one", "token"])
def test_a_node_whose_server_is_there_is_not_out_of_service(lie: str) -> None:
    """All Nodes are silent and have volumes, and the list of servers is short, or another project's."""
    stage = a_stage(variables=(("--out-of-service", "deleted"),))
    for number in range(1, 6):
        stage.attach(number)
    stage.silence(minutes=31)
    stage.run("a", lie)
    assert not any(_tainted(stage, number) for number in range(1, 6))


@pytest.mark.parametrize(("value", "says"), [("hcloud-server-deleted", "its server is there"), ("x", "another")])
def test_the_judge_knows_a_false_taint(value: str, says: str) -> None:
    """Whoever wrote it: during a run that is the controller."""
    stage = a_stage()
    stage.make_service("db")
    taint = {"key": "node.kubernetes.io/out-of-service", "value": value, "effect": "NoExecute"}
    stage.once_planned(lambda: stage.home.patch_node("n3", {"spec": {"taints": [taint]}}))
    with pytest.raises(AssertionError, match=says):
        stage.run()


def test_the_judge_knows_a_node_that_goes_before_its_volumes() -> None:
    """It was tainted half a minute ago, and a volume is attached to it."""
    stage = a_stage(variables=(("--out-of-service", "deleted"),))
    stage.attach(3)
    stage.kill(3)
    stage.advance(600)
    stage.run()
    stage.advance(30)
    stage.make_service("db")
    stage.once_planned(lambda: stage.delete_node(3))
    with pytest.raises(AssertionError, match="soon after it was tainted"):
        stage.run()


def test_the_judge_knows_a_taint_that_is_left() -> None:
    """On a Node whose server runs, once all has settled."""
    stage = a_stage()
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "hcloud-server-deleted", "effect": "NoExecute"}
    stage.home.patch_node("n3", {"spec": {"taints": [taint]}})
    stage.truth.changed()
    assert [each.what for each in stage.unsettled()] == [What.TAINT]
    stage.settle()


@rows(
    "has_balancer remembers approvals",
    {
        "another-one-is-remembered": (True, True, 2),
        "a-network-is-remembered": (False, True, 2),
        "nothing-is-remembered-or-published": (True, False, 1),
    },
)
def test_a_load_balancer_that_a_person_approved_vouches_for_nothing(
    *, has_balancer: bool, remembers: bool, approvals: int
) -> None:
    """In another project a person approves first a load balancer, then what its Service publishes. Later all Nodes are
    silent for half an hour, and that load balancer is no witness against them."""
    stage = a_stage(nodes=3, network="private", services=(("web", {}),) if has_balancer else ())
    if not has_balancer:
        stage.make_service()
    if not remembers:
        stage.forget()
    for _ in range(approvals):
        stage.run("a", "token")
        assert stage.approve()
    stage.run("a", "token")
    stage.silence(minutes=31)
    stage.run("a", "token")
    assert len(stage.truth.seen().balancers[ELSEWHERE]) == 1


def test_an_approval_of_something_else_lets_nothing_be_made_in_another_project() -> None:
    """The judge looks at what was approved, not at whether anything was."""
    stage = a_stage(nodes=3, network="private")
    stage.run("a", "token")
    stage.approve(keys=("service/default/web/status",))
    with pytest.raises(AssertionError, match="project elsewhere is changed"):
        stage.run("a", "token")


def _says_ready_for_ever(stage: Stage) -> None:
    stage.beat("copy", hours=2)


def _has_a_machine_of_its_own(stage: Stage) -> None:
    """One kubelet of five reports to the copy."""
    stage.beat("copy", 1)


SILENCES = [_says_ready_for_ever, _has_a_machine_of_its_own]


@pytest.mark.parametrize("silence", SILENCES)
def test_a_copy_sets_no_node_port_back(silence: Callable[[Stage], None]) -> None:
    """A port of the Service got another node port after the copy was made."""
    stage = a_stage(copied=True)
    stage.listen("web", 80, node_port=31234)
    stage.run()
    silence(stage)
    stage.run("copy")
    assert stage.balancer()["services"][0]["destination_port"] == 31234


@pytest.mark.parametrize("silence", SILENCES)
def test_a_copy_takes_no_load_balancer_over(silence: Callable[[Stage], None]) -> None:
    """The Service was deleted and made again since: the copy knows the former Service alone."""
    stage = a_stage(copied=True, retained=True)
    old = stage.balancer()["id"]
    stage.delete_service()
    stage.run()
    stage.make_service()
    stage.run()
    silence(stage)
    stage.run("copy")
    stage.run()
    assert stage.balancer()["id"] == old


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("nodes", [2, 5])
def test_a_drill_takes_nothing_away(nodes: int, workers: int) -> None:
    """In a copy somebody deletes the old Nodes and joins new machines: a load balancer leads to servers of nobody's."""
    stage = a_stage(nodes=nodes, copied=True)
    stage.listen("web", 80, 443)
    stage.run()
    for number in range(1, nodes + 1):
        stage.delete_node(number, "copy")
    made = {stage.join("copy") for _ in range(workers)}
    for _ in range(2):
        stage.run("copy")
        stage.advance(60)
    assert target_servers(stage.balancer()) == {*range(1, nodes + 1), *made}


def test_a_copy_whose_clock_is_ahead_takes_nothing_away() -> None:
    """Its Nodes say Ready for ever, by heartbeats of five hours ago; its API server says that it is an hour later."""
    stage = a_stage(copied=True)
    stage.listen("web", 80, 443)
    made = stage.join()
    stage.run()
    stage.beat("copy", hours=5)
    stage.run("copy", "clock")
    assert target_servers(stage.balancer()) == {1, 2, 3, 4, 5, made}


def test_what_a_strange_project_said_of_a_server_proves_nothing_in_our_own() -> None:
    """A pass with the token of another project asks it for our servers by their ids, and it has none of them. Then the
    token is right again, and half of the servers are missing from their list."""
    stage = a_stage(nodes=8, services=(("web", {"use-private-ip": "true"}), ("db", {})))
    stage.silence(minutes=1)
    stage.join()
    stage.delete_service("web")
    stage.advance(15)
    stage.delete_node(3)
    stage.run("a", "token", loop=True)
    stage.run("a", "servers:half", "services:half", loop=True)


BOTH_WAYS: tuple[tuple[str, Mapping[str, str]], ...] = (("web", {}), ("db", {"use-private-ip": "true"}))
"""Services, one of which leads to dedicated servers by their public addresses, and one by the others."""


@pytest.mark.parametrize("lie", [lie for lie in METAL_LIES if lie != "robot:lost"])
def test_no_trouble_of_robot_takes_anything_that_lives(lie: str) -> None:
    """The kubelet of the newest dedicated server has been silent for five minutes, and Robot says or refuses anything:
    its Node and its targets stay, a Node of Hetzner Cloud joins, and one goes."""
    stage = a_stage(nodes=3, metal=4, services=BOTH_WAYS)
    stage.silence("a", 64, minutes=5)
    made = stage.join()
    stage.kill(1)
    for loop in (False, True, True):
        stage.advance(150)
        stage.run("a", lie, loop=loop)
    assert sorted(stage.nodes()) == sorted(["n2", "n3", "n101", "n61", "n62", "n63", "n64"])
    assert target_servers(stage.balancer()) == {2, 3, made}
    assert target_addresses(stage.balancer()) == {f"192.0.2.{number}" for number in range(61, 65)}
    assert target_addresses(stage.balancer("db")) == {inside(number) for number in range(61, 65)}
    stage.settle()


@rows(
    "claimed",
    {
        "another dedicated server's before its own": (inside(62), inside(61)),
        "after its own": (inside(61), inside(62)),
        "instead of its own": (inside(62),),
        "a server's of Hetzner Cloud": (private_address(1), inside(61)),
        "a public one of another dedicated server": ("192.0.2.62", inside(61)),
        "none at all": (),
    },
)
def test_no_kubelet_takes_anybody_out_by_what_it_says(claimed: tuple[str, ...]) -> None:
    """What it says of its own addresses may be another's: both go on to get traffic."""
    stage = a_stage(nodes=2, metal=2, services=BOTH_WAYS)
    stage.claim(61, *(("InternalIP", address) for address in claimed))
    for loop in (False, True):
        stage.run("a", loop=loop)
    stage.settle()


def test_tls_of_the_console_outlives_what_else_changes() -> None:
    """No pass takes it away, beside whatever other change, and nothing is asked."""
    stage = a_stage()
    stage.listen("web", 80, 443)
    stage.run()
    stage.encrypt(stage.balancer()["id"])
    stage.run()
    stage.listen("web", 80, 443, node_port=31234)
    stage.annotate("web", {"uses-proxyprotocol": "true"})
    stage.run("a", "servers:all")
    stage.run(loop=True)

    ports = {each["listen_port"]: each for each in stage.balancer()["services"]}
    assert {each["protocol"] for each in ports.values()} == {"https"}
    assert (ports[80]["destination_port"], ports[80]["proxyprotocol"]) == (31234, True)
    assert stage.reports["a"].holds == ()


def test_tls_of_the_console_outlives_its_service() -> None:
    """A Service deleted and made again gets its load balancer back as it is."""
    stage = a_stage(retained=True)
    stage.encrypt(stage.balancer()["id"])
    stage.delete_service("web", "a")
    stage.run()
    stage.make_service("web")
    stage.run()
    assert {each["protocol"] for each in stage.balancer()["services"]} == {"https"}


def test_what_a_vanished_service_had_outlives_a_lie_and_a_second_round() -> None:
    """It goes by an approval alone, also where its Service is made again, and where a list lacks something."""
    stage = a_stage()
    stage.run()
    balancer = stage.balancer()["id"]
    stage.vanish()
    stage.run("a", "servers:all")
    stage.run(loop=True)
    stage.make_service("web")
    stage.run(loop=True)

    assert balancer in stage.truth.seen().balancers[HOME]
    keys = [key for hold in stage.reports["a"].holds for key in hold.keys]
    assert f"load_balancer/#{balancer}" in map(str, keys)


@pytest.mark.parametrize("loop", [True, False])
def test_what_a_person_let_go_of_is_asked_for_once(loop: bool) -> None:
    """Five of eight are excluded, which a person approves. Within the hour an autoscaler takes one more: that is
    measured by what was left."""
    stage = a_stage(nodes=8)
    stage.run(loop=loop)
    for number in range(1, 6):
        stage.label(number, EXCLUDED)
    stage.run(loop=loop)
    assert len(target_servers(stage.balancer())) == 8
    assert stage.approve()
    stage.run(loop=loop)
    assert target_servers(stage.balancer()) == {6, 7, 8}
    stage.advance(90)
    stage.mark(6, AUTOSCALER)
    stage.run(loop=loop)
    assert target_servers(stage.balancer()) == {7, 8}


LED_TO_THE_RACK = do.then(lambda stage: stage.lead(stage.balancer()["id"], IN_THE_RACK))
WITHOUT_NODES = do.run("a", "nodes:all", "token").settle()
TWIN_OF_A_NODE = do.silence(minutes=31).delete_node(3).register(3).run("a", "token")
KNOWN = (
    Row(
        "a-load-balancer-of-an-earlier-run-does-not-vouch-for-its-project",
        Start(network="private", services=()),
        do.silence(minutes=1).make_service("web").run("a", "token").advance(31 * 60).run("a", "token"),
        "only additions were done in the first run",
    ),
    Row(
        "nothing-is-written-into-a-project-that-has-nothing-of-the-cluster",
        Start(network=None, services=()),
        do.silence(minutes=5).make_service("web").run("a", "token"),
        "no network is configured, all Nodes are silent, and a new Service asks for a load balancer",
    ),
    Row(
        "a-list-that-lacks-a-server-takes-no-target-from-a-silent-node",
        Start(),
        do.join().run().silence("a", 101, minutes=1).run("a", "servers:one"),
        "a Node that has just joined falls silent, and the list lacks its server",
    ),
    Row(
        "an-empty-list-of-servers-and-members-takes-no-route",
        Start(services=()),
        do.silence(minutes=0.2).run("a", "servers:all", "members:all"),
        "neither the servers nor the members of the network are in the lists",
    ),
    Row(
        "an-adopted-load-balancer-that-a-person-let-go-of-is-not-deleted-either",
        Start(services=()),
        do.make_service("web", {"name": "shop"}).run().must_approve().run().run().delete_service("web").run(),
        "a person approved the adoption of one in use; the deletion of the Service is another matter",
    ),
    Row(
        "a-copy-of-the-cluster-deletes-no-load-balancer",
        Start(),
        do.restore().advance(300).delete_service("web", "copy").run("copy"),
        "somebody tidies up the copy: its Service goes, and the cluster's own goes on",
    ),
    Row(
        "a-copy-of-the-cluster-closes-no-port",
        Start(),
        do.restore().listen("web", 80, 443).run("a").advance(300).run("copy"),
        "the Service got another port after the copy was made",
    ),
    Row(
        "a-copy-without-nodes-closes-no-port-of-the-living-cluster",
        Start(copied=True),
        do.listen("web", 80, 443).run().run("copy", "nodes:all"),
        "the Service has got a port since the copy was made; nobody is in its list who could be silent",
    ),
    Row(
        "a-route-to-a-strangers-server-is-not-led-to-a-node-that-joins",
        Start(),
        do.route(pods(101), GUEST_IP).join().run().run(),
        "the route was there before the Node",
    ),
    Row(
        "moving-a-load-balancer-in-its-network-is-no-outage",
        Start(services=(("web", PRIVATE),)),
        do.annotate("web", MOVED).run(),
        "all its targets are reached by their private addresses, and the Service asks for another address",
    ),
    Row(
        "moving-a-load-balancer-in-its-network-keeps-what-others-led-it-to",
        Start(),
        LED_TO_THE_RACK.sees(lambda stage: len(stage.balancer()["targets"]) == 6).annotate("web", MOVED).run(),
        "somebody added a private address to a load balancer whose other targets are reached by their public ones",
    ),
    Row(
        "losing-the-private-addresses-of-targets-is-no-outage",
        Start(services=(("web", PRIVATE),)),
        do.annotate("web", {"use-private-ip": None}).run().sees(lambda stage: stage.balancer()["id"] != NAT),
        "the annotation that asks for private addresses is gone: one by one they become public",
    ),
    Row(
        "a-mistyped-network-takes-the-addresses-of-no-more-than-a-few",
        Start(nodes=8),
        do.run("a", "network"),
        "HCLOUD_NETWORK names another network of the project",
    ),
    Row(
        "a-load-balancer-that-only-listens-is-in-use-as-well",
        Start(services=()),
        do.make_service("web", {"name": "idle"}).run(),
        "it leads nowhere yet, and its listener would be led to the Service",
    ),
    Row(
        "a-load-balancer-finds-its-way-back-from-another-network",
        Start(),
        do.run("a", "network", loop=True)
        .annotate("web", PRIVATE)
        .settle()
        .sees(lambda stage: stage.balancer()["private_net"][0]["network"] == NETWORK),
        "HCLOUD_NETWORK was mistyped for a while, and the Service begins to ask for private addresses: who leaves the"
        " wrong network and who is looked at in the right one do not wait for each other",
    ),
    Row(
        "a-cluster-without-nodes-publishes-no-address-of-a-strangers-project",
        Start(network="private"),
        WITHOUT_NODES,
        "the list of Nodes is empty, or all are scaled away, and the token is that of another project",
    ),
    Row(
        "a-service-that-publishes-a-name-is-not-served-in-another-project",
        Start(network="private", services=NAMED),
        WITHOUT_NODES,
        "the same where no published address tells",
    ),
    Row(
        "a-list-of-an-earlier-time-publishes-no-place-of-the-past",
        Start(),
        do.annotate("web", MOVED).run().run("a", "load_balancers:stale").settle(),
        "a load balancer has moved in its network, and the list is of the time before",
    ),
    Row(
        "servers-of-the-same-template-are-enough-to-tell-that-a-project-is-another-one",
        Start(network="private", services=()),
        do.make_sibling().forget().then(TWIN_OF_A_NODE),
        "nothing is published, nothing is remembered, and a Node joins that is called like a server there",
    ),
    Row(
        "a-node-is-initialised-by-a-server-of-another-project-when-a-person-says-so",
        Start(nodes=3, network="private"),
        do.make_sibling()
        .then(TWIN_OF_A_NODE)
        .approve()
        .run("a", "token")
        .sees(lambda stage: stage.nodes()["n3"]["spec"]["providerID"] == "hcloud://503"),
        "all servers were replaced, as it seems: the hold names the Node that joins as well",
    ),
    Row(
        "nodes-that-say-ready-for-ever-are-not-overruled-by-a-witness",
        Start(),
        do.beat(hours=2).configure(HCLOUD_NETWORK=str(OTHER_NETWORK)).run("a", "token"),
        "heartbeats are two hours old; token and the id in HCLOUD_NETWORK are of another project: a witness, but of"
        " Ready Nodes whose servers are missing none is asked",
    ),
    Row(
        "a-cluster-that-is-being-born-publishes-a-name",
        Start(network="private", nodes=0, services=()),
        do.make_service(*NAMED[0])
        .run()
        .holds()
        .listen("web", 443)
        .run()
        .holds()
        .sees(lambda stage: [each["listen_port"] for each in stage.balancer()["services"]] == [443]),
        "in one run: what it has made itself is where its Services are served",
    ),
    Row(
        "what-was-deleted-by-hand-is-made-anew-in-a-cluster-without-nodes-by-a-persons-word",
        Start(network="private", nodes=0, services=NAMED),
        do.then(lambda stage: stage.delete_balancer(stage.balancer()["id"]))
        .run()
        .holds("project-anchor")
        .approve()
        .run()
        .holds()
        .sees(lambda stage: stage.balancer()),
        "a name that is published tells as little as an address whether the project is another one",
    ),
    *(
        Row(
            f"what-a-person-approved-is-done-in-another-project-and-nothing-else-{name}",
            Start(nodes=3, others=3, network="private", services=(("web", options),)),
            do.times(3, do.run("a", "token").approve()).sees(
                lambda stage: len(stage.truth.seen().balancers[ELSEWHERE]) == 1
            ),
            "an approved hold is a person's word on what it names: first the load balancer, then what is published",
        )
        for name, options in (("public", {}), ("private", PRIVATE))
    ),
    Row(
        "what-a-project-said-of-a-server-proves-nothing-though-a-person-approved-a-load-balancer-there",
        Start(nodes=8, network="private"),
        do.times(2, do.run("a", "token", loop=True).must_approve())
        .run("a", "token", loop=True)
        .silence(minutes=31)
        .run("a", "token", loop=True)
        .advance(15)
        .beat("a", 1)
        .run("a", "servers:half", "members:half", loop=True),
        "it is published when all Nodes are silent, and asked for their servers; then the token is right again, one"
        " Node reports, and half of the servers are missing from their lists",
    ),
    Row(
        "a-move-waits-for-a-target-that-may-not-come-back-at-once",
        Start(twins=True),
        LED_TO_THE_RACK.times(2, do.run("a", "network", loop=True).run(loop=True)).settle(),
        "HCLOUD_NETWORK changes to and fro: as often as what somebody led it to was added again it is left alone for"
        " an hour, and so is the place that it is reached from",
    ),
    Row(
        "a-service-waits-for-a-person-together-with-its-load-balancer",
        Start(nodes=3, network=None),
        do.delete_node(1).delete_service().kill(3).settle().sees(lambda stage: stage.balancer()),
        "as many servers speak as do not, so that a person decides on the end of the load balancer; its Service stays",
    ),
    Row(
        "dedicated-servers-do-not-outvote-the-loss-of-all-others",
        Start(nodes=3, metal=3, services=(("web", PRIVATE),)),
        do.run("a", "network").sees(lambda stage: target_servers(stage.balancer()) == {1, 2, 3}),
        "no server of the project is in the mistyped network, and kubelets of dedicated ones tell their addresses as"
        " ever, so that half of the targets would stay",
    ),
    Row(
        "a-dedicated-server-in-place-of-the-only-one-waits-for-a-person",
        Start(nodes=2, metal=1),
        do.kill(METAL).rack().settle().holds("project-anchor").let_go(),
        "no Node is left that shows whose account it is: it may be another one, in which somebody has the name",
    ),
    Row(
        "a-service-that-asks-for-addresses-that-are-not-there-gets-no-load-balancer",
        Start(nodes=3, network=None),
        do.make_service("mail", PRIVATE)
        .settle()
        .sees(
            lambda stage: (
                ("malformed", "service/default/mail") in {(note.kind, note.key) for note in stage.reports["a"].notes}
            )
        ),
        "without a network there is no private address: a note says so, and other Services are served",
    ),
    Row(
        "servers-that-swap-their-addresses-swap-nothing-else",
        Start(nodes=1, metal=2),
        do.label(62, EXCLUDED)
        .run()
        .swap_metal(61, 62)
        .advance(310)
        .run()
        .sees(lambda stage: target_addresses(stage.balancer()) == {"192.0.2.62"})
        .settle(),
        "one of two dedicated servers is kept from traffic; the other one goes on to get it, by its new address",
    ),
    Row(
        "a-process-that-dies-while-it-leads-a-target-another-way",
        Start(nodes=3, services=(("web", PRIVATE),)),
        do.run().annotate("web", {"use-private-ip": None}).run("a", "dies:before:3").settle(),
        "Hetzner takes no server twice: the one that was taken out is put back by the next run, and no other is out",
    ),
)


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: row.name)
def test_no_harm_is_done_again(row: Row) -> None:
    """See the row."""
    row.script(a_stage(row.start))


FOUR: tuple[tuple[str, Mapping[str, str]], ...] = (("api", {}), ("db", {}), ("mail", {}), ("web", {}))
TWO_PRIVATE = (("db", PRIVATE), ("web", PRIVATE))
INSIDE = Start(nodes=3, services=FOUR, variables=INTERNAL)
POOLED = Start(nodes=6, pools=True, services=(("web", {"node-selector": "pool=a"}),))
PUBLIC_POOLS = Start(nodes=4, pools=True, services=(("web", {}),))
TO_POOL_B = do.annotate("web", {"node-selector": "pool=b"})
OF_ANOTHER_CLASS = do.turn("web", "ClusterIP").turn("web", "LoadBalancer", "io.cilium/l2-announcer")


def _mistaken(*lies: str, loop: bool = False) -> Script:
    """Settings are mistaken for some passes, and then they are right again."""
    return do.run(loop=loop).passes(*lies, loop=loop).settle()


def _undone(lie: str, opposite: str) -> Script:
    """A person approves what follows from a setting that is mistaken, and then what follows from the opposite one."""
    steps = (do.run("a", setting).times(3, do.approve().run("a", setting)) for setting in (lie, opposite))
    return do.then(*steps).settle()


def _to_a_deaf_pool(lie: str, *, loop: bool = False) -> Script:
    """Nothing answers on the machines of the other pool, and the only run until the lie ends remembers nothing."""
    return do.deafen(3, 4).then(TO_POOL_B).run("a", lie, loop=loop).settle()


def _in_three_steps(*, loop: bool) -> Script:
    steps = [do.each("leave_network", numbers).passes(count=1, loop=loop) for numbers in ((1, 2, 3), (4, 5), (6, 7))]
    return do.run(loop=loop).then(*steps)


_one_by_one = do.run(loop=True).then(*(do.delete_node(each).passes(count=1, loop=True) for each in range(1, 7)))


ROWS = (
    Row(
        "wanted-again-before-its-deletion",
        Start(nodes=3),
        do.turn("web", "ClusterIP").once_planned(do.turn("web", "LoadBalancer")).run().settle(),
        "a load balancer that a Service wants by then is not deleted, whatever was observed before",
    ),
    Row(
        "back-long-after-its-release",
        Start(nodes=3, retained=True),
        do.delete_service("web").run().advance(30 * 24 * 3600).once_planned(do.make_service("web")).run().settle(),
        "time alone deletes nothing",
    ),
    Row(
        "settings-lost-together",
        INSIDE,
        _mistaken(*LOST_TOGETHER),
        "D1: no load balancer loses its targets, its network, or what keeps it internal",
    ),
    Row(
        "settings-lost-together-in-the-loop",
        INSIDE,
        _mistaken(*LOST_TOGETHER, "--keep-internal-ips=true", loop=True),
        "D1, also where no Node would lose an address",
    ),
    Row("values-not-merged", INSIDE, _mistaken("values:lost"), "D1, with all settings lost"),
    Row(
        "another-network-and-no-private-addresses",
        Start(nodes=3, services=(("web", {"disable-public-network": "true"}),), variables=INTERNAL[:1]),
        _mistaken("HCLOUD_NETWORK=8", f"{LB}USE_PRIVATE_IP="),
        "D1: three of three targets go on to answer",
    ),
    Row(
        "one-edit-to-a-silent-pool",
        POOLED,
        do.deafen(4, 5, 6)
        .annotate("web", {"node-selector": "pool=b", **PRIVATE, "disable-public-network": "true"})
        .passes()
        .settle(),
        "D32: the former pool answers until the next one does; then all is as the edit says",
    ),
    Row(
        "selector-of-a-pool-that-is-off",
        POOLED,
        do.each("power", (4, 5, 6), on=False).then(TO_POOL_B).passes().settle(),
        "the former pool answers until the next one does",
    ),
    Row(
        "selector-of-a-pool-of-which-health-lies",
        POOLED,
        do.run(loop=True).deafen(4, 5, 6).then(TO_POOL_B).passes("health:unhealthy", loop=True).settle(),
        "what answered within the last hour goes only once the newcomers answer, whatever health says by now",
    ),
    Row(
        "all-that-answer-excluded",
        Start(nodes=4),
        do.power(4, on=False).each("label", (1, 2, 3), EXCLUDED).passes().settle(),
        "nothing that serves is taken to zero",
    ),
    Row(
        "most-excluded",
        Start(nodes=4),
        do.each("label", (1, 2, 3), EXCLUDED).passes().settle(),
        "at least half goes on to answer",
    ),
    Row(
        "most-excluded-while-health-lies",
        Start(nodes=4),
        do.each("label", (1, 2, 3), EXCLUDED).run("a", "health:unhealthy").settle(),
        "a first run that remembers nothing takes what is excluded, but for the last: none is measured against what"
        " nobody could see",
    ),
    Row(
        "to-a-pool-that-is-off-while-health-lies",
        PUBLIC_POOLS,
        _to_a_deaf_pool("health:unhealthy"),
        "what nobody saw answer is not kept for what does not",
    ),
    Row(
        "to-a-pool-that-answered-when-the-list-was-true",
        PUBLIC_POOLS,
        _to_a_deaf_pool("load_balancers:lag", loop=True),
        "what is said to answer is believed",
    ),
    Row(
        "most-excluded-after-health-lied",
        Start(nodes=3),
        do.run("a", "health:unhealthy", loop=True).deafen(1, 3).each("label", (1, 2), EXCLUDED).run("a").settle(),
        "what answered while health checks lied was seen by nobody; by the time of the truth one answers that goes",
    ),
    Row(
        "the-only-cloud-server-marked",
        Start(nodes=1, network=None, metal=3),
        do.mark(1, AUTOSCALER).settle(),
        "dedicated servers answer by their public addresses, and at least half goes on to answer",
    ),
    Row(
        "all-that-answer-marked",
        Start(nodes=4),
        do.deafen(3, 4).each("mark", (1, 2), AUTOSCALER).passes().each("unmark", (1, 2)).settle(),
        "an autoscaler takes all that answers only where no other Node is meant to serve",
    ),
    Row(
        "all-public-interfaces-closed",
        Start(nodes=3, services=TWO_PRIVATE),
        _mistaken(f"{LB}DISABLE_PUBLIC_NETWORK=true"),
        "no public interface is closed by a setting alone",
    ),
    Row(
        "public-interfaces-closed-and-opened-again",
        Start(nodes=3, services=TWO_PRIVATE),
        _undone(f"{LB}DISABLE_PUBLIC_NETWORK=true", f"{LB}DISABLE_PUBLIC_NETWORK=false").sees(
            lambda stage: all(each["public_net"]["enabled"] for each in stage.truth.seen().balancers[HOME].values())
        ),
        "what a setting has closed is open once the opposite setting is approved",
    ),
    Row(
        "all-statuses-emptied",
        INSIDE,
        _mistaken(f"{LB}DISABLE_PRIVATE_INGRESS=true"),
        "D12: no status is emptied by a setting that is mistyped",
    ),
    Row(
        "proxyprotocol-for-all",
        Start(nodes=3, services=(("db", {}), ("web", PRIVATE))),
        _mistaken(f"{LB}USES_PROXYPROTOCOL=true"),
        "no listener speaks another protocol by a setting alone",
    ),
    Row(
        "proxyprotocol-for-all-and-for-none",
        Start(nodes=3, services=(("db", {}), ("web", PRIVATE))),
        _undone(f"{LB}USES_PROXYPROTOCOL=true", f"{LB}USES_PROXYPROTOCOL=false").sees(
            lambda stage: not any(port["proxyprotocol"] for port in stage.balancer()["services"])
        ),
        "listeners speak as before once the opposite setting is approved",
    ),
    Row(
        "internal-ones-become-public-by-a-setting-that-is-lost",
        INSIDE,
        _mistaken(f"{LB}DISABLE_PUBLIC_NETWORK="),
        "nothing internal becomes public by a setting that is lost",
    ),
    Row(
        "internal-ones-become-public",
        INSIDE,
        _mistaken(f"{LB}DISABLE_PUBLIC_NETWORK=false"),
        "nothing internal becomes public by a setting that is mistyped",
    ),
    Row(
        "another-class-before-a-pass",
        Start(nodes=3, services=FOUR),
        OF_ANOTHER_CLASS.passes().settle(),
        "D30: load balancer and finalizer go, whatever steps no pass has seen",
    ),
    Row(
        "another-class-before-a-pass-and-deleted",
        Start(nodes=3, services=FOUR),
        OF_ANOTHER_CLASS.delete_service("web").passes().settle(),
        "D30: the Service is not Terminating for ever",
    ),
    Row(
        "a-node-joins-while-actions-hang",
        Start(nodes=2, network=None, services=()),
        do.run(loop=True)
        .hang(count=12)
        .each("make_service", ("api", "db", "mail", "web"))
        .then(lambda stage: stage.meanwhile(partial(stage.register, stage.make_server()[0])))
        .times(3, do.run(loop=True))
        .settle(),
        "a Node is initialized within ten seconds of a loop's work",
    ),
    Row(
        "a-service-waits-while-actions-hang",
        Start(nodes=2, network=None, services=(("api", {}),)),
        do.run(loop=True)
        .hang("change_algorithm")
        .annotate("api", {"algorithm-type": "least_connections"})
        .make_service("web")
        .run(loop=True)
        .sees(lambda stage: stage.waited["web"] <= 11)  # as docs/timing.md has it: nothing calls for another pass
        .settle(),
        "an action that does not end costs its own object",
    ),
    *(
        Row(f"{name}-{'in-the-loop' if loop else 'once'}", start, script(loop=loop), says)
        for name, start, script, says in (
            (
                "servers-leave-in-three-steps",
                Start(nodes=8, services=(("web", PRIVATE),)),
                _in_three_steps,
                "three small steps mean what one means",
            ),
        )
        for loop in (True, False)
    ),
    Row("nodes-deleted-one-by-one", Start(nodes=8), _one_by_one, "six small steps mean what one means"),
    Row(
        "to-a-name-while-half-a-list-is-missing",
        Start(nodes=8, services=(("web", PRIVATE), ("db", {}))),
        do.annotate("web", {"name": "empty"}).run("a", "load_balancers:half").settle(),
        "until the Service publishes another address, the load balancer that has the address answers",
    ),
    Row(
        "half-left-before-any-process-looked",
        Start(nodes=8, services=(("web", PRIVATE), ("db", {}))),
        do.each("leave_network", (5, 6, 7, 8)).delete_node(1).each("label", (6, 7, 8), EXCLUDED).settle(),
        "the loop's first pass takes a last one that answers: no run is measured against what no process remembers",
    ),
    Row(
        "another-pool-before-any-check",
        replace(POOLED, nodes=4),
        _to_a_deaf_pool("health:unknown"),
        "what nobody has checked is not replaced by what nobody has checked",
    ),
    Row(
        "a-setting-takes-all-addresses-of-one-service",
        Start(nodes=3, variables=INTERNAL),
        _mistaken(f"{LB}DISABLE_PRIVATE_INGRESS=true"),
        "no setting leaves a Service without any address while its load balancer has some",
    ),
    Row(
        "settings-take-all-addresses-of-one-service-in-two-passes",
        Start(nodes=3, services=(("web", {}),), variables=INTERNAL[:1]),
        _mistaken(f"{LB}DISABLE_PRIVATE_INGRESS=true", f"{LB}DISABLE_PUBLIC_NETWORK=true"),
        "the public interface stays with the status, and no setting that is mistaken leaves a trace",
    ),
    Row(
        "routes-off-and-then-another-network",
        Start(nodes=3, services=()),
        do.run("a", "HCLOUD_NETWORK_ROUTES_ENABLED=false", loop=True).run("a", "HCLOUD_NETWORK=8"),
        "no more than a quarter of the Nodes are closed to pods that routes lead to",
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_answers_goes_on_to_answer(row: Row) -> None:
    """Whatever comes together: see the row."""
    row.script(a_stage(row.start))
