"""Attacks on what is not ours, and mistakes with what is, on a real API server: whose a load balancer is, and for how
long."""

from collections import Counter
from typing import Any

import pytest

from desired.names import (
    FINALIZER_BALANCER,
    LABEL_ADOPTED,
    LABEL_CLUSTER_UID,
    LABEL_DELETE_AFTER,
    LABEL_FORMER,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
)
from tests.support.in_process import ONCE, one_pass
from tests.support.objects import a_service, addresses, finalizers, ingress, notes, said_of, seen
from tests.support.rows import rows
from tests.support.stage import Stage

THEIR_PORT = {"protocol": "tcp", "listen_port": 80, "destination_port": 31999}


def a_balancer(**parts: Any) -> dict[str, Any]:
    """A load balancer named ``theirs`` that no label says anything of."""
    return {"id": 71, "name": "theirs", "labels": {"team": "blue"}, "load_balancer_type": "lb11", **parts}


def held(report: Any) -> dict[str, str]:
    """Hash → rule of each hold."""
    return {hold["hash"]: hold["rule"] for hold in report["holds"]}


@rows(
    "parts", {"a port": {"services": [THEIR_PORT]}, "a target": {"targets": [{"type": "server", "server": {"id": 2}}]}}
)
def test_a_strangers_load_balancer_is_neither_taken_over_nor_deleted(balanced: Stage, parts: dict[str, Any]) -> None:
    """A Service names it in its annotation, and is deleted: nothing of it is lost, nothing about it changes."""
    balanced.have_balancers(a_balancer(**parts))
    (before,) = balanced.balancers()
    balanced.have_services(a_service(name="theirs"))

    report = one_pass(balanced)

    assert set(held(report).values()) == {"adoption"}
    assert (balanced.balancers(), balanced.asked_of_hetzner()) == ([before], [])
    balanced.delete_service()
    one_pass(balanced)
    assert (balanced.services(), balanced.balancers(), balanced.asked_of_hetzner()) == ({}, [before], [])


def test_a_strangers_load_balancer_that_was_approved_outlives_the_service(balanced: Stage) -> None:
    """A person said that it may be taken over, not that it may be deleted: it goes on, and says when it was released.
    Nor does a second Service that takes it over then take it along."""
    balanced.have_balancers(a_balancer(services=[THEIR_PORT | {"listen_port": 9000}]))
    (before,) = balanced.balancers()
    balanced.have_services(a_service(name="theirs"))
    (hold,) = one_pass(balanced)["holds"]
    key = "load_balancer/default/web"
    assert (hold["rule"], hold["keys"]) == ("adoption", [key, f"{key}/listener/9000"])
    assert (balanced.asked_of_hetzner(), finalizers(balanced.service())) == ([], set())

    assert one_pass(balanced, {**ONCE, "--approve": hold["hash"]})["result"] == "no_changes"

    (taken,) = balanced.balancers()
    published = ingress(balanced.service())
    assert ([entry["ip"] for entry in published], list(seen(taken)["ports"])) == (addresses(taken), [80])
    assert taken["labels"] == taken["labels"] | {"team": "blue", LABEL_ADOPTED: "true"}
    for _ in range(2):
        balanced.delete_service()
        one_pass(balanced)
        (left,) = balanced.balancers()
        assert balanced.services() == {}
        assert left["public_net"] == before["public_net"]
        assert {LABEL_RELEASED, "team"} <= left["labels"].keys()
        assert not {LABEL_ADOPTED, LABEL_SERVICE_UID} & left["labels"].keys()
        balanced.have_services(a_service(name="theirs"))
        assert one_pass(balanced)["result"] == "no_changes"
        assert ingress(balanced.service()) == published


def test_an_empty_load_balancer_made_by_terraform_is_adopted_without_a_word(balanced: Stage) -> None:
    """It has neither port nor target: one pass makes it the Service's. It is released with it, and deleted only
    where the Service says so."""
    balanced.have_balancers(a_balancer())
    balanced.have_services(a_service(name="theirs"))

    report = one_pass(balanced)

    (taken,) = balanced.balancers()
    assert (report["result"], held(report), seen(taken)["targets"].keys()) == ("no_changes", {}, {1, 2, 3})
    assert ingress(balanced.service())
    balanced.delete_service()
    one_pass(balanced)
    assert [found["id"] for found in balanced.balancers()] == [71]

    balanced.have_services(a_service(name="theirs"))
    one_pass(balanced)
    balanced.annotate(deletion_policy="delete")
    balanced.delete_service()
    one_pass(balanced)
    assert (balanced.services(), balanced.balancers()) == ({}, [])


