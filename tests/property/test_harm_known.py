"""Sequences that once did harm, on the stage and before the judge of the law of harm: each is as short as it gets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

import pytest

from tests.support.harm_metal import METAL, METAL_LIES, inside
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

pytestmark = pytest.mark.passes


def test_a_load_balancer_of_this_run_does_not_vouch_for_its_project() -> None:
    """All Nodes are silent for half an hour, and the token is that of an empty project with a network of the same
    name: the first round creates a load balancer there, and it is no witness of the second."""
    stage = a_stage(network="private")
    stage.silence(minutes=31)
    stage.run("a", "token")


def test_a_load_balancer_of_an_earlier_run_does_not_vouch_for_its_project() -> None:
    """The same, of which only additions were done in the first run."""
    stage = a_stage(network="private", services=())
    stage.silence(minutes=1)
    stage.make_service("web")
    stage.run("a", "token")
    stage.advance(31 * 60)
    stage.run("a", "token")


def test_nothing_is_written_into_a_project_that_has_nothing_of_the_cluster() -> None:
    """No network is configured, all Nodes are silent, and a new Service asks for a load balancer."""
    stage = a_stage(network=None, services=())
    stage.silence(minutes=5)
    stage.make_service("web")
    stage.run("a", "token")


def test_an_empty_list_of_servers_empties_no_load_balancer() -> None:
    """The Nodes have been silent for some seconds, and one list of servers is empty."""
    stage = a_stage()
    stage.silence(minutes=0.2)
    stage.run("a", "servers:all")


def test_a_list_that_lacks_a_server_takes_no_target_from_a_silent_node() -> None:
    """A Node that has just joined falls silent, and the list lacks its server."""
    stage = a_stage()
    last = stage.join()
    stage.run()
    stage.silence("a", last, minutes=1)
    stage.run("a", "servers:one")


def test_an_empty_list_of_servers_and_members_takes_no_route() -> None:
    """The same of routes: neither the servers nor the members of the network are in the lists."""
    stage = a_stage(services=())
    stage.silence(minutes=0.2)
    stage.run("a", "servers:all", "members:all")


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


def test_an_adopted_load_balancer_that_a_person_let_go_of_is_not_deleted_either() -> None:
    """A person approved the adoption of one in use; the deletion of the Service is another matter."""
    stage = a_stage(services=())
    stage.make_service("web", {"name": "shop"})
    stage.run()
    assert stage.approve()
    stage.run()
    stage.run()
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


def test_a_copy_of_the_cluster_deletes_no_load_balancer() -> None:
    """Somebody tidies up the copy: its Service goes, and the cluster's own goes on."""
    stage = a_stage()
    stage.restore()
    stage.advance(300)
    stage.delete_service("web", "copy")
    stage.run("copy")


def test_a_copy_of_the_cluster_closes_no_port() -> None:
    """The Service got another port after the copy was made."""
    stage = a_stage()
    stage.restore()
    stage.listen("web", 80, 443)
    stage.run("a")
    stage.advance(300)
    stage.run("copy")


def test_a_route_to_a_strangers_server_is_not_led_back() -> None:
    """Somebody leads the pods of a Node by a server that is no Node: that server lives."""
    stage = a_stage()
    stage.route(pods(3), GUEST_IP)
    stage.run()


def test_a_route_to_a_strangers_server_is_not_led_to_a_node_that_joins() -> None:
    """The route was there before the Node."""
    stage = a_stage()
    stage.route(pods(101), GUEST_IP)
    stage.join()
    stage.run()
    stage.run()


def test_moving_a_load_balancer_in_its_network_is_no_outage() -> None:
    """All its targets are reached by their private addresses, and the Service asks for another address."""
    stage = a_stage(services=(("web", {"use-private-ip": "true"}),))
    stage.annotate("web", {"private-ipv4": FREE_IP})
    stage.run()


def test_moving_a_load_balancer_in_its_network_keeps_what_others_led_it_to() -> None:
    """Somebody added a private address to a load balancer whose other targets are reached by their public ones."""
    stage = a_stage()
    balancer = stage.balancer("web")["id"]
    stage.lead(balancer, {"type": "ip", "ip": {"ip": RACK_IP}})
    assert len(stage.balancer("web")["targets"]) == 6
    stage.annotate("web", {"private-ipv4": FREE_IP})
    stage.run()


