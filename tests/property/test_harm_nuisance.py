"""What people and autoscalers do every day needs nobody's word: the stage and the judge of the law of harm, and no
approval anywhere."""

import pytest

from tests.support.harm_metal import inside
from tests.support.harm_stage import Stage, a_stage
from tests.support.harm_start import EMPTY, GUEST, HOME, IDLE, RACK_IP, SHOP, THEIRS
from tests.support.harm_truth import CLUSTER_LABEL, is_joining, server_of, target_addresses, target_servers

EXCLUDED = {"node.kubernetes.io/exclude-from-external-load-balancers": "", "node-role.kubernetes.io/control-plane": ""}


def passes(stage: Stage, count: int = 2, *, loop: bool) -> None:
    """Passes of cluster ``a``, a minute and a half apart, none of which ends in an error."""
    for _ in range(count):
        stage.advance(90)
        report = stage.run("a", loop=loop)
        assert report.errors == ()


def leave(stage: Stage, number: int, *, loop: bool) -> None:
    """An autoscaler takes a Node away: it marks it, deletes the server, and leaves the Node to us."""
    stage.mark(number, "ToBeDeletedByClusterAutoscaler")
    passes(stage, 1, loop=loop)
    stage.kill(number)
    passes(stage, 2, loop=loop)


@pytest.mark.parametrize("loop", [True, False], ids=["loop", "once"])
def test_all_nodes_are_replaced_one_after_another(loop: bool) -> None:
    """A new one joins, an old one is cordoned and goes, five times over."""
    stage = a_stage()
    for number in range(1, 6):
        made = stage.join()
        passes(stage, 1, loop=loop)
        assert made in target_servers(stage.balancer())
        stage.cordon(number)
        stage.kill(number)
        passes(stage, 2, loop=loop)
    stage.settle()
    numbers = {server_of(node) for node in stage.nodes().values()}
    assert numbers.isdisjoint(range(1, 6))
    assert target_servers(stage.balancer()) == numbers


@pytest.mark.parametrize("loop", [True, False], ids=["loop", "once"])
def test_an_autoscaler_goes_down_to_nothing_and_up_again(loop: bool) -> None:
    """All Nodes but that of the control plane, which gets no traffic, go one after another; three come back at once."""
    stage = a_stage()
    stage.label(1, EXCLUDED)
    passes(stage, 1, loop=loop)
    for number in range(2, 6):
        leave(stage, number, loop=loop)
    assert [server_of(node) for node in stage.nodes().values()] == [1]
    assert target_servers(stage.balancer()) == set()
    made = {stage.join() for _ in range(3)}
    passes(stage, 2, loop=loop)
    stage.settle()
    assert target_servers(stage.balancer()) == made


def test_an_autoscaler_takes_all_its_nodes_at_once() -> None:
    """The same in one go: all are marked, and all servers are gone a minute later."""
    stage = a_stage()
    stage.label(1, EXCLUDED)
    for number in range(2, 6):
        stage.mark(number, "ToBeDeletedByClusterAutoscaler")
    passes(stage, 1, loop=True)
    for number in range(2, 6):
        stage.kill(number)
    passes(stage, 2, loop=True)
    stage.settle()
    assert [server_of(node) for node in stage.nodes().values()] == [1]


def test_an_autoscaler_replaces_most_nodes_that_fell_silent() -> None:
    """Three of five kubelets are silent while their servers run: new machines serve, then the old ones go."""
    stage = a_stage()
    stage.silence("a", 3, 4, 5, minutes=2)
    made = {stage.join() for _ in range(2)}
    passes(stage, 2, loop=True)
    assert made <= target_servers(stage.balancer())
    for number in (3, 4, 5):
        stage.mark(number, "ToBeDeletedByClusterAutoscaler")
        stage.kill(number)
    passes(stage, 2, loop=True)
    stage.settle()
    assert target_servers(stage.balancer()) == {1, 2, *made}


@pytest.mark.parametrize("loop", [True, False], ids=["loop", "once"])
def test_ten_services_are_deleted_and_made_again(loop: bool) -> None:
    """A namespace is deleted and applied anew."""
    names = [f"s{number}" for number in range(10)]
    stage = a_stage(services=tuple((name, {}) for name in names))
    for name in names:
        stage.delete_service(name)
    passes(stage, 2, loop=loop)
    for name in names:
        stage.make_service(name)
    passes(stage, 2, loop=loop)
    stage.settle()
    assert len({stage.balancer(name)["id"] for name in names}) == 10


def test_a_service_is_replaced() -> None:
    stage = a_stage()
    stage.delete_service()
    passes(stage, 1, loop=True)
    stage.make_service()
    passes(stage, 2, loop=True)
    stage.settle()