RETAIN = {"HCLOUD_LOAD_BALANCERS_DELETION_POLICY": "retain"}
LONG_AGO = "20200101T000000Z"


def labels(stage: Stage) -> dict[str, str]:
    """Of the only load balancer."""
    (found,) = stage.balancers()
    return dict(found["labels"])


def relabel(stage: Stage, **changes: str | None) -> None:
    """A foreign hand changes labels of the only load balancer; None takes one off."""
    keys = {
        "released": LABEL_RELEASED,
        "delete_after": LABEL_DELETE_AFTER,
        "service": LABEL_SERVICE_UID,
        "cluster": LABEL_CLUSTER_UID,
    }
    wanted = labels(stage) | {keys[name]: value for name, value in changes.items()}
    stage.change_balancer(labels={key: value for key, value in wanted.items() if value is not None})


def test_a_service_deleted_by_mistake_comes_back_with_its_addresses(served: Stage) -> None:
    """It goes at once, its load balancer stays; under another UID the Service gets that back, with its targets. It goes
    with the new Service only if that says so."""
    (before,) = served.balancers()
    published = ingress(served.service())
    served.delete_service()

    report = one_pass(served, **RETAIN)

    assert (served.services(), served.asked_of_hetzner(), report["result"]) == ({}, ["PUT 1"], "no_changes")
    assert labels(served).keys() == {LABEL_CLUSTER_UID, LABEL_RELEASED, LABEL_FORMER}
    assert labels(served)[LABEL_FORMER] == "default.web"

    served.have_services(a_service())
    assert one_pass(served)["result"] == "no_changes"
    (after,) = served.balancers()
    uid = served.service()["metadata"]["uid"]
    assert (after["id"], after["public_net"], after["private_net"]) == (1, before["public_net"], before["private_net"])
    assert labels(served) == {
        LABEL_CLUSTER_UID: labels(served)[LABEL_CLUSTER_UID],
        LABEL_SERVICE_UID: uid,
        LABEL_ADOPTED: "true",
    }
    assert (ingress(served.service()), seen(after)["targets"]) == (published, seen(before)["targets"])
    served.forget()
    assert (one_pass(served)["changes"], served.asked_of_hetzner()) == ([], [])

    served.delete_service()
    one_pass(served)
    assert (served.services(), LABEL_RELEASED in labels(served)) == ({}, True)


def test_another_namespace_that_names_what_was_let_go_has_to_ask(served: Stage) -> None:
    """A tenant learns its name and asks for it: a person is asked, and the Service that comes back has it again."""
    (before,) = served.balancers()
    served.delete_service()
    one_pass(served, **RETAIN)
    served.forget()
    tenant = a_service("tenant", name=before["name"])
    served.have_services(tenant)

    report = one_pass(served)

    assert (report["result"], served.asked_of_hetzner()) == ("blocked", [])
    (hold,) = report["holds"]
    assert (hold["rule"], "Service default/web" in hold["why"]) == ("adoption", True)
    served.have_services(a_service())
    one_pass(served)
    assert labels(served)[LABEL_SERVICE_UID] == served.service()["metadata"]["uid"]


def test_what_an_earlier_version_released_stays(served: Stage) -> None:
    """Its undo window has ended. A Service of the namespace and name that its labels have gets it all the same."""
    served.delete_service()
    one_pass(served, **RETAIN)
    relabel(served, released=None, delete_after=LONG_AGO)
    served.forget()

    report = one_pass(served, {})

    assert (report["changes"], served.asked_of_hetzner(), len(served.balancers())) == ([], [], 1)
    served.have_services(a_service())
    one_pass(served)
    assert labels(served).keys() == {LABEL_CLUSTER_UID, LABEL_SERVICE_UID, LABEL_ADOPTED}


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param({"released": "yesterday"}, id="no time"),
        pytest.param({"released": LONG_AGO}, id="long ago"),
        pytest.param({"released": None}, id="taken off"),
        pytest.param({"delete_after": LONG_AGO, "cluster": "another"}, id="of another cluster"),
        pytest.param({"delete_after": LONG_AGO, "cluster": None}, id="of no cluster"),
        pytest.param({"delete_after": LONG_AGO, "service": "somebody"}, id="of a Service that is not known"),
    ],
)
def test_labels_that_were_forged_delete_nothing(served: Stage, forged: dict[str, str | None]) -> None:
    """Whatever time they have."""
    served.delete_service()
    one_pass(served, **RETAIN)
    relabel(served, **forged)
    served.forget()

    report = one_pass(served, {})

    assert {change["verdict"] for change in report["changes"]} <= {"held"}
    assert (served.asked_of_hetzner(), len(served.balancers())) == ([], 1)