def test_what_others_led_a_load_balancer_to_comes_back_after_a_move() -> None:
    """A person has approved the move: only what the Service leads to would be added in a later round."""
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


def test_losing_the_private_addresses_of_targets_is_no_outage() -> None:
    """The annotation that asks for private addresses is gone: one by one they become public."""
    stage = a_stage(services=(("web", {"use-private-ip": "true"}),))
    stage.annotate("web", {"use-private-ip": None})
    stage.run()
    assert stage.balancer("web")["id"] != NAT


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


def test_a_mistyped_network_takes_the_addresses_of_no_more_than_a_few() -> None:
    """``HCLOUD_NETWORK`` names another network of the project."""
    stage = a_stage(nodes=8)
    stage.run("a", "network")


def test_servers_whose_names_were_swapped_keep_their_nodes_names() -> None:
    """Each Node goes on to publish its own name."""
    stage = a_stage()
    stage.swap(2, 3)
    stage.run()


def test_a_load_balancer_that_only_listens_is_in_use_as_well() -> None:
    """It leads nowhere yet, and its listener would be led to the Service."""
    stage = a_stage(services=())
    stage.make_service("web", {"name": "idle"})
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


def test_a_load_balancer_finds_its_way_back_from_another_network() -> None:
    """``HCLOUD_NETWORK`` was mistyped for a while, and the Service begins to ask for private addresses: who leaves the
    wrong network and who is looked at in the right one do not wait for each other."""
    stage = a_stage()
    stage.run("a", "network", loop=True)
    stage.annotate("web", {"use-private-ip": "true"})
    stage.settle()
    assert stage.balancer()["private_net"][0]["network"] == NETWORK


def test_a_cluster_without_nodes_publishes_no_address_of_a_strangers_project() -> None:
    """The list of Nodes is empty, or all are scaled away, and the token is that of another project."""
    stage = a_stage(network="private")
    stage.run("a", "nodes:all", "token")
    stage.settle()


def test_a_list_of_an_earlier_time_publishes_no_place_of_the_past() -> None:
    """A load balancer has moved in its network, and the list is of the time before."""
    stage = a_stage()
    stage.annotate("web", {"private-ipv4": FREE_IP})
    stage.run()
    stage.run("a", "load_balancers:stale")
    stage.settle()


def test_a_list_that_lacks_what_waits_for_its_service_does_not_end_its_address() -> None:
    """A Service comes back in its undo window, the list is of an earlier time, and it gets another load balancer."""
    stage = a_stage(undo=timedelta(minutes=10))
    old = stage.balancer()["id"]
    stage.delete_service()
    stage.run()
    stage.make_service()
    stage.run("a", "load_balancers:stale")
    stage.settle()
    assert stage.balancer()["id"] != old
    assert old in stage.truth.seen().balancers[HOME]


def test_a_copy_without_nodes_closes_no_port_of_the_living_cluster() -> None:
    """The Service has got a port since the copy was made, and the copy's list of Nodes is empty: nobody is there who
    could be silent."""
    stage = a_stage(copied=True)
    stage.listen("web", 80, 443)
    stage.run()
    stage.run("copy", "nodes:all")


@pytest.mark.parametrize("loop", [True, False])
def test_a_stale_list_of_services_takes_no_load_balancer_back_for_the_dead(loop: bool) -> None:
    """A Service came back in its undo window and got its load balancer back; then one list of Services is of the time
    before, and the Service that is gone asks for it by its default name."""
    stage = a_stage(undo=timedelta(minutes=10))
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


def test_servers_of_the_same_template_are_enough_to_tell_that_a_project_is_another_one() -> None:
    """Nothing is published, nothing is remembered, and a Node joins that is called like a server there."""
    stage = a_stage(network="private", services=())
    stage.make_sibling()
    stage.forget()
    stage.silence(minutes=31)
    stage.delete_node(3)
    stage.register(3)
    stage.run("a", "token")


def test_nodes_that_say_ready_for_ever_are_not_overruled_by_a_witness() -> None:
    """All Nodes say Ready, with heartbeats that are two hours old. The token is that of another project, and so is
    the id in ``HCLOUD_NETWORK``: a witness, but of Ready Nodes whose servers are missing none is asked."""
    stage = a_stage()
    stage.beat(hours=2)
    stage.configure(HCLOUD_NETWORK=str(OTHER_NETWORK))
    stage.run("a", "token")


