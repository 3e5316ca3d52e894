"""Two clusters in one project with equally named Services: neither touches what is the other's."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from desired.names import LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from tests.support.in_process import one_pass
from tests.support.objects import LOCATED, a_service, by_key, finalizers, ingress, server, settled_node
from tests.support.stage import SimulatedCluster, Stage

NAMED = a_service("web", name="shop")
BALANCER = "load_balancer/default/web"


@pytest.fixture
def ours(a_stage: Callable[..., Stage]) -> Stage:
    """The stage of our cluster, with a Node on server 1. The project has another one, for the other cluster."""
    stage = a_stage(action_s=0.0)
    stage.environment |= LOCATED
    stage.have_servers(server(1, "ours-1"), server(2, "theirs-1"))
    stage.register(settled_node("ours-1", 1))
    return stage


@pytest.fixture
def theirs(ours: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The stage of the other cluster, with a Node on server 2."""
    folder = tmp_path_factory.mktemp("theirs")
    cluster = SimulatedCluster(folder, seed=1)
    stage = Stage(cluster, folder, None)
    stage.environment |= LOCATED | {"HCLOUD_ENDPOINT": ours.environment["HCLOUD_ENDPOINT"]}
    stage.register(settled_node("theirs-1", 2))
    yield stage
    stage.close()
    cluster.close()


def _with_label(project: Stage, uid: str) -> list[dict[str, Any]]:
    """The load balancers of the Service with this UID."""
    return [found for found in project.balancers() if found["labels"].get(LABEL_SERVICE_UID) == uid]


def _uid(stage: Stage) -> str:
    uid: str = stage.service()["metadata"]["uid"]
    return uid


def test_each_has_its_own_and_deletes_its_own(ours: Stage, theirs: Stage) -> None:
    """Both create one, change it and release it; that of the other stays as it is to the last byte."""
    for stage in (ours, theirs):
        stage.have_services(a_service())
        assert one_pass(stage)["result"] == "no_changes"
    (mine,), (other,) = (_with_label(ours, _uid(stage)) for stage in (ours, theirs))
    assert mine["labels"][LABEL_CLUSTER_UID] != other["labels"][LABEL_CLUSTER_UID]
    assert [[found["server"]["id"] for found in balancer["targets"]] for balancer in (mine, other)] == [[1], [2]]

    ours.forget()
    for stage in (ours, theirs):
        report = one_pass(stage)
        assert (report["changes"], report["notes"]) == ([], [])
    assert ours.asked_of_hetzner() == []

    ours.delete_service()
    assert one_pass(ours)["result"] == "no_changes"
    assert (ours.services(), ours.balancers()) == ({}, [other])
    assert one_pass(theirs)["changes"] == []

    theirs.delete_service()
    one_pass(theirs)
    assert (theirs.services(), ours.balancers()) == ({}, [])


def test_the_second_to_ask_for_a_name_is_refused(ours: Stage, theirs: Stage) -> None:
    """It is told whose that load balancer is. Nothing is written to it, nor claimed, nor deleted with its Service."""
    theirs.have_services(NAMED)
    one_pass(theirs)
    (before,) = ours.balancers()
    ours.have_services(NAMED)
    ours.forget()

    report = one_pass(ours)

    change = by_key(report)[BALANCER]
    assert (report["result"], change["verdict"], change["rule"]) == ("blocked", "refused", "foreign-owner")
    assert any(before["labels"][LABEL_CLUSTER_UID] in note["text"] for note in report["notes"])
    assert (finalizers(ours.service()), ingress(ours.service())) == (set(), [])

    ours.delete_service()
    one_pass(ours)
    assert (ours.services(), ours.balancers(), ours.asked_of_hetzner()) == ({}, [before], [])
    assert one_pass(theirs)["changes"] == []


def test_what_hccm_made_for_the_other_cluster_is_held(ours: Stage, theirs: Stage) -> None:
    """HCCM names no cluster, only a Service, and that is none of ours: a person has to say so."""
    theirs.have_services(NAMED)
    one_pass(theirs)
    ours.change_balancer(labels={LABEL_SERVICE_UID: _uid(theirs)})
    (before,) = ours.balancers()
    ours.have_services(NAMED)
    ours.forget()

    report = one_pass(ours)
    untouched = one_pass(theirs)

    (hold,) = report["holds"]
    assert (hold["rule"], hold["keys"]) == ("adoption", [BALANCER, f"{BALANCER}/target/server:2"])
    assert (ours.balancers(), ours.asked_of_hetzner(), untouched["changes"]) == ([before], [], [])


def test_orphans_of_the_other_cluster_are_none_of_ours(ours: Stage, theirs: Stage) -> None:
    """Without its Service theirs is an orphan of theirs: ours neither notes it nor offers to delete it."""
    theirs.have_services(a_service())
    one_pass(theirs)
    theirs.remove_services()
    ours.have_services(a_service())
    one_pass(ours)

    mine, other = (json.loads(stage.reconcile("orphans", "--output", "json").stdout) for stage in (ours, theirs))

    assert one_pass(ours)["notes"] == []
    assert ([found["id"] for found in mine["orphans"]], [found["id"] for found in other["orphans"]]) == ([], [1])


def test_what_the_other_cluster_has_released_is_adopted_by_name(ours: Stage, theirs: Stage) -> None:
    """In use it is held, as a person has to say that nobody needs it there; empty it is adopted at once. The other
    cluster, and its list of orphans, have nothing to do with it any more."""
    theirs.have_services(a_service("web", name="shop", deletion_policy="retain"))
    one_pass(theirs)
    theirs.delete_service()
    one_pass(theirs)
    (released,) = ours.balancers()
    ours.have_services(NAMED)

    (hold,) = one_pass(ours)["holds"]
    assert (hold["rule"], BALANCER in hold["keys"], ours.balancers()) == ("adoption", True, [released])

    ours.change_balancer(services=[], targets=[])
    assert one_pass(ours)["result"] == "no_changes"

    (adopted,) = ours.balancers()
    assert (adopted["id"], adopted["labels"][LABEL_SERVICE_UID]) == (released["id"], _uid(ours))
    assert adopted["labels"][LABEL_CLUSTER_UID] != released["labels"][LABEL_CLUSTER_UID]
    assert ingress(ours.service()) != []
    assert one_pass(theirs)["changes"] == []
    assert json.loads(theirs.reconcile("orphans", "--output", "json").stdout)["orphans"] == []