def test_ten_services_deleted_and_created_again_need_nobody(balanced: Stage) -> None:
    """A namespace that a GitOps controller prunes and applies anew: each Service has its own addresses back."""
    wanted = [a_service(f"shop-{number}") for number in range(10)]
    balanced.have_services(*wanted)
    one_pass(balanced, **RETAIN)
    before = {name: ingress(service) for name, service in balanced.services().items()}
    for name in before:
        balanced.delete_service(name)
    one_pass(balanced, **RETAIN)
    assert (balanced.services(), len(balanced.balancers())) == ({}, 10)

    balanced.have_services(*wanted)
    report = one_pass(balanced, **RETAIN)

    assert (report["result"], held(report), len(balanced.balancers())) == ("no_changes", {}, 10)
    assert {name: ingress(service) for name, service in balanced.services().items()} == before


def lose_label_and_name(stage: Stage, **parts: Any) -> dict[str, Any]:
    """Somebody takes the labels off the only load balancer and renames it. Returns what it is then."""
    stage.change_balancer(labels={}, name="by-hand", **parts)
    (found,) = stage.balancers()
    return found


def have_foreign_nodes(stage: Stage) -> None:
    """All Nodes are deleted and come back with providerIDs of another cloud."""
    for number in (1, 2, 3):
        stage.register_again(stage.a_node(number) | {"spec": {"providerID": f"other://{number}"}})


def test_a_published_load_balancer_without_label_and_name_is_taken_up_again(served: Stage) -> None:
    """Nobody is asked: it leads to this Service alone. No second one is made and published in its place."""
    published = ingress(served.service())
    lost = lose_label_and_name(served)

    report = one_pass(served)

    (found,) = served.balancers()
    assert (report["result"], held(report), served.asked_of_hetzner()) == ("no_changes", {}, ["PUT 1"])
    assert (found["id"], found["targets"], found["public_net"]) == (lost["id"], lost["targets"], lost["public_net"])
    assert (found["labels"][LABEL_SERVICE_UID], found["labels"][LABEL_ADOPTED]) == (
        served.service()["metadata"]["uid"],
        "true",
    )
    assert ingress(served.service()) == published


def test_no_empty_load_balancer_is_published_for_one_that_serves_while_all_nodes_are_foreign(served: Stage) -> None:
    """Whose targets these are cannot be told for the moment: everything stays as it is, and the pass after it takes the
    load balancer up again."""
    published = ingress(served.service())
    lost = lose_label_and_name(served)
    have_foreign_nodes(served)

    report = one_pass(served)

    assert "adoption" in held(report).values()
    assert (served.balancers(), served.asked_of_hetzner()) == ([lost], [])
    assert ingress(served.service()) == published

    for number in (1, 2, 3):
        served.register_again(served.a_node(number))
    report = one_pass(served)
    assert (report["result"], held(report), [found["id"] for found in served.balancers()]) == ("no_changes", {}, [1])
    assert ingress(served.service()) == published


def test_the_label_of_a_service_that_is_gone_keeps_a_published_one_from_being_replaced(served: Stage) -> None:
    """It is not taken up. A person has to say that another one is made, and then that its address is published."""
    # Two load balancers of the simulator may have one IPv6 address.
    published = [entry for entry in ingress(served.service()) if ":" not in entry["ip"]]
    served.patch_service({"status": {"loadBalancer": {"ingress": published}}}, "web/status")
    lose_label_and_name(served)
    served.change_balancer(labels={LABEL_SERVICE_UID: "00000000-dead-dead-dead-000000000000"})

    for ids in ([1], [1, 2]):
        report = one_pass(served)
        (hold,) = report["holds"]
        assert (hold["rule"], [found["id"] for found in served.balancers()]) == ("ip-loss", ids)
        assert f"hcloud-ccm/service-uid={served.service()['metadata']['uid']}" in hold["why"]
        assert ingress(served.service()) == published
        one_pass(served, {**ONCE, "--approve": hold["hash"]})
    assert published[0] not in ingress(served.service())