def test_a_service_that_publishes_a_name_is_not_served_in_another_project() -> None:
    """The list of Nodes is empty, and the token is that of another project: no published address tells."""
    stage = a_stage(network="private", services=(("web", {"hostname": "web.example.com"}),))
    stage.run("a", "nodes:all", "token")
    stage.settle()


def test_a_cluster_that_is_being_born_publishes_a_name() -> None:
    """In one run: what it has made itself is where its Services are served."""
    stage = a_stage(network="private", nodes=0, services=())
    stage.make_service("web", {"hostname": "web.example.com"})
    assert not stage.run().holds
    stage.listen("web", 443)
    assert not stage.run().holds
    assert [each["listen_port"] for each in stage.balancer()["services"]] == [443]


def test_a_load_balancer_that_was_deleted_by_hand_is_made_anew_in_a_cluster_without_nodes_by_a_persons_word() -> None:
    """A name that is published tells as little as an address whether the project is another one."""
    stage = a_stage(network="private", nodes=0, services=(("web", {"hostname": "web.example.com"}),))
    stage.delete_balancer(stage.balancer()["id"])
    assert [hold.rule for hold in stage.run().holds] == ["project-anchor"]
    stage.approve()
    assert not stage.run().holds
    assert stage.balancer()


@pytest.mark.parametrize("options", [{}, {"use-private-ip": "true"}], ids=["public", "private"])
def test_what_a_person_approved_is_done_in_another_project_and_nothing_else(options: dict[str, str]) -> None:
    """The hold of ``project-anchor`` is approved: that is a person's word on what it names, first the load balancer,
    then what its Service publishes."""
    stage = a_stage(nodes=3, others=3, network="private", services=(("web", options),))
    for _ in range(3):
        stage.run("a", "token")
        stage.approve()
    assert len(stage.truth.seen().balancers[ELSEWHERE]) == 1