def test_a_cluster_comes_from_hccm() -> None:
    """Its load balancers have no label of ours, its Nodes and Services are as HCCM leaves them: nothing is to be done,
    and what changes afterwards is done as ever."""
    stage = a_stage(services=(("web", {}), ("db", {"use-private-ip": "true"})))
    for name in ("web", "db"):
        found = stage.balancer(name)
        labels = {key: value for key, value in found["labels"].items() if key != CLUSTER_LABEL}
        stage.home.change_labels(found["id"], labels)
        stage.home.patch_service({"status": {"conditions": None}}, f"{name}/status")
    before = stage.truth.seen().projects
    report = stage.run()
    assert [line.change.key for line in report.lines] == []
    assert stage.truth.seen().projects == before
    made = stage.join()
    stage.listen("web", 80, 443)
    stage.delete_service("db")
    stage.settle()
    assert made in target_servers(stage.balancer())
    strangers = {EMPTY, IDLE, SHOP, THEIRS}
    assert stage.truth.seen().balancers[HOME].keys() == {*strangers, stage.balancer()["id"]}


def test_an_empty_load_balancer_of_terraform_is_adopted_by_its_name() -> None:
    """It has labels, and neither a listener nor a target."""
    stage = a_stage(services=())
    stage.make_service("web", {"name": "empty"})
    stage.run()
    stage.settle()
    found = stage.balancer()
    assert found["id"] == EMPTY
    assert found["labels"]["made-by"] == "terraform"
    assert target_servers(found) == {1, 2, 3, 4, 5}


def test_a_cluster_is_born() -> None:
    """Nodes join one after another, and the first Service comes before them."""
    stage = a_stage(nodes=0, services=())
    stage.make_service("web")
    for _ in range(3):
        stage.join()
        passes(stage, 1, loop=True)
    stage.settle()
    assert not any(map(is_joining, stage.nodes().values()))
    assert len(target_servers(stage.balancer())) == 3


def test_machines_that_sleep_at_night_wake_up() -> None:
    """All servers are switched off for hours: nothing goes, and nothing is owed in the morning."""
    stage = a_stage()
    stage.silence(minutes=31)
    passes(stage, 2, loop=True)
    stage.advance(6 * 3600)
    passes(stage, 2, loop=True)
    assert len(stage.nodes()) == 5
    stage.wake()
    stage.settle()
    assert len(target_servers(stage.balancer())) == 5


def test_nodes_go_before_their_servers() -> None:
    """``kubectl delete node``, and the server a few minutes later, one after another: nobody is asked."""
    stage = a_stage()
    for number in range(1, 6):
        made = stage.join()
        passes(stage, 1, loop=True)
        stage.delete_node(number)
        passes(stage, 2, loop=True)
        assert number not in target_servers(stage.balancer())
        stage.kill(number)
        assert made in target_servers(stage.balancer())
    stage.settle()


def test_somebody_leads_a_load_balancer_to_machines_beside_the_nodes() -> None:
    """To a server that is none, and by its address to a machine in a rack: the Service changes as ever."""
    stage = a_stage()
    balancer = stage.balancer()["id"]
    stage.lead(balancer, {"type": "server", "server": {"id": GUEST}})
    stage.lead(balancer, {"type": "ip", "ip": {"ip": RACK_IP}})
    stage.listen("web", 443)
    passes(stage, 2, loop=True)
    stage.settle()
    assert target_servers(stage.balancer()) == {1, 2, 3, 4, 5}


def test_kubelets_that_report_once_an_hour() -> None:
    """All Nodes are Ready, by heartbeats of an hour and a half ago: a Service is deleted, another one changes."""
    stage = a_stage(services=(("web", {}), ("db", {})))
    stage.beat(hours=1.4)
    stage.listen("web", 443)
    stage.delete_service("db")
    passes(stage, 2, loop=True)
    stage.settle()


def test_dedicated_servers_without_credentials_come_and_go() -> None:
    """Load balancers alone know them, by the InternalIPs of their Nodes: nobody waits for what Robot never says."""
    stage = a_stage(nodes=2, metal=2, keyless=True, services=(("web", {"use-private-ip": "true"}),))
    for number, other in ((61, 62), (62, 61)):
        stage.label(number, EXCLUDED)
        passes(stage, 1, loop=True)
        assert target_addresses(stage.balancer()) == {inside(other)}
        stage.label(number, dict.fromkeys(EXCLUDED))
        passes(stage, 1, loop=True)
    stage.settle()
    assert target_addresses(stage.balancer()) == {inside(61), inside(62)}


def test_dedicated_servers_are_replaced_one_after_another() -> None:
    """A new one is racked and joins, an old one is given back; nobody is asked."""
    stage = a_stage(nodes=1, metal=4)
    for number in range(61, 65):
        assert stage.rack()
        passes(stage, 4, loop=True)
        stage.cordon(number)
        stage.kill(number)
        passes(stage, 4, loop=True)
    stage.settle()
    assert sorted(stage.nodes()) == ["n1", "n65", "n66", "n67", "n68"]
    assert target_addresses(stage.balancer()) == {f"192.0.2.{number}" for number in range(65, 69)}


def test_dedicated_servers_are_switched_to_private_addresses_and_back() -> None:
    """Each is a target by exactly one address when it is over, and nobody is asked."""
    stage = a_stage(nodes=1, metal=3)
    for value, addresses in (
        ("true", {inside(n) for n in (61, 62, 63)}),
        ("false", {f"192.0.2.{n}" for n in (61, 62, 63)}),
    ):
        stage.annotate("web", {"use-private-ip": value})
        passes(stage, 4, loop=True)
        stage.settle()
        assert target_addresses(stage.balancer()) == addresses