def test_a_copied_label_takes_nothing_from_the_published_one(served: Stage) -> None:
    """The Service goes on being served, and a person is told; its load balancer goes with it, and the other stays."""
    (own,) = served.balancers()
    served.have_balancers(own, {"id": 70, "name": "copy", "labels": own["labels"]})
    published = ingress(served.service())
    served.annotate(algorithm_type="least_connections")

    report = one_pass(served)

    assert (report["result"], served.asked_of_hetzner()) == ("blocked", ["POST change_algorithm"])
    assert ("service/default/web", "several-balancers") in notes(report)
    assert said_of(served.service())["LoadBalancerInSync"] == ("False", "Ambiguous")
    assert ingress(served.service()) == published

    served.forget()
    served.delete_service()
    one_pass(served)
    assert (served.services(), served.asked_of_hetzner()) == ({}, ["DELETE 1"])
    assert [found["id"] for found in served.balancers()] == [70]


def test_a_short_list_makes_no_second_load_balancer(recorded: Stage) -> None:
    """It has another name by now. Its id is in the record: nothing is made, published or let go."""
    recorded.change_balancer(name="edge")
    before, published = recorded.balancers(), ingress(recorded.service())
    recorded.project.set_faults([{"kind": "list_lacks", "path": "/load_balancers", "count": None}])
    recorded.forget()

    report = one_pass(recorded)

    assert (report["result"], recorded.asked_of_hetzner(), recorded.balancers()) == ("partial", [], before)
    reads = Counter(recorded.read_of_hetzner())
    lists, by_label, by_name = 2, 1, 1
    assert (reads["load_balancers"], reads["load_balancers/1"]) == (lists + by_label + by_name, 1)

    recorded.delete_service()
    one_pass(recorded)
    assert (list(recorded.services()), recorded.asked_of_hetzner()) == (["web"], [])
    assert ingress(recorded.service()) == published


def test_a_forged_status_moves_nothing_of_a_stranger(balanced: Stage) -> None:
    """A Service publishes the address of a load balancer in use that no label gives to anybody: it is held while the
    Service lives, and named when it goes; nothing is written on it."""
    balanced.have_balancers(a_balancer(services=[THEIR_PORT], targets=[{"type": "server", "server": {"id": 2}}]))
    (before,) = balanced.balancers()
    balanced.have_services(a_service())
    address = before["public_net"]["ipv4"]["ip"]
    balanced.patch_service({"status": {"loadBalancer": {"ingress": [{"ip": address}]}}}, "web/status")

    report = one_pass(balanced)

    assert set(held(report).values()) == {"adoption"}
    assert (balanced.balancers(), balanced.asked_of_hetzner()) == ([before], [])
    balanced.patch_service({"metadata": {"finalizers": [FINALIZER_BALANCER]}})
    balanced.delete_service()
    (change,) = one_pass(balanced)["changes"]
    assert (balanced.services(), balanced.balancers(), balanced.asked_of_hetzner()) == ({}, [before], [])
    (said,) = change["consequences"]
    assert said.startswith("load balancer 71 theirs (lb11, ")


@pytest.mark.parametrize("name", [None, "by-hand"], ids=["the default name", "by its address"])
def test_a_service_that_goes_names_the_load_balancer_that_lost_its_label(served: Stage, name: str | None) -> None:
    """It is not deleted, and not forgotten: an event on the Service and `reconcile orphans` have its id and price."""
    served.change_balancer(labels={}, **({"name": name} if name else {}))
    served.delete_service()

    assert served.reconcile("--once").code == 0

    assert (served.services(), set(labels(served))) == ({}, {LABEL_CLUSTER_UID, LABEL_FORMER, LABEL_RELEASED})
    (event,) = served.events("RetainedLoadBalancer")
    assert "has lost its label; to delete it: reconcile orphans --delete 1" in event["message"]
    assert " a month) " in event["message"]