@pytest.mark.parametrize(
    ("has_balancer", "remembers", "approvals"),
    [
        pytest.param(True, True, 2, id="another-one-is-remembered"),
        pytest.param(False, True, 2, id="a-network-is-remembered"),
        pytest.param(True, False, 1, id="nothing-is-remembered-or-published"),
    ],
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


def test_what_a_project_said_of_a_server_proves_nothing_though_a_person_approved_a_load_balancer_there() -> None:
    """Its load balancer is published when all Nodes are silent, and it is asked for their servers. Then the token is
    right again, one Node reports, and half of the servers are missing from their lists."""
    stage = a_stage(nodes=8, network="private")
    for _ in range(2):
        stage.run("a", "token", loop=True)
        assert stage.approve()
    stage.run("a", "token", loop=True)
    stage.silence(minutes=31)
    stage.run("a", "token", loop=True)
    stage.advance(15)
    stage.beat("a", 1)
    stage.run("a", "servers:half", "members:half", loop=True)


def test_a_node_is_initialised_by_a_server_of_another_project_when_a_person_says_so() -> None:
    """All servers were replaced, as it seems: the hold names the Node that joins as well."""
    stage = a_stage(nodes=3, network="private")
    stage.make_sibling()
    stage.silence(minutes=31)
    stage.delete_node(3)
    stage.register(3)
    stage.run("a", "token")
    stage.approve()
    stage.run("a", "token")
    assert stage.nodes()["n3"]["spec"]["providerID"] == "hcloud://503"


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
    """The Service was deleted and made again since, in its undo window: the copy knows the former Service alone."""
    stage = a_stage(copied=True, undo=timedelta(minutes=10))
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


def test_a_move_waits_for_a_target_that_may_not_come_back_at_once() -> None:
    """Somebody has led a load balancer to a machine in a rack, and ``HCLOUD_NETWORK`` changes to and fro: as often as
    that was added again it is left alone for an hour, and so is the place that it is reached from."""
    stage = a_stage(twins=True)
    stage.lead(stage.balancer()["id"], {"type": "ip", "ip": {"ip": RACK_IP}})
    for lie in (("network",), (), ("network",), ()):
        stage.run("a", *lie, loop=True)
    stage.settle()


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


def test_a_service_waits_for_a_person_together_with_its_load_balancer() -> None:
    """One of three Nodes was deleted by hand, the server of another is gone: as many servers speak as do not, so that
    a person decides on the end of the load balancer, and until then its Service stays."""
    stage = a_stage(nodes=3, network=None)
    stage.delete_node(1)
    stage.delete_service()
    stage.kill(3)
    stage.settle()
    assert stage.balancer()


def test_dedicated_servers_do_not_outvote_the_loss_of_all_others() -> None:
    """``HCLOUD_NETWORK`` is mistyped: no server of the project is in it, and the kubelets of dedicated ones tell their
    addresses as ever, so that half of the targets would stay."""
    stage = a_stage(nodes=3, metal=3, services=(("web", {"use-private-ip": "true"}),))
    stage.run("a", "network")
    assert target_servers(stage.balancer()) == {1, 2, 3}


BOTH_WAYS: tuple[tuple[str, Mapping[str, str]], ...] = (("web", {}), ("db", {"use-private-ip": "true"}))
"""Services, one of which leads to dedicated servers by their public addresses, and one by the others."""


def test_a_dedicated_server_in_place_of_the_only_one_waits_for_a_person() -> None:
    """No Node is left that shows whose account it is: it may be another one, in which somebody has the name."""
    stage = a_stage(Start(nodes=2, metal=1))
    stage.kill(METAL)
    stage.rack()
    stage.settle()
    assert {str(hold.rule) for hold in stage.reports["a"].holds} == {"project-anchor"}
    stage.let_go()


def test_a_service_that_asks_for_addresses_that_are_not_there_gets_no_load_balancer() -> None:
    """Without a network there is no private address to lead to: a note says so, and other Services are served."""
    stage = a_stage(Start(nodes=3, network=None))
    stage.make_service("mail", {"use-private-ip": "true"})
    stage.settle()
    assert {(note.kind, note.key) for note in stage.reports["a"].notes} >= {("malformed", "service/default/mail")}


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


@pytest.mark.parametrize(
    "claimed",
    [
        pytest.param((inside(62), inside(61)), id="another dedicated server's before its own"),
        pytest.param((inside(61), inside(62)), id="after its own"),
        pytest.param((inside(62),), id="instead of its own"),
        pytest.param((private_address(1), inside(61)), id="a server's of Hetzner Cloud"),
        pytest.param(("192.0.2.62", inside(61)), id="a public one of another dedicated server"),
        pytest.param((), id="none at all"),
    ],
)
def test_no_kubelet_takes_anybody_out_by_what_it_says(claimed: tuple[str, ...]) -> None:
    """What it says of its own addresses may be another's: both go on to get traffic."""
    stage = a_stage(nodes=2, metal=2, services=BOTH_WAYS)
    stage.claim(61, *(("InternalIP", address) for address in claimed))
    for loop in (False, True):
        stage.run("a", loop=loop)
    stage.settle()


def test_servers_that_swap_their_addresses_swap_nothing_else() -> None:
    """Of two dedicated servers one is kept from traffic; the other one goes on to get it, by its new address."""
    stage = a_stage(nodes=1, metal=2)
    stage.label(62, {"node.kubernetes.io/exclude-from-external-load-balancers": ""})
    stage.run()
    stage.swap_metal(61, 62)
    stage.advance(310)
    stage.run()
    assert target_addresses(stage.balancer()) == {"192.0.2.62"}
    stage.settle()


def test_tls_of_the_console_outlives_what_else_changes() -> None:
    """No pass takes it away beside another change, an approval of the one port lets it go, and the other one keeps
    it."""
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
    assert len(stage.reports["a"].holds) == 2

    stage.approve("a", 0)
    stage.run()

    assert sorted(each["protocol"] for each in stage.balancer()["services"]) == ["https", "tcp"]


def test_tls_of_the_console_outlives_its_service() -> None:
    """A Service deleted and made again in the undo window gets its load balancer back as it is."""
    stage = a_stage(undo=timedelta(minutes=10))
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


LB = "HCLOUD_LOAD_BALANCERS_"
INTERNAL = ((f"{LB}USE_PRIVATE_IP", "true"), (f"{LB}DISABLE_PUBLIC_NETWORK", "true"))
"""Settings of clusters whose load balancers nobody reaches from outside."""
LOST_TOGETHER = ("HCLOUD_NETWORK=", *(f"{name}=" for name, _ in INTERNAL))
PRIVATE = {"use-private-ip": "true"}
EXCLUDED = {"node.kubernetes.io/exclude-from-external-load-balancers": ""}
AUTOSCALER = "ToBeDeletedByClusterAutoscaler"
FOUR: tuple[tuple[str, Mapping[str, str]], ...] = (("api", {}), ("db", {}), ("mail", {}), ("web", {}))
OF_POOL_A = (("web", {"node-selector": "pool=a"}),)


@dataclass(frozen=True)
class Row:
    """Some innocent things that come together, and that once emptied clusters or hid that with exit code 0."""

    name: str
    start: Start
    script: Callable[[Stage], object]
    holds: str
    """What has to hold, beside what the judge says of each run."""


def _passes(stage: Stage, *lies: str, count: int = 3, loop: bool = False) -> None:
    for _ in range(count):
        stage.run("a", *lies, loop=loop)
        stage.advance(90)


def _mistaken(*lies: str, loop: bool = False) -> Callable[[Stage], None]:
    """Settings are mistaken for some passes, and then they are right again."""

    def script(stage: Stage) -> None:
        stage.run(loop=loop)
        _passes(stage, *lies, loop=loop)
        stage.settle()

    return script


def _taken_back(lie: str) -> Callable[[Stage], None]:
    """A person approves what follows from a setting that is mistaken, and then takes it back."""

    def script(stage: Stage) -> None:
        stage.run("a", lie)
        for _ in range(3):
            stage.approve()
            stage.run("a", lie)
        stage.settle()

    return script


def _all_in_one_edit(stage: Stage) -> None:
    stage.deafen(4, 5, 6)
    stage.annotate("web", {"node-selector": "pool=b", **PRIVATE, "disable-public-network": "true"})
    _passes(stage)
    stage.settle()


def _to_a_pool_that_is_off(stage: Stage) -> None:
    for number in (4, 5, 6):
        stage.power(number, on=False)
    stage.annotate("web", {"node-selector": "pool=b"})
    _passes(stage)
    stage.settle()


def _all_that_answer_are_excluded(stage: Stage) -> None:
    stage.power(4, on=False)
    for number in (1, 2, 3):
        stage.label(number, EXCLUDED)
    _passes(stage)
    stage.settle()


def _most_are_excluded(stage: Stage) -> None:
    for number in (1, 2, 3):
        stage.label(number, EXCLUDED)
    _passes(stage)
    stage.settle()


def _most_are_excluded_while_health_lies(stage: Stage) -> None:
    """A first run that remembers nothing is told that nothing answers: it takes what is excluded, but for the last."""
    for number in (1, 2, 3):
        stage.label(number, EXCLUDED)
    stage.run("a", "health:unhealthy")
    stage.settle()


def _most_are_excluded_after_health_lied(stage: Stage) -> None:
    """The loop was told that nothing answers, and by the time that it is told the truth one does that goes."""
    stage.run("a", "health:unhealthy", loop=True)
    stage.deafen(1, 3)
    for number in (1, 2):
        stage.label(number, EXCLUDED)
    stage.run("a")
    stage.settle()


def _the_only_cloud_server_is_marked(stage: Stage) -> None:
    stage.mark(1, AUTOSCALER)
    stage.settle()


def _all_that_answer_are_marked(stage: Stage) -> None:
    stage.deafen(3, 4)
    for number in (1, 2):
        stage.mark(number, AUTOSCALER)
    _passes(stage)
    for number in (1, 2):
        stage.unmark(number)
    stage.settle()


def _to_a_pool_of_which_health_lies(stage: Stage) -> None:
    stage.run(loop=True)
    stage.deafen(4, 5, 6)
    stage.annotate("web", {"node-selector": "pool=b"})
    _passes(stage, "health:unhealthy", loop=True)
    stage.settle()


def _of_another_class_before_a_pass(stage: Stage) -> None:
    stage.turn("web", "ClusterIP")
    stage.turn("web", "LoadBalancer", "io.cilium/l2-announcer")
    _passes(stage)
    stage.settle()


def _of_another_class_and_deleted(stage: Stage) -> None:
    stage.turn("web", "ClusterIP")
    stage.turn("web", "LoadBalancer", "io.cilium/l2-announcer")
    stage.delete_service("web")
    _passes(stage)
    stage.settle()


def _a_node_joins_while_actions_hang(stage: Stage) -> None:
    stage.run(loop=True)
    stage.hang(count=12)
    for name in ("api", "db", "mail", "web"):
        stage.make_service(name)
    number, _ = stage.make_server()
    stage.meanwhile(lambda: stage.register(number))
    for _ in range(3):
        stage.run(loop=True)
    stage.settle()


def _a_service_waits_while_actions_hang(stage: Stage) -> None:
    stage.run(loop=True)
    stage.hang("change_algorithm")
    stage.annotate("api", {"algorithm-type": "least_connections"})
    stage.make_service("web")
    stage.run(loop=True)
    assert stage.waited["web"] <= 11  # as docs/timing.md has it: nothing calls for another pass
    stage.settle()


def _servers_leave_in_three_steps(*, loop: bool) -> Callable[[Stage], None]:
    def script(stage: Stage) -> None:
        stage.run(loop=loop)
        for numbers in ((1, 2, 3), (4, 5), (6, 7)):
            for number in numbers:
                stage.leave_network(number)
            _passes(stage, count=1, loop=loop)

    return script


def _nodes_are_deleted_one_by_one(*, loop: bool) -> Callable[[Stage], None]:
    def script(stage: Stage) -> None:
        stage.run(loop=loop)
        for number in range(1, 7):
            stage.delete_node(number)
            _passes(stage, count=1, loop=loop)

    return script


def _nodes_are_deleted_around_a_restart(*loops: bool) -> Callable[[Stage], None]:
    """A person deletes a Node, a process that has just begun sees it, and the next process sees the next one."""

    def script(stage: Stage) -> None:
        for number, loop in enumerate(loops, 1):
            stage.delete_node(number)
            _passes(stage, count=1, loop=loop)
            stage.restart()

    return script


def _forgotten_by_another_controller(lie: str) -> Callable[[Stage], None]:
    """What a setting that is mistaken does to one object passes; then a run without the service controller sees the
    right settings, and then the controllers run as people want it."""

    def script(stage: Stage) -> None:
        stage.run("a", lie)
        stage.run("a", "--controllers=cloud-node")
        stage.settle()

    return script


def _routes_off_and_then_another_network(stage: Stage) -> None:
    stage.run("a", "HCLOUD_NETWORK_ROUTES_ENABLED=false", loop=True)
    stage.run("a", "HCLOUD_NETWORK=8")


def _to_a_name_while_half_a_list_is_missing(stage: Stage) -> None:
    """The Service asks for a load balancer by name, and the list lacks the one that it has: what clients use until the
    Service publishes another address goes on to answer."""
    stage.annotate("web", {"name": "empty"})
    stage.run("a", "load_balancers:half")
    stage.settle()


def _half_left_before_any_process_looked(stage: Stage) -> None:
    """Half of the servers are gone from the network before the loop's first pass, which takes a last one that answers:
    it is measured against what answered when somebody looked who remembers."""
    for number in (5, 6, 7, 8):
        stage.leave_network(number)
    stage.delete_node(1)
    for number in (6, 7, 8):
        stage.label(number, EXCLUDED)
    stage.settle()


def _to_a_deaf_pool(lie: str, *, loop: bool = False) -> Callable[[Stage], None]:
    """Nothing answers on the machines of the other pool, and the only run until the lie ends remembers nothing."""

    def script(stage: Stage) -> None:
        stage.deafen(3, 4)
        stage.annotate("web", {"node-selector": "pool=b"})
        stage.run("a", lie, loop=loop)
        stage.settle()

    return script


def _wanted_again(stage: Stage) -> None:
    stage.turn("web", "ClusterIP")
    stage.once_planned(lambda: stage.turn("web", "LoadBalancer"))
    stage.run()
    stage.settle()


def _back_after_its_undo_window(stage: Stage) -> None:
    stage.delete_service("web")
    stage.run()
    stage.advance(601)
    stage.once_planned(lambda: stage.make_service("web"))
    stage.run()
    stage.settle()


def _back_while_its_undo_window_ends(stage: Stage) -> None:
    """It ends after the first plan, in which the Service of that name is not; another one is made in that round."""
    stage.delete_service("web")
    stage.run()
    stage.advance(595)
    stage.make_service("mail")

    def returns() -> None:
        stage.make_service("web")
        stage.advance(10)

    stage.meanwhile(returns)
    stage.run()
    stage.settle()


ROWS = (
    *(
        Row(
            name,
            Start(nodes=3, undo=timedelta(minutes=minutes)),
            script,
            "a load balancer that a Service wants by then is not deleted, whatever was observed before",
        )
        for name, minutes, script in (
            ("wanted-again-before-its-deletion", 0, _wanted_again),
            ("back-after-its-undo-window", 10, _back_after_its_undo_window),
            ("back-while-its-undo-window-ends", 10, _back_while_its_undo_window_ends),
        )
    ),
    Row(
        "settings-lost-together",
        Start(nodes=3, services=FOUR, variables=INTERNAL),
        _mistaken(*LOST_TOGETHER),
        "D1: no load balancer loses its targets, its network, or what keeps it internal",
    ),
    Row(
        "settings-lost-together-in-the-loop",
        Start(nodes=3, services=FOUR, variables=INTERNAL),
        _mistaken(*LOST_TOGETHER, "--keep-internal-ips=true", loop=True),
        "D1, also where no Node would lose an address",
    ),
    Row(
        "values-not-merged",
        Start(nodes=3, services=FOUR, variables=INTERNAL),
        _mistaken("values:lost"),
        "D1, with all settings lost",
    ),
    Row(
        "another-network-and-no-private-addresses",
        Start(nodes=3, services=(("web", {"disable-public-network": "true"}),), variables=INTERNAL[:1]),
        _mistaken("HCLOUD_NETWORK=8", f"{LB}USE_PRIVATE_IP="),
        "D1: three of three targets go on to answer",
    ),
    Row(
        "one-edit-to-a-silent-pool",
        Start(nodes=6, pools=True, services=OF_POOL_A),
        _all_in_one_edit,
        "D32: the former pool answers until the next one does; then all is as the edit says",
    ),
    Row(
        "selector-of-a-pool-that-is-off",
        Start(nodes=6, pools=True, services=OF_POOL_A),
        _to_a_pool_that_is_off,
        "the former pool answers until the next one does",
    ),
    Row(
        "selector-of-a-pool-of-which-health-lies",
        Start(nodes=6, pools=True, services=OF_POOL_A),
        _to_a_pool_of_which_health_lies,
        "what answered within the last hour goes only once the newcomers answer, whatever health says by now",
    ),
    Row(
        "all-that-answer-excluded",
        Start(nodes=4),
        _all_that_answer_are_excluded,
        "nothing that serves is taken to zero",
    ),
    Row("most-excluded", Start(nodes=4), _most_are_excluded, "at least half goes on to answer"),
    Row(
        "most-excluded-while-health-lies",
        Start(nodes=4),
        _most_are_excluded_while_health_lies,
        "no run is measured against what nobody could see",
    ),
    Row(
        "to-a-pool-that-is-off-while-health-lies",
        Start(nodes=4, pools=True, services=(("web", {}),)),
        _to_a_deaf_pool("health:unhealthy"),
        "what nobody saw answer is not kept for what does not",
    ),
    Row(
        "to-a-pool-that-answered-when-the-list-was-true",
        Start(nodes=4, pools=True, services=(("web", {}),)),
        _to_a_deaf_pool("load_balancers:lag", loop=True),
        "what is said to answer is believed",
    ),
    Row(
        "most-excluded-after-health-lied",
        Start(nodes=3),
        _most_are_excluded_after_health_lied,
        "what answered while health checks lied was seen by nobody",
    ),
    Row(
        "the-only-cloud-server-marked",
        Start(nodes=1, network=None, metal=3),
        _the_only_cloud_server_is_marked,
        "dedicated servers answer by their public addresses, and at least half goes on to answer",
    ),
    Row(
        "all-that-answer-marked",
        Start(nodes=4),
        _all_that_answer_are_marked,
        "an autoscaler takes all that answers only where no other Node is meant to serve",
    ),
    Row(
        "all-public-interfaces-closed",
        Start(nodes=3, services=(("db", PRIVATE), ("web", PRIVATE))),
        _mistaken(f"{LB}DISABLE_PUBLIC_NETWORK=true"),
        "no public interface is closed by a setting alone",
    ),
    Row(
        "public-interfaces-closed-and-taken-back",
        Start(nodes=3, services=(("db", PRIVATE), ("web", PRIVATE))),
        _taken_back(f"{LB}DISABLE_PUBLIC_NETWORK=true"),
        "what a setting has closed is open when the setting is gone",
    ),
    Row(
        "all-statuses-emptied",
        Start(nodes=3, services=FOUR, variables=INTERNAL),
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
        "proxyprotocol-for-all-and-taken-back",
        Start(nodes=3, services=(("db", {}), ("web", PRIVATE))),
        _taken_back(f"{LB}USES_PROXYPROTOCOL=true"),
        "listeners speak as before when the setting is gone",
    ),
    Row(
        "internal-ones-become-public-by-a-setting-that-is-lost",
        Start(nodes=3, services=FOUR, variables=INTERNAL),
        _mistaken(f"{LB}DISABLE_PUBLIC_NETWORK="),
        "nothing internal becomes public by a setting that is lost",
    ),
    Row(
        "internal-ones-become-public",
        Start(nodes=3, services=FOUR, variables=INTERNAL),
        _mistaken(f"{LB}DISABLE_PUBLIC_NETWORK=false"),
        "nothing internal becomes public by a setting that is mistyped",
    ),
    Row(
        "another-class-before-a-pass",
        Start(nodes=3, services=FOUR),
        _of_another_class_before_a_pass,
        "D30: load balancer and finalizer go, whatever steps no pass has seen",
    ),
    Row(
        "another-class-before-a-pass-and-deleted",
        Start(nodes=3, services=FOUR),
        _of_another_class_and_deleted,
        "D30: the Service is not Terminating for ever",
    ),
    Row(
        "a-node-joins-while-actions-hang",
        Start(nodes=2, network=None, services=()),
        _a_node_joins_while_actions_hang,
        "a Node is initialized within ten seconds of a loop's work",
    ),
    Row(
        "a-service-waits-while-actions-hang",
        Start(nodes=2, network=None, services=(("api", {}),)),
        _a_service_waits_while_actions_hang,
        "an action that does not end costs its own object",
    ),
    *(
        Row(f"{name}-{'in-the-loop' if loop else 'once'}", start, script(loop=loop), says)
        for name, start, script, says in (
            (
                "servers-leave-in-three-steps",
                Start(nodes=8, services=(("web", PRIVATE),)),
                _servers_leave_in_three_steps,
                "three small steps mean what one means",
            ),
            (
                "nodes-deleted-one-by-one",
                Start(nodes=8),
                _nodes_are_deleted_one_by_one,
                "six small steps mean what one means",
            ),
        )
        for loop in (True, False)
    ),
    *(
        Row(
            f"a-setting-that-a-run-of-other-controllers-forgets-{name}",
            Start(nodes=3, variables=INTERNAL[:1]),
            _forgotten_by_another_controller(f"{LB}{name}=true"),
            "what a setting has done is undone when it is gone, whatever parts were on meanwhile",
        )
        for name in ("DISABLE_PUBLIC_NETWORK", "USES_PROXYPROTOCOL")
    ),
    Row(
        "to-a-name-while-half-a-list-is-missing",
        Start(nodes=8, services=(("web", PRIVATE), ("db", {}))),
        _to_a_name_while_half_a_list_is_missing,
        "until the Service publishes another address, the load balancer that has the address answers",
    ),
    Row(
        "half-left-before-any-process-looked",
        Start(nodes=8, services=(("web", PRIVATE), ("db", {}))),
        _half_left_before_any_process_looked,
        "no run is measured against what no process remembers",
    ),
    Row(
        "another-pool-before-any-check",
        Start(nodes=4, pools=True, services=OF_POOL_A),
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
        "settings-take-all-addresses-of-one-service-in-two-rounds",
        Start(nodes=3, services=(("web", {}),), variables=INTERNAL[:1]),
        _mistaken(f"{LB}DISABLE_PRIVATE_INGRESS=true", f"{LB}DISABLE_PUBLIC_NETWORK=true"),
        "the public interface stays with the status, and no setting that is mistaken leaves a trace",
    ),
    Row(
        "routes-off-and-then-another-network",
        Start(nodes=3, services=()),
        _routes_off_and_then_another_network,
        "no more than a quarter of the Nodes are closed to pods that routes lead to",
    ),
    *(
        Row(
            f"nodes-deleted-around-a-restart-{name}",
            Start(nodes=3),
            _nodes_are_deleted_around_a_restart(*loops),
            "what answered before the first pass of a process counts for the next hour, whatever process comes then",
        )
        for name, loops in (
            ("of-the-loop", (True, True)),
            ("once-and-in-the-loop", (False, True)),
            ("in-the-loop-and-once", (True, False)),
        )
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_answers_goes_on_to_answer(row: Row) -> None:
    row.script(a_stage(row.start))
